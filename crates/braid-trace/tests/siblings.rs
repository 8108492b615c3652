//! What algorithms look at of siblings.

use braid_algorithms::{
    Algorithm, Spec,
    layout::{Subflow, subflow_flags},
};
use braid_trace::{
    Origin, Replay,
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

#[test]
fn algorithms_that_say_they_look_only_at_rates_of_siblings_do() {
    let mut seen = 0;
    for algorithm in
        braid_algorithms::all().iter().filter(|one| one.flags() & Algorithm::RATES_OF_SIBLINGS != 0)
    {
        let spec = |text: &str| Spec::parse(text).expect("its own parameters");
        let mut specs = vec![spec(algorithm.name())];
        for param in algorithm.params() {
            for value in [param.low, param.high] {
                specs.push(spec(&format!("{}:{}={}", algorithm.name(), param.name, param.show(value))));
            }
        }
        let change_rates = |subflow: &mut Subflow, random: &mut Random| {
            subflow.flags ^= random.between(0, 1) * subflow_flags::ELIGIBLE;
            subflow.srtt_us = random.any() as u32 >> 8;
            subflow.cwnd = random.any() as u32 >> 16;
            subflow.public_words[0] = random.any() >> 32;
        };
        assert!(
            dependent(spec(algorithm.name()), change_rates) > 0,
            "{}: a change is noticed",
            algorithm.name()
        );
        for spec in specs {
            let text = spec.text().to_owned();
            assert_eq!(dependent(spec, scramble), 0, "{text} looks at more than it says");
        }
        seen += 1;
    }
    assert!(seen > 0);
}
