//! `braid enable` and `disable`, and `--peer` over ssh, with stand-ins for systemctl and ssh. `scripts/package-boot`
//! uses the real ones. Needs root; without it a test prints `SKIPPED: ...`.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Command, Output};

use braid_testing::{braid_path, done, executable, json, says, skip, text};

/// A folder of programs, first on the path.
struct Programs(tempfile::TempDir);

impl Programs {
    fn new(scripts: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("room");
        for (name, text) in scripts {
            executable(&folder.path().join(name), &format!("#!/bin/sh\n{text}\n"));
        }
        std::os::unix::fs::symlink(braid_path(), folder.path().join("braid")).expect("room");
        Self(folder)
    }

    fn path(&self) -> String {
        format!("{}:{}", self.0.path().display(), std::env::var("PATH").unwrap_or_default())
    }
}

/// A systemctl that records its arguments in /run/told, and creates and removes the links of enabled units.
const SYSTEMCTL: &str = r#"
echo "$*" >>/run/told
for unit; do :; done
wants=/etc/systemd/system/multi-user.target.wants
case "$*" in
*fails*) exit 1 ;;
*" enable "*) touch "$wants/$unit" ;;
*" disable "*) rm -f "$wants/$unit" ;;
esac"#;

/// Runs a script with empty /etc and /run, so that this machine's are safe; none if that is impossible.
fn apart(test: &str, script: &str) -> Option<Output> {
    let programs = Programs::new(&[("systemctl", SYSTEMCTL)]);
    let units = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
    let prepared = format!(
        "set -e; mount -t tmpfs -o size=64k opr /etc; mount -t tmpfs opr /run\n\
         mkdir -p /run/systemd/system /etc/systemd/system/multi-user.target.wants\n\
         cp {units}/braid@.service {units}/braid-default@.service /etc/systemd/system\n{script}"
    );
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &prepared])
        .env("PATH", programs.path())
        .output();
    let reason = match &output {
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("unshare failed") => {
            "unshare may not".into()
        }
        Ok(_) => return output.ok(),
        Err(error) => format!("unshare: {error}"),
    };
    skip(test, &reason);
    None
}

#[test]
fn enable_writes_the_units_configuration_and_makes_one_algorithm_the_default_disable_takes_it_back() {
    let script = "braid enable cubic:beta=0.8 --as gentle; cat /etc/braid/gentle.conf; cat /run/told\n\
                  : >/run/told; braid enable braid_olia 2>&1 || braid enable olia; cat /run/told; ls /etc/braid\n\
                  : >/run/told; braid disable; cat /run/told; ls /etc/systemd/system/multi-user.target.wants";
    let Some(output) = apart("enabling", script) else { return };
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    let expected = "# Written by `braid enable`; see braid.conf(5).\n\
                    SPEC=cubic:beta=0.8\n\
                    --quiet enable braid-default@gentle.service\n\
                    --quiet reload-or-restart braid@gentle.service\n\
                    --quiet restart braid-default@gentle.service\n";
    assert!(shown.starts_with(expected), "{shown}\n{said}");
    let second = "--quiet disable --now braid-default@gentle.service\n\
                  --quiet enable braid-default@olia.service\n\
                  --quiet reload-or-restart braid@olia.service\n\
                  --quiet restart braid-default@olia.service\n\
                  gentle.conf\n";
    assert!(shown.contains(second), "{shown}\n{said}");
    let third =
        "--quiet disable --now braid-default@olia.service\n--quiet disable --now braid@olia.service\n";
    assert!(shown.ends_with(third), "{shown}\n{said}");
    says(
        &said,
        &["now and after every boot, instead of gentle", "Its parameters are in /etc/braid/gentle.conf"],
    );
}

