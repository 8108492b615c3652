//! `braid repro`: repeats published experiments.

mod asked;
mod files;
mod lab;
mod page;
mod search;
mod work;

use braid_report::repro::{self as report, Part};
use braid_results::claims::{self, Document, Verdict};
use braid_study::Store;

use self::asked::papers;
use self::files::RESULTS;
use self::work::{Work, stand_ins};
use crate::Failure;
use crate::args::{Backend, ReproArgs, ReproFormat};
use crate::command::VERSION;
use crate::failure::{BAD_INPUT, FAILED};
use crate::terminal;

/// Runs the requested experiments, or reads stored results, and prints them.
pub(crate) fn repro(args: &ReproArgs) -> Result<(), Failure> {
    check(args)?;
    if let Some(path) = &args.report {
        page::prepare(path)?;
    }
    let (document, pages, store) = if args.from.is_empty() {
        let Some((document, store)) = measured(args)? else { return Ok(()) };
        (document.clone(), vec![document], store)
    } else {
        let all: Vec<Document> = args.from.iter().map(|path| files::read(path)).collect::<Result<_, _>>()?;
        let one = if side_by_side(args) { all[0].clone() } else { files::together(args, &all)? };
        (one, all, None)
    };
    if let Some(folder) = &args.out {
        files::write(folder, &document)?;
    }
    if let Some(mut store) = store {
        store.remove_runs()?;
    }
    if let Some(path) = &args.report {
        page::write(path, args, &pages)?;
        if !args.quiet {
            eprintln!("Wrote the report {}; open it in a browser.", path.display());
        }
    }
    if let Some(folder) = &args.dataset {
        files::dataset(folder, &pages)?;
        if !args.quiet {
            eprintln!("Wrote the data set to {}; dictionary.csv says what is in it.", folder.display());
        }
    }
    if side_by_side(args) {
        return Ok(());
    }
    let parts = if args.show.is_empty() { &Part::DEFAULT[..] } else { &args.show };
    let text = match args.format {
        ReproFormat::Table => report::text(&document, parts, terminal::style()),
        ReproFormat::Markdown => report::markdown(&document, parts),
        ReproFormat::Json => document.to_json(),
        ReproFormat::Csv => document.to_csv(),
    };
    terminal::print(text.as_bytes())?;
    if let Some(folder) = args.out.as_ref().filter(|_| !args.quiet) {
        eprintln!("Wrote {}.", folder.join(RESULTS).display());
    }

    let claims = document.papers.iter().flat_map(|paper| &paper.claims);
    match claims.filter(|claim| claim.verdict == Verdict::Fails).count() {
        0 => Ok(()),
        1 => Err(Failure::new(FAILED, "1 claim does not hold")),
        failed => Err(Failure::new(FAILED, format!("{failed} claims do not hold"))),
    }
}

/// Runs the requested experiments, with the store of runs until the results are written; `None` for a dry run.
fn measured(args: &ReproArgs) -> Result<Option<(Document, Option<Store>)>, Failure> {
    let names = claims::names().map_err(|error| Failure::new(BAD_INPUT, error.to_string()))?;
    let papers = papers(&args.what, &args.claim)?;
    if args.backend == Backend::Lab {
        return Ok(lab::document(args, &papers, &names)?.map(|document| (document, None)));
    }
    let work = Work::new(args, &papers, &names)?;
    let spaces: Vec<search::Space> = papers
        .iter()
        .enumerate()
        .filter(|_| args.search)
        .map(|(index, paper)| search::Space::new(index, paper, args.settings))
        .collect();
    let searched = search::work(args, &papers, &names, &spaces)?;
    let seeds = args.seeds.last() - args.seeds.first() + 1;
    if args.dry_run {
        let mut text = if args.search { String::new() } else { work.intention(args) };
        if args.search {
            text += &search::intention(&papers, &spaces, &searched, seeds);
        }
        terminal::print(text.as_bytes())?;
        return Ok(None);
    }
    // A search includes the setting as assumed: its runs are not repeated.
    if !args.search {
        let (measured, store) = work.measure(args)?;
        return Ok(Some((work.document(args, &papers, &names, &measured), store)));
    }
    let (measured, store) = searched.measure(args)?;
    let search = search::searches(args, &papers, &names, &spaces, &searched, &measured);
    let mut firsts = searched.studies.iter().enumerate().filter(|(_, study)| study.variation.is_none());
    let results = firsts
        .by_ref()
        .map(|(_, study)| searched.reproduction(study, &papers, &names, &measured, seeds as usize));
    let seeds = [args.seeds.first(), args.seeds.last()];
    let document = Document {
        set: args.set.clone(),
        cc: stand_ins(&args.cc)?,
        scheduler: args.scheduler.clone(),
        search,
        ..Document::new(VERSION, seeds, results.collect())
    };
    Ok(Some((document, store)))
}

/// Options that exclude each other.
fn check(args: &ReproArgs) -> Result<(), Failure> {
    match args.backend {
        Backend::Host => Err(Failure::bad_input(
            "--backend host runs one scenario at a time on this machine; papers need the simulator or the lab",
            "use --backend lab, a kernel of its own",
        )),
        Backend::Quic => Err(Failure::bad_input(
            "braid repro does not run on the backend quic: the papers are about MPTCP",
            "use --backend sim or lab; `braid run SCENARIO --backend quic` runs one of their scenarios on QUIC",
        )),
        Backend::Lab if args.search || args.sensitivity => Err(Failure::bad_input(
            "--search and --sensitivity are of the simulator: a kernel takes too long for so many runs",
            "leave --backend out, or try one setting with --set or --cc",
        )),
        Backend::Lab | Backend::Sim => Ok(()),
    }
}

/// Whether stored results only go into a page or a data set, which accept any.
fn side_by_side(args: &ReproArgs) -> bool {
    !args.from.is_empty() && args.show.is_empty() && (args.report.is_some() || args.dataset.is_some())
}
