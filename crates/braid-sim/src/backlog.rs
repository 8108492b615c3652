//! Packets assigned to a subflow and not sent yet.

use std::collections::VecDeque;

/// Packets assigned to a subflow and not sent yet, and its send buffer.
#[derive(Default)]
pub(crate) struct Backlog {
    /// Half-open ranges of consecutive packets.
    runs: VecDeque<(u32, u32)>,
    pub(crate) packets: u32,
    /// Size of the send buffer, bytes.
    pub(crate) buffer: u64,
}

impl Backlog {
    pub(crate) fn push(&mut self, from: u32, to: u32) {
        self.packets += to - from;
        match self.runs.back_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ => self.runs.push_back((from, to)),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    pub(crate) fn pop(&mut self) -> Option<u32> {
        let (from, to) = self.runs.front_mut()?;
        let next = *from;
        *from += 1;
        if from == to {
            self.runs.pop_front();
        }
        self.packets -= 1;
        Some(next)
    }
}
