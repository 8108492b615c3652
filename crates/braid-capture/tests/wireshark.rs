//! Wireshark's analysis of a capture agrees with the simulator's counts. Without tshark each test prints `SKIPPED: ...`
//! with the reason.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use braid_capture::pcap::Captures;
use braid_results::measure::Measurements;
use braid_scenario::model::Scenario;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use tempfile::TempDir;

use common::{SEED, applications, observe, run, scenario};

/// Captures a run into `0.pcapng`, `1.pcapng`, ... by connection.
fn capture(set: &[&str], snap_length: u32) -> (TempDir, Measurements) {
    capture_of(&scenario(set), snap_length)
}

fn capture_of(scenario: &Scenario, snap_length: u32) -> (TempDir, Measurements) {
    let folder = tempfile::tempdir().unwrap();
    let sinks = scenario.connections.iter().map(|_| Vec::new());
    let mut captures = Captures::new(scenario, SEED, snap_length, "a run", sinks).unwrap();
    let counts = observe(scenario, &mut captures);
    for (number, bytes) in captures.finish().unwrap().iter().enumerate() {
        fs::write(folder.path().join(format!("{number}.pcapng")), bytes).unwrap();
    }
    (folder, counts)
}

fn is_there() -> bool {
    let there = Command::new("tshark").arg("--version").output().is_ok();
    if !there {
        braid_testing::skip(
            "Wireshark reads a capture",
            "tshark is not installed; scripts/setup --test installs it",
        );
    }
    there
}

/// The fields of the packets that match a filter.
fn tshark(file: &Path, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-T", "fields"]);
    command.args(["-Y", filter, "-r"]).arg(file);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
}

fn count(file: &Path, filter: &str) -> u64 {
    tshark(file, filter, &["frame.number"]).len() as u64
}

fn number(text: &str) -> u64 {
    text.strip_prefix("0x").map_or_else(|| text.parse(), |hex| u64::from_str_radix(hex, 16)).unwrap()
}

/// Analysis flags that no packet of a capture may have.
const WRONG: [&str; 7] = [
    "_ws.malformed",
    "tcp.checksum.status != 1",
    "ip.checksum.status == 0",
    "tcp.analysis.lost_segment",
    "tcp.analysis.ack_lost_segment",
    "_ws.expert.group == \"Protocol\"",
    "_ws.expert.severity == error",
];

fn check(set: &[&str]) {
    let (folder, counts) = capture(set, 65_535);
    for (number, connection) in counts.connections.iter().enumerate() {
        let file = folder.path().join(format!("{number}.pcapng"));
        let wrong = tshark(&file, &WRONG.join(" || "), &["frame.number", "_ws.expert.message"]);
        assert!(wrong.is_empty(), "{set:?} {number}: {:?}", wrong[0]);
        // Wireshark classifies a retransmission that follows soon after later data as out of order.
        let fields = ["tcp.stream", "tcp.analysis.retransmission", "tcp.analysis.out_of_order"];
        let packets = tshark(&file, "tcp.len > 0", &fields);
        for (stream, subflow) in connection.subflows.iter().enumerate() {
            let of: Vec<_> = packets.iter().filter(|fields| fields[0] == stream.to_string()).collect();
            assert_eq!(of.len() as u64, subflow.packets_sent, "{set:?} {number}");
            let again = of.iter().filter(|fields| !fields[1].is_empty() || !fields[2].is_empty()).count();
            assert_eq!(again as u64, subflow.retransmissions, "{set:?} {number}");
        }
    }
    assert!(
        counts.connections[0].subflows.iter().all(|subflow| subflow.retransmissions > 10),
        "the run has them"
    );
}

#[test]
fn packets_and_retransmissions_are_as_many_as_were_counted_and_nothing_is_malformed() {
    if is_there() {
        check(&[]);
        check(&["connection.mp0.ip-version=6"]);
    }
}

