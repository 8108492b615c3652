//! The three formats of calls have the same content, and replay finds differences.

use std::fs;
use std::path::PathBuf;

use braid_algorithms::Spec;
use braid_algorithms::layout::event_type;
use braid_trace::generate::vectors;
use braid_trace::{Call, Origin, Reader, Replay, Writer, json, read, tsv};

fn calls(spec: &str, calls: usize) -> Vec<Call> {
    vectors(&Origin::native(Spec::parse(spec).expect("an algorithm")), calls)
}

fn trace(calls: &[Call]) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "6.18.0-test").expect("memory");
    for call in calls {
        writer.call(call).expect("memory");
    }
    writer.finish(3, 4).expect("memory")
}

type Change = fn(&mut Call);

fn error(bytes: &[u8]) -> String {
    let reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(error) => return error.to_string(),
    };
    let failed = reader.into_iter().find_map(Result::err);
    failed.map_or_else(String::new, |error| error.to_string())
}

#[test]
fn a_trace_is_read_as_it_was_written() {
    let mut all = calls("lia:rounding=usec", 50);
    all.extend(calls("cubic", 50));
    let bytes = trace(&all);
    let mut reader = Reader::new(&bytes[..]).expect("a trace");
    assert_eq!(reader.kernel(), "6.18.0-test");
    let again: Vec<Call> = reader.by_ref().map(|call| call.expect("whole")).collect();
    assert!(again == all, "the calls are those that were written");
    let end = reader.end().expect("it was finished");
    assert_eq!((end.calls, end.lost, end.filtered), (400, 3, 4));
}

#[test]
fn text_and_json_hold_every_word_of_every_algorithm() {
    for algorithm in braid_algorithms::all() {
        let all = calls(algorithm.name(), 200);
        assert!(tsv::parse(&tsv::write(all.clone())).expect("as written") == all, "{}", algorithm.name());
        assert!(json::parse(&json::write(all.clone())).expect("as written") == all, "{}", algorithm.name());
    }
}

#[test]
fn a_trace_that_was_cut_off_ends_with_its_last_whole_call_and_without_an_end() {
    let all = calls("reno", 10);
    let bytes = trace(&all);
    for length in [bytes.len() - 1, bytes.len() - 40, bytes.len() / 2] {
        let mut reader = Reader::new(&bytes[..length]).expect("the header is there");
        let again: Vec<Call> = reader.by_ref().map(|call| call.expect("whole")).collect();
        assert!(again == all[..again.len()], "the first {} calls are those that were written", again.len());
        assert_eq!(reader.end(), None);
    }
}

#[test]
fn what_is_no_trace_of_this_version_says_what_to_do() {
    let bytes = trace(&calls("reno", 1));
    assert!(error(b"something else, and long enough").contains("braid trace -o FILE"));
    assert!(error(&bytes[..10]).contains("record it again"));
    let changed = |at: usize, byte: u8| {
        let mut changed = bytes.clone();
        changed[at] = byte;
        error(&changed)
    };
    assert!(changed(8, 9).contains("version 9"), "{}", changed(8, 9));
    assert!(changed(16, !bytes[16]).contains("layout"), "{}", changed(16, !bytes[16]));
    assert!(changed(40, 77).contains("damaged"), "{}", changed(40, 77));
    let mut other_order = bytes.clone();
    other_order[8..12].reverse();
    assert!(error(&other_order).contains("byte order"));
}

#[test]
fn damaged_traces_never_panic() {
    let bytes = trace(&calls("olia", 4));
    for at in 0..bytes.len().min(6_000) {
        let mut changed = bytes.clone();
        changed[at] ^= 0xa5;
        let _ = error(&changed);
    }
}

#[test]
fn replay_finds_every_kind_of_word_that_differs_and_no_other() {
    let mut all = calls("olia", 100);
    // Later calls have random public words, also unwritten ones.
    all.truncate(300);
    let mut replay = Replay::new();
    for call in &all {
        replay.call(call);
    }
    assert_eq!((replay.total(), replay.differing, replay.gaps), (300, 0, 0));
    assert!(replay.with_siblings >= 200, "{}", replay.with_siblings);
    assert!(replay.words > 300 * 15, "{}", replay.words);

    let changes: [(&str, Change); 5] = [
        ("cwnd", |call| call.outputs.cwnd += 1),
        ("ssthresh", |call| call.outputs.ssthresh ^= 1),
        ("pacing_rate", |call| call.outputs.pacing_rate ^= 1 << 63),
        ("public[11]", |call| call.outputs.public_words[11] ^= 1),
        ("private[0]", |call| call.outputs.private[0] ^= 1),
    ];
    for (word, change) in changes {
        let mut call = all[42].clone();
        change(&mut call);
        let mut replay = Replay::new();
        replay.call(&call);
        assert_eq!(replay.differing, 1, "{word}");
        assert_eq!(replay.first[0].word, word);
        assert_eq!(replay.first[0].sequence, 42);
    }
}

