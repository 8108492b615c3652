//! The JSON schema is up to date, and agrees with the parser about valid and invalid files.
//!
//! After a change of the format: `UPDATE_GOLDEN=1 cargo test -p braid-scenario --test schema`.

use std::{env, fs};

use boon::{Compiler, Draft, SchemaIndex, Schemas};
use braid_scenario::{Source, embedded, load, schema};
use serde_json::Value;

/// A scenario that uses every key.
const EVERYTHING: &str = r#"#:schema scenario.schema.json
title = "Everything"
story = "As a text."
picture = '--'
duration = "60s"
warmup = "5s"
cooldown = "1.5s"
periods = ["0s..20s", "20s..0.9min"]
rtt-samples = true
cc = ["lia", "lia:rounding=usec"]

[parameters]
bandwidth = ["10mbit", "20mbit"]
paths = [{ near = "5ms", private = true, mss = 1400 }, { near = "50ms", private = false, mss = 500 }]
loss = [0, 0.01, "1%"]
loads = [{ request = "500B", shape = 1, off = "1s" }, { request = "1kB", shape = 1.5, off = "2s" }]

[link.b1]
rate = "$bandwidth"
delay = "$near"
jitter = "100us"
queue = "100p"
loss = "$loss"
ecn-threshold = "20p"
outages = ["10s..20s", "30s..0.6min"]
private = "$private"
discipline = "drop-tail"
change = [
    { at = "1s", rate = "1mbit" },
    { at = "2s", loss = { to-bad = "0.1%", to-good = 0.2, good = 0, bad = 1 } },
    { at = "3s", queue = "90p", ecn-threshold = "1ms", state = "down" },
    { at = "4s", state = "up" },
]
when-down = "keep"
reordering = true

[link.b1.reverse]
rate = "1mbit"
delay = "1ms"
jitter = "1ms"
reordering = false
queue = "64kB"
drop-every = 100
ecn-threshold = "1ms"
discipline = { kind = "fq-codel", target = "5ms", interval = "100ms", ecn = true, flows = 1024, quantum = 1514 }
outages = []
change = []

[link.b2]
rate = "1gbit"
rtt = "3ms"
queue = "64KiB"
discipline = "codel"
change = [{ at = "1s", discipline = { kind = "codel", target = "9ms" } }]

[link.b3]
trace = "lte-drive"
trace-start = "12s"
delay = "3ms"
queue = "64KiB"
discipline = { kind = "red", min = "20p", max = "60p", probability = "10%", weight = 0.002, gentle = true, ecn = true }
reverse.trace = "wifi-walk"
reverse.trace-start = "1500ms"

[connection.mp0]
kind = "mptcp"
mss = "$mss"
ip-version = 6
receive-buffer = "6MiB"
autotuning = true
send-buffer = "4MiB"
initial-window = 4
initial-ssthresh = 20
ecn = true
delayed-ack = false
subflow.sf1 = { route = ["b1", "b2"], backup = true }
subflow.sf2 = { route = ["b2"], join-delay = "50ms", change = [{ at = "9s", route = ["b3"], return-route = ["b2", "b3"] }] }
subflow.sf3 = { route = ["b2"], up = ["1s..2s", "4s..5s"] }
traffic = { kind = "request-response", request = "$request", response = "1MB", deadline = "1s", think = { kind = "exponential", mean = "1s" } }

[connection.mice]
kind = "tcp"
route = ["b2"]
traffic = { kind = "poisson", every = "1s", at-once = 7, size = { kind = "pareto", shape = "$shape", least = "1kB", most = "1MB" } }

[connection.bursts]
kind = "tcp"
route = ["b2"]
traffic = { kind = "on-off", on = "1s", off = "$off", rate = "1mbit" }

[connection.object]
kind = "tcp"
route = ["b2"]
traffic = { kind = "object", size = { kind = "lognormal", median = "1kB", sigma = 0.5 } }

[connection.web]
kind = "mptcp"
subflow.sf1.route = ["b1"]
[connection.web.traffic]
kind = "program"
server = ["nginx", "-c", "nginx.conf"]
client = ["curl", "http://{server}/"]
sender = "server"
files = []

[connection.tcp0]
kind = "tcp"
cc = "cubic"
start = "10s..20s"
stop = "50s"
route = ["b2"]
change = [{ at = "9s", route = ["b3"] }]
"#;

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
    const COMMAND: &str = "UPDATE_GOLDEN=1 cargo test -p braid-scenario --test schema";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.schema.json");
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(path, schema()).unwrap();
    }
    let written = fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == schema(),
        "docs/scenario.schema.json is not what the code says, repair it with\n\n    {COMMAND}\n"
    );
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
