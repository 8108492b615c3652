//! Deserialises a [`Document`], with the place of each value for error messages.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use crate::document::{Document, Entry, Node, Path, Step, Table, Value};
use crate::error::{MOST_PROBLEMS, Problem, quote, suggest};
use crate::format;

/// Reads a scenario, or reports as many problems as it can.
pub(crate) fn read(document: &Document) -> Result<format::Document, Vec<Problem>> {
    let mut rest = document.clone();
    let mut problems = Vec::new();
    loop {
        let reader = Reader { path: Path::default(), data: Data::Table(&rest.root) };
        let fault = match <format::Document as de::Deserialize>::deserialize(reader) {
            Ok(read) if problems.is_empty() => return Ok(read),
            Ok(_) => return Err(problems),
            Err(fault) => fault,
        };
        let path = fault.path.unwrap_or_default();
        // A key may be missing because it was removed below.
        if fault.missing.is_some() && path.0.is_empty() && !problems.is_empty() {
            return Err(problems);
        }
        let add = || fault.missing.and_then(|key| example(&path, key)).map(|value| format!("add {value}"));
        let hint = remedy(document, &path).or(fault.hint).or_else(add);
        problems.push(document.problem(&path, fault.about_key, fault.message).hint(hint));
        if problems.len() == MOST_PROBLEMS {
            return Err(problems);
        }
        // The rest may have more problems: continues without an unknown key, or without the whole link or connection.
        let skip = if fault.about_key { path } else { Path(path.0.into_iter().take(2).collect()) };
        let parent = Path(skip.0.iter().take(1).cloned().collect());
        if !rest.remove(&skip) && !rest.remove(&parent) {
            return Err(problems);
        }
    }
}

/// Remedy for a key that has another meaning elsewhere.
fn remedy(document: &Document, path: &Path) -> Option<String> {
    let Some(Step::Key(key)) = path.0.last() else { return None };
    let value = |at: &[Step]| document.value(&Path(at.to_vec()));
    if ["link", "connection", "subflow"].contains(&key.as_str()) && matches!(value(&path.0)?, Value::Array(_))
    {
        return Some(format!("give each a name: [{path}.NAME] instead of [[{path}]]"));
    }
    if path.0.len() > 1 || !document.is_set(path) {
        return None;
    }
    let Value::Table(axes) = value(&[Step::Key("parameters".to_owned())])? else { return None };
    if axes.contains_key(key) {
        return Some(format!("{key} is a parameter: --set parameters.{key}=..."));
    }
    let of_row = |node: &Node| match &node.value {
        Value::Array(rows) => {
            rows.iter().any(|row| matches!(&row.value, Value::Table(row) if row.contains_key(key)))
        }
        _ => false,
    };
    let (axis, _) = axes.iter().find(|(_, entry)| of_row(&entry.node))?;
    Some(format!("{key} is a variable of a parameter: --set 'parameters.{axis}={{ {key} = \"...\", ... }}'"))
}

/// Why a value could not be read.
#[derive(Debug)]
struct Fault {
    /// Its path; set by the innermost enclosing value.
    path: Option<Path>,
    /// Whether the key is wrong, not the value.
    about_key: bool,
    /// The missing key.
    missing: Option<&'static str>,
    message: String,
    hint: Option<String>,
}

impl Fault {
    fn new(message: String, hint: Option<String>) -> Self {
        Self { path: None, about_key: false, missing: None, message, hint }
    }

