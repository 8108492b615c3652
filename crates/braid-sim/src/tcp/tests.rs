//! One sender against hand-written acknowledgements: vectors of the literature, and corner cases of the state machine.

use braid_algorithms::layout::{Subflow, ca_state};
use braid_algorithms::{Controller, Spec};
use braid_scenario::model::{Connection, Direction, QueueLimit};
use braid_testing::model::{connection, link};

use super::receiver::{self, Receiver};
use super::scoreboard::segment;
use super::sender::{Sender, Setup, Timer};
use crate::connection;
use crate::event_queue::{EventQueue, NEVER};
use crate::link::Link;
use crate::network::{END, Network};
use crate::packet::{Packet, Sack, Sacks, flags, is_outdated};

const MS: u64 = 1_000_000;

/// A sender whose packets are acknowledged by the test only.
struct Bench {
    connection: connection::Connection,
    senders: [Sender; 1],
    network: Network,
}

impl Bench {
    /// An established flow with this RTT and window, in congestion avoidance.
    fn new(cc: &str, rtt_ms: u64, cwnd: u32) -> Self {
        let flow = connection("tcp0", None, &[&[0]]);
        let model = Connection { receive_buffer: 1 << 30, ecn: true, ..flow };
        let link = link("b1", 1e6, 0.0).forward;
        let direction = Direction { queue: QueueLimit::Packets(u32::MAX), ..link };
        let setup = Setup {
            subflow: 0,
            index: 0,
            hop: 0,
            data_size: 1500,
            ecn: true,
            initial_window: 10,
            initial_ssthresh: None,
        };
        let spec = Spec::parse(cc).unwrap_or_else(|error| panic!("{}", error.0));
        let mut bench = Self {
            connection: connection::Connection::new(0, &model, 0, &crate::options::usual_scheduler()),
            senders: [Sender::new(setup, Controller::new(&spec))],
            network: Network {
                now: 1_000 * MS,
                events: EventQueue::new(1),
                links: vec![Link::new(&direction, 1, "test", false)],
                looks_ahead: vec![false],
                hops: vec![0, END],
                sacks: Sacks::default(),
                datagrams: crate::datagram::Datagrams::default(),
            },
        };
        bench.senders[0].establish(&mut bench.connection, &mut bench.network, rtt_ms as u32 * 1_000);
        bench.view_mut().cwnd = cwnd;
        bench.view_mut().ssthresh = cwnd;
        bench.push();
        assert_eq!(bench.sent(), (0..cwnd).collect::<Vec<_>>(), "the window is sent at once");
        bench.network.now += rtt_ms * MS;
        bench
    }

    fn view(&self) -> &Subflow {
        self.connection.subflow(0)
    }

    fn view_mut(&mut self) -> &mut Subflow {
        self.connection.subflow_mut(0)
    }

    fn sender(&self) -> &Sender {
        &self.senders[0]
    }

    fn push(&mut self) {
        self.connection.push(&mut self.senders, 0, &mut self.network);
    }

    /// Numbers of the data packets sent since the last call.
    fn sent(&mut self) -> Vec<u32> {
        self.packets().iter().map(|packet| packet.seq).collect()
    }

    fn packets(&mut self) -> Vec<Packet> {
        let mut packets = Vec::new();
        let now = self.network.now;
        // The link is fast and short, but not instantaneous.
        while let Some((time, 1)) = self.network.events.peek() {
            self.network.now = time;
            packets.extend(self.network.arrive(0));
        }
        self.network.now = now.max(self.network.now - 1_000);
        packets
    }

    /// An acknowledgement arrives; returns the packets sent in response.
    fn receive(
        &mut self,
        ack: u32,
        blocks: &[(u32, u32)],
        duplicate: bool,
        flags: u16,
        echo: u32,
    ) -> Vec<u32> {
        let sent = self.network.timestamp();
        let mut sack = Sack { n: blocks.len() as u8, duplicate, sent, ..Sack::default() };
        sack.blocks[..blocks.len()].copy_from_slice(blocks);
        let slot = if blocks.is_empty() { Sacks::NONE } else { self.network.sacks.put(sack) };
        let packet = Packet {
            seq: ack,
            dsn: ack,
            flags,
            timestamp: echo,
            window_end: u32::MAX,
            sack: slot,
            ..Packet::default()
        };
        let Self { connection, senders, network } = self;
        senders[0].receive(connection, network, &packet);
        self.push();
        self.sent()
    }

