//! Calls as text and JSON have them. Numbers of 64 bits are strings, `0x` and hexadecimal digits: JSON's numbers are exact
//! only to 53 bits in many languages.

use std::sync::Arc;

use braid_algorithms::layout::{Event, MAX_SUBFLOWS, PUBLIC_WORDS, Subflow, View};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::hex::{word, words};
use crate::{Call, Error, Origin, Outputs};

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct CallForm {
    /// Index among the origins of the document.
    pub(crate) origin: usize,
    #[serde(with = "word")]
    pub(crate) sequence: u64,
    pub(crate) cpu: u32,
    #[serde(with = "word")]
    pub(crate) time_ns: u64,
    #[serde(with = "word")]
    pub(crate) socket: u64,
    pub(crate) event: EventForm,
    pub(crate) view: ViewForm,
    #[serde(with = "words")]
    pub(crate) private: Vec<u64>,
    pub(crate) outputs: Outputs,
}

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct ViewForm {
    #[serde(with = "word")]
    pub(crate) connection: u64,
    #[serde(rename = "self")]
    pub(crate) self_index: u32,
    pub(crate) subflows: Vec<SubflowForm>,
}

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct EventForm(#[serde(with = "EventFields")] pub(crate) Event);

#[derive(Default, Serialize, Deserialize)]
pub(crate) struct SubflowForm(#[serde(with = "SubflowFields")] pub(crate) Subflow);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Event")]
struct EventFields {
    #[serde(rename = "type", with = "event_type")]
    kind: u32,
    #[serde(with = "word")]
    now_us: u64,
    cause: u32,
    flags: u32,
    acked: u32,
    grow: u32,
    acked_bytes: u32,
    rtt_us: u32,
    idle_us: u32,
    owd_us: i32,
    rate_delivered: u32,
    rate_interval_us: u32,
    rate_prior_delivered: u32,
    rate_losses: u32,
    prior_in_flight: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Subflow")]
struct SubflowFields {
    cwnd: u32,
    ssthresh: u32,
    ca_state: u32,
    flags: u32,
    srtt_us: u32,
    min_rtt_us: u32,
    last_rtt_us: u32,
    mss: u32,
    in_flight: u32,
    prior_cwnd: u32,
    cwnd_clamp: u32,
    delivered: u32,
    delivered_ce: u32,
    lost: u32,
    id: u32,
    hint: u32,
    #[serde(with = "word")]
    snd_una: u64,
    #[serde(with = "word")]
    snd_nxt: u64,
    #[serde(with = "word")]
    last_ack_us: u64,
    #[serde(with = "word")]
    pacing_rate: u64,
    #[serde(with = "words")]
    public_words: [u64; PUBLIC_WORDS],
}

impl CallForm {
    pub(crate) fn of(call: Call, origin: usize) -> Self {
        let subflows = call.view.subflow[..call.view.n as usize].iter().copied().map(SubflowForm).collect();
        Self {
            origin,
            sequence: call.sequence,
            cpu: call.cpu,
            time_ns: call.time_ns,
            socket: call.socket,
            event: EventForm(call.event),
            view: ViewForm { connection: call.view.connection, self_index: call.view.self_index, subflows },
            private: call.private,
            outputs: call.outputs,
        }
    }

    /// The call, if it can be replayed.
    pub(crate) fn call(self, origin: Arc<Origin>) -> Result<Call, Error> {
        let ViewForm { connection, self_index, subflows } = self.view;
        let n = subflows.len();
        if n > MAX_SUBFLOWS {
            return Err(Error::new(format!("a connection has at most {MAX_SUBFLOWS} subflows")));
        }
        if self_index as usize >= n {
            return Err(Error::new(format!("self is subflow {self_index} of {n}, counted from 0")));
        }
        let words = braid_algorithms::Controller::new(&origin.spec).private().len();
        let (before, after) = (self.private.len(), self.outputs.private.len());
        if before != words || after != words {
            return Err(Error::new(format!(
                "`{}` has {words} words of private memory, not {before} before and {after} after the call",
                origin.spec.algorithm().name()
            )));
        }
        let mut view = View { connection, n: n as u32, self_index, ..View::default() };
        for (place, SubflowForm(subflow)) in view.subflow.iter_mut().zip(subflows) {
            *place = subflow;
        }
        Ok(Call {
            origin,
            sequence: self.sequence,
            cpu: self.cpu,
            time_ns: self.time_ns,
            socket: self.socket,
            event: self.event.0,
            view,
            private: self.private,
            outputs: self.outputs,
        })
    }
}

/// Names and values of fields as columns of a table; words at the end without trailing zeros.
pub(crate) fn columns(form: &impl Serialize) -> Vec<(String, String)> {
    let Ok(Value::Object(fields)) = serde_json::to_value(form) else { return Vec::new() };
    let mut columns = Vec::new();
    for (name, value) in fields {
        match value {
            Value::Array(words) => {
                let used = words.iter().rposition(|word| word != "0x0").map_or(0, |last| last + 1);
                columns.extend(
                    words[..used].iter().filter_map(Value::as_str).map(|word| (name.clone(), word.into())),
                );
            }
            Value::String(text) => columns.push((name, text)),
            number => columns.push((name, number.to_string())),
        }
    }
    columns
}

/// Reads the values of [`columns`].
pub(crate) fn from_columns<T: Default + Serialize + DeserializeOwned>(values: &[&str]) -> Result<T, Error> {
    let failed = |error: serde_json::Error| Error::new(error.to_string());
    let mut form = serde_json::to_value(T::default()).map_err(failed)?;
    let mut rest = values.iter();
    for field in form.as_object_mut().into_iter().flat_map(|fields| fields.values_mut()) {
        if let Value::Array(words) = field {
            words.iter_mut().zip(&mut rest).for_each(|(to, word)| *to = (*word).into());
            continue;
        }
        let text = rest.next().ok_or_else(|| Error::new(format!("{} columns are too few", values.len())))?;
        let number = field.is_number().then(|| text.parse::<i64>()).transpose();
        let number = number.map_err(|_| Error::new(format!("`{text}` is not a whole number")))?;
        *field = number.map_or_else(|| (*text).into(), Value::from);
    }
    if rest.next().is_some() {
        return Err(Error::new(format!("{} columns are too many", values.len())));
    }
    serde_json::from_value(form).map_err(failed)
}

const EVENTS: [&str; 6] = ["init", "release", "on_loss", "on_recovered", "on_ack", "on_idle_restart"];

/// The contract's name of an event of this [type](braid_algorithms::layout::event_type).
pub fn event_name(kind: u32) -> &'static str {
    EVENTS.get(kind as usize).copied().unwrap_or("unknown")
}

mod event_type {
    use serde::{Deserialize as _, Deserializer, Serializer, de};

    use super::{EVENTS, event_name};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's interface")]
    pub(super) fn serialize<S: Serializer>(kind: &u32, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(event_name(*kind))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
        let name = String::deserialize(from)?;
        let kind = EVENTS.iter().position(|event| *event == name);
        let wrong = || de::Error::custom(format!("`{name}` is no event, they are {}", EVENTS.join(", ")));
        kind.map(|kind| kind as u32).ok_or_else(wrong)
    }
}
