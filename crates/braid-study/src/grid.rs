//! Sweeps: a file that says which parameters take which values.

use std::collections::HashSet;
use std::path::PathBuf;

use braid_algorithms::Spec;
use braid_results::sweep::Axis;
use braid_scenario::Source;
use indexmap::IndexMap;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::plan::Planned;
use crate::study::{choose, specs};
use crate::{Error, Kind, Seeds, Study};

/// More points than this are a mistake.
const MOST_POINTS: usize = 1_000_000;
/// Digits of a value that was computed.
const DIGITS: i32 = 6;

/// A sweep: scenarios × points × algorithms × schedulers × seeds, where a point has a value for each parameter.
///
/// ```
/// let text = r#"
/// scenarios = ["everyday/shared"]
/// cc = ["lia", "cubic:beta=$beta"]
/// seeds = 2
/// set = ["duration=3s", "warmup=1s"]
///
/// [parameters.rate]
/// set = "link.line.rate"
/// values = ["10mbit", "50mbit"]
///
/// [parameters.beta]
/// from = 0.6
/// to = 0.8
/// steps = 3
/// "#;
/// let plan = braid_study::Grid::parse("sweep.toml", text)?.study()?.check()?;
/// assert_eq!(plan.len(), 2 * (1 + 3) * 2, "LIA has no beta");
/// # Ok::<(), braid_study::Error>(())
/// ```
#[derive(Debug)]
pub struct Grid {
    name: String,
    content: Content,
    points: Vec<Point>,
}

/// The value of each parameter.
type Point = IndexMap<String, String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Content {
    scenarios: Vec<String>,
    #[serde(default)]
    cc: Vec<String>,
    #[serde(default)]
    schedulers: Vec<String>,
    seeds: Option<Scalar>,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    algorithms: Vec<PathBuf>,
    #[serde(default)]
    parameters: IndexMap<String, Parameter>,
    #[serde(default)]
    sampling: Sampling,
}

/// A parameter and its values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Parameter {
    /// What it changes in the scenarios.
    set: Option<String>,
    values: Option<Vec<Scalar>>,
    from: Option<Scalar>,
    to: Option<Scalar>,
    steps: Option<usize>,
    #[serde(default)]
    scale: Scale,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Scale {
    #[default]
    Linear,
    Log,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Sampling {
    #[serde(default)]
    method: Method,
    points: Option<usize>,
    #[serde(default)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Method {
    #[default]
    Grid,
    Random,
    LatinHypercube,
}

/// A value of TOML that can stand in a scenario.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Scalar {
    Bool(bool),
    Whole(i64),
    Real(f64),
    Text(String),
}

