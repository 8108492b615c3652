//! The other end of connections, over ssh: congestion control acts at the sender, so a router's downloads obey the
//! machine at the other end.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::Failure;
use crate::command::line;
use crate::failure::FAILED;

/// ssh's exit code for its own failures.
const SSH_FAILED: i32 = 255;
/// A shell's exit code for an unknown command.
const NOT_FOUND: i32 = 127;

/// Runs braid on the host and returns its output; its standard error goes to ours. Never interactive: a missing key or
/// missing rights are an error.
pub(crate) fn braid(host: &str, arguments: &[&str]) -> Result<String, Failure> {
    // ssh would read a host that begins with a dash as an option.
    if host.is_empty() || host.starts_with('-') || host.contains(char::is_whitespace) {
        return Err(Failure::bad_input(
            format!("`{host}` cannot be a host"),
            "--peer takes a host as ssh knows it: a name, USER@NAME, or a Host of ~/.ssh/config",
        ));
    }
    let remote = line(["braid".to_owned()].into_iter().chain(arguments.iter().map(|&word| word.to_owned())));
    let output = Command::new("ssh")
        .args(["-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", host, &remote])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| {
            Failure::bad_input(format!("ssh: {error}"), "install an ssh client, such as openssh-client")
        })?;
    match output.status.code() {
        Some(0) => String::from_utf8(output.stdout).map_err(|_| failed(host, "its answer is not text", "")),
        Some(SSH_FAILED) => Err(failed(
            host,
            "ssh did not get there",
            "\n  hint: `ssh HOST true` must work without a question: put a key there with ssh-copy-id, name user and port \
             in ~/.ssh/config",
        )),
        Some(NOT_FOUND) => Err(failed(
            host,
            "there is no braid",
            "\n  hint: install the same package there; it must be in the PATH that ssh gives",
        )),
        _ => Err(failed(
            host,
            &format!("`{remote}` failed, see above"),
            "\n  hint: loading, and reading root's algorithms, needs root there: --peer root@HOST",
        )),
    }
}

/// Its output as JSON.
pub(crate) fn document(host: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text)
        .map_err(|error| failed(host, &format!("its answer cannot be read: {error}"), ""))
}

fn failed(host: &str, what: &str, hint: &str) -> Failure {
    Failure::new(FAILED, format!("{host}: {what}{hint}"))
}
