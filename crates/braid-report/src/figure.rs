//! The figures of a scenario for columns and charts.

use braid_results::{Statistics, Summary};
use braid_scenario::model::{Connection, Kind, Scenario, Subflow, Traffic};
use braid_scenario::topology;

/// Above this number, connections of one kind share a figure with their mean.
pub(crate) const APART: usize = 4;

/// Description of a figure, without values.
#[derive(Clone, Debug)]
pub(crate) struct Figure {
    /// The flow or link it is about.
    pub(crate) who: String,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    /// Paths in [`Summary::statistics`]; several are averaged.
    paths: Vec<String>,
    /// Path of the whole of which the value is a share.
    whole: Option<String>,
    /// Divides the value.
    scale: f64,
    /// Decimals of a value below 1000; one less from there, two less from 10 000.
    decimals: usize,
    /// Whether its confidence interval fits even into a narrow table.
    pub(crate) interval: bool,
    /// 0 always stays; others are dropped from the highest on.
    pub(crate) rank: u8,
}

impl Figure {
    fn new(rank: u8, who: &str, what: &'static str, unit: &'static str, path: String) -> Self {
        Self {
            who: who.to_owned(),
            what,
            unit,
            paths: vec![path],
            whole: None,
            scale: 1.0,
            decimals: 2,
            interval: false,
            rank,
        }
    }

    fn mbit(self) -> Self {
        Self { scale: 1e6, ..self }
    }

    fn decimals(self, decimals: usize) -> Self {
        Self { decimals, ..self }
    }

    fn with_interval(self) -> Self {
        Self { interval: true, ..self }
    }

    /// As a percentage of another figure's mean.
    fn percent_of(self, whole: String) -> Self {
        Self { whole: Some(whole), scale: 0.01, ..self }
    }

    /// Whether it is one figure of a run; else it is the mean over several flows, or a share of means, and its spread
    /// is meaningless.
    pub(crate) fn is_single(&self) -> bool {
        self.paths.len() == 1 && self.whole.is_none()
    }

    /// Its statistics in the displayed unit; for several paths only their common mean.
    pub(crate) fn statistics(&self, row: &Summary) -> Option<Statistics> {
        let scaled = |s: &Statistics| Statistics {
            mean: s.mean / self.scale,
            sd: s.sd.map(|sd| sd / self.scale),
            ci95: s.ci95.map(|half| half / self.scale),
            min: s.min / self.scale,
            q1: s.q1 / self.scale,
            median: s.median / self.scale,
            q3: s.q3 / self.scale,
            max: s.max / self.scale,
            ..*s
        };
        if let ([path], None) = (&self.paths[..], &self.whole) {
            return row.get(path).map(scaled);
        }
        let whole = self.whole.as_ref().map_or(Some(1.0), |path| row.get(path).map(|whole| whole.mean))?;
        if whole == 0.0 {
            return None;
        }
        let means: Option<Vec<f64>> =
            self.paths.iter().map(|path| Some(row.get(path)?.mean / whole)).collect();
        let mean = Statistics::of(&means?)?;
        Some(Statistics { sd: None, ci95: None, ..scaled(&mean) })
    }

    /// Decimals that suit all these values.
    pub(crate) fn decimals_for(&self, values: &[Option<Statistics>]) -> usize {
        let largest = values.iter().flatten().map(|s| s.mean.abs()).fold(0.0, f64::max);
        match largest {
            10_000.0.. => self.decimals.saturating_sub(2),
            1000.0.. => self.decimals.saturating_sub(1),
            _ => self.decimals,
        }
    }
}

/// The number with this many decimals, without a negative zero.
pub(crate) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
        _ => text,
    }
}

