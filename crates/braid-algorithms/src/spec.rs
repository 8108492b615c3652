//! `NAME[:key=value]...`: an algorithm or a packet scheduler and its parameters as a person writes them.

use std::fmt;

use crate::Algorithm;
use crate::descriptor::Param;

/// What a C file defines and a spec names.
pub trait Tunable: Sized + 'static {
    /// The word for it in messages, such as `algorithm`.
    const KIND: &'static str;

    /// The one of that name.
    fn find(name: &str) -> Option<&'static Self>;

    /// All names there are.
    fn names() -> Vec<&'static str>;

    /// Its name.
    fn name(&self) -> &'static str;

    /// Its tunables, in the order of their struct.
    fn params(&self) -> impl ExactSizeIterator<Item = Param> + use<Self>;
}

/// An algorithm with a value for each of its parameters.
///
/// ```
/// use braid_algorithms::Spec;
///
/// let spec = Spec::parse("cubic:friendly=off:beta=0.8").unwrap();
/// assert_eq!(spec.algorithm().name(), "cubic");
/// assert_eq!(spec.text(), "cubic:beta=0.8:friendly=off");
/// assert_eq!(
///     Spec::parse("cubic:bta=0.8").err().unwrap().to_string(),
///     "`cubic` has no parameter `bta`: did you mean `beta`?"
/// );
/// ```
pub type Spec = Configured<Algorithm>;

/// A [`Tunable`] with a value for each of its parameters. Two with the same text are equal.
pub struct Configured<T: 'static> {
    definition: &'static T,
    values: Vec<u32>,
    text: String,
}

/// Why a spec is wrong: one sentence with the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError(pub String);

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SpecError {}

impl<T: Tunable> Configured<T> {
    /// Reads `NAME[:key=value]...`.
    ///
    /// # Errors
    /// If the name, a key or a value is wrong.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let name = text.split(':').next().unwrap_or_default();
        let definition = T::find(name).ok_or_else(|| {
            let remedy = remedy(name, T::names().into_iter(), "there are");
            SpecError(format!("no {} is called `{name}`: {remedy}", T::KIND))
        })?;
        let params: Vec<Param> = definition.params().collect();
        let values = read_values(text, &params)?;
        Ok(Self::new(definition, values))
    }
}

impl<T: Tunable> Configured<T> {
    /// A definition with these values.
    ///
    /// # Panics
    /// If there are more or fewer of them than parameters.
    pub fn new(definition: &'static T, values: Vec<u32>) -> Self {
        let params: Vec<Param> = definition.params().collect();
        assert_eq!(params.len(), values.len(), "a value for each parameter");
        let text = normal_form(definition.name(), &params, &values);
        Self { definition, values, text }
    }
}

impl<T> Configured<T> {
    /// What it configures.
    pub fn definition(&self) -> &'static T {
        self.definition
    }

    /// The value of each parameter, in the definition's order and in units of 1/[`scale`](Param::scale).
    pub fn values(&self) -> &[u32] {
        &self.values
    }

    /// The spec in normal form: of the parameters those that differ from their defaults, in the definition's order, each
    /// value as short as possible. So specs that mean the same have the same text.
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Spec {
    /// The algorithm.
    pub fn algorithm(&self) -> &'static Algorithm {
        self.definition
    }
}

impl<T> Clone for Configured<T> {
    fn clone(&self) -> Self {
        Self { definition: self.definition, values: self.values.clone(), text: self.text.clone() }
    }
}

impl<T> PartialEq for Configured<T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl<T> Eq for Configured<T> {}

impl<T> fmt::Display for Configured<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T> fmt::Debug for Configured<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spec({})", self.text)
    }
}

/// As its text.
#[cfg(feature = "serde")]
impl<T> serde::Serialize for Configured<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

