//! Executes a job and reports: in a guest, or on this machine.

mod aqm;
mod capture;
mod clock;
mod counted;
mod counters;
mod crowd;
mod every;
mod flow;
mod guest;
mod here;
mod interfaces;
mod netlink;
mod network;
mod outcome;
mod pair;
mod paths;
mod pattern;
mod processors;
mod programs;
mod queue;
mod rtts;
mod run;
mod sockets;
mod tcp_info;
mod thresholds;
mod told;
mod verdicts;

pub use guest::agent;
pub use here::agent_here;
