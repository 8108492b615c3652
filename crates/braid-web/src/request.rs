//! Requests of a page.

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
    /// List algorithms and scenarios.
    Catalogue,
    /// Start a run in this slot; the answer describes it.
    Open {
        /// Slot of the run.
        slot: usize,
        /// Name of the scenario in messages.
        name: String,
        /// The scenario.
        toml: String,
        /// Assignments such as `link.b1.rate=20mbit`.
        #[serde(default)]
        set: Vec<String>,
        /// For a scenario with parameters: use the first combination, and let `set` change values that depend on them.
        #[serde(default)]
        flat: bool,
        /// The congestion control of connections without their own.
        cc: String,
        /// The seed.
        seed: u64,
    },
    /// Return the scenario's text with the assignments, without parameters.
    Edit {
        /// The scenario.
        toml: String,
        /// As in `open`.
        set: Vec<String>,
    },
    /// Run to the end, and return the results.
    Finish {
        /// Which run.
        slot: usize,
    },
}

/// Parallel runs, by slot.
#[derive(Default)]
pub struct Desk {
    live: Vec<Option<Live>>,
}

/// Maximum of parallel runs.
const MOST_SLOTS: usize = 16;

impl Desk {
    /// The JSON answer to a request: `{"ok": ...}` or `{"error": "..."}`.
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
            // As text: parsing it would change the numbers.
            Request::Finish { slot } => self
                .live(slot)
                .and_then(Live::finish)
                .map(Value::from)
                .ok_or_else(|| format!("slot {slot}: no run that is not finished")),
        }
    }
}
