//! `braid enable` and `disable`: manage the systemd units.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use braid_kernel::PREFIX;

use crate::Failure;
use crate::failure::FAILED;
use crate::names::{parse, short};
use crate::trial::state;
use crate::{hint, journal, own, peer};

const CONFIGURATION: &str = "/etc/braid";
const UNITS: [&str; 3] = ["/etc/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];
/// Links of enabled units.
const ENABLED: &str = "/etc/systemd/system/multi-user.target.wants";

/// Hints concern this machine, so the peer gets none.
pub(crate) fn enable(
    text: &str,
    name: Option<&str>,
    peer: Option<&str>,
    hints: &[String],
) -> Result<(), Failure> {
    if let Some((file, _)) = own::file(text) {
        let own = file.file_stem().unwrap_or_default().to_string_lossy();
        let name = short(name.unwrap_or(&own));
        return Err(Failure::bad_input(
            format!("{} cannot be enabled: no C file is compiled at boot", file.display()),
            format!("`braid load {text} --as {name} && braid default {name}` does it until the next boot"),
        ));
    }
    let spec = parse(text)?;
    let name = short(name.unwrap_or(spec.algorithm().name()));
    check(name)?;
    hint::groups(hints)?;
    systemd(&format!("`braid load {text} --as {name} && braid default {name}` does it until the next boot"))?;
    if let Some(host) = peer {
        peer::braid(host, &["enable", text, "--as", name])?;
        eprintln!("Enabled on {host}.");
    }
    let path = configure(name, &spec.to_string(), spec.algorithm().name(), hints)?;
    // Before the other: a stopping unit resets the default.
    let others: Vec<String> = enabled().into_iter().filter(|other| other != name).collect();
    for other in &others {
        systemctl(&["disable", "--now", &default_unit(other)])?;
    }
    systemctl(&["enable", &default_unit(name)])?;
    // A running unit reloads its parameters.
    systemctl(&["reload-or-restart", &load_unit(name)])?;
    systemctl(&["restart", &default_unit(name)])?;
    let instead =
        if others.is_empty() { String::new() } else { format!(", instead of {}", others.join(", ")) };
    journal::write("enable", &format!("{PREFIX}{name}: {spec}{instead}"));
    let parameters =
        path.map_or_else(String::new, |path| format!(" Its parameters are in {}.", path.display()));
    eprintln!(
        "{PREFIX}{name} ({spec}) is the default of new sockets now and after every boot{instead}.{parameters}"
    );
    Ok(())
}

pub(crate) fn disable(name: Option<&str>, peer: Option<&str>) -> Result<(), Failure> {
    if name.is_none()
        && peer.is_none()
        && let Some((winner, default)) = state::withdraw()
    {
        journal::write("disable", &format!("{default} instead of {winner}, a trial's result"));
        eprintln!("{winner}, the result of a trial, is not the default any more; {default} is.");
        if enabled().is_empty() {
            return Ok(());
        }
    }
    systemd("`braid default --reset` and `braid unload NAME` take back what `load` and `default` did")?;
    if let Some(host) = peer {
        let mut words = vec!["disable"];
        words.extend(name);
        peer::braid(host, &words)?;
        eprintln!("Disabled on {host}.");
    }
    let enabled = enabled();
    let wanted: Vec<String> = match name.map(short) {
        None => enabled,
        Some(name) if enabled.iter().any(|enabled| enabled == name) => vec![name.to_owned()],
        Some(name) => {
            let there =
                if enabled.is_empty() { "nothing is".into() } else { format!("{} is", enabled.join(", ")) };
            return Err(Failure::bad_input(
                format!("`{name}` is not enabled, {there}"),
                "`braid status` shows what is loaded; `braid unload NAME` unloads what was only loaded",
            ));
        }
    };
    if wanted.is_empty() {
        eprintln!("Nothing was enabled.");
    }
    for name in wanted {
        systemctl(&["disable", "--now", &default_unit(&name)])?;
        systemctl(&["disable", "--now", &load_unit(&name)])?;
        journal::write("disable", &format!("{PREFIX}{name}"));
        eprintln!("{PREFIX}{name} is neither loaded nor the default any more, now and after every boot.");
    }
    Ok(())
}

fn load_unit(name: &str) -> String {
    format!("braid@{name}.service")
}

fn default_unit(name: &str) -> String {
    format!("braid-default@{name}.service")
}

/// It becomes part of file names.
fn check(name: &str) -> Result<(), Failure> {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if !name.is_empty() && name.len() <= 15 - PREFIX.len() && name.bytes().all(is_letter) {
        return Ok(());
    }
    Err(braid_kernel::Error::BadName { name: name.to_owned() }.into())
}

/// Whether the machine was booted by systemd and has our units.
fn systemd(otherwise: &str) -> Result<(), Failure> {
    if !Path::new("/run/systemd/system").exists() {
        return Err(Failure::bad_input(
            "systemd is not running here; it loads algorithms at boot",
            otherwise,
        ));
    }
    if !UNITS.iter().any(|folder| Path::new(folder).join("braid-default@.service").exists()) {
        return Err(Failure::bad_input(
            "the units braid@.service and braid-default@.service are not installed",
            format!("the Debian package and packaging/ of the sources have them; {otherwise}"),
        ));
    }
    Ok(())
}

/// Writes the unit's configuration, or removes it if it equals the defaults. Returns its path if it exists.
fn configure(name: &str, spec: &str, algorithm: &str, hints: &[String]) -> Result<Option<PathBuf>, Failure> {
    let path = Path::new(CONFIGURATION).join(format!("{name}.conf"));
    let failed = |error: &io::Error| {
        let hint = match error.kind() {
            io::ErrorKind::PermissionDenied => "; run as root",
            io::ErrorKind::StorageFull => "; make room, nothing was changed",
            _ => "",
        };
        Failure::new(FAILED, format!("cannot write {}: {error}{hint}", path.display()))
    };
    let hint = if hints.is_empty() { stated(&path) } else { Some(format!("HINT=\"{}\"", hints.join(" "))) };
    if spec == name && spec == algorithm && hint.is_none() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&error)),
            _ => Ok(None),
        };
    }
    let write = || {
        fs::create_dir_all(CONFIGURATION)?;
        let mut file = tempfile::NamedTempFile::new_in(CONFIGURATION)?;
        writeln!(file, "# Written by `braid enable`; see braid.conf(5).\nSPEC={spec}")?;
        if let Some(hint) = &hint {
            writeln!(file, "{hint}")?;
        }
        file.as_file().sync_all()?;
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        file.as_file().set_permissions(mode)?;
        file.persist(&path).map_err(|error| error.error)
    };
    write().map_err(|error| failed(&error))?;
    Ok(Some(path))
}

/// The file's line with hints, if any.
fn stated(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().rev().find(|line| line.starts_with("HINT=")).map(str::to_owned)
}

/// Names enabled as the default, sorted.
fn enabled() -> Vec<String> {
    let Ok(entries) = fs::read_dir(ENABLED) else { return Vec::new() };
    let name = |entry: fs::DirEntry| {
        let file = entry.file_name().into_string().ok()?;
        Some(file.strip_prefix("braid-default@")?.strip_suffix(".service")?.to_owned())
    };
    let mut names: Vec<String> = entries.flatten().filter_map(name).collect();
    names.sort();
    names
}

fn systemctl(arguments: &[&str]) -> Result<(), Failure> {
    let command = format!("systemctl {}", arguments.join(" "));
    let status = Command::new("systemctl")
        .arg("--quiet")
        .args(arguments)
        .status()
        .map_err(|error| Failure::new(FAILED, format!("{command}: {error}")))?;
    if status.success() {
        return Ok(());
    }
    let unit = arguments.last().copied().unwrap_or_default();
    Err(Failure::new(
        FAILED,
        format!("`{command}` failed; `journalctl -u {unit}` shows why; run as root if permission was denied"),
    ))
}
