//! What an application of our own has sent, and how long that takes to arrive.

use std::collections::VecDeque;

use crate::job::TransferAt;

pub(super) struct Application {
    connection: usize,
    /// By their beginnings.
    pub(super) transfers: Vec<TransferAt>,
    /// Transfers that have arrived when so many bytes have.
    marks: VecDeque<(u64, usize)>,
    /// Short flows that wait for others to end, by their transfers.
    pub(super) waiting: VecDeque<usize>,
    /// On-off: it sends; turns that have begun, and what had been written before this one.
    pub(super) sends: bool,
    pub(super) turns: usize,
    pub(super) before: u64,
    /// When writes at a constant rate began, and how many there were.
    pub(super) since_ns: u64,
    pub(super) writes: u64,
    /// It writes and asks no more.
    pub(super) is_over: bool,
}

impl Application {
    pub(super) fn new(connection: usize) -> Self {
        Self {
            connection,
            transfers: Vec::new(),
            marks: VecDeque::new(),
            waiting: VecDeque::new(),
            sends: false,
            turns: 0,
            before: 0,
            since_ns: 0,
            writes: 0,
            is_over: false,
        }
    }

    /// A transfer begins; returns its number.
    pub(super) fn begin(&mut self, start_ns: u64, bytes: u64) -> usize {
        self.transfers.push(TransferAt { connection: self.connection, start_ns, end_ns: None, bytes });
        self.transfers.len() - 1
    }

    /// All of a transfer is written, when so much is in all.
    pub(super) fn ends_at(&mut self, transfer: usize, offered: u64) {
        self.marks.push_back((offered, transfer));
    }

    /// So much has arrived in all: how many transfers have with it.
    pub(super) fn arrived(&mut self, now_ns: u64, delivered: u64) -> usize {
        let before = self.marks.len();
        while let Some(&(_, transfer)) = self.marks.front().filter(|&&(end, _)| end <= delivered) {
            self.marks.pop_front();
            self.transfers[transfer].end_ns = Some(now_ns);
        }
        before - self.marks.len()
    }
}

#[cfg(test)]
mod tests {
    use super::Application;

    #[test]
    fn a_transfer_ends_when_its_last_byte_arrives() {
        let mut application = Application::new(0);
        let mut offered = 0;
        for (start, bytes) in [(0, 1000), (5, 500), (9, 1)] {
            let transfer = application.begin(start, bytes);
            offered += bytes;
            application.ends_at(transfer, offered);
        }
        assert_eq!(application.arrived(10, 999), 0);
        assert_eq!(application.arrived(11, 1499), 1);
        assert_eq!(application.arrived(12, 1501), 2);
        let ends: Vec<_> = application.transfers.iter().map(|transfer| transfer.end_ns).collect();
        assert_eq!(ends, [Some(11), Some(12), Some(12)]);
    }
}
