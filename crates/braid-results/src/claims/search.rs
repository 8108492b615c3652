//! Finds the setting in which a paper and our figures agree best, and whether that is more than chance.
//!
//! The score of an experiment is half its own claims, half its printed cells. Cells of one table are not independent,
//! so a setting is chosen on half of the experiments and scored on the other half, over many splits. Experiments that
//! share runs stay together. The baseline shuffles the settings of each experiment, so that a good setting in one is
//! unrelated to others.

use fastrand::Rng;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::paper::Coordinates;
use super::{Cell, Claim, Counts, Metric, Names, Paper, Reproduction, TableCell, Verdict, evaluate};
use crate::statistics::mean;

/// Random splits, if there are too many to try all.
const SPLITS: usize = 500;
/// Shuffles of the baseline.
const SHUFFLES: usize = 1000;
/// Seed of splits and shuffles, so that equal scores give equal results.
const SEED: u64 = 1;

impl TableCell {
    /// Whether the measurement agrees with the print within [`Metric::tolerance`] and the confidence interval; `None`
    /// without measurement or if the print is doubtful.
    pub fn agrees(&self, metric: Metric) -> Option<bool> {
        let measured = self.measured.filter(|_| self.doubt.is_none())?;
        let by = metric.tolerance(self.published) + measured.ci95.unwrap_or(0.0);
        Some((measured.mean - self.published).abs() <= by)
    }
}

/// Agreement of an experiment with the paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Its own claims that hold; an undecided one counts half.
    pub claims: f64,
    /// Number of these claims.
    pub of_claims: usize,
    /// Agreeing printed cells.
    pub cells: usize,
    /// Number of these cells, without doubtful ones.
    pub of_cells: usize,
}

impl Score {
    /// From 0 to 1; `None` without checkable statements.
    pub fn value(&self) -> Option<f64> {
        let claims = (self.of_claims > 0).then(|| self.claims / self.of_claims as f64);
        let cells = (self.of_cells > 0).then(|| self.cells as f64 / self.of_cells as f64);
        match (claims, cells) {
            (Some(claims), Some(cells)) => Some(f64::midpoint(claims, cells)),
            (one, other) => one.or(other),
        }
    }
}

/// The score of each experiment of the paper.
pub fn scores(paper: &Paper, names: &Names, cells: &[Cell]) -> IndexMap<String, Score> {
    let result = evaluate(&apart(paper), names, cells);
    let mut scores: IndexMap<String, Score> =
        paper.experiment.keys().map(|id| (id.clone(), Score::default())).collect();
    for table in &result.tables {
        for cell in &table.cells {
            let id = table.experiment.as_ref().or(cell.at.get("experiment"));
            let score = id.and_then(|id| scores.get_mut(id));
            if let (Some(score), Some(agrees)) = (score, cell.agrees(table.metric)) {
                score.of_cells += 1;
                score.cells += usize::from(agrees);
            }
        }
    }
    for claim in &result.claims {
        let score = claim.id.split_once('@').and_then(|(_, id)| scores.get_mut(id));
        let points = match claim.verdict {
            Verdict::Holds => 1.0,
            Verdict::Undecided => 0.5,
            Verdict::Fails => 0.0,
            Verdict::NotCheckable => continue,
        };
        if let Some(score) = score {
            score.claims += points;
            score.of_claims += 1;
        }
    }
    scores
}

/// The paper with each claim once per experiment, as `claim@experiment`; without claims that compare experiments.
fn apart(paper: &Paper) -> Paper {
    let compares = |claim: &Claim| {
        let sides = [Some(&claim.a), claim.b.as_ref()].into_iter().flatten();
        let across = |side: &Coordinates| side.contains_key("experiment");
        sides.into_iter().any(across) || claim.over.contains_key("experiment")
    };
    let claims = paper.claim.iter().filter(|claim| claim.not_checkable.is_none() && !compares(claim));
    let one = |claim: &Claim, id: &String| Claim {
        id: format!("{}@{id}", claim.id),
        experiments: vec![id.clone()],
        ..claim.clone()
    };
    Paper {
        claim: claims.flat_map(|claim| claim.experiments.iter().map(move |id| one(claim, id))).collect(),
        ..paper.clone()
    }
}

