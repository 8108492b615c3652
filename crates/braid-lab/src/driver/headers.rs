//! Kernel headers for building modules: a distribution's packages, or installed ones.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use braid_study::Stop;
use sha2::{Digest as _, Sha256};

use super::{
    cache::whole,
    error,
    kernels::{Kernel, entries_of, fetch, unpack_all},
};

/// Name, package within a Debian archive, sha256.
const PINNED: &str = include_str!("../../../../kernel/headers.tsv");

/// Headers of a kernel, ready for use.
#[derive(Debug)]
pub(crate) struct Headers {
    /// Argument of `make -C`.
    pub(crate) folder: PathBuf,
    /// Identifies these headers.
    pub(crate) identity: String,
    /// The compiler of the kernel, if known.
    pub(crate) compiler: Option<String>,
}

impl Headers {
    /// Headers of this kernel; fetches packages if necessary.
    pub(crate) fn of(
        kernel: &Kernel,
        cache: &Path,
        stop: &AtomicBool,
        say: &dyn Fn(&str),
    ) -> Result<Self, Stop> {
        let pinned: Vec<_> =
            entries_of(PINNED).filter(|(name, ..)| Some(*name) == kernel.pinned.as_deref()).collect();
        let (folder, identity) = if pinned.is_empty() {
            (installed(kernel)?, kernel.release.clone())
        } else {
            let identity: Vec<&str> = pinned.iter().map(|(.., sum)| *sum).collect();
            let identity = identity.join(" ");
            let root = cache.join("headers").join(&format!("{:x}", Sha256::digest(&identity))[..16]);
            let is_whole = |root: &Path| root.metadata().map(|_| true);
            whole(&root, is_whole, say, |fresh| {
                let packages = pinned.iter().map(|(_, path, sum)| fetch(path, sum, cache, stop, say));
                let packages = packages.collect::<Result<Vec<_>, _>>()?;
                say("unpacking the kernel's headers");
                packages.iter().try_for_each(|package| unpack_all(package, fresh))?;
                relocate(fresh, &root).map_err(error::writing(fresh))
            })?;
            (root.join("usr/src").join(format!("linux-headers-{}", kernel.release)), identity)
        };
        let config = fs::read_to_string(folder.join(".config"))
            .or_else(|_| fs::read_to_string(folder.join("include/config/auto.conf")))
            .unwrap_or_default();
        Ok(Self { compiler: compiler(&config), folder, identity })
    }
}

/// Headers of an installed kernel.
fn installed(kernel: &Kernel) -> Result<PathBuf, Stop> {
    let folder = Path::new("/lib/modules").join(&kernel.release).join("build");
    if folder.join("Makefile").exists() {
        return Ok(folder);
    }
    Err(error::machine_with(
        format!(
            "the headers of Linux {} are missing; the module with the packet schedulers needs them",
            kernel.release
        ),
        format!(
            "apt-get install linux-headers-{}, or use another --kernel, or leave out --scheduler: the kernel's own needs no module",
            kernel.release
        ),
    ))
}

/// Packages expect to be unpacked at `/`: rewrites absolute paths in `from` to paths in `root`, their final place.
fn relocate(from: &Path, root: &Path) -> io::Result<()> {
    let sources = from.join("usr/src");
    for entry in fs::read_dir(&sources)? {
        let folder = entry?.path();
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            let is_link = path.symlink_metadata()?.is_symlink();
            if is_link {
                let to = fs::read_link(&path)?;
                if let Ok(inside) = to.strip_prefix("/") {
                    fs::remove_file(&path)?;
                    std::os::unix::fs::symlink(root.join(inside), &path)?;
                }
            } else if path.file_name().is_some_and(|name| name == "Makefile") {
                let text = fs::read_to_string(&path)?;
                let here = format!("{}/usr/", root.display());
                fs::write(
                    &path,
                    text.replace("/usr/src/", &format!("{here}src/"))
                        .replace("/usr/lib/", &format!("{here}lib/")),
                )?;
            }
        }
    }
    Ok(())
}

/// Such as `gcc-12`, from the kernel's configuration.
fn compiler(config: &str) -> Option<String> {
    let text = config.lines().find_map(|line| line.strip_prefix("CONFIG_CC_VERSION_TEXT="))?;
    let name = text.trim_matches('"').split(' ').next()?;
    Some(name.rsplit_once("linux-gnu-").map_or(name, |(_, name)| name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_the_one_that_the_kernel_was_built_with() {
        let config =
            "CONFIG_X86=y\nCONFIG_CC_VERSION_TEXT=\"x86_64-linux-gnu-gcc-12 (Debian 12.2.0-14) 12.2.0\"\n";
        assert_eq!(compiler(config).as_deref(), Some("gcc-12"));
        assert_eq!(compiler("CONFIG_CC_VERSION_TEXT=\"gcc (GCC) 15.1\"").as_deref(), Some("gcc"));
        assert_eq!(compiler("CONFIG_X86=y"), None);
    }

    #[test]
    fn what_packages_name_by_an_absolute_path_is_found_where_they_are_unpacked() {
        let folder = tempfile::tempdir().unwrap();
        let (from, root) = (folder.path().join("fresh"), folder.path().join("root"));
        let source = from.join("usr/src/linux-headers-1");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("Makefile"), "include /usr/src/linux-headers-common/Makefile\n").unwrap();
        std::os::unix::fs::symlink("/usr/lib/linux-kbuild/scripts", source.join("scripts")).unwrap();
        std::os::unix::fs::symlink("../other", source.join("tools")).unwrap();
        relocate(&from, &root).unwrap();
        let text = fs::read_to_string(source.join("Makefile")).unwrap();
        assert_eq!(text, format!("include {}/usr/src/linux-headers-common/Makefile\n", root.display()));
        assert_eq!(fs::read_link(source.join("scripts")).unwrap(), root.join("usr/lib/linux-kbuild/scripts"));
        assert_eq!(fs::read_link(source.join("tools")).unwrap(), Path::new("../other"));
    }
}
