//! What happens in an execution.

use braid_results::measure::Measurements;
use braid_results::{OK, Run};
use serde::{Deserialize, Serialize};

use crate::{Outcome, Plan};

/// What happens in an [`Execution`](crate::Execution).
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A backend does something that takes a while before the first run, such as fetching a kernel; for people.
    Preparing(&'a str),
    /// How far it is; several times a second.
    Progress {
        /// Runs that are done.
        done: usize,
        /// Runs that there are.
        total: usize,
        /// How much of everything is done, 0 to 1, runs in progress included.
        share: f64,
    },
    /// A run is done. They come in the order of the plan.
    Finished(Box<Finished>),
}

/// A run and its result.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Its number in the plan.
    pub number: usize,
    /// What was asked for and what was measured; a failure is in its status.
    pub run: Run,
    /// What was measured; `None` if the run failed.
    pub measurements: Option<Measurements>,
    /// Whether the measurements hold samples.
    pub sampled: bool,
    /// Whether it was done already.
    pub reused: bool,
}

/// A run as it is stored. With the scenario it gives the [`Run`] again.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Record {
    Done(Outcome),
    Failed(String),
}

impl Finished {
    pub(crate) fn new(plan: &Plan, number: usize, record: Record, sampled: bool, reused: bool) -> Self {
        let setup = plan.case(number).setup();
        let (run, measurements) = match record {
            Record::Done(Outcome { measurements, environment, doubts }) => {
                let run = Run { environment, doubts, ..setup.measured(&measurements) };
                (run, Some(measurements))
            }
            Record::Failed(reason) => (setup.failed(reason), None),
        };
        Self { number, run, measurements, sampled, reused }
    }

    /// How to do it again, and what came of it; for people.
    pub fn which(&self) -> String {
        let Run { scenario, backend, cc, params, seed, status, .. } = &self.run;
        let params =
            params.iter().fold(String::new(), |text, (name, value)| format!("{text} {name}={value}"));
        let backend = if backend == "sim" { String::new() } else { format!(" --backend {backend}") };
        format!("{scenario}{params} --cc {cc} --seeds {seed}..{seed}{backend}: {status}")
    }

    /// As a store holds it, whether it holds all that could be asked for, and its bytes.
    ///
    /// # Panics
    /// Never: it is plain data.
    pub fn record(&self) -> (bool, Vec<u8>) {
        let Run { status, environment, doubts, .. } = &self.run;
        let record = match &self.measurements {
            Some(measurements) if status == OK => Record::Done(Outcome {
                measurements: measurements.clone(),
                environment: environment.clone(),
                doubts: doubts.clone(),
            }),
            _ => Record::Failed(status.clone()),
        };
        (self.sampled || status != OK, postcard::to_stdvec(&record).expect("plain data"))
    }
}
