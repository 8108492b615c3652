//! `braid algorithms`, `braid scenarios`, `braid check`.

use std::fmt::Write as _;

use braid_algorithms::{Algorithm, Param, Spec};
use braid_scenario::model::{Direction, Kind, Link, Scenario};
use braid_scenario::words::{both, limit, loss, milliseconds, queue, rate};
use braid_scenario::{File, Source, topology};
use braid_study::Sim;

use crate::failure::BAD_INPUT;
use crate::{Failure, terminal};

/// Lists the algorithms, or shows the page and the parameters of one.
pub(crate) fn algorithms(name: Option<&str>) -> Result<(), Failure> {
    let text = match name {
        None => {
            let head =
                ["name", "base", "signal", "year", "state", "ns/ACK", "confidence", "what it is", "source"];
            let mut rows = vec![head.map(str::to_owned).to_vec()];
            rows.extend(braid_algorithms::all().iter().map(|algorithm| {
                let facts = algorithm.facts();
                vec![
                    algorithm.name().to_owned(),
                    facts.base.to_owned(),
                    in_short(facts.signal).to_owned(),
                    facts.year.to_owned(),
                    state_bytes(algorithm).to_string(),
                    cost(algorithm).unwrap_or("-").to_owned(),
                    in_short(facts.confidence).to_owned(),
                    algorithm.title().to_owned(),
                    facts.source.to_owned(),
                ]
            }));
            aligned(&rows)
        }
        Some(name) => {
            let spec = Spec::parse(name).map_err(|error| Failure::new(BAD_INPUT, error.to_string()))?;
            let algorithm = spec.algorithm();
            let memory = format!(
                "{} bytes of state on each subflow, {} of them public; {} ns per ACK natively on two subflows.",
                state_bytes(algorithm),
                algorithm.public_bytes(),
                cost(algorithm).unwrap_or("not measured,")
            );
            let parameters = parameters(algorithm.name(), algorithm.params());
            format!("{}\n\n{memory}\n\n{parameters}", algorithm.page().trim_end())
        }
    };
    terminal::print(text.as_bytes())
}

/// Lists the packet schedulers, or shows the page and the parameters of one.
pub(crate) fn schedulers(name: Option<&str>) -> Result<(), Failure> {
    let text = match name {
        None => {
            let mut rows =
                vec![["name", "year", "confidence", "what it is", "source"].map(str::to_owned).to_vec()];
            rows.extend(braid_schedulers::all().iter().map(|scheduler| {
                let fact = |key| in_short(scheduler.fact(key)).to_owned();
                let (name, title) = (scheduler.name().to_owned(), scheduler.title().to_owned());
                vec![name, fact("year"), fact("confidence"), title, scheduler.fact("source").to_owned()]
            }));
            aligned(&rows)
        }
        Some(name) => {
            let spec = braid_schedulers::Spec::parse(name)
                .map_err(|error| Failure::new(BAD_INPUT, error.to_string()))?;
            let scheduler = spec.definition();
            let memory = format!("{} bytes of state per connection.", scheduler.private_bytes());
            let parameters = parameters(scheduler.name(), scheduler.params());
            format!("{}\n\n{memory}\n\n{parameters}", scheduler.page().trim_end())
        }
    };
    terminal::print(text.as_bytes())
}

/// Bytes of memory per subflow, including public words.
fn state_bytes(algorithm: &Algorithm) -> usize {
    algorithm.public_bytes() + algorithm.private_bytes()
}

/// Native nanoseconds per ACK on two subflows, from the committed measurement.
fn cost(algorithm: &Algorithm) -> Option<&'static str> {
    let mut rows = include_str!("../../../algorithms/costs.tsv").lines().map(|line| line.split('\t'));
    rows.find_map(|mut row| (row.next()? == algorithm.name()).then(|| row.nth(1))?)
}

/// A fact of a page without its qualifications.
fn in_short(fact: &str) -> &str {
    fact.split([';', ',', ':', '(']).next().unwrap_or_default().trim_end()
}

fn parameters(name: &str, params: impl ExactSizeIterator<Item = Param>) -> String {
    if params.len() == 0 {
        return format!("{name} has no parameters.\n");
    }
    let mut rows = vec![["parameter", "default", "values", "what it does"].map(str::to_owned).to_vec()];
    rows.extend(params.map(|param| {
        let choices: Vec<&str> = param.choices().collect();
        let values = if choices.is_empty() {
            format!("{} to {} {}", param.show(param.low), param.show(param.high), param.unit)
        } else {
            choices.join(", ")
        };
        vec![
            param.name.to_owned(),
            param.show(param.initial),
            values.trim_end().to_owned(),
            param.help.to_owned(),
        ]
    }));
    format!("Set a parameter with {name}:key=value.\n\n{}", aligned(&rows))
}