#[test]
fn applications_have_every_packet_byte_and_connection_that_was_counted() {
    if !is_there() {
        return;
    }
    let scenario = applications();
    let (folder, counts) = capture_of(&scenario, 65_535);
    for (number, connection) in counts.connections.iter().enumerate() {
        let name = &scenario.connections[number].name;
        let file = folder.path().join(format!("{number}.pcapng"));
        let wrong = tshark(&file, &WRONG.join(" || "), &["frame.number", "_ws.expert.message"]);
        assert!(wrong.is_empty(), "{name}: {:?}", wrong[0]);

        let fields = ["tcp.len", "tcp.analysis.retransmission", "tcp.analysis.out_of_order"];
        let packets = tshark(&file, "tcp.len > 0 && tcp.dstport == 5001", &fields);
        let subflows = &connection.subflows;
        let sent: u64 = subflows.iter().map(|subflow| subflow.packets_sent).sum();
        assert_eq!(packets.len() as u64, sent, "{name}");
        let again: u64 = subflows.iter().map(|subflow| subflow.retransmissions).sum();
        let (first, more): (Vec<_>, Vec<_>) =
            packets.iter().partition(|fields| fields[1].is_empty() && fields[2].is_empty());
        assert_eq!(more.len() as u64, again, "{name}");
        if name == "object" {
            let bytes: u64 = first.iter().map(|fields| self::number(&fields[0])).sum();
            assert_eq!((bytes, again > 0), (1_000_003, true));
        }
    }
    let file = |name: &str| {
        let number = scenario.connections.iter().position(|connection| connection.name == name).unwrap();
        (folder.path().join(format!("{number}.pcapng")), &counts.connections[number])
    };

    // Every short flow is an MPTCP connection: the complete ones, and up to three incomplete ones.
    let (mice, counted) = file("mice");
    let complete = counted.transfers.iter().filter(|transfer| transfer.end_ns.is_some()).count();
    assert!(complete > 20, "{complete}");
    for (filter, field) in [
        ("tcp.flags == 0x002 && tcp.options.mptcp.subtype == 0", "tcp.stream"),
        ("tcp.len > 0 && mptcp.stream", "mptcp.stream"),
    ] {
        let streams: BTreeSet<String> =
            tshark(&mice, filter, &[field]).into_iter().map(|mut fields| fields.remove(0)).collect();
        assert!((complete..=complete + 3).contains(&streams.len()), "{field}: {} {complete}", streams.len());
    }

    // Every answered request is complete to the byte.
    let (web, counted) = file("web");
    let fields = ["tcp.len", "tcp.analysis.retransmission", "tcp.analysis.out_of_order"];
    let requests = tshark(&web, "tcp.len > 0 && tcp.srcport == 5001", &fields);
    let answered = counted.transfers.iter().filter(|transfer| transfer.end_ns.is_some()).count() as u64;
    let bytes: u64 = requests
        .iter()
        .filter(|fields| fields[1].is_empty() && fields[2].is_empty())
        .map(|fields| number(&fields[0]))
        .sum();
    assert!(
        answered > 50 && bytes >= 3_000 * answered && bytes < 3_000 * (answered + 5),
        "{bytes} {answered}"
    );

    // A subflow that returns joins the connection again, the first one too.
    let (walk, _) = file("walk");
    assert_eq!(count(&walk, "tcp.flags == 0x002 && tcp.options.mptcp.subtype == 0"), 1);
    let joins = tshark(&walk, "tcp.flags == 0x002 && tcp.options.mptcp.subtype == 1", &["tcp.stream"]);
    assert_eq!(joins.len(), 2, "{joins:?}");
    let streams = tshark(&walk, "mptcp.stream", &["mptcp.stream"]);
    assert!(streams.iter().all(|fields| fields[0] == "0"));
}

#[test]
fn both_subflows_belong_to_one_mptcp_connection_whose_data_level_has_the_goodput() {
    if !is_there() {
        return;
    }
    let (folder, counts) = capture(&[], 128);
    let file = folder.path().join("0.pcapng");
    assert_eq!(count(&file, "tcp && !mptcp"), 0);
    let streams = tshark(&file, "mptcp.stream", &["mptcp.stream"]);
    assert!(streams.len() > 1000 && streams.iter().all(|fields| fields[0] == "0"));
    let joins =
        tshark(&file, "tcp.flags.syn == 1 && tcp.options.mptcp.recvtok", &["tcp.options.mptcp.recvtok"]);
    let expected = tshark(&file, "frame.number == 2", &["mptcp.expected_token"]);
    assert!(!joins.is_empty() && joins.iter().all(|token| *token == expected[0]), "{joins:?} {expected:?}");

    // The acknowledged data equals the received data, except what was acknowledged after the last arrival.
    let fields = ["tcp.stream", "tcp.options.mptcp.rawdataack"];
    let acks = tshark(&file, "tcp.srcport == 5001 && tcp.options.mptcp.rawdataack", &fields);
    let of = |stream: &str| -> Vec<u64> {
        let acks = acks.iter().filter(|fields| fields[0] == stream);
        acks.map(|fields| number(&fields[1])).collect()
    };
    let acks = [of("0"), of("1")];
    assert!(
        acks.iter().flat_map(|acks| acks.windows(2)).all(|pair| pair[0] <= pair[1]),
        "they never go back"
    );
    let first = tshark(&file, "tcp.options.mptcp.rawdataseqno", &["tcp.options.mptcp.rawdataseqno"]);
    // The first mapping belongs to the second packet: the handshake implies the first packet's.
    let first = number(&first[0][0]) - 1420;
    let goodput = acks.iter().flatten().max().unwrap() - first;
    let counted = counts.connections[0].goodput_bytes;
    let in_one_rtt = 15_000_000 / 8;
    assert!(goodput <= counted && goodput + in_one_rtt / 10 > counted, "{goodput} {counted}");
}

