//! Algorithms do not read the fields that their flags exclude.

use braid_algorithms::{
    Algorithm, Controller, Spec,
    layout::{Event, Subflow, VERDICT_WORD, View, event_flags, event_type, subflow_flags},
};
use braid_trace::{
    Origin, Outputs, Replay,
    generate::{Connection, Random},
};

/// Random values in the fields of a sibling that an algorithm with these flags does not read.
fn scramble_sibling(subflow: &mut Subflow, flags: u32, random: &mut Random) {
    let mut any = || random.any() as u32;
    subflow.flags = subflow.flags & (subflow_flags::ELIGIBLE | subflow_flags::SAME_ALGORITHM)
        | any() & subflow_flags::BACKUP;
    subflow.last_rtt_us = any();
    subflow.in_flight = any();
    subflow.prior_cwnd = any();
    subflow.cwnd_clamp = any();
    subflow.delivered = any();
    subflow.delivered_ce = any();
    subflow.lost = any();
    subflow.snd_nxt = random.any();
    subflow.pacing_rate = random.any();
    if flags & Algorithm::PATHS_OF_SIBLINGS == 0 {
        subflow.min_rtt_us = random.any() as u32;
        subflow.hint = random.any() as u32;
        subflow.last_ack_us = random.any();
    }
    if flags & Algorithm::NO_ID_OF_SIBLINGS != 0 {
        subflow.id = random.any() as u32;
    }
    if flags & Algorithm::NO_MSS_OF_SIBLINGS != 0 {
        subflow.mss = random.any() as u32;
    }
    if flags & Algorithm::NO_BYTES_OF_SIBLINGS != 0 {
        subflow.snd_una = random.any();
    }
    scramble_low_words(subflow, flags, random);
}

fn scramble_low_words(subflow: &mut Subflow, flags: u32, random: &mut Random) {
    if flags & Algorithm::NO_LOW_WORDS != 0 {
        subflow.public_words[..VERDICT_WORD].fill_with(|| random.any());
    }
}

/// The same for the subflow itself.
fn scramble_self(subflow: &mut Subflow, flags: u32, random: &mut Random) {
    if flags & Algorithm::RATES_OF_SELF != 0 {
        let mut any = || random.any() as u32;
        subflow.flags ^= any() & subflow_flags::BACKUP;
        subflow.id = any();
        subflow.min_rtt_us = any();
        subflow.last_rtt_us = any();
        subflow.in_flight = any();
        subflow.prior_cwnd = any();
        subflow.delivered = any();
        subflow.delivered_ce = any();
        subflow.lost = any();
        subflow.hint = any();
        subflow.snd_nxt = random.any();
        subflow.last_ack_us = random.any();
        subflow.pacing_rate = random.any();
    }
    scramble_low_words(subflow, flags, random);
}

/// Number of output words that differ after a change of each sibling or of self, over generated calls.
fn dependent(spec: Spec, change: impl Fn(&mut View, &mut Random)) -> u64 {
    // An algorithm with many parameters gets fewer connections per setting; every setting covers the common code.
    let connections = (400 / settings(spec.algorithm()).len()).clamp(6, 40);
    let mut random = Random::new(7);
    let origin = Origin::native(spec);
    let mut replay = Replay::new();
    for _ in 0..connections {
        let subflows = random.between(2, 8);
        let mut connection = Connection::new(&origin, subflows, false, &mut random);
        for _ in 0..400 {
            let mut call = connection.next(&mut random);
            change(&mut call.view, &mut random);
            // A changed field of self that the algorithm does not write comes out as it went in.
            let own = &call.view.subflow[call.view.self_index as usize];
            let flags = origin.spec.algorithm().flags();
            if flags & Algorithm::RATES_OF_SELF != 0 {
                call.outputs.pacing_rate = own.pacing_rate;
            }
            if flags & Algorithm::NO_LOW_WORDS != 0 {
                call.outputs.public_words[..VERDICT_WORD].copy_from_slice(&own.public_words[..VERDICT_WORD]);
            }
            replay.call(&call);
        }
    }
    replay.differing
}

