//! Algorithms in the running kernel: loaded, chosen by sockets, used for transfers between network namespaces, and
//! unloaded.
//!
//! Two paths of 100 Mbit/s lead from a client through a router, whose queues are the bottlenecks, to a server. Needs
//! root, `ip` and `tc`; if something is missing the tests print `SKIPPED: ...` with the reason.

mod common;

use std::{io::Write as _, path::Path, thread, time::Duration};

use braid_algorithms::Algorithm;
use braid_kernel::{Error, Loaded, available, loaded, set_default, sockets, unload};
use common::load;
use common::network::{Guard, Network, Objects, Transfer, alone, eventually, objects, run, spec};
use libbpf_rs::Link;

fn state(name: &str) -> Loaded {
    let all = loaded().expect("root may look");
    all.into_iter().find(|loaded| loaded.name == name).unwrap_or_else(|| panic!("{name} is loaded"))
}

fn coupled(name: &str) -> u64 {
    state(name).acks[2..].iter().sum()
}

/// The kernel has no congestion control of that name, no pin, and no object that was not there `before`.
fn nothing_is_left(name: &str, before: &Objects) {
    let kernel_name = format!("braid_{name}");
    assert!(!available().expect("the kernel says").contains(&kernel_name), "{kernel_name} is unregistered");
    assert!(!Path::new("/sys/fs/bpf/braid").join(name).exists(), "no pins of {name}");
    eventually("programs and maps are freed", || objects().is_subset(before));
}

#[test]
fn every_algorithm_carries_tcp_and_mptcp_over_both_families_and_leaves_nothing_behind() {
    const TEST: &str = "every algorithm carries traffic";
    let _alone = alone();
    let before = objects();
    let Some(network) = Network::new(TEST) else { return };
    network.open_second_path();
    for algorithm in common::algorithms() {
        let spec = spec(algorithm.name());
        let name = &format!("t_{:.7}", algorithm.name());
        let kernel_name = &format!("braid_{name}");
        let Some(replaced) = common::or_skip(TEST, load(&spec, name)) else { return };
        let _guard = Guard(name);
        assert_eq!(replaced, None, "{name} was not loaded before");
        assert_eq!(state(name).spec, spec.text());

        for address in ["10.1.2.2:0", "[fd01:2::2]:0"] {
            let mut sent = Vec::new();
            let mut transfer = Transfer::begin(&network, address, false, Some(kernel_name));
            transfer.send(&mut sent, 1_500_000);
            let listed = run(&format!("ip netns exec {} ss -tinH", network.names[0])).expect("ss");
            assert!(listed.contains(kernel_name), "{kernel_name} in the output of ss:\n{listed}");
            transfer.finish(&sent);
        }
        let acks = state(name).acks;
        assert!(acks[1] > 100, "{kernel_name} handled the ACKs of plain TCP: {acks:?}");
        assert_eq!(coupled(name), 0, "there was nothing to couple yet");

        for address in ["10.1.2.2:0", "[fd01:2::2]:0"] {
            let alone = coupled(name);
            let mut sent = Vec::new();
            let mut transfer = Transfer::begin(&network, address, true, Some(kernel_name));
            transfer.send(&mut sent, 100_000);
            eventually("the second subflow joins", || {
                let sockets = sockets(&network.client()).expect("root may look");
                let ours = |socket: &&braid_kernel::Socket| {
                    socket.algorithm == *kernel_name && socket.token.is_some()
                };
                sockets.iter().filter(ours).count() >= 2
            });
            transfer.send(&mut sent, 3_000_000);
            transfer.finish(&sent);
            let more = coupled(name) - alone;
            let couples = algorithm.flags() & Algorithm::UNCOUPLED == 0;
            assert_eq!(more > 20, couples, "{kernel_name} to {address} saw its sibling at {more} ACKs");
        }
        eventually("sockets close", || {
            let sockets = sockets(&network.client()).expect("root may look");
            !sockets.iter().any(|socket| socket.algorithm == *kernel_name)
        });
        unload(name, false).expect("nobody uses it any more");
        nothing_is_left(name, &before);
    }
}

