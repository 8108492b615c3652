//! Warnings about connections, with remedies.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Connection, Limit, State, Subflow};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Several subflows, none of which is coupled.
    Uncoupled,
    /// Subflows of one connection with different congestion controls.
    Mixed,
    /// Nearly all of a path's RTT is queueing.
    OnlyQueue,
    /// A subflow without data while others have some.
    CarriesNothing,
    /// Timeouts in a row on each subflow of a line that has data.
    DeadLine,
    /// A subflow whose SYN is not answered.
    NeverUp,
    /// A detector's label contradicts the addresses.
    Disagreement,
}

impl Kind {
    pub(crate) const ALL: [Self; 7] = [
        Self::DeadLine,
        Self::NeverUp,
        Self::Uncoupled,
        Self::Mixed,
        Self::OnlyQueue,
        Self::CarriesNothing,
        Self::Disagreement,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uncoupled => "uncoupled",
            Self::Mixed => "mixed",
            Self::OnlyQueue => "only_queue",
            Self::CarriesNothing => "carries_nothing",
            Self::DeadLine => "dead_line",
            Self::NeverUp => "never_up",
            Self::Disagreement => "disagreement",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) kind: Kind,
    pub(crate) namespace: String,
    pub(crate) token: Option<u32>,
    /// The problem.
    pub(crate) what: String,
    /// The remedy.
    pub(crate) remedy: String,
}

impl Warning {
    pub(crate) fn json(&self) -> Value {
        json!({
            "kind": self.kind.name(),
            "namespace": self.namespace,
            "token": self.token.map(|token| format!("{token:08x}")),
            "what": self.what,
            "remedy": self.remedy,
        })
    }
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "warning: {}\n  remedy: {}", self.what, self.remedy)
    }
}

/// As text: the first of each kind, and the number of further ones.
pub(crate) fn told(warnings: &[Warning]) -> Vec<String> {
    const SHOWN: usize = 3;
    let mut told = Vec::new();
    for kind in Kind::ALL {
        let of_kind: Vec<&Warning> = warnings.iter().filter(|warning| warning.kind == kind).collect();
        told.extend(of_kind.iter().take(SHOWN).map(ToString::to_string));
        if of_kind.len() > SHOWN {
            let more = of_kind.len() - SHOWN;
            told.push(format!("warning: {more} more of this kind ({}); --json names all", kind.name()));
        }
    }
    told
}

/// Warnings of all connections.
pub(crate) fn warnings(connections: &[Connection]) -> Vec<Warning> {
    connections.iter().flat_map(of).collect()
}

fn of(connection: &Connection) -> Vec<Warning> {
    let mut found = Vec::new();
    let mut warn = |kind, what, remedy| {
        let (namespace, token) = (connection.namespace.clone(), connection.token);
        found.push(Warning { kind, namespace, token, what, remedy });
    };
    if let Some((what, remedy)) = mixed(connection) {
        warn(Kind::Mixed, what, remedy);
    } else if let Some((what, remedy)) = uncoupled(connection) {
        warn(Kind::Uncoupled, what, remedy);
    }
    for subflow in &connection.subflows {
        if let Some((what, remedy)) = only_queue(connection, subflow) {
            warn(Kind::OnlyQueue, what, remedy);
        }
        if let Some((what, remedy)) = carries_nothing(connection, subflow) {
            warn(Kind::CarriesNothing, what, remedy);
        }
        if let Some((what, remedy)) = dead_line(connection, subflow) {
            warn(Kind::DeadLine, what, remedy);
        }
        if let Some((what, remedy)) = never_up(connection, subflow) {
            warn(Kind::NeverUp, what, remedy);
        }
    }
    if let Some((what, remedy)) = disagreement(connection) {
        warn(Kind::Disagreement, what, remedy);
    }
    found
}

type Found = Option<(String, String)>;

