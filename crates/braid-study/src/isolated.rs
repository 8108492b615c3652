//! A run in a process of its own: its code may crash or never return, and takes nothing else with it.
//!
//! The process is a copy of this one (`fork`), so that nothing has to be handed over; it does the run, writes its outcome
//! into a pipe and ends. How far it is stands in memory that both have, which costs nothing. Of all threads it has only its own,
//! so it may only compute: no locks that others may hold.

#![allow(unsafe_code, reason = "fork, waitpid and the like")]

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::panics::caught;
use crate::{Cancel, Kind, Outcome, Request, Stop};

/// Between two checks for cancellation.
const POLL: Duration = Duration::from_millis(50);

/// What came of the run, as the process says it.
#[derive(Deserialize, Serialize)]
enum Answer {
    Done(braid_results::measure::Measurements, Vec<String>),
    Failed(String),
    /// Message and hint.
    All(bool, String, Option<String>),
}

/// Does the work in a process of its own.
///
/// # Errors
/// What the work says; or a failure if the process crashes, or makes no progress for [`Request::time_limit`].
pub(crate) fn isolated(
    request: &Request,
    work: impl FnOnce(Request) -> Result<Outcome, Stop>,
) -> Result<Outcome, Stop> {
    let failed = |error: io::Error| Stop::Failed(format!("no process for the run: {error}"));
    let (read, write) = pipe().map_err(failed)?;
    let reached = Reached::new().map_err(failed)?;
    // SAFETY: what the child does until it ends is below, in `child`: memory of its own, the pipe, and the run, which takes no
    // lock but the allocator's, which fork leaves in order.
    match unsafe { libc::fork() } {
        -1 => Err(failed(io::Error::last_os_error())),
        0 => {
            drop(read);
            child(request, write, &reached, work)
        }
        id => {
            drop(write);
            Parent { id, pipe: File::from(read), reached, request }.wait()
        }
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: it fills in two descriptors, which belong to nobody else.
    unsafe {
        if libc::pipe(ends.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        // Not for programs that other threads start.
        for end in ends {
            libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

/// How far the run is, in nanoseconds: memory that both processes have.
struct Reached(NonNull<AtomicU64>);

impl Reached {
    fn new() -> io::Result<Self> {
        // SAFETY: a new page of the kernel's choice, all zero, which is a valid counter.
        let page = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size_of::<AtomicU64>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        match NonNull::new(page.cast::<AtomicU64>()) {
            Some(page) if page.as_ptr().cast() != libc::MAP_FAILED => Ok(Self(page)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn time_ns(&self) -> &AtomicU64 {
        // SAFETY: it is there as long as this is.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Reached {
    fn drop(&mut self) {
        // SAFETY: nobody in this process has it any more.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<AtomicU64>()) };
    }
}

fn child(
    request: &Request,
    pipe: OwnedFd,
    reached: &Reached,
    work: impl FnOnce(Request) -> Result<Outcome, Stop>,
) -> ! {
    // The terminal's Ctrl-C is for the other process, which ends this one.
    // SAFETY: system calls without memory.
    unsafe {
        libc::setpgid(0, 0);
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // A crash of the run is no crash of the program, whose handlers would tell of one (Python's prints its stack).
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT] {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    let mut pipe = File::from(pipe);
    let share = AtomicU32::new(0);
    let never = Cancel::new();
    let tell = |time_ns: u64| reached.time_ns().store(time_ns, Ordering::Relaxed);
    let inner = Request {
        number: request.number,
        case: request.case,
        samples: request.samples,
        time_limit: request.time_limit,
        cancel: &never,
        share: &share,
        tell: Some(&tell),
    };
    let answer = match caught(|| work(inner)) {
        Ok(Ok(outcome)) => Answer::Done(outcome.measurements, outcome.doubts),
        Ok(Err(Stop::Failed(reason))) | Err(reason) => Answer::Failed(reason),
        Ok(Err(Stop::Cancelled)) => Answer::Failed("cancelled".to_owned()),
        Ok(Err(Stop::All(error))) => Answer::All(error.kind == Kind::Input, error.message, error.hint),
    };
    let bytes = postcard::to_stdvec(&answer).unwrap_or_default();
    exit(i32::from(pipe.write_all(&bytes).is_err()))
}

/// Ends the process without what others have registered for its end.
fn exit(code: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
}

/// The other end.
struct Parent<'a> {
    id: libc::pid_t,
    pipe: File,
    reached: Reached,
    request: &'a Request<'a>,
}

impl Parent<'_> {
    fn wait(mut self) -> Result<Outcome, Stop> {
        let mut answer = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        let mut time_ns = 0;
        let mut latest = Instant::now();
        loop {
            let ready = self.is_ready();
            if self.request.cancel.is_cancelled() {
                self.kill();
                return Err(Stop::Cancelled);
            }
            let now_ns = self.reached.time_ns().load(Ordering::Relaxed);
            if now_ns != time_ns {
                latest = Instant::now();
                time_ns = now_ns;
                self.request.progress(time_ns);
            }
            if ready {
                let count = match self.pipe.read(&mut buffer) {
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => 0,
                };
                if count == 0 {
                    return self.ended(&answer, time_ns);
                }
                latest = Instant::now();
                answer.extend_from_slice(&buffer[..count]);
            } else if latest.elapsed() > self.request.time_limit {
                self.kill();
                let limit = self.request.time_limit.as_secs_f64();
                return Err(Stop::Failed(format!(
                    "the algorithm did not return for {limit} s, {:.1} s into the run: an endless loop?",
                    time_ns as f64 / 1e9
                )));
            }
        }
    }

    fn is_ready(&self) -> bool {
        let fd = self.pipe.as_fd().as_raw_fd();
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure, which lives as long as the call.
        unsafe { libc::poll(&raw mut poll, 1, POLL.as_millis() as i32) > 0 }
    }

    fn kill(&self) {
        // SAFETY: the process is a child that has not been waited for, so the number is its own.
        unsafe { libc::kill(self.id, libc::SIGKILL) };
        self.status();
    }

    /// Waits for the end of the process.
    fn status(&self) -> i32 {
        let mut status = 0;
        // SAFETY: as above.
        while unsafe { libc::waitpid(self.id, &raw mut status, 0) } == -1 {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                break;
            }
        }
        status
    }

    fn ended(&self, answer: &[u8], time_ns: u64) -> Result<Outcome, Stop> {
        let status = self.status();
        let answer = if status == 0 { postcard::from_bytes(answer).ok() } else { None };
        match answer {
            Some(Answer::Done(measurements, doubts)) => {
                Ok(Outcome { measurements, environment: None, doubts })
            }
            Some(Answer::Failed(reason)) => Err(Stop::Failed(reason)),
            Some(Answer::All(is_input, message, hint)) => {
                let kind = if is_input { Kind::Input } else { Kind::Failed };
                Err(Stop::All(crate::Error { kind, message, hint }))
            }
            None => {
                let how = if libc::WIFSIGNALED(status) {
                    signal(libc::WTERMSIG(status))
                } else {
                    format!("exit code {}", libc::WEXITSTATUS(status))
                };
                let at = time_ns as f64 / 1e9;
                Err(Stop::Failed(format!("the algorithm crashed {at:.1} s into the run: {how}")))
            }
        }
    }
}

fn signal(number: i32) -> String {
    match number {
        libc::SIGSEGV | libc::SIGBUS => "it reached for memory that is not its own".to_owned(),
        libc::SIGFPE => "it divided by zero (fixed.h has divisions that do not)".to_owned(),
        libc::SIGILL | libc::SIGTRAP => "it came to code that cannot be (undefined behaviour)".to_owned(),
        libc::SIGKILL => "it was killed (out of memory?)".to_owned(),
        libc::SIGABRT => "it was aborted".to_owned(),
        number => format!("signal {number}"),
    }
}
