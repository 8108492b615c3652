//! Writes and reads of both ends' applications.

use std::collections::VecDeque;

use braid_sim::application::ENDLESS;
use bytes::Bytes;
use noq_proto::{Connection, Dir, ReadError, StreamId, WriteError};

/// Repeated payload of applications.
static PAYLOAD: [u8; 1 << 16] = [0; 1 << 16];
/// A stream that the sender writes.
struct Writing {
    id: StreamId,
    /// Bytes still to be written; or [`ENDLESS`].
    left: u64,
    /// Whether the stream ends after them.
    ends: bool,
}

/// The streams of a connection.
#[derive(Default)]
pub(crate) struct Streams {
    writes: Vec<Writing>,
    /// Bytes accepted by the sender's stack.
    written: u64,
    /// Bytes read by the receiver.
    pub(crate) read: u64,
    /// Sizes of responses in the order of their requests.
    responses: VecDeque<u64>,
    /// Streams to be read by the receiver.
    reads: Vec<StreamId>,
    /// Requests to be read by the sender.
    requests: Vec<StreamId>,
}

impl Streams {
    /// The sender opens a stream with these bytes; it ends after them, or continues with added ones.
    pub(crate) fn open(&mut self, connection: &mut Connection, bytes: u64, ends: bool) {
        if let Some(id) = connection.streams().open(Dir::Uni) {
            self.writes.push(Writing { id, left: bytes, ends });
        }
    }

    /// Adds bytes to the sender's stream.
    pub(crate) fn add(&mut self, bytes: u64) {
        for writing in &mut self.writes {
            writing.left = writing.left.saturating_add(bytes);
        }
    }

    /// The sender stops an endless write at the accepted bytes.
    pub(crate) fn pause(&mut self) {
        for writing in self.writes.iter_mut().filter(|writing| writing.left == ENDLESS) {
            writing.left = 0;
        }
    }

    /// Bytes written by the sender's application, including those that wait for the stack.
    pub(crate) fn total(&self) -> u64 {
        let waiting = self.writes.iter().map(|writing| writing.left).filter(|&left| left != ENDLESS);
        self.written + waiting.sum::<u64>()
    }

    /// Writes as much as available and accepted, with at most `most` unread bytes.
    pub(crate) fn write(&mut self, connection: &mut Connection, most: u64) {
        let Self { writes, written, read, .. } = self;
        writes.retain_mut(|Writing { id, left, ends }| {
            let mut stream = connection.send_stream(*id);
            while *left > 0 {
                let room = most.saturating_sub(*written - *read);
                let size = (*left).min(room).min(PAYLOAD.len() as u64) as usize;
                if size == 0 {
                    return true;
                }
                let mut chunks = [Bytes::from_static(&PAYLOAD[..size])];
                match stream.write_chunks(&mut &mut chunks[..]) {
                    Ok(bytes) => {
                        *written += bytes as u64;
                        *left -= if *left == ENDLESS { 0 } else { bytes as u64 };
                    }
                    Err(WriteError::Blocked) => return true,
                    Err(_) => return false,
                }
            }
            if *ends {
                let _ = stream.finish();
            }
            !*ends
        });
    }

    /// The receiver sends a request of `request` bytes for a response of `response` bytes.
    pub(crate) fn request(&mut self, connection: &mut Connection, request: u32, response: u64) {
        let Some(id) = connection.streams().open(Dir::Bi) else { return };
        let mut stream = connection.send_stream(id);
        // At most ten packets: the window of a new stream has room for them.
        let _ = stream.write(&PAYLOAD[..request as usize]);
        let _ = stream.finish();
        self.responses.push_back(response);
        self.reads.push(id);
    }

    /// The receiver accepts streams opened by the sender.
    pub(crate) fn accept_reads(&mut self, connection: &mut Connection, dir: Dir) -> Vec<StreamId> {
        let new = accept(connection, dir);
        self.reads.extend(&new);
        new
    }

    /// The sender accepts streams opened by the receiver.
    pub(crate) fn accept_requests(&mut self, connection: &mut Connection, dir: Dir) -> Vec<StreamId> {
        let new = accept(connection, dir);
        self.requests.extend(&new);
        new
    }

    /// The receiver reads available data of a stream; returns whether it has ended.
    pub(crate) fn read(&mut self, connection: &mut Connection, id: StreamId) -> bool {
        let Some(place) = self.reads.iter().position(|read| *read == id) else { return false };
        let (bytes, is_over) = drain(connection, id);
        self.read += bytes;
        if is_over {
            self.reads.remove(place);
        }
        is_over
    }

    /// The sender reads available data of a request, and responds when it is complete.
    pub(crate) fn answer(&mut self, connection: &mut Connection, id: StreamId) {
        let Some(place) = self.requests.iter().position(|request| *request == id) else { return };
        if drain(connection, id).1 {
            self.requests.remove(place);
            if let Some(bytes) = self.responses.pop_front() {
                self.writes.push(Writing { id, left: bytes, ends: true });
            }
        }
    }
}

fn accept(connection: &mut Connection, dir: Dir) -> Vec<StreamId> {
    std::iter::from_fn(|| connection.streams().accept(dir)).collect()
}

/// Reads and discards available data; returns the bytes, and whether the stream has ended.
fn drain(connection: &mut Connection, id: StreamId) -> (u64, bool) {
    let mut bytes = 0;
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(true) else { return (0, false) };
    let is_over = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => bytes += chunk.bytes.len() as u64,
            Ok(None) => break true,
            Err(ReadError::Blocked | ReadError::Reset(_)) => break false,
        }
    };
    let _ = chunks.finalize();
    (bytes, is_over)
}
