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
