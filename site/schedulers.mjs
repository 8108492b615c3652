// A plot of each packet scheduler: the distribution of one write over two unlike paths.
//
//     node site/schedulers.mjs MODULE.wasm FOLDER SCHEDULER...        (scripts/site does it)
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BASE, COLOURS, svg } from './chart.mjs';
import { load } from './playground/engine.js';
import { Table } from './playground/rows.js';

/** The plotted write: the eleventh, when the RTTs are known. */
const WRITTEN_S = 10;
const SHOWN_S = 0.4;
const EVERY_S = 0.005;

const scenario = (scheduler) => `
title = "One write a second on two unlike paths"
duration = "12s"

[link.fast]
rate = "20mbit"
rtt = "10ms"
queue = "60p"

[link.slow]
rate = "10mbit"
rtt = "100ms"
queue = "100p"

[connection.mp0]
kind = "mptcp"
scheduler = "${scheduler}"
traffic = { kind = "cbr", rate = "1600kbit", every = "1s" }

[connection.mp0.subflow.fast]
route = ["fast"]

[connection.mp0.subflow.slow]
route = ["slow"]
`;

const [, , module, folder, ...names] = process.argv;
const engine = await load(readFileSync(module));
mkdirSync(folder, { recursive: true });
for (const scheduler of names) {
  const toml = scenario(scheduler);
  const described = engine.ask({ ask: 'open', slot: 0, name: `${scheduler}.toml`, toml, set: [], flat: false, cc: 'lia', seed: 1 });
  const table = new Table(described);
  table.add(engine.advance(0, WRITTEN_S + SHOWN_S, EVERY_S));
  const curves = { 'arrived on fast': table.of(0, 'bytes'), 'arrived on slow': table.of(1, 'bytes'), 'delivered in order': table.delivered(0) };
  const first = table.times.findIndex((time) => time > WRITTEN_S - EVERY_S / 2);
  const values = Object.entries(curves).flatMap(([what, bytes]) =>
    table.times.slice(first).map((time, i) => ({ what, ms: (time - WRITTEN_S) * 1000, kB: ((bytes[first + i] ?? 0) - (bytes[first] ?? 0)) / 1000 })),
  );
  if (values[values.length - 1].kB < 100) throw new Error(`${scheduler}: of 200 kB ${values[values.length - 1].kB} kB are delivered in ${SHOWN_S} s`);
  const chart = {
    ...BASE,
    height: 200,
    data: { values },
    mark: { type: 'line', strokeWidth: 1.6 },
    encoding: {
      x: { field: 'ms', type: 'quantitative', title: 'ms since the write' },
      y: { field: 'kB', type: 'quantitative', title: 'kB' },
      color: { field: 'what', type: 'nominal', sort: null, scale: { range: COLOURS }, title: null },
    },
  };
  writeFileSync(join(folder, `${scheduler}.svg`), await svg(chart));
}
