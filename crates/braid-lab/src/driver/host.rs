//! Scenarios on the kernel of this machine, in real time.
//!
//! All of a run belongs to one process, [`crate::agent_here`]: network namespaces without names, the cables in them, sockets,
//! eBPF programs, and the programs that are its traffic. The kernel takes them away when it ends, however it ends: nothing can be
//! left over, but the files of such programs, until the next start.

use std::{
    collections::BTreeMap,
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

use braid_algorithms::Spec;
use braid_scenario::model::Scenario;
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};

use super::{
    error::Error,
    outcome::{Capture, Outcome},
    programs::{self, At, Named, Pack},
    schedulers::KERNELS_OWN,
    scratch::{self, Scratch},
    translate,
};
use crate::job::{self, Inbox, Job, Packet, Report};

/// How much longer than the scenario a run may take: algorithms are loaded before it.
const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);
/// What runs have in files: the folders of their programs. Root's alone, and nothing of it outlives the machine.
const FOLDERS: &str = "/run/braid";

fn release() -> Result<String, Error> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")
        .map_err(|error| Error::machine(format!("cannot read /proc/sys/kernel/osrelease: {error}")))?;
    Ok(release.trim().to_owned())
}

/// This machine, which has all that runs need.
#[derive(Debug)]
pub struct Host {
    program: PathBuf,
    kernel: String,
    /// One for each choice of programs.
    packs: Vec<(Named, Pack)>,
}

impl Host {
    /// Looks whether everything is there that these scenarios need; `program` is this very program.
    ///
    /// # Errors
    /// If something is missing.
    pub fn prepare<'a>(program: &Path, scenarios: impl Iterator<Item = &'a Scenario>) -> Result<Self, Error> {
        let here = ["root or CAP_NET_ADMIN", "CAP_SYS_ADMIN", "MPTCP", "netem"];
        let requirements = braid_kernel::doctor();
        let needed = requirements.iter().filter(|own| own.is_essential || here.contains(&own.what));
        if let Some(missing) = needed.into_iter().find(|own| !own.is_met) {
            return Err(Error::machine_with(
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
            fs::create_dir_all(FOLDERS).map_err(|error| Error::writing(Path::new(FOLDERS), &error))?;
            scratch::sweep(Path::new(FOLDERS));
        }
        Ok(Self { program: program.to_owned(), kernel, packs })
    }

    /// Identity of the environment. Runs with equal identity, scenario, algorithms and seed are equal.
    ///
    /// # Errors
    /// If the kernel does not say what it is.
    pub fn identity() -> Result<String, Error> {
        Ok(format!("Linux {}, sources {}", release()?, crate::SOURCE_HASH))
    }

    fn pack(&self, scenario: &Scenario) -> Option<&Pack> {
        let named = programs::named(scenario);
        self.packs.iter().find(|(other, _)| *other == named).map(|(_, pack)| pack)
    }

    /// What results depend on besides scenario and seed, as far as it has a name.
    pub fn environment(&self) -> String {
        format!("Linux {}, this machine in real time", self.kernel)
    }

    /// Runs a scenario. Set `stop` to end it early.
    ///
    /// # Errors
    /// If the scenario has what cannot be done ([`crate::check`] tells beforehand), something fails, or `stop` was set.
    pub fn run(
        &self,
        scenario: &Scenario,
        spec: &Spec,
        seed: u64,
        samples: bool,
        capture: Option<Capture<'_>>,
        stop: &AtomicBool,
    ) -> Result<Outcome, Error> {
        let (_folder, runs) = self.pack(scenario).map(placed).transpose()?.unzip();
        let mut translated =
            translate::translate(scenario, spec, KERNELS_OWN, seed, &runs.unwrap_or_default())?;
        translated.job.snap_length = capture.as_ref().map(|capture| capture.snap_length);
        let mut nobody = |_: Packet<'_>| ();
        let each = capture.map_or(&mut nobody as &mut dyn FnMut(Packet<'_>), |capture| capture.each);
        let report = report(self.agent(&translated.job, stop)?, each)?;
        Outcome::new(scenario, &translated, &report, samples)
    }

    fn agent(&self, job: &Job, stop: &AtomicBool) -> Result<Output, Error> {
        let started = |error| Error::machine(format!("cannot run {}: {error}", self.program.display()));
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
                        return Err(Error::guest("the thread that waits for the run has ended"));
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                }
                let error = if stop.load(Ordering::Relaxed) {
                    Error::interrupted()
                } else if Instant::now() > patience {
                    Error::guest(format!("the run has not ended {} s after its end", PATIENCE.as_secs()))
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

/// The files of programs, in a folder that is there as long as the first of these.
fn placed(pack: &Pack) -> Result<(Scratch, BTreeMap<String, job::Programs>), Error> {
    let folder = Scratch::new_in(Path::new(FOLDERS))?;
    // Servers look into it as another user.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755))
        .map_err(|error| Error::writing(folder.path(), &error))?;
    let runs = pack.place(folder.path())?;
    Ok((folder, runs))
}

fn report(output: Output, packets: &mut dyn FnMut(Packet<'_>)) -> Result<Report, Error> {
    if let Ok(Some(outcome)) = (Inbox { bytes: output.stdout }).outcome(packets) {
        return outcome.map_err(Error::guest);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().last().map(|line| format!(": {line}")).unwrap_or_default();
    Err(Error::guest(format!("the run ended before its report ({}){said}", output.status)))
}
