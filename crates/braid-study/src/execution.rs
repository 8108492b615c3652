//! Doing the runs of a plan.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use braid_results::OK;

use crate::event::Record;
use crate::panics::caught;
use crate::pool::{self, Caller};
use crate::worker::Worker;
use crate::{Cancel, Error, Event, Finished, Kind, Plan, Results, Sink, Stop, Store};

/// Far more than any algorithm needs for a tenth of a second of a run.
const TIME_LIMIT: Duration = Duration::from_secs(30);

impl Plan {
    /// How it is to be run: everything in parallel, and nothing stored, unless it is said otherwise.
    pub fn execution(&self) -> Execution<'_> {
        Execution::new(self)
    }
}

/// How the runs of a [`Plan`] are to be done.
pub struct Execution<'a> {
    plan: &'a Plan,
    jobs: Option<NonZeroUsize>,
    samples: Box<dyn Fn(usize) -> bool + Sync + 'a>,
    again: Box<dyn Fn(usize) -> bool + Sync + 'a>,
    cancel: Cancel,
    time_limit: Duration,
    store: Option<Mutex<&'a mut Store>>,
}

/// How far an execution came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Runs that are done.
    pub runs: usize,
    /// How many of them were done already.
    pub reused: usize,
    /// How many of them failed.
    pub failed: usize,
    /// The first of those, for people.
    pub first: Option<String>,
}

impl<'a> Execution<'a> {
    pub(crate) fn new(plan: &'a Plan) -> Self {
        Self {
            plan,
            jobs: None,
            samples: Box::new(|_| false),
            again: Box::new(|_| false),
            cancel: Cancel::new(),
            time_limit: TIME_LIMIT,
            store: None,
        }
    }

    /// Number of simultaneous runs; results do not depend on it. Default: one for each processor, or what the backend
    /// finds best.
    #[must_use]
    pub fn jobs(self, jobs: NonZeroUsize) -> Self {
        Self { jobs: Some(jobs), ..self }
    }

    /// Every run keeps samples: window, RTT, bytes and queues every 100 ms.
    #[must_use]
    pub fn samples(self) -> Self {
        self.samples_of(|_| true)
    }

    /// The runs with these numbers keep samples.
    #[must_use]
    pub fn samples_of(self, wanted: impl Fn(usize) -> bool + Sync + 'a) -> Self {
        Self { samples: Box::new(wanted), ..self }
    }

    /// Stores every run as soon as it is done, and does none again that is there.
    #[must_use]
    pub fn store(self, store: &'a mut Store) -> Self {
        Self { store: Some(Mutex::new(store)), ..self }
    }

    /// The runs with these numbers are done even if they are in the store.
    #[must_use]
    pub fn again(self, wanted: impl Fn(usize) -> bool + Sync + 'a) -> Self {
        Self { again: Box::new(wanted), ..self }
    }

    /// A run with a user's algorithm fails when it makes no progress for this long; 30 s unless it is said otherwise.
    #[must_use]
    pub fn time_limit(self, time_limit: Duration) -> Self {
        Self { time_limit, ..self }
    }

    /// Can be ended early by this.
    #[must_use]
    pub fn cancel(self, cancel: &Cancel) -> Self {
        Self { cancel: cancel.clone(), ..self }
    }

    /// Gets the backends ready whose runs are missing, does these runs, and tells `each` what happens, on the thread of the
    /// caller. A run that fails says so in its status. A caller that breaks has seen enough: that is no error.
    ///
    /// # Errors
    /// If something fails that every run needs, or the study is cancelled.
    pub fn run(&self, mut each: impl FnMut(Event) -> ControlFlow<()>) -> Result<Done, Error> {
        let plan = self.plan;
        if self.store.is_some() {
            plan.group_keys()?;
        }
        let mut enough = false;
        let say = |what: &str| enough |= each(Event::Preparing(what)).is_break();
        plan.prepare(|number| !self.is_stored(number), &self.cancel, say)?;
        if enough {
            return Ok(Done::default());
        }

        let processors = || thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let of_backends = || plan.backends().filter_map(crate::Backend::jobs).min();
        let jobs = self.jobs.map(NonZeroUsize::get).or_else(of_backends).unwrap_or_else(processors);
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
        if let Some(store) = &self.store {
            store.lock().unwrap_or_else(PoisonError::into_inner).flush()?;
        }
        if let Some(error) = error.filter(|error| error.kind != Kind::Cancelled) {
            return Err(error);
        }
        if self.cancel.is_cancelled() && done.runs < plan.len() {
            let message = format!("interrupted after {finished} of {} runs", plan.len());
            return Err(Error::new(Kind::Cancelled, message));
        }
        Ok(done)
    }

