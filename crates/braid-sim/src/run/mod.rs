//! A run from the first event to the last. Each module uses those above it:
//!
//! - [`calendar`] — planned events of the scenario;
//! - [`retired`] — counters of past incarnations;
//! - [`state`] — the state of a run;
//! - [`counts`], [`samples`] — measurements;
//! - [`subflows`] — joining and leaving;
//! - [`traffic`] — applications;
//! - [`arrivals`], [`timers`] — packets and timers; [`datagrams`] — those of an external stack;
//! - [`advance`] — the event loop;
//! - [`look_ahead`] — links that can get packets early;
//! - [`build`], [`finish`] — beginning and end;
//! - [`watch`] — an observed run, with [`offsets`].

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
