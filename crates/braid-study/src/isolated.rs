//! A separate process for runs whose code may crash or never return.
//!
//! It is a fork of this process, so it has all inputs. It executes runs by number, writes each outcome into a pipe, and
//! is killed when it is no longer needed. Progress is in shared memory, which costs nothing. A fork has only one
//! thread, so it may only compute: no locks that other threads may hold.

#![allow(unsafe_code, reason = "fork, waitpid and the like")]

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::event::Record;
use crate::panics::caught;
use crate::{Kind, Outcome, Request, Stop};

/// Interval of checks for cancellation.
const POLL: Duration = Duration::from_millis(50);

/// A request: the number of a run, and whether to include samples.
type Question = [u8; 9];

/// What came of a run, as the process says it: behind the length of this in 8 bytes. An error is kind, message and hint.
type Answer = Result<Record, (bool, String, Option<String>)>;

/// The process, seen from its parent. It is killed on drop.
pub(crate) struct Isolated {
    id: libc::pid_t,
    /// Its exit status, once known.
    status: Cell<Option<i32>>,
    questions: File,
    answers: File,
    reached: Reached,
    /// Whether it has executed a run before.
    used: bool,
}

impl Isolated {
    /// `work` executes the run with a number, with samples or without, and reports progress. The process ends with this
    /// thread at the latest.
    ///
    /// # Errors
    /// If the system cannot create a process.
    pub(crate) fn new(work: impl Fn(usize, bool, &dyn Fn(u64)) -> Result<Outcome, Stop>) -> io::Result<Self> {
        let (asked, questions) = pipe()?;
        let (answers, told) = pipe()?;
        let reached = Reached::new()?;
        // SAFETY: no memory is involved.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the child only runs `child` below: its own memory, the pipes, and runs, which take no lock but the
        // allocator's, which fork keeps consistent.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop((questions, answers));
                let _ = caught(|| child(parent, asked, told, &reached, work));
                exit(1)
            }
            id => Ok(Self { id, status: Cell::new(None), questions, answers, reached, used: false }),
        }
    }

    /// Whether it has executed runs before, which may be the cause of later failures.
    pub(crate) fn is_used(&self) -> bool {
        self.used
    }

    /// Executes a run. It may take `time_limit` without progress.
    ///
    /// # Errors
    /// If it gives no answer, now or later: the process crashed, was given up, or was cancelled.
    pub(crate) fn run(
        &mut self,
        request: &Request,
        time_limit: Duration,
    ) -> Result<Result<Outcome, Stop>, Stop> {
        let reached = self.reached.time_ns();
        reached.store(0, Ordering::Relaxed);
        let mut question: Question = [request.samples.into(); 9];
        question[..8].copy_from_slice(&(request.number as u64).to_ne_bytes());
        if self.questions.write_all(&question).is_err() {
            return Err(self.crashed(0));
        }
        let mut answer = Vec::new();
        let mut buffer = vec![0; 1 << 16];
        let mut time_ns = 0;
        let mut latest = Instant::now();
        loop {
            // Checked before the pipe, so that data written before the end is seen. End of file alone is no proof: a
            // copy made at the same time may have the pipe open.
            let ended = self.has_ended();
            let ready = self.is_ready(if ended { Duration::ZERO } else { POLL });
            if request.cancel.is_cancelled() {
                return Err(Stop::Cancelled);
            }
            let now_ns = reached.load(Ordering::Relaxed);
            if now_ns != time_ns {
                latest = Instant::now();
                time_ns = now_ns;
                request.progress(time_ns);
            }
            if ready {
                let count = match self.answers.read(&mut buffer) {
                    Ok(count) => count,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(_) => 0,
                };
                if count == 0 {
                    return Err(self.crashed(time_ns));
                }
                latest = Instant::now();
                answer.extend_from_slice(&buffer[..count]);
                if let Some((length, text)) = answer.split_first_chunk()
                    && text.len() as u64 == u64::from_ne_bytes(*length)
                {
                    self.used = true;
                    return Ok(read(text));
                }
            } else if ended {
                return Err(self.crashed(time_ns));
            } else if latest.elapsed() > time_limit {
                let limit = time_limit.as_secs_f64();
                return Err(Stop::Failed(format!(
                    "the algorithm did not return for {limit} s, {:.1} s into the run: an endless loop?",
                    time_ns as f64 / 1e9
                )));
            }
        }
    }

    fn is_ready(&self, wait: Duration) -> bool {
        let fd = self.answers.as_fd().as_raw_fd();
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure that outlives the call.
        unsafe { libc::poll(&raw mut poll, 1, wait.as_millis() as i32) > 0 }
    }

    fn has_ended(&self) -> bool {
        self.wait(libc::WNOHANG);
        self.status.get().is_some()
    }

    /// Waits for the end of the process, or only checks for it.
    fn wait(&self, options: i32) {
        let mut status = 0;
        while self.status.get().is_none() {
            // SAFETY: a child that has not been waited for, so its id is valid.
            match unsafe { libc::waitpid(self.id, &raw mut status, options) } {
                0 => return,
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => self.status.set(Some(status)),
            }
        }
    }

    /// The process has ended, or has closed its pipe, which happens only at its end.
    fn crashed(&self, time_ns: u64) -> Stop {
        self.wait(0);
        let status = self.status.get().unwrap_or_default();
        let how = if libc::WIFSIGNALED(status) {
            signal(libc::WTERMSIG(status))
        } else {
            format!("exit code {}", libc::WEXITSTATUS(status))
        };
        Stop::Failed(format!("the algorithm crashed {:.1} s into the run: {how}", time_ns as f64 / 1e9))
    }
}

