//! The binary form: a header, then entries, each preceded by its kind and length.
//!
//! The byte order is that of the recording machine; the version shows it (it reads `0x0100_0000` in the other order).
//! docs/traces.md describes the format byte by byte.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use braid_algorithms::Spec;
use braid_algorithms::layout::{self, Event, MAX_SUBFLOWS, PUBLIC_WORDS, Subflow, View};
use bytemuck::{Pod, Zeroable};

use crate::{Call, Error, Origin, Outputs};

pub(crate) const MAGIC: &[u8; 8] = b"braidtrc";
const VERSION: u32 = 1;

const ORIGIN: u32 = 1;
const CALL: u32 = 2;
const END: u32 = 3;

/// Maximum of an entry: a call of eight subflows with the maximum of private memory has under 6 KB.
const LONGEST: u32 = 1 << 16;

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Head {
    magic: [u8; 8],
    version: u32,
    /// Bytes of text that follow, padded to eight: the kernel's release.
    text_bytes: u32,
    layout_hash: u64,
}

/// Before each entry.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Entry {
    kind: u32,
    /// Bytes of the rest, a multiple of eight.
    bytes: u32,
}

/// Followed by the spec's text, padded to eight.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct OriginHead {
    source_hash: u64,
    text_bytes: u32,
    reserved: u32,
}

/// Followed by the subflows, the private memory before and after.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct CallHead {
    sequence: u64,
    time_ns: u64,
    socket: u64,
    cpu: u32,
    /// Number of the origin entry, from 0.
    origin: u32,
    event: Event,
    connection: u64,
    n: u32,
    self_index: u32,
    cwnd: u32,
    ssthresh: u32,
    pacing_rate: u64,
    public_words: [u64; PUBLIC_WORDS],
}

/// The end of a trace.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct End {
    /// Calls in the file.
    pub calls: u64,
    /// Calls missing in the file because the ring was full.
    pub lost: u64,
    /// Calls excluded by a filter.
    pub filtered: u64,
}

