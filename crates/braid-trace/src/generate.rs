//! Synthetic calls: sequences of events for connections of one to eight subflows.

use std::sync::Arc;

use braid_algorithms::Controller;
use braid_algorithms::layout::{
    Event, MAX_SUBFLOWS, SSTHRESH_INFINITE, Subflow, View, ca_state, cause, event_flags, event_type,
    subflow_flags,
};

use crate::{Call, Origin, Outputs};

/// Pseudo-random numbers from a seed (`SplitMix64`: Steele, Lea, Flood 2014), or from bytes chosen by a fuzzer.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
    /// Unused bytes, the next one last.
    tape: Option<Vec<u8>>,
}

impl Random {
    /// The same numbers for the same seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed, tape: None }
    }

    /// Numbers from these bytes; zeros once they are used up.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self { state: 0, tape: Some(bytes.iter().rev().copied().collect()) }
    }

    /// Whether the bytes are used up; never with a seed.
    pub fn is_over(&self) -> bool {
        self.tape.as_ref().is_some_and(Vec::is_empty)
    }

    /// A number of this many bytes, if from bytes.
    fn draw(&mut self, bytes: usize) -> u64 {
        if let Some(tape) = &mut self.tape {
            return (0..bytes).fold(0, |number, _| (number << 8) | u64::from(tape.pop().unwrap_or(0)));
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Any number.
    pub fn any(&mut self) -> u64 {
        self.draw(8)
    }

    /// Uniform in `low..=high`.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        let bytes = (39 - (high - low).leading_zeros()) / 8;
        low + (self.draw(bytes as usize) % (u64::from(high - low) + 1)) as u32
    }

    /// True with probability 1/n.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.between(1, n) == 1
    }

    /// Each flag with its probability in percent.
    fn some_of(&mut self, flags: &[(u32, u32)]) -> u32 {
        flags.iter().filter(|(_, percent)| self.between(1, 100) <= *percent).map(|(flag, _)| flag).sum()
    }

    /// Uniform over bit lengths, and often an end of the range.
    fn any64(&mut self) -> u64 {
        const ENDS: [u64; 8] = [0, 1, 2, 0x7fff_ffff, 0xffff_ffff, 1 << 32, i64::MAX as u64, u64::MAX];
        if self.one_in(4) { ENDS[self.between(0, 7) as usize] } else { self.any() >> self.between(0, 63) }
    }

    fn any32(&mut self) -> u32 {
        (self.any64() >> if self.one_in(2) { 32 } else { 0 }) as u32
    }
}

/// A connection as shown by a host, with one native controller per subflow.
pub struct Connection {
    origin: Arc<Origin>,
    view: View,
    controllers: Vec<Controller>,
    base_rtt_us: [u32; MAX_SUBFLOWS],
    now_us: u64,
    /// Whether the algorithm has been initialised for the subflow.
    running: [bool; MAX_SUBFLOWS],
    /// Whether the host's memory may contain arbitrary values.
    wild: bool,
    sequence: u64,
}

impl Connection {
    /// Creates a connection of 1 to 8 subflows; others may join. If it is wild, the host's memory may contain arbitrary
    /// values.
    pub fn new(origin: &Arc<Origin>, subflows: u32, wild: bool, random: &mut Random) -> Self {
        let mut view = View { connection: random.any(), n: subflows, ..View::default() };
        for (subflow, id) in view.subflow.iter_mut().zip(1..) {
            subflow.id = id;
        }
        Self {
            origin: Arc::clone(origin),
            view,
            controllers: (0..MAX_SUBFLOWS).map(|_| Controller::new(&origin.spec)).collect(),
            base_rtt_us: std::array::from_fn(|_| random.between(50, 400_000)),
            now_us: u64::from(random.any32()),
            running: [false; MAX_SUBFLOWS],
            wild,
            sequence: 0,
        }
    }

    /// The next call, executed natively.
    pub fn next(&mut self, random: &mut Random) -> Call {
        let event = self.prepare(random);
        let i = self.view.self_index as usize;
        let mut before = self.view.clone();
        before.subflow[before.n as usize..].fill(Subflow::default());
        let private = self.controllers[i].private().to_vec();
        self.controllers[i].deliver(&mut self.view, &event);
        let outputs = Outputs::of(&self.view, self.controllers[i].private());
        self.settle(&event);
        self.sequence += 1;
        Call {
            origin: Arc::clone(&self.origin),
            sequence: self.sequence - 1,
            cpu: 0,
            time_ns: event.now_us.wrapping_mul(1000),
            socket: before.connection.wrapping_add(i as u64),
            event,
            view: before,
            private,
            outputs,
        }
    }

