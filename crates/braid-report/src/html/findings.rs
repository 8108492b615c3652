//! Findings from the numbers, in words, without prior expectations.

use braid_results::catalogue::{self, LinkDirection, Metrics, Subflow};
use braid_results::{OK, Run, Statistics};
use braid_scenario::model::{Connection, Kind, Scenario};
use braid_scenario::topology;
use maud::{Markup, html};

use super::report::{Group, Part};
use crate::figure::{self, bottlenecks, somebody_moves};

/// Utilisation below which a bottleneck is called idle at times.
const BUSY: f64 = 0.9;

/// One sentence or short list each.
pub(super) fn findings(part: &Part) -> Vec<Markup> {
    let groups = part.groups();
    let mut findings = failures(&groups);
    findings.extend(goodput(part, &groups));
    findings.extend(bottlenecks(part.first()).into_iter().filter_map(|link| share(part, &groups, link)));
    findings.extend(benefit(part, &groups));
    findings.extend(utilisation(part, &groups));
    findings.extend(delay(part, &groups));
    findings.extend(few_seeds(&groups));
    findings
}

fn failures(groups: &[Group]) -> Vec<Markup> {
    let failed = groups.iter().filter(|group| group.summary.failed > 0);
    let sentence = |group: &Group| {
        let summary = group.summary;
        html! { (cc(group.name)) ": " (summary.failed) " of " (summary.runs) " runs failed and are in no figure." }
    };
    failed.map(sentence).collect()
}

fn few_seeds(groups: &[Group]) -> Option<Markup> {
    let one = groups.iter().all(|group| group.summary.runs == 1);
    one.then(|| html! {
        "There was one seed only, so there are no confidence intervals and a difference may be chance: run it with "
        code { "--seeds 10" } "."
    })
}

/// Most and least goodput by algorithm.
fn goodput(part: &Part, groups: &[Group]) -> Option<Markup> {
    let scenario = part.first();
    let connection = of_interest(scenario)?;
    if part.names().len() < 2 {
        return None;
    }
    let of = |group: &Group| {
        Some(group.summary.get(&catalogue::Connection::goodput_bps, &connection.name)?.scaled(1e6))
    };
    let mut cells = Vec::new();
    for cell in 0..part.cells().len() {
        let mut ranking: Vec<(&str, Statistics)> = groups
            .iter()
            .filter(|group| group.cell == cell)
            .filter_map(|group| Some((group.name, of(group)?)))
            .collect();
        ranking.sort_by(|a, b| b.1.mean.total_cmp(&a.1.mean));
        cells.push(ranking);
    }
    if let [ranking] = &cells[..] {
        let (best, rest) = ranking.split_first()?;
        let worst = rest.last()?;
        let level: Vec<&str> =
            rest.iter().filter(|other| overlap(&best.1, &other.1)).map(|other| other.0).collect();
        return Some(html! {
            "The goodput of " (connection.name) " was highest with " (cc(best.0)) " (" (plain(&best.1, 2))
            " Mbit/s) and lowest with " (cc(worst.0)) " (" (plain(&worst.1, 2)) " Mbit/s)."
            @if !level.is_empty() {
                " The confidence interval of the highest overlaps with that of " (list(&level)) "."
            }
        });
    }
    let wins =
        |name: &str| cells.iter().filter(|ranking| ranking.first().is_some_and(|r| r.0 == name)).count();
    let mut winners: Vec<(&str, usize)> = part.names().map(|name| (name, wins(name))).collect();
    winners.retain(|winner| winner.1 > 0);
    winners.sort_by_key(|winner| std::cmp::Reverse(winner.1));
    Some(html! {
        "Over " (cells.len()) " cells, the mean goodput of " (connection.name) " was highest "
        @for (index, (name, count)) in winners.iter().enumerate() {
            @if index > 0 { ", " }
            "with " (cc(name)) " in " (count)
        }
        "."
    })
}

/// At a link shared by MPTCP and TCP: the connection's rate there as a multiple of a TCP flow's.
fn share(part: &Part, groups: &[Group], link: usize) -> Option<Markup> {
    let scenario = part.first();
    let crossing = |kind: Kind| -> Vec<&str> {
        let crosses = |connection: &&Connection| {
            connection.kind == kind
                && connection.subflows.iter().any(|subflow| subflow.route.contains(&link))
                && open_throughout(scenario, connection)
        };
        scenario.connections.iter().filter(crosses).map(|connection| connection.name.as_str()).collect()
    };
    let (multipath, single) = (crossing(Kind::Mptcp), crossing(Kind::Tcp));
    if multipath.is_empty() || single.is_empty() || somebody_moves(scenario, link) {
        return None;
    }
    let name = &scenario.links[link].name;
    let ratio = |run: &Run| {
        let mean = |ids: &[&str]| ids.iter().map(|id| rate_on(run, id, name)).sum::<f64>() / ids.len() as f64;
        let tcp = mean(&single);
        (tcp > 0.0).then(|| mean(&multipath) / tcp)
    };
    let compared = compare(part, groups, 1.0, 2, |group| over_seeds(group, ratio));
    let whom = |ids: &[&str], kind: &str| match ids {
        [id] => (*id).to_owned(),
        _ => format!("{} {kind} connections", ids.len()),
    };
    Some(html! {
        "On " b { (name) } ", which " (whom(&multipath, "MPTCP")) " shared with " (whom(&single, "TCP"))
        ", the rate of " @if multipath.len() == 1 { (multipath[0]) } @else { "an MPTCP connection" }
        " there, divided by " @if single.len() == 1 { "the TCP\u{2019}s" } @else { "that of a TCP" } ":"
        (compared.list(["more than one TCP\u{2019}s share", "less than one TCP\u{2019}s share", "no clear difference from one TCP\u{2019}s share"]))
    })
}

