//! The figures of a scenario for columns and charts.

use braid_results::catalogue::{
    self as results, DataLevel, Deadline, Delay, Figure, LinkDirection, Metrics, Times,
};
use braid_results::theory::Theory;
use braid_results::{Statistics, Summary};
use braid_scenario::model::{Connection, Kind, Scenario, Subflow, Traffic};
use braid_scenario::topology;

/// The rank of predictions: they go first where there is no room.
const FLUID: u8 = 7;
/// More connections of one kind than this share a figure with their mean.
pub(crate) const APART: usize = 4;

/// A figure that is shown, of certain flows or links.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    /// The flow or link it is about, for people.
    pub(crate) who: String,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    /// `None`: the throughput that a fluid model predicts.
    figure: Option<&'static Figure>,
    /// What it is of; several are averaged.
    of: Vec<String>,
    /// The connection whose throughput the value is a share of.
    whole: Option<String>,
    period: Option<String>,
    /// Divides the value.
    scale: f64,
    /// Decimals of a value below 1000; one less from there, two less from 10 000.
    decimals: usize,
    /// Whether its confidence interval fits even into a narrow table.
    pub(crate) interval: bool,
    /// 0 always stays; others are dropped from the highest on.
    pub(crate) rank: u8,
}

impl Shown {
    fn new(rank: u8, who: &str, what: &'static str, figure: &'static Figure, of: String) -> Self {
        let (unit, scale, decimals) = figure.shown();
        let (who, of, figure) = (who.to_owned(), vec![of], Some(figure));
        Self {
            who,
            what,
            unit,
            figure,
            of,
            whole: None,
            period: None,
            scale,
            decimals,
            interval: false,
            rank,
        }
    }

    fn fluid(connection: &str) -> Self {
        let throughput = &results::Connection::throughput_bps;
        Self { figure: None, ..Self::new(FLUID, connection, "fluid", throughput, connection.to_owned()) }
    }

    fn with_interval(self) -> Self {
        Self { interval: true, ..self }
    }

    /// A share from 0 to 1 in percent.
    fn percent(self, unit: &'static str) -> Self {
        Self { unit, scale: 0.01, decimals: 1, ..self }
    }

    /// Whether it is a single figure of a run. Otherwise it is a mean over several flows, or a share of means, and its
    /// spread is meaningless.
    pub(crate) fn is_single(&self) -> bool {
        self.of.len() == 1 && self.whole.is_none()
    }

    /// Its statistics in the unit it is shown in; of several flows only their common mean.
    pub(crate) fn statistics(&self, row: &Summary) -> Option<Statistics> {
        let Some(figure) = self.figure else {
            let Some(Theory::Fluid(fluid)) = &row.theory else { return None };
            let predicted = fluid.connections.get(&self.of[0])?.throughput_bps;
            return Statistics::of(&[predicted / self.scale]);
        };
        let get = |of: &String| match &self.period {
            None => row.get(figure, of),
            Some(period) => row.during(period, figure, of),
        };
        if self.is_single() {
            return get(&self.of[0]).map(|own| own.scaled(self.scale));
        }
        let whole = |of: &String| Some(row.get(&results::Connection::throughput_bps, of)?.mean);
        let whole = self.whole.as_ref().map_or(Some(1.0), whole).filter(|&whole| whole != 0.0)?;
        let means: Option<Vec<f64>> = self.of.iter().map(|of| Some(get(of)?.mean / whole)).collect();
        Some(Statistics { sd: None, ci95: None, ..Statistics::of(&means?)?.scaled(self.scale) })
    }

    /// Decimals that suit all these values.
    pub(crate) fn decimals_for(&self, values: &[Option<Statistics>]) -> usize {
        let largest = values.iter().flatten().map(|s| s.mean.abs()).fold(0.0, f64::max);
        match largest {
            _ if self.figure.is_none() => self.decimals,
            10_000.0.. => self.decimals.saturating_sub(2),
            1000.0.. => self.decimals.saturating_sub(1),
            _ => self.decimals,
        }
    }
}

/// The number with these decimals, and no negative zero.
pub(crate) fn number(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| c == '0' || c == '.') => rest.to_owned(),
        _ => text,
    }
}

/// What people ask for first: goodput, benefit, rates, fairness, losses and RTT of the flows.
pub(crate) fn figures(scenario: &Scenario) -> Vec<Shown> {
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
    for Connection { name, .. } in all.iter().filter(|c| c.kind == Kind::Mptcp && bulk(c)).take(APART) {
        let benefit = Shown::new(1, name, "benefit", &Metrics::aggregate_benefits, name.clone());
        figures.push(benefit.with_interval());
    }
    let apart = || tested.iter().filter(|group| group.len() <= APART).flatten();
    for connection in apart().filter(|connection| connection.subflows.len() > 1) {
        for subflow in &connection.subflows {
            let rate = &results::Subflow::throughput_bps;
            figures.push(Shown::new(3, &subflow.name, "rate", rate, id(connection, subflow)));
        }
    }
    for group in &others {
        goodput(&mut figures, group, 2);
    }
    for connection in all.iter().filter(|connection| !bulk(connection)).take(APART) {
        let of = |what, figure| {
            Shown::new(2, &connection.name, what, figure, connection.name.clone()).with_interval()
        };
        figures.extend([of("time p50", &Times::p50), of("time p95", &Times::p95)]);
        if connection.deadline_ns.is_some() {
            figures.push(Shown { decimals: 2, ..of("late", &Deadline::missed_percent) });
        }
    }
    fairness(&mut figures, scenario);
    for Connection { name, .. } in apart() {
        let again = &results::Connection::retransmissions;
        figures.push(Shown::new(5, name, "retrans", again, name.clone()));
    }
    for connection in apart() {
        for subflow in &connection.subflows {
            let who = if connection.subflows.len() > 1 { &subflow.name } else { &connection.name };
            let rtt = &results::Subflow::mean_rtt_ms;
            figures.push(Shown::new(6, who, "RTT", rtt, id(connection, subflow)));
        }
    }
    figures
}

