//! `braid repro --backend lab`: the experiments on a real kernel, by the plan in the papers' files.

use std::fmt::Write as _;

use braid_results::claims::{
    self, Cell, Coordinates, Document, ExperimentResult, LabPlan, Names, Paper, Reproduction, Strip,
};
use braid_study::{Seeds, Store, Study};
use indexmap::IndexMap;

use super::work::{Change, Work, stand_ins, strips};
use crate::Failure;
use crate::args::ReproArgs;
use crate::command::VERSION;
use crate::{signal, terminal};

/// Processor time per second of a run: docs/lab.md has 0.3 to 0.7 s.
const COST: f64 = 0.5;

/// Runs of one experiment.
struct Part {
    paper: usize,
    id: String,
    seeds: Seeds,
    work: Work,
    /// Sum of its runs' simulated time.
    seconds: f64,
    reason: Option<String>,
}

/// Executes the plans, experiment by experiment; nothing with `--dry-run`.
pub(super) fn document(
    args: &ReproArgs,
    papers: &[Paper],
    names: &Names,
) -> Result<Option<Document>, Failure> {
    let mut parts = Vec::new();
    let mut left_out = Vec::new();
    for (index, paper) in papers.iter().enumerate() {
        for (id, experiment) in &paper.experiment {
            let plan = experiment.lab.as_ref().or(paper.lab.as_ref());
            match plan.and_then(|plan| plan.skip.as_ref()) {
                Some(why) => left_out.push(format!("{}/{id}: left out: {why}", paper.key)),
                None => parts.push(part(args, index, paper, id, plan, names)?),
            }
        }
    }
    // Reports missing features of the lab now, not after hours of runs.
    let plans = parts
        .iter()
        .map(|part| part.work.plan(part.seeds, |study| on_kernel(study.schedulers(&args.scheduler))));
    let plans = plans.collect::<Result<Vec<_>, _>>()?;
    let intention = intention(args, papers, &parts, &left_out);
    if args.dry_run {
        terminal::print(intention.as_bytes())?;
        return Ok(None);
    }
    if !args.quiet {
        eprint!("{intention}");
    }
    let mut cells: Vec<Vec<Cell>> = vec![Vec::new(); papers.len()];
    let mut experiments: Vec<Vec<ExperimentResult>> = vec![Vec::new(); papers.len()];
    let mut strips: Vec<Vec<Strip>> = vec![Vec::new(); papers.len()];
    let cancel = signal::cancel()?;
    let mut most = args.seeds.first();
    for (part, (plan, units)) in parts.iter().zip(&plans) {
        let key = &papers[part.paper].key;
        if !args.quiet {
            eprintln!("{key}/{}", part.id);
        }
        // Keys of finished runs depend on the kernel, so it must be prepared first.
        plan.prepare(&cancel, |what: &str| {
            if !args.quiet {
                eprintln!("{what}");
            }
        })?;
        let folder = args.runs.as_ref().map(|runs| runs.join(key).join(&part.id));
        let mut store = folder.map(|folder| Store::open(&folder, plan, &[])).transpose()?;
        let measured = part.work.run(args, plan, units, store.as_mut(), &cancel)?;
        let seeds = count(part.seeds) as usize;
        for study in &part.work.studies {
            cells[part.paper].extend(part.work.cells(study, &measured, seeds));
            experiments[part.paper].extend(study.experiments.iter().cloned());
            strips[part.paper].extend(self::strips(study, &measured));
        }
        most = most.max(part.seeds.last());
    }
    let parts = cells.into_iter().zip(experiments).zip(strips);
    let results = papers.iter().zip(parts).map(|(paper, ((cells, experiments), strips))| Reproduction {
        experiments,
        strips,
        ..claims::evaluate(paper, names, &cells)
    });
    Ok(Some(Document {
        backend: "lab".to_owned(),
        set: args.set.clone(),
        cc: stand_ins(&args.cc)?,
        scheduler: args.scheduler.clone(),
        ..Document::new(VERSION, [args.seeds.first(), most], results.collect())
    }))
}

fn part(
    args: &ReproArgs,
    index: usize,
    paper: &Paper,
    id: &str,
    plan: Option<&LabPlan>,
    names: &Names,
) -> Result<Part, Failure> {
    let mut alone = paper.clone();
    alone.experiment.retain(|own, _| own == id);
    for (_, experiment) in &mut alone.experiment {
        experiment.only.extend(plan.map_or_else(Coordinates::default, |plan| plan.only.clone()));
    }
    let afford = plan.map_or_else(Vec::new, |plan| plan.set.clone());
    let changes = [
        Change { set: afford, cc: IndexMap::new(), only: vec![id.to_owned()] },
        Change { set: args.set.clone(), cc: stand_ins(&args.cc)?, only: Vec::new() },
    ];
    let mut work = Work { files: IndexMap::new(), units: Vec::new(), studies: Vec::new() };
    work.add(index, &alone, Some(0), &changes, names)?;
    let seeds = match plan.and_then(|plan| plan.seeds) {
        Some(most) => {
            let last = args.seeds.last().min(args.seeds.first() + u64::from(most.max(1)) - 1);
            Seeds::new(args.seeds.first(), last).unwrap_or(args.seeds)
        }
        None => args.seeds,
    };
    let lengths = work.units.iter().map(|unit| work.files[unit.file].cells[unit.cell].duration_ns);
    let seconds = lengths.sum::<u64>() as f64 / 1e9 * count(seeds) as f64;
    let reason = plan.and_then(|plan| plan.reason.clone());
    Ok(Part { paper: index, id: id.to_owned(), seeds, work, seconds, reason })
}

fn count(seeds: Seeds) -> u64 {
    seeds.last() - seeds.first() + 1
}

fn intention(args: &ReproArgs, papers: &[Paper], parts: &[Part], left_out: &[String]) -> String {
    let jobs =
        args.jobs.map(usize::from).or_else(|| std::thread::available_parallelism().ok().map(usize::from));
    let jobs = jobs.unwrap_or(1) as f64;
    let time = |seconds: f64| {
        let minutes = (seconds * COST / jobs / 60.0).ceil() as u64;
        if minutes < 90 {
            format!("{minutes} min")
        } else {
            format!("{}:{:02} h", minutes / 60, minutes % 60)
        }
    };
    let mut text = String::new();
    let mut runs = 0;
    for part in parts {
        let own = part.work.units.len() as u64 * count(part.seeds);
        runs += own;
        let reason = part.reason.as_ref().map_or_else(String::new, |reason| format!("  ({reason})"));
        let _ = writeln!(
            text,
            "{}/{}: {own} runs, {} s of a kernel in all, seeds {}..{}, about {}{reason}",
            papers[part.paper].key,
            part.id,
            part.seconds,
            part.seeds.first(),
            part.seeds.last(),
            time(part.seconds)
        );
    }
    for line in left_out {
        let _ = writeln!(text, "{line}");
    }
    let seconds: f64 = parts.iter().map(|part| part.seconds).sum();
    let _ = writeln!(
        text,
        "{runs} runs, {seconds} s of a kernel in all: about {} with {jobs} at a time, if nothing is kept from before",
        time(seconds)
    );
    text
}

#[cfg(target_os = "linux")]
fn on_kernel(study: Study) -> Study {
    study.backend(braid_lab::Kernel::in_guest(None, braid_lab::Start::Restored))
}

#[cfg(not(target_os = "linux"))]
fn on_kernel(study: Study) -> Study {
    study
}
