//! Helpers of the tests with guests, and on this machine's kernel.

#![allow(dead_code, unused_imports, reason = "not every test needs all of it")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use braid_testing::{braid_path, json, skip};
pub(crate) use braid_testing::{done, eventually, text};
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use serde_json::Value;
use tempfile::TempDir;

/// Two paths with random loss, and a TCP flow with a kernel algorithm on one of them.
pub(crate) const SCENARIO: &str = r#"
title = "Two paths"
duration = "2s"
warmup = "500ms"
cc = ["lia"]
[link.b1]
rate = "5mbit"
delay = "5ms"
queue = "30p"
loss = "0.5%"
[link.b2]
rate = "2mbit"
delay = "20ms"
queue = "30p"
[connection.mp0]
kind = "mptcp"
subflow.sf1.route = ["b1"]
subflow.sf2.route = ["b2"]
[connection.tcp0]
kind = "tcp"
cc = "cubic"
route = ["b1"]
"#;

/// Two paths without loss, and an MPTCP connection on both. `keys` come before all tables.
pub(crate) fn two_paths(keys: &str, connection: &str) -> String {
    format!(
        r#"
title = "Two paths"
duration = "3s"
{keys}
[link.b1]
rate = "5mbit"
delay = "5ms"
queue = "30p"
[link.b2]
rate = "2mbit"
delay = "20ms"
queue = "30p"
[connection.{connection}]
kind = "mptcp"
subflow.sf1.route = ["b1"]
subflow.sf2.route = ["b2"]
"#
    )
}

/// Follows [`two_paths`] with a connection `web`, to carry iperf3's traffic.
pub(crate) const IPERF: &str = r#"
[connection.web.traffic]
kind = "program"
server = ["iperf3", "-s", "-1"]
client = ["iperf3", "-c", "{server}", "-n", "1M"]
"#;

pub(crate) fn write(folder: &Path, scenario: &str) -> PathBuf {
    let path = folder.join("two.toml");
    fs::write(&path, scenario).unwrap();
    path
}

pub(crate) fn scenario(folder: &Path) -> PathBuf {
    write(folder, SCENARIO)
}

pub(crate) fn run_on(backend: &str, scenario: &Path) -> Command {
    let mut command = Command::new(braid_path());
    command.arg("run").arg(scenario).args(["--backend", backend, "--format", "json", "--quiet"]);
    command
}

pub(crate) fn braid(scenario: &Path) -> Command {
    run_on("lab", scenario)
}

/// Whether the program says that this machine lacks something that the lab needs.
fn lab_is_missing(report: &str) -> bool {
    ["cannot run qemu", "needs QEMU", "cannot fetch", "no apt"].iter().any(|sign| report.contains(sign))
}

/// Whether this machine can run the lab; if not, prints the reason.
pub(crate) fn lab_is_here(test: &str) -> bool {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    let reason = REASON.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let output = braid(&scenario(folder.path())).args(["--set", "duration=600ms"]).output().unwrap();
        let report = text(&output.stderr);
        lab_is_missing(&report).then_some(report)
    });
    if let Some(reason) = reason {
        skip(test, reason);
    }
    reason.is_none()
}

/// A scratch folder, if this machine can run the lab.
pub(crate) fn lab_folder(test: &str) -> Option<TempDir> {
    lab_is_here(test).then(|| tempfile::tempdir().unwrap())
}

/// The only run of a command, without warnings.
pub(crate) fn only_run(command: &mut Command) -> Value {
    let document = json(done(&command.output().unwrap()));
    let run = &document["runs"][0];
    assert!(run["doubts"].is_null(), "{}", run["doubts"]);
    run.clone()
}

/// The child process of `parent` with this word in its command line.
pub(crate) fn child_with(word: &str, parent: u32) -> Option<i32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.find(|id| {
        let read = |name: &str| fs::read(format!("/proc/{id}/{name}")).map(|bytes| text(&bytes));
        let is_child = read("stat").is_ok_and(|stat| {
            let after_name = stat.rsplit(") ").next().unwrap_or_default();
            after_name.split(' ').nth(1) == Some(&parent.to_string())
        });
        is_child && read("cmdline").is_ok_and(|words| words.contains(word))
    })
}

