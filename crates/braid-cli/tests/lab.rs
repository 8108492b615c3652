//! `--backend lab`: real kernels in guests. Without QEMU or the kernel package, the tests print `SKIPPED` and the
//! reason.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod guests;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use braid_testing::{braid_path, failed, json, skip, until};
use guests::{
    SCENARIO, begin, braid, done, lab_folder, lab_is_here, only_run, packets_are_those_counted, run_on,
    scenario, text, two_paths, write,
};

#[test]
fn equal_runs_give_equal_bytes_whatever_the_jobs_restored_or_booted() {
    let Some(folder) = lab_folder("equal runs give equal bytes") else { return };
    let scenario = scenario(folder.path());
    let run = |options: &[&str]| done(&braid(&scenario).args(options).output().unwrap());
    let one = run(&["--seeds", "2", "--jobs", "1"]);
    same(&one, &run(&["--seeds", "2", "--jobs", "2"]), "two guests at a time");

    let document = json(&one);
    let runs = document["runs"].as_array().unwrap();
    let booted = json(run(&["--boot"]));
    same(&runs[0].to_string(), &booted["runs"][0].to_string(), "booted instead of restored");
    assert_ne!(runs[0]["connections"], runs[1]["connections"], "another seed loses other packets");
    for run in runs {
        assert_eq!(run["status"], "ok");
        assert!(run["environment"].as_str().unwrap().starts_with("Linux 6."), "{}", run["environment"]);
        assert!(run["doubts"].is_null(), "{}", run["doubts"]);
        for connection in run["connections"].as_array().unwrap() {
            for subflow in connection["subflows"].as_array().unwrap() {
                let sent = subflow["packets_sent"].as_u64().unwrap();
                assert!(sent > 50, "{} {} sent {sent} packets", connection["id"], subflow["id"]);
            }
        }
    }
}

#[test]
fn an_algorithm_of_ones_own_runs_on_the_kernel_unless_the_verifier_refuses_it() {
    let Some(folder) = lab_folder("an algorithm of one's own") else { return };
    let scenario = scenario(folder.path());
    let path = folder.path().join("mine.c");
    let mut new = Command::new(braid_path());
    assert!(new.args(["new", "algorithm", "mine", "--out"]).arg(folder.path()).status().unwrap().success());
    let run = || {
        let mut command = braid(&scenario);
        command.arg("--algorithm").arg(&path).args(["--cc", "mine:gain=2"]);
        command.output().unwrap()
    };
    let one = done(&run());
    let document = json(&one);
    assert_eq!(document["runs"][0]["cc"], "mine:gain=2");
    let goodput = document["runs"][0]["connections"][0]["goodput_bps"].as_f64().unwrap();
    assert!(goodput > 1e6, "{goodput}");
    same(&one, &done(&run()), "once more");

    // A loop whose end depends on data: the verifier refuses it, a check of the source cannot.
    let good = fs::read_to_string(&path).unwrap();
    let endless = "while (*(volatile u32 *)&self->cwnd)\n\t\t;";
    fs::write(&path, good.replacen("priv->carry = 0;", endless, 1)).unwrap();
    let output = run();
    failed(&output, 1, &["the kernel's verifier refused mine/", "mine.c:6", "a loop needs a bound"]);
}

/// Asserts that two documents are equal; shows the first difference.
fn same(one: &str, other: &str, what: &str) {
    let parts = one.bytes().zip(other.bytes()).position(|(a, b)| a != b);
    let around =
        |text: &str| parts.map(|at| text.chars().skip(at.saturating_sub(150)).take(300).collect::<String>());
    assert!(one == other, "{what}: {:?}, then {:?}", around(one), around(other));
}

