//! Expands a document with parameters into one document per combination of their values.

use std::collections::HashMap;

use indexmap::{IndexMap, IndexSet};

use crate::document::{Document, Entry, Node, Path, Table, Value, problem_of_set};
use crate::error::{Error, MOST_PROBLEMS, Problem, quote, suggest};
use crate::limits::{LONGEST_VALUE, NAME, is_name};

/// Maximum of cells; more count as a mistake.
const MOST_CELLS: usize = 10_000;

/// A document without variables.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// The value of each variable.
    pub(crate) parameters: IndexMap<String, String>,
    pub(crate) document: Document,
}

/// Values of the variables of one axis at one of its points.
type Point<'a> = Vec<(&'a str, &'a Node)>;

struct Axis<'a> {
    /// `parameters.NAME`.
    place: Path,
    /// Whether its values are tables.
    several: bool,
    /// At least one, all with the same variables.
    points: Vec<Point<'a>>,
}

impl Axis<'_> {
    /// Place of that variable's first value.
    fn place_of(&self, variable: &str) -> Path {
        if self.several { self.place.index(0).key(variable) } else { self.place.clone() }
    }

    fn variables(&self) -> impl Iterator<Item = &str> {
        self.points[0].iter().map(|(name, _)| *name)
    }
}

/// All cells, the last axis varying fastest; a document without parameters is its own single cell.
pub(crate) fn cells(document: &Document) -> Result<impl Iterator<Item = Cell>, Error> {
    let axes = axes(document)?;
    check_use(document, &axes)?;
    let count = axes.iter().try_fold(1, |count: usize, axis| count.checked_mul(axis.points.len()));
    let Some(count @ ..=MOST_CELLS) = count else {
        let message = format!("more than {MOST_CELLS} combinations");
        let hint = "give some axes fewer values".to_owned();
        return Err(document.problem(&"parameters".into(), true, message).hint(Some(hint)).into());
    };
    Ok((0..count).map(move |mut index| {
        let mut points = Vec::with_capacity(axes.len());
        for axis in axes.iter().rev() {
            points.push(&axis.points[index % axis.points.len()]);
            index /= axis.points.len();
        }
        let values = points.into_iter().rev().flatten().copied().collect();
        cell(document, &values)
    }))
}

fn cell(document: &Document, values: &IndexMap<&str, &Node>) -> Cell {
    let mut cell = document.clone();
    for (_, entry) in body(&mut cell.root) {
        substitute(&mut entry.node, values);
    }
    let parameters =
        values.iter().map(|(name, node)| ((*name).to_owned(), written(node).unwrap_or_default())).collect();
    Cell { parameters, document: cell }
}

fn substitute(node: &mut Node, values: &IndexMap<&str, &Node>) {
    match &mut node.value {
        Value::Text(text) | Value::Argument(text) => {
            let Some(name) = text.strip_prefix('$') else { return };
            if let Some(&value) = values.get(name) {
                let variable = Some(name.to_owned());
                *node = Node { variable, ..value.clone() };
            }
        }
        Value::Array(nodes) => nodes.iter_mut().for_each(|node| substitute(node, values)),
        Value::Table(table) => table.values_mut().for_each(|entry| substitute(&mut entry.node, values)),
        _ => {}
    }
}

/// The part of a document that may contain variables.
fn body(root: &mut Table) -> impl Iterator<Item = (&String, &mut Entry)> {
    root.iter_mut().filter(|(key, _)| has_variables(key))
}

fn has_variables(key: &str) -> bool {
    !["title", "story", "picture", "cc", "parameters"].contains(&key)
}

