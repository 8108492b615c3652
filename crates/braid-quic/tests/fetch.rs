//! The example `fetch` over two networks with different rates, between namespaces. Needs root; skipped without.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const BYTES: usize = 3_000_000;
/// Slow, so that a busy machine is fast enough.
const RATES: [&str; 2] = ["8mbit", "4mbit"];

fn run(program: &str, arguments: &str) -> Result<Output, String> {
    let output = Command::new(program).args(arguments.split_whitespace()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(output);
    }
    Err(format!("{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

/// Two namespaces with two links between them.
struct Networks {
    client: String,
    server: String,
}

impl Networks {
    fn new() -> Result<Self, String> {
        let name = |end: &str| format!("braid-fetch-{}-{end}", std::process::id());
        let networks = Self { client: name("c"), server: name("s") };
        let Self { client, server } = &networks;
        for name in [client, server] {
            run("ip", &format!("netns add {name}"))?;
        }
        for (n, rate) in RATES.iter().enumerate() {
            run("ip", &format!("link add b{n} netns {client} type veth peer name b{n} netns {server}"))?;
            for (name, end) in [(client, 1), (server, 2)] {
                run("ip", &format!("-n {name} addr add 10.98.{n}.{end}/24 dev b{n}"))?;
                run("ip", &format!("-n {name} link set b{n} up"))?;
            }
            run(
                "tc",
                &format!("-n {server} qdisc add dev b{n} root tbf rate {rate} burst 3000 limit 60000"),
            )?;
        }
        Ok(networks)
    }

    fn within(name: &str, program: &Path) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", name]).arg(program);
        command
    }
}

impl Drop for Networks {
    fn drop(&mut self) {
        for name in [&self.client, &self.server] {
            let _ = run("ip", &format!("netns del {name}"));
        }
    }
}

/// A process that is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `cargo test` builds examples first.
fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().unwrap().parent().unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is missing: run `cargo build --example {name}`", path.display());
    path
}

#[test]
fn a_file_comes_whole_over_two_networks_at_once() {
    let networks = match Networks::new() {
        Ok(networks) => networks,
        Err(why) => {
            writeln!(
                std::io::stderr(),
                "SKIPPED: QUIC over two networks: no networks can be made here: {why}"
            )
            .expect("stderr");
            return;
        }
    };
    let folder = std::env::temp_dir().join(format!("braid-fetch-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let file = |name: &str| folder.join(name);
    let bytes: Vec<u8> = (0..BYTES).map(|n| (n * n / 7) as u8).collect();
    fs::write(file("sent"), &bytes).unwrap();

    let fetch = example("fetch");
    let mut server = Networks::within(&networks.server, &fetch);
    server.args([
        "serve",
        file("sent").to_str().unwrap(),
        file("certificate").to_str().unwrap(),
        "4433",
        "lia",
    ]);
    let server = Running(server.stdout(Stdio::piped()).spawn().unwrap());
    let begin = Instant::now();
    while fs::read(file("certificate")).map_or(true, |bytes| bytes.is_empty()) {
        assert!(begin.elapsed() < Duration::from_secs(60), "the server does not start");
        sleep(Duration::from_millis(20));
    }
    let mut client = Networks::within(&networks.client, &fetch);
    client.args(["get", file("got").to_str().unwrap(), file("certificate").to_str().unwrap()]);
    let got = client.args(["10.98.0.2:4433", "10.98.1.2:4433"]).output().unwrap();
    let text = String::from_utf8_lossy(&got.stdout).into_owned();
    assert!(got.status.success(), "{text} {}", String::from_utf8_lossy(&got.stderr));
    assert!(fs::read(file("got")).unwrap() == bytes, "what arrived is not what was sent");
    assert!(!file("got.part").exists());
    drop(server);
    fs::remove_dir_all(&folder).unwrap();

    // path, IP bytes, share, %, ...
    let shares: Vec<f64> =
        text.lines().skip(2).map(|line| line.split_whitespace().nth(2).unwrap().parse().unwrap()).collect();
    assert_eq!(shares.len(), 2, "{text}");
    assert!(shares.iter().all(|share| *share > 5.0), "both networks are used: {text}");
}