#[test]
fn the_packets_of_a_run_are_those_that_were_counted_and_the_same_each_time() {
    let Some(folder) = lab_folder("packets") else { return };
    scenario(folder.path());
    let run = |name: &str, options: &[&str]| {
        // Connections stop before the end of the run, so that the capture has every counted packet.
        let line = ["--pcap", name, "--set", "warmup=0s", "--set", "connection.mp0.stop=1.8s"];
        done(
            &braid(Path::new("two.toml"))
                .current_dir(folder.path())
                .args(line)
                .args(["--set", "connection.tcp0.stop=1.8s"])
                .args(options)
                .output()
                .unwrap(),
        )
    };
    let document = run("first", &["--snaplen", "96"]);
    same(&document, &run("second", &["--snaplen", "96"]), "captured again");
    let document = json(&document);
    let run = &document["runs"][0];
    assert!(run["doubts"].is_null(), "{}", run["doubts"]);
    for (number, connection) in ["mp0", "tcp0"].into_iter().enumerate() {
        let [first, second] = ["first", "second"]
            .map(|name| folder.path().join(name).join(format!("0000-two-lia-seed1-{connection}.pcapng")));
        assert!(fs::read(&first).unwrap() == fs::read(second).unwrap(), "{connection}: the same bytes");
        packets_are_those_counted(&first, run, number, Duration::from_millis(1800));
    }
}

#[test]
fn bbr_over_mptcp_keeps_the_queue_that_it_keeps_in_the_simulator() {
    let Some(folder) = lab_folder("BBR over MPTCP") else { return };
    let network = r#"
title = "BBR over one path"
duration = "10s"
warmup = "5s"
[link.a]
rate = "20mbit"
delay = "10ms"
queue = "100p"
[connection.mp]
kind = "mptcp"
subflow.a.route = ["a"]
"#;
    let scenario = write(folder.path(), network);
    let rtt = |backend: &str, cc: &str| {
        let run = only_run(run_on(backend, &scenario).args(["--cc", cc]));
        run["connections"][0]["subflows"][0]["mean_rtt_ms"].as_f64().unwrap()
    };
    // Pacing uses packets of 1448 bytes instead of 1420, so the sender fills its window: twice the base RTT.
    for cc in ["bbr", "cmpbbr"] {
        let (lab, simulator) = (rtt("lab", cc), rtt("sim", cc));
        assert!((lab / simulator - 1.0).abs() < 0.1, "{cc}: {lab} ms in the lab, {simulator} simulated");
    }
}

#[test]
fn subflows_begin_with_the_threshold_of_the_scenario() {
    let Some(folder) = lab_folder("the first threshold") else { return };
    let largest = |threshold: &str| {
        let mut command = braid(&scenario(folder.path()));
        command
            .args(["--set", "link.b1.loss=0%", "--set", "link.b1.rate=20mbit", "--set", "link.b1.delay=25ms"])
            .args(["--set", "link.b1.queue=100p", "--set", "connection.tcp0.start=1900ms"])
            .args(["--set", threshold]);
        let run = only_run(&mut command);
        run["connections"][0]["subflows"][0]["mean_cwnd"].as_f64().unwrap()
    };
    // Ten packets at first, and at most one more per round trip of 50 ms.
    let limited = largest("connection.mp0.initial-ssthresh=5");
    assert!((10.0..40.0).contains(&limited), "{limited}");
    let free = largest("connection.mp0.initial-ssthresh=1000");
    assert!(free > 60.0, "{free}");
}

#[test]
fn queues_that_mark_keep_short_and_drop_nothing_that_can_be_marked() {
    let Some(folder) = lab_folder("marks") else { return };
    let path = folder.path().join("marks.toml");
    let marks = [
        "queue = \"60p\"\necn-threshold = \"10p\"",
        "queue = \"60p\"\ndiscipline = { kind = \"codel\", ecn = true }",
    ];
    let text = marks.iter().fold(SCENARIO.to_owned(), |text, own| text.replacen("queue = \"30p\"", own, 1));
    let text = text.replace("loss = \"0.5%\"\n", "").replace("kind = ", "ecn = true\nkind = ");
    fs::write(&path, text.replace("{ ecn = true\nkind", "{ kind").replace("2s", "6s")).unwrap();
    let run = |path: &Path| {
        let run = only_run(&mut braid(path));
        run["links"].as_array().unwrap().clone()
    };
    let links = run(&path);
    for (link, longest) in links.iter().zip([12.0, 15.0]) {
        let number = |key: &str| link[key].as_f64().unwrap();
        assert!(number("marked_packets") > 5.0, "{link}");
        assert!(number("drops_packets") < 1.0, "{link}");
        assert!(number("mean_queue_packets") < longest, "{link}");
        assert!(number("utilization") > 0.6, "{link}");
    }
    // The same queues, without ECN on the flows.
    let plain = fs::read_to_string(&path).unwrap().replace("ecn = true\nkind", "kind");
    fs::write(&path, plain).unwrap();
    for link in run(&path) {
        assert_eq!(link["marked_packets"], 0, "{link}");
        assert!(link["drops_packets"].as_u64().unwrap() > 0, "{link}");
    }
    // RED that marks and drops no packet, and on the other link a queue per flow; random loss is unchanged.
    let others = [
        (
            "ecn-threshold = \"10p\"",
            "discipline = { kind = \"red\", min = \"5p\", max = \"30p\", gentle = false, ecn = true }",
        ),
        ("kind = \"codel\"", "kind = \"fq-codel\""),
        ("delay = \"5ms\"", "delay = \"5ms\"\nloss = \"1%\""),
        ("[connection.mp0]\n", "[connection.mp0]\necn = true\n"),
    ];
    let text = fs::read_to_string(&path).unwrap();
    let text = others.iter().fold(text, |text, (own, other)| text.replacen(own, other, 1));
    fs::write(&path, text).unwrap();
    let links = run(&path);
    assert!(links.iter().all(|link| link["marked_packets"].as_u64().unwrap() > 5), "{links:?}");
    assert!(links[0]["lost_packets"].as_u64().unwrap() > 5, "{links:?}");
}

