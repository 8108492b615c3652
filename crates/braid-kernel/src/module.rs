//! The kernel module `tcp_braid` as host: the same algorithms compiled into a module, for kernels without what eBPF takes.

use std::{
    fs,
    io::{self, Read as _, Seek as _, SeekFrom},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    process::Command,
};

use braid_algorithms::Spec;

use crate::{
    error::{Error, Refusal},
    genetlink::{Family, Message, attribute, command, text},
    host::{Host, Loaded, MODULE, Version},
};

/// What this machine has, for [`explain`].
struct Machine {
    release: String,
    has_headers: bool,
    has_sources: bool,
}

impl Machine {
    fn here() -> Self {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        let sources = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("tcp-braid-");
        Self {
            has_headers: Path::new("/lib/modules").join(&release).join("build/Makefile").exists(),
            has_sources: fs::read_dir("/usr/src").is_ok_and(|all| all.flatten().any(sources)),
            release,
        }
    }
}

/// Why modprobe failed, by its output and the kernel log during its run.
fn explain(printed: &str, logged: &str, machine: Machine) -> Refusal {
    let line = |words: &[&str]| {
        let is_it = |line: &&str| words.iter().any(|word| line.contains(word));
        logged.lines().find(is_it).map(|line| line.trim().to_owned())
    };
    let Machine { release, has_headers, has_sources } = machine;
    // busybox has other capitals than kmod.
    let printed = &printed.to_lowercase();
    if printed.contains("not found") || printed.contains("no such file") {
        return Refusal::NotBuilt { release, has_headers, has_sources };
    }
    if let Some(line) = line(&["version magic", "disagrees about version of symbol", "Unknown symbol"]) {
        return Refusal::OtherKernel { line };
    }
    if printed.contains("key was rejected")
        || printed.contains("required key not available")
        || line(&["unsigned module", "Loading of module with"]).is_some()
    {
        return Refusal::Unsigned;
    }
    if let Some(line) =
        line(&["is laid out", "this module is for other kernels", "no MPTCP socket", "written in a way"])
    {
        return Refusal::Layout { line: line.trim_start_matches("tcp_braid: ").to_owned() };
    }
    if printed.contains("operation not permitted") || printed.contains("permission denied") {
        return Refusal::NoPrivileges;
    }
    if printed.contains("exec format error") || printed.contains("invalid module format") {
        return Refusal::OtherKernel { line: printed.trim().to_owned() };
    }
    let report = format!("{}; {}", printed.trim(), logged.trim().replace('\n', "; "));
    Refusal::Other { report: report.trim_matches(|c| c == ' ' || c == ';').to_owned() }
}

/// What the kernel logs while something is done, as far as this process may read it.
struct Log(Option<fs::File>);

impl Log {
    fn begin() -> Self {
        let file = fs::OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg");
        Self(file.ok().and_then(|mut file| file.seek(SeekFrom::End(0)).ok().map(|_| file)))
    }

    fn lines(&mut self) -> String {
        let mut all = String::new();
        let mut record = [0; 8192];
        // A record per read: PRIORITY,SEQUENCE,TIME,FLAGS;TEXT
        while let Some(Ok(length)) = self.0.as_mut().map(|file| file.read(&mut record)) {
            let text = String::from_utf8_lossy(&record[..length]);
            let text = text.split_once(';').map_or("", |(_, text)| text.lines().next().unwrap_or_default());
            all.push_str(text);
            all.push('\n');
        }
        all
    }
}

fn failed(doing: &str) -> impl Fn(io::Error) -> Error + use<> {
    let doing = format!("{doing} (module {MODULE})");
    move |error| match error.kind() {
        io::ErrorKind::PermissionDenied => Error::Module(Refusal::NoPrivileges),
        _ => Error::Kernel { doing: doing.clone(), report: error.to_string() },
    }
}

/// The module's interface, if it is loaded.
pub(crate) fn family() -> Result<Option<Family>, Error> {
    Family::open("braid").map_err(failed("asking for the interface"))
}

/// Whether the module is installed for the running kernel.
pub(crate) fn is_installed() -> bool {
    let release = Machine::here().release;
    is_listed(&release, MODULE)
}

/// Whether the kernel's list of modules, loadable or built in, has it.
pub(crate) fn is_listed(release: &str, module: &str) -> bool {
    ["modules.dep", "modules.builtin"].iter().any(|list| {
        fs::read_to_string(format!("/lib/modules/{release}/{list}"))
            .is_ok_and(|text| text.contains(&format!("/{module}.ko")))
    })
}

/// How the module finds MPTCP connections, while it is loaded: `BTF`, `probe` or `none: ...`.
pub fn module_layout() -> Option<String> {
    let text = fs::read_to_string("/sys/module/tcp_braid/parameters/layout").ok()?;
    Some(text.trim().to_owned())
}

/// Loads the module, without any algorithm, unless it is loaded already.
fn ensure() -> Result<Family, Error> {
    if let Some(family) = family()? {
        return Ok(family);
    }
    let mut log = Log::begin();
    let run = Command::new("modprobe").args([MODULE, "algorithms=none"]).env("LC_ALL", "C").output();
    let doing = || format!("modprobe {MODULE}");
    let missing = |error| Error::at(doing())(format!("{error}: apt-get install kmod"));
    let output = run.map_err(missing)?;
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stderr);
        return Err(Error::Module(explain(&printed, &log.lines(), Machine::here())));
    }
    let silent =
        "the module was loaded but does not answer: another version of it? `rmmod tcp_braid` and try again";
    family()?.ok_or_else(|| Error::at(doing())(silent))
}

