//! A live run of a page.

use braid_algorithms::Spec;
use braid_results::Setup;
use braid_scenario::model::{Discipline, Kind, Loss, QueueLimit, Scenario};
use braid_scenario::{Source, topology};
use braid_sim::{Options, Simulation};
use self_cell::self_cell;
use serde_json::{Value, json};

use crate::edit::has_rtt;

/// `None` once it is finished.
struct Running<'a>(Option<Simulation<'a>>);

self_cell!(
    struct Cell {
        owner: Scenario,
        #[not_covariant]
        dependent: Running,
    }
);

/// One run of one scenario.
pub struct Live {
    cell: Cell,
    cc: Spec,
    seed: u64,
    text: String,
    now_ns: u64,
    /// `[connection][subflow]`: index among all subflows.
    offsets: Vec<usize>,
    n_subflows: usize,
    n_links: usize,
}

/// Values per subflow in a row.
const PER_SUBFLOW: usize = 7;
/// Values per link in a row.
const PER_LINK: usize = 2;

impl Live {
    /// A run before its first event; for a scenario with parameters, of the first combination.
    ///
    /// # Errors
    /// The error in the scenario, an assignment of `set` or the algorithm, as text.
    pub fn open(source: &Source, set: &[String], cc: &str, seed: u64) -> Result<Self, String> {
        let mut file = braid_scenario::load(source, set).map_err(|error| error.to_string())?;
        let scenario = file.cells.swap_remove(0);
        let cc = Spec::parse(cc).map_err(|error| error.to_string())?;
        let mut offsets = Vec::new();
        let mut n_subflows = 0;
        for connection in &scenario.connections {
            offsets.push(n_subflows);
            n_subflows += connection.subflows.len();
        }
        let n_links = scenario.links.len();
        let cell = Cell::try_new(scenario, |scenario| {
            let simulation = Simulation::new(scenario, &cc, seed, Options::default());
            simulation.map(|simulation| Running(Some(simulation))).map_err(|error| error.to_string())
        })?;
        Ok(Self { cell, cc, seed, text: source.text.clone(), now_ns: 0, offsets, n_subflows, n_links })
    }

    /// Topology and rates, for a drawing.
    pub fn describe(&self) -> Value {
        let scenario = self.cell.borrow_owner();
        let paths = topology::paths(scenario);
        let links = scenario.links.iter().map(|link| {
            let forward = &link.forward;
            let (queue, unit) = match forward.queue {
                QueueLimit::Packets(n) => (u64::from(n), "packets"),
                QueueLimit::Bytes(n) => (n, "bytes"),
            };
            let loss = match &forward.loss {
                Loss::None => 0.0,
                Loss::Bernoulli(probability) => *probability,
                Loss::Periodic(n) => 1.0 / f64::from(*n),
                Loss::GilbertElliott(model) => model.mean(),
            };
            json!({
                "id": link.name, "private": link.private, "rate_bps": forward.rate_bps,
                "trace": forward.trace.is_some(), "rtt_key": has_rtt(&self.text, &link.name), "delay_ns": forward.delay_ns, "back_ns": link.reverse.delay_ns,
                "loss": loss, "queue": queue, "queue_unit": unit, "discipline": discipline(&forward.discipline),
                "changes": forward.changes.len() + forward.outages.len(),
            })
        });
        let connections = scenario.connections.iter().enumerate().map(|(i, connection)| {
            let subflows = connection.subflows.iter().enumerate().map(|(j, subflow)| {
                let route: Vec<&str> =
                    subflow.route.iter().map(|&link| scenario.links[link].name.as_str()).collect();
                let path = &paths[i][j];
                json!({"id": subflow.name, "route": route, "base_rtt_ns": path.base_rtt_ns,
                    "bottleneck": scenario.links[path.bottleneck].name})
            });
            json!({
                "id": connection.name, "kind": kind(connection.kind), "cc": connection.cc.as_ref().map(Spec::text),
                "uses": connection.cc.as_ref().unwrap_or(&self.cc).text(), "mss": connection.mss,
                "subflows": subflows.collect::<Vec<_>>(),
            })
        });
        json!({
            "title": scenario.title, "duration_s": scenario.duration_ns as f64 / 1e9,
            "end_s": (scenario.duration_ns - scenario.cooldown_ns) as f64 / 1e9,
            "parameters": scenario.parameters, "cc": self.cc.text(), "seed": self.seed,
            "links": links.collect::<Vec<_>>(), "connections": connections.collect::<Vec<_>>(),
            "columns": self.columns(), "drawing": braid_draw::topology(scenario),
        })
    }

