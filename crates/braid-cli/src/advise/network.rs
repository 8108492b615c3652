//! The network that advice is about, as the scenarios that are simulated.

use std::collections::BTreeSet;

use braid_algorithms::Spec;
use braid_results::metrics::fair_shares;
use braid_scenario::File;
use braid_scenario::model::{Connection, Kind, Scenario, Subflow, Traffic};

use crate::Failure;

/// Congestion control of the baseline and of competitors.
pub(super) const CUBIC: &str = "cubic";

pub(super) fn cubic() -> Spec {
    Spec::parse(CUBIC).expect("a built-in algorithm")
}

/// A network and the connection that the advice is about: the first one of kind `mptcp`.
pub(super) struct Network {
    cell: Scenario,
    /// Index of the connection.
    asked: usize,
}

/// Another bulk transfer in the network.
pub(super) struct Competitor {
    pub(super) name: String,
    /// Index of the slowest link of its route.
    pub(super) bottleneck: usize,
    pub(super) fair_share_bps: f64,
}

/// The scenarios that a candidate is simulated in. Each is there once for each order of connections: of equal CUBIC flows the one
/// that begins first gets twice as much for a minute (docs/tcp-model.md), whatever their algorithm deserves.
pub(super) struct Cells {
    /// Without further competitors, then beside one CUBIC TCP flow at each bottleneck.
    pub(super) all: Vec<Scenario>,
    /// How many of them are without.
    pub(super) alone: usize,
}

impl Network {
    /// Other connections that name no congestion control use CUBIC.
    pub(super) fn of(file: &File) -> Result<Self, Failure> {
        let [cell] = &file.cells[..] else {
            return Err(Failure::bad_input(
                format!("{}: its parameters make {} networks of it", file.cells[0].name, file.cells.len()),
                "choose one of them: --set parameters.NAME=VALUE, or one value in a copy of the file",
            ));
        };
        let mut cell = cell.clone();
        let Some(asked) = cell.connections.iter().position(|connection| connection.kind == Kind::Mptcp)
        else {
            return Err(Failure::bad_input(
                format!("{} has no MPTCP connection, which advice could be about", cell.name),
                "add one: kind = \"mptcp\" with a subflow for each path",
            ));
        };
        for connection in &mut cell.connections {
            connection.cc.get_or_insert_with(cubic);
        }
        cell.connections[asked].cc = None;
        cell.connections[asked].scheduler = None;
        Ok(Self { cell, asked })
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.cell.connections[self.asked]
    }

    /// Subflows of the connection, least delay first.
    fn by_delay(&self) -> Vec<&Subflow> {
        let delay_ns = |&link: &usize| {
            let link = &self.cell.links[link];
            link.forward.delay_ns + link.reverse.delay_ns
        };
        let mut subflows: Vec<&Subflow> = self.connection().subflows.iter().collect();
        subflows.sort_by_key(|subflow| subflow.route.iter().map(delay_ns).sum::<u64>());
        subflows
    }

    /// Slowest link of each route that the subflow has during the run.
    fn bottlenecks(&self, subflow: &Subflow) -> BTreeSet<usize> {
        let later = subflow.reroutes.iter().filter_map(|reroute| reroute.forward.as_ref());
        std::iter::once(&subflow.route).chain(later).map(|route| self.cell.bottleneck(route)).collect()
    }

    /// The subflows of the baseline in the order of the file: no two have a bottleneck in common, and those of least delay come first.
    pub(super) fn disjoint(&self) -> Vec<String> {
        let mut taken = BTreeSet::new();
        let mut chosen = Vec::new();
        for subflow in self.by_delay() {
            let own = self.bottlenecks(subflow);
            if taken.is_disjoint(&own) {
                taken.extend(own);
                chosen.push(&subflow.name);
            }
        }
        let names = self.connection().subflows.iter().map(|subflow| &subflow.name);
        names.filter(|name| chosen.contains(name)).cloned().collect()
    }

    /// What is simulated where the connection has these subflows only.
    pub(super) fn cells(&self, subflows: &[String]) -> Cells {
        let mut alone = self.cell.clone();
        let own = &mut alone.connections[self.asked].subflows;
        own.retain(|subflow| subflows.contains(&subflow.name));
        own[0].join_delay_ns = None;
        let mut beside = alone.clone();
        beside.connections.extend(self.flows_beside());
        let mut all = orders(alone);
        let count = all.len();
        all.extend(orders(beside));
        Cells { all, alone: count }
    }

    /// One CUBIC TCP flow at each bottleneck, on the route of least delay there.
    fn flows_beside(&self) -> Vec<Connection> {
        let mut taken = BTreeSet::new();
        let by_delay = self.by_delay().into_iter();
        let first_there = by_delay.filter(|subflow| taken.insert(self.cell.bottleneck(&subflow.route)));
        let flow = |subflow: &Subflow| Connection {
            name: format!("beside-{}", subflow.name),
            kind: Kind::Tcp,
            cc: Some(cubic()),
            traffic: Traffic::Bulk,
            subflows: vec![Subflow {
                join_delay_ns: None,
                up: Vec::new(),
                backup: false,
                reroutes: Vec::new(),
                ..subflow.clone()
            }],
            ..self.connection().clone()
        };
        first_there.map(flow).collect()
    }

