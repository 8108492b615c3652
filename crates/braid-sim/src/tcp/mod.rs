//! One subflow's TCP, as Linux does it; the rules and their sources are listed in `docs/tcp-model.md`.
//!
//! - [`scoreboard`] — what was sent and what became of it;
//! - [`rtt`] — smoothed RTT, minimum RTT, retransmission timeout;
//! - [`rack`] — which segments are lost (RFC 8985);
//! - [`rate`] — delivery-rate samples;
//! - [`sender`] — transmission and the order of work per acknowledgement;
//! - [`state`] — congestion states, proportional rate reduction, undo;
//! - [`timers`] — RTO, tail loss probe, reordering timer;
//! - [`receiver`] — acknowledgements;
//! - [`watch`] — what an observer may see of a sender.

pub(crate) mod rack;
mod rate;
pub(crate) mod receiver;
pub(crate) mod rtt;
pub(crate) mod scoreboard;
pub(crate) mod sender;
mod state;
#[cfg(test)]
mod tests;
pub(crate) mod timers;
mod watch;
