//! Results of a run in the agent.

use std::{
    fmt::Display,
    io::{self, Write},
};

use crate::job::{self, Job, Message, Report};

/// The captured packets, in chunks, and the report.
pub(super) type Done = (Vec<Vec<u8>>, Report);

pub(super) fn send(to: &mut impl Write, outcome: Result<Done, String>) -> io::Result<()> {
    match outcome {
        Ok((packets, report)) => {
            for piece in packets {
                to.write_all(&job::frame(&Message::Packets(piece)))?;
            }
            to.write_all(&job::frame(&Message::Done(report)))
        }
        Err(reason) => to.write_all(&job::frame(&Message::Failed(reason))),
    }
}

pub(super) fn whole(bytes: &[u8]) -> Result<Job, String> {
    Ok(job::unframe(bytes)?.ok_or("the job is incomplete")?.0)
}

pub(super) fn failed<E: Display>(what: impl Display) -> impl Fn(E) -> String {
    move |error| format!("{what}: {error}")
}