/// In the order of interest: goodput, benefit, rates, fairness, losses and RTT of the flows.
pub(crate) fn figures(scenario: &Scenario) -> Vec<Figure> {
    let all = &scenario.connections;
    let about = |connection: &&Connection| {
        connection.cc.is_none() || all.iter().all(|connection| connection.cc.is_some())
    };
    let of_kind = |kind: Kind, tested: bool| -> Vec<&Connection> {
        all.iter().filter(|c| c.kind == kind && about(c) == tested).collect()
    };
    let tested = [of_kind(Kind::Mptcp, true), of_kind(Kind::Tcp, true)];
    let others = [of_kind(Kind::Mptcp, false), of_kind(Kind::Tcp, false)];

    let mut figures = Vec::new();
    for group in &tested {
        goodput(&mut figures, group, 0);
    }
    let bulk = |connection: &&Connection| connection.traffic == Traffic::Bulk;
    for connection in all.iter().filter(|c| c.kind == Kind::Mptcp && bulk(c)).take(APART) {
        let path = format!("metrics.aggregate_benefits.{}", connection.name);
        figures.push(Figure::new(1, &connection.name, "benefit", "", path).decimals(3).with_interval());
    }
    let apart = || tested.iter().filter(|group| group.len() <= APART).flatten();
    for connection in apart().filter(|connection| connection.subflows.len() > 1) {
        for subflow in &connection.subflows {
            let path = format!("connections.{}.subflows.{}.throughput_bps", connection.name, subflow.name);
            figures.push(Figure::new(3, &subflow.name, "rate", "Mbit/s", path).mbit());
        }
    }
    for group in &others {
        goodput(&mut figures, group, 2);
    }
    for connection in all.iter().filter(|connection| !bulk(connection)).take(APART) {
        for (what, key) in [("time p50", "p50"), ("time p95", "p95")] {
            let path = format!("connections.{}.application.time_ms.{key}", connection.name);
            figures.push(Figure::new(2, &connection.name, what, "ms", path).decimals(1).with_interval());
        }
        if connection.deadline_ns.is_some() {
            let path = format!("connections.{}.application.deadline.missed_percent", connection.name);
            figures.push(Figure::new(2, &connection.name, "late", "%", path).decimals(2).with_interval());
        }
    }
    fairness(&mut figures, scenario);
    for connection in apart() {
        let path = format!("connections.{}.retransmissions", connection.name);
        figures.push(Figure::new(5, &connection.name, "retrans", "packets", path).decimals(0));
    }
    for connection in apart() {
        for subflow in &connection.subflows {
            let who = if connection.subflows.len() > 1 { &subflow.name } else { &connection.name };
            let path = format!("connections.{}.subflows.{}.mean_rtt_ms", connection.name, subflow.name);
            figures.push(Figure::new(6, who, "RTT", "ms", path).decimals(1));
        }
    }
    figures
}

fn goodput(figures: &mut Vec<Figure>, connections: &[&Connection], rank: u8) {
    let path = |connection: &Connection| format!("connections.{}.goodput_bps", connection.name);
    if connections.len() > APART {
        let who = format!("{} flows", connections.len());
        let paths = connections.iter().map(|connection| path(connection)).collect();
        let mean = Figure::new(rank, &who, "mean goodput", "Mbit/s", String::new()).mbit();
        figures.push(Figure { paths, ..mean });
        return;
    }
    for connection in connections {
        let figure = Figure::new(rank, &connection.name, "goodput", "Mbit/s", path(connection));
        figures.push(figure.mbit().with_interval());
    }
}

/// Figures for packet schedulers: MPTCP connections' use of their paths, and its effect on data.
pub(crate) fn of_data_level(scenario: &Scenario) -> Vec<Figure> {
    let mut figures = Vec::new();
    let several = |connection: &&Connection| connection.kind == Kind::Mptcp && connection.subflows.len() > 1;
    for connection in scenario.connections.iter().filter(several).take(APART) {
        let name = &connection.name;
        let path = |field: &str| format!("connections.{name}.{field}");
        if connection.traffic != Traffic::Bulk {
            let time = path("application.time_ms.p99");
            figures.push(Figure::new(0, name, "time p99", "ms", time).decimals(1));
        }
        for (what, key) in [("out of order", "mean"), ("order p95", "p95"), ("order p99", "p99")] {
            let delay = path(&format!("data_level.out_of_order_delay_ms.{key}"));
            figures.push(Figure::new(0, name, what, "ms", delay).decimals(1));
        }
        let twice = Figure::new(0, name, "sent twice", "kB", path("data_level.repeated_bytes")).decimals(0);
        figures.push(Figure { scale: 1e3, ..twice });
        let full = Figure::new(0, name, "window full", "% of the time", path("data_level.window_limited"));
        figures.push(Figure { scale: 0.01, ..full }.decimals(1));
        for subflow in &connection.subflows {
            let rate = path(&format!("subflows.{}.throughput_bps", subflow.name));
            let share = Figure::new(0, &subflow.name, "share", "%", rate).decimals(1);
            figures.push(share.percent_of(path("throughput_bps")));
        }
    }
    figures
}

