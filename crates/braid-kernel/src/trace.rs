//! Records calls in the kernel, word for word (`kernel/trace.h`).

use std::{
    cell::RefCell,
    collections::HashMap,
    fs::File,
    os::fd::{AsFd as _, AsRawFd as _},
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use braid_algorithms::{
    Algorithm, Spec,
    layout::{Event, MAX_SUBFLOWS, Subflow, View},
};
use braid_trace::{Call, Origin, Outputs};
use bytemuck::{Pod, Zeroable};
use libbpf_rs::{MapCore as _, MapFlags, MapHandle, MapType, RingBufferBuilder};
use rustix::fs::{FlockOperation, flock};

use crate::{
    Error,
    bpffs::{self, pinned_map},
    genetlink::{attribute, command, text, with},
    host::MODULE,
    module,
};

/// `BRAID_LAYOUT_VERSION`
const LAYOUT_VERSION: u64 = 1;

/// `struct braid_record` of `kernel/shared/hooks.h`, and the event behind it.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct RecordHead {
    sequence: u64,
    time_ns: u64,
    socket: u64,
    identity: u64,
    source: u64,
    cpu: u32,
    phase: u32,
    event: Event,
}

const BEFORE: u32 = 0;

/// Head of `struct braid_view`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct ViewHead {
    connection: u64,
    n: u32,
    self_index: u32,
}

/// Result of recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Calls passed on.
    pub calls: u64,
    /// Calls that were not recorded, or only in part, because the ring was full.
    pub lost: u64,
    /// Calls in progress when recording ended.
    pub cut: u64,
}

/// Records the calls of the loaded algorithms `names`, including those of existing sockets and of replacements, while
/// `goes_on` returns true; it is called every few milliseconds. Each call goes to `sink`, which ends the recording by
/// returning false.
///
/// # Errors
/// If a name is not loaded, is being recorded already or was loaded by another version of braid, or the kernel refuses.
pub fn record(
    names: &[String],
    ring_bytes: u32,
    mut goes_on: impl FnMut() -> bool,
    sink: impl FnMut(Call) -> bool,
) -> Result<Recorded, Error> {
    let in_module: Vec<String> = module::loaded()?.into_iter().map(|loaded| loaded.name).collect();
    match names.iter().filter(|name| in_module.contains(name)).count() {
        0 => {}
        n if n == names.len() => {
            let _lock = lock(Path::new("/sys/module").join(MODULE))?;
            return record_module(names, ring_bytes, goes_on, sink);
        }
        _ => {
            return Err(Error::Kernel {
                doing: "recording calls".into(),
                report: "some are loaded as eBPF, some by the module: record them one after the other".into(),
            });
        }
    }
    let _lock = lock(bpffs::folder())?;
    let mut traced = Vec::new();
    for name in names {
        traced.push(Traced::open(name)?);
    }
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let ring = MapHandle::create(MapType::RingBuf, Some("braid_trace"), 0, 0, ring_bytes, &options)
        .map_err(|error| failed("creating a ring buffer", &error))?;
    let assembly = RefCell::new(Assembly::new(sink));
    let mut builder = RingBufferBuilder::new();
    builder
        .add(&ring, |bytes| i32::from(!assembly.borrow_mut().record(bytes)) * STOPPED)
        .map_err(|error| failed("reading a ring buffer", &error))?;
    let reader = builder.build().map_err(|error| failed("reading a ring buffer", &error))?;

    let before = sum(&traced)?;
    for traced in &traced {
        traced.put(&ring)?;
    }
    let mut stopped = false;
    while !stopped && goes_on() {
        // Bounded: the kernel may write as fast as this reads.
        match reader.consume_raw_n(1 << 14) {
            0 => thread::sleep(Duration::from_millis(2)),
            taken => stopped = taken < 0,
        }
    }
    // Returns once no program uses the ring any more.
    for traced in &traced {
        traced.take();
    }
    while !stopped && reader.consume_raw_n(1 << 14) > 0 {}
    let after = sum(&traced)?;
    drop(reader);

    let assembly = assembly.into_inner();
    if let Some(reason) = assembly.failed {
        return Err(Error::Kernel { doing: "recording calls".into(), report: reason });
    }
    let (made, lost) = (after.sequence - before.sequence, after.lost - before.lost);
    Ok(Recorded {
        calls: assembly.calls,
        lost,
        // If the sink ended it, the rest of the ring was not read.
        cut: made.saturating_sub(assembly.calls + lost),
    })
}