#[test]
fn enable_writes_hints_into_the_configuration_and_keeps_them_when_it_is_called_again() {
    let script = "braid enable olia --hint eth0,eth1 --hint 10.0.0.2,wwan0; cat /etc/braid/olia.conf\n\
                  braid enable olia; cat /etc/braid/olia.conf\n\
                  braid enable olia --hint wlan0; cat /etc/braid/olia.conf\n\
                  braid enable olia --hint 10.0.0.0/24 || cat /etc/braid/olia.conf";
    let Some(output) = apart("enabling with hints", script) else { return };
    let said = text(&output.stderr);
    let file =
        |hint: &str| format!("# Written by `braid enable`; see braid.conf(5).\nSPEC=olia\nHINT=\"{hint}\"\n");
    let both = "eth0,eth1 10.0.0.2,wwan0";
    assert_eq!(text(&output.stdout), file(both) + &file(both) + &file("wlan0") + &file("wlan0"), "{said}");
    assert!(said.contains("neither an address nor the name of an interface"), "{said}");
}

#[test]
fn what_keeps_enable_from_working_is_named_with_the_remedy_and_nothing_is_half_done() {
    let cases: [(&str, &[&str]); 7] = [
        (
            "rmdir /run/systemd/system; braid enable olia",
            &["systemd is not running here", "braid load olia --as olia && braid default olia"],
        ),
        (
            "rm /etc/systemd/system/*.service; braid enable olia",
            &["units braid@.service", "not installed", "Debian package"],
        ),
        ("braid enable oliaa", &["did you mean `olia`?"]),
        (
            "braid enable ./mine.c:gain=2",
            &["mine.c cannot be enabled", "`braid load ./mine.c:gain=2 --as mine && braid default mine`"],
        ),
        ("braid enable olia --as ../../x", &["1 to 9 characters"]),
        (
            "dd if=/dev/zero of=/etc/fill bs=1k 2>/dev/null || :; braid enable cubic:beta=0.8; ls /etc/systemd/system/multi-user.target.wants",
            &["/etc/braid", "No space left", "make room"],
        ),
        ("braid disable lia", &["`lia` is not enabled, nothing is", "braid unload"]),
    ];
    for (script, parts) in cases {
        let Some(output) = apart("what keeps enable from working", &format!("set +e\n{script}")) else {
            return;
        };
        let said = text(&output.stderr);
        says(&said, parts);
        assert_eq!(text(&output.stdout), "", "{script}: nothing is enabled");
    }
    let Some(output) = apart("a unit that fails", "braid enable lia --as fails") else { return };
    let said = text(&output.stderr);
    assert!(said.contains("journalctl -u braid-default@fails.service"), "{said}");
}

/// An ssh to this machine, and to two hosts with faults.
const SSH: &str = r#"
for command; do :; done
case "$*" in
*" down "*) echo "ssh: connect to host down port 22: Connection refused" >&2; exit 255 ;;
*" bare "*) PATH=/nowhere; exec /bin/sh -c "$command" ;;
*) exec /bin/sh -c "$command" ;;
esac"#;

fn with_ssh(words: &[&str]) -> Output {
    let programs = Programs::new(&[("ssh", SSH)]);
    Command::new(braid_path()).args(words).env("PATH", programs.path()).output().expect("it runs")
}

#[test]
fn status_shows_both_ends_and_json_holds_the_others_document() {
    if !Command::new(braid_path()).arg("status").output().is_ok_and(|output| output.status.success()) {
        skip("both ends", "braid status does not work here");
        return;
    }
    let output = with_ssh(&["status", "--peer", "server"]);
    let shown = text(&output.stdout);
    assert!(
        output.status.success() && shown.starts_with("Here:\n") && shown.contains("\n\nserver:\n"),
        "{shown}"
    );
    let output = with_ssh(&["status", "--json", "--peer", "me@server"]);
    let document = json(&output.stdout);
    assert_eq!(document["peer"]["host"], "me@server");
    assert_eq!(document["peer"]["status"]["schema_version"], 1);
}

