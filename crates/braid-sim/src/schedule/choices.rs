//! Calls the scheduler and carries out its decisions.

use braid_algorithms::layout::{ca_state, subflow_flags};
use braid_schedulers::layout::{Choice, choice_flags, flags};
use braid_schedulers::{Event, Scheduler};

use super::Scheduling;
use super::blocked_cache::BlockedCache;
use crate::connection::Connection;
use crate::event_queue::NEVER;
use crate::network::Network;
use crate::tcp::sender::Sender;

impl Scheduling {
    /// Calls the scheduler for one segment after the other until none is left or it waits. Reinjections come first.
    /// Returns the subflow whose usage was recorded, if nothing has happened since.
    #[allow(clippy::inline_always, reason = "once per acknowledgement")]
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        connection: &mut Connection,
        senders: &mut [Sender],
        network: &mut Network,
    ) -> Option<usize> {
        connection.wake_at = NEVER;
        let noted = if self.chooser.flags() & Scheduler::BY_SRTT == 0 || !connection.data.reinject.is_empty()
        {
            self.push_all(connection, senders, network)
        } else if connection.data.may_send_new() {
            self.push_by_srtt(connection, senders, network)
        } else {
            None
        };
        let is_blocked = connection.data.is_blocked();
        if is_blocked || connection.data.limited_since.is_some() {
            self.note_blocked(connection, senders, network, is_blocked);
            return None;
        }
        noted
    }

    /// New data with a scheduler that uses srtt only; calls it only if its decision is not obvious.
    #[allow(clippy::inline_always, reason = "once per acknowledgement")]
    #[inline(always)]
    fn push_by_srtt(
        &mut self,
        connection: &mut Connection,
        senders: &mut [Sender],
        network: &mut Network,
    ) -> Option<usize> {
        while connection.data.may_send_new() {
            let (index, is_only) = match Ready::of(connection, senders) {
                Ready::None => return None,
                Ready::One(index) => (index, true),
                Ready::Several(index) => (index, false),
                Ready::Backup => return self.push_new(connection, senders, network),
            };
            senders[index].send_burst(connection, network, u32::MAX);
            senders[index].note_usage(connection, network);
            if is_only {
                return Some(index);
            }
        }
        None
    }

    /// Any scheduler and all kinds of data.
    #[inline(never)]
    fn push_all(
        &mut self,
        connection: &mut Connection,
        senders: &mut [Sender],
        network: &mut Network,
    ) -> Option<usize> {
        let queues = self.chooser.flags() & Scheduler::QUEUES != 0;
        if queues {
            connection.grow_buffers(senders);
        }
        if !self.is_mainline() {
            self.push_again(connection, senders, network);
        }
        let noted = self.push_new(connection, senders, network);
        if queues {
            connection.send_given(senders, network);
        }
        connection.restart_retransmission(network.now);
        noted
    }

    /// Unmodified Linux: an idle subflow, if any, sends the oldest outstanding piece.
    pub(super) fn send_piece_again(
        &mut self,
        connection: &mut Connection,
        senders: &mut [Sender],
        network: &mut Network,
    ) {
        let piece = connection.oldest_piece();
        if piece.is_empty() {
            return;
        }
        let choice = self.ask(connection, senders, network, piece.start, flags::REINJECTION);
        let Some(index) = first_of(choice.paths, senders) else { return };
        for dsn in piece {
            connection.data.note_reinjected(dsn, index);
            connection.backlogs[index].push(dsn, dsn + 1);
        }
        connection.send_given(senders, network);
    }

    fn is_mainline(&self) -> bool {
        self.chooser.flags() & Scheduler::MAINLINE != 0
    }

    /// Reinjects data of failed subflows.
    fn push_again(&mut self, connection: &mut Connection, senders: &mut [Sender], network: &mut Network) {
        while let Some(dsn) = connection.data.next_reinjection() {
            if !self.may_be_asked(connection, senders) {
                return;
            }
            let choice = self.ask(connection, senders, network, dsn, flags::REINJECTION);
            let Some(index) = first_of(choice.paths, senders) else { return };
            if choice.flags & choice_flags::QUEUE != 0 {
                let mut left = at_most(choice.packets);
                while let Some(dsn) = connection.data.next_reinjection().filter(|_| left > 0) {
                    connection.data.take_reinjection(index);
                    connection.backlogs[index].push(dsn, dsn + 1);
                    left -= 1;
                }
            } else if senders[index].has_room(connection) {
                connection.data.take_reinjection(index);
                senders[index].send_alone(connection, network, dsn);
            } else {
                return;
            }
        }
    }

    /// New data, and copies of data that other subflows have. Returns as [`Self::push`].
    fn push_new(
        &mut self,
        connection: &mut Connection,
        senders: &mut [Sender],
        network: &mut Network,
    ) -> Option<usize> {
        let mut may_recall = true;
        while let Some((dsn, of_segment)) = self.next_segment(connection, senders.len()) {
            if self.chooser.flags() & Scheduler::BY_SRTT != 0 {
                match Ready::of(connection, senders) {
                    Ready::None => return None,
                    Ready::One(index) => {
                        senders[index].send_burst(connection, network, u32::MAX);
                        senders[index].note_usage(connection, network);
                        return Some(index);
                    }
                    Ready::Several(_) | Ready::Backup => {}
                }
            } else if !self.may_be_asked(connection, senders) {
                return None;
            }
            let choice = self.ask(connection, senders, network, dsn, of_segment);
            if choice.flags & choice_flags::RECALL != 0 && may_recall {
                may_recall = false;
                connection.recall();
                continue;
            }
            let index = first_of(choice.paths, senders)?;
            let done = if choice.flags & choice_flags::COPY != 0 {
                send_copies(connection, senders, network, choice.paths)
            } else if choice.flags & choice_flags::QUEUE != 0 {
                self.give(connection, senders, index, at_most(choice.packets))
            } else {
                let others = choice.paths & !(1 << index);
                let packets = if others == 0 { at_most(choice.packets) } else { 1 };
                let sent = senders[index].send_burst(connection, network, packets);
                senders[index].note_usage(connection, network);
                if others != 0 {
                    send_copies(connection, senders, network, others);
                }
                sent
            };
            if !done {
                return None;
            }
        }
        None
    }

    /// The next segment to schedule.
    #[inline]
    fn next_segment(&self, connection: &mut Connection, n: usize) -> Option<(u32, u32)> {
        // Unmodified Linux treats new data and reinjections alike.
        let again = if self.is_mainline() { connection.data.next_reinjection() } else { None };
        if let Some(dsn) = again {
            return Some((dsn, flags::NEW_DATA));
        }
        let data = &connection.data;
        if let Some(dsn) = data.next_recalled() {
            return Some((dsn, flags::NEW_DATA));
        }
        let own = self.chooser.flags();
        let may = if own & Scheduler::QUEUES != 0 {
            data.sendable(connection.written_ahead()) > 0
        } else {
            data.may_send_new()
        };
        if may {
            return Some((data.snd_nxt, flags::NEW_DATA));
        }
        let copies =
            own & Scheduler::COPIES != 0 && (0..n).any(|index| !data.carriers.behind(index).is_empty());
        copies.then_some((data.snd_nxt, 0))
    }

    /// Whether a decision other than to wait is possible.
    #[inline]
    fn may_be_asked(&self, connection: &Connection, senders: &[Sender]) -> bool {
        self.chooser.flags() & Scheduler::QUEUES != 0
            || senders.iter().any(|sender| sender.has_room(connection))
    }

    #[inline]
    fn ask(
        &mut self,
        connection: &mut Connection,
        senders: &[Sender],
        network: &Network,
        dsn: u32,
        of_segment: u32,
    ) -> Choice {
        self.show(connection, senders, network, self.chooser.flags() & Scheduler::BY_SRTT == 0);
        self.paths.flags = of_segment;
        self.paths.segment = connection.data.short(dsn).map_or(connection.subflow(0).mss, u32::from);
        self.paths.carriers =
            if dsn < connection.data.snd_nxt { connection.data.carriers.of(dsn) } else { 0 };
        if of_segment == flags::NEW_DATA {
            connection.note_timeouts(senders, network.now);
        }
        let choice = self.chooser.deliver(Event::Choose, &self.paths);
        if choice.flags & choice_flags::FORGET != 0 {
            connection.data.carriers.forget(dsn);
        }
        if choice.paths == 0 && choice.wake_us > 0 {
            connection.wake_at = network.now + 1_000 * u64::from(choice.wake_us);
        }
        choice
    }

    /// Assigns new data to a subflow as far as its send buffer has room.
    fn give(&self, connection: &mut Connection, senders: &[Sender], index: usize, packets: u32) -> bool {
        let is_mainline = self.is_mainline();
        let piece = if is_mainline { connection.piece() } else { 1 };
        let ahead = connection.written_ahead();
        let (mut left, mut given) = (packets, false);
        while left > 0 && connection.has_memory(senders, index) {
            // A piece is completed, even beyond the decision.
            loop {
                let data = &mut connection.data;
                let again = if is_mainline { data.next_reinjection() } else { None };
                let dsn = if let Some(dsn) = again {
                    data.take_reinjection(index);
                    dsn
                } else if data.next_recalled().is_some() || data.sendable(ahead) > 0 {
                    data.take_next(index)
                } else {
                    return given;
                };
                connection.backlogs[index].push(dsn, dsn + 1);
                given = true;
                left = left.saturating_sub(1);
                if (dsn + 1) % piece == 0 {
                    break;
                }
            }
        }
        given
    }

    /// The receive window or the send buffer blocks data, or did. If a subflow could send, calls the scheduler's
    /// handler.
    fn note_blocked(
        &mut self,
        connection: &mut Connection,
        senders: &mut [Sender],
        network: &mut Network,
        is_blocked: bool,
    ) {
        let Some(index) = (if is_blocked { ready(connection, senders) } else { None }) else {
            connection.data.note_limited(network.now, false);
            return;
        };
        let by = connection.data.blocked_by();
        connection.data.note_limited(network.now, by == flags::WINDOW_BLOCKED);
        if !self.asks_when_blocked {
            return;
        }
        let carriers = connection.data.carriers.of(connection.data.snd_una);
        if self.chooser.flags() & Scheduler::BY_SRTT != 0 && carriers & !(1 << index) == 0 {
            return;
        }
        let now_us = network.now_us();
        if self
            .blocked_cache
            .as_ref()
            .is_some_and(|answer| answer.holds(&connection.view, index, carriers, now_us))
        {
            return;
        }
        self.ask_blocked(connection, senders, network, (index, by, carriers));
    }

    /// Calls the handler for blocked data and carries out its decision; subflow `index` has room.
    #[inline(never)]
    fn ask_blocked(
        &mut self,
        connection: &mut Connection,
        senders: &mut [Sender],
        network: &mut Network,
        (index, by, carriers): (usize, u32, u32),
    ) {
        self.show(connection, senders, network, self.chooser.flags() & Scheduler::BY_SRTT == 0);
        self.paths.flags = by;
        self.paths.self_index = index as u32;
        self.paths.head_carriers = carriers;
        let choice = self.chooser.deliver(Event::Blocked, &self.paths);
        self.asks_when_blocked = choice.flags & choice_flags::NO_REMEDY == 0;
        self.blocked_cache = BlockedCache::new(&choice, &connection.view, index, carriers, network.now_us());
        for (other, sender) in senders.iter_mut().enumerate() {
            let (cwnd, ssthresh) = (choice.cwnd[other & 7], choice.ssthresh[other & 7]);
            if cwnd > 0 && sender.penalise(connection, network.now, cwnd, ssthresh) {
                connection.data.counts.of.penalties += 1;
            }
        }
        if choice.flags & choice_flags::RESEND_HEAD != 0 {
            let head = connection.data.snd_una;
            connection.data.counts.of.opportunistic += 1;
            connection.data.note_repeated(head);
            connection.data.carriers.add(head, index);
            senders[index].send_alone(connection, network, head);
        }
    }
}