/// As results name a subflow.
fn id(connection: &Connection, subflow: &Subflow) -> String {
    format!("{}.{}", connection.name, subflow.name)
}

fn goodput(figures: &mut Vec<Shown>, connections: &[&Connection], rank: u8) {
    let goodput = &results::Connection::goodput_bps;
    let names = connections.iter().map(|connection| connection.name.clone());
    if connections.len() > APART {
        let who = format!("{} flows", connections.len());
        let mean = Shown::new(rank, &who, "mean goodput", goodput, String::new());
        figures.push(Shown { of: names.collect(), ..mean });
    } else {
        figures.extend(
            names.map(|name| Shown::new(rank, &name, "goodput", goodput, name.clone()).with_interval()),
        );
    }
}

/// What packet schedulers are judged by: how MPTCP connections use their paths, and what that does to data.
pub(crate) fn of_data_level(scenario: &Scenario) -> Vec<Shown> {
    let mut figures = Vec::new();
    let several = |connection: &&Connection| connection.kind == Kind::Mptcp && connection.subflows.len() > 1;
    for connection in scenario.connections.iter().filter(several).take(APART) {
        let name = &connection.name;
        let of = |what, figure| Shown::new(0, name, what, figure, name.clone());
        if connection.traffic != Traffic::Bulk {
            figures.push(of("time p99", &Times::p99));
        }
        figures.extend([
            of("out of order", &Delay::mean),
            of("order p95", &Delay::p95),
            of("order p99", &Delay::p99),
            of("sent twice", &DataLevel::repeated_bytes),
            of("window full", &DataLevel::window_limited).percent("% of the time"),
        ]);
        for subflow in &connection.subflows {
            let rate = &results::Subflow::throughput_bps;
            let share = Shown::new(0, &subflow.name, "share", rate, id(connection, subflow)).percent("%");
            figures.push(Shown { whole: Some(name.clone()), ..share });
        }
    }
    figures
}

/// How full the links were that are someone's bottleneck: utilisation, queue, drops.
pub(crate) fn of_links(scenario: &Scenario) -> Vec<Shown> {
    let of_link = |link: usize| {
        let name = &scenario.links[link].name;
        let of = |what, figure| Shown::new(0, name, what, figure, name.clone());
        [
            of("utilisation", &LinkDirection::utilization).percent("%"),
            of("mean queue", &LinkDirection::mean_queue_packets),
            of("queue drops", &LinkDirection::drops_packets),
        ]
    };
    bottlenecks(scenario).into_iter().flat_map(of_link).collect()
}

/// What a fluid model predicts of each connection, unless they are many.
pub(crate) fn predictions(scenario: &Scenario) -> Vec<Shown> {
    scenario.connections.iter().take(APART).map(|connection| Shown::fluid(&connection.name)).collect()
}

/// Throughput of each connection, with all its subflows, and after it what is predicted.
pub(crate) fn throughputs(scenario: &Scenario) -> Vec<Shown> {
    let throughput =
        |name: &String| Shown::new(0, name, "throughput", &results::Connection::throughput_bps, name.clone());
    predictions(scenario).into_iter().flat_map(|fluid| [throughput(&fluid.who), fluid]).collect()
}

/// Whether a fluid model predicts something for one of these rows.
pub(crate) fn is_predicted<'a>(mut rows: impl Iterator<Item = &'a Summary>) -> bool {
    rows.any(|row| matches!(row.theory, Some(Theory::Fluid(_))))
}

/// Goodput of a connection in the interval of a run with this id.
pub(crate) fn in_period(connection: &Connection, period: &str) -> Shown {
    let goodput = &results::Connection::goodput_bps;
    let shown = Shown::new(0, period, "goodput", goodput, connection.name.clone());
    Shown { period: Some(period.to_owned()), ..shown }
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

/// Jain's index at the links that are someone's bottleneck and that several flows cross.
fn fairness(figures: &mut Vec<Shown>, scenario: &Scenario) {
    for index in bottlenecks(scenario).into_iter().filter(|&link| !somebody_moves(scenario, link)) {
        let link = &scenario.links[index];
        let crossing = |connection: &&Connection| -> usize {
            connection.subflows.iter().filter(|subflow| subflow.route.contains(&index)).count()
        };
        let bulk = || scenario.connections.iter().filter(|c| c.traffic == Traffic::Bulk);
        let subflows: usize = bulk().filter(|c| c.kind == Kind::Mptcp).map(|c| crossing(&c)).sum();
        if bulk().filter(|c| crossing(c) > 0).count() > 1 {
            let jain = &Metrics::jain_connections;
            figures.push(Shown::new(4, &link.name, "Jain", jain, link.name.clone()));
        }
        if subflows > 1 {
            let jain = &Metrics::jain_mptcp_subflows;
            figures.push(Shown::new(4, &link.name, "Jain sf", jain, link.name.clone()));
        }
    }
}
