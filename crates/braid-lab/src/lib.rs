//! The lab: scenarios on the network stack of a distribution kernel, in a guest whose clock counts instructions.
//!
//! A guest is QEMU, emulating, with virtual time: the same kernel, QEMU, program and seed give the same bytes, on any
//! machine, and neither KVM nor root is needed. [`Lab::prepare`] finds kernel and QEMU, builds the guest's image around
//! this very program and boots it once; [`Lab::run`] restores that and runs a scenario in it: namespaces, veth, netem,
//! MPTCP sockets, and the algorithms as eBPF. [`agent`] is what runs in the guest. A [`Host`] runs the same on the kernel of
//! this machine, in real time.

mod agent;
mod aqm;
mod error;
mod honesty;
mod host;
mod image;
mod job;
mod kernels;
mod lower;
mod measure;
mod programs;
mod qemu;
mod scratch;

use std::{
    collections::BTreeMap,
    env,
    fs::{self, File},
    hash::Hasher as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::{Duration, SystemTime},
};

use braid_algorithms::Spec;
use braid_results::measure::Measurements;
use braid_scenario::model::Scenario;
use rustix::{
    fs::FlockOperation,
    thread::{CpuSet, sched_getaffinity},
};
use sha2::{Digest as _, Sha256};
use twox_hash::XxHash3_64;

pub use agent::{agent, agent_here};
pub use error::{Error, Kind};
pub use host::Host;
pub use job::Packet;
pub use lower::{Unsupported, check, own_of_the_kernel};

use job::{Job, Report};
use kernels::{Kernel, hex, writing};
use lower::Lowered;
use programs::{At, Named, Pack};
use qemu::{Begin, Boot, Place, Qemu};
use scratch::Scratch;

/// The name of the kernel that is used unless another is asked for.
///
/// # Panics
/// If the list of kernels is empty.
pub fn default_kernel() -> &'static str {
    kernels::names().first().expect("there is one in the list")
}

/// What tells this kernel (by name or file) from others of the same name; it need not have been fetched.
///
/// # Errors
/// If there is no such kernel.
pub fn kernel_identity(kernel: &str) -> Result<String, Error> {
    kernels::identity(kernel)
}

/// How a guest comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// From the snapshot of one that has booted.
    Restored,
    /// It boots for every run: slow, and the same.
    Booted,
}

/// Everything that runs in a guest need.
#[derive(Debug)]
pub struct Lab {
    qemu: Qemu,
    kernel: Kernel,
    /// One for scenarios without programs, if there are some, and one for each choice of programs.
    images: Vec<Image>,
    folder: PathBuf,
    /// Those that this process may use, each with the file that is locked by whoever has a guest there.
    processors: Vec<(usize, PathBuf)>,
}

/// What a guest boots from, and what it has booted to.
#[derive(Debug)]
struct Image {
    /// For scenarios with these programs.
    programs: Named,
    /// How they are run.
    runs: BTreeMap<String, job::Programs>,
    /// Hash of the programs and all they need.
    contents: String,
    file: PathBuf,
    /// Of the booted guest.
    snapshot: Option<PathBuf>,
    /// Hash of all that the guest is made of.
    identity: String,
}

/// What came of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was measured.
    pub measurements: Measurements,
    /// What makes it doubtful; for people.
    pub doubts: Vec<String>,
}

impl Outcome {
    fn new(scenario: &Scenario, lowered: &Lowered, report: &Report, samples: bool) -> Result<Self, Error> {
        let measurements = measure::measure(scenario, lowered, report, samples).map_err(Error::guest)?;
        Ok(Self { measurements, doubts: honesty::doubts(scenario, lowered, report) })
    }
}

/// Who gets the packets that senders send and get.
pub struct Capture<'a> {
    /// Of each packet at most so many bytes are kept.
    pub snap_length: u32,
    /// Gets them when the run is done, those of a connection in order of time.
    pub each: &'a mut dyn FnMut(Packet<'_>),
}

/// Of images and snapshots, the newest so many are kept, and those that were used a short time ago: another braid may be
/// about to use them again.
const KEPT: usize = 4;
const IN_USE: Duration = Duration::from_secs(3600);
/// On a busy machine one guest in ten has to begin again; where there are two guests for each processor, two in three.
const ATTEMPTS: usize = 30;