    fn ack(&mut self, ack: u32) -> Vec<u32> {
        let echo = self.network.timestamp();
        self.receive(ack, &[], false, 0, echo)
    }

    fn sack(&mut self, ack: u32, blocks: &[(u32, u32)]) -> Vec<u32> {
        let echo = self.network.timestamp();
        self.receive(ack, blocks, false, 0, echo)
    }

    /// Packet 0 is missing, and the packets behind it are reported one by one, up to each of these.
    fn sacks(&mut self, counts: std::ops::RangeInclusive<u32>) {
        for count in counts {
            self.sack(0, &[(1, 1 + count)]);
        }
    }

    /// The timer expires; returns the packets sent.
    fn expire(&mut self) -> Vec<u32> {
        self.senders[0].round_deadline();
        self.network.now = self.sender().deadline();
        assert_ne!(self.network.now, NEVER, "a timer runs");
        let Self { connection, senders, network } = self;
        senders[0].expire(connection, network);
        self.push();
        self.sent()
    }
}

#[test]
fn a_burst_loss_is_repaired_one_packet_per_ack_as_in_rfc_6937() {
    let mut bench = Bench::new("reno", 100, 20);
    let sent: Vec<_> = (16..=20).map(|end| bench.sack(0, &[(15, end)])).collect();
    assert_eq!(sent, [vec![20], vec![21], vec![0], vec![1], vec![2]]);
    assert_eq!(bench.view().ssthresh, 10);
}

#[test]
fn after_a_single_loss_every_second_ack_releases_a_packet() {
    let mut bench = Bench::new("reno", 100, 20);
    let mut released = Vec::new();
    for count in 1..=19 {
        let sent = bench.sack(0, &[(1, 1 + count)]);
        if !sent.is_empty() {
            released.push((count, sent));
        }
    }
    let expected: Vec<_> = [1, 2, 3, 5, 7, 9, 11, 13, 15, 17]
        .into_iter()
        .zip([20, 21, 0, 22, 23, 24, 25, 26, 27, 28])
        .map(|(count, seq)| (count, vec![seq]))
        .collect();
    assert_eq!(released, expected);
    assert_eq!(bench.sender().board.in_flight(), 10);
}

#[test]
fn cubic_keeps_seven_tenths_and_releases_in_proportion() {
    let mut bench = Bench::new("cubic", 100, 20);
    let mut released = Vec::new();
    for count in 1..=19 {
        if !bench.sack(0, &[(1, 1 + count)]).is_empty() {
            released.push(count);
        }
    }
    assert_eq!(bench.view().ssthresh, 14);
    assert_eq!(released, [1, 2, 3, 4, 5, 7, 8, 10, 11, 13, 14, 15, 18, 19]);
    assert_eq!(bench.sender().board.in_flight(), 14);
    bench.network.now += 100 * MS;
    bench.ack(20);
    assert_eq!(bench.view().ca_state, ca_state::RECOVERY);
    bench.ack(22);
    assert_eq!((bench.view().ca_state, bench.view().cwnd), (ca_state::OPEN, 14));
}

#[test]
fn without_reordering_the_third_sack_marks_the_loss() {
    let mut bench = Bench::new("reno", 100, 10);
    assert_eq!(bench.sack(0, &[(1, 2)]), [10]);
    assert_eq!(bench.sack(0, &[(1, 3)]), [11]);
    assert_eq!(bench.sack(0, &[(1, 4)]), [0]);
    assert_eq!(bench.view().ca_state, ca_state::RECOVERY);
}

#[test]
fn two_sacks_mark_the_loss_a_quarter_rtt_later() {
    let mut bench = Bench::new("reno", 100, 3);
    bench.sack(0, &[(1, 2)]);
    bench.sack(0, &[(1, 3)]);
    assert_eq!(bench.sender().timer, Timer::Reordering);
    assert_eq!(bench.sender().deadline(), bench.network.now + 27 * MS);
    assert_eq!(bench.expire()[0], 0);
    assert_eq!(bench.view().ca_state, ca_state::RECOVERY);
}

#[test]
fn a_probe_follows_two_rtts_of_silence_and_never_later_than_the_timeout() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.connection.data.set_window_end(20);
    bench.receive_quietly(2);
    assert_eq!(bench.sender().deadline(), bench.network.now + 202 * MS);
    bench.connection.data.set_window_end(u32::MAX);
    let mut lone = Bench::new("reno", 100, 1);
    lone.connection.data.set_window_end(1);
    assert_eq!(lone.sender().deadline(), lone.network.now - 100 * MS + 300 * MS);
    let probe = bench.expire();
    assert_eq!(probe[0], 20, "a probe is new data");
    assert_eq!(bench.view().ca_state, ca_state::OPEN);
}

