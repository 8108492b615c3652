//! The requested papers, experiments and claims.

use std::fs;
use std::path::Path;

use braid_algorithms::nearest;
use braid_results::claims::{self, Claim, Coordinates, Paper};
use indexmap::IndexMap;

use crate::Failure;
use crate::failure::BAD_INPUT;

/// The requested papers, each with the requested experiments; by default all built-in ones.
pub(super) fn papers(asked: &[String], claims_asked: &[String]) -> Result<Vec<Paper>, Failure> {
    let bad = |error: claims::Error| Failure::new(BAD_INPUT, error.to_string());
    let all: Vec<String> = claims::embedded().map(str::to_owned).collect();
    let mut papers: IndexMap<String, (Paper, Vec<String>)> = IndexMap::new();
    for name in if asked.is_empty() { &all } else { asked } {
        let is_file = Path::new(name).extension().is_some_and(|extension| extension == "toml");
        let (key, experiment) = match name.split_once('/').filter(|_| !is_file) {
            Some((key, experiment)) => (key, Some(experiment)),
            None => (name.as_str(), None),
        };
        let stem = Path::new(key).file_stem().map_or(key.into(), |stem| stem.to_string_lossy());
        let paper = if is_file {
            let text = fs::read_to_string(name).map_err(|error| {
                Failure::bad_input(
                    format!("cannot read {name}: {error}"),
                    format!("there are {}", all.join(", ")),
                )
            })?;
            Paper::parse(&stem, name, &text).map_err(bad)?
        } else {
            let found = claims::find(key).ok_or_else(|| {
                let there = instead(key, &all).unwrap_or_else(|| {
                    format!("there are {}; a file of your own ends in .toml", all.join(", "))
                });
                Failure::bad_input(format!("no paper is called \"{key}\""), there)
            })?;
            found.map_err(bad)?
        };
        let known: Vec<String> = paper.experiment.keys().cloned().collect();
        if let Some(experiment) = experiment.filter(|id| !known.iter().any(|known| known == id)) {
            return Err(Failure::bad_input(
                format!("{key} has no experiment \"{experiment}\""),
                instead(experiment, &known).unwrap_or_else(|| format!("it has {}", known.join(", "))),
            ));
        }
        let wanted = experiment.map_or(known, |id| vec![id.to_owned()]);
        papers.entry(key.to_owned()).or_insert((paper, Vec::new())).1.extend(wanted);
    }
    let papers = papers.into_values().map(|(paper, wanted)| reduced(paper, &wanted));
    if claims_asked.is_empty() {
        return Ok(papers.collect());
    }
    let papers: Vec<Paper> = papers.map(|paper| for_claims(paper, claims_asked)).collect();
    let known = |id: &String| papers.iter().flat_map(|paper| &paper.claim).any(|claim| claim.id == *id);
    if let Some(id) = claims_asked.iter().find(|id| !known(id)) {
        return Err(Failure::bad_input(
            format!("no claim of these papers is called \"{id}\""),
            "`braid repro PAPER --show claims --from papers/results/PAPER.json` lists them",
        ));
    }
    let mut asked = papers.iter().flat_map(|paper| &paper.claim);
    match asked.find(|claim| claim.not_checkable.is_some()) {
        Some(Claim { id, not_checkable: Some(why), .. }) => Err(Failure::bad_input(
            format!("{id} cannot be checked: {why}"),
            "leave it out; the other claims can be named together",
        )),
        _ => Ok(papers.into_iter().filter(|paper| !paper.claim.is_empty()).collect()),
    }
}

/// The most similar name to a misspelling, if similar enough.
pub(super) fn instead(wrong: &str, known: &[String]) -> Option<String> {
    nearest(wrong, known.iter().map(String::as_str)).map(|name| format!("did you mean {name}?"))
}

/// The part of a paper that depends on these experiments only.
fn reduced(mut paper: Paper, wanted: &[String]) -> Paper {
    if paper.experiment.keys().all(|id| wanted.contains(id)) {
        return paper;
    }
    paper.experiment.retain(|id, _| wanted.contains(id));
    paper.table.retain(|table| table.experiments().all(|id| wanted.contains(&id)));
    paper.claim.retain(|claim| {
        !claim.experiments.is_empty() && claim.experiments.iter().all(|id| wanted.contains(id))
    });
    paper
}

/// The part of a paper that these claims need.
fn for_claims(mut paper: Paper, wanted: &[String]) -> Paper {
    paper.claim.retain(|claim| wanted.contains(&claim.id));
    let needed = |id: &String| paper.claim.iter().any(|claim| claim.experiments.contains(id));
    paper.experiment.retain(|id, _| needed(id));
    for (id, experiment) in &mut paper.experiment {
        let about: Vec<&Claim> = paper.claim.iter().filter(|claim| claim.experiments.contains(id)).collect();
        let of_claims: Option<Vec<&String>> = about
            .iter()
            .map(|claim| algorithms(claim))
            .collect::<Option<Vec<_>>>()
            .map(|of_each| of_each.into_iter().flatten().collect());
        if let Some(of_claims) = of_claims {
            experiment.algorithms.retain(|name| of_claims.contains(&name));
        }
        for (axis, value) in cells(&about, id) {
            experiment.only.entry(axis).or_insert(value);
        }
    }
    paper.table.clear();
    paper
}

/// Parameters for which the claims about an experiment name one value only, with that value.
fn cells(claims: &[&Claim], experiment: &str) -> Coordinates {
    const OTHER_AXES: [&str; 5] = ["experiment", "algorithm", "flow", "link", "period"];
    let sides = || claims.iter().flat_map(|claim| [Some(&claim.a), claim.b.as_ref()]).flatten();
    let own = || sides().filter(|side| side.get("experiment").is_none_or(|id| id == experiment));
    let is_one = |(axis, value): &(&String, &String)| {
        !OTHER_AXES.contains(&axis.as_str())
            && own().all(|side| side.get(*axis) == Some(value))
            && claims.iter().all(|claim| !claim.over.contains_key(*axis))
    };
    let first = own().next().into_iter().flatten();
    first.filter(is_one).map(|(axis, value)| (axis.clone(), value.clone())).collect()
}

/// The algorithms compared by a claim; `None` if a side has all of them.
fn algorithms(claim: &Claim) -> Option<Vec<&String>> {
    const AXIS: &str = "algorithm";
    let over = claim.over.get(AXIS);
    let mut named: Vec<&String> = claim.among.iter().chain(over.into_iter().flatten()).collect();
    for side in [Some(&claim.a), claim.b.as_ref()].into_iter().flatten() {
        match side.get(AXIS) {
            Some(name) => named.push(name),
            None if over.is_some() => {}
            None => return None,
        }
    }
    Some(named)
}
