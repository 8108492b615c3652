//! What the application of a connection does, and when: time goes in, actions come out. The simulator, the QUIC backend and
//! the lab's agent drive the same machine.

use std::collections::VecDeque;

use braid_results::measure::Transfer;
use braid_scenario::model::{ConstantRate, Spread, Traffic};

use crate::draws::Draws;

/// Bytes of a write without end.
pub const ENDLESS: u64 = u64::MAX;

/// What an application waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// A short flow arrives.
    Arrive,
    /// An on-off application begins to send, or to pause.
    Toggle,
    /// The next write at a constant rate.
    Write,
    /// The next request.
    Request,
}

/// What the driver of an application is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Call [`Application::due`] at this time, nanoseconds.
    Wait(u64, Timer),
    /// Open a connection: an object's or a short flow's for this transfer, which it writes at once.
    Open(Option<usize>),
    /// Write n bytes; they complete this transfer.
    Write(u64, Option<usize>),
    /// Write as much as the network takes.
    WriteEndlessly,
    /// Write no more; what is written is this transfer. The driver sets its size after [`Action::WriteEndlessly`].
    Pause(usize),
    /// The receiver sends a request of `bytes`, which the sender answers with this transfer.
    Request {
        /// Of the request.
        bytes: u32,
        /// The response.
        transfer: usize,
    },
    /// Close all connections and call [`Application::stop`].
    Stop,
}

/// The application of a connection of a scenario. Its draws depend on seed and name only, so that every backend has the same
/// traffic.
pub struct Application {
    traffic: Traffic,
    draws: Draws,
    /// In the order of their beginnings.
    pub transfers: Vec<Transfer>,
    /// Transfers that end when n bytes of the connection have arrived: n and the transfer.
    marks: VecDeque<(u64, usize)>,
    /// Short flows that wait for others to end, and how many are open.
    waiting: VecDeque<usize>,
    open: u32,
    started_ns: Option<u64>,
    ended_ns: Option<u64>,
    /// On-off: it sends.
    sends: bool,
    /// Start of the writes at a constant rate, their number, and when the next is due.
    since_ns: u64,
    writes: u64,
    next_ns: u64,
    actions: VecDeque<Action>,
}

impl Application {
    /// The application of the connection `name`.
    pub fn new(traffic: &Traffic, name: &str, seed: u64) -> Self {
        Self {
            traffic: traffic.clone(),
            draws: Draws::new(seed, name),
            transfers: Vec::new(),
            marks: VecDeque::new(),
            waiting: VecDeque::new(),
            open: 0,
            started_ns: None,
            ended_ns: None,
            sends: false,
            since_ns: 0,
            writes: 0,
            next_ns: 0,
            actions: VecDeque::new(),
        }
    }

    /// Most connections at a time.
    pub fn connections(traffic: &Traffic) -> usize {
        if let Traffic::Poisson { at_once, .. } = traffic { *at_once as usize } else { 1 }
    }

    /// Whether each transfer has a connection of its own.
    pub fn is_short_flows(&self) -> bool {
        matches!(self.traffic, Traffic::Poisson { .. })
    }

    /// Whether the receiver writes first.
    pub fn begins_at_receiver(&self) -> bool {
        matches!(self.traffic, Traffic::RequestResponse { .. })
    }

    /// Returns the oldest action that the driver has not taken.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When it was started.
    pub fn started_ns(&self) -> Option<u64> {
        self.started_ns
    }

    /// When it was stopped.
    pub fn ended_ns(&self) -> Option<u64> {
        self.ended_ns
    }

    /// Starts it.
    pub fn start(&mut self, now_ns: u64) {
        self.started_ns = Some(now_ns);
        let transfer = match self.traffic {
            Traffic::Poisson { .. } => return self.plan_arrival(now_ns),
            Traffic::Object { size } => Some(self.begin_drawn(now_ns, size)),
            _ => None,
        };
        self.actions.push_back(Action::Open(transfer));
    }

    /// Ends it. True the first time.
    pub fn stop(&mut self, now_ns: u64) -> bool {
        let is_first = self.ended_ns.is_none();
        self.ended_ns.get_or_insert(now_ns);
        is_first
    }

