//! `--out`: complete results of these runs, or none: interrupted, killed, on a full disk, or in another user's folder.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use braid_testing::{Place, SMALL, braid_path, failed, files, skip, until};

/// All files of a folder but the log, except in `unfinished`, where there may be none.
fn finished(place: &Place, folder: &str) -> BTreeMap<String, Vec<u8>> {
    assert!(!place.at(folder).join("unfinished").exists(), "nothing is left of the way there");
    place.files(folder)
}

#[test]
fn out_holds_what_was_printed_and_a_log() {
    let place = Place::new();
    let json = place.stdout("run small.toml --seeds 2 --out results --format json");
    let file = |name: &str| fs::read_to_string(place.at("results").join(name)).unwrap();
    assert_eq!(file("results.json"), json);
    assert_eq!(file("table.txt"), place.stdout("run small.toml --seeds 2"));
    assert!(file("log.txt").contains("run small.toml --seeds 2 --out results --format json"));
    let names: Vec<String> = finished(&place, "results").into_keys().collect();
    let expected = [
        "flows.parquet",
        "links.parquet",
        "manifest.json",
        "results.json",
        "runs.parquet",
        "runs.store",
        "table.txt",
    ];
    assert_eq!(names, expected, "and nothing temporary");
}

#[test]
fn missing_parents_are_made() {
    let place = Place::new();
    place.stdout("run small.toml --cc lia --out a/b/../c/results");
    assert!(place.at("a/c/results/results.json").exists());
}

#[test]
fn the_same_run_may_be_written_again_and_another_one_may_not() {
    let place = Place::new();
    place.stdout("run small.toml --seeds 2 --out results");
    let before = finished(&place, "results");
    let json = place.stdout("run small.toml --seeds 2 --out results --jobs 1 --format json");
    assert_eq!(json.as_bytes(), before["results.json"]);
    for (other, difference) in [
        ("--seeds 2..3", "--cc lia --scheduler minrtt --backend sim --seeds 1..2;"),
        ("--seeds 2 --cc lia", "small.toml --cc olia"),
        ("--seeds 2 --set link.b1.rate=7mbit", "or with another --set"),
    ] {
        let pieces = [
            "the results of other runs: ",
            difference,
            "nothing was overwritten",
            "hint: name another folder",
        ];
        place.refused(&format!("run small.toml {other} --out results"), &pieces);
    }
    let log = place.read("results/log.txt");
    assert_eq!(log.lines().count(), 2);

    place.write("small.toml", format!("# A comment is no change.\n{SMALL}"));
    place.stdout("run small.toml --seeds 2 --out results");
    place.write("small.toml", SMALL.replace("4mbit", "5mbit"));
    place.refused("run small.toml --seeds 2 --out results", &["before it has changed"]);
    assert!(finished(&place, "results") == before);
}

#[test]
fn what_is_complete_is_not_run_again() {
    let place = Place::new();
    place.stdout("run small.toml --cc lia --out results --samples");
    let results = place.at("results");
    let whole = finished(&place, "results");
    for lost in ["table.txt", "flows.parquet"] {
        fs::remove_file(results.join(lost)).unwrap();
    }
    let again = place.output("run small.toml --cc lia --out results --samples --format jsonl");
    assert!(again.status.success());
    assert!(finished(&place, "results") == whole, "what was lost is there again");
    let log = fs::read_to_string(results.join("log.txt")).unwrap();
    assert!(log.lines().nth(1).unwrap().contains("1 run (1 done before)"), "{log}");
}

#[test]
fn the_files_are_the_same_bytes_whatever_the_number_of_jobs() {
    let place = Place::new();
    let with = |jobs: usize| {
        let out = format!("jobs{jobs}");
        place.stdout(&format!("run small.toml --seeds 4 --out {out} --samples --jobs {jobs}"));
        finished(&place, &out)
    };
    let one = with(1);
    assert_eq!(one.len(), 10);
    assert!(one == with(2) && one == with(7));
    place.stdout("run small.toml --seeds 4 --out jobs1 --jobs 3");
    assert!(one == finished(&place, "jobs1"), "samples are left alone where none are asked for");
}

