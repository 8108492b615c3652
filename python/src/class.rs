//! Algorithms as Python classes: the same events as in C, the view for as long as an event lasts.

use std::cell::RefCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use braid_algorithms::layout::{self, PUBLIC_WORDS, ca_state, cause, event_flags, event_type, subflow_flags};
use braid_algorithms::{Definition, Param, Spec, Transition, define as define_algorithm};
use braid_study::{Backend, Cancel, Outcome, Request, Sim, Stop};
use pyo3::exceptions::{PyIndexError, PyRuntimeError};
use pyo3::prelude::*;

use crate::error;

/// The methods of a class, by type of event.
const METHODS: [&str; 6] = ["init", "release", "on_loss", "on_recovered", "on_ack", "on_idle_restart"];
/// Names that classes can have at the same time.
const MOST: usize = 32;

/// A class and what its parameters are called and scaled with.
struct Class {
    name: String,
    python: Py<PyAny>,
    params: Vec<(String, u32)>,
}

static CLASSES: RwLock<Vec<Arc<Class>>> = RwLock::new(Vec::new());

/// What a thread knows of the run that it does.
struct Local {
    view: Option<Py<View>>,
    /// One for each subflow that was established: of its object, the methods that it has.
    objects: Vec<[Option<Py<PyAny>>; 6]>,
    cancel: Cancel,
    raised: Option<PyErr>,
}

thread_local! { static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) }; }

/// Every class has a function of its own, as the contract has no other place that says whose event it is.
fn transition(number: usize) -> Transition {
    macro_rules! table {
        ($($number:literal)*) => { [$(take::<$number>),*] };
    }
    const TABLE: [Transition; MOST] =
        table!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
    TABLE[number]
}

unsafe extern "C" fn take<const N: usize>(
    view: *mut layout::View,
    private: *mut c_void,
    params: *const c_void,
    event: *const layout::Event,
) {
    // SAFETY: the contract: 8 bytes of private memory as `define` has asked for, and a live event.
    let (private, own) = unsafe { (&mut *private.cast::<u64>(), *event) };
    LOCAL.with_borrow_mut(|local| {
        // Without one, or after an exception, the rest of the run is of no interest.
        let Some(local) = local.as_mut().filter(|local| local.raised.is_none()) else { return };
        let done = Python::attach(|py| {
            if own.kind == event_type::INIT {
                local.objects.push(create(py, N, params)?);
                *private = local.objects.len() as u64;
            }
            let Some(object) = (*private as usize).checked_sub(1).and_then(|at| local.objects.get(at)) else {
                return Ok(());
            };
            let Some(method) = &object[own.kind as usize] else { return Ok(()) };
            if local.view.is_none() {
                local.view = Some(View::new(py)?);
            }
            let shown = local.view.as_ref().expect("it was set");
            shown.get().pointer.store(view, Ordering::Relaxed);
            let done = method.call1(py, (shown, Event(own)));
            shown.get().pointer.store(std::ptr::null_mut(), Ordering::Relaxed);
            done.map(drop)
        });
        if let Err(raised) = done {
            local.raised = Some(raised);
            local.cancel.cancel();
        }
    });
}

/// An object of a class, with its parameters as attributes.
fn create(py: Python<'_>, number: usize, params: *const c_void) -> PyResult<[Option<Py<PyAny>>; 6]> {
    let class = Arc::clone(&CLASSES.read().unwrap_or_else(PoisonError::into_inner)[number]);
    let object = class.python.call0(py)?;
    for (at, (name, scale)) in class.params.iter().enumerate() {
        // SAFETY: one number for each parameter, in their order.
        let value = unsafe { *params.cast::<u32>().add(at) };
        if *scale == 1 {
            object.setattr(py, name.as_str(), value)?;
        } else {
            object.setattr(py, name.as_str(), f64::from(value) / f64::from(*scale))?;
        }
    }
    let base = py.import("braid")?.getattr("Algorithm")?;
    let mut methods = [const { None }; 6];
    for (method, name) in methods.iter_mut().zip(METHODS) {
        // What the base class has does nothing: no need to call it.
        if !class.python.bind(py).getattr(name)?.is(&base.getattr(name)?) {
            *method = Some(object.getattr(py, name)?);
        }
    }
    Ok(methods)
}

