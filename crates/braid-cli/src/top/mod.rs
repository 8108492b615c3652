//! `braid top`: connections and their subflows, live.

mod choice;
mod view;

use std::time::Duration;

use serde_json::{Value, json};

use self::choice::{Choice, Sort};
use crate::Failure;
use crate::live::{Connection, Finding, Sampler, Subflow, told};
use crate::terminal;

/// Additional help text.
pub(crate) const KEYS: &str = "Keys: arrows, PgUp, PgDn, Home and End scroll, Enter shows the history of a connection and leaves it, s \
    sorts by another column, / filters, w shows the warnings with remedies, space pauses, a shows all TCP or Braid's \
    only, \
    q ends.\n\n\
    Columns: CONN token of the MPTCP connection; SF subflow; LINE its name in /etc/braid/lines.conf (`wan1 = 203.0.113.7/32`), else the interface or address that tells it apart; RATE payload acknowledged per second; \
    IN payload received per second; RTT smoothed, BASE smallest, in ms: the difference is queues; CWND window in packets; \
    LOSS% of the bytes of the last 10 s, sent again; LIMIT what it waits for: app (the application, or MPTCP sends on other \
    subflows), rwnd (the receiver's window), sndbuf (the send buffer), cwnd (the congestion window), loss (repairs), queue \
    (this machine's own), syn (its SYN is not answered), suspect and dead (two and four timeouts in a row), recv (it only receives), idle; GRP subflows with the same number share a bottleneck, peer: it sends, and its congestion control decides. Wider \
    terminals show more, such as HINT, the bottleneck that `braid hint` states.\n\n\
    Sockets of other network namespaces are visible to root only.";

#[derive(Debug, clap::Args)]
pub(crate) struct TopArgs {
    /// All TCP connections, not only those with a subflow on one of Braid's algorithms.
    #[arg(long, short)]
    all: bool,
    /// Only connections where this is part of the algorithm, an address, the line, the interface, the token or the namespace
    /// of some subflow.
    #[arg(long, short, value_name = "TEXT", default_value = "", hide_default_value = true)]
    filter: String,
    /// Only this network namespace, as `ip netns` lists it or a path. Default: all that are visible.
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
    /// Sort key, the largest first.
    #[arg(long, short, value_enum, default_value = "rate")]
    sort: Sort,
    /// Time between refreshes.
    #[arg(long, short, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// Print one interval, and end.
    #[arg(long)]
    once: bool,
    /// For programs: one JSON document per refresh and line (docs/top.schema.json).
    #[arg(long)]
    json: bool,
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if interval < Duration::from_millis(100) || interval > Duration::from_secs(3600) {
        return Err("it is a time from 100ms to 1h".into());
    }
    Ok(interval)
}

pub(crate) fn run(args: &TopArgs) -> Result<(), Failure> {
    let choice = Choice { all: args.all, filter: args.filter.clone(), sort: args.sort };
    let mut sampler = Sampler::new(args.netns.as_deref())?;
    if !args.json && !args.once {
        return view::live(sampler, choice, args.interval);
    }
    // Rates are those between two samples.
    sampler.take();
    loop {
        std::thread::sleep(args.interval);
        let (elapsed, connections) = sampler.take();
        let shown = choice.of(connections.clone());
        let found = sampler.findings(if choice.filter.is_empty() { &connections } else { &shown });
        let is_read = if args.json {
            let document = document(elapsed, &shown, &found);
            terminal::still_read(format!("{document}\n").as_bytes())?
        } else {
            let width = terminal::style().width.unwrap_or(200);
            terminal::print(view::text(&shown, width).as_bytes())?;
            for note in notes(&sampler, &connections, &shown, &found) {
                eprintln!("{note}");
            }
            true
        };
        if args.once || !is_read {
            return Ok(());
        }
    }
}

/// Notes beside the table.
fn notes(sampler: &Sampler, all: &[Connection], shown: &[Connection], found: &[Finding]) -> Vec<String> {
    let mut notes: Vec<String> = told(found);
    if shown.is_empty() {
        notes.push(match all.len() {
            0 => "No TCP connection is visible.".into(),
            n => format!(
                "None of the {n} visible TCP connections matches; --all shows those on the kernel's own algorithms, \
                 too."
            ),
        });
    }
    if sampler.unseen > 0 || !rustix::process::geteuid().is_root() {
        notes.push(
            "note: not root, so connections in other network namespaces are not visible, nor, on newer kernels, which \
             subflows belong together."
                .into(),
        );
    }
    if sampler.may_not_ask() {
        notes.push("note: detectors' labels (GRP) are visible to root only.".into());
    }
    notes
}

fn document(elapsed: Duration, connections: &[Connection], found: &[Finding]) -> Value {
    let found: Vec<Value> = found.iter().map(Finding::json).collect();
    let connections: Vec<Value> = connections
        .iter()
        .map(|connection| {
            let subflows: Vec<Value> = connection.subflows.iter().map(Subflow::json).collect();
            json!({
                "namespace": connection.namespace,
                "token": connection.token.map(|token| format!("{token:08x}")),
                "subflows": subflows,
            })
        })
        .collect();
    json!({
        "schema_version": 1,
        "time_s": elapsed.as_millis() as f64 / 1e3,
        "connections": connections,
        "warnings": found,
    })
}
