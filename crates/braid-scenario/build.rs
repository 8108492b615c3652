//! Lists every scenario of the repository, so that adding a file is all it takes to embed it.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap()).join("../../scenarios");
    let root = root.canonicalize().expect("the repository has a folder `scenarios`");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut names = Vec::new();
    collect(&root, &root, &mut names);
    names.sort();
    let mut table = String::from("&[\n");
    for name in names {
        let path = root.join(format!("{name}.toml"));
        let path = path.to_str().expect("the path of the repository is UTF-8");
        writeln!(table, "    ({name:?}, include_str!({path:?})),").unwrap();
    }
    table.push(']');
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join("embedded.rs"), table).unwrap();
}

fn collect(root: &Path, folder: &Path, names: &mut Vec<String>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, names);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            let name = path.strip_prefix(root).unwrap().with_extension("");
            names.push(name.to_str().expect("scenario names are ASCII").to_owned());
        }
    }
}
