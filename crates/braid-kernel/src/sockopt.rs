//! Socket options that no crate knows.

use std::{io, os::fd::AsRawFd};

use bytemuck::Pod;

/// Sets an option.
pub fn set<T: Pod>(socket: &impl AsRawFd, level: i32, option: i32, value: &T) -> io::Result<()> {
    let bytes = bytemuck::bytes_of(value);
    let length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel reads a plain value of this size.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, bytes.as_ptr().cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option.
///
/// # Safety
/// If this option makes the kernel write where `value` points to, there must be room.
pub unsafe fn get<T: Pod>(socket: &impl AsRawFd, level: i32, option: i32, value: &mut T) -> io::Result<()> {
    let bytes = bytemuck::bytes_of_mut(value);
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes here; as the caller says, there is room elsewhere.
    let done = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, bytes.as_mut_ptr().cast(), &raw mut length)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
