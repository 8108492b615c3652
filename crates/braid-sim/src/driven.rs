//! An application of the simulator: its connections, and its request on the way.

use std::collections::VecDeque;

use braid_scenario::model::{Connection, Traffic};

use crate::application::Application;
use crate::observe;
use crate::packet::Packet;

/// A repeated request waits at most this long, nanoseconds.
const LONGEST_WAIT_NS: u64 = 120_000_000_000;

/// An application and the connections that it uses.
pub(crate) struct Driven {
    pub(crate) application: Application,
    /// Its connections among all of the run: one, or as many as there can be short flows at a time.
    pub(crate) first: usize,
    pub(crate) n: usize,
    /// Short flows: unused connections, the longest unused first.
    pub(crate) free: VecDeque<usize>,
    /// Of connections that were used again: payload delivered, packets reinjected.
    pub(crate) retired_bytes: u64,
    pub(crate) retired_data: crate::data::Counts,
    /// On-off without a rate: the first packet of this turn.
    pub(crate) first_packet: Option<u32>,
    /// Request-response: the request under way.
    pub(crate) request: Request,
}

/// A request on its way.
#[derive(Default)]
pub(crate) struct Request {
    /// Its transfer.
    pub(crate) transfer: u32,
    /// Bytes of it.
    pub(crate) bytes: u32,
    /// Packets of it that have not arrived, one bit each.
    pub(crate) missing: u32,
    /// How often it has been sent again.
    pub(crate) repeats: u32,
}

impl Request {
    /// Payload bytes of a packet of a request that has `total` bytes.
    pub(crate) fn payload(total: u32, part: u32, mss: u32) -> u32 {
        (total - part * mss).min(mss)
    }

    /// Time until missing parts are sent again.
    pub(crate) fn wait_ns(&self, rto_ns: u64) -> u64 {
        (rto_ns << self.repeats.min(16)).min(LONGEST_WAIT_NS)
    }
}

impl Driven {
    pub(crate) fn new(model: &Connection, first: usize, seed: u64) -> Self {
        let n = Application::connections(&model.traffic);
        Self {
            application: Application::new(&model.traffic, &model.name, seed),
            first,
            n,
            free: (first..first + n).collect(),
            retired_bytes: 0,
            retired_data: crate::data::Counts::default(),
            first_packet: None,
            request: Request::default(),
        }
    }
}

/// What a packet of a request of this connection is.
pub(crate) fn part(packet: &Packet, model: &Connection) -> observe::Request {
    let Traffic::RequestResponse { request: total, .. } = model.traffic else {
        unreachable!("only request-response sends requests");
    };
    let (number, part) = (packet.dsn, packet.seq);
    observe::Request {
        number,
        part,
        offset: u64::from(number) * u64::from(total) + u64::from(part * model.mss),
        bytes: Request::payload(total, part, model.mss),
    }
}
