// The playground: sends the reader's choices to the engine's worker, and plots the rows that it returns.
import uPlot from 'uplot';
import * as controls from './controls.js';
import { explain } from './formula.js';
import { RATE_OVER_S, Table } from './rows.js';
import { command, read, write } from './state.js';

// Colours of the drawing (playground.css).
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#a6519a', '#8a6d00', '#59636e'];
const CHARTS = [
  { id: 'cwnd', title: 'Window, packets', of: (table) => table.subflows.map((_, i) => table.of(i, 'cwnd')) },
  { id: 'rtt', title: 'Smoothed RTT, ms', of: (table) => table.subflows.map((_, i) => table.of(i, 'rtt')) },
  {
    id: 'rate',
    title: `Rate, Mbit/s (mean of ${RATE_OVER_S} s)`,
    of: (table) => table.subflows.map((_, i) => table.rate(table.of(i, 'bytes'))),
  },
  { id: 'queue', title: 'Queue, packets', links: true, of: (table) => shownLinks(table).map(({ at }) => table.queue(at)) },
];
/** The first presets, with readable names; the others have the names of their scenarios. */
const FIRST = ['d-olia/2', 'd-olia/1', 'everyday/shared', 'everyday/wifi-lte', 'everyday/dual-wan', 'everyday/bufferbloat'];

const $ = (id) => document.getElementById(`pg-${id}`);
const shownLinks = (table) => table.links.map((link, at) => ({ link, at })).filter(({ link }) => !link.private);

let state = read(location.hash.slice(1));
let catalogue;
let worker;
let request = 0;
let tables = [];
let hidden = new Set();
let plots = [];
let playing = null;
let position = 0;

const slots = () => (state.b ? [0, 1] : [0]);
const names = () => [state.a, state.b].filter(Boolean);
const text = () => state.toml ?? catalogue.scenarios.find(({ name }) => name === state.preset)?.toml ?? '';
const every = () => Math.max(0.01, Math.min(0.1, state.horizon / 600));

function say(message, wrong = false) {
  $('status').textContent = message;
  $('status').classList.toggle('wrong', wrong);
}

/** Opens the runs again, and advances them to `until`: the whole run, or 0 to play it. */
function open(until) {
  const set = Object.entries(state.set).map(([key, value]) => `${key}=${value}`);
  const one = (cc, slot) => ({ slot, name: state.toml === null ? state.preset : 'scenario.toml', toml: text(), set, flat: true, cc, seed: state.seed });
  request += 1;
  position = 0;
  worker.postMessage({
    kind: 'run',
    id: request,
    open: names().map(one),
    slots: slots(),
    from: 0,
    until,
    every: every(),
  });
  history.replaceState(null, '', `#${write(state)}`);
  $('command').textContent = command(state, text());
  worker.postMessage({ kind: 'edit', id: request, toml: text(), set });
}

function goOn(until) {
  request += 1;
  worker.postMessage({ kind: 'run', id: request, slots: slots(), from: position, until, every: every() });
}

function changed() {
  stop();
  open(state.horizon);
}

function stop() {
  if (playing) cancelAnimationFrame(playing);
  playing = null;
  $('play').textContent = 'Play';
}

function play() {
  if (playing) {
    stop();
    return;
  }
  $('play').textContent = 'Pause';
  if (position >= end()) open(0);
  let before = performance.now();
  let asked = false;
  let due = position;
  play.answered = () => {
    asked = false;
  };
  const frame = (now) => {
    due = Math.min(end(), due + ((now - before) / 1000) * Number($('speed').value));
    before = now;
    if (!asked && due - position >= every()) {
      asked = true;
      goOn(due);
    }
    if (position >= end() - every()) stop();
    else playing = requestAnimationFrame(frame);
  };
  playing = requestAnimationFrame(frame);
}

const end = () => Math.min(state.horizon, tables[0]?.described.end_s ?? state.horizon);

