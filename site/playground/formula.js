// The increase per acknowledged packet, with the current numbers filled in.

const n = (value, digits = 4) => Number(value.toPrecision(digits)).toString();

const INCREASE = {
  reno: ({ w, r }) => [1 / w[r], `1/w_r = 1/${n(w[r])}`],
  cubic: null,
  lia: ({ w, rtt, r }) => {
    const total = sum(w);
    const best = Math.max(...w.map((one, i) => one / rtt[i] ** 2));
    const alpha = (total * best) / sum(w.map((one, i) => one / rtt[i])) ** 2;
    const text = `alpha = ${n(alpha)}, min(alpha/w_total, 1/w_r) = min(${n(alpha)}/${n(total)}, 1/${n(w[r])})`;
    return [Math.min(alpha / total, 1 / w[r]), text];
  },
  olia: ({ w, rtt, r }) => {
    const term = w[r] / rtt[r] ** 2 / sum(w.map((one, i) => one / rtt[i])) ** 2;
    const rates = w.map((one, i) => `${n(one)}/${n(rtt[i])}`).join(' + ');
    const text = `(w_r/rtt_r^2) / (sum w/rtt)^2 = (${n(w[r])}/${n(rtt[r])}^2) / (${rates})^2, to which alpha_r/w_r is added`;
    return [term, text];
  },
  balia: ({ w, rtt, r }) => {
    const x = w.map((one, i) => one / rtt[i]);
    const a = Math.max(...x) / x[r];
    const value = (x[r] / (rtt[r] * sum(x) ** 2)) * ((1 + a) / 2) * ((4 + a) / 5);
    const text = `a = ${n(a)}, x_r/(rtt_r (sum x)^2) (1+a)/2 (4+a)/5 with x_r = ${n(w[r])}/${n(rtt[r])}`;
    return [value, text];
  },
  coupled: ({ w }) => [1 / sum(w), `1/w_total = 1/${n(sum(w))}`],
};

const sum = (values) => values.reduce((a, b) => a + b, 0);

/**
 * One sentence about what an ACK did to a subflow, and the formula's numbers, if this page has them: windows `w` in packets
 * and smoothed RTTs `rtt` in ms of the connection's subflows, `r` the one with the ACK, `before` its window before.
 */
export function explain(cc, { w, rtt, r, before, label, ssthresh }) {
  const change = w[r] - before;
  const moved = change === 0 ? 'its window stays' : `its window changes from ${before} to ${w[r]} packets`;
  const parts = [`An ACK for ${label}: ${moved}, its smoothed RTT is ${n(rtt[r])} ms.`];
  if (Number.isNaN(ssthresh) || before < ssthresh) {
    parts.push('It is in slow start: one packet more for each packet that is acknowledged.');
  } else {
    const known = INCREASE[cc.split(':')[0]];
    if (known && w.every((one) => one > 0) && rtt.every((one) => one > 0)) {
      const [value, text] = known({ w, rtt, r });
      parts.push(`Increase per acknowledged packet: ${text} = ${n(value)} packets. Fractions are kept until they make one.`);
    }
  }
  return parts;
}