/// Utilisation, queue and drops of links that are a bottleneck.
pub(crate) fn of_links(scenario: &Scenario) -> Vec<Figure> {
    let mut figures = Vec::new();
    for link in bottlenecks(scenario) {
        let name = &scenario.links[link].name;
        let path = |field: &str| format!("links.{name}.{field}");
        let percent = Figure::new(0, name, "utilisation", "%", path("utilization")).decimals(1);
        figures.push(Figure { scale: 0.01, ..percent });
        figures.push(Figure::new(0, name, "mean queue", "packets", path("mean_queue_packets")).decimals(1));
        figures.push(Figure::new(0, name, "queue drops", "packets", path("drops_packets")).decimals(0));
    }
    figures
}

/// Throughput of each connection, with all its subflows if there are few.
pub(crate) fn throughputs(scenario: &Scenario) -> Vec<Figure> {
    let of = |connection: &Connection| {
        let path = format!("connections.{}.throughput_bps", connection.name);
        Figure::new(0, &connection.name, "throughput", "Mbit/s", path).mbit()
    };
    scenario.connections.iter().take(APART).map(of).collect()
}

/// Goodput of a connection in the period with this id.
pub(crate) fn in_period(connection: &Connection, period: &str) -> Figure {
    let path = format!("periods.{period}.connections.{}.goodput_bps", connection.name);
    Figure::new(0, period, "goodput", "Mbit/s", path).mbit()
}

/// The shared links that are a bottleneck, ascending.
pub(crate) fn bottlenecks(scenario: &Scenario) -> Vec<usize> {
    let mut links: Vec<usize> = topology::paths(scenario).iter().flatten().map(|p| p.bottleneck).collect();
    links.retain(|&link| !scenario.links[link].private);
    links.sort_unstable();
    links.dedup();
    links
}

/// Whether a subflow joins or leaves the link during the run: then rates of whole runs do not describe the link.
pub(crate) fn somebody_moves(scenario: &Scenario, link: usize) -> bool {
    let moves = |subflow: &Subflow| {
        let mut later = subflow.reroutes.iter().filter_map(|reroute| reroute.forward.as_ref());
        later.any(|route| route.contains(&link) != subflow.route.contains(&link))
    };
    scenario.connections.iter().flat_map(|connection| &connection.subflows).any(moves)
}

/// Jain's index at bottleneck links with several flows.
fn fairness(figures: &mut Vec<Figure>, scenario: &Scenario) {
    for index in bottlenecks(scenario).into_iter().filter(|&link| !somebody_moves(scenario, link)) {
        let link = &scenario.links[index];
        let crossing = |connection: &&Connection| -> usize {
            connection.subflows.iter().filter(|subflow| subflow.route.contains(&index)).count()
        };
        let bulk = || scenario.connections.iter().filter(|c| c.traffic == Traffic::Bulk);
        let subflows: usize = bulk().filter(|c| c.kind == Kind::Mptcp).map(|c| crossing(&c)).sum();
        if bulk().filter(|c| crossing(c) > 0).count() > 1 {
            let path = format!("metrics.jain_connections.{}", link.name);
            figures.push(Figure::new(4, &link.name, "Jain", "", path).decimals(3));
        }
        if subflows > 1 {
            let path = format!("metrics.jain_mptcp_subflows.{}", link.name);
            figures.push(Figure::new(4, &link.name, "Jain sf", "", path).decimals(3));
        }
    }
}
