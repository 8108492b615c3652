//! RTT samples of running connections, counted in the kernel. Needs root, `ip` and `tc`; if something is missing the
//! test prints `SKIPPED: ...` with the reason.

mod common;

use std::{thread, time::Duration};

use braid_kernel::{RttCounts, Rtts, sockets};
use common::network::{Network, Transfer, alone, run};

/// Counts of this test's connections, as soon as they are enough; ignores other connections of the machine.
///
/// # Panics
/// If they are not enough within ten seconds.
fn counted(
    rtts: &mut Rtts,
    is_it: impl Fn(&RttCounts) -> bool,
    is_enough: impl Fn(&[RttCounts]) -> bool,
    mut meanwhile: impl FnMut(),
) -> Vec<RttCounts> {
    let mut found = Vec::new();
    for _ in 0..1000 {
        let all = rtts.counts().expect("the kernel answers");
        found = all.into_iter().filter(&is_it).collect();
        if is_enough(&found) {
            return found;
        }
        meanwhile();
        thread::sleep(Duration::from_millis(10));
    }
    panic!("only {found:?}");
}

#[test]
fn rtt_samples_are_counted_for_plain_tcp_and_for_each_subflow() {
    const TEST: &str = "RTT samples";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    let Some(mut rtts) = common::or_skip(TEST, Rtts::open()) else { return };
    run(&format!("ip -n {} mptcp endpoint add 10.2.2.2 signal", network.names[2])).expect("an endpoint");
    for is_mptcp in [false, true] {
        let mut transfer = Transfer::begin(&network, "10.1.2.2:0", is_mptcp, Some("reno"));
        let port = transfer.stream.local_addr().expect("it is connected").port();
        let all = sockets(&network.client()).expect("the kernel lists them");
        let own = all.iter().find(|socket| socket.local.port() == port && !socket.listens);
        let (mut sent, cookie) = (Vec::new(), own.expect("it is open").cookie);
        transfer.send(&mut sent, 100_000);
        let is_own = |counts: &RttCounts| counts.cookie == cookie;
        let token = counted(&mut rtts, is_own, |found| !found.is_empty(), || ())[0].token;
        assert_eq!(token.is_some(), is_mptcp);
        let of_connection =
            |counts: &RttCounts| if is_mptcp { counts.token == token } else { is_own(counts) };
        let subflows = if is_mptcp { 2 } else { 1 };
        let enough = |found: &[RttCounts]| {
            found.len() == subflows && found.iter().all(|counts| counts.samples > 20 && counts.steps_us > 0)
        };
        // More than one path can carry in that time, or the packet scheduler could leave the other idle.
        let found = counted(&mut rtts, of_connection, enough, || transfer.send(&mut sent, 300_000));
        let mut ids: Vec<u32> = found.iter().map(|counts| counts.subflow_id).collect();
        ids.sort_unstable();
        assert_eq!(ids, if is_mptcp { vec![1, 2] } else { vec![0] });
        transfer.finish(&sent);
    }
    network.close_second_path();
}
