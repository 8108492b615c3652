//! Samples of the kernel's sockets.

use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::net::IpAddr;
use std::time::{Duration, Instant};

use braid_algorithms::Algorithm;
use braid_algorithms::layout::ca_state;
use braid_kernel::{Flow, Namespace, PREFIX, Said, Socket, Verdicts};

use crate::Failure;

use super::findings::{Finding, Machine};
use super::lines::Lines;
use super::model::{Connection, Limit, RECENT, State, Step, Subflow, share};

/// Maximum of stored samples.
const KEPT: usize = 120;

/// Earlier samples of a socket.
#[derive(Default)]
struct Past {
    looks: VecDeque<(Instant, Flow)>,
    steps: VecDeque<Step>,
}

/// Takes samples.
pub(crate) struct Sampler {
    lines: Lines,
    /// The only network namespace to sample; all visible ones if `None`.
    only: Option<Namespace>,
    began: Instant,
    /// By the socket's cookie.
    past: HashMap<u64, Past>,
    machine: Option<(Instant, Machine)>,
    /// By network namespace and line.
    states: BTreeMap<(String, String), State>,
    /// Opened at the first socket with one of Braid's algorithms; `None` if that is impossible.
    verdicts: OnceCell<Option<Verdicts>>,
    /// Number of network namespaces that could not be inspected in the last sample.
    pub(crate) unseen: usize,
}

impl Sampler {
    /// Samples the network namespace `netns`, or without one all visible namespaces.
    pub(crate) fn new(netns: Option<&str>) -> Result<Self, Failure> {
        Ok(Self {
            lines: Lines::read()?,
            only: netns.map(Namespace::named).transpose()?,
            began: Instant::now(),
            past: HashMap::new(),
            machine: None,
            states: BTreeMap::new(),
            verdicts: OnceCell::new(),
            unseen: 0,
        })
    }

    /// The sampled network namespaces.
    pub(crate) fn namespaces(&self) -> Vec<Namespace> {
        self.only.as_ref().map_or_else(Namespace::all, |only| vec![only.clone()])
    }

    /// All visible connections, and the time since the first sample.
    pub(crate) fn take(&mut self) -> (Duration, Vec<Connection>) {
        let began = Instant::now();
        let mut past = HashMap::new();
        let mut connections: Vec<Connection> = Vec::new();
        self.unseen = 0;
        let hints = braid_kernel::hints().unwrap_or_default();
        for namespace in self.namespaces() {
            let now = Instant::now();
            // A namespace that has just disappeared, or that this process may not enter.
            let Ok(mut sockets) = braid_kernel::sockets(&namespace) else {
                self.unseen += 1;
                continue;
            };
            // Subflows of a connection are adjacent.
            sockets.sort_by_key(|socket| (socket.token, socket.ids, socket.local, socket.remote));
            let ports: HashSet<u16> =
                sockets.iter().filter(|socket| socket.listens).map(|socket| socket.local.port()).collect();
            let first = connections.len();
            let interfaces = braid_kernel::interfaces(&namespace).unwrap_or_default();
            let cookie = if hints.is_empty() { None } else { namespace.cookie().ok() };
            let said: HashMap<u64, Said> =
                self.said(&namespace, &sockets).into_iter().map(|said| (said.cookie, said)).collect();
            for socket in sockets {
                let Some(flow) = socket.flow else { continue };
                let mut before = self.past.remove(&socket.cookie).unwrap_or_default();
                let has_it = |last: &Connection| socket.token.is_some() && last.token == socket.token;
                if !connections[first..].last().is_some_and(has_it) {
                    let (namespace, token) = (namespace.name.clone(), socket.token);
                    let is_accepted = ports.contains(&socket.local.port());
                    connections.push(Connection { namespace, token, is_accepted, subflows: Vec::new() });
                }
                let connection = connections.last_mut().expect("there is one now");
                let number = connection.subflows.len() + 1;
                let said = said.get(&socket.cookie);
                connection.subflows.push(subflow(now, number, socket, flow, &before, said, &interfaces));
                let new = &mut connection.subflows[number - 1];
                new.hint = cookie.and_then(|cookie| {
                    braid_kernel::hint_of(&hints, cookie, new.local.ip(), new.interface.as_deref())
                });
                let (rate_bps, received_bps) = (new.rate_bps, new.received_bps);
                before.steps.push_back(Step {
                    rate_bps,
                    received_bps,
                    srtt_us: flow.srtt_us,
                    cwnd: flow.cwnd,
                });
                before.looks.push_back((now, flow));
                if before.looks.len() > KEPT {
                    before.looks.pop_front();
                    before.steps.pop_front();
                }
                past.insert(new.cookie, before);
            }
            for connection in &mut connections[first..] {
                self.lines.apply(&mut connection.subflows);
            }
        }
        self.past = past;
        self.judge_lines(&mut connections);
        (began - self.began, connections)
    }

