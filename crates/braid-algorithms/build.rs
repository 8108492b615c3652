//! Compiles every algorithm of `algorithms/` natively and lists them for the crate.

#[path = "src/hash.rs"]
mod hash;

use std::{env, fmt::Write as _, fs, path::Path, path::PathBuf};

fn main() {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    // A link to the repository's folder, which `cargo package` follows; without links, that folder.
    let inside = manifest.join("algorithms").is_dir();
    let folder = if inside { "algorithms" } else { "../../algorithms" };
    let algorithms = manifest.join(folder);
    let native = manifest.join("native");
    // Relative, so that a copied build folder watches the files beside it.
    for watched in [folder, "native"] {
        println!("cargo::rerun-if-changed={watched}");
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

    let headers = headers(&algorithms);
    let (mut list, mut hashes) = (String::from("&[\n"), String::new());
    for source in &sources {
        let name = source.file_stem().and_then(|stem| stem.to_str()).expect("names are ASCII");
        let page = page(&algorithms, name);
        let text = fs::read(source).expect("readable source");
        let hash = hash::fnv1a(headers.iter().chain(&text).copied());
        write!(hashes, "{name}={hash:#x} ").expect("writing to a string");
        let [a, b, c, d] = [48, 32, 16, 0].map(|bits| (hash >> bits) & 0xffff);
        let hash = format!("0x{a:04x}_{b:04x}_{c:04x}_{d:04x}");
        writeln!(list, "algorithm! {{ {name}, braid_algorithm_{name}, {page:?}, {hash} }},")
            .expect("writing to a string");
    }
    // For build scripts of dependent crates.
    println!("cargo::metadata=hashes={hashes}");
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("list.rs"), list).expect("the build folder is writable");
}

/// The algorithm's page, embedded so that `braid algorithms NAME` needs no files.
fn page(algorithms: &Path, name: &str) -> String {
    fs::read_to_string(algorithms.join(format!("{name}.md"))).unwrap_or_default()
}

/// All headers, concatenated: any of them may be part of any algorithm.
fn headers(algorithms: &Path) -> Vec<u8> {
    let files = |folder: PathBuf| {
        let entries = fs::read_dir(folder).expect("algorithms/ is part of the repository");
        entries.map(|entry| entry.expect("readable folder").path())
    };
    let mut paths: Vec<PathBuf> = files(algorithms.to_owned())
        .chain(files(algorithms.join("sbd")))
        .filter(|path| path.extension().is_some_and(|extension| extension == "h"))
        .collect();
    paths.sort();
    paths.iter().flat_map(|path| fs::read(path).expect("readable header")).collect()
}
