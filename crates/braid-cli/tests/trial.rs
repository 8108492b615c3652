//! `braid try` between namespaces with two lines, and the journal. `scripts/trial` has settings with known answers.
//!
//! Without root, BPF or tbf the tests print `SKIPPED: ...`.
#![cfg(target_os = "linux")]

use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};

use braid_testing::{braid_path, skip, text};

/// Runs a script with mounts of its own, so that other programs' trials and journals are apart. The kernel has one list of
/// algorithms, so the tests take turns.
fn apart(script: &str) -> Output {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let prepared = format!(
        "set -e; for f in /run/braid /var/lib/braid; do mkdir -p $f; mount -t tmpfs try $f; done
         mount -t bpf try /sys/fs/bpf; PATH={}:$PATH\n{script}",
        braid_path().parent().expect("a folder").display()
    );
    let words = ["--mount", "--propagation", "private", "sh", "-c", &prepared];
    Command::new("unshare").args(words).output().expect("util-linux is installed")
}

/// Two lines of 8 and 4 Mbit/s from namespace $a to $b, the other end of a trial as $server, and `state` that prints what a
/// trial could leave behind. `script` follows.
fn over_two_lines(test: &str, script: &str) -> Option<(String, String)> {
    let prepared = format!(
        r"a=try-a-$$ b=try-b-$$
        trap 'kill $server $trial 2>/dev/null || :; ip netns del $a; ip netns del $b' EXIT
        for n in $a $b; do ip netns add $n; ip -n $n mptcp limits set subflows 2 add_addr_accepted 2; done
        for l in 0 1; do
            ip link add v$l netns $a type veth peer name v$l netns $b
            ip -n $a addr add 10.8.$l.1/24 dev v$l; ip -n $b addr add 10.8.$l.2/24 dev v$l
            for n in $a $b; do ip -n $n link set v$l up; done
            tc -n $a qdisc add dev v$l root tbf rate $((8 >> l))mbit burst 10kb latency 40ms
        done
        ip -n $b mptcp endpoint add 10.8.1.2 dev v1 signal
        state() {{
            nsenter --net=/run/netns/$a cat /proc/sys/net/ipv4/tcp_congestion_control; ls /run/braid /sys/fs/bpf
            xargs -n1 </proc/sys/net/ipv4/tcp_available_congestion_control | grep -E '^braid_(lia|olia|try.)$' || :
        }}
        braid doctor >/dev/null
        nsenter --net=/run/netns/$b braid try --serve 5999 2>/run/braid.$$ & server=$!
        until grep -qs 'port 5999' /run/braid.$$; do sleep 0.1; done; rm /run/braid.$$
        echo prepared >&2
        {script}"
    );
    let output = apart(&prepared);
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    if !said.contains("prepared") {
        skip(test, &said);
        return None;
    }
    assert!(output.status.success(), "{shown}{said}");
    Some((shown, said))
}

#[test]
fn transfers_over_two_lines_fill_both_and_leave_nothing_behind() {
    let script = "before=$(state)
        nsenter --net=/run/netns/$a braid try lia,reno --load 10.8.0.2:5999 --size 1 --for 8s --yes
        test \"$before\" = \"$(state)\" && echo the same";
    let Some((shown, said)) = over_two_lines("a trial with its own load", script) else { return };
    let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined(&shown).contains("Answer: ") && joined(&shown).contains("95 % sure"), "{shown}");
    assert!(shown.ends_with("the same\n"), "{shown}{said}");
    assert!(joined(&said).contains("Afterwards everything is as before"), "{said}");
    let is_row = |line: &&str| line.starts_with("reno ") || line.starts_with("lia ");
    let rows: Vec<&str> = shown.lines().filter(is_row).collect();
    assert_eq!(rows.len(), 2, "{shown}");
    for row in rows {
        let words: Vec<&str> = row.split_whitespace().collect();
        let goodput: f64 = words[2].parse().unwrap_or_else(|_| panic!("{shown}"));
        // Together 12 Mbit/s with headers.
        assert!((4.0..12.0).contains(&goodput), "{shown}");
        assert!(row.contains("v0 ") && row.contains("v1 "), "both lines: {shown}");
    }
}

#[test]
fn a_killed_trial_is_taken_back_by_the_next_command() {
    let script = "before=$(state)
        nsenter --net=/run/netns/$a braid try lia,olia --for 60s --yes 2>/dev/null & trial=$!
        until braid default --netns $a | grep -q braid_; do sleep 0.05; done
        ! nsenter --net=/run/netns/$a braid try reno,cubic --for 60s --yes
        kill -9 $trial; wait $trial || :
        state | grep -c braid_
        braid status >/dev/null; test \"$before\" = \"$(state)\" && echo the same
        braid log | grep -c 'a killed trial taken back'";
    let Some((shown, said)) = over_two_lines("a killed trial", script) else { return };
    // The default and both names.
    assert_eq!(shown, "3\nthe same\n1\n", "{said}");
    for part in ["another trial is running", "what it had changed is as before it"] {
        assert!(said.contains(part), "`{part}` in: {said}");
    }
}

#[test]
fn the_journal_names_who_loaded_what_and_guards_what_another_user_loaded() {
    let name = format!("j{:x}", std::process::id());
    let output = apart(&format!(
        "set +e; braid load reno --as {name}; sed -i 's/\\t[^ ]* (by/\\talice (by/' /var/lib/braid/journal
         braid unload {name}; echo $?; braid unload {name} --force; echo $?; braid log"
    ));
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    if !said.contains("Loaded reno") {
        skip("the journal", &said);
        return;
    }
    assert!(said.contains("was loaded by alice (by sh)") && said.contains("--force unloads"), "{said}");
    assert!(shown.starts_with("2\n0\n"), "{shown}{said}");
    let lines: Vec<&str> = shown.lines().skip(2).collect();
    assert_eq!(lines.len(), 2, "{shown}");
    assert!(
        lines[0].contains(&format!("load    braid_{name}: reno  alice (by sh): braid load reno")),
        "{shown}"
    );
    assert!(lines[1].contains(&format!("unload  braid_{name}  ")) && lines[1].contains("--force"), "{shown}");
}

#[test]
fn wrong_trials_are_refused_with_the_remedy() {
    for (words, parts) in [
        (&["try", "reno", "--yes"][..], &["cannot be compared"][..]),
        (&["try", "reno,reno", "--yes"], &["are the same"]),
        (&["try", "reno,cubic", "--for", "59s", "--yes"], &["need at least 60 s", "--for"]),
        (&["try", "reno,cubic", "--load", "http://x/", "--yes"], &["that server sends", "braid try --serve"]),
        (&["try", "reno,cubic"], &["--yes", "nothing was changed"]),
    ] {
        let output = Command::new(braid_path()).args(words).stdin(Stdio::null()).output().expect("it runs");
        let said = text(&output.stderr);
        if said.contains("as root") {
            return;
        }
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        for part in parts {
            assert!(said.contains(part), "{words:?}: `{part}` in: {said}");
        }
    }
}
