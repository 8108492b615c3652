// The reader's choices, also as the part of the address after #.

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

/** The state of a text; missing or invalid parts get their defaults. */
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

/** The equivalent command in a terminal; if values depend on parameters, with the page's file. */
export function command(state, toml) {
  const values = Object.entries(state.set).map(([key, value]) => ` --set ${key}=${value}`);
  const own = state.toml !== null || /^\s*\[?parameters\b/m.test(toml);
  const algorithms = [state.a, state.b].filter(Boolean).join(',');
  return `braid run ${own ? 'scenario.toml' : state.preset} --cc ${algorithms} --seeds ${state.seed}..${state.seed}${own ? '' : values.join('')}`;
}