    /// What a new connection writes at once: all of its transfer, or [`ENDLESS`]. `None`: [`Self::established`] says.
    pub fn first_bytes(&self, transfer: Option<usize>) -> Option<u64> {
        let bulk = matches!(self.traffic, Traffic::Bulk).then_some(ENDLESS);
        transfer.map(|transfer| self.transfers[transfer].bytes).or(bulk)
    }

    /// Its connection is established.
    pub fn established(&mut self, now_ns: u64) {
        (self.since_ns, self.next_ns) = (now_ns, now_ns);
        match self.traffic {
            Traffic::OnOff { .. } => self.due(now_ns, Timer::Toggle),
            Traffic::RequestResponse { .. } => self.due(now_ns, Timer::Request),
            Traffic::Cbr(_) => self.due(now_ns, Timer::Write),
            Traffic::Bulk | Traffic::Object { .. } | Traffic::Poisson { .. } | Traffic::Program(_) => {}
        }
    }

    /// The time of a timer has come; `now_ns` is the time that [`Action::Wait`] named.
    pub fn due(&mut self, now_ns: u64, timer: Timer) {
        if self.ended_ns.is_some() {
            return;
        }
        match (timer, &self.traffic) {
            (Timer::Arrive, &Traffic::Poisson { size, .. }) => {
                let transfer = self.begin_drawn(now_ns, size);
                self.waiting.push_back(transfer);
                self.admit();
                self.plan_arrival(now_ns);
            }
            (Timer::Toggle, &Traffic::OnOff { on, off, rate }) => self.toggle(now_ns, on, off, rate),
            (Timer::Write, &Traffic::Cbr(rate)) => self.write(now_ns, rate, true),
            (Timer::Write, &Traffic::OnOff { rate: Some(rate), .. }) if self.sends => {
                self.write(now_ns, rate, false);
            }
            (Timer::Request, &Traffic::RequestResponse { request: bytes, response, .. }) => {
                let transfer = self.begin_drawn(now_ns, response);
                self.actions.push_back(Action::Request { bytes, transfer });
            }
            _ => {}
        }
    }

    /// All of a transfer has arrived.
    pub fn arrived(&mut self, now_ns: u64, transfer: usize) {
        self.transfers[transfer].end_ns = Some(now_ns);
        match self.traffic {
            Traffic::Object { .. } => self.actions.push_back(Action::Stop),
            Traffic::Poisson { .. } => {
                self.open -= 1;
                self.admit();
            }
            Traffic::RequestResponse { think, .. } => {
                let wait = self.draws.time(think);
                self.actions.push_back(Action::Wait(now_ns + wait, Timer::Request));
            }
            Traffic::Bulk | Traffic::OnOff { .. } | Traffic::Cbr(_) | Traffic::Program(_) => {}
        }
    }

    /// A transfer is complete when this many bytes of the connection have arrived. For transports that count bytes.
    pub fn ends_at(&mut self, transfer: usize, written: u64) {
        self.marks.push_back((written, transfer));
    }

    /// This many bytes of the connection have arrived.
    pub fn delivered(&mut self, now_ns: u64, bytes: u64) {
        while let Some(&(_, transfer)) = self.marks.front().filter(|mark| mark.0 <= bytes) {
            self.marks.pop_front();
            self.arrived(now_ns, transfer);
        }
    }

    fn begin(&mut self, start_ns: u64, bytes: u64) -> usize {
        self.transfers.push(Transfer { start_ns, end_ns: None, bytes });
        self.transfers.len() - 1
    }

    fn begin_drawn(&mut self, now_ns: u64, size: Spread) -> usize {
        let bytes = self.draws.bytes(size);
        self.begin(now_ns, bytes)
    }

    fn plan_arrival(&mut self, now_ns: u64) {
        let Traffic::Poisson { every_ns, .. } = self.traffic else { return };
        let wait = self.draws.time(Spread::Exponential { mean: every_ns as f64 });
        self.actions.push_back(Action::Wait(now_ns + wait, Timer::Arrive));
    }

    /// Opens a connection for the short flow that has waited longest, unless as many as may be are open.
    fn admit(&mut self) {
        let is_full = self.open as usize >= Self::connections(&self.traffic);
        if is_full || self.ended_ns.is_some() {
            return;
        }
        if let Some(transfer) = self.waiting.pop_front() {
            self.open += 1;
            self.actions.push_back(Action::Open(Some(transfer)));
        }
    }