#[test]
fn a_join_proves_that_it_knows_the_keys() {
    if !is_there() {
        return;
    }
    let (folder, _) = capture(&[], 128);
    let file = folder.path().join("0.pcapng");
    let one = |filter: &str, fields: &[&str]| -> Vec<Vec<u8>> {
        let found = tshark(&file, filter, fields);
        let bytes = |text: &String| {
            let text = text.replace(':', "");
            let value =
                if text.len() >= 16 && text.bytes().all(|b| b.is_ascii_hexdigit()) && fields.len() == 1 {
                    text
                } else {
                    text.trim_start_matches("0x").to_owned()
                };
            (0..value.len() / 2).map(|i| u8::from_str_radix(&value[2 * i..2 * i + 2], 16).unwrap()).collect()
        };
        found[0].iter().map(bytes).collect()
    };
    let decimal = |filter: &str, field: &str| -> Vec<u8> {
        let text = &tshark(&file, filter, &[field])[0][0];
        number(text).to_be_bytes().to_vec()
    };
    let third = "tcp.len > 0 && tcp.options.mptcp.recvkey";
    let client = decimal(third, "tcp.options.mptcp.sendkey");
    let server = decimal(third, "tcp.options.mptcp.recvkey");
    let join = "tcp.options.mptcp.subtype == 1";
    let nonce = |syn: &str| {
        let all = decimal(&format!("{join} && tcp.flags == {syn}"), "tcp.options.mptcp.sendrand");
        all[4..].to_vec()
    };
    let (of_client, of_server) = (nonce("0x002"), nonce("0x012"));
    let hmac = |key: Vec<u8>, message: Vec<u8>| {
        let mut hmac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
        hmac.update(&message);
        hmac.finalize().into_bytes().to_vec()
    };
    let answer = decimal(&format!("{join} && tcp.flags == 0x012"), "tcp.options.mptcp.sendtrunchmac");
    let expected =
        hmac([server.clone(), client.clone()].concat(), [of_server.clone(), of_client.clone()].concat());
    assert_eq!(answer, expected[..8]);
    let confirmation = &one(&format!("{join} && tcp.flags == 0x010"), &["tcp.options.mptcp.sendhmac"])[0];
    let expected = hmac([client, server].concat(), [of_client, of_server].concat());
    assert_eq!(*confirmation, expected[..20]);
}

#[test]
fn a_flow_with_congestion_marks_negotiates_them_and_answers() {
    if !is_there() {
        return;
    }
    let (folder, _) = capture(&[], 128);
    let file = folder.path().join("2.pcapng");
    assert_eq!(count(&file, "tcp.flags.syn == 1 && tcp.flags.ece == 1 && tcp.flags.cwr == 1"), 1);
    assert_eq!(
        count(&file, "tcp.flags.syn == 1 && tcp.flags.ack == 1 && tcp.flags.ece == 1 && tcp.flags.cwr == 0"),
        1
    );
    assert!(count(&file, "ip.dsfield.ecn == 2 && tcp.len > 0") > 1000);
    assert!(count(&file, "tcp.flags.syn == 0 && tcp.flags.ece == 1 && tcp.srcport == 5001") > 0);
    assert!(count(&file, "tcp.flags.syn == 0 && tcp.flags.cwr == 1 && tcp.dstport == 5001") > 0);
}

#[test]
fn the_same_run_gives_the_same_bytes_and_is_not_changed_by_being_watched() {
    let (one, counts) = capture(&[], 128);
    let (other, again) = capture(&[], 128);
    for number in 0..3 {
        let read = |folder: &TempDir| fs::read(folder.path().join(format!("{number}.pcapng"))).unwrap();
        assert!(read(&one) == read(&other) && read(&one).len() > 100_000);
    }
    assert!(counts == again && counts == run(&scenario(&[])));

    let (one, counts) = capture_of(&applications(), 128);
    let (other, again) = capture_of(&applications(), 128);
    for number in 0..counts.connections.len() {
        let read = |folder: &TempDir| fs::read(folder.path().join(format!("{number}.pcapng"))).unwrap();
        assert!(read(&one) == read(&other) && read(&one).len() > 100_000, "{number}");
    }
    assert!(counts == again && counts == run(&applications()));
}
