//! Calls of algorithms as they were made somewhere, each with everything that it depends on: arguments, view and private
//! memory before it, and what it left. So a call recorded in the kernel can be made again natively, and must leave the
//! same words ([`Replay`]).
//!
//! The same calls have three forms: a binary trace ([`Writer`], [`Reader`]), text to review ([`tsv`]) and JSON for
//! implementers in other languages ([`json`]). [`read`] takes any of them. [`generate`] makes calls up.

use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::sync::Arc;

use braid_algorithms::Spec;
use braid_algorithms::layout::{Event, PUBLIC_WORDS, View};

mod binary;
mod fields;
pub mod generate;
pub mod json;
mod replay;
pub mod tsv;

pub use binary::{End, Reader, Writer};
pub use fields::event_name;
pub use replay::{Difference, Replay};

/// Which algorithm a call was made to.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The algorithm and its parameters.
    pub spec: Spec,
    /// [Hash of the source](braid_algorithms::Algorithm::source_hash) that it was compiled from.
    pub source_hash: u64,
}

impl Origin {
    /// The algorithm of this build.
    pub fn native(spec: Spec) -> Arc<Self> {
        let source_hash = spec.algorithm().source_hash();
        Arc::new(Self { spec, source_hash })
    }
}

impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        self.spec.text() == other.spec.text() && self.source_hash == other.source_hash
    }
}

/// One call of a transition.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Of what.
    pub origin: Arc<Origin>,
    /// Number of the call among all that were made while the trace was recorded; numbers that are missing were lost.
    pub sequence: u64,
    /// The processor that made it.
    pub cpu: u32,
    /// When it was made: nanoseconds of the kernel's monotonic clock.
    pub time_ns: u64,
    /// The same for all calls of one subflow's memory, different for others.
    pub socket: u64,
    /// The event.
    pub event: Event,
    /// The connection before the call, public words included.
    pub view: View,
    /// The subflow's private memory before the call.
    pub private: Vec<u64>,
    /// What the call left.
    pub outputs: Outputs,
}

/// All that a transition may write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// Congestion window, packets.
    pub cwnd: u32,
    /// Slow-start threshold, packets.
    pub ssthresh: u32,
    /// Bytes per second; 0: the host decides.
    pub pacing_rate: u64,
    /// What siblings see.
    pub public_words: [u64; PUBLIC_WORDS],
    /// The private memory.
    pub private: Vec<u64>,
}

impl Outputs {
    /// Those of a view and a private memory that a transition has worked on.
    pub fn of(view: &View, private: &[u64]) -> Self {
        let subflow = &view.subflow[view.self_index as usize];
        Self {
            cwnd: subflow.cwnd,
            ssthresh: subflow.ssthresh,
            pacing_rate: subflow.pacing_rate,
            public_words: subflow.public_words,
            private: private.to_vec(),
        }
    }
}

impl Call {
    /// The view that the call left: nothing but the outputs differs from [`Self::view`].
    pub fn view_after(&self) -> View {
        let mut view = self.view.clone();
        let subflow = &mut view.subflow[view.self_index as usize];
        subflow.cwnd = self.outputs.cwnd;
        subflow.ssthresh = self.outputs.ssthresh;
        subflow.pacing_rate = self.outputs.pacing_rate;
        subflow.public_words = self.outputs.public_words;
        view
    }
}

/// Why calls could not be read or written: one sentence with place and remedy.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

/// Calls on their way out of a file.
pub enum Calls {
    /// A binary trace, which is read as it goes.
    Trace(Box<Reader<BufReader<File>>>),
    /// Text or JSON.
    Listed(std::vec::IntoIter<Call>),
}

/// Opens a file of calls in any of the three forms.
///
/// # Errors
/// If it cannot be read or is none of them.
pub fn read(path: &Path) -> Result<Calls, Error> {
    let at = |error: &dyn fmt::Display| Error::new(format!("{}: {error}", path.display()));
    let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| at(&error))?);
    let begins = std::io::BufRead::fill_buf(&mut file).map_err(|error| at(&error))?;
    if begins.starts_with(binary::MAGIC) {
        return Ok(Calls::Trace(Box::new(Reader::new(file).map_err(|error| at(&error))?)));
    }
    let is_json = begins.trim_ascii_start().first() == Some(&b'{');
    let is_tsv = begins.starts_with(tsv::FIRST_LINE.as_bytes());
    if !is_json && !is_tsv {
        return Err(at(
            &"neither a trace nor test vectors: `braid trace` records the former, `braid vectors` \
                        writes the latter",
        ));
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|error| at(&error))?;
    let calls = if is_json { json::parse(&text) } else { tsv::parse(&text) };
    Ok(Calls::Listed(calls.map_err(|error| at(&error))?.into_iter()))
}

impl Calls {
    /// How the trace ended, once all calls have been read; nothing if it was cut off or is no trace.
    pub fn end(&self) -> Option<End> {
        match self {
            Self::Trace(reader) => reader.end(),
            Self::Listed(_) => None,
        }
    }

    /// The kernel that a trace was recorded on.
    pub fn kernel(&self) -> Option<&str> {
        match self {
            Self::Trace(reader) => Some(reader.kernel()),
            Self::Listed(_) => None,
        }
    }
}

impl Iterator for Calls {
    type Item = Result<Call, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Trace(reader) => reader.next(),
            Self::Listed(calls) => calls.next().map(Ok),
        }
    }
}