/// Whether several paths helped. Fair shares are of the links at the start, so there is no comparison where links
/// change.
fn benefit(part: &Part, groups: &[Group]) -> Option<Markup> {
    if part.events.iter().any(|events| !events.is_empty()) {
        return None;
    }
    let connection =
        part.first().connections.iter().find(|c| c.kind == Kind::Mptcp && c.subflows.len() > 1)?;
    let benefit = |group: &Group| group.summary.get(&Metrics::aggregate_benefits, &connection.name).copied();
    let compared = compare(part, groups, 0.0, 2, benefit);
    Some(html! {
        "Aggregate benefit of " (connection.name) " (0: as much as its fair share of the best path alone; 1: its fair \
         share of all paths):"
        (compared.list(["better than the best path alone", "worse than the best path alone", "no clear difference from the best path alone"]))
    })
}

fn utilisation(part: &Part, groups: &[Group]) -> Option<Markup> {
    let scenario = part.first();
    let links = bottlenecks(scenario);
    let mut idle = Vec::new();
    for &link in &links {
        let name = &scenario.links[link].name;
        let busy = |group: &Group| Some(group.summary.get(&LinkDirection::utilization, name)?.mean);
        let of_cc = |algorithm: &str| {
            let of = groups.iter().filter(|group| group.name == algorithm);
            let mut values: Vec<f64> = of.filter_map(busy).collect();
            let cells = values.len();
            values.retain(|&value| value < BUSY);
            let lowest = values.iter().copied().reduce(f64::min)?;
            Some(html! {
                (cc(algorithm)) " ("
                @if cells > 1 { (values.len()) " of " (cells) " cells, lowest " }
                (number(100.0 * lowest, 1)) " %)"
            })
        };
        let items: Vec<Markup> = part.names().filter_map(of_cc).collect();
        if !items.is_empty() {
            let down: u64 = scenario.links[link].forward.outages.iter().map(|(from, to)| to - from).sum();
            idle.push(html! {
                li {
                    b { (name) }
                    @if down > 0 { ", which was down for " (down as f64 / 1e9) " s" }
                    ": "
                    @for (index, item) in items.iter().enumerate() { @if index > 0 { ", " } (item) }
                }
            });
        }
    }
    let percent = number(100.0 * BUSY, 0);
    (!links.is_empty()).then(|| html! {
        @if idle.is_empty() {
            "Every shared bottleneck was busy for at least " (percent) " % of the time with every algorithm."
        } @else {
            "Links that were busy for less than " (percent) " % of the time:"
            ul { @for item in &idle { (item) } }
        }
    })
}

/// Share of queueing in the RTT.
fn delay(part: &Part, groups: &[Group]) -> Option<Markup> {
    let scenario = part.first();
    let connection = of_interest(scenario)?;
    if part.cells().len() > 1 {
        return None;
    }
    let index = scenario.connections.iter().position(|c| c.name == connection.name)?;
    let paths = topology::paths(scenario).swap_remove(index);
    let changes = !part.events[0].is_empty();
    let mut items = Vec::new();
    for (subflow, path) in connection.subflows.iter().zip(paths) {
        let of = format!("{}.{}", connection.name, subflow.name);
        let rtt = |group: &Group| Some(group.summary.get(&Subflow::mean_rtt_ms, &of)?.mean);
        let mut ranking: Vec<(&str, f64)> =
            groups.iter().filter_map(|group| Some((group.name, rtt(group)?))).collect();
        ranking.sort_by(|a, b| a.1.total_cmp(&b.1));
        let (Some(low), Some(high)) = (ranking.first(), ranking.last()) else { continue };
        let base = path.base_rtt_ns as f64 / 1e6;
        items.push(html! {
            li {
                b { (subflow.name) } ": " (number(low.1, 1)) " ms with " (cc(low.0))
                @if ranking.len() > 1 { " to " (number(high.1, 1)) " ms with " (cc(high.0)) }
                "; " (number(base, 1)) " ms with empty queues" @if changes { " and the links as at the start" }
            }
        });
    }
    (!items.is_empty()).then(|| {
        html! {
            "Mean RTT of " (connection.name) ":"
            ul { @for item in &items { (item) } }
        }
    })
}