#[test]
fn packets_take_the_route_that_the_scenario_has_at_the_time() {
    let Some(folder) = lab_folder("routes that change") else { return };
    let run = |change: &str| {
        let text = SCENARIO
            .replace("loss = \"0.5%\"\n", "")
            .replace("warmup = \"500ms\"", "warmup = \"0s\"\nperiods = [\"500ms..1s\", \"1500ms..2s\"]")
            .replace("[connection.mp0]", "[connection.tcp1]\nkind = \"tcp\"\nroute = [\"b1\"]\nCHANGE\n#")
            .replace("kind = \"mptcp\"\nsubflow.sf1.route = [\"b1\"]\nsubflow.sf2.route = [\"b2\"]\n", "")
            .replace("CHANGE", change);
        let path = folder.path().join("moves.toml");
        fs::write(&path, text).unwrap();
        let run = only_run(&mut braid(&path));
        [0, 1].map(|period| {
            [0, 1].map(|link| {
                let link = &run["periods"][period]["links"][link];
                let packets = |own: &serde_json::Value| own["packets"].as_u64().unwrap();
                [packets(link), packets(&link["reverse"])]
            })
        })
    };
    // The other flow stays on b1.
    let [before, after] = run("change = [{ at = \"1s\", route = [\"b2\"] }]");
    assert_eq!(before[1], [0, 0]);
    assert!(after[1][0] > 70 && after[1][1] > 30, "2 Mbit/s and acknowledgements: {after:?}");
    assert!(after[0][0] > 100, "{after:?}");
    // There and back again.
    let [before, after] =
        run("change = [{ at = \"200ms\", route = [\"b2\"] }, { at = \"1200ms\", route = [\"b1\"] }]");
    assert!(before[1][0] > 70 && before[1][1] > 30, "{before:?}");
    assert_eq!(after[1], [0, 0]);
    // Only the way back.
    let [before, after] = run("change = [{ at = \"1s\", return-route = [\"b2\"] }]");
    assert_eq!(before[1], [0, 0]);
    assert!(after[1][0] == 0 && after[1][1] > 30, "{after:?}");
}

#[test]
fn a_queue_waits_or_is_lost_while_its_link_is_down_as_the_scenario_says() {
    let Some(folder) = lab_folder("links that are down") else { return };
    let change = "change = [{ at = \"1s\", state = \"down\" }, { at = \"1200ms\", state = \"up\" }]\n";
    for (keys, waits) in [
        (format!("when-down = \"keep\"\n{change}"), true),
        (format!("when-down = \"keep\"\necn-threshold = \"10p\"\n{change}"), true),
        (change.to_owned(), false),
        ("ecn-threshold = \"10p\"\noutages = [\"1s..1200ms\"]\n".to_owned(), false),
    ] {
        let text = SCENARIO.replace("loss = \"0.5%\"\n", &keys).replace(
            "warmup = \"500ms\"",
            "warmup = \"0s\"\nnoise = \"none\"\nperiods = [\"1100ms..1200ms\"]",
        );
        let run = only_run(&mut braid(&write(folder.path(), &text)));
        let (link, down) = (&run["links"][0], &run["periods"][0]["links"][0]);
        let of = |link: &serde_json::Value, key: &str| link[key].as_f64().unwrap();
        assert!(of(down, "utilization") < 0.01, "{keys}{down}");
        assert_eq!(of(down, "mean_queue_packets") > 0.5, waits, "{keys}{down}");
        assert_eq!(of(link, "lost_packets") > 0.0, !waits, "{keys}{link}");
        assert!(of(link, "utilization") > 0.5, "{keys}{link}");
    }
}

