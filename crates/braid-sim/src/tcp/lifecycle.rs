//! The beginning and the end of a subflow.

use braid_algorithms::layout::{Event, SSTHRESH_INFINITE, event_type, subflow_flags};

use super::sender::{Phase, Sender};
use crate::connection::Connection;
use crate::event_queue::NEVER;
use crate::network::Network;

impl Sender {
    /// The handshake is done after this time: the algorithm starts.
    pub(crate) fn establish(&mut self, connection: &mut Connection, network: &mut Network, rtt_us: u32) {
        let now_us = network.now_us();
        self.phase = Phase::Established;
        self.may_send = true;
        self.rtt.sample(rtt_us, 0, 0);
        let minimum = self.rtt.sample_minimum(now_us, rtt_us);
        let timeouts = self.counts.timeouts;
        let first_answered =
            self.first_retransmission.take() == Some(network.timestamp().wrapping_sub(rtt_us));
        let view = connection.subflow_mut(self.setup.index);
        view.srtt_us = self.rtt.srtt_us();
        view.min_rtt_us = minimum;
        view.last_rtt_us = rtt_us;
        // RFC 6928: one packet if the SYN was sent more than twice, unless the answer is to the first SYN (Linux
        // `tcp_try_undo_spurious_syn`).
        view.cwnd = if timeouts > 1 && !first_answered { 1 } else { self.setup.initial_window };
        view.ssthresh = self.setup.initial_ssthresh.unwrap_or(SSTHRESH_INFINITE);
        view.flags |= subflow_flags::ELIGIBLE | subflow_flags::SAME_ALGORITHM;
        view.last_ack_us = now_us;
        self.counts.integrated_until = network.now;
        self.last_send = network.now;
        self.used_since = network.now;
        let event = Event { kind: event_type::INIT, ..Event::default() };
        self.deliver(connection, network, event);
        self.note_application_limit(connection);
    }

    /// The subflow ends now.
    pub(crate) fn close(&mut self, connection: &mut Connection, network: &mut Network) {
        if self.phase == Phase::Established {
            self.integrate(connection.subflow(self.setup.index).cwnd, network.now);
            self.deliver(connection, network, Event { kind: event_type::RELEASE, ..Event::default() });
        }
        connection.subflow_mut(self.setup.index).flags &= !subflow_flags::ELIGIBLE;
        self.phase = Phase::Closed;
        self.stop_timer();
        self.may_send = false;
        self.held_until = NEVER;
    }
}
