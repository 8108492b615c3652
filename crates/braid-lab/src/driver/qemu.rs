//! QEMU with a clock that counts instructions.

use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::unix::process::CommandExt as _,
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use braid_study::Stop;
use rustix::{
    fs::statvfs,
    process::{Signal, set_parent_process_death_signal, setsid},
    thread::{CpuSet, sched_setaffinity},
};
use serde_json::{Value, json};

use super::{error, image::PROGRAM, scratch::Scratch};
use crate::job::{self, BEAT, CLOCK_MOVED, Inbox, JOB_ITEM, Job, Packet, Report, VERIFIES};
use crate::scheduling;

/// Name of the snapshot within its file.
const SNAPSHOT: &str = "booted";
const BINARY: &str = "qemu-system-x86_64";
const OLDEST: u32 = 7;
/// Processor time without a sign of life after which a guest hangs. A second of the run usually takes less than a tenth
/// of this.
const PATIENCE_BUSY: Duration = Duration::from_secs(120);
/// Time without any processor use after which a guest hangs. On a loaded machine a guest still runs, if slowly.
const PATIENCE_IDLE: Duration = Duration::from_secs(90);
/// QEMU's message when the guest has called the pvpanic device.
const PANICKED: &str = "GUEST_PANICKED";
/// Free space below which the guest's output is lost.
const LEAST_ROOM: u64 = 1 << 16;
const PATIENCE_FULL: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(20);
/// Lines of the guest's kernel log in a message.
const LOG_LINES: usize = 25;

#[derive(Clone, Debug)]
pub(crate) struct Qemu {
    /// Its version, as printed.
    pub(crate) version: String,
    major: u32,
}

impl Qemu {
    pub(crate) fn find() -> Result<Self, Stop> {
        let output = Command::new(BINARY).arg("--version").output().map_err(|error| {
            error::machine_with(
                format!("cannot run {BINARY}: {error}"),
                "install it: apt-get install qemu-system-x86",
            )
        })?;
        let text = String::from_utf8_lossy(&output.stdout);
        let version = text.split("version ").nth(1).and_then(|rest| rest.split_whitespace().next());
        let version = version.unwrap_or_default().to_owned();
        match version.split('.').next().and_then(|major| major.parse().ok()) {
            Some(major) if major >= OLDEST => Ok(Self { version, major }),
            _ => Err(error::machine_with(
                format!("{BINARY} says \"{}\"; the lab needs QEMU {OLDEST} or newer", text.trim()),
                "install a newer one: Debian 12 and later have it",
            )),
        }
    }

    /// Arguments of all guests; part of a snapshot's identity. Random numbers of the processor would differ after a
    /// snapshot.
    pub(crate) fn arguments(&self) -> Vec<String> {
        // QEMU 7.2 corrupts flags in cmpxchg16b, which crashes kernels that use it.
        let cpu = if self.major < 8 { "max,cx16=off" } else { "max" };
        // Without the last two the kernel copies and clears eight bytes per instruction, not one.
        let words = format!(
            "-machine q35 -accel tcg -cpu {cpu},-rdrand,-rdseed,-erms,-fsrm -m 768M -nodefaults -display none -no-reboot -no-user-config \
             -seed 42 -rtc base=2026-01-01,clock=vm \
             -icount shift=0,sleep=off \
             -device pvpanic -action panic=pause \
             -device virtio-serial-pci,ioeventfd=off -device virtserialport,chardev=port \
             -device isa-serial,chardev=console \
             -device isa-debugcon,iobase=0xe9,chardev=beats"
        );
        words.split_whitespace().map(str::to_owned).collect()
    }
}

/// Kernel arguments. The kernel never halts, even before the agent's idle thread runs: QEMU's other thread would move
/// the clock, perhaps before the last instructions are counted. Memory need not be cleared.
pub(crate) fn kernel_arguments() -> String {
    format!(
        "console=ttyS0 quiet panic=-1 oops=panic nokaslr tsc=reliable \
         mitigations=off init_on_alloc=0 idle=poll rdinit={PROGRAM} -- agent"
    )
}

/// How a guest begins.
pub(crate) enum Begin<'a> {
    /// Boots, and continues with the job.
    Boot,
    /// Boots, and saves its state in this file.
    Snapshot(&'a Path),
    /// Restores the state from this file.
    Restore(&'a Path),
}

/// Files that a guest boots from.
pub(crate) struct Boot<'a> {
    pub(crate) kernel: &'a Path,
    pub(crate) image: &'a Path,
}