/// A tried setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// The variations of the paper's file that it combines; empty: as assumed.
    pub variations: Vec<String>,
    /// Differences, in words.
    pub what: String,
    /// Changes to the scenarios.
    pub set: Vec<String>,
    /// Replacements of the paper's algorithms.
    pub cc: IndexMap<String, String>,
    /// Over all claims, not only scored ones.
    pub counts: Counts,
    /// The claims that hold.
    pub holds: Vec<String>,
    /// By experiment.
    pub scores: IndexMap<String, Score>,
}

/// Result of choosing on one half and scoring on the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Splits {
    /// Groups of experiments that share no runs.
    pub groups: usize,
    /// Number of splits.
    pub count: usize,
    /// Whether these are all splits.
    pub all: bool,
    /// Mean score as assumed on the other half.
    pub as_assumed: f64,
    /// Mean score of the chosen setting there.
    pub chosen: f64,
    /// Share of splits in which the chosen setting was better there.
    pub better: f64,
    /// Gain with shuffled settings: mean, and 95 % quantile.
    pub baseline: [f64; 2],
    /// Share of shuffles with at least this gain.
    pub p: f64,
    /// How often each setting was chosen, by its index; without those never chosen.
    pub choices: IndexMap<String, usize>,
}

/// A search for a paper's test bed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// Key of the paper.
    pub paper: String,
    /// The first and the last seed of every run.
    pub seeds: [u64; 2],
    /// Number of possible settings: each variation of the paper's file alone, and each compatible pair.
    pub possible: usize,
    /// Tried settings; the first is as assumed.
    pub settings: Vec<Setting>,
    /// Index of the one with the best score over all experiments.
    pub best: usize,
    /// `None` if the experiments cannot be split.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub splits: Option<Splits>,
}

impl Search {
    /// Evaluates tried settings, as assumed first; `groups` are experiments that share runs.
    pub fn new(
        paper: &str,
        seeds: [u64; 2],
        possible: usize,
        settings: Vec<Setting>,
        groups: &[Vec<String>],
    ) -> Self {
        let matrix = matrix(&settings, groups);
        let everything: Vec<usize> = (0..matrix.first().map_or(0, Vec::len)).collect();
        let best = best(&matrix, &everything);
        let splits = splits(&matrix);
        Self { paper: paper.to_owned(), seeds, possible, settings, best, splits }
    }

    /// The mean score of a setting over its experiments.
    pub fn score(&self, setting: usize) -> f64 {
        let scores: Vec<f64> = self.settings[setting].scores.values().filter_map(Score::value).collect();
        mean(&scores).unwrap_or_default()
    }

    /// Whether the choice on one half is better on the other beyond chance.
    pub fn is_evidence(&self) -> bool {
        self.splits.as_ref().is_some_and(|splits| splits.p < 0.05 && splits.chosen > splits.as_assumed)
    }
}

/// Fate of a claim over all settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fate {
    /// Holds as assumed.
    HoldsAsAssumed,
    /// Holds only in the most plausible test bed.
    HoldsInTestBed,
    /// Holds only in another setting.
    HoldsElsewhere,
    /// Contradicted by the paper's own statements.
    ContradictsPaper,
    /// Holds in no setting.
    HoldsNowhere,
    /// No measurement could decide it.
    NotCheckable,
}

impl Fate {
    /// All, in the order of reports.
    pub const ALL: [Self; 6] = [
        Self::HoldsAsAssumed,
        Self::HoldsInTestBed,
        Self::HoldsElsewhere,
        Self::ContradictsPaper,
        Self::HoldsNowhere,
        Self::NotCheckable,
    ];

    /// Its name in reports.
    pub fn text(self) -> &'static str {
        match self {
            Self::HoldsAsAssumed => "holds as assumed",
            Self::HoldsInTestBed => "holds in the most plausible test bed",
            Self::HoldsElsewhere => "holds in another setting",
            Self::ContradictsPaper => "contradicts the paper itself",
            Self::HoldsNowhere => "holds nowhere tried",
            Self::NotCheckable => "not checkable",
        }
    }

    /// For each claim of the paper; `excluded` are claims that other statements of the paper contradict.
    pub fn of(result: &Reproduction, search: &Search, excluded: &[String]) -> IndexMap<String, Self> {
        let holds = |setting: &Setting, id: &String| setting.holds.contains(id);
        let fate = |id: &String, verdict: Verdict| match verdict {
            Verdict::Holds => Self::HoldsAsAssumed,
            Verdict::NotCheckable => Self::NotCheckable,
            _ if holds(&search.settings[search.best], id) => Self::HoldsInTestBed,
            _ if search.settings.iter().any(|setting| holds(setting, id)) => Self::HoldsElsewhere,
            _ if excluded.contains(id) => Self::ContradictsPaper,
            _ => Self::HoldsNowhere,
        };
        result.claims.iter().map(|claim| (claim.id.clone(), fate(&claim.id, claim.verdict))).collect()
    }
}

