//! What a page asks for.

use braid_scenario::Source;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::catalogue::catalogue;
use crate::edit::{edit, flat};
use crate::live::Live;

/// A request.
#[derive(Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
pub enum Request {
    /// What there is to choose from.
    Catalogue,
    /// A new run in place of that of this slot; the answer describes it.
    Open {
        /// Which of the runs at the same time.
        slot: usize,
        /// What messages call the scenario.
        name: String,
        /// The scenario.
        toml: String,
        /// Assignments such as `link.b1.rate=20mbit`.
        #[serde(default)]
        set: Vec<String>,
        /// Of a scenario with parameters: take the first combination, and let `set` change what depends on them.
        #[serde(default)]
        flat: bool,
        /// The congestion control of connections that name none.
        cc: String,
        /// The seed.
        seed: u64,
    },
    /// The scenario's text with the assignments made, and without parameters.
    Edit {
        /// The scenario.
        toml: String,
        /// As in `open`.
        set: Vec<String>,
    },
    /// The rest of a run and its results.
    Finish {
        /// Which run.
        slot: usize,
    },
}

/// Runs at the same time, by slot.
#[derive(Default)]
pub struct Desk {
    live: Vec<Option<Live>>,
}

/// No page has more runs at the same time.
const MOST_SLOTS: usize = 16;

impl Desk {
    /// The answer to a request that is JSON: `{"ok": ...}` or `{"error": "..."}`.
    pub fn answer(&mut self, request: &str) -> String {
        let answer = match serde_json::from_str(request) {
            Ok(request) => self.ask(request),
            Err(error) => Err(format!("not a request: {error}")),
        };
        match answer {
            Ok(value) => json!({ "ok": value }).to_string(),
            Err(error) => json!({ "error": error }).to_string(),
        }
    }

    /// The run of a slot.
    pub fn live(&mut self, slot: usize) -> Option<&mut Live> {
        self.live.get_mut(slot)?.as_mut()
    }

    fn ask(&mut self, request: Request) -> Result<Value, String> {
        match request {
            Request::Catalogue => Ok(catalogue()),
            Request::Edit { toml, set } => {
                edit(&flat(&Source { name: String::new(), text: toml }), &set).map(Value::from)
            }
            Request::Open { slot, name, toml, set, flat: without, cc, seed } => {
                if slot >= MOST_SLOTS {
                    return Err(format!("slot {slot}: there are {MOST_SLOTS}"));
                }
                let mut source = Source { name, text: toml };
                if without {
                    source.text = flat(&source);
                }
                let live = Live::open(&source, &set, &cc, seed)?;
                let described = live.describe();
                if self.live.len() <= slot {
                    self.live.resize_with(slot + 1, || None);
                }
                self.live[slot] = Some(live);
                Ok(described)
            }
            // As text: a reader that knows only its own numbers would change them.
            Request::Finish { slot } => self
                .live(slot)
                .and_then(Live::finish)
                .map(Value::from)
                .ok_or_else(|| format!("slot {slot}: no run that is not finished")),
        }
    }
}
