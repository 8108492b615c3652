//! Whether an algorithm keeps to its flags: what it says that it does not read is replaced by random numbers, and every word
//! that it writes must stay the same.

use std::fmt;

use braid_algorithms::layout::{Event, Subflow, VERDICT_WORD, View, event_flags, event_type, subflow_flags};
use braid_algorithms::{Algorithm, Controller, Spec};

use crate::generate::{Connection, Random};
use crate::{Call, Origin, Outputs};

/// Something that an algorithm uses against its flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undeclared {
    /// The flag, as C has it.
    pub flag: &'static str,
    /// Whether it is set and should not be; else it is missing.
    pub is_set: bool,
    /// What is used, such as `cwnd of a sibling`.
    pub field: String,
    /// With these parameters.
    pub spec: String,
}

impl fmt::Display for Undeclared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} uses {}, and {}", self.spec, self.field, self.claim())
    }
}

impl Undeclared {
    /// The flag, and what to do about it.
    pub fn claim(&self) -> String {
        let (says, remedy) = if self.is_set { ("says", "leave it out") } else { ("does not say", "add it") };
        format!("{says} {}: {remedy}", self.flag)
    }
}

/// Generated connections and calls of each with all parameters at their defaults and each one at its bounds.
const CONNECTIONS: usize = 400;
const MOST_CONNECTIONS: usize = 40;
const CALLS: usize = 400;

/// What a flag is about, with a way to change it.
enum Change {
    Sibling(fn(&mut Subflow, &mut Random)),
    Own(fn(&mut Subflow, &mut Random)),
    View(fn(&mut View, &mut Random)),
    /// Of an ACK.
    Event(fn(&mut Event, &mut Random)),
    /// All of the view at a restart after an idle time.
    Restart,
    /// An ACK that lets nothing grow does nothing.
    NoGrowth,
}

struct Claim {
    flag: &'static str,
    is_set: bool,
    field: &'static str,
    change: Change,
}

/// A claim about each of these fields.
macro_rules! claims {
    ($to:ident, $flag:expr, $is_set:expr, $kind:ident: $($field:ident),*) => {
        $to.extend([$(Claim {
            flag: $flag,
            is_set: $is_set,
            field: stringify!($field),
            change: Change::$kind(|of, random| {
                bytemuck::bytes_of_mut(&mut of.$field).fill_with(|| random.any() as u8);
            }),
        }),*])
    };
}

