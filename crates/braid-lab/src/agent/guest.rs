//! A run in a guest, as its first and only process, which first sets up the system.

use std::{
    ffi::CString,
    fs::{self, File, OpenOptions},
    path::Path,
    thread,
    time::Duration,
};

use braid_algorithms::Spec;
use rustix::mount::{MountFlags, mount};

use super::{
    outcome::{Done, failed, send, whole},
    processors::Processors,
    run::Run,
};
use crate::job::{
    Added, BEAT, CLOCK_MOVED, JOB_ITEM, JOB_MODULE, MODULES, SCHEDULER_MODULE, VERIFIED, VERIFIES,
};
use crate::scheduling;

/// Runs a job in the guest. The host ends the guest.
pub fn agent() -> ! {
    let outcome = prepare().and_then(|(mut port, processors)| {
        // The first beat distinguishes a guest that is ready from one that panicked.
        beat();
        let outcome = if stop_here() { work(processors) } else { Err(CLOCK_MOVED.into()) };
        send(&mut port, outcome).map_err(failed("writing to the host"))
    });
    if let Err(reason) = outcome {
        // The console, which the host shows if it gets no report.
        eprintln!("braid: {reason}");
    }
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

fn prepare() -> Result<(File, Processors), String> {
    let processors = Processors::fill()?;
    for (kind, place) in
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp"), ("tmpfs", "/run")]
    {
        fs::create_dir_all(place).map_err(failed(place))?;
        mount(kind, place, kind, MountFlags::empty(), None).map_err(failed(place))?;
    }
    for module in list()?.iter().filter(|module| *module != JOB_MODULE) {
        load(module, "")?;
    }
    // Connections never compete for memory: 512 MB of it, in pages.
    fs::write("/proc/sys/net/ipv4/tcp_mem", "131072 131072 131072").map_err(failed("tcp_mem"))?;
    Ok((port()?, processors))
}

fn list() -> Result<Vec<String>, String> {
    let list = fs::read_to_string(Path::new(MODULES).join("list")).map_err(failed("the list of modules"))?;
    Ok(list.lines().map(str::to_owned).collect())
}

fn load(module: &str, parameters: &str) -> Result<(), String> {
    let file = File::open(Path::new(MODULES).join(module)).map_err(failed(module))?;
    let parameters = CString::new(parameters).map_err(failed(module))?;
    match rustix::system::finit_module(&file, &parameters, 0) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(format!("loading {module}: {error}")),
    }
}

/// The virtio-serial port to the host.
fn port() -> Result<File, String> {
    for _ in 0..1000 {
        for entry in fs::read_dir("/dev").map_err(failed("/dev"))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with("vport") {
                return OpenOptions::new()
                    .write(true)
                    .open(entry.path())
                    .map_err(failed("the port to the host"));
            }
        }
        thread::sleep(Duration::from_millis(1));
    }
    Err("there is no port to the host".into())
}

/// Asks QEMU to stop the guest at this instruction, by its pvpanic device. The host then takes a snapshot, or lets the
/// guest continue. Returns false if QEMU advanced the guest clock while the processor was stopped, which happens on a
/// loaded host.
fn stop_here() -> bool {
    const PANIC_DEVICE: u16 = 0x505;
    const PANICKED: u8 = 1;
    // A nanosecond per instruction; the next timer is some hundred thousand away.
    const MOST_NS: u64 = 100;
    may_use(PANIC_DEVICE);
    let before = clock_ns();
    write_port(PANIC_DEVICE, PANICKED);
    clock_ns() - before < MOST_NS
}

/// The processor's counter, which counts nanoseconds in the guest.
fn clock_ns() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has the instruction.
    return unsafe { std::arch::x86_64::_rdtsc() };
    #[cfg(not(target_arch = "x86_64"))]
    return 0;
}

/// Tells the host that the guest is alive: once when it is ready, then each second of the run.
fn beat() {
    tell(BEAT);
}

/// The port to the host would take time that depends on the host's load.
fn tell(what: u8) {
    const DEBUG_CONSOLE: u16 = 0xe9;
    may_use(DEBUG_CONSOLE);
    write_port(DEBUG_CONSOLE, what);
}

/// Without this right, writing to the port ends the process, and so the guest.
fn may_use(port: u16) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it grants a right and changes nothing else. The result can be ignored: the first process has the
    // permission.
    let _ = unsafe { libc::ioperm(port.into(), 1, 1) };
    #[cfg(not(target_arch = "x86_64"))]
    let _ = port;
}

/// Writes to a device of QEMU; QEMU has reacted when this returns.
fn write_port(port: u16, value: u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: only devices of QEMU listen to these ports.
    unsafe {
        std::arch::asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags));
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (port, value);
}

fn work(processors: Processors) -> Result<Done, String> {
    load(JOB_MODULE, "")?;
    let path = format!("/sys/firmware/qemu_fw_cfg/by_name/{JOB_ITEM}/raw");
    let bytes = fs::read(&path).map_err(failed(&path))?;
    let job = whole(&bytes)?;
    job.added.iter().try_for_each(Added::make_known)?;
    for (name, spec) in &job.algorithms {
        let spec = Spec::parse(spec).map_err(failed(spec))?;
        let is_users = job.added.iter().any(|added| added.name == spec.algorithm().name());
        if is_users {
            tell(VERIFIES);
        }
        braid_kernel::load(&spec, name).map_err(failed(format!("loading {}", spec.text())))?;
        if is_users {
            tell(VERIFIED);
        }
    }
    if let Some(parameters) = &job.schedulers {
        load(SCHEDULER_MODULE, parameters)?;
    }
    let run = Run::prepare(&job, processors)?;
    if job.connections.iter().any(|connection| connection.programs.is_some()) {
        before_programs()?;
    }
    run.run(beat)
}

/// Gives this thread priority over programs on the only processor: otherwise samples were up to 12 ms late. Started
/// programs get the normal priority.
fn before_programs() -> Result<(), String> {
    scheduling::set_policy(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1).map_err(failed("a priority"))
}
