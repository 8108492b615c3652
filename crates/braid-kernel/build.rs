//! Compiles every algorithm of `algorithms/` for BPF and embeds the objects, so that users need no clang.

#[path = "../braid-compile/src/clang.rs"]
mod clang;

use std::{
    collections::HashMap,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use clang::REMEDY;

fn main() {
    if let Err(message) = build() {
        for line in message.lines() {
            println!("cargo::error={line}");
        }
    }
}

fn build() -> Result<(), String> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let root = manifest.join("../..").canonicalize().map_err(|error| error.to_string())?;
    let (algorithms, kernel) = (root.join("algorithms"), root.join("kernel"));
    // Relative, so that a copied build folder watches the files beside it.
    for watched in ["../../algorithms", "../../kernel", "../braid-compile/src/clang.rs"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    println!("cargo::rerun-if-env-changed=BRAID_CLANG");

    let clang = clang::find().map_err(|wrong| format!("{wrong}: {REMEDY}"))?;
    let mut sources: Vec<PathBuf> = fs::read_dir(&algorithms)
        .map_err(|error| format!("{}: {error}", algorithms.display()))?
        .map(|entry| entry.expect("readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();

    // `NAME=HASH ...`, from the build script of braid-algorithms, which lists the same folder.
    let hashes = env::var("DEP_BRAID_ALGORITHMS_HASHES").expect("braid-algorithms tells them");
    let hashes: HashMap<&str, &str> =
        hashes.split_whitespace().filter_map(|one| one.split_once('=')).collect();
    let mut list = String::from("&[\n");
    for source in &sources {
        let name = source.file_stem().and_then(|stem| stem.to_str()).expect("names are ASCII");
        let hash = hashes.get(name).expect("both crates list the folder");
        compile(&clang, &root, source, hash, &out.join(format!("{name}.bpf.o")))?;
        writeln!(list, "object!({name:?}),").expect("a string");
    }
    list.push_str("]\n");
    fs::write(out.join("objects.rs"), list).map_err(|error| error.to_string())?;

    for name in ["fixed_test", "published", "rtts"] {
        compile(
            &clang,
            &root,
            &kernel.join(format!("{name}.bpf.c")),
            "0",
            &out.join(format!("{name}.bpf.o")),
        )?;
    }
    Ok(())
}

fn compile(clang: &Path, root: &Path, source: &Path, source_hash: &str, object: &Path) -> Result<(), String> {
    let output = Command::new(clang)
        .current_dir(root)
        .args(clang::FLAGS)
        .args(env::var_os("CI").map(|_| "-Werror"))
        .arg(format!("-DBRAID_SOURCE_HASH={source_hash}ull"))
        .args(["-I", "algorithms", "-I", "kernel"])
        // Relative, so that objects do not depend on the build folder.
        .arg(source.strip_prefix(root).unwrap_or(source))
        .arg(format!("-ffile-prefix-map={}=.", root.display()))
        .arg("-o")
        .arg(object)
        .output()
        .map_err(|error| format!("{}: {error}", clang.to_string_lossy()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let remedy = if messages.contains("unable to create target") { REMEDY } else { "" };
        return Err(format!(
            "{} could not compile {} for BPF:\n{messages}{remedy}",
            clang.display(),
            source.display()
        ));
    }
    for line in messages.lines() {
        println!("cargo::warning={line}");
    }
    Ok(())
}
