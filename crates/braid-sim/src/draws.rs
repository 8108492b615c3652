//! Random values of a connection's traffic.

use braid_scenario::model::{Connection, Spread};

use crate::random::Stream;

/// Upper limit of all drawn values: 1 TB, or some minutes in nanoseconds.
const LARGEST: f64 = 1e12;

/// Times and amounts of a connection's traffic.
pub(crate) struct Draws {
    times: Stream,
    amounts: Stream,
}

impl Draws {
    /// Of the connection with this name.
    pub(crate) fn new(seed: u64, connection: &str) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("traffic {connection} {what}"));
        Self { times: stream("times"), amounts: stream("amounts") }
    }

    /// Nanoseconds.
    pub(crate) fn time(&mut self, spread: Spread) -> u64 {
        draw(&mut self.times, spread)
    }

    /// Bytes, at least one.
    pub(crate) fn bytes(&mut self, spread: Spread) -> u64 {
        draw(&mut self.amounts, spread).max(1)
    }
}

/// Start time of a connection in the run with this seed, nanoseconds.
pub fn start_ns(connection: &Connection, seed: u64) -> u64 {
    let mut random = Stream::new(seed, &format!("start {}", connection.name));
    connection.start_ns + random.below(connection.start_noise_ns)
}

/// Draws a value. The mathematical functions come from a library with the same bits on every machine.
fn draw(random: &mut Stream, spread: Spread) -> u64 {
    let amount = match spread {
        Spread::Fixed(amount) => return amount,
        Spread::Exponential { mean } => -mean * libm::log(random.unit()),
        // Box-Muller; the second value is dropped, so that every draw consumes the same number of random numbers.
        Spread::Lognormal { median, sigma } => {
            let radius = libm::sqrt(-2.0 * libm::log(random.unit()));
            let normal = radius * libm::cos(std::f64::consts::TAU * random.unit());
            median * libm::exp(sigma * normal)
        }
        // The inverse of F(x) = (1 - (least/x)^shape) / (1 - (least/most)^shape).
        Spread::Pareto { shape, least, most } => {
            let tail = 1.0 - libm::pow(least / most, shape);
            least / libm::pow(1.0 - (1.0 - random.unit()) * tail, 1.0 / shape)
        }
    };
    amount.min(LARGEST) as u64
}

#[cfg(test)]
mod tests {
    use super::{Spread, draw};
    use crate::random::Stream;

    const N: usize = 200_000;

    fn sorted(spread: Spread) -> Vec<f64> {
        let mut random = Stream::new(3, "test");
        let mut drawn: Vec<f64> = (0..N).map(|_| draw(&mut random, spread) as f64).collect();
        drawn.sort_by(f64::total_cmp);
        drawn
    }

    /// Largest difference between the empirical and the expected distribution function (Kolmogorov-Smirnov).
    fn distance(drawn: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
        let share = |rank: usize| rank as f64 / N as f64;
        let at = |(rank, &x): (usize, &f64)| {
            let expected = cdf(x);
            (expected - share(rank)).abs().max((expected - share(rank + 1)).abs())
        };
        drawn.iter().enumerate().map(at).fold(0.0, f64::max)
    }

    /// The 99.9 % quantile of the distance.
    const FAR: f64 = 1.95 / 447.0;

    #[test]
    fn what_is_drawn_has_the_distribution_asked_for() {
        let exponential = sorted(Spread::Exponential { mean: 1e9 });
        assert!(distance(&exponential, |x| 1.0 - (-x / 1e9).exp()) < FAR);

        let (shape, least, most) = (1.2, 4e6, 1e10);
        let pareto = sorted(Spread::Pareto { shape, least, most });
        let below = |x: f64| (1.0 - (least / x).powf(shape)) / (1.0 - (least / most).powf(shape));
        assert!(distance(&pareto, below) < FAR);
        assert!(pareto[0] >= least && pareto[N - 1] <= most);

        let lognormal = sorted(Spread::Lognormal { median: 1e6, sigma: 1.5 });
        // Quantiles of the normal distribution.
        for (share, z) in [(0.025, -1.959_964), (0.5, 0.0), (0.841_345, 1.0), (0.975, 1.959_964)] {
            let rank = lognormal.partition_point(|&x| x < 1e6 * (1.5_f64 * z).exp());
            assert!((rank as f64 / N as f64 - share).abs() < 3.3 * (share * (1.0 - share) / N as f64).sqrt());
        }
        assert_eq!(sorted(Spread::Fixed(7)), vec![7.0; N]);
    }
}
