//! A user algorithm, from an empty folder to a comparison.

#![cfg(unix)]

use std::fs;
use std::process::Command;

#[cfg(target_os = "linux")]
use braid_testing::until;
use braid_testing::{Place, braid_path, says};

fn own_test(place: &Place) -> std::process::Output {
    let mut test = Command::new("sh");
    test.arg("mine-test.sh").env("BRAID", braid_path()).current_dir(place.path()).output().unwrap()
}

#[test]
fn a_new_algorithm_runs_beside_the_others_and_passes_its_test() {
    let place = Place::new();
    let said = place.stdout("new algorithm mine");
    assert!(said.contains("Wrote mine.c, mine.md, mine.toml, mine-test.sh, and"), "{said}");
    assert!(place.path().join(".clangd").exists() && place.path().join("braid/native/host.h").exists());
    let again = place.output("new algorithm mine");
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("mine.c already exists; nothing was written"));
    let table = place.stdout("run mine.toml --algorithm mine.c --cc mine,mine:gain=2,lia --set duration=20s");
    for cc in ["mine ", "mine:gain=2", "lia"] {
        assert!(table.contains(cc), "{table}");
    }
    let test = own_test(&place);
    let said = String::from_utf8_lossy(&test.stdout);
    assert!(test.status.success() && said.contains("of the link; expected: 35 to 65 %"), "{said}");
    // At twice the growth it takes more than its share, and the test reports that.
    let text = place.read("mine.c");
    place.write(
        "mine.c",
        text.replace("P(gain, 1024, 64,", "P(gain, 8192, 64,")
            .replace("braid_min(increase, braid_reno_increase(window))", "increase"),
    );
    let test = own_test(&place);
    assert!(!test.status.success(), "{}", String::from_utf8_lossy(&test.stdout));
}

#[test]
fn what_is_wrong_with_it_is_told_before_anything_runs() {
    let place = Place::new();
    place.stdout("new algorithm mine");
    let good = place.read("mine.c");
    place.write("mine.c", good.replace("priv->carry = 0;", "float x = 1;"));
    place.refused(
        "run small.toml --algorithm mine.c --cc mine",
        &["mine.c:61: `float`", "hint: use whole numbers"],
    );
    place.refused("run small.toml --algorithm nowhere.c --cc mine", &["nowhere.c: No such file", "hint:"]);
    place.refused("run small.toml --cc mine", &["no algorithm is called `mine`"]);
    place.refused("new algorithm lia", &["is a built-in algorithm", "another name"]);
    place.refused("new algorithm Mine", &["cannot be called", "a-z and 0-9"]);
}

#[test]
fn a_call_that_writes_what_it_may_not_is_a_failed_run_unless_unchecked() {
    let place = Place::new();
    place.stdout("new algorithm mine");
    let good = fs::read_to_string(place.path().join("mine.c")).unwrap();
    place.write("mine.c", good.replace("\tpriv->carry = 0;\n", "\tself->mss--;\n"));
    let command = "run small.toml --algorithm mine.c --cc mine --format jsonl";
    let output = place.output(command);
    assert_eq!(output.status.code(), Some(1));
    let line = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(line.contains("mine.c:56: mine_on_loss writes mss of its own subflow, "), "{line}");
    assert!(place.stdout(&format!("{command} --unchecked")).contains("\"status\":\"ok\""));
}

#[test]
fn a_crash_in_it_is_a_failed_run_and_the_exit_code_says_so() {
    let place = Place::new();
    place.stdout("new algorithm mine");
    let good = place.read("mine.c");
    place.write(
        "mine.c",
        good.replace("\tpriv->carry = 0;\n", "\t*(volatile u32 *)(64ull * self->cwnd) = 1;\n"),
    );
    let output = place.output("run small.toml --algorithm mine.c --cc mine,lia --format jsonl");
    assert_eq!(output.status.code(), Some(1));
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(lines.contains("the algorithm crashed ") && lines.contains("\"status\":\"ok\""), "{lines}");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("1 of 2 runs failed; the first was small.toml --cc mine"), "{message}");
    place.write(
        "mine.c",
        good.replace("\tpriv->carry = 0;\n", "\tfor (volatile u32 i = 0; i < 1; i = 0)\n\t\t;\n"),
    );
    let output = place
        .output("run small.toml --algorithm mine.c --cc mine --time-limit 500ms --events --out out --quiet");
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("did not return for 0.5 s"), "{message}");
}

