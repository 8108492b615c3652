//! State of packets in flight for rate samples (draft-cheng-iccrg-delivery-rate-estimation).

use std::collections::VecDeque;

/// Maximum of remembered packets; further ones give no sample.
const MOST: usize = 1 << 16;

/// State of the path when a packet was sent.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_field_names, reason = "as the draft has it")]
pub(crate) struct Sent {
    pub(crate) sent_us: u64,
    pub(crate) delivered: u32,
    pub(crate) delivered_us: u64,
    pub(crate) first_sent_us: u64,
    pub(crate) app_limited: bool,
}

/// Packets by number. Packet number spaces succeed each other during the handshake: only the latest is stored.
#[derive(Debug, Default)]
pub(crate) struct Packets {
    first: u64,
    sent: VecDeque<Option<Sent>>,
}

impl Packets {
    pub(crate) fn insert(&mut self, number: u64, packet: Sent) {
        let next = self.first + self.sent.len() as u64;
        if number < next || number - next >= MOST as u64 {
            self.sent.clear();
            self.first = number;
        }
        while self.first + (self.sent.len() as u64) < number {
            self.sent.push_back(None);
        }
        self.sent.push_back(Some(packet));
        while self.sent.len() > MOST {
            self.sent.pop_front();
            self.first += 1;
        }
    }

    /// Takes the state of a packet, if it was sent at that time.
    pub(crate) fn take(&mut self, number: u64, sent_us: u64) -> Option<Sent> {
        self.remove_if(number, |packet| packet.sent_us == sent_us)
    }

    /// Removes the packet of that number.
    pub(crate) fn remove(&mut self, number: u64) {
        self.remove_if(number, |_| true);
    }

    fn remove_if(&mut self, number: u64, condition: impl FnOnce(&mut Sent) -> bool) -> Option<Sent> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let packet = self.sent.get_mut(index)?.take_if(condition);
        while let Some(None) = self.sent.front() {
            self.sent.pop_front();
            self.first += 1;
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::{Packets, Sent};

    #[test]
    fn a_packet_is_found_once_whatever_comes_between() {
        let mut packets = Packets::default();
        for number in [0, 1, 5, 6] {
            packets.insert(number, Sent { sent_us: 10 * number, ..Sent::default() });
        }
        assert!(packets.take(5, 50).is_some());
        assert!(packets.take(5, 50).is_none());
        assert!(packets.take(3, 30).is_none(), "was never sent");
        assert!(packets.take(0, 0).is_some() && packets.take(1, 10).is_some());
        assert_eq!((packets.first, packets.sent.len()), (6, 1));
    }

    #[test]
    fn numbers_that_begin_again_are_another_space() {
        let mut packets = Packets::default();
        packets.insert(0, Sent { sent_us: 1, ..Sent::default() });
        packets.insert(1, Sent { sent_us: 2, ..Sent::default() });
        packets.insert(0, Sent { sent_us: 3, ..Sent::default() });
        assert!(packets.take(0, 1).is_none(), "of the space before");
        assert!(packets.take(0, 3).is_some());
        packets.insert(u64::MAX / 2, Sent::default());
        assert_eq!(packets.sent.len(), 1, "a jump costs no memory");
    }
}
