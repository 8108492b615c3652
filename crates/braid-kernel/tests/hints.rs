//! An operator's hints about addresses and interfaces reach running subflows, and the recorded calls have them. Needs
//! root, `ip` and `tc`; if something is missing the test prints `SKIPPED: ...` with the reason.

mod common;

use std::sync::atomic::{AtomicBool, Ordering};

use braid_kernel::{
    Hint, Place, Verdicts, hints, load, record, sockets, state_hints, unload, withdraw_hints,
};
use braid_trace::Replay;
use common::network::{Guard, Network, Transfer, alone, eventually, run, spec};

fn places(names: &[&str]) -> Vec<Place> {
    names.iter().map(|name| Place::parse(name).expect("a place")).collect()
}

/// Withdraws a test's hints, also if it fails.
struct Withdraws(u64);

impl Withdraws {
    fn hints(&self) -> Vec<Hint> {
        let all = hints().expect("root may read them");
        all.into_iter().filter(|hint| hint.namespace == self.0).collect()
    }
}

impl Drop for Withdraws {
    fn drop(&mut self) {
        let _ = withdraw_hints(&self.hints());
    }
}

/// A transfer with two subflows on `braid_t_hint`, and their groups after more data.
struct Pair<'a> {
    network: &'a Network,
    verdicts: &'a Verdicts,
    transfer: Transfer,
    sent: Vec<u8>,
}

impl<'a> Pair<'a> {
    fn begin(network: &'a Network, verdicts: &'a Verdicts, address: &str) -> Self {
        // One family only: an IPv6 connection would join over IPv4 as well.
        let other = if address.starts_with('[') { "fd02:2::2" } else { "10.2.2.2" };
        run(&format!("ip -n {} mptcp endpoint add {other} signal", network.names[2])).expect("an endpoint");
        let transfer = Transfer::begin(network, address, true, Some("braid_t_hint"));
        let mut pair = Self { network, verdicts, transfer, sent: Vec::new() };
        pair.send(100_000);
        eventually("the second subflow joins", || pair.groups().len() == 2);
        pair
    }

    fn send(&mut self, bytes: usize) {
        self.transfer.send(&mut self.sent, bytes);
    }

    /// This connection's only: an earlier one may still be closing.
    fn groups(&self) -> Vec<u32> {
        let port = self.transfer.stream.local_addr().expect("it is connected").port();
        let said = self.verdicts.of(&self.network.client()).expect("root may ask");
        let mut sockets = sockets(&self.network.client()).expect("root may look");
        let token = sockets.iter().find(|socket| socket.local.port() == port).and_then(|socket| socket.token);
        sockets.retain(|socket| socket.token.is_some() && socket.token == token);
        let group = |cookie| said.iter().find(|said| said.cookie == cookie)?.verdict;
        sockets.iter().filter_map(|socket| Some(u32::from(group(socket.cookie)?.group))).collect()
    }

    /// Sends until both are in the group with that number, 0 for none.
    fn are_in(&mut self, group: u32, why: &str) {
        for _ in 0..60 {
            self.send(400_000);
            if self.groups() == [group, group] {
                return;
            }
        }
        panic!("{why}: expected twice {group}, found {:?}", self.groups());
    }

    fn finish(self) {
        self.transfer.finish(&self.sent);
        self.network.close_second_path();
    }
}

