// The gallery: ten stories, each a scenario, a plot and three sentences with figures of this run.
//
//     node site/gallery.mjs MODULE.wasm FOLDER        (scripts/site does it)
//
// Each story checks the conditions of its sentences; if one fails, this ends with an error.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BASE, COLOURS, svg } from './chart.mjs';
import { load } from './playground/engine.js';
import { Table } from './playground/rows.js';

const SEEDS = [1, 2, 3, 4, 5];

const [, , module, folder] = process.argv;
const engine = await load(readFileSync(module));
const { scenarios } = engine.ask({ ask: 'catalogue' });
const one = (value) => value.toFixed(1);
const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;

function open(name, cc, seed, set = []) {
  const { toml } = scenarios.find((scenario) => scenario.name === name);
  return engine.ask({ ask: 'open', slot: 0, name, toml, set, flat: set.length > 0, cc, seed });
}

/** The results of all seeds. */
function results(name, cc) {
  return SEEDS.map((seed) => {
    open(name, cc, seed);
    return JSON.parse(engine.ask({ ask: 'finish', slot: 0 }));
  });
}

/** `{cc: {flow: mean goodput in Mbit/s}}`. */
function goodputs(name, algorithms) {
  const of = (cc) => {
    const runs = results(name, cc);
    const flows = runs[0].connections.map(({ id }, i) => [id, mean(runs.map((run) => run.connections[i].goodput_bps / 1e6))]);
    return Object.fromEntries(flows);
  };
  return Object.fromEntries(algorithms.map((cc) => [cc, of(cc)]));
}

/** `{cc: {subflow: mean of `of(subflow)`}}` of the first connection. */
function subflows(name, algorithms, of) {
  const each = (cc) => {
    const runs = results(name, cc);
    const list = runs[0].connections[0].subflows;
    return Object.fromEntries(list.map(({ id }, i) => [id, mean(runs.map((run) => of(run.connections[0].subflows[i])))]));
  };
  return Object.fromEntries(algorithms.map((cc) => [cc, each(cc)]));
}

/** Rows of one run, as in the playground. */
function rows(name, cc, set) {
  const described = open(name, cc, 1, set);
  const table = new Table(described);
  table.add(engine.advance(0, described.end_s, 0.25));
  return table;
}

const range = { range: COLOURS };

function bars(figures, unit, { stacked = true } = {}) {
  const values = Object.entries(figures).flatMap(([cc, flows]) =>
    Object.entries(flows).map(([flow, value], order) => ({ cc, flow, value, order })),
  );
  return {
    ...BASE,
    height: { step: stacked ? 26 : 16 },
    data: { values },
    mark: 'bar',
    encoding: {
      y: { field: 'cc', type: 'nominal', sort: null, title: null },
      x: { field: 'value', type: 'quantitative', title: unit, stack: stacked ? 'zero' : null },
      color: { field: 'flow', type: 'nominal', sort: null, scale: range, title: null },
      order: { field: 'order' },
      ...(stacked ? {} : { yOffset: { field: 'flow', sort: null } }),
    },
  };
}

function lines(tables, column, unit) {
  const values = Object.entries(tables).flatMap(([cc, table]) =>
    table.subflows.flatMap(({ label }, i) => {
      const of = column(table, i);
      return table.times.map((time, row) => ({ cc, time, label, value: of[row] })).filter(({ value }) => value !== null);
    }),
  );
  return {
    ...BASE,
    height: 130,
    width: 520,
    data: { values },
    mark: { type: 'line', strokeWidth: 1.3 },
    encoding: {
      row: { field: 'cc', type: 'nominal', sort: null, title: null },
      x: { field: 'time', type: 'quantitative', title: 's' },
      y: { field: 'value', type: 'quantitative', title: unit },
      color: { field: 'label', type: 'nominal', sort: null, scale: range, title: null },
    },
  };
}

const labelled = (cc) => {
  const runs = results('ba-mpcubic/3', cc);
  const of = (shared) => mean(runs.flatMap((run) => run.detections.filter((one) => one.shared === shared).map((one) => one.accuracy_percent)));
  return { shared: of(true), own: of(false) };
};

