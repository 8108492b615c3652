//! Executes the runs of a plan.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
#[cfg(feature = "store")]
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use braid_results::OK;

#[cfg(feature = "store")]
use crate::Store;
use crate::event::Kept;
use crate::panics::caught;
use crate::pool::{self, Caller};
use crate::worker::Worker;
use crate::{Cancel, Error, Event, Finished, Kind, Plan, Results, Stop};

/// Far more than any algorithm needs for a tenth of a second of a run.
const TIME_LIMIT: Duration = Duration::from_secs(30);

impl Plan {
    /// An execution with defaults: in parallel, without a store.
    pub fn execution(&self) -> Execution<'_> {
        Execution::new(self)
    }
}

/// Options for executing a [`Plan`].
pub struct Execution<'a> {
    plan: &'a Plan,
    jobs: Option<NonZeroUsize>,
    samples: Box<dyn Fn(usize) -> bool + Sync + 'a>,
    again: Box<dyn Fn(usize) -> bool + Sync + 'a>,
    measurements: bool,
    cancel: Cancel,
    time_limit: Duration,
    #[cfg(feature = "store")]
    store: Option<Mutex<&'a mut Store>>,
}

/// Result of an execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Finished runs.
    pub runs: usize,
    /// Number of them from the store.
    pub reused: usize,
}

impl<'a> Execution<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            jobs: None,
            samples: Box::new(|_| false),
            again: Box::new(|_| false),
            measurements: false,
            cancel: Cancel::new(),
            time_limit: TIME_LIMIT,
            #[cfg(feature = "store")]
            store: None,
        }
    }

    /// Number of parallel runs; results do not depend on it. Default: one per processor, or the backend's choice.
    #[must_use]
    pub fn jobs(self, jobs: NonZeroUsize) -> Self {
        Self { jobs: Some(jobs), ..self }
    }

    /// Stores samples of every run: window, RTT, bytes and queues every 100 ms.
    #[must_use]
    pub fn samples(self) -> Self {
        self.samples_of(|_| true)
    }

    /// Stores samples of the runs with these numbers.
    #[must_use]
    pub fn samples_of(self, wanted: impl Fn(usize) -> bool + Sync + 'a) -> Self {
        Self { samples: Box::new(wanted), ..self }
    }

    /// Stores every run as soon as it is done, and skips stored runs.
    #[cfg(feature = "store")]
    #[must_use]
    pub fn store(self, store: &'a mut Store) -> Self {
        Self { store: Some(Mutex::new(store)), ..self }
    }

    /// Stores the measurements of every run, not only of those with samples.
    #[must_use]
    pub fn measurements(self) -> Self {
        Self { measurements: true, ..self }
    }

    /// Repeats the runs with these numbers even if they are stored; failed ones stay.
    #[must_use]
    pub fn again(self, wanted: impl Fn(usize) -> bool + Sync + 'a) -> Self {
        Self { again: Box::new(wanted), ..self }
    }

    /// A run with a user's algorithm fails after this time without progress; default 30 s.
    #[must_use]
    pub fn time_limit(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    /// Cancels the execution early.
    #[must_use]
    pub fn cancel(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Prepares the backend, executes all runs, and reports events to `each` on the caller's thread. A failed run has a
    /// status. A break of `each` ends the execution without an error.
    ///
    /// # Errors
    /// If every run would fail, or the study is cancelled.
    pub fn run(&self, mut each: impl FnMut(Event) -> ControlFlow<()>) -> Result<Done, Error> {
        let plan = self.plan;
        let mut enough = false;
        let mut say = |what: &str| enough |= each(Event::Preparing(what)).is_break();
        plan.prepare(&self.cancel, &mut say)?;
        if enough {
            return Ok(Done::default());
        }

        let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let jobs = self.jobs.map(NonZeroUsize::get).or_else(|| plan.backend().jobs());
        let jobs = jobs.unwrap_or_else(processors);
        let shares: Vec<AtomicU32> = (0..jobs.min(plan.len())).map(|_| AtomicU32::new(0)).collect();
        let begin = |worker: usize| self.worker(&shares[worker]);
        let work = |worker: &mut Worker, number: usize| self.run_one(worker, number);
        let mut teller = Teller {
            execution: self,
            each,
            shares: &shares,
            finished: 0,
            done: Done::default(),
            error: None,
        };
        pool::in_order(plan.len(), jobs, &self.cancel, begin, work, &mut teller);
        let Teller { finished, done, error, .. } = teller;
        self.settle()?;
        if let Some(error) = error.filter(|error| error.kind != Kind::Cancelled) {
            return Err(error);
        }
        if self.cancel.is_cancelled() && done.runs < plan.len() {
            let message = format!("interrupted after {finished} of {} runs", plan.len());
            return Err(Error::new(Kind::Cancelled, message));
        }
        Ok(done)
    }

    /// Executes all runs and collects their results in memory.
    ///
    /// # Errors
    /// As [`Execution::run`].
    pub fn collect(&self) -> Result<Results, Error> {
        self.collect_with(|_| ())
    }

    /// As [`Execution::collect`], reporting events to `each`.
    ///
    /// # Errors
    /// As [`Execution::run`].
    pub fn collect_with(&self, mut each: impl FnMut(&Event)) -> Result<Results, Error> {
        let mut finished = Vec::with_capacity(self.plan.len());
        self.run(|event| {
            each(&event);
            if let Event::Finished(one) = event {
                let sampled = (self.samples)(one.number);
                finished.push(Finished { measurements: one.measurements.filter(|_| sampled), ..*one });
            }
            ControlFlow::Continue(())
        })?;
        Ok(Results::new(self.plan, finished))
    }

    /// Executes only the runs with these numbers, one after the other; the backend must be prepared.
    ///
    /// # Errors
    /// If every run would fail, or the study is cancelled.
    ///
    /// # Panics
    /// If a number does not exist.
    pub fn only(&self, numbers: &[usize]) -> Result<Vec<Finished>, Error> {
        let share = AtomicU32::new(0);
        let mut worker = self.worker(&share);
        let one = |&number: &usize| {
            let finished = self.run_one(&mut worker, number)?;
            finished.ok_or_else(|| Error::new(Kind::Cancelled, "interrupted"))
        };
        numbers.iter().map(one).collect()
    }

    fn worker<'b>(&'b self, share: &'b AtomicU32) -> Worker<'b> {
        Worker::new(self.plan, &self.cancel, self.time_limit, share)
    }

    /// `None` if it was cancelled.
    fn run_one(&self, worker: &mut Worker, number: usize) -> Result<Option<Finished>, Error> {
        let samples = (self.samples)(number);
        if let Some(Kept { run, measurements, sampled }) = self.kept(number)? {
            let enough = (sampled || !samples) && (measurements.is_some() || !self.measurements);
            if run.status != OK || (enough && !(self.again)(number)) {
                return Ok(Some(Finished { number, run, measurements, reused: true }));
            }
        }
        let outcome = caught(|| worker.run(number, samples));
        let setup = self.plan.case(number).setup();
        let (run, measurements) = match outcome.unwrap_or_else(|panic| Err(Stop::Failed(panic))) {
            Ok(outcome) => {
                let mut run = setup.measured(&outcome.measurements);
                run.environment = outcome.environment;
                run.doubts = outcome.doubts;
                (run, Some(outcome.measurements))
            }
            Err(Stop::Failed(reason)) => (setup.failed(reason), None),
            Err(Stop::Cancelled) => return Ok(None),
            Err(Stop::All(error)) => return Err(error),
        };
        Ok(Some(Finished { number, run, measurements, reused: false }))
    }
}

/// With a store.
#[cfg(feature = "store")]
impl Execution<'_> {
    fn kept(&self, number: usize) -> Result<Option<Kept>, Error> {
        let Some(store) = &self.store else { return Ok(None) };
        let key = self.plan.key(number)?;
        Ok(store.lock().unwrap_or_else(PoisonError::into_inner).get(&key))
    }

    fn keep(&self, finished: &Finished) -> Result<(), Error> {
        let Some(store) = self.store.as_ref().filter(|_| !finished.reused) else { return Ok(()) };
        let key = self.plan.key(finished.number)?;
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        let sampled = (self.samples)(finished.number);
        let measurements = finished.measurements.as_ref().filter(|_| sampled || self.measurements);
        store.keep(key, &finished.run, measurements, sampled)
    }

    fn settle(&self) -> Result<(), Error> {
        let Some(store) = &self.store else { return Ok(()) };
        store.lock().unwrap_or_else(PoisonError::into_inner).settle()
    }
}

