//! Packets and events of a run's sending hosts as files for other tools: [`pcap`] for Wireshark, [`events`] for qlog
//! tools and scripts.
//!
//! Both are a function of scenario, congestion control and seed: equal runs give equal bytes.

pub mod events;
mod headers;
pub mod pcap;