const STORIES = [
  () => {
    const f = goodputs('everyday/shared', ['cubic', 'lia', 'olia']);
    return {
      title: 'Why uncoupled is unfair',
      scenario: 'everyday/shared',
      algorithms: 'cubic,lia,olia',
      alt: 'Goodput of both flows, by algorithm',
      chart: bars(f, 'goodput, Mbit/s'),
      holds: [f.cubic.mp0 > 1.7 * f.cubic.tcp0, f.lia.mp0 < f.lia.tcp0],
      text: `A laptop uses WiFi and a dock, and both end in one line. Without coupling its two subflows take ${one(f.cubic.mp0)} Mbit/s and leave ${one(f.cubic.tcp0)} to the TCP download beside it. With LIA it takes ${one(f.lia.mp0)}, which is less than half, as LIA is milder than that TCP.`,
    };
  },
  () => {
    const f = subflows('d-olia/1', ['cubic', 'lia', 'balia', 'olia'], (subflow) => subflow.throughput_bps / 1e6);
    return {
      title: 'Why OLIA leaves capacity unused',
      scenario: 'd-olia/1',
      algorithms: 'cubic,lia,balia,olia',
      alt: 'Rate of both subflows, by algorithm',
      chart: bars(f, 'rate, Mbit/s'),
      holds: [f.cubic.sf2 > 4.9, f.olia.sf2 < 0.65 * f.cubic.sf2, f.olia.sf1 > 9.5],
      text: `A connection has a path of 10 and one of 5 Mbit/s to itself. CUBIC fills both. OLIA fills the better one and takes only ${one(f.olia.sf2)} Mbit/s of the other, since it keeps away from paths with more loss, even where nobody else wants them.`,
    };
  },
  () => {
    const f = goodputs('d-olia/2', ['cubic', 'lia', 'olia']);
    return {
      title: 'Moving out of the way',
      scenario: 'd-olia/2',
      algorithms: 'cubic,lia,olia',
      alt: 'Goodput of both flows, by algorithm',
      chart: bars(f, 'goodput, Mbit/s'),
      holds: [f.olia.tcp0 > f.lia.tcp0 && f.lia.tcp0 > f.cubic.tcp0, f.olia.mp0 < f.cubic.mp0],
      text: `A TCP flow shares the first of two equal paths. OLIA moves to the free one and leaves the TCP ${one(f.olia.tcp0)} of 10 Mbit/s; LIA leaves ${one(f.lia.tcp0)}, and CUBIC ${one(f.cubic.tcp0)}. The manners have a price: OLIA gets ${one(f.olia.mp0)} Mbit/s where CUBIC gets ${one(f.cubic.mp0)}.`,
    };
  },
  () => {
    const f = goodputs('everyday/dual-wan', ['cubic', 'balia', 'olia']);
    return {
      title: 'Two uplinks, and others on both',
      scenario: 'everyday/dual-wan',
      algorithms: 'cubic,balia,olia',
      alt: 'Goodput of three flows, by algorithm',
      chart: bars(f, 'goodput, Mbit/s'),
      holds: [f.cubic.mp0 > f.balia.mp0 && f.balia.mp0 > f.olia.mp0],
      text: `A house has cable and DSL, with a TCP download on each. One MPTCP connection over both gets ${one(f.cubic.mp0)} Mbit/s without coupling, ${one(f.balia.mp0)} with BALIA and ${one(f.olia.mp0)} with OLIA. What it gives up, the other two get.`,
    };
  },
  () => {
    const set = 'link.b2.queue=1000p';
    const of = (cc) => rows('everyday/bufferbloat', cc, [set]);
    const tables = { cubic: of('cubic'), wvegas: of('wvegas') };
    const last = (table, i) => mean(table.of(i, 'rtt').slice(-80).filter((value) => value !== null));
    const [cubic, wvegas] = [last(tables.cubic, 1), last(tables.wvegas, 1)];
    return {
      title: 'Bufferbloat on one of two paths',
      scenario: 'everyday/bufferbloat',
      set,
      algorithms: 'cubic,wvegas',
      alt: 'Smoothed RTT of both subflows over time, by algorithm',
      chart: lines(tables, (table, i) => table.of(i, 'rtt'), 'RTT, ms'),
      holds: [cubic > 5 * wvegas, wvegas < 50],
      text: `Two paths of 20 Mbit/s and 30 ms, but the second has a queue of 1000 packets. CUBIC fills it, and the RTT there grows to ${one(cubic)} ms. wVegas keeps a few packets in each queue and stays at ${one(wvegas)} ms, but uses less of the links.`,
    };
  },
  () => {
    const tables = { lia: rows('everyday/wifi-lte', 'lia'), olia: rows('everyday/wifi-lte', 'olia') };
    const at = (table, i, from, to) => mean(table.rate(table.of(i, 'bytes')).filter((value, row) => value !== null && table.times[row] > from && table.times[row] <= to));
    const lte = at(tables.olia, 1, 50, 70);
    return {
      title: 'A path that dies',
      scenario: 'everyday/wifi-lte',
      algorithms: 'lia,olia',
      alt: 'Rate of WiFi and LTE over time, by algorithm',
      chart: lines(tables, (table, i) => table.rate(table.of(i, 'bytes')), 'rate, Mbit/s'),
      holds: [lte > 14 && lte < 15.5, at(tables.olia, 0, 5, 30) > at(tables.lia, 0, 5, 30)],
      text: `A phone leaves the house: its WiFi fades from 30 s and is gone at 45 s. The download goes on over LTE, at ${one(lte)} of 15 Mbit/s. Before that OLIA had ${one(at(tables.olia, 0, 5, 30))} Mbit/s of the WiFi, and LIA had ${one(at(tables.lia, 0, 5, 30))}.`,
    };
  },
  () => {
    const tables = { olia: rows('everyday/walk', 'olia') };
    const total = tables.olia.share(0);
    return {
      title: 'A walk with a phone',
      scenario: 'everyday/walk',
      algorithms: 'olia',
      alt: 'Rate of WiFi and LTE over time',
      chart: lines(tables, (table, i) => table.rate(table.of(i, 'bytes')), 'rate, Mbit/s'),
      holds: [total > 1],
      text: `Here both links follow traces: what they can carry changes all the time. The connection moves its data to wherever there is room. In the second half of the walk it gets ${one(total)} Mbit/s from both together.`,
    };
  },
  () => {
    const f = { sbcc: labelled('sbcc') };
    return {
      title: 'A detector that works',
      scenario: 'ba-mpcubic/3',
      algorithms: 'sbcc',
      alt: 'How much of the time the labels are right',
      chart: bars(f, 'right, % of the time', { stacked: false }),
      holds: [f.sbcc.shared > 85, f.sbcc.own > 85],
      text: `Two of three subflows share a bottleneck, and the connection does not know which. SB-CC asks whether congestion marks come to both at the same time. It is right about the shared ones ${one(f.sbcc.shared)} % of the time, and about the one that is alone ${one(f.sbcc.own)} %.`,
    };
  },
  () => {
    const f = { bampcubic: labelled('bampcubic') };
    return {
      title: 'A detector that does not',
      scenario: 'ba-mpcubic/3',
      algorithms: 'bampcubic',
      alt: 'How much of the time the labels are right',
      chart: bars(f, 'right, % of the time', { stacked: false }),
      holds: [f.bampcubic.shared < 15, f.bampcubic.own > 85],
      text: `The same network, and BA-MPCUBIC, which compares the delays of the subflows. It calls nearly everything separate: right ${one(f.bampcubic.own)} % of the time where that is so, and ${one(f.bampcubic.shared)} % where it is not. Its paper prints 98 % for both.`,
    };
  },
  () => {
    const of = (cc) => {
      const runs = results('everyday/mice', cc);
      const mice = runs.map((run) => run.connections.find(({ id }) => id === 'mice').application.time_ms.p95);
      return { '95th percentile': mean(mice) };
    };
    const f = Object.fromEntries(['cubic', 'lia', 'olia', 'wvegas'].map((cc) => [cc, of(cc)]));
    const time = (cc) => Math.round(Object.values(f[cc])[0]);
    return {
      title: 'Mice beside an elephant',
      scenario: 'everyday/mice',
      algorithms: 'cubic,lia,olia,wvegas',
      alt: 'How long short flows take, by algorithm of the long one',
      chart: bars(f, 'ms'),
      holds: [time('cubic') > time('lia'), time('wvegas') < time('lia')],
      text: `A long MPTCP download shares its first path with many short flows. How long they take depends on the long one: of the short flows 95 % are done in ${time('cubic')} ms beside CUBIC, in ${time('lia')} ms beside LIA. Beside wVegas, which leaves the queue short, it is ${time('wvegas')} ms.`,
    };
  },
];

