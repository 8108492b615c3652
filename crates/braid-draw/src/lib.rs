//! Topologies drawn as SVG: what is connected to what, how fast, and who shares which link. [`chart`] has the parts of
//! charts.
//!
//! [`topology`] is the only drawing of a network in Braid: the reports embed it, and the playground gets it from the
//! same code as WebAssembly. Senders are on the left, receivers on the right, links are bars in columns between them.
//! Each subflow is a line through the bars of its route, with its name at its end, so that colours are not essential.
//!
//! ```
//! let source = braid_scenario::Source::find("d-olia/1")?;
//! let file = braid_scenario::load(&source, &[])?;
//! assert!(braid_draw::topology(&file.cells[0]).starts_with("<svg"));
//! # Ok::<(), braid_scenario::Error>(())
//! ```

pub mod chart;
mod flows;
mod layout;

use std::fmt::Write as _;

use braid_scenario::model::{Loss, Scenario};
use braid_scenario::words;
use maud::{Markup, PreEscaped, html};

use flows::{Flow, flows};
use layout::{BAR, LANE, Layout, NAME, WIDE};

/// Colours of lines; further lines repeat them. A page may set `--line-0` to `--line-5`.
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#b0569a", "#8a6d00", "#59636e"];
/// Dash patterns in addition to colours, for print.
const DASHES: [&str; 4] = ["none", "9 3", "3 3", "9 3 3 3"];

/// Style rules of a drawing, so that it looks the same alone and in any page.
const STYLE: &str = "\
.topology{font:12px system-ui,sans-serif;color:inherit;display:block;height:auto}\
.topology text{fill:currentColor}\
.topology .strong{font-weight:600}\
.topology .more{font-size:11px}\
.topology .bar{fill:currentColor;fill-opacity:.07;stroke:currentColor;stroke-opacity:.55}\
.topology .shared{stroke-opacity:1;stroke-width:2;fill-opacity:.13}\
.topology .way{fill:none;stroke-width:2.2;stroke-linejoin:round}";

/// The drawing as an embeddable `<svg>` element, with its description as a label.
///
/// Equal connections (same kind, congestion control, routes and times) are one line with their number. Private access
/// links are not drawn; the round-trip time at the end of a line includes their delay. The state is that at the start
/// of the run.
pub fn topology(scenario: &Scenario) -> String {
    let flows = flows(scenario);
    let layout = Layout::new(scenario, &flows);
    let (width, height) = (layout.width, layout.height);
    let svg = html! {
        svg.topology xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (width) " " (height) } width=(width) role="img"
            aria-label=(description(scenario)) {
            style { (PreEscaped(STYLE)) }
            @for (node, link) in layout.links() { (bar(scenario, link, node.x, node.y, node.lanes)) }
            @for (lane, way) in layout.ways().enumerate() {
                @let (flow, _) = layout.owner(lane);
                @let colour = flows[flow].lanes[layout.owner(lane).1].number;
                path.way d=(way) stroke={ "var(--line-" (colour % COLOURS.len()) "," (COLOURS[colour % COLOURS.len()]) ")" }
                    stroke-dasharray=(DASHES[colour / COLOURS.len() % DASHES.len()]) {}
            }
            @for (flow, y) in flows.iter().zip(layout.hosts()) { (host(flow, y)) }
            @for (lane, y) in layout.ends().enumerate() {
                @let (flow, place) = layout.owner(lane);
                text x=(width - layout::RIGHT + 8) y=(y + 4) { (flows[flow].lanes[place].label) }
            }
        }
    };
    svg.into_string()
}

fn bar(scenario: &Scenario, link: usize, x: usize, y: usize, lanes: usize) -> Markup {
    let sharing = sharing(scenario, link).len();
    let link = &scenario.links[link];
    let forward = &link.forward;
    let rate = words::both(link, &|direction| match &direction.trace {
        Some(trace) => format!("trace {}", trace.name),
        None => words::rate(direction.rate_bps as f64),
    });
    let delay = words::both(link, &|direction| words::milliseconds(direction.delay_ns));
    let mut more = words::queue(forward);
    if forward.ecn_threshold.is_some() {
        more += ", marks";
    }
    if forward.loss != Loss::None {
        more = format!("{more}, loss {}", words::loss(&forward.loss));
    }
    if forward.jitter_ns > 0 {
        more = format!("{more}, jitter {}", words::milliseconds(forward.jitter_ns));
    }
    if !forward.changes.is_empty() || !forward.outages.is_empty() {
        more += ", changes";
    }
    let (middle, high) = (x + WIDE / 2, BAR + lanes * LANE);
    html! {
        text.strong x=(middle) y=(y + NAME - 4) text-anchor="middle" {
            (link.name) @if sharing > 1 { ", shared by " (sharing) }
        }
        rect.bar.shared[sharing > 1] x=(x) y=(y + NAME) width=(WIDE) height=(high) rx="5" {}
        text x=(middle) y=(y + NAME + high + 14) text-anchor="middle" { (rate) ", " (delay) }
        text.more x=(middle) y=(y + NAME + high + 28) text-anchor="middle" { (more) }
    }
}

fn host(flow: &Flow, y: usize) -> Markup {
    html! {
        text.strong x="4" y=(y) { (flow.name) }
        text.more x="4" y=(y + 14) { (flow.about) }
    }
}

/// The connections with a subflow on that link.
fn sharing(scenario: &Scenario, link: usize) -> Vec<&str> {
    let crosses = scenario
        .connections
        .iter()
        .filter(|connection| connection.subflows.iter().any(|subflow| subflow.route.contains(&link)));
    crosses.map(|connection| connection.name.as_str()).collect()
}

/// The drawing in words, as an alternative text.
pub fn description(scenario: &Scenario) -> String {
    let mut text = String::from("Network.");
    for flow in flows(scenario) {
        let ways = flow.lanes.iter().map(|lane| {
            let names: Vec<&str> =
                lane.route.iter().map(|&link| scenario.links[link].name.as_str()).collect();
            let over = if names.is_empty() { "its own links".to_owned() } else { names.join(", ") };
            format!("{} over {over}", lane.label)
        });
        let _ = write!(text, " {}, {}: {}.", flow.name, flow.about, ways.collect::<Vec<_>>().join("; "));
    }
    for (index, link) in scenario.links.iter().enumerate().filter(|(_, link)| !link.private) {
        let who = sharing(scenario, index);
        if who.len() > 1 {
            let rate = words::rate(link.forward.rate_bps as f64);
            let who = if who.len() > 4 { format!("{} connections", who.len()) } else { who.join(", ") };
            let _ = write!(text, " {}, {rate}, is shared by {who}.", link.name);
        }
    }
    text
}