#[test]
fn a_probe_that_repairs_the_loss_costs_one_reduction() {
    let mut bench = Bench::new("reno", 100, 10);
    bench.connection.data.set_window_end(10);
    bench.receive_quietly(9);
    assert_eq!(bench.expire(), [9], "no new data: the last packet again");
    bench.network.now += 100 * MS;
    bench.connection.data.set_window_end(11);
    bench.push();
    bench.network.now += 100 * MS;
    bench.ack(11);
    assert_eq!(bench.view().ssthresh, 5);
}

#[test]
fn a_probe_that_has_nothing_to_send_is_none() {
    let mut bench = Bench::new("reno", 100, 10);
    bench.view_mut().cwnd = 1;
    assert!(bench.sack(0, &[(9, 10)]).is_empty(), "the window is full");
    bench.connection.data.set_window_end(10);
    let now = bench.network.now;
    bench.senders[0].set_timer(Timer::Probe, now, now + 1);
    assert!(bench.expire().is_empty(), "the last packet has arrived, and there is no new data");
    assert_eq!(bench.sender().probe, None, "so no answer is waited for");
    assert_eq!(bench.sender().timer, Timer::Retransmission);
}

#[test]
fn a_timeout_restarts_from_one_packet_and_slow_start_ends_at_half_the_window() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.connection.data.set_window_end(20);
    // Nothing is acknowledged: the probe, then the timeout.
    bench.expire();
    assert_eq!(bench.expire(), [0]);
    assert_eq!((bench.view().ssthresh, bench.view().cwnd), (10, 1));
    let mut windows = Vec::new();
    let mut acknowledged = 0;
    let mut outstanding = 1;
    for _ in 0..4 {
        bench.network.now += 100 * MS;
        for _ in 0..outstanding {
            acknowledged += 1;
            bench.receive_quietly(acknowledged);
        }
        outstanding = bench.sent().len();
        windows.push(bench.view().cwnd);
    }
    assert_eq!(windows, [2, 4, 8, 10]);
}

#[test]
fn an_idle_second_halves_the_window_once_per_timeout_down_to_the_initial_one() {
    let mut bench = Bench::new("reno", 100, 80);
    bench.connection.data.set_window_end(80);
    bench.ack(80);
    // ack() opened the window again; closes it and lets the flow become idle.
    let sent = bench.connection.data.snd_nxt;
    bench.connection.data.set_window_end(sent);
    bench.network.now += 100 * MS;
    bench.receive_quietly(sent);
    bench.view_mut().cwnd = 80;
    bench.view_mut().ssthresh = 40;
    bench.network.now += 1_000 * MS;
    bench.connection.data.set_window_end(u32::MAX);
    bench.push();
    assert_eq!((bench.view().cwnd, bench.view().ssthresh), (10, 60));
}

impl Bench {
    /// Acknowledges everything without opening the window.
    fn receive_quietly(&mut self, ack: u32) {
        let packet = Packet {
            seq: ack,
            dsn: ack,
            timestamp: self.network.timestamp(),
            sack: Sacks::NONE,
            ..Packet::default()
        };
        let Self { connection, senders, network } = self;
        senders[0].receive(connection, network, &packet);
    }
}

#[test]
fn a_congestion_echo_cuts_once_per_window_and_says_so() {
    let mut bench = Bench::new("reno", 100, 20);
    let echo = bench.network.timestamp();
    for ack in 1..=19 {
        bench.receive(ack, &[], false, flags::ECE, echo);
    }
    assert_eq!((bench.view().ca_state, bench.view().ssthresh), (ca_state::CWR, 10));
    bench.network.now += 100 * MS;
    let last = bench.sender().board.snd_nxt;
    bench.ack(last);
    assert_eq!(bench.view().ca_state, ca_state::OPEN);
    assert_eq!(bench.sender().counts.ecn_reductions, 1);
    assert_eq!(bench.sender().counts.retransmissions, 0);
}

