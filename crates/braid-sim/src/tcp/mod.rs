//! One subflow's TCP, as Linux does it; the rules and their sources are listed in `docs/tcp-model.md`.
//!
//! - [`scoreboard`] — what was sent and what became of it;
//! - [`rtt`] — smoothed RTT, minimum RTT, retransmission timeout;
//! - [`rack`] — which segments are lost (RFC 8985);
//! - [`rate`] — delivery-rate samples;
//! - [`sender`] — the sending end, and how it talks to its algorithm;
//! - [`timer`] — its one timer: RTO, tail loss probe, reordering;
//! - [`usage`] — whether window or application limits it;
//! - [`transmit`] — new packets, retransmissions, pacing;
//! - [`ack_information`] — what one acknowledgement has told;
//! - [`state`] — congestion states, proportional rate reduction, undo;
//! - [`ack`] — the order of work per acknowledgement;
//! - [`expiry`] — what happens when the timer expires;
//! - [`lifecycle`] — its beginning and end;
//! - [`receiver`] — acknowledgements;
//! - [`watch`] — what an observer may see of a sender.

mod ack;
mod ack_information;
pub(crate) mod expiry;
mod lifecycle;
pub(crate) mod rack;
mod rate;
pub(crate) mod receiver;
pub(crate) mod rtt;
pub(crate) mod scoreboard;
pub(crate) mod sender;
mod state;
#[cfg(test)]
mod tests;
mod timer;
mod transmit;
mod usage;
pub(crate) mod watch;
