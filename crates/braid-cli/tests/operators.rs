//! What an operator sees of a client and a server with two lines, in network namespaces. Needs root; otherwise the
//! tests print `SKIPPED: ...`.
#![cfg(target_os = "linux")]

#[path = "common/netns.rs"]
mod netns;

use netns::{Pair, UPLOAD, braid_with, until};

#[test]
fn lines_have_the_same_name_in_top_metrics_and_hint_and_a_server_tells_them_by_the_remote_address() {
    let Some(pair) = Pair::new("names of lines") else { return };
    let _transfer = pair.transfer(&UPLOAD);
    let top = |netns: &str, files: &[(&str, &str)]| {
        braid_with(files, &["top", "--once", "--json", "--all", "--interval", "100ms", "--netns", netns])
    };
    let (client, server) = (&pair.client.0, &pair.server.0);
    until(&["\"line\":\"c1\"", "\"line\":\"c2\""], || top(client, &[]));
    let seen = top(server, &[]);
    assert!(!seen.contains("::ffff:"), "IPv4 as such: {seen}");
    for line in ["10.0.1.2", "10.0.2.2"] {
        assert!(seen.contains(&format!("\"line\":\"{line}\"")), "{line} in {seen}");
    }

    let names = [("/etc/braid/lines.conf", "dsl = 10.0.1.2/32\nlte = 10.0.2.0/24 # a modem")];
    for netns in [client, server] {
        let seen = top(netns, &names);
        assert!(seen.contains("\"line\":\"dsl\"") && seen.contains("\"line\":\"lte\""), "{seen}");
        let metrics = braid_with(&names, &["metrics", "--netns", netns]);
        assert!(metrics.contains("line=\"dsl\"") && metrics.contains("line=\"lte\""), "{metrics}");
        assert!(!metrics.contains("line=\"lo\""), "only that namespace: {metrics}");
    }
    let hint = braid_with(&names, &["hint", "--netns", client, "lte,c1"]);
    assert!(hint.contains(": 10.0.2.2,c1."), "{hint}");
    let shown = braid_with(&names, &["hint"]);
    assert!(shown.contains("10.0.2.2 (lte)"), "{shown}");
    let refused = braid_with(&names, &["hint", "--netns", server, "dsl"]);
    assert!(refused.contains("no interface has an address of the line dsl"), "{refused}");
    braid_with(&names, &["hint", "--netns", client, "--clear"]);
    let refused = braid_with(&[("/etc/braid/lines.conf", "dsl eth0")], &["top", "--once"]);
    assert!(refused.contains("lines.conf:1") && refused.contains("wan1 = "), "{refused}");
}

#[test]
fn a_line_that_answers_nothing_dies_and_a_subflow_that_never_came_up_has_an_age_of_its_own() {
    let Some(pair) = Pair::new("a dead line") else { return };
    let (client, server) = (&pair.client, &pair.server);
    let status = || braid_with(&[], &["status", "--netns", &client.0]);
    let first = pair.transfer(&UPLOAD);
    until(&["\"line\":\"c2\""], || {
        braid_with(&[], &["top", "--once", "--json", "--all", "--interval", "100ms", "--netns", &client.0])
    });
    server.ip("route add blackhole 10.0.2.2/32");
    let seen = until(&["line c2 is dead"], status);
    assert!(seen.contains("timeouts in a row") && seen.contains("ping -I 10.0.2.2 10.9.9.9"), "{seen}");
    // Retransmissions go on; the warning stays.
    for _ in 0..10 {
        std::thread::sleep(std::time::Duration::from_millis(300));
        let seen = status();
        assert!(seen.contains("line c2 is dead") && !seen.contains("line c1"), "{seen}");
    }
    let top = braid_with(&[], &["top", "--once", "--all", "--interval", "100ms", "--netns", &client.0]);
    let row = top.lines().find(|line| line.contains(" c2 ")).unwrap_or_else(|| panic!("{top}"));
    assert!(row.contains(" dead ") && row.contains(" - "), "{top}");
    assert!(top.lines().any(|line| line.contains(" c1 ") && !line.contains("dead")), "{top}");
    let metrics = braid_with(&[], &["metrics", "--netns", &client.0]);
    let is_dead =
        |line: &&str| line.starts_with("braid_line_state") && line.contains("\"c2\"") && line.ends_with(" 2");
    assert!(metrics.lines().any(|line| is_dead(&line)), "{metrics}");
    drop(first);

    let _second = pair.transfer(&UPLOAD);
    let seen = until(&["never came up"], status);
    let age = seen.split("SYN-SENT for ").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
    assert!(age.is_some_and(|age: u32| (2..20).contains(&age)), "{seen}");
    server.ip("route del blackhole 10.0.2.2/32");
    let began = std::time::Instant::now();
    while status().contains("c2") {
        assert!(began.elapsed().as_secs() < 20, "it recovers: {}", status());
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
}