#[test]
fn every_nth_packet_of_a_link_is_lost() {
    every_nth_packet_is_lost(30, "4mbit");
}

/// Needs two of the kernel's counters, which have 16 bits.
#[test]
#[ignore = "slow: a minute of a processor, for so many packets"]
fn every_nth_packet_of_a_link_is_lost_however_large_the_number() {
    every_nth_packet_is_lost(65_536, "140mbit");
}

fn every_nth_packet_is_lost(n: u64, rate: &str) {
    let Some(folder) = lab_folder("losses that are counted") else { return };
    let text = format!(
        "title = \"t\"\nduration = \"7s\"\ncc = [\"cubic\"]\n[link.l]\nrate = \"{rate}\"\nrtt = \"4ms\"\n\
         queue = \"100p\"\ndrop-every = {n}\nreverse.loss = \"0%\"\n[connection.t]\nkind = \"tcp\"\nroute = [\"l\"]\n"
    );
    let run = only_run(&mut braid(&write(folder.path(), &text)));
    let count = |key: &str| run["links"][0][key].as_u64().unwrap();
    let (lost, all) = (count("lost_packets"), count("packets"));
    assert!(lost > 0 && lost.abs_diff(all / n) <= 1, "every {n}th: {lost} of {all}");
}

#[test]
fn a_limit_in_bytes_is_that_of_as_many_whole_packets() {
    let Some(folder) = lab_folder("a limit in bytes") else { return };
    let lossless = SCENARIO.replace("loss = \"0.5%\"\n", "").replace("2s", "10s");
    // 30 packets of 1500 bytes.
    let [in_packets, in_bytes] = ["30p", "45kB"].map(|limit| {
        let scenario = write(folder.path(), &lossless.replace("30p", limit));
        let run = only_run(&mut braid(&scenario));
        let link = &run["links"][0];
        assert!(link["drops_packets"].as_f64().unwrap() > 5.0, "{link}");
        assert!(link["utilization"].as_f64().unwrap() > 0.9, "{link}");
        link["mean_queue_packets"].as_f64().unwrap()
    });
    assert!((in_bytes / in_packets - 1.0).abs() < 0.15, "{in_packets} and {in_bytes} packets");
}

#[test]
fn a_link_that_follows_a_trace_carries_what_it_carries_in_the_simulator() {
    let Some(folder) = lab_folder("a trace") else { return };
    let text = "title = \"t\"\nduration = \"12s\"\nwarmup = \"2s\"\ncc = [\"cubic\"]\n\
        [link.l]\ntrace = \"lte-drive\"\nrtt = \"50ms\"\nqueue = \"100p\"\n\
        [link.l.reverse]\nrate = \"5mbit\"\n[connection.t]\nkind = \"tcp\"\nroute = [\"l\"]\n";
    let path = write(folder.path(), text);
    let goodput = |run: &serde_json::Value| run["connections"][0]["goodput_bps"].as_f64().unwrap();
    let lab = goodput(&only_run(&mut braid(&path)));
    let sim = goodput(&only_run(&mut run_on("sim", &path)));
    assert!((lab / sim - 1.0).abs() < 0.05, "{lab} in the lab, {sim} in the simulator");
}

#[test]
fn a_run_that_keeps_the_guest_busy_is_doubtful() {
    let Some(folder) = lab_folder("a busy guest") else { return };
    // Most of the work is done in interrupts, and charged to the interrupted process.
    let paths = two_paths("cc = [\"lia\"]", "mp0").replace("5mbit", "130mbit").replace("2mbit", "130mbit");
    let path = write(folder.path(), &paths.replace("30p", "300p").replace("3s", "1s"));
    let document = json(done(&braid(&path).output().unwrap()));
    let doubts = document["runs"][0]["doubts"].to_string();
    assert!(doubts.contains("the processor was busy for"), "{doubts}");
}

