//! The outcome of a run.

use braid_results::measure::Measurements;
use braid_scenario::model::Scenario;

use super::{error::Error, measure, translate::Translated, validate};
use crate::job::{Packet, Report};

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The measurements.
    pub measurements: Measurements,
    /// Warnings of the run's checks.
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

/// Receiver of captured packets.
pub struct Capture<'a> {
    /// Maximum of stored bytes per packet.
    pub snap_length: u32,
    /// Called for each packet when the run is done, per connection in order of time.
    pub each: &'a mut dyn FnMut(Packet<'_>),
}