#[test]
fn the_first_new_packet_after_a_reduction_carries_cwr_and_retransmissions_are_not_ect() {
    let mut bench = Bench::new("reno", 100, 20);
    let mut packets = Vec::new();
    for count in 1..=8 {
        let mut sack = Sack { n: 1, ..Sack::default() };
        sack.blocks[0] = (1, 1 + count);
        let slot = bench.network.sacks.put(sack);
        let packet = Packet { sack: slot, window_end: u32::MAX, ..Packet::default() };
        let Bench { connection, senders, network } = &mut bench;
        senders[0].receive(connection, network, &packet);
        bench.push();
        packets.extend(bench.packets());
    }
    let marks: Vec<_> = packets
        .iter()
        .map(|packet| (packet.seq, packet.flags & flags::ECT != 0, packet.flags & flags::CWR != 0))
        .collect();
    assert_eq!(marks[2], (0, false, false), "retransmission");
    assert_eq!(marks[3], (22, true, true), "first new packet");
    assert!(marks[4..].iter().all(|&(_, ect, cwr)| ect && !cwr));
}

#[test]
fn an_ack_of_the_original_undoes_the_recovery() {
    let mut bench = Bench::new("reno", 100, 20);
    let before = bench.network.timestamp() - 100_000;
    bench.sacks(1..=5);
    assert_eq!(bench.view().ca_state, ca_state::RECOVERY);
    bench.network.now += 10 * MS;
    // The late original arrives: the echo is older than the retransmission.
    bench.receive(6, &[], false, 0, before);
    assert!(bench.view().cwnd >= 20, "cwnd {}", bench.view().cwnd);
    assert_eq!(bench.sender().counts.undos, 1);
}

#[test]
fn reports_of_needless_retransmissions_undo_the_recovery() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.sacks(1..=5);
    let retransmitted = bench.network.timestamp();
    bench.network.now += 100 * MS;
    bench.receive(20, &[], false, 0, retransmitted);
    assert_eq!(bench.view().ca_state, ca_state::RECOVERY, "data sent during the recovery is outstanding");
    bench.receive(20, &[(0, 1)], true, 0, retransmitted);
    assert_eq!(bench.view().cwnd, 20);
    assert_eq!(bench.sender().counts.undos, 1);
}

#[test]
fn a_lost_retransmission_is_found_and_sent_again_without_a_timeout() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.sacks(1..=5);
    // Packets sent after the retransmission arrive, the retransmission does not.
    bench.sacks(6..=19);
    let highest = bench.sender().board.snd_nxt;
    bench.network.now += 100 * MS;
    let sent = bench.sack(0, &[(1, highest)]);
    assert!(sent.contains(&0), "{sent:?}");
    assert_eq!(bench.sender().counts.timeouts, 0);
    assert_eq!(bench.view().ssthresh, 10, "no second cut");
}

#[test]
fn a_timeout_that_was_only_a_delay_is_undone_by_frto() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.connection.data.set_window_end(20);
    bench.expire();
    assert_eq!(bench.expire(), [0]);
    bench.connection.data.set_window_end(u32::MAX);
    bench.network.now += 10 * MS;
    // Originals arrive late, without timestamps old enough to identify them (echo = now): new data is sent instead of
    // repairs.
    let echo = bench.network.timestamp();
    let sent = bench.receive(1, &[], false, 0, echo);
    assert!(sent.iter().all(|&seq| seq >= 20), "{sent:?}");
    bench.receive(2, &[], false, 0, echo);
    assert!(bench.view().cwnd >= 20, "cwnd {}", bench.view().cwnd);
    assert_eq!(bench.view().ca_state, ca_state::OPEN);
}

#[test]
fn growth_needs_a_full_window() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.connection.data.set_window_end(20);
    for ack in 1..=20 {
        bench.receive_quietly(ack);
        bench.connection.data.set_window_end(22.max(bench.connection.data.window_end()));
    }
    let cwnd = bench.view().cwnd;
    for ack in 21..=22 {
        bench.push();
        bench.network.now += 100 * MS;
        bench.receive_quietly(ack);
    }
    for _ in 0..30 {
        let end = bench.connection.data.window_end() + 2;
        bench.connection.data.set_window_end(end);
        bench.push();
        bench.network.now += 100 * MS;
        let ack = bench.sender().board.snd_nxt;
        bench.receive_quietly(ack);
    }
    assert!(bench.view().cwnd <= cwnd, "two packets per RTT are no reason to grow: {}", bench.view().cwnd);
}

