//! Programs of this machine as traffic: which they are, and everything that a guest needs to run them.

use std::{
    collections::BTreeMap,
    env,
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use braid_scenario::model::{self, Kind, Programs, Scenario, Traffic};
use braid_study::Stop;
use sha2::{Digest as _, Sha256};

use super::{
    error::{self, Unsupported},
    image::Files,
    libraries::needed,
};
use crate::job;

/// What makes TCP sockets of a program those of MPTCP, and where distributions have it.
const WRAPPER: &str = "libmptcpwrap.so.0";
/// Where programs are that not everyone has in PATH.
const SYSTEM: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
/// Each connection's folder in the guest is in here.
const FOLDERS: &str = "/programs";
/// All of it is in memory, the guest's or this machine's.
const MOST_BYTES: usize = 256 << 20;
/// Who there is in the guest: servers change to one of these.
const PASSWD: &str =
    "root:x:0:0:root:/:/bin/sh\nwww-data:x:33:33::/:/bin/false\nnobody:x:65534:65534::/:/bin/false\n";
const GROUP: &str = "root:x:0:\nwww-data:x:33:\nnobody:x:65534:\nnogroup:x:65534:\n";

/// The programs of a scenario by the names of their connections: what tells packs apart.
pub(crate) type Named = Vec<(String, bool, Arc<Programs>)>;

/// How programs are run, by the name of their connection.
pub(crate) type Runs = BTreeMap<String, job::Programs>;

/// Those of a scenario.
pub(crate) fn named(scenario: &Scenario) -> Named {
    let of = |connection: &model::Connection| match &connection.traffic {
        Traffic::Program(programs) => {
            Some((connection.name.clone(), connection.kind == Kind::Mptcp, Arc::clone(programs)))
        }
        _ => None,
    };
    scenario.connections.iter().filter_map(of).collect()
}

/// What the programs of a scenario, with all they need, are told apart by; none if it has none.
pub(crate) fn identity(scenario: &Scenario, at: At) -> Result<Option<String>, Stop> {
    let named = named(scenario);
    if named.is_empty() { Ok(None) } else { Ok(Some(Pack::of(&named, at)?.identity())) }
}

/// Where programs are to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum At {
    /// In a guest, which has nothing but what it is given.
    Guest,
    /// On this machine, which has all but the files that the scenario names.
    Here,
}

/// Programs and all they need.
#[derive(Clone, Debug)]
pub(crate) struct Pack {
    at: At,
    /// By path in the guest.
    pub(crate) files: Files,
    pub(crate) runs: Runs,
}

/// Whether the programs of a connection are on this machine.
pub(crate) fn check(connection: &model::Connection) -> Result<(), Unsupported> {
    let Traffic::Program(programs) = &connection.traffic else { return Ok(()) };
    let missing = |key: &str, reason: String, remedy: &str| Unsupported {
        key: format!("connection.{}.{key}", connection.name),
        reason,
        remedy: Some(remedy.to_owned()),
    };
    for (key, words) in [("traffic.server", &programs.server), ("traffic.client", &programs.client)] {
        let word = &words[0];
        if word == "mptcpize" {
            let reason = "the lab does what mptcpize does where kind is \"mptcp\"".to_owned();
            return Err(missing(key, reason, "remove \"mptcpize\" and \"run\""));
        }
        let Some(local) = word.strip_prefix("./") else {
            if find(word).is_none() {
                let reason = format!("there is no program {word} on this machine");
                return Err(missing(key, reason, "install it, or give its path"));
            }
            continue;
        };
        if !programs.files.iter().any(|(name, _)| name.strip_prefix("./").unwrap_or(name) == local) {
            let reason = format!("{word} is not among the files of this traffic");
            return Err(missing(key, reason, "add it to files"));
        }
    }
    if connection.kind == Kind::Mptcp && wrapper().is_none() {
        let reason =
            format!("what makes a program's sockets those of MPTCP, {WRAPPER}, is not on this machine");
        return Err(missing("kind", reason, "install mptcpize (apt-get install mptcpize)"));
    }
    Ok(())
}

/// The file of a program, by its path or by its name in PATH.
pub(crate) fn find(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        return Some(PathBuf::from(word)).filter(|path| path.is_absolute() && path.is_file());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(SYSTEM.map(PathBuf::from));
    folders.map(|folder| folder.join(word)).find(|path| path.is_absolute() && path.is_file())
}

/// The wrapper's file.
fn wrapper() -> Option<PathBuf> {
    let mut folders: Vec<PathBuf> = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].map(PathBuf::from).into();
    let multiarch = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    folders.extend(multiarch.filter(|path| path.to_string_lossy().contains("-linux-")));
    folders.sort();
    folders.into_iter().map(|folder| folder.join("mptcpize").join(WRAPPER)).find(|path| path.is_file())
}

