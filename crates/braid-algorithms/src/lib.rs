//! Safe Rust interface of the congestion control algorithms in `algorithms/`, compiled natively.
//!
//! An [`Algorithm`] is a C file; a [`Spec`] is an algorithm with parameters, in text form (`cubic:beta=0.8`); a
//! [`Controller`] runs a spec on one subflow of a [`layout::View`].

use std::ffi::{CString, c_char, c_void};
use std::sync::{PoisonError, RwLock};

#[doc(hidden)]
pub mod descriptor;
pub mod guard;
mod hash;
pub mod layout;
mod spec;

pub use descriptor::Param;
use descriptor::{RawParam, constant, fact};
use layout::{Event, View};
pub use spec::{Configured, Spec, SpecError, Tunable, nearest};

/// `braid_transition`: a function that handles an event.
pub type Transition = unsafe extern "C" fn(*mut View, *mut c_void, *const c_void, *const Event);

/// `struct braid_algorithm`.
#[repr(C)]
struct RawAlgorithm {
    name: *const c_char,
    layout_version: u32,
    flags: u32,
    public_bytes: u32,
    private_bytes: u32,
    params_bytes: u32,
    n_params: u32,
    params: *const RawParam,
    on_event: [Transition; 6],
}

// SAFETY: the descriptors are constants of the C library; nothing writes them.
unsafe impl Sync for RawAlgorithm {}

/// One congestion control algorithm.
pub struct Algorithm {
    raw: &'static RawAlgorithm,
    page: &'static str,
    source_hash: u64,
    /// Of a user's algorithm: `FILE:LINE: FUNCTION` for each type of event.
    places: Option<[String; 6]>,
}

/// Facts about an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its behaviour with a single subflow.
    pub base: &'static str,
    /// Its congestion signals.
    pub signal: &'static str,
    /// Year of the publication.
    pub year: &'static str,
    /// The publication.
    pub source: &'static str,
    /// How closely it follows the publication.
    pub confidence: &'static str,
}

macro_rules! algorithm {
    ($name:ident, $symbol:ident, $page:expr, $hash:expr) => {
        Algorithm {
            raw: {
                unsafe extern "C" {
                    static $symbol: RawAlgorithm;
                }
                // SAFETY: the C file of that name defines it as a constant.
                unsafe { &$symbol }
            },
            page: $page,
            source_hash: $hash,
            places: None,
        }
    };
}

/// All algorithms, by name.
pub fn all() -> &'static [Algorithm] {
    static ALL: &[Algorithm] = include!(concat!(env!("OUT_DIR"), "/list.rs"));
    ALL
}

/// Algorithms added at run time, the latest last.
static ADDED: RwLock<Vec<&'static Algorithm>> = RwLock::new(Vec::new());

/// Algorithms added at run time, in order.
pub fn added() -> Vec<&'static Algorithm> {
    ADDED.read().unwrap_or_else(PoisonError::into_inner).clone()
}

/// The algorithm of that name.
pub fn find(name: &str) -> Option<&'static Algorithm> {
    let known = all().iter().find(|algorithm| algorithm.name() == name);
    known.or_else(|| added().into_iter().rfind(|algorithm| algorithm.name() == name))
}

/// Adds a user's algorithm for the rest of the program. It replaces an added one of the same name, unless that has the
/// same source. `places` has `FILE:LINE: FUNCTION` for each type of event.
///
/// # Errors
/// If it is of another version of `braid.h`, a built-in algorithm has its name, or `check` refuses it.
///
/// # Safety
/// `descriptor` must be a `struct braid_algorithm` as made by `BRAID_ALGORITHM` with `native/host.h`; it and everything
/// it points to must live as long as the program.
pub unsafe fn add(
    descriptor: *const c_void,
    page: String,
    source_hash: u64,
    places: [String; 6],
    check: impl FnOnce(&'static Algorithm) -> Result<(), SpecError>,
) -> Result<&'static Algorithm, SpecError> {
    // SAFETY: as promised by the caller.
    let raw: &'static RawAlgorithm = unsafe { &*descriptor.cast() };
    if raw.layout_version != layout::VERSION {
        let (own, its) = (layout::VERSION, raw.layout_version);
        return Err(SpecError(format!(
            "it was compiled for version {its} of braid.h, this is {own}: compile it again"
        )));
    }
    let algorithm = Algorithm { raw, page: String::leak(page), source_hash, places: Some(places) };
    let name = algorithm.name();
    if all().iter().any(|known| known.name() == name) {
        return Err(taken(name));
    }
    if let Some(same) = find(name).filter(|known| known.source_hash == source_hash) {
        return Ok(same);
    }
    let algorithm: &'static Algorithm = Box::leak(Box::new(algorithm));
    check(algorithm)?;
    ADDED.write().unwrap_or_else(PoisonError::into_inner).push(algorithm);
    Ok(algorithm)
}