fn axes(document: &Document) -> Result<Vec<Axis<'_>>, Error> {
    let place = Path::from("parameters");
    let Some(entry) = document.root.get("parameters") else { return Ok(Vec::new()) };
    let Value::Table(table) = &entry.node.value else {
        return Err(document.problem(&place, false, "expected a table of axes").into());
    };
    let mut problems = Vec::new();
    let mut known: IndexMap<&str, Path> = IndexMap::new();
    let mut axes = Vec::new();
    for (axis, Entry { node, .. }) in table {
        let place = place.key(axis);
        let Value::Array(values) = &node.value else {
            let axis = Path::default().key(axis);
            let hint = written(node).map(|text| format!("write {axis} = [{}]", quote(&text)));
            problems.push(document.problem(&place, false, "expected a list of values").hint(hint));
            continue;
        };
        if values.is_empty() {
            problems.push(document.problem(&place, false, "a list without values leaves no combination"));
            continue;
        }
        let axis = Axis {
            several: matches!(values[0].value, Value::Table(_)),
            points: values.iter().map(|value| point(axis, value)).collect(),
            place,
        };
        for name in axis.points[0].iter().map(|(name, _)| *name) {
            let place = axis.place_of(name);
            if problems.len() >= MOST_PROBLEMS {
                break;
            } else if !is_name(name) {
                problems.push(document.problem(&place, true, NAME));
            } else if let Some(other) = known.get(name) {
                let message = format!("the variable {name:?} is already set by {other}");
                problems.push(document.problem(&place, true, message));
            } else {
                known.insert(name, place);
            }
        }
        for (i, point) in axis.points.iter().enumerate() {
            if problems.len() >= MOST_PROBLEMS {
                break;
            }
            problems.extend(check_point(document, &axis.place.index(i), &axis.points[0], point));
        }
        problems.extend(repeated(document, &axis));
        axes.push(axis);
    }
    if problems.is_empty() { Ok(axes) } else { Err(problems.into()) }
}

fn point<'a>(axis: &'a str, value: &'a Node) -> Point<'a> {
    match &value.value {
        Value::Table(row) => row.iter().map(|(name, entry)| (name.as_str(), &entry.node)).collect(),
        _ => vec![(axis, value)],
    }
}

fn check_point(document: &Document, place: &Path, first: &Point<'_>, point: &Point<'_>) -> Vec<Problem> {
    let names = |point: &Point<'_>| {
        let mut names: Vec<&str> = point.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.join(", ")
    };
    if names(first) != names(point) {
        let message =
            format!("expected values for {}, as in the first, found {}", names(first), names(point));
        return vec![document.problem(place, false, message)];
    }
    if point.is_empty() {
        return vec![document.problem(place, false, "a table without variables")];
    }
    let bad = point.iter().filter_map(|(_, node)| match written(node) {
        None => Some((node, "expected a text, a number, true or false")),
        Some(text) if text.len() > LONGEST_VALUE => Some((node, "too long for the value of a variable")),
        Some(text) if text.starts_with('$') => Some((node, "the value of a variable cannot be a variable")),
        Some(_) => None,
    });
    bad.take(MOST_PROBLEMS).map(|(_, message)| document.problem(place, false, message)).collect()
}

/// A point with the same values as an earlier one: its runs would be duplicates under the same name.
fn repeated(document: &Document, axis: &Axis<'_>) -> Option<Problem> {
    let mut before = HashMap::new();
    for (i, point) in axis.points.iter().enumerate() {
        let mut values: Vec<_> = point.iter().map(|(name, node)| (*name, written(node))).collect();
        values.sort_unstable();
        if let Some(first) = before.insert(values, i) {
            let (place, first) = (axis.place.index(i), axis.place.index(first));
            let at = |path: &Path| document.problem(path, false, "").place;
            let elsewhere =
                if at(&first) == at(&place) { String::new() } else { format!(", at {}", at(&first)) };
            let message = format!("the same as {first}{elsewhere}");
            let hint = Some("remove one of the two: their runs would be the same".to_owned());
            return Some(document.problem(&place, false, message).hint(hint));
        }
    }
    None
}

