//! The two ends of a connection of our own.

use std::io;

use socket2::{SockAddr, Socket};

pub(super) struct Pair {
    /// None when it has been closed.
    pub(super) sender: Option<Socket>,
    /// From when the connection is accepted until nothing more can come.
    pub(super) receiver: Option<Socket>,
    pub(super) is_established: bool,
    /// Payload that the application has written, whether or not the kernel has taken it.
    pub(super) offered: u64,
    /// Payload that the kernel has taken.
    pub(super) taken: u64,
    /// Payload that the receiving application has read.
    pub(super) delivered: u64,
    /// Bytes of requests that the sending application has read.
    pub(super) asked: u64,
    /// There was nothing to send: nobody waits for room.
    pub(super) is_idle: bool,
    /// Of a short flow, its only transfer.
    pub(super) transfer: usize,
}

impl Pair {
    /// One that is being opened.
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
            transfer: 0,
        }
    }
}

/// Ends a connection at once: what is under way is forgotten.
pub(super) fn reset(socket: &Socket) -> io::Result<()> {
    // SAFETY: an address without a family, two bytes of which are read.
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
