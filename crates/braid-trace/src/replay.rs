//! Repeats calls natively.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use braid_algorithms::Controller;
use braid_algorithms::layout::event_type;

use crate::{Call, Outputs, event_name};

/// A word with a different native result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the call.
    pub sequence: u64,
    /// The algorithm and its parameters.
    pub spec: String,
    /// The event.
    pub event: &'static str,
    /// The word.
    pub word: String,
    /// The recorded value.
    pub recorded: u64,
    /// The native value.
    pub replayed: u64,
}

/// Result of a replay.
#[derive(Default)]
pub struct Replay {
    /// Calls by spec and event.
    pub calls: BTreeMap<(String, &'static str), u64>,
    /// Calls whose view has several subflows.
    pub with_siblings: u64,
    /// Words compared.
    pub words: u64,
    /// Words that differ.
    pub differing: u64,
    /// Calls that found memory, private or public, other than the subflow's previous call had left. Only lost calls
    /// explain such gaps.
    pub gaps: u64,
    /// Specs recorded with sources other than this build's.
    pub other_sources: Vec<String>,
    /// The first of the differing words.
    pub first: Vec<Difference>,
    controllers: BTreeMap<String, Controller>,
    left: HashMap<u64, (u64, Outputs)>,
}

/// Maximum of stored differences.
const KEPT: usize = 20;

impl Replay {
    /// An empty replay.
    pub fn new() -> Self {
        Self::default()
    }

    /// All calls together.
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }

    /// Repeats a call and compares every word of its outputs.
    pub fn call(&mut self, call: &Call) {
        let text = call.origin.spec.text();
        if call.origin.source_hash != call.origin.spec.algorithm().source_hash()
            && !self.other_sources.iter().any(|known| known == text)
        {
            self.other_sources.push(text.to_owned());
        }
        let event = event_name(call.event.kind);
        *self.calls.entry((text.to_owned(), event)).or_default() += 1;
        self.with_siblings += u64::from(call.view.n > 1);
        self.remember(call);

        let controller =
            self.controllers.entry(text.to_owned()).or_insert_with(|| Controller::new(&call.origin.spec));
        controller.set_private(&call.private);
        let mut view = call.view.clone();
        controller.deliver(&mut view, &call.event);
        let replayed = Outputs::of(&view, controller.private());
        self.words += words(&replayed).count() as u64;
        if replayed == call.outputs {
            return;
        }
        for ((word, recorded), (_, replayed)) in words(&call.outputs).zip(words(&replayed)) {
            if recorded == replayed {
                continue;
            }
            self.differing += 1;
            if self.first.len() < KEPT {
                let (sequence, spec, word) = (call.sequence, text.to_owned(), word.to_string());
                self.first.push(Difference { sequence, spec, event, word, recorded, replayed });
            }
        }
    }

    /// Whether the subflow's memory is as its last call left it.
    fn remember(&mut self, call: &Call) {
        if call.event.kind != event_type::INIT
            && let Some((sequence, left)) = self.left.get(&call.socket)
        {
            let words = call.origin.spec.algorithm().public_bytes().div_ceil(8);
            let subflow = &call.view.subflow[call.view.self_index as usize];
            let same =
                left.private == call.private && left.public_words[..words] == subflow.public_words[..words];
            self.gaps += u64::from(!same && *sequence < call.sequence);
        }
        if call.event.kind == event_type::RELEASE {
            self.left.remove(&call.socket);
        } else {
            self.left.insert(call.socket, (call.sequence, call.outputs.clone()));
        }
    }
}

/// Every word of the outputs with its part and index.
fn words(outputs: &Outputs) -> impl Iterator<Item = (Word, u64)> {
    let Outputs { cwnd, ssthresh, pacing_rate, public_words, private } = outputs;
    let narrow =
        [("cwnd", u64::from(*cwnd)), ("ssthresh", u64::from(*ssthresh)), ("pacing_rate", *pacing_rate)];
    let narrow = narrow.into_iter().map(|(part, value)| (Word { part, place: None }, value));
    narrow.chain(each("public", public_words)).chain(each("private", private))
}

fn each(part: &'static str, words: &[u64]) -> impl Iterator<Item = (Word, u64)> {
    words.iter().enumerate().map(move |(place, &value)| (Word { part, place: Some(place) }, value))
}

/// Name of a word. Millions are compared, but few are named.
struct Word {
    part: &'static str,
    place: Option<usize>,
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.part)?;
        self.place.map_or(Ok(()), |place| write!(f, "[{place}]"))
    }
}