/// Resources of a guest.
pub(crate) struct Place<'a> {
    /// Folder for its files.
    pub(crate) folder: &'a Path,
    /// The only processor for QEMU: its threads alternate, and would be slower on different processors.
    pub(crate) processor: Option<usize>,
}

/// The message about a hanging guest, from its output since it was ready.
fn hangs(told: &[u8], busy: Duration, idle: Duration) -> String {
    let checks = told.last() == Some(&VERIFIES) && busy > PATIENCE_BUSY;
    let (busy, idle) = (busy.as_secs(), idle.as_secs());
    if checks {
        return format!(
            "the guest's kernel has not accepted the algorithm after {busy} s of computing: its verifier follows \
             every path through the code, and nested loops or branches have too many; give loops smaller bounds"
        );
    }
    let after = match told.split(|&what| what == BEAT).count() - 1 {
        0 => "before its first second".to_owned(),
        second => format!("after second {second} of the run"),
    };
    format!(
        "the guest hangs {after}: it computed for {busy} s since without a sign of life, and nothing for {idle} s"
    )
}

/// It ends when this is dropped.
struct Guest {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    folder: Scratch,
    commands_sent: u32,
    /// Beats before the run.
    early: u64,
    /// Beats so far, and processor time at the last one.
    heard: u64,
    computed_then: Duration,
    /// Latest processor time, and when it was seen.
    computed: Duration,
    seen: Instant,
    /// Last time with enough disk space.
    roomy: Instant,
}

impl Drop for Guest {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a guest to its report; `None` if it has to restart ([`CLOCK_MOVED`]). A guest that saves a snapshot continues
/// afterwards: its report shows that the snapshot is good.
pub(crate) fn run(
    qemu: &Qemu,
    boot: &Boot<'_>,
    begin: &Begin<'_>,
    job: &Job,
    place: &Place<'_>,
    packets: &mut dyn FnMut(Packet<'_>),
    stop: &AtomicBool,
) -> Result<Option<Report>, Stop> {
    let folder = Scratch::new_in(place.folder)?;
    let item = folder.path().join("job");
    fs::write(&item, job::frame(job)).map_err(error::writing(&item))?;
    let mut command = Command::new(BINARY);
    command
        .args(qemu.arguments())
        .arg("-kernel")
        .arg(boot.kernel)
        .arg("-initrd")
        .arg(boot.image)
        .args(["-append", &kernel_arguments()])
        .args(["-qmp", "stdio"])
        .args(["-fw_cfg", &format!("name={JOB_ITEM},file={}", item.display())]);
    for name in ["port", "console", "beats"] {
        command.args(["-chardev", &format!("file,id={name},path={}", folder.path().join(name).display())]);
    }
    let disk = match begin {
        Begin::Snapshot(path) => path.to_path_buf(),
        Begin::Boot | Begin::Restore(_) => folder.path().join("disk"),
    };
    match begin {
        // Restoring writes to the file, too.
        Begin::Restore(snapshot) => fs::copy(snapshot, &disk).map(drop),
        Begin::Boot | Begin::Snapshot(_) => fs::write(&disk, empty_disk()),
    }
    .map_err(error::writing(&disk))?;
    command.args(["-drive", &format!("if=none,format=qcow2,id=disk,file={}", disk.display())]);
    if let Begin::Restore(_) = begin {
        command.args(["-S", "-loadvm", SNAPSHOT]);
    }
    let errors = folder.path().join("errors");
    let errors = File::create(&errors).map_err(error::writing(&errors))?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
    let processor = place.processor;
    // SAFETY: only system calls between fork and exec.
    unsafe {
        command.pre_exec(move || {
            if let Some(processor) = processor {
                let mut only = CpuSet::new();
                only.set(processor);
                // Optional.
                let _ = sched_setaffinity(None, &only);
            }
            // Linux shares processors among sessions. Two guests in one session would change each other's share
            // whenever a thread wakes.
            let _ = setsid();
            // The guest ends with the thread that waits for it.
            Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
        });
    }
    let mut child =
        command.spawn().map_err(|error| error::machine(format!("cannot run {BINARY}: {error}")))?;
    let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let (sender, answers) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let Ok(value) = serde_json::from_str(&line) else { continue };
            if sender.send(value).is_err() {
                break;
            }
        }
    });
    let mut guest = Guest {
        child,
        commands: stdin,
        answers,
        folder,
        commands_sent: 0,
        early: 0,
        heard: 0,
        computed_then: Duration::ZERO,
        computed: Duration::ZERO,
        seen: Instant::now(),
        roomy: Instant::now(),
    };
    guest.command("qmp_capabilities", &json!({}), stop)?;
    match begin {
        Begin::Boot | Begin::Snapshot(_) => guest.wait_until_ready(stop)?,
        Begin::Restore(_) => {}
    }
    if let Begin::Snapshot(file) = begin {
        guest.save(file, stop)?;
    }
    guest.lets_nobody_interrupt();
    guest.command("cont", &json!({}), stop)?;
    guest.listen(packets, stop)
}

