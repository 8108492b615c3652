//! A progress bar on standard error for what takes longer than two seconds.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use braid_study::{Error, Event, Plan, Results, Sink};
use indicatif::{ProgressBar, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) struct Progress {
    total: usize,
    started: Instant,
    quiet: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(total: usize, quiet: bool) -> Self {
        Self { total, started: Instant::now(), quiet, bar: None }
    }

    fn tick(&mut self, done: usize) {
        let wanted = !self.quiet && io::stderr().is_terminal();
        if wanted && self.bar.is_none() && self.started.elapsed() > PATIENCE {
            let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} runs, {eta} left")
                .expect("the template is constant and right");
            let bar = ProgressBar::new(self.total as u64).with_elapsed(self.started.elapsed());
            self.bar = Some(bar.with_style(style));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done as u64);
        }
    }

    /// Takes the bar off the screen.
    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Sink for Progress {
    fn see(&mut self, _: &Plan, event: &Event) -> Result<bool, Error> {
        match event {
            Event::Preparing(what) if !self.quiet => eprintln!("{what}"),
            Event::Progress { done, .. } => self.tick(*done),
            _ => {}
        }
        Ok(false)
    }

    fn finish(&mut self, _: &Plan, _: &Results) -> Result<(), Error> {
        self.clear();
        Ok(())
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
