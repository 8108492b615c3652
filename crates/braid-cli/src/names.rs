//! Names of loaded algorithms.

use braid_algorithms::Spec;
use braid_kernel::PREFIX;

use crate::Failure;
use crate::failure::BAD_INPUT;

/// The loaded name without `braid_`.
pub(crate) fn short(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// `NAME[:key=value]...`
pub(crate) fn parse(text: &str) -> Result<Spec, Failure> {
    Spec::parse(text).map_err(|error| Failure::new(BAD_INPUT, error.to_string()))
}