/// A connection's name in warnings.
fn named(connection: &Connection) -> String {
    let place = if connection.namespace.is_empty() { "this namespace" } else { &connection.namespace };
    if let Some(token) = connection.token {
        return format!("MPTCP connection {token:08x} in {place}");
    }
    let subflow = &connection.subflows[0];
    format!("the connection from {} to {} in {place}", subflow.local, subflow.remote)
}

fn way(subflow: &Subflow) -> String {
    format!("subflow {} ({} on {})", subflow.number, subflow.local.ip(), subflow.line)
}

fn mixed(connection: &Connection) -> Found {
    let subflows = &connection.subflows;
    if subflows.iter().all(|subflow| subflow.algorithm == subflows[0].algorithm) {
        return None;
    }
    let each: Vec<String> = subflows
        .iter()
        .map(|subflow| format!("{} to {} runs {}", subflow.local, subflow.remote, subflow.algorithm))
        .collect();
    Some((
        format!(
            "the subflows of {} run different congestion controls: {}",
            named(connection),
            each.join("; ")
        ),
        "coupling needs the same one on each. Possible causes: a route's congctl (see `ip route show`), or a name \
         that was not loaded at the join. After `braid load` and `braid default` new connections use one"
            .into(),
    ))
}

/// Whether this end sends data: then its congestion control matters.
fn sends(connection: &Connection) -> bool {
    let sum = |bytes: fn(&Subflow) -> u64| connection.subflows.iter().map(bytes).sum::<u64>();
    let (sent, received) =
        (sum(|subflow| subflow.flow.bytes_acked), sum(|subflow| subflow.flow.bytes_received));
    sent > 0 && 10 * sent >= received
}

fn uncoupled(connection: &Connection) -> Found {
    let active = connection.subflows.iter().filter(|subflow| !subflow.is_backup);
    let all: Vec<&Subflow> = active.collect();
    if all.len() < 2 || !sends(connection) || all.iter().any(|subflow| subflow.couples != Some(false)) {
        return None;
    }
    Some((
        format!(
            "{} runs {} on each of its {} subflows: where they share a bottleneck it takes {} shares",
            named(connection),
            all[0].algorithm,
            all.len(),
            all.len()
        ),
        "load a coupled algorithm and make it the default: `braid load olia && braid default olia`; connections get \
         it when they begin"
            .into(),
    ))
}

/// RTT over base RTT above which a path is mostly queue, and the minimum of that queue.
const ONLY_QUEUE: (u32, u32) = (4, 100_000);

fn only_queue(connection: &Connection, subflow: &Subflow) -> Found {
    let flow = &subflow.flow;
    let (times, least_us) = ONLY_QUEUE;
    let is_sending = flow.last_sent_ms < 2000 && flow.bytes_acked > 0;
    if !is_sending
        || flow.min_rtt_us == 0
        || subflow.queue_us() < least_us
        || flow.srtt_us / times < flow.min_rtt_us
    {
        return None;
    }
    let interface = subflow.interface.as_deref().unwrap_or("DEVICE");
    Some((
        format!(
            "{} of {}: {} of its RTT of {} ms are a queue",
            way(subflow),
            named(connection),
            format_args!("{} ms", subflow.queue_us() / 1000),
            flow.srtt_us / 1000
        ),
        format!(
            "shape it a little below its rate with a managed queue (`tc qdisc replace dev {interface} root cake \
             bandwidth RATE`), or load a delay-based algorithm (`braid algorithms` names the signal of each)"
        ),
    ))
}

/// Silent for the first time while another was not silent for the second.
const SILENT_MS: (u32, u32) = (10_000, 1_000);

/// Time since the peer was last heard. A retransmission is no sign of it.
fn silence(subflow: &Subflow) -> u32 {
    subflow.flow.last_ack_ms.min(subflow.flow.last_received_ms)
}

fn ping(subflow: &Subflow) -> String {
    format!("check the path (`ping -I {} {}`)", subflow.local.ip(), subflow.remote.ip())
}

