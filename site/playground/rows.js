// Rows of the engine (described in crates/braid-web/src/live.rs) as columns for charts.

const PER_SUBFLOW = 7;
const PER_LINK = 2;
/** Rates are means over this many seconds. */
export const RATE_OVER_S = 1;

/** The rows of one run so far. */
export class Table {
  constructor(described) {
    this.described = described;
    this.subflows = described.connections.flatMap((connection) =>
      connection.subflows.map((subflow) => ({
        label: connection.subflows.length > 1 ? `${connection.id} ${subflow.id}` : connection.id,
        connection,
        subflow,
      })),
    );
    this.links = described.links;
    this.rows = [];
  }

  add(numbers) {
    const { columns } = this.described;
    for (let at = 0; at < numbers.length; at += columns) this.rows.push(numbers.subarray(at, at + columns));
  }

  get last() {
    return this.rows[this.rows.length - 1];
  }

  column(index) {
    return this.rows.map((row) => (Number.isNaN(row[index]) ? null : row[index]));
  }

  get times() {
    return this.column(0);
  }

  at(subflow, what) {
    return 1 + PER_SUBFLOW * subflow + ['cwnd', 'ssthresh', 'rtt', 'flight', 'bytes', 'again', 'samples'].indexOf(what);
  }

  queue(link) {
    return this.column(1 + PER_SUBFLOW * this.subflows.length + this.described.connections.length + PER_LINK * link);
  }

  delivered(connection) {
    return this.column(1 + PER_SUBFLOW * this.subflows.length + connection);
  }

  of(subflow, what) {
    return this.column(this.at(subflow, what));
  }

  /** Mbit/s of each row, from bytes counted since the start. */
  rate(bytes) {
    const { times } = this;
    let from = 0;
    return bytes.map((now, i) => {
      while (from < i && times[i] - times[from] > RATE_OVER_S + 1e-9) from += 1;
      const before = from === i ? null : bytes[from];
      // A subflow that rejoins counts from zero again.
      if (now === null || before === null || now < before) return null;
      return ((now - before) * 8) / (times[i] - times[from]) / 1e6;
    });
  }

  /** Mean Mbit/s that a connection got, over the second half of the rows. */
  share(connection) {
    const bytes = this.delivered(connection);
    const { times } = this;
    if (times.length < 2) return 0;
    const middle = Math.floor(times.length / 2);
    const end = times.length - 1;
    return ((bytes[end] - bytes[middle]) * 8) / (times[end] - times[middle] || 1) / 1e6;
  }
}
