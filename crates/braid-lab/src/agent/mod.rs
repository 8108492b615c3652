//! Executes a job and reports: in a guest, or on this machine.

mod aqm;
mod capture;
mod clock;
mod counted;
mod counters;
mod drop_nth;
mod flow;
mod flow_group;
mod guest;
mod here;
mod interfaces;
mod network;
mod outcome;
mod pair;
mod paths;
mod pattern;
mod processors;
mod programs;
mod queue;
mod readback;
mod rtts;
mod run;
mod sockets;
mod tcp_info;
mod thresholds;
mod verdicts;

pub use guest::agent;
pub use here::agent_here;
