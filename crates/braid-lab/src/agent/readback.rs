//! Reads the settings of a queue back and compares them with the request.

use crate::job::Loss;

/// Tolerated relative difference of each value.
const TOLERANCE: f64 = 0.01;

/// Settings of a queue as the kernel reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Told {
    pub(super) limit: u32,
    pub(super) rate_bps: u64,
    pub(super) delay_ns: u64,
    /// Independent loss probability.
    pub(super) loss: f64,
}

/// Whether the kernel accepted the settings.
pub(super) fn agrees(given: Told, taken: Told) -> Result<(), String> {
    let pairs = [
        ("limit", f64::from(given.limit), f64::from(taken.limit)),
        ("rate", given.rate_bps as f64, taken.rate_bps as f64),
        ("delay", given.delay_ns as f64, taken.delay_ns as f64),
        ("loss", given.loss, taken.loss),
    ];
    match pairs.into_iter().find(|(_, given, taken)| (given - taken).abs() > TOLERANCE * given) {
        None => Ok(()),
        Some((what, given, taken)) => Err(format!("the kernel set a {what} of {taken} instead of {given}")),
    }
}

/// Loss probability in the form of [`Told::loss`].
pub(super) fn told_loss(loss: Loss) -> f64 {
    match loss {
        Loss::None | Loss::GilbertElliott(_) | Loss::Every(_) => 0.0,
        Loss::Bernoulli(p) => p,
        Loss::All => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_that_takes_another_value_is_found_out() {
        let given = Told { limit: 100, rate_bps: 10_000_000, delay_ns: 5_000_000, loss: 0.001 };
        assert_eq!(agrees(given, given), Ok(()));
        assert_eq!(agrees(given, Told { rate_bps: 9_950_000, ..given }), Ok(()));
        for (what, taken) in [
            ("limit", Told { limit: 98, ..given }),
            ("rate", Told { rate_bps: 9_800_000, ..given }),
            ("delay", Told { delay_ns: 0, ..given }),
            ("loss", Told { loss: 0.01, ..given }),
        ] {
            assert!(agrees(given, taken).unwrap_err().contains(what));
        }
    }
}