/// The running child processes of a process.
#[cfg(target_os = "linux")]
fn children(of: u32) -> Vec<u32> {
    let each = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let is_one = status.contains(&format!("\nPPid:\t{of}\n")) && !status.contains("\nState:\tZ");
        is_one.then_some(id)
    });
    each.collect()
}

#[test]
#[cfg(target_os = "linux")]
fn nothing_of_an_endless_loop_is_left_when_braid_is_interrupted_or_killed() {
    let place = Place::new();
    place.stdout("new algorithm mine");
    let good = place.read("mine.c");
    place.write(
        "mine.c",
        good.replace("\tpriv->carry = 0;\n", "\tfor (volatile u32 i = 0; i < 1; i = 0)\n\t\t;\n"),
    );
    for signal in ["-INT", "-KILL"] {
        let mut braid = place
            .braid("run small.toml --algorithm mine.c --cc mine --seeds 2 --jobs 2 --time-limit 1h --quiet")
            .spawn()
            .unwrap();
        let id = braid.id();
        // The C compiler is a child, too, but has ended by then.
        let of_runs = || {
            children(id).into_iter().filter(|child| {
                fs::read_to_string(format!("/proc/{child}/comm")).is_ok_and(|name| name.starts_with("braid"))
            })
        };
        until("two processes", || of_runs().count() == 2);
        let own: Vec<u32> = of_runs().collect();
        assert!(Command::new("kill").args([signal, &id.to_string()]).status().unwrap().success());
        let ended = braid.wait().unwrap();
        if signal == "-INT" {
            assert_eq!(ended.code(), Some(130));
        }
        let is_gone = |child: &u32| {
            let status = fs::read_to_string(format!("/proc/{child}/status")).unwrap_or_default();
            status.is_empty() || status.contains("\nState:\tZ")
        };
        until("both are gone", || own.iter().all(is_gone));
    }
}

/// The template's file, with one part replaced. `braid-compile` tests every violation.
fn changed(place: &Place, from: &str, to: &str) {
    let good = place.read("good.c");
    assert!(good.contains(from), "{from}");
    place.write("bad.c", good.replacen(from, to, 1).replace("good_", "bad_").replace("(good,", "(bad,"));
}

#[test]
#[cfg(target_os = "linux")]
fn what_breaks_the_contract_is_loaded_into_no_kernel_and_run_nowhere() {
    let place = Place::new();
    place.stdout("new algorithm good");
    for (from, to, pieces) in [
        (
            "priv->carry = 0;",
            "float x = 1;",
            &["bad.c:61: `float`", "no floating point", "hint: use whole numbers"][..],
        ),
        (
            "good_PARAMS, 0,",
            "good_PARAMS, BRAID_UNCOUPLED,",
            &["bad.c:67: it uses ", "says BRAID_UNCOUPLED: leave it out"],
        ),
    ] {
        changed(&place, from, to);
        place.refused("load ./bad.c", pieces);
        place.refused("run small.toml --algorithm bad.c --cc bad", pieces);
        place.refused("run small.toml --algorithm bad.c --cc bad --backend lab", pieces);
    }
    place.refused("load ./nowhere.c", &["nowhere.c: No such file", "hint: name a C file"]);
    place.refused("load ./good.c:gain=99999", &["gain", "8"]);
}

#[test]
#[cfg(target_os = "linux")]
fn without_clang_a_file_is_not_loaded_and_the_message_says_what_to_install() {
    let place = Place::new();
    place.stdout("new algorithm good");
    let output = place.braid("load ./good.c").env("BRAID_CLANG", "/nowhere/clang").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    says(&said, &["good.c: BRAID_CLANG=/nowhere/clang is no clang", "hint: install one with", "BRAID_CLANG"]);
    // The simulator does not need it.
    let run = place
        .braid("run small.toml --algorithm good.c --cc good")
        .env("BRAID_CLANG", "/nowhere/clang")
        .output();
    assert!(run.unwrap().status.success());
}
