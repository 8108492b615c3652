//! Counters of a subflow that may come and go.

use super::tcp_info::TcpInfo;
use crate::job::{RttSamples, SubflowAt};

/// A subflow's counters: those of its present incarnation, and sums over earlier ones.
#[derive(Clone, Copy, Default)]
pub(super) struct Counted {
    id: Option<u32>,
    sender: TcpInfo,
    receiver: TcpInfo,
    before: SubflowAt,
    /// Integrals and sums so far.
    own: SubflowAt,
    single: RttSamples,
}

impl Counted {
    /// The present incarnation ends.
    pub(super) fn retire(&mut self) {
        if self.id.take().is_some() {
            let sum = self.total();
            self.before = SubflowAt { active_ns: 0, cwnd_integral: 0, rtt_sum_us: 0, rtt_samples: 0, ..sum };
            (self.sender, self.receiver) = (TcpInfo::default(), TcpInfo::default());
            self.single = RttSamples::default();
        }
    }

    /// Updates the counters `elapsed_ns` after the last update.
    pub(super) fn see(&mut self, sender: Option<TcpInfo>, receiver: Option<TcpInfo>, elapsed_ns: u64) {
        let Some(sender) = sender.filter(|sender| sender.established) else {
            self.retire();
            return;
        };
        if self.id != Some(sender.id) {
            self.retire();
            self.id = Some(sender.id);
        }
        let delivered = u64::from(sender.delivered.saturating_sub(self.sender.delivered));
        self.own.active_ns += elapsed_ns;
        self.own.cwnd_integral += u128::from(sender.cwnd) * u128::from(elapsed_ns);
        self.own.rtt_sum_us += delivered * u64::from(sender.srtt_us);
        self.own.rtt_samples += delivered;
        self.own.see_min_rtt(sender.min_rtt_us);
        self.sender = sender;
        if let Some(receiver) = receiver {
            self.receiver = receiver;
        }
    }

    /// RTT samples of the present incarnation.
    pub(super) fn see_rtts(&mut self, single: RttSamples) {
        self.single = single;
    }

    pub(super) fn total(&self) -> SubflowAt {
        let (sender, receiver, before) = (&self.sender, &self.receiver, &self.before);
        SubflowAt {
            established: self.id.is_some(),
            cwnd: sender.cwnd,
            ssthresh: sender.known_ssthresh(),
            srtt_us: sender.srtt_us,
            in_flight: sender.in_flight,
            mss: if sender.mss > 0 { sender.mss } else { before.mss },
            sent: before.sent + u64::from(sender.data_packets_out),
            sent_bytes: before.sent_bytes + sender.bytes_sent,
            retransmissions: before.retransmissions + u64::from(sender.retransmissions),
            timeouts: before.timeouts + u64::from(sender.timeouts),
            received: before.received + u64::from(receiver.data_packets_in),
            single: RttSamples {
                count: before.single.count + self.single.count,
                steps_us: before.single.steps_us + self.single.steps_us,
            },
            ..self.own
        }
    }
}
