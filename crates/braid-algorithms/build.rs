//! Compiles every algorithm of `algorithms/` natively and lists them for the crate.

use std::{env, fmt::Write as _, fs, path::Path, path::PathBuf};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let algorithms = manifest.join("../../algorithms");
    let native = manifest.join("native");
    for watched in [&algorithms, &native] {
        println!("cargo::rerun-if-changed={}", watched.display());
    }

    let mut sources: Vec<PathBuf> = fs::read_dir(&algorithms)
        .expect("algorithms/ is part of the repository")
        .map(|entry| entry.expect("readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();

    cc::Build::new()
        .files(&sources)
        .file(native.join("probe.c"))
        .include(&algorithms)
        .include(&native)
        .opt_level(2)
        .flags(["-std=gnu11", "-ffreestanding", "-fwrapv", "-fno-strict-aliasing"])
        .flags(["-Wall", "-Wextra", "-Wconversion", "-Wno-unused-parameter"])
        .warnings_into_errors(env::var_os("CI").is_some())
        .compile("braid_algorithms");

    let mut list = String::from("&[\n");
    for source in &sources {
        let name = source.file_stem().and_then(|stem| stem.to_str()).expect("names are ASCII");
        let page = page(&algorithms, name);
        writeln!(list, "algorithm! {{ {name}, braid_algorithm_{name}, {page:?} }},")
            .expect("writing to a string");
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("list.rs"), list).expect("the build folder is writable");
}

/// The algorithm's page, embedded so that `braid algorithms NAME` needs no files.
fn page(algorithms: &Path, name: &str) -> String {
    fs::read_to_string(algorithms.join(format!("{name}.md"))).unwrap_or_default()
}
