//! `braid repro --search`: the settings that the papers' files make possible, tried and scored.

use std::fmt::Write as _;

use braid_results::claims::{self, Names, Paper, Search, Setting, Variation, Verdict};
use fastrand::Rng;

use super::work::{Change, Measured, Study, Work};
use crate::Failure;
use crate::args::ReproArgs;

/// Which pairs are tried where not all are: drawn before anything was run, and the same each time.
const SEED: u64 = 1;

/// A paper's settings, as assumed first.
pub(super) struct Space {
    paper: usize,
    possible: usize,
    /// The variations that each is made of, by their place in the paper's file.
    settings: Vec<Vec<usize>>,
}

impl Space {
    /// All single variations, and of the pairs that go together as many as the budget allows.
    pub(super) fn new(index: usize, paper: &Paper, budget: usize) -> Self {
        let all = &paper.variation;
        let mut pairs: Vec<Vec<usize>> = (0..all.len())
            .flat_map(|a| (a + 1..all.len()).map(move |b| vec![a, b]))
            .filter(|pair| go_together(&all[pair[0]], &all[pair[1]]))
            .collect();
        let possible = all.len() + pairs.len();
        Rng::with_seed(SEED).shuffle(&mut pairs);
        pairs.truncate(budget.saturating_sub(1 + all.len()));
        pairs.sort_unstable();
        let mut settings = vec![Vec::new()];
        settings.extend((0..all.len()).map(|one| vec![one]));
        settings.extend(pairs);
        settings.truncate(budget.max(1));
        Self { paper: index, possible, settings }
    }
}

/// Whether two variations can hold at the same time: they change different things, in at least one experiment both.
fn go_together(a: &Variation, b: &Variation) -> bool {
    let key = |set: &String| set.split_once('=').map_or(set.clone(), |(key, _)| key.trim().to_owned());
    let keys: Vec<String> = a.set.iter().map(key).collect();
    let meet = a.experiments.is_empty()
        || b.experiments.is_empty()
        || a.experiments.iter().any(|id| b.experiments.contains(id));
    let same_set = b.set.iter().map(key).any(|key| keys.contains(&key));
    let same_cc = b.cc.keys().any(|name| a.cc.contains_key(name));
    meet && !same_set && !same_cc
}

/// Everything that has to be run for these spaces; the studies are in the order of papers and settings.
pub(super) fn work(
    args: &ReproArgs,
    papers: &[Paper],
    names: &Names,
    spaces: &[Space],
) -> Result<Work, Failure> {
    let mut work = Work::default();
    for space in spaces {
        let paper = &papers[space.paper];
        for setting in &space.settings {
            let asked = Change { strict: setting.is_empty(), ..Change::asked(args)? };
            let varied = setting.iter().map(|&place| Change::from(&paper.variation[place]));
            let changes: Vec<Change> = std::iter::once(asked).chain(varied).collect();
            work.add(space.paper, paper, setting.first().copied(), &changes, args.seeds, names)?;
        }
    }
    Ok(work)
}

/// The searches of all spaces, from what [`Work::measure`] gave.
pub(super) fn searches(
    papers: &[Paper],
    names: &Names,
    spaces: &[Space],
    work: &Work,
    measured: &Measured,
    seeds: [u64; 2],
) -> Vec<Search> {
    let mut studies = work.studies.iter();
    let mut searches = Vec::new();
    for space in spaces {
        let paper = &papers[space.paper];
        let mut groups = Vec::new();
        let mut settings = Vec::new();
        for (setting, study) in space.settings.iter().zip(&mut studies) {
            if setting.is_empty() {
                groups = self::groups(study);
            }
            let cells = work.cells(study, measured);
            let result = claims::evaluate(paper, names, &cells);
            let chosen = || setting.iter().map(|&place| &paper.variation[place]);
            let what: Vec<&str> = chosen().map(|variation| variation.what.as_str()).collect();
            let holds = result.claims.iter().filter(|claim| claim.verdict == Verdict::Holds);
            settings.push(Setting {
                variations: chosen().map(|variation| variation.id.clone()).collect(),
                what: if what.is_empty() { "as assumed".to_owned() } else { what.join("; ") },
                set: chosen().flat_map(|variation| variation.set.clone()).collect(),
                cc: chosen().flat_map(|variation| variation.cc.clone()).collect(),
                counts: result.counts,
                holds: holds.map(|claim| claim.id.clone()).collect(),
                scores: claims::scores(paper, names, &cells),
            });
        }
        searches.push(Search::new(&paper.key, seeds, space.possible, settings, &groups));
    }
    searches
}

/// What `--dry-run` prints.
pub(super) fn intention(papers: &[Paper], spaces: &[Space], work: &Work) -> String {
    let mut text = String::new();
    for space in spaces {
        let (tried, key) = (space.settings.len(), &papers[space.paper].key);
        let _ = writeln!(text, "{key}: {tried} settings, as assumed among them, of {}", space.possible + 1);
    }
    text + &work.count()
}

/// Experiments that share runs, directly or by others.
fn groups(study: &Study) -> Vec<Vec<String>> {
    let mut groups: Vec<(Vec<String>, Vec<usize>)> = Vec::new();
    for experiment in &study.experiments {
        let own = study.cells.iter().filter(|(cell, ..)| cell.experiment == experiment.id);
        let mut units: Vec<usize> = own.map(|(_, unit, _)| *unit).collect();
        let mut ids = vec![experiment.id.clone()];
        let (shared, apart): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(_, known)| known.iter().any(|unit| units.contains(unit)));
        for (known_ids, known) in shared {
            ids.splice(0..0, known_ids);
            units.extend(known);
        }
        groups = apart;
        groups.push((ids, units));
    }
    groups.into_iter().map(|(ids, _)| ids).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variation(set: &[&str], cc: &[&str], experiments: &[&str]) -> Variation {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        Variation {
            id: String::new(),
            what: String::new(),
            experiments: owned(experiments),
            set: owned(set),
            cc: owned(cc).into_iter().map(|name| (name, "reno".to_owned())).collect(),
        }
    }

    #[test]
    fn variations_go_together_if_they_change_different_things_in_the_same_experiment() {
        let queue = variation(&["link.b1.queue=50p"], &[], &[]);
        assert!(go_together(&queue, &variation(&["link.b1.delay=5ms"], &["lia"], &[])));
        assert!(!go_together(&queue, &variation(&["link.b1.queue = 80p"], &[], &[])));
        let kernel = variation(&[], &["lia"], &["table2"]);
        assert!(!go_together(&kernel, &variation(&[], &["lia", "olia"], &[])));
        assert!(!go_together(&kernel, &variation(&["link.b1.queue=50p"], &[], &["table3"])));
        assert!(go_together(&kernel, &variation(&["link.b1.queue=50p"], &[], &["table3", "table2"])));
    }

    #[test]
    fn a_budget_takes_single_variations_first_and_draws_the_same_pairs_each_time() {
        let paper = claims::find("d-olia").unwrap().unwrap();
        let [small, again, all] = [20, 20, 10_000].map(|budget| Space::new(0, &paper, budget));
        assert_eq!(small.settings, again.settings);
        assert_eq!(small.settings.len(), 20);
        assert!((0..paper.variation.len()).all(|one| small.settings[one + 1] == [one]));
        assert_eq!(all.settings.len(), all.possible + 1);
    }
}
