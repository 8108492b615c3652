//! A process for runs whose code may crash or never return, so that they take nothing else with them.
//!
//! It is a copy of this one (`fork`), and so has everything that it can be asked for. It is asked for one run after the other by
//! number, writes what came of each into a pipe, and is killed when [`Isolated`] is dropped. How far a run is stands in memory
//! that both processes have, which costs nothing. Of all threads it has only its own, so it may only compute: no locks that
//! others may hold.

#![allow(unsafe_code, reason = "fork, waitpid and the like")]

use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use braid_algorithms::guard;

use crate::event::Record;
use crate::panics::caught;
use crate::{Kind, Outcome, Request, Stop};

/// Between two checks for cancellation.
const POLL: Duration = Duration::from_millis(50);

/// What is asked for: the number of a run, and whether it keeps samples.
type Question = [u8; 9];

/// What came of a run, as the process says it: behind the length of this in 8 bytes. An error is kind, message and hint.
type Answer = Result<Record, (bool, String, Option<String>)>;

/// The process, seen from this one. It is gone when this is.
pub(crate) struct Isolated {
    id: libc::pid_t,
    /// How it ended, once that is known.
    status: Cell<Option<i32>>,
    questions: File,
    answers: File,
    reached: Reached,
    /// Whether it has answered before.
    used: bool,
}

impl Isolated {
    /// `work` does the run with a number, with samples or without, and tells how far it is. It ends with this thread at the latest.
    ///
    /// # Errors
    /// If the system has no process for it.
    pub(crate) fn new(work: impl Fn(usize, bool, &dyn Fn(u64)) -> Result<Outcome, Stop>) -> io::Result<Self> {
        let (asked, questions) = pipe()?;
        let (answers, told) = pipe()?;
        let reached = Reached::new()?;
        // SAFETY: it has no memory.
        let parent = unsafe { libc::getpid() };
        // SAFETY: what the child does until it ends is below, in `child`: memory of its own, the pipes, and runs, which take no
        // lock but the allocator's, which fork leaves in order.
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

    /// Whether it has done runs before: then these may be to blame for what becomes of others.
    pub(crate) fn is_used(&self) -> bool {
        self.used
    }

    /// Does a run. It may take `time_limit` without progress.
    ///
    /// # Errors
    /// If there is no answer, and will be none to any other question: the process crashed, was given up, or was cancelled.
    pub(crate) fn run(
        &mut self,
        request: &Request,
        time_limit: Duration,
    ) -> Result<Result<Outcome, Stop>, Stop> {
        let reached = self.reached.time_ns();
        reached.store(0, Ordering::Relaxed);
        self.reached.forget_message();
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
            // Asked for before the pipe: what was written before the end is there then. The pipe's end alone does not tell, as
            // a copy that was made at the same time may have it open.
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
        // SAFETY: one structure, which lives as long as the call.
        unsafe { libc::poll(&raw mut poll, 1, wait.as_millis() as i32) > 0 }
    }

    fn has_ended(&self) -> bool {
        self.wait(libc::WNOHANG);
        self.status.get().is_some()
    }

    /// Waits for the end of the process, or only looks whether it has ended.
    fn wait(&self, options: i32) {
        let mut status = 0;
        while self.status.get().is_none() {
            // SAFETY: the process is a child that has not been waited for, so the number is its own.
            match unsafe { libc::waitpid(self.id, &raw mut status, options) } {
                0 => return,
                -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
                _ => self.status.set(Some(status)),
            }
        }
    }

    /// The process has ended, or has closed its pipe, which nothing but its end does.
    fn crashed(&self, time_ns: u64) -> Stop {
        self.wait(0);
        if let Some(message) = self.reached.message() {
            return Stop::Failed(message);
        }
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
    // SAFETY: it fills in two new descriptors, which have no other owner.
    unsafe {
        if libc::pipe(ends.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        // Not for programs that other threads start.
        for end in ends {
            libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
        }
        Ok((OwnedFd::from_raw_fd(ends[0]).into(), OwnedFd::from_raw_fd(ends[1]).into()))
    }
}

/// Memory that both processes have: how far the run is, in nanoseconds, and why it ended.
struct Reached(NonNull<Page>);

#[repr(C)]
struct Page {
    time_ns: AtomicU64,
    length: AtomicUsize,
    message: [AtomicU8; 1024],
}

// SAFETY: counters that any thread may use.
unsafe impl Send for Reached {}

/// In the child: where [`report`] writes.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());

/// Ends the child with a message for the parent.
fn report(message: &str) -> ! {
    // SAFETY: the child never removes the page.
    if let Some(page) = unsafe { PAGE.load(Ordering::Relaxed).as_ref() } {
        for (to, from) in page.message.iter().zip(message.bytes()) {
            to.store(from, Ordering::Relaxed);
        }
        page.length.store(message.len().min(page.message.len()), Ordering::Relaxed);
    }
    exit(1)
}

impl Reached {
    fn new() -> io::Result<Self> {
        // SAFETY: new memory of the kernel's choice, all zero, which is a valid page.
        let page = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size_of::<Page>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        match NonNull::new(page.cast::<Page>()) {
            Some(page) if page.as_ptr().cast() != libc::MAP_FAILED => Ok(Self(page)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn page(&self) -> &Page {
        // SAFETY: it is there as long as this is.
        unsafe { self.0.as_ref() }
    }

    fn time_ns(&self) -> &AtomicU64 {
        &self.page().time_ns
    }

    fn forget_message(&self) {
        self.page().length.store(0, Ordering::Relaxed);
    }

    /// What ended the process, if it said so.
    fn message(&self) -> Option<String> {
        let bytes = &self.page().message[..self.page().length.load(Ordering::Relaxed).min(1024)];
        let bytes: Vec<u8> = bytes.iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
        (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Drop for Reached {
    fn drop(&mut self) {
        // SAFETY: this process has no other reference to it.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<Page>()) };
    }
}

/// The process, seen from inside: it answers until the pipe of requests is closed.
fn child(
    parent: libc::pid_t,
    mut asked: File,
    mut told: File,
    reached: &Reached,
    work: impl Fn(usize, bool, &dyn Fn(u64)) -> Result<Outcome, Stop>,
) {
    // SAFETY: system calls without memory.
    unsafe {
        // The terminal's Ctrl-C is for the other process, which ends this one.
        libc::setpgid(0, 0);
        #[cfg(target_os = "linux")]
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        // It may have gone before that.
        if libc::getppid() != parent {
            return;
        }
        // A crash of the run is no crash of the program, whose handlers would tell of one (Python's prints its stack).
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT] {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
    PAGE.store(reached.0.as_ptr(), Ordering::Relaxed);
    guard::on_violation(report);
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

/// Ends the process without what others have registered for its end.
fn exit(code: i32) -> ! {
    // SAFETY: it does not return.
    unsafe { libc::_exit(code) }
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
