//! The guest's kernel: from the pinned list, a Debian package or a kernel that is installed here.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::{self, Read},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use braid_study::Stop;
use liblzma::read::XzDecoder;
use object::{Object as _, ObjectSection as _};
use rustix::process::{Signal, set_parent_process_death_signal};
use sha2::{Digest as _, Sha256};

use super::{cache::whole, error};

/// Name, package within a Debian archive, sha256.
const PINNED: &str = include_str!("../../../../kernel/guests.tsv");

/// What the guest needs of a kernel beyond what is built in, as far as it exists as modules. Dependencies come along.
const MODULES: [&str; 13] = [
    "veth",
    "sch_netem",
    "sch_cbs",
    "sch_red",
    "sch_codel",
    "sch_fq_codel",
    "sch_prio",
    "cls_matchall",
    "act_gact",
    "qemu_fw_cfg",
    "virtio_console",
    "mptcp_diag",
    "tcp_diag",
];

/// A kernel, ready to be booted.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// Its release, as `uname -r` prints it.
    pub(crate) release: String,
    /// The bootable image.
    pub(crate) image: PathBuf,
    /// Names and contents of modules, in an order in which they can be loaded.
    pub(crate) modules: Vec<Module>,
    /// Its name, if it is one of the list.
    pub(crate) pinned: Option<String>,
}

/// The name of the kernel that is used unless another is asked for.
pub(crate) fn default_kernel() -> &'static str {
    names().first().expect("there is one in the list")
}

/// The names of the pinned kernels, the first being the default.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<&str> = entries().map(|(name, ..)| name).collect();
    names.dedup();
    names
}

fn entries() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    entries_of(PINNED)
}

/// Of a list of packages: name, package within an archive, sha256.
pub(crate) fn entries_of(
    list: &'static str,
) -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    list.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut fields = line.split('\t');
        Some((fields.next()?, fields.next()?, fields.next()?))
    })
}

/// What tells a kernel from others of the same name, without getting it: the sums of its packages, or of its file.
pub(crate) fn identity(name: &str) -> Result<String, Stop> {
    let pinned: Vec<&str> = entries().filter(|(pinned, ..)| *pinned == name).map(|(.., sum)| sum).collect();
    if !pinned.is_empty() {
        return Ok(pinned.join(" "));
    }
    let path = file(name)?;
    sha256(path).map_err(error::reading(path))
}

