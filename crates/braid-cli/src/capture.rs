//! The files of `--pcap` and `--events`: one or several per run, named after it, each whole or not there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use braid_capture::events::EventLog;
use braid_capture::pcap;
use braid_results::OK;
use braid_sim::observe::{At, Event, Observer};
use tempfile::NamedTempFile;

use crate::Failure;
use crate::args::RunArgs;
use crate::out::{part, publish};
use crate::plan::Plan;
use crate::unfinished::Finished;

/// In the folder of `--out`.
const EVENTS: &str = "events";
const FOLDER: &str = "the name of a folder, which is created if it is missing";

/// Where the captures and logs of runs go.
pub(crate) struct Captures {
    pcap: Option<PathBuf>,
    snap_length: u32,
    events: Option<PathBuf>,
}

impl Captures {
    /// Creates the folders if they are needed, and checks that they can be written to.
    pub(crate) fn prepare(args: &RunArgs) -> Result<Option<Self>, Failure> {
        let events = args.out.as_ref().filter(|_| args.events).map(|out| out.join(EVENTS));
        if args.pcap.is_none() && events.is_none() {
            return Ok(None);
        }
        let captures = Self { pcap: args.pcap.clone(), snap_length: args.snaplen, events };
        for (option, folder) in [("--pcap", &captures.pcap), ("--out", &captures.events)] {
            let Some(folder) = folder else { continue };
            let check = || {
                fs::create_dir_all(folder)?;
                tempfile::tempfile_in(folder).map(drop)
            };
            check().map_err(|error| Failure::writing_to(option, FOLDER, folder, &error))?;
        }
        Ok(Some(captures))
    }

    /// Whether all files of a run are there.
    pub(crate) fn has(&self, plan: &Plan, run: usize) -> bool {
        self.files(plan, run).iter().all(|path| path.exists())
    }

    /// Does a run, and writes its files unless it fails.
    pub(crate) fn execute(&self, plan: &Plan, run: usize, samples: bool) -> Result<Finished, Failure> {
        let mut recorder = self.recorder(plan, run)?;
        let finished = plan.execute_observed(run, samples, &mut recorder);
        if finished.0.status == OK {
            recorder.finish()?;
        }
        Ok(finished)
    }

    /// Does a run that is not simulated, and writes its packets unless it fails. `work` does it and hands them over.
    #[cfg(target_os = "linux")]
    pub(crate) fn record(
        &self,
        plan: &Plan,
        run: usize,
        work: impl FnOnce(braid_lab::Capture) -> Result<Finished, Failure>,
    ) -> Result<Finished, Failure> {
        let (setup, _) = plan.get(run);
        let about = format!("{} --backend {}", about(plan, run), setup.backend);
        let files = self.begin(plan, run)?;
        let begin = || {
            let sinks = files.iter().map(|(file, _)| sink(file)).collect::<io::Result<Vec<_>>>()?;
            pcap::Recording::new(setup.scenario, self.snap_length, &about, sinks)
        };
        let mut recording = begin().map_err(|error| writing(&files[0].1, &error))?;
        let mut each = |packet: braid_lab::Packet<'_>| {
            let braid_lab::Packet { connection, subflow, time_ns, length, bytes } = packet;
            recording.add(connection, subflow, time_ns, length, bytes);
        };
        let finished = work(braid_lab::Capture { snap_length: self.snap_length, each: &mut each })?;
        if finished.0.status == OK {
            let sinks = recording.finish().map_err(|error| writing(&files[0].1, &error))?;
            finish(sinks, files)?;
        }
        Ok(finished)
    }

    fn files(&self, plan: &Plan, run: usize) -> Vec<PathBuf> {
        let (setup, _) = plan.get(run);
        let scenario = setup.scenario.name.trim_end_matches(".toml");
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.=".contains(c) { c } else { '-' };
        let about: String =
            format!("{run:04}-{scenario}-{}-seed{}", setup.cc, setup.seed).chars().map(plain).collect();
        // A path may be longer than a name.
        let about: String = about.chars().take(120).collect();
        let pcap = self.pcap.iter().flat_map(|folder| {
            let names = setup.scenario.connections.iter().map(|connection| &connection.name);
            names.map(|name| folder.join(format!("{about}-{name}.pcapng")))
        });
        let events = self.events.iter().map(|folder| folder.join(format!("{about}.sqlog")));
        pcap.chain(events).collect()
    }

    /// The files of a run, empty, and the names that they are to get.
    fn begin(&self, plan: &Plan, run: usize) -> Result<Vec<(NamedTempFile, PathBuf)>, Failure> {
        let begin = |path: PathBuf| {
            let file = part(&path).map_err(|error| writing(&path, &error))?;
            Ok((file, path))
        };
        self.files(plan, run).into_iter().map(begin).collect()
    }

    fn recorder(&self, plan: &Plan, run: usize) -> Result<Recorder, Failure> {
        let (setup, _) = plan.get(run);
        let about = about(plan, run);
        let files = self.begin(plan, run)?;
        let begin = || {
            let mut sinks = files.iter().map(|(file, _)| sink(file)).collect::<io::Result<Vec<_>>>()?;
            let events = match (&self.events, sinks.len()) {
                (Some(_), 1..) => {
                    let sink = sinks.pop().expect("there is one");
                    Some(EventLog::new(setup.scenario, &about, sink)?)
                }
                _ => None,
            };
            let pcap = match self.pcap {
                Some(_) => {
                    Some(pcap::Captures::new(setup.scenario, setup.seed, self.snap_length, &about, sinks)?)
                }
                None => None,
            };
            Ok((pcap, events))
        };
        let (pcap, events) = begin().map_err(|error| writing(&files[0].1, &error))?;
        Ok(Recorder { pcap, events, files })
    }
}