    /// Values in a row: the time in seconds; for each subflow cwnd and ssthresh in packets, smoothed RTT in ms, packets
    /// in flight, received IP bytes, retransmissions and RTT samples; for each connection delivered bytes; for each
    /// link packets in the queue and packets dropped there. Missing values are NaN.
    pub fn columns(&self) -> usize {
        1 + PER_SUBFLOW * self.n_subflows + self.offsets.len() + PER_LINK * self.n_links
    }

    /// Advances until `until_s`, and adds a row for each multiple of `every_s`.
    pub fn advance(&mut self, until_s: f64, every_s: f64, rows: &mut Vec<f64>) {
        let every = ((every_s * 1e9) as u64).max(1_000_000);
        let until = (until_s * 1e9) as u64;
        loop {
            let next = (self.now_ns / every + 1) * every;
            if next > until {
                return;
            }
            let end = self.cell.with_dependent_mut(|_, running| {
                let Some(simulation) = &mut running.0 else { return 0 };
                simulation.advance_until(next);
                simulation.end_ns()
            });
            if next > end {
                return;
            }
            self.now_ns = next;
            self.row(rows);
        }
    }

    /// Advances to the next ACK with an RTT sample, and adds a row; false at the end of the run.
    pub fn ack(&mut self, rows: &mut Vec<f64>) -> bool {
        let more = self.cell.with_dependent_mut(|_, running| {
            let Some(simulation) = &mut running.0 else { return None };
            let samples = |simulation: &Simulation| -> Vec<_> {
                simulation.subflows().iter().map(|(place, sample)| (*place, sample.rtt_samples)).collect()
            };
            let before = samples(simulation);
            while simulation.step() {
                // One more sample than before, or the first of a new subflow.
                let after = samples(simulation);
                if after.iter().any(|now| now.1 > 0 && !before.contains(now)) {
                    return Some(simulation.now_ns());
                }
            }
            None
        });
        if let Some(now) = more {
            self.now_ns = now;
            self.row(rows);
        }
        more.is_some()
    }

    fn row(&mut self, rows: &mut Vec<f64>) {
        let start = rows.len();
        rows.resize(start + self.columns(), f64::NAN);
        let row = &mut rows[start..];
        row[0] = self.now_ns as f64 / 1e9;
        let offsets = &self.offsets;
        let n_subflows = self.n_subflows;
        self.cell.with_dependent_mut(|_, running| {
            let Some(simulation) = &mut running.0 else { return };
            for (place, sample) in simulation.subflows() {
                let at = 1 + PER_SUBFLOW * (offsets[place.connection] + place.subflow);
                row[at] = f64::from(sample.cwnd);
                row[at + 1] = sample.ssthresh.map_or(f64::NAN, f64::from);
                row[at + 2] = sample.srtt_us.map_or(f64::NAN, |us| f64::from(us) / 1000.0);
                row[at + 3] = f64::from(sample.in_flight);
                row[at + 4] = sample.received_bytes as f64;
                row[at + 5] = sample.retransmissions as f64;
                row[at + 6] = sample.rtt_samples as f64;
            }
            let mut at = 1 + PER_SUBFLOW * n_subflows;
            for bytes in simulation.delivered_bytes() {
                row[at] = bytes as f64;
                at += 1;
            }
            for sample in simulation.links() {
                row[at] = f64::from(sample.queue_packets);
                row[at + 1] = sample.drops_queue as f64;
                at += PER_LINK;
            }
        });
    }

    /// Runs to the end; returns the results as `braid run --format json`; `None` if it was finished before.
    pub fn finish(&mut self) -> Option<String> {
        let (cc, seed) = (&self.cc, self.seed);
        self.cell.with_dependent_mut(|scenario, running| {
            let counts = running.0.take()?.finish();
            let setup = Setup { scenario, backend: "sim", cc: cc.text(), scheduler: "minrtt", seed };
            Some(braid_results::json(&setup.measured(&counts)))
        })
    }
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Mptcp => "mptcp",
        Kind::Tcp => "tcp",
    }
}

fn discipline(discipline: &Discipline) -> &'static str {
    match discipline {
        Discipline::DropTail => "drop-tail",
        Discipline::Red(_) => "red",
        Discipline::CoDel(_) => "codel",
        Discipline::FqCoDel(_) => "fq-codel",
    }
}
