//! What comes of a run.

use braid_results::measure::Measurements;
use braid_scenario::model::Scenario;

use super::{error::Error, measure, translate::Translated, validate};
use crate::job::{Packet, Report};

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was measured.
    pub measurements: Measurements,
    /// What makes it doubtful; for people.
    pub doubts: Vec<String>,
}

impl Outcome {
    pub(crate) fn new(
        scenario: &Scenario,
        translated: &Translated,
        report: &Report,
        samples: bool,
    ) -> Result<Self, Error> {
        let measurements = measure::measure(scenario, translated, report, samples).map_err(Error::guest)?;
        Ok(Self { measurements, doubts: validate::doubts(scenario, translated, report) })
    }
}

/// Who gets the packets that senders send and get.
pub struct Capture<'a> {
    /// Of each packet at most so many bytes are kept.
    pub snap_length: u32,
    /// Gets them when the run is done, those of a connection in order of time.
    pub each: &'a mut dyn FnMut(Packet<'_>),
}
