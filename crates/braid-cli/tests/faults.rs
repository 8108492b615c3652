//! Faults around a guest: each gives one clear message, and leaves no guest and no partial file in the cache. If
//! something that a test needs is missing, it prints `SKIPPED` and the reason.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

mod guests;

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;
use std::{env, thread};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use braid_testing::{braid_path, executable, failed, says, skip, until};
use guests::{begin, braid, done, eventually, guest_of, lab_folder, lab_is_here, scenario, text};

const QEMU: &str = "qemu-system-x86_64";

fn user_cache() -> PathBuf {
    let base = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    base.unwrap_or_else(|| Path::new(&env::var_os("HOME").unwrap()).join(".cache")).join("braid")
}

/// A cache with the kernel only.
fn fresh_cache() -> TempDir {
    let cache = tempfile::tempdir().unwrap();
    fs::create_dir(cache.path().join("braid")).unwrap();
    symlink(user_cache().join("kernels"), cache.path().join("braid/kernels")).unwrap();
    cache
}

/// A copy of a cache with a booted guest.
fn booted_cache() -> TempDir {
    static BOOTED: OnceLock<TempDir> = OnceLock::new();
    let booted = BOOTED.get_or_init(|| {
        let cache = fresh_cache();
        let folder = tempfile::tempdir().unwrap();
        let mut run = braid(&scenario(folder.path()));
        done(&run.env("XDG_CACHE_HOME", cache.path()).args(["--set", "duration=600ms"]).output().unwrap());
        cache
    });
    let copy = fresh_cache();
    let folder = copy.path().join("braid/lab");
    fs::create_dir(&folder).unwrap();
    for entry in fs::read_dir(booted.path().join("braid/lab")).unwrap().flatten() {
        fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
    }
    copy
}

