//! The two ends of a built-in connection.

use std::io;

use socket2::{SockAddr, Socket};

pub(super) struct Pair {
    /// `None` once closed.
    pub(super) sender: Option<Socket>,
    /// From accept until nothing more can arrive.
    pub(super) receiver: Option<Socket>,
    pub(super) is_established: bool,
    /// Payload that the application has written, accepted by the kernel or not.
    pub(super) offered: u64,
    /// Payload accepted by the kernel.
    pub(super) taken: u64,
    /// Payload read by the receiving application.
    pub(super) delivered: u64,
    /// Bytes of requests read by the sending application.
    pub(super) asked: u64,
    /// Nothing to send: does not poll for room.
    pub(super) is_idle: bool,
    /// Of an object or a short flow, its only transfer.
    pub(super) transfer: Option<usize>,
    /// On-off without a rate: payload written before this turn.
    pub(super) before: Option<u64>,
    /// Requests that have been answered.
    pub(super) answered: usize,
}

impl Pair {
    /// A connection that is being opened.
    pub(super) fn new(sender: Socket) -> Self {
        Self {
            sender: Some(sender),
            receiver: None,
            is_established: false,
            offered: 0,
            taken: 0,
            delivered: 0,
            asked: 0,
            is_idle: false,
            transfer: None,
            before: None,
            answered: 0,
        }
    }
}

/// Aborts a connection; data in flight is lost.
pub(super) fn reset(socket: &Socket) -> io::Result<()> {
    // SAFETY: an address without a family, of which two bytes are read.
    let nobody = unsafe {
        SockAddr::try_init(|storage, length| {
            (*storage.cast::<libc::sockaddr>()).sa_family = libc::AF_UNSPEC as libc::sa_family_t;
            *length = size_of::<libc::sockaddr>() as libc::socklen_t;
            Ok(())
        })
    };
    let ((), nobody) = nobody?;
    let _ = socket.connect(&nobody);
    Ok(())
}
