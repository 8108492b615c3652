//! `braid repro --backend lab`: the experiments on a real kernel, by the plan in the papers' files.

use std::fmt::Write as _;

use braid_results::claims::{Coordinates, LabPlan, Names, Paper};
use braid_study::Seeds;
use indexmap::IndexMap;

use super::work::{Change, Work};
use crate::Failure;
use crate::args::ReproArgs;

/// Processor time per second of a run, from what docs/lab.md measured: between 0.3 and 0.7 s.
const COST: f64 = 0.5;

/// What the plans say, experiment by experiment, and the same for people.
pub(super) fn work(args: &ReproArgs, papers: &[Paper], names: &Names) -> Result<(Work, String), Failure> {
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok());
    let jobs = jobs.map_or(1, usize::from) as f64;
    let time = |seconds: f64| {
        let minutes = (seconds * COST / jobs / 60.0).ceil() as u64;
        if minutes < 90 {
            format!("{minutes} min")
        } else {
            format!("{}:{:02} h", minutes / 60, minutes % 60)
        }
    };
    let mut work = Work::default();
    let (mut text, mut left_out) = (String::new(), String::new());
    let (mut runs, mut seconds) = (0, 0.0);
    for (index, paper) in papers.iter().enumerate() {
        for (id, experiment) in &paper.experiment {
            let name = format!("{}/{id}", paper.key);
            let plan = experiment.lab.as_ref().or(paper.lab.as_ref());
            if let Some(why) = plan.and_then(|plan| plan.skip.as_ref()) {
                let _ = writeln!(left_out, "{name}: left out: {why}");
                continue;
            }
            let seeds = seeds(args, plan);
            let before = work.units.len();
            add(&mut work, args, index, paper, id, plan, seeds, names)?;
            let lengths = work.units[before..].iter();
            let lengths = lengths.map(|unit| work.files[unit.file].cells[unit.cell].duration_ns);
            let count = seeds.last() - seeds.first() + 1;
            let own_seconds = lengths.sum::<u64>() as f64 / 1e9 * count as f64;
            let own = (work.units.len() - before) as u64 * count;
            runs += own;
            seconds += own_seconds;
            let reason = plan.and_then(|plan| plan.reason.as_ref());
            let reason = reason.map_or_else(String::new, |reason| format!("  ({reason})"));
            let (first, last) = (seeds.first(), seeds.last());
            let _ = writeln!(
                text,
                "{name}: {own} runs, {own_seconds} s of a kernel in all, seeds {first}..{last}, about {}{reason}",
                time(own_seconds)
            );
        }
    }
    if work.units.is_empty() {
        let hint = "use the simulator, or name other experiments";
        return Err(Failure::bad_input(left_out.trim_end(), hint));
    }
    let _ = writeln!(
        text,
        "{left_out}{runs} runs, {seconds} s of a kernel in all: about {} with {jobs} at a time, if nothing is stored from before",
        time(seconds)
    );
    Ok((work, text))
}

#[allow(clippy::too_many_arguments, reason = "all that an experiment is")]
fn add(
    work: &mut Work,
    args: &ReproArgs,
    index: usize,
    paper: &Paper,
    id: &str,
    plan: Option<&LabPlan>,
    seeds: Seeds,
    names: &Names,
) -> Result<(), Failure> {
    let mut alone = paper.clone();
    alone.experiment.retain(|own, _| own == id);
    for (_, experiment) in &mut alone.experiment {
        experiment.only.extend(plan.map_or_else(Coordinates::default, |plan| plan.only.clone()));
    }
    let set = plan.map_or_else(Vec::new, |plan| plan.set.clone());
    let afford = Change { set, cc: IndexMap::new(), only: vec![id.to_owned()], strict: false };
    let changes = [afford, Change { strict: false, ..Change::asked(args)? }];
    work.add(index, &alone, None, &changes, seeds, names)
}

/// As many of those asked for as the plan affords.
fn seeds(args: &ReproArgs, plan: Option<&LabPlan>) -> Seeds {
    let Some(most) = plan.and_then(|plan| plan.seeds) else { return args.seeds };
    let last = args.seeds.last().min(args.seeds.first() + u64::from(most.max(1)) - 1);
    Seeds::new(args.seeds.first(), last).unwrap_or(args.seeds)
}
