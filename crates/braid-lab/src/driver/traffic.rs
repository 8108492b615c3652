//! Draws the traffic of a connection before the run, as the simulator does with this seed.

use braid_scenario::model::{self, Connection, Scenario, Spread, Traffic};
use braid_sim::{Draws, start_ns};

use crate::job;

/// Lower bound of response times and on-off periods: limits the number of draws.
const SHORTEST_NS: u64 = 100_000;

/// The traffic of a connection without programs.
pub(super) fn traffic(scenario: &Scenario, connection: &Connection, seed: u64) -> job::Traffic {
    let mut draws = Draws::new(seed, &connection.name);
    let end_ns = connection.stop_ns.unwrap_or(scenario.duration_ns).min(scenario.duration_ns);
    let start_ns = start_ns(connection, seed);
    let life_ns = end_ns.saturating_sub(start_ns);
    match connection.traffic {
        Traffic::Bulk | Traffic::Program(_) => job::Traffic::Bulk,
        Traffic::Object { size } => job::Traffic::Object(draws.bytes(size)),
        Traffic::Poisson { every_ns, size, at_once } => {
            let wait = Spread::Exponential { mean: every_ns as f64 };
            let mut time = start_ns + draws.time(wait);
            let mut arrivals = Vec::new();
            while time < end_ns {
                arrivals.push((time, draws.bytes(size)));
                // Two at the same nanosecond would be one event.
                time += draws.time(wait).max(1);
            }
            job::Traffic::Short { arrivals, at_once: at_once as usize }
        }
        Traffic::OnOff { on, off, rate } => {
            let turn = || (draws.time(on), draws.time(off));
            let turns = up_to(life_ns, turn, |&(on, off)| on + off);
            job::Traffic::OnOff { turns, rate: rate.map(constant) }
        }
        Traffic::RequestResponse { request, response, think } => {
            let fastest_ns = shortest_way_ns(scenario, connection);
            let exchange = || (draws.bytes(response), draws.time(think));
            let responses = up_to(life_ns, exchange, |&(_, think)| fastest_ns + think);
            job::Traffic::Exchange { request: request.into(), responses }
        }
        Traffic::Cbr(rate) => job::Traffic::Steady(constant(rate)),
    }
}

fn constant(rate: model::ConstantRate) -> job::ConstantRate {
    job::ConstantRate { rate_bps: rate.rate_bps, write: rate.write.into() }
}

/// Draws until the time is exceeded, and one more.
fn up_to<T>(time_ns: u64, mut draw: impl FnMut() -> T, lasts_ns: impl Fn(&T) -> u64) -> Vec<T> {
    let mut sum = 0;
    let mut drawn = Vec::new();
    while sum <= time_ns {
        let next = draw();
        sum += lasts_ns(&next).max(SHORTEST_NS);
        drawn.push(next);
    }
    drawn
}

/// The earliest arrival of a response: the shortest delay to the receiver.
fn shortest_way_ns(scenario: &Scenario, connection: &Connection) -> u64 {
    let ways = connection.subflows.iter().flat_map(|subflow| {
        let later = subflow.reroutes.iter().filter_map(|change| change.forward.as_ref());
        later.chain([&subflow.route]).map(|route| {
            let delays = route.iter().map(|&link| shortest_ns(&scenario.links[link].forward));
            delays.sum::<u64>()
        })
    });
    ways.min().unwrap_or(0)
}

fn shortest_ns(direction: &model::Direction) -> u64 {
    let changes = direction.changes.iter().filter_map(|change| change.delay_ns);
    changes.chain([direction.delay_ns]).min().unwrap_or(0)
}
