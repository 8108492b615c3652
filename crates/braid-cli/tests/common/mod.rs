//! Helpers of the command's tests.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// Two short paths and a TCP flow on the first: a short run.
pub(crate) const SMALL: &str = r#"
title = "small"
duration = "2s"
cc = ["lia", "olia"]

[link.b1]
rate = "4mbit"
delay = "5ms"
queue = "20p"
loss = "0.5%"

[link.b2]
rate = "2mbit"
delay = "10ms"
queue = "20p"

[connection.mp0]
kind = "mptcp"

[connection.mp0.subflow.sf1]
route = ["b1"]

[connection.mp0.subflow.sf2]
route = ["b2"]

[connection.bg0]
kind = "tcp"
cc = "reno"
route = ["b1"]
"#;

/// A temporary folder with `small.toml` in it.
pub(crate) struct Place(pub(crate) TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("small.toml", SMALL);
        place
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path().join(name), text).unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn braid(&self, line: &str) -> Command {
        let mut command = Command::cargo_bin("braid").unwrap();
        command.current_dir(self.path()).args(line.split_whitespace());
        command
    }

    pub(crate) fn output(&self, line: &str) -> Output {
        self.braid(line).output().unwrap()
    }

    pub(crate) fn stdout(&self, line: &str) -> String {
        let output = self.output(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that Braid must refuse: exit code 2, no standard output, no panic, a message with all `pieces`.
    pub(crate) fn refused(&self, line: &str, pieces: &[&str]) {
        let output = self.output(line);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(output.stdout.is_empty(), "{line}");
        assert!(!message.contains("panicked"), "{line}: {message}");
        assert_eq!(message.matches("error: ").count(), 1, "{line}: {message}");
        for piece in pieces {
            assert!(message.contains(piece), "{line}: no \"{piece}\" in: {message}");
        }
    }
}

pub(crate) fn parse(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// All files of a folder except the log, by name.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let entries = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let files = entries.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()));
    files.filter(|(name, _)| name != "log.txt").collect()
}