/// The lab's files in a cache.
fn files(cache: &Path) -> Vec<String> {
    let entries = fs::read_dir(cache.join("braid/lab")).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn file(cache: &Path, kind: &str) -> PathBuf {
    let names = files(cache);
    let mut own = names.iter().filter(|name| name.ends_with(kind));
    let (Some(name), None) = (own.next(), own.next()) else { panic!("one {kind} is expected: {names:?}") };
    cache.join("braid/lab").join(name)
}

fn flip_a_byte(file: &Path, at: usize) {
    let mut bytes = fs::read(file).unwrap();
    bytes[at] ^= 0x10;
    fs::write(file, bytes).unwrap();
}

/// Puts a program named as QEMU first on the path; `$real` is QEMU.
fn instead_of_qemu(folder: &Path, script: &str) -> String {
    let path = env::var("PATH").unwrap();
    let real = env::split_paths(&path).map(|folder| folder.join(QEMU)).find(|file| file.exists()).unwrap();
    let wrapper = folder.join(QEMU);
    executable(&wrapper, &format!("#!/bin/bash\nreal={}\n{script}\n", real.display()));
    format!("{}:{path}", folder.display())
}

/// Waits until a lab run has started, by its guest's heartbeats.
fn wait_for_beats(cache: &Path, beats: u64) {
    let count = || {
        let folder = files(cache).into_iter().find(|name| name.starts_with("scratch-"))?;
        let beats = fs::metadata(cache.join("braid/lab").join(folder).join("beats")).ok()?;
        Some(beats.len())
    };
    eventually("the guest works", || count().filter(|&count| count >= beats));
}

#[test]
fn a_guest_whose_kernel_panics_fails_its_run_with_its_last_words() {
    let Some(folder) = lab_folder("a panic") else { return };
    let cache = fresh_cache();
    let socket = folder.path().join("qmp");
    let script = format!(
        "args=(\"$@\")\n\
         for i in \"${{!args[@]}}\"; do [[ ${{args[i]}} == -append ]] && args[i+1]=\"unknown_nmi_panic ${{args[i+1]}}\"; done\n\
         [[ $# -gt 1 ]] && args+=(-qmp unix:{},server=on,wait=off)\n\
         exec \"$real\" \"${{args[@]}}\"",
        socket.display()
    );
    let child = braid(&scenario(folder.path()))
        .args(["--boot", "--set", "duration=1000s"])
        .env("PATH", instead_of_qemu(folder.path(), &script))
        .env("XDG_CACHE_HOME", cache.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for_beats(cache.path(), 4);
    let mut stream = UnixStream::connect(&socket).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    for command in ["qmp_capabilities", "inject-nmi"] {
        writeln!(stream, "{{\"execute\": \"{command}\"}}").unwrap();
        lines.next().unwrap().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    assert!(said.contains("the guest") && said.contains("Kernel panic"), "{said}");
    assert!(said.contains("\"connections\":[]"), "half a result is no result: {said}");
    assert_eq!(
        files(cache.path()).len(),
        1,
        "the image, and nothing of the guest: {:?}",
        files(cache.path())
    );
}

#[test]
fn a_guest_that_does_not_boot_is_not_kept() {
    let Some(folder) = lab_folder("a guest that does not boot") else { return };
    let cache = fresh_cache();
    let script = "args=(\"$@\")\n\
         for i in \"${!args[@]}\"; do args[i]=${args[i]/rdinit=/rdinit=\\/missing}; done\n\
         exec \"$real\" \"${args[@]}\"";
    let output = braid(&scenario(folder.path()))
        .env("PATH", instead_of_qemu(folder.path(), script))
        .env("XDG_CACHE_HOME", cache.path())
        .output()
        .unwrap();
    failed(&output, 1, &["the guest", "Kernel panic"]);
    assert!(output.stdout.is_empty());
    assert_eq!(files(cache.path()).len(), 1, "the image, and no snapshot: {:?}", files(cache.path()));
}

#[test]
#[ignore = "slow: it waits for a minute and a half"]
fn a_guest_that_hangs_is_given_up() {
    let Some(folder) = lab_folder("a guest that hangs") else { return };
    let (child, guest) = begin(&mut braid(&scenario(folder.path())));
    kill_process(Pid::from_raw(guest).unwrap(), Signal::STOP).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    assert!(said.contains("the guest hangs"), "{said}");
    assert!(!Path::new(&format!("/proc/{guest}")).exists(), "it is gone");
}

/// Runs in a separate cache, with a guest that is already booted.
struct Kept {
    _folder: TempDir,
    scenario: PathBuf,
    cache: TempDir,
}

impl Kept {
    fn new(test: &str) -> Option<Self> {
        let folder = lab_folder(test)?;
        Some(Self { scenario: scenario(folder.path()), _folder: folder, cache: booted_cache() })
    }

    /// Standard output and standard error.
    fn run(&self) -> (String, String) {
        let mut command = Command::new(braid_path());
        command.arg("run").arg(&self.scenario).args(["--backend", "lab", "--format", "json"]);
        let output = command.env("XDG_CACHE_HOME", self.cache.path()).output().unwrap();
        (done(&output), text(&output.stderr))
    }

    fn snapshot(&self) -> PathBuf {
        file(self.cache.path(), ".snapshot")
    }
}

#[test]
fn a_damaged_image_or_snapshot_is_made_anew() {
    let Some(kept) = Kept::new("a damaged snapshot") else { return };
    let (expected, said) = kept.run();
    assert!(!said.contains("damaged") && !said.contains("booting"), "{said}");
    let snapshot = kept.snapshot();
    flip_a_byte(&snapshot, fs::metadata(&snapshot).unwrap().len() as usize / 2);
    let (result, said) = kept.run();
    assert!(said.contains("is damaged") && said.contains("booting the guest once"), "{said}");
    assert!(result == expected, "as from the one before");
    flip_a_byte(&file(kept.cache.path(), ".cpio"), 1_000_000);
    fs::remove_file(&snapshot).unwrap();
    let (result, said) = kept.run();
    assert!(said.contains("is damaged") && result == expected, "{said}");
    let (result, said) = kept.run();
    assert!(!said.contains("damaged") && !said.contains("booting") && result == expected, "{said}");
}

#[test]
#[ignore = "slow: a minute of a processor"]
fn a_snapshot_that_is_cut_short_or_empty_is_made_anew() {
    let Some(kept) = Kept::new("half a snapshot") else { return };
    let (expected, _) = kept.run();
    let snapshot = kept.snapshot();
    for share in [2, u64::MAX] {
        let length = fs::metadata(&snapshot).unwrap().len();
        fs::File::options().write(true).open(&snapshot).unwrap().set_len(length / share).unwrap();
        let (result, said) = kept.run();
        assert!(said.contains("is damaged") && said.contains("booting the guest once"), "{said}");
        assert!(result == expected, "as from the one before");
    }
}

#[test]
fn a_damaged_package_is_never_used() {
    if !lab_is_here("a damaged package") {
        return;
    }
    let (folder, cache) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let scenario = scenario(folder.path());
    let kernels = cache.path().join("braid/kernels");
    fs::create_dir_all(&kernels).unwrap();
    let package = package();
    let copy = kernels.join(package.file_name().unwrap());
    fs::copy(&package, &copy).unwrap();
    flip_a_byte(&copy, fs::metadata(&copy).unwrap().len() as usize / 3);

    let run = |options: &[&str]| {
        let mut command = Command::new(braid_path());
        command.arg("run").arg(&scenario).args(["--backend", "lab", "--format", "json"]).args(options);
        let output = command
            .env("XDG_CACHE_HOME", cache.path())
            .env("MIRROR", "http://127.0.0.1:9/debian")
            .output()
            .unwrap();
        assert!(output.stdout.is_empty());
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = run(&[]);
    assert_eq!(code, Some(1), "{said}");
    for part in ["is damaged", "fetching linux-image", "cannot fetch linux-image", "--kernel FILE"] {
        assert!(said.contains(part), "{part} is missing in:\n{said}");
    }
    let (code, said) = run(&["--kernel", copy.to_str().unwrap()]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("cannot read") && said.contains("linux-image-6.12"), "{said}");
    let unpacked = fs::read_dir(kernels.join("unpacked")).unwrap().count();
    assert_eq!((unpacked, files(cache.path()).len()), (0, 0), "nothing of it is kept");
}

#[test]
fn a_qemu_that_is_too_old_is_named_with_what_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let wrapper = folder.path().join(QEMU);
    executable(&wrapper, "#!/bin/sh\necho 'QEMU emulator version 6.2.0 (Debian 1:6.2)'\n");
    let path = format!("{}:{}", folder.path().display(), env::var("PATH").unwrap());
    let output = braid(&scenario(folder.path())).env("PATH", path).output().unwrap();
    failed(&output, 1, &["version 6.2.0", "needs QEMU 7 or newer"]);
}

#[test]
fn what_a_killed_program_leaves_goes_at_the_next_start_and_nothing_that_is_in_use() {
    let Some(folder) = lab_folder("a killed program") else { return };
    let cache = booted_cache();
    let scenario = scenario(folder.path());
    let own = || {
        let mut command = braid(&scenario);
        command.env("XDG_CACHE_HOME", cache.path());
        command
    };
    let scratch = || files(cache.path()).into_iter().filter(|name| name.starts_with("scratch-")).count();
    for signal in [Signal::INT, Signal::TERM] {
        let (child, _) = begin(&mut own());
        kill_process(Pid::from_child(&child), signal).unwrap();
        assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
        assert_eq!(scratch(), 0, "{signal:?}");
    }
    let (killed, guest) = begin(&mut own());
    kill_process(Pid::from_child(&killed), Signal::KILL).unwrap();
    killed.wait_with_output().unwrap();
    until("the guest ends", || !Path::new(&format!("/proc/{guest}")).exists());
    assert_eq!(scratch(), 1, "it could not clean up");
    let (other, _) = begin(&mut own());
    assert_eq!(scratch(), 1, "that of the one before is gone, its own is there");
    done(&own().args(["--set", "duration=600ms"]).output().unwrap());
    assert_eq!(scratch(), 1, "another run goes on");
    assert!(guest_of(other.id()).is_some());
    kill_process(Pid::from_child(&other), Signal::INT).unwrap();
    assert_eq!(other.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(scratch(), 0);
}

#[test]
fn a_program_killed_while_its_guest_boots_leaves_no_snapshot() {
    let Some(folder) = lab_folder("a kill while booting") else { return };
    let cache = fresh_cache();
    let scenario = scenario(folder.path());
    for signal in [Signal::KILL, Signal::INT] {
        let child = braid(&scenario)
            .env("XDG_CACHE_HOME", cache.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let guest = eventually("a guest begins", || guest_of(child.id()));
        thread::sleep(Duration::from_secs(1));
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait_with_output().unwrap();
        until("the guest ends", || !Path::new(&format!("/proc/{guest}")).exists());
        assert!(
            !files(cache.path()).iter().any(|name| name.ends_with(".snapshot")),
            "{:?}",
            files(cache.path())
        );
    }
    // The second start has removed the leftovers of the first.
    assert_eq!(files(cache.path()).len(), 1, "the image is left: {:?}", files(cache.path()));
}

/// Runs a script on a disk of this size: `$0` is its root, where the program has its cache, `$1` the program, `$2` the
/// folder of kernels and `$3` a scenario. None if such a disk cannot be made.
fn on_a_disk_of(size: &str, scenario: &Path, script: &str) -> Option<Output> {
    let place = scenario.with_file_name("small");
    fs::create_dir_all(&place).unwrap();
    let script =
        format!("mount -t tmpfs -o size={size} none $0 && export XDG_CACHE_HOME=$0 && {{ {script} }}");
    let output = Command::new("unshare")
        .args(["--mount", "bash", "-c", &script])
        .args([&place, &braid_path(), &user_cache().join("kernels"), scenario])
        .output();
    match output {
        Ok(output)
            if !text(&output.stderr).contains("unshare") && !text(&output.stderr).contains("mount:") =>
        {
            Some(output)
        }
        other => {
            skip("a full disk", format!("there is no mount namespace: {other:?}"));
            None
        }
    }
}

/// Checks that the command failed with a message that gives the full disk and the remedy.
fn says_that_the_disk_is_full(output: &Output) -> String {
    failed(output, 1, &["cannot write", "small/braid", "make room", "XDG_CACHE_HOME"])
}

#[test]
fn a_full_disk_is_named_with_the_place_and_the_remedy() {
    let Some(folder) = lab_folder("a full disk") else { return };
    let scenario = scenario(folder.path());
    // Too small for the kernel, the image, the snapshot, and a run's guest.
    for (size, with_kernel) in [("1m", false), ("20m", true), ("100m", true), ("230m", true)] {
        let link = if with_kernel { "mkdir $0/braid; ln -s $2 $0/braid/kernels;" } else { "" };
        let kernel = if with_kernel { String::new() } else { format!("--kernel {}", package().display()) };
        let script = format!(
            "{link} $1 run $3 --backend lab --format json --quiet {kernel}; code=$?; \
             find $0/braid/ -type f >&2; exit $code;"
        );
        let Some(output) = on_a_disk_of(size, &scenario, &script) else { return };
        let said = says_that_the_disk_is_full(&output);
        assert!(output.stdout.is_empty(), "{size}");
        assert!(
            !said.contains("scratch-") || said.matches("scratch-").count() == 1,
            "{size}: nothing half-written stays: {said}"
        );
    }
}

#[test]
#[ignore = "slow: a minute of a processor"]
fn a_disk_that_fills_in_mid_run_ends_the_run_and_spoils_nothing_for_the_next() {
    let Some(folder) = lab_folder("a disk that fills") else { return };
    let scenario = scenario(folder.path());
    // After three heartbeats of the guest, the script fills the disk.
    let script = "mkdir $0/braid; ln -s $2 $0/braid/kernels; \
        run() { $braid run $scenario --backend lab --format json --quiet --set duration=$1; }; \
        braid=$1 scenario=$3; \
        run 600ms >$0/before || exit 3; \
        run 1000s & \
        until [[ $(cat $0/braid/lab/scratch-*/beats 2>/dev/null) == ...* ]]; do sleep 0.1; done; \
        cat /dev/zero 2>/dev/null >$0/filler; \
        wait $!; code=$?; \
        ls $0/braid/lab >&2; rm $0/filler; \
        run 600ms >$0/after || exit 4; \
        cmp $0/before $0/after || exit 5; \
        exit $code;";
    let Some(output) = on_a_disk_of("600m", &scenario, script) else { return };
    let said = says_that_the_disk_is_full(&output);
    assert!(output.stdout.is_empty(), "no result");
    assert_eq!(
        said.matches("scratch-").count(),
        1,
        "where it could not write, and nothing of it stays: {said}"
    );
}

#[test]
#[ignore = "slow: two minutes of a processor, for so long a guest may be silent"]
fn a_guest_that_computes_for_ever_is_given_up() {
    let Some(folder) = lab_folder("a guest that computes for ever") else { return };
    let cache = booted_cache();
    // The heartbeats get lost, so the guest seems to be in a loop.
    let script = "args=(\"$@\")\n\
         for i in \"${!args[@]}\"; do args[i]=${args[i]/file,id=beats,path=*/null,id=beats}; done\n\
         exec \"$real\" \"${args[@]}\"";
    let output = braid(&scenario(folder.path()))
        .args(["--set", "duration=3000s"])
        .env("PATH", instead_of_qemu(folder.path(), script))
        .env("XDG_CACHE_HOME", cache.path())
        .output()
        .unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    says(&said, &["the guest hangs before its first second", "it computed for 12", "\"connections\":[]"]);
    assert_eq!(files(cache.path()).len(), 2, "image and snapshot: {:?}", files(cache.path()));
}

/// The package of the default kernel.
fn package() -> PathBuf {
    let list = include_str!("../../../kernel/guests.tsv");
    let path = list.lines().find(|line| !line.starts_with('#')).and_then(|line| line.split('\t').nth(1));
    user_cache().join("kernels").join(path.unwrap().rsplit('/').next().unwrap())
}
