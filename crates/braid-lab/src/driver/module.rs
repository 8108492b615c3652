//! The packet scheduler module, built for a kernel of the lab.

use std::{
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
};

use braid_study::Stop;
use rustix::fs::FlockOperation;
use sha2::{Digest as _, Sha256};

use super::{
    error,
    headers::Headers,
    kernels::{Kernel, run},
    programs::find,
    scratch::lock,
};
use crate::job::SCHEDULER_MODULE;

/// Its sources: path in its folder, and content.
const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/module.rs"));

/// Maximum of compiler output in a message.
const SHOWN: usize = 12;

/// Hash of the module's sources.
pub(crate) fn source_hash() -> String {
    let mut hash = Sha256::new();
    for (path, content) in SOURCES {
        hash.update(format!("{path} {}\n{content}", content.len()));
    }
    format!("{:x}", hash.finalize())[..16].to_owned()
}

/// The module for this kernel, from the cache if it was built before.
pub(crate) fn built(
    kernel: &Kernel,
    cache: &Path,
    stop: &AtomicBool,
    say: &dyn Fn(&str),
) -> Result<Vec<u8>, Stop> {
    let headers = Headers::of(kernel, cache, stop, say)?;
    let compiler = compiler(&headers)?;
    let identity = Sha256::digest(format!("{} {} {compiler:?}", source_hash(), headers.identity));
    let parent = cache.join("modules");
    // Its path enters the compiler's output, so it is always the same.
    let folder = parent.join(&format!("{identity:x}")[..16]);
    fs::create_dir_all(&folder).map_err(error::writing(&folder))?;
    let _alone = lock(&folder, FlockOperation::LockExclusive).map_err(error::writing(&folder))?;
    let done = folder.join("done.ko");
    if !done.exists() {
        say("building the module with the packet schedulers");
        let work = folder.join("work");
        let _ = fs::remove_dir_all(&work);
        write_sources(&work)?;
        make(&headers, &compiler, &work, stop)?;
        fs::rename(work.join(SCHEDULER_MODULE), &done).map_err(error::writing(&done))?;
        let _ = fs::remove_dir_all(&work);
    }
    fs::read(&done).map_err(error::reading(&done))
}

fn write_sources(folder: &Path) -> Result<(), Stop> {
    for (path, content) in SOURCES {
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).and_then(|()| fs::write(&path, content)).map_err(error::writing(&path))?;
    }
    Ok(())
}

/// The kernel's compiler, or else the machine's default: path and version.
fn compiler(headers: &Headers) -> Result<(PathBuf, String), Stop> {
    let usual = headers.compiler.clone().into_iter().chain(["gcc".to_owned()]);
    let found = usual.into_iter().find_map(|name| {
        let path = find(&name)?;
        let output = Command::new(&path).arg("--version").output().ok()?;
        let version = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
        output.status.success().then_some((path, version))
    });
    let missing = |what: &str, package: &str| {
        error::machine_with(
            format!("{what} is missing, which builds the kernel module with the packet schedulers"),
            format!("apt-get install {package}, or leave out --scheduler: the kernel's own needs no module"),
        )
    };
    let name = headers.compiler.as_deref().unwrap_or("gcc");
    let found = found.ok_or_else(|| missing(name, name))?;
    for (program, package) in [("make", "make"), ("ld", "binutils")] {
        find(program).ok_or_else(|| missing(program, package))?;
    }
    Ok(found)
}

fn make(
    headers: &Headers,
    (compiler, version): &(PathBuf, String),
    work: &Path,
    stop: &AtomicBool,
) -> Result<(), Stop> {
    let log = work.join("log");
    let report = fs::File::create(&log).map_err(error::writing(&log))?;
    let errors = report.try_clone().map_err(error::writing(&log))?;
    let mut command = Command::new("make");
    command.arg("-C").arg(&headers.folder).arg(format!("M={}", work.display()));
    command.arg(format!("CC={}", compiler.display()));
    // The module's own type information is unused and would need pahole.
    command.args(["CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"]);
    // Settings of the caller's own builds.
    for name in ["MAKEFLAGS", "MFLAGS", "MAKELEVEL", "CFLAGS", "LDFLAGS", "ARCH", "CROSS_COMPILE"] {
        command.env_remove(name);
    }
    command.env("LC_ALL", "C").stdin(Stdio::null()).stdout(report).stderr(errors).process_group(0);
    let is_done = run(&mut command, stop)?;
    let module = work.join(SCHEDULER_MODULE);
    if is_done && module.exists() {
        return strip(&module, stop);
    }
    let report = fs::read_to_string(&log).unwrap_or_default();
    let lines: Vec<&str> = report.lines().filter(|line| !line.starts_with("make")).collect();
    let last = lines[lines.len().saturating_sub(SHOWN)..].join("\n  ");
    Err(error::machine_with(
        format!("the kernel module with the packet schedulers cannot be built with {version}:\n  {last}"),
        format!(
            "all of the report is in {}; leave out --scheduler: the kernel's own needs no module",
            log.display()
        ),
    ))
}

/// Removes debug information.
fn strip(module: &Path, stop: &AtomicBool) -> Result<(), Stop> {
    let mut command = Command::new("strip");
    command.arg("--strip-debug").arg(module);
    if run(&mut command, stop)? {
        return Ok(());
    }
    Err(error::machine_with(format!("strip failed on {}", module.display()), "apt-get install binutils"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_has_every_scheduler_and_lists_it() {
        let list = SOURCES.iter().find(|(path, _)| *path == "list.h").expect("it is embedded").1;
        for scheduler in braid_schedulers::all() {
            let path = format!("schedulers/{}.c", scheduler.name());
            assert!(SOURCES.iter().any(|(own, _)| *own == path), "{path}");
            assert!(list.contains(&format!("S({})", scheduler.name())), "list.h has no {}", scheduler.name());
        }
        let listed = list.matches("S(").count() - list.matches("BRAID_SCHEDULERS(").count();
        assert_eq!(listed, braid_schedulers::all().len());
    }
}