#[test]
fn a_live_replacement_keeps_the_connection_and_couples_with_later_joins() {
    const TEST: &str = "live replacement";
    let _alone = alone();
    let before = objects();
    let Some(network) = Network::new(TEST) else { return };
    let Some(_) = common::or_skip(TEST, load(&spec("lia"), "t_swap")) else { return };
    let _guard = Guard("t_swap");
    let mut sent = Vec::new();
    let mut transfer = Transfer::begin(&network, "10.1.2.2:0", true, Some("braid_t_swap"));
    transfer.send(&mut sent, 500_000);
    assert_eq!(coupled("t_swap"), 0, "there is one path");

    let replaced = load(&spec("lia:rounding=usec"), "t_swap").expect("replacing works where loading does");
    assert_eq!(replaced.as_deref(), Some("lia"));
    assert_eq!(state("t_swap").spec, "lia:rounding=usec");
    network.open_second_path();
    eventually("the second subflow joins", || {
        let sockets = sockets(&network.client()).expect("root may look");
        sockets.iter().filter(|socket| socket.algorithm == "braid_t_swap").count() >= 2
    });
    transfer.send(&mut sent, 3_000_000);
    transfer.finish(&sent);
    assert!(coupled("t_swap") > 100, "the old subflow and the new one couple: {:?}", state("t_swap").acks);
    unload("t_swap", true).expect("it was loaded");
    nothing_is_left("t_swap", &before);
}

#[test]
fn losses_and_timeouts_are_told_apart() {
    const TEST: &str = "causes of losses";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    let Some(_) = common::or_skip(TEST, load(&spec("reno"), "t_cause")) else { return };
    let _guard = Guard("t_cause");
    let mut sent = Vec::new();
    let mut transfer = Transfer::begin(&network, "10.1.2.2:0", false, Some("braid_t_cause"));
    transfer.send(&mut sent, 3_000_000);
    let [_, fast, timeouts, ecn] = state("t_cause").losses;
    assert!(fast > 0, "the queue overflowed");
    assert_eq!((timeouts, ecn), (0, 0), "nothing else happened");

    let link = |state: &str| run(&format!("ip -n {} link set s1 {state}", network.names[2])).expect("ours");
    let route = format!("ip -n {} route add 10.1.1.0/24 via 10.1.2.1", network.names[2]);
    // A timeout during fast recovery is not a new reduction and makes no call: then repeat.
    for _ in 0..5 {
        // More than the kernel buffers at once, so that data is in flight when the path breaks.
        let more: Vec<u8> = vec![7; 12_000_000];
        let mut stream = transfer.stream.try_clone().expect("a socket");
        let sender = thread::spawn({
            let more = more.clone();
            move || stream.write_all(&more).expect("the connection holds")
        });
        thread::sleep(Duration::from_millis(200));
        link("down");
        thread::sleep(Duration::from_millis(800));
        link("up");
        run(&route).expect("the route went with the link");
        sender.join().expect("all is sent");
        sent.extend_from_slice(&more);
        if state("t_cause").losses[2] > 0 {
            break;
        }
    }
    transfer.finish(&sent);
    let [_, _, timeouts, ecn] = state("t_cause").losses;
    assert!(timeouts > 0, "nothing came through for 0.8 s");
    assert_eq!(ecn, 0, "nobody marks packets here");
}

