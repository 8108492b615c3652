//! Running a study while Python does something else.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::time::Duration;

use braid_scenario::Source;
use braid_study::{Cancel, Error, Event, Finished, Plan, Sink, Study};
use pyo3::prelude::*;

use crate::class::{Guest, Raised};
use crate::error;
use crate::results::Results;

/// What is asked for: scenarios as (name, text), the rest as on the command line.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Asked {
    scenarios: Vec<(String, String)>,
    cc: Vec<String>,
    schedulers: Vec<String>,
    seeds: String,
    set: Vec<String>,
}

impl Asked {
    fn plan(self) -> PyResult<(Plan, Raised)> {
        let seeds: braid_study::Seeds = self.seeds.parse().map_err(error::plain)?;
        // First by themselves: their errors say more than that of a study.
        let sources: Vec<Source> =
            self.scenarios.into_iter().map(|(name, text)| Source { name, text }).collect();
        for source in &sources {
            braid_scenario::load(source, &self.set).map_err(|wrong| error::of_scenario(&wrong))?;
        }
        let study = sources.into_iter().fold(Study::default(), Study::source);
        let study = self.set.into_iter().fold(study, Study::set);
        let raised = Raised::default();
        let study = study.algorithms(self.cc).schedulers(self.schedulers).seeds(seeds);
        let study = study.backend(Guest(raised.clone()));
        Ok((study.check().map_err(|wrong| error::of_study(&wrong))?, raised))
    }
}

/// What would run: scenario, congestion control, scheduler and seed of each run.
#[pyfunction]
pub(crate) fn plan(asked: Asked) -> PyResult<Vec<(String, String, String, u64)>> {
    let (plan, _) = asked.plan()?;
    let one = |number: usize| {
        let case = plan.case(number);
        (case.scenario.name.clone(), case.spec.text().to_owned(), case.scheduler.to_owned(), case.seed)
    };
    Ok((0..plan.len()).map(one).collect())
}

/// Does everything, without the GIL. `progress(done, total, share)` is called ten times a second.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    asked: Asked,
    samples: bool,
    jobs: Option<NonZeroUsize>,
    time_limit: f64,
    progress: Option<Py<PyAny>>,
) -> PyResult<Results> {
    let (plan, raised) = asked.plan()?;
    let cancel = Cancel::new();
    let time_limit = limit(time_limit)?;
    let mut watch = Watch { progress, cancel: cancel.clone(), raised: None };
    let done = py.detach(|| {
        let mut execution = plan.execution().cancel(&cancel).time_limit(time_limit);
        if let Some(jobs) = jobs {
            execution = execution.jobs(jobs);
        }
        if samples {
            execution = execution.samples();
        }
        let mut finished = Vec::new();
        execution.run(|event| {
            watch.look(&event);
            if let Event::Finished(one) = event {
                finished.push(Finished { measurements: one.measurements.filter(|_| samples), ..*one });
            }
            ControlFlow::Continue(())
        })?;
        Ok(braid_study::Results::new(&plan, finished))
    });
    if let Some(raised) = raised.take().or(watch.raised) {
        return Err(raised);
    }
    Ok(Results::new(done.map_err(|wrong: Error| error::of_study(&wrong))?, samples))
}

pub(crate) fn limit(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| error::plain(format!("time_limit = {seconds} is no time")))
}

/// Looks for Ctrl-C and shows progress, now and then.
pub(crate) struct Watch {
    pub(crate) progress: Option<Py<PyAny>>,
    pub(crate) cancel: Cancel,
    pub(crate) raised: Option<PyErr>,
}

impl Watch {
    pub(crate) fn look(&mut self, event: &Event) {
        let Event::Progress { done, total, share } = event else { return };
        let seen = Python::attach(|py| {
            py.check_signals()?;
            match &self.progress {
                Some(progress) => progress.call1(py, (done, total, share)).map(drop),
                None => Ok(()),
            }
        });
        if let Err(raised) = seen {
            self.cancel.cancel();
            self.raised.get_or_insert(raised);
        }
    }
}

impl Sink for Watch {
    fn see(&mut self, _: &Plan, event: &Event) -> Result<bool, Error> {
        self.look(event);
        Ok(false)
    }
}