/// The guest of a running program.
pub(crate) fn guest_of(program: u32) -> Option<i32> {
    // Before that the program asks QEMU for its version.
    child_with("-icount", program)
}

/// Starts a long run and waits for its guest.
pub(crate) fn begin(command: &mut Command) -> (Child, i32) {
    let child = command
        .args(["--set", "duration=1000s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let guest = eventually("a guest begins", || guest_of(child.id()));
    // By then the guest is in the middle of its run.
    thread::sleep(Duration::from_secs(3));
    (child, guest)
}

/// Interface, nanoseconds, length, and stored bytes.
type Packet = (usize, u128, u32, Vec<u8>);

/// The names of a capture's interfaces, and its packets.
fn packets(file: &Path) -> (Vec<String>, Vec<Packet>) {
    let mut reader = PcapNgReader::new(fs::File::open(file).unwrap()).unwrap();
    let (mut names, mut packets) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                names.extend(interface.options.iter().filter_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                }));
            }
            Block::EnhancedPacket(packet) => {
                let id = packet.interface_id as usize;
                packets.push((id, packet.timestamp.as_nanos(), packet.original_len, packet.data.to_vec()));
            }
            _ => {}
        }
    }
    (names, packets)
}

/// Parses a packet from its IPv4 header on: sender's address, flags, payload bytes.
fn segment(length: u32, bytes: &[u8]) -> ([u8; 4], u8, u32) {
    let ip = usize::from(bytes[0] & 15) * 4;
    let tcp = usize::from(bytes[ip + 12] >> 4) * 4;
    (bytes[12..16].try_into().unwrap(), bytes[ip + 13], length - (ip + tcp) as u32)
}

/// Compares the capture of a connection, with at most 96 bytes of each packet, with the run's counts. The connection
/// ended at `stop`, well before the run, so that the capture has all its packets.
pub(crate) fn packets_are_those_counted(file: &Path, run: &Value, connection: usize, stop: Duration) {
    let (names, packets) = packets(file);
    let connection = &run["connections"][connection];
    let id = connection["id"].as_str().unwrap();
    let subflows = connection["subflows"].as_array().unwrap();
    let expected: Vec<String> =
        subflows.iter().map(|own| format!("{id}.{}", own["id"].as_str().unwrap())).collect();
    assert_eq!(names, expected);
    let times: Vec<u128> = packets.iter().map(|(_, time, ..)| *time).collect();
    let end = (run["duration_s"].as_f64().unwrap() * 1e9) as u128;
    assert!(times.is_sorted() && *times.last().unwrap() <= end, "{id}: in order of time");
    for (index, subflow) in subflows.iter().enumerate() {
        let own: Vec<&Packet> = packets.iter().filter(|(id, ..)| *id == index).collect();
        assert!(own.iter().all(|(.., bytes)| bytes.len() <= 96));
        let own = own.iter().map(|(_, time, length, bytes)| (*time, segment(*length, bytes)));
        let own: Vec<_> = own.collect();
        let (_, (sender, flags, _)) = own[0];
        assert_eq!(flags & 0b1_0010, 0b10, "it begins with a SYN");
        let sent = |until: u128| {
            let is_data = |(from, _, payload): ([u8; 4], u8, u32)| from == sender && payload > 0;
            own.iter().filter(|(time, segment)| *time < until && is_data(*segment)).count()
        };
        // The count is taken when the connection is told to stop; a few more packets may follow.
        let counted = subflow["packets_sent"].as_u64().unwrap() as usize;
        let (before, all) = (sent(stop.as_nanos()), sent(u128::MAX));
        assert!((before..=all).contains(&counted), "{id} {index}: {counted}, of {before} to {all}");
        assert!(own.iter().filter(|(_, (from, ..))| *from != sender).count() > 20, "and there are answers");
    }
}