/// Subflows to which a scheduler that uses srtt only can assign new data.
enum Ready {
    None,
    One(usize),
    /// Several; this one has the smallest srtt, of equals the first.
    Several(usize),
    /// A backup is among them.
    Backup,
}

impl Ready {
    #[inline]
    fn of(connection: &Connection, senders: &[Sender]) -> Self {
        let (mut n, mut best, mut least) = (0, 0, 0);
        for (index, sender) in senders.iter().enumerate() {
            if sender.has_room(connection) && sender.is_usable() {
                let view = connection.subflow(index);
                if view.ca_state == ca_state::LOSS {
                    continue;
                }
                if view.flags & subflow_flags::BACKUP != 0 {
                    return Self::Backup;
                }
                if n == 0 || view.srtt_us < least {
                    (best, least) = (index, view.srtt_us);
                }
                n += 1;
            }
        }
        match n {
            0 => Self::None,
            1 => Self::One(best),
            _ => Self::Several(best),
        }
    }
}

/// Number of packets of a decision.
fn at_most(packets: u32) -> u32 {
    if packets == 0 { u32::MAX } else { packets }
}

/// The first of a set of subflows.
#[inline]
fn first_of(paths: u32, senders: &[Sender]) -> Option<usize> {
    let first = paths.trailing_zeros() as usize;
    (first < senders.len()).then_some(first)
}