/// One that is not in the list.
fn file(name: &str) -> Result<&Path, Stop> {
    let path = Path::new(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(error::input(
        format!("no kernel is called \"{name}\", and there is no such file"),
        format!(
            "--kernel takes {}, a kernel's Debian package, or a file such as /boot/vmlinuz-6.12.0",
            names().join(", ")
        ),
    ))
}

impl Kernel {
    /// The kernel of that name in the list, of that package (`.deb`), or of that file, whose modules are then in
    /// `/lib/modules`. Packages are fetched into `cache` if need be; `say` reports what takes long.
    /// Set `stop` to end it early.
    pub(crate) fn find(
        name: &str,
        cache: &Path,
        stop: &AtomicBool,
        say: &dyn Fn(&str),
    ) -> Result<Self, Stop> {
        let identity = identity(name)?;
        let pinned: Vec<_> = entries().filter(|(pinned, ..)| *pinned == name).collect();
        if !pinned.is_empty() {
            let fetched = || pinned.iter().map(|(_, path, sum)| fetch(path, sum, cache, stop, say)).collect();
            let kernel = Self::of_packages(&identity, fetched, cache, say)?;
            return Ok(Self { pinned: Some(name.to_owned()), ..kernel });
        }
        let path = Path::new(name);
        if path.extension().is_some_and(|extension| extension == "deb") {
            Self::of_packages(&identity, || Ok(vec![path.to_owned()]), cache, say)
        } else {
            Self::installed(path)
        }
    }

    /// A kernel file of this machine.
    fn installed(image: &Path) -> Result<Self, Stop> {
        let release = release(image)?;
        let folder = Path::new("/lib/modules").join(&release);
        let mut files = BTreeMap::new();
        let reading = error::reading(&folder);
        collect(&folder.join("kernel"), &mut files).map_err(&reading)?;
        let modules = in_order(|name| files.get(name).cloned()).map_err(reading)?;
        Ok(Self { release, image: image.to_owned(), modules, pinned: None })
    }

    /// From packages that hold `vmlinuz` and the modules. What is needed of them is kept unpacked beside them, and
    /// they are only looked for where it is not there.
    fn of_packages(
        identity: &str,
        packages: impl FnOnce() -> Result<Vec<PathBuf>, Stop>,
        cache: &Path,
        say: &dyn Fn(&str),
    ) -> Result<Self, Stop> {
        let folder = cache.join("unpacked").join(&format!("{:x}", Sha256::digest(identity))[..16]);
        whole(&folder, is_sealed, say, |fresh| {
            let packages = packages()?;
            say("unpacking the kernel");
            fs::create_dir(fresh).map_err(error::writing(fresh))?;
            packages
                .iter()
                .try_for_each(|package| content(package, fresh, |archive| take(archive, fresh)))?;
            if !fresh.join("vmlinuz").exists() {
                return Err(error::input(
                    format!("{} holds no kernel image", packages[0].display()),
                    "name a package such as linux-image-6.12.0-amd64.deb",
                ));
            }
            let seal = sum_of(fresh).map_err(error::reading(fresh))?;
            fs::write(fresh.join(SEAL), seal).map_err(error::writing(fresh))
        })?;
        let image = folder.join("vmlinuz");
        let find = |name: &str| Some(folder.join(format!("{name}.ko"))).filter(|path| path.exists());
        let modules = in_order(find).map_err(error::reading(&folder))?;
        Ok(Self { release: release(&image)?, image, modules, pinned: None })
    }
}

/// What was unpacked has the sum of itself in this file.
const SEAL: &str = "complete";

fn is_sealed(folder: &Path) -> io::Result<bool> {
    Ok(fs::read_to_string(folder.join(SEAL))? == sum_of(folder)?)
}

/// Of all other files of a folder, their names and what is in them.
fn sum_of(folder: &Path) -> io::Result<String> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    let mut hash = Sha256::new();
    for path in paths.iter().filter(|path| !path.ends_with(SEAL)) {
        hash.update(file_name(path));
        hash.update(Sha256::digest(fs::read(path)?));
    }
    Ok(format!("{:x}", hash.finalize()))
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The name of a module from that of its file, as the kernel spells it.
fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let (name, rest) = name.split_once(".ko")?;
    ["", ".xz"].contains(&rest).then(|| name.replace('-', "_"))
}

fn collect(folder: &Path, files: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if let Some(name) = module_name(&path) {
            files.insert(name, path);
        }
    }
    Ok(())
}

/// Name and content of a module's file.
type Module = (String, Vec<u8>);

/// The modules and what they depend on, dependencies first. `find` gives the file of a module, if there is one.
fn in_order(find: impl Fn(&str) -> Option<PathBuf>) -> io::Result<Vec<Module>> {
    fn add(
        name: &str,
        find: &dyn Fn(&str) -> Option<PathBuf>,
        seen: &mut BTreeSet<String>,
        modules: &mut Vec<Module>,
    ) -> io::Result<()> {
        if !seen.insert(name.to_owned()) {
            return Ok(());
        }
        let Some(path) = find(name) else { return Ok(()) };
        let bytes = fs::read(&path)?;
        let bytes = if is_xz(&path) { xz(&bytes[..])? } else { bytes };
        for needed in depends(&bytes) {
            add(&needed, find, seen, modules)?;
        }
        modules.push((format!("{name}.ko"), bytes));
        Ok(())
    }
    let (mut seen, mut modules) = (BTreeSet::new(), Vec::new());
    for name in MODULES {
        add(name, &find, &mut seen, &mut modules)?;
    }
    Ok(modules)
}

fn is_xz(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "xz")
}

fn xz(bytes: impl Read) -> io::Result<Vec<u8>> {
    let mut plain = Vec::new();
    XzDecoder::new_multi_decoder(bytes).read_to_end(&mut plain)?;
    Ok(plain)
}