#[test]
fn a_rate_based_algorithm_sends_packet_by_packet_at_its_pacing_rate() {
    let mut bench = Bench::new("bbr", 100, 10);
    let acknowledged = bench.network.now;
    assert!(bench.sender().deadline() < acknowledged, "the tenth packet made the eleventh wait");
    assert!(bench.expire().is_empty(), "the window is full");
    bench.network.now = acknowledged;
    assert_eq!(bench.ack(10), [10], "the others have to wait");
    let gap = 1448 * 1_000_000_000 / bench.view().pacing_rate;
    // Late for a long time: half a gap is made up for.
    assert_eq!(bench.sender().deadline(), acknowledged + gap - gap / 2);
    for packet in 11..20 {
        let due = bench.sender().deadline();
        assert_eq!(bench.expire(), [packet]);
        assert_eq!(bench.sender().deadline(), due + gap);
    }
    assert_eq!(bench.view().in_flight, 0);
}

#[test]
fn an_algorithm_that_owns_cwnd_is_not_reduced_but_told_of_every_timeout() {
    let mut bench = Bench::new("bbr", 100, 10);
    bench.view_mut().cwnd = 40;
    bench.ack(2);
    bench.sack(2, &[(5, 10)]);
    assert_eq!(bench.view().ca_state, ca_state::RECOVERY);
    // Packet conservation: packets in flight plus those delivered, instead of PRR's way to ssthresh.
    assert_eq!(bench.view().cwnd, bench.sender().in_flight() + 5);
    assert_eq!(bench.view().ssthresh, 10, "as the test set it");
    while bench.sender().timer != Timer::Retransmission {
        bench.expire();
    }
    while bench.view().ca_state != ca_state::LOSS {
        bench.expire();
    }
    assert!(bench.view().cwnd <= bench.sender().in_flight() + 1, "the algorithm's answer to a timeout");
}

#[test]
fn a_sack_of_a_packet_sent_before_the_head_was_last_sent_restarts_the_timer() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.sacks(1..=5);
    assert_eq!(bench.view().ca_state, ca_state::RECOVERY, "the head was retransmitted now");
    bench.network.now += 10 * MS;
    bench.sack(0, &[(1, 10)]);
    assert_eq!(bench.sender().timer, Timer::Retransmission);
    assert_eq!(bench.sender().deadline(), bench.network.now + bench.sender().rto_ns());
}

#[test]
fn a_sack_of_a_packet_sent_after_the_head_was_last_sent_leaves_the_timer_alone() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.sacks(1..=5);
    bench.network.now += 10 * MS;
    let new = bench.sack(0, &[(1, 20)]).into_iter().max().unwrap();
    let deadline = bench.sender().deadline();
    bench.network.now += 100 * MS;
    // The head is lost again, but pacing delays it: its retransmission would restart the timer, too.
    bench.senders[0].may_send = false;
    bench.sack(0, &[(1, new + 1)]);
    assert_eq!(bench.view().ca_state, ca_state::RECOVERY);
    assert!(bench.sender().board.sacked_out > 19, "new packets were reported");
    assert_eq!(bench.sender().deadline(), deadline);
}

/// Packet 0 is retransmitted, and its ACK echoes a timestamp this far from the retransmission's. Returns whether RACK
/// takes the retransmission for delivered.
fn rack_advances_after_echo(offset_us: i32) -> bool {
    let mut bench = Bench::new("reno", 100, 20);
    for end in 3..=8 {
        bench.sack(0, &[(2, end)]);
    }
    let first = bench.network.timestamp();
    bench.network.now += 120 * MS;
    let highest = bench.sender().board.snd_nxt;
    bench.senders[0].send_again(&mut bench.connection, &mut bench.network, 0);
    let again = bench.network.timestamp();
    assert!(again > first);
    bench.network.now += 150 * MS;
    let rack = bench.sender().rack.clone();
    bench.receive(1, &[], false, 0, again.wrapping_add_signed(offset_us));
    assert!(bench.sender().board.snd_nxt >= highest);
    bench.sender().rack.latest_sent() > rack.latest_sent()
}

#[test]
fn rack_takes_an_arrival_for_the_retransmission_only_if_the_echoed_timestamp_is_not_older() {
    assert!(rack_advances_after_echo(0));
    assert!(!rack_advances_after_echo(-1));
}

