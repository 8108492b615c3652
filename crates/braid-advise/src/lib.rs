//! Which congestion control and scheduler a network should have.
//!
//! A [`Question`] is a network, as a scenario file describes it, and candidates. Each candidate is simulated there, alone and
//! beside a TCP flow at each bottleneck. What others lose is judged against CUBIC on one path of each bottleneck, which is always a
//! candidate, too. The [`Advice`] is the candidate with the greatest [utility](Row::utility) among those that are
//! [advisable](Row::is_advisable), if it is better than that.
//!
//! ```
//! use braid_advise::Question;
//! use braid_scenario::Source;
//!
//! let network = Source::find("everyday/shared")?;
//! let advice = Question::new(network).candidates(["cubic", "olia"]).duration("20s").seeds(8).ask()?;
//! let cubic = &advice.rows[0];
//! assert!(!cubic.is_fair(), "CUBIC on both subflows takes two thirds of a bottleneck that all share");
//! assert!(advice.choice().is_fair());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A network that is in use is described by what its sockets say: [`estimate`] makes [`Measured`] of [`Look`]s at them, and
//! that [networks](Measured::networks): all that it may be within what is known. Where it cannot tell whether two paths share a
//! bottleneck there are two of them, and a candidate must do no harm in either. A [test](probe), in which paths send alone and beside
//! others, tells much better.

mod choice;
mod draw;
mod estimate;
mod losses;
mod measured;
mod moving;
mod others;
pub mod probe;
mod queue;
pub mod rehearse;
mod replay;

pub use choice::{ALIKE, Advice, GREAT_HARM, MOST_HARM, Row, SURE_HARM};
pub use draw::Network;
pub use estimate::{Look, Seen, TooLittle, estimate};
pub use measured::{Discipline, Had, MayBe, Measured, Others, Pair, Path, Sharing, packet_us};
pub use replay::{CANDIDATES, Question};
