//! Safe Rust interface of the packet schedulers in `schedulers/`, compiled natively.
//!
//! A [`Scheduler`] is a C file; a [`Spec`] is a scheduler with parameters, in text form (`ecf:beta=0.5`); a [`Chooser`]
//! runs a spec on one connection.

use std::ffi::{c_char, c_void};

use braid_algorithms::descriptor::{self, RawParam, constant};
use braid_algorithms::{Configured, Param, Tunable};

pub mod layout;

use layout::{Choice, Paths};

type Transition = unsafe extern "C" fn(*const Paths, *mut c_void, *const c_void, *mut Choice);

#[repr(C)]
struct RawScheduler {
    name: *const c_char,
    layout_version: u32,
    flags: u32,
    private_bytes: u32,
    n_params: u32,
    params: *const RawParam,
    on_event: [Option<Transition>; 4],
}

// SAFETY: the descriptors are constants of the C library; nothing writes them.
unsafe impl Sync for RawScheduler {}

/// One packet scheduler.
pub struct Scheduler {
    raw: &'static RawScheduler,
    page: &'static str,
    source_hash: u64,
}

macro_rules! scheduler {
    ($symbol:ident, $page:expr, $hash:expr) => {
        Scheduler {
            raw: {
                unsafe extern "C" {
                    static $symbol: RawScheduler;
                }
                // SAFETY: the C file of that name defines it as a constant.
                unsafe { &$symbol }
            },
            page: $page,
            source_hash: $hash,
        }
    };
}

/// All schedulers, by name.
pub fn all() -> &'static [Scheduler] {
    static ALL: &[Scheduler] = include!(concat!(env!("OUT_DIR"), "/list.rs"));
    ALL
}

/// The scheduler of that name.
pub fn find(name: &str) -> Option<&'static Scheduler> {
    all().iter().find(|scheduler| scheduler.name() == name)
}

/// A scheduler with a value for each of its parameters.
///
/// ```
/// use braid_schedulers::Spec;
///
/// let spec = Spec::parse("ecf:penalise=off:beta=0.5").unwrap();
/// assert_eq!(spec.definition().name(), "ecf");
/// assert_eq!(spec.text(), "ecf:beta=0.5:penalise=off");
/// assert_eq!(
///     Spec::parse("blesst").err().unwrap().to_string(),
///     "no scheduler is called `blesst`: did you mean `blest`?"
/// );
/// ```
pub type Spec = Configured<Scheduler>;

impl Tunable for Scheduler {
    const KIND: &'static str = "scheduler";

    fn find(name: &str) -> Option<&'static Self> {
        find(name)
    }

    fn names() -> Vec<&'static str> {
        all().iter().map(Self::name).collect()
    }

    fn name(&self) -> &'static str {
        self.name()
    }

    fn params(&self) -> impl ExactSizeIterator<Item = Param> + use<> {
        self.params()
    }
}

impl Scheduler {
    /// Assigns paths more than they can send at once.
    pub const QUEUES: u32 = 1;
    /// Sends segments on several paths.
    pub const COPIES: u32 = 2;
    /// Stateless: depends only on srtt, flags and paths that have sent the segment. The host may cache the result, and
    /// need not call it for new data without a ready backup (they go to the ready path with the smallest srtt), nor for
    /// a full window if only the path with room has sent the oldest segment.
    pub const BY_SRTT: u32 = 4;
    /// Works on unmodified Linux's data level.
    pub const MAINLINE: u32 = 8;

    /// Its name.
    pub fn name(&self) -> &'static str {
        // SAFETY: BRAID_SCHEDULER sets it to a string literal.
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

    /// A fact from the table at the top of its page, such as `year`.
    pub fn fact(&self, key: &str) -> &'static str {
        descriptor::fact(self.page, key)
    }

    /// [`Self::QUEUES`], [`Self::COPIES`], [`Self::BY_SRTT`].
    pub fn flags(&self) -> u32 {
        self.raw.flags
    }

    /// Hash of its source including headers: equal hashes decide the same.
    pub fn source_hash(&self) -> u64 {
        self.source_hash
    }

    /// Bytes of state per connection.
    pub fn private_bytes(&self) -> usize {
        self.raw.private_bytes as usize
    }

    /// Its tunables, in the order of their struct.
    pub fn params(&self) -> impl ExactSizeIterator<Item = Param> + use<> {
        // SAFETY: BRAID_SCHEDULER counts the constant rows it points to.
        unsafe { descriptor::params(self.raw.params, self.raw.n_params) }
    }
}

/// An event of a scheduler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Event {
    /// Choose a path for the segment.
    Choose = 0,
    /// Path self has joined.
    Join = 1,
    /// The srtt of path self has been updated.
    Rtt = 2,
    /// Path self has room, but new data cannot be sent.
    Blocked = 3,
}

/// A scheduler on one connection: parameters and private memory.
pub struct Chooser {
    on_event: &'static [Option<Transition>; 4],
    params: Box<[u32]>,
    private: Box<[u64]>,
    flags: u32,
}

impl Chooser {
    /// A chooser with zeroed memory; the host then delivers [`Event::Join`] for each path.
    pub fn new(spec: &Spec) -> Self {
        let raw = spec.definition().raw;
        Self {
            on_event: &raw.on_event,
            params: spec.values().into(),
            private: vec![0; (raw.private_bytes as usize).div_ceil(8).max(1)].into(),
            flags: raw.flags,
        }
    }

    /// Flags of the scheduler.
    #[inline]
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// The private memory, for comparison with another build's.
    pub fn private(&self) -> &[u64] {
        &self.private
    }

    /// Whether the scheduler handles an event.
    #[inline]
    pub fn wants(&self, event: Event) -> bool {
        self.on_event[event as usize].is_some()
    }

    /// Delivers an event; returns the decision.
    #[inline]
    pub fn deliver(&mut self, event: Event, view: &Paths) -> Choice {
        let mut choice = Choice::default();
        let Some(transition) = self.on_event[event as usize] else { return choice };
        // SAFETY: the pointers refer to memory of the sizes that the C file was compiled for; it keeps none of them.
        unsafe {
            transition(view, self.private.as_mut_ptr().cast(), self.params.as_ptr().cast(), &raw mut choice);
        }
        choice
    }
}
