//! The beginning and the end of a subflow.

use braid_algorithms::layout::{Event, SSTHRESH_INFINITE, event_type, subflow_flags};

use super::sender::{Phase, Sender};
use crate::connection::Connection;
use crate::event_queue::NEVER;
use crate::network::Network;

impl Sender {
    /// The answer to the opening arrives, which echoes this timestamp. RFC 6928: one packet if the opening had to be sent more
    /// than twice, unless the answer is to the first (Linux `tcp_try_undo_spurious_syn`).
    pub(crate) fn answered(&mut self, echo: u32) {
        if self.counts.timeouts > 1 && self.first_retransmission != Some(echo) {
            self.first_window = 1;
        }
    }

    /// The handshake is done and took this long: the algorithm takes over.
    pub(crate) fn establish(&mut self, connection: &mut Connection, network: &mut Network, rtt_us: u32) {
        let now_us = network.now_us();
        self.phase = Phase::Established;
        self.may_send = true;
        self.rtt.sample(rtt_us, 0, 0);
        let minimum = self.rtt.sample_minimum(now_us, rtt_us);
        self.first_retransmission = None;
        self.latest_answer = network.timestamp();
        let view = connection.subflow_mut(self.setup.index);
        view.srtt_us = self.rtt.srtt_us();
        view.min_rtt_us = minimum;
        view.last_rtt_us = rtt_us;
        view.cwnd = self.first_window;
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
