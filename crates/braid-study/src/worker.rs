//! Does one run after the other: here, or, where code of a user takes part, in a process that may crash.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

#[cfg(unix)]
use crate::isolated::Isolated;
use crate::{Cancel, Outcome, Plan, Request, Stop};

/// Does runs of a plan on one thread.
pub(crate) struct Worker<'a> {
    plan: &'a Plan,
    cancel: &'a Cancel,
    #[cfg_attr(not(unix), allow(dead_code, reason = "nobody is there to give a run up"))]
    time_limit: Duration,
    /// How much of the run is done, in millionths.
    share: &'a AtomicU32,
    /// One process for each set of user algorithms: memory corruption stays inside it.
    #[cfg(unix)]
    processes: Vec<(Vec<&'static str>, Isolated)>,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        cancel: &'a Cancel,
        time_limit: Duration,
        share: &'a AtomicU32,
    ) -> Self {
        Self {
            plan,
            cancel,
            time_limit,
            share,
            #[cfg(unix)]
            processes: Vec::new(),
        }
    }

    /// Does the run with this number.
    ///
    /// # Errors
    /// What the backend says; or a failure if a user's code crashes or never returns.
    pub(crate) fn run(&mut self, number: usize, samples: bool) -> Result<Outcome, Stop> {
        let (plan, cancel, share) = (self.plan, self.cancel, self.share);
        let case = plan.case(number);
        let tell = |time_ns: u64| {
            let part = time_ns as f64 / case.scenario.duration_ns.max(1) as f64;
            share.store((part.min(1.0) * 1e6) as u32, Ordering::Relaxed);
        };
        let request = Request { number, case, samples, cancel, tell: &tell };
        let done = self.place(request);
        share.store(0, Ordering::Relaxed);
        done
    }

    #[cfg(not(unix))]
    fn place(&mut self, request: Request) -> Result<Outcome, Stop> {
        self.plan.backend(request.number).run(request)
    }

    #[cfg(unix)]
    fn place(&mut self, request: Request) -> Result<Outcome, Stop> {
        let plan = self.plan;
        let added = if plan.backend(request.number).computes() { request.case.added() } else { Vec::new() };
        if added.is_empty() {
            return plan.backend(request.number).run(request);
        }
        let start = || {
            let work = |number: usize, samples: bool, tell: &dyn Fn(u64)| {
                let never = Cancel::new();
                let request = Request { number, case: plan.case(number), samples, cancel: &never, tell };
                plan.backend(number).run(request)
            };
            Isolated::new(work).map_err(|error| Stop::Failed(format!("no process for the run: {error}")))
        };
        let known = self.processes.iter().position(|(own, _)| *own == added);
        let mut process = known.map_or_else(start, |at| Ok(self.processes.swap_remove(at).1))?;
        loop {
            match process.run(&request, self.time_limit) {
                Ok(done) => {
                    self.processes.push((added, process));
                    return done;
                }
                // Runs before it may be to blame: a failure is one only of a run that nothing came before.
                Err(Stop::Failed(_)) if process.is_used() => process = start()?,
                Err(stop) => return Err(stop),
            }
        }
    }
}
