//! The data level of a connection (RFC 8684): one sequence of packets over all subflows, one receive buffer.
//!
//! Plain TCP has the same numbers at both levels and uses only the window.

use std::collections::VecDeque;

use crate::ranges::Ranges;

/// Data to be sent once more, on a subflow that has not carried it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reinjection {
    pub(crate) dsn: u32,
    /// The subflow it was taken from.
    pub(crate) from: usize,
}

/// Both ends of the data level.
pub(crate) struct DataLevel {
    /// Sender: next packet to be sent for the first time.
    pub(crate) snd_nxt: u32,
    /// Sender: everything below has arrived.
    pub(crate) snd_una: u32,
    /// Sender: first packet that would overrun the receive buffer.
    pub(crate) window_end: u32,
    pub(crate) reinject: VecDeque<Reinjection>,
    pub(crate) reinjections: u64,

    /// Receiver: everything below has been handed to the application.
    pub(crate) rcv_nxt: u32,
    out_of_order: Ranges,
    /// Receiver: packets held out of order.
    held: u32,
    /// Receiver: the window's right edge, which never moves left.
    advertised_end: u32,
    /// Receive buffer, packets.
    buffer: u32,
}

impl DataLevel {
    pub(crate) fn new(buffer: u32) -> Self {
        Self {
            snd_nxt: 0,
            snd_una: 0,
            window_end: buffer,
            reinject: VecDeque::new(),
            reinjections: 0,
            rcv_nxt: 0,
            out_of_order: Ranges::default(),
            held: 0,
            advertised_end: buffer,
            buffer,
        }
    }

    /// Receiver: a packet arrived on some subflow. A second copy is ignored.
    #[inline]
    pub(crate) fn receive(&mut self, dsn: u32) {
        if dsn == self.rcv_nxt {
            self.rcv_nxt += 1;
            if !self.out_of_order.is_empty() {
                let next = self.out_of_order.take_prefix(self.rcv_nxt);
                self.held -= next - self.rcv_nxt;
                self.rcv_nxt = next;
            }
        } else if dsn > self.rcv_nxt {
            let held = &mut self.held;
            self.out_of_order.insert(dsn, dsn + 1, |from, to| *held += to - from);
        }
    }

    /// Receiver, plain TCP: the subflow's own numbers are the data level's.
    #[inline]
    pub(crate) fn follow(&mut self, rcv_nxt: u32, held: u32) {
        self.rcv_nxt = rcv_nxt;
        self.held = held;
    }

    /// Receiver: the window to advertise. The application reads at once, so only what waits for a gap takes room.
    #[inline]
    pub(crate) fn advertise(&mut self) -> u32 {
        self.advertised_end = self.advertised_end.max(self.rcv_nxt + self.buffer.saturating_sub(self.held));
        self.advertised_end
    }

    /// Sender: an acknowledgement of the data level. Returns whether it opened the window or freed data.
    #[inline]
    pub(crate) fn acknowledged(&mut self, data_ack: u32, window_end: u32) {
        self.snd_una = self.snd_una.max(data_ack);
        self.window_end = self.window_end.max(window_end);
    }

    /// Sender: whether a new packet fits the receive window.
    #[inline]
    pub(crate) fn may_send_new(&self) -> bool {
        self.snd_nxt < self.window_end
    }
}

#[cfg(test)]
mod tests {
    use super::DataLevel;

    #[test]
    fn the_right_edge_never_moves_left_while_packets_wait_for_a_gap() {
        let mut data = DataLevel::new(10);
        for dsn in 0..4 {
            data.receive(dsn);
        }
        assert_eq!(data.advertise(), 14);
        for dsn in 5..9 {
            data.receive(dsn);
        }
        assert_eq!((data.rcv_nxt, data.advertise()), (4, 14));
        data.receive(4);
        assert_eq!((data.rcv_nxt, data.advertise()), (9, 19));
    }

    #[test]
    fn a_second_copy_changes_nothing() {
        let mut data = DataLevel::new(10);
        for dsn in [0, 0, 2, 2, 1, 1, 2] {
            data.receive(dsn);
        }
        assert_eq!((data.rcv_nxt, data.held), (3, 0));
    }
}