/// What a module says that it needs.
fn depends(module: &[u8]) -> Vec<String> {
    let Ok(file) = object::File::parse(module) else { return Vec::new() };
    let Some(Ok(info)) = file.section_by_name(".modinfo").map(|section| section.data()) else {
        return Vec::new();
    };
    let list = info.split(|&byte| byte == 0).find_map(|entry| entry.strip_prefix(b"depends="));
    let list = String::from_utf8_lossy(list.unwrap_or_default()).replace('-', "_");
    list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// The release that a kernel image names in its header (Documentation/arch/x86/boot.rst).
fn release(image: &Path) -> Result<String, Stop> {
    let bytes = fs::read(image).map_err(error::reading(image))?;
    let is_kernel = bytes.get(0x202..0x206) == Some(b"HdrS");
    let offset = bytes.get(0x20e..0x210).map(|at| usize::from(u16::from_le_bytes([at[0], at[1]])) + 0x200);
    let text =
        offset.filter(|_| is_kernel).and_then(|offset| bytes.get(offset..(offset + 256).min(bytes.len())));
    let version = text.map(|text| String::from_utf8_lossy(text).into_owned());
    version
        .and_then(|version| version.split([' ', '\0']).next().map(str::to_owned))
        .filter(|release| !release.is_empty())
        .ok_or_else(|| {
            error::input(
                format!("{} is no x86 kernel image", image.display()),
                "name a file such as /boot/vmlinuz-6.12.0",
            )
        })
}

/// Takes everything out of a Debian package.
pub(crate) fn unpack_all(package: &Path, to: &Path) -> Result<(), Stop> {
    content(package, to, |mut archive| archive.unpack(to))
}

/// Hands the files of a Debian package over, which are to go to a folder.
fn content(
    package: &Path,
    to: &Path,
    take: impl Fn(tar::Archive<Box<dyn Read + '_>>) -> io::Result<()>,
) -> Result<(), Stop> {
    let failed = |error: io::Error| match error.kind() {
        kind @ (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => error::writing(to)(kind.into()),
        _ => error::reading(package)(error),
    };
    let file = fs::File::open(package).map_err(failed)?;
    let mut archive = ar::Archive::new(io::BufReader::new(file));
    while let Some(entry) = archive.next_entry() {
        let entry = entry.map_err(failed)?;
        let name = String::from_utf8_lossy(entry.header().identifier()).into_owned();
        let plain: Box<dyn Read + '_> = match name.as_str() {
            "data.tar" => Box::new(entry),
            "data.tar.xz" => Box::new(XzDecoder::new_multi_decoder(entry)),
            _ => continue,
        };
        return take(tar::Archive::new(plain)).map_err(failed);
    }
    Err(error::input(
        format!("{} is no Debian package with an xz-compressed content", package.display()),
        "give the package's vmlinuz instead, with its modules in /lib/modules",
    ))
}

fn take<R: Read>(mut archive: tar::Archive<R>, to: &Path) -> io::Result<()> {
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let name = file_name(&path);
        if name == "vmlinuz" || (name.starts_with("vmlinuz-") && path.to_string_lossy().contains("boot/")) {
            entry.unpack(to.join("vmlinuz"))?;
        } else if let Some(module) = module_name(&path).filter(|module| is_of_interest(&path, module)) {
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            let bytes = if is_xz(&path) { xz(&bytes[..])? } else { bytes };
            fs::write(to.join(format!("{module}.ko")), bytes)?;
        }
    }
    Ok(())
}

/// Whether it is one of [`MODULES`] or of the folders that these depend on.
fn is_of_interest(path: &Path, module: &str) -> bool {
    let path = path.to_string_lossy();
    MODULES.contains(&module)
        || path.contains("/net/sched/")
        || path.contains("/net/ipv4/")
        || path.contains("/net/mptcp/")
}

/// The package from the cache, or from the archives that apt is configured for, by apt's own means.
pub(crate) fn fetch(
    path: &str,
    sum: &str,
    cache: &Path,
    stop: &AtomicBool,
    say: &dyn Fn(&str),
) -> Result<PathBuf, Stop> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let file = cache.join(name);
    whole(&file, |file| Ok(sha256(file)? == sum), say, |part| fetch_to(part, path, sum, stop, say))?;
    Ok(file)
}

