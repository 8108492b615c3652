//! `braid trace`, `replay` and `vectors`, on the command line.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use braid_testing::{braid_path, done, failed, json, says, skip, text};
use tempfile::tempdir;

fn braid(folder: &Path, args: &[&str]) -> Output {
    Command::new(braid_path()).current_dir(folder).args(args).output().expect("it runs")
}

/// The Python programs of docs/traces.md; none without Python.
fn documented_programs() -> Option<Vec<String>> {
    let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/traces.md"))
        .expect("it is there");
    let programs: Vec<String> = document
        .split("```python\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split("```").next()?.to_owned()))
        .collect();
    assert_eq!(programs.len(), 2, "one for JSON, one for traces");
    let python = std::process::Command::new("python3").arg("--version").stdout(Stdio::null()).status();
    python.is_ok_and(|status| status.success()).then_some(programs)
}

/// Runs a program with this standard input.
fn piped(command: &mut Command, input: &[u8]) -> Output {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    child.stdin.take().expect("a pipe").write_all(input).expect("it reads");
    child.wait_with_output().expect("it ends")
}

#[test]
fn vectors_convert_between_their_forms_and_replay_without_a_difference() {
    let folder = tempdir().expect("a folder");
    let place = folder.path();
    for algorithm in braid_algorithms::all().iter().map(braid_algorithms::Algorithm::name) {
        let json = braid(place, &["vectors", algorithm, "--calls", "20"]);
        assert!(json.status.success(), "{}", text(&json.stderr));
        fs::write(place.join("a.json"), &json.stdout).expect("writable");
        let tsv = braid(place, &["vectors", "a.json", "--format", "tsv"]);
        fs::write(place.join("a.tsv"), &tsv.stdout).expect("writable");
        let again = braid(place, &["vectors", "a.tsv"]);
        assert!(again.stdout == json.stdout, "{algorithm}: JSON to text to JSON");
        for file in ["a.json", "a.tsv"] {
            let replay = braid(place, &["replay", file, "--json"]);
            assert!(replay.status.success(), "{}", text(&replay.stderr));
            let replay = braid_testing::json(&replay.stdout);
            assert_eq!(replay["calls"], 80);
            assert_eq!(replay["differing_words"], 0);
        }
    }
}

#[test]
fn a_changed_word_is_found_and_named() {
    let folder = tempdir().expect("a folder");
    let vectors = done(&braid(folder.path(), &["vectors", "lia:rounding=usec", "--format", "tsv"]));
    let row = vectors.lines().find(|line| line.starts_with("outputs\t")).expect("outputs");
    let mut columns: Vec<&str> = row.split('\t').collect();
    columns[1] = "4711";
    fs::write(folder.path().join("wrong.tsv"), vectors.replacen(row, &columns.join("\t"), 1))
        .expect("writable");
    let replay = braid(folder.path(), &["replay", "wrong.tsv"]);
    assert_eq!(replay.status.code(), Some(1));
    let said = text(&replay.stdout);
    says(&said, &["1 words differ", "lia:rounding=usec init: cwnd recorded 0x1267, native 0xa"]);
}

#[test]
fn what_cannot_be_read_is_bad_input_with_a_remedy() {
    let folder = tempdir().expect("a folder");
    fs::write(folder.path().join("other"), "hello").expect("writable");
    for (args, part) in [
        (&["replay", "missing"][..], "missing"),
        (&["replay", "other"], "braid vectors"),
        (&["vectors", "liaa"], "did you mean `lia`?"),
    ] {
        failed(&braid(folder.path(), args), 2, &[part]);
    }
}

#[test]
fn the_documented_program_reads_vectors() {
    let Some(programs) = documented_programs() else {
        return skip("the documented programs", "there is no python3");
    };
    let folder = tempdir().expect("a folder");
    let vectors = braid(folder.path(), &["vectors", "olia", "--calls", "5"]).stdout;
    let output = piped(Command::new("python3").args(["-c", &programs[0]]), &vectors);
    assert_eq!(text(&output.stdout).lines().count(), 20, "{}", text(&output.stderr));
    assert!(
        text(&output.stdout).starts_with("olia init 1 subflows, rtt 0 us: cwnd 10 -> 10"),
        "{}",
        text(&output.stdout)
    );
}

#[cfg(target_os = "linux")]
mod live {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::os::unix::process::CommandExt as _;
    use std::process::{Child, ChildStderr};
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use rustix::process::{Pid, Signal, kill_process_group};

    use super::*;

    #[test]
    fn wrong_filters_and_files_are_bad_input() {
        let folder = tempdir().expect("a folder");
        fs::write(folder.path().join("taken"), "").expect("writable");
        for (args, part) in [
            (&["trace", "-o", "x", "--filter", "colour=red"][..], "name, connection, subflow and event"),
            (&["trace", "-o", "x", "--filter", "event=loss"], "on_loss"),
            (&["trace", "-o", "x", "--filter", "connection=xyz"], "hexadecimal"),
            (&["trace", "-o", "x", "--buffer", "3"], "power of two"),
        ] {
            failed(&braid(folder.path(), args), 2, &[part]);
            assert!(!folder.path().join("x").exists(), "{args:?} wrote nothing");
        }
    }

    /// A loaded CUBIC to record; unloaded on drop, also if the test fails. The kernel supports one recording at a time.
    struct Loaded {
        name: &'static str,
        _alone: MutexGuard<'static, ()>,
    }

    impl Loaded {
        /// None if this machine cannot load algorithms.
        fn new(test: &str, name: &'static str) -> Option<Self> {
            static RECORDING: Mutex<()> = Mutex::new(());
            let doctor = braid(Path::new("/"), &["doctor"]);
            if !doctor.status.success() {
                skip(test, text(&doctor.stderr));
                return None;
            }
            let alone = RECORDING.lock().unwrap_or_else(PoisonError::into_inner);
            done(&braid(Path::new("/"), &["load", "cubic", "--as", name]));
            Some(Self { name, _alone: alone })
        }

        /// Opens a connection while `trace` records it, then sends Ctrl-C to its process group. The caller can read its
        /// output after the first line.
        fn talk(&self, trace: &mut Command) -> (Child, BufReader<ChildStderr>) {
            let mut trace = trace.process_group(0).stderr(Stdio::piped()).spawn().expect("it runs");
            // Works on a busy machine as well: recording starts before the traffic, and Ctrl-C follows its end.
            let mut said = BufReader::new(trace.stderr.take().expect("a pipe"));
            let mut line = String::new();
            said.read_line(&mut line).expect("text");
            assert_eq!(line, format!("Recording {}; Ctrl-C ends it.\n", self.name));
            talk(&format!("braid_{}", self.name));
            let group = Pid::from_raw(i32::try_from(trace.id()).expect("a process")).expect("not 0");
            kill_process_group(group, Signal::INT).expect("it is ours");
            (trace, said)
        }
    }

    impl Drop for Loaded {
        fn drop(&mut self) {
            let _ = braid(Path::new("/"), &["unload", self.name, "--force"]);
        }
    }

    #[test]
    fn a_recording_on_a_disk_that_is_full_says_so_and_what_it_holds_can_be_read() {
        const SCRIPT: &str = "mount -t tmpfs -o size=4k none $0 && cd $0 && trap : INT && \
            { $1 trace -o a.trace --filter name=cli_full; echo $?; $1 replay a.trace; }";
        let Some(loaded) = Loaded::new("a recording on a full disk", "cli_full") else { return };
        let folder = tempdir().expect("a folder");
        let (mut trace, mut said) = loaded.talk(
            Command::new("unshare")
                .args(["--mount", "bash", "-c", SCRIPT])
                .args([folder.path().into(), braid_path()])
                .stdout(Stdio::piped()),
        );
        let (mut rest, mut shown) = (String::new(), String::new());
        said.read_to_string(&mut rest).expect("text");
        trace.stdout.take().expect("a pipe").read_to_string(&mut shown).expect("text");
        trace.wait().expect("it ends");
        says(
            &rest,
            &[
                "cannot write a.trace",
                "No space left",
                "make room",
                "`braid replay a.trace`",
                "is incomplete",
            ],
        );
        assert!(shown.starts_with("1\n"), "the exit code of a failure: {shown}");
        assert!(shown.contains("no word differs"), "{shown}{rest}");
    }

    #[test]
    fn what_is_recorded_in_the_kernel_replays_and_is_read_by_the_documented_program() {
        let Some(loaded) = Loaded::new("trace and replay", "cli_trace") else { return };
        let folder = tempdir().expect("a folder");
        let taken = braid(folder.path(), &["trace", "-o", "/etc/passwd"]);
        assert!(text(&taken.stderr).contains("name another file"), "{}", text(&taken.stderr));
        let (mut trace, mut said) =
            loaded.talk(Command::new(braid_path()).current_dir(folder.path()).args([
                "trace",
                "-o",
                "a.trace",
                "--filter",
                "name=cli_trace",
            ]));
        let mut line = String::new();
        assert!(trace.wait().expect("it ends").success());
        said.read_line(&mut line).expect("text");
        assert!(line.contains("calls of cli_trace to a.trace"), "{line}");

        let replay = braid(folder.path(), &["replay", "a.trace"]);
        says(&done(&replay), &["no word differs", "lost while recording: 0"]);
        let replay = braid(folder.path(), &["replay", "a.trace", "--json"]);
        let replay = json(&replay.stdout);
        let calls = replay["calls"].as_u64().expect("a number");
        assert!(calls > 5, "{calls} calls");

        let Some(programs) = documented_programs() else {
            return skip("the documented program for traces", "there is no python3");
        };
        let output = Command::new("python3")
            .current_dir(folder.path())
            .args(["-c", &programs[1], "a.trace"])
            .output()
            .expect("it runs");
        assert_eq!(text(&output.stdout).lines().count() as u64, calls, "{}", text(&output.stderr));
        says(&text(&output.stdout), &[" cubic event 0 on subflow 1 of 1: cwnd 10 -> 10"]);
        assert!(text(&output.stderr).contains(&format!("{calls} 0 0")), "{}", text(&output.stderr));
    }

    /// Several times what the loopback window takes without an ACK.
    const BYTES: usize = 30_000_000;

    /// A connection over the loopback interface with this congestion control.
    fn talk(kernel_name: &str) {
        use std::net::{TcpListener, TcpStream};
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let receiver = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut data = Vec::new();
            stream.read_to_end(&mut data).expect("a whole transfer");
            data.len()
        });
        let socket =
            rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None)
                .expect("a socket");
        rustix::net::sockopt::set_tcp_congestion(&socket, kernel_name).expect("it is loaded");
        rustix::net::connect(&socket, &address).expect("a listener");
        let mut stream = TcpStream::from(socket);
        stream.write_all(&vec![7; BYTES]).expect("it holds");
        drop(stream);
        assert_eq!(receiver.join().expect("no panic"), BYTES);
    }
}
