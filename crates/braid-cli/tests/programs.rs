//! Traffic of programs, in the lab. Without iperf3, nginx, curl or mptcpize, the tests print `SKIPPED` and the reason.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod guests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Mutex, MutexGuard, PoisonError};

use braid_testing::{failed, json, says, skip};
use guests::{IPERF, braid, done, lab_is_here, only_run, run_on, text, two_paths, write};

const NGINX: &str = r#"
[connection.web.traffic]
kind = "program"
server = ["nginx", "-e", "stderr", "-p", ".", "-c", "nginx.conf"]
client = ["curl", "-sS", "-o", "/dev/null", "-w", "%{size_download} bytes in %{time_total} s", "http://{server}/object"]
sender = "server"
files = ["nginx.conf", "object"]
"#;

const NGINX_CONF: &str = "daemon off;
master_process off;
pid nginx.pid;
events {}
http {
    access_log off;
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    server {
        listen 80;
        root .;
    }
}
";

const OBJECT_BYTES: usize = 1_000_000;

/// The scenario with this traffic, and its files.
fn scenario(folder: &Path, traffic: &str) -> PathBuf {
    fs::write(folder.join("nginx.conf"), NGINX_CONF).unwrap();
    fs::write(folder.join("object"), vec![0; OBJECT_BYTES]).unwrap();
    write(folder, &(two_paths("cc = [\"lia\"]", "web") + traffic))
}

/// The same traffic with another client, so that the guest is the same.
fn with_client(client: &str) -> String {
    let (before, rest) = NGINX.split_once("client = ").unwrap();
    let (_, after) = rest.split_once('\n').unwrap();
    format!("{before}client = {client}\n{after}")
}

/// Whether the programs and the lab are available; if not, prints the reason. One test at a time, so that the second
/// reuses the booted guest.
fn are_here(test: &str) -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    for traffic in [IPERF, NGINX] {
        let output = braid(&scenario(folder.path(), traffic)).arg("--dry-run").output().unwrap();
        let report = text(&output.stderr);
        if report.contains("on this machine") {
            skip(test, &report);
            return None;
        }
        assert!(output.status.success(), "{report}");
    }
    lab_is_here(test).then_some(guard)
}

#[test]
fn what_programs_send_is_measured_and_the_same_each_time() {
    let Some(_only) = are_here("what programs send") else { return };
    let folder = tempfile::tempdir().unwrap();
    for (traffic, bytes, said) in
        [(IPERF, 1 << 20, "iperf Done."), (NGINX, OBJECT_BYTES, "1000000 bytes in ")]
    {
        let path = scenario(folder.path(), traffic);
        let first = done(&braid(&path).output().unwrap());
        let again = done(&braid(&path).output().unwrap());
        assert!(first == again, "other bytes: {first}\n{again}");

        let document = json(&first);
        let run = &document["runs"][0];
        assert!(run["doubts"].is_null(), "{}", run["doubts"]);
        let web = &run["connections"][0];
        let [server, client] = [0, 1].map(|which| &web["programs"][which]);
        assert_eq!((server["role"].as_str(), client["role"].as_str()), (Some("server"), Some("client")));
        assert_eq!(client["exit_code"], 0, "{client}");
        assert!(client["stdout"].as_str().unwrap().contains(said), "{client}");
        assert_eq!(web["application"]["transfers"], 1);
        let seconds = web["application"]["time_ms"]["max"].as_f64().unwrap() / 1e3;
        // 7 Mbit/s at most.
        assert!((bytes as f64 * 8.0 / 7e6..3.0).contains(&seconds), "{seconds} s");
        let mut sent = 0.0;
        for subflow in web["subflows"].as_array().unwrap() {
            let of = |key: &str| subflow[key].as_f64().unwrap();
            sent += of("packets_sent") - of("retransmissions");
            assert!(of("packets_sent") > 100.0 && of("mean_cwnd") > 1.0, "{subflow}");
        }
        let packets = bytes as f64 / 1420.0;
        assert!((packets..1.1 * packets).contains(&sent), "{sent} packets, {packets} at least");
    }
}