#[test]
fn replay_notices_memory_that_changed_between_calls() {
    let all = calls("lia", 100);
    let i = (1..all.len()).find(|&i| all[i].event.kind == event_type::ON_ACK).expect("an ACK");
    let mut changed = all[i].clone();
    changed.private[0] ^= 1;
    let mut replay = Replay::new();
    for call in all[..i].iter().chain([&changed]) {
        replay.call(call);
    }
    assert_eq!(replay.gaps, 1);
}

#[test]
fn replay_names_specs_that_other_sources_were_recorded_of() {
    let mut call = calls("reno", 1).remove(0);
    let origin = Origin { spec: call.origin.spec.clone(), source_hash: 1 };
    call.origin = origin.into();
    let mut replay = Replay::new();
    replay.call(&call);
    assert_eq!(replay.other_sources, ["reno"]);
}

#[test]
fn wrong_rows_are_named_with_their_line() {
    let text = tsv::write(calls("reno", 2));
    let wrong = |from: &str, to: &str| {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from} is there");
        match tsv::parse(&changed) {
            Ok(_) => panic!("{to} is wrong"),
            Err(error) => error.to_string(),
        }
    };
    assert!(wrong("event\tinit", "event\tinnit").starts_with("line 11: `innit` is no event"));
    assert!(wrong("\nprivate\t", "\nprivat\t").contains("`privat` is no kind of row"));
    assert!(wrong("\nprivate\t0x0", "\nprivate\t0x0\t0x0").contains("words of private memory"));
    assert!(wrong("call\t0x0", "call\t0").contains("hexadecimal"));
}

/// One line per call: the main fields for reviewers, and a digest of all words.
fn golden_line(name: &str, call: &Call) -> String {
    let subflow = &call.view.subflow[call.view.self_index as usize];
    let text = tsv::write([call.clone()]);
    // FNV-1a.
    let digest = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let event = text.lines().find_map(|row| row.strip_prefix("event\t")?.split('\t').next());
    format!(
        "{name}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{digest:016x}\n",
        call.sequence,
        event.expect("each call has an event"),
        call.view.self_index,
        subflow.cwnd,
        call.outputs.cwnd,
        call.outputs.ssthresh,
        call.outputs.pacing_rate
    )
}

/// `git stash` and `braid vectors ALGORITHM` show a call as it was.
#[test]
fn test_vectors_of_every_algorithm_are_unchanged() {
    let mut new =
        "algorithm\tcall\tevent\tsubflow\tcwnd before\tcwnd\tssthresh\tpacing rate\tdigest\n".to_owned();
    for algorithm in braid_algorithms::all() {
        let mut all = calls(algorithm.name(), 16);
        // The hash identifies a version of the source, not its behaviour.
        for call in &mut all {
            call.origin = Origin { spec: call.origin.spec.clone(), source_hash: 0 }.into();
        }
        let mut replay = Replay::new();
        for call in tsv::parse(&tsv::write(all.clone())).expect("as written") {
            replay.call(&call);
        }
        assert_eq!((replay.total(), replay.differing), (64, 0), "{}", algorithm.name());
        new.extend(all.iter().map(|call| golden_line(algorithm.name(), call)));
    }
    insta::assert_snapshot!("vectors", new);
}

#[test]
fn any_form_is_recognised_by_its_content() {
    let folder = tempfile::tempdir().expect("a folder");
    let all = calls("vegas", 5);
    let write = |name: &str, bytes: &[u8]| -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, bytes).expect("writable");
        path
    };
    for path in [
        write("a", &trace(&all)),
        write("b", tsv::write(all.clone()).as_bytes()),
        write("c", json::write(all.clone()).as_bytes()),
    ] {
        let again: Vec<Call> = read(&path).expect("a form").map(|call| call.expect("whole")).collect();
        assert!(again == all, "the calls are those that were written");
    }
    let error = read(&write("d", b"hello")).err().expect("no form").to_string();
    assert!(error.contains("neither a trace nor test vectors"), "{error}");
}
