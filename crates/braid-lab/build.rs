//! Embeds what the kernel module with the packet schedulers is made of, and hashes the sources, so that results can be told from
//! those of another version.

#[path = "../braid-results/source_hash.rs"]
mod source_hash;

use std::{env, fmt::Write as _, fs, path::PathBuf};

/// Folders of the repository, the place of each in the module's folder, and which of their files.
const FOLDERS: [(&str, &str, &[&str]); 4] = [
    ("kernel/mptcp_sched", "", &["c", "h", "Kbuild"]),
    ("kernel/shared", "", &["layout.c", "layout.h"]),
    ("schedulers", "schedulers/", &["c", "h"]),
    ("algorithms", "algorithms/", &["fixed.h"]),
];

fn main() {
    source_hash::write(&["src", "../braid-kernel/src", "../../kernel"]);
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let mut list = String::from("&[\n");
    for (folder, place, wanted) in FOLDERS {
        let folder = manifest.join("../..").join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        let entries = fs::read_dir(&folder).expect("a folder of the repository");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a readable folder").path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().and_then(|name| name.to_str()).expect("names are ASCII");
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or(name);
            if wanted.contains(&ending) || wanted.contains(&name) {
                let path = path.canonicalize().expect("it was listed");
                let path = path.to_str().expect("the repository's path is UTF-8");
                writeln!(list, "({:?}, include_str!({path:?})),", format!("{place}{name}"))
                    .expect("writing to a string");
            }
        }
    }
    list.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("module.rs"), list).expect("the build folder is writable");
}
