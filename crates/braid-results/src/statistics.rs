//! Statistics of one figure over the runs that differ only in their seed.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Statistics of a sample, in the figure's own unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Statistics {
    /// Number of values, at least 1.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (divisor n - 1); absent for one value.
    pub sd: Option<f64>,
    /// Half the width of the 95 % confidence interval of the mean by Student's t; absent for one value.
    pub ci95: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// First quartile, interpolated between order statistics (type 7 of Hyndman and Fan, as R and `NumPy` do).
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
    /// Largest value.
    pub max: f64,
}

impl Statistics {
    /// [`Self::ci95`] for display; `None` if all values are equal: then the seeds had no effect, and zero would suggest
    /// certainty.
    pub fn interval(&self) -> Option<f64> {
        self.ci95.filter(|_| self.min < self.max)
    }

    /// As [`Self::ci95`] for each of `comparisons` intervals that together hold with 95 % (Bonferroni).
    pub fn ci95_of_each(&self, comparisons: usize) -> Option<f64> {
        let tail = 0.025 / comparisons.max(1) as f64;
        let t = |sd| t_quantile_at((self.n - 1) as f64, 1.0 - tail) * sd / (self.n as f64).sqrt();
        self.sd.map(t)
    }

    /// In a unit that is this many times larger.
    #[must_use]
    pub fn scaled(self, scale: f64) -> Self {
        Self {
            n: self.n,
            mean: self.mean / scale,
            sd: self.sd.map(|sd| sd / scale),
            ci95: self.ci95.map(|half| half / scale),
            min: self.min / scale,
            q1: self.q1 / scale,
            median: self.median / scale,
            q3: self.q3 / scale,
            max: self.max / scale,
        }
    }

    /// The statistics of `values`; `None` if there is none, or if one is not finite.
    pub fn of(values: &[f64]) -> Option<Self> {
        if values.is_empty() || !values.iter().all(|value| value.is_finite()) {
            return None;
        }
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        // Summed in ascending order: the result does not depend on the order of the runs.
        let mean = (sorted.iter().sum::<f64>() / n as f64).clamp(sorted[0], sorted[n - 1]);
        let squares: f64 = sorted.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = (n > 1).then(|| (squares / (n - 1) as f64).sqrt());
        Some(Self {
            n,
            mean,
            sd,
            ci95: sd.map(|sd| t_quantile((n - 1) as f64) * sd / (n as f64).sqrt()),
            min: sorted[0],
            q1: quantile(&sorted, 0.25),
            median: quantile(&sorted, 0.5),
            q3: quantile(&sorted, 0.75),
            max: sorted[n - 1],
        })
    }
}

/// The type 7 quantile of an ascending, non-empty sample.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let position = q * (sorted.len() - 1) as f64;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

/// The value that `percent` of ascending values do not exceed.
pub(crate) fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> Option<T> {
    sorted.get((sorted.len() * percent).div_ceil(100).max(1) - 1).copied()
}

/// Arithmetic mean; `None` if there is no value.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The 97.5 % quantile of Student's t; at least one degree of freedom.
pub(crate) fn t_quantile(degrees_of_freedom: f64) -> f64 {
    t_quantile_at(degrees_of_freedom, 0.975)
}

fn t_quantile_at(degrees_of_freedom: f64, probability: f64) -> f64 {
    StudentsT::new(0.0, 1.0, degrees_of_freedom)
        .expect("the scale is 1 and there is a degree of freedom")
        .inverse_cdf(probability)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }

    #[test]
    fn figures_agree_with_values_computed_by_hand() {
        let s = Statistics::of(&[7.0, 1.0, 2.0, 4.0]).unwrap();
        assert_eq!((s.n, s.mean, s.min, s.max), (4, 3.5, 1.0, 7.0));
        assert_eq!((s.q1, s.median, s.q3), (1.75, 3.0, 4.75));
        close(s.sd.unwrap(), 7.0_f64.sqrt(), 1e-12);
        // t(0.975, 3) = 3.182446.
        close(s.ci95.unwrap(), 3.182_446 * 7.0_f64.sqrt() / 2.0, 1e-5);
        // t(0.9875, 3) = 4.176535.
        close(s.ci95_of_each(2).unwrap(), 4.176_535 * 7.0_f64.sqrt() / 2.0, 1e-5);
    }

    #[test]
    fn t_quantiles_agree_with_printed_tables() {
        for (df, t) in [(1, 12.706_205), (2, 4.302_653), (9, 2.262_157), (29, 2.045_230), (1000, 1.962_339)] {
            close(t_quantile(df as f64), t, 2e-6);
        }
    }

    #[test]
    fn one_value_has_no_deviation_and_no_interval() {
        let s = Statistics::of(&[3.0]).unwrap();
        assert_eq!((s.mean, s.q1, s.median, s.q3), (3.0, 3.0, 3.0, 3.0));
        assert_eq!((s.sd, s.ci95), (None, None));
    }

    #[test]
    fn nothing_and_not_a_number_have_no_statistics() {
        assert_eq!(Statistics::of(&[]), None);
        assert_eq!(Statistics::of(&[1.0, f64::NAN]), None);
    }

    proptest! {
        #[test]
        fn order_statistics_are_ordered_and_the_order_of_runs_does_not_matter(
            mut values in prop::collection::vec(-1e9_f64..1e9, 1..40),
        ) {
            let s = Statistics::of(&values).unwrap();
            prop_assert!(s.min <= s.q1 && s.q1 <= s.median && s.median <= s.q3 && s.q3 <= s.max);
            prop_assert!(s.min <= s.mean && s.mean <= s.max);
            values.reverse();
            prop_assert_eq!(Statistics::of(&values).unwrap(), s);
        }
    }
}