/// Without a store.
#[cfg(not(feature = "store"))]
#[allow(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with a store")]
impl Execution<'_> {
    fn kept(&self, _: usize) -> Result<Option<Kept>, Error> {
        Ok(None)
    }

    fn keep(&self, _: &Finished) -> Result<(), Error> {
        Ok(())
    }

    fn settle(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Turns reports of the pool into events.
struct Teller<'a, 'p, F> {
    execution: &'a Execution<'p>,
    each: F,
    /// For each worker, the finished share of its run in millionths.
    shares: &'a [AtomicU32],
    /// Finished runs, in any order.
    finished: usize,
    done: Done,
    error: Option<Error>,
}

impl<F: FnMut(Event) -> ControlFlow<()>> Caller<Result<Option<Finished>, Error>> for Teller<'_, '_, F> {
    fn ready(&mut self, _: usize, result: &Result<Option<Finished>, Error>) {
        if let Ok(Some(finished)) = result {
            self.finished += 1;
            if let Err(error) = self.execution.keep(finished) {
                self.error.get_or_insert(error);
            }
        }
    }

    fn each(&mut self, result: Result<Option<Finished>, Error>) -> ControlFlow<()> {
        if self.error.is_some() {
            return ControlFlow::Break(());
        }
        match result {
            Ok(Some(finished)) => {
                self.done.runs += 1;
                self.done.reused += usize::from(finished.reused);
                (self.each)(Event::Finished(Box::new(finished)))
            }
            Ok(None) => ControlFlow::Break(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn tick(&mut self, done: usize) -> ControlFlow<()> {
        if self.error.is_some() {
            return ControlFlow::Break(());
        }
        let parts: f64 = self.shares.iter().map(|share| f64::from(share.load(Ordering::Relaxed)) / 1e6).sum();
        let total = self.execution.plan.len();
        let share = ((done as f64 + parts) / total as f64).min(1.0);
        (self.each)(Event::Progress { done, total, share })
    }
}
