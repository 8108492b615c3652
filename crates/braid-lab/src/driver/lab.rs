//! Guests that run scenarios.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use braid_scenario::model::Scenario;
use braid_study::Stop;
use rustix::{
    fs::FlockOperation,
    thread::{CpuSet, sched_getaffinity},
};
use sha2::{Digest as _, Sha256};

use super::{
    cache::{cache, is_sealed, mark, seal, tidy, whole},
    error, image,
    kernels::{self, Kernel},
    module,
    programs::{self, At, Named, Pack, Runs},
    qemu::{self, Begin, Boot, Place, Qemu},
    schedulers::need_module,
    scratch,
};
use crate::job::{self, Job, Packet, Report};

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
pub(crate) struct Lab {
    qemu: Qemu,
    kernel: Kernel,
    /// With the packet schedulers, where a run needs them.
    module: Option<Vec<u8>>,
    /// One for scenarios without programs, if there are some, and one for each choice of programs.
    images: Vec<Image>,
    folder: PathBuf,
    /// Processors that this process may use, each with the file that a process locks while its guest runs there.
    processors: Vec<(usize, PathBuf)>,
}

/// What a guest boots from, and what it has booted to.
#[derive(Debug)]
pub(crate) struct Image {
    /// For scenarios with these programs.
    programs: Named,
    /// Whether it has the module with the packet schedulers.
    has_module: bool,
    /// How they are run.
    pub(crate) runs: Runs,
    file: PathBuf,
    /// Of the booted guest.
    snapshot: Option<PathBuf>,
    /// Hash of all that the guest is made of.
    identity: String,
}

/// On a busy machine one guest in ten has to begin again; where there are two guests for each processor, two in three.
const ATTEMPTS: usize = 60;
/// Attempts beside other guests, before a guest waits for a processor of its own.
const ATTEMPTS_BESIDE: usize = 5;

