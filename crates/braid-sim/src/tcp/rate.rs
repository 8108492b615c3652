//! Delivery-rate samples as in Linux `tcp_rate.c` (draft-cheng-iccrg-delivery-rate-estimation): packets delivered
//! between the transmission of a packet and its acknowledgement, and the time of that.
//!
//! Functions called for every packet are cold, so that senders without rate samples do not pay for them.

use braid_algorithms::layout::{Event, event_flags};

use crate::ring::Ring;

/// State at the latest transmission of a packet. Times are microseconds, as in the kernel.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// Packets delivered by then.
    delivered: u32,
    /// Time of the latest delivery.
    delivered_us: u64,
    /// Transmission time of the packet that began the present flight: the latest one acknowledged by then.
    flight_us: u64,
    application_limited: bool,
}

/// Sampling state. Present only if the algorithm uses rate samples.
#[derive(Debug)]
pub(super) struct Rate {
    /// Of the packets from `snd_una` to `snd_nxt`.
    marks: Ring<Mark>,
    flight_us: u64,
    delivered_us: u64,
    /// Until more than this is delivered, samples are application-limited.
    limited_until: Option<u32>,
    /// The most recently sent packet that the present acknowledgement delivers.
    newest: Option<(u64, u32, Mark)>,
}

impl Rate {
    pub(super) fn new() -> Self {
        Self { marks: Ring::new(), flight_us: 0, delivered_us: 0, limited_until: None, newest: None }
    }

    /// Packet `seq` leaves, for the first time or again. `alone`: nothing else is outstanding.
    pub(super) fn sent(&mut self, now_us: u64, seq: u32, alone: bool, delivered: u32) {
        if alone {
            self.flight_us = now_us;
            self.delivered_us = now_us;
        }
        let mark = Mark {
            delivered,
            delivered_us: self.delivered_us,
            flight_us: self.flight_us,
            application_limited: self.limited_until.is_some(),
        };
        if seq == self.marks.end() {
            self.marks.push(mark);
        } else {
            *self.marks.get_mut(seq) = mark;
        }
    }

    /// Packet `seq`, sent last at `sent` nanoseconds, is delivered.
    pub(super) fn delivered(&mut self, seq: u32, sent: u64) {
        if self.newest.is_none_or(|(time, newest, _)| (sent, seq) > (time, newest)) {
            self.newest = Some((sent, seq, *self.marks.get(seq)));
        }
    }

    /// All packets below `ack` are delivered and acknowledged; the last of them was sent last.
    #[cold]
    pub(super) fn delivered_below(&mut self, ack: u32, sent: u64) {
        self.delivered(ack - 1, sent);
        self.forget_below(ack);
    }

    /// What was delivered since the last sample gives none.
    pub(super) fn forget_sample(&mut self) {
        if let Some((sent, ..)) = self.newest.take() {
            self.flight_us = sent / 1_000;
        }
    }

    /// Packets below are acknowledged.
    pub(super) fn forget_below(&mut self, snd_una: u32) {
        self.marks.remove_below(snd_una);
    }

    /// The application has nothing to send although the window has room: samples are application-limited until the
    /// packets in flight are delivered.
    pub(super) fn limit(&mut self, delivered: u32, in_flight: u32) {
        self.limited_until = Some(delivered.wrapping_add(in_flight));
    }

    pub(super) fn is_limited(&self) -> bool {
        self.limited_until.is_some()
    }