/// A scalar in its original spelling.
fn written(node: &Node) -> Option<String> {
    match &node.value {
        Value::Text(text) | Value::Argument(text) | Value::Float(_, text) => Some(text.clone()),
        Value::Integer(value) => Some(value.to_string()),
        Value::Boolean(value) => Some(value.to_string()),
        Value::Date | Value::Array(_) | Value::Table(_) => None,
    }
}

/// Every used variable must be defined, and every defined one used.
fn check_use(document: &Document, axes: &[Axis<'_>]) -> Result<(), Error> {
    let mut uses = Vec::new();
    for (key, entry) in document.root.iter().filter(|(key, _)| has_variables(key)) {
        collect_uses(&Path::default().key(key), &entry.node, &mut uses);
    }
    let known: IndexSet<&str> = axes.iter().flat_map(Axis::variables).collect();
    let used: IndexSet<&str> = uses.iter().map(|(_, name)| name.as_str()).collect();
    let unknown = uses.iter().filter(|(_, name)| !known.contains(name.as_str()));
    let unknown = unknown.map(|(place, name)| unknown_variable(document, place, name, &known));
    let unused = axes.iter().flat_map(|axis| axis.variables().map(move |name| (axis, name)));
    let unused = unused.filter(|(_, name)| !used.contains(name));
    let unused = unused.map(|(axis, name)| unused_variable(document, axis, name));
    let problems: Vec<Problem> = unknown.chain(unused).take(MOST_PROBLEMS).collect();
    if problems.is_empty() { Ok(()) } else { Err(problems.into()) }
}

fn unknown_variable(document: &Document, place: &Path, name: &str, known: &IndexSet<&str>) -> Problem {
    let has_row = |node: &Node| match &node.value {
        Value::Array(rows) => {
            rows.iter().any(|row| matches!(&row.value, Value::Table(row) if row.contains_key(name)))
        }
        _ => false,
    };
    if let Some(assignment) = document.replaced(has_row) {
        return problem_of_set(assignment, format!("gives no value to {name:?}, which {place} uses"));
    }
    let hint = suggest(name, known.iter().copied()).or_else(|| {
        let name = if is_name(name) { name } else { "x" };
        Some(format!("set it: [parameters] {name} = [...]"))
    });
    document.problem(place, false, format!("unknown variable {}", quote(&format!("${name}")))).hint(hint)
}

fn unused_variable(document: &Document, axis: &Axis<'_>, name: &str) -> Problem {
    let used_it = |node: &Node| {
        let mut uses = Vec::new();
        collect_uses(&Path::default(), node, &mut uses);
        uses.iter().any(|(_, used)| used == name)
    };
    if let Some(assignment) = document.replaced(used_it) {
        let hint = if axis.several {
            format!("set the variable: --set '{}={{ {name} = \"...\", ... }}'", axis.place)
        } else {
            let value = assignment.split_once('=').map_or("", |(_, value)| value.trim());
            let shown = if value.contains(char::is_control) { "..." } else { value };
            format!("set the variable: --set {}={shown}", axis.place)
        };
        return problem_of_set(assignment, format!("leaves the variable {name:?} without use"))
            .hint(Some(hint));
    }
    let hint = format!("use it as \"${name}\" or remove it");
    let message = format!("the variable {name:?} is not used");
    document.problem(&axis.place_of(name), true, message).hint(Some(hint))
}

fn collect_uses(place: &Path, node: &Node, uses: &mut Vec<(Path, String)>) {
    match &node.value {
        Value::Text(text) | Value::Argument(text) => {
            if let Some(name) = text.strip_prefix('$') {
                uses.push((place.clone(), name.to_owned()));
            }
        }
        Value::Array(nodes) => {
            for (i, node) in nodes.iter().enumerate() {
                collect_uses(&place.index(i), node, uses);
            }
        }
        Value::Table(table) => {
            for (key, entry) in table {
                collect_uses(&place.key(key), &entry.node, uses);
            }
        }
        _ => {}
    }
}