#[test]
fn connections_speak_ipv6_where_the_scenario_says_so() {
    let Some(folder) = lab_folder("IPv6") else { return };
    let text = SCENARIO.replace("kind = \"mptcp\"", "ip-version = 6\nkind = \"mptcp\"").replace("2s", "4s");
    write(folder.path(), &text);
    let scenario = Path::new("two.toml");
    let run = only_run(braid(scenario).args(["--pcap", "pcap"]).current_dir(folder.path()));
    for subflow in run["connections"][0]["subflows"].as_array().unwrap() {
        assert!(subflow["packets_sent"].as_u64().unwrap() > 100, "{subflow}");
    }
    let packets = fs::read(folder.path().join("pcap/0000-two-lia-seed1-mp0.pcapng")).unwrap();
    // From fd00::1 to fd00::80:1.
    let from = [
        0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0,
        1,
    ];
    assert!(packets.windows(from.len()).any(|bytes| bytes == from), "packets of IPv6");
}

#[test]
fn packet_schedulers_choose_in_the_kernel_as_they_do_in_the_simulator() {
    let Some(folder) = lab_folder("packet schedulers") else { return };
    let path = write(folder.path(), &two_paths("warmup = \"1s\"\ncc = [\"lia\"]", "mp0"));
    let run = |backend: &str| {
        let mut command = run_on(backend, &path);
        command.args(["--scheduler", "rr:segments=2,redundant"]).output().unwrap()
    };
    let in_kernel = run("lab");
    if text(&in_kernel.stderr).contains("which builds the kernel module") {
        return skip("packet schedulers", text(&in_kernel.stderr));
    }
    let documents = [done(&run("sim")), done(&in_kernel)];
    same(&documents[1], &done(&run("lab")), "once more");
    let [sim, lab] = documents.map(json);
    for (number, links_bps) in [(0, [5e6, 2e6]), (1, [5e6, 2e6])] {
        let [one, other] = [&sim, &lab].map(|document| &document["runs"][number]);
        assert_eq!(one["scheduler"], other["scheduler"]);
        assert_eq!(other["status"], "ok");
        for (subflow, link_bps) in links_bps.into_iter().enumerate() {
            let rate = |run: &serde_json::Value| {
                run["connections"][0]["subflows"][subflow]["throughput_bps"].as_f64().unwrap()
            };
            let apart = (rate(other) - rate(one)) / link_bps;
            assert!(apart.abs() < 0.1, "{} on path {subflow}: {apart:+.3} of the link", one["scheduler"]);
        }
    }
    let goodput =
        |number: usize| lab["runs"][number]["connections"][0]["goodput_bps"].as_f64().unwrap() / 1e6;
    assert!(goodput(0) > 6.0, "round-robin uses both paths: {} Mbit/s", goodput(0));
    assert!(goodput(1) < 5.0, "redundant has no more than the better path: {} Mbit/s", goodput(1));
}

/// Applications that never fill their paths: durations depend on delays and slow start only.
const APPLICATIONS: &str = r#"
title = "Applications"
duration = "12s"
warmup = "1s"
cc = ["lia"]
link.a = { rate = "20mbit", delay = "10ms", queue = "100p" }
link.b = { rate = "20mbit", delay = "20ms", queue = "100p" }
link.c = { rate = "20mbit", delay = "10ms", queue = "100p" }
[connection.video]
kind = "mptcp"
subflow.sf1.route = ["a"]
subflow.sf2.route = ["b"]
traffic = { kind = "cbr", rate = "2mbit", every = "40ms" }
[connection.web]
kind = "tcp"
cc = "reno"
route = ["c"]
[connection.web.traffic]
kind = "request-response"
response = { kind = "lognormal", median = "20kB", sigma = 1.0 }
think = { kind = "exponential", mean = "50ms" }
[connection.mice]
kind = "mptcp"
subflow.sf1.route = ["b"]
subflow.sf2.route = ["a"]
traffic = { kind = "poisson", every = "100ms", size = { kind = "pareto", shape = 1.3, least = "3kB", most = "100kB" } }
[connection.turns]
kind = "tcp"
cc = "reno"
route = ["c"]
traffic = { kind = "on-off", on = "300ms", off = { kind = "exponential", mean = "300ms" }, rate = "1mbit" }
"#;