/// As [`crate::load`], into the module.
pub(crate) fn load(spec: &Spec, name: &str) -> Result<Option<String>, Error> {
    let family = ensure()?;
    let before = loaded()?.into_iter().find(|loaded| loaded.name == name).map(|loaded| loaded.spec);
    let params = spec.algorithm().params().zip(spec.values());
    let set: Vec<String> = params.map(|(param, value)| format!("{}={value}", param.name)).collect();
    let algorithm = spec.algorithm().name();
    let attributes = [
        text(attribute::NAME, name),
        text(attribute::ALGORITHM, algorithm),
        text(attribute::SET, &set.join(",")),
        text(attribute::SPEC, spec.text()),
    ];
    match family.command(command::LOAD, &attributes) {
        Ok(()) => Ok(before),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(Error::NameTaken { name: format!("{}{name}", crate::PREFIX) })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Error::NotInModule { name: algorithm.to_owned() })
        }
        Err(error) => Err(failed("loading")(error)),
    }
}

/// What the module has, by name.
pub(crate) fn loaded() -> Result<Vec<Loaded>, Error> {
    let Some(family) = family()? else { return Ok(Vec::new()) };
    let messages = family.dump(command::LOADED).map_err(failed("listing what is loaded"))?;
    let mut all: Vec<Loaded> = Vec::new();
    for message in &messages {
        let Some((version, name)) = version_of(message) else { continue };
        if message.bytes(attribute::CURRENT).is_some() {
            all.push(Loaded {
                name,
                spec: version.spec.clone(),
                host: Host::Module,
                versions: vec![version],
                acks: message.words(attribute::ACKS).unwrap_or_default(),
                losses: message.words(attribute::LOSSES).unwrap_or_default(),
            });
        // The present version of a name comes before those that it replaced.
        } else if let Some(loaded) = all.iter_mut().find(|loaded| loaded.name == name) {
            loaded.versions.push(version);
        }
    }
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

fn version_of(message: &Message) -> Option<(Version, String)> {
    let version = Version { id: message.u32(attribute::VERSION)?, spec: message.text(attribute::SPEC)? };
    Some((version, message.text(attribute::NAME)?))
}

/// Unregisters a name; the module goes with the last.
pub(crate) fn unload(name: &str) -> Result<(), Error> {
    let Some(family) = family()? else { return Ok(()) };
    family.command(command::UNLOAD, &[text(attribute::NAME, name)]).map_err(failed("unloading"))?;
    if loaded()?.is_empty() {
        // It stays while a socket has one of them, and then holds nothing but memory.
        let _ = Command::new("modprobe").args(["-r", MODULE]).output();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(printed: &str, logged: &str) -> Refusal {
        let machine = Machine { release: "6.1.0".into(), has_headers: true, has_sources: true };
        explain(printed, logged, machine)
    }

    #[test]
    fn each_reason_why_the_module_is_not_loaded_has_a_message_with_the_remedy() {
        let not_found = "modprobe: FATAL: Module tcp_braid not found in directory /lib/modules/6.1.0\n";
        let built = |has_headers, has_sources| {
            let machine = Machine { release: "6.1.0".into(), has_headers, has_sources };
            explain(not_found, "", machine).to_string()
        };
        assert!(built(false, true).contains("linux-headers-6.1.0"), "{}", built(false, true));
        assert!(built(true, false).contains("apt-get install tcp-braid-dkms"), "{}", built(true, false));
        assert!(built(true, true).contains("make.log"), "{}", built(true, true));

        let other = why(
            "modprobe: ERROR: could not insert 'tcp_braid': Exec format error\n",
            "tcp_braid: version magic '6.1.0-1 SMP' should be '6.1.0-2 SMP'\n",
        );
        assert!(matches!(&other, Refusal::OtherKernel { line } if line.contains("should be")), "{other:?}");
        assert!(other.to_string().contains("dkms autoinstall"));

        let layout = why(
            "modprobe: ERROR: could not insert 'tcp_braid': Exec format error\n",
            "tcp_braid: this kernel has no mptcp_subflow_context.conn: this module is for other kernels\n",
        );
        assert!(matches!(layout, Refusal::Layout { .. }), "{layout:?}");
        assert!(
            layout.to_string().contains("nothing was loaded: this kernel has no mptcp_subflow_context.conn")
        );

        let unsigned =
            why("modprobe: ERROR: could not insert 'tcp_braid': Key was rejected by service\n", "");
        assert_eq!(unsigned, Refusal::Unsigned);
        let locked = why(
            "modprobe: ERROR: could not insert 'tcp_braid': Operation not permitted\n",
            "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7\n",
        );
        assert_eq!(locked, Refusal::Unsigned);
        assert!(locked.to_string().contains("mokutil --import"));

        let denied = why("modprobe: ERROR: could not insert 'tcp_braid': Operation not permitted\n", "");
        assert_eq!(denied, Refusal::NoPrivileges);
        let other = why("modprobe: ERROR: could not insert 'tcp_braid': Cannot allocate memory\n", "");
        assert!(other.to_string().contains("cannot allocate memory"), "{other}");
    }
}
