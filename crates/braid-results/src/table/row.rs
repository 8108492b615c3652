//! Subjects of rows, and the rows of runs.

use crate::detection::Detection;
use crate::measure::{LinkSample, Measurements, SubflowSample, Transfer};
use crate::{
    Application, Connection, DataLevel, Deadline, Link, LinkDirection, Metrics, OK, Period, Run, Subflow,
    Times,
};

const FORWARD: &str = "forward";
const REVERSE: &str = "reverse";

/// Subject of a row; the parts depend on the table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    pub(super) number: u64,
    pub(super) run: &'a Run,
    pub(super) period: Option<&'a Period>,
    pub(super) connection: Option<&'a Connection>,
    pub(super) subflow: Option<&'a Subflow>,
    pub(super) link: Option<(&'a Link, &'static str)>,
    pub(super) sample: Option<&'a SubflowSample>,
    pub(super) queue: Option<&'a LinkSample>,
    pub(super) transfer: Option<&'a Transfer>,
    pub(super) detection: Option<&'a Detection>,
}

impl<'a> Row<'a> {
    pub(super) fn of(number: u64, run: &'a Run) -> Self {
        Self {
            number,
            run,
            period: None,
            connection: None,
            subflow: None,
            link: None,
            sample: None,
            queue: None,
            transfer: None,
            detection: None,
        }
    }

    /// Metrics of its interval.
    pub(super) fn metrics(&self) -> &'a Metrics {
        self.period.map_or(&self.run.metrics, |period| &period.metrics)
    }

    pub(super) fn data_level(&self) -> Option<&'a DataLevel> {
        self.connection?.data_level.as_ref()
    }

    pub(super) fn application(&self) -> Option<&'a Application> {
        self.connection?.application.as_ref()
    }

    pub(super) fn times(&self) -> Option<&'a Times> {
        self.application()?.time_ms.as_ref()
    }

    pub(super) fn deadline(&self) -> Option<&'a Deadline> {
        self.application()?.deadline.as_ref()
    }

    pub(super) fn direction(&self) -> Option<&'a LinkDirection> {
        let (link, direction) = self.link?;
        Some(if direction == FORWARD { &link.forward } else { &link.reverse })
    }

    /// The forward direction's link: values of whole links are in its row.
    pub(super) fn forward(&self) -> Option<&'a Link> {
        self.link.filter(|(_, direction)| *direction == FORWARD).map(|(link, _)| link)
    }
}

/// One row per run.
pub fn runs(runs: &[Run]) -> Vec<Row<'_>> {
    numbered(runs).map(|(number, run)| Row::of(number, run)).collect()
}

/// One row per subflow; a TCP connection has one. A failed run has one row with its status.
pub fn flows(runs: &[Run]) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (number, run) in numbered(runs) {
        let row = Row::of(number, run);
        if run.status != OK {
            rows.push(row);
        }
        for connection in &run.connections {
            let row = Row { connection: Some(connection), ..row };
            rows.extend(connection.subflows.iter().map(|subflow| Row { subflow: Some(subflow), ..row }));
        }
    }
    rows
}

/// One row per subflow and period, in the order of [`flows`] within each period.
pub fn periods(runs: &[Run]) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (number, run) in numbered(runs) {
        for period in &run.periods {
            for connection in &period.connections {
                let row = Row { period: Some(period), connection: Some(connection), ..Row::of(number, run) };
                rows.extend(connection.subflows.iter().map(|subflow| Row { subflow: Some(subflow), ..row }));
            }
        }
    }
    rows
}

/// Two rows per link, one for each direction.
pub fn links(runs: &[Run]) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (number, run) in numbered(runs) {
        for link in &run.links {
            let row = Row::of(number, run);
            rows.extend([FORWARD, REVERSE].map(|direction| Row { link: Some((link, direction)), ..row }));
        }
    }
    rows
}

/// One row per interval and subflow with a shared-bottleneck detector.
pub fn detections(runs: &[Run]) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for (number, run) in numbered(runs) {
        let row = Row::of(number, run);
        rows.extend(run.detections.iter().map(|detection| Row { detection: Some(detection), ..row }));
    }
    rows
}

/// One row per sample of each subflow of a run, in the order of [`flows`].
///
/// # Panics
/// If `counts` are of another run.
pub fn samples<'a>(number: u64, run: &'a Run, counts: &'a Measurements) -> Vec<Row<'a>> {
    assert_eq!(run.connections.len(), counts.connections.len(), "the measurements of this run");
    let mut rows = Vec::new();
    for (connection, counts) in run.connections.iter().zip(&counts.connections) {
        for (subflow, counts) in connection.subflows.iter().zip(&counts.subflows) {
            let row = Row { connection: Some(connection), subflow: Some(subflow), ..Row::of(number, run) };
            rows.extend(counts.samples.iter().map(|sample| Row { sample: Some(sample), ..row }));
        }
    }
    rows
}

/// One row per sample of each shared link of a run, forward direction.
///
/// # Panics
/// If `counts` are of another run.
pub fn queues<'a>(number: u64, run: &'a Run, counts: &'a Measurements) -> Vec<Row<'a>> {
    assert_eq!(run.links.len(), counts.links.len(), "the measurements of this run");
    let mut rows = Vec::new();
    for (link, counts) in run.links.iter().zip(&counts.links) {
        let row = Row { link: Some((link, FORWARD)), ..Row::of(number, run) };
        rows.extend(counts.samples.iter().map(|queue| Row { queue: Some(queue), ..row }));
    }
    rows
}

/// One row per transfer of each connection of a run.
///
/// # Panics
/// If `counts` are of another run.
pub fn transfers<'a>(number: u64, run: &'a Run, counts: &'a Measurements) -> Vec<Row<'a>> {
    assert_eq!(run.connections.len(), counts.connections.len(), "the measurements of this run");
    let mut rows = Vec::new();
    for (connection, counts) in run.connections.iter().zip(&counts.connections) {
        let row = Row { connection: Some(connection), ..Row::of(number, run) };
        rows.extend(counts.transfers.iter().map(|transfer| Row { transfer: Some(transfer), ..row }));
    }
    rows
}

fn numbered(runs: &[Run]) -> impl Iterator<Item = (u64, &Run)> {
    (0..).zip(runs)
}
