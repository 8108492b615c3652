//! What detectors of shared bottlenecks say of the kernel's sockets, as the sockets publish it (`kernel/published.bpf.c`).

use std::io::Read as _;

use braid_algorithms::{
    Algorithm,
    layout::{PUBLIC_WORDS, VERDICT_WORD, Verdict},
};
use bytemuck::{Pod, Zeroable};
use libbpf_rs::{Iter, Link, Object};

use crate::{Error, Namespace, object::load, trace::identity};

/// `struct published` of `kernel/published.bpf.c`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Record {
    cookie: u64,
    token: u32,
    subflow_id: u32,
    identity: u64,
    public_words: [u64; PUBLIC_WORDS],
}

/// What is said of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// The socket, see [`Socket`](crate::Socket).
    pub cookie: u64,
    /// Of an MPTCP subflow: its connection's token.
    pub token: Option<u32>,
    /// Of an MPTCP subflow: its number within the connection, as `MPTCP_FULL_INFO` has it.
    pub subflow_id: u32,
    /// Times are of `CLOCK_MONOTONIC`.
    pub verdict: Verdict,
}

/// A way to ask the kernel for all verdicts.
pub struct Verdicts {
    link: Link,
    _object: Object,
}

impl Verdicts {
    /// Loads the program that finds them.
    ///
    /// # Errors
    /// If the machine cannot load programs, or this process may not.
    pub fn open() -> Result<Self, Error> {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/published.bpf.o"));
        let (object, _) = load("published", bytes, |_| Ok(()))?;
        let program = object.progs_mut().next().ok_or_else(|| failed(&"the object has no program"))?;
        let link = program.attach().map_err(|error| failed(&error))?;
        Ok(Self { link, _object: object })
    }

    /// Those of the namespace's sockets that have an algorithm with a detector.
    ///
    /// # Errors
    /// If the namespace cannot be entered, or the kernel does not answer.
    pub fn of(&self, namespace: &Namespace) -> Result<Vec<Said>, Error> {
        // The namespace is that of the thread that begins to read.
        namespace.within(|| {
            let mut bytes = Vec::new();
            let mut reader = Iter::new(&self.link).map_err(|error| failed(&error))?;
            reader.read_to_end(&mut bytes).map_err(|error| failed(&error))?;
            let detectors: Vec<u64> = braid_algorithms::all()
                .iter()
                .filter(|algorithm| algorithm.flags() & Algorithm::DETECTS != 0)
                .map(|algorithm| identity(algorithm.name()))
                .collect();
            let records = bytes.chunks_exact(size_of::<Record>()).map(bytemuck::pod_read_unaligned::<Record>);
            let detecting = records.filter(|record| detectors.contains(&record.identity));
            Ok(detecting.map(said).collect())
        })
    }
}

fn said(record: Record) -> Said {
    Said {
        cookie: record.cookie,
        token: Some(record.token).filter(|&token| token != 0),
        subflow_id: record.subflow_id,
        verdict: Verdict::from_word(record.public_words[VERDICT_WORD]),
    }
}

fn failed(error: &dyn std::fmt::Display) -> Error {
    Error::Kernel { doing: "asking sockets what they publish".into(), report: format!("{error:#}") }
}
