//! Whether an algorithm keeps to its flags, found out in a process of its own: its code may crash or never return.

use std::path::Path;

use braid_algorithms::{Algorithm, SpecError, guard};

/// Time limit of the check. An algorithm that exceeds it is accepted.
#[cfg(unix)]
const LIMIT: std::time::Duration = std::time::Duration::from_secs(5);

/// Refuses an algorithm that uses what its flags say it does not. The answer goes through a file of `folder`.
#[cfg(unix)]
#[allow(unsafe_code, reason = "fork, waitpid and kill")]
pub(crate) fn check(algorithm: &'static Algorithm, folder: &Path) -> Result<(), SpecError> {
    use std::{fs, panic, ptr, thread, time};

    let answer = folder.join("undeclared");
    // SAFETY: the child calls the algorithm and writes a file. It takes no lock but the allocator's, which fork leaves in order.
    let child = unsafe { libc::fork() };
    match child {
        -1 => return Ok(()),
        0 => {
            // Its inputs are random: what it does with them beyond its flags is left to its runs.
            guard::switch_off();
            // SAFETY: ends the child without the parent's clean-up.
            guard::on_violation(|_| unsafe { libc::_exit(0) });
            let _ = panic::catch_unwind(|| {
                if let Some(found) = braid_trace::contract::undeclared(algorithm) {
                    let _ = fs::write(&answer, format!("it uses {}, and {}", found.field, found.claim()));
                }
            });
            // SAFETY: ends the child without the parent's clean-up.
            unsafe { libc::_exit(0) }
        }
        _ => {}
    }
    let begin = time::Instant::now();
    // SAFETY: the child is this function's, and is waited for until it is gone.
    while unsafe { libc::waitpid(child, ptr::null_mut(), libc::WNOHANG) } == 0 {
        if begin.elapsed() > LIMIT {
            // SAFETY: as above.
            unsafe { libc::kill(child, libc::SIGKILL) };
        }
        thread::sleep(time::Duration::from_millis(2));
    }
    fs::read_to_string(answer).map_or(Ok(()), |why| Err(SpecError(why)))
}

/// There is no process to find out in.
#[cfg(not(unix))]
pub(crate) fn check(_: &'static Algorithm, _: &Path) -> Result<(), SpecError> {
    Ok(())
}