/// What an algorithm with these flags says that it does not use.
fn claims(flags: u32) -> Vec<Claim> {
    let mut all = Vec::new();
    let has = |flag: u32| flags & flag != 0;
    let mut add = |flag, field, change| all.push(Claim { flag, is_set: true, field, change });
    let rates = "BRAID_RATES_OF_SIBLINGS";
    let backup: fn(&mut Subflow, &mut Random) =
        |subflow, random| subflow.flags ^= random.any() as u32 & subflow_flags::BACKUP;
    let low_words: fn(&mut Subflow, &mut Random) =
        |subflow, random| subflow.public_words[..VERDICT_WORD].fill_with(|| random.any());
    if has(Algorithm::UNCOUPLED) {
        add("BRAID_UNCOUPLED", "n", Change::View(|view, _| view.n = view.self_index + 1));
    }
    if has(Algorithm::RATES_OF_SIBLINGS) {
        add(rates, "BRAID_BACKUP", Change::Sibling(backup));
    }
    if has(Algorithm::RATES_OF_SELF) {
        add("BRAID_RATES_OF_SELF", "BRAID_BACKUP", Change::Own(backup));
        let connection = Change::View(|view, random| view.connection = random.any());
        add("BRAID_RATES_OF_SELF", "connection", connection);
    }
    if has(Algorithm::NO_LOW_WORDS) {
        add("BRAID_NO_LOW_WORDS", "low public words", Change::Sibling(low_words));
        add("BRAID_NO_LOW_WORDS", "low public words", Change::Own(low_words));
    }
    if has(Algorithm::GROWTH_ONLY) {
        let flags = Change::Event(|event, random| {
            let kept = event_flags::CWND_LIMITED;
            event.flags = event.flags & kept | random.any() as u32 & !kept;
        });
        add("BRAID_GROWTH_ONLY", "flags", flags);
        add("BRAID_GROWTH_ONLY", "an ACK that lets nothing grow", Change::NoGrowth);
    }
    if has(Algorithm::RESTARTS_UNSEEN) {
        add("BRAID_RESTARTS_UNSEEN", "the view at a restart", Change::Restart);
    }
    if has(Algorithm::UNCOUPLED) {
        let flag = "BRAID_UNCOUPLED";
        claims!(all, flag, true, Sibling: cwnd, ssthresh, ca_state, flags, srtt_us, min_rtt_us, last_rtt_us, mss, in_flight,
            prior_cwnd, cwnd_clamp, delivered, delivered_ce, lost, id, hint, snd_una, snd_nxt, last_ack_us, pacing_rate,
            public_words);
    }
    if has(Algorithm::RATES_OF_SIBLINGS) {
        claims!(all, rates, true, Sibling: last_rtt_us, in_flight, prior_cwnd, cwnd_clamp, delivered, delivered_ce, lost,
            snd_nxt, pacing_rate);
        if !has(Algorithm::PATHS_OF_SIBLINGS) {
            claims!(all, "BRAID_PATHS_OF_SIBLINGS", false, Sibling: min_rtt_us, hint, last_ack_us);
        }
        if has(Algorithm::NO_ID_OF_SIBLINGS) {
            claims!(all, "BRAID_NO_ID_OF_SIBLINGS", true, Sibling: id);
        }
        if has(Algorithm::NO_MSS_OF_SIBLINGS) {
            claims!(all, "BRAID_NO_MSS_OF_SIBLINGS", true, Sibling: mss);
        }
        if has(Algorithm::NO_BYTES_OF_SIBLINGS) {
            claims!(all, "BRAID_NO_BYTES_OF_SIBLINGS", true, Sibling: snd_una);
        }
    }
    if has(Algorithm::RATES_OF_SELF) {
        claims!(all, "BRAID_RATES_OF_SELF", true, Own: id, min_rtt_us, last_rtt_us, in_flight, prior_cwnd, delivered,
            delivered_ce, lost, hint, snd_nxt, last_ack_us, pacing_rate);
    }
    if has(Algorithm::GROWTH_ONLY) {
        claims!(all, "BRAID_GROWTH_ONLY", true, Event: cause, acked, acked_bytes, rtt_us, idle_us, owd_us, prior_in_flight);
    }
    if !has(Algorithm::WANTS_RATE) {
        claims!(all, "BRAID_WANTS_RATE", false, Event: rate_delivered, rate_interval_us, rate_prior_delivered, rate_losses);
    }
    if !has(Algorithm::WANTS_OWD) {
        claims!(all, "BRAID_WANTS_OWD", false, Event: owd_us);
    }
    all
}

impl Claim {
    /// Changes what the claim is about. False if the call is not one of those that it is about.
    fn change(&self, view: &mut View, event: &mut Event, random: &mut Random) -> bool {
        let own = view.self_index as usize;
        let is_ack = event.kind == event_type::ON_ACK;
        match self.change {
            Change::Sibling(change) => {
                let siblings = view.subflow.iter_mut().enumerate().filter(|(i, _)| *i != own);
                siblings.for_each(|(_, subflow)| change(subflow, random));
            }
            Change::Own(change) => change(&mut view.subflow[own], random),
            Change::View(change) => change(view, random),
            Change::Event(change) if is_ack => change(event, random),
            Change::NoGrowth if is_ack => event.grow = 0,
            Change::Restart if event.kind == event_type::ON_IDLE_RESTART => {
                view.connection = random.any();
                for subflow in &mut view.subflow {
                    bytemuck::bytes_of_mut(subflow).fill_with(|| random.any() as u8);
                }
            }
            _ => return false,
        }
        true
    }

