//! `braid load`, `unload`, `default`, `status` and `doctor`, on the command line.
//!
//! What needs root and BPF prints `SKIPPED: ...` where they are missing.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Output};

use braid_testing::netns::Netns;
use braid_testing::{braid_path, done, eventually, failed, fits_schema, json, says, skip, text, until};
use rustix::net::{AddressFamily, Protocol, SocketType, ipproto, sockopt};
use serde_json::Value;

fn braid(args: &[&str]) -> Output {
    Command::new(braid_path()).args(args).output().expect("it runs")
}

/// Whether this machine can load algorithms; if not, prints the reason.
fn can_load(test: &str) -> bool {
    let doctor = braid(&["doctor"]);
    if !doctor.status.success() {
        skip(test, format!("{} (see `braid doctor`)", text(&doctor.stderr).trim()));
    }
    doctor.status.success()
}

#[test]
fn doctor_says_of_each_requirement_whether_it_is_met_and_why_it_matters() {
    let all = text(&braid(&["doctor", "--verbose"]).stdout);
    for what in
        ["Linux 6.4", "BTF", "JIT", "CAP_BPF", "BPF file system", "MPTCP", "sock_diag", "netem", "clang"]
    {
        let line = all.lines().find(|line| line.contains(what));
        let line = line.unwrap_or_else(|| panic!("{what} in:\n{all}"));
        assert!(line.starts_with("yes ") || line.starts_with("no  "), "{line}");
    }
    let requirements = all.lines().filter(|line| line.starts_with("yes ") || line.starts_with("no  "));
    assert_eq!(all.matches("why: ").count(), requirements.count());
    let brief = text(&braid(&["doctor"]).stdout);
    for title in ["can bond: ", "can couple: ", "can watch: "] {
        assert!(brief.lines().any(|line| line.starts_with(title)), "{brief}");
    }
}

#[test]
fn wrong_specs_and_names_are_bad_input_with_a_remedy() {
    for (args, part) in [
        (&["load", "oliaa"][..], "did you mean `olia`?"),
        (&["load", "olia", "--as", "much_too_long"], "1 to 9 characters"),
        (&["default", "no-such-name"], "reno"),
        (&["default", "--netns", "no-such-namespace"], "ip netns"),
    ] {
        failed(&braid(args), 2, &[part]);
    }
}

