//! The JSON schema is up to date, and agrees with the parser about valid and invalid files.

use boon::{Compiler, Draft, SchemaIndex, Schemas};
use braid_scenario::{Source, embedded, load, schema};
use serde_json::Value;

/// A scenario that uses every key.
const EVERYTHING: &str = include_str!("everything.toml");

struct Validator {
    schemas: Schemas,
    root: SchemaIndex,
}

fn validator() -> Validator {
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V7);
    compiler.add_resource("scenario.schema.json", serde_json::from_str(&schema()).unwrap()).unwrap();
    let mut schemas = Schemas::new();
    let root = compiler.compile("scenario.schema.json", &mut schemas).unwrap();
    Validator { schemas, root }
}

impl Validator {
    fn problems(&self, value: &Value) -> Option<String> {
        self.schemas.validate(value, self.root).err().map(|error| format!("{error:#}"))
    }
}

fn value(toml: &str) -> Value {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

fn parses(toml: &str) -> bool {
    load(&Source { name: "x.toml".to_owned(), text: toml.to_owned() }, &[]).is_ok()
}

#[test]
fn the_file_is_what_the_code_says() {
    braid_testing::golden("docs/scenario.schema.json", &schema());
}

#[test]
fn it_accepts_every_scenario_that_parses() {
    let validator = validator();
    let accept = |name: &str, text: &str| {
        if let Some(problems) = validator.problems(&value(text)) {
            panic!("{name}: {problems}");
        }
    };
    for summary in embedded() {
        accept(summary.name, &Source::embedded(summary.name).unwrap().text);
    }
    assert!(parses(EVERYTHING), "or every case of the next test passes");
    accept("everything", EVERYTHING);
}

#[test]
fn it_refuses_what_one_value_alone_makes_wrong() {
    let validator = validator();
    for (good, bad) in [
        ("\"$bandwidth\"\ndelay", "\"20mbps\"\ndelay"),
        ("\"$bandwidth\"\ndelay", "20\ndelay"),
        ("\"$bandwidth\"\ndelay", "\"$Bandwidth\"\ndelay"),
        ("\"100us\"", "\"100\""),
        ("\"60s\"", "\"60 s\""),
        ("\"60s\"", "\"-60s\""),
        ("\"64KiB\"", "\"64K\""),
        ("\"20p\"", "\"20 B\""),
        ("\"10s..20s\"", "\"10s-20s\""),
        ("jitter", "jiter"),
        ("to-bad = \"0.1%\", ", ""),
        ("to-good = 0.2", "to-good = 2"),
        ("to-good = 0.2", "to-nothing = 0.2"),
        ("\"codel\"", "\"sfq\""),
        ("flows = 1024", "flows = -1"),
        ("flows = 1024", "flow = 1024"),
        ("at = \"1s\", ", ""),
        ("queue = \"64KiB\"\n", ""),
        ("kind = \"tcp\"", "kind = \"udp\""),
        ("ecn = true\ndelayed", "ecn = \"yes\"\ndelayed"),
        ("initial-window = 4", "initial-window = 4.5"),
        ("route = [\"b2\"], ", ""),
        ("title = \"Everything\"\n", ""),
        ("\"poisson\"", "\"possion\""),
        ("at-once = 7", "at-once = \"many\""),
        ("on = \"1s\"", "on = 1"),
        ("least = \"1kB\"", "least = \"1s\""),
        ("sigma = 0.5", "sigma = -0.5"),
        ("mean = \"1s\" }", "mean = \"1s\", middle = \"1s\" }"),
        ("\"1s..2s\"", "\"1s-2s\""),
    ] {
        assert!(EVERYTHING.contains(good), "{good}");
        let text = EVERYTHING.replacen(good, bad, 1);
        assert!(!parses(&text), "the parser takes {bad}");
        assert!(validator.problems(&value(&text)).is_some(), "the schema takes {bad}");
    }
}

#[test]
fn every_key_is_described_in_words_without_links_to_code() {
    fn visit(place: &str, value: &Value, keys: &mut usize) {
        match value {
            Value::Object(object) => {
                if let Some(Value::Object(properties)) = object.get("properties") {
                    for (key, schema) in properties {
                        let text = schema["description"].as_str().unwrap_or_default();
                        assert!(!text.is_empty(), "{place}.{key} is not described");
                        assert!(!text.contains("[`") && !text.contains("::"), "{place}.{key}: {text}");
                        *keys += 1;
                    }
                }
                object.iter().for_each(|(key, value)| visit(&format!("{place}.{key}"), value, keys));
            }
            Value::Array(values) => values.iter().for_each(|value| visit(place, value, keys)),
            _ => {}
        }
    }
    let mut keys = 0;
    visit("", &serde_json::from_str(&schema()).unwrap(), &mut keys);
    assert!(keys > 50, "only {keys} keys");
}
