// Draws the charts of a Braid report from the JSON in the page. All other parts of the page need no script.
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
  const number = (value) =>
    value === null || value === undefined ? "–" : Number(value.toPrecision(4)).toLocaleString("en-US", { maximumSignificantDigits: 4 });
  const span = (text, style = "") => {
    const element = make("span", { textContent: text });
    if (style) element.setAttribute("style", style);
    return element.outerHTML;
  };
  const colour = (index) => css(`--line-${index % 6}`);
  // Colours repeat after six; then the dashes distinguish lines.
  const dash = (index) => [[], [6, 4], [2, 3]][Math.floor(index / 6) % 3];

  at("charts").hidden = false;
  const state = { part: 0, cell: 0, cc: 0, beside: null, seed: null, from: 0, to: 0, hidden: { subflows: new Set(), links: new Set(), ccs: new Set() } };
  const part = () => data.parts[state.part];
  const cell = () => part().cells[state.cell];
  const run = (cc) => part().runs.find((r) => r.cell === state.cell && r.cc === cc && r.seed === state.seed);

  // --- charts ---

  const TIME = [
    { id: "cwnd", of: "subflows", unit: "packets" },
    { id: "rtt", of: "subflows", unit: "ms" },
    { id: "rate", of: "subflows", unit: "Mbit/s" },
    { id: "group", of: "subflows", unit: "group" },
    { id: "queue", of: "links", unit: "packets" },
  ];
  const charts = new Map();
  function chart(element) {
    let made = charts.get(element);
    if (!made) {
      made = echarts.init(element, null, { renderer: "svg" });
      charts.set(element, made);
    }
    return made;
  }
  const BESIDE = "-beside";
  // The charts of one run, or of two side by side.
  const panels = () => (state.beside === null ? [[state.cc, ""]] : [[state.cc, ""], [state.beside, BESIDE]]);
  // The chart of labels only with a detector of shared bottlenecks.
  const timeMetrics = () => TIME.filter(({ id }) => id !== "group" || panels().some(([cc]) => run(cc)?.group.length));
  const timeCharts = () => timeMetrics().flatMap(({ id }) => panels().map(([, suffix]) => chart(at(id + suffix))));

  const frame = () => ({
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: css("--font"), color: css("--text") },
    tooltip: {
      confine: true,
      backgroundColor: css("--raised"),
      borderColor: css("--border"),
      textStyle: { color: css("--text"), fontSize: 12 },
    },
  });
  const axis = (more) => ({
    axisLine: { lineStyle: { color: css("--border") } },
    axisTick: { lineStyle: { color: css("--border") } },
    axisLabel: { color: css("--muted"), hideOverlap: true },
    splitLine: { lineStyle: { color: css("--grid") } },
    nameTextStyle: { color: css("--muted") },
    ...more,
  });

  // Times of a run's values; curves.rs explains them.
  function points(run, id, values) {
    const step = data.interval_s;
    if (id === "rate") return values.map((v, i) => [(i + 0.5) * run.window * step, v]);
    if (run.per_bucket === 1) return values.map((v, i) => [i * step, v]);
    return values.map((v, i) => [(i + 0.5) * 0.5 * run.per_bucket * step, v]);
  }

  // Unmeasured parts of the run, and events of links.
  function marks(labels) {
    const { duration_s, measured_s, events } = cell();
    const areas = [];
    const quiet = { color: css("--unmeasured") };
    const label = (text) => ({ show: labels, position: "insideTop", color: css("--muted"), fontSize: 11, formatter: () => text });
    if (measured_s[0] > 0) areas.push([{ xAxis: 0, itemStyle: quiet, label: label("warm-up") }, { xAxis: measured_s[0] }]);
    if (measured_s[1] < duration_s) {
      areas.push([{ xAxis: measured_s[1], itemStyle: quiet, label: label("cool-down") }, { xAxis: duration_s }]);
    }
    const lines = [];
    for (const { from_s, to_s, what } of events) {
      if (to_s === undefined) lines.push({ xAxis: from_s });
      else areas.push([{ xAxis: from_s, itemStyle: { color: css("--outage") }, label: label(what) }, { xAxis: Math.min(to_s, duration_s) }]);
    }
    return {
      markArea: { silent: true, data: areas },
      markLine: {
        silent: true,
        symbol: "none",
        label: { show: false },
        lineStyle: { color: css("--muted"), type: [4, 4], width: 1 },
        data: lines,
      },
    };
  }

  function drawTime() {
    at("curves").classList.toggle("two", state.beside !== null);
    for (const [nth, metric] of TIME.entries()) {
      at(metric.id + BESIDE).hidden = state.beside === null;
      const figure = at(metric.id).closest("figure");
      figure.hidden = !timeMetrics().includes(metric);
      if (figure.hidden) continue;
      const series = panels().map(([cc]) => lines(run(cc), metric));
      // One scale for both, from the values within the time axis.
      const visible = series.flat().flatMap(({ data }) => data.filter(([time]) => time >= state.from && time <= state.to));
      const top = visible.reduce((most, [, value]) => Math.max(most, value), 0);
      for (const [index, [cc, suffix]] of panels().entries()) {
        drawMetric(at(metric.id + suffix), metric, series[index], {
          first: nth === 0,
          last: nth === TIME.length - 1,
          title: state.beside === null ? "" : part().ccs[cc],
          top: state.beside === null ? undefined : top,
        });
      }
    }
    at("from").value = Number(state.from.toFixed(1));
    at("to").value = Number(state.to.toFixed(1));
    describe();
  }

  function lines(shown, { id, of }) {
    if (!shown) return [];
    if (id === "group") return lanes(shown);
    return shown[id].map((values, index) => ({
      type: "line",
      name: part()[of][index],
      showSymbol: false,
      data: state.hidden[of].has(index) ? [] : points(shown, id, values),
      lineStyle: { width: 1.5, type: dash(index) },
      itemStyle: { color: colour(index) },
      emphasis: { disabled: true },
    }));
  }

  // Detectors' labels: a lane for each subflow. The line is raised while the label is shared, by group; the lane is shaded
  // while the bottleneck is shared.
  const LANE = 0.8;
  const laned = (shown) => shown.group.map((_, index) => index).filter((index) => shown.group[index].some((group) => group !== null));
  function lanes(shown) {
    const most = shown.group.flat().reduce((high, group) => Math.max(high, group ?? 0), 1);
    return laned(shown).map((index, lane) => ({
      type: "line",
      step: "end",
      name: part().subflows[index],
      showSymbol: false,
      data: state.hidden.subflows.has(index)
        ? []
        : points(shown, "group", shown.group[index]).map(([time, group]) => [time, group === null ? null : lane + (LANE * group) / most, group]),
      lineStyle: { width: 1.5, type: dash(index) },
      itemStyle: { color: colour(index) },
      emphasis: { disabled: true },
      markArea: {
        silent: true,
        itemStyle: { color: colour(index), opacity: 0.18 },
        data: shown.shared
          .filter(([subflow]) => subflow === index && !state.hidden.subflows.has(index))
          .map(([, from, to]) => [{ coord: [from, lane] }, { coord: [to, lane + LANE] }]),
      },
    }));
  }

  function drawMetric(element, { id, of, unit }, series, { first, last, title, top }) {
    const option = frame();
    option.title = { text: title, left: 52, top: 0, textStyle: { color: css("--text"), fontSize: 13 } };
    option.tooltip.trigger = "axis";
    option.tooltip.formatter = (items) => {
      const rows = items
        .filter((item) => item.value && item.seriesName !== "")
        .map((item) => `<div class="row">${item.marker}${span(item.seriesName)}<b>${id === "group" ? item.value[2] || "own" : number(item.value[1])}</b></div>`);
      return `<div class="tip">${number(items[0]?.axisValue)} s, ${unit}${rows.join("")}</div>`;
    };
    option.axisPointer = { lineStyle: { color: css("--muted") } };
    option.grid = { left: 52, right: 16, top: title ? 26 : 12, bottom: last ? 74 : 26 };
    option.xAxis = axis({
      type: "value",
      min: 0,
      max: cell().duration_s,
      splitLine: { show: false },
      axisLabel: { color: css("--muted"), hideOverlap: true, formatter: number },
      ...(last ? { name: "time in s", nameLocation: "middle", nameGap: 26 } : {}),
    });
    option.yAxis = axis({
      type: "value",
      min: 0,
      boundaryGap: [0, "4%"],
      splitNumber: 4,
      axisLine: { show: false },
      axisTick: { show: false },
      ...(top > 0 ? scale(0, top, 4) : {}),
      ...(id === "group" ? laneAxis(series) : {}),
    });
    const range = { filterMode: "filter", startValue: state.from, endValue: state.to };
    option.dataZoom = [
      // The page scrolls with the wheel; with Ctrl, or two fingers, the charts zoom.
      {
        type: "inside",
        ...range,
        zoomOnMouseWheel: "ctrl",
        moveOnMouseMove: "shift",
        moveOnMouseWheel: false,
        preventDefaultMouseMove: false,
        minValueSpan: 5 * data.interval_s,
      },
    ];
    if (last) {
      option.dataZoom.push({
        type: "slider",
        ...range,
        height: 22,
        bottom: 6,
        showDataShadow: false,
        brushSelect: false,
        borderColor: css("--border"),
        fillerColor: css("--selected"),
        handleStyle: { color: css("--raised"), borderColor: css("--muted") },
        moveHandleStyle: { color: css("--border") },
        labelFormatter: (value) => `${number(value)} s`,
        textStyle: { color: css("--muted") },
      });
    }
    // Marks are a separate series, so that hiding a line does not hide them.
    option.series = [...series, { type: "line", name: "", data: [], silent: true, ...marks(first) }];
    const made = chart(element);
    made.resize();
    made.setOption(option, { notMerge: true });
    const name = element.closest("figure").querySelector("h3").textContent;
    element.setAttribute("aria-label", `${name} over time${title ? ` with ${title}` : ""}, of ${part()[of].join(", ")}`);
  }

  const laneAxis = (series) => ({
    max: Math.max(series.length, 1),
    interval: 1,
    boundaryGap: false,
    axisLabel: { color: css("--muted"), verticalAlign: "bottom", formatter: (lane) => series[lane]?.name.split(" ").at(-1) ?? "" },
  });

  // Description of the charts.
  function describe() {
    const { label, duration_s, events } = cell();
    const shown = run(state.cc);
    const note = at("series-note");
    if (!shown) {
      const kept = part().runs.length;
      note.textContent =
        kept === 0
          ? "No run of this scenario succeeded."
          : "The time series of this choice are not in the page, to keep it small: run it alone.";
    } else {
      const interval = `${number(data.interval_s * 1000)} ms`;
      const level =
        shown.per_bucket === 1
          ? `cwnd, RTT and queue every ${interval}, nothing left out`
          : `cwnd, RTT and queue: the smallest and the largest of each ${shown.per_bucket} samples (${interval} apart)`;
      const left = [
        [part().subflows_left_out, "subflows"],
        [part().links_left_out, "links"],
      ].filter(([count]) => count > 0);
      note.textContent =
        `${part().name}${label ? `, ${label}` : ""}, ${panels().map(([cc]) => part().ccs[cc]).join(" beside ")}, seed ${shown.seed}. ` +
        `${level}; ` +
        `rates are means over ${number(shown.window * data.interval_s)} s. ` +
        left.map(([count, what]) => `${count} more ${what} are not drawn. `).join("") +
        "Zoom with the handles below the last chart, Ctrl and the wheel, two fingers, or the fields above.";
    }
    at("events").replaceChildren(
      ...events.map(({ from_s, to_s, what }) => {
        const when = to_s === undefined ? `${number(from_s)} s` : `${number(from_s)} to ${number(Math.min(to_s, duration_s))} s`;
        return make("li", {}, make("b", { textContent: when }), ` ${what}`);
      }),
    );
  }

  const tipOfBox = (name, box, unit) =>
    `<div class="tip">${span(name)}${unit ? `, ${span(unit)}` : ""}` +
    [["largest", box.five[4]], ["upper quartile", box.five[3]], ["median", box.five[2]], ["lower quartile", box.five[1]], ["smallest", box.five[0]]]
      .concat([["mean", box.mean]])
      .concat(box.ci95 === null ? [] : [["± (95 %)", box.ci95]])
      .concat([["runs", box.n]])
      .map(([what, value]) => `<div class="row">${span(what)}<b>${number(value)}</b></div>`)
      .join("") +
    "</div>";

  // An axis between round numbers.
  function scale(low, high, parts) {
    const part = (high - low || 1) / parts;
    const power = 10 ** Math.floor(Math.log10(part));
    const interval = power * [1, 2, 5, 10].find((factor) => factor * power >= part * 0.999);
    return {
      interval,
      min: Math.floor(low / interval + 1e-9) * interval,
      max: Math.ceil(high / interval - 1e-9) * interval,
      axisLabel: { color: css("--muted"), hideOverlap: true, formatter: number },
    };
  }

  // An axis around the boxes, wide enough that differences of a percent look small.
  function extent(boxes, parts = 3) {
    const ends = boxes.filter((box) => box).flatMap((box) => [box.five[0], box.five[4]]);
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const room = Math.max((0.04 * Math.max(Math.abs(low), Math.abs(high)) - (high - low)) / 2, 0);
    return scale(low - room, high + room, parts);
  }

  const boxStyle = (index) => ({ color: css("--box"), borderColor: colour(index), borderWidth: 1.5 });

  function drawBoxes() {
    const { ccs, figures } = part();
    const several = figures.some((figure) => figure.boxes[state.cell].some((box) => box && box.n > 1));
    at("spread-note").textContent =
      (cell().label ? `${cell().label}. ` : "") +
      (several
        ? "Box: quartiles and median; whiskers: smallest and largest; diamond: mean."
        : "There is one seed, so each figure is a single value and says nothing about spread.");
    for (const old of at("boxes").querySelectorAll(".canvas")) {
      charts.get(old)?.dispose();
      charts.delete(old);
    }
    at("boxes").replaceChildren();
    for (const figure of figures) {
      const boxes = figure.boxes[state.cell];
      if (!boxes.some((box) => box)) continue;
      const canvas = make("div", { className: "canvas" });
      canvas.style.height = `${ccs.length * 26 + 34}px`;
      canvas.setAttribute("role", "img");
      canvas.setAttribute(
        "aria-label",
        `${figure.title}, means: ${ccs.map((cc, index) => `${cc} ${number(boxes[index]?.mean)}`).join(", ")}`,
      );
      const title = make("h3", { textContent: figure.title + " " }, make("span", { className: "unit", textContent: figure.unit }));
      at("boxes").append(make("figure", { className: "chart" }, make("figcaption", {}, title), canvas));
      const option = frame();
      option.tooltip.trigger = "item";
      option.tooltip.formatter = ({ dataIndex }) => tipOfBox(ccs[dataIndex], boxes[dataIndex], figure.unit);
      option.grid = { left: 8, right: 24, top: 4, bottom: 4, containLabel: true };
      option.xAxis = axis({ type: "value", ...extent(boxes) });
      option.yAxis = axis({ type: "category", data: ccs, inverse: true, axisLabel: { color: css("--text"), width: 110, overflow: "truncate", interval: 0 } });
      option.series = [
        {
          type: "boxplot",
          boxWidth: [6, 14],
          data: boxes.map((box, index) => ({ value: box ? box.five : ["-", "-", "-", "-", "-"], itemStyle: boxStyle(index) })),
        },
        {
          type: "scatter",
          symbol: "diamond",
          symbolSize: 9,
          data: boxes.map((box, index) => ({ value: [box ? box.mean : "-", index], itemStyle: { color: colour(index) } })),
        },
      ];
      chart(canvas).setOption(option, { notMerge: true });
    }
  }

  function drawCells() {
    const { ccs, cells, figures } = part();
    at("cells").hidden = cells.length < 2;
    if (cells.length < 2) return;
    const figure = figures[at("choose-figure").querySelector("select").value || 0];
    const canvas = at("all-cells");
    const drawn = ccs.map((_, index) => index).filter((index) => !state.hidden.ccs.has(index));
    canvas.style.height = `${cells.length * (14 * Math.max(drawn.length, 1) + 12) + 50}px`;
    canvas.setAttribute("aria-label", `${figure.title} of every cell and algorithm`);
    const narrow = innerWidth < 640;
    // On a narrow screen the names of the parameters are above the chart, and only their values beside the boxes.
    const pairs = (one) => one.label.split(", ").map((pair) => pair.split(" "));
    const values = (one) => pairs(one).map(([, ...value]) => value.join(" ")).join(", ");
    at("cells-note").textContent = `Each row is a cell${narrow ? `: ${pairs(cells[0]).map(([name]) => name).join(", ")}` : ""}.`;
    const option = frame();
    option.tooltip.trigger = "item";
    option.tooltip.formatter = ({ seriesIndex, dataIndex }) =>
      tipOfBox(`${ccs[drawn[seriesIndex]]}, ${cells[dataIndex].label}`, figure.boxes[dataIndex][drawn[seriesIndex]], figure.unit);
    option.grid = { left: 8, right: 24, top: 8, bottom: 30, containLabel: true };
    option.xAxis = axis({ type: "value", name: figure.unit, nameLocation: "middle", nameGap: 26, ...extent(figure.boxes.flat(), narrow ? 3 : 8) });
    option.yAxis = axis({
      type: "category",
      inverse: true,
      data: cells.map((one) => (narrow ? values(one) : one.label)),
      splitLine: { show: true, lineStyle: { color: css("--grid") } },
      axisLabel: { color: css("--text"), interval: 0, fontSize: narrow ? 10 : 12, width: narrow ? 130 : 320, overflow: "truncate" },
    });
    option.series = drawn.map((index) => ({
      type: "boxplot",
      name: ccs[index],
      boxWidth: [4, 10],
      itemStyle: { ...boxStyle(index), color: colour(index) },
      data: cells.map((_, row) => figure.boxes[row][index]?.five ?? ["-", "-", "-", "-", "-"]),
    }));
    chart(canvas).resize();
    chart(canvas).setOption(option, { notMerge: true });
  }

  // --- controls ---

  function options(id, names, chosen, hide) {
    const select = at(id).querySelector("select");
    select.replaceChildren(...names.map((name, index) => make("option", { value: index, textContent: name })));
    select.value = chosen;
    at(id).hidden = hide;
  }

  function legend(id, names, hidden, redraw) {
    at(id).replaceChildren(
      ...names.map((name, index) => {
        const swatch = make("span", { className: "swatch" });
        swatch.style.borderTopColor = `var(--line-${index % 6})`;
        swatch.style.borderTopStyle = ["solid", "dashed", "dotted"][Math.floor(index / 6) % 3];
        const button = make("button", { type: "button", title: "Show or hide" }, swatch, name);
        button.setAttribute("aria-pressed", String(!hidden.has(index)));
        button.addEventListener("click", () => {
          if (!hidden.delete(index)) hidden.add(index);
          button.setAttribute("aria-pressed", String(!hidden.has(index)));
          redraw();
        });
        return button;
      }),
    );
  }

  // Seeds of the chosen cell and algorithm that have time series.
  function seeds() {
    return part().runs.filter((r) => r.cell === state.cell && r.cc === state.cc).map((r) => r.seed);
  }

  function fill() {
    const kept = seeds();
    if (!kept.includes(state.seed)) state.seed = kept[0] ?? null;
    options("choose-part", data.parts.map((one) => one.name), state.part, data.parts.length < 2);
    options("choose-cell", part().cells.map((one) => one.label), state.cell, part().cells.length < 2);
    options("choose-cc", part().ccs, state.cc, false);
    options("choose-beside", ["nothing", ...part().ccs], state.beside === null ? 0 : state.beside + 1, part().ccs.length < 2);
    options("choose-seed", kept, Math.max(kept.indexOf(state.seed), 0), false);
  }

  function newPart() {
    state.cell = state.cc = 0;
    state.beside = null;
    for (const hidden of Object.values(state.hidden)) hidden.clear();
    legend("subflows", part().subflows, state.hidden.subflows, drawTime);
    legend("links", part().links, state.hidden.links, drawTime);
    legend("ccs", part().ccs, state.hidden.ccs, drawCells);
    options("choose-figure", part().figures.map(({ title, unit }) => (unit ? `${title}, ${unit}` : title)), 0, false);
    drawCells();
    newCell();
  }

  function newCell() {
    state.from = 0;
    state.to = cell().duration_s;
    drawBoxes();
    newRun();
  }

  function newRun() {
    fill();
    drawTime();
  }

  function zoom(from, to) {
    const end = cell().duration_s;
    const least = 5 * data.interval_s;
    state.from = Math.min(Math.max(from, 0), end - least);
    state.to = Math.min(Math.max(to, state.from + least), end);
    drawTime();
  }

  const chosen = (id, then) =>
    at(id).querySelector("select").addEventListener("change", (event) => then(Number(event.target.value)));
  chosen("choose-part", (value) => { state.part = value; newPart(); });
  chosen("choose-cell", (value) => { state.cell = value; newCell(); });
  chosen("choose-cc", (value) => { state.cc = value; newRun(); });
  chosen("choose-beside", (value) => { state.beside = value === 0 ? null : value - 1; newRun(); });
  chosen("choose-seed", (value) => { state.seed = seeds()[value]; newRun(); });
  chosen("choose-figure", drawCells);
  for (const id of ["from", "to"]) {
    at(id).addEventListener("change", () => zoom(Number(at("from").value), Number(at("to").value)));
  }
  at("whole").addEventListener("click", () => zoom(0, cell().duration_s));

  // Zooming a chart changes the others and the fields.
  for (const { id } of TIME) {
    for (const suffix of ["", BESIDE]) {
      const made = chart(at(id + suffix));
      made.group = "time";
      made.on("datazoom", () => {
        const { startValue, endValue } = made.getOption().dataZoom[0];
        if (Math.abs(startValue - state.from) + Math.abs(endValue - state.to) < 1e-6) return;
        state.from = startValue;
        state.to = endValue;
        at("from").value = Number(startValue.toFixed(1));
        at("to").value = Number(endValue.toFixed(1));
        for (const other of timeCharts().filter((one) => one !== made)) {
          const batch = other.getOption().dataZoom.map((_, dataZoomIndex) => ({ dataZoomIndex, startValue, endValue }));
          other.dispatchAction({ type: "dataZoom", batch, escapeConnect: true });
        }
      });
    }
  }
  // For the tooltips.
  echarts.connect("time");

  for (const button of document.querySelectorAll(".save")) {
    button.addEventListener("click", () => {
      for (const [cc, suffix] of panels()) {
        const url = chart(at(button.dataset.chart + suffix)).getDataURL({ type: "svg" });
        const name = `${part().name}-${part().ccs[cc]}-${button.dataset.chart}.svg`.replace(/[^\w.=-]+/g, "-");
        make("a", { href: url, download: name }).click();
      }
    });
  }

  function drawAll() {
    drawTime();
    drawBoxes();
    drawCells();
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let width = innerWidth;
  addEventListener("resize", () => {
    // On a phone the height changes with the address bar.
    if (innerWidth === width) return;
    width = innerWidth;
    for (const made of charts.values()) made.resize();
    drawAll();
  });
  // Printing uses white and the width of the paper.
  addEventListener("beforeprint", () => {
    document.documentElement.classList.add("paper");
    drawAll();
    for (const svg of document.querySelectorAll(".canvas svg")) {
      svg.setAttribute("viewBox", `0 0 ${svg.getAttribute("width")} ${svg.getAttribute("height")}`);
    }
  });
  addEventListener("afterprint", () => {
    document.documentElement.classList.remove("paper");
    drawAll();
  });

  newPart();
})();
