//! `braid top` shows a connection, within the size of the terminal. Needs neither root nor BPF.
#![cfg(target_os = "linux")]

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

use braid_testing::{braid_path, failed, fits_schema, json, skip, text};
use serde_json::Value;

/// A connection over the loopback interface that sends continuously.
struct Talk {
    address: String,
    stream: TcpStream,
}

impl Talk {
    fn begin() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut buffer = vec![0; 65_536];
            while stream.read(&mut buffer).is_ok_and(|n| n > 0) {}
        });
        let stream = TcpStream::connect(address).expect("a listener");
        let mut writer = stream.try_clone().expect("a socket");
        thread::spawn(move || {
            while writer.write_all(&[7; 10_000]).is_ok() {
                thread::sleep(Duration::from_millis(10));
            }
        });
        thread::sleep(Duration::from_millis(200));
        Self { address: address.to_string(), stream }
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Both);
    }
}

fn top(args: &[&str]) -> Output {
    Command::new(braid_path()).arg("top").args(args).output().expect("it runs")
}

#[test]
fn one_look_lists_the_connection_with_its_window_and_rtt() {
    let talk = Talk::begin();
    let output = top(&["--once", "--interval", "300ms", "--all", "--filter", &talk.address]);
    let shown = text(&output.stdout);
    let title = shown.lines().next().expect("a title");
    for column in [
        "CONN",
        "SF",
        "ALGORITHM",
        "LINE",
        "RATE",
        "IN",
        "RTT",
        "BASE",
        "CWND",
        "LOSS%",
        "LIMIT",
        "LOCAL",
        "REMOTE",
    ] {
        assert!(title.contains(column), "{column} in {title}");
    }
    assert_eq!(shown.lines().count(), 3, "both ends of the connection: {shown}");
    assert!(shown.contains(&talk.address), "{shown}");
    for row in shown.lines().skip(1) {
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words[3], "lo", "the line is named: {row}");
        let limit = words[10];
        // 10 KB every 10 ms is less than the loopback can carry; the other end only receives.
        assert!(["app", "recv"].contains(&limit), "limited by {limit}: {row}");
    }

    let output = top(&["--once", "--interval", "100ms", "--all", "--filter", "no such thing"]);
    assert_eq!(text(&output.stdout).lines().count(), 1, "only the title");
    let output = top(&["--once", "--interval", "100ms", "--filter", &talk.address]);
    assert_eq!(text(&output.stdout).lines().count(), 1, "it runs none of Braid's");
    let said = text(&output.stderr);
    assert!(said.contains("visible TCP connections matches; --all shows"), "why it is empty: {said}");
}

#[test]
fn programs_get_one_document_per_refresh_with_measured_rates() {
    let talk = Talk::begin();
    let mut child = Command::new(braid_path())
        .args(["top", "--json", "--all", "--interval", "500ms", "--filter", &talk.address])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it runs");
    let output = child.stdout.take().expect("a pipe");
    let lines = std::io::BufRead::lines(std::io::BufReader::new(output)).take(3);
    let documents: Vec<Value> = lines.map(|line| json(line.expect("text"))).collect();
    child.kill().expect("ours");
    child.wait().expect("ours");
    assert_eq!(documents.len(), 3);
    for document in &documents {
        fits_schema("top", std::slice::from_ref(document));
        let connections = document["connections"].as_array().expect("a list");
        assert_eq!(connections.len(), 2, "both ends");
        let sender =
            connections.iter().flat_map(|connection| connection["subflows"].as_array().expect("a list"));
        let sender = sender.max_by_key(|flow| flow["bytes_acked"].as_u64()).expect("one");
        assert!(sender["cwnd"].as_u64() >= Some(2) && sender["srtt_ms"].as_f64() > Some(0.0), "{sender}");
    }
    let rate = |document: &Value| {
        let connections = document["connections"].as_array().expect("a list").clone();
        connections.iter().filter_map(|c| c["subflows"][0]["rate_bps"].as_f64()).fold(0.0, f64::max)
    };
    // 10 KB every 10 ms is at most 8 Mbit/s; a busy machine sends less.
    assert!((1e5..9e6).contains(&rate(&documents[2])), "{} bit/s", rate(&documents[2]));
}

#[test]
fn a_pipe_gets_no_live_table_but_the_remedy() {
    failed(&top(&[]), 2, &["--once", "--json"]);
    failed(&top(&["--interval", "1ms"]), 2, &[]);
}

/// A terminal without a user.
struct Terminal(String);

