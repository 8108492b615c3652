//! Sources of scenarios, and errors in finding them.

use std::fs;
use std::path::{Path, PathBuf};

use braid_scenario::Source;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// The error message, without the folder.
fn message(path: impl AsRef<Path>) -> String {
    let error = Source::read(path).unwrap_err().to_string();
    error.replace(folder().to_str().unwrap(), "FOLDER")
}

fn file(name: &str, content: &[u8]) -> PathBuf {
    let path = folder().join(name);
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn a_name_is_found_before_a_file() {
    assert_eq!(Source::find("d-olia/1").unwrap(), Source::embedded("d-olia/1").unwrap());
    let path = file("mine.toml", b"title = \"mine\"");
    let source = Source::find(path.to_str().unwrap()).unwrap();
    assert_eq!((source.name.as_str(), source.text.as_str()), (path.to_str().unwrap(), "title = \"mine\""));
}

#[test]
fn what_is_no_scenario_is_said_with_the_remedy() {
    let unknown = |name: &str| Source::find(name).unwrap_err().to_string();
    assert!(unknown("").contains("hint: there is analysis/disjoint, "));
    assert!(unknown("\u{1b}[31m").starts_with("\"\\u{1b}[31m\": neither"), "no escape reaches the terminal");
    let mut messages = ["d-oila/1", "d-olia", "none.toml"].map(unknown).to_vec();
    messages.extend([
        message(folder().join("none.toml")),
        message(folder()),
        message(file("junk.toml", b"title = 1\n\x7fELF\xff\x00")),
        message(file("large.toml", &vec![b'#'; 2 << 20])),
    ]);
    insta::assert_snapshot!("messages", messages.join("\n"));
    #[cfg(target_os = "linux")]
    assert!(message("/dev/zero").contains("longer than 1 MiB"));
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read_is_said_so() {
    use std::os::unix::fs::PermissionsExt as _;
    let path = file("secret.toml", b"");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        braid_testing::skip("a file without permission", "this user may read every file");
        return;
    }
    assert_eq!(
        message(path),
        "FOLDER/secret.toml: no permission to read it\n  \
         hint: make it readable, for instance with `chmod +r`"
    );
}
