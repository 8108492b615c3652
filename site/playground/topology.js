// The network as a drawing: links as bars in columns, the way of each subflow as a line through them.

const NS = 'http://www.w3.org/2000/svg';
const WIDE = 150;
const GAP = 60;
const HIGH = 88;

const node = (name, attributes, text) => {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
};

export const rateText = (bps) =>
  bps >= 1e9 ? `${+(bps / 1e9).toPrecision(3)} Gbit/s` : `${+(bps / 1e6).toPrecision(3)} Mbit/s`;
export const msText = (ns) => `${+(ns / 1e6).toPrecision(3)} ms`;

/** Draws `described` with a colour for each subflow, in the order of the connections. */
export function draw(svg, described, colours) {
  svg.replaceChildren();
  const shown = described.links.filter((link) => !link.private);
  const column = new Map(shown.map((link) => [link.id, 0]));
  const routes = described.connections.flatMap((connection) =>
    connection.subflows.map((subflow) => subflow.route.filter((id) => column.has(id))),
  );
  // A link stands behind all that come before it on any route; rings end this after as many rounds as there are links.
  for (let round = 0; round < shown.length; round += 1) {
    for (const route of routes) {
      route.forEach((id, i) => {
        if (i > 0) column.set(id, Math.max(column.get(id), Math.min(column.get(route[i - 1]) + 1, shown.length)));
      });
    }
  }
  const columns = Math.max(1, ...[...column.values()].map((at) => at + 1));
  const used = new Array(columns).fill(0);
  const places = new Map();
  for (const link of shown) {
    const at = column.get(link.id);
    places.set(link.id, { x: 110 + at * (WIDE + GAP), y: 26 + used[at] * HIGH, link });
    used[at] += 1;
  }
  const tall = Math.max(...used, described.connections.length) * HIGH + 20;
  const width = 220 + columns * WIDE + (columns - 1) * GAP;
  svg.setAttribute('viewBox', `0 0 ${width} ${tall}`);
  // Short columns stand in the middle.
  for (const place of places.values()) place.y += ((tall - 20) / HIGH - used[column.get(place.link.id)]) * (HIGH / 2);
  for (const { x, y, link } of places.values()) {
    svg.append(node('rect', { x, y: y + 8, width: WIDE, height: 34, rx: 6, class: 'link' }));
    svg.append(node('text', { x: x + WIDE / 2, y: y + 2, class: 'name' }, link.id));
    const about = `${link.trace ? 'trace' : rateText(link.rate_bps)}, ${msText(link.delay_ns)}`;
    svg.append(node('text', { x: x + WIDE / 2, y: y + 56, class: 'about' }, about));
  }
  const through = new Map();
  let number = 0;
  described.connections.forEach((connection, i) => {
    const y = ((i + 0.5) * tall) / described.connections.length;
    svg.append(node('text', { x: 6, y: y + 4, class: 'host' }, connection.id));
    connection.subflows.forEach((subflow) => {
      let path = `M 100 ${y}`;
      for (const id of subflow.route.filter((one) => places.has(one))) {
        const { x, y: top } = places.get(id);
        const lane = through.get(id) ?? 0;
        through.set(id, lane + 1);
        const at = top + 14 + (lane % 5) * 6;
        path += ` L ${x} ${at} L ${x + WIDE} ${at}`;
      }
      path += ` L ${width - 100} ${y}`;
      svg.append(node('path', { d: path, class: 'way', stroke: colours[number % colours.length] }));
      number += 1;
    });
    svg.append(node('text', { x: width - 94, y: y + 4, class: 'host' }, 'receiver'));
  });
  const ways = described.connections.flatMap((connection) =>
    connection.subflows.map((subflow) => `${connection.id} ${subflow.id} over ${subflow.route.join(', ')}`),
  );
  svg.setAttribute('aria-label', `Network. ${ways.join('. ')}.`);
}