/// Makes a class known by its name. `params`: name, default, smallest and largest value, help; whole numbers, or
/// multiples of 1/1000.
#[pyfunction]
#[allow(clippy::type_complexity, reason = "unpacked at once")]
pub(crate) fn define(
    name: String,
    page: String,
    flags: u32,
    params: Vec<(String, bool, f64, f64, f64, String)>,
    class: Py<PyAny>,
) -> PyResult<()> {
    let mut classes = CLASSES.write().unwrap_or_else(PoisonError::into_inner);
    let number = classes.iter().position(|known| known.name == name).unwrap_or(classes.len());
    if number == MOST {
        return Err(error::plain(format!("more than {MOST} algorithms as classes: use a name again")));
    }
    let mut rows = Vec::new();
    let mut own = Vec::new();
    for (param, is_whole, initial, low, high, help) in params {
        let scale = if is_whole { 1 } else { 1000 };
        let scaled = |value: f64| (value * f64::from(scale)).round() as u32;
        own.push((param.clone(), scale));
        rows.push(Param {
            name: String::leak(param),
            initial: scaled(initial),
            low: scaled(low),
            high: scaled(high),
            scale,
            unit: "",
            help: String::leak(help),
        });
    }
    let definition = Definition {
        name: name.clone(),
        page,
        flags,
        params: rows,
        source_hash: 0,
        transition: transition(number),
    };
    // SAFETY: `take` changes windows and its 8 bytes of private memory, nothing else.
    unsafe { define_algorithm(definition) }.map_err(error::plain)?;
    let new = Arc::new(Class { name, python: class, params: own });
    if number == classes.len() {
        classes.push(new);
    } else {
        classes[number] = new;
    }
    Ok(())
}

/// The exception that ended a study.
#[derive(Clone, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The simulator with algorithms that are classes: an exception in one ends the study, and is raised there.
pub(crate) struct Guest(pub(crate) Raised);

impl Backend for Guest {
    fn base(&self) -> &dyn Backend {
        &Sim
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        let named = request.case.scenario.connections.iter().filter_map(|own| own.cc.clone());
        let specs: Vec<Spec> = named.chain([request.case.spec.clone()]).collect();
        let is_class = |spec: &Spec| {
            let classes = CLASSES.read().unwrap_or_else(PoisonError::into_inner);
            classes.iter().any(|class| class.name == spec.algorithm().name())
        };
        if !specs.iter().any(is_class) {
            return Sim.run(request);
        }
        if specs.iter().any(|spec| spec.algorithm().is_added()) {
            // A C file runs in a process of its own, where there is no Python.
            let message = "an algorithm that is a class and one that is a C file cannot meet in one run";
            return Err(Stop::Failed(message.to_owned()));
        }
        let local = Local { view: None, objects: Vec::new(), cancel: request.cancel.clone(), raised: None };
        LOCAL.set(Some(local));
        let done = Sim.run(request);
        let local = LOCAL.take().expect("it was set above");
        match local.raised {
            None => done,
            Some(raised) => {
                self.0.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(raised);
                Err(Stop::Cancelled)
            }
        }
    }
}

/// What happened.
#[pyclass(frozen, module = "braid")]
pub(crate) struct Event(layout::Event);

