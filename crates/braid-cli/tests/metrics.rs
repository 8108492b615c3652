//! `braid metrics`: its output is valid `OpenMetrics`, and a Prometheus can scrape it. Needs neither root nor BPF.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use braid_testing::{braid_path, done, failed, skip};

/// A process that is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An exporter on a free port, and its address.
fn exporter() -> (Running, String) {
    let mut child = Command::new(braid_path())
        .args(["metrics", "--listen", "0"])
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let running = Running(child);
    for line in lines {
        let line = line.expect("text");
        if let Some(rest) = line.strip_prefix("Listening on http://") {
            return (running, rest.trim_end_matches("/metrics.").to_owned());
        }
    }
    panic!("it says where it listens");
}

/// Status line with headers, and the body of the answer.
fn get(address: &str, request: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

fn value(metrics: &str, series: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(series)?.trim().parse().ok())
}

/// Sends 50 kB over the loopback interface; the ends stay open.
fn talk() -> [TcpStream; 2] {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let mut client = TcpStream::connect(listener.local_addr().expect("bound")).expect("a listener");
    let mut server = listener.accept().expect("a client").0;
    client.write_all(&vec![1; 50_000]).expect("it holds");
    server.read_exact(&mut vec![0; 50_000]).expect("it holds");
    [client, server]
}

#[test]
fn bytes_are_counted_from_one_scrape_to_the_next_also_of_connections_that_came_between() {
    let (_running, address) = exporter();
    let sum = |name: &str| {
        let (head, body) = get(&address, "GET /metrics");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("application/openmetrics-text; version=1.0.0"), "{head}");
        assert!(body.ends_with("# EOF\n"), "{body}");
        let of_lo = body.lines().filter(|line| line.starts_with(name) && line.contains("line=\"lo\""));
        of_lo.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum::<f64>()
    };
    let before = sum("braid_received_bytes_total");
    let ends = talk();
    let after = sum("braid_received_bytes_total");
    assert!(after >= before + 50_000.0, "{before} {after}");
    drop(ends);
    assert!(sum("braid_received_bytes_total") >= after, "a counter never falls");
    assert_eq!(get(&address, "GET /other").0.split(' ').nth(1), Some("404"));
    assert_eq!(get(&address, "POST /metrics").0.split(' ').nth(1), Some("405"));
}

#[test]
fn the_number_of_series_does_not_grow_with_connections() {
    let print = || done(&Command::new(braid_path()).arg("metrics").output().expect("it runs"));
    let _first = talk();
    let count = |text: &str| text.lines().filter(|line| line.contains("line=\"lo\"")).count();
    let before = count(&print());
    let _more: Vec<_> = (0..50).map(|_| talk()).collect();
    let text = print();
    assert!(count(&text) <= before + 5, "other tests may add an algorithm: {before}\n{text}");
    assert!(!text.contains("_bytes_total"), "what is printed once has no past to count from: {text}");
    for series in ["braid_warnings{kind=\"only_queue\"}", "braid_limited_subflows{limit=\"cwnd\"}"] {
        assert!(value(&text, series).is_some(), "{series} in {text}");
    }
    assert!(text.ends_with("# EOF\n"), "{text}");
}

#[test]
fn a_port_that_is_taken_and_an_address_that_is_none_are_told_with_the_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("bound").to_string();
    for (listen, parts) in [
        (address.as_str(), &["cannot listen on", "in use", "ss -ltnp", "another address"][..]),
        ("nowhere", &["IP:PORT"]),
    ] {
        let output =
            Command::new(braid_path()).args(["metrics", "--listen", listen]).output().expect("it runs");
        failed(&output, 2, parts);
    }
}

/// Prometheus's answer to a query of its HTTP interface.
fn ask(address: &str, path: &str) -> serde_json::Value {
    let (_, body) = get(address, &format!("GET {path}"));
    let json = body.find('{').map_or("", |at| &body[at..]);
    serde_json::Deserializer::from_str(json).into_iter().next().and_then(Result::ok).unwrap_or_default()
}