mkdirSync(folder, { recursive: true });
const page = [
  '# Gallery',
  `Ten short stories. Each is made by this page's own command, with seeds ${SEEDS[0]} to ${SEEDS[SEEDS.length - 1]} for bars and seed 1 for lines.`,
];
for (const [number, make] of STORIES.entries()) {
  const story = make();
  const wrong = story.holds.findIndex((holds) => !holds);
  if (wrong >= 0) throw new Error(`${story.title}: what its sentences rest on, number ${wrong + 1}, does not hold: ${story.text}`);
  const file = `${number + 1}.svg`;
  writeFileSync(join(folder, file), await svg(story.chart));
  const [a, b = ''] = story.algorithms.split(',');
  const set = story.set ? `&set=${encodeURIComponent(story.set)}` : '';
  const link = `../playground/index.html#preset=${story.scenario}&amp;a=${a}&amp;b=${b}&amp;horizon=120${set.replace('&', '&amp;')}`;
  page.push(
    `## ${story.title}`,
    story.text,
    `![${story.alt}](${file})`,
    `In the terminal: \`braid run ${story.scenario} --cc ${story.algorithms} --seeds 5\`. <a href="${link}">Play with it</a>.`,
  );
}
writeFileSync(join(folder, 'index.md'), `${page.join('\n\n')}\n`);