impl Drop for Isolated {
    fn drop(&mut self) {
        if self.status.get().is_none() {
            // SAFETY: as above.
            unsafe { libc::kill(self.id, libc::SIGKILL) };
            self.wait(0);
        }
    }
}

fn read(answer: &[u8]) -> Result<Outcome, Stop> {
    match postcard::from_bytes::<Answer>(answer) {
        Ok(Ok(Record::Done(outcome))) => Ok(outcome),
        Ok(Ok(Record::Failed(reason))) => Err(Stop::Failed(reason)),
        Ok(Err((is_input, message, hint))) => {
            let kind = if is_input { Kind::Input } else { Kind::Failed };
            Err(Stop::All(crate::Error { kind, message, hint }))
        }
        Err(error) => Err(Stop::Failed(format!("the run's results cannot be read: {error}"))),
    }
}

fn pipe() -> io::Result<(File, File)> {
    let mut ends = [0; 2];
    // SAFETY: fills in two new descriptors.
    unsafe {
        if libc::pipe(ends.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        // Not inherited by programs that other threads start.
        for end in ends {
            libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        Ok((OwnedFd::from_raw_fd(ends[0]).into(), OwnedFd::from_raw_fd(ends[1]).into()))
    }
}

/// Progress of the run in nanoseconds, in shared memory.
struct Reached(NonNull<AtomicU64>);

// SAFETY: a counter that any thread may use.
unsafe impl Send for Reached {}

impl Reached {
    fn new() -> io::Result<Self> {
        // SAFETY: a new zeroed page at the kernel's choice, which is a valid counter.
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
        // SAFETY: mapped as long as this value exists.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Reached {
    fn drop(&mut self) {
        // SAFETY: no references remain in this process.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<AtomicU64>()) };
    }
}

/// The child process: answers requests until the pipe is closed.
fn child(
    parent: libc::pid_t,
    mut asked: File,
    mut told: File,
    reached: &Reached,
    work: impl Fn(usize, bool, &dyn Fn(u64)) -> Result<Outcome, Stop>,
) {
    // SAFETY: system calls without memory.
    unsafe {
        // The terminal's Ctrl-C is for the parent, which kills this process.
        libc::setpgid(0, 0);
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // The parent may have ended before that.
        if libc::getppid() != parent {
            return;
        }
        // Removes the program's crash handlers, such as Python's, which would report a run's crash as the program's.
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT] {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    let tell = |time_ns: u64| reached.time_ns().store(time_ns, Ordering::Relaxed);
    let mut question: Question = [0; 9];
    while asked.read_exact(&mut question).is_ok() {
        let [number @ .., samples] = question;
        let number = u64::from_ne_bytes(number) as usize;
        let answer: Answer = match caught(|| work(number, samples != 0, &tell)) {
            Ok(Ok(outcome)) => Ok(Record::Done(outcome)),
            Ok(Err(Stop::Failed(reason))) | Err(reason) => Ok(Record::Failed(reason)),
            Ok(Err(Stop::Cancelled)) => Ok(Record::Failed("cancelled".to_owned())),
            Ok(Err(Stop::All(error))) => Err((error.kind == Kind::Input, error.message, error.hint)),
        };
        let text = postcard::to_stdvec(&answer).unwrap_or_default();
        let bytes = [&(text.len() as u64).to_ne_bytes()[..], &text].concat();
        if told.write_all(&bytes).is_err() {
            return;
        }
    }
}

/// Ends the process without exit handlers.
fn exit(code: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
}

fn signal(number: i32) -> String {
    match number {
        libc::SIGSEGV | libc::SIGBUS => "it accessed memory out of bounds".to_owned(),
        libc::SIGFPE => "it divided by zero (fixed.h has divisions that do not)".to_owned(),
        libc::SIGILL | libc::SIGTRAP => "it reached an illegal instruction (undefined behaviour)".to_owned(),
        libc::SIGKILL => "it was killed (out of memory?)".to_owned(),
        libc::SIGABRT => "it was aborted".to_owned(),
        number => format!("signal {number}"),
    }
}
