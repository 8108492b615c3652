//! How busy the processors are, and what a guest's does when it has nothing to do.

use std::{fs, os::unix::thread::JoinHandleExt as _, thread};

use rustix::time::{ClockId, clock_gettime};

type Result<T> = std::result::Result<T, String>;

pub(super) enum Processors {
    /// The only one, with a thread that takes all the time that nobody else wants; this is the thread's clock.
    Filled(libc::clockid_t),
    /// So many, of which the kernel says how long they were idle.
    Shared(usize),
}

impl Processors {
    /// Keeps the only processor from ever being idle. An idle one is woken by QEMU's other thread, which takes longer than
    /// what the guest then does, and races with it; instructions that do nothing cost next to nothing.
    pub(super) fn fill() -> Result<Self> {
        let failed = |error| format!("a thread for idle time: {error}");
        let thread = thread::Builder::new().spawn(|| do_nothing()).map_err(failed)?;
        let mut clock = 0;
        // SAFETY: the thread never ends.
        match unsafe { libc::pthread_getcpuclockid(thread.as_pthread_t(), &raw mut clock) } {
            0 => Ok(Self::Filled(clock)),
            error => Err(failed(std::io::Error::from_raw_os_error(error))),
        }
    }

    /// Those of this machine.
    pub(super) fn shared() -> Result<Self> {
        // The file is long: it has every interrupt.
        let text = fs::read_to_string("/proc/stat").map_err(|error| format!("/proc/stat: {error}"))?;
        Ok(Self::Shared(text.lines().filter(|line| line.starts_with("cpu")).count() - 1))
    }

    /// Time that they were busy since some moment, on average.
    pub(super) fn busy_ns(&self) -> Result<u64> {
        match *self {
            Self::Filled(clock) => {
                let mut idle = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                // SAFETY: it writes the time.
                if unsafe { libc::clock_gettime(clock, &raw mut idle) } != 0 {
                    return Err("the clock of idle time cannot be read".into());
                }
                let up = clock_gettime(ClockId::Monotonic);
                Ok(((up.tv_sec - idle.tv_sec) * 1_000_000_000 + up.tv_nsec - idle.tv_nsec) as u64)
            }
            Self::Shared(processors) => {
                let text =
                    fs::read_to_string("/proc/uptime").map_err(|error| format!("/proc/uptime: {error}"))?;
                let seconds: Vec<f64> =
                    text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
                match seconds[..] {
                    [up, idle] => Ok(((up - idle / processors as f64) * 1e9) as u64),
                    _ => Err(format!("/proc/uptime says {text}")),
                }
            }
        }
    }
}

/// Does so until the guest ends, while nobody else wants the processor.
fn do_nothing() -> ! {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: it concerns this thread only.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const parameters) };
    // QEMU translates as many instructions as it takes at a time, 511 and not beyond a page, to a subtraction and a comparison.
    // Of fewer there are fewer ways to begin and to end among them, at an interrupt, each of which is translated by itself.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it does nothing, for ever.
    unsafe {
        std::arch::asm!(
            ".p2align 8",
            "2:",
            ".rept 250",
            "nop",
            ".endr",
            "jmp 2b",
            options(noreturn, nostack)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    loop {
        std::hint::spin_loop();
    }
}