    /// The same without a record: `check` gets the event and the view before and after the call. `scratch` is
    /// overwritten.
    pub fn step(
        &mut self,
        random: &mut Random,
        scratch: &mut View,
        check: impl FnOnce(&Event, &View, &View),
    ) {
        let event = self.prepare(random);
        scratch.clone_from(&self.view);
        self.controllers[self.view.self_index as usize].deliver(&mut self.view, &event);
        check(&event, scratch, &self.view);
        self.settle(&event);
    }

    /// The next event, and the host's view at that event.
    fn prepare(&mut self, random: &mut Random) -> Event {
        if random.one_in(100) && self.view.n < 8 {
            self.view.n += 1;
        }
        let i = random.between(0, self.view.n - 1) as usize;
        self.view.self_index = i as u32;
        self.now_us += random.any() >> random.between(40, 63);
        let mut event = if self.running[i] { self.event(i, random) } else { self.init(i, random) };
        if self.wild && random.one_in(2) {
            self.disturb(random, &mut event);
        }
        event
    }

    fn init(&mut self, i: usize, random: &mut Random) -> Event {
        self.running[i] = true;
        self.controllers[i] = Controller::new(&self.origin.spec);
        self.view.subflow[i] = Subflow {
            cwnd: 10,
            ssthresh: SSTHRESH_INFINITE,
            mss: random.between(536, 8_948),
            cwnd_clamp: if random.one_in(4) { random.between(2, 100) } else { u32::MAX },
            id: self.view.subflow[i].id,
            flags: subflow_flags::SAME_ALGORITHM,
            ..Subflow::default()
        };
        Event { now_us: self.now_us, kind: event_type::INIT, ..Event::default() }
    }

    fn event(&mut self, i: usize, random: &mut Random) -> Event {
        let subflow = &mut self.view.subflow[i];
        let blank = Event { now_us: self.now_us, ..Event::default() };
        let recovering = subflow.ca_state >= ca_state::CWR;
        match random.between(1, 100) {
            1 => {
                self.running[i] = false;
                Event { kind: event_type::RELEASE, ..blank }
            }
            2..=4 => {
                subflow.prior_cwnd = subflow.cwnd;
                subflow.lost = subflow.lost.wrapping_add(random.between(1, 20));
                let cause = random.between(cause::FAST_RETRANSMIT, cause::ECN);
                Event { kind: event_type::ON_LOSS, cause, ..blank }
            }
            5 => {
                let idle_us = random.any32();
                if random.one_in(2) {
                    subflow.cwnd = subflow.cwnd.clamp(1, 10);
                    return Event {
                        kind: event_type::ON_IDLE_RESTART,
                        idle_us,
                        flags: event_flags::IDLE_DECAYED,
                        ..blank
                    };
                }
                Event { kind: event_type::ON_IDLE_RESTART, idle_us, ..blank }
            }
            6..=15 if recovering => {
                let undo = random.one_in(5);
                subflow.cwnd = if undo { subflow.prior_cwnd } else { subflow.ssthresh };
                subflow.ca_state = ca_state::OPEN;
                let cause = if undo { cause::UNDO } else { cause::EXIT };
                Event { kind: event_type::ON_RECOVERED, cause, ..blank }
            }
            _ => self.ack(i, random),
        }
    }