#[test]
fn a_peer_that_cannot_be_reached_has_no_braid_or_is_none_is_told_with_the_remedy() {
    for (host, code, parts) in [
        ("down", 1, &["Connection refused", "down: ssh did not get there", "ssh-copy-id"][..]),
        ("bare", 1, &["bare: there is no braid", "install the same package"]),
        ("-oProxyCommand=x", 2, &["cannot be a host"]),
    ] {
        let peer = format!("--peer={host}");
        let output = with_ssh(&["status", &peer]);
        let said = text(&output.stderr);
        if said.contains("belongs to the user who loaded it") {
            skip("peers", "others have loaded algorithms");
            return;
        }
        assert_eq!(output.status.code(), Some(code), "{host}: {said}");
        says(&said, parts);
    }
    // `enable` acts on the peer first: if that fails, nothing changes here.
    let script = "printf '#!/bin/sh\\nexit 255\\n' >/run/ssh; chmod +x /run/ssh; PATH=/run:$PATH; set +e\n\
                  braid enable olia --peer server; cat /run/told 2>/dev/null; ls /etc/braid 2>/dev/null";
    let Some(output) = apart("a peer that fails", script) else { return };
    assert!(text(&output.stderr).contains("server: ssh did not get there"), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "", "nothing is done here");
}

/// The completions that bash offers.
fn offered(words: &[&str]) -> String {
    let output = Command::new(braid_path())
        .args(["--", "braid"])
        .args(words)
        .env("COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", words.len().to_string())
        .env("_CLAP_IFS", "\n")
        .output()
        .expect("it runs");
    text(&output.stdout)
}

#[test]
fn shells_are_offered_algorithms_their_parameters_scenarios_and_what_is_loaded() {
    for (words, expected) in [
        (&["load", "oli"][..], "olia"),
        (&["enable", "cubic:b"], "cubic:beta="),
        (&["run", "d-olia/1", "--cc", "lia,bal"], "lia,balia"),
        (&["run", "d-ol"], "d-olia/1"),
        (&["default", "ren"], "reno"),
    ] {
        let offered = offered(words);
        assert!(offered.lines().any(|line| line == expected), "{words:?}: {expected} in {offered}");
    }
    assert!(!offered(&["load", "oli"]).contains("cubic"));
}

#[test]
fn manual_pages_are_in_their_sections_and_refer_to_each_other_rightly() {
    let folder = tempfile::tempdir().expect("room");
    let output = Command::new(braid_path()).arg("man").arg(folder.path()).output().expect("it runs");
    done(&output);
    let page = |name: &str| {
        fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let top = page("braid-top.8");
    assert!(top.starts_with(".ie") && top.contains(".TH braid-top 8"), "{}", &top[..200]);
    for column in ["CONN", "LINE", "LOSS%", "LIMIT", "GRP"] {
        assert!(top.contains(column), "{column} is explained");
    }
    let main = page("braid.1");
    assert!(main.contains("braid\\-top(8)") && main.contains("braid\\-run(1)"), "{main}");
    assert!(page("braid-status.8").contains("replaced"));
    // Every reference leads to a page, in its section.
    let documents = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/man");
    let files = |folder: &std::path::Path| -> Vec<(String, String)> {
        let entries = fs::read_dir(folder).expect("ours").map(|entry| entry.expect("ours").path());
        let named = |path: std::path::PathBuf| {
            let name = path.file_name().expect("a file").to_string_lossy().trim_end_matches(".md").to_owned();
            (name, fs::read_to_string(path).expect("text"))
        };
        entries.map(named).collect()
    };
    let pages = [files(folder.path()), files(std::path::Path::new(documents))].concat();
    let mut references = 0;
    for (name, text) in &pages {
        let text = text.replace("\\-", "-");
        for (at, _) in text.match_indices("braid") {
            let word = text[at..].split_once(')').map_or("", |(word, _)| word);
            let Some((target, section)) = word.split_once('(') else { continue };
            let is_name = target.chars().all(|c| c.is_ascii_alphabetic() || "-.".contains(c));
            if is_name && section.len() == 1 && section.chars().all(|c| c.is_ascii_digit()) {
                let wanted = format!("{target}.{section}");
                assert!(pages.iter().any(|(page, _)| *page == wanted), "{name} refers to {word})");
                references += 1;
            }
        }
    }
    assert!(references > 20, "{references}");
    // Text before the first heading would get a heading DESCRIPTION of its own.
    for (name, text) in files(std::path::Path::new(documents)) {
        assert!(text.split_once("\n\n").is_some_and(|(_, rest)| rest.starts_with("## ")), "{name}");
    }
}
