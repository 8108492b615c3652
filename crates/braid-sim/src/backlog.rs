//! Packets that a subflow has been given and has not sent.

use std::collections::VecDeque;

/// What a subflow has been given and has not sent, and its send buffer.
#[derive(Default)]
pub(crate) struct Backlog {
    /// Runs of consecutive packets, each from the first to before the last.
    runs: VecDeque<(u32, u32)>,
    pub(crate) packets: u32,
    /// Bytes.
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
