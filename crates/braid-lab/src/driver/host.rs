//! Scenarios on the kernel of this machine, in real time.
//!
//! All of a run belongs to one process, [`crate::agent_here`]: network namespaces without names, the cables in them, sockets,
//! eBPF programs, and the programs that are its traffic. The kernel takes them away when it ends, however it ends: nothing can be
//! left over, but the files of such programs, until the next start.

use std::{
    fs::{self, Permissions},
    io::Write as _,
    os::unix::{fs::PermissionsExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use braid_scenario::model::Scenario;
use braid_study::Stop;
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use super::{
    error,
    programs::{self, At, Named, Pack, Runs},
    scratch::{self, Scratch},
};
use crate::job::{self, Inbox, Job, Packet, Report};

/// How much longer than the scenario a run may take: algorithms are loaded before it.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// What runs have in files: the folders of their programs. Root's alone, and nothing of it outlives the machine.
const FOLDERS: &str = "/run/braid";

fn release() -> Result<String, Stop> {
    let path = Path::new("/proc/sys/kernel/osrelease");
    Ok(fs::read_to_string(path).map_err(error::reading(path))?.trim().to_owned())
}

/// This machine, which has all that runs need.
#[derive(Debug)]
pub(crate) struct Host {
    program: PathBuf,
    kernel: String,
    /// One for each choice of programs.
    packs: Vec<(Named, Pack)>,
}

impl Host {
    /// Looks whether everything is there that these scenarios need; `program` is this very program.
    pub(crate) fn prepare<'a>(
        program: &Path,
        scenarios: impl Iterator<Item = &'a Scenario>,
    ) -> Result<Self, Stop> {
        let here = ["root or CAP_NET_ADMIN", "CAP_SYS_ADMIN", "MPTCP", "netem"];
        let requirements = braid_kernel::doctor();
        let needed = requirements.iter().filter(|own| own.is_essential || here.contains(&own.what));
        if let Some(missing) = needed.into_iter().find(|own| !own.is_met) {
            return Err(error::machine_with(
                format!("--backend host needs {}; found: {}", missing.what, missing.found),
                format!("{}, or use --backend lab, which needs none of this", missing.remedy),
            ));
        }
        let kernel = release()?;
        let mut packs: Vec<(Named, Pack)> = Vec::new();
        for named in scenarios.map(programs::named).filter(|named| !named.is_empty()) {
            if !packs.iter().any(|(other, _)| *other == named) {
                packs.push((named.clone(), Pack::of(&named, At::Here)?));
            }
        }
        if !packs.is_empty() {
            fs::create_dir_all(FOLDERS).map_err(error::writing(Path::new(FOLDERS)))?;
            scratch::sweep(Path::new(FOLDERS));
        }
        Ok(Self { program: program.to_owned(), kernel, packs })
    }

    /// Identity of the environment. Runs with equal identity, scenario, algorithms and seed are equal.
    pub(crate) fn identity() -> Result<String, Stop> {
        Ok(format!("Linux {}, sources {}", release()?, crate::SOURCE_HASH))
    }

    /// What results depend on besides scenario and seed, as far as it has a name.
    pub(crate) fn environment(&self) -> String {
        format!("Linux {}, this machine in real time", self.kernel)
    }

    /// The files of a scenario's programs, in a folder that exists as long as the first of these, and how they are run.
    pub(crate) fn placed(&self, scenario: &Scenario) -> Result<Option<(Scratch, Runs)>, Stop> {
        let named = programs::named(scenario);
        let Some((_, pack)) = self.packs.iter().find(|(other, _)| *other == named) else { return Ok(None) };
        let folder = Scratch::new_in(Path::new(FOLDERS))?;
        // Servers look into it as another user.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755))
            .map_err(error::writing(folder.path()))?;
        let runs = pack.place(folder.path())?;
        Ok(Some((folder, runs)))
    }

    /// Does a job in a process of its own.
    pub(crate) fn run(
        &self,
        job: &Job,
        packets: &mut dyn FnMut(Packet<'_>),
        stop: &AtomicBool,
    ) -> Result<Report, Stop> {
        let output = self.agent(job, stop)?;
        if let Ok(Some(outcome)) = (Inbox { bytes: output.stdout }).outcome(packets) {
            return outcome.map_err(Stop::Failed);
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().last().map(|line| format!(": {line}")).unwrap_or_default();
        Err(Stop::Failed(format!("the run ended before its report ({}){said}", output.status)))
    }

    fn agent(&self, job: &Job, stop: &AtomicBool) -> Result<Output, Stop> {
        let started = |error| error::machine(format!("cannot run {}: {error}", self.program.display()));
        let mut command = Command::new(&self.program);
        // In a group of its own: the terminal's Ctrl-C is for this process.
        command.args(["agent", "--here"]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: between fork and exec, one system call.
        unsafe {
            // It must not outlive the thread that waits for it.
            command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
        }
        let mut child = command.spawn().map_err(started)?;
        let id = Pid::from_child(&child);
        let mut input = child.stdin.take().expect("it is a pipe");
        // If it does not read this it has ended, and says why.
        let _ = input.write_all(&job::frame(job));
        drop(input);
        let patience = Instant::now() + Duration::from_nanos(job.duration_ns) + PATIENCE;
        let (sender, ended) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || sender.send(child.wait_with_output()));
            loop {
                match ended.recv_timeout(POLL) {
                    Ok(output) => return output.map_err(started),
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Stop::Failed("the thread that waits for the run has ended".into()));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                let error = if stop.load(Ordering::Relaxed) {
                    Stop::Cancelled
                } else if Instant::now() > patience {
                    Stop::Failed(format!("the run has not ended {} s after its end", PATIENCE.as_secs()))
                } else {
                    continue;
                };
                let _ = kill_process(id, Signal::KILL);
                let _ = ended.recv();
                return Err(error);
            }
        })
    }
}