/// The same of the module, which has one ring for all.
fn record_module(
    names: &[String],
    ring_bytes: u32,
    mut goes_on: impl FnMut() -> bool,
    sink: impl FnMut(Call) -> bool,
) -> Result<Recorded, Error> {
    let failed = |error: std::io::Error| Error::Kernel {
        doing: "recording calls (module tcp_braid)".into(),
        report: error.to_string(),
    };
    let gone = || failed(std::io::Error::other("the module was unloaded"));
    let family = module::family()?.ok_or_else(gone)?;
    let counts = || {
        let message = family.ask(command::RECORDED).map_err(failed)?;
        let words = |which| message.words(which).map_or(0, |[word]| word);
        Ok::<_, Error>((words(attribute::SEQUENCE), words(attribute::LOST)))
    };
    let mut assembly = Assembly::new(sink);
    let (mut bytes, mut begin) = (Vec::new(), 0);
    let mut take = |assembly: &mut Assembly<_>| -> Result<(bool, bool), Error> {
        let messages = family.dump(command::RECORDS).map_err(failed)?;
        bytes.drain(..begin);
        begin = 0;
        let before = bytes.len();
        bytes.extend(messages.iter().filter_map(|message| message.bytes(attribute::RECORDS)).flatten());
        let is_empty = bytes.len() == before;
        while let Some((length, rest)) = split::<u64>(&bytes[begin..]) {
            let Some(record) = rest.get(..usize::try_from(length).unwrap_or(usize::MAX)) else { break };
            begin += size_of::<u64>() + record.len();
            if !assembly.record(record) {
                return Ok((is_empty, true));
            }
        }
        Ok((is_empty, false))
    };
    let end = || family.command(command::RECORD, &[]).map_err(failed);
    end()?;
    let before = counts()?;
    for (i, name) in names.iter().enumerate() {
        let mut attributes = vec![text(attribute::NAME, name)];
        if i == 0 {
            attributes.push(with(attribute::BYTES, &ring_bytes.to_ne_bytes()));
        }
        family.command(command::RECORD, &attributes).map_err(failed)?;
    }
    let mut stopped = false;
    let mut taken = Ok(());
    while taken.is_ok() && !stopped && goes_on() {
        match take(&mut assembly) {
            Ok((is_empty, ended)) => {
                stopped = ended;
                if is_empty {
                    thread::sleep(Duration::from_millis(2));
                }
            }
            Err(error) => taken = Err(error),
        }
    }
    end()?;
    taken?;
    // Hooks that had begun before it ended write in the next microseconds.
    thread::sleep(Duration::from_millis(20));
    while !stopped {
        let (is_empty, ended) = take(&mut assembly)?;
        if is_empty {
            break;
        }
        stopped = ended;
    }
    let after = counts()?;
    if let Some(reason) = assembly.failed {
        return Err(Error::Kernel { doing: "recording calls".into(), report: reason });
    }
    let (made, lost) = (after.0 - before.0, after.1 - before.1);
    Ok(Recorded { calls: assembly.calls, lost, cut: made.saturating_sub(assembly.calls + lost) })
}

/// What a callback returns to stop.
const STOPPED: i32 = -125;

fn failed(doing: &str, error: &libbpf_rs::Error) -> Error {
    match error.kind() {
        libbpf_rs::ErrorKind::PermissionDenied => Error::NoPrivileges,
        _ => Error::Kernel { doing: doing.to_owned(), report: format!("{error:#}") },
    }
}

