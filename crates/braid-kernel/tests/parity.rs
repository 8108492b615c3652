//! The transitions inside the kernel do what the native build does, word for word, on generated events.
//!
//! `BRAID_PARITY_CALLS=1000000 cargo test -p braid-kernel --test parity -- --nocapture` for more calls per algorithm.

mod common;

use std::{env, fmt::Write as _, time::Instant};

use braid_algorithms::{
    Algorithm, Controller, Spec,
    layout::{
        Event, MAX_SUBFLOWS, SSTHRESH_INFINITE, Subflow, View, ca_state, cause, event_flags, event_type,
        subflow_flags,
    },
};
use braid_kernel::{Call, Parity};

/// Calls per algorithm unless `BRAID_PARITY_CALLS` says otherwise.
const CALLS: usize = 40_000;

/// `SplitMix64` (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `low..=high`.
    fn between(&mut self, low: u32, high: u32) -> u32 {
        low + (self.next() % (u64::from(high - low) + 1)) as u32
    }

    fn one_in(&mut self, n: u32) -> bool {
        self.between(1, n) == 1
    }

    /// Each flag with its probability in percent.
    fn some_of(&mut self, flags: &[(u32, u32)]) -> u32 {
        flags.iter().filter(|(_, percent)| self.between(1, 100) <= *percent).map(|(flag, _)| flag).sum()
    }

    /// Any size of number equally likely, and the ends of the range often.
    fn any64(&mut self) -> u64 {
        const ENDS: [u64; 8] = [0, 1, 2, 0x7fff_ffff, 0xffff_ffff, 1 << 32, i64::MAX as u64, u64::MAX];
        if self.one_in(4) { ENDS[self.between(0, 7) as usize] } else { self.next() >> self.between(0, 63) }
    }

    fn any32(&mut self) -> u32 {
        (self.any64() >> if self.one_in(2) { 32 } else { 0 }) as u32
    }
}

/// A connection as a host would show it, with one native controller per subflow.
struct Connection<'a> {
    spec: &'a Spec,
    view: View,
    controllers: Vec<Controller>,
    base_rtt_us: [u32; MAX_SUBFLOWS],
    now_us: u64,
    /// Whether the algorithm has been given the subflow.
    running: [bool; MAX_SUBFLOWS],
    /// Whether anything at all may stand in the memory that the host fills in.
    wild: bool,
}

impl<'a> Connection<'a> {
    fn new(spec: &'a Spec, random: &mut Random) -> Self {
        let mut view = View { connection: random.next(), n: random.between(1, 8), ..View::default() };
        for (subflow, id) in view.subflow.iter_mut().zip(1..) {
            subflow.id = id;
        }
        Self {
            spec,
            view,
            controllers: (0..MAX_SUBFLOWS).map(|_| Controller::new(spec)).collect(),
            base_rtt_us: std::array::from_fn(|_| random.between(50, 400_000)),
            now_us: u64::from(random.any32()),
            running: [false; MAX_SUBFLOWS],
            wild: random.one_in(3),
        }
    }

    /// The next call: sets `call` to what goes in and performs it natively, so that `self` is what must come out.
    fn next(&mut self, random: &mut Random, call: &mut Call) -> Event {
        if random.one_in(100) && self.view.n < 8 {
            self.view.n += 1;
        }
        let i = random.between(0, self.view.n - 1) as usize;
        self.view.self_index = i as u32;
        self.now_us += random.next() >> random.between(40, 63);
        let mut event = if self.running[i] { self.event(i, random) } else { self.init(i, random) };
        if self.wild && random.one_in(2) {
            self.disturb(random, &mut event);
        }

        call.event = event;
        call.view.clone_from(&self.view);
        call.private.fill(0);
        let private = self.controllers[i].private();
        call.private[..private.len()].copy_from_slice(private);
        self.controllers[i].deliver(&mut self.view, &event);
        event
    }

