//! Calls as JSON: test vectors for other implementers.

use std::collections::BTreeMap;
use std::sync::Arc;

use braid_algorithms::{Param, Spec, layout};
use serde::{Deserialize, Serialize};

use crate::form::CallForm;
use crate::hex::word;
use crate::{Call, Error, Origin};

const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Document {
    schema_version: u32,
    #[serde(with = "word")]
    layout_hash: u64,
    origins: Vec<OriginForm>,
    calls: Vec<CallForm>,
}

#[derive(Serialize, Deserialize)]
struct OriginForm {
    spec: String,
    algorithm: String,
    /// In people's notation.
    params: BTreeMap<String, String>,
    /// In the algorithm's units.
    raw_params: BTreeMap<String, u32>,
    #[serde(with = "word")]
    source_hash: u64,
}

impl OriginForm {
    fn of(origin: &Origin) -> Self {
        let spec = &origin.spec;
        let params: Vec<Param> = spec.algorithm().params().collect();
        let named = || params.iter().zip(spec.values());
        Self {
            spec: spec.text().to_owned(),
            algorithm: spec.algorithm().name().to_owned(),
            params: named().map(|(param, &value)| (param.name.to_owned(), param.show(value))).collect(),
            raw_params: named().map(|(param, &value)| (param.name.to_owned(), value)).collect(),
            source_hash: origin.source_hash,
        }
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
        CallForm::of(call, index)
    });
    let calls = calls.collect();
    let document = Document {
        schema_version: SCHEMA_VERSION,
        layout_hash: layout::hash(),
        origins: origins.iter().map(|origin| OriginForm::of(origin)).collect(),
        calls,
    };
    serde_json::to_string_pretty(&document).expect("text and numbers only") + "\n"
}

/// Parses the output of [`write`].
pub fn parse(text: &str) -> Result<Vec<Call>, Error> {
    let document: Document = serde_json::from_str(text).map_err(|error| Error::new(error.to_string()))?;
    if document.schema_version != SCHEMA_VERSION {
        return Err(Error::new(format!(
            "schema version {}, this braid reads {SCHEMA_VERSION}",
            document.schema_version
        )));
    }
    let mut origins = Vec::new();
    for OriginForm { spec, source_hash, .. } in document.origins {
        let spec = Spec::parse(&spec).map_err(|error| Error::new(error.to_string()))?;
        origins.push(Arc::new(Origin { spec, source_hash }));
    }
    let mut calls = Vec::new();
    for (number, call) in document.calls.into_iter().enumerate() {
        let origin = origins.get(call.origin).cloned();
        let origin = origin.ok_or_else(|| Error::new(format!("there is no origin {}", call.origin)));
        let call = origin.and_then(|origin| call.call(origin));
        calls.push(call.map_err(|error| Error::new(format!("calls[{number}]: {error}")))?);
    }
    Ok(calls)
}
