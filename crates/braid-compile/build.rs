//! Embeds the headers for algorithms, so that a file can be compiled without the repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    // Relative to the package. Each host has its own host.h.
    let folders = [
        ("../../algorithms", ""),
        ("../../algorithms/sbd", "sbd/"),
        ("../braid-algorithms/native", "native/"),
        ("../../kernel", "kernel/"),
        ("../../kernel/shared", "kernel/shared/"),
    ];
    let mut table = String::from("&[\n");
    for (folder, prefix) in folders {
        println!("cargo::rerun-if-changed={folder}");
        let entries = fs::read_dir(Path::new(folder)).expect("it is part of the repository");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable folder").path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "h"));
        paths.sort();
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str()).expect("names are ASCII");
            let path = path.to_str().expect("names are ASCII");
            writeln!(
                table,
                "    (\"{prefix}{name}\", include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{path}\"))),"
            )
            .expect("writing to a string");
        }
    }
    table.push(']');
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("headers.rs"), table).expect("the build folder is writable");
}