function ack() {
  stop();
  if (position >= end()) {
    open(Math.min(2, end()));
    $('steps').replaceChildren(paragraph('Now at 2 s. Press the button again for the next ACK.'));
    return;
  }
  request += 1;
  worker.postMessage({ kind: 'ack', id: request, slots: slots() });
}

function paragraph(content) {
  const made = document.createElement('p');
  made.textContent = content;
  return made;
}

/** Effects of the ACKs, one column for each algorithm. */
function showAcks(acks) {
  const columns = acks.map((row, slot) => {
    const table = tables[slot];
    const box = document.createElement('div');
    box.append(Object.assign(document.createElement('h3'), { textContent: names()[slot] }));
    if (!row.length) {
      box.append(paragraph('The run is over.'));
      return box;
    }
    const before = table.last;
    table.add(row);
    box.append(paragraph(`At ${row[0].toFixed(6)} s.`));
    table.subflows.forEach(({ connection, label }, i) => {
      const samples = table.at(i, 'samples');
      if (Number.isNaN(row[samples]) || row[samples] === before?.[samples]) return;
      const mine = table.subflows.map((one, at) => ({ ...one, at })).filter((one) => one.connection === connection);
      const there = mine.filter(({ at }) => !Number.isNaN(row[table.at(at, 'rtt')]));
      const parts = explain(connection.uses, {
        w: there.map(({ at }) => row[table.at(at, 'cwnd')]),
        rtt: there.map(({ at }) => row[table.at(at, 'rtt')]),
        r: there.findIndex(({ at }) => at === i),
        before: before?.[table.at(i, 'cwnd')] ?? row[table.at(i, 'cwnd')],
        ssthresh: row[table.at(i, 'ssthresh')],
        label,
      });
      box.append(...parts.map(paragraph));
      const known = catalogue.algorithms.find(({ name }) => name === connection.uses.split(':')[0]);
      if (known?.formula) {
        box.append(Object.assign(document.createElement('pre'), { textContent: known.formula, tabIndex: 0 }));
      }
    });
    return box;
  });
  $('steps').replaceChildren(...columns);
  position = Math.max(position, ...tables.map((table) => table.last?.[0] ?? 0));
  paint();
}

/** Charts, side by side, with one scale for both algorithms. */
function paint() {
  cancelAnimationFrame(paint.asked);
  paint.asked = 0;
  const dark = getComputedStyle(document.documentElement).getPropertyValue('--fg').trim() || '#333';
  for (const chart of CHARTS) {
    const columns = tables.map((table) => chart.of(table));
    const largest = columns.flat().reduce((most, column) => column.reduce((a, b) => Math.max(a, b ?? 0), most), 1e-9);
    for (const { slot, plot } of plots.filter((one) => one.chart === chart && tables[one.slot])) {
      plot.axes.forEach((axis) => {
        axis.stroke = () => dark;
      });
      plot.scales.y.range = () => [0, largest * 1.05];
      plot.setData([tables[slot].times, ...columns[slot]]);
    }
  }
  const rows = tables[0].described.connections.map((connection, i) => [
    connection.id,
    ...tables.map((table) => table.share(i)),
  ]);
  showShares(rows);
  $('time').textContent = `${position.toFixed(1)} s of ${end()} s`;
}

function showShares(rows) {
  const cell = (name, content) => Object.assign(document.createElement(name), { textContent: content });
  const head = document.createElement('tr');
  head.append(...['flow', ...names()].map((name) => Object.assign(cell('th', name), { scope: 'col' })));
  const most = Math.max(1e-9, ...rows.flatMap(([, ...values]) => values));
  const lines = rows.map(([id, ...values]) => {
    const line = document.createElement('tr');
    const bars = values.map((value) => {
      const one = cell('td', `${value.toFixed(2)} Mbit/s`);
      one.style.setProperty('--part', `${(100 * value) / most}%`);
      return one;
    });
    line.append(Object.assign(cell('th', id), { scope: 'row' }), ...bars);
    return line;
  });
  $('shares').replaceChildren(head, ...lines);
}

