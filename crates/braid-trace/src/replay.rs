//! Calls made again natively.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use braid_algorithms::Controller;
use braid_algorithms::layout::event_type;

use crate::{Call, Outputs, event_name};

/// A word that the native build computed differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Number of the call.
    pub sequence: u64,
    /// The algorithm and its parameters.
    pub spec: String,
    /// The event.
    pub event: &'static str,
    /// Which word.
    pub word: String,
    /// What was recorded.
    pub recorded: u64,
    /// What the native build computed.
    pub replayed: u64,
}

/// What came of replaying calls.
#[derive(Default)]
pub struct Replay {
    /// Calls by spec and event.
    pub calls: BTreeMap<(String, &'static str), u64>,
    /// Calls with a view of several subflows.
    pub with_siblings: u64,
    /// Words compared.
    pub words: u64,
    /// Words that differ.
    pub differing: u64,
    /// Calls that found another memory, private or public, than the call before had left to the same subflow. Lost calls
    /// make such gaps; without them there is no reason for any.
    pub gaps: u64,
    /// Specs recorded with other sources than this build's.
    pub other_sources: Vec<String>,
    /// The first of the differing words.
    pub first: Vec<Difference>,
    controllers: BTreeMap<String, Controller>,
    left: HashMap<u64, (u64, Outputs)>,
}

/// How many differences are kept.
const KEPT: usize = 20;

impl Replay {
    /// Nothing replayed yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// All calls together.
    pub fn total(&self) -> u64 {
        self.calls.values().sum()
    }

    /// Makes a call again and compares every word that it left.
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

    /// Whether the subflow's memory is as it was left.
    fn remember(&mut self, call: &Call) {
        if call.event.kind != event_type::INIT {
            if let Some((sequence, left)) = self.left.get(&call.socket) {
                let words = call.origin.spec.algorithm().public_bytes().div_ceil(8);
                let subflow = &call.view.subflow[call.view.self_index as usize];
                let same = left.private == call.private
                    && left.public_words[..words] == subflow.public_words[..words];
                self.gaps += u64::from(!same && *sequence < call.sequence);
            }
        }
        if call.event.kind == event_type::RELEASE {
            self.left.remove(&call.socket);
        } else {
            self.left.insert(call.socket, (call.sequence, call.outputs.clone()));
        }
    }
}

/// Every word of the outputs, with what it is part of and its place there.
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

/// Which word it is. Millions are compared, of which hardly one is named.
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
