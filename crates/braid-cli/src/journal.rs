//! The journal of changes to the running kernel: what, by whom, and why. Also sent to syslog.

use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::{Failure, command, terminal};

const FOLDER: &str = "/var/lib/braid";
const FILE: &str = "/var/lib/braid/journal";
/// The journal before the latest [`MOST`] bytes.
const OLD: &str = "/var/lib/braid/journal.old";
/// Size at which a new file begins: some thousand changes.
const MOST: u64 = 256 << 10;
/// `LOG_DAEMON | LOG_NOTICE`
const PRIORITY: u8 = (3 << 3) | 5;

#[derive(Debug, clap::Args)]
pub(crate) struct LogArgs {
    /// Number of changes, the latest ones. Default: all.
    #[arg(short, long, value_name = "N")]
    number: Option<usize>,
}

/// A change; fields have neither tabs nor ends of lines.
struct Entry {
    /// As RFC 3339, UTC.
    time: String,
    /// Name of the command: load, unload, default, hint, try.
    action: String,
    /// Result of the change.
    what: String,
    /// User, and the program that called braid.
    who: String,
    /// The command line.
    why: String,
}

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t').map(str::to_owned);
        let mut next = || fields.next();
        Some(Self { time: next()?, action: next()?, what: next()?, who: next()?, why: next()? })
    }

    fn user(&self) -> &str {
        self.who.split(' ').next().unwrap_or_default()
    }
}

/// Appends a change that this command made. Failures are ignored: a full disk must not keep an algorithm loaded.
pub(crate) fn write(action: &str, what: &str) {
    let why = command::line(std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()));
    let time = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let who = format!("{} (by {})", user(), parent());
    let fields = [&time, action, what, &who, &format!("braid {why}")].map(plain);
    let _ = append(&fields.join("\t"));
    if let Ok(socket) = UnixDatagram::unbound() {
        let [_, action, what, who, why] = &fields;
        let text = format!("<{PRIORITY}>braid[{}]: {action}: {what}; {who}: {why}", std::process::id());
        let _ = socket.set_nonblocking(true);
        let _ = socket.send_to(text.as_bytes(), "/dev/log");
    }
}

fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn append(line: &str) -> io::Result<()> {
    fs::create_dir_all(FOLDER)?;
    if fs::metadata(FILE).is_ok_and(|data| data.len() > MOST) {
        fs::rename(FILE, OLD)?;
    }
    let mut file = match OpenOptions::new().append(true).open(FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let file = OpenOptions::new().append(true).create(true).open(FILE)?;
            file.set_permissions(Permissions::from_mode(0o644))?;
            file
        }
        opened => opened?,
    };
    // One call, so that lines of two commands stay whole.
    file.write_all(format!("{line}\n").as_bytes())
}

/// The person who logged in, else who called sudo, else the process's user; `systemd` for a service.
fn user() -> String {
    let read = |name: &str| fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default();
    let login = read("loginuid").trim().parse().ok().filter(|&id: &u32| id != u32::MAX);
    if let (None, "systemd" | "procd" | "rc.common") = (login, parent().as_str()) {
        return parent();
    }
    if let (None, Ok(name)) = (login, std::env::var("SUDO_USER")) {
        return plain(&name).replace(' ', "_");
    }
    let id = login.unwrap_or_else(|| rustix::process::getuid().as_raw());
    if id == 0 {
        return "root".into();
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut lines = passwd.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = lines.find(|fields| fields.get(2) == Some(&id.to_string().as_str()));
    found.map_or_else(|| id.to_string(), |fields| fields[0].to_owned())
}

/// Name of the program that called braid.
fn parent() -> String {
    let id = rustix::process::getppid().map_or(0, |id| id.as_raw_nonzero().get());
    fs::read_to_string(format!("/proc/{id}/comm")).map_or_else(|_| "?".into(), |name| name.trim().to_owned())
}

fn entries() -> Vec<Entry> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let text = read(OLD) + &read(FILE);
    text.lines().filter_map(Entry::parse).collect()
}

/// Who loaded this since the machine booted, if that was another user.
pub(crate) fn foreign_loader(kernel_name: &str) -> Option<String> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime = Duration::try_from_secs_f64(uptime.split(' ').next()?.parse().ok()?).ok()?;
    let boot = humantime::format_rfc3339_seconds(SystemTime::now() - uptime).to_string();
    let is_it =
        |entry: &Entry| entry.what.split([' ', ':']).next() == Some(kernel_name) && entry.time >= boot;
    let last = entries().into_iter().rev().find(|entry| entry.action == "load" && is_it(entry))?;
    (last.user() != user()).then(|| format!("{} at {} ({})", last.who, last.time, last.why))
}

fn text(entries: &[Entry]) -> String {
    let mut text = String::new();
    for Entry { time, action, what, who, why } in entries {
        let _ = writeln!(text, "{time}  {action:<8}{what}  {who}: {why}");
    }
    text
}

/// The last ten changes, for `status`; empty if there is none.
pub(crate) fn recent() -> String {
    let all = entries();
    let last = text(&all[all.len().saturating_sub(10)..]);
    if last.is_empty() { last } else { format!("\nlast changes (`braid log` prints all)\n{last}") }
}

pub(crate) fn run(args: &LogArgs) -> Result<(), Failure> {
    if !Path::new(FILE).exists() {
        eprintln!("Nothing has been changed yet, or {FILE} was removed.");
    } else if let Err(error) = File::open(FILE) {
        return Err(Failure::new(crate::failure::FAILED, format!("cannot read {FILE}: {error}")));
    }
    let all = entries();
    let from = args.number.map_or(0, |number| all.len().saturating_sub(number));
    terminal::print(text(&all[from..]).as_bytes())
}