    /// Adds the sample to the event of an acknowledgement; `delivered` packets in total.
    pub(super) fn sample(&mut self, now_us: u64, delivered: u32, min_rtt_us: u32, event: &mut Event) {
        if self.limited_until.is_some_and(|until| (delivered.wrapping_sub(until) as i32) > 0) {
            self.limited_until = None;
        }
        if event.acked > 0 {
            self.delivered_us = now_us;
        }
        let Some((sent, _, mark)) = self.newest.take() else { return };
        self.flight_us = sent / 1_000;
        // With compressed acknowledgements the send interval can be the longer one.
        let send_us = self.flight_us.saturating_sub(mark.flight_us);
        let acknowledge_us = now_us.saturating_sub(mark.delivered_us);
        let interval_us = send_us.max(acknowledge_us).min(u64::from(u32::MAX)) as u32;
        // Shorter than the minimum RTT: the original of a needless retransmission was acknowledged.
        if interval_us < min_rtt_us {
            return;
        }
        event.rate_delivered = delivered.wrapping_sub(mark.delivered);
        event.rate_interval_us = interval_us;
        event.rate_prior_delivered = mark.delivered;
        if mark.application_limited {
            event.flags |= event_flags::APP_LIMITED;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rate;
    use braid_algorithms::layout::{Event, event_flags};

    const MS: u64 = 1_000_000;

    /// The sample of an acknowledgement `at_ms` that delivers these packets, each sent at its time.
    fn sample(rate: &mut Rate, at_ms: u64, delivered: u32, packets: &[(u32, u64)], min_rtt_us: u32) -> Event {
        for &(seq, sent_ms) in packets {
            rate.delivered(seq, sent_ms * MS);
        }
        let mut event = Event { acked: packets.len() as u32, ..Event::default() };
        rate.sample(at_ms * 1_000, delivered, min_rtt_us, &mut event);
        event
    }

    fn values(event: &Event) -> (u32, u32, u32) {
        (event.rate_delivered, event.rate_interval_us, event.rate_prior_delivered)
    }

    /// Packets 0 to 9 sent together at 1 s.
    fn flight() -> Rate {
        let mut rate = Rate::new();
        for seq in 0..10 {
            rate.sent(1_000_000, seq, seq == 0, 0);
        }
        rate
    }

    #[test]
    fn a_flight_is_measured_from_its_start_to_each_acknowledgement() {
        let mut rate = flight();
        for seq in 0..10 {
            let event = sample(&mut rate, 1_100 + u64::from(seq), seq + 1, &[(seq, 1_000)], 100_000);
            assert_eq!(values(&event), (seq + 1, 100_000 + 1_000 * seq, 0));
        }
    }

    #[test]
    fn what_is_sent_on_acknowledgements_is_measured_between_them() {
        let mut rate = flight();
        // A packet per millisecond, each sent when one of the previous flight is acknowledged.
        for seq in 0..20 {
            let (sent_ms, at_ms) = if seq < 10 { (1_000, 1_100 + seq) } else { (1_090 + seq, 1_190 + seq) };
            sample(&mut rate, u64::from(at_ms), seq + 1, &[(seq, u64::from(sent_ms))], 100_000);
            rate.sent(u64::from(at_ms) * 1_000, 10 + seq, false, seq + 1);
        }
        // Packet 20 left when 11 had been delivered, as packet 10 was acknowledged: ten in 100 ms.
        let event = sample(&mut rate, 1_300, 21, &[(20, 1_200)], 100_000);
        assert_eq!(values(&event), (10, 100_000, 11));
    }

    #[test]
    fn compressed_acknowledgements_are_measured_by_the_time_to_send() {
        let mut rate = Rate::new();
        rate.sent(1_000_000, 0, true, 0);
        for seq in 1..5 {
            rate.sent(1_000_000 + 50_000 * u64::from(seq), seq, false, 0);
        }
        // All delayed until 1.21 s, then packet 5, sent at their arrival.
        let all: Vec<_> = (0..5).map(|seq| (seq, 1_000 + 50 * u64::from(seq))).collect();
        assert_eq!(values(&sample(&mut rate, 1_210, 5, &all, 10_000)), (5, 210_000, 0));
        rate.sent(1_210_000, 5, false, 5);
        let event = sample(&mut rate, 1_220, 6, &[(5, 1_210)], 10_000);
        assert_eq!(
            values(&event),
            (1, 10_000, 5),
            "the send phase is from packet 4, acknowledged last, to this one"
        );
    }

    #[test]
    fn of_several_packets_the_one_sent_last_counts() {
        let mut rate = flight();
        sample(&mut rate, 1_100, 1, &[(0, 1_000)], 100_000);
        // Packet 1 was lost and is sent again after one delivery.
        rate.sent(1_150_000, 1, false, 1);
        let event = sample(&mut rate, 1_260, 11, &[(2, 1_000), (1, 1_150), (9, 1_000)], 100_000);
        assert_eq!(values(&event), (10, 160_000, 1));
    }

    #[test]
    fn an_interval_shorter_than_the_path_is_no_sample() {
        let mut rate = flight();
        assert_eq!(values(&sample(&mut rate, 1_099, 1, &[(0, 1_000)], 100_000)), (0, 0, 0));
    }

    #[test]
    fn an_acknowledgement_that_delivers_nothing_gives_no_sample() {
        let mut rate = flight();
        assert_eq!(values(&sample(&mut rate, 1_100, 0, &[], 100_000)), (0, 0, 0));
    }

    #[test]
    fn samples_are_application_limited_until_what_was_in_flight_is_delivered() {
        let mut rate = flight();
        let limited = |event: &Event| event.flags & event_flags::APP_LIMITED != 0;
        assert!(!limited(&sample(&mut rate, 1_100, 1, &[(0, 1_000)], 0)));
        rate.limit(1, 9);
        rate.sent(1_100_000, 10, false, 1);
        for seq in 1..10 {
            let event = sample(&mut rate, 1_100 + u64::from(seq), seq + 1, &[(seq, 1_000)], 0);
            assert!(!limited(&event), "packet {seq} was sent before");
            assert!(rate.is_limited());
        }
        // The eleventh delivery exceeds the packets in flight then: later samples are not limited, but packet 10's is.
        assert!(limited(&sample(&mut rate, 1_200, 11, &[(10, 1_100)], 0)));
        assert!(!rate.is_limited());
    }
}
