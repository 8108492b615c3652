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
fn an_unknown_name_gets_a_suggestion() {
    let message = |name: &str| Source::find(name).unwrap_err().to_string();
    let neither = "neither a built-in scenario nor a file";
    assert_eq!(message("d-oila/1"), format!("\"d-oila/1\": {neither}\n  hint: did you mean \"d-olia/1\"?"));
    assert_eq!(
        message("d-olia"),
        format!(
            "\"d-olia\": {neither}\n  hint: did you mean one of d-olia/1, d-olia/2, d-olia/3, d-olia/motivation, d-olia/scalable?"
        )
    );
    assert!(message("").contains("hint: there is analysis/disjoint, "));
    assert!(message("\u{1b}[31m").starts_with("\"\\u{1b}[31m\": neither"), "no escape reaches the terminal");
}

#[test]
fn a_missing_file_is_said_to_be_missing() {
    assert_eq!(
        message(folder().join("none.toml")),
        "FOLDER/none.toml: no such file\n  hint: `braid scenarios` lists what is built in"
    );
    assert!(Source::find("none.toml").unwrap_err().to_string().starts_with("none.toml: no such file"));
}

#[test]
fn a_directory_is_said_to_be_one() {
    assert_eq!(message(folder()), "FOLDER: a directory, not a scenario\n  hint: name a .toml file inside it");
}

#[test]
fn binary_junk_is_told_from_text() {
    assert_eq!(
        message(file("junk.toml", b"title = 1\n\x7fELF\xff\x00")),
        "FOLDER/junk.toml: not text: byte 0xff in line 2 is not UTF-8\n  \
         hint: a scenario is a TOML file, saved as UTF-8"
    );
}

#[test]
fn a_file_without_end_is_not_read_to_its_end() {
    assert_eq!(
        message(file("large.toml", &vec![b'#'; 2 << 20])),
        "FOLDER/large.toml: longer than 1 MiB, so not a scenario"
    );
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
