//! The application of a connection: what it writes, and how long that takes to arrive.

use std::collections::VecDeque;

use braid_results::measure::Transfer;
use braid_scenario::model::{Connection, ConstantRate, Spread, Traffic};

use crate::observe;
use crate::packet::Packet;
use crate::random::Stream;

/// Nothing drawn is larger: 1 TB, or some minutes in nanoseconds.
const LARGEST: f64 = 1e12;
/// A repeated request waits at most this long, nanoseconds.
const LONGEST_WAIT_NS: u64 = 120_000_000_000;

/// What is known of an application; those of bulk transfers do nothing.
pub(crate) struct Application {
    pub(crate) traffic: Traffic,
    /// Its connections among all of the run: one, or as many as there can be short flows at a time.
    pub(crate) first: usize,
    pub(crate) n: usize,
    times: Stream,
    amounts: Stream,
    /// In the order of their beginnings.
    pub(crate) transfers: Vec<Transfer>,
    /// Short flows: connections that nobody uses, the longest unused first.
    pub(crate) free: VecDeque<usize>,
    /// Short flows: transfers that wait for a connection.
    pub(crate) waiting: VecDeque<u32>,
    /// Of connections that were used again: payload delivered, packets reinjected.
    pub(crate) retired_bytes: u64,
    pub(crate) retired_data: crate::data::Counts,
    /// Its only object has arrived, or it was stopped.
    pub(crate) ended: Option<u64>,
    /// On-off: it sends.
    pub(crate) sends: bool,
    /// On-off: what it sends in this turn begins with this packet.
    pub(crate) first_packet: u32,
    /// Since when it has been writing at a constant rate, and how often it has written since.
    pub(crate) since: u64,
    pub(crate) writes: u64,
    /// Request-response: the request under way.
    pub(crate) request: Request,
}

/// A request on its way.
#[derive(Default)]
pub(crate) struct Request {
    /// Its transfer.
    pub(crate) transfer: u32,
    /// Packets of it that have not arrived, one bit each.
    pub(crate) missing: u32,
    /// How often it has been sent again.
    pub(crate) repeats: u32,
}

impl Request {
    /// Payload bytes of a packet of a request that has `total` bytes.
    pub(crate) fn payload(total: u32, part: u32, mss: u32) -> u32 {
        (total - part * mss).min(mss)
    }

    /// How long to wait until what is missing is sent again.
    pub(crate) fn wait_ns(&self, rto_ns: u64) -> u64 {
        (rto_ns << self.repeats.min(16)).min(LONGEST_WAIT_NS)
    }
}

impl Application {
    pub(crate) fn new(model: &Connection, first: usize, n: usize, seed: u64) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("traffic {} {what}", model.name));
        Self {
            traffic: model.traffic.clone(),
            first,
            n,
            times: stream("times"),
            amounts: stream("amounts"),
            transfers: Vec::new(),
            free: (first..first + n).collect(),
            waiting: VecDeque::new(),
            retired_bytes: 0,
            retired_data: crate::data::Counts::default(),
            ended: None,
            sends: false,
            first_packet: 0,
            since: 0,
            writes: 0,
            request: Request::default(),
        }
    }

    /// How many connections a model needs.
    pub(crate) fn connections(model: &Connection) -> usize {
        match model.traffic {
            Traffic::Poisson { at_once, .. } => at_once as usize,
            _ => 1,
        }
    }

    /// A transfer begins now; returns its number.
    pub(crate) fn begin(&mut self, now: u64, bytes: u64) -> u32 {
        self.transfers.push(Transfer { start_ns: now, end_ns: None, bytes });
        self.transfers.len() as u32 - 1
    }

    /// What a packet of a request is.
    pub(crate) fn part(&self, packet: &Packet, mss: u32) -> observe::Request {
        let Traffic::RequestResponse { request: total, .. } = self.traffic else {
            unreachable!("only request-response sends requests");
        };
        let (number, part) = (packet.dsn, packet.seq);
        observe::Request {
            number,
            part,
            offset: u64::from(number) * u64::from(total) + u64::from(part * mss),
            bytes: Request::payload(total, part, mss),
        }
    }

    /// Nanoseconds.
    pub(crate) fn draw_time(&mut self, spread: Spread) -> u64 {
        draw(&mut self.times, spread)
    }

    /// Bytes, at least one.
    pub(crate) fn draw_bytes(&mut self, spread: Spread) -> u64 {
        draw(&mut self.amounts, spread).max(1)
    }

    /// When the next write at this rate is due.
    pub(crate) fn next_write(&self, rate: ConstantRate) -> u64 {
        let bits = u128::from(self.writes) * u128::from(rate.write) * 8_000_000_000;
        self.since + (bits / u128::from(rate.rate_bps)) as u64
    }
}

/// Draws an amount. The mathematical functions are those of a library that gives the same bits on every machine.
fn draw(random: &mut Stream, spread: Spread) -> u64 {
    let amount = match spread {
        Spread::Fixed(amount) => return amount,
        Spread::Exponential { mean } => -mean * libm::log(random.unit()),
        // Box and Muller; the second of the two is not used, so that every draw takes the same numbers.
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

    /// Largest difference between the share drawn below a value and what the distribution says (Kolmogorov and
    /// Smirnov).
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
