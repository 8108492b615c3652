//! The JSON schema of scenario files, for editors.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::format::{Bursts, Discipline, DisciplineKeys, DisciplineKind, Document, Loss, Scalar};
use crate::traffic::{Spread, SpreadKeys};
use crate::units::{
    Chance, Duration, Number, Packets, Probability, Queue, Rate, Size, Start, Threshold, Window,
};

/// The JSON schema (draft 7) of a scenario file, made from [`crate::format`]; ends with a line break.
///
/// It knows keys, types and units. Only [`crate::load`] finds errors across values, such as a route with a missing
/// link.
///
/// # Panics
/// Never: a schema is always valid JSON.
pub fn schema() -> String {
    let settings = SchemaSettings::draft07().with_transform(Toml);
    let mut schema = settings.into_generator().into_root_schema_for::<Document>();
    schema.insert("title".to_owned(), "Braid scenario".into());
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

/// Differences between TOML and Rust types: variables instead of values, and no null.
#[derive(Clone, Debug)]
struct Toml;

impl Transform for Toml {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        without_null(object);
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = plain(text);
        }
        let kind = object.get("type").and_then(Value::as_str);
        if matches!(kind, Some("boolean" | "integer")) {
            or_variable(object);
        }
    }
}

/// An optional key is absent, not null.
fn without_null(object: &mut Map<String, Value>) {
    if object.get("default").is_some_and(Value::is_null) {
        object.remove("default");
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.retain(|choice| *choice != json!({ "type": "null" }));
        if let [Value::Object(only)] = choices.as_slice() {
            let only = only.clone();
            object.remove("anyOf");
            for (key, value) in only {
                // The key's description takes precedence over its type's.
                object.entry(key).or_insert(value);
            }
        }
    }
}

/// Turns a value's conditions into one of two choices; the other is a variable.
fn or_variable(object: &mut Map<String, Value>) {
    let kept = ["description", "default"].map(|key| (key, object.remove(key)));
    let value = Value::Object(std::mem::take(object));
    object.extend(kept.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
    object.insert("anyOf".to_owned(), json!([value, variable()]));
}

fn variable() -> Value {
    json!({ "type": "string", "pattern": format!("^{VARIABLE}$") })
}

/// Turns a `rustdoc` comment into plain text: no line breaks and links, keys as in the file.
fn plain(comment: &str) -> String {
    let joined = comment.replace("\n\n", "\u{0}").replace('\n', " ").replace('\u{0}', "\n\n");
    let mut parts = joined.split("[`");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        if let Some((link, rest)) = part.split_once("`]") {
            let key = link.replace("::", ".").replace('_', "-").to_lowercase();
            text.extend(["`", &key, "`", rest]);
        } else {
            text.extend(["[`", part]);
        }
    }
    text
}

const VARIABLE: &str = r"\$[a-z0-9][a-z0-9-]{0,31}";
const NUMBER: &str = r"[0-9]+(\.[0-9]+)?";
const PERCENTAGE: &str = r"[0-9]+(\.[0-9]+)?%";

/// A text that matches the pattern, or a variable.
fn quantity(description: &str, pattern: &str, examples: &[&str]) -> Schema {
    json_schema!({
        "description": description,
        "type": "string",
        "pattern": format!("^({pattern}|{VARIABLE})$"),
        "examples": examples,
    })
}

/// A number below or up to `upper`, or a percentage, or a variable.
fn share(description: &str, upper: &str) -> Schema {
    json_schema!({
        "description": description,
        "anyOf": [
            { "type": "number", "minimum": 0, upper: 1 },
            { "type": "string", "pattern": format!("^({NUMBER}([eE]-?[0-9]+)?|{PERCENTAGE}|{VARIABLE})$"),
              "examples": ["0.1%"] },
        ],
    })
}

impl<T: JsonSchema> JsonSchema for Spread<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("Spread of {}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [generator.subschema_for::<T>(), generator.subschema_for::<SpreadKeys<T>>()],
        })
    }
}

macro_rules! schema_of {
    ($($quantity:ident: $generator:pat => $schema:expr;)*) => {$(
        impl JsonSchema for $quantity {
            fn schema_name() -> Cow<'static, str> {
                stringify!($quantity).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

schema_of! {
    Duration: _ => quantity("A time in ns, us, ms, s or min.", &format!("{NUMBER}(ns|us|ms|s|min)"), &["10ms", "60s"]);
    Rate: _ => quantity(
        "A rate in bit, kbit, mbit or gbit per second.", &format!("{NUMBER}(bit|kbit|mbit|gbit)"), &["10mbit"]
    );
    Size: _ => quantity("A size in B, kB, KiB, MB or MiB.", &format!("{NUMBER}(B|kB|KiB|MB|MiB)"), &["64kB", "6MiB"]);
    Packets: _ => quantity("A number of packets.", "[0-9]+p", &["100p"]);
    Queue: _ => quantity(
        "A queue length in packets (p) or bytes (B, kB, KiB, MB, MiB).", &format!("{NUMBER}(p|B|kB|KiB|MB|MiB)"),
        &["100p", "64kB"]
    );
    Threshold: _ => quantity(
        "A queue length in packets (p) or bytes (B, kB, KiB, MB, MiB), or a time (ns, us, ms, s).",
        &format!("{NUMBER}(p|B|kB|KiB|MB|MiB|ns|us|ms|s|min)"), &["20p", "1ms"]
    );
    Window: _ => quantity(
        "An interval of time, without its end.", &format!(r"{NUMBER}(ns|us|ms|s|min)\.\.{NUMBER}(ns|us|ms|s|min)"),
        &["60s..90s"]
    );
    Start: _ => quantity(
        "A time, or a stretch of time from which the seed draws one.",
        &format!(r"{NUMBER}(ns|us|ms|s|min)(\.\.{NUMBER}(ns|us|ms|s|min))?"), &["10s", "2s..10s"]
    );
    Probability: _ => share("A probability, 0 to below 1.", "exclusiveMaximum");
    Chance: _ => share("A probability, 0 to 1.", "maximum");
    Number: _ => json_schema!({
        "anyOf": [
            { "type": "number", "minimum": 0 },
            { "type": "string", "pattern": format!("^({NUMBER}|{VARIABLE})$") },
        ],
    });
    Scalar: _ => json_schema!({ "type": ["string", "number", "boolean"] });
    Loss: generator => json_schema!({
        "anyOf": [generator.subschema_for::<Probability>(), generator.subschema_for::<Bursts>()],
    });
    Discipline: generator => json_schema!({
        "anyOf": [
            generator.subschema_for::<DisciplineKind>(),
            generator.subschema_for::<DisciplineKeys>(),
            variable(),
        ],
    });
}