macro_rules! event {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $get:expr;)*) => {
        #[pymethods]
        impl Event {
            $($(#[$doc])* #[getter] fn $name(&self) -> $type { let get: fn(&layout::Event) -> $type = $get; get(&self.0) })*

            fn __repr__(&self) -> String { format!("{:?}", self.0) }
        }
    };
}

event! {
    now_us: u64 = |event| event.now_us;
    kind: &'static str = |event| METHODS[event.kind as usize];
    is_timeout: bool = |event| event.kind == event_type::ON_LOSS && event.cause == cause::RTO;
    is_ecn: bool = |event| event.kind == event_type::ON_LOSS && event.cause == cause::ECN;
    is_undo: bool = |event| event.kind == event_type::ON_RECOVERED && event.cause == cause::UNDO;
    ece: bool = |event| event.flags & event_flags::ECE != 0;
    cwnd_limited: bool = |event| event.flags & event_flags::CWND_LIMITED != 0;
    app_limited: bool = |event| event.flags & event_flags::APP_LIMITED != 0;
    acked: u32 = |event| event.acked;
    grow: u32 = |event| event.grow;
    acked_bytes: u32 = |event| event.acked_bytes;
    rtt_us: u32 = |event| event.rtt_us;
    idle_us: u32 = |event| event.idle_us;
    owd_us: Option<i32> = |event| (event.flags & event_flags::HAS_OWD != 0).then_some(event.owd_us);
    rate_delivered: u32 = |event| event.rate_delivered;
    rate_interval_us: u32 = |event| event.rate_interval_us;
    rate_losses: u32 = |event| event.rate_losses;
    prior_in_flight: u32 = |event| event.prior_in_flight;
}

/// A connection, during an event.
#[pyclass(frozen, module = "braid")]
pub(crate) struct View {
    pointer: Arc<AtomicPtr<layout::View>>,
    subflows: Vec<Py<Subflow>>,
}

/// One of its subflows.
#[pyclass(frozen, module = "braid")]
pub(crate) struct Subflow {
    pointer: Arc<AtomicPtr<layout::View>>,
    index: usize,
}

/// The view, while Python holds the GIL and an event lasts.
fn with<T>(pointer: &AtomicPtr<layout::View>, work: impl FnOnce(&mut layout::View) -> T) -> PyResult<T> {
    let view = pointer.load(Ordering::Relaxed);
    if view.is_null() {
        return Err(PyRuntimeError::new_err(
            "a view is there only during the event: keep numbers, not the view or its subflows",
        ));
    }
    // SAFETY: it is not null only while `take` waits for the method that it was handed to. All use is under the GIL and
    // within this call, so there is no second reference.
    Ok(work(unsafe { &mut *view }))
}

impl View {
    fn new(py: Python<'_>) -> PyResult<Py<Self>> {
        let pointer = Arc::new(AtomicPtr::default());
        let subflows = (0..layout::MAX_SUBFLOWS)
            .map(|index| Py::new(py, Subflow { pointer: Arc::clone(&pointer), index }))
            .collect::<PyResult<_>>()?;
        Py::new(py, Self { pointer, subflows })
    }
}

#[pymethods]
impl View {
    #[getter]
    fn connection(&self) -> PyResult<u64> {
        with(&self.pointer, |view| view.connection)
    }

    #[getter]
    fn me(&self, py: Python<'_>) -> PyResult<Py<Subflow>> {
        let index = with(&self.pointer, |view| view.self_index as usize)?;
        Ok(self.subflows[index].clone_ref(py))
    }

    #[getter]
    fn subflows(&self, py: Python<'_>) -> PyResult<Vec<Py<Subflow>>> {
        let count = with(&self.pointer, |view| view.n as usize)?;
        Ok(self.subflows[..count].iter().map(|subflow| subflow.clone_ref(py)).collect())
    }

    #[getter]
    fn eligible(&self, py: Python<'_>) -> PyResult<Vec<Py<Subflow>>> {
        let is_eligible =
            |flow: &layout::Subflow| flow.flags & subflow_flags::ELIGIBLE != 0 && flow.srtt_us > 0;
        let eligible: Vec<usize> = with(&self.pointer, |view| {
            (0..view.n as usize).filter(|&index| is_eligible(&view.subflow[index])).collect()
        })?;
        Ok(eligible.into_iter().map(|index| self.subflows[index].clone_ref(py)).collect())
    }
}

macro_rules! subflow {
    (read { $($name:ident: $type:ty = $get:expr;)* } write { $($field:ident, $setter:ident: $field_type:ty;)* }) => {
        #[pymethods]
        impl Subflow {
            $(#[getter] fn $name(&self) -> PyResult<$type> {
                let get: fn(&layout::Subflow) -> $type = $get;
                with(&self.pointer, |view| get(&view.subflow[self.index]))
            })*
            $(#[getter] fn $field(&self) -> PyResult<$field_type> {
                with(&self.pointer, |view| view.subflow[self.index].$field)
            }
            #[setter] fn $setter(&self, value: $field_type) -> PyResult<()> {
                with(&self.pointer, |view| view.subflow[self.index].$field = value)
            })*

            /// Packets of an ACK that are left for congestion avoidance, after slow start has taken its share.
            fn acked_in_avoidance(&self, event: &Event) -> PyResult<u32> {
                with(&self.pointer, |view| {
                    let own = &mut view.subflow[self.index];
                    if event.0.flags & event_flags::CWND_LIMITED == 0 {
                        return 0;
                    }
                    if own.cwnd >= own.ssthresh {
                        return event.0.grow;
                    }
                    let cwnd = own.cwnd.saturating_add(event.0.grow).min(own.ssthresh);
                    let used = cwnd - own.cwnd;
                    own.cwnd = cwnd.min(own.cwnd_clamp);
                    event.0.grow - used
                })
            }

            /// A word that the connection's other subflows can read.
            fn public(&self, at: usize) -> PyResult<u64> {
                with(&self.pointer, |view| view.subflow[self.index].public_words.get(at).copied())?
                    .ok_or_else(|| PyIndexError::new_err(format!("there are {PUBLIC_WORDS} words")))
            }

            fn set_public(&self, at: usize, value: u64) -> PyResult<()> {
                with(&self.pointer, |view| {
                    view.subflow[self.index].public_words.get_mut(at).map(|word| *word = value)
                })?
                .ok_or_else(|| PyIndexError::new_err(format!("there are {PUBLIC_WORDS} words")))
            }
        }
    };
}

