//! Scheduling policy of a thread.

use std::io;

/// Sets the policy of a thread, 0 being the calling one, and its priority, 0 where the policy has none. A direct system
/// call: musl's function does nothing, and its `sched_param` differs from the kernel's.
pub(crate) fn set_policy(thread: libc::pid_t, policy: libc::c_int, priority: libc::c_int) -> io::Result<()> {
    // SAFETY: the kernel reads one integer.
    match unsafe { libc::syscall(libc::SYS_sched_setscheduler, thread, policy, &raw const priority) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
