//! `braid top`: connections and their subflows, live.

mod sample;
mod view;

use std::time::Duration;

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::Failure;
use crate::terminal;
use sample::{Connection, Sampler, Subflow};

#[derive(Debug, clap::Args)]
pub(crate) struct TopArgs {
    /// All TCP connections, not only those with a subflow on one of Braid's algorithms.
    #[arg(long, short)]
    all: bool,
    /// Only connections where this is part of the algorithm, an address, the token or the namespace of some subflow.
    #[arg(long, short, value_name = "TEXT", default_value = "", hide_default_value = true)]
    filter: String,
    /// What connections are sorted by, the largest first.
    #[arg(long, short, value_enum, default_value = "rate")]
    sort: Sort,
    /// Time between refreshes.
    #[arg(long, short, value_name = "TIME", default_value = "1s", value_parser = interval)]
    interval: Duration,
    /// Print once and end.
    #[arg(long)]
    once: bool,
    /// For programs: one JSON document per refresh and line.
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sort {
    /// Payload acknowledged per second.
    Rate,
    /// Packets in all windows.
    Cwnd,
    /// Longest smoothed RTT.
    Srtt,
    /// Largest share of bytes sent again.
    Loss,
    /// Name of the first subflow's algorithm.
    Algorithm,
}

fn interval(text: &str) -> Result<Duration, String> {
    let interval = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if interval < Duration::from_millis(100) || interval > Duration::from_secs(3600) {
        return Err("it is a time from 100ms to 1h".into());
    }
    Ok(interval)
}

/// What is shown, and in which order.
#[derive(Clone, Debug)]
struct Choice {
    all: bool,
    filter: String,
    sort: Sort,
}

impl Choice {
    fn of(&self, mut connections: Vec<Connection>) -> Vec<Connection> {
        connections.retain(|connection| {
            (self.all || connection.is_ours())
                && (self.filter.is_empty() || connection.contains(&self.filter))
        });
        let largest = |connection: &Connection, key: fn(&Subflow) -> f64| {
            connection.subflows.iter().map(key).fold(0.0, f64::max)
        };
        let key = |connection: &Connection| match self.sort {
            Sort::Rate => connection.subflows.iter().map(|subflow| subflow.rate_bps).sum(),
            Sort::Cwnd => connection.subflows.iter().map(|subflow| f64::from(subflow.flow.cwnd)).sum(),
            Sort::Srtt => largest(connection, |subflow| f64::from(subflow.flow.srtt_us)),
            Sort::Loss => largest(connection, Subflow::loss),
            Sort::Algorithm => 0.0,
        };
        let name = |connection: &Connection| connection.subflows[0].algorithm.clone();
        connections.sort_by(|a, b| {
            let by_key = key(b).total_cmp(&key(a));
            let by_name = if self.sort == Sort::Algorithm { name(a).cmp(&name(b)) } else { by_key };
            by_name.then_with(|| a.identity().cmp(&b.identity()))
        });
        connections
    }
}

pub(crate) fn run(args: &TopArgs) -> Result<(), Failure> {
    let choice = Choice { all: args.all, filter: args.filter.clone(), sort: args.sort };
    let mut sampler = Sampler::new();
    if args.json {
        loop {
            let (elapsed, connections) = sampler.take();
            let document = document(elapsed, &choice.of(connections));
            if !terminal::still_read(format!("{document}\n").as_bytes())? || args.once {
                return Ok(());
            }
            std::thread::sleep(args.interval);
        }
    }
    if args.once {
        let (_, connections) = sampler.take();
        let width = terminal::style().width.unwrap_or(200);
        return terminal::print(view::text(&choice.of(connections), width).as_bytes());
    }
    view::live(sampler, choice, args.interval)
}

fn document(elapsed: Duration, connections: &[Connection]) -> Value {
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
    json!({"schema_version": 1, "time_s": elapsed.as_millis() as f64 / 1e3, "connections": connections})
}