#[test]
fn a_real_prometheus_scrapes_it_and_takes_every_expression_of_the_rules_and_the_dashboard() {
    if Command::new("prometheus").arg("--version").output().is_err() {
        skip("metrics in Prometheus", "there is no prometheus");
        return;
    }
    let monitoring = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/monitoring");
    let rules = format!("{monitoring}/braid.rules.yml");
    let check =
        Command::new("promtool").args(["check", "rules", &rules]).output().expect("it comes with prometheus");
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));

    // Counts of algorithms are present once one is loaded.
    let braid = |words: &[&str]| Command::new(braid_path()).args(words).output().expect("it runs");
    let is_loaded = braid(&["load", "lia", "--as", "cli_prom"]).status.success();
    let (_exporter, exporter) = exporter();
    let _ends = talk();
    let folder = tempfile::tempdir().expect("room");
    let port = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("bound").port();
    let prometheus = format!("127.0.0.1:{port}");
    let config = folder.path().join("prometheus.yml");
    fs::write(
        &config,
        format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{rules}]\nscrape_configs: \
             [{{job_name: braid, static_configs: [{{targets: ['{exporter}']}}]}}]\n"
        ),
    )
    .expect("room");
    let _prometheus = Running(
        Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={prometheus}"))
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs"),
    );
    let began = Instant::now();
    loop {
        let is_up = TcpStream::connect(&prometheus).is_ok()
            && ask(&prometheus, "/api/v1/query?query=up{job=\"braid\"}")["data"]["result"][0]["value"][1]
                == "1";
        if is_up {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "Prometheus has scraped it after 120 s");
        thread::sleep(Duration::from_millis(200));
    }
    let subflows = ask(&prometheus, "/api/v1/query?query=sum(braid_subflows)");
    let count: f64 =
        subflows["data"]["result"][0]["value"][1].as_str().and_then(|n| n.parse().ok()).expect("a number");
    assert!(count >= 2.0, "both ends of the connection: {subflows}");

    // Every metric of the dashboard and the rules exists, and every expression is valid.
    let (_, metrics) = get(&exporter, "GET /metrics");
    let dashboard = fs::read_to_string(format!("{monitoring}/grafana-dashboard.json")).expect("ours");
    let dashboard = braid_testing::json(dashboard);
    let panels = dashboard["panels"].as_array().expect("a list");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("a list"));
    let mut expressions: Vec<String> =
        targets.map(|target| target["expr"].as_str().expect("text").to_owned()).collect();
    let alerts = ask(&prometheus, "/api/v1/rules");
    for rule in alerts["data"]["groups"][0]["rules"].as_array().expect("the rules are loaded") {
        expressions.push(rule["query"].as_str().expect("text").to_owned());
        assert_eq!(rule["lastError"], serde_json::Value::Null, "{rule}");
    }
    assert!(expressions.len() > 10, "{expressions:?}");
    for expression in &expressions {
        let expression = expression.replace("$__rate_interval", "1m").replace("$job", "braid");
        let mut encoded = String::new();
        for byte in expression.bytes() {
            write!(encoded, "%{byte:02x}").expect("a string takes all");
        }
        let answer = ask(&prometheus, &format!("/api/v1/query?query={encoded}"));
        assert_eq!(answer["status"], "success", "{expression}: {answer}");
        for word in expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            let base = word.trim_end_matches("_total");
            let is_of_loaded = ["braid_acks", "braid_reductions", "braid_loaded_algorithm"].contains(&base);
            if word.len() > "braid_".len() && (is_loaded || !is_of_loaded) && word.starts_with("braid_") {
                assert!(metrics.contains(&format!("# TYPE {base} ")), "{word} of {expression} is exported");
            }
        }
    }
    if is_loaded {
        assert!(braid(&["unload", "cli_prom"]).status.success());
    }
}
