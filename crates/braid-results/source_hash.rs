//! For build scripts: a hash of the sources, so that results can be told from those of another version.

use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest as _, Sha256};

/// Writes the hash of these folders to the file `source-hash` of the build folder.
pub(crate) fn write(folders: &[&str]) {
    let mut files = Vec::new();
    for folder in folders {
        collect(Path::new(folder), &mut files);
        println!("cargo::rerun-if-changed={folder}");
    }
    files.retain(|file| file.extension().is_none_or(|extension| extension != "md"));
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        println!("cargo::rerun-if-changed={}", file.display());
        hash.update(file.display().to_string());
        hash.update(fs::read(&file).expect("a source can be read"));
    }
    let text = u128::from_be_bytes(hash.finalize()[..16].try_into().expect("16 bytes"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it")).join("source-hash");
    fs::write(out, format!("{text:032x}")).expect("the build folder can be written");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("sources are there") {
        let path = entry.expect("sources are there").path();
        if path.is_dir() { collect(&path, files) } else { files.push(path) }
    }
}