fn fetch_to(part: &Path, path: &str, sum: &str, stop: &AtomicBool, say: &dyn Fn(&str)) -> Result<(), Stop> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let helper = Path::new("/usr/lib/apt/apt-helper");
    let archives = archives();
    if !helper.exists() || archives.is_empty() {
        return Err(error::machine_with(
            format!("this machine has no apt with an archive to fetch {name} from"),
            "give a kernel of yours with --kernel FILE: a vmlinuz, or the Debian package of one",
        ));
    }
    say(&format!("fetching {name}"));
    let log = part.with_extension("log");
    let mut reports = Vec::new();
    for archive in &archives {
        // A plus sign in a name stands for itself in a path, but not with every server.
        let address = format!("{archive}/{}", path.replace('+', "%2B"));
        let errors = fs::File::create(&log).map_err(error::writing(&log))?;
        let mut command = Command::new(helper);
        command.args(["-q", "download-file", &address]).arg(part).arg(format!("SHA256:{sum}"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors).process_group(0);
        if run(&mut command, stop)? && sha256(part).map_err(error::reading(part))? == sum {
            return Ok(());
        }
        let report = fs::read_to_string(&log).unwrap_or_default();
        let last = report.lines().rfind(|line| line.starts_with("E: ") || line.contains("Failed"));
        reports
            .push(format!("{archive}: {}", last.unwrap_or("not there, or not what the list names").trim()));
    }
    Err(error::machine_with(
        format!("cannot fetch {name} from any archive that apt knows:\n  {}", reports.join("\n  ")),
        "try again when the archive can be reached, or give a kernel of yours with --kernel FILE",
    ))
}

/// Runs a program to its end, and says whether it succeeded. It ends with this one, and when `stop` is set.
pub(crate) fn run(command: &mut Command, stop: &AtomicBool) -> Result<bool, Stop> {
    let name = command.get_program().to_string_lossy().into_owned();
    let running = |error| error::machine(format!("cannot run {name}: {error}"));
    // SAFETY: between fork and exec, one system call.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::KILL))?));
    }
    let mut child = command.spawn().map_err(running)?;
    loop {
        if let Some(status) = child.try_wait().map_err(running)? {
            return Ok(status.success());
        }
        if stop.load(Ordering::Relaxed) {
            // What it has begun is in the scratch folder.
            let _ = child.kill();
            let _ = child.wait();
            return Err(Stop::Cancelled);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The archives that apt is configured for; the pool is the same for all suites.
fn archives() -> Vec<String> {
    if let Ok(mirror) = env::var("MIRROR") {
        return vec![mirror.trim_end_matches('/').to_owned()];
    }
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    let parts = fs::read_dir("/etc/apt/sources.list.d").into_iter().flatten().flatten();
    files.extend(parts.map(|entry| entry.path()));
    let mut archives = BTreeSet::new();
    for text in files.iter().filter_map(|file| fs::read_to_string(file).ok()) {
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_list = matches!(words.first(), Some(&("URIs:" | "deb")));
            if is_list {
                let addresses = words.iter().filter(|word| word.starts_with("http"));
                archives.extend(addresses.map(|word| word.trim_end_matches('/').to_owned()));
            }
        }
    }
    archives.into_iter().collect()
}

fn sha256(file: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut fs::File::open(file)?, &mut hash)?;
    Ok(format!("{:x}", hash.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_known_by_what_it_is_and_not_by_its_name() {
        let of_list: BTreeSet<String> =
            names().into_iter().map(|name| identity(name).expect("it is in the list")).collect();
        assert_eq!(of_list.len(), names().len());
        let folder = tempfile::tempdir().unwrap();
        let [one, same, other] = [("one", "a"), ("same", "a"), ("other", "b")].map(|(name, content)| {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            identity(path.to_str().unwrap()).unwrap()
        });
        assert_eq!(one, same);
        assert_ne!(one, other);
        let refused = identity("6.12.0-none").unwrap_err();
        let expected = "no kernel is called \"6.12.0-none\"";
        assert!(matches!(&refused, Stop::All(error) if error.message.contains(expected)), "{refused:?}");
    }
}
