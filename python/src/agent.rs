//! One connection of a run whose windows are set from outside, step by step.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::Once;

use braid_algorithms::layout::{self, MAX_SUBFLOWS, cause, event_type};
use braid_algorithms::{Algorithm, Definition, Spec, define};
use braid_scenario::Source;
use braid_scenario::model::Scenario;
use braid_scenario::topology::bottleneck;
use braid_sim::{Options, Simulation};
use pyo3::prelude::*;

use crate::error;

/// The algorithm controlled by the agent.
const NAME: &str = "agent";
const FIRST_WINDOW: f64 = 10.0;
const SMALLEST: f64 = 2.0;

/// Commands of the agent, and its next observation.
#[derive(Clone, Copy, Default)]
struct State {
    windows: [f64; MAX_SUBFLOWS],
    seen: [layout::Subflow; MAX_SUBFLOWS],
}

thread_local! { static STATE: RefCell<State> = RefCell::new(State::default()); }

unsafe extern "C" fn take(
    view: *mut layout::View,
    _private: *mut c_void,
    _params: *const c_void,
    event: *const layout::Event,
) {
    // SAFETY: guaranteed by the contract.
    let (view, event) = unsafe { (&mut *view, &*event) };
    let own = &mut view.subflow[view.self_index as usize];
    STATE.with_borrow_mut(|state| {
        let at = (own.id as usize).wrapping_sub(1) % MAX_SUBFLOWS;
        let window = &mut state.windows[at];
        if event.kind == event_type::INIT {
            *window = FIRST_WINDOW;
        }
        if event.kind == event_type::ON_LOSS && event.cause == cause::RTO {
            *window = (*window / 2.0).max(SMALLEST);
        }
        own.cwnd = (window.round() as u32).clamp(1, own.cwnd_clamp.max(1));
        own.ssthresh = own.cwnd.max(2);
        state.seen[at] = *own;
    });
}

fn known() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let definition = Definition {
            name: NAME.to_owned(),
            page: "# agent: windows set from outside of the run\n".to_owned(),
            flags: Algorithm::OWNS_CWND | Algorithm::UNCOUPLED,
            params: Vec::new(),
            source_hash: 0,
            transition: take,
        };
        // SAFETY: it changes windows only.
        unsafe { define(definition) }.expect("no algorithm has this name");
    });
}

#[pyclass(unsendable, module = "braid._braid")]
pub(crate) struct Agent {
    /// Before the scenario, which it borrows.
    simulation: Option<Simulation<'static>>,
    /// Neither moved nor changed.
    _scenario: Box<Scenario>,
    state: State,
    /// Index of the connection, and its subflows.
    connection: usize,
    subflows: usize,
    delivered: u64,
    rates: Vec<f64>,
}

#[pymethods]
impl Agent {
    #[new]
    fn new(
        name: String,
        text: String,
        mut set: Vec<String>,
        connection: String,
        cc: &str,
        scheduler: &str,
        seed: u64,
    ) -> PyResult<Self> {
        known();
        set.push(format!("connection.{connection}.cc={NAME}"));
        let source = Source { name, text };
        let mut file = braid_scenario::load(&source, &set).map_err(|wrong| error::of_scenario(&wrong))?;
        let scenario = Box::new(file.cells.remove(0));
        let spec = Spec::parse(cc).map_err(error::plain)?;
        let scheduler = Some(braid_schedulers::Spec::parse(scheduler).map_err(error::plain)?);
        // SAFETY: the box lives longer than the simulation, which is dropped first, and its content does not change.
        let lasting: &'static Scenario = unsafe { &*std::ptr::from_ref(&*scenario) };
        let options = Options { samples: false, scheduler };
        let place = lasting.connections.iter().position(|own| own.name == connection);
        let place = place.ok_or_else(|| error::plain(format!("no connection is called \"{connection}\"")))?;
        let subflows = &lasting.connections[place].subflows;
        let rate = |route: &[usize]| lasting.links[bottleneck(lasting, route)].forward.rate_bps as f64;
        let mut bottlenecks: Vec<(usize, f64)> =
            subflows.iter().map(|own| (bottleneck(lasting, &own.route), rate(&own.route))).collect();
        let rates = bottlenecks.iter().map(|own| own.1).collect();
        bottlenecks.dedup();
        let simulation = Simulation::new(lasting, &spec, seed, options).map_err(error::plain)?;
        Ok(Self {
            simulation: Some(simulation),
            subflows: subflows.len(),
            _scenario: scenario,
            state: State::default(),
            connection: place,
            delivered: 0,
            rates,
        })
    }

    /// Rates of the bottlenecks of its subflows, bit/s.
    #[getter]
    fn rates(&self) -> Vec<f64> {
        self.rates.clone()
    }

    /// Multiplies the windows, advances by `step_ns`, and returns for each subflow `cwnd`, `srtt_us`, `min_rtt_us`,
    /// `in_flight`, `delivered` and `lost` (both since the start, wrapping at 2^32); then bytes delivered to the
    /// application in this step, the time in seconds, and whether the run is over.
    #[allow(clippy::type_complexity, reason = "unpacked at once")]
    fn step(&mut self, factors: Vec<f64>, step_ns: u64) -> (Vec<[u32; 6]>, u64, f64, bool) {
        let simulation = self.simulation.as_mut().expect("it is there until the end");
        for (window, factor) in self.state.windows.iter_mut().zip(&factors) {
            *window = (*window * factor).clamp(SMALLEST, 1e6);
        }
        // Its events are handled on this thread.
        let before = STATE.replace(self.state);
        simulation.advance_until(simulation.now_ns() + step_ns);
        self.state = STATE.replace(before);
        let delivered = simulation.delivered_bytes()[self.connection];
        let bytes = delivered - std::mem::replace(&mut self.delivered, delivered);
        let seen = self.state.seen[..self.subflows].iter();
        let seen = seen
            .map(|own| [own.cwnd, own.srtt_us, own.min_rtt_us, own.in_flight, own.delivered, own.lost])
            .collect();
        let now = simulation.now_ns();
        (seen, bytes, now as f64 / 1e9, now >= simulation.end_ns())
    }
}
