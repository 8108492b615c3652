//! A TOML document in which every key and value has its origin: the file or a `--set`.

use std::fmt;
use std::ops::Range;

use indexmap::IndexMap;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use crate::Source;
use crate::error::{Error, Problem, quote, suggest};

/// A parsed scenario.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    source: Source,
    /// The `--set` arguments.
    set: Vec<String>,
    /// Values that they replaced.
    replaced: Vec<(usize, Node)>,
    pub(crate) root: Table,
}

pub(crate) type Table = IndexMap<String, Entry>;

/// A key with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Origin,
    pub(crate) node: Node,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) origin: Origin,
    /// The variable that provided the value.
    pub(crate) variable: Option<String>,
}

/// The types of TOML, and arguments.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    /// Text of a `--set`, whose type depends on its use.
    Argument(String),
    Integer(i64),
    /// The value and its spelling.
    Float(f64, String),
    Boolean(bool),
    Date,
    Array(Vec<Node>),
    Table(Table),
}

/// Origin of a key or value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Bytes of the file.
    File(Range<usize>),
    /// The `--set` argument with this index.
    Set(usize),
}

/// Path in the document, such as `connection.mp0.route[1]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Path(pub(crate) Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

impl Path {
    pub(crate) fn key(&self, key: &str) -> Self {
        let mut path = self.clone();
        path.0.push(Step::Key(key.to_owned()));
        path
    }

    pub(crate) fn index(&self, index: usize) -> Self {
        let mut path = self.clone();
        path.0.push(Step::Index(index));
        path
    }
}