    fn at(mut self, path: &Path) -> Self {
        self.path.get_or_insert_with(|| path.clone());
        self
    }
}

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl de::Error for Fault {
    /// The second line is the remedy, as [`crate::units::Invalid`] prints itself.
    fn custom<T: fmt::Display>(text: T) -> Self {
        let text = text.to_string();
        match text.split_once('\n') {
            Some((message, hint)) => Self::new(message.to_owned(), Some(hint.to_owned())),
            None => Self::new(text, None),
        }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = match expected.to_string().as_str() {
            "a string" => "a text in quotes".to_owned(),
            "a boolean" => "true or false".to_owned(),
            "a sequence" => "a list in [ ]".to_owned(),
            "u32" => "a whole number".to_owned(),
            "a map" => "a table".to_owned(),
            text if text.starts_with("struct ") => "a table".to_owned(),
            text => text.to_owned(),
        };
        let hint =
            matches!(found, Unexpected::Str("true" | "false")).then(|| "write it without quotes".to_owned());
        let found = match found {
            Unexpected::Bool(value) => format!("{value}"),
            Unexpected::Signed(value) => format!("{value}"),
            Unexpected::Float(value) => format!("{value}"),
            Unexpected::Str(text) => quote(text),
            Unexpected::Seq => "a list".to_owned(),
            Unexpected::Map => "a table".to_owned(),
            other => other.to_string(),
        };
        Self::new(format!("expected {expected}, found {found}"), hint)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let hint = synonym(field, expected)
            .map(|key| format!("did you mean {key:?}?"))
            .or_else(|| suggest(field, expected.iter().copied()))
            .map(|hint| hint.replace("there is", "the keys here are"));
        Self { about_key: true, ..Self::new("unknown key".to_owned(), hint) }
    }

    fn missing_field(field: &'static str) -> Self {
        Self { missing: Some(field), ..Self::new(format!("missing key {field:?}"), None) }
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        Self::new(format!("expected {}, found {}", choices(expected), quote(variant)), None)
    }
}

/// `"tcp" or "mptcp"`.
fn choices(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(" or ")
}

/// Names of keys in other tools.
fn synonym(wrong: &str, known: &[&'static str]) -> Option<&'static str> {
    let key = match wrong.to_lowercase().as_str() {
        "bandwidth" | "bw" | "capacity" | "speed" => "rate",
        "latency" | "propagation" => "delay",
        "buffer" | "limit" | "queue-size" | "queue-limit" => "queue",
        "plr" | "loss-rate" | "drop" => "loss",
        "algorithm" | "congestion-control" | "congestion" | "tcp" => "cc",
        "path" | "via" | "hops" => "route",
        "type" | "protocol" => "kind",
        "flow" | "flows" => "connection",
        "rcvbuf" | "rwnd" | "buffer-size" => "receive-buffer",
        "sndbuf" | "wmem" => "send-buffer",
        "autotune" | "moderate-rcvbuf" => "autotuning",
        "iw" | "initcwnd" | "cwnd" => "initial-window",
        "ssthresh" | "slow-start-threshold" => "initial-ssthresh",
        "time" | "length" => "duration",
        "end" => "stop",
        "description" => "story",
        "name" => "title",
        _ => return None,
    };
    known.iter().copied().find(|known| *known == key)
}

/// An example of a required key in the table at `path`.
fn example(path: &Path, key: &str) -> Option<&'static str> {
    let inside = |name: &str| path.0.iter().any(|step| *step == Step::Key(name.to_owned()));
    let of_queue = path.0.last() == Some(&Step::Key("discipline".to_owned()));
    Some(match key {
        "kind" if path.0.last() == Some(&Step::Key("traffic".to_owned())) => "kind = \"poisson\"",
        "kind" if inside("traffic") => "kind = \"lognormal\"",
        "kind" if of_queue => "kind = \"codel\" or kind = \"fq-codel\"",
        "at" => "at = \"10s\"",
        "to-bad" => "to-bad = \"0.1%\"",
        "to-good" => "to-good = \"20%\"",
        "title" => "title = \"What this shows\"",
        "duration" => "duration = \"60s\"",
        "rate" => "rate = \"10mbit\"",
        "queue" => "queue = \"100p\"",
        "kind" => "kind = \"tcp\" or kind = \"mptcp\"",
        "route" => "route = [\"b1\"], the links from sender to receiver",
        "link" => "a link: [link.b1]",
        "connection" => "a connection: [connection.mp0]",
        _ => return None,
    })
}

/// A value that is being read.
struct Reader<'a> {
    path: Path,
    data: Data<'a>,
}