/** New charts, lists and drawing for another network. */
function rebuild(opened) {
  tables = opened.map((described) => new Table(described));
  const [first] = tables;
  // The engine draws with the reports' code; only the colours are this page's.
  $('topology').innerHTML = first.described.drawing;
  const focused = document.activeElement?.dataset?.key;
  // A slider must not be replaced while it is held.
  const shape = JSON.stringify([state.preset, state.toml, first.links.map(({ id }) => id)]);
  if (rebuild.shape !== shape || !focused) {
    $('links').replaceChildren(...controls.links(first.described, setValue));
    const known = catalogue.algorithms.map(({ name }) => name);
    $('flows').replaceChildren(...controls.flows(first.described, state.set, known, setValue));
  }
  if (rebuild.shape !== shape || plots.length !== CHARTS.length * tables.length) makePlots();
  rebuild.shape = shape;
  slots().forEach((slot) => {
    $(`name-${slot}`).textContent = names()[slot];
  });
  $('column-1').hidden = !state.b;
  $('title').textContent = first.described.title;
}

function makePlots() {
  for (const { plot } of plots) plot.destroy();
  plots = [];
  const [first] = tables;
  tables.forEach((table, slot) => {
    for (const chart of CHARTS) {
      const place = document.createElement('div');
      place.className = 'pg-chart';
      place.setAttribute('role', 'img');
      place.setAttribute('aria-label', `${chart.title} over time, ${names()[slot]}. The table of shares has the figures.`);
      const title = Object.assign(document.createElement('p'), { textContent: chart.title });
      place.append(title);
      $(`charts-${slot}`).append(place);
      const labels = chart.links ? shownLinks(table).map(({ link }) => link.id) : table.subflows.map(({ label }) => label);
      const plot = new uPlot(
        {
          width: place.clientWidth || 300,
          height: 170,
          legend: { show: false },
          cursor: { sync: { key: 'pg' }, drag: { x: true, y: false } },
          scales: { x: { time: false, range: () => [0, Math.max(state.horizon > 0 ? end() : 1, 0.1)] }, y: {} },
          axes: [{ grid: { stroke: '#8884' } }, { size: 48, grid: { stroke: '#8884' } }],
          series: [
            {},
            ...labels.map((label, i) => ({ label, stroke: COLOURS[i % COLOURS.length], width: 1.3, show: chart.links || !hidden.has(i) })),
          ],
        },
        [[], ...labels.map(() => [])],
        place,
      );
      plots.push({ chart, slot, plot, place });
    }
  });
  for (const slot of [0, 1]) {
    const keep = new Set(plots.filter((one) => one.slot === slot).map(({ place }) => place));
    [...$(`charts-${slot}`).children].filter((child) => !keep.has(child)).forEach((child) => child.remove());
  }
  const buttons = first.subflows.map(({ label }, i) => {
    const button = Object.assign(document.createElement('button'), { type: 'button', textContent: label });
    button.style.setProperty('--colour', COLOURS[i % COLOURS.length]);
    button.setAttribute('aria-pressed', String(!hidden.has(i)));
    button.addEventListener('click', () => {
      if (!hidden.delete(i)) hidden.add(i);
      button.setAttribute('aria-pressed', String(!hidden.has(i)));
      plots.filter(({ chart }) => !chart.links).forEach(({ plot }) => plot.setSeries(i + 1, { show: !hidden.has(i) }));
    });
    return button;
  });
  $('legend').replaceChildren(...buttons);
}

function setValue(key, value) {
  if (value === null) delete state.set[key];
  else state.set[key] = value;
  changed();
}

function summary() {
  const [first] = tables;
  return tables
    .map((table, slot) => {
      const shares = first.described.connections.map(({ id }, i) => `${id} ${table.share(i).toFixed(1)} Mbit/s`);
      return `${names()[slot]}: ${shares.join(', ')}`;
    })
    .join('. ');
}

