// Draws the chart of a sweep from the JSON in the page, and fills the table below it.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const number = (value) => Number(value.toPrecision(4)).toLocaleString("en-US", { maximumSignificantDigits: 4 });
  const colour = (index) => css(`--line-${index % 6}`);
  // Colours repeat after six; then the dashes distinguish lines.
  const dash = (index) => [[], [6, 4], [2, 3]][Math.floor(index / 6) % 3];
  const escaped = (text) => make("span", { textContent: text }).innerHTML;

  if (!data.scenarios.some(({ points }) => points.length)) return;
  const state = { scenario: 0, figure: 0, x: 0, scheduler: 0, at: data.axes.map(() => 0), hidden: new Set() };
  const scenario = () => data.scenarios[state.scenario];
  const axis = () => data.axes[state.x];
  const where = (value) => (axis().numbers ? axis().numbers[value] : value);

  // The points of a line: value, mean and half-width of its interval, ascending. All points of a sample; of a grid those with
  // the chosen values of the other parameters. An algorithm that does not use the parameter has equal values everywhere.
  function points(line) {
    const shown = scenario().points.filter(
      (point) =>
        point.line === line &&
        point.scheduler === state.scheduler &&
        (data.is_sample || point.at.every((value, i) => i === state.x || value === null || value === state.at[i])),
    );
    const values = [];
    for (const { at: places, means } of shown) {
      const mean = means[state.figure];
      if (!mean) continue;
      const everywhere = places[state.x] === null;
      const there = !data.axes.length ? [0] : everywhere ? axis().values.map((_, i) => i) : [places[state.x]];
      for (const place of there) values.push({ place, x: data.axes.length ? where(place) : 0, mean: mean[0], half: mean[1] });
    }
    return values.sort((a, b) => a.x - b.x);
  }
  const visible = () => data.lines.map((_, line) => line).filter((line) => !state.hidden.has(line));

  const chart = (() => {
    at("chart").hidden = false;
    return echarts.init(at("chart"), null, { renderer: "svg" });
  })();
  const style = (more) => ({
    axisLine: { lineStyle: { color: css("--border") } },
    axisTick: { lineStyle: { color: css("--border") } },
    axisLabel: { color: css("--muted"), hideOverlap: true },
    splitLine: { lineStyle: { color: css("--grid") } },
    nameTextStyle: { color: css("--muted") },
    ...more,
  });

  function series(line) {
    const values = points(line);
    const name = data.lines[line];
    const look = { color: colour(line), type: dash(line), width: 2 };
    if (data.is_sample) {
      return [{ name, type: "scatter", symbolSize: 6, itemStyle: { color: colour(line), opacity: 0.7 }, data: values.map(({ x, mean }) => [x, mean]) }];
    }
    const main = { name, type: "line", symbolSize: 5, showAllSymbol: true, lineStyle: look, itemStyle: { color: colour(line) }, z: 3, data: values.map(({ x, mean }) => [x, mean]) };
    if (!values.some(({ half }) => half !== null)) return [main];
    // A band is a closed line: above to the right, below and back.
    const band = [...values.map(({ x, mean, half }) => [x, mean + (half ?? 0)]), ...values.reverse().map(({ x, mean, half }) => [x, mean - (half ?? 0)])];
    values.reverse();
    return [
      main,
      {
        name: `${name} band`,
        type: "custom",
        silent: true,
        z: 1,
        clip: true,
        encode: { x: 0, y: 1 },
        data: band,
        renderItem: (params, api) =>
          params.dataIndex > 0
            ? null
            : { type: "polygon", shape: { points: band.map((point) => api.coord(point)) }, style: { fill: colour(line), opacity: 0.18 } },
      },
    ];
  }

  function draw() {
    const { name, unit, log, numbers, values } = axis() ?? { name: "", unit: "", log: false, numbers: null, values: [""] };
    const figure = scenario().figures[state.figure];
    at("caption").textContent = figure;
    at("chart").setAttribute("aria-label", `${figure} by ${name}, a line for each algorithm; the table below has the numbers`);
    const title = unit ? `${name}, ${unit}` : name;
    const xAxis = numbers
      ? style({ type: log ? "log" : "value", scale: true, min: Math.min(...numbers), max: Math.max(...numbers), name: title, nameLocation: "middle", nameGap: 28 })
      : style({ type: "category", data: values, name: title, nameLocation: "middle", nameGap: 28 });
    const tip = (params) => {
      const rows = params.filter(({ seriesType }) => seriesType !== "custom").map(({ marker, seriesName, value, seriesIndex }) => {
        const point = drawn[seriesIndex]?.find(({ x }) => x === value[0]);
        const half = point?.half == null ? "" : ` ± ${number(point.half)}`;
        return `${marker}${escaped(seriesName)} <b>${number(value[1])}</b>${half}`;
      });
      const first = params[0]?.value?.[0];
      return [`${escaped(name)} ${numbers ? escaped(`${number(first)} ${unit}`) : escaped(values[first] ?? "")}`, ...rows].join("<br>");
    };
    const drawn = [];
    const all = visible().flatMap((line) => {
      const made = series(line);
      drawn.push(points(line), ...made.slice(1).map(() => []));
      return made;
    });
    chart.setOption(
      {
        animation: false,
        backgroundColor: "transparent",
        textStyle: { fontFamily: css("--font"), color: css("--text") },
        tooltip: {
          trigger: data.is_sample ? "item" : "axis",
          confine: true,
          backgroundColor: css("--raised"),
          borderColor: css("--border"),
          textStyle: { color: css("--text"), fontSize: 12 },
          formatter: (params) => tip(Array.isArray(params) ? params : [params]),
        },
        grid: { left: 12, right: 24, top: 16, bottom: 40, containLabel: true },
        xAxis,
        yAxis: style({ type: "value", scale: true }),
        series: all,
      },
      true,
    );
    note();
    fill();
  }

  function note() {
    const rest = data.axes.flatMap(({ name, values }, i) => (i === state.x || data.is_sample ? [] : [`${name} ${values[state.at[i]]}`]));
    const x = axis() ? `${axis().name} is ${axis().sets}. ` : "";
    at("note").textContent = x + (rest.length ? `The others: ${rest.join(", ")}.` : "");
  }

  // The table of the drawn points.
  function fill() {
    if (data.is_sample || !data.axes.length) return;
    const { name, values } = axis();
    const head = make("tr", {}, make("th", { scope: "col", textContent: name }), ...values.map((value) => make("th", { scope: "col", className: "number", textContent: value })));
    const rows = visible().map((line) => {
      const own = points(line);
      const cells = values.map((_, place) => {
        const point = own.find((one) => one.place === place);
        const cell = make("td", { className: "number", textContent: point ? number(point.mean) : "–" });
        if (point && point.half !== null) cell.append(" ", make("span", { className: "interval", textContent: `± ${number(point.half)}` }));
        return cell;
      });
      return make("tr", {}, make("th", { scope: "row", textContent: data.lines[line] }), ...cells);
    });
    at("numbers").replaceChildren(make("caption", { textContent: scenario().figures[state.figure] }), make("thead", {}, head), make("tbody", {}, ...rows));
  }

  // --- choices ---

  function choice(label, texts, chosen, then) {
    const select = label.querySelector("select");
    select.replaceChildren(...texts.map((text, i) => make("option", { value: i, textContent: text })));
    select.value = chosen;
    select.onchange = () => then(Number(select.value));
    label.hidden = texts.length < 2;
  }
  function choices() {
    choice(at("choose-scenario"), data.scenarios.map(({ name }) => name), state.scenario, (to) => {
      state.scenario = to;
      state.figure = 0;
      choices();
    });
    choice(at("choose-figure"), scenario().figures, state.figure, (to) => {
      state.figure = to;
      draw();
    });
    choice(at("choose-x"), data.axes.map(({ name }) => name), state.x, (to) => {
      state.x = to;
      choices();
    });
    const others = data.axes.flatMap(({ name, values }, i) => {
      if (i === state.x || data.is_sample) return [];
      const label = make("label", {}, `${name} `, make("select"));
      choice(label, values, state.at[i], (to) => {
        state.at[i] = to;
        draw();
      });
      return [label];
    });
    const label = make("label", {}, "scheduler ", make("select"));
    choice(label, data.schedulers, state.scheduler, (to) => {
      state.scheduler = to;
      draw();
    });
    at("others").replaceChildren(...others, label);
    draw();
  }
  for (const [line, name] of data.lines.entries()) {
    const swatch = make("span", { className: "swatch" });
    swatch.style.borderTopColor = `var(--line-${line % 6})`;
    swatch.style.borderTopStyle = ["solid", "dashed", "dotted"][Math.floor(line / 6) % 3];
    const button = make("button", { type: "button", title: "Show or hide" }, swatch, name);
    button.setAttribute("aria-pressed", "true");
    button.onclick = () => {
      const shown = state.hidden.delete(line) || !state.hidden.add(line);
      button.setAttribute("aria-pressed", String(shown));
      draw();
    };
    at("lines").append(button);
  }
  at("save").onclick = () => {
    const link = make("a", { href: chart.getDataURL({ type: "svg" }), download: "sweep.svg" });
    link.click();
  };
  addEventListener("resize", () => chart.resize());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  choices();
})();