impl Guest {
    /// Sends a command and returns its result.
    fn command(&mut self, name: &str, arguments: &Value, stop: &AtomicBool) -> Result<Value, Stop> {
        self.commands_sent += 1;
        let id = self.commands_sent;
        let line = json!({"execute": name, "arguments": arguments, "id": id}).to_string() + "\n";
        if self.commands.write_all(line.as_bytes()).is_err() {
            return Err(self.gone());
        }
        loop {
            match self.answer(stop)? {
                Some(answer) if answer["id"] == id => return Ok(answer["return"].clone()),
                _ => {}
            }
        }
    }

    /// QEMU's next message, if there is one soon.
    fn answer(&mut self, stop: &AtomicBool) -> Result<Option<Value>, Stop> {
        self.check(stop)?;
        match self.answers.recv_timeout(POLL) {
            Ok(answer) if answer["error"].is_null() => Ok(Some(answer)),
            Ok(answer) => Err(error::machine(format!("QEMU: {}", answer["error"]["desc"]))),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(self.gone()),
        }
    }

    fn check(&mut self, stop: &AtomicBool) -> Result<(), Stop> {
        let beats = self.beats();
        let computed = self.computed();
        if beats > self.heard {
            (self.heard, self.computed_then) = (beats, computed);
        }
        if computed > self.computed + Duration::from_millis(100) {
            (self.computed, self.seen) = (computed, Instant::now());
        }
        let (busy, idle) = (computed.saturating_sub(self.computed_then), self.seen.elapsed());
        if stop.load(Ordering::Relaxed) {
            return Err(Stop::Cancelled);
        }
        if self.has_room() {
            self.roomy = Instant::now();
        } else if self.roomy.elapsed() > PATIENCE_FULL {
            return Err(error::writing(self.folder.path())(io::ErrorKind::StorageFull.into()));
        }
        if busy > PATIENCE_BUSY || idle > PATIENCE_IDLE {
            let told = fs::read(self.folder.path().join("beats")).unwrap_or_default();
            let told = told.get(self.early as usize..).unwrap_or_default();
            return Err(Stop::Failed(hangs(told, busy, idle) + &self.log()));
        }
        Ok(())
    }

