//! `braid repro`: published experiments run again.

mod asked;
mod files;
mod lab;
mod page;
mod search;
mod work;

use std::path::PathBuf;

use braid_report::repro::{self as report, Part};
use braid_results::claims::{self, Document, Verdict};
use braid_study::{Folder, Store};

use self::asked::papers;
use self::files::RESULTS;
use self::work::Work;
use crate::Failure;
use crate::args::{Backend, ReproArgs, ReproFormat};
use crate::failure::{BAD_INPUT, FAILED};
use crate::{report as page_file, terminal};

/// Runs what was asked for, or reads what was run, and prints it.
pub(crate) fn repro(args: &ReproArgs) -> Result<(), Failure> {
    check(args)?;
    args.report.as_deref().map(page_file::free).transpose()?;
    let (document, pages) = if args.from.is_empty() {
        let Some(document) = measured(args)? else { return Ok(()) };
        (document.clone(), vec![document])
    } else {
        let all: Vec<Document> = args.from.iter().map(|path| files::read(path)).collect::<Result<_, _>>()?;
        let one = if side_by_side(args) { all[0].clone() } else { files::together(args, &all)? };
        if let Some(folder) = &args.out {
            Folder::create(folder)?.write_results(RESULTS, one.to_json().as_bytes())?;
        }
        (one, all)
    };
    if let Some(path) = &args.report {
        page::write(path, args, &pages)?;
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

/// Runs what was asked for, and writes it; nothing if it was only asked what that would be.
fn measured(args: &ReproArgs) -> Result<Option<Document>, Failure> {
    let names = claims::names().map_err(|error| Failure::new(BAD_INPUT, error.to_string()))?;
    let papers = papers(&args.what, &args.claim)?;
    work::check_stand_ins(args, &papers)?;
    let spaces: Vec<search::Space> = papers
        .iter()
        .enumerate()
        .filter(|_| args.search)
        .map(|(index, paper)| search::Space::new(index, paper, args.settings))
        .collect();
    let on_kernel = args.backend == Backend::Lab;
    let (work, intention) = if on_kernel {
        lab::work(args, &papers, &names)?
    } else if args.search {
        // What is as assumed is among the settings of a search.
        let work = search::work(args, &papers, &names, &spaces)?;
        let intention = search::intention(&papers, &spaces, &work);
        (work, intention)
    } else {
        let work = Work::new(args, &papers, &names)?;
        let intention = work.intention(args);
        (work, intention)
    };
    let plan = work.plan(args)?;
    if args.dry_run {
        terminal::print(intention.as_bytes())?;
        return Ok(None);
    }
    if on_kernel && !args.quiet {
        eprint!("{intention}");
    }
    let open = |folder: &PathBuf| Store::open(folder, &plan, &[RESULTS.to_owned()]);
    let mut store = args.out.as_ref().map(open).transpose()?;
    let measured = work.measure(args, &plan, store.as_mut())?;
    let mut document = work.document(args, &papers, &names, &measured)?;
    document.search = search::searches(&papers, &names, &spaces, &work, &measured, document.seeds);
    if let Some(store) = &mut store {
        store.folder().write_results(RESULTS, document.to_json().as_bytes())?;
        store.finish()?;
    }
    Ok(Some(document))
}

/// What does not go together.
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
            "--search and --sensitivity need the simulator: a kernel takes too long for that many runs",
            "leave --backend out, or try one setting with --set or --cc",
        )),
        Backend::Lab | Backend::Sim => Ok(()),
    }
}

/// Whether results that are there only go into a page or a data set, which take any.
fn side_by_side(args: &ReproArgs) -> bool {
    !args.from.is_empty() && args.show.is_empty() && (args.report.is_some() || args.dataset.is_some())
}
