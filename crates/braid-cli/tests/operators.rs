//! What an operator sees of a client and a server with two lines, in network namespaces. Needs root; otherwise the
//! tests print `SKIPPED: ...`.
#![cfg(target_os = "linux")]

#[path = "common/netns.rs"]
mod netns;

use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use netns::{Ask, Netns, Pair, Transfer, UPLOAD, braid_in, braid_with, until};
use rustix::net::ipproto;

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

/// A loaded algorithm of these tests.
const LOADED: &str = "op_faults";

/// Fault | `ip` commands that make it | the transfer beside it | who names it | what the first screen has | the remedy
const FAULTS: &str = "\
no endpoint | -n CLIENT mptcp endpoint flush | upload | doctor | no MPTCP endpoint for a second line | CLIENT mptcp endpoint add 10.0.2.2 dev c2 subflow
limits 0 | -n CLIENT mptcp limits set subflows 0 | upload | status | allow 0 subflows besides the first | CLIENT mptcp limits set subflows 8
no rule for an address | -n CLIENT rule del from 10.0.2.2 table 2 | upload | status | no route by c2 for packets from 10.0.2.2 | rule add from 10.0.2.2 table 101
one line | -n CLIENT link set c2 down | upload | doctor | one line only: c1 has an address | CLIENT link set DEV up
peer without MPTCP | | to TCP | status | fell back to TCP (MPCapableFallbackSYNACK 1) | mptcpize run
MPTCP stripped | netns exec SERVER nft -f /dev/stdin | two uploads | status | line c1 removes MPTCP | open connections by another line
backup | -n CLIENT mptcp endpoint change id 1 backup | upload | doctor | endpoint 10.0.2.2 is a backup | CLIENT mptcp endpoint change id 1 nobackup
a subflow that never came up | -n SERVER route add blackhole 10.0.2.2/32 | upload | status | never came up: SYN-SENT | CLIENT ping -I 10.0.2.2 10.9.9.9
a dead line | | dies | doctor | line c2 is dead | CLIENT ping -I 10.0.2.2 10.9.9.9
another manager of subflows | | beside mptcpd | status | mptcpd manages subflows | systemctl disable --now mptcp
sysctl.d | netns exec CLIENT sysctl -q net.ipv4.tcp_congestion_control=braid_op_faults | upload | status | /etc/sysctl.d/99-bbr.conf makes bbr the default | sed -i /tcp_congestion_control/d /etc
loaded, no default | | upload | doctor | is loaded, but new sockets in CLIENT get | `braid default
uncoupled | | reno | top --once --all | runs reno on each of its 2 subflows | --netns CLIENT
mixed | -n CLIENT route change default via 10.0.2.1 dev c2 table 2 congctl reno | upload | top --once --all | run different congestion controls | CLIENT route show table all
peer without Braid | | download | status | the congestion control of 10.9.9.9 decides, not braid_op_faults | --peer HOST";

/// Removes MPTCP from what enters the server by the first line.
const STRIP: &str = "table ip t { chain c { type filter hook prerouting priority 0; iifname s1 reset tcp option mptcp; }\n}\n";

/// A process that is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn transfers(pair: &Pair, kind: &str) -> (Vec<Transfer>, Option<Running>) {
    let uploads = |asks: &[Ask]| asks.iter().map(|ask| pair.transfer(ask)).collect();
    let mut program = None;
    let transfers = match kind {
        "to TCP" => uploads(&[Ask { server_protocol: ipproto::TCP, ..UPLOAD }]),
        "two uploads" => uploads(&[UPLOAD, Ask { from: Some([10, 0, 2, 2].into()), ..UPLOAD }]),
        "reno" => uploads(&[Ask { algorithm: "reno", ..UPLOAD }]),
        "download" => uploads(&[Ask { downloads: true, algorithm: "braid_op_faults", ..UPLOAD }]),
        "dies" => {
            let transfers = uploads(&[UPLOAD]);
            std::thread::sleep(std::time::Duration::from_secs(1));
            pair.server.ip("route add blackhole 10.0.2.2/32");
            transfers
        }
        "beside mptcpd" => {
            let folder = tempfile::tempdir().expect("room");
            let path = folder.path().join("mptcpd");
            fs::copy("/bin/sleep", &path).expect("room");
            let mut command = Command::new("ip");
            command.args(["netns", "exec", &pair.client.0]).arg(&path).arg("60");
            program = Some(Running(command.spawn().expect("it runs")));
            // It is started before its file is gone.
            std::thread::sleep(std::time::Duration::from_millis(500));
            uploads(&[UPLOAD])
        }
        _ => uploads(&[UPLOAD]),
    };
    (transfers, program)
}

/// Makes the fault of a row of [`FAULTS`], and asks until the answer is right.
fn stage(row: &str) {
    let pair = Pair::new(row).expect("as before");
    let row = row.replace("CLIENT", &pair.client.0).replace("SERVER", &pair.server.0);
    let [_, change, kind, command, what, remedy] = row.split('|').map(str::trim).collect::<Vec<_>>()[..]
    else {
        panic!("{row}")
    };
    if !change.is_empty() {
        let mut child =
            Command::new("ip").args(change.split(' ')).stdin(Stdio::piped()).spawn().expect("it runs");
        // Only nft reads it.
        let _ = child.stdin.take().expect("a pipe").write_all(STRIP.as_bytes());
        assert!(child.wait().expect("ours").success(), "{change}");
    }
    let _running = transfers(&pair, kind);
    let files = [("/etc/sysctl.d/99-bbr.conf", "net.ipv4.tcp_congestion_control = bbr")];
    let words: Vec<&str> = command.split(' ').chain(["--netns", &pair.client.0]).collect();
    until(&[what, remedy], || first_screen(&braid_with(&files, &words)));
}

/// The lines that fit a terminal of 80 columns and 24 rows.
fn first_screen(text: &str) -> String {
    let mut rows = 0;
    let fits = |line: &&str| {
        rows += line.chars().count().div_ceil(80).max(1);
        rows <= 24
    };
    text.lines().take_while(fits).collect::<Vec<_>>().join("\n")
}

#[test]
fn doctor_or_status_names_each_staged_fault_on_its_first_screen_with_the_remedy() {
    if Pair::new("staged faults").is_none() {
        return;
    }
    let loaded = braid_with(&[], &["load", "lia", "--as", LOADED]);
    if !loaded.contains("Loaded lia") {
        writeln!(std::io::stderr(), "SKIPPED: staged faults, because {loaded}").expect("stderr");
        return;
    }
    // Before the fault: nothing keeps it from bonding.
    let sound = Pair::new("staged faults").expect("as before");
    let running = transfers(&sound, "upload");
    until(&["can bond: yes", "can watch: yes"], || braid_with(&[], &["doctor", "--netns", &sound.client.0]));
    drop(running);
    let failed: Vec<&str> = std::thread::scope(|scope| {
        let all: Vec<_> = FAULTS.lines().map(|row| (row, scope.spawn(|| stage(row)))).collect();
        all.into_iter().filter_map(|(row, test)| test.join().is_err().then_some(row)).collect()
    });
    // Another namespace has the connections.
    let pair = Pair::new("wrong namespace").expect("as before");
    let _running = transfers(&pair, "upload");
    braid_with(&[], &["default", LOADED, "--netns", &pair.server.0]);
    let says = [&format!("but connections in {} get", pair.client.0), "`braid default"];
    until(&says, || braid_in(Some(&pair.server), &[], &["doctor"]));
    braid_with(&[], &["unload", LOADED, "--force"]);
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn what_is_loaded_in_a_mount_namespace_of_its_own_stays_or_is_refused() {
    let Some(netns) = Netns::new("loading by ip netns exec") else { return };
    let output = Command::new("ip")
        .args(["netns", "exec", &netns.0])
        .arg(braid_testing::braid_path())
        .args(["load", "lia", "--as", "op_netns"])
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let status = braid_with(&[], &["status"]);
    if output.status.success() {
        assert!(status.contains("braid_op_netns  lia"), "{said}{status}");
        braid_with(&[], &["unload", "op_netns"]);
    } else {
        assert!(!status.contains("braid_op_netns"), "{status}");
        assert!(said.contains("mounts of its own") || said.contains("permission"), "{said}");
    }
}