    fn init(&mut self, i: usize, random: &mut Random) -> Event {
        self.running[i] = true;
        self.controllers[i] = Controller::new(self.spec);
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

    /// What the host does to the subflow after a call.
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

    /// Puts anything at all into a few of the words that the host fills in, and into siblings' public ones.
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

/// Runs a number of calls both ways and returns how many of them changed anything.
fn compare(spec: &Spec, kernel: &mut Parity, calls: usize, random: &mut Random) -> usize {
    let batch = kernel.calls().len();
    let mut connection = Connection::new(spec, random);
    let mut before: Vec<Call> = kernel.calls().to_vec();
    let mut native = before.clone();
    let (mut done, mut changed) = (0, 0);
    while done < calls {
        let count = batch.min(calls - done);
        for (before, native) in before.iter_mut().zip(&mut native).take(count) {
            if random.one_in(2_000) {
                connection = Connection::new(spec, random);
            }
            let event = connection.next(random, before);
            native.clone_from(before);
            native.view.clone_from(&connection.view);
            let private = connection.controllers[connection.view.self_index as usize].private();
            native.private[..private.len()].copy_from_slice(private);
            changed += usize::from(before != native);
            connection.settle(&event);
        }
        kernel.calls()[..count].clone_from_slice(&before[..count]);
        kernel.run(count).unwrap_or_else(|error| panic!("{}: {error}", spec.text()));
        for i in 0..count {
            assert!(
                native[i] == kernel.calls()[i],
                "{}, call {}: native - and kernel + differ after {:?}\n{}\nbefore: {:#?}",
                spec.text(),
                done + i,
                before[i].event,
                differences(&native[i], &kernel.calls()[i]),
                before[i].view
            );
        }
        done += count;
    }
    changed
}

/// The differing lines of two calls, written out.
fn differences(native: &Call, kernel: &Call) -> String {
    let (native, kernel) = (format!("{native:#?}"), format!("{kernel:#?}"));
    let mut text = String::new();
    for (i, (native, kernel)) in native.lines().zip(kernel.lines()).enumerate() {
        if native != kernel {
            writeln!(text, "line {i}\n- {native}\n+ {kernel}").expect("a string");
        }
    }
    text
}

/// The settings of [`common::settings`] and some at random.
fn settings(algorithm: &Algorithm, random: &mut Random) -> Vec<Spec> {
    let mut all = common::settings(algorithm);
    if algorithm.params().len() > 0 {
        for _ in 0..8 {
            let values: Vec<u32> =
                algorithm.params().map(|param| random.between(param.low, param.high)).collect();
            all.push(common::spec(algorithm, &values));
        }
    }
    all
}

#[test]
fn every_algorithm_does_in_the_kernel_what_it_does_natively() {
    let calls = env::var("BRAID_PARITY_CALLS").map_or(CALLS, |text| text.parse().expect("a number of calls"));
    for (algorithm, seed) in braid_algorithms::all().iter().zip(1..) {
        let mut random = Random(seed);
        let settings = settings(algorithm, &mut random);
        let began = Instant::now();
        let (mut done, mut changed) = (0, 0);
        for spec in &settings {
            let Some(mut kernel) = common::or_skip("parity of kernel and native build", Parity::load(spec))
            else {
                return;
            };
            let share = calls.div_ceil(settings.len());
            changed += compare(spec, &mut kernel, share, &mut random);
            done += share;
        }
        assert!(changed * 4 > done, "{}: only {changed} of {done} calls did anything", algorithm.name());
        report(&format!(
            "{}: {done} calls with {} settings, no difference; {:.0} calls/s, loading included",
            algorithm.name(),
            settings.len(),
            done as f64 / began.elapsed().as_secs_f64()
        ));
    }
}

#[test]
fn a_call_that_the_kernel_did_not_make_is_noticed() {
    let spec = Spec::parse("reno").expect("reno is there");
    let Some(mut kernel) = common::or_skip("parity notices a difference", Parity::load(&spec)) else {
        return;
    };
    let mut random = Random(1);
    let mut connection = Connection::new(&spec, &mut random);
    let too_many = kernel.calls().len() + 1;
    assert!(kernel.run(too_many).is_err());
    let mut unchanged = 0;
    for _ in 0..100 {
        let call = &mut kernel.calls()[0];
        let event = connection.next(&mut random, call);
        unchanged += usize::from(call.view == connection.view);
        connection.settle(&event);
    }
    assert!(unchanged < 90, "{unchanged} of 100 native calls left the view as it was");
}

#[expect(clippy::print_stdout, reason = "figures for a person")]
fn report(line: &str) {
    println!("{line}");
}