    /// Does all runs and keeps their results in memory.
    ///
    /// # Errors
    /// As [`Execution::run`].
    pub fn collect(&self) -> Result<Results, Error> {
        let mut finished = Vec::with_capacity(self.plan.len());
        self.run(|event| {
            if let Event::Finished(one) = event {
                let sampled = one.sampled && (self.samples)(one.number);
                finished.push(Finished { measurements: one.measurements.filter(|_| sampled), ..*one });
            }
            ControlFlow::Continue(())
        })?;
        Ok(Results::new(self.plan, finished))
    }

    /// Does all runs and hands them to the sinks, which say what samples they need.
    ///
    /// # Errors
    /// As [`Execution::run`], or if a sink fails.
    pub fn into_sinks(mut self, sinks: &mut [&mut dyn Sink]) -> Result<Done, Error> {
        let plan = self.plan;
        let needed = |number| sinks.iter().any(|sink| sink.samples(plan, number));
        let needed: Vec<bool> = (0..plan.len()).map(needed).collect();
        self = self.samples_of(move |number| needed[number]);
        let collects = sinks.iter().any(|sink| sink.collects());
        let (mut finished, mut broken) = (Vec::new(), None);
        let done = self.run(|event| {
            let mut wanted = false;
            for sink in &mut *sinks {
                match sink.see(plan, &event) {
                    Ok(more) => wanted |= more,
                    Err(error) => {
                        broken.get_or_insert(error);
                    }
                }
            }
            match event {
                Event::Finished(one) if collects => {
                    finished.push(Finished { measurements: None, ..*one });
                }
                _ => {}
            }
            if wanted && broken.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        });
        if let Some(error) = broken {
            return Err(error);
        }
        let done = done?;
        if done.runs == plan.len() {
            let results = Results::new(plan, finished);
            sinks.iter_mut().try_for_each(|sink| sink.finish(plan, &results))?;
        }
        Ok(done)
    }

    /// Does only the runs with these numbers, one after the other.
    ///
    /// # Errors
    /// If something fails that every run needs, or the study is cancelled.
    ///
    /// # Panics
    /// If there is no run with such a number.
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

    /// Whether a run need not be done.
    fn is_stored(&self, number: usize) -> bool {
        self.store.as_ref().is_some_and(|store| {
            let store = store.lock().unwrap_or_else(PoisonError::into_inner);
            !(self.again)(number) && store.has(self.plan, number, (self.samples)(number))
        })
    }

    /// `None` if it was cancelled.
    fn run_one(&self, worker: &mut Worker, number: usize) -> Result<Option<Finished>, Error> {
        let (plan, sampled) = (self.plan, (self.samples)(number));
        if let Some(store) = self.store.as_ref().filter(|_| self.is_stored(number)) {
            let record = store.lock().unwrap_or_else(PoisonError::into_inner).place(plan, number);
            if let Some((record, sampled)) = record.and_then(|place| place.read()) {
                return Ok(Some(Finished::new(plan, number, record, sampled, true)));
            }
            // It cannot be read.
            plan.prepare(|other| other == number, &self.cancel, |_| ())?;
        }
        let outcome = caught(|| worker.run(number, sampled));
        let record = match outcome.unwrap_or_else(|panic| Err(Stop::Failed(panic))) {
            Ok(outcome) => Record::Done(outcome),
            Err(Stop::Failed(reason)) => Record::Failed(reason),
            Err(Stop::Cancelled) => return Ok(None),
            Err(Stop::All(error)) => return Err(error),
        };
        Ok(Some(Finished::new(plan, number, record, sampled, false)))
    }

    fn store_run(&self, finished: &Finished) -> Result<(), Error> {
        let Some(store) = self.store.as_ref().filter(|_| !finished.reused) else { return Ok(()) };
        let (sampled, record) = finished.record();
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        store.add(self.plan.key(finished.number)?, sampled, record)
    }
}

/// Turns what the pool tells into events.
struct Teller<'a, 'p, F> {
    execution: &'a Execution<'p>,
    each: F,
    /// Of each worker, how much of its run is done, in millionths.
    shares: &'a [AtomicU32],
    /// Runs that are done, whether or not those before them are.
    finished: usize,
    done: Done,
    error: Option<Error>,
}

impl<F: FnMut(Event) -> ControlFlow<()>> Caller<Result<Option<Finished>, Error>> for Teller<'_, '_, F> {
    fn ready(&mut self, _: usize, result: &Result<Option<Finished>, Error>) {
        if let Ok(Some(finished)) = result {
            self.finished += 1;
            if let Err(error) = self.execution.store_run(finished) {
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
                if finished.run.status != OK {
                    self.done.failed += 1;
                    self.done.first.get_or_insert_with(|| finished.which());
                }
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