subflow! {
    read {
    id: u32 = |own| own.id;
    state: &'static str = |own| match own.ca_state {
        ca_state::OPEN => "open",
        ca_state::DISORDER => "disorder",
        ca_state::CWR => "cwr",
        ca_state::RECOVERY => "recovery",
        _ => "loss",
    };
    eligible: bool = |own| own.flags & subflow_flags::ELIGIBLE != 0 && own.srtt_us > 0;
    backup: bool = |own| own.flags & subflow_flags::BACKUP != 0;
    in_slow_start: bool = |own| own.cwnd < own.ssthresh;
    window: u32 = |own| {
        let is_reducing = own.ca_state == ca_state::CWR || own.ca_state == ca_state::RECOVERY;
        (if is_reducing { own.ssthresh } else { own.cwnd }).max(1)
    };
    srtt_us: u32 = |own| own.srtt_us;
    min_rtt_us: u32 = |own| own.min_rtt_us;
    last_rtt_us: u32 = |own| own.last_rtt_us;
    mss: u32 = |own| own.mss;
    in_flight: u32 = |own| own.in_flight;
    prior_cwnd: u32 = |own| own.prior_cwnd;
    cwnd_clamp: u32 = |own| own.cwnd_clamp;
    delivered: u32 = |own| own.delivered;
    delivered_ce: u32 = |own| own.delivered_ce;
    lost: u32 = |own| own.lost;
    snd_una: u64 = |own| own.snd_una;
    snd_nxt: u64 = |own| own.snd_nxt;
    last_ack_us: u64 = |own| own.last_ack_us;
    }
    write {
    cwnd, set_cwnd: u32;
    ssthresh, set_ssthresh: u32;
    pacing_rate, set_pacing_rate: u64;
    }
}
