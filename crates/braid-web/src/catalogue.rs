//! Algorithms and scenarios to choose from.

use braid_algorithms::Algorithm;
use serde_json::{Value, json};

/// All algorithms and embedded scenarios.
pub fn catalogue() -> Value {
    let algorithms: Vec<Value> = braid_algorithms::all().iter().map(algorithm).collect();
    let scenarios: Vec<Value> = braid_scenario::embedded()
        .map(|scenario| {
            let text = braid_scenario::Source::embedded(scenario.name).map(|source| source.text);
            json!({"name": scenario.name, "title": scenario.title, "story": scenario.story, "toml": text})
        })
        .collect();
    json!({"version": env!("CARGO_PKG_VERSION"), "algorithms": algorithms, "scenarios": scenarios})
}

fn algorithm(algorithm: &Algorithm) -> Value {
    let facts = algorithm.facts();
    json!({
        "name": algorithm.name(),
        "title": algorithm.title(),
        "base": facts.base,
        "year": facts.year,
        "source": facts.source,
        "formula": formula(algorithm.page()),
        "coupled": algorithm.flags() & Algorithm::UNCOUPLED == 0,
    })
}

/// The formula section of its page, as Markdown.
fn formula(page: &str) -> &str {
    let after = page.split_once("**Formula.**").map_or("", |(_, after)| after);
    after.split_once("\n**").map_or(after, |(formula, _)| formula).trim_matches('\n')
}