    fn toggle(&mut self, now_ns: u64, on: Spread, off: Spread, rate: Option<ConstantRate>) {
        self.sends = !self.sends;
        let lasts = self.draws.time(if self.sends { on } else { off });
        self.actions.push_back(Action::Wait(now_ns + lasts, Timer::Toggle));
        match rate {
            _ if !self.sends => {
                let turn = self.transfers.len() - 1;
                self.transfers[turn].bytes = rate.map_or(0, |rate| self.writes * u64::from(rate.write));
                self.actions.push_back(Action::Pause(turn));
            }
            Some(rate) => {
                self.begin(now_ns, 0);
                (self.since_ns, self.writes, self.next_ns) = (now_ns, 0, now_ns);
                self.write(now_ns, rate, false);
            }
            None => {
                self.begin(now_ns, 0);
                self.actions.push_back(Action::WriteEndlessly);
            }
        }
    }

    /// Writes at a constant rate; a timer of an earlier turn does nothing.
    fn write(&mut self, now_ns: u64, rate: ConstantRate, is_transfer: bool) {
        if now_ns < self.next_ns {
            return;
        }
        let bytes = u64::from(rate.write);
        let transfer = is_transfer.then(|| self.begin(now_ns, bytes));
        self.writes += 1;
        let bits = u128::from(self.writes) * u128::from(bytes) * 8_000_000_000;
        self.next_ns = self.since_ns + (bits / u128::from(rate.rate_bps)) as u64;
        self.actions.extend([Action::Wait(self.next_ns, Timer::Write), Action::Write(bytes, transfer)]);
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Application, Timer};
    use braid_scenario::model::{ConstantRate, Spread, Traffic};

    fn actions(application: &mut Application) -> Vec<Action> {
        std::iter::from_fn(|| application.next_action()).collect()
    }

    #[test]
    fn a_transfer_ends_when_its_last_byte_arrives() {
        let rate = ConstantRate { rate_bps: 8_000_000, write: 1000 };
        let mut application = Application::new(&Traffic::Cbr(rate), "a", 1);
        application.established(0);
        for (number, time) in [0, 1_000_000, 2_000_000].into_iter().enumerate() {
            let next = Action::Wait(time + 1_000_000, Timer::Write);
            assert_eq!(actions(&mut application), [next, Action::Write(1000, Some(number))]);
            application.ends_at(number, 1000 * (number as u64 + 1));
            application.due(time + 1_000_000, Timer::Write);
        }
        let mut ends = |now, bytes| {
            application.delivered(now, bytes);
            application.transfers.iter().map(|transfer| transfer.end_ns).collect::<Vec<_>>()
        };
        assert_eq!(ends(10, 999), [None; 4]);
        assert_eq!(ends(11, 1999), [Some(11), None, None, None]);
        assert_eq!(ends(12, 3001), [Some(11), Some(12), Some(12), None]);
    }

    #[test]
    fn a_timer_of_an_earlier_turn_writes_nothing() {
        let rate = Some(ConstantRate { rate_bps: 8_000, write: 1000 });
        let (on, off) = (Spread::Fixed(500), Spread::Fixed(100));
        let mut application = Application::new(&Traffic::OnOff { on, off, rate }, "a", 1);
        application.established(0);
        application.due(500, Timer::Toggle);
        application.due(600, Timer::Toggle);
        actions(&mut application);
        application.due(1_000_000_000, Timer::Write);
        assert_eq!(actions(&mut application), []);
        application.due(1_000_000_600, Timer::Write);
        assert_eq!(actions(&mut application).len(), 2);
    }

    #[test]
    fn short_flows_beyond_the_limit_wait_in_order() {
        let size = Spread::Fixed(10);
        let mut application = Application::new(&Traffic::Poisson { every_ns: 9, size, at_once: 1 }, "a", 1);
        application.start(0);
        (0..3).for_each(|now| application.due(now, Timer::Arrive));
        let mut opened = || {
            let opens =
                actions(&mut application).into_iter().filter(|action| matches!(action, Action::Open(_)));
            let opens: Vec<_> = opens.collect();
            for open in &opens {
                if let Action::Open(Some(transfer)) = open {
                    application.arrived(9, *transfer);
                }
            }
            opens
        };
        let open = |transfer| [Action::Open(Some(transfer))];
        assert_eq!([opened(), opened(), opened(), opened()], [&open(0)[..], &open(1), &open(2), &[]]);
    }
}