#[cfg(feature = "serde")]
impl<'de, T: Tunable> serde::Deserialize<'de> for Configured<T> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text: String = serde::Deserialize::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The values of these parameters in `NAME[:key=value]...`: those given, or else their defaults.
fn read_values(text: &str, params: &[Param]) -> Result<Vec<u32>, SpecError> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or_default();
    let mut given: Vec<Option<u32>> = vec![None; params.len()];
    for part in parts {
        if part.is_empty() {
            let example = params.first().map_or(String::new(), |param| {
                format!(
                    ", or a parameter after the `:`, such as `{name}:{}={}`",
                    param.name,
                    param.show(param.initial)
                )
            });
            return Err(SpecError(format!(
                "nothing follows a `:` in `{text}`: write just `{name}`{example}"
            )));
        }
        let (key, value) = part.split_once('=').ok_or_else(|| {
            SpecError(format!("`{part}` in `{text}` has no value: a parameter is written `key=value`"))
        })?;
        let i = params.iter().position(|param| param.name == key).ok_or_else(|| {
            let remedy = if params.is_empty() {
                format!("it has none, write just `{name}`")
            } else {
                remedy(key, params.iter().map(|param| param.name), "it has")
            };
            SpecError(format!("`{name}` has no parameter `{key}`: {remedy}"))
        })?;
        let value = params[i]
            .parse(value)
            .map_err(|SpecError(why)| SpecError(format!("`{key}` of `{name}` cannot be `{value}`: {why}")))?;
        if given[i].replace(value).is_some() {
            return Err(SpecError(format!("`{key}` is given twice in `{text}`: keep one of the two")));
        }
    }
    Ok(params.iter().zip(given).map(|(param, value)| value.unwrap_or(param.initial)).collect())
}

/// A name and those of its parameters that differ from their defaults.
fn normal_form(name: &str, params: &[Param], values: &[u32]) -> String {
    let mut text = name.to_owned();
    for (param, &value) in params.iter().zip(values) {
        if value != param.initial {
            text.extend([":", param.name, "=", &param.show(value)]);
        }
    }
    text
}

impl Param {
    /// The names to choose from; empty for a number.
    pub fn choices(&self) -> impl Iterator<Item = &'static str> + Clone + use<> {
        let names = if self.unit.contains('|') { self.unit } else { "" };
        names.split('|').filter(|name| !name.is_empty())
    }

    /// Parses a value: a choice's name, or a decimal number, rounded to the nearest 1/[`scale`](Self::scale).
    ///
    /// # Errors
    /// If it is not one of the choices, not a number or out of range; the sentence lists valid values.
    pub fn parse(&self, text: &str) -> Result<u32, SpecError> {
        if self.choices().next().is_some() {
            return self
                .choices()
                .position(|name| name == text)
                .map(|i| i as u32)
                .ok_or_else(|| SpecError(remedy(text, self.choices(), "it is one of")));
        }
        let (low, high) = (self.show(self.low), self.show(self.high));
        let unit = if self.unit.is_empty() { String::new() } else { format!(" {}", self.unit) };
        let kind = if self.scale == 1 { "a whole number" } else { "a number" };
        decimal(text)
            .filter(|(digits, tenths)| self.scale > 1 || digits % tenths == 0)
            .map(|(digits, tenths)| (digits * u128::from(self.scale) + tenths / 2) / tenths)
            .filter(|value| (u128::from(self.low)..=u128::from(self.high)).contains(value))
            .map(|value| value as u32)
            .ok_or_else(|| SpecError(format!("it is {kind} from {low} to {high}{unit}")))
    }

    /// Formats a value: a choice's name, or the shortest decimal number that parses to the same value.
    pub fn show(&self, value: u32) -> String {
        if let Some(name) = self.choices().nth(value as usize) {
            return name.to_owned();
        }
        let (value, scale) = (u128::from(value), u128::from(self.scale.max(1)));
        let mut tenths = 1;
        let mut decimals = 0;
        loop {
            let digits = (value * tenths + scale / 2) / scale;
            if (digits * scale + tenths / 2) / tenths == value {
                let (whole, part) = (digits / tenths, digits % tenths);
                return if decimals == 0 { whole.to_string() } else { format!("{whole}.{part:0decimals$}") };
            }
            tenths *= 10;
            decimals += 1;
        }
    }
}

/// A plain decimal number as a fraction: `0.75` is (75, 100).
fn decimal(text: &str) -> Option<(u128, u128)> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(part) || whole.len() > 10 || part.len() > 12 {
        return None;
    }
    let tenths = 10_u128.pow(part.len() as u32);
    Some((whole.parse::<u128>().ok()? * tenths + part.parse::<u128>().ok()?, tenths))
}

/// The most similar name to a misspelling, if it is similar enough.
pub fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(&wrong.to_lowercase(), name);
    let near = names.min_by_key(|name| distance(name));
    near.filter(|name| distance(name) <= 1.max(name.len() / 3) && distance(name) < name.len())
}

/// A suggestion: the most similar name, or all names.
fn remedy(wrong: &str, names: impl Iterator<Item = &'static str> + Clone, all: &str) -> String {
    match nearest(wrong, names.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("{all} {}", names.collect::<Vec<_>>().join(", ")),
    }
}
