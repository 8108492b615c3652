//! The files of `--pcap` and `--events`: one or several per run, named after it, each whole or not there.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use braid_capture::events::EventLog;
use braid_capture::pcap;
use braid_sim::observe::{At, Event, Observer};
use braid_study::files::{part, publish};
use braid_study::{Backend, Case, Outcome, Request, Sim, Stop};
use tempfile::NamedTempFile;

use crate::Failure;
use crate::args::RunArgs;
use crate::failure::FOLDER;

/// In the folder of `--out`.
const EVENTS: &str = "events";

/// Where the captures and logs of runs go.
pub(crate) struct Captures {
    pcap: Option<PathBuf>,
    snap_length: u32,
    events: Option<PathBuf>,
}

impl Captures {
    /// Those asked for, if any.
    pub(crate) fn of(args: &RunArgs) -> Option<Self> {
        let events = args.out.as_ref().filter(|_| args.events).map(|out| out.join(EVENTS));
        let wanted = args.pcap.is_some() || events.is_some();
        wanted.then(|| Self { pcap: args.pcap.clone(), snap_length: args.snaplen, events })
    }

    /// Creates the folders if they are needed, and checks that they can be written to.
    pub(crate) fn prepare(&self) -> Result<(), Failure> {
        for (option, folder) in [("--pcap", &self.pcap), ("--out", &self.events)] {
            let Some(folder) = folder else { continue };
            let check = || {
                fs::create_dir_all(folder)?;
                tempfile::tempfile_in(folder).map(drop)
            };
            check().map_err(|error| Failure::writing_to(option, FOLDER, folder, &error))?;
        }
        Ok(())
    }

    /// Whether all files of a run are there.
    pub(crate) fn has(&self, run: usize, case: &Case) -> bool {
        self.files(run, case).iter().all(|path| path.exists())
    }

    /// Does a run in the simulator, and writes its files unless it fails.
    fn simulate(&self, request: &Request) -> Result<Outcome, Stop> {
        let mut recorder = self.recorder(request).map_err(all)?;
        let outcome = Sim.run_observed(request, &mut recorder)?;
        recorder.finish().map_err(all)?;
        Ok(outcome)
    }

    /// Does a run that is not simulated, and writes its packets unless it fails. `work` does it and hands them over.
    #[cfg(target_os = "linux")]
    pub(crate) fn record(
        &self,
        request: &Request,
        work: impl FnOnce(braid_lab::Capture) -> Result<Outcome, Stop>,
    ) -> Result<Outcome, Stop> {
        let about = format!("{} --backend {}", about(&request.case), request.case.backend);
        let files = self.begin(request).map_err(all)?;
        let begin = || {
            let sinks = files.iter().map(|(file, _)| sink(file)).collect::<io::Result<Vec<_>>>()?;
            pcap::Recording::new(request.case.scenario, self.snap_length, &about, sinks)
        };
        let mut recording = begin().map_err(|error| all(writing(&files[0].1, &error)))?;
        let mut each = |packet: braid_lab::Packet<'_>| {
            let braid_lab::Packet { connection, subflow, time_ns, length, bytes } = packet;
            recording.add(connection, subflow, time_ns, length, bytes);
        };
        let outcome = work(braid_lab::Capture { snap_length: self.snap_length, each: &mut each })?;
        let sinks = recording.finish().map_err(|error| all(writing(&files[0].1, &error)))?;
        finish(sinks, files).map_err(all)?;
        Ok(outcome)
    }

    fn files(&self, run: usize, case: &Case) -> Vec<PathBuf> {
        let scenario = case.scenario.name.trim_end_matches(".toml");
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.=".contains(c) { c } else { '-' };
        let about: String = format!("{run:04}-{scenario}-{}-seed{}", case.spec.text(), case.seed)
            .chars()
            .map(plain)
            .collect();
        // A path may be longer than a name.
        let about: String = about.chars().take(120).collect();
        let pcap = self.pcap.iter().flat_map(|folder| {
            let names = case.scenario.connections.iter().map(|connection| &connection.name);
            names.map(|name| folder.join(format!("{about}-{name}.pcapng")))
        });
        let events = self.events.iter().map(|folder| folder.join(format!("{about}.sqlog")));
        pcap.chain(events).collect()
    }

    /// The files of a run, empty, and the names that they are to get.
    fn begin(&self, request: &Request) -> Result<Vec<(NamedTempFile, PathBuf)>, Failure> {
        let begin = |path: PathBuf| {
            let file = part(&path).map_err(|error| writing(&path, &error))?;
            Ok((file, path))
        };
        self.files(request.number, &request.case).into_iter().map(begin).collect()
    }

    fn recorder(&self, request: &Request) -> Result<Recorder, Failure> {
        let case = request.case;
        let about = about(&case);
        let files = self.begin(request)?;
        let begin = || {
            let mut sinks = files.iter().map(|(file, _)| sink(file)).collect::<io::Result<Vec<_>>>()?;
            let events = match (&self.events, sinks.len()) {
                (Some(_), 1..) => {
                    let sink = sinks.pop().expect("there is one");
                    Some(EventLog::new(case.scenario, &about, sink)?)
                }
                _ => None,
            };
            let pcap = match self.pcap {
                Some(_) => {
                    Some(pcap::Captures::new(case.scenario, case.seed, self.snap_length, &about, sinks)?)
                }
                None => None,
            };
            Ok((pcap, events))
        };
        let (pcap, events) = begin().map_err(|error| writing(&files[0].1, &error))?;
        Ok(Recorder { pcap, events, files })
    }
}

/// The simulator, whose runs are recorded.
pub(crate) struct Captured(pub(crate) Arc<Captures>);

impl Backend for Captured {
    fn base(&self) -> &dyn Backend {
        &Sim
    }

    fn run(&self, request: Request) -> Result<Outcome, Stop> {
        self.0.simulate(&request)
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
fn about(case: &Case) -> String {
    format!("{} --cc {} --seeds {seed}..{seed}", case.scenario.name, case.spec.text(), seed = case.seed)
}

/// What concerns one file concerns all that follow.
fn all(failure: Failure) -> Stop {
    Stop::All(failure.into())
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