impl Pack {
    /// All that the programs of a scenario need there.
    pub(crate) fn of(named: &Named, at: At) -> Result<Self, Stop> {
        let mut pack = Self { at, files: Files::default(), runs: BTreeMap::new() };
        for (name, multipath, programs) in named {
            pack.add(name, *multipath, programs)?;
        }
        if !named.is_empty() {
            for (path, text) in
                [("/etc/passwd", PASSWD), ("/etc/group", GROUP), ("/etc/hosts", "127.0.0.1 localhost\n")]
            {
                pack.files.entry(path.into()).or_insert((0o644, text.into()));
            }
        }
        let bytes: usize = pack.files.values().map(|(_, bytes)| bytes.len()).sum();
        if bytes > MOST_BYTES {
            return Err(error::input(
                format!(
                    "the programs and their files have {} MB; there is room for {}",
                    bytes >> 20,
                    MOST_BYTES >> 20
                ),
                "name smaller files",
            ));
        }
        Ok(pack)
    }

    /// Puts the folders of the connections into one of this machine. How the programs are run there.
    pub(crate) fn place(&self, parent: &Path) -> Result<Runs, Stop> {
        for (path, (mode, bytes)) in &self.files {
            let Ok(within) = Path::new(path).strip_prefix(FOLDERS) else { continue };
            let to = parent.join(within);
            fs::create_dir_all(to.parent().expect("it is in a folder"))
                .and_then(|()| fs::write(&to, bytes))
                .and_then(|()| fs::set_permissions(&to, Permissions::from_mode(*mode)))
                .map_err(error::writing(&to))?;
        }
        let place = |path: &mut String| {
            if let Ok(within) = Path::new(&*path).strip_prefix(FOLDERS) {
                *path = parent.join(within).display().to_string();
            }
        };
        let mut runs = self.runs.clone();
        for run in runs.values_mut() {
            place(&mut run.folder);
            run.commands.iter_mut().for_each(|command| place(&mut command.path));
        }
        Ok(runs)
    }

    /// Of everything in it.
    pub(crate) fn identity(&self) -> String {
        let mut hash = Sha256::new();
        for (path, (mode, bytes)) in &self.files {
            hash.update(format!("{path} {mode} {}\n", bytes.len()));
            hash.update(bytes);
        }
        hash.update(format!("{:?}", self.runs));
        format!("{:x}", hash.finalize())[..24].to_owned()
    }

    fn add(&mut self, name: &str, multipath: bool, programs: &Programs) -> Result<(), Stop> {
        let folder = format!("{FOLDERS}/{name}");
        let mut libraries = Vec::new();
        for (name, path) in &programs.files {
            let to = Path::new(&folder).join(name.strip_prefix("./").unwrap_or(name));
            self.file(&to, path, &mut libraries)?;
        }
        let mut command = |words: &[String]| -> Result<job::Command, Stop> {
            // One of the files is there already.
            let path = if let Some(name) = words[0].strip_prefix("./") {
                Path::new(&folder).join(name)
            } else {
                let path = find(&words[0]).ok_or_else(|| {
                    error::input(format!("there is no program {} on this machine", words[0]), "install it")
                })?;
                self.file(&path, &path, &mut libraries)?;
                path
            };
            Ok(job::Command { path: path.display().to_string(), words: words.to_vec() })
        };
        let commands = [command(&programs.server)?, command(&programs.client)?];
        let mut preload = None;
        if multipath {
            let wrapper = wrapper().ok_or_else(|| {
                error::machine_with(format!("{WRAPPER} is not on this machine"), "apt-get install mptcpize")
            })?;
            self.file(&wrapper, &wrapper, &mut libraries)?;
            preload = Some(wrapper.display().to_string());
        }
        libraries.sort();
        libraries.dedup();
        let run = job::Programs {
            commands,
            server_sends: programs.server_sends,
            folder,
            // The guest has no cache of where they are.
            libraries: (self.at == At::Guest).then(|| libraries.join(":")),
            preload,
        };
        self.runs.insert(name.to_owned(), run);
        Ok(())
    }

    /// Adds a file, and what it takes to run it if it is a program; the folders of its libraries go to `libraries`.
    fn file(&mut self, to: &Path, from: &Path, libraries: &mut Vec<String>) -> Result<(), Stop> {
        let to = to.display().to_string();
        if self.files.contains_key(&to) {
            return Ok(());
        }
        let bytes = fs::read(from).map_err(error::reading(from))?;
        let is_elf = bytes.starts_with(b"\x7fELF");
        let script =
            bytes.strip_prefix(b"#!").map(|rest| rest.split(|byte| *byte == b'\n').next().unwrap_or(rest));
        let script = script.map(|line| String::from_utf8_lossy(line).into_owned());
        let mode = if is_elf || script.is_some() { 0o755 } else { 0o644 };
        self.files.insert(to, (mode, bytes));
        if self.at == At::Here {
            return Ok(());
        }
        if is_elf {
            for library in needed(from)? {
                libraries.extend(library.parent().map(|folder| folder.display().to_string()));
                let bytes = fs::read(&library).map_err(error::reading(&library))?;
                self.files.entry(library.display().to_string()).or_insert((0o755, bytes));
            }
        }
        // Who interprets it; `env` looks for that itself.
        let words = script.iter().flat_map(|line| line.split_whitespace());
        for (number, word) in words.take(2).enumerate() {
            match find(word) {
                Some(path) if number == 0 || script.as_ref().is_some_and(|line| line.contains("/env ")) => {
                    self.file(&path, &path, libraries)?;
                }
                _ => {}
            }
        }
        Ok(())
    }
}
