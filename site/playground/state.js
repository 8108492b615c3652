// What the reader has chosen, and the same as the part of the address behind #.

export const INITIAL = { preset: 'd-olia/2', a: 'lia', b: 'olia', seed: 1, horizon: 60, set: {}, toml: null };

const PLAIN = ['preset', 'a', 'b'];

/** The state as text. */
export function write(state) {
  const text = new URLSearchParams();
  for (const key of PLAIN) text.set(key, state[key]);
  text.set('seed', String(state.seed));
  text.set('horizon', String(state.horizon));
  for (const [key, value] of Object.entries(state.set)) text.append('set', `${key}=${value}`);
  if (state.toml !== null) text.set('toml', state.toml);
  return text.toString();
}

/** The state that the text is about; what it leaves out or has wrong is as at first. */
export function read(text) {
  const given = new URLSearchParams(text);
  const state = structuredClone(INITIAL);
  for (const key of PLAIN) if (given.has(key)) state[key] = given.get(key);
  const number = (key, low, high) => {
    const value = Number(given.get(key));
    if (given.has(key) && value >= low && value <= high) state[key] = value;
  };
  number('seed', 0, 4294967295);
  number('horizon', 1, 3600);
  for (const pair of given.getAll('set')) {
    const [key, ...rest] = pair.split('=');
    if (/^[\w.-]+$/.test(key) && rest.length) state.set[key] = rest.join('=');
  }
  if (given.has('toml')) state.toml = given.get('toml');
  return state;
}

/** The command that does the same in a terminal; where values depend on parameters, with the file of the page. */
export function command(state, toml) {
  const values = Object.entries(state.set).map(([key, value]) => ` --set ${key}=${value}`);
  const own = state.toml !== null || /^\s*\[?parameters\b/m.test(toml);
  const algorithms = [state.a, state.b].filter(Boolean).join(',');
  return `braid run ${own ? 'scenario.toml' : state.preset} --cc ${algorithms} --seeds ${state.seed}..${state.seed}${own ? '' : values.join('')}`;
}
