//! Transfers of a built-in application, and their completion times.

use std::collections::VecDeque;

use crate::job::TransferAt;

pub(super) struct Application {
    connection: usize,
    /// In order of their start.
    pub(super) transfers: Vec<TransferAt>,
    /// Transfers that are complete at this number of delivered bytes.
    marks: VecDeque<(u64, usize)>,
    /// Short flows that wait for others to end, by their transfers.
    pub(super) waiting: VecDeque<usize>,
    /// On-off: it is in an on period; on periods so far, and bytes written before the present one.
    pub(super) sends: bool,
    pub(super) turns: usize,
    pub(super) before: u64,
    /// Start of writing at a constant rate, and number of writes.
    pub(super) since_ns: u64,
    pub(super) writes: u64,
    /// It has stopped writing and requesting.
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

    /// A transfer is completely written at this total of offered bytes.
    pub(super) fn ends_at(&mut self, transfer: usize, offered: u64) {
        self.marks.push_back((offered, transfer));
    }

    /// The total of delivered bytes; returns the number of transfers completed by it.
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