#[test]
fn programs_speak_ipv6_where_the_scenario_says_so() {
    let Some(_only) = are_here("programs and IPv6") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = scenario(folder.path(), IPERF);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("kind = \"mptcp\"", "kind = \"mptcp\"\nip-version = 6")).unwrap();
    let run = only_run(&mut braid(&path));
    let web = &run["connections"][0];
    assert!(web["programs"][1]["stdout"].as_str().unwrap().contains("local fd00::1 port"), "{web}");
    for subflow in web["subflows"].as_array().unwrap() {
        assert!(subflow["packets_sent"].as_u64().unwrap() > 100, "{subflow}");
    }
}

#[test]
fn a_program_that_does_not_end_is_ended_with_the_run() {
    let Some(_only) = are_here("a program that does not end") else { return };
    let folder = tempfile::tempdir().unwrap();
    let client = r#"["curl", "-sS", "--limit-rate", "10k", "-o", "/dev/null", "http://{server}/object"]"#;
    let run = only_run(&mut braid(&scenario(folder.path(), &with_client(client))));
    let web = &run["connections"][0];
    assert!(web["programs"][1]["exit_code"].is_null(), "{web}");
    assert_eq!(web["application"]["unfinished"], 1);
}

#[test]
fn a_program_that_fails_fails_the_run_and_says_why() {
    let Some(_only) = are_here("a program that fails") else { return };
    let folder = tempfile::tempdir().unwrap();
    let failure = |traffic: &str| {
        let output = braid(&scenario(folder.path(), traffic)).output().unwrap();
        failed(&output, 1, &[])
    };
    let report = failure(&with_client(r#"["curl", "-sS", "http://{server}:81/"]"#));
    says(&report, &["web: the client curl", "10.0.0.1:81", "exit status: 7", "it said: curl: (7)"]);
    let (before, after) = NGINX.split_once("server = ").unwrap();
    let (_, after) = after.split_once('\n').unwrap();
    let silent = format!("{before}server = [\"curl\", \"--version\"]\n{after}");
    let report = failure(&silent.replace("\"curl\", \"-sS\"", "\"nginx\""));
    says(&report, &["web: the server curl --version listens to nothing 10 s", "it said:", "libcurl"]);
}

/// A program of the highest real-time priority takes all CPU time of the guest.
#[test]
#[ignore = "it takes two minutes of processor time to be sure that a guest hangs"]
fn a_guest_that_computes_for_ever_is_given_up() {
    let Some(_only) = are_here("a guest that computes for ever") else { return };
    let folder = tempfile::tempdir().unwrap();
    let (before, _) = IPERF.split_once("client = ").unwrap();
    let endless = "mount -t debugfs none /sys/kernel/debug && \
                   echo 0 > /sys/kernel/debug/sched/fair_server/cpu0/runtime && \
                   echo -1 > /proc/sys/kernel/sched_rt_runtime_us && while :; do :; done";
    let client = format!(r#"client = ["chrt", "--fifo", "99", "/bin/sh", "-c", "{endless}"]"#);
    let files = r#"files = ["/bin/sh", "/bin/mount"]"#;
    let path = scenario(folder.path(), &format!("{before}{client}\n{files}\n"));
    let output = braid(&path).output().unwrap();
    failed(&output, 1, &["the guest hangs", "computed for 120 s since without a sign of life"]);
}

#[test]
fn what_cannot_be_done_with_programs_is_refused_where_it_stands() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |output: Output| {
        assert!(output.stdout.is_empty());
        failed(&output, 2, &[])
    };
    let traffic = IPERF.replace("\"iperf3\", \"-s\"", "\"no-such-server\"");
    let report = refused(braid(&scenario(folder.path(), &traffic)).output().unwrap());
    says(
        &report,
        &["two.toml:20", "connection.web.traffic.server", "no program no-such-server", "install it"],
    );
    let traffic = IPERF.replace("\"iperf3\", \"-s\"", "\"mptcpize\", \"run\", \"iperf3\", \"-s\"");
    let report = refused(braid(&scenario(folder.path(), &traffic)).output().unwrap());
    assert!(report.contains("remove \"mptcpize\""), "{report}");
    let traffic = IPERF.replace("\"iperf3\", \"-s\"", "\"./server\"");
    let report = refused(braid(&scenario(folder.path(), &traffic)).output().unwrap());
    assert!(report.contains("add it to files"), "{report}");

    let path = scenario(folder.path(), IPERF);
    let report = refused(run_on("sim", &path).output().unwrap());
    says(
        &report,
        &["two.toml:18", "connection.web.traffic", "simulator cannot run programs", "--backend lab"],
    );
}
