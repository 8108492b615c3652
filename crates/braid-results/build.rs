//! Lists every file of `papers/`, so that adding one is all it takes to embed it, and hashes the sources.

mod source_hash;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    source_hash::write(&["src"]);
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
    let out = env::var("OUT_DIR").unwrap();
    fs::write(Path::new(&out).join("papers.rs"), table).unwrap();
    fs::write(Path::new(&out).join("causes.rs"), causes(&folder.join("causes"))).unwrap();
}

/// The files of `papers/causes/PAPER/`: paper, name and text.
fn causes(folder: &Path) -> String {
    let mut table = String::from("&[\n");
    for of_paper in listed(folder) {
        println!("cargo:rerun-if-changed={}", of_paper.display());
        for path in listed(&of_paper) {
            println!("cargo:rerun-if-changed={}", path.display());
            let paper = of_paper.file_name().unwrap().to_str().expect("keys of papers are ASCII");
            let name = path.file_stem().unwrap().to_str().expect("names of causes are ASCII");
            let path = path.to_str().expect("the path of the repository is UTF-8");
            let text = format!("include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/\", {path:?}))");
            writeln!(table, "    ({paper:?}, {name:?}, {text}),").unwrap();
        }
    }
    table + "]"
}

fn listed(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder of causes").map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}