/// The window after a handshake whose SYN was sent at 0, 1, 2, 3 and 4 s; the answer is to the given one.
fn window_after_answer_to(syn_s: u64) -> u32 {
    let mut bench = Bench::new("reno", 100, 10);
    let sender = &mut bench.senders[0];
    sender.counts.timeouts = 4;
    bench.network.now = 5_000 * MS;
    sender.first_retransmission = Some(0);
    let rtt_us = (5_000 - 1_000 * syn_s) as u32 * 1_000;
    sender.answered(bench.network.timestamp() - rtt_us);
    sender.establish(&mut bench.connection, &mut bench.network, rtt_us);
    bench.view().cwnd
}

#[test]
fn the_window_starts_at_one_packet_only_if_a_later_syn_was_answered() {
    assert_eq!(window_after_answer_to(0), 10);
    assert_eq!(window_after_answer_to(1), 1);
}

#[test]
fn a_reordering_timeout_is_followed_by_the_heads_own_timeout() {
    let mut bench = Bench::new("reno", 100, 3);
    let sent = bench.network.now - 100 * MS;
    bench.sack(0, &[(1, 2)]);
    assert_eq!(bench.sender().timer, Timer::Reordering);
    let early = bench.network.now + MS;
    bench.senders[0].set_timer(Timer::Reordering, early - MS, early);
    assert!(bench.expire().is_empty(), "nothing is lost yet");
    let rto = bench.sender().rto_ns();
    assert_eq!((bench.sender().timer, bench.sender().deadline()), (Timer::Retransmission, sent + rto));
}

#[test]
fn a_retransmission_of_the_head_leaves_a_pending_reordering_timer_alone() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.sack(0, &[(1, 6)]);
    assert_eq!(bench.view().ca_state, ca_state::RECOVERY);
    let deadline = bench.network.now + 5 * MS;
    bench.senders[0].set_timer(Timer::Reordering, deadline - 5 * MS, deadline);
    bench.senders[0].board.mark_lost(0, false);
    bench.view_mut().cwnd = 40;
    let Bench { connection, senders, network } = &mut bench;
    senders[0].retransmit(connection, network);
    assert_eq!(bench.sent(), [0]);
    assert_eq!((bench.sender().timer, bench.sender().deadline()), (Timer::Reordering, deadline));
}

#[test]
fn a_duplicate_report_counts_as_delivered() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.ack(10);
    let delivered = bench.view().delivered;
    bench.sack(10, &[]);
    assert_eq!(bench.view().delivered, delivered);
    let echo = bench.network.timestamp();
    bench.senders[0].counts.retransmissions = 1;
    bench.receive(10, &[(3, 4)], true, 0, echo);
    assert_eq!(bench.view().delivered, delivered + 1);
    // More duplicates than retransmissions: the network makes them.
    bench.receive(10, &[(3, 4)], true, 0, echo);
    assert_eq!(bench.view().delivered, delivered + 1);
}

#[test]
fn an_acknowledgement_that_was_overtaken_counts_for_its_blocks_only() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.ack(10);
    let before = (bench.view().cwnd, bench.view().srtt_us, bench.view().delivered);
    bench.network.now += 50 * MS;
    bench.ack(9);
    bench.sack(9, &[(12, 14)]);
    assert_eq!((bench.view().cwnd, bench.view().srtt_us, bench.view().delivered), before);
    assert_eq!(bench.sender().board.sacked_out, 2);
    assert_eq!(bench.view().ca_state, ca_state::DISORDER);
    // More than a tick older than the latest one: dropped.
    let now = bench.network.timestamp();
    bench.senders[0].latest_answer = now + 2_000;
    bench.sack(9, &[(12, 16)]);
    assert_eq!(bench.sender().board.sacked_out, 2);
    bench.senders[0].latest_answer = now + 1_000;
    bench.sack(9, &[(12, 16)]);
    assert_eq!(bench.sender().board.sacked_out, 4);
}

#[test]
fn reordering_is_measured_to_what_the_same_acknowledgement_reports() {
    let mut bench = Bench::new("reno", 100, 40);
    bench.sack(0, &[(10, 11)]);
    bench.sack(0, &[(20, 25), (5, 6)]);
    assert_eq!(bench.sender().rack.reordering, 20);
    // The same by a cumulative acknowledgement.
    let mut bench = Bench::new("reno", 100, 40);
    bench.sack(0, &[(10, 11)]);
    bench.sack(6, &[(20, 25)]);
    assert_eq!(bench.sender().rack.reordering, 25);
}