fn padded(text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// Writes a trace.
pub struct Writer<W: Write> {
    to: W,
    origins: Vec<Arc<Origin>>,
    calls: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    pub fn new(mut to: W, kernel: &str) -> Result<Self, Error> {
        let head = Head {
            magic: *MAGIC,
            version: VERSION,
            text_bytes: kernel.len() as u32,
            layout_hash: layout::hash(),
        };
        to.write_all(bytemuck::bytes_of(&head))?;
        to.write_all(&padded(kernel))?;
        Ok(Self { to, origins: Vec::new(), calls: 0 })
    }

    fn entry(&mut self, kind: u32, parts: &[&[u8]]) -> Result<(), Error> {
        let bytes = parts.iter().map(|part| part.len()).sum::<usize>() as u32;
        self.to.write_all(bytemuck::bytes_of(&Entry { kind, bytes }))?;
        for part in parts {
            self.to.write_all(part)?;
        }
        Ok(())
    }

    /// Number of the origin; writes a new one first.
    fn origin(&mut self, origin: &Arc<Origin>) -> Result<u32, Error> {
        let known = self.origins.iter().position(|known| Arc::ptr_eq(known, origin) || known == origin);
        if let Some(known) = known {
            return Ok(known as u32);
        }
        let text = origin.spec.text();
        let head = OriginHead { source_hash: origin.source_hash, text_bytes: text.len() as u32, reserved: 0 };
        self.entry(ORIGIN, &[bytemuck::bytes_of(&head), &padded(text)])?;
        self.origins.push(Arc::clone(origin));
        Ok(self.origins.len() as u32 - 1)
    }

    /// Writes a call.
    pub fn call(&mut self, call: &Call) -> Result<(), Error> {
        let head = CallHead {
            sequence: call.sequence,
            time_ns: call.time_ns,
            socket: call.socket,
            cpu: call.cpu,
            origin: self.origin(&call.origin)?,
            event: call.event,
            connection: call.view.connection,
            n: call.view.n,
            self_index: call.view.self_index,
            cwnd: call.outputs.cwnd,
            ssthresh: call.outputs.ssthresh,
            pacing_rate: call.outputs.pacing_rate,
            public_words: call.outputs.public_words,
        };
        self.calls += 1;
        self.entry(
            CALL,
            &[
                bytemuck::bytes_of(&head),
                bytemuck::cast_slice(&call.view.subflow[..call.view.n as usize]),
                bytemuck::cast_slice(&call.private),
                bytemuck::cast_slice(&call.outputs.private),
            ],
        )
    }

    /// Calls written so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Writes the end and returns the sink.
    pub fn finish(mut self, lost: u64, filtered: u64) -> Result<W, Error> {
        let end = End { calls: self.calls, lost, filtered };
        self.entry(END, &[bytemuck::bytes_of(&end)])?;
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Reads a trace: an iterator over its calls.
pub struct Reader<R: Read> {
    from: R,
    kernel: String,
    origins: Vec<Arc<Origin>>,
    calls: u64,
    end: Option<End>,
    failed: bool,
    bytes: Vec<u8>,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    pub fn new(mut from: R) -> Result<Self, Error> {
        let mut head = Head::zeroed();
        let short = |_| Error::new("the file ends within its header: record it again");
        from.read_exact(bytemuck::bytes_of_mut(&mut head)).map_err(short)?;
        if head.magic != *MAGIC {
            return Err(Error::new("this is no trace: `braid trace -o FILE` records one"));
        }
        if head.version == VERSION.swap_bytes() {
            return Err(Error::new(
                "recorded on a machine of the other byte order: replay it on such a machine",
            ));
        }
        if head.version != VERSION {
            return Err(Error::new(format!(
                "version {} of the format, this braid reads {VERSION}: use the braid that recorded it",
                head.version
            )));
        }
        if head.layout_hash != layout::hash() {
            return Err(Error::new(format!(
                "recorded with layout {:#x} of the contract's structures, this braid has {:#x}: use the braid \
                 that recorded it",
                head.layout_hash,
                layout::hash()
            )));
        }
        if head.text_bytes > LONGEST {
            return Err(Error::new("the header is damaged: record it again"));
        }
        let mut text = vec![0; (head.text_bytes as usize).next_multiple_of(8)];
        from.read_exact(&mut text).map_err(short)?;
        text.truncate(head.text_bytes as usize);
        Ok(Self {
            from,
            kernel: String::from_utf8_lossy(&text).into_owned(),
            origins: Vec::new(),
            calls: 0,
            end: None,
            failed: false,
            bytes: Vec::new(),
        })
    }

    /// The release of the kernel on which it was recorded.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The end of the trace, once it has been read.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// The next entry into `bytes`; `None` at the end of the file.
    fn entry(&mut self) -> Result<Option<u32>, Error> {
        let mut entry = Entry::zeroed();
        match self.from.read_exact(bytemuck::bytes_of_mut(&mut entry)) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        if entry.bytes > LONGEST || entry.bytes % 8 != 0 {
            return Err(Error::new(format!("damaged after call {}", self.calls)));
        }
        self.bytes.resize(entry.bytes as usize, 0);
        match self.from.read_exact(&mut self.bytes) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
            other => other.map(|()| Some(entry.kind)).map_err(Error::from),
        }
    }

    fn advance(&mut self) -> Result<Option<Call>, Error> {
        while self.end.is_none() {
            let Some(kind) = self.entry()? else { return Ok(None) };
            let damaged = || Error::new(format!("damaged after call {}", self.calls));
            match kind {
                ORIGIN => {
                    let (head, rest) = split::<OriginHead>(&self.bytes).ok_or_else(damaged)?;
                    let text = rest.get(..head.text_bytes as usize).ok_or_else(damaged)?;
                    let spec = Spec::parse(&String::from_utf8_lossy(text))
                        .map_err(|error| Error::new(format!("recorded by another braid: {error}")))?;
                    self.origins.push(Arc::new(Origin { spec, source_hash: head.source_hash }));
                }
                CALL => {
                    let call = self.call().ok_or_else(damaged)?;
                    self.calls += 1;
                    return Ok(Some(call));
                }
                END => {
                    let (end, _) = split::<End>(&self.bytes).ok_or_else(damaged)?;
                    if end.calls != self.calls {
                        return Err(damaged());
                    }
                    self.end = Some(end);
                }
                _ => return Err(damaged()),
            }
        }
        Ok(None)
    }

    fn call(&self) -> Option<Call> {
        let (head, rest) = split::<CallHead>(&self.bytes)?;
        let n = head.n as usize;
        if n > MAX_SUBFLOWS || head.self_index >= head.n {
            return None;
        }
        let origin = Arc::clone(self.origins.get(head.origin as usize)?);
        let (subflows, private) = rest.split_at_checked(n * size_of::<Subflow>())?;
        let mut view =
            View { connection: head.connection, n: head.n, self_index: head.self_index, ..View::default() };
        bytemuck::cast_slice_mut(&mut view.subflow[..n]).copy_from_slice(subflows);
        let mut private: Vec<u64> = private.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
        let words = private.len() / 2;
        if !private.len().is_multiple_of(2)
            || words != braid_algorithms::Controller::new(&origin.spec).private().len()
        {
            return None;
        }
        let after = private.split_off(words);
        Some(Call {
            origin,
            sequence: head.sequence,
            cpu: head.cpu,
            time_ns: head.time_ns,
            socket: head.socket,
            event: head.event,
            view,
            private,
            outputs: Outputs {
                cwnd: head.cwnd,
                ssthresh: head.ssthresh,
                pacing_rate: head.pacing_rate,
                public_words: head.public_words,
                private: after,
            },
        })
    }
}

/// A structure at the beginning of `bytes`, and the rest.
fn split<T: Pod>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (head, rest) = bytes.split_at_checked(size_of::<T>())?;
    Some((bytemuck::pod_read_unaligned(head), rest))
}

impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Call, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let next = self.advance();
        self.failed = next.is_err();
        next.transpose()
    }
}
