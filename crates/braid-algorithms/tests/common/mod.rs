//! A connection whose state the test sets directly, with one controller per subflow.

#![allow(dead_code, reason = "each test binary uses its part")]

use braid_algorithms::layout::{
    Event, SSTHRESH_INFINITE, Subflow, View, ca_state, cause, event_flags, event_type, subflow_flags,
};
use braid_algorithms::{Controller, Spec};

pub(crate) struct Host {
    pub(crate) view: View,
    pub(crate) controllers: Vec<Controller>,
    pub(crate) now_us: u64,
}

impl Host {
    /// Subflows with these windows (packets) and RTTs (microseconds), in congestion avoidance.
    pub(crate) fn new(spec: &str, subflows: &[(u32, u32)]) -> Self {
        let spec = Spec::parse(spec).unwrap();
        let mut view = View { connection: 1, n: subflows.len() as u32, ..View::default() };
        for (i, &(cwnd, rtt_us)) in subflows.iter().enumerate() {
            view.subflow[i] = Subflow {
                cwnd,
                ssthresh: cwnd,
                flags: subflow_flags::ELIGIBLE | subflow_flags::SAME_ALGORITHM,
                srtt_us: rtt_us,
                min_rtt_us: rtt_us,
                last_rtt_us: rtt_us,
                mss: 1448,
                cwnd_clamp: u32::MAX,
                id: i as u32 + 1,
                ..Subflow::default()
            };
        }
        let controllers = subflows.iter().map(|_| Controller::new(&spec)).collect();
        let mut host = Self { view, controllers, now_us: 1_000_000 };
        for i in 0..subflows.len() {
            host.deliver(i, Event { kind: event_type::INIT, ..Event::default() });
        }
        host
    }

    /// The same before the first loss: in slow start.
    pub(crate) fn in_slow_start(spec: &str, subflows: &[(u32, u32)]) -> Self {
        let mut host = Self::new(spec, subflows);
        for subflow in &mut host.view.subflow[..subflows.len()] {
            subflow.ssthresh = SSTHRESH_INFINITE;
        }
        host
    }

    pub(crate) fn deliver(&mut self, i: usize, event: Event) {
        self.view.self_index = i as u32;
        self.controllers[i].deliver(&mut self.view, &Event { now_us: self.now_us, ..event });
    }

    pub(crate) fn cwnd(&self, i: usize) -> u32 {
        self.view.subflow[i].cwnd
    }

    /// An ACK for `packets` packets, with an RTT sample.
    pub(crate) fn ack(&mut self, i: usize, packets: u32) {
        let subflow = &mut self.view.subflow[i];
        let acked_bytes = packets.wrapping_mul(subflow.mss);
        subflow.snd_una += u64::from(acked_bytes);
        subflow.snd_nxt = subflow.snd_una + u64::from(subflow.cwnd) * u64::from(subflow.mss);
        subflow.delivered = subflow.delivered.wrapping_add(packets);
        let rtt_us = subflow.last_rtt_us;
        self.deliver(
            i,
            Event {
                kind: event_type::ON_ACK,
                flags: event_flags::CWND_LIMITED,
                acked: packets,
                grow: packets,
                acked_bytes,
                rtt_us,
                ..Event::default()
            },
        );
    }

    /// A loss event and immediate recovery from it. Returns ssthresh.
    pub(crate) fn lose(&mut self, i: usize) -> u32 {
        let prior = self.cwnd(i);
        self.deliver(
            i,
            Event { kind: event_type::ON_LOSS, cause: cause::FAST_RETRANSMIT, ..Event::default() },
        );
        let subflow = &mut self.view.subflow[i];
        subflow.prior_cwnd = prior;
        subflow.cwnd = subflow.ssthresh;
        self.deliver(i, Event { kind: event_type::ON_RECOVERED, cause: cause::EXIT, ..Event::default() });
        self.view.subflow[i].ssthresh
    }

    /// A retransmission timeout.
    pub(crate) fn time_out(&mut self, i: usize) {
        self.deliver(i, Event { kind: event_type::ON_LOSS, cause: cause::RTO, ..Event::default() });
        self.view.subflow[i].ca_state = ca_state::LOSS;
        self.view.subflow[i].cwnd = 1;
    }

    /// Growth of the window in packets per acknowledged packet. Averages over a billion packets at once, because the
    /// increase is computed once per ACK.
    pub(crate) fn increase(&self, spec: &str, i: usize) -> f64 {
        let mut probe = Self::new(spec, &[(1, 1)]);
        probe.controllers =
            self.view.subflow.iter().map(|_| Controller::new(&Spec::parse(spec).unwrap())).collect();
        probe.view = self.view.clone();
        let before = probe.cwnd(i);
        probe.deliver(
            i,
            Event {
                kind: event_type::ON_ACK,
                flags: event_flags::CWND_LIMITED,
                grow: 1_000_000_000,
                ..Event::default()
            },
        );
        (f64::from(probe.cwnd(i)) - f64::from(before)) / 1e9
    }

    /// A subflow leaves, and those after it move up, as in a kernel's list.
    pub(crate) fn remove(&mut self, i: usize) {
        self.controllers.remove(i);
        self.view.subflow[i..].rotate_left(1);
        self.view.n -= 1;
        self.view.subflow[self.view.n as usize] = Subflow::default();
    }

    /// The fraction of a packet that is not yet in cwnd; the first private word of every algorithm.
    pub(crate) fn carry(&self, i: usize) -> f64 {
        self.controllers[i].private()[0] as f64 / 2_f64.powi(32)
    }
}

/// `n` subflows with an RTT of 50 ms.
pub(crate) fn equals(spec: &str, n: usize) -> Host {
    Host::new(spec, &vec![(20, 50_000); n])
}

/// The group in which each subflow says it is.
pub(crate) fn groups(host: &Host) -> Vec<u16> {
    (0..host.controllers.len()).map(|i| host.view.subflow[i].verdict().group).collect()
}

pub(crate) fn assert_near(measured: f64, expected: f64, tolerance: f64) {
    assert!(
        (measured - expected).abs() <= tolerance * expected.abs(),
        "measured {measured}, expected {expected} within {tolerance}"
    );
}
