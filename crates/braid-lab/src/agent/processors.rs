//! Load of the processors, and the idle thread of a guest.

use std::{
    fs,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use super::clock::now_ns;
use crate::scheduling;

type Result<T> = std::result::Result<T, String>;

/// Rounds of the idle thread, and the time of a round: in a guest an instruction takes a nanosecond. The thread's own
/// clock would include interrupts that handle packets.
static IDLE_ROUNDS: AtomicU64 = AtomicU64::new(0);
const ROUND_NS: u64 = TURNS * TURN_NS + 3;
const TURNS: u64 = 64;
const TURN_NS: u64 = 250;

pub(super) enum Processors {
    /// A guest's only processor, with a thread that uses all idle time.
    Filled,
    /// This many, whose idle time the kernel reports.
    Shared(usize),
}

impl Processors {
    /// Keeps the only processor from being idle. QEMU's other thread would wake an idle one, which takes long and races
    /// with the guest; empty instructions are almost free.
    pub(super) fn fill() -> Result<Self> {
        let thread = thread::Builder::new().spawn(|| do_nothing());
        thread.map_err(|error| format!("a thread for idle time: {error}"))?;
        Ok(Self::Filled)
    }

    /// The processors of this machine.
    pub(super) fn shared() -> Result<Self> {
        // The file is long: it lists every interrupt.
        let text = fs::read_to_string("/proc/stat").map_err(|error| format!("/proc/stat: {error}"))?;
        Ok(Self::Shared(text.lines().filter(|line| line.starts_with("cpu")).count() - 1))
    }

    /// Mean busy time of the processors since boot.
    pub(super) fn busy_ns(&self) -> Result<u64> {
        match *self {
            Self::Filled => Ok(now_ns().saturating_sub(ROUND_NS * IDLE_ROUNDS.load(Ordering::Relaxed))),
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

/// Runs empty instructions until the guest ends, at the lowest priority.
fn do_nothing() -> ! {
    let _ = scheduling::set_policy(0, libc::SCHED_IDLE, 0);
    // QEMU translates up to 511 instructions within a page into one subtraction and comparison. Shorter blocks have
    // fewer entry and exit points at interrupts, each of which is translated separately.
    #[cfg(target_arch = "x86_64")]
    // SAFETY: an endless loop that counts rounds.
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
