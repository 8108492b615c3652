//! Algorithms do not read what their flags say they do not.

use braid_algorithms::{
    Algorithm, Controller, Spec,
    layout::{Event, Subflow, event_flags, event_type, subflow_flags},
};
use braid_trace::{
    Origin, Outputs, Replay,
    generate::{Connection, Random},
};

/// Anything where an algorithm that looks only at rates does not look.
fn scramble(subflow: &mut Subflow, random: &mut Random) {
    let mut any = || random.any() as u32;
    subflow.flags = subflow.flags & (subflow_flags::ELIGIBLE | subflow_flags::SAME_ALGORITHM)
        | any() & subflow_flags::BACKUP;
    subflow.min_rtt_us = any();
    subflow.last_rtt_us = any();
    subflow.in_flight = any();
    subflow.prior_cwnd = any();
    subflow.cwnd_clamp = any();
    subflow.delivered = any();
    subflow.delivered_ce = any();
    subflow.lost = any();
    subflow.snd_nxt = random.any();
    subflow.last_ack_us = random.any();
    subflow.pacing_rate = random.any();
}

/// Words of generated calls that come out otherwise after this change of each sibling.
fn dependent(spec: Spec, change: fn(&mut Subflow, &mut Random)) -> u64 {
    let mut random = Random::new(7);
    let origin = Origin::native(spec);
    let mut replay = Replay::new();
    for _ in 0..40 {
        let subflows = random.between(2, 8);
        let mut connection = Connection::new(&origin, subflows, false, &mut random);
        for _ in 0..400 {
            let mut call = connection.next(&mut random);
            let own = call.view.self_index as usize;
            for (i, subflow) in call.view.subflow.iter_mut().enumerate() {
                if i != own {
                    change(subflow, &mut random);
                }
            }
            replay.call(&call);
        }
    }
    replay.differing
}

/// The default parameters, and each one alone at its lowest and highest.
fn settings(algorithm: &Algorithm) -> Vec<Spec> {
    let spec = |text: &str| Spec::parse(text).expect("its own parameters");
    let mut specs = vec![spec(algorithm.name())];
    for param in algorithm.params() {
        for value in [param.low, param.high] {
            specs.push(spec(&format!("{}:{}={}", algorithm.name(), param.name, param.show(value))));
        }
    }
    specs
}

fn with_flag(flag: u32) -> impl Iterator<Item = &'static Algorithm> {
    braid_algorithms::all().iter().filter(move |algorithm| algorithm.flags() & flag != 0)
}

#[test]
fn algorithms_that_say_they_look_only_at_rates_of_siblings_do() {
    let change_rtt = |subflow: &mut Subflow, random: &mut Random| subflow.srtt_us = random.any() as u32 >> 8;
    let mut noticed = 0;
    for algorithm in with_flag(Algorithm::RATES_OF_SIBLINGS) {
        let specs = settings(algorithm);
        noticed += u32::from(dependent(specs[0].clone(), change_rtt) > 0);
        for spec in specs {
            let text = spec.text().to_owned();
            assert_eq!(dependent(spec, scramble), 0, "{text} reads more than it says");
        }
    }
    assert!(noticed >= 5, "a change of what is looked at is noticed in {noticed} algorithms");
}

/// Makes `on_ack` of generated connections with another event. Returns how many calls came out otherwise than the call
/// without a change, and how many than if nothing had been called.
fn with_other_events(spec: &Spec, change: fn(&mut Event, &mut Random)) -> (u64, u64) {
    let mut random = Random::new(9);
    let origin = Origin::native(spec.clone());
    let mut controller = Controller::new(spec);
    let (mut otherwise, mut effective) = (0, 0);
    for _ in 0..40 {
        let subflows = random.between(1, 8);
        let mut connection = Connection::new(&origin, subflows, false, &mut random);
        for _ in 0..400 {
            let mut call = connection.next(&mut random);
            let own = &call.view.subflow[call.view.self_index as usize];
            // A window above the bound is for the host to correct as well.
            if call.event.kind != event_type::ON_ACK || own.cwnd > own.cwnd_clamp {
                continue;
            }
            change(&mut call.event, &mut random);
            let mut view = call.view.clone();
            controller.set_private(&call.private);
            let before = Outputs::of(&view, controller.private());
            controller.deliver(&mut view, &call.event);
            let after = Outputs::of(&view, controller.private());
            otherwise += u64::from(after != call.outputs);
            effective += u64::from(after != before);
        }
    }
    (otherwise, effective)
}

#[test]
fn algorithms_that_say_they_hear_of_growth_only_do() {
    let mut seen = 0;
    for algorithm in with_flag(Algorithm::GROWTH_ONLY) {
        for spec in settings(algorithm) {
            let (otherwise, effective) = with_other_events(&spec, |event, random| {
                let mut any = || random.any() as u32;
                event.flags = event.flags & event_flags::CWND_LIMITED | any() & !event_flags::CWND_LIMITED;
                event.cause = any();
                event.acked = any();
                event.acked_bytes = any();
                event.rtt_us = any();
                event.idle_us = any();
                event.owd_us = any() as i32;
                event.prior_in_flight = any();
            });
            assert_eq!(otherwise, 0, "{} reads more of an ACK than it says", spec.text());
            assert!(effective > 100, "{} does something at {effective} ACKs", spec.text());
            let (_, effective) = with_other_events(&spec, |event, _| event.grow = 0);
            assert_eq!(effective, 0, "{} does something at an ACK that lets nothing grow", spec.text());
        }
        seen += 1;
    }
    assert!(seen > 0);
}
