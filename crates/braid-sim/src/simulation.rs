//! A simulation that its caller drives, piece by piece.

use std::sync::atomic::{AtomicBool, Ordering};

use braid_algorithms::Spec;
use braid_results::measure::{LinkSample, Measurements, SubflowSample};
use braid_scenario::model::{Scenario, Spread};

use crate::datagram::Datagram;
use crate::event_queue::moment;
use crate::options::{Error, Options};
use crate::place::Place;
use crate::run::Run;

/// How much of a run passes between two checks of the stop flag and reports of progress, nanoseconds.
const PIECE_NS: u64 = 100_000_000;

/// A run that can be advanced, looked at and stopped at any time. However it is cut into pieces, its events and
/// measurements are the same.
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

    /// As [`Simulation::new`], but for a transport stack of the caller: MPTCP connections stay silent, and the caller's datagrams
    /// take their routes instead. Their measurements are the caller's business, too.
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
    /// If there is no such place.
    pub fn send(&mut self, datagram: Datagram) {
        self.run.send_datagram(self.now_ns, datagram);
    }

    /// Lets everything happen that comes before `time_ns`, or until a datagram arrives; it is the present time then.
    pub fn advance_to_datagram(&mut self, time_ns: u64) -> Option<Datagram> {
        let time_ns = time_ns.min(self.end_ns()).max(self.now_ns);
        if let Some((now_ns, datagram)) = self.run.next_datagram(time_ns) {
            // Those that were left arrived before.
            self.now_ns = self.now_ns.max(now_ns);
            return Some(datagram);
        }
        self.now_ns = time_ns;
        None
    }

    /// Draws an amount of a connection's traffic as its own application would, at least one byte.
    pub fn draw_bytes(&mut self, connection: usize, spread: Spread) -> u64 {
        self.run.draw_bytes(connection, spread)
    }

    /// Draws a time of a connection's traffic as its own application would, nanoseconds.
    pub fn draw_time(&mut self, connection: usize, spread: Spread) -> u64 {
        self.run.draw_time(connection, spread)
    }

    /// Time in the run, nanoseconds from its start.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// When the run ends, nanoseconds from its start.
    pub fn end_ns(&self) -> u64 {
        self.run.end_ns()
    }

    /// Events that have happened.
    pub fn events(&self) -> u64 {
        self.run.events()
    }

    /// Lets everything happen that comes before `time_ns`; nothing if that is past, and no more than the whole run.
    pub fn advance_until(&mut self, time_ns: u64) {
        let time_ns = time_ns.min(self.end_ns());
        if time_ns > self.now_ns {
            self.run.advance(moment(time_ns, 0));
            self.now_ns = time_ns;
        }
    }

    /// Lets the next event happen, with all others of its nanosecond. False at the end of the run.
    pub fn step(&mut self) -> bool {
        match self.run.next_event_ns().filter(|&time_ns| time_ns < self.end_ns()) {
            Some(time_ns) => self.advance_until(time_ns + 1),
            None => self.now_ns = self.end_ns(),
        }
        self.now_ns < self.end_ns()
    }

    /// The subflows that are established now, in the order of the scenario; of connections that come and go as short flows,
    /// none.
    pub fn subflows(&self) -> Vec<(Place, SubflowSample)> {
        self.run.present(self.now_ns)
    }

    /// Payload bytes that each connection has handed to its receiving application so far.
    pub fn delivered_bytes(&self) -> Vec<u64> {
        self.run.delivered_bytes()
    }

    /// Each link's forward direction now, in the order of the scenario.
    pub fn links(&self) -> Vec<LinkSample> {
        self.run.queues(self.now_ns)
    }

    /// The rest of the run, and what was measured.
    pub fn finish(self) -> Measurements {
        self.run.finish()
    }

    /// As [`Simulation::finish`], telling `progress` the time in the run ten times a virtual second. `None` as soon as
    /// `stop` is set, which is looked at as often.
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
