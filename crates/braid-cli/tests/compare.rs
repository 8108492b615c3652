//! `braid compare`. Without QEMU or the kernel's package the tests that need a guest say `SKIPPED` and why.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod guests;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use braid_testing::{braid_path, executable, failed, json};
use serde_json::Value;

use guests::{done, lab_folder, text, two_paths, write};

/// Nothing is random here: there is one run, and its two paths differ.
fn scenario(folder: &Path) -> PathBuf {
    write(folder, &two_paths("warmup = \"1s\"\ncc = [\"reno\"]", "mp0"))
}

fn compare(scenario: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(braid_path());
    command.arg("compare").arg(scenario).arg("--quiet").args(options);
    command.output().unwrap()
}

#[test]
fn both_backends_are_compared_once_and_stored_runs_are_not_run_again() {
    let Some(folder) = lab_folder("both backends compared") else { return };
    let scenario = scenario(folder.path());
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (out, page, overlay) = (at("out"), at("page.html"), at("overlay"));
    let options =
        ["--sim-seeds", "3", "--out", &out, "--report", &page, "--overlay", &overlay, "--format", "json"];
    let first = done(&compare(&scenario, &options));
    let document = json(&first);
    let comparison = &document["comparisons"][0];
    assert_eq!((&comparison["sim_runs"], &comparison["lab_runs"]), (&3.into(), &1.into()));
    let differences = comparison["differences"].as_array().unwrap();
    // Rate, RTT and retransmissions of two subflows; no link is shared.
    assert_eq!(differences.len(), 6);
    for own in differences {
        let [sim, lab, difference] = ["sim", "lab", "difference"].map(|key| own[key].as_f64().unwrap());
        assert!((sim - lab - difference).abs() < 1e-9, "{own}");
        assert_eq!(own["within"], true, "two saturated paths are the same in both: {own}");
    }
    let backends: Vec<&Value> =
        document["runs"].as_array().unwrap().iter().map(|run| &run["backend"]).collect();
    assert_eq!(backends, ["lab", "sim", "sim", "sim"]);

    let page = fs::read_to_string(page).unwrap();
    for said in ["reno sim", "reno lab", "<dd>sim, lab</dd>", "3 seeds, backend sim, 1 seed, backend lab"] {
        assert!(page.contains(said), "{said}");
    }
    let drawings: Vec<String> = fs::read_dir(&overlay)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    assert!(drawings.len() == 1 && drawings[0].contains("mp0 sf2: cwnd, packets"), "{drawings:?}");

    // QEMU does nothing now but say its version, and is not missed.
    let said = Command::new("qemu-system-x86_64").arg("--version").output().unwrap();
    let script = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{}'\n", text(&said.stdout));
    let qemu = folder.path().join("qemu-system-x86_64");
    executable(&qemu, &script);
    let mut again = Command::new(braid_path());
    let options = ["--quiet", "--sim-seeds", "3", "--out", &out, "--format", "json"];
    again.arg("compare").arg(&scenario).args(options).env("PATH", folder.path());
    assert!(done(&again.output().unwrap()) == first, "the same document");

    // The folder can be shown, and takes other comparisons.
    let mut shown = Command::new(braid_path());
    let shown = done(&shown.args(["report", &out]).output().unwrap());
    assert!(shown.contains("reno sim") && shown.contains("reno lab"), "{shown}");

    // Another length is another run.
    let options = ["--out", &out, "--duration", "2s", "--dry-run"];
    assert!(text(&compare(&scenario, &options).stdout).contains("2 s  cc reno"));
    let mut missing = Command::new(braid_path());
    missing.arg("compare").arg(&scenario).args(["--quiet", "--out", &out, "--duration", "2s"]);
    let missing = missing.env("PATH", "").output().unwrap();
    failed(&missing, 1, &["cannot run qemu-system-x86_64"]);
}

#[test]
fn a_flow_on_the_kernels_own_cubic_has_it_in_the_simulator_too() {
    let Some(folder) = lab_folder("the kernel's own CUBIC") else { return };
    let flows = "[connection.tcp0]\nkind = \"tcp\"\ncc = \"cubic\"\nroute = [\"b1\"]\n\
                 [connection.tcp1]\nkind = \"tcp\"\ncc = \"lia\"\nroute = [\"b2\"]\n";
    let path = write(folder.path(), &(two_paths("cc = [\"cubic\"]", "mp0") + flows));
    let document = done(&compare(&path, &["--sim-seeds", "1", "--format", "json"]));
    let document = json(&document);
    let of = |run: usize| [0, 1, 2].map(|flow| document["runs"][run]["connections"][flow]["cc"].clone());
    assert_eq!(of(0), ["cubic", "cubic", "lia"], "the lab");
    assert_eq!(of(1), ["cubic", "cubic:alpha=constant:rounding=linux", "lia"], "the simulator");
}

#[test]
fn what_the_lab_cannot_do_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = scenario(folder.path());
    failed(
        &compare(&scenario, &["--set", "link.b1.drop-every=65537"]),
        2,
        &["the kernel's counters end at 65535"],
    );
}

#[test]
fn others_are_compared_with_the_simulator_and_the_quic_stack_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let scenario = scenario(folder.path());
    failed(&compare(&scenario, &["--backends", "lab,quic"]), 2, &["with the simulator"]);

    let output = compare(&scenario, &["--backends", "sim,quic", "--sim-seeds", "2"]);
    let table = done(&output);
    assert!(table.contains("sim - quic") && table.contains("multipath QUIC, the stack noq"), "{table}");
}
