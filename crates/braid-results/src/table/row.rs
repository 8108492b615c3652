//! Which rows runs give, and how a row finds what it is about.

use crate::catalogue::{Connection, Metrics, OK, Row, Run};
use crate::measure::{ConnectionCounts, LinkCounts, Measurements};

impl<'a> Row<'a> {
    pub(crate) fn of(number: u64, run: &'a Run) -> Self {
        Self {
            number,
            run,
            period: None,
            connection: None,
            subflow: None,
            link: None,
            is_reverse: false,
            sample: None,
            queue: None,
            transfer: None,
            detection: None,
        }
    }

    /// Where [`Metrics`] may name it: the subflow first, then its connection; a link's forward direction.
    pub(crate) fn ids(&self) -> Vec<String> {
        let mut ids = Vec::new();
        if let Some(connection) = self.connection {
            ids.extend(self.subflow.map(|subflow| format!("{}.{}", connection.id, subflow.id)));
            ids.push(connection.id.clone());
        }
        ids.extend(self.link.filter(|_| !self.is_reverse).map(|link| link.id.clone()));
        ids
    }

    /// Those of the interval that it is about.
    pub(crate) fn metrics(&self) -> Option<&'a Metrics> {
        let metrics = self.period.map_or(&self.run.metrics, |period| &period.metrics);
        (self.run.status == OK).then_some(metrics)
    }
}

/// One row per run.
pub fn runs(runs: &[Run]) -> Vec<Row<'_>> {
    each(runs, |row| [row])
}

/// One row per subflow; a TCP connection has one. A failed run has one row with its status.
pub fn flows(runs: &[Run]) -> Vec<Row<'_>> {
    each(runs, |row| {
        let failed = (row.run.status != OK).then_some(row);
        failed.into_iter().chain(subflows(row, &row.run.connections))
    })
}

/// One row per subflow and period, in the order of [`flows`] within each period.
pub fn periods(runs: &[Run]) -> Vec<Row<'_>> {
    each(runs, |row| {
        let of = move |period| (Row { period: Some(period), ..row }, &period.connections);
        row.run.periods.iter().map(of).flat_map(|(row, connections)| subflows(row, connections))
    })
}

/// Two rows per link, one for each direction.
pub fn links(runs: &[Run]) -> Vec<Row<'_>> {
    each(runs, |row| {
        let of = move |link| [false, true].map(|is_reverse| Row { link: Some(link), is_reverse, ..row });
        row.run.links.iter().flat_map(of)
    })
}

/// One row per interval and subflow of which a detector of shared bottlenecks said something.
pub fn detections(runs: &[Run]) -> Vec<Row<'_>> {
    each(runs, |row| {
        row.run.detections.iter().map(move |detection| Row { detection: Some(detection), ..row })
    })
}

fn each<'a, I: IntoIterator<Item = Row<'a>>>(runs: &'a [Run], of: impl Fn(Row<'a>) -> I) -> Vec<Row<'a>> {
    (0..).zip(runs).flat_map(|(number, run)| of(Row::of(number, run))).collect()
}

/// The same row for each subflow of these connections.
fn subflows<'a>(row: Row<'a>, connections: &'a [Connection]) -> impl Iterator<Item = Row<'a>> {
    connections.iter().flat_map(move |connection| {
        let of = move |subflow| Row { connection: Some(connection), subflow: Some(subflow), ..row };
        connection.subflows.iter().map(of)
    })
}

/// One row per sample of each subflow of a run, in the order of [`flows`].
///
/// # Panics
/// If `counts` are of another run.
pub fn samples<'a>(number: u64, run: &'a Run, counts: &'a Measurements) -> Vec<Row<'a>> {
    assert_eq!(run.connections.len(), counts.connections.len(), "the measurements of this run");
    let counts = counts.connections.iter().flat_map(|connection| &connection.subflows);
    let rows = subflows(Row::of(number, run), &run.connections).zip(counts);
    rows.flat_map(|(row, counts)| counts.samples.iter().map(move |own| Row { sample: Some(own), ..row }))
        .collect()
}

/// One row per sample of each shared link of a run, forward direction.
///
/// # Panics
/// If `counts` are of another run.
pub fn queues<'a>(number: u64, run: &'a Run, counts: &'a Measurements) -> Vec<Row<'a>> {
    assert_eq!(run.links.len(), counts.links.len(), "the measurements of this run");
    let of = |(link, counts): (_, &'a LinkCounts)| {
        let row = Row { link: Some(link), ..Row::of(number, run) };
        counts.samples.iter().map(move |queue| Row { queue: Some(queue), ..row })
    };
    run.links.iter().zip(&counts.links).flat_map(of).collect()
}

/// One row per transfer of each connection of a run.
///
/// # Panics
/// If `counts` are of another run.
pub fn transfers<'a>(number: u64, run: &'a Run, counts: &'a Measurements) -> Vec<Row<'a>> {
    assert_eq!(run.connections.len(), counts.connections.len(), "the measurements of this run");
    let of = |(connection, counts): (_, &'a ConnectionCounts)| {
        let row = Row { connection: Some(connection), ..Row::of(number, run) };
        counts.transfers.iter().map(move |transfer| Row { transfer: Some(transfer), ..row })
    };
    run.connections.iter().zip(&counts.connections).flat_map(of).collect()
}