/// An algorithm defined by the program instead of a C file.
pub struct Definition {
    /// Its name.
    pub name: String,
    /// Its page.
    pub page: String,
    /// [`Algorithm::WANTS_RATE`] and the like.
    pub flags: u32,
    /// Its tunables.
    pub params: Vec<Param>,
    /// Identifies its version.
    pub source_hash: u64,
    /// Handles every event. Its private memory is 8 bytes, zero before [`layout::event_type::INIT`]; its public memory
    /// is all [`layout::PUBLIC_WORDS`].
    pub transition: Transition,
}

/// Adds an algorithm of the program itself; the latest of a name counts. It runs in this process.
///
/// # Errors
/// If the name is invalid or that of a built-in one.
///
/// # Safety
/// The transition must change its arguments only as the contract allows.
///
/// # Panics
/// If a text contains a zero byte.
pub unsafe fn define(definition: Definition) -> Result<&'static Algorithm, SpecError> {
    let Definition { name, page, flags, params, source_hash, transition } = definition;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if name.is_empty() || name.len() > 9 || !name.chars().all(fits) {
        let why = "a name has at most 9 characters of a-z and 0-9";
        return Err(SpecError(format!("an algorithm cannot be called `{name}`: {why}")));
    }
    if all().iter().any(|known| known.name() == name) {
        return Err(taken(&name));
    }
    let text = |text: &str| CString::new(text).expect("no zero byte").into_raw().cast_const();
    let rows: Vec<RawParam> = params
        .iter()
        .map(|param| RawParam {
            name: text(param.name),
            initial: param.initial,
            low: param.low,
            high: param.high,
            scale: param.scale,
            unit: text(param.unit),
            help: text(param.help),
        })
        .collect();
    let raw: &'static RawAlgorithm = Box::leak(Box::new(RawAlgorithm {
        name: text(&name),
        layout_version: layout::VERSION,
        flags,
        public_bytes: (layout::PUBLIC_WORDS * 8) as u32,
        private_bytes: 8,
        params_bytes: (rows.len() * 4) as u32,
        n_params: rows.len() as u32,
        params: Vec::leak(rows).as_ptr(),
        on_event: [transition; 6],
    }));
    let algorithm: &'static Algorithm =
        Box::leak(Box::new(Algorithm { raw, page: String::leak(page), source_hash, places: None }));
    ADDED.write().unwrap_or_else(PoisonError::into_inner).push(algorithm);
    Ok(algorithm)
}

fn taken(name: &str) -> SpecError {
    SpecError(format!("`{name}` is a built-in algorithm: give this one another name"))
}

impl Tunable for Algorithm {
    const KIND: &'static str = "algorithm";

    fn find(name: &str) -> Option<&'static Self> {
        find(name)
    }

    fn names() -> Vec<&'static str> {
        all().iter().chain(added()).map(Self::name).collect()
    }

    fn name(&self) -> &'static str {
        self.name()
    }

    fn params(&self) -> impl ExactSizeIterator<Item = Param> + use<> {
        self.params()
    }
}