impl Scalar {
    fn text(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Whole(value) => value.to_string(),
            Self::Real(value) => value.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

impl Grid {
    /// Reads a sweep; `name` is what messages call it. Whether scenarios and algorithms are there is not looked at yet.
    ///
    /// # Errors
    /// If anything is wrong with it.
    pub fn parse(name: &str, text: &str) -> Result<Self, Error> {
        let content: Content =
            toml::from_str(text).map_err(|error| Error::new(Kind::Input, format!("{name}: {error}")))?;
        let mut grid = Self { name: name.to_owned(), content, points: Vec::new() };
        if grid.content.scenarios.is_empty() {
            return Err(grid.error("scenarios", "a sweep without scenarios").hint("name at least one"));
        }
        grid.check_use()?;
        grid.points = grid.points()?;
        Ok(grid)
    }

    /// Files of user algorithms; to be added before [`Grid::study`].
    pub fn algorithms(&self) -> &[PathBuf] {
        &self.content.algorithms
    }

    /// The scenarios, as they were named.
    pub fn scenarios(&self) -> &[String] {
        &self.content.scenarios
    }

    /// Each parameter, and whether all its values are numbers.
    pub fn parameters(&self) -> Vec<(String, bool)> {
        let is_number = |name: &String| self.points.iter().all(|point| point[name].parse::<f64>().is_ok());
        self.content.parameters.keys().map(|name| (name.clone(), is_number(name))).collect()
    }

    /// Each parameter with the values that it takes.
    pub fn axes(&self) -> Vec<Axis> {
        let axis = |(name, parameter): (&String, &Parameter)| {
            let mut values: Vec<String> = self.points.iter().map(|point| point[name].clone()).collect();
            let mut seen = HashSet::new();
            values.retain(|value| seen.insert(value.clone()));
            let log = parameter.scale == Scale::Log;
            Axis { name: name.clone(), sets: parameter.set.clone(), log, values }
        };
        self.content.parameters.iter().map(axis).collect()
    }

    /// Whether it is a sample of the combinations, not all of them.
    pub fn is_sample(&self) -> bool {
        self.content.sampling.method != Method::Grid
    }

    /// The algorithm as it is written here, `cubic:beta=$beta`, of a run with this congestion control and these parameters.
    pub fn line(&self, cc: &str, parameters: &IndexMap<String, String>) -> String {
        let is_it = |template: &&String| {
            uses(template).all(|name| parameters.contains_key(name))
                && Spec::parse(&filled(template, parameters)).is_ok_and(|spec| spec.text() == cc)
        };
        self.content.cc.iter().find(is_it).map_or(cc, String::as_str).to_owned()
    }

    /// The study that it asks for. An algorithm that does not use a parameter of algorithms is not run for each of its values.
    ///
    /// # Errors
    /// If a scenario or an algorithm is wrong.
    pub fn study(&self) -> Result<Study, Error> {
        self.study_of(|name| Ok(Source::find(name)?))
    }

    /// As [`Grid::study`], with the texts of the scenarios from elsewhere.
    ///
    /// # Errors
    /// What `find` says, or as [`Grid::study`].
    pub fn study_of(&self, find: impl Fn(&str) -> Result<Source, Error>) -> Result<Study, Error> {
        let content = &self.content;
        let mut study = Study::default().schedulers(&content.schedulers).seeds(self.seeds()?);
        for name in &content.scenarios {
            let source = find(name)?;
            // By the values that matter: what has the same ones is run once.
            let mut all: IndexMap<Vec<(String, String)>, Vec<String>> = IndexMap::new();
            for point in &self.points {
                let templates: &[String] = if content.cc.is_empty() { &[String::new()] } else { &content.cc };
                for template in templates {
                    let matters = |parameter: &str| {
                        content.parameters[parameter].set.is_some()
                            || uses(template).any(|used| used == parameter)
                    };
                    let own = point
                        .iter()
                        .filter(|(parameter, _)| matters(parameter))
                        .map(|(parameter, value)| (parameter.clone(), value.clone()))
                        .collect();
                    let cc = all.entry(own).or_default();
                    let text = filled(template, point);
                    if !text.is_empty() && !cc.contains(&text) {
                        cc.push(text);
                    }
                }
            }
            for (point, cc) in all {
                let set = point.iter().filter_map(|(parameter, value)| {
                    let key = content.parameters[parameter].set.as_ref()?;
                    Some(format!("{key}={value}"))
                });
                let set: Vec<String> = content.set.iter().cloned().chain(set).collect();
                let mut file = braid_scenario::load(&source, &set)?;
                let specs = choose(&file, name, &specs(&cc)?)?;
                for cell in &mut file.cells {
                    cell.parameters.extend(point.clone());
                }
                study = study.planned(Planned { file, specs });
            }
        }
        Ok(study)
    }

    fn seeds(&self) -> Result<Seeds, Error> {
        let Some(seeds) = &self.content.seeds else { return Ok(Seeds::default()) };
        seeds.text().parse().map_err(|error: String| self.error("seeds", &error))
    }

    /// Each parameter is used, and each that is used is there.
    fn check_use(&self) -> Result<(), Error> {
        let content = &self.content;
        let used = || content.cc.iter().flat_map(|template| uses(template));
        if let Some(unknown) = used().find(|name| !content.parameters.contains_key(*name)) {
            let hint = format!("add a table [parameters.{unknown}]");
            return Err(self.error("cc", &format!("there is no parameter \"{unknown}\"")).hint(hint));
        }
        for (name, axis) in &content.parameters {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let key = format!("parameters.{name}");
            if name.is_empty() || !name.chars().all(plain) {
                return Err(self.error(&key, "a name has letters, digits and _ only"));
            }
            if axis.set.is_none() && used().all(|used| used != name) {
                let hint = format!(
                    "say what it changes, set = \"link.NAME.rate\", or write ${name} in an algorithm of cc"
                );
                return Err(self.error(&key, "it changes nothing").hint(hint));
            }
        }
        Ok(())
    }

    fn points(&self) -> Result<Vec<Point>, Error> {
        let Content { parameters, sampling, .. } = &self.content;
        if sampling.method != Method::Grid {
            let Some(count @ 1..=MOST_POINTS) = sampling.points else {
                return Err(self.error("sampling", &format!("it takes points = 1 to {MOST_POINTS}")));
            };
            let mut points = vec![Point::new(); count];
            for (name, axis) in parameters {
                let shares = shares(sampling, name, count);
                for (point, share) in points.iter_mut().zip(shares) {
                    point.insert(name.clone(), self.value(name, axis, share)?);
                }
            }
            return Ok(points);
        }
        if sampling.points.is_some() {
            let hint = "add method = \"random\" or \"latin-hypercube\", or leave it out";
            return Err(self
                .error("sampling.points", "a grid has as many points as its parameters have values")
                .hint(hint));
        }
        // The last parameter varies fastest.
        let mut points = vec![Point::new()];
        for (name, axis) in parameters {
            let values = self.values(name, axis)?;
            if points.len().saturating_mul(values.len()) > MOST_POINTS {
                return Err(self.error("parameters", &format!("more than {MOST_POINTS} points")).hint(
                    "give fewer values, or sample: [sampling] method = \"latin-hypercube\", points = 1000",
                ));
            }
            let with = |point: &Point, value: &String| {
                let mut point = point.clone();
                point.insert(name.clone(), value.clone());
                point
            };
            points =
                points.iter().flat_map(|point| values.iter().map(move |value| with(point, value))).collect();
        }
        Ok(points)
    }

    /// All values of a parameter.
    fn values(&self, name: &str, axis: &Parameter) -> Result<Vec<String>, Error> {
        let key = format!("parameters.{name}");
        match (&axis.values, axis.steps) {
            (Some(values), None) if axis.from.is_none() && axis.to.is_none() => {
                let mut texts: Vec<String> = Vec::new();
                for value in values.iter().map(Scalar::text) {
                    if texts.contains(&value) {
                        return Err(self.error(&key, &format!("\"{value}\" is there twice")));
                    }
                    texts.push(value);
                }
                if texts.is_empty() { Err(self.error(&key, "a list without values")) } else { Ok(texts) }
            }
            (None, Some(1..)) => {
                let steps = axis.steps.unwrap_or(1);
                let last = (steps - 1).max(1) as f64;
                (0..steps).map(|step| self.value(name, axis, step as f64 / last)).collect()
            }
            _ => Err(self.error(&key, "it takes values = [...], or from, to and steps")),
        }
    }

    /// The value at a share, 0 to 1, of the way through a parameter's values.
    fn value(&self, name: &str, axis: &Parameter, share: f64) -> Result<String, Error> {
        let key = format!("parameters.{name}");
        if let Some(values) = axis.values.as_ref().filter(|values| !values.is_empty()) {
            let at = (share * values.len() as f64) as usize;
            return Ok(values[at.min(values.len() - 1)].text());
        }
        let (Some(from), Some(to)) = (&axis.from, &axis.to) else {
            return Err(self.error(&key, "it takes values = [...], or from and to"));
        };
        let (from, to) = (from.text(), to.text());
        let (Some((low, unit)), Some((high, same))) = (quantity(&from), quantity(&to)) else {
            return Err(self.error(
                &key,
                &format!("from = \"{from}\" and to = \"{to}\" are no numbers, with or without a unit"),
            ));
        };
        if unit != same {
            let hint = format!("write both in {}", if unit.is_empty() { same } else { unit });
            return Err(self
                .error(&key, &format!("from = \"{from}\" and to = \"{to}\" have different units"))
                .hint(hint));
        }
        if axis.scale == Scale::Log && (low <= 0.0 || high <= 0.0) {
            return Err(self.error(&key, "scale = \"log\" takes numbers above zero"));
        }
        let value = match axis.scale {
            Scale::Linear => low + (high - low) * share,
            Scale::Log => low * (high / low).powf(share),
        };
        Ok(format!("{}{unit}", rounded(value)))
    }

    fn error(&self, key: &str, message: &str) -> Error {
        Error::new(Kind::Input, format!("{}: {key}: {message}", self.name))
    }
}

/// Where a parameter's value is in each point, as a share of its range.
fn shares(sampling: &Sampling, name: &str, count: usize) -> Vec<f64> {
    let random = |what: &str, at: usize| {
        let hash = Sha256::digest(format!("{} {name} {what} {at}", sampling.seed));
        let bits = u64::from_be_bytes(hash[..8].try_into().expect("8 bytes")) >> 11;
        bits as f64 / (1_u64 << 53) as f64
    };
    let within = (0..count).map(|at| random("value", at));
    if sampling.method == Method::Random {
        return within.collect();
    }
    // One point in each of as many strips, in an order of its own for each parameter.
    let mut strips: Vec<usize> = (0..count).collect();
    strips.sort_by(|&a, &b| random("order", a).total_cmp(&random("order", b)));
    within.zip(strips).map(|(within, strip)| (strip as f64 + within) / count as f64).collect()
}

/// A number and its unit.
fn quantity(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && !"+-.".contains(c)).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, text[end..].trim()))
}

