// The engine in a worker: the page stays responsive, and a new request ends the previous one.
import { load } from './engine.js';

/** Milliseconds of work between two checks for messages. */
const PIECE_MS = 40;

let engine;
let bytes;
let newest = 0;

/** Data in the page: base64 of a gzip file. */
async function unpack(text) {
  const packed = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

const pause = () =>
  new Promise((resume) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = resume;
    channel.port2.postMessage(0);
  });

/** Opens the runs, and advances them to `until`; sends rows as they come. */
async function run({ id, open, slots, from, until, every }) {
  const opened = open?.map((request) => engine.ask({ ask: 'open', ...request }));
  if (opened) postMessage({ id, opened });
  let now = from;
  // Small at first, until the speed is known.
  let step = Math.max(every, 1);
  while (now < until && id === newest) {
    const start = performance.now();
    now = Math.min(until, now + step);
    const rows = slots.map((slot) => engine.advance(slot, now, every));
    postMessage({ id, rows, now, done: now >= until }, rows.map((one) => one.buffer));
    const took = performance.now() - start;
    if (took < PIECE_MS) step *= 2;
    if (took > 2 * PIECE_MS) step = Math.max(every, step / 2);
    await pause();
  }
}

onmessage = async ({ data }) => {
  try {
    if (data.wasm) {
      bytes = await unpack(data.wasm);
      engine = await load(bytes);
      postMessage({ ready: engine.ask({ ask: 'catalogue' }) });
    } else if (data.kind === 'run') {
      newest = data.id;
      await run(data);
    } else if (data.kind === 'ack') {
      newest = data.id;
      postMessage({ id: data.id, acks: data.slots.map((slot) => engine.ack(slot)) });
    } else if (data.kind === 'edit') {
      postMessage({ id: data.id, toml: engine.ask({ ask: 'edit', toml: data.toml, set: data.set }) });
    }
  } catch (error) {
    const broken = error instanceof WebAssembly.RuntimeError;
    if (broken) engine = await load(bytes);
    postMessage({ id: data.id, error: broken ? `The engine stopped: ${error.message}` : error.message });
  }
};