    /// Bulk transfers beside the connection, the added CUBIC flows included.
    pub(super) fn competitors(&self) -> Vec<Competitor> {
        let mut cell = self.cell.clone();
        cell.connections.extend(self.flows_beside());
        let shares = fair_shares(&cell);
        let others = cell.connections.iter().zip(&shares).enumerate().filter(|(at, _)| *at != self.asked);
        let bulk = others.filter(|(_, (other, share))| other.traffic == Traffic::Bulk && share.total > 0.0);
        let competitor =
            |(_, (other, share)): (usize, (&Connection, &braid_results::metrics::Available))| Competitor {
                name: other.name.clone(),
                bottleneck: cell.bottleneck(&other.subflows[0].route),
                fair_share_bps: share.total,
            };
        bulk.map(competitor).collect()
    }
}

/// With the connections in the order of the file, and in the reverse order if there are several.
fn orders(cell: Scenario) -> Vec<Scenario> {
    if cell.connections.len() == 1 {
        return vec![cell];
    }
    let mut reversed = cell.clone();
    reversed.connections.reverse();
    vec![cell, reversed]
}

#[cfg(test)]
mod tests {
    use braid_scenario::Source;

    use super::*;

    fn network(text: &str) -> Network {
        let source = Source { name: "test".into(), text: text.into() };
        Network::of(&braid_scenario::load(&source, &[]).unwrap()).unwrap()
    }

    const SHARED: &str = "title = \"Two of three paths share a bottleneck\"\nduration = \"10s\"\ncc = [\"lia\"]\n\
        [link.far]\nrate = \"1gbit\"\nrtt = \"20ms\"\nqueue = \"100p\"\n\
        [link.near]\nrate = \"1gbit\"\nrtt = \"2ms\"\nqueue = \"100p\"\n\
        [link.line]\nrate = \"20mbit\"\nrtt = \"10ms\"\nqueue = \"50p\"\n\
        [link.own]\nrate = \"5mbit\"\nrtt = \"50ms\"\nqueue = \"50p\"\n\
        [connection.mp0]\nkind = \"mptcp\"\n\
        [connection.mp0.subflow.a]\nroute = [\"far\", \"line\"]\n\
        [connection.mp0.subflow.b]\nroute = [\"near\", \"line\"]\n\
        [connection.mp0.subflow.c]\nroute = [\"own\"]\n\
        [connection.tcp0]\nkind = \"tcp\"\nroute = [\"line\"]\n";

    #[test]
    fn the_baseline_has_the_path_of_least_delay_of_each_bottleneck() {
        assert_eq!(network(SHARED).disjoint(), ["b", "c"]);
        let moving = format!(
            "{SHARED}[connection.mp0.subflow.d]\nroute = [\"near\"]\nchange = [{{ at = \"5s\", route = [\"near\", \"own\"] }}]\n"
        );
        assert_eq!(
            network(&moving).disjoint(),
            ["b", "d"],
            "d has the bottleneck of c from 5 s on, and less delay"
        );
    }

    #[test]
    fn candidates_meet_one_cubic_flow_at_each_bottleneck_in_both_orders() {
        let network = network(SHARED);
        let cells = network.cells(&network.disjoint());
        let names = |cell: &Scenario| -> Vec<String> {
            cell.connections.iter().map(|connection| connection.name.clone()).collect()
        };
        assert_eq!(cells.alone, 2);
        assert_eq!(names(&cells.all[0]), ["mp0", "tcp0"]);
        assert_eq!(names(&cells.all[2]), ["mp0", "tcp0", "beside-b", "beside-c"]);
        assert_eq!(names(&cells.all[3]), ["beside-c", "beside-b", "tcp0", "mp0"]);
        let of = |name: &str| cells.all[2].connections.iter().find(|other| other.name == name).unwrap();
        assert_eq!(of("tcp0").cc.as_ref().map(Spec::text), Some("cubic"), "it names none");
        assert_eq!((of("mp0").cc.clone(), of("mp0").subflows.len()), (None, 2));
    }

    #[test]
    fn each_competitor_has_its_fair_share_of_its_bottleneck() {
        let competitors = network(SHARED).competitors();
        let shares: Vec<(&str, f64)> =
            competitors.iter().map(|one| (one.name.as_str(), one.fair_share_bps / 1e6)).collect();
        let payload = 1400.0 / 1500.0;
        for ((name, mbit), (expected, share)) in
            shares.iter().zip([("tcp0", 20.0 / 3.0), ("beside-b", 20.0 / 3.0), ("beside-c", 2.5)])
        {
            assert_eq!(*name, expected);
            assert!((mbit / share - payload).abs() < 0.04, "{name}: {mbit}");
        }
        assert_eq!(shares.len(), 3);
    }
}
