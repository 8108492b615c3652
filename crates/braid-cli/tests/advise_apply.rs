//! `braid advise --apply` and `--undo`, in a network namespace of their own.
//!
//! What needs root and BPF prints `SKIPPED: ...` where they are missing.
#![cfg(target_os = "linux")]

use std::fs;
use std::io::Write as _;
use std::process::{Command, Output};
use std::sync::{Mutex, PoisonError};

use assert_cmd::cargo::cargo_bin;

/// Two paths that share nothing and lose one packet in a hundred at random.
const NETWORK: &str = "title = \"Two lines\"\nduration = \"10s\"\nwarmup = \"2s\"\ncc = [\"lia\"]\n\
    [link.one]\nrate = \"8mbit\"\nrtt = \"30ms\"\nqueue = \"30p\"\njitter = \"100us\"\nloss = \"1%\"\n\
    [link.other]\nrate = \"4mbit\"\nrtt = \"50ms\"\nqueue = \"30p\"\njitter = \"100us\"\nloss = \"1%\"\n\
    [connection.mp0]\nkind = \"mptcp\"\n\
    [connection.mp0.subflow.sf1]\nroute = [\"one\"]\n\
    [connection.mp0.subflow.sf2]\nroute = [\"other\"]\n";
/// One that is loaded by nobody else. It knows a random loss, so that it has more than CUBIC there.
const SPEC: &str = "weave:random=0.9";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a script in a network namespace whose default is reno, with notes of its own in /run; nothing, and a line that says why,
/// where that cannot be.
fn apart(test: &str, script: &str) -> Option<Output> {
    // What is loaded is the whole machine's: one at a time.
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let skip = |reason: &str| {
        writeln!(std::io::stderr(), "SKIPPED: {test}, because {reason}").expect("stderr");
        None
    };
    // Of some of it a network namespace of its own sees nothing.
    if !Command::new(cargo_bin("braid")).arg("doctor").output().is_ok_and(|output| output.status.success()) {
        return skip("this machine cannot load algorithms (see `braid doctor`)");
    }
    let folder = tempfile::tempdir().expect("room");
    std::os::unix::fs::symlink(cargo_bin("braid"), folder.path().join("braid")).expect("room");
    fs::write(folder.path().join("lines.toml"), NETWORK).expect("room");
    let prepared = format!(
        "set -e; mount -t tmpfs run /run; cd {}\n\
         echo reno >/proc/sys/net/ipv4/tcp_congestion_control; ip link set lo up\n\
         default() {{ cat /proc/sys/net/ipv4/tcp_congestion_control; }}\n\
         advise() {{ braid advise lines.toml --cc {SPEC} --seeds 6 --quiet --apply \"$@\" >/dev/null; }}\n{script}",
        folder.path().display()
    );
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("unshare")
        .args(["--net", "--mount", "--propagation", "private", "sh", "-c", &prepared])
        .env("PATH", path)
        .output();
    match output {
        Ok(output) if text(&output.stderr).contains("unshare failed") => skip("unshare may not"),
        Ok(output) => Some(output),
        Err(error) => skip(&format!("unshare: {error}")),
    }
}

#[test]
fn what_is_advised_becomes_the_default_and_the_undo_puts_back_what_was_there() {
    let script = "advise --yes; default; ls /run/braid\n\
                  advise --yes 2>&1 || :\n\
                  braid advise --undo; default; ls -A /run/braid 2>/dev/null || :\n\
                  braid status\n\
                  braid advise --undo";
    let Some(output) = apart("advise --apply", script) else { return };
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("braid_"), "{shown}{said}");
    assert!(shown.contains("advice-") && shown.contains("advice is applied already"), "{shown}{said}");
    assert!(shown.contains("hint: `braid advise --undo` takes it back"), "{shown}{said}");
    assert!(lines.contains(&"reno"), "{shown}{said}");
    assert!(!shown.contains(&format!("{} {SPEC}", lines[0])), "it is unloaded: {shown}{said}");
    assert!(said.contains("all is as it was before the advice"), "{shown}{said}");
    assert!(said.contains("No advice is applied: nothing is changed."), "{shown}{said}");
}