impl Algorithm {
    /// Fill in the rate sample of every ACK.
    pub const WANTS_RATE: u32 = 1;
    /// The algorithm sets cwnd in every state.
    pub const OWNS_CWND: u32 = 2;
    /// It does not read siblings.
    pub const UNCOUPLED: u32 = 4;
    /// It detects shared bottlenecks: [`layout::Subflow::verdict`] is its label.
    pub const DETECTS: u32 = 8;
    /// Fill in `owd_us` of every ACK if the host can.
    pub const WANTS_OWD: u32 = 16;
    /// It reads only these values of siblings: id, cwnd, ssthresh, `ca_state`, `srtt_us`, mss, `snd_una`, the public
    /// words, and whether they are eligible and run the same algorithm.
    pub const RATES_OF_SIBLINGS: u32 = 32;
    /// It ignores ACKs on which no window may grow. Of the other ACKs it reads only the time, `grow` and whether the
    /// window was the limit.
    pub const GROWTH_ONLY: u32 = 64;
    /// With [`RATES_OF_SIBLINGS`](Self::RATES_OF_SIBLINGS): it also reads their `min_rtt_us`, `last_ack_us` and `hint`.
    pub const PATHS_OF_SIBLINGS: u32 = 128;
    /// With [`RATES_OF_SIBLINGS`](Self::RATES_OF_SIBLINGS): it does not read their id.
    pub const NO_ID_OF_SIBLINGS: u32 = 256;
    /// With [`RATES_OF_SIBLINGS`](Self::RATES_OF_SIBLINGS): it does not read their mss.
    pub const NO_MSS_OF_SIBLINGS: u32 = 512;
    /// With [`RATES_OF_SIBLINGS`](Self::RATES_OF_SIBLINGS): it does not read their `snd_una`.
    pub const NO_BYTES_OF_SIBLINGS: u32 = 1024;
    /// It reads only these values of its own subflow: cwnd, ssthresh, `ca_state`, `srtt_us`, mss, `snd_una`,
    /// `cwnd_clamp`, the public words and eligibility; and not the view's connection.
    pub const RATES_OF_SELF: u32 = 2048;
    /// Its public words below [`layout::VERDICT_WORD`] are neither read nor written.
    pub const NO_LOW_WORDS: u32 = 4096;
    /// At a restart after idle it neither reads nor writes the view.
    pub const RESTARTS_UNSEEN: u32 = 8192;
    /// It sets a pacing rate without owning cwnd.
    pub const PACES: u32 = 16384;

    /// Its name, at most nine characters of `[a-z0-9]`.
    pub fn name(&self) -> &'static str {
        // SAFETY: BRAID_ALGORITHM sets it to a string literal.
        unsafe { constant(self.raw.name) }
    }

    /// Its page in Markdown.
    pub fn page(&self) -> &'static str {
        self.page
    }

    /// One-line description: the page's heading without the name.
    pub fn title(&self) -> &'static str {
        descriptor::title(self.page)
    }

    /// Facts from the table at the top of its page.
    pub fn facts(&self) -> Facts {
        let fact = |key: &str| fact(self.page, key);
        Facts {
            base: fact("base"),
            signal: fact("signal"),
            year: fact("year"),
            source: fact("source"),
            confidence: fact("confidence"),
        }
    }

    /// [`Self::WANTS_RATE`], [`Self::OWNS_CWND`].
    pub fn flags(&self) -> u32 {
        self.raw.flags
    }

    /// Hash of its source including headers: equal hashes compute the same.
    pub fn source_hash(&self) -> u64 {
        self.source_hash
    }

    /// Whether it was added by [`add`]: a user's code, which may crash.
    pub fn is_added(&self) -> bool {
        self.places.is_some()
    }

    /// Bytes of public state.
    pub fn public_bytes(&self) -> usize {
        self.raw.public_bytes as usize
    }

    /// Bytes of private state.
    pub fn private_bytes(&self) -> usize {
        self.raw.private_bytes as usize
    }

    /// Its tunables, in the order of their struct.
    pub fn params(&self) -> impl ExactSizeIterator<Item = Param> + use<> {
        // SAFETY: BRAID_ALGORITHM counts the constant rows it points to.
        unsafe { descriptor::params(self.raw.params, self.raw.n_params) }
    }
}

/// An algorithm on one subflow: parameters and private memory.
///
/// The public memory is in the view.
pub struct Controller {
    on_event: &'static [Transition; 6],
    params: Box<[u32]>,
    private: Box<[u64]>,
    flags: u32,
    guard: Option<Box<Guard>>,
}

static BUILT_IN: [String; 6] = [const { String::new() }; 6];

