//! The `braid` command in a scratch folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Two short paths and a TCP flow on the first: a short run.
pub const SMALL: &str = r#"
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

/// The path of the `braid` command that cargo has built.
pub fn braid_path() -> PathBuf {
    assert_cmd::cargo::cargo_bin("braid")
}

/// `braid` with the words of a line.
pub fn braid(line: &str) -> Command {
    let mut command = Command::new(braid_path());
    command.args(line.split_whitespace());
    command
}

/// A scratch folder with [`SMALL`] as `small.toml` in it.
pub struct Place(TempDir);

impl Default for Place {
    fn default() -> Self {
        Self::new()
    }
}

impl Place {
    /// A new one.
    pub fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("small.toml", SMALL);
        place
    }

    /// Writes a file, and the folders on the way to it.
    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The text of a file.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.at(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of a file in it.
    pub fn at(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    /// `braid` in the folder, with the words of a line.
    pub fn braid(&self, line: &str) -> Command {
        let mut command = braid(line);
        command.current_dir(self.path());
        command
    }

    /// `braid` in the background. Its standard error can be read.
    pub fn start(&self, line: &str) -> std::process::Child {
        self.braid(line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs `braid`.
    pub fn output(&self, line: &str) -> Output {
        self.braid(line).output().unwrap()
    }

    /// The standard output of a command that must succeed.
    #[track_caller]
    pub fn stdout(&self, line: &str) -> String {
        let output = self.output(line);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The document that a command prints, which must succeed.
    #[track_caller]
    pub fn json(&self, line: &str) -> Value {
        crate::json(self.stdout(line))
    }

    /// Runs a command that Braid must refuse: exit code 2, no standard output, no panic, a message with all `pieces`.
    #[track_caller]
    pub fn refused(&self, line: &str, pieces: &[&str]) {
        let output = self.output(line);
        let message = crate::failed(&output, 2, pieces);
        assert!(output.stdout.is_empty(), "{line}");
        assert_eq!(message.matches("error: ").count(), 1, "{line}: {message}");
    }

    /// All files of one of its folders except the log, by name.
    pub fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        files(&self.at(folder))
    }
}

/// All files of a folder except the log, by name.
pub fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let entries = entries.filter(|entry| entry.file_type().unwrap().is_file());
    let files = entries.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap()));
    files.filter(|(name, _)| name != "log.txt").collect()
}

/// Writes a program that runs a script, such as `#!/bin/sh`.
#[cfg(unix)]
pub fn executable(path: &Path, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