    /// Each timer of the guest wakes another thread of QEMU without work: it gets a batch policy so that it cannot
    /// preempt. Not while the guest boots: when that stops, another thread must stop its clock at once.
    fn lets_nobody_interrupt(&self) {
        let threads = fs::read_dir(format!("/proc/{}/task", self.child.id())).into_iter().flatten().flatten();
        for id in threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok()) {
            // Optional.
            let _ = scheduling::set_policy(id, libc::SCHED_BATCH, 0);
        }
    }

    fn has_room(&self) -> bool {
        statvfs(self.folder.path()).is_ok_and(|disk| disk.f_bavail * disk.f_frsize >= LEAST_ROOM)
    }

    /// Processor time of QEMU.
    fn computed(&self) -> Duration {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap_or_default();
        // After the name, which may contain spaces: user and system time are fields 12 and 13.
        let words = stat.rsplit(") ").next().unwrap_or_default().split(' ').skip(11).take(2);
        let ticks: u64 = words.filter_map(|word| word.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
    }

    /// Waits until the guest has stopped itself.
    fn wait_until_ready(&mut self, stop: &AtomicBool) -> Result<(), Stop> {
        loop {
            if self.answer(stop)?.is_some_and(|answer| answer["event"] == PANICKED) {
                self.early = self.beats();
                return if self.early > 0 { Ok(()) } else { Err(self.panicked()) };
            }
        }
    }

    fn beats(&self) -> u64 {
        fs::metadata(self.folder.path().join("beats")).map_or(0, |data| data.len())
    }

    fn panicked(&self) -> Stop {
        Stop::Failed(format!("the guest's kernel panicked{}", self.log()))
    }

    /// Saves the state of the stopped guest.
    fn save(&mut self, file: &Path, stop: &AtomicBool) -> Result<(), Stop> {
        let save = json!({"command-line": format!("savevm {SNAPSHOT}")});
        let report = self.command("human-monitor-command", &save, stop)?;
        match report.as_str().unwrap_or_default().trim() {
            "" => Ok(()),
            report => Err(error::machine_with(
                format!("cannot write the guest's snapshot {}: {report}", file.display()),
                "make room, or name another place for the cache with XDG_CACHE_HOME",
            )),
        }
    }

    /// Reads packets and then the report; `None` if the guest has to restart.
    fn listen(
        &mut self,
        packets: &mut dyn FnMut(Packet<'_>),
        stop: &AtomicBool,
    ) -> Result<Option<Report>, Stop> {
        let path = self.folder.path().join("port");
        let mut file =
            File::open(&path).map_err(|error| error::machine(format!("the guest's port: {error}")))?;
        let mut inbox = Inbox::default();
        let mut over = None;
        loop {
            file.read_to_end(&mut inbox.bytes)
                .map_err(|error| error::machine(format!("the guest's port: {error}")))?;
            match inbox.outcome(packets) {
                Ok(Some(Ok(report))) => return Ok(Some(report)),
                Ok(Some(Err(reason))) if reason == CLOCK_MOVED => return Ok(None),
                Ok(Some(Err(reason))) => return Err(Stop::Failed(format!("in the guest: {reason}"))),
                Ok(None) => {}
                Err(reason) => {
                    return Err(Stop::Failed(format!(
                        "the guest sent an invalid message: {reason}{}",
                        self.log()
                    )));
                }
            }
            if let Some(error) = over {
                return Err(error);
            }
            match self.answer(stop) {
                Ok(Some(answer)) if answer["event"] == PANICKED => return Err(self.panicked()),
                Ok(_) => {}
                // It may have sent a message before.
                Err(error) if self.is_over() => over = Some(error),
                Err(error) => return Err(error),
            }
        }
    }

    fn is_over(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(Some(_)))
    }

    /// It has ended unexpectedly.
    fn gone(&mut self) -> Stop {
        let how = match self.child.wait() {
            Ok(status) if status.success() => "it rebooted or was shut down".to_owned(),
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let errors = fs::read_to_string(self.folder.path().join("errors")).unwrap_or_default();
        let errors = errors.lines().last().map(|line| format!(": {}", line.trim())).unwrap_or_default();
        Stop::Failed(format!("the guest ended before its report ({how}){errors}{}", self.log()))
    }

    /// The last lines of its console, after the lines about a panic, if any.
    fn log(&self) -> String {
        let text = fs::read(self.folder.path().join("console")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).replace('\r', "");
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        if lines.is_empty() {
            return String::new();
        }
        let (before, last) = lines.split_at(lines.len().saturating_sub(LOG_LINES));
        let tells = |line: &&&str| line.contains("Kernel panic") || line.contains("panicked at");
        let shown: Vec<&str> = before.iter().filter(tells).chain(last).copied().collect();
        format!("; the last of its log:\n    {}", shown.join("\n    "))
    }
}

/// A disk for snapshots only: an empty qcow2 file of 1 MiB.
fn empty_disk() -> Vec<u8> {
    const CLUSTER: usize = 1 << 16;
    // Header, reference count table, reference counts, and the first-level table, a cluster each.
    let mut disk = vec![0; 4 * CLUSTER];
    let mut put = |at: usize, bytes: &[u8]| disk[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"QFI\xfb");
    put(4, &3_u32.to_be_bytes());
    put(20, &16_u32.to_be_bytes());
    put(24, &(1_u64 << 20).to_be_bytes());
    put(36, &1_u32.to_be_bytes());
    put(40, &(3 * CLUSTER as u64).to_be_bytes());
    put(48, &(CLUSTER as u64).to_be_bytes());
    put(56, &1_u32.to_be_bytes());
    put(96, &4_u32.to_be_bytes());
    put(100, &104_u32.to_be_bytes());
    put(CLUSTER, &(2 * CLUSTER as u64).to_be_bytes());
    for cluster in 0..4 {
        put(2 * CLUSTER + 2 * cluster, &1_u16.to_be_bytes());
    }
    disk
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verifier_that_does_not_end_is_told_from_a_guest_that_hangs() {
        let (busy, idle) = (Duration::from_secs(121), Duration::from_secs(1));
        let verifies = hangs(b"v!v", busy, idle);
        assert!(verifies.contains("has not accepted the algorithm after 121 s of computing"), "{verifies}");
        assert!(hangs(b"v!", busy, idle).starts_with("the guest hangs before its first second"));
        assert!(hangs(b"v!..", busy, idle).starts_with("the guest hangs after second 2 of the run"));
        // It uses no processor time.
        assert!(hangs(b"v", idle, busy).starts_with("the guest hangs before its first second"));
    }
}