enum Data<'a> {
    Node(&'a Node),
    Table(&'a Table),
    /// A part of an argument.
    Part(&'a str),
}

impl<'a> Reader<'a> {
    fn node(path: Path, node: &'a Node) -> Self {
        match &node.value {
            Value::Table(table) => Self { path, data: Data::Table(table) },
            _ => Self { path, data: Data::Node(node) },
        }
    }

    /// The text of an argument, which may have any type.
    fn argument(&self) -> Option<&'a str> {
        match self.data {
            Data::Node(Node { value: Value::Argument(text), .. }) => Some(text),
            Data::Part(text) => Some(text),
            _ => None,
        }
    }

    fn text(&self) -> Option<&'a str> {
        match self.data {
            Data::Node(Node { value: Value::Text(text), .. }) => Some(text),
            _ => self.argument(),
        }
    }

    fn any<'de, V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let path = self.path;
        let result = match self.data {
            Data::Part(text) => visitor.visit_str(text),
            Data::Table(table) => visitor.visit_map(Entries { path: &path, rest: table.iter(), value: None }),
            Data::Node(node) => match &node.value {
                Value::Text(text) | Value::Argument(text) => visitor.visit_str(text),
                Value::Integer(value) => visitor.visit_i64(*value),
                Value::Float(value, _) => visitor.visit_f64(*value),
                Value::Boolean(value) => visitor.visit_bool(*value),
                Value::Date => Err(de::Error::invalid_type(Unexpected::Other("a date"), &visitor)),
                Value::Array(nodes) => {
                    let items = nodes.iter().enumerate().map(|(i, node)| Reader::node(path.index(i), node));
                    visitor.visit_seq(Items(items))
                }
                Value::Table(table) => {
                    visitor.visit_map(Entries { path: &path, rest: table.iter(), value: None })
                }
            },
        };
        result.map_err(|fault| fault.at(&path))
    }
}

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.argument().and_then(|text| text.parse().ok()) {
            Some(value) => visitor.visit_bool(value),
            None => self.any(visitor),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.argument().and_then(|text| text.parse().ok()) {
            Some(value) => visitor.visit_i64::<Fault>(value).map_err(|fault| fault.at(&self.path)),
            None => self.any(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let Some(text) = self.argument() else { return self.any(visitor) };
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty()).enumerate();
        let items = parts.map(|(i, part)| Reader { path: self.path.index(i), data: Data::Part(part) });
        visitor.visit_seq(Items(items)).map_err(|fault| fault.at(&self.path))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let result = match self.text() {
            Some(text) => visitor.visit_enum(Variant(text)),
            None => Err(Fault::new(format!("expected {}", choices(variants)), None)),
        };
        result.map_err(|fault| fault.at(&self.path))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u8 u16 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Items<I>(I);

impl<'de, 'a, I: Iterator<Item = Reader<'a>>> SeqAccess<'de> for Items<I> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        self.0.next().map(|reader| seed.deserialize(reader)).transpose()
    }
}

struct Entries<'a, 'p> {
    path: &'p Path,
    rest: indexmap::map::Iter<'a, String, Entry>,
    value: Option<(&'a String, &'a Entry)>,
}

impl<'de> MapAccess<'de> for Entries<'_, '_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        self.value = self.rest.next();
        let Some((key, _)) = self.value else { return Ok(None) };
        let reader: StrDeserializer<'_, Fault> = key.as_str().into_deserializer();
        seed.deserialize(reader).map(Some).map_err(|fault| fault.at(&self.path.key(key)))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        let (key, entry) = self.value.take().expect("a key comes before its value");
        let path = self.path.key(key);
        seed.deserialize(Reader::node(path.clone(), &entry.node)).map_err(|fault| fault.at(&path))
    }
}

/// The name of an enum variant without content.
struct Variant<'a>(&'a str);

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let reader: StrDeserializer<'_, Fault> = self.0.into_deserializer();
        Ok((seed.deserialize(reader)?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, _: T) -> Result<T::Value, Fault> {
        Err(de::Error::invalid_type(Unexpected::Str(self.0), &"a table"))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Fault> {
        Err(de::Error::invalid_type(Unexpected::Str(self.0), &"a list"))
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Fault> {
        Err(de::Error::invalid_type(Unexpected::Str(self.0), &"a table"))
    }
}