/// Lists the embedded scenarios, or shows one.
pub(crate) fn scenarios(name: Option<&str>) -> Result<(), Failure> {
    let text = match name {
        None => aligned(
            &braid_scenario::embedded()
                .map(|scenario| vec![scenario.name.to_owned(), scenario.title])
                .collect::<Vec<_>>(),
        ),
        Some(name) => scenario(&braid_scenario::load(&Source::find(name)?, &[])?),
    };
    terminal::print(text.as_bytes())
}

fn scenario(file: &File) -> String {
    let cell = &file.cells[0];
    let mut text = format!("{}  {}\n", cell.name, file.title);
    for part in [&file.story, &file.picture] {
        if !part.trim().is_empty() {
            let _ = write!(text, "\n{}\n", part.trim_matches('\n').trim_end());
        }
    }
    if file.cells.len() > 1 {
        let _ = writeln!(text, "\n{} cells:", file.cells.len());
        let axes = cell.parameters.keys().map(|name| {
            let mut values: Vec<&str> = Vec::new();
            for value in file.cells.iter().filter_map(|cell| cell.parameters.get(name)) {
                if !values.contains(&value.as_str()) {
                    values.push(value);
                }
            }
            vec![format!("  {name}"), values.join(", ")]
        });
        text.push_str(&aligned(&axes.collect::<Vec<_>>()));
        text.push_str("\nThe first of them:\n");
    }
    text.push('\n');
    text.push_str(&numbers(cell));
    if !file.cc.is_empty() {
        let _ = write!(
            text,
            "\nruns with {} unless --cc says otherwise\n",
            file.cc.iter().map(Spec::text).collect::<Vec<_>>().join(", ")
        );
    }
    text
}

