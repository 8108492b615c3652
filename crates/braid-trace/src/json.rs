//! Calls as JSON: test vectors for other implementers.
//!
//! 32-bit fields are numbers. 64-bit fields are strings, `0x` and hexadecimal digits, since JSON's numbers are exact
//! only to 53 bits in many languages.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_algorithms::layout::{self, Event, MAX_SUBFLOWS, PUBLIC_WORDS, Subflow, View};
use braid_algorithms::{Param, Spec};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::fields::{Row, Width, event_kind, event_name, hex, word};
use crate::{Call, Error, Origin, Outputs, tsv};

const SCHEMA_VERSION: u32 = 1;

/// 64 bits.
#[derive(Clone, Copy)]
struct Word(u64);

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&hex(self.0))
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        word(&text).map(Word).map_err(de::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
struct Document {
    schema_version: u32,
    layout_hash: Word,
    origins: Vec<JsonOrigin>,
    calls: Vec<JsonCall>,
}

#[derive(Serialize, Deserialize)]
struct JsonOrigin {
    spec: String,
    algorithm: String,
    /// In people's notation.
    params: BTreeMap<String, String>,
    /// In the algorithm's units.
    raw_params: BTreeMap<String, u32>,
    source_hash: Word,
}

#[derive(Serialize, Deserialize)]
struct JsonCall {
    origin: usize,
    sequence: Word,
    cpu: u32,
    time_ns: Word,
    socket: Word,
    event: Map<String, Value>,
    view: JsonView,
    private: Vec<Word>,
    outputs: JsonOutputs,
}

#[derive(Serialize, Deserialize)]
struct JsonView {
    connection: Word,
    #[serde(rename = "self")]
    self_index: u32,
    subflows: Vec<Map<String, Value>>,
}

#[derive(Serialize, Deserialize)]
struct JsonOutputs {
    cwnd: u32,
    ssthresh: u32,
    pacing_rate: Word,
    public_words: Vec<Word>,
    private: Vec<Word>,
}

fn object<T: Row>(row: &T) -> Map<String, Value> {
    let value = |width: Width, value: u64| match width {
        Width::U32 => Value::from(value as u32),
        Width::S32 => Value::from(value as i64),
        Width::U64 => Value::from(hex(value)),
    };
    T::FIELDS.iter().zip(row.get()).map(|((name, width), v)| ((*name).to_owned(), value(*width, v))).collect()
}

fn from_object<T: Row>(object: &Map<String, Value>) -> Result<T, Error> {
    let field = |(name, width): &(&str, Width)| -> Result<u64, Error> {
        let value = object.get(*name).ok_or_else(|| Error::new(format!("`{name}` is missing")))?;
        let read = match width {
            Width::U32 => value.as_u64().filter(|value| u32::try_from(*value).is_ok()),
            Width::S32 => {
                value.as_i64().and_then(|v| i32::try_from(v).ok()).map(|value| i64::from(value) as u64)
            }
            Width::U64 => value.as_str().and_then(|text| word(text).ok()),
        };
        read.ok_or_else(|| Error::new(format!("`{name}` cannot be {value}")))
    };
    Ok(T::from_values(&T::FIELDS.iter().map(field).collect::<Result<Vec<u64>, Error>>()?))
}

fn words(words: &[u64]) -> Vec<Word> {
    words.iter().copied().map(Word).collect()
}

fn from_words(words: &[Word]) -> Vec<u64> {
    words.iter().map(|word| word.0).collect()
}

fn origin(origin: &Origin) -> JsonOrigin {
    let spec = &origin.spec;
    let params: Vec<Param> = spec.algorithm().params().collect();
    let named = || params.iter().zip(spec.values());
    JsonOrigin {
        spec: spec.text().to_owned(),
        algorithm: spec.algorithm().name().to_owned(),
        params: named().map(|(param, &value)| (param.name.to_owned(), param.show(value))).collect(),
        raw_params: named().map(|(param, &value)| (param.name.to_owned(), value)).collect(),
        source_hash: Word(origin.source_hash),
    }
}

/// Writes calls as one document.
///
/// # Panics
/// Never: JSON can represent everything in it.
pub fn write(calls: impl IntoIterator<Item = Call>) -> String {
    let mut origins: Vec<Arc<Origin>> = Vec::new();
    let calls = calls.into_iter().map(|call| {
        let index = origins.iter().position(|known| *known == call.origin).unwrap_or_else(|| {
            origins.push(Arc::clone(&call.origin));
            origins.len() - 1
        });
        let mut event = Map::new();
        event.insert("type".into(), event_name(call.event.kind).into());
        event.extend(object(&call.event));
        let subflows = call.view.subflow[..call.view.n as usize].iter().map(|subflow| {
            let mut object = object(subflow);
            let public = subflow.public_words.iter().map(|&word| Value::from(hex(word))).collect();
            object.insert("public_words".into(), Value::Array(public));
            object
        });
        JsonCall {
            origin: index,
            sequence: Word(call.sequence),
            cpu: call.cpu,
            time_ns: Word(call.time_ns),
            socket: Word(call.socket),
            event,
            view: JsonView {
                connection: Word(call.view.connection),
                self_index: call.view.self_index,
                subflows: subflows.collect(),
            },
            private: words(&call.private),
            outputs: JsonOutputs {
                cwnd: call.outputs.cwnd,
                ssthresh: call.outputs.ssthresh,
                pacing_rate: Word(call.outputs.pacing_rate),
                public_words: words(&call.outputs.public_words),
                private: words(&call.outputs.private),
            },
        }
    });
    let calls: Vec<JsonCall> = calls.collect();
    let document = Document {
        schema_version: SCHEMA_VERSION,
        layout_hash: Word(layout::hash()),
        origins: origins.iter().map(|known| origin(known)).collect(),
        calls,
    };
    serde_json::to_string_pretty(&document).expect("text and numbers only") + "\n"
}

/// Parses the output of [`write`].
///
/// # Errors
/// At the first invalid call, which is named.
pub fn parse(text: &str) -> Result<Vec<Call>, Error> {
    let document: Document = serde_json::from_str(text).map_err(|error| Error::new(error.to_string()))?;
    if document.schema_version != SCHEMA_VERSION {
        return Err(Error::new(format!(
            "schema version {}, this braid reads {SCHEMA_VERSION}",
            document.schema_version
        )));
    }
    let origins: Result<Vec<Arc<Origin>>, Error> = document
        .origins
        .iter()
        .map(|origin| {
            let spec = Spec::parse(&origin.spec).map_err(|error| Error::new(error.to_string()))?;
            Ok(Arc::new(Origin { spec, source_hash: origin.source_hash.0 }))
        })
        .collect();
    let origins = origins?;
    let numbered = document.calls.iter().enumerate();
    numbered
        .map(|(number, call)| {
            read(call, &origins).map_err(|error| Error::new(format!("calls[{number}]: {error}")))
        })
        .collect()
}

fn read(call: &JsonCall, origins: &[Arc<Origin>]) -> Result<Call, Error> {
    let origin =
        origins.get(call.origin).ok_or_else(|| Error::new(format!("there is no origin {}", call.origin)))?;
    let kind = call.event.get("type").and_then(Value::as_str);
    let kind = event_kind(kind.ok_or_else(|| Error::new("the event has no type"))?)?;
    let event = Event { kind, ..from_object(&call.event)? };
    if call.view.subflows.len() > MAX_SUBFLOWS {
        return Err(Error::new(format!("a connection has at most {MAX_SUBFLOWS} subflows")));
    }
    let mut view = View {
        connection: call.view.connection.0,
        n: call.view.subflows.len() as u32,
        self_index: call.view.self_index,
        ..View::default()
    };
    for (subflow, object) in view.subflow.iter_mut().zip(&call.view.subflows) {
        let public = object.get("public_words").cloned().unwrap_or_default();
        let public: Vec<Word> =
            serde_json::from_value(public).map_err(|error| Error::new(format!("public_words: {error}")))?;
        *subflow = Subflow { public_words: public_words(&public)?, ..from_object(object)? };
    }
    tsv::checked(Call {
        origin: Arc::clone(origin),
        sequence: call.sequence.0,
        cpu: call.cpu,
        time_ns: call.time_ns.0,
        socket: call.socket.0,
        event,
        view,
        private: from_words(&call.private),
        outputs: Outputs {
            cwnd: call.outputs.cwnd,
            ssthresh: call.outputs.ssthresh,
            pacing_rate: call.outputs.pacing_rate.0,
            public_words: public_words(&call.outputs.public_words)?,
            private: from_words(&call.outputs.private),
        },
    })
}

fn public_words(words: &[Word]) -> Result<[u64; PUBLIC_WORDS], Error> {
    let words = from_words(words);
    words.try_into().map_err(|_| Error::new(format!("public_words must be {PUBLIC_WORDS}")))
}