#[test]
fn a_folder_that_was_extended_is_the_same_as_one_that_was_not_and_can_be_shown() {
    let place = Place::new();
    let run = |options: &str| place.stdout(&format!("run small.toml d-olia/1 --set duration=5s {options}"));
    place.stdout("run small.toml --set duration=5s --cc lia --seeds 2 --samples --out grown");
    for more in ["--cc lia --seeds 3", "--cc lia,olia --seeds 3", "--cc lia,olia,reno --seeds 1..4"] {
        run(&format!("{more} --out grown"));
    }
    let log = place.read("grown/log.txt");
    let before: Vec<&str> = log.lines().map(|line| line.split(" in ").next().unwrap()).collect();
    assert!(before[1].ends_with("6 runs (2 done before)"), "{log}");
    assert!(before[2].ends_with("12 runs (6 done before)"), "{log}");
    assert!(before[3].ends_with("24 runs (12 done before)"), "{log}");
    let table = run("--cc lia,olia,reno --seeds 4 --samples --out fresh");
    assert!(finished(&place, "grown") == finished(&place, "fresh"));
    place.refused(
        "run small.toml --set duration=5s --cc lia --seeds 4 --out grown",
        &["small.toml --cc olia"],
    );

    // Without the scenario, and without running anything.
    place.stdout("run small.toml d-olia/1 --set duration=5s --cc lia,olia,reno --seeds 4 --report run.html");
    fs::remove_file(place.at("small.toml")).unwrap();
    assert_eq!(place.stdout("report grown"), table);
    let json = place.stdout("report grown --format json --report page.html");
    assert!(json.as_bytes() == finished(&place, "grown")["results.json"]);
    let page = |name: &str| {
        let page = place.read(name);
        let (head, rest) = page.split_once("<pre class=\"command\"").unwrap();
        head.to_owned() + rest.split_once("</pre>").unwrap().1
    };
    assert!(page("page.html") == page("run.html"), "the same but for the command");
    place.refused("report nowhere", &["nowhere: not a folder of results", "--out"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_incomplete_is_not_shown() {
    let place = Place::new();
    let mut child = place.start("run small.toml --seeds 500000 --out results");
    until("a finished run", || place.at("results/unfinished/0000000").exists());
    child.kill().unwrap();
    child.wait().unwrap();
    place.refused("report results", &["results: its runs are incomplete", "hint: give the command"]);
}

#[test]
fn samples_may_be_asked_for_later() {
    let place = Place::new();
    place.stdout("run small.toml --seeds 2 --out later");
    place.stdout("run small.toml --seeds 2 --out later --samples");
    place.stdout("run small.toml --seeds 2 --out once --samples");
    assert!(finished(&place, "later") == finished(&place, "once"));
}

/// Killed again and again wherever it happens to be, then let run: nothing tells the result from an undisturbed one.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_goes_on_where_it_was_and_ends_the_same() {
    let place = Place::new();
    let line = "run small.toml --seeds 4000 --samples --jobs 2 --quiet --out";
    place.stdout(&format!("{line} undisturbed"));
    let (mut kills, mut progress) = (0, 0);
    // Any sequence will do as long as the next execution of the test has the same.
    let mut random = 12345_u64;
    let results = place.at("killed");
    let kept = || fs::read_dir(results.join("unfinished")).map_or(0, Iterator::count);
    for _ in 0..12 {
        let mut child = place.start(&format!("{line} killed"));
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_millis(100 + (random >> 33) % 700));
        let before = kept();
        child.kill().unwrap();
        if !child.wait().unwrap().success() {
            kills += 1;
            progress += usize::from(before > 0);
        }
        // Whatever has its name is whole: nothing but a manifest and runs, until all of them are done.
        if results.join("unfinished").exists() && !results.join("results.json").exists() {
            let named: Vec<String> =
                files(&results).into_keys().filter(|name| !name.contains(".part")).collect();
            assert_eq!(named, ["manifest.json"]);
        }
    }
    assert!(kills >= 3 && progress >= 1, "{kills} kills, {progress} of them with runs on the disk");
    place.stdout(&format!("{line} killed"));
    assert!(finished(&place, "killed") == finished(&place, "undisturbed"));
    let log = fs::read_to_string(results.join("log.txt")).unwrap();
    assert!(log.contains("done before"), "{log}");
}

/// A run is killed between the first and the last file of the results.
#[cfg(unix)]
#[test]
fn a_run_that_is_killed_while_it_writes_its_results_ends_the_same() {
    let place = Place::new();
    let line = "run small.toml --seeds 60 --samples --quiet --out";
    place.stdout(&format!("{line} undisturbed"));
    let mut between = 0;
    for attempt in 0..20 {
        let results = place.path().join(format!("killed{attempt}"));
        let mut child = place.start(&format!("{line} killed{attempt}"));
        while !results.join("results.json").exists() {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        between += usize::from(results.join("unfinished").exists());
        place.stdout(&format!("{line} killed{attempt}"));
        assert!(finished(&place, &format!("killed{attempt}")) == finished(&place, "undisturbed"));
        if between == 2 {
            return;
        }
    }
    assert!(between > 0, "never killed in time");
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_in_good_order_and_the_same_command_goes_on() {
    let place = Place::new();
    let line = "run small.toml --seeds 1500 --out";
    place.stdout(&format!("{line} undisturbed"));
    let child = place.start(&format!("{line} results"));
    let results = place.at("results");
    until("a finished run", || results.join("unfinished/0000000").exists());
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(message.starts_with("error: interrupted after "), "{message}");
    assert!(message.ends_with(" of 3000 runs; the same command goes on from there\n"), "{message}");
    let done: usize =
        message["error: interrupted after ".len()..].split(' ').next().unwrap().parse().unwrap();
    assert!(done > 0);
    place.stdout(&format!("{line} results"));
    assert!(finished(&place, "results") == finished(&place, "undisturbed"));
    let log = fs::read_to_string(results.join("log.txt")).unwrap();
    assert!(log.contains(&format!("3000 runs ({done} done before)")), "{done}: {log}");
}

#[test]
fn what_a_killed_run_had_begun_to_write_is_removed() {
    let place = Place::new();
    let results = place.at("results");
    fs::create_dir(&results).unwrap();
    for name in ["manifest.jsonABCDEF.part", "flows.parquetABCDEF.part"] {
        fs::write(results.join(name), "half a fi").unwrap();
    }
    fs::write(results.join("my.part"), "of somebody else").unwrap();
    place.stdout("run small.toml --out results");
    let parts: Vec<String> = files(&results).into_keys().filter(|name| name.contains(".part")).collect();
    assert_eq!(parts, ["my.part"]);
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_without_out_says_that_nothing_was_written() {
    let place = Place::new();
    let child = place.start("run small.toml --seeds 500000");
    until("a handler of SIGTERM", || {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        (u64::from_str_radix(caught.trim(), 16).unwrap() >> (15 - 1)) & 1 == 1
    });
    signal(&child, "TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(String::from_utf8_lossy(&output.stderr).contains("runs; nothing was written"));
}

#[cfg(unix)]
fn signal(child: &Child, name: &str) {
    let done = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().unwrap();
    assert!(done.success());
}

#[cfg(unix)]
#[test]
fn two_at_once_do_not_write_to_one_folder() {
    let place = Place::new();
    let child = place.start("run small.toml --seeds 500000 --out results");
    until("a finished run", || place.at("results/unfinished/0000000").exists());
    place.refused(
        "run small.toml --seeds 500000 --out results",
        &["another braid is writing to results", "hint: wait"],
    );
    signal(&child, "INT");
    child.wait_with_output().unwrap();
}

/// Runs on the disk that cannot be used are run again, whatever is the matter with them.
#[cfg(unix)]
#[test]
fn what_was_kept_is_checked_before_it_is_used() {
    let place = Place::new();
    let line = "run small.toml --seeds 1500 --out";
    place.stdout(&format!("{line} undisturbed"));
    for spoil in [&[][..], b"junk", &[0xff; 10_000]] {
        let mut child = place.start(&format!("{line} results"));
        let kept = place.at("results/unfinished/0000000");
        until("a finished run", || kept.exists());
        child.kill().unwrap();
        child.wait().unwrap();
        fs::write(&kept, spoil).unwrap();
        place.stdout(&format!("{line} results"));
        let results = place.at("results");
        assert!(finished(&place, "results") == finished(&place, "undisturbed"));
        fs::remove_dir_all(results).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_fills_up_leaves_whole_files_and_earlier_results() {
    let place = Place::new();
    let disk = place.at("disk");
    fs::create_dir(&disk).unwrap();
    let on_disk = |program: &str, words: &[&str]| {
        let done = Command::new(program).args(words).arg(&disk).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success())
    };
    if !on_disk("mount", &["-t", "tmpfs", "-o", "size=192k", "braid-test"]) {
        skip("a full disk", "only root may mount a small disk");
        return;
    }
    place.stdout("run small.toml --cc lia --out disk/first --samples");
    let first = finished(&place, "disk/first");
    let output = place.output("run small.toml --seeds 120 --out disk/second --samples");
    let after = files(&disk.join("first"));
    let second: Vec<String> = files(&disk.join("second")).into_keys().collect();
    // With room, the same command goes on.
    assert!(on_disk("mount", &["-o", "remount,size=64m"]));
    place.stdout("run small.toml --seeds 120 --out disk/second --samples");
    place.stdout("run small.toml --seeds 120 --out elsewhere --samples");
    let went_on = finished(&place, "disk/second") == finished(&place, "elsewhere");
    assert!(on_disk("umount", &[]));

    let message = failed(&output, 1, &["cannot write disk/second", "No space left", "hint: make room"]);
    assert_eq!(message.lines().count(), 2, "{message}");
    assert!(first.len() == 10 && first == after);
    assert_eq!(second, ["manifest.json"], "nothing that looks like a result");
    assert!(went_on);
}

/// `ulimit -f`: a limit on the size of files, whose signal is ignored or not.
#[cfg(unix)]
#[test]
fn a_limit_on_the_size_of_files_leaves_no_half_file() {
    let place = Place::new();
    let limited = |trap: &str| {
        let line =
            format!("{trap} ulimit -f 8; exec \"$0\" run small.toml --seeds 60 --samples --out results");
        Command::new("sh").args(["-c", &line]).arg(braid_path()).current_dir(place.path()).output().unwrap()
    };
    for trap in ["", "trap '' XFSZ;"] {
        let output = limited(trap);
        let message = String::from_utf8_lossy(&output.stderr);
        if trap.is_empty() {
            assert_eq!(output.status.code(), None, "the signal ends it: {message}");
        } else {
            assert_eq!(output.status.code(), Some(1), "{message}");
            assert!(
                message.contains("cannot write results") && message.contains("File too large"),
                "{message}"
            );
            assert!(message.contains("hint: "), "{message}");
        }
        let named = files(&place.at("results")).into_keys().filter(|name| !name.contains(".part"));
        assert_eq!(named.collect::<Vec<_>>(), ["manifest.json"]);
    }
    place.stdout("run small.toml --seeds 60 --samples --out results");
    place.stdout("run small.toml --seeds 60 --samples --out undisturbed");
    assert!(finished(&place, "results") == finished(&place, "undisturbed"));
}

#[test]
fn files_of_someone_else_are_not_overwritten() {
    let place = Place::new();
    fs::create_dir(place.at("mine")).unwrap();
    place.write("mine/table.txt", "precious");
    place.refused("run small.toml --out mine", &["table.txt", "nothing was overwritten"]);
    fs::create_dir(place.at("hers")).unwrap();
    place.write("hers/samples.parquet", "precious");
    place.refused("run small.toml --out hers", &["samples.parquet", "nothing was overwritten"]);
    for manifest in ["", "{", "[]", "{\"name\": \"an extension\"}", "\u{0}"] {
        place.write("mine/manifest.json", manifest);
        place.refused("run small.toml --out mine", &["a file manifest.json that Braid did not write"]);
    }
    assert_eq!(fs::read(place.at("mine/table.txt")).unwrap(), b"precious");
}

#[cfg(unix)]
#[test]
fn a_link_to_nowhere_is_no_place_for_results() {
    let place = Place::new();
    std::os::unix::fs::symlink("nowhere", place.at("dangling")).unwrap();
    place.refused("run small.toml --out dangling", &["cannot write dangling", "folder"]);
}

/// Root may write everywhere, so root runs this test as another user.
#[cfg(unix)]
#[test]
fn without_permission_nothing_is_read_or_written() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let place = Place::new();
    let mode = |name: &str, mode: u32| {
        fs::set_permissions(place.at(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    place.stdout("run small.toml --cc lia --out results");
    fs::create_dir(place.at("closed")).unwrap();
    place.write("secret.toml", SMALL);
    let before = finished(&place, "results");
    mode(".", 0o755);
    for (name, bits) in [("small.toml", 0o644), ("secret.toml", 0o000), ("results", 0o555), ("closed", 0o000)]
    {
        mode(name, bits);
    }
    let root = fs::read(place.at("secret.toml")).is_ok();
    for (line, pieces) in [
        ("run secret.toml --cc lia", ["secret.toml: no permission to read it", "chmod +r"]),
        ("check secret.toml", ["secret.toml: no permission to read it", "chmod +r"]),
        (
            "run small.toml --cc lia --out results",
            ["cannot write results: Permission denied", "may write to"],
        ),
        ("run small.toml --cc lia --out closed", ["cannot write closed: Permission denied", "may write to"]),
        (
            "run small.toml --cc lia --out closed/x",
            ["cannot write closed/x: Permission denied", "may write to"],
        ),
    ] {
        let mut command = Command::new(braid_path());
        command.current_dir(place.path()).args(line.split_whitespace());
        if root {
            // The user `nobody`.
            command.uid(65534).gid(65534);
        }
        let output = command.output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(output.stdout.is_empty());
        assert!(pieces.iter().all(|piece| message.contains(piece)), "{line}: {message}");
    }
    for (name, bits) in [("results", 0o755), ("closed", 0o755)] {
        mode(name, bits);
    }
    assert!(finished(&place, "results") == before);
    assert_eq!(fs::read_dir(place.at("closed")).unwrap().count(), 0);
}

#[test]
fn captures_and_events_are_written_once_per_run_and_never_over_others() {
    let place = Place::new();
    let line = "run small.toml --cc lia --seeds 2 --out results --events --pcap packets --quiet";
    place.stdout(line);
    let names = |folder: &str| -> Vec<String> { files(&place.at(folder)).into_keys().collect() };
    let packets = [
        "0000-small-lia-seed1-bg0.pcapng",
        "0000-small-lia-seed1-mp0.pcapng",
        "0001-small-lia-seed2-bg0.pcapng",
        "0001-small-lia-seed2-mp0.pcapng",
    ];
    assert_eq!(names("packets"), packets);
    assert_eq!(names("results/events"), ["0000-small-lia-seed1.sqlog", "0001-small-lia-seed2.sqlog"]);
    let before = files(&place.at("packets"));

    // What is missing is run again; what is there stays as it is.
    fs::remove_file(place.at("packets").join(packets[2])).unwrap();
    place.stdout(line);
    assert!(files(&place.at("packets")) == before);
    place.stdout("run small.toml --cc lia --seeds 2 --out results --quiet");

    place.write("small.toml", SMALL.replace("4mbit", "5mbit"));
    place.refused(
        "run small.toml --cc lia --pcap packets",
        &["is of another run", "nothing was overwritten", "hint: "],
    );
    place.refused("run small.toml --cc lia --pcap small.toml", &["cannot write small.toml", "--pcap takes"]);
    place.refused("run small.toml --cc lia --events", &["--events", "--out"]);
    place.refused("run small.toml --cc lia --snaplen 64", &["--snaplen", "--pcap"]);
    assert!(files(&place.at("packets")) == before);
}
