//! Statistics of a complete sweep, from its folder.

use std::ops::ControlFlow;
use std::path::Path;

use braid_results::Run;
use braid_results::catalogue::{Key, Level, OK};
use braid_results::summary::of_group;
use braid_results::sweep::{Charted, FIGURES, Point, Sweep};

use crate::{Error, Event, Grid, Store};

/// Reads the folder of a complete sweep of this grid, one group of runs after the other.
///
/// # Errors
/// If it cannot be read.
pub fn measured(grid: &Grid, folder: &Path) -> Result<Sweep, Error> {
    let (plan, mut store) = Store::complete(folder)?;
    let (mut points, mut runs) = (Vec::new(), Vec::new());
    plan.execution().store(&mut store).run(|event| {
        if let Event::Finished(finished) = event {
            runs.push(finished.run);
            if plan.group(plan.group_of(finished.number)).seeds.count() == Some(runs.len()) {
                points.push(point(grid, &runs));
                runs.clear();
            }
        }
        ControlFlow::Continue(())
    })?;
    Ok(Sweep { points, is_sample: grid.is_sample(), axes: grid.axes() })
}

fn point(grid: &Grid, runs: &[Run]) -> Point {
    let summary = of_group(runs);
    let connections = runs.iter().find(|run| run.status == OK).map_or(&[][..], |run| &run.connections);
    let is_tcp = |id: &str| connections.iter().any(|one| one.id == id && one.kind == "tcp");
    let who = |key: &Key| match (key.figure.level, key.of.split_once('.')) {
        (Level::Subflow, Some((connection, _))) if is_tcp(connection) => Some(connection.to_owned()),
        (Level::Subflow, Some((connection, subflow))) => Some(format!("{connection} {subflow}")),
        // The reverse direction of a link.
        (_, Some(_)) => None,
        (_, None) => Some(key.of.clone()),
    };
    let figures = FIGURES.iter().enumerate().flat_map(|(kind, (figure, _))| {
        let own = summary.statistics.iter().filter(|(key, _)| key.period.is_none() && key.figure == *figure);
        own.filter_map(move |(key, own)| {
            Some((Charted { kind, who: who(key)? }, own.scaled(figure.shown().1)))
        })
    });
    let values = grid.axes().iter().map(|axis| summary.params.get(&axis.name).cloned()).collect();
    Point {
        line: grid.line(&summary.cc, &summary.params),
        values,
        figures: figures.collect(),
        scenario: summary.scenario,
        scheduler: summary.scheduler,
    }
}