impl From<&str> for Path {
    /// From `connection.mp0.cc` or `cc[1]`.
    fn from(dotted: &str) -> Self {
        let mut path = Self::default();
        for part in dotted.split('.') {
            let index = part.strip_suffix(']').and_then(|part| part.split_once('['));
            path = match index.and_then(|(key, index)| Some((key, index.parse().ok()?))) {
                Some((key, index)) => path.key(key).index(index),
                None => path.key(part),
            };
        }
        path
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            let dot = if i > 0 { "." } else { "" };
            match step {
                Step::Key(key) if is_bare(key) => write!(f, "{dot}{key}")?,
                Step::Key(key) => write!(f, "{dot}{}", quote(key))?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

/// Whether TOML allows the key without quotes, and it is short.
fn is_bare(key: &str) -> bool {
    (1..=60).contains(&key.len()) && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

impl Document {
    pub(crate) fn parse(source: &Source) -> Result<Self, Error> {
        let fail = |error: &toml::de::Error| -> Error {
            let message = match error.message().trim_end().replace('\n', ", ") {
                deep if deep.contains("recurs") => "nested too deeply for a scenario".to_owned(),
                message => format!("not TOML: {message}"),
            };
            match error.span() {
                Some(span) => Problem::in_text(&source.name, &source.text, span, message).into(),
                None => Problem::new(&source.name, message).into(),
            }
        };
        if source.text.trim().is_empty() {
            let hint = "`braid scenarios d-olia/1` shows an example".to_owned();
            return Err(Problem::new(&source.name, "empty, not a scenario").hint(Some(hint)).into());
        }
        let parsed = DeTable::parse(&source.text).map_err(|error| fail(&error))?;
        let root = table(parsed.get_ref(), &Origin::File).map_err(|(span, message)| {
            Error::from(Problem::in_text(&source.name, &source.text, span, message))
        })?;
        Ok(Self { source: source.clone(), set: Vec::new(), replaced: Vec::new(), root })
    }

    /// Applies `--set` assignments.
    pub(crate) fn set(&mut self, assignments: &[String]) -> Result<(), Error> {
        assignments.clone_into(&mut self.set);
        let problems: Vec<Problem> =
            (0..assignments.len()).filter_map(|index| self.assign(index).err()).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems.into()) }
    }

    fn assign(&mut self, index: usize) -> Result<(), Problem> {
        let argument = self.set[index].clone();
        let fail = |message: String, hint: Option<String>| problem_of_set(&argument, message).hint(hint);
        let form = || Some("write it as --set link.b1.rate=20mbit".to_owned());
        let (path, text) = argument
            .split_once('=')
            .ok_or_else(|| fail("expected KEY=VALUE, found no \"=\"".into(), form()))?;
        let (path, text) = (path.trim(), text.trim());
        let keys: Vec<&str> = path.split('.').collect();
        if keys.iter().any(|key| key.is_empty()) {
            return Err(fail("expected a key before the \"=\"".into(), form()));
        }
        let node = argument_node(text, index).map_err(|message| fail(message, None))?;
        let (last, parents) = keys.split_last().expect("split gives at least one");

        let mut place = Path::default();
        let mut table = &mut self.root;
        for key in parents {
            if is_named(&place) && !table.contains_key(*key) {
                return Err(unknown_name(&place, table, key, &fail));
            }
            place = place.key(key);
            let entry = table.entry((*key).to_owned()).or_insert_with(|| Entry {
                key: Origin::Set(index),
                node: Node::new(Value::Table(Table::new()), Origin::Set(index)),
            });
            let Value::Table(inner) = &mut entry.node.value else {
                return Err(fail(format!("{place} is a value, not a table"), None));
            };
            table = inner;
        }
        if is_named(&place) && !table.contains_key(*last) {
            return Err(unknown_name(&place, table, last, &fail));
        }
        let is_axis = place == Path::from("parameters");
        let node = if is_axis { node.into_axis(index) } else { node };
        if let Some(entry) = table.get_mut(*last) {
            self.replaced.push((index, std::mem::replace(&mut entry.node, node)));
        } else {
            table.insert((*last).to_owned(), Entry { key: Origin::Set(index), node });
        }
        Ok(())
    }

    /// The text at a key of the top level.
    pub(crate) fn text(&self, key: &str) -> Option<&str> {
        match &self.root.get(key)?.node.value {
            Value::Text(text) | Value::Argument(text) => Some(text),
            _ => None,
        }
    }

    /// The `--set` that replaced a value for which `was` is true.
    pub(crate) fn replaced(&self, was: impl Fn(&Node) -> bool) -> Option<&str> {
        self.replaced.iter().find(|(_, node)| was(node)).map(|(index, _)| self.set[*index].as_str())
    }

    /// The value at a non-empty path.
    pub(crate) fn value(&self, path: &Path) -> Option<&Value> {
        Some(&self.find(path)?.1.value)
    }

    /// Whether the value at `path` comes from a `--set`.
    pub(crate) fn is_set(&self, path: &Path) -> bool {
        matches!(self.find(path), Some((_, node)) if matches!(node.origin, Origin::Set(_)))
    }

    /// A problem with the value or key at `path`, or, if it does not exist, with the innermost enclosing table.
    pub(crate) fn problem(&self, path: &Path, about_key: bool, message: impl Into<String>) -> Problem {
        let mut message = message.into();
        let mut existing = path.clone();
        let found = loop {
            if let Some(found) = self.find(&existing) {
                break Some(found);
            }
            if existing.0.pop().is_none() {
                break None;
            }
        };
        let problem = match found {
            None => Problem::new(&self.source.name, message),
            Some((key, node)) => {
                if let Some(variable) = &node.variable {
                    message = format!("{message} (the value of ${variable})");
                }
                let is_table = matches!(node.value, Value::Table(_)) || existing != *path;
                match if about_key || is_table { key } else { &node.origin } {
                    Origin::File(span) => {
                        Problem::in_text(&self.source.name, &self.source.text, span.clone(), message)
                    }
                    Origin::Set(index) => {
                        let argument = &self.set[*index];
                        let problem = problem_of_set(argument, message);
                        let same =
                            argument.split_once('=').is_some_and(|(key, _)| key.trim() == path.to_string());
                        return if same { problem } else { problem.key(path.to_string()) };
                    }
                }
            }
        };
        if path.0.is_empty() { problem } else { problem.key(path.to_string()) }
    }

    /// The key and the value at a path that is not empty.
    fn find(&self, path: &Path) -> Option<(&Origin, &Node)> {
        let (first, rest) = path.0.split_first()?;
        let Step::Key(first) = first else { return None };
        let entry = self.root.get(first)?;
        let mut found = (&entry.key, &entry.node);
        for step in rest {
            found = match (step, &found.1.value) {
                (Step::Key(key), Value::Table(table)) => table.get(key).map(|e| (&e.key, &e.node))?,
                (Step::Index(index), Value::Array(array)) => array.get(*index).map(|n| (&n.origin, n))?,
                // One argument may be a whole list.
                (Step::Index(_), Value::Argument(_)) => found,
                _ => return None,
            };
        }
        Some(found)
    }

    /// Removes the value at a path, so that the rest can be checked.
    pub(crate) fn remove(&mut self, path: &Path) -> bool {
        let Some((Step::Key(last), parents)) = path.0.split_last() else { return false };
        let Some((Step::Key(first), parents)) = parents.split_first() else {
            return self.root.shift_remove(last).is_some();
        };
        let mut node = self.root.get_mut(first).map(|entry| &mut entry.node);
        for step in parents {
            node = match (step, node.map(|node| &mut node.value)) {
                (Step::Key(key), Some(Value::Table(table))) => table.get_mut(key).map(|e| &mut e.node),
                (Step::Index(index), Some(Value::Array(nodes))) => nodes.get_mut(*index),
                _ => return false,
            };
        }
        match node.map(|node| &mut node.value) {
            Some(Value::Table(table)) => table.shift_remove(last).is_some(),
            _ => false,
        }
    }
}

impl Node {
    fn new(value: Value, origin: Origin) -> Self {
        Self { value, origin, variable: None }
    }

    /// `12mbit,24mbit` is a list of two values; any other scalar is a list of one.
    fn into_axis(self, index: usize) -> Self {
        let origin = Origin::Set(index);
        let values = match self.value {
            Value::Array(_) => return self,
            Value::Argument(text) => text
                .split(',')
                .map(|part| Self::new(Value::Argument(part.trim().to_owned()), origin.clone()))
                .collect(),
            value => vec![Self::new(value, origin.clone())],
        };
        Self::new(Value::Array(values), origin)
    }
}

/// Whether the keys of that table are names that only the file can define.
fn is_named(place: &Path) -> bool {
    let keys: Vec<&str> =
        place.0.iter().filter_map(|s| if let Step::Key(k) = s { Some(&**k) } else { None }).collect();
    matches!(keys.as_slice(), ["link" | "connection" | "parameters"] | ["connection", _, "subflow"])
}

fn unknown_name(
    place: &Path,
    table: &Table,
    name: &str,
    fail: &dyn Fn(String, Option<String>) -> Problem,
) -> Problem {
    if *place == Path::from("parameters") {
        let axis = table.iter().find(|(_, axis)| match &axis.node.value {
            Value::Array(rows) => {
                rows.iter().any(|row| matches!(&row.value, Value::Table(row) if row.contains_key(name)))
            }
            _ => false,
        });
        if let Some((axis, _)) = axis {
            let hint = format!("set whole tables: --set 'parameters.{axis}={{ {name} = \"...\", ... }}'");
            return fail(format!("{} is a variable of the axis parameters.{axis}", quote(name)), Some(hint));
        }
    }
    let hint = suggest(name, table.keys().map(String::as_str))
        .or_else(|| Some(format!("only the file can introduce it; this one has nothing in {place}")));
    fail(format!("there is no {place}.{}", Path(vec![Step::Key(name.to_owned())])), hint)
}

/// A problem with a `--set`, shown on one line and not too long.
pub(crate) fn problem_of_set(argument: &str, message: impl Into<String>) -> Problem {
    let plain = argument.chars().count() <= 80 && !argument.contains(char::is_control);
    let shown = if plain { argument.to_owned() } else { quote(argument) };
    Problem::new(format!("--set {shown}"), message)
}

/// Lists, tables and quoted texts are TOML; the type of other text depends on its use.
fn argument_node(text: &str, index: usize) -> Result<Node, String> {
    if !text.starts_with(['[', '{', '"', '\'']) {
        return Ok(Node::new(Value::Argument(text.to_owned()), Origin::Set(index)));
    }
    let parsed = DeValue::parse(text).map_err(|error| format!("not a TOML value: {}", error.message()))?;
    let origin = |_: Range<usize>| Origin::Set(index);
    node(&parsed, &origin).map_err(|(_, message)| message)
}

/// A message about a part of the text.
type Located = (Range<usize>, String);

fn table(parsed: &DeTable<'_>, origin: &dyn Fn(Range<usize>) -> Origin) -> Result<Table, Located> {
    parsed
        .iter()
        .map(|(key, value): (&Spanned<DeString<'_>>, _)| {
            let entry = Entry { key: origin(key.span()), node: node(value, origin)? };
            Ok((key.get_ref().to_string(), entry))
        })
        .collect()
}

fn node(parsed: &Spanned<DeValue<'_>>, origin: &dyn Fn(Range<usize>) -> Origin) -> Result<Node, Located> {
    let too_large = || (parsed.span(), "the number is too large".to_owned());
    let value = match parsed.get_ref() {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => {
            Value::Integer(i64::from_str_radix(number.as_str(), number.radix()).map_err(|_| too_large())?)
        }
        DeValue::Float(number) => {
            Value::Float(number.as_str().parse().map_err(|_| too_large())?, number.as_str().to_owned())
        }
        DeValue::Boolean(value) => Value::Boolean(*value),
        DeValue::Datetime(_) => Value::Date,
        DeValue::Array(values) => {
            Value::Array(values.iter().map(|value| node(value, origin)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(inner) => Value::Table(table(inner, origin)?),
    };
    Ok(Node::new(value, origin(parsed.span())))
}
