//! Compiles every algorithm of `algorithms/` for BPF and embeds the objects, so that users need no clang.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// What the verifier and our C accept; tried in this order after `$BRAID_CLANG`.
const CLANGS: [&str; 9] =
    ["clang-19", "clang-20", "clang-21", "clang-22", "clang-18", "clang-17", "clang-16", "clang-15", "clang"];
const OLDEST_CLANG: u32 = 15;

const REMEDY: &str = "install one with `apt-get install clang` (Debian 13, Ubuntu 24.04) or `apt-get install \
                      clang-19` (Debian 12), or name one in the variable BRAID_CLANG";

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
    // Relative, so that a build folder that was copied watches the files beside it.
    for watched in ["../../algorithms", "../../kernel"] {
        println!("cargo::rerun-if-changed={watched}");
    }
    println!("cargo::rerun-if-env-changed=BRAID_CLANG");

    let clang = find_clang()?;
    let mut sources: Vec<PathBuf> = fs::read_dir(&algorithms)
        .map_err(|error| format!("{}: {error}", algorithms.display()))?
        .map(|entry| entry.expect("readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();

    let mut list = String::from("&[\n");
    for source in &sources {
        let name = source.file_stem().and_then(|stem| stem.to_str()).expect("names are ASCII");
        let algorithm = braid_algorithms::find(name).expect("both crates list the folder");
        compile(&clang, &root, source, algorithm.source_hash(), &out.join(format!("{name}.bpf.o")))?;
        writeln!(list, "object!({name:?}),").expect("a string");
    }
    list.push_str("]\n");
    fs::write(out.join("objects.rs"), list).map_err(|error| error.to_string())?;

    for name in ["fixed_test", "published"] {
        compile(&clang, &root, &kernel.join(format!("{name}.bpf.c")), 0, &out.join(format!("{name}.bpf.o")))?;
    }
    Ok(())
}

/// The first clang of [`CLANGS`] that is there and new enough.
fn find_clang() -> Result<PathBuf, String> {
    if let Some(clang) = env::var_os("BRAID_CLANG").map(PathBuf::from) {
        return match major_version(&clang) {
            Some(version) if version >= OLDEST_CLANG => Ok(clang),
            Some(version) => Err(format!(
                "BRAID_CLANG={} is clang {version}, {OLDEST_CLANG} is needed",
                clang.to_string_lossy()
            )),
            None => Err(format!("BRAID_CLANG={} is no clang that runs", clang.to_string_lossy())),
        };
    }
    CLANGS
        .iter()
        .map(PathBuf::from)
        .find(|clang| major_version(clang).is_some_and(|version| version >= OLDEST_CLANG))
        .ok_or_else(|| format!("no clang {OLDEST_CLANG} or newer, needed to compile for BPF: {REMEDY}"))
}

fn major_version(clang: &Path) -> Option<u32> {
    let output = Command::new(clang).args(["-dM", "-E", "-x", "c", "/dev/null"]).output().ok()?;
    let macros = String::from_utf8(output.stdout).ok()?;
    macros.lines().find_map(|line| line.strip_prefix("#define __clang_major__ "))?.trim().parse().ok()
}

fn compile(clang: &Path, root: &Path, source: &Path, source_hash: u64, object: &Path) -> Result<(), String> {
    let output = Command::new(clang)
        .current_dir(root)
        // v3: the newest instruction set that Linux 6.4, our floor, knows. -g: BTF.
        .args(["-target", "bpf", "-mcpu=v3", "-g", "-O2", "-std=gnu11"])
        .args(["-ffreestanding", "-fwrapv", "-fno-strict-aliasing"])
        .args(["-Wall", "-Wextra", "-Wno-unused-parameter"])
        .args(env::var_os("CI").map(|_| "-Werror"))
        .arg(format!("-DBRAID_SOURCE_HASH={source_hash:#x}ull"))
        .args(["-I", "algorithms", "-I", "kernel", "-c"])
        // Relative, so that objects do not depend on the folder they were built in.
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