#[test]
fn applications_write_and_ask_on_a_kernel_as_in_the_simulator() {
    let Some(folder) = lab_folder("applications_write_and_ask_on_a_kernel_as_in_the_simulator") else {
        return;
    };
    let path = write(folder.path(), APPLICATIONS);
    let [simulated, real] = ["sim", "lab"].map(|backend| only_run(&mut run_on(backend, &path)));
    for (simulated, real) in
        simulated["connections"].as_array().unwrap().iter().zip(real["connections"].as_array().unwrap())
    {
        let name = real["id"].as_str().unwrap();
        let of = |run: &serde_json::Value, key: &str| {
            run.pointer(key)
                .and_then(serde_json::Value::as_f64)
                .unwrap_or_else(|| panic!("{name}: no {key} in {run}"))
        };
        // Amounts and times are the simulator's random draws; an exchange that takes longer leaves time for fewer.
        let [expected, found] = [simulated, real].map(|run| of(run, "/application/transfers"));
        let slack = if name == "web" { 0.05 * expected } else { 1.0 };
        assert!((expected - found).abs() <= slack, "{name}: {found} transfers, {expected} in the simulator");
        let [expected, found] = [simulated, real].map(|run| of(run, "/goodput_bps"));
        assert!((found / expected - 1.0).abs() < 0.05, "{name}: {found} bit/s, {expected} in the simulator");
        if name != "turns" {
            let [expected, found] = [simulated, real].map(|run| of(run, "/application/time_ms/p50"));
            assert!(
                (found / expected - 1.0).abs() < 0.1,
                "{name}: half take {found} ms, {expected} in the simulator"
            );
        }
    }
}

#[test]
fn what_the_lab_cannot_do_is_refused_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("red.toml");
    let red = "queue = \"30p\"\ndiscipline = { kind = \"red\", min = \"5p\" }";
    fs::write(&path, SCENARIO.replacen("queue = \"30p\"", red, 1)).unwrap();
    let output = braid(&path).output().unwrap();
    failed(&output, 2, &["red.toml:10", "link.b1.discipline", "gentle = false", "--backend sim"]);
}

#[test]
fn what_is_missing_is_told_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = scenario(folder.path());
    let failure = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
        text(&output.stderr)
    };
    let report = failure(braid(&scenario).env("PATH", folder.path()));
    assert!(report.contains("apt-get install qemu-system-x86"), "{report}");
    if !lab_is_here("what is missing") {
        return;
    }
    let report = failure(braid(&scenario).args(["--kernel", "2.6"]));
    assert!(report.contains("no kernel is called \"2.6\"") && report.contains("6.12"), "{report}");
    let nowhere = failure(
        braid(&scenario).env("XDG_CACHE_HOME", folder.path()).env("MIRROR", "http://127.0.0.1:9/debian"),
    );
    assert!(nowhere.contains("cannot fetch linux-image") && nowhere.contains("--kernel FILE"), "{nowhere}");
}

#[test]
fn a_guest_that_is_killed_fails_its_run_and_no_other() {
    let Some(folder) = lab_folder("a killed guest") else { return };
    let (child, guest) = begin(&mut braid(&scenario(folder.path())));
    kill_process(Pid::from_raw(guest).unwrap(), Signal::KILL).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("the guest ended before its report"), "{}", text(&output.stdout));
}

#[test]
fn guests_of_two_commands_have_a_processor_each() {
    if !lab_is_here("two commands") || thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let scenario = scenario(folder.path());
    let runs = [(); 2].map(|()| begin(&mut braid(&scenario)));
    let [first, second] = runs.each_ref().map(|(_, guest)| {
        let status = fs::read_to_string(format!("/proc/{guest}/status")).unwrap();
        let allowed = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).map(str::to_owned);
        allowed.unwrap()
    });
    for (child, _) in runs {
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        child.wait_with_output().unwrap();
    }
    // Other tests may run guests at the same time; a guest without a free processor is not pinned.
    assert!(first != second || first.contains(['-', ',']), "{first} and {second}");
}

#[test]
fn an_interrupted_run_ends_at_once_and_leaves_no_guest() {
    let Some(folder) = lab_folder("an interrupted run") else { return };
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let (child, guest) = begin(&mut braid(&scenario(folder.path())));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(!output.status.success() && output.stdout.is_empty());
        if signal != Signal::KILL {
            assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
        }
        until("the guest ends", || !Path::new(&format!("/proc/{guest}")).exists());
    }
}
