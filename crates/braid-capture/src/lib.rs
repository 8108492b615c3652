//! What the sending hosts of a run do and see, as files that other tools read: [`pcap`] for Wireshark,
//! [`events`] for qlog tools and scripts.
//!
//! Both are a function of scenario, congestion control and seed: equal runs give equal bytes.

pub mod events;
mod headers;
pub mod pcap;