/// The files of a run that is going on.
struct Recorder {
    pcap: Option<pcap::Captures<BufWriter<File>>>,
    events: Option<EventLog<BufWriter<File>>>,
    /// In the order of the sinks, that of the events last.
    files: Vec<(NamedTempFile, PathBuf)>,
}

impl Recorder {
    fn finish(self) -> Result<(), Failure> {
        let Self { pcap, events, files } = self;
        let place = files[0].1.clone();
        let sinks = || {
            let mut sinks = pcap.map_or_else(|| Ok(Vec::new()), pcap::Captures::finish)?;
            sinks.extend(events.map(EventLog::finish).transpose()?);
            Ok(sinks)
        };
        finish(sinks().map_err(|error| writing(&place, &error))?, files)
    }
}

/// What a capture says it is of.
fn about(plan: &Plan, run: usize) -> String {
    let (setup, _) = plan.get(run);
    format!("{} --cc {} --seeds {seed}..{seed}", setup.scenario.name, setup.cc, seed = setup.seed)
}

fn sink(file: &NamedTempFile) -> io::Result<BufWriter<File>> {
    Ok(BufWriter::with_capacity(1 << 16, file.as_file().try_clone()?))
}

/// Everything is written: the files get their names.
fn finish(sinks: Vec<BufWriter<File>>, files: Vec<(NamedTempFile, PathBuf)>) -> Result<(), Failure> {
    for (mut sink, (_, path)) in sinks.into_iter().zip(&files) {
        sink.flush().map_err(|error| writing(path, &error))?;
    }
    files.into_iter().try_for_each(|(file, path)| publish_same(file, &path))
}

impl Observer for Recorder {
    fn observe(&mut self, at: At, event: &Event) {
        if let Some(pcap) = &mut self.pcap {
            pcap.observe(at, event);
        }
        if let Some(events) = &mut self.events {
            events.observe(at, event);
        }
    }
}

/// A file may take the place of nothing but the same.
fn publish_same(file: NamedTempFile, path: &Path) -> Result<(), Failure> {
    let same = || io::Result::Ok(fs::read(path)? == fs::read(file.path())?);
    if path.exists() {
        return match same() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::bad_input(
                format!("{} is of another run; nothing was overwritten", path.display()),
                "name another folder, or remove this file",
            )),
            Err(error) => Err(writing(path, &error)),
        };
    }
    publish(file, path).map_err(|error| writing(path, &error))
}

fn writing(path: &Path, error: &io::Error) -> Failure {
    Failure::writing_to("--pcap or --out", FOLDER, path, error)
}