impl Lab {
    /// Gets everything ready for these scenarios with each of these packet schedulers: the kernel (by name or file), images
    /// around `program`, and the snapshots of guests that have booted. What takes long is told to `say`, and is in the user's cache the next time.
    pub(crate) fn prepare<'a>(
        kernel: &str,
        program: &Path,
        start: Start,
        scenarios: impl Iterator<Item = &'a Scenario>,
        schedulers: &[String],
        stop: &AtomicBool,
        say: &dyn Fn(&str),
    ) -> Result<Self, Stop> {
        let qemu = Qemu::find()?;
        let cache = cache()?;
        let kernel = Kernel::find(kernel, &cache.join("kernels"), stop, say)?;
        let folder = cache.join("lab");
        fs::create_dir_all(&folder).map_err(error::writing(&folder))?;
        scratch::sweep(&folder);
        let mut lab =
            Self { qemu, kernel, module: None, images: Vec::new(), folder, processors: processors(&cache) };
        for scenario in scenarios {
            for scheduler in schedulers {
                let has_module = need_module(scenario, scheduler);
                if has_module && lab.module.is_none() {
                    lab.module = Some(module::built(&lab.kernel, &cache.join("kernels"), stop, say)?);
                }
                if lab.find_image(scenario, scheduler).is_none() {
                    let image =
                        lab.image(program, programs::named(scenario), has_module, start, stop, say)?;
                    lab.images.push(image);
                }
            }
        }
        tidy(&lab.folder);
        Ok(lab)
    }

    /// Identity of the environment: kernel, sources of the lab, and QEMU. Runs with equal identity, scenario, algorithms and seed
    /// are equal. Nothing is fetched or booted.
    pub(crate) fn identity(kernel: &str) -> Result<String, Stop> {
        let qemu = Qemu::find()?;
        let (kernel, arguments) = (kernels::identity(kernel)?, (qemu.arguments(), qemu::kernel_arguments()));
        Ok(format!("kernel {kernel}, sources {}, QEMU {} {arguments:?}", crate::SOURCE_HASH, qemu.version))
    }

    fn image(
        &self,
        program: &Path,
        programs: Named,
        has_module: bool,
        start: Start,
        stop: &AtomicBool,
        say: &dyn Fn(&str),
    ) -> Result<Image, Stop> {
        let pack = Pack::of(&programs, At::Guest)?;
        let mut files = pack.files.clone();
        if let Some(module) = self.module.as_ref().filter(|_| has_module) {
            files.insert(format!("{}/{}", job::MODULES, job::SCHEDULER_MODULE), (0o644, module.clone()));
        }
        let bytes = image::build(&self.kernel, program, &files)?;
        let mut hash = Sha256::new();
        hash.update(&bytes);
        let boots = fs::read(&self.kernel.image).map_err(error::reading(&self.kernel.image))?;
        hash.update(boots);
        hash.update(format!(
            "{} {:?} {}",
            self.qemu.version,
            self.qemu.arguments(),
            qemu::kernel_arguments()
        ));
        let identity = format!("{:x}", hash.finalize())[..24].to_owned();
        let file = self.folder.join(format!("{identity}.cpio"));
        let is_whole = |there: &Path| Ok(fs::read(there)? == bytes);
        whole(&file, is_whole, say, |part| fs::write(part, &bytes).map_err(error::writing(part)))?;
        let runs = pack.runs;
        let mut image = Image { programs, has_module, runs, file, snapshot: None, identity };
        if start == Start::Restored {
            let path = self.folder.join(format!("{}.snapshot", image.identity));
            whole(&path, is_sealed, say, |part| {
                say("booting the guest once");
                self.guest(&image, &Begin::Snapshot(part), &Job::default(), &mut |_| (), stop)?;
                seal(part).map_err(error::writing(part))
            })?;
            image.snapshot = Some(path);
        }
        Ok(image)
    }

    /// What results depend on besides scenario, seed and this program: kernel, QEMU, and the image by its hash, of which the
    /// module with the packet schedulers is a part.
    pub(crate) fn environment(&self, scenario: &Scenario, scheduler: &str) -> String {
        let identity = &self.image_of(scenario, scheduler).identity;
        format!("Linux {}, QEMU {}, image {identity}", self.kernel.release, self.qemu.version)
    }

    fn find_image(&self, scenario: &Scenario, scheduler: &str) -> Option<&Image> {
        let programs = programs::named(scenario);
        let has_module = need_module(scenario, scheduler);
        self.images.iter().find(|image| image.programs == programs && image.has_module == has_module)
    }

    /// The image that was prepared for this scenario with this scheduler.
    pub(crate) fn image_of(&self, scenario: &Scenario, scheduler: &str) -> &Image {
        self.find_image(scenario, scheduler).expect("it was prepared for this scenario")
    }

    /// Does a job in a guest of its own, of the scenario that it was made of. Taking packets takes the guest some microseconds
    /// each.
    pub(crate) fn run(
        &self,
        image: &Image,
        job: &Job,
        packets: &mut dyn FnMut(Packet<'_>),
        stop: &AtomicBool,
    ) -> Result<Report, Stop> {
        let begin = image.snapshot.as_deref().map_or(Begin::Boot, Begin::Restore);
        self.guest(image, &begin, job, packets, stop)
    }

    fn guest(
        &self,
        image: &Image,
        begin: &Begin<'_>,
        job: &Job,
        packets: &mut dyn FnMut(Packet<'_>),
        stop: &AtomicBool,
    ) -> Result<Report, Stop> {
        [Some(&image.file), image.snapshot.as_ref()].into_iter().flatten().for_each(|path| mark(path));
        let boot = Boot { kernel: &self.kernel.image, image: &image.file };
        let mut mine = self.free_processor();
        for attempt in 0..ATTEMPTS {
            if mine.is_none() && attempt >= ATTEMPTS_BESIDE {
                mine = self.wait_for_processor(stop);
            }
            let place =
                Place { folder: &self.folder, processor: mine.as_ref().map(|(processor, _)| *processor) };
            if let Some(report) = qemu::run(&self.qemu, &boot, begin, job, &place, packets, stop)? {
                return Ok(report);
            }
        }
        Err(Stop::Failed(job::CLOCK_MOVED.into()))
    }

    /// One that becomes free within a minute.
    fn wait_for_processor(&self, stop: &AtomicBool) -> Option<(usize, File)> {
        const POLL: Duration = Duration::from_millis(100);
        let going = |_: &_| !stop.load(Ordering::Relaxed);
        (0..600).take_while(going).find_map(|_| {
            let free = self.free_processor();
            if free.is_none() {
                thread::sleep(POLL);
            }
            free
        })
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