    fn ack(&mut self, i: usize, random: &mut Random) -> Event {
        let subflow = &mut self.view.subflow[i];
        let prior_in_flight = subflow.cwnd;
        let acked = if random.one_in(20) { random.between(0, 1_000) } else { random.between(0, 4) };
        let stretch = if random.one_in(10) { random.between(1, 16) } else { 1 };
        let rtt_us = (self.base_rtt_us[i] + random.between(0, self.base_rtt_us[i])).saturating_mul(stretch);
        if rtt_us != 0 {
            subflow.last_rtt_us = rtt_us;
            subflow.min_rtt_us =
                if subflow.min_rtt_us == 0 { rtt_us } else { subflow.min_rtt_us.min(rtt_us) };
            subflow.srtt_us = if subflow.srtt_us == 0 {
                rtt_us
            } else {
                subflow.srtt_us - subflow.srtt_us / 8 + rtt_us / 8
            };
            subflow.flags |= subflow_flags::ELIGIBLE;
        }
        if random.one_in(200) {
            subflow.flags ^= random.between(1, 7);
        }
        let acked_bytes = acked.wrapping_mul(subflow.mss);
        subflow.snd_una = subflow.snd_una.wrapping_add(u64::from(acked_bytes));
        let bytes_in_flight = u64::from(prior_in_flight) * u64::from(subflow.mss);
        subflow.snd_nxt = subflow.snd_una.wrapping_add(bytes_in_flight);
        subflow.in_flight = prior_in_flight.saturating_sub(acked);
        let prior_delivered = subflow.delivered;
        subflow.delivered = subflow.delivered.wrapping_add(acked);
        subflow.last_ack_us = self.now_us;
        let recovering = matches!(subflow.ca_state, ca_state::CWR | ca_state::RECOVERY);
        Event {
            now_us: self.now_us,
            kind: event_type::ON_ACK,
            flags: random.some_of(&[
                (event_flags::CWND_LIMITED, 87),
                (event_flags::ECE, 5),
                (event_flags::HAS_OWD, 50),
                (event_flags::APP_LIMITED, 5),
            ]),
            acked,
            grow: if recovering { 0 } else { acked },
            acked_bytes,
            rtt_us,
            owd_us: random.any32() as i32,
            rate_delivered: acked,
            rate_interval_us: rtt_us,
            rate_prior_delivered: prior_delivered,
            rate_losses: u32::from(random.one_in(50)),
            prior_in_flight,
            ..Event::default()
        }
    }

    /// The host's changes of the subflow after a call.
    fn settle(&mut self, event: &Event) {
        let subflow = &mut self.view.subflow[self.view.self_index as usize];
        if event.kind == event_type::ON_LOSS {
            (subflow.ca_state, subflow.cwnd) = match event.cause {
                cause::RTO => (ca_state::LOSS, 1),
                cause::ECN => (ca_state::CWR, subflow.ssthresh),
                _ => (ca_state::RECOVERY, subflow.ssthresh),
            };
        }
    }

    /// Puts arbitrary values into some of the host's words and into siblings' public words.
    fn disturb(&mut self, random: &mut Random, event: &mut Event) {
        for _ in 0..random.between(1, 4) {
            let i = if random.one_in(2) { self.view.self_index } else { random.between(0, 7) } as usize;
            let subflow = &mut self.view.subflow[i];
            let word = random.any32();
            match random.between(0, 27) {
                0 => subflow.cwnd = word,
                1 => subflow.ssthresh = word,
                2 => subflow.ca_state = random.between(0, 4),
                3 => subflow.flags = word,
                4 => subflow.srtt_us = word,
                5 => subflow.min_rtt_us = word,
                6 => subflow.last_rtt_us = word,
                7 => subflow.mss = word,
                8 => subflow.in_flight = word,
                9 => subflow.prior_cwnd = word,
                10 => subflow.cwnd_clamp = word,
                11 => subflow.delivered = word,
                12 => subflow.lost = word,
                13 => subflow.snd_una = random.any64(),
                14 => subflow.snd_nxt = random.any64(),
                15 => subflow.last_ack_us = random.any64(),
                16 => subflow.pacing_rate = random.any64(),
                17..=20 => subflow.public_words[random.between(0, 11) as usize] = random.any64(),
                21 => event.now_us = random.any64(),
                22 => event.cause = word,
                23 => event.flags = word,
                24 => event.grow = word,
                25 => event.acked = word,
                26 => event.rtt_us = word,
                _ => (event.idle_us, event.prior_in_flight) = (word, random.any32()),
            }
        }
    }
}

/// Test vectors of an algorithm: connections of one, two, three and eight subflows with this many calls each, the last
/// with extreme values from the host. Equal on every machine.
pub fn vectors(origin: &Arc<Origin>, calls: usize) -> Vec<Call> {
    let mut random = Random::new(1);
    let mut all = Vec::new();
    for (subflows, wild) in [(1, false), (2, false), (3, false), (8, true)] {
        let mut connection = Connection::new(origin, subflows, wild, &mut random);
        all.extend((0..calls).map(|_| connection.next(&mut random)));
    }
    for (call, sequence) in all.iter_mut().zip(0..) {
        call.sequence = sequence;
    }
    all
}