/// The subflow with room and the smallest srtt; of several the first.
#[inline]
fn ready(connection: &Connection, senders: &[Sender]) -> Option<usize> {
    let mut best: Option<(usize, u32)> = None;
    for (index, sender) in senders.iter().enumerate() {
        if !sender.has_room(connection) || !sender.is_usable() {
            continue;
        }
        let view = connection.subflow(index);
        // A subflow with an empty backlog has room already.
        let queued = connection.backlogs.get(index);
        let may = queued.is_none_or(|queued| sender.in_flight() + queued.packets < view.cwnd);
        if may && view.ca_state != ca_state::LOSS && best.is_none_or(|(_, least)| view.srtt_us < least) {
            best = Some((index, view.srtt_us));
        }
    }
    best.map(|(index, _)| index)
}

/// Each of these subflows sends its oldest missing packet. False if none could.
fn send_copies(
    connection: &mut Connection,
    senders: &mut [Sender],
    network: &mut Network,
    paths: u32,
) -> bool {
    let mut any = false;
    for (index, sender) in senders.iter_mut().enumerate().filter(|(index, _)| (paths >> index) & 1 == 1) {
        let carriers = &connection.data.carriers;
        let own = 1 << index;
        let Some(dsn) = carriers.behind(index).find(|&dsn| carriers.of(dsn) & own == 0) else { continue };
        if sender.has_room(connection) {
            connection.data.counts.of.copies += 1;
            connection.data.note_repeated(dsn);
            connection.data.carriers.add(dsn, index);
            sender.send_alone(connection, network, dsn);
            any = true;
        }
    }
    any
}
