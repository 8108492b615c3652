// The simulator as WebAssembly: crates/braid-web documents the requests. Runs in a worker and in node.

/** The engine in `bytes`; after a panic it is unusable: load another. */
export async function load(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, {});
  const wasm = instance.exports;
  // Any call may move the memory.
  const numbers = (n) => new Float64Array(wasm.memory.buffer, wasm.braid_rows(), n).slice();
  return {
    /** The answer to a request; an Error with a readable message if there is none. */
    ask(request) {
      const text = new TextEncoder().encode(JSON.stringify(request));
      const room = wasm.braid_room(text.length);
      new Uint8Array(wasm.memory.buffer, room, text.length).set(text);
      const length = wasm.braid_call();
      const bytes = new Uint8Array(wasm.memory.buffer, wasm.braid_answer(), length);
      const answer = JSON.parse(new TextDecoder().decode(bytes));
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer.ok;
    },
    /** Rows in order, up to `until` seconds. */
    advance: (slot, until, every) => numbers(wasm.braid_advance(slot, until, every)),
    /** One row after the next ACK; none at the end of the run. */
    ack: (slot) => numbers(wasm.braid_ack(slot)),
  };
}
