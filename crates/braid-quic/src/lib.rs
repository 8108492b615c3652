//! Coupled congestion control for multipath QUIC.
//!
//! A [`Coupling`] is the congestion control of one connection: it creates a coupled controller for each path. The
//! algorithms are Braid's, the same C files that run in the Linux kernel, by the same names: `olia`,
//! `lia:rounding=usec`, `split:sbd=ba:in=mpcubic:out=cubic`.
//!
//! ```
//! use std::sync::Arc;
//! use braid_quic::{Coupling, Spec};
//!
//! let olia = Spec::parse("olia")?;
//! let mut transport = noq_proto::TransportConfig::default();
//! transport.max_concurrent_multipath_paths(4);
//! // One for each connection: paths that share it are coupled.
//! transport.congestion_controller_factory(Coupling::new(&olia));
//! # Ok::<(), braid_quic::SpecError>(())
//! ```
//!
//! A client creates a `TransportConfig` for each connection; a server clones its own for each incoming one and passes
//! it to `Incoming::accept_with`. The guide `docs/guides/quic.md` adds this to an existing program.
//!
//! # How the stack's events become the algorithms'
//!
//! | `noq_proto` | the contract's event (`braid.h`) | how |
//! |---|---|---|
//! | `ControllerFactory::build` | `INIT` | a subflow with the next id; not eligible before its first RTT sample. With eight paths alive a further one is alone, a coupling of its own |
//! | `on_packet_sent` | `ON_IDLE_RESTART` | if nothing was in flight; without decay, as the stack paces (RFC 9002 sect. 7.8). Notes what rate samples need |
//! | `on_ack`, each packet | none | counted until the batch ends; the packet sent last gives the RTT and its minimum, the one sent first the smoothed RTT, as in TCP: so the wait for an ACK counts, and window by RTT is the rate. The peer's stack sends the ACKs of all paths on its open path with the lowest id, whose way back is so in every path's RTT |
//! | `on_end_acks` | `ON_RECOVERED` (exit), then `ON_ACK` | once per ACK frame. The episode ends when a packet is acknowledged that was sent after its beginning; only such packets grow the window, counted in bytes |
//! | `on_congestion_event`, loss | `ON_LOSS` (fast retransmit) | unless the packet was sent before the episode began. The window goes to ssthresh at once (RFC 9002 sect. 7.3.2). The stack reports it after the ACK that revealed it, so that ACK's growth comes first |
//! | `on_congestion_event`, persistent | `ON_LOSS` (RTO) | within an episode only for algorithms that own their window; the window is 2 packets then |
//! | `on_congestion_event`, ECN | `ON_LOSS` (ECN) | once per episode; the stack does not say how many packets were marked, so `delivered_ce` counts episodes |
//! | `on_packet_lost` | none | counted. `snd_una` is what was acknowledged, `snd_nxt` what is in flight besides: as in TCP, what is lost is sent again under its numbers |
//! | `on_spurious_congestion_event` | `ON_RECOVERED` (undo) | window and ssthresh are what they were; once per episode |
//! | `app_limited`, `on_cwnd_limited` | flag `CWND_LIMITED` | if the stack had more to send than it could, or the window was full within the last RTT |
//! | `on_mtu_update` | none | the MSS is the size of a datagram; windows keep their bytes |
//! | `window` | | cwnd × MSS, at least 2 packets (RFC 9002 sect. 7.2) |
//! | `metrics().pacing_rate` | | the algorithm's; without one the stack paces at 1.25 cwnd per RTT |
//! | `clone_box` | none | a migrated path goes on with its state: original and clone are two handles of one path, which ends with the last |
//! | drop | `RELEASE` | the path leaves the sums of the others; a path that was abandoned counts until then (3 PTO) |
//! | path validation | none | a path whose address is not validated has no RTT sample of data, so it does not count yet |
//! | backup status | flag `BACKUP` | the stack does not tell controllers: [`PathController::set_backup`] |
//! | one-way delay | none | QUIC has no timestamps: detectors use the RTT |
//!
//! # What is guaranteed
//!
//! The lock of a coupling is held for one event of the algorithm and never while the stack is called. Sending or
//! acknowledging a packet, and reading the window, need no lock. ACKs allocate nothing. No input makes the code panic,
//! and a window is at least two packets; `tests/` has 100,000 random sequences of events.

mod clock;
mod controller;
mod coupling;
mod group;
mod packets;
mod path;
mod published;
mod rtt;
#[cfg(test)]
mod tests;

pub use braid_algorithms::{Spec, SpecError};
pub use controller::PathController;
pub use coupling::Coupling;
/// Flag of algorithms with a shared-bottleneck detector: [`PathState::verdict`] is its label.
pub const DETECTS: u32 = braid_algorithms::Algorithm::DETECTS;
pub use path::PathState;