impl Terminal {
    fn open(width: u32, command: &str) -> Option<Self> {
        let name = format!("braid-test-{}-{width}", std::process::id());
        let size = ["-x", &width.to_string(), "-y", "12"].map(str::to_owned);
        let opened = Command::new("tmux")
            .args(["new-session", "-d", "-s", &name])
            .args(size)
            .arg(command)
            .status()
            .ok()?;
        opened.success().then_some(Self(name))
    }

    fn screen(&self) -> Vec<String> {
        let output = Command::new("tmux").args(["capture-pane", "-p", "-t", &self.0]).output().expect("tmux");
        text(&output.stdout).lines().map(str::to_owned).collect()
    }

    /// Waits until a line contains `what`, and returns the screen.
    fn shows(&self, what: &str) -> Vec<String> {
        let began = Instant::now();
        loop {
            let screen = self.screen();
            if screen.iter().any(|line| line.contains(what)) {
                return screen;
            }
            assert!(began.elapsed() < Duration::from_secs(30), "`{what}` within 30 s in {screen:#?}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    fn press(&self, keys: &[&str]) {
        Command::new("tmux").args(["send-keys", "-t", &self.0]).args(keys).status().expect("tmux");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["kill-session", "-t", &self.0]).status();
    }
}

#[test]
fn the_live_table_fits_80_and_200_columns_and_obeys_keys() {
    let talk = Talk::begin();
    let program = braid_path();
    for width in [80, 200] {
        let command = format!("{} top --all --filter {}", program.display(), talk.address);
        let Some(terminal) = Terminal::open(width, &command) else {
            skip("braid top on a terminal", "there is no tmux");
            return;
        };
        let screen = terminal.shows("2 connections, 2 subflows");
        assert!(screen[1].starts_with("CONN SF ALGORITHM"), "{screen:#?}");
        assert_eq!(screen[1].contains("LOCAL"), width == 200, "{screen:#?}");
        for column in ["LINE", "RATE", "RTT", "BASE", "CWND", "LOSS%", "LIMIT", "GRP"] {
            assert!(screen[1].contains(column), "{column} at {width} columns: {screen:#?}");
        }
        assert_eq!(screen[2..].iter().filter(|line| line.starts_with("tcp ")).count(), 2, "{screen:#?}");
        assert!(screen[11].contains("s sort: rate   / filter: 127.0.0.1:"), "{screen:#?}");
        assert!(screen.iter().all(|line| line.chars().count() <= width as usize), "{screen:#?}");
        terminal.press(&["s"]);
        terminal.shows("s sort: cwnd");
        terminal.press(&["Space"]);
        terminal.shows("PAUSED");
        terminal.press(&["Space", "Enter"]);
        let history = terminal.shows("newest at the right");
        assert!(history.iter().any(|line| line.contains("lo") && line.contains("RTT")), "{history:#?}");
        terminal.press(&["Escape", "w"]);
        terminal.shows("Esc back to the table");
        terminal.press(&["Escape"]);
        terminal.shows("CONN");
        terminal.press(&["/", "x", "y", "z", "Enter"]);
        terminal.shows("No connection fits.");
        terminal.press(&["/", "Escape"]);
        terminal.shows("/ filter: none");
        terminal.press(&["a"]);
        terminal.shows("braid top: Braid's");
        terminal.press(&["q"]);
        let began = Instant::now();
        while Command::new("tmux")
            .args(["has-session", "-t", &terminal.0])
            .output()
            .is_ok_and(|o| o.status.success())
        {
            assert!(began.elapsed() < Duration::from_secs(10), "q ends it");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

#[test]
fn what_does_not_fit_is_scrolled_to_and_the_first_line_says_which_rows_are_shown() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let mut ends = Vec::new();
    for _ in 0..15 {
        ends.push(TcpStream::connect(address).expect("a listener"));
        ends.push(listener.accept().expect("a client").0);
    }
    let command = format!("{} top --all --interval 200ms --filter {address}", braid_path().display());
    let Some(terminal) = Terminal::open(81, &command) else {
        skip("scrolling", "there is no tmux");
        return;
    };
    // Twelve lines, three of which are not rows.
    terminal.shows("30 subflows (1-9), 0bit/s out, 0 in");
    terminal.press(&["NPage"]);
    terminal.shows("subflows (2-10)");
    terminal.press(&["End"]);
    terminal.shows("subflows (22-30)");
    terminal.press(&["Home"]);
    terminal.shows("subflows (1-9)");
}
