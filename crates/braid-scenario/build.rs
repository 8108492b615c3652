//! Lists every scenario and every trace of the repository, to embed them.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
    // Cargo runs this in the package's folder. Relative paths keep a build folder valid when it is moved or copied.
    let root = Path::new("../../scenarios");
    println!("cargo:rerun-if-changed={}", root.display());
    write(root, "toml", "embedded.rs");
    write(&root.join("traces"), "trace", "traces.rs");
}

/// Writes a table with the names and texts of all files with that extension.
fn write(root: &Path, ending: &str, file: &str) {
    let mut names = Vec::new();
    collect(root, root, ending, &mut names);
    names.sort();
    let mut table = String::from("&[\n");
    for name in names {
        let path = root.join(format!("{name}.{ending}"));
        let path = path.to_str().expect("the path of the repository is UTF-8");
        writeln!(
            table,
            "    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/\", {path:?}))),"
        )
        .unwrap();
    }
    table.push(']');
    fs::write(Path::new(&env::var("OUT_DIR").unwrap()).join(file), table).unwrap();
}

fn collect(root: &Path, folder: &Path, ending: &str, names: &mut Vec<String>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder).expect("the repository has a folder `scenarios`") {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, ending, names);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            let name = path.strip_prefix(root).unwrap().with_extension("");
            names.push(name.to_str().expect("scenario names are ASCII").to_owned());
        }
    }
}