#[test]
fn what_is_in_use_is_unloaded_only_by_force_and_connections_keep_it() {
    const TEST: &str = "unloading what is in use";
    let _alone = alone();
    let before = objects();
    let Some(network) = Network::new(TEST) else { return };
    let Some(_) = common::or_skip(TEST, load(&spec("olia"), "t_used")) else { return };
    let _guard = Guard("t_used");
    let default_before = braid_kernel::default(&network.client()).expect("root may look");
    set_default(&network.client(), Some("braid_t_used")).expect("it is loaded");
    let mut sent = Vec::new();
    let mut transfer = Transfer::begin(&network, "10.1.2.2:0", true, None);
    transfer.send(&mut sent, 500_000);

    let refused = unload("t_used", false).expect_err("it is in use").to_string();
    for part in [network.names[0].as_str(), "default", "10.1.2.2", "--force"] {
        assert!(refused.contains(part), "`{part}` in: {refused}");
    }
    assert_eq!(state("t_used").spec, "olia", "a refusal changes nothing");

    let users = unload("t_used", true).expect("by force");
    assert_eq!(users.len(), 1, "{users:?}");
    let default = braid_kernel::default(&network.client()).expect("root may look");
    assert_eq!(default, default_before, "the default is that of before");
    transfer.send(&mut sent, 500_000);
    transfer.finish(&sent);
    nothing_is_left("t_used", &before);
}

#[test]
fn a_name_that_another_program_holds_is_refused_with_the_remedy() {
    const TEST: &str = "a name that is taken";
    let _alone = alone();
    let before = objects();
    let Some(_) = common::or_skip(TEST, load(&spec("reno"), "t_taken")) else { return };
    let pins = Path::new("/sys/fs/bpf/braid/t_taken");
    let link = Link::open(pins.join("link")).expect("it is pinned");
    for pin in std::fs::read_dir(pins).expect("it is loaded") {
        std::fs::remove_file(pin.expect("a pin").path()).expect("root may");
    }
    std::fs::remove_dir(pins).expect("now empty");
    let error = load(&spec("reno"), "t_taken").expect_err("the link above holds the name");
    assert!(matches!(error, Error::NameTaken { .. }), "{error}");
    assert!(error.to_string().contains("--as"), "{error}");
    drop(link);
    eventually("it is unregistered", || {
        !available().expect("the kernel says").iter().any(|name| name == "braid_t_taken")
    });
    nothing_is_left("t_taken", &before);
}

#[test]
fn a_reset_goes_back_to_the_default_of_before() {
    const TEST: &str = "resetting the default";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    let client = &network.client();
    for name in ["t_one", "t_two"] {
        let Some(_) = common::or_skip(TEST, load(&spec("reno"), name)) else { return };
    }
    let _guards = (Guard("t_one"), Guard("t_two"));
    let default = || braid_kernel::default(client).expect("root may look");
    set_default(client, Some("reno")).expect("every kernel has it");
    for name in ["braid_t_one", "braid_t_two", "braid_t_two"] {
        set_default(client, Some(name)).expect("it is loaded");
        assert_eq!(default(), name);
    }
    assert_eq!(set_default(client, None).expect("it was reno"), "reno");
    assert_eq!(default(), "reno");
    // A default that another program has set in between stays.
    set_default(client, Some("braid_t_one")).expect("it is loaded");
    set_default(client, Some("reno")).expect("every kernel has it");
    let kernels_own = set_default(client, None).expect("there is one");
    // Outside the first namespace only some congestion controls are allowed; usually CUBIC is.
    let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    let has_cubic = allowed.expect("a list").split_whitespace().any(|name| name == "cubic");
    assert_eq!(kernels_own, if has_cubic { "cubic" } else { "reno" });
    // Unloading by force resets the default, too.
    set_default(client, Some("reno")).expect("every kernel has it");
    set_default(client, Some("braid_t_one")).expect("it is loaded");
    unload("t_one", true).expect("it is loaded");
    assert_eq!(default(), "reno");
    unload("t_two", true).expect("it is loaded");
    assert_eq!(braid_kernel::noted_default(client), None, "no note is left");
}

#[test]
fn names_that_the_kernel_would_refuse_are_refused_before() {
    for name in ["", "ten_chars_", "with-dash", "Upper", "a/b"] {
        let error = load(&spec("reno"), name).expect_err("no name");
        assert!(matches!(error, Error::BadName { .. }), "{name}: {error}");
    }
    let error = unload("never", false).expect_err("it was never loaded");
    assert!(matches!(error, Error::NotLoaded { .. }), "{error}");
}
