//! Programs as traffic, in the namespaces of their connection.

use std::{
    fs::{self, File},
    io,
    os::unix::{fs::FileExt as _, process::CommandExt as _},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use rustix::{
    fd::OwnedFd,
    fs::{MemfdFlags, memfd_create},
    process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open},
    thread::{UnshareFlags, unshare_unsafe},
};

use super::sockets::Sockets;
use crate::job::{self, Ended};

/// Timeout for a server to listen.
const SLOWEST_SERVER_MS: u32 = 10_000;
/// Time between SIGTERM and SIGKILL, milliseconds.
const GRACE_MS: u32 = 1000;
/// Maximum of stored output of a program.
const MOST_BYTES: u64 = 1 << 20;
/// Lines of output in the message about a failed program.
const LAST_LINES: usize = 5;
const ROLES: [&str; 2] = ["server", "client"];

pub(super) struct Programs {
    model: job::Programs,
    /// In the order of [`job::Programs::commands`].
    running: [Option<Running>; 2],
    /// They have got SIGTERM.
    is_over: bool,
}

struct Running {
    child: Child,
    /// Becomes readable when it ends.
    end: OwnedFd,
    start_ns: u64,
    ended: Option<(u64, ExitStatus)>,
    stdout: File,
    stderr: File,
}

/// All processes started from now on end with this process, however it ends: they are in a PID namespace, which the
/// kernel ends with its first process. No thread can be started afterwards.
pub(super) fn end_with_this() -> io::Result<()> {
    // SAFETY: affects future processes only.
    unsafe { unshare_unsafe(UnshareFlags::NEWPID) }?;
    // SAFETY: this process has a single thread.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: system calls.
        0 => unsafe {
            // It adopts orphaned processes, and no process waits for them.
            libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            // It must not hold pipes and sockets open.
            libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
            loop {
                libc::pause();
            }
        },
        _ => Ok(()),
    }
}

impl Programs {
    /// None of them runs yet.
    pub(super) fn new(model: &job::Programs) -> io::Result<Self> {
        fs::create_dir_all(&model.folder)?;
        Ok(Self { model: model.clone(), running: [None, None], is_over: false })
    }

    /// Starts a program in the thread's namespace.
    pub(super) fn start(&mut self, which: usize, start_ns: u64) -> Result<(), String> {
        let command = &self.model.commands[which];
        let failed = |error: io::Error| format!("{}: cannot run {}: {error}", ROLES[which], command.path);
        let output =
            || memfd_create("output", MemfdFlags::CLOEXEC).map(File::from).map_err(|e| failed(e.into()));
        let (stdout, stderr) = (output()?, output()?);
        let mut program = Command::new(&command.path);
        program.arg0(&command.words[0]).args(&command.words[1..]).current_dir(&self.model.folder).env_clear();
        program.envs([
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            ("HOME", "/"),
            ("LANG", "C"),
        ]);
        program.envs(self.model.libraries.iter().map(|folders| ("LD_LIBRARY_PATH", folders)));
        program.envs(self.model.preload.iter().map(|library| ("LD_PRELOAD", library)));
        program
            .stdin(Stdio::null())
            .stdout(stdout.try_clone().map_err(failed)?)
            .stderr(stderr.try_clone().map_err(failed)?)
            // A process group with its children, ended as one.
            .process_group(0);
        let child = program.spawn().map_err(failed)?;
        let end = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).map_err(|e| failed(e.into()))?;
        self.running[which] = Some(Running { child, end, start_ns, ended: None, stdout, stderr });
        Ok(())
    }

    /// Becomes readable when the program ends.
    pub(super) fn end_of(&self, which: usize) -> Option<&OwnedFd> {
        self.running[which].as_ref().map(|running| &running.end)
    }

    /// Waits until the server listens; `sockets` are of its namespace.
    pub(super) fn wait_for_listener(&mut self, sockets: &mut Sockets) -> Result<(), String> {
        for _ in 0..SLOWEST_SERVER_MS {
            let listens = sockets.is_there_a_listener();
            if listens.map_err(|error| format!("listing sockets: {error}"))? {
                return Ok(());
            }
            self.ended(0, 0)?;
            thread::sleep(Duration::from_millis(1));
        }
        Err(format!(
            "the server {} listens to nothing {} s after its start{}",
            self.model.commands[0].words.join(" "),
            SLOWEST_SERVER_MS / 1000,
            self.running[0].as_ref().map(last_words).unwrap_or_default()
        ))
    }

    /// Checks whether a program has ended by itself. A failed one is an error.
    pub(super) fn ended(&mut self, which: usize, time_ns: u64) -> Result<bool, String> {
        let is_over = self.is_over;
        let command = &self.model.commands[which];
        let Some(running) = self.running[which].as_mut().filter(|running| running.ended.is_none()) else {
            return Ok(false);
        };
        let status = running.child.try_wait().map_err(|error| format!("waiting for a program: {error}"))?;
        let Some(status) = status else { return Ok(false) };
        if !is_over {
            running.ended = Some((time_ns, status));
            if !status.success() {
                return Err(format!(
                    "the {} {} failed after {:.3} s ({status}){}",
                    ROLES[which],
                    command.words.join(" "),
                    (time_ns.saturating_sub(running.start_ns)) as f64 / 1e9,
                    last_words(running)
                ));
            }
        }
        Ok(true)
    }

    /// Sends SIGTERM to both.
    pub(super) fn tell_to_end(&mut self) {
        self.is_over = true;
        self.signal(Signal::TERM);
    }

    /// Kills both at once.
    pub(super) fn kill(&mut self) {
        self.is_over = true;
        self.signal(Signal::KILL);
    }

    fn signal(&mut self, signal: Signal) {
        for running in self.running.iter_mut().flatten().filter(|running| running.ended.is_none()) {
            // The group exists until its last process ends.
            let _ = kill_process_group(Pid::from_child(&running.child), signal);
        }
    }

    /// The run is over: results of both.
    pub(super) fn finish(mut self, connection: usize) -> Vec<Ended> {
        self.tell_to_end();
        let is_alive = |running: &mut Running| matches!(running.child.try_wait(), Ok(None));
        for _ in 0..GRACE_MS {
            if !self.running.iter_mut().flatten().any(is_alive) {
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        self.kill();
        for running in self.running.iter_mut().flatten() {
            let _ = running.child.wait();
        }
        let ended = self.running.iter().enumerate().filter_map(|(which, running)| {
            let running = running.as_ref()?;
            Some(Ended {
                connection,
                which,
                start_ns: running.start_ns,
                end: running.ended.map(|(time, status)| (time, status.code().unwrap_or(-1))),
                stdout: written(&running.stdout),
                stderr: written(&running.stderr),
            })
        });
        ended.collect()
    }
}

/// The end of a program's output.
fn written(file: &File) -> String {
    let length = file.metadata().map_or(0, |data| data.len());
    let from = length.saturating_sub(MOST_BYTES);
    let mut bytes = vec![0; (length - from) as usize];
    let read = file.read_exact_at(&mut bytes, from);
    if read.is_err() {
        bytes.clear();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The last output of a program, for messages.
fn last_words(running: &Running) -> String {
    let (errors, output) = (written(&running.stderr), written(&running.stdout));
    let text = if errors.trim().is_empty() { output } else { errors };
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
    if last.is_empty() { "; it said nothing".to_owned() } else { format!("; it said: {}", last.join(" | ")) }
}
