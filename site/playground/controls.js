// The sliders and lists of the network's links and flows.

const rateText = (bps) =>
  bps >= 1e9 ? `${+(bps / 1e9).toPrecision(3)} Gbit/s` : `${+(bps / 1e6).toPrecision(3)} Mbit/s`;
const msText = (ns) => `${+(ns / 1e6).toPrecision(3)} ms`;

const make = (name, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
};

/** A number on a slider whose positions are equally far apart in its logarithm. */
const logarithmic = (low, high) => ({
  min: 0,
  max: 100,
  to: (value) => Math.round((100 * Math.log(Math.max(value, low) / low)) / Math.log(high / low)),
  from: (position) => Number((low * (high / low) ** (position / 100)).toPrecision(2)),
});

const SLIDERS = [
  {
    key: () => 'rate',
    label: 'Rate',
    scale: logarithmic(0.1, 1000),
    of: (link) => link.rate_bps / 1e6,
    text: (value) => `${Math.round(value * 1000)}kbit`,
    show: (value) => rateText(value * 1e6),
    fits: (link) => !link.trace,
  },
  {
    key: (link) => (link.rtt_key ? 'rtt' : 'delay'),
    label: 'Delay, one way',
    scale: logarithmic(0.1, 400),
    of: (link) => link.delay_ns / 1e6,
    text: (value, link) => `${Math.round(value * (link.rtt_key ? 2000 : 1000))}us`,
    show: (value) => msText(value * 1e6),
    fits: () => true,
  },
  {
    key: () => 'loss',
    label: 'Loss',
    scale: {
      min: 0,
      max: 60,
      to: (value) => (value <= 0 ? 0 : Math.max(1, Math.round(20 * Math.log10(value / 0.01)) + 1)),
      from: (position) => (position === 0 ? 0 : Number((0.01 * 10 ** ((position - 1) / 20)).toPrecision(2))),
    },
    of: (link) => link.loss * 100,
    text: (value) => `${value}%`,
    show: (value) => `${value} %`,
    fits: () => true,
  },
  {
    key: () => 'queue',
    label: 'Queue',
    scale: logarithmic(2, 2000),
    of: (link) => link.queue,
    text: (value) => `${Math.round(value)}p`,
    show: (value) => `${Math.round(value)} packets`,
    fits: (link) => link.queue_unit === 'packets',
  },
];
const DISCIPLINES = ['drop-tail', 'red', 'codel', 'fq-codel'];

/** Controls of all links that are shared or have a rate worth changing; they call `change(key, value)`. */
export function links(described, change) {
  return described.links
    .filter((link) => !link.private)
    .map((link) => {
      const box = make('fieldset', {}, make('legend', { textContent: link.id }));
      for (const slider of SLIDERS.filter((one) => one.fits(link))) {
        const value = make('output', { textContent: slider.show(slider.of(link)) });
        const input = make('input', {
          type: 'range',
          min: slider.scale.min,
          max: slider.scale.max,
          value: slider.scale.to(slider.of(link)),
        });
        input.dataset.key = `link.${link.id}.${slider.key(link)}`;
        input.setAttribute('aria-valuetext', value.textContent);
        input.addEventListener('input', () => {
          const now = slider.scale.from(Number(input.value));
          value.textContent = slider.show(now);
          input.setAttribute('aria-valuetext', value.textContent);
          change(input.dataset.key, slider.text(now, link));
        });
        box.append(make('label', {}, make('span', { textContent: slider.label }), input, value));
      }
      const key = `link.${link.id}.discipline`;
      const list = choice(DISCIPLINES, link.discipline, (value) => change(key, value));
      box.append(make('label', {}, make('span', { textContent: 'Discipline' }), list));
      if (link.changes) box.append(make('p', { textContent: `${link.changes} changes or outages during the run stay.` }));
      return box;
    });
}

/** A list for each flow's algorithm; `change(key, null)` means that the scenario decides. */
export function flows(described, set, algorithms, change) {
  return described.connections.map((connection) => {
    const key = `connection.${connection.id}.cc`;
    const asIs = 'as in the scenario';
    const list = choice([asIs, ...algorithms], set[key] ?? asIs, (value) => change(key, value === asIs ? null : value));
    list.dataset.key = key;
    const kind = connection.kind === 'mptcp' ? `MPTCP, ${connection.subflows.length} subflows` : 'TCP';
    return make('label', {}, make('span', { textContent: `${connection.id} (${kind})` }), list);
  });
}

/** A list of names. */
export function choice(names, chosen, change) {
  const list = make('select');
  fill(list, names.map((name) => [name, name]), chosen);
  list.addEventListener('change', () => change(list.value));
  return list;
}

/** Puts `[value, text]` pairs into a list. */
export function fill(list, pairs, chosen) {
  list.replaceChildren(
    ...pairs.map(([value, text]) => make('option', { value, textContent: text, selected: value === chosen })),
  );
}