#[test]
fn in_the_loss_state_without_undo_sacks_show_no_reordering() {
    for (marker, seen) in [(Some(0), true), (None, false)] {
        let mut bench = Bench::new("reno", 100, 20);
        bench.sack(0, &[(10, 11)]);
        bench.view_mut().ca_state = ca_state::LOSS;
        bench.senders[0].undo_marker = marker;
        bench.sack(0, &[(5, 6)]);
        assert_eq!(bench.sender().rack.reordering_seen, seen);
    }
}

#[test]
fn a_duplicate_of_a_packet_reported_before_is_reordering() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.sack(0, &[(2, 9)]);
    assert!(bench.sender().board.get(1).state & segment::EVER_RETRANS != 0, "packet 1 was retransmitted");
    bench.sack(0, &[(1, 9)]);
    assert!(!bench.sender().rack.reordering_seen);
    let echo = bench.network.timestamp();
    bench.receive(0, &[(1, 2), (1, 9)], true, 0, echo);
    assert!(bench.sender().rack.reordering_seen);
    assert_eq!(bench.sender().rack.reordering, 8);
}

#[test]
fn blocks_are_taken_in_the_order_of_packets() {
    let mut bench = Bench::new("reno", 100, 20);
    assert_eq!(bench.ack(2), [20, 21]);
    bench.network.now += 50 * MS;
    bench.sack(2, &[(20, 21), (5, 6)]);
    // For the timeout the first one, 150 ms old; for the algorithm the last one.
    assert!(bench.view().srtt_us > 105_000, "{}", bench.view().srtt_us);
    assert_eq!(bench.view().last_rtt_us, 50_000);
}

#[test]
fn an_acknowledgement_of_a_retransmission_too_is_timed_by_its_timestamp() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.sack(0, &[(2, 9)]);
    let sent = bench.network.timestamp();
    bench.network.now += 70 * MS;
    bench.receive(20, &[], false, 0, sent);
    assert_eq!((bench.view().last_rtt_us, bench.view().min_rtt_us), (70_000, 70_000));
}

#[test]
fn a_probe_that_repeats_a_packet_is_not_in_flight_and_starts_a_full_timeout() {
    let mut bench = Bench::new("reno", 100, 10);
    bench.connection.data.set_window_end(10);
    bench.receive_quietly(9);
    assert_eq!(bench.expire(), [9]);
    assert_eq!((bench.sender().in_flight(), bench.sender().board.retrans_out), (1, 0));
    assert_eq!(bench.sender().first_retransmission, None);
    assert_eq!(bench.sender().deadline(), bench.network.now + bench.sender().rto_ns());
}

#[test]
fn a_probe_that_is_under_way_when_a_recovery_begins_may_turn_out_to_be_needless() {
    for (probe, copies) in [(None, Some(1)), (Some((20, true)), Some(2)), (Some((20, false)), Some(1))] {
        let mut bench = Bench::new("reno", 100, 20);
        bench.senders[0].probe = probe;
        bench.sack(0, &[(1, 5)]);
        assert_eq!(bench.view().ca_state, ca_state::RECOVERY);
        assert_eq!(bench.sender().undo_retrans, copies, "{probe:?} and the retransmission");
    }
}

#[test]
fn an_undo_by_duplicates_keeps_a_wide_reordering_window_longer() {
    let mut bench = Bench::new("reno", 100, 20);
    bench.sack(0, &[(1, 6)]);
    let echo = bench.network.timestamp();
    bench.network.now += 100 * MS;
    bench.senders[0].rack.persist = 7;
    bench.receive(19, &[(0, 1)], true, 0, echo);
    assert_eq!(bench.sender().counts.undos, 1);
    assert_eq!(bench.sender().rack.persist, 8);
}

/// A recovery in which pacing holds back the first retransmission.
fn recovery_held_back() -> Bench {
    let mut bench = Bench::new("reno", 100, 20);
    assert_eq!(bench.sender().timer, Timer::Probe);
    bench.senders[0].may_send = false;
    assert!(bench.sack(1, &[(2, 6)]).is_empty());
    assert_eq!(bench.view().ca_state, ca_state::RECOVERY);
    bench
}

#[test]
fn an_advance_before_any_retransmission_undoes_the_recovery() {
    let mut bench = recovery_held_back();
    let now = bench.network.timestamp();
    bench.receive(6, &[], false, 0, now);
    assert_eq!(bench.sender().counts.undos, 1);
    assert!(bench.view().cwnd >= 20);
}

