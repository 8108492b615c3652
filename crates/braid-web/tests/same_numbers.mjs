// The WebAssembly module gives the results of the native binary, to the last bit:
//
//     node crates/braid-web/tests/same_numbers.mjs MODULE.wasm BRAID
import assert from 'node:assert';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [, here, module, braid] = process.argv;
const playground = join(dirname(fileURLToPath(import.meta.url)), '../../../site/playground/engine.js');
const { load } = await import(playground);
const engine = await load(readFileSync(module));

const scenarios = ['d-olia/1', 'd-olia/2', 'everyday/wifi-lte', 'everyday/shared', 'ba-mpcubic/4'];
const algorithms = ['lia', 'olia', 'cubic', 'split:sbd=ba'];
const { scenarios: known } = engine.ask({ ask: 'catalogue' });
let compared = 0;
for (const name of scenarios) {
  const { toml } = known.find((scenario) => scenario.name === name);
  for (const cc of algorithms) {
    const set = [`duration=${name === 'ba-mpcubic/4' ? 120 : 90}s`];
    const described = engine.ask({ ask: 'open', slot: 0, name, toml, set, cc, seed: 7 });
    // In pieces, as in the page.
    for (let until = 0.25; until <= 30; until += 0.25) {
      const rows = engine.advance(0, until, 0.1);
      assert(rows.length % described.columns === 0);
    }
    const here = engine.ask({ ask: 'finish', slot: 0 });
    const arguments_ = ['run', name, '--cc', cc, '--seeds', '7..7', '--set', set[0], '--format', 'jsonl', '--quiet'];
    const there = execFileSync(braid, arguments_, { encoding: 'utf8', maxBuffer: 1 << 26 });
    // A line for each combination of parameters; the module runs the first.
    const [first] = there.split('\n');
    const at = [...first].findIndex((character, i) => character !== here[i]);
    assert(here === first, `${name} ${cc}: ${here.slice(at - 40, at + 40)} | ${first.slice(at - 40, at + 40)}`);
    assert(JSON.parse(here).connections[0].goodput_bps > 1e5, `${name} ${cc} moved data`);
    compared += 1;
  }
}
assert.throws(() => engine.ask({ ask: 'open', slot: 0, name: 'x', toml: 'x', set: [], cc: 'lia', seed: 1 }), /x/);
console.log(`${compared} runs: the module's results are the binary's, byte for byte`);
