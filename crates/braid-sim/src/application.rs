//! The application of a connection: its writes, and the completion times of its transfers.

use std::collections::VecDeque;

use braid_results::measure::Transfer;
use braid_scenario::model::{Connection, ConstantRate, Traffic};

use crate::draws::Draws;
use crate::observe;
use crate::packet::Packet;

/// Longest wait before a request is repeated, nanoseconds.
const LONGEST_WAIT_NS: u64 = 120_000_000_000;

/// State of an application; unused for bulk transfers.
pub(crate) struct Application {
    pub(crate) traffic: Traffic,
    /// Index of its first connection in the run. It has one connection, or as many as there can be short flows at a
    /// time.
    pub(crate) first: usize,
    pub(crate) n: usize,
    pub(crate) draws: Draws,
    /// In order of their start.
    pub(crate) transfers: Vec<Transfer>,
    /// Short flows: idle connections, the longest idle first.
    pub(crate) free: VecDeque<usize>,
    /// Short flows: transfers that wait for a connection.
    pub(crate) waiting: VecDeque<u32>,
    /// Reused connections: payload delivered and packets reinjected in past incarnations.
    pub(crate) retired_bytes: u64,
    pub(crate) retired_data: crate::data::Counts,
    /// Its only object has arrived, or it was stopped.
    pub(crate) ended: Option<u64>,
    /// On-off: it is in its on period.
    pub(crate) sends: bool,
    /// On-off: first packet of the current on period.
    pub(crate) first_packet: u32,
    /// Start of writing at a constant rate, and number of writes since.
    pub(crate) since: u64,
    pub(crate) writes: u64,
    /// Request-response: the outstanding request.
    pub(crate) request: Request,
}

/// An outstanding request.
#[derive(Default)]
pub(crate) struct Request {
    /// Its transfer.
    pub(crate) transfer: u32,
    /// Packets of the request that have not arrived, one bit each.
    pub(crate) missing: u32,
    /// Number of repetitions.
    pub(crate) repeats: u32,
}

impl Request {
    /// Payload bytes of packet `part` of a request of `total` bytes.
    pub(crate) fn payload(total: u32, part: u32, mss: u32) -> u32 {
        (total - part * mss).min(mss)
    }

    /// Time until missing packets are sent again.
    pub(crate) fn wait_ns(&self, rto_ns: u64) -> u64 {
        (rto_ns << self.repeats.min(16)).min(LONGEST_WAIT_NS)
    }
}

impl Application {
    pub(crate) fn new(model: &Connection, first: usize, n: usize, seed: u64) -> Self {
        Self {
            traffic: model.traffic.clone(),
            first,
            n,
            draws: Draws::new(seed, &model.name),
            transfers: Vec::new(),
            free: (first..first + n).collect(),
            waiting: VecDeque::new(),
            retired_bytes: 0,
            retired_data: crate::data::Counts::default(),
            ended: None,
            sends: false,
            first_packet: 0,
            since: 0,
            writes: 0,
            request: Request::default(),
        }
    }

    /// Number of connections that a model needs.
    pub(crate) fn connections(model: &Connection) -> usize {
        match model.traffic {
            Traffic::Poisson { at_once, .. } => at_once as usize,
            _ => 1,
        }
    }

    /// Begins a transfer now; returns its number.
    pub(crate) fn begin(&mut self, now: u64, bytes: u64) -> u32 {
        self.transfers.push(Transfer { start_ns: now, end_ns: None, bytes });
        self.transfers.len() as u32 - 1
    }

    /// Describes a packet of a request.
    pub(crate) fn part(&self, packet: &Packet, mss: u32) -> observe::Request {
        let Traffic::RequestResponse { request: total, .. } = self.traffic else {
            unreachable!("only request-response sends requests");
        };
        let (number, part) = (packet.dsn, packet.seq);
        observe::Request {
            number,
            part,
            offset: u64::from(number) * u64::from(total) + u64::from(part * mss),
            bytes: Request::payload(total, part, mss),
        }
    }

    /// Time of the next write at this rate.
    pub(crate) fn next_write(&self, rate: ConstantRate) -> u64 {
        let bits = u128::from(self.writes) * u128::from(rate.write) * 8_000_000_000;
        self.since + (bits / u128::from(rate.rate_bps)) as u64
    }
}