#[test]
fn without_a_yes_it_says_what_it_would_do_and_does_nothing() {
    let script = "advise || echo \"code $?\"; default; ls -A /run";
    let Some(output) = apart("advise --apply without a yes", script) else { return };
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(shown, "code 2\nreno\n", "{said}");
    for part in [
        "In this network namespace, until the next boot:",
        &format!("load {SPEC} as braid_"),
        "the congestion control of new sockets becomes braid_",
        "it is reno",
        "Nobody said yes\n  hint: add --yes",
    ] {
        assert!(said.contains(part), "`{part}` in: {said}");
    }
}

#[test]
fn what_somebody_has_changed_since_is_left_alone_and_told() {
    let script = "advise --yes; now=$(default); braid load reno --as adv_other >/dev/null\n\
                  echo braid_adv_other >/proc/sys/net/ipv4/tcp_congestion_control\n\
                  braid advise --undo; default; braid default --reset >/dev/null; braid unload adv_other";
    let Some(output) = apart("advise --undo after a change", script) else { return };
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert!(shown.contains("braid_adv_other"), "{shown}{said}");
    assert!(
        said.contains("note: the default is braid_adv_other by now, which the advice was not: left alone"),
        "{said}"
    );
}

#[test]
fn a_full_disk_a_broken_record_and_no_privileges_change_nothing_and_are_told() {
    let script = "mkdir /run/braid; mount -t tmpfs -o size=4k,nr_inodes=1 full /run/braid; advise --yes || :; default\n\
                  umount /run/braid; advise --yes; echo '{' >/run/braid/$(ls /run/braid | grep advice); braid advise --undo || echo \"code $?\"\n\
                  rm /run/braid/advice-*; name=$(default); echo reno >/proc/sys/net/ipv4/tcp_congestion_control; braid unload ${name#braid_}\n\
                  mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys; advise --yes || echo \"code $?\"";
    let Some(output) = apart("advise --apply with trouble", script) else { return };
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(shown, "reno\ncode 2\ncode 2\n", "{said}");
    for part in [
        "nothing is changed, for /run/braid/advice-",
        "cannot be written",
        "is not what `braid advise --apply` wrote",
        "--apply: this process may not change what the machine does\n  hint: run as root",
    ] {
        assert!(said.contains(part), "`{part}` in: {said}");
    }
}

#[test]
fn the_undo_puts_back_what_there_was_however_far_a_killed_process_had_come() {
    let record = r#"[{"load":{"spec":"lia:rounding=usec","name":"adv_half"}},
        {"endpoint":{"id":2,"address":"10.9.9.2","backup":true,"fullmesh":true}},
        {"default":{"before":"reno","now":"braid_adv_half"}}]"#;
    // As far as the load; then as far as the endpoint; then to the end. Each time the undo finds what there was.
    let script = format!(
        "ip addr add 10.9.9.2/32 dev lo; ip mptcp endpoint add 10.9.9.2 id 2 dev lo subflow fullmesh\n\
         record=$(advise --yes; ls /run/braid/advice-*; braid advise --undo 2>/dev/null)\n\
         for done in load endpoint default; do\n\
         mkdir -p /run/braid; cat >$record <<'R'\n{record}\nR\n\
         braid load {SPEC} --as adv_half 2>/dev/null >&2\n\
         [ $done = load ] || ip mptcp endpoint change id 2 backup fullmesh\n\
         [ $done != default ] || echo braid_adv_half >/proc/sys/net/ipv4/tcp_congestion_control\n\
         braid advise --undo 2>/dev/null; default; ip mptcp endpoint show; ls -A $record 2>/dev/null || :\n\
         braid status | grep adv_half || :\n\
         done"
    );
    let Some(output) = apart("advise --apply, ended in the middle", &script) else { return };
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    let before = "reno\n10.9.9.2 id 2 subflow fullmesh dev lo \n";
    assert_eq!(shown, before.repeat(3), "{said}");
}
