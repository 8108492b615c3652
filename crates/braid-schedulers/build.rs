//! Compiles every scheduler of `schedulers/` natively and lists them for the crate.

#[path = "../braid-algorithms/src/hash.rs"]
mod hash;

use std::{env, fmt::Write as _, fs, path::PathBuf};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let schedulers = manifest.join("../../schedulers");
    let native = manifest.join("native");
    for watched in
        ["../../schedulers", "../../algorithms/fixed.h", "native", "../braid-algorithms/src/hash.rs"]
    {
        println!("cargo::rerun-if-changed={watched}");
    }
    let with = |ending: &str| {
        let entries = fs::read_dir(&schedulers).expect("schedulers/ is part of the repository");
        let paths = entries.map(|entry| entry.expect("readable folder").path());
        let mut paths: Vec<PathBuf> =
            paths.filter(|path| path.extension().is_some_and(|own| own == ending)).collect();
        paths.sort();
        paths
    };
    let sources = with("c");
    cc::Build::new()
        .files(&sources)
        .file(native.join("probe.c"))
        .include(&schedulers)
        .include(manifest.join("../../algorithms"))
        .include(&native)
        .opt_level(2)
        .flags(["-std=gnu11", "-ffreestanding", "-fwrapv", "-fno-strict-aliasing"])
        .flags(["-Wall", "-Wextra", "-Wconversion", "-Wno-unused-parameter"])
        .warnings_into_errors(env::var_os("CI").is_some())
        .compile("braid_schedulers");

    let mut headers = fs::read(manifest.join("../../algorithms/fixed.h")).expect("readable header");
    headers.extend(with("h").iter().flat_map(|path| fs::read(path).expect("readable header")));
    let mut list = String::from("&[\n");
    for source in &sources {
        let name = source.file_stem().and_then(|stem| stem.to_str()).expect("names are ASCII");
        let page = fs::read_to_string(schedulers.join(format!("{name}.md"))).unwrap_or_default();
        let text = fs::read(source).expect("readable source");
        let hash = hash::fnv1a(headers.iter().chain(&text).copied());
        let [a, b, c, d] = [48, 32, 16, 0].map(|bits| (hash >> bits) & 0xffff);
        let hash = format!("0x{a:04x}_{b:04x}_{c:04x}_{d:04x}");
        writeln!(list, "scheduler! {{ braid_scheduler_{name}, {page:?}, {hash} }},")
            .expect("writing to a string");
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("list.rs"), list).expect("the build folder is writable");
}
