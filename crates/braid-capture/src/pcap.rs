//! Captures of packets at the sending host of a connection, as pcapng files: one per connection, with one interface per
//! subflow, raw IP, times in nanoseconds since the start of the run.
//!
//! The model's packets have no payload, addresses and keys. These are made up, keys, nonces and initial numbers from
//! the seed, so that Wireshark can follow the MPTCP connection and check every checksum and HMAC. Packets of a real
//! stack are written unchanged: [`Recording`].

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::time::Duration;

use braid_scenario::model::{Connection, Scenario, Traffic};
use braid_sim::observe::{At, Event, Observer};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError};

use crate::headers::{Ends, Frame};

/// Unit of times: 10^-9 s.
const NANOSECONDS: u8 = 9;

/// The captures of a run.
pub struct Captures<W: Write> {
    /// One per connection of the scenario.
    connections: Vec<Capture<W>>,
    seed: u64,
    snap_length: u32,
    /// The first error; nothing is written after it.
    failure: Option<io::Error>,
}

struct Capture<W: Write> {
    model: Connection,
    /// By flow; for short flows only open ones.
    ends: BTreeMap<u32, Ends>,
    file: PcapNgWriter<W>,
}

impl<W: Write> Captures<W> {
    /// Begins a capture for each connection of `scenario` in the given sinks, in order. Stores at most `snap_length`
    /// bytes of each packet. `about` is the comment in each file.
    ///
    /// # Errors
    /// A sink's error.
    ///
    /// # Panics
    /// If there are fewer sinks than connections.
    pub fn new(
        scenario: &Scenario,
        seed: u64,
        snap_length: u32,
        about: &str,
        sinks: impl IntoIterator<Item = W>,
    ) -> io::Result<Self> {
        let files = files(scenario, snap_length, about, sinks)?;
        let models = scenario.connections.iter().cloned();
        let connections =
            models.zip(files).map(|(model, file)| Capture { model, ends: BTreeMap::new(), file });
        Ok(Self { connections: connections.collect(), seed, snap_length, failure: None })
    }

    /// The sinks, complete.
    ///
    /// # Errors
    /// An error of a sink during the run.
    pub fn finish(self) -> io::Result<Vec<W>> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.connections.into_iter().map(|capture| capture.file.into_inner()).collect()),
        }
    }

    fn write(&mut self, at: At, frame: &Frame) {
        let kept = frame.bytes.len().min(self.snap_length as usize);
        let file = &mut self.connections[at.connection].file;
        self.failure = write(file, at.subflow, at.time_ns, frame.length, &frame.bytes[..kept]).err();
    }
}

/// Captures of a run on a real stack: the same files, with real packets.
pub struct Recording<W: Write> {
    files: Vec<PcapNgWriter<W>>,
    /// The first error; nothing is written after it.
    failure: Option<io::Error>,
}

impl<W: Write> Recording<W> {
    /// As [`Captures::new`].
    ///
    /// # Errors
    /// A sink's error.
    ///
    /// # Panics
    /// If there are fewer sinks than connections.
    pub fn new(
        scenario: &Scenario,
        snap_length: u32,
        about: &str,
        sinks: impl IntoIterator<Item = W>,
    ) -> io::Result<Self> {
        Ok(Self { files: files(scenario, snap_length, about, sinks)?, failure: None })
    }

    /// Adds a packet of `length` bytes, of which `bytes` were stored, on a subflow of a connection, by their indices in
    /// the scenario. The time is since the start of the run.
    pub fn add(&mut self, connection: usize, subflow: usize, time_ns: u64, length: u32, bytes: &[u8]) {
        if self.failure.is_none() {
            self.failure = write(&mut self.files[connection], subflow, time_ns, length, bytes).err();
        }
    }

    /// The sinks, complete.
    ///
    /// # Errors
    /// An error of a sink during the run.
    pub fn finish(self) -> io::Result<Vec<W>> {
        match self.failure {
            Some(failure) => Err(failure),
            None => Ok(self.files.into_iter().map(PcapNgWriter::into_inner).collect()),
        }
    }
}

/// A file for each connection, with its interfaces.
fn files<W: Write>(
    scenario: &Scenario,
    snap_length: u32,
    about: &str,
    sinks: impl IntoIterator<Item = W>,
) -> io::Result<Vec<PcapNgWriter<W>>> {
    let mut files = Vec::new();
    for (model, sink) in scenario.connections.iter().zip(sinks) {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(Cow::Owned(format!("{about}, connection {}", model.name))),
                SectionHeaderOption::UserApplication(Cow::Borrowed("Braid")),
            ],
            ..SectionHeaderBlock::default()
        };
        let mut file = PcapNgWriter::with_section_header(sink, section).map_err(cause)?;
        for subflow in &model.subflows {
            let route: Vec<&str> =
                subflow.route.iter().map(|&link| scenario.links[link].name.as_str()).collect();
            let interface = InterfaceDescriptionBlock {
                linktype: DataLink::RAW,
                snaplen: snap_length,
                options: vec![
                    InterfaceDescriptionOption::IfName(Cow::Owned(format!(
                        "{}.{}",
                        model.name, subflow.name
                    ))),
                    InterfaceDescriptionOption::IfDescription(Cow::Owned(route.join(" "))),
                    InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
                ],
            };
            file.write_pcapng_block(interface).map_err(cause)?;
        }
        files.push(file);
    }
    assert_eq!(files.len(), scenario.connections.len(), "a sink for each connection");
    Ok(files)
}

fn write<W: Write>(
    file: &mut PcapNgWriter<W>,
    subflow: usize,
    time_ns: u64,
    length: u32,
    bytes: &[u8],
) -> io::Result<()> {
    let block = EnhancedPacketBlock {
        interface_id: subflow as u32,
        timestamp: Duration::from_nanos(time_ns),
        original_len: length,
        data: Cow::Borrowed(bytes),
        options: vec![],
    };
    file.write_pcapng_block(block).map(drop).map_err(cause)
}

impl<W: Write> Observer for Captures<W> {
    fn observe(&mut self, at: At, event: &Event) {
        if self.failure.is_some() {
            return;
        }
        let now_us = (at.time_ns / 1_000) as u32;
        let Capture { model, ends, .. } = &mut self.connections[at.connection];
        if *event == Event::Closed && matches!(model.traffic, Traffic::Poisson { .. }) {
            ends.remove(&at.flow);
            return;
        }
        let ends = ends.entry(at.flow).or_insert_with(|| Ends::new(model, self.seed, at));
        ends.renew(model, self.seed, at);
        let frame = match event {
            Event::Opening { step } => ends.opening(at.subflow, *step, now_us),
            Event::Answer { step } => ends.answer(at.subflow, *step, now_us),
            Event::Sent(sent) => ends.data(at.subflow, sent, now_us),
            Event::Acknowledgement(ack) => ends.acknowledgement(at.subflow, ack, now_us),
            Event::Request(request) => ends.request(at.subflow, request, now_us),
            _ => return,
        };
        self.write(at, &frame);
    }
}

fn cause(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