fn carries_nothing(connection: &Connection, subflow: &Subflow) -> Found {
    let others = connection.subflows.iter().filter(|other| other.number != subflow.number);
    let busy = others.filter(|other| other.flow.opening_ms.is_none()).min_by_key(|other| silence(other))?;
    let (silent, active) = SILENT_MS;
    let is_waiting = subflow.flow.opening_ms.is_some() || subflow.flow.timeouts > 0;
    if subflow.is_backup || is_waiting || silence(subflow) < silent || silence(busy) > active {
        return None;
    }
    Some((
        format!(
            "{} of {} has carried nothing for {} s, while {} does",
            way(subflow),
            named(connection),
            silence(subflow) / 1000,
            way(busy)
        ),
        format!(
            "{}; the packet scheduler leaves a much slower path idle while the others suffice; `ip mptcp endpoint` \
             shows and removes the endpoint",
            ping(subflow)
        ),
    ))
}

fn dead_line(connection: &Connection, subflow: &Subflow) -> Found {
    (subflow.limit == Limit::Dead && subflow.line_state == State::Dead).then(|| {
        (
            format!(
                "line {} is dead: {} timeouts in a row and no answer for {} s on {} of {}",
                subflow.line,
                subflow.flow.timeouts,
                silence(subflow) / 1000,
                way(subflow),
                named(connection)
            ),
            ping(subflow),
        )
    })
}

/// A SYN unanswered for that time was sent at least twice.
const OPENING_MS: u32 = 2000;

fn never_up(connection: &Connection, subflow: &Subflow) -> Found {
    let age = subflow.flow.opening_ms.filter(|&age| age >= OPENING_MS)?;
    Some((
        format!(
            "{} of {} never came up: SYN-SENT for {} s, {} SYNs without an answer",
            way(subflow),
            named(connection),
            age / 1000,
            subflow.flow.timeouts + 1
        ),
        format!("{}; a firewall may drop it", ping(subflow)),
    ))
}

