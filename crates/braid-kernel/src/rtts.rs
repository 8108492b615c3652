//! RTT samples of all TCP sockets, counted in the kernel (`kernel/rtts.bpf.c`).

use bytemuck::{Pod, Zeroable};
use libbpf_rs::{Link, MapCore as _, MapFlags, Object};

use crate::{
    Error,
    object::{load, map},
};

const DOING: &str = "counting RTT samples";

/// `struct counts` of `kernel/rtts.bpf.c`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Counts {
    token: u32,
    subflow_id: u32,
    samples: u64,
    steps_us: u64,
    last_us: u32,
    delivered: u32,
}

/// The RTT samples of a socket since it was first seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttCounts {
    /// The socket, see [`Socket`](crate::Socket).
    pub cookie: u64,
    /// MPTCP subflow: its connection's token.
    pub token: Option<u32>,
    /// MPTCP subflow: its number within the connection, as in `MPTCP_FULL_INFO`.
    pub subflow_id: u32,
    /// Number of samples.
    pub samples: u64,
    /// Sum of the differences between successive samples, microseconds.
    pub steps_us: u64,
}

/// Counts the RTT samples of all TCP sockets in all network namespaces while it exists.
pub struct Rtts {
    _link: Link,
    object: Object,
}

impl Rtts {
    /// Begins to count.
    pub fn open() -> Result<Self, Error> {
        let bytes = include_bytes!(concat!(env!("OUT_DIR"), "/rtts.bpf.o"));
        let (object, _) = load("rtts", bytes, |_| Ok(()))?;
        let program =
            object.progs_mut().next().ok_or_else(|| Error::at(DOING)("the object has no program"))?;
        let link = program.attach().map_err(Error::at(DOING))?;
        Ok(Self { _link: link, object })
    }

    /// Counters until now, of the last 16,384 sockets.
    pub fn counts(&mut self) -> Result<Vec<RttCounts>, Error> {
        let counted = map(&mut self.object, "braid_rtts")?;
        let mut all = Vec::new();
        for key in counted.keys() {
            let value = counted.lookup(&key, MapFlags::ANY).map_err(Error::at(DOING))?;
            // The kernel has evicted it since.
            let Some(value) = value else { continue };
            let counts: Counts = bytemuck::pod_read_unaligned(&value);
            all.push(RttCounts {
                cookie: bytemuck::pod_read_unaligned(&key),
                token: Some(counts.token).filter(|&token| token != 0),
                subflow_id: counts.subflow_id,
                samples: counts.samples,
                steps_us: counts.steps_us,
            });
        }
        Ok(all)
    }
}
