//! Detectors' group labels, read from the kernel's sockets. Needs root, `ip` and `tc`; if something is missing the test
//! prints `SKIPPED: ...` with the reason.

mod common;

use braid_kernel::{Said, Verdicts, load, sockets};
use common::network::{Guard, Network, Transfer, alone, eventually, spec};

/// Labels of the client's subflows once there are two of them, by token and number.
fn said_of(verdicts: &Verdicts, network: &Network, kernel_name: &str) -> Vec<Said> {
    let mut sent = Vec::new();
    network.open_second_path();
    let mut transfer = Transfer::begin(network, "10.1.2.2:0", true, Some(kernel_name));
    transfer.send(&mut sent, 100_000);
    let ours = || {
        let mut sockets = sockets(&network.client()).expect("root may look");
        sockets.retain(|socket| socket.algorithm == kernel_name && socket.token.is_some());
        sockets
    };
    eventually("the second subflow joins", || ours().len() == 2);
    transfer.send(&mut sent, 3_000_000);
    let sockets = ours();
    let mut said = verdicts.of(&network.client()).expect("root may ask");
    said.retain(|said| sockets.iter().any(|socket| socket.cookie == said.cookie));
    for said in &said {
        assert_eq!(said.token, sockets[0].token, "of the same connection");
    }
    transfer.finish(&sent);
    network.close_second_path();
    said
}

#[test]
fn verdicts_of_detectors_are_read_from_sockets_and_those_without_one_have_none() {
    const TEST: &str = "verdicts of detectors";
    let _alone = alone();
    let Some(network) = Network::new(TEST) else { return };
    let Some(verdicts) = common::or_skip(TEST, Verdicts::open()) else { return };
    for (text, groups) in [("split:sbd=all", Some(1)), ("split:sbd=none", Some(0)), ("lia", None)] {
        let Some(_) = common::or_skip(TEST, load(&spec(text), "t_said")) else { return };
        let _guard = Guard("t_said");
        let said = said_of(&verdicts, &network, "braid_t_said");
        let Some(group) = groups else {
            assert!(said.len() == 2 && said.iter().all(|said| said.verdict.is_none()), "{text} says nothing");
            continue;
        };
        let numbers: Vec<u32> = said.iter().map(|said| said.subflow_id).collect();
        assert_eq!(said.len(), 2, "{text}: one verdict per subflow");
        assert_ne!(numbers[0], numbers[1], "{text}");
        for said in said {
            assert_eq!(said.algorithm.name(), "split");
            assert_eq!(said.verdict.map(|verdict| verdict.group), Some(group), "{text}");
        }
    }
}