    /// Whether a call comes out otherwise with the change, and not without it: an algorithm that changes its parameters never
    /// repeats a call.
    fn is_broken(&self, call: &Call, controller: &mut Controller, random: &mut Random) -> bool {
        let own = call.view.self_index as usize;
        let given = &call.view.subflow[own];
        // A window above the bound is for the host to correct as well.
        if call.event.kind == event_type::ON_ACK && given.cwnd > given.cwnd_clamp {
            return false;
        }
        let (mut view, mut event) = (call.view.clone(), call.event);
        if !self.change(&mut view, &mut event, random) {
            return false;
        }
        let mut expected = call.outputs.clone();
        if matches!(self.change, Change::NoGrowth) {
            expected = Outputs::of(&view, &call.private);
        }
        // What was changed is not written either: it comes out as it went in.
        let changed = &view.subflow[own];
        let pass = |expected: &mut u32, given: u32, changed: u32| {
            if given != changed {
                *expected = changed;
            }
        };
        pass(&mut expected.cwnd, given.cwnd, changed.cwnd);
        pass(&mut expected.ssthresh, given.ssthresh, changed.ssthresh);
        let wide = given.public_words.iter().zip(&changed.public_words);
        let wide = wide.chain([(&given.pacing_rate, &changed.pacing_rate)]);
        let expectations = expected.public_words.iter_mut().chain([&mut expected.pacing_rate]);
        for (expected, (given, changed)) in expectations.zip(wide) {
            if given != changed {
                *expected = *changed;
            }
        }
        controller.set_private(&call.private);
        controller.deliver(&mut view, &event);
        if Outputs::of(&view, controller.private()) == expected {
            return false;
        }
        let mut view = call.view.clone();
        controller.set_private(&call.private);
        controller.deliver(&mut view, &call.event);
        Outputs::of(&view, controller.private()) == call.outputs
    }

    fn field(&self) -> String {
        match self.change {
            Change::Sibling(_) => format!("{} of a sibling", self.field),
            Change::Own(_) => format!("{} of its subflow", self.field),
            Change::View(_) => format!("{} of the view", self.field),
            Change::Event(_) => format!("{} of an ACK", self.field),
            Change::Restart | Change::NoGrowth => self.field.to_owned(),
        }
    }
}

/// The default parameters, and each one alone at its lowest and highest.
fn settings(algorithm: &'static Algorithm) -> Vec<Spec> {
    let initial: Vec<u32> = algorithm.params().map(|param| param.initial).collect();
    let mut all = vec![initial.clone()];
    for (i, param) in algorithm.params().enumerate() {
        all.extend([param.low, param.high].map(|value| {
            let mut values = initial.clone();
            values[i] = value;
            values
        }));
    }
    all.into_iter().map(|values| Spec::new(algorithm, values)).collect()
}

/// Makes generated calls of an algorithm with what it says that it does not use changed. The first thing that it uses
/// nevertheless.
pub fn undeclared(algorithm: &'static Algorithm) -> Option<Undeclared> {
    undeclared_with(algorithm, algorithm.flags())
}

/// As [`undeclared`], as if the algorithm had these flags.
pub fn undeclared_with(algorithm: &'static Algorithm, flags: u32) -> Option<Undeclared> {
    let (claims, settings) = (claims(flags), settings(algorithm));
    // Of an algorithm with many parameters each setting has fewer calls: what they have in common is seen in all.
    let connections = (CONNECTIONS / settings.len()).clamp(6, MOST_CONNECTIONS);
    let mut random = Random::new(7);
    for spec in settings {
        let mut controller = Controller::new(&spec);
        let origin = Origin::native(spec);
        for _ in 0..connections {
            let subflows = random.between(1, 8);
            let mut connection = Connection::new(&origin, subflows, false, &mut random);
            for _ in 0..CALLS {
                let call = connection.next(&mut random);
                // Some each time: in the end each has met calls of every kind.
                for _ in 0..CLAIMS_PER_CALL.min(claims.len()) {
                    let claim = &claims[random.between(0, claims.len() as u32 - 1) as usize];
                    if claim.is_broken(&call, &mut controller, &mut random) {
                        let Claim { flag, is_set, .. } = *claim;
                        let spec = origin.spec.text().to_owned();
                        return Some(Undeclared { flag, is_set, field: claim.field(), spec });
                    }
                }
            }
        }
    }
    None
}

/// How many of the claims are put to the test at each call.
const CLAIMS_PER_CALL: usize = 4;