fn rounded(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let decimals = (DIGITS - 1 - value.abs().log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The parameters that an algorithm is written with: `$NAME`.
fn uses(template: &str) -> impl Iterator<Item = &str> {
    template.split('$').skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        &rest[..end]
    })
}

/// With values in place of them.
fn filled(template: &str, point: &Point) -> String {
    let mut parts = template.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for rest in parts {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        text.push_str(point.get(&rest[..end]).map_or("", String::as_str));
        text.push_str(&rest[end..]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(parameters: &str) -> Result<Grid, Error> {
        let head = "scenarios = [\"everyday/shared\"]\ncc = [\"lia\", \"cubic:beta=$beta\"]\n";
        let beta = "[parameters.beta]\nvalues = [0.7]\n";
        Grid::parse("g.toml", &format!("{head}{beta}{parameters}"))
    }

    fn values(parameters: &str, name: &str) -> Vec<String> {
        grid(parameters).unwrap().points.iter().map(|point| point[name].clone()).collect()
    }

    #[test]
    fn a_range_is_cut_into_equal_steps_or_equal_ratios() {
        let linear =
            "[parameters.rate]\nset = \"link.line.rate\"\nfrom = \"10mbit\"\nto = \"25mbit\"\nsteps = 4\n";
        assert_eq!(values(linear, "rate"), ["10mbit", "15mbit", "20mbit", "25mbit"]);
        let log = "[parameters.rate]\nset = \"link.line.rate\"\nfrom = \"1mbit\"\nto = \"100mbit\"\nsteps = 3\nscale = \"log\"\n";
        assert_eq!(values(log, "rate"), ["1mbit", "10mbit", "100mbit"]);
        assert_eq!([rounded(1.0 / 3.0), rounded(1e6), rounded(0.1 + 0.2)], ["0.333333", "1000000", "0.3"]);
    }

    #[test]
    fn a_latin_hypercube_has_one_point_in_every_strip_of_every_parameter() {
        let text = "[parameters.a]\nset = \"x\"\nfrom = 0\nto = 10\n[parameters.b]\nset = \"y\"\nfrom = 0\nto = 10\n\
                    [sampling]\nmethod = \"latin-hypercube\"\npoints = 10\nseed = 3\n";
        let strips = |name: &str| -> Vec<usize> {
            values(text, name).iter().map(|value| value.parse::<f64>().unwrap() as usize).collect()
        };
        let (a, b) = (strips("a"), strips("b"));
        assert_ne!(a, b, "in orders of their own");
        for mut strips in [a, b] {
            strips.sort_unstable();
            assert_eq!(strips, (0..10).collect::<Vec<_>>());
        }
        assert_eq!(values(text, "a"), values(text, "a"));
        assert_ne!(values(text, "a"), values(&text.replace("seed = 3", "seed = 4"), "a"));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_key() {
        for (text, pieces) in [
            ("[parameters.x]\nvalues = [1]\n", &["g.toml: parameters.x: it changes nothing", "$x"][..]),
            ("[parameters.x]\nset = \"duration\"\nvalues = []\n", &["a list without values"]),
            ("[parameters.x]\nset = \"duration\"\nvalues = [1, 1]\n", &["\"1\" is there twice"]),
            ("[parameters.x]\nset = \"duration\"\nfrom = 1\nto = 2\n", &["from, to and steps"]),
            (
                "[parameters.x]\nset = \"a\"\nfrom = \"1ms\"\nto = \"2s\"\nsteps = 2\n",
                &["different units", "both in ms"],
            ),
            ("[parameters.x]\nset = \"a\"\nfrom = \"fast\"\nto = \"2s\"\nsteps = 2\n", &["are no numbers"]),
            ("[parameters.x]\nset = \"a\"\nfrom = 0\nto = 1\nsteps = 2\nscale = \"log\"\n", &["above zero"]),
            ("[sampling]\npoints = 3\n", &["a grid has as many points", "latin-hypercube"]),
            ("[sampling]\nmethod = \"random\"\n", &["points = 1 to"]),
            ("[parameter]\n", &["unknown field `parameter`"]),
        ] {
            let error = grid(text).unwrap_err().to_string();
            assert!(pieces.iter().all(|piece| error.contains(piece)), "{text}: {error}");
        }
        let error = Grid::parse("g.toml", "scenarios = [\"x\"]\ncc = [\"lia:gain=$gain\"]").unwrap_err();
        assert!(
            error.to_string().contains("no parameter \"gain\"\n  hint: add a table [parameters.gain]"),
            "{error}"
        );
    }
}
