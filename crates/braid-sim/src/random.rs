//! Random numbers: one stream per component, so that adding a flow does not disturb another's losses.
//!
//! The generator is xoshiro256++ (Blackman and Vigna), seeded through `SplitMix64` with the 64-bit FNV-1a hash of the
//! run's seed and the component's name. This is version 1 of the recipe; any change is a new version, because it
//! changes every result.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One component's stream.
#[derive(Clone)]
pub(crate) struct Stream(Xoshiro256PlusPlus);

impl Stream {
    /// The stream of `component` in the run with this seed.
    pub(crate) fn new(seed: u64, component: &str) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in seed.to_le_bytes().iter().chain(component.as_bytes()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Self(Xoshiro256PlusPlus::seed_from_u64(hash))
    }

    /// Uniform in `0..=u64::MAX`.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// True with the probability of this [`threshold`]; the largest threshold is always true.
    #[inline]
    pub(crate) fn hits(&mut self, threshold: u64) -> bool {
        self.next() < threshold || threshold == u64::MAX
    }

    /// Uniform in (0, 1].
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / 9_007_199_254_740_992.0
    }

    /// Uniform in `0..bound`; 0 if the bound is 0.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

/// A probability as a threshold for [`Stream::next`]: exact integer comparison, the same on every machine.
pub(crate) fn threshold(probability: f64) -> u64 {
    // 2^64 as a float; the product is exact up to the float's own precision and saturates at the top.
    (probability * 18_446_744_073_709_551_616.0) as u64
}

#[cfg(test)]
mod tests {
    use super::{Stream, threshold};

    #[test]
    fn streams_of_different_components_and_seeds_differ() {
        let first = |seed, name| Stream::new(seed, name).next();
        assert_ne!(first(1, "link b1"), first(1, "link b2"));
        assert_ne!(first(1, "link b1"), first(2, "link b1"));
        assert_eq!(first(1, "link b1"), first(1, "link b1"));
    }

    /// Pins the recipe: a change here changes every published result.
    #[test]
    fn version_one_of_the_recipe_gives_these_numbers() {
        let mut stream = Stream::new(1, "link b1 forward");
        let numbers: Vec<u64> = (0..3).map(|_| stream.next()).collect();
        assert_eq!(numbers, PINNED);
    }
    const PINNED: [u64; 3] =
        [6_541_669_580_695_864_471, 2_669_873_060_192_723_223, 14_722_239_040_553_311_917];

    #[test]
    fn a_threshold_is_hit_as_often_as_its_probability_says() {
        let mut stream = Stream::new(7, "test");
        let limit = threshold(0.01);
        let hits = (0..1_000_000).filter(|_| stream.next() < limit).count();
        assert!((9_600..10_400).contains(&hits), "{hits} of a million at 1 %: four deviations off");
    }
}