fn disagreement(connection: &Connection) -> Found {
    let mut groups: BTreeMap<u16, Vec<&Subflow>> = BTreeMap::new();
    for subflow in &connection.subflows {
        // A detector has no data about a subflow that sends nothing.
        let Some(verdict) = subflow.verdict.filter(|_| subflow.flow.last_sent_ms < 2000) else { continue };
        groups.entry(verdict.group).or_default().push(subflow);
    }
    let apart = groups.remove(&0).unwrap_or_default();
    for (at, one) in apart.iter().enumerate() {
        let same = |other: &&&Subflow| {
            one.interface.is_some()
                && other.interface == one.interface
                && other.remote.ip() == one.remote.ip()
        };
        if let Some(other) = apart[at + 1..].iter().find(same) {
            return Some((
                format!(
                    "the detector reports separate bottlenecks for {} and {} of {}, but both leave by the same \
                     interface for the same address",
                    way(one),
                    way(other),
                    named(connection)
                ),
                "if nothing behind that interface separates them (policy routes, several lines at one router), load \
                 an algorithm without a detector, such as olia"
                    .into(),
            ));
        }
    }
    for together in groups.values() {
        let differ = |other: &&&Subflow| {
            let (a, b) = (&together[0].interface, &other.interface);
            a.is_some() && b.is_some() && a != b && other.remote.ip() != together[0].remote.ip()
        };
        if let Some(other) = together.iter().find(differ) {
            return Some((
                format!(
                    "the detector reports a shared bottleneck for {} and {} of {}, but they leave by different \
                     interfaces for different addresses",
                    way(together[0]),
                    way(other),
                    named(connection)
                ),
                "this is right for two lines of one provider, or a server's only line. If the lines have nothing in \
                 common, load an algorithm without a detector"
                    .into(),
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::tests::subflow;
    use super::*;
    use braid_algorithms::layout::Verdict;

    fn kinds(change: impl FnOnce(&mut [Subflow])) -> Vec<Kind> {
        let mut subflows = vec![subflow(1), subflow(2)];
        change(&mut subflows);
        let connection = Connection { namespace: String::new(), token: Some(7), subflows };
        warnings(&[connection]).into_iter().map(|warning| warning.kind).collect()
    }

    #[test]
    fn two_coupled_subflows_that_carry_data_are_no_reason_to_warn() {
        assert_eq!(kinds(|_| ()), []);
    }

    #[test]
    fn each_thing_that_is_wrong_is_warned_of_and_what_only_looks_like_it_is_not() {
        let uncoupled = |all: &mut [Subflow]| all.iter_mut().for_each(|one| one.couples = Some(false));
        assert_eq!(kinds(uncoupled), [Kind::Uncoupled]);
        let backup = |all: &mut [Subflow]| {
            uncoupled(all);
            all[1].is_backup = true;
        };
        assert_eq!(kinds(backup), [], "a backup is not used beside others");
        let receives = |all: &mut [Subflow]| {
            uncoupled(all);
            all[0].flow.bytes_received = 1 << 30;
        };
        assert_eq!(kinds(receives), [], "the peer's congestion control counts");

        let other = |all: &mut [Subflow]| {
            uncoupled(all);
            all[1].algorithm = "reno".into();
        };
        assert_eq!(kinds(other), [Kind::Mixed]);

        assert_eq!(kinds(|all| all[0].flow.srtt_us = 400_000), [Kind::OnlyQueue]);
        assert_eq!(kinds(|all| all[0].flow.srtt_us = 90_000), [], "a queue of 70 ms is usual");
        let quiet = |all: &mut [Subflow]| (all[0].flow.srtt_us, all[0].flow.last_sent_ms) = (400_000, 5000);
        assert_eq!(kinds(quiet), [], "an RTT of long ago");

        assert_eq!(kinds(|all| all[1].flow.last_ack_ms = 12_000), [Kind::CarriesNothing]);
        let both = |all: &mut [Subflow]| all.iter_mut().for_each(|one| one.flow.last_ack_ms = 12_000);
        assert_eq!(kinds(both), [], "an idle connection");
        let dead = |all: &mut [Subflow]| {
            (all[1].flow.timeouts, all[1].flow.last_ack_ms) = (5, 12_000);
            (all[1].limit, all[1].line_state) = (Limit::Dead, State::Dead);
        };
        assert_eq!(kinds(dead), [Kind::DeadLine]);
        let opening = |all: &mut [Subflow]| {
            (all[1].flow.opening_ms, all[1].flow.last_ack_ms) = (Some(3000), 9_000_000);
        };
        assert_eq!(kinds(opening), [Kind::NeverUp]);

        let says = |group, all: &mut [Subflow]| {
            for one in all.iter_mut() {
                one.verdict = Some(Verdict { group, since_us: 1 });
            }
        };
        let one_line = |all: &mut [Subflow]| {
            says(0, all);
            all[1].interface = all[0].interface.clone();
        };
        assert_eq!(kinds(one_line), [Kind::Disagreement]);
        assert_eq!(kinds(|all| says(0, all)), [], "two interfaces, two bottlenecks");
        assert_eq!(kinds(|all| says(1, all)), [], "one server: perhaps its line");
        let far = |all: &mut [Subflow]| {
            says(1, all);
            all[1].remote = "198.51.100.1:443".parse().expect("one");
        };
        assert_eq!(kinds(far), [Kind::Disagreement]);
    }

    #[test]
    fn a_warning_names_connection_and_path_and_what_to_do() {
        let mut subflows = vec![subflow(1), subflow(2)];
        subflows[1].flow.last_ack_ms = 12_000;
        let connection = Connection { namespace: "lan".into(), token: Some(0xabc), subflows };
        let found = warnings(&[connection]);
        let told = told(&vec![found[0].clone(); 5]);
        assert_eq!(told[3], "warning: 2 more of this kind (carries_nothing); --json names all");
        let text = &told[0];
        for part in [
            "00000abc in lan",
            "10.0.2.2 on wan2",
            "nothing for 12 s",
            "remedy: ",
            "ping -I 10.0.2.2 192.0.2.1",
        ] {
            assert!(text.contains(part), "`{part}` in: {text}");
        }
    }
}