/// One recorder at a time; the kernel releases the lock however it ends.
fn lock(path: PathBuf) -> Result<File, Error> {
    let busy = |report: String| Error::Kernel { doing: "recording calls".into(), report };
    let Ok(folder) = File::open(path) else {
        return Err(Error::NotLoaded { name: "anything".into(), loaded: Vec::new() });
    };
    match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(folder),
        Err(rustix::io::Errno::WOULDBLOCK) => {
            Err(busy("another `braid trace` is running: end it first".into()))
        }
        Err(error) => Err(busy(error.to_string())),
    }
}

/// `struct braid_trace_state` of `kernel/trace.h`.
#[repr(C)]
#[derive(Clone, Copy, Default, Pod, Zeroable)]
struct State {
    sequence: u64,
    lost: u64,
}

/// A loaded name's maps for tracing.
struct Traced {
    ring: MapHandle,
    calls: MapHandle,
}

const ONLY: [u8; 4] = 0_u32.to_ne_bytes();

impl Traced {
    fn open(name: &str) -> Result<Self, Error> {
        let pins = bpffs::folder().join(name);
        if !pins.join("link").exists() {
            return Err(Error::NotLoaded { name: name.to_owned(), loaded: bpffs::names()? });
        }
        let open = |pin: &str| {
            if pins.join(pin).exists() {
                pinned_map(&pins.join(pin))
            } else {
                Err(Error::OtherVersion { name: name.to_owned() })
            }
        };
        Ok(Self { ring: open("ring")?, calls: open("calls")? })
    }

    fn put(&self, ring: &MapHandle) -> Result<(), Error> {
        self.ring
            .update(&ONLY, &ring.as_fd().as_raw_fd().to_ne_bytes(), MapFlags::ANY)
            .map_err(|error| failed("switching tracing on", &error))
    }

    fn take(&self) {
        let _ = self.ring.delete(&ONLY);
    }

    fn state(&self) -> Result<State, Error> {
        let value = self.calls.lookup(&ONLY, MapFlags::ANY);
        let value = value.map_err(|error| failed("reading the state of a trace", &error))?;
        value
            .and_then(|bytes| bytemuck::try_pod_read_unaligned(&bytes).ok())
            .ok_or_else(|| Error::OtherVersion { name: "it".into() })
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.take();
    }
}

fn sum(traced: &[Traced]) -> Result<State, Error> {
    let mut sum = State::default();
    for traced in traced {
        let State { sequence, lost } = traced.state()?;
        sum.sequence += sequence;
        sum.lost += lost;
    }
    Ok(sum)
}

/// Joins the two halves of calls.
struct Assembly<F> {
    sink: F,
    /// First halves, by socket.
    open: HashMap<u64, Record>,
    origins: HashMap<Vec<u8>, Arc<Origin>>,
    calls: u64,
    failed: Option<String>,
}

impl<F: FnMut(Call) -> bool> Assembly<F> {
    fn new(sink: F) -> Self {
        Self { sink, open: HashMap::new(), origins: HashMap::new(), calls: 0, failed: None }
    }