function heard({ data }) {
  if (data.ready) {
    catalogue = data.ready;
    begin();
    return;
  }
  if (data.toml !== undefined && data.id === request) {
    $('toml').value = data.toml;
    return;
  }
  if (data.id !== request) return;
  if (data.error) {
    stop();
    say(data.error, true);
    return;
  }
  if (data.opened) {
    rebuild(data.opened);
    return;
  }
  if (data.acks) {
    showAcks(data.acks);
    return;
  }
  data.rows.forEach((rows, i) => tables[i].add(rows));
  position = data.now;
  play.answered?.();
  // More rows may come before the screen shows these.
  if (data.done) paint();
  else paint.asked ||= requestAnimationFrame(paint);
  if (data.done && !playing) {
    say(summary());
    document.body.dataset.pgDone = String(data.id);
  }
}

function showState() {
  const scenarios = catalogue.scenarios.map(({ name, title }) => [name, title]);
  const rank = ([name]) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  scenarios.sort((a, b) => rank(a) - rank(b));
  controls.fill($('preset'), scenarios, state.preset);
  const algorithms = catalogue.algorithms.map(({ name, title }) => [name, `${name}: ${title}`]);
  const extra = names().filter((name) => !algorithms.some(([known]) => known === name)).map((name) => [name, name]);
  controls.fill($('a'), [...algorithms, ...extra], state.a);
  controls.fill($('b'), [['', 'none'], ...algorithms, ...extra], state.b);
  $('seed').value = state.seed;
  $('horizon').value = state.horizon;
}

function begin() {
  if (!catalogue.scenarios.some(({ name }) => name === state.preset)) state.preset = FIRST[0];
  showState();
  $('app').hidden = false;
  $('preset').addEventListener('change', () => {
    Object.assign(state, { preset: $('preset').value, set: {}, toml: null });
    changed();
  });
  for (const key of ['a', 'b']) {
    $(key).addEventListener('change', () => {
      state[key] = $(key).value;
      changed();
    });
  }
  for (const key of ['seed', 'horizon']) {
    $(key).addEventListener('change', () => {
      if ($(key).checkValidity() && $(key).value !== '') {
        state[key] = Number($(key).value);
        changed();
      }
    });
  }
  $('play').addEventListener('click', play);
  $('ack').addEventListener('click', ack);
  $('reset').addEventListener('click', () => {
    Object.assign(state, { set: {}, toml: null });
    rebuild.shape = null;
    changed();
  });
  $('use').addEventListener('click', () => {
    Object.assign(state, { toml: $('toml').value, set: {} });
    changed();
  });
  for (const [button, what] of [
    ['copy-toml', () => $('toml').value],
    ['copy-command', () => $('command').textContent],
    ['copy-link', () => location.href],
  ]) {
    $(button).addEventListener('click', async () => {
      await navigator.clipboard.writeText(what());
      say('Copied.');
    });
  }
  addEventListener('hashchange', () => {
    state = read(location.hash.slice(1));
    showState();
    rebuild.shape = null;
    changed();
  });
  new ResizeObserver(() => {
    for (const { plot, place } of plots) plot.setSize({ width: Math.max(place.clientWidth, 120), height: 170 });
  }).observe($('app'));
  new MutationObserver(() => tables.length && paint()).observe(document.documentElement, { attributeFilter: ['class'] });
  // The site's keys include arrows, which would leave the page from a slider.
  $('app').addEventListener('keydown', (event) => event.stopPropagation());
  changed();
}

function start() {
  if (!window.Worker || !window.WebAssembly || !window.DecompressionStream) {
    say('This browser is too old for the playground: it needs WebAssembly, workers and DecompressionStream.', true);
    return;
  }
  say('Loading the simulator.');
  worker = new Worker(URL.createObjectURL(new Blob([window.braidWorker], { type: 'text/javascript' })));
  worker.onmessage = heard;
  worker.onerror = (event) => say(`The simulator could not start: ${event.message}`, true);
  worker.postMessage({ wasm: window.braidWasm });
}

start();