    /// Findings about connections and their namespaces. The machine is asked every [`RECENT`].
    pub(crate) fn findings(&mut self, connections: &[Connection]) -> Vec<Finding> {
        if self.machine.as_ref().is_none_or(|(asked, _)| asked.elapsed() >= RECENT) {
            let machine = Machine::ask(&self.namespaces(), connections, false);
            self.machine = Some((Instant::now(), machine));
        }
        self.machine.as_ref().map(|(_, machine)| machine.findings(connections)).unwrap_or_default()
    }

    /// Judges the lines of MPTCP connections; plain TCP shows that they live.
    fn judge_lines(&mut self, connections: &mut [Connection]) {
        let mut lines: BTreeMap<(String, String), Vec<Flow>> = BTreeMap::new();
        let mut bonded = HashSet::new();
        for connection in &*connections {
            for subflow in &connection.subflows {
                let line = (connection.namespace.clone(), subflow.line.clone());
                if connection.token.is_some() {
                    bonded.insert(line.clone());
                }
                lines.entry(line).or_default().push(subflow.flow);
            }
        }
        let judged = |(line, flows): ((String, String), Vec<Flow>)| {
            let state = self.states.get(&line).copied().unwrap_or_default().next(flows.iter());
            (line, state)
        };
        lines.retain(|line, _| bonded.contains(line));
        self.states = lines.into_iter().map(judged).collect();
        for connection in connections {
            for subflow in &mut connection.subflows {
                let line = (connection.namespace.clone(), subflow.line.clone());
                subflow.line_state = self.states.get(&line).copied().unwrap_or_default();
            }
        }
    }

    /// Steps of a socket, the oldest first.
    pub(crate) fn history(&self, cookie: u64) -> impl ExactSizeIterator<Item = &Step> {
        self.past.get(&cookie).map(|past| past.steps.iter()).unwrap_or_default()
    }

    /// Published words of sockets on our algorithms; empty if this process may not read them.
    pub(crate) fn said(&self, namespace: &Namespace, sockets: &[Socket]) -> Vec<Said> {
        if !sockets.iter().any(|socket| socket.algorithm.starts_with(PREFIX)) {
            return Vec::new();
        }
        let verdicts = self.verdicts.get_or_init(|| Verdicts::open().ok()).as_ref();
        verdicts.and_then(|verdicts| verdicts.of(namespace).ok()).unwrap_or_default()
    }

    /// Whether this process may read published words, needed or not.
    pub(crate) fn may_ask(&self) -> bool {
        self.verdicts.get_or_init(|| Verdicts::open().ok()).is_some()
    }

    /// Whether reading published words has failed.
    pub(crate) fn may_not_ask(&self) -> bool {
        matches!(self.verdicts.get(), Some(None))
    }
}

fn subflow(
    now: Instant,
    number: usize,
    socket: Socket,
    flow: Flow,
    past: &Past,
    said: Option<&Said>,
    interfaces: &BTreeMap<IpAddr, String>,
) -> Subflow {
    let last = past.looks.back();
    let per_second = |count: fn(&Flow) -> u64| {
        let (then, before) = last?;
        let bytes = count(&flow).saturating_sub(count(before));
        Some(bytes as f64 * 8.0 / (now - *then).as_secs_f64().max(1e-6))
    };
    // In the first sample the kernel's own estimate.
    let rate_bps = per_second(|flow| flow.bytes_acked).unwrap_or(flow.delivery_rate as f64 * 8.0);
    let received_bps = per_second(|flow| flow.bytes_received).unwrap_or_default();
    let old = past.looks.partition_point(|(then, _)| now - *then > RECENT);
    let recent = past.looks.get(old).map(|(_, flow)| *flow).unwrap_or_default();
    let recent_loss = share(
        flow.bytes_retransmitted.saturating_sub(recent.bytes_retransmitted),
        flow.bytes_sent.saturating_sub(recent.bytes_sent),
    );
    let mut verdict = said.and_then(|said| said.verdict);
    // `sbd=all` labels plain TCP as shared, too, but it has no siblings.
    if let (Some(verdict), None) = (&mut verdict, socket.token) {
        verdict.group = 0;
    }
    Subflow {
        cookie: socket.cookie,
        couples: couples(&socket.algorithm, said),
        number,
        local: socket.local,
        remote: socket.remote,
        interface: interfaces.get(&socket.local.ip()).cloned(),
        line: String::new(),
        line_state: State::Healthy,
        is_backup: socket.is_backup,
        fell_back: socket.fell_back,
        limit: limit(&flow, last.map(|(then, before)| (now - *then, before))),
        algorithm: socket.algorithm,
        flow,
        rate_bps,
        received_bps,
        recent_loss,
        verdict,
        hint: None,
    }
}

/// A loaded algorithm may have any name; the socket's published words identify it, if they are readable.
fn couples(kernel_name: &str, said: Option<&Said>) -> Option<bool> {
    let Some(name) = kernel_name.strip_prefix(PREFIX) else { return Some(false) };
    let algorithm = said.map(|said| said.algorithm).or_else(|| braid_algorithms::find(name))?;
    Some(algorithm.flags() & Algorithm::UNCOUPLED == 0)
}

