//! Lists every file of `papers/`, so that adding one is all it takes to embed it, and hashes the sources.

mod source_hash;

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    source_hash::write();
    // Cargo runs this in the folder of the package. Relative paths keep a build folder true when it is moved or copied.
    let folder = Path::new("../../papers");
    println!("cargo:rerun-if-changed={}", folder.display());
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("the repository has a folder `papers`")
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut table = String::from("&[\n");
    for path in files {
        println!("cargo:rerun-if-changed={}", path.display());
        let key = path.file_stem().unwrap().to_str().expect("names of papers are ASCII");
        let path = path.to_str().expect("the path of the repository is UTF-8");
        writeln!(
            table,
            "    ({key:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/\", {path:?}))),"
        )
        .unwrap();
    }
    table.push(']');
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join("papers.rs"), table).unwrap();
}