    /// Handles a record; false ends the recording.
    fn record(&mut self, bytes: &[u8]) -> bool {
        match self.take(bytes) {
            Ok(None) => true,
            Ok(Some(call)) => {
                self.calls += 1;
                (self.sink)(call)
            }
            Err(reason) => {
                self.failed = Some(reason);
                false
            }
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Result<Option<Call>, String> {
        let record = self.parse(bytes)?;
        if record.head.phase == BEFORE {
            self.open.insert(record.head.socket, record);
            return Ok(None);
        }
        let Some(before) = self.open.remove(&record.head.socket) else { return Ok(None) };
        let RecordHead { sequence, cpu, time_ns, socket, event, .. } = before.head;
        if record.head.sequence != sequence {
            return Ok(None); // the other halves of both were lost
        }
        let call = Call {
            origin: before.origin,
            sequence,
            cpu,
            time_ns,
            socket,
            event,
            outputs: Outputs::of(&record.view, &record.private),
            view: before.view,
            private: before.private,
        };
        if call.view_after() != record.view || record.head.event != event {
            return Err(format!(
                "`{}` changed more than its outputs in call {sequence}, please report this",
                call.origin.spec
            ));
        }
        Ok(Some(call))
    }

    fn parse(&mut self, bytes: &[u8]) -> Result<Record, String> {
        let other = || "recorded by programs of another version of braid: load them again".to_owned();
        let (head, rest) = split::<RecordHead>(bytes).ok_or_else(other)?;
        let algorithm = braid_algorithms::all().iter().find(|known| identity(known.name()) == head.identity);
        let algorithm = algorithm.ok_or_else(other)?;
        let params_bytes = (algorithm.params().len() * 4).next_multiple_of(8);
        let private_bytes = algorithm.private_bytes();
        let (params, rest) = rest.split_at_checked(params_bytes).ok_or_else(other)?;
        let (private, rest) = rest.split_at_checked(private_bytes).ok_or_else(other)?;
        let (view, rest) = split::<ViewHead>(rest).ok_or_else(other)?;
        let n = view.n as usize;
        if n > MAX_SUBFLOWS || view.self_index >= view.n || rest.len() < n * size_of::<Subflow>() {
            return Err(other());
        }
        let mut whole =
            View { connection: view.connection, n: view.n, self_index: view.self_index, ..View::default() };
        bytemuck::cast_slice_mut(&mut whole.subflow[..n]).copy_from_slice(&rest[..n * size_of::<Subflow>()]);
        let mut private: Vec<u64> = private.chunks_exact(8).map(bytemuck::pod_read_unaligned).collect();
        // An algorithm without private memory has one word natively.
        private.resize(private.len().max(1), 0);

        let key = [bytemuck::bytes_of(&[head.identity, head.source]), params].concat();
        let origin = if let Some(known) = self.origins.get(&key) {
            Arc::clone(known)
        } else {
            let values: Vec<u32> = params.chunks_exact(4).map(bytemuck::pod_read_unaligned).collect();
            let origin = Arc::new(Origin { spec: spec(algorithm, &values)?, source_hash: head.source });
            self.origins.insert(key, Arc::clone(&origin));
            origin
        };
        Ok(Record { head, origin, private, view: whole })
    }
}

/// One half of a call.
struct Record {
    head: RecordHead,
    origin: Arc<Origin>,
    private: Vec<u64>,
    view: View,
}

fn split<T: Pod>(bytes: &[u8]) -> Option<(T, &[u8])> {
    let (head, rest) = bytes.split_at_checked(size_of::<T>())?;
    Some((bytemuck::pod_read_unaligned(head), rest))
}

/// `braid_identity_of` of `kernel/shared/view.h`.
pub(crate) fn identity(name: &str) -> u64 {
    let digit = |byte: u8| u64::from(if byte >= b'a' { byte - b'a' + 1 } else { byte - b'0' + 27 });
    let digits = name.bytes().map(digit).chain(std::iter::repeat(0)).take(9);
    (digits.fold(0_u64, |identity, digit| identity * 37 + digit) << 16) | LAYOUT_VERSION
}

fn spec(algorithm: &Algorithm, values: &[u32]) -> Result<Spec, String> {
    let mut text = algorithm.name().to_owned();
    for (param, &value) in algorithm.params().zip(values) {
        text.extend([":", param.name, "=", &param.show(value)]);
    }
    Spec::parse(&text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_an_identity_of_its_own() {
        let mut identities: Vec<u64> =
            braid_algorithms::all().iter().map(|known| identity(known.name())).collect();
        identities.sort_unstable();
        identities.dedup();
        assert_eq!(identities.len(), braid_algorithms::all().len());
    }
}