impl Lab {
    /// Gets everything ready for these scenarios: the kernel (by name or file), images around `program`, and the snapshots of
    /// guests that have booted. What takes long is told to `say`, and is in the user's cache the next time.
    ///
    /// # Errors
    /// If something is missing or cannot be written, or the guest does not boot.
    pub fn prepare<'a>(
        kernel: &str,
        program: &Path,
        start: Start,
        scenarios: impl Iterator<Item = &'a Scenario>,
        stop: &AtomicBool,
        say: &dyn Fn(&str),
    ) -> Result<Self, Error> {
        let qemu = Qemu::find()?;
        let cache = cache()?;
        let kernel = Kernel::find(kernel, &cache.join("kernels"), stop, say)?;
        let folder = cache.join("lab");
        fs::create_dir_all(&folder).map_err(|error| writing(&folder, &error))?;
        scratch::sweep(&folder);
        let mut lab = Self { qemu, kernel, images: Vec::new(), folder, processors: processors(&cache) };
        for scenario in scenarios {
            let programs = programs::named(scenario);
            if !lab.images.iter().any(|image| image.programs == programs) {
                let image = lab.image(program, programs, start, stop, say)?;
                lab.images.push(image);
            }
        }
        tidy(&lab.folder);
        Ok(lab)
    }

    fn image(
        &self,
        program: &Path,
        programs: Named,
        start: Start,
        stop: &AtomicBool,
        say: &dyn Fn(&str),
    ) -> Result<Image, Error> {
        let pack = Pack::of(&programs, At::Guest)?;
        let bytes = image::build(&self.kernel, program, &pack.files)?;
        let mut hash = Sha256::new();
        hash.update(&bytes);
        let boots = fs::read(&self.kernel.image).map_err(|error| {
            Error::machine(format!("cannot read {}: {error}", self.kernel.image.display()))
        })?;
        hash.update(boots);
        hash.update(format!(
            "{} {:?} {}",
            self.qemu.version,
            self.qemu.arguments(),
            qemu::kernel_arguments()
        ));
        let identity = hex(&hash.finalize()[..12]);
        let file = self.folder.join(format!("{identity}.cpio"));
        let is_whole = |there: &Path| Ok(fs::read(there)? == bytes);
        whole(&file, is_whole, say, |part| fs::write(part, &bytes).map_err(|error| writing(part, &error)))?;
        let contents = pack.identity();
        let mut image = Image { programs, runs: pack.runs, contents, file, snapshot: None, identity };
        if start == Start::Restored {
            let path = self.folder.join(format!("{}.snapshot", image.identity));
            whole(&path, is_sealed, say, |part| {
                say("booting the guest once");
                self.guest(&image, &Begin::Snapshot(part), &Job::default(), &mut |_| (), stop)?;
                seal(part).map_err(|error| writing(part, &error))
            })?;
            image.snapshot = Some(path);
        }
        Ok(image)
    }

    /// What results depend on besides scenario, seed and this program: kernel and QEMU.
    pub fn machine(&self) -> String {
        format!("Linux {}, QEMU {}", self.kernel.release, self.qemu.version)
    }

    /// What the programs of a scenario, with all they need, are told apart by; none if it has none.
    ///
    /// # Panics
    /// If the lab was not prepared for this scenario.
    pub fn programs(&self, scenario: &Scenario) -> Option<String> {
        let image = self.image_of(scenario);
        (!image.programs.is_empty()).then(|| image.contents.clone())
    }

    /// [`Lab::machine`] and the image, by its hash.
    ///
    /// # Panics
    /// If the lab was not prepared for this scenario.
    pub fn environment(&self, scenario: &Scenario) -> String {
        format!("{}, image {}", self.machine(), self.image_of(scenario).identity)
    }

    fn image_of(&self, scenario: &Scenario) -> &Image {
        let programs = programs::named(scenario);
        let image = self.images.iter().find(|image| image.programs == programs);
        image.expect("it was prepared for this scenario")
    }

    /// Runs a scenario in a guest of its own. Set `stop` to end it early. Taking packets takes the guest some microseconds each.
    ///
    /// # Errors
    /// If the scenario has what the lab cannot do ([`check`] tells beforehand), the guest fails, or `stop` was set.
    ///
    /// # Panics
    /// If the lab was not prepared for this scenario.
    pub fn run(
        &self,
        scenario: &Scenario,
        spec: &Spec,
        seed: u64,
        samples: bool,
        capture: Option<Capture<'_>>,
        stop: &AtomicBool,
    ) -> Result<Outcome, Error> {
        let image = self.image_of(scenario);
        let mut lowered = lower::lower(scenario, spec, seed, &image.runs)?;
        lowered.job.snap_length = capture.as_ref().map(|capture| capture.snap_length);
        let begin = image.snapshot.as_deref().map_or(Begin::Boot, Begin::Restore);
        let mut nobody = |_: Packet<'_>| ();
        let each = capture.map_or(&mut nobody as &mut dyn FnMut(Packet<'_>), |capture| capture.each);
        let report = self.guest(image, &begin, &lowered.job, each, stop)?;
        Outcome::new(scenario, &lowered, &report, samples)
    }

    fn guest(
        &self,
        image: &Image,
        begin: &Begin<'_>,
        job: &Job,
        packets: &mut dyn FnMut(Packet<'_>),
        stop: &AtomicBool,
    ) -> Result<Report, Error> {
        [Some(&image.file), image.snapshot.as_ref()].into_iter().flatten().for_each(|path| mark(path));
        let boot = Boot { kernel: &self.kernel.image, image: &image.file };
        let (processor, _mine) = self.free_processor().unzip();
        let place = Place { folder: &self.folder, processor };
        let mut attempt = || qemu::run(&self.qemu, &boot, begin, job, &place, packets, stop).transpose();
        let done = (0..ATTEMPTS).find_map(|_| attempt());
        done.unwrap_or_else(|| Err(Error::guest(job::CLOCK_MOVED)))
    }

    /// One without a guest, of this braid or of another, while its lock is held.
    fn free_processor(&self) -> Option<(usize, File)> {
        self.processors.iter().find_map(|(processor, folder)| {
            let lock = scratch::lock(folder, FlockOperation::NonBlockingLockExclusive).ok()?;
            Some((*processor, lock))
        })
    }
}

/// Those that this process may use, and what is locked for them in the cache. Guests run without, too.
fn processors(cache: &Path) -> Vec<(usize, PathBuf)> {
    let Ok(usable) = sched_getaffinity(None) else { return Vec::new() };
    let all = (0..CpuSet::MAX_CPU).filter(|&processor| usable.is_set(processor));
    let locked = |processor: usize| {
        let folder = cache.join(format!("processors/{processor}"));
        let _ = fs::create_dir_all(&folder);
        (processor, folder)
    };
    all.map(locked).collect()
}

/// The folder for what need not be made again.
fn cache() -> Result<PathBuf, Error> {
    let base = env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let base = base.or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let base = base.ok_or_else(|| {
        Error::machine_with("there is no place for the lab's cache", "set HOME or XDG_CACHE_HOME")
    })?;
    Ok(base.join("braid"))
}

/// A file that is there whole or not at all. One that is there already, and is as it should be, is marked as used.
fn whole(
    path: &Path,
    is_whole: impl FnOnce(&Path) -> io::Result<bool>,
    say: &dyn Fn(&str),
    make: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    match is_whole(path) {
        Ok(true) => {
            mark(path);
            return Ok(());
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Ok(false) | Err(_) => say(&format!("{} is damaged and made anew", path.display())),
    }
    let folder = path.parent().expect("it is in the cache");
    let scratch = Scratch::new_in(folder)?;
    let part = scratch.path().join("part");
    make(&part)?;
    fs::rename(&part, path).map_err(|error| writing(path, &error))
}

/// Notes that a file is used. It does no harm if that cannot be.
fn mark(path: &Path) {
    let _ = File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
}

/// Bytes of the checksum at the end of a sealed file.
const SEAL: usize = 8;

fn sum(bytes: &[u8]) -> [u8; SEAL] {
    let mut hash = XxHash3_64::default();
    hash.write(bytes);
    hash.finish().to_le_bytes()
}

/// Adds a checksum. QEMU does not mind something after its own.
fn seal(file: &Path) -> io::Result<()> {
    let sum = sum(&fs::read(file)?);
    File::options().append(true).open(file)?.write_all(&sum)
}

/// Whether the checksum at the end is that of the rest.
fn is_sealed(file: &Path) -> io::Result<bool> {
    let bytes = fs::read(file)?;
    Ok(bytes.split_last_chunk::<SEAL>().is_some_and(|(rest, seal)| sum(rest) == *seal))
}

/// Removes images and snapshots that were not used for long. What cannot be removed does no harm.
fn tidy(folder: &Path) {
    let used = |path: &PathBuf| path.metadata().and_then(|data| data.modified()).ok();
    let entries = || fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for kind in ["cpio", "snapshot"] {
        let mut files: Vec<PathBuf> =
            entries().filter(|path| path.extension().is_some_and(|extension| extension == kind)).collect();
        files.sort_by_key(used);
        let is_old =
            |file: &&PathBuf| used(file).and_then(|time| time.elapsed().ok()).is_some_and(|age| age > IN_USE);
        for file in files.iter().rev().skip(KEPT).filter(is_old) {
            let _: io::Result<()> = fs::remove_file(file);
        }
    }
}
