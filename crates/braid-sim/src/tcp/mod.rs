//! One subflow's TCP, as in Linux; `docs/tcp-model.md` lists the rules and their sources.
//!
//! - [`scoreboard`] — records of sent packets;
//! - [`rtt`] — smoothed RTT, minimum RTT, retransmission timeout;
//! - [`rack`] — which segments are lost (RFC 8985);
//! - [`rate`] — delivery-rate samples;
//! - [`sender`] — the sending end, and its calls of the algorithm;
//! - [`timer`] — its one timer: RTO, tail loss probe, reordering;
//! - [`wheel`] — when the kernel's timers expire;
//! - [`usage`] — whether window or application is the limit;
//! - [`transmit`] — new packets, retransmissions, pacing;
//! - [`ack_information`] — information from one acknowledgement;
//! - [`state`] — congestion states, proportional rate reduction, undo;
//! - [`ack`] — the order of work per acknowledgement;
//! - [`expiry`] — what happens when the timer expires;
//! - [`lifecycle`] — start and end of a subflow;
//! - [`receiver`] — acknowledgements;
//! - [`watch`] — a sender's state for observers.

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
pub(crate) mod wheel;