/// The main connection: the first multipath one, or else the first one.
pub(super) fn of_interest(scenario: &Scenario) -> Option<&Connection> {
    let all = &scenario.connections;
    all.iter().find(|c| c.kind == Kind::Mptcp).or_else(|| all.iter().find(|c| c.cc.is_none())).or(all.first())
}

fn open_throughout(scenario: &Scenario, connection: &Connection) -> bool {
    let end = scenario.duration_ns - scenario.cooldown_ns;
    connection.start_ns <= scenario.warmup_ns && connection.stop_ns.is_none_or(|stop| stop >= end)
}

/// Bits per second of a connection over a link.
fn rate_on(run: &Run, connection: &str, link: &str) -> f64 {
    let of = run.connections.iter().filter(|c| c.id == connection).flat_map(|c| &c.subflows);
    of.filter(|subflow| subflow.links.iter().any(|name| name == link)).map(|s| s.throughput_bps).sum()
}

fn over_seeds(group: &Group, figure: impl Fn(&Run) -> Option<f64>) -> Option<Statistics> {
    let values: Vec<f64> = group.runs.iter().filter(|run| run.status == OK).filter_map(figure).collect();
    Statistics::of(&values)
}

/// A figure compared with a reference: above if its whole 95 % confidence interval is, below likewise, else neither.
struct Compared<'a> {
    decimals: usize,
    cells: usize,
    /// For each congestion control, numbers of its cells: above, below, neither, and with one seed only.
    ccs: Vec<(&'a str, [Vec<Statistics>; 4])>,
}

fn compare<'a>(
    part: &'a Part,
    groups: &[Group],
    reference: f64,
    decimals: usize,
    figure: impl Fn(&Group) -> Option<Statistics>,
) -> Compared<'a> {
    let of_cc = |name: &'a str| {
        let mut classes: [Vec<Statistics>; 4] = Default::default();
        for s in groups.iter().filter(|group| group.name == name).filter_map(&figure) {
            let class = match s.ci95 {
                Some(half) if s.mean - half > reference => 0,
                Some(half) if s.mean + half < reference => 1,
                Some(_) => 2,
                None => 3,
            };
            classes[class].push(s);
        }
        (name, classes)
    };
    Compared { decimals, cells: part.cells().len(), ccs: part.names().map(of_cc).collect() }
}

impl Compared<'_> {
    /// One item for each non-empty class, named by these words; the last class names itself.
    fn list(&self, words: [&str; 3]) -> Markup {
        let of_class = |class: usize| {
            let members = self.ccs.iter().filter(move |(_, classes)| !classes[class].is_empty());
            members.map(move |(name, classes)| (*name, &classes[class])).collect::<Vec<_>>()
        };
        html! {
            ul {
                @for (class, word) in words.into_iter().chain(["one seed, no confidence interval"]).enumerate() {
                    @let members = of_class(class);
                    @if !members.is_empty() {
                        li {
                            (word) ": "
                            @for (index, (name, values)) in members.iter().enumerate() {
                                @if index > 0 { ", " }
                                (cc(name)) " (" (self.values(values)) ")"
                            }
                        }
                    }
                }
            }
        }
    }

    fn values(&self, values: &[Statistics]) -> Markup {
        let means = || values.iter().map(|s| s.mean);
        let (low, high) = (means().fold(f64::INFINITY, f64::min), means().fold(f64::NEG_INFINITY, f64::max));
        html! {
            @if self.cells == 1 {
                @for s in values { (plain(s, self.decimals)) }
            } @else {
                (values.len()) " of " (self.cells) " cells, " (number(low, self.decimals))
                @if values.len() > 1 { " to " (number(high, self.decimals)) }
            }
        }
    }
}

fn overlap(a: &Statistics, b: &Statistics) -> bool {
    a.ci95.zip(b.ci95).is_some_and(|(x, y)| (a.mean - b.mean).abs() <= x + y)
}

/// A mean with its interval.
fn plain(s: &Statistics, decimals: usize) -> String {
    match s.interval() {
        Some(half) => format!("{} \u{b1} {}", number(s.mean, decimals), number(half, decimals)),
        None => number(s.mean, decimals),
    }
}

/// With a real minus sign.
pub(super) fn number(value: f64, decimals: usize) -> String {
    figure::number(value, decimals).replace('-', "\u{2212}")
}

fn cc(name: &str) -> Markup {
    html! { b.cc { (name) } }
}

fn list(names: &[&str]) -> Markup {
    html! {
        @for (index, name) in names.iter().enumerate() {
            @if index > 0 { @if index + 1 == names.len() { " and " } @else { ", " } }
            (cc(name))
        }
    }
}