#[test]
fn what_is_loaded_stays_with_its_parameters_until_it_is_unloaded() {
    if !can_load("load, status, unload") {
        return;
    }
    let output = braid(&["load", "cubic:beta=0.8", "--as", "cli_test"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "", "messages go to stderr");

    let output = braid(&["load", "cubic:beta=0.6", "--as", "cli_test"]);
    assert!(text(&output.stderr).contains("Replaced braid_cli_test (cubic:beta=0.8) by cubic:beta=0.6"));

    let output = braid(&["status", "--json"]);
    let status = json(&output.stdout);
    let loaded = status["loaded"].as_array().expect("a list");
    let ours = loaded.iter().find(|loaded| loaded["name"] == "cli_test").expect("it stays loaded");
    assert_eq!(ours["kernel_name"], "braid_cli_test");
    assert_eq!(ours["spec"], "cubic:beta=0.6");
    assert_eq!(ours["params"]["beta"], "0.6");
    assert!(done(&braid(&["status"])).contains("braid_cli_test  cubic:beta=0.6"));

    done(&braid(&["unload", "braid_cli_test"]));
    // The last changes mention it.
    assert!(!done(&braid(&["status"])).contains("braid_cli_test  cubic"));
    failed(&braid(&["unload", "cli_test"]), 2, &["is not loaded"]);
}

#[test]
fn several_are_loaded_at_once_or_none_if_one_is_wrong() {
    const TEST: &str = "loading several";
    let refused = braid(&["load", "lia", "oliaa"]);
    assert_eq!(refused.status.code(), Some(2));
    let refused = braid(&["load", "lia", "olia", "--as", "x"]);
    assert!(text(&refused.stderr).contains("one by one"), "{}", text(&refused.stderr));
    let refused = braid(&["load", "cubic", "cubic:beta=0.8"]);
    assert!(text(&refused.stderr).contains("braid_cubic twice"), "{}", text(&refused.stderr));
    if !can_load(TEST) {
        return;
    }
    // Names that no other test loads.
    done(&braid(&["load", "wvegas", "mcompound"]));
    let status = done(&braid(&["status"]));
    assert!(
        status.contains("braid_wvegas  wvegas") && status.contains("braid_mcompound  mcompound"),
        "{status}"
    );
    for name in ["wvegas", "mcompound"] {
        done(&braid(&["unload", name]));
    }
}

#[test]
fn a_file_of_ones_own_is_loaded_with_its_parameters_unless_the_verifier_refuses_it() {
    if !can_load("an algorithm of one's own") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let own = |args: &[&str]| {
        let mut command = Command::new(braid_path());
        command.current_dir(folder.path()).args(args).output().expect("it runs")
    };
    assert!(own(&["new", "algorithm", "clitest"]).status.success());
    let output = own(&["load", "./clitest.c:gain=1.5"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "Loaded clitest:gain=1.5 as braid_clitest.\n");
    assert_eq!(loaded("clitest")["spec"], "clitest:gain=1.5");
    assert!(done(&braid(&["status"])).contains("braid_clitest  clitest:gain=1.5"));

    // A loop whose end depends on data: the verifier refuses it, a check of the source cannot.
    let path = folder.path().join("clitest.c");
    let good = fs::read_to_string(&path).expect("it was written");
    let endless = "while (*(volatile u32 *)&self->cwnd)\n\t\t;";
    fs::write(&path, good.replacen("priv->carry = 0;", endless, 1)).expect("it is written");
    let output = own(&["load", "./clitest.c"]);
    failed(
        &output,
        1,
        &["the kernel's verifier refused clitest/", "clitest.c:6", "hint: a loop needs a bound"],
    );
    assert_eq!(loaded("clitest")["spec"], "clitest:gain=1.5", "what was there stays");
    done(&braid(&["unload", "clitest"]));
}

/// The loaded algorithm with that name, from `status --json`.
fn loaded(name: &str) -> Value {
    let output = braid(&["status", "--json"]);
    let status = json(&output.stdout);
    fits_schema("status", std::slice::from_ref(&status));
    let loaded = status["loaded"].as_array().expect("a list");
    loaded.iter().find(|loaded| loaded["name"] == name).cloned().unwrap_or_default()
}

#[test]
fn a_version_that_was_replaced_stays_visible_with_the_sockets_that_run_it_until_they_close() {
    const TEST: &str = "replaced versions";
    let Some(netns) = netns(TEST) else { return };
    let load = |spec| {
        done(&braid(&["load", spec, "--as", "cli_ver"]));
    };
    load("cubic:beta=0.8");
    let first = connection(&netns, ipproto::TCP, "braid_cli_ver");
    load("cubic:beta=0.6");
    let second = connection(&netns, ipproto::TCP, "braid_cli_ver");
    load("lia");

    let shown = loaded("cli_ver");
    assert_eq!(shown["spec"], "lia");
    let expected = serde_json::json!([
        {"spec": "cubic:beta=0.6", "sockets": 1},
        {"spec": "cubic:beta=0.8", "sockets": 1},
    ]);
    assert_eq!(shown["replaced"], expected);
    let mut specs: Vec<_> =
        shown["sockets"].as_array().expect("a list").iter().map(|socket| socket["spec"].clone()).collect();
    specs.sort_by_key(ToString::to_string);
    assert_eq!(specs, ["cubic:beta=0.6", "cubic:beta=0.8"], "each socket says what it runs");
    let shown = done(&braid(&["status"]));
    says(&shown, &["of them on cubic:beta=0.8, which was replaced: 1, 0 of them subflows"]);
    // Without permission to list sockets, `status` reports that and no counts.
    let inside = format!("--net=/run/netns/{}", netns.0);
    let lowered = Command::new("nsenter")
        .args([&inside, "setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"])
        .arg(braid_path())
        .arg("status")
        .output();
    if let Ok(output) = lowered {
        says(&text(&output.stdout), &["version that was replaced: 2; root sees it"]);
    }

    drop(first);
    until("one version is free", || {
        loaded("cli_ver")["replaced"].as_array().is_some_and(|own| own.len() == 1)
    });
    assert_eq!(loaded("cli_ver")["replaced"], serde_json::json!([{"spec": "cubic:beta=0.6", "sockets": 1}]));

    // An unloaded version stays visible while sockets use it.
    done(&braid(&["unload", "cli_ver", "--force"]));
    says(&done(&braid(&["status"])), &["braid_cli_ver  no longer loaded\n  sockets     1, 0"]);
    drop(second);
}

/// Runs braid with these capabilities only, such as `+bpf,+net_admin`; none if that is impossible.
fn with_capabilities(test: &str, capabilities: &str, args: &[&str]) -> Option<Output> {
    let lowered = Command::new("setpriv")
        .args([&format!("--bounding-set=-all{capabilities}"), "--inh-caps=-all", "--ambient-caps=-all"])
        .arg(braid_path())
        .args(args)
        .output();
    if lowered.is_err() {
        skip(test, "there is no setpriv");
    }
    lowered.ok()
}

#[test]
fn without_privileges_loading_says_what_to_do() {
    const TEST: &str = "loading without privileges";
    if !can_load(TEST) {
        return;
    }
    for capabilities in [",+bpf,+net_admin", ",+perfmon,+net_admin", ""] {
        let Some(output) = with_capabilities(TEST, capabilities, &["load", "reno", "--as", "cli_none"])
        else {
            return;
        };
        failed(&output, 1, &["run as root", "CAP_BPF", "CAP_PERFMON"]);
    }
}

#[test]
fn two_capabilities_suffice_to_load_and_none_is_needed_to_look_and_unload() {
    const TEST: &str = "least privilege";
    if !can_load(TEST) {
        return;
    }
    for (capabilities, args) in [
        (",+bpf,+perfmon", &["load", "olia", "--as", "cli_least"][..]),
        ("", &["status"]),
        ("", &["unload", "cli_least"]),
    ] {
        let Some(output) = with_capabilities(TEST, capabilities, args) else { return };
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    }
}

/// An unprivileged user with a copy of braid.
struct Nobody(tempfile::TempDir);

impl Nobody {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).expect("ours");
        fs::copy(braid_path(), folder.path().join("braid")).expect("room");
        Self(folder)
    }

    /// Runs braid as that user behind a command such as `nsenter`, with capabilities such as `+net_admin`; none if that
    /// is impossible.
    fn braid(&self, test: &str, before: &[&str], capabilities: &str, args: &[&str]) -> Option<Output> {
        let mut words = before.to_vec();
        let (inherited, ambient) =
            (format!("--inh-caps={capabilities}"), format!("--ambient-caps={capabilities}"));
        words.extend(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", &inherited, &ambient]);
        let output =
            Command::new(words[0]).args(&words[1..]).arg(self.0.path().join("braid")).args(args).output();
        if let Err(error) = &output {
            skip(test, format!("{}: {error}", words[0]));
        }
        output.ok()
    }
}

#[test]
fn other_users_are_told_that_what_root_loaded_is_not_theirs() {
    const TEST: &str = "status across users";
    if !can_load(TEST) {
        return;
    }
    let nobody = Nobody::new();
    // Tests of another build may run at the same time.
    let name = format!("u{:x}", std::process::id());
    done(&braid(&["load", "lia", "--as", &name]));
    for args in [&["status"][..], &["status", "--json"], &["unload", &name]] {
        let Some(output) = nobody.braid(TEST, &[], "-all", args) else { return };
        assert_eq!(text(&output.stdout), "", "{args:?}");
        failed(&output, 1, &["/sys/fs/bpf/braid", "belongs to the user who loaded it", "run as root"]);
    }
    let Some(output) = nobody.braid(TEST, &[], "-all", &["load", "lia", "--as", &name]) else { return };
    failed(&output, 1, &["run as root"]);
    // As systemd mounts it: readable by root only.
    let private =
        ["unshare", "--mount", "sh", "-c", "mount -t bpf -o mode=0700 bpf /sys/fs/bpf; exec \"$@\"", "sh"];
    let Some(output) = nobody.braid(TEST, &private, "-all", &["status"]) else { return };
    failed(&output, 1, &["run as root"]);

    done(&braid(&["unload", &name]));
}

#[test]
fn a_reset_says_that_the_default_of_before_is_not_known_if_another_user_has_set_braids() {
    const TEST: &str = "resetting what another user set";
    let Some(netns) = netns(TEST) else { return };
    let nobody = Nobody::new();
    let name = format!("d{:x}", std::process::id());
    let ours = format!("braid_{name}");
    done(&braid(&["load", "lia", "--as", &name]));
    let inside = ["nsenter", &format!("--net=/run/netns/{}", netns.0)];
    let default = |args: &[&str]| {
        let output = nobody.braid(TEST, &inside, "+net_admin", &[&["default"], args].concat())?;
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
        Some(output)
    };
    let Some(output) = default(&["reno"]) else { return };
    assert_eq!((text(&output.stdout).trim(), text(&output.stderr).as_str()), ("reno", ""));
    let Some(output) = default(&[&name]) else { return };
    assert_eq!((text(&output.stdout).trim(), text(&output.stderr).as_str()), (ours.as_str(), ""));
    let Some(output) = default(&["--reset"]) else { return };
    let now = text(&output.stdout).trim().to_owned();
    assert!(["cubic", "reno"].contains(&now.as_str()), "{now}");
    says(&text(&output.stderr), &["is unknown", &format!("it is {now} now"), "braid default NAME"]);
    // Root's change is recorded.
    for (args, expected) in [(&["reno"][..], "reno"), (&[&name], &ours), (&["--reset"], "reno")] {
        let output = braid(&[&["default", "--netns", &netns.0], args].concat());
        assert_eq!((text(&output.stdout).trim(), text(&output.stderr).as_str()), (expected, ""), "{args:?}");
    }
    done(&braid(&["unload", &name]));
}

/// A namespace with a loopback interface, where MPTCP may join; none if this machine has no namespaces, or cannot load
/// algorithms.
fn netns(test: &str) -> Option<Netns> {
    let netns = can_load(test).then(|| Netns::new(test)).flatten()?;
    netns.ip("link set lo up");
    netns.ip("mptcp limits set subflows 2 add_addr_accepted 2");
    Some(netns)
}

/// A connection of TCP or MPTCP within the namespace, whose client uses that congestion control; and the listener,
/// which joins need.
fn connection(netns: &Netns, protocol: Protocol, algorithm: &str) -> (TcpListener, [TcpStream; 2]) {
    let socket = || {
        rustix::net::socket(AddressFamily::INET, SocketType::STREAM, Some(protocol)).expect("the protocol")
    };
    let connect = || {
        let server = socket();
        rustix::net::bind(&server, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("a free port");
        rustix::net::listen(&server, 16).expect("bound");
        let server = TcpListener::from(server);
        let client = socket();
        sockopt::set_tcp_congestion(&client, algorithm).expect("it is loaded");
        rustix::net::connect(&client, &server.local_addr().expect("bound")).expect("it listens");
        let mut ends = [TcpStream::from(client), server.accept().expect("a client").0];
        // A subflow joins only after data.
        ends[0].write_all(b"ping").expect("the connection holds");
        ends[1].read_exact(&mut [0; 4]).expect("the connection holds");
        (server, ends)
    };
    netns.within(connect)
}

#[test]
fn status_warns_of_a_connection_whose_subflows_run_different_algorithms() {
    const TEST: &str = "different algorithms in a connection";
    let Some(netns) = netns(TEST) else { return };
    done(&braid(&["load", "lia", "--as", "cli_mixed"]));
    let _connection = connection(&netns, ipproto::MPTCP, "braid_cli_mixed");
    assert!(!text(&braid(&["status"]).stderr).contains("runs braid_cli_mixed"), "one subflow cannot differ");

    // A subflow that joins later finds no algorithm of that name.
    done(&braid(&["unload", "cli_mixed", "--force"]));
    netns.ip("mptcp endpoint add 127.0.0.2 dev lo subflow");
    let warning = eventually("a warning", || {
        Some(text(&braid(&["status"]).stderr)).filter(|said| said.contains("runs braid_cli_mixed"))
    });
    says(&warning, &["different congestion controls", &netns.0, "127.0.0.2", "runs braid_cli_mixed"]);
    let status = braid(&["status", "--json"]);
    let status = json(&status.stdout);
    let mixed = status["mixed_connections"].as_array().expect("a list");
    let ours = mixed.iter().find(|mixed| mixed["namespace"] == netns.0.as_str()).expect("it is there, too");
    let algorithms: Vec<_> = ours["subflows"].as_array().expect("a list").iter().collect();
    assert_eq!(algorithms.len(), 2, "{ours}");
    assert_ne!(algorithms[0]["algorithm"], algorithms[1]["algorithm"], "{ours}");
}

#[test]
fn top_shows_the_group_of_subflows_own_for_plain_tcp_and_a_dash_where_nothing_detects() {
    const TEST: &str = "groups in braid top";
    let Some(netns) = netns(TEST) else { return };
    netns.ip("mptcp endpoint add 127.0.0.2 dev lo subflow");
    for (spec, name) in [("split:sbd=all", "cli_group"), ("lia", "cli_lia")] {
        done(&braid(&["load", spec, "--as", name]));
    }
    let _mptcp = connection(&netns, ipproto::MPTCP, "braid_cli_group");
    let _tcp = connection(&netns, ipproto::TCP, "braid_cli_group");
    let _other = connection(&netns, ipproto::TCP, "braid_cli_lia");

    // First word in a column, found by its title.
    let cell = |title: &str, line: &str, column: &str| {
        let words = &line[title.find(column).expect("a column")..];
        words.split_whitespace().next().unwrap_or_default().to_owned()
    };
    let groups = eventually("four rows", || {
        let shown = done(&braid(&["top", "--once", "--interval", "100ms", "--all", "--filter", &netns.0]));
        let (title, rows) = shown.split_once('\n').expect("a title");
        let of = |row: &str| {
            let kind = if row.starts_with("tcp ") { "tcp" } else { "mptcp" };
            format!("{kind} {} {}", cell(title, row, "ALGORITHM"), cell(title, row, "GRP"))
        };
        let mut groups: Vec<_> = rows.lines().filter(|row| row.contains("braid_cli_")).map(of).collect();
        groups.sort();
        (groups.len() == 4).then_some(groups)
    });
    let expected = [
        "mptcp braid_cli_group 1",
        "mptcp braid_cli_group 1",
        "tcp braid_cli_group own",
        "tcp braid_cli_lia -",
    ];
    assert_eq!(groups, expected);

    let document = braid(&["top", "--once", "--interval", "100ms", "--json", "--filter", "braid_cli_group"]);
    let document = json(&document.stdout);
    let connections = document["connections"].as_array().expect("a list");
    let subflows = connections.iter().flat_map(|own| own["subflows"].as_array().expect("a list"));
    let mut numbers: Vec<_> = subflows.map(|own| own["group"].as_u64()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [Some(0), Some(1), Some(1)]);
    for name in ["cli_group", "cli_lia"] {
        done(&braid(&["unload", name, "--force"]));
    }
}