/// Mean score by setting and group, without groups that have no checkable statements.
fn matrix(settings: &[Setting], groups: &[Vec<String>]) -> Vec<Vec<f64>> {
    let of_group = |setting: &Setting, group: &[String]| {
        let scores: Vec<f64> =
            group.iter().filter_map(|id| setting.scores.get(id).and_then(Score::value)).collect();
        mean(&scores)
    };
    let whole: Vec<&Vec<String>> = groups
        .iter()
        .filter(|group| settings.iter().all(|setting| of_group(setting, group).is_some()))
        .collect();
    let row = |setting: &Setting| whole.iter().filter_map(|group| of_group(setting, group)).collect();
    settings.iter().map(row).collect()
}

fn mean_of(row: &[f64], half: &[usize]) -> f64 {
    half.iter().map(|&group| row[group]).sum::<f64>() / half.len().max(1) as f64
}

/// The first of the best: as assumed, if no other is better.
fn best(matrix: &[Vec<f64>], half: &[usize]) -> usize {
    let mut best = 0;
    for setting in 1..matrix.len() {
        if mean_of(&matrix[setting], half) > mean_of(&matrix[best], half) + 1e-12 {
            best = setting;
        }
    }
    best
}

/// Halves of the groups: all of them if there are few.
fn halves(groups: usize) -> (Vec<[Vec<usize>; 2]>, bool) {
    let small = groups / 2;
    let split = |chosen: &[usize]| {
        let rest = (0..groups).filter(|group| !chosen.contains(group)).collect();
        [chosen.to_vec(), rest]
    };
    if groups <= 12 {
        let chosen = (0_u32..1 << groups).filter(|bits| bits.count_ones() as usize == small);
        let list = |bits: u32| (0..groups).filter(|group| (bits >> group) & 1 == 1).collect::<Vec<_>>();
        let both = |[a, b]: [Vec<usize>; 2]| [[a.clone(), b.clone()], [b, a]];
        // With halves of equal size the complement is included.
        let all = chosen.map(|bits| split(&list(bits)));
        let all: Vec<_> = if groups.is_multiple_of(2) { all.collect() } else { all.flat_map(both).collect() };
        return (all, true);
    }
    let mut rng = Rng::with_seed(SEED);
    let mut random = || {
        let mut order: Vec<usize> = (0..groups).collect();
        rng.shuffle(&mut order);
        order.truncate(if rng.bool() { small } else { groups - small });
        order.sort_unstable();
        split(&order)
    };
    ((0..SPLITS).map(|_| random()).collect(), false)
}

fn splits(matrix: &[Vec<f64>]) -> Option<Splits> {
    let groups = matrix.first().map_or(0, Vec::len);
    if groups < 2 || matrix.len() < 2 {
        return None;
    }
    let (halves, all) = halves(groups);
    let count = halves.len() as f64;
    let gain = |matrix: &[Vec<f64>]| -> f64 {
        let gains = halves.iter().map(|[chosen_on, other]| {
            mean_of(&matrix[best(matrix, chosen_on)], other) - mean_of(&matrix[0], other)
        });
        gains.sum::<f64>() / count
    };
    let mut choices: IndexMap<String, usize> = IndexMap::new();
    let (mut as_assumed, mut chosen, mut better) = (0.0, 0.0, 0_usize);
    for [chosen_on, other] in &halves {
        let choice = best(matrix, chosen_on);
        *choices.entry(choice.to_string()).or_default() += 1;
        let (before, after) = (mean_of(&matrix[0], other), mean_of(&matrix[choice], other));
        as_assumed += before / count;
        chosen += after / count;
        better += usize::from(after > before + 1e-12);
    }
    choices.sort_by(|_, a, _, b| b.cmp(a));
    let found = gain(matrix);
    let mut rng = Rng::with_seed(SEED);
    let mut shuffled: Vec<f64> = (0..SHUFFLES).map(|_| gain(&shuffle(matrix, &mut rng))).collect();
    shuffled.sort_by(f64::total_cmp);
    let as_much = shuffled.iter().filter(|&&other| other >= found - 1e-12).count();
    Some(Splits {
        groups,
        count: halves.len(),
        all,
        as_assumed,
        chosen,
        better: better as f64 / count,
        baseline: [shuffled.iter().sum::<f64>() / SHUFFLES as f64, shuffled[SHUFFLES * 95 / 100]],
        p: (as_much + 1) as f64 / (SHUFFLES + 1) as f64,
        choices,
    })
}

