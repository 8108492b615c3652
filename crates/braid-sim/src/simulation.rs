//! A simulation driven by its caller.

use std::sync::atomic::{AtomicBool, Ordering};

use braid_algorithms::Spec;
use braid_results::measure::{LinkSample, Measurements, SubflowSample};
use braid_scenario::model::Scenario;

use crate::datagram::Datagram;
use crate::event_queue::moment;
use crate::options::{Error, Options};
use crate::place::Place;
use crate::run::Run;

/// Interval of the run between checks of the stop flag and progress reports, nanoseconds.
const PIECE_NS: u64 = 100_000_000;

/// A run that can be advanced, sampled and stopped at any time. Events and measurements do not depend on the pieces in
/// which it is advanced.
///
/// ```
/// # let text = "title = \"t\"\nduration = \"2s\"\n[link.b]\nrate = \"10mbit\"\ndelay = \"10ms\"\nqueue = \"40p\"\n\
/// #     [connection.t]\nkind = \"tcp\"\nroute = [\"b\"]\n";
/// # let source = braid_scenario::Source { name: "t".into(), text: text.into() };
/// # let scenario = braid_scenario::load(&source, &[]).unwrap().cells.remove(0);
/// let cubic = braid_algorithms::Spec::parse("cubic")?;
/// let mut simulation = braid_sim::Simulation::new(&scenario, &cubic, 1, braid_sim::Options::default())?;
/// simulation.advance_until(1_000_000_000);
/// println!("after {} s: {} packets", simulation.now_ns() as f64 / 1e9, simulation.subflows()[0].1.cwnd);
/// let measurements = simulation.finish();
/// # assert!(measurements.connections[0].goodput_bytes > 1_000_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulation<'a> {
    run: Run<'a>,
    /// All events before this time have happened.
    now_ns: u64,
}

impl<'a> Simulation<'a> {
    /// A run before its first event; `cc` is for connections that name no congestion control.
    ///
    /// # Errors
    /// If a congestion control cannot be understood, or the scenario is too long, too large, or not for the simulator.
    pub fn new(scenario: &'a Scenario, cc: &Spec, seed: u64, options: Options) -> Result<Self, Error> {
        Ok(Self { run: Run::new(scenario, cc, seed, options)?, now_ns: 0 })
    }

    /// As [`Simulation::new`], for an external transport stack: MPTCP connections stay silent, and the caller's
    /// datagrams take their routes. The caller measures them.
    ///
    /// # Errors
    /// As [`Simulation::new`].
    pub fn for_datagrams(
        scenario: &'a Scenario,
        cc: &Spec,
        seed: u64,
        options: Options,
    ) -> Result<Self, Error> {
        Ok(Self { run: Run::build(scenario, cc, seed, options, true)?, now_ns: 0 })
    }

    /// A datagram enters its route now.
    ///
    /// # Panics
    /// If the place does not exist.
    pub fn send(&mut self, datagram: Datagram) {
        self.run.send_datagram(self.now_ns, datagram);
    }

    /// Runs until `time_ns` or until a datagram arrives, which becomes the present time.
    pub fn advance_to_datagram(&mut self, time_ns: u64) -> Option<Datagram> {
        let time_ns = time_ns.min(self.end_ns()).max(self.now_ns);
        if let Some((now_ns, datagram)) = self.run.next_datagram(time_ns) {
            // Datagrams that were not taken arrived earlier.
            self.now_ns = self.now_ns.max(now_ns);
            return Some(datagram);
        }
        self.now_ns = time_ns;
        None
    }

    /// Time in the run, nanoseconds from its start.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// End of the run, nanoseconds.
    pub fn end_ns(&self) -> u64 {
        self.run.end_ns()
    }

    /// Events that have happened.
    pub fn events(&self) -> u64 {
        self.run.events()
    }

    /// Runs until `time_ns`, at most to the end of the run; does nothing if that time is past.
    pub fn advance_until(&mut self, time_ns: u64) {
        let time_ns = time_ns.min(self.end_ns());
        if time_ns > self.now_ns {
            self.run.advance(moment(time_ns, 0));
            self.now_ns = time_ns;
        }
    }

    /// Handles the next event and all others of its nanosecond. False at the end of the run.
    pub fn step(&mut self) -> bool {
        match self.run.next_event_ns().filter(|&time_ns| time_ns < self.end_ns()) {
            Some(time_ns) => self.advance_until(time_ns + 1),
            None => self.now_ns = self.end_ns(),
        }
        self.now_ns < self.end_ns()
    }

    /// The established subflows in the order of the scenario, without short flows.
    pub fn subflows(&self) -> Vec<(Place, SubflowSample)> {
        self.run.present(self.now_ns)
    }

    /// Payload bytes delivered to each connection's receiving application.
    pub fn delivered_bytes(&self) -> Vec<u64> {
        self.run.delivered_bytes()
    }

    /// Present state of each link's forward direction, in the order of the scenario.
    pub fn links(&self) -> Vec<LinkSample> {
        self.run.queues(self.now_ns)
    }

    /// Runs to the end and returns the measurements.
    pub fn finish(self) -> Measurements {
        self.run.finish()
    }

    /// As [`Simulation::finish`]. Reports the time of the run to `progress` ten times per virtual second. Returns
    /// `None` once `stop` is set, which is checked as often.
    pub fn finish_unless(mut self, stop: &AtomicBool, mut progress: impl FnMut(u64)) -> Option<Measurements> {
        while self.now_ns < self.end_ns() {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            self.advance_until(self.now_ns + PIECE_NS);
            progress(self.now_ns);
        }
        Some(self.finish())
    }
}
