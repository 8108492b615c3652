//! clang for BPF. The build of `braid-kernel` includes this file, so that a user's file is compiled as those of the
//! tree.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Versions that work with the verifier and our C; tried in this order after `$BRAID_CLANG`.
const NAMES: [&str; 9] =
    ["clang-19", "clang-20", "clang-21", "clang-22", "clang-18", "clang-17", "clang-16", "clang-15", "clang"];
const OLDEST: u32 = 15;

pub(crate) const REMEDY: &str = "install one with `apt-get install clang` (Debian 13, Ubuntu 24.04) or `apt-get install clang-19` \
                          (Debian 12), or name one in the variable BRAID_CLANG";

/// v3: the newest instruction set of Linux 6.4, our minimum. -g: BTF.
pub(crate) const FLAGS: [&str; 13] = [
    "-target",
    "bpf",
    "-mcpu=v3",
    "-g",
    "-O2",
    "-std=gnu11",
    "-ffreestanding",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-Wall",
    "-Wextra",
    "-Wno-unused-parameter",
    "-c",
];

/// The first suitable one; else the problem, without the remedy.
pub(crate) fn find() -> Result<PathBuf, String> {
    if let Some(clang) = env::var_os("BRAID_CLANG").map(PathBuf::from) {
        return match major_version(&clang) {
            Some(version) if version >= OLDEST => Ok(clang),
            Some(version) => {
                Err(format!("BRAID_CLANG={} is clang {version}, {OLDEST} is needed", clang.to_string_lossy()))
            }
            None => Err(format!("BRAID_CLANG={} is no clang that runs", clang.to_string_lossy())),
        };
    }
    NAMES
        .iter()
        .map(PathBuf::from)
        .find(|clang| major_version(clang).is_some_and(|version| version >= OLDEST))
        .ok_or_else(|| format!("no clang {OLDEST} or newer, needed to compile for BPF"))
}

fn major_version(clang: &Path) -> Option<u32> {
    let output = Command::new(clang).args(["-dM", "-E", "-x", "c", "/dev/null"]).output().ok()?;
    let macros = String::from_utf8(output.stdout).ok()?;
    macros.lines().find_map(|line| line.strip_prefix("#define __clang_major__ "))?.trim().parse().ok()
}