/// Shuffles the settings of each group independently.
fn shuffle(matrix: &[Vec<f64>], rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut shuffled = matrix.to_vec();
    for group in 0..matrix[0].len() {
        let mut order: Vec<usize> = (0..matrix.len()).collect();
        rng.shuffle(&mut order);
        for (to, from) in order.into_iter().enumerate() {
            shuffled[to][group] = matrix[from][group];
        }
    }
    shuffled
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(scores: &[f64]) -> Setting {
        let score = |&value: &f64| Score { claims: value * 100.0, of_claims: 100, cells: 0, of_cells: 0 };
        Setting {
            variations: Vec::new(),
            what: String::new(),
            set: Vec::new(),
            cc: IndexMap::new(),
            counts: Counts::default(),
            holds: Vec::new(),
            scores: scores.iter().enumerate().map(|(id, value)| (id.to_string(), score(value))).collect(),
        }
    }

    fn search(settings: &[Vec<f64>]) -> Search {
        let groups: Vec<Vec<String>> = (0..settings[0].len()).map(|id| vec![id.to_string()]).collect();
        Search::new("x", [1, 4], 9, settings.iter().map(|scores| setting(scores)).collect(), &groups)
    }

    #[test]
    fn a_setting_that_is_better_everywhere_is_found_and_is_no_chance() {
        let mut rng = Rng::with_seed(7);
        let mut settings: Vec<Vec<f64>> =
            (0..20).map(|_| (0..8).map(|_| 0.4 + 0.2 * rng.f64()).collect()).collect();
        settings[5] = vec![0.9; 8];
        let found = search(&settings);
        assert_eq!(found.best, 5);
        assert!(found.is_evidence(), "{:?}", found.splits);
        let splits = found.splits.unwrap();
        assert_eq!((splits.count, splits.all, splits.better), (70, true, 1.0));
        assert!((splits.chosen - 0.9).abs() < 1e-9 && splits.choices["5"] == 70);
    }

    #[test]
    fn noise_is_no_evidence_however_good_the_best_looks() {
        let evidence = (0..40_u64).filter(|&seed| {
            let mut rng = Rng::with_seed(seed);
            let settings: Vec<Vec<f64>> = (0..30).map(|_| (0..6).map(|_| rng.f64()).collect()).collect();
            let found = search(&settings);
            assert!(found.score(found.best) > 0.6, "the best of many looks good");
            found.is_evidence()
        });
        // One of twenty is expected.
        assert!(evidence.count() <= 6);
    }

    #[test]
    fn experiments_that_share_runs_are_never_separated() {
        let settings = [setting(&[0.1, 0.1]), setting(&[0.9, 0.9])];
        let together = [vec!["0".to_owned(), "1".to_owned()]];
        assert_eq!(Search::new("x", [1, 4], 1, settings.to_vec(), &together).splits, None);
    }

    #[test]
    fn as_assumed_is_best_unless_something_is_better() {
        assert_eq!(search(&[vec![0.5, 0.5], vec![0.5, 0.5]]).best, 0);
    }

    #[test]
    fn a_score_is_half_claims_and_half_cells() {
        let score = Score { claims: 1.5, of_claims: 2, cells: 1, of_cells: 4 };
        assert_eq!(score.value(), Some(0.5));
        assert_eq!(Score { of_cells: 0, ..score }.value(), Some(0.75));
        assert_eq!(Score::default().value(), None);
    }

    #[test]
    fn odd_numbers_of_groups_choose_on_the_smaller_and_the_larger_half() {
        assert_eq!(halves(3).0.len(), 6);
        assert_eq!(halves(4).0.len(), 6);
        assert_eq!((halves(13).0.len(), halves(13).1), (SPLITS, false));
    }
}
