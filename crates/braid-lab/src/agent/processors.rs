//! How busy the processors are, and what a guest's does when it has nothing to do.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use crate::scheduling;
use rustix::time::{ClockId, clock_gettime};

type Result<T> = std::result::Result<T, String>;

/// How often the thread for idle time has gone round, and how long that takes: in a guest an instruction takes a nanosecond.
/// Its own clock would not do; it goes on while the kernel handles packets in interrupts of this thread.
static IDLE_ROUNDS: AtomicU64 = AtomicU64::new(0);
const ROUND_NS: u64 = TURNS * TURN_NS + 3;
const TURNS: u64 = 64;
const TURN_NS: u64 = 250;

pub(super) enum Processors {
    /// The only one, of a guest, with a thread that takes all the time that nobody else wants.
    Filled,
    /// So many, of which the kernel says how long they were idle.
    Shared(usize),
}

impl Processors {
    /// Keeps the only processor from ever being idle. An idle one is woken by QEMU's other thread, which takes longer than
    /// what the guest then does, and races with it; instructions that do nothing cost next to nothing.
    pub(super) fn fill() -> Result<Self> {
        let thread = thread::Builder::new().spawn(|| do_nothing());
        thread.map_err(|error| format!("a thread for idle time: {error}"))?;
        Ok(Self::Filled)
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
            Self::Filled => {
                let up = clock_gettime(ClockId::Monotonic);
                let up_ns = (up.tv_sec * 1_000_000_000 + up.tv_nsec) as u64;
                Ok(up_ns.saturating_sub(ROUND_NS * IDLE_ROUNDS.load(Ordering::Relaxed)))
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
    let _ = scheduling::set_policy(0, libc::SCHED_IDLE, 0);
    // QEMU translates as many instructions as it takes at a time, 511 and not beyond a page, to a subtraction and a comparison.
    // Of fewer there are fewer ways to begin and to end among them, at an interrupt, each of which is translated by itself.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it counts rounds, for ever.
    unsafe {
        std::arch::asm!(
            ".p2align 8",
            "2:",
            "mov ecx, {turns}",
            "3:",
            ".rept {turn} - 2",
            "nop",
            ".endr",
            "dec ecx",
            "jnz 3b",
            "inc qword ptr [rdi]",
            "jmp 2b",
            turns = const TURNS,
            turn = const TURN_NS,
            in("rdi") IDLE_ROUNDS.as_ptr(),
            options(noreturn, nostack)
        );
    }
    #[cfg(not(target_arch = "x86_64"))]
    loop {
        IDLE_ROUNDS.fetch_add(1, Ordering::Relaxed);
    }
}
