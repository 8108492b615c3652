//! Network namespaces.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Runs a command given as words; the standard output, or what went wrong.
///
/// # Errors
/// If the program does not run or fails.
pub fn run(command: &str) -> Result<String, String> {
    let mut words = command.split_whitespace();
    let program = words.next().expect("a command");
    let output = Command::new(program).args(words).output().map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        Ok(crate::text(&output.stdout))
    } else {
        Err(format!("`{command}`: {}", crate::text(&output.stderr).trim()))
    }
}

/// A network namespace; removed when dropped.
pub struct Netns(pub String);

impl Netns {
    /// None if this machine cannot create it; then reports the test as skipped.
    pub fn new(test: &str) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let netns = Self(format!("braid-{}-{number}", std::process::id()));
        match run(&format!("ip netns add {}", netns.0)) {
            Ok(_) => Some(netns),
            Err(reason) => {
                crate::skip(test, reason);
                None
            }
        }
    }

    /// Runs `ip` inside.
    #[track_caller]
    pub fn ip(&self, args: &str) {
        run(&format!("ip -n {} {args}", self.0)).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Does something in a thread inside.
    pub fn within<T: Send>(&self, action: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            enter(&self.0);
            action()
        };
        thread::scope(|scope| scope.spawn(inside).join().expect("no panic"))
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        let _ = run(&format!("ip netns del {}", self.0));
    }
}

/// Moves this thread into a namespace.
pub fn enter(name: &str) {
    let file = File::open(format!("/run/netns/{name}")).expect("a namespace of ours");
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may");
}
