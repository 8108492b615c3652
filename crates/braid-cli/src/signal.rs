//! Ctrl-C.

use braid_study::Cancel;

use crate::Failure;
use crate::failure::{FAILED, INTERRUPTED};

/// Cancelled by the first signal, which ends the work in an orderly way; a second signal ends it at once.
pub(crate) fn cancel() -> Result<Cancel, Failure> {
    let cancel = Cancel::new();
    let signalled = cancel.clone();
    let handler = move || {
        if !signalled.cancel() {
            std::process::exit(INTERRUPTED.into());
        }
    };
    ctrlc::set_handler(handler).map_err(|error| Failure::new(FAILED, format!("signals: {error}")))?;
    Ok(cancel)
}
