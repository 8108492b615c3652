//! Whether the window limits a flow, or the application does (Linux `tcp_cwnd_validate`).

use braid_algorithms::layout::{Event, ca_state, event_flags, event_type};

use super::sender::{Phase, Sender};
use crate::connection::Connection;
use crate::network::Network;

impl Sender {
    /// The application is about to write, and all earlier data has been sent: if the window has room, the flow was
    /// application-limited (Linux `tcp_rate_check_app_limited`).
    pub(crate) fn note_application_limit(&mut self, connection: &Connection) {
        let view = connection.subflow(self.setup.index);
        let in_flight = self.board.in_flight();
        if let Some(rate) = &mut self.rate
            && self.phase == Phase::Established
            && in_flight < view.cwnd
            && self.board.lost_out <= self.board.retrans_out
        {
            rate.limit(view.delivered, in_flight);
        }
    }

    /// After sending: records whether the window was the limit (Linux `tcp_cwnd_validate`).
    #[inline]
    pub(crate) fn note_usage(&mut self, connection: &mut Connection, network: &mut Network) {
        let packets_out = self.board.packets_out();
        let limited = self.board.in_flight() >= connection.subflow(self.setup.index).cwnd;
        if self.board.snd_una >= self.usage_end
            || limited
            || (!self.was_limited && packets_out > self.max_packets_out)
        {
            self.was_limited = limited;
            self.max_packets_out = packets_out;
            self.usage_end = self.board.snd_nxt;
        }
        if self.is_cwnd_limited(connection) {
            self.window_used = 0;
            self.used_since = network.now;
        } else {
            self.window_used = self.window_used.max(packets_out);
            let view = connection.subflow(self.setup.index);
            if network.now - self.used_since >= self.rtt.rto_ns()
                && view.ca_state == ca_state::OPEN
                && !self.owns_cwnd()
                && !connection.data.has_unsent()
            {
                self.decay_unused_window(connection, network.now);
            }
        }
    }

    /// Whether the window may grow (Linux `tcp_is_cwnd_limited`).
    #[inline]
    pub(super) fn is_cwnd_limited(&self, connection: &Connection) -> bool {
        let view = connection.subflow(self.setup.index);
        self.was_limited || (view.cwnd < view.ssthresh && view.cwnd < 2 * self.max_packets_out)
    }

    /// The application used less than the window for a whole timeout (Linux `tcp_cwnd_application_limited`).
    fn decay_unused_window(&mut self, connection: &mut Connection, now: u64) {
        let used = self.window_used.max(self.setup.initial_window);
        let view = connection.subflow_mut(self.setup.index);
        let cwnd = view.cwnd;
        if used < cwnd {
            view.ssthresh = view.ssthresh.max(cwnd - cwnd / 4);
            self.set_cwnd(connection, now, u32::midpoint(cwnd, used));
        }
        self.window_used = 0;
        self.used_since = now;
    }

    /// Sends after an idle time (Linux `tcp_cwnd_restart`): the window halves for each idle timeout.
    #[cold]
    pub(super) fn restart_after_idle(&mut self, connection: &mut Connection, network: &mut Network) {
        if self.counts.packets_sent == 0 {
            return;
        }
        let idle = network.now - self.last_send;
        let rto = self.rtt.rto_ns();
        let mut event = Event {
            kind: event_type::ON_IDLE_RESTART,
            idle_us: u32::try_from(idle / 1_000).unwrap_or(u32::MAX),
            ..Event::default()
        };
        if self.rate.as_ref().is_some_and(|rate| rate.is_limited()) {
            event.flags |= event_flags::APP_LIMITED;
        }
        if idle > rto && !self.owns_cwnd() {
            event.flags |= event_flags::IDLE_DECAYED;
            let view = connection.subflow_mut(self.setup.index);
            let mut cwnd = view.cwnd;
            view.ssthresh = view.ssthresh.max(cwnd - cwnd / 4);
            let floor = self.setup.initial_window.min(cwnd);
            let mut left = idle - rto;
            loop {
                if cwnd <= floor {
                    break;
                }
                cwnd /= 2;
                if left <= rto {
                    break;
                }
                left -= rto;
            }
            self.set_cwnd(connection, network.now, cwnd.max(floor));
            self.window_used = 0;
            self.used_since = network.now;
        }
        self.deliver(connection, network, event);
    }
}