/// From the changes since the previous sample, or else since the socket began.
fn limit(flow: &Flow, before: Option<(Duration, &Flow)>) -> Limit {
    if flow.opening_ms.is_some() {
        return Limit::Opening;
    }
    match State::of(flow.timeouts) {
        State::Dead => return Limit::Dead,
        State::Suspect => return Limit::Suspect,
        State::Healthy => {}
    }
    let first = Flow::default();
    let (elapsed_us, before) = match before {
        Some((elapsed, before)) => (elapsed.as_micros() as u64, before),
        None => (0, &first),
    };
    let since = |count: fn(&Flow) -> u64| count(flow).saturating_sub(count(before));
    let busy = since(|flow| flow.busy_us);
    if since(|flow| flow.bytes_sent) == 0 && flow.in_flight == 0 {
        return if since(|flow| flow.bytes_received) > 0 { Limit::Receives } else { Limit::Idle };
    }
    let most_of = |part: u64| part > 0 && 2 * part >= busy;
    if most_of(since(|flow| flow.rwnd_limited_us)) {
        Limit::Receiver
    } else if most_of(since(|flow| flow.sndbuf_limited_us)) {
        Limit::SendBuffer
    } else if u32::from(flow.ca_state) >= ca_state::RECOVERY {
        Limit::Loss
    } else if 10 * busy < 9 * elapsed_us {
        Limit::Application
    } else if flow.in_flight + 2 >= flow.cwnd {
        Limit::Window
    } else if flow.is_app_limited || flow.bytes_not_sent == 0 {
        Limit::Application
    } else {
        Limit::Queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_dies_by_timeouts_in_a_row_and_stays_dead_until_an_ack() {
        let timeouts = |timeouts| Flow { timeouts, last_ack_ms: 60_000, ..Flow::default() };
        let acked = Flow { last_ack_ms: 10, ..Flow::default() };
        let opening = Flow { opening_ms: Some(9000), timeouts: 6, ..Flow::default() };
        let silent = timeouts(0);
        let mut state = State::Healthy;
        for (flows, expected) in [
            (vec![timeouts(1)], State::Healthy),
            (vec![timeouts(2)], State::Suspect),
            (vec![timeouts(4)], State::Dead),
            (vec![silent], State::Dead),
            (vec![timeouts(9), opening], State::Dead),
            (vec![timeouts(9), acked], State::Healthy),
            (vec![opening], State::Healthy),
        ] {
            state = state.next(flows.iter());
            assert_eq!(state, expected, "{flows:?}");
        }
        assert_eq!(limit_of(|flow| flow.timeouts = 5), Limit::Dead);
        assert_eq!(limit_of(|flow| flow.opening_ms = Some(1)), Limit::Opening);
    }

    const SECOND: Duration = Duration::from_secs(1);

    /// The limit of a socket that was busy for a whole second with a full window. `change` edits the socket first.
    fn limit_of(change: impl FnOnce(&mut Flow)) -> Limit {
        let before = Flow { busy_us: 5_000_000, bytes_sent: 1000, ..Flow::default() };
        let mut flow = Flow {
            busy_us: 6_000_000,
            bytes_sent: 2_000_000,
            bytes_not_sent: 100_000,
            cwnd: 100,
            in_flight: 100,
            ..before
        };
        change(&mut flow);
        limit(&flow, Some((SECOND, &before)))
    }

    #[test]
    fn what_limits_a_socket_is_told_from_what_the_kernel_counts() {
        assert_eq!(limit_of(|_| ()), Limit::Window);
        assert_eq!(limit_of(|flow| flow.rwnd_limited_us = 600_000), Limit::Receiver);
        assert_eq!(limit_of(|flow| flow.sndbuf_limited_us = 600_000), Limit::SendBuffer);
        assert_eq!(limit_of(|flow| flow.rwnd_limited_us = 300_000), Limit::Window);
        assert_eq!(limit_of(|flow| flow.busy_us = 5_400_000), Limit::Application);
        assert_eq!(limit_of(|flow| flow.ca_state = ca_state::RECOVERY as u8), Limit::Loss);
        // A window of 18 with 4 in flight: written data waits in this machine.
        assert_eq!(limit_of(|flow| (flow.cwnd, flow.in_flight) = (18, 4)), Limit::Queue);
        let nothing_waits = |flow: &mut Flow| (flow.in_flight, flow.bytes_not_sent) = (4, 0);
        assert_eq!(limit_of(nothing_waits), Limit::Application);
        let silent = |flow: &mut Flow| (flow.in_flight, flow.bytes_sent) = (0, 1000);
        assert_eq!(limit_of(silent), Limit::Idle);
        assert_eq!(
            limit_of(|flow| {
                silent(flow);
                flow.bytes_received = 9000;
            }),
            Limit::Receives
        );
    }
}
