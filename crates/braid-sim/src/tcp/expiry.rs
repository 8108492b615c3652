//! What happens when a subflow's timer expires.

use super::scoreboard::segment;
use super::sender::{Phase, Sender, Timer};
use crate::connection::Connection;
use crate::event_queue::NEVER;
use crate::network::Network;

/// Expiries after which a subflow gives up.
const MAX_RTO_BACKOFFS: u32 = 15;

/// Action for the connection after an expiry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expired {
    Nothing,
    /// Repeat the handshake's step.
    Opening(u32),
    /// The subflow may have failed: let others send its data.
    Timeout,
    /// New data was or may be sent.
    MayPush,
    /// Too many timeouts: the subflow is over.
    GivenUp,
}

impl Sender {
    /// The deadline has come.
    pub(crate) fn expire(&mut self, connection: &mut Connection, network: &mut Network) -> Expired {
        if self.held_until <= network.now {
            self.held_until = NEVER;
            self.may_send = true;
            self.retransmit(connection, network);
            return Expired::MayPush;
        }
        self.round_deadline();
        if self.deadline > network.now {
            return Expired::Nothing;
        }
        let timer = self.timer;
        self.stop_timer();
        if let Phase::Opening(step) = self.phase {
            self.rto_backoffs += 1;
            self.counts.timeouts += 1;
            self.start_opening_timer(network.now);
            return Expired::Opening(step);
        }
        match timer {
            Timer::Off => Expired::Nothing,
            Timer::Reordering => {
                self.reordering_timeout(connection, network);
                Expired::MayPush
            }
            Timer::Probe => {
                self.send_probe(connection, network);
                Expired::MayPush
            }
            Timer::Retransmission => self.retransmission_timeout(connection, network),
        }
    }

    /// One packet beyond the window, to turn a lost tail into selective acknowledgements.
    fn send_probe(&mut self, connection: &mut Connection, network: &mut Network) {
        if self.board.packets_out() == 0 {
            return;
        }
        if self.probe.is_none() {
            let last = self.board.snd_nxt - 1;
            if let Some(dsn) = connection.take_new_data(self.setup.index) {
                self.send_new(connection, network, dsn);
                self.probe = Some((self.board.snd_nxt, false));
            } else if self.board.get(last).state & segment::SACKED == 0 {
                // A packet that has arrived is no probe.
                self.send_copy(connection, network, last);
                self.probe = Some((self.board.snd_nxt, true));
            }
            if self.probe.is_some() {
                self.start_retransmission_timer(network.now);
                return;
            }
        }
        let deadline = self.retransmission_deadline(network.now);
        self.set_timer(Timer::Retransmission, network.now, deadline);
    }

    fn retransmission_timeout(&mut self, connection: &mut Connection, network: &mut Network) -> Expired {
        if self.board.packets_out() == 0 {
            return Expired::Nothing;
        }
        if self.rto_backoffs >= MAX_RTO_BACKOFFS {
            return Expired::GivenUp;
        }
        self.enter_loss(connection, network);
        self.rto_backoffs += 1;
        self.potentially_failed = true;
        self.send_again(connection, network, self.board.snd_una);
        self.rtt.back_off();
        self.start_retransmission_timer(network.now);
        Expired::Timeout
    }
}
