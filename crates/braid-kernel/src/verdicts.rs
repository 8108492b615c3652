//! Published words of sockets (`kernel/published.bpf.c`): the loaded version that they run, and labels of
//! shared-bottleneck detectors.

use std::{collections::BTreeMap, io::Read as _};

use braid_algorithms::{
    Algorithm,
    layout::{PUBLIC_WORDS, VERDICT_WORD, Verdict},
};
use bytemuck::{Pod, Zeroable};
use libbpf_rs::{Iter, Link, Object};

use crate::{
    Error, Namespace,
    genetlink::{Message, attribute, command},
    module,
    object::load,
    trace::identity,
};

const DOING: &str = "asking sockets what they publish";

/// `struct published` of `kernel/published.bpf.c`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Record {
    cookie: u64,
    token: u32,
    subflow_id: u32,
    identity: u64,
    public_words: [u64; PUBLIC_WORDS],
    version: u32,
    unused: u32,
}

/// Published words of a socket on one of our algorithms.
#[derive(Clone, Copy)]
pub struct Said {
    /// The socket, see [`Socket`](crate::Socket).
    pub cookie: u64,
    /// MPTCP subflow: its connection's token.
    pub token: Option<u32>,
    /// MPTCP subflow: its number within the connection, as in `MPTCP_FULL_INFO`.
    pub subflow_id: u32,
    /// The algorithm that it runs, under any loaded name.
    pub algorithm: &'static Algorithm,
    /// Its loaded version: a number of [`Loaded::versions`](crate::Loaded::versions); 0 if unknown.
    pub version: u32,
    /// Its detector's label, if any; times are of `CLOCK_MONOTONIC`.
    pub verdict: Option<Verdict>,
}

/// Reads the published words of all sockets.
pub struct Verdicts {
    /// The iterator and its object, where programs can be loaded.
    bpf: Option<(Link, Object)>,
}

impl Verdicts {
    /// Loads the program that finds them. Where that is not possible only sockets of the module are seen.
    pub fn open() -> Result<Self, Error> {
        match Self::open_bpf() {
            Err(_) if module::family()?.is_some() => Ok(Self { bpf: None }),
            other => other,
        }
    }

    fn open_bpf() -> Result<Self, Error> {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/published.bpf.o"));
        let (object, _) = load("published", bytes, |_| Ok(()))?;
        let program =
            object.progs_mut().next().ok_or_else(|| Error::at(DOING)("the object has no program"))?;
        let link = program.attach().map_err(Error::at(DOING))?;
        Ok(Self { bpf: Some((link, object)) })
    }

    /// The namespace's sockets that run one of our algorithms.
    pub fn of(&self, namespace: &Namespace) -> Result<Vec<Said>, Error> {
        // The namespace is that of the thread that begins to read.
        namespace.within(|| {
            let mut bytes = Vec::new();
            if let Some((link, _)) = &self.bpf {
                let mut reader = Iter::new(link).map_err(Error::at(DOING))?;
                reader.read_to_end(&mut bytes).map_err(Error::at(DOING))?;
            }
            let ours: BTreeMap<u64, &'static Algorithm> =
                braid_algorithms::all().iter().map(|ours| (identity(ours.name()), ours)).collect();
            let records = bytes.chunks_exact(size_of::<Record>()).map(bytemuck::pod_read_unaligned::<Record>);
            let mut all: Vec<Said> =
                records.filter_map(|record| Some(said(&record, ours.get(&record.identity)?))).collect();
            all.extend(said_by_module()?);
            Ok(all)
        })
    }
}

/// Of this thread's namespace. The module reports no tokens, and its own numbers of subflows.
fn said_by_module() -> Result<Vec<Said>, Error> {
    let Some(family) = module::family()? else { return Ok(Vec::new()) };
    let messages = family.dump(command::SOCKETS).map_err(Error::at(DOING))?;
    let said = |message: &Message| {
        let algorithm = message.text(attribute::ALGORITHM)?;
        let algorithm = braid_algorithms::all().iter().find(|known| known.name() == algorithm)?;
        let [cookie] = message.words(attribute::COOKIE)?;
        let record = Record {
            cookie,
            token: 0,
            subflow_id: message.u32(attribute::ID)?,
            identity: 0,
            public_words: message.words(attribute::WORDS)?,
            version: message.u32(attribute::VERSION)?,
            unused: 0,
        };
        Some(said(&record, algorithm))
    };
    Ok(messages.iter().filter_map(said).collect())
}

fn said(record: &Record, algorithm: &'static Algorithm) -> Said {
    let detects = algorithm.flags() & Algorithm::DETECTS != 0;
    Said {
        cookie: record.cookie,
        token: Some(record.token).filter(|&token| token != 0),
        subflow_id: record.subflow_id,
        algorithm,
        version: record.version,
        verdict: detects.then(|| Verdict::from_word(record.public_words[VERDICT_WORD])),
    }
}