#[test]
fn running_subflows_couple_when_they_are_hinted_to_share_and_no_longer_when_not() {
    const TEST: &str = "hints";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    let Some(verdicts) = common::or_skip(TEST, Verdicts::open()) else { return };
    let Some(_) = common::or_skip(TEST, load(&spec("split:sbd=hint"), "t_hint")) else { return };
    let _guard = Guard("t_hint");
    let client = network.client();
    let stated = Withdraws(client.cookie().expect("root may enter"));
    let state = |names: &[&str]| state_hints(&client, &[places(names)]).expect("root may").bottlenecks[0];
    // For IPv4 and IPv6, the local addresses of the subflows; each leaves by one interface.
    for (address, locals) in
        [("10.1.2.2:0", ["10.1.1.1", "10.2.1.1"]), ("[fd01:2::2]:0", ["fd01:1::1", "fd02:1::1"])]
    {
        let mut pair = Pair::begin(&network, &verdicts, address);
        pair.are_in(0, "nothing is stated");
        let by_interface = state(&["c1", "c2"]);
        pair.are_in(by_interface, "their interfaces share");
        assert_eq!(state(&["c2", "c1"]), by_interface, "who states the same again changes nothing");
        let of_one = state(&["c2"]);
        assert_ne!(of_one, by_interface);
        pair.are_in(0, "their interfaces are bottlenecks of their own");
        let by_address = state(&locals);
        pair.are_in(by_address, "addresses go before interfaces");
        // The same addresses in another namespace are different.
        withdraw_hints(&stated.hints()).expect("root may");
        pair.are_in(0, "all is withdrawn");
        let elsewhere = braid_kernel::Namespace::named(&network.names[2]).expect("made by Network");
        let _elsewhere = Withdraws(elsewhere.cookie().expect("root may enter"));
        state_hints(&elsewhere, &[places(&locals)]).expect("root may");
        pair.are_in(0, "another namespace's");
        // A subflow that joins later finds earlier hints, also with a version that was loaded later.
        let again = state(&[locals[0], "c2"]);
        pair.are_in(again, "an address and an interface");
        pair.finish();
        load(&spec("split:sbd=hint:in=lia"), "t_hint").expect("it was loaded before");
        let mut pair = Pair::begin(&network, &verdicts, address);
        pair.are_in(again, "stated before it was loaded");
        pair.finish();
        withdraw_hints(&stated.hints()).expect("root may");
    }
}

#[test]
fn hints_outlive_what_is_loaded_and_nothing_is_left_of_those_that_are_withdrawn() {
    const TEST: &str = "hints that outlive";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    let client = network.client();
    let stated = Withdraws(client.cookie().expect("root may enter"));
    let Some(first) =
        common::or_skip(TEST, state_hints(&client, &[places(&["c1", "10.2.1.1"]), places(&["c2"])]))
    else {
        return;
    };
    assert_ne!(first.bottlenecks[0], first.bottlenecks[1]);
    assert_eq!(stated.hints().len(), 3);
    load(&spec("split:sbd=hint"), "t_hint").expect("root may");
    unload("t_hint", true).expect("it was loaded");
    assert_eq!(stated.hints().len(), 3, "unloading leaves them");
    withdraw_hints(&stated.hints()).expect("root may");
    let is_ours = |pin: &str| std::path::Path::new("/sys/fs/bpf/braid").join(pin).exists();
    // The machine may have other hints or algorithms.
    if hints().expect("root may").is_empty() && braid_kernel::loaded().expect("root may").is_empty() {
        assert!(!is_ours("stated_hints") && !is_ours("stated_generation"), "no map is left");
    }
}

#[test]
fn recorded_calls_carry_the_hints_and_replay_without_a_differing_word() {
    const TEST: &str = "recorded hints";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    let Some(verdicts) = common::or_skip(TEST, Verdicts::open()) else { return };
    let Some(_) = common::or_skip(TEST, load(&spec("split:sbd=hint"), "t_hint")) else { return };
    let _guard = Guard("t_hint");
    let client = network.client();
    let _stated = Withdraws(client.cookie().expect("root may enter"));
    let mut pair = Pair::begin(&network, &verdicts, "10.1.2.2:0");
    let number = state_hints(&client, &[places(&["c1", "c2"])]).expect("root may").bottlenecks[0];
    let stop = AtomicBool::new(false);
    let mut calls = Vec::new();
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            pair.are_in(number, "their interfaces share");
            pair.send(1_000_000);
            stop.store(true, Ordering::Relaxed);
        });
        let recorded = record(
            &["t_hint".to_owned()],
            4 << 20,
            || !stop.load(Ordering::Relaxed),
            |call| {
                calls.push(call);
                true
            },
        );
        recorded.expect("root may");
        sender.join().expect("no panic");
    });
    pair.finish();
    let hinted = calls
        .iter()
        .filter(|call| call.view.n == 2 && call.view.subflow[..2].iter().all(|of| of.hint == number));
    assert!(hinted.count() > 100, "{} calls", calls.len());
    let mut replay = Replay::new();
    for call in &calls {
        replay.call(call);
    }
    assert_eq!(replay.differing, 0, "{:#?}", replay.first);
}