/// The resolved numbers of a cell.
pub(crate) fn numbers(scenario: &Scenario) -> String {
    let mut links = vec![["link", "rate", "delay", "queue", "loss"].map(str::to_owned).to_vec()];
    for (key, link) in by_key(scenario) {
        let both = |show: &dyn Fn(&Direction) -> String| both(link, show);
        links.push(vec![
            if link.private { format!("{key} (each route its own)") } else { key.to_owned() },
            both(&|direction| match &direction.trace {
                Some(trace) => format!("{} (trace {})", rate(direction.rate_bps as f64), trace.name),
                None => rate(direction.rate_bps as f64),
            }),
            both(&|direction| milliseconds(direction.delay_ns)),
            both(&queue),
            both(&|direction| loss(&direction.loss)),
        ]);
    }

    let mut flows = vec![
        ["flow", "kind", "cc", "traffic", "time", "route", "base RTT", "fair share"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (connection, paths) in scenario.connections.iter().zip(topology::paths(scenario)) {
        for (subflow, path) in connection.subflows.iter().zip(paths) {
            let route = subflow.route.iter().map(|&link| {
                let name = &scenario.links[link].name;
                name.split('@').next().unwrap_or_default()
            });
            let end = connection.stop_ns.unwrap_or(scenario.duration_ns);
            let open = [(connection.start_ns, end)];
            let times = if subflow.up.is_empty() { &open[..] } else { &subflow.up };
            let times: Vec<String> =
                times.iter().map(|&(from, to)| format!("{}..{}", seconds(from), seconds(to))).collect();
            flows.push(vec![
                match connection.kind {
                    Kind::Tcp => connection.name.clone(),
                    Kind::Mptcp => format!("{}.{}", connection.name, subflow.name),
                },
                match connection.kind {
                    Kind::Tcp => "tcp".to_owned(),
                    Kind::Mptcp => "mptcp".to_owned(),
                },
                connection.cc.as_ref().map_or("--cc", |own| own.text()).to_owned(),
                connection.traffic.name().to_owned(),
                format!("{} s", times.join(", ")),
                route.collect::<Vec<_>>().join(" "),
                milliseconds(path.base_rtt_ns),
                rate(path.available_bps),
            ]);
        }
    }
    let mut text = aligned(&links);
    let events = events(scenario);
    if !events.is_empty() {
        let mut rows = vec![["link", "time", "what happens"].map(str::to_owned).to_vec()];
        rows.extend(events.into_iter().map(|event| {
            let time = match event.to_ns {
                Some(to) => format!("{}..{} s", seconds(event.from_ns), seconds(to)),
                None => format!("{} s", seconds(event.from_ns)),
            };
            vec![event.link, time, event.what]
        }));
        let _ = write!(text, "\n{}", aligned(&rows));
    }
    format!("{text}\n{}", aligned(&flows))
}

/// Changes of the links during a run, by link and time. Private copies are alike and listed once.
pub(crate) fn events(scenario: &Scenario) -> Vec<LinkEvent> {
    let mut events = Vec::new();
    for (key, link) in by_key(scenario) {
        let (forward, reverse) = (changes(&link.forward), changes(&link.reverse));
        let alike = forward == reverse;
        let ways =
            if alike { vec![(forward, "")] } else { vec![(forward, " (there)"), (reverse, " (back)")] };
        for (changes, way) in ways {
            events.extend(changes.into_iter().map(|(from_ns, to_ns, what)| LinkEvent {
                link: format!("{key}{way}"),
                from_ns,
                to_ns,
                what,
            }));
        }
    }
    events
}

/// A change of a link.
pub(crate) struct LinkEvent {
    /// Its key, and the direction if it is not both.
    pub(crate) link: String,
    pub(crate) from_ns: u64,
    /// Its end, if it has one.
    pub(crate) to_ns: Option<u64>,
    pub(crate) what: String,
}

/// The links by their keys in the file: one of several private copies represents all.
fn by_key(scenario: &Scenario) -> Vec<(&str, &Link)> {
    let mut links: Vec<(&str, &Link)> = Vec::new();
    for link in &scenario.links {
        let key = link.name.split('@').next().unwrap_or_default();
        if links.iter().all(|(known, _)| *known != key) {
            links.push((key, link));
        }
    }
    links
}

/// Start, end and description, in order of time.
fn changes(direction: &Direction) -> Vec<(u64, Option<u64>, String)> {
    let mut changes: Vec<(u64, Option<u64>, String)> =
        direction.outages.iter().map(|&(from, to)| (from, Some(to), "down".to_owned())).collect();
    for change in &direction.changes {
        let news = [
            change.rate_bps.map(|bps| rate(bps as f64)),
            change.delay_ns.map(|ns| format!("delay {}", milliseconds(ns))),
            change.loss.map(|new| format!("loss {}", loss(&new))),
            change.queue.map(|new| format!("queue {}", limit(new))),
            change.ecn_threshold.map(|_| "another ECN threshold".to_owned()),
            change.discipline.map(|_| "other parameters of the queue".to_owned()),
            change.up.map(|up| if up { "up" } else { "down" }.to_owned()),
        ];
        let news: Vec<String> = news.into_iter().flatten().collect();
        changes.push((change.at_ns, None, news.join(", ")));
    }
    changes.sort_by_key(|change| change.0);
    changes
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Checks files, and prints the number of cells of each valid one.
pub(crate) fn check(files: &[String]) -> Result<(), Failure> {
    let mut wrong = Vec::new();
    for name in files {
        let checked = Source::find(name).and_then(|source| braid_scenario::load(&source, &[]));
        let checked = checked.map_err(braid_study::Error::from).and_then(|file| {
            file.cells.iter().try_for_each(|cell| Sim.check_duration(&file, cell))?;
            Ok(file)
        });
        match checked {
            Ok(file) => {
                let cells = file.cells.len();
                let line = format!("{name}: ok, {cells} {}\n", if cells == 1 { "cell" } else { "cells" });
                terminal::print(line.as_bytes())?;
            }
            Err(error) => wrong.push(error.into()),
        }
    }
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::several(BAD_INPUT, &wrong))
}

/// Rows as text, columns two spaces apart, one line each.
fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:width$}"));
        let _ = writeln!(text, "{}", cells.collect::<Vec<_>>().join("  ").trim_end());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_says_what_happens_to_it_and_when() {
        let text = r#"
title = "x"
duration = "60s"
[link.b1]
rate = "10mbit"
delay = "5ms"
queue = "100p"
discipline = "fq-codel"
loss = { to-bad = "1%", to-good = "99%" }
outages = ["40s..41.5s"]
change = [{ at = "10s", rate = "5mbit", delay = "20ms" }, { at = "50s", loss = 0 }]
[link.b1.reverse]
outages = []
[connection.tcp0]
kind = "tcp"
route = ["b1"]
"#;
        let source = Source { name: "x.toml".to_owned(), text: text.to_owned() };
        let shown = numbers(&braid_scenario::load(&source, &[]).unwrap().cells[0]);
        let expected = "\
link  rate       delay  queue                  loss
b1    10 Mbit/s  5 ms   100 packets, FQ-CoDel  1 % in bursts

link        time        what happens
b1 (there)  10 s        5 Mbit/s, delay 20 ms
b1 (there)  40..41.5 s  down
b1 (there)  50 s        loss none
b1 (back)   10 s        5 Mbit/s, delay 20 ms
b1 (back)   50 s        loss none
";
        assert!(shown.starts_with(expected), "{shown}");
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "b".to_owned()], vec!["long".to_owned(), String::new()]];
        assert_eq!(aligned(&rows), "a     b\nlong\n");
    }
}