/// Limits of a checked algorithm. Its private memory is between two margins.
struct Guard {
    places: &'static [String; 6],
    public_words: usize,
    params: Box<[u32]>,
    /// The view before the latest call.
    before: View,
    calls: u32,
}

impl Controller {
    /// A controller with zeroed memory; the host then delivers `INIT`.
    pub fn new(spec: &Spec) -> Self {
        let raw = spec.algorithm().raw;
        let params: Box<[u32]> = spec.values().into();
        let mut private = vec![0; (raw.private_bytes as usize).div_ceil(8).max(1)];
        let places = match &spec.algorithm().places {
            _ if !guard::is_on() => None,
            Some(places) => Some(places),
            // Tests check the built-in ones, too.
            None => cfg!(debug_assertions).then_some(&BUILT_IN),
        };
        let guard = places.map(|places| {
            let margin = [guard::UNTOUCHED; guard::MARGIN];
            private = [&margin, private.as_slice(), &margin].concat();
            let public_words = (raw.public_bytes as usize).div_ceil(8);
            Box::new(Guard {
                places,
                public_words,
                params: params.clone(),
                before: View::default(),
                calls: 0,
            })
        });
        Self { on_event: &raw.on_event, params, private: private.into(), flags: raw.flags, guard }
    }

    /// Flags of the algorithm.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// The private memory, for comparison with another build's.
    pub fn private(&self) -> &[u64] {
        let margin = self.margin();
        &self.private[margin..self.private.len() - margin]
    }

    fn margin(&self) -> usize {
        self.guard.as_ref().map_or(0, |_| guard::MARGIN)
    }

    /// Restores a private memory returned by [`Self::private`].
    ///
    /// # Panics
    /// If it is of another length.
    pub fn set_private(&mut self, private: &[u64]) {
        let margin = self.margin();
        let end = self.private.len() - margin;
        self.private[margin..end].copy_from_slice(private);
    }

    /// Delivers an event to the subflow `view.self_index`.
    ///
    /// # Panics
    /// If the event's type is not in [`layout::event_type`], or as [`guard::violated`].
    #[inline]
    pub fn deliver(&mut self, view: &mut View, event: &Event) {
        debug_assert!(view.n as usize <= layout::MAX_SUBFLOWS && view.self_index < view.n);
        match &self.guard {
            None => self.call(0, view, event),
            Some(_) => self.deliver_checked(view, event),
        }
    }

    #[inline(never)]
    fn deliver_checked(&mut self, view: &mut View, event: &Event) {
        let Some(mut guard) = self.guard.take() else { return };
        // Subflows that the connection does not have are compared at every 16th ACK only: it takes as long as the rest.
        let is_whole = event.kind != layout::event_type::ON_ACK || guard.calls.is_multiple_of(16);
        let count = if is_whole { layout::MAX_SUBFLOWS } else { view.n as usize };
        guard.calls = guard.calls.wrapping_add(1);
        let View { connection, n, self_index, subflow } = &mut guard.before;
        (*connection, *n, *self_index) = (view.connection, view.n, view.self_index);
        subflow[..count].copy_from_slice(&view.subflow[..count]);
        let seen = *event;
        self.call(guard::MARGIN, view, &seen);
        let margins = [&self.private[..guard::MARGIN], &self.private[self.private.len() - guard::MARGIN..]];
        let wrong = guard::memory(seen != *event, guard.params != self.params, margins)
            .or_else(|| guard::violation(&guard.before, view, count, guard.public_words));
        if let Some(wrong) = wrong {
            guard::violated(&guard::message(&guard.places[event.kind as usize], &wrong, event));
        }
        self.guard = Some(guard);
    }

    #[inline]
    fn call(&mut self, start: usize, view: &mut View, event: &Event) {
        let transition = self.on_event[event.kind as usize];
        // SAFETY: the four pointers refer to live memory of the layout that the transition was compiled for (`Spec`
        // checks the number of parameters, `new` the size of the private memory, tests/layout.rs the rest), and a
        // transition masks `self_index` before it is used as an index.
        unsafe {
            let private = self.private.as_mut_ptr().add(start).cast();
            transition(view, private, self.params.as_ptr().cast(), event);
        }
    }
}