/// Applies a change to each sibling.
fn of_siblings(change: impl Fn(&mut Subflow, &mut Random)) -> impl Fn(&mut View, &mut Random) {
    move |view, random| {
        let own = view.self_index as usize;
        for (i, subflow) in view.subflow.iter_mut().enumerate() {
            if i != own {
                change(subflow, random);
            }
        }
    }
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
fn algorithms_look_at_no_more_of_siblings_than_they_say() {
    let mut noticed = 0;
    for algorithm in with_flag(Algorithm::RATES_OF_SIBLINGS) {
        let flags = algorithm.flags();
        let specs = settings(algorithm);
        let change = of_siblings(|subflow, random| subflow.srtt_us = random.any() as u32 >> 8);
        noticed += u32::from(dependent(specs[0].clone(), change) > 0);
        for spec in specs {
            let text = spec.text().to_owned();
            let change = of_siblings(|subflow, random| scramble_sibling(subflow, flags, random));
            assert_eq!(dependent(spec, change), 0, "{text} reads more than it says");
        }
    }
    assert!(noticed >= 5, "a change of what is looked at is noticed in {noticed} algorithms");
}

#[test]
fn algorithms_look_at_no_more_of_their_own_subflow_than_they_say() {
    let mut seen = 0;
    for algorithm in with_flag(Algorithm::RATES_OF_SELF | Algorithm::NO_LOW_WORDS) {
        let flags = algorithm.flags();
        let scramble = |view: &mut View, random: &mut Random| {
            if flags & Algorithm::RATES_OF_SELF != 0 {
                view.connection = random.any();
            }
            scramble_self(&mut view.subflow[view.self_index as usize], flags, random);
        };
        for spec in settings(algorithm) {
            let text = spec.text().to_owned();
            assert_eq!(dependent(spec, scramble), 0, "{text} reads more than it says");
        }
        seen += 1;
    }
    assert!(seen >= 5, "{seen} algorithms say so");
}

#[test]
fn what_is_left_out_of_one_flag_is_noticed_where_it_is_read() {
    let noticed = |name: &str, change: fn(&mut Subflow, &mut Random)| {
        dependent(Spec::parse(name).expect("an algorithm"), of_siblings(change)) > 0
    };
    assert!(noticed("weave", |subflow, random| subflow.min_rtt_us = random.any() as u32 >> 12));
    assert!(noticed("lisa", |subflow, random| subflow.id = random.any() as u32));
    assert!(noticed("olia", |subflow, random| subflow.snd_una = random.any() >> 32));
}

/// Replaces the event of `on_ack` in generated connections. Returns how many calls differ from the unchanged call, and
/// how many from no call at all.
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
            // The host also bounds a window above the limit.
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

/// Restarts after an idle time that differ with another view, or write into the view; and the number of restarts.
fn restarts_that_see(spec: &Spec) -> (u64, u64) {
    let mut random = Random::new(11);
    let origin = Origin::native(spec.clone());
    let mut controller = Controller::new(spec);
    let (mut seen, mut restarts) = (0, 0);
    for _ in 0..40 {
        let subflows = random.between(1, 8);
        let mut connection = Connection::new(&origin, subflows, false, &mut random);
        for _ in 0..400 {
            let call = connection.next(&mut random);
            if call.event.kind != event_type::ON_IDLE_RESTART {
                continue;
            }
            let mut view = View { connection: random.any(), ..View::default() };
            view.n = random.between(1, 8);
            view.self_index = random.any() as u32 % view.n;
            for subflow in &mut view.subflow {
                subflow.cwnd = random.any() as u32 >> 12;
                subflow.srtt_us = random.any() as u32 >> 8;
                subflow.snd_nxt = random.any();
                subflow.flags = random.any() as u32 & 7;
                subflow.public_words.fill_with(|| random.any());
            }
            let before = view.clone();
            controller.set_private(&call.private);
            controller.deliver(&mut view, &call.event);
            seen += u64::from(view != before || controller.private() != call.outputs.private);
            restarts += 1;
        }
    }
    (seen, restarts)
}

#[test]
fn algorithms_that_say_they_restart_unseen_do() {
    for algorithm in with_flag(Algorithm::RESTARTS_UNSEEN) {
        for spec in settings(algorithm) {
            let (seen, restarts) = restarts_that_see(&spec);
            assert_eq!(seen, 0, "{} looks at the view or writes into it", spec.text());
            assert!(restarts > 100, "{} has restarted {restarts} times", spec.text());
        }
    }
    let (seen, _) = restarts_that_see(&Spec::parse("vegas").expect("an algorithm"));
    assert!(seen > 0, "vegas looks at the view");
}
