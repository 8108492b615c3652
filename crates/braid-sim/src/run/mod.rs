//! A run from the first event to the last. Each file uses those above it:
//!
//! - [`calendar`] — what is planned for certain times;
//! - [`retired`] — what was counted in past incarnations;
//! - [`state`] — all that a run consists of;
//! - [`counts`], [`samples`] — what is measured;
//! - [`subflows`] — they come and go;
//! - [`traffic`] — what applications do;
//! - [`arrivals`], [`timers`] — what packets and timers do; [`datagrams`] — those of the caller;
//! - [`advance`] — one event after the other;
//! - [`look_ahead`] — which links can be given their packets early;
//! - [`build`], [`finish`] — beginning and end;
//! - [`watch`] — a run that is observed, with [`offsets`].

mod advance;
mod arrivals;
mod build;
mod calendar;
mod counts;
#[cfg(test)]
mod data_tests;
mod datagrams;
mod finish;
mod look_ahead;
mod offsets;
mod retired;
mod samples;
mod state;
mod subflows;
mod timers;
mod traffic;
mod watch;

pub(crate) use state::Run;
