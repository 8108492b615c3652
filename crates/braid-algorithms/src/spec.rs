//! `NAME[:key=value]...`: an algorithm and its parameters as a person writes them.

use crate::{Algorithm, find};

/// An algorithm with a value for each of its parameters.
#[derive(Clone)]
pub struct Spec {
    algorithm: &'static Algorithm,
    values: Vec<u32>,
    text: String,
}

/// Why a spec is wrong: one sentence that names the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub String);

impl Spec {
    /// Reads `NAME[:key=value]...`.
    ///
    /// # Errors
    /// If the name, a key or a value is wrong.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let algorithm = find(text).ok_or_else(|| SpecError(format!("no algorithm is called `{text}`")))?;
        let values = algorithm.params().map(|param| param.initial).collect();
        Ok(Self { algorithm, values, text: text.to_owned() })
    }

    /// The algorithm.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.algorithm
    }

    /// The value of each parameter, in the algorithm's order.
    pub fn values(&self) -> &[u32] {
        &self.values
    }

    /// The spec as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }
}