#[test]
fn a_timeout_that_takes_the_place_of_a_probe_counts_from_the_heads_transmission() {
    let bench = recovery_held_back();
    assert_eq!(bench.sender().timer, Timer::Retransmission);
    assert_eq!(bench.sender().deadline(), bench.network.now - 100 * MS + bench.sender().rto_ns());
}

#[test]
fn no_reordering_is_waited_for_longer_than_the_timeout() {
    let mut bench = Bench::new("reno", 100, 20);
    let (now, rto) = (bench.network.now, bench.sender().rto_ns());
    bench.senders[0].start_reordering_timer(now, 10 * MS);
    assert_eq!(bench.sender().deadline(), now + 12 * MS);
    bench.senders[0].start_reordering_timer(now, rto);
    assert_eq!(bench.sender().deadline(), now + rto);
}

#[test]
fn only_the_opening_of_a_join_decides_where_its_window_starts() {
    let mut bench = Bench::new("reno", 100, 10);
    let sender = &mut bench.senders[0];
    sender.answered(7);
    sender.counts.timeouts = 4;
    sender.first_retransmission = Some(0);
    sender.establish(&mut bench.connection, &mut bench.network, 1_000);
    assert_eq!(bench.view().cwnd, 10);
}

/// A receiver whose quick acknowledgements and opening window are over, at packet 0.
fn receiver(bench: &mut Bench) -> Receiver {
    let mut receiver = Receiver::new(receiver::Setup {
        subflow: 0,
        hop: 0,
        ack_size: 52,
        max_blocks: 3,
        multipath: false,
        delayed_ack: true,
        buffer: Some(0),
        accurate_ecn: false,
        reports_delay: false,
    });
    receiver.established(bench.network.now, 300 * MS);
    for seq in 0..16 {
        arrive(&mut receiver, bench, seq, 0);
    }
    receiver
}

/// Packet `seq`, sent `age_us` ago, arrives. Returns what the acknowledgement says, if one is sent.
fn arrive(receiver: &mut Receiver, bench: &mut Bench, seq: u32, age_us: u32) -> Option<u32> {
    let timestamp = bench.network.timestamp() - age_us;
    let packet = Packet { seq, dsn: seq, size: 1500, timestamp, flags: flags::DATA, ..Packet::default() };
    receiver.receive(&packet, &mut bench.connection.data, &mut bench.network);
    let sent = bench.packets();
    assert!(sent.len() <= 1, "{sent:?}");
    sent.first().map(|packet| packet.seq)
}

#[test]
fn a_packet_older_than_a_tick_is_dropped_though_it_fills_the_gap() {
    let mut bench = Bench::new("reno", 100, 10);
    let mut receiver = receiver(&mut bench);
    bench.network.now += 20 * MS;
    // Packet 16 is a retransmission, sent after packets 17 and 18.
    assert_eq!(arrive(&mut receiver, &mut bench, 16, 0), None);
    assert_eq!(arrive(&mut receiver, &mut bench, 17, 1_000), Some(18));
    assert_eq!(arrive(&mut receiver, &mut bench, 18, 2_000), Some(18), "dropped, and acknowledged at once");
    assert_eq!(receiver.distinct(), 18);
    arrive(&mut receiver, &mut bench, 18, 0);
    assert_eq!(receiver.distinct(), 19);
}

#[test]
fn timestamps_wrap() {
    for (timestamp, latest, outdated) in [
        (0, 1_999, false),
        (0, 2_000, true),
        (999, 2_000, true),
        (1_000, 2_999, false),
        (u32::MAX, 5_000, true),
    ] {
        assert_eq!(is_outdated(timestamp, latest), outdated, "{timestamp} {latest}");
        assert!(!is_outdated(latest, timestamp), "{timestamp} {latest}");
    }
}

#[test]
fn a_timer_that_becomes_due_waits_for_the_end_of_its_ticks() {
    let mut bench = Bench::new("reno", 100, 10);
    bench.connection.data.set_window_end(10);
    let now = bench.network.now;
    bench.senders[0].set_timer(Timer::Retransmission, now, now + 300 * MS);
    bench.network.now = now + 300 * MS;
    let Bench { connection, senders, network } = &mut bench;
    assert_eq!(senders[0].expire(connection, network), super::expiry::Expired::Nothing);
    let late = bench.sender().deadline() - bench.network.now;
    assert!(bench.sent().is_empty() && (1..=32 * MS).contains(&late), "{late}");
    assert_eq!(bench.sender().deadline() % (32 * MS), 0);
    assert_eq!(bench.expire(), [0]);
}
