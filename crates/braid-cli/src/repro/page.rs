//! `braid repro --report`: documents side by side on one page.

use std::path::Path;

use braid_report::papers::{self, Page, Papers, StandIn};
use braid_results::claims::{self, Document, ExperimentResult, Paper, Reproduction};
use braid_scenario::{Source, load};
use indexmap::IndexMap;

use crate::Failure;
use crate::args::{Backend, ReproArgs};
use crate::command::VERSION;
use crate::failure::BAD_INPUT;
use crate::report;

/// Writes the page of these documents: for each paper the simulator's with the most seeds, the kernel's, and what searches and
/// other assumptions gave.
pub(super) fn write(path: &Path, args: &ReproArgs, documents: &[Document]) -> Result<(), Failure> {
    let mut keys: Vec<&str> = Vec::new();
    let papers = documents.iter().flat_map(|document| &document.papers);
    for paper in papers {
        if !keys.contains(&paper.paper.as_str()) {
            keys.push(&paper.paper);
        }
    }
    let known: IndexMap<&str, Paper> =
        keys.iter().filter_map(|key| Some((*key, claims::find(key)?.ok()?))).collect();
    let mut pages = Vec::new();
    for key in keys {
        let all = || {
            documents.iter().flat_map(|document| {
                let papers = document.papers.iter().filter(|paper| paper.paper == key);
                papers.map(move |paper| (document, paper))
            })
        };
        let plain = |document: &Document| document.cc.is_empty() && document.scheduler.is_none();
        let of = |backend: &str| {
            let own = all().filter(|(document, _)| document.backend == backend && plain(document));
            let own = own.map(|(document, paper)| (document.seeds, paper));
            // The first of those with the most seeds.
            own.fold(None, |best: Option<([u64; 2], &Reproduction)>, one| match best {
                Some(best) if best.0[1] - best.0[0] >= one.0[1] - one.0[0] => Some(best),
                _ => Some(one),
            })
        };
        let (sim, kernel) = (of("sim"), of("lab").map(|(_, result)| result));
        let stood_in = || all().filter(|(document, _)| document.backend == "sim" && !plain(document));
        // What was run on a kernel only, or only with other algorithms, is shown as such, beside nothing.
        let alone = || stood_in().map(|(document, paper)| (document.seeds, paper)).next();
        let Some((seeds, result)) = sim.or_else(|| of("lab")).or_else(alone) else { continue };
        let paper = known.get(key);
        let causes = claims::causes(key).map_err(|error| Failure::new(BAD_INPUT, error.to_string()))?;
        pages.push(Page {
            paper,
            result,
            seeds,
            kernel,
            stand_ins: stood_in()
                .filter(|_| sim.is_some())
                .map(|(document, result)| StandIn {
                    cc: &document.cc,
                    scheduler: document.scheduler.as_deref(),
                    result,
                })
                .collect(),
            search: documents.iter().flat_map(|document| &document.search).find(|search| search.paper == key),
            varied: documents
                .iter()
                .flat_map(|document| &document.sensitivity)
                .filter(|varied| varied.paper == key)
                .collect(),
            causes,
            drawings: result
                .experiments
                .iter()
                .filter_map(|experiment| Some((experiment.id.clone(), drawing(paper, experiment)?)))
                .collect(),
        });
    }
    let page = papers::html(&Papers { version: VERSION, command: &command_of(args), pages });
    report::save(path, &page, args.quiet)
}

/// The topology of the first cell that belongs to an experiment; none if its scenario is not here any more.
fn drawing(paper: Option<&Paper>, experiment: &ExperimentResult) -> Option<String> {
    let file = load(&Source::find(&experiment.scenario).ok()?, &experiment.set).ok()?;
    let only = paper.and_then(|paper| paper.experiment.get(&experiment.id)).map(|own| &own.only);
    let belongs = |parameters: &IndexMap<String, String>| {
        only.is_none_or(|only| only.iter().all(|(name, value)| parameters.get(name) == Some(value)))
    };
    let cell = file.cells.iter().find(|cell| belongs(&cell.parameters))?;
    Some(braid_draw::topology(cell))
}

/// The command that gives the same page.
fn command_of(args: &ReproArgs) -> String {
    if !args.from.is_empty() {
        let mut what = vec!["--from".to_owned()];
        what.extend(report::paths(&args.from));
        return report::command("repro", &what, &[]);
    }
    let flags = [(args.sensitivity, "--sensitivity"), (args.search, "--search")];
    let flags = flags.iter().filter(|(given, _)| *given).map(|(_, flag)| (*flag).to_owned());
    let what: Vec<String> = args.what.iter().cloned().chain(flags).collect();
    let backend = if args.backend == Backend::Sim { None } else { Some(args.backend.name().to_owned()) };
    let options = [
        ("--seeds", vec![args.seeds.to_string()]),
        ("--set", args.set.clone()),
        ("--cc", report::list(&args.cc)),
        ("--scheduler", args.scheduler.iter().cloned().collect()),
        ("--claim", report::list(&args.claim)),
        ("--settings", args.search.then(|| args.settings.to_string()).into_iter().collect()),
        ("--backend", backend.into_iter().collect()),
    ];
    report::command("repro", &what, &options)
}
