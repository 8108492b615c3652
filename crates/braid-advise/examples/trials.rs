//! How good advice is: random networks whose truth is known, seen only as a router would see them.
//!
//! ```text
//! cargo run --release -p braid-advise --example trials -- FIRST..LAST [OPTION=VALUE]...
//! ```
//!
//! | option | |
//! |---|---|
//! | `running=test` | a test before advice: each path alone, then beside a crowd on each other one |
//! | `running=CC` | what runs while it is looked at; `cubic` |
//! | `rehearse=no` | networks are drawn from what was measured, as after watching, and no test is simulated in them |
//! | `truth=rate,rtt,queue,loss,share,background` | told to the estimate instead of what it found |
//! | `only=again` | the advice is made from the network itself, with other seeds: what chance alone gets wrong |
//! | `only=truth` | the candidates in the networks themselves, and nothing else |
//! | `only=sharing` | how many pairs of paths are told right, and nothing else |
//! | `only=paths` | each path: its queue and what that is told to be, whether it changes its bottleneck and is told to |
//! | `only=measured` | the networks, and the scenarios that are made of them |
//! | `only=why` | each candidate in the network and in what was measured of it |
//! | `only=evidence` | what each pair of paths shows in a test, for `fit.py` |
//! | `only=moving` | what the path shows that looks most as if it changed its bottleneck, for `fit.py` |
//! | `only=scatter` | what a single flow has on each path, and eight, and how long their packets wait: by how much both differ from run to run |
//! | `keep=FOLDER` | keeps what was simulated there, so that it goes on where it was ended |
//!
//! In each network `case/N`, [without phase effects](without_phases), all candidates are simulated, too. The choice does harm if there certainly (95 %) others lose too much, by the
//! measure of advice itself, and it is not CUBIC on one path of each bottleneck; it is right if it does not, and its utility is within 5 %
//! of that of the best candidate that has one share and by which they do not on average. `any` is its utility against the best of several
//! shares, too. `harm` is what a flow certainly loses. `seeds` is how many it took until that was certain, 32 at most.

#![allow(clippy::print_stdout, reason = "its results")]

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::path::{Path as File, PathBuf};
use std::process::ExitCode;
use std::{env, fmt, fs};

use braid_advise::{
    Advice, Discipline, Had, MOST_HARM, Measured, Network, Others, Question, Row, Sharing, estimate,
    packet_us, probe, rehearse,
};
use braid_algorithms::Spec;
use braid_results::Run;
use braid_results::measure::{Measurements, SubflowCounts};
use braid_scenario::model::{self, Loss, QueueLimit, Scenario, Traffic};
use braid_scenario::{Source, case, load};
use braid_study::{Cancel, Error, Planned, Seeds, Study};

/// Of the best candidate's utility.
const NEAR: f64 = 0.95;
const SEEDS: std::ops::RangeInclusive<u64> = 1..=8;
/// Where it is not certain whether the choice is near the best there are up to so many times as many seeds.
const MOST_TIMES: u64 = 4;

#[derive(Default)]
struct Options {
    running: String,
    unrehearsed: bool,
    truth: Vec<String>,
    keep: Option<PathBuf>,
    only: String,
}

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let range = arguments.next().unwrap_or_default();
    let bounds: Vec<u64> = range.split("..").filter_map(|bound| bound.parse().ok()).collect();
    let [first, last] = bounds[..] else {
        eprintln!("`{range}`: expected FIRST..LAST, such as 10000..10199");
        return ExitCode::from(2);
    };
    let mut options = Options { running: "cubic".into(), ..Options::default() };
    for argument in arguments {
        match argument.split_once('=') {
            Some(("running", value)) => value.clone_into(&mut options.running),
            Some(("truth", value)) => options.truth = value.split(',').map(str::to_owned).collect(),
            Some(("rehearse", "no")) => options.unrehearsed = true,
            Some(("keep", value)) => options.keep = Some(value.into()),
            Some(("only", value)) => value.clone_into(&mut options.only),
            _ => {
                eprintln!("`{argument}`: expected running=, rehearse=no, truth=, keep= or only=");
                return ExitCode::from(2);
            }
        }
    }
    let mut kinds: BTreeMap<&str, Counts> = BTreeMap::new();
    println!("case,kind,sharing,chosen,best,utility,harm,any,seeds");
    for number in first..=last {
        let network =
            without_phases(Source::find(&format!("case/{number}")).expect("every number is a case"));
        if !says_only(number, &network, &options) {
            trial(number, &network, &options, kinds.entry(case::kind(number)).or_default());
        }
    }
    println!("\nkind: cases, right, harmful, harmful to a flow, not measured, right against any");
    let mut all = Counts::default();
    for (kind, counts) in &kinds {
        println!("{kind}: {counts}");
        all.add(counts);
    }
    println!("all: {all}");
    ExitCode::SUCCESS
}

/// What became of networks.
#[derive(Default)]
struct Counts {
    cases: usize,
    right: usize,
    harmful: usize,
    harmful_to_one: usize,
    not_measured: usize,
    right_against_any: usize,
}

impl Counts {
    fn add(&mut self, more: &Self) {
        self.cases += more.cases;
        self.right += more.right;
        self.harmful += more.harmful;
        self.harmful_to_one += more.harmful_to_one;
        self.not_measured += more.not_measured;
        self.right_against_any += more.right_against_any;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cases, right, harmful, harmful_to_one, not_measured, right_against_any } = self;
        write!(f, "{cases}, {right}, {harmful}, {harmful_to_one}, {not_measured}, {right_against_any}")
    }
}

/// One network, and what becomes of the advice there.
fn trial(number: u64, network: &Source, options: &Options, counts: &mut Counts) {
    let joined = beside_others(network);
    let truth = ask(options, &joined, SEEDS);
    if options.only == "truth" {
        print_rows(number, "network", &truth);
        return;
    }
    counts.cases += 1;
    let (advice, sharing) = match advised(network, &joined, options) {
        Ok(advised) => advised,
        Err(reason) => {
            counts.not_measured += 1;
            println!("{number},{},{reason},,,,,", case::kind(number));
            return;
        }
    };
    if options.only == "why" {
        print_rows(number, "network", &truth);
        print_rows(number, "measured", &advice);
        return;
    }
    let truth = settled(options, &joined, truth, advice.choice());
    let chosen = of(&truth, advice.choice());
    let fair = || truth.rows.iter().filter(|row| row.is_fair());
    let any = fair().map(Row::utility).fold(0.0, f64::max);
    let best = fair().filter(|row| !row.has_several_shares()).map(Row::utility).fold(0.0, f64::max);
    let harms = chosen.is_harmful();
    let utility = chosen.utility();
    counts.right += usize::from(!harms && utility >= NEAR * best);
    counts.harmful += usize::from(harms);
    counts.harmful_to_one += usize::from(harms_one(chosen));
    counts.right_against_any += usize::from(!harms && utility >= NEAR * any);
    println!(
        "{number},{},{sharing},{}/{},{}/{},{:.3},{:.3},{:.3},{}",
        case::kind(number),
        advice.choice().spec,
        advice.choice().only.len(),
        truth.choice().spec,
        truth.choice().only.len(),
        utility / best.max(1.0),
        chosen.least_harm(),
        utility / any.max(1.0),
        chosen.seeds()
    );
}

/// The advice, and how many pairs of paths were told right for it.
fn advised(network: &Source, joined: &Source, options: &Options) -> Result<(Advice, String), String> {
    if options.only == "again" {
        return Ok((ask(options, joined, 101..=108), String::new()));
    }
    let measured = measured(network, options)?;
    Ok((ask_measured(options, &measured), sharing(&measured, network)))
}

/// Each candidate: Mbit/s alone and beside TCP, utility, harm on average and at least.
fn print_rows(number: u64, what: &str, advice: &Advice) {
    for row in &advice.rows {
        let chosen = if row == advice.choice() { "chosen" } else { "" };
        println!(
            "{number},{what},{},{},{:.2},{:.2},{:.2},{:.3},{:.3},{},{chosen}",
            row.spec,
            row.only.join("+"),
            row.alone_bps() / 1e6,
            row.beside_bps() / 1e6,
            row.utility() / 1e6,
            row.mean_harm(),
            row.least_harm(),
            row.is_advisable()
        );
    }
}

/// What became of the same choice there.
fn of<'a>(truth: &'a Advice, choice: &Row) -> &'a Row {
    find(truth, choice).expect("it was asked for")
}

fn find<'a>(truth: &'a Advice, choice: &Row) -> Option<&'a Row> {
    truth.rows.iter().find(|row| row.is(choice))
}

/// The truth with as many seeds as it takes to see whether the choice is near the best, up to a limit.
fn settled(options: &Options, network: &Source, truth: Advice, choice: &Row) -> Advice {
    if find(&truth, choice).is_some() && unsettled(&truth, choice).is_empty() {
        return truth;
    }
    kept(options, &(&network.text, &choice.spec, &choice.only, MOST_TIMES), || {
        let mut question = Question::new(begun(network)).seeds(SEEDS);
        if !choice.only.is_empty() {
            question = question.using(&choice.only);
        }
        question.ask_until(MOST_TIMES, |truth| unsettled(truth, choice), |_, _| ())
    })
}

/// The places of the choice and of those of whom it is not certain (95 %) whether they are better; none if one certainly is.
fn unsettled(truth: &Advice, choice: &Row) -> Vec<usize> {
    let chosen = of(truth, choice);
    let enough = 1.0 / NEAR - 1.0;
    let gain = |row: &Row| {
        let gain = row.gain_over(chosen);
        let half = gain.ci95.unwrap_or(f64::INFINITY);
        (gain.mean - half, gain.mean + half)
    };
    let others = || truth.rows.iter().enumerate().filter(|(_, row)| !row.is(choice) && row.may_be_fair());
    if others().any(|(_, row)| is_surely_fair(row) && gain(row).0 > enough) {
        return Vec::new();
    }
    let may_be_better = others().filter(|(_, row)| gain(row).1 > enough).map(|(place, _)| place);
    let mut left: Vec<usize> = may_be_better.collect();
    if !left.is_empty() || !chosen.is_fair() {
        left.extend(truth.rows.iter().position(|row| row.is(choice)));
    }
    left
}

/// Whether it is certain (95 %) that no flow loses too much.
fn is_surely_fair(row: &Row) -> bool {
    row.is_usual() || !row.has_several_shares() && row.most_harm() <= MOST_HARM
}

/// Whether a flow certainly loses too much, though others at its bottleneck may win as much.
fn harms_one(row: &Row) -> bool {
    !row.is_usual() && row.least_harm() > MOST_HARM
}

/// The network for a connection that begins ten seconds after others, or [later by chance](begun), and whose subflows join as the kernel does it, when the first is
/// established: when they do is a matter of the host, and no test of the network can tell it.
fn beside_others(network: &Source) -> Source {
    let later = |line: &str| match line {
        "duration = \"40s\"" => "duration = \"50s\"".to_owned(),
        "warmup = \"5s\"" => "warmup = \"15s\"".to_owned(),
        "[connection.mp0]" => format!("{line}\nstart = \"10s\""),
        _ => ["30s", "20s", "10s"]
            .iter()
            .zip(["40s", "30s", "20s"])
            .fold(line.to_owned(), |line, (at, later)| {
                line.replace(&format!("at = \"{at}\""), &format!("at = \"{later}\""))
            }),
    };
    let lines = network.text.lines().filter(|line| !line.starts_with("join-delay")).map(later);
    Source { name: network.name.clone(), text: lines.collect::<Vec<_>>().join("\n") }
}

/// The network in which no flow keeps its place in the queue of a bottleneck, round for round: packets arrive later by chance, by up to the
/// time of one of them. Without, the rate of a flow is another for an RTT that is 1 % longer, which nothing can tell.
fn without_phases(network: Source) -> Source {
    let cell = load(&network, &[]).expect("cases are right").cells.remove(0);
    let routes = cell.connections.iter().flat_map(|one| &one.subflows).map(|subflow| &subflow.route);
    let bottlenecks: BTreeSet<usize> = routes.map(|route| cell.bottleneck(route)).collect();
    let mut text = network.text;
    for link in bottlenecks.into_iter().map(|link| &cell.links[link]) {
        let head = format!("[link.{}]\n", link.name);
        let jitter = format!("{head}jitter = \"{}us\"\n", packet_us(link.forward.rate_bps as f64));
        text = text.replace(&head, &jitter);
    }
    Source { name: network.name, text }
}

/// As those networks that are measured, it is for a connection that begins by chance.
fn begun(network: &Source) -> Network {
    Network::from(network.clone()).beginning_by_chance()
}

/// Asks about the network itself, unless the answer is kept from before.
fn ask(options: &Options, network: &Source, seeds: impl Into<Seeds>) -> Advice {
    let seeds = seeds.into();
    kept(options, &(&network.text, seeds.first(), seeds.last()), || {
        Question::new(begun(network)).seeds(seeds).ask()
    })
}

/// Asks about what was measured.
fn ask_measured(options: &Options, measured: &Measured) -> Advice {
    let networks = if options.running == "test" && !options.unrehearsed {
        measured.rehearsed("measured", &Cancel::new(), |_, _| ()).expect("what was measured is a network")
    } else {
        measured.networks("measured")
    };
    kept(options, &("measured", format!("{networks:?}")), || Question::either(networks).seeds(SEEDS).ask())
}

/// What was kept of the same from before, or what is simulated now.
fn kept(options: &Options, what: &impl Hash, ask: impl FnOnce() -> Result<Advice, Error>) -> Advice {
    let mut hash = DefaultHasher::new();
    what.hash(&mut hash);
    let kept = options.keep.as_ref().map(|folder| folder.join(format!("{:016x}.json", hash.finish())));
    if let Some(advice) = kept.as_deref().and_then(read) {
        return advice;
    }
    let advice = ask().expect("a case and its candidates are right");
    if let Some(kept) = kept {
        let text = serde_json::to_string(&advice).expect("it has no keys but names");
        fs::write(&kept, text).expect("the folder is there and has room");
    }
    advice
}

fn read(file: &File) -> Option<Advice> {
    serde_json::from_str::<Advice>(&fs::read_to_string(file).ok()?).ok().map(Advice::again)
}

/// What a test finds, or who watches.
fn measured(network: &Source, options: &Options) -> Result<Measured, String> {
    if options.running == "test" { tested(network, options) } else { seen(network, options) }
}

/// What a queue does, without how.
fn discipline(of: &model::Discipline) -> Discipline {
    match of {
        model::Discipline::DropTail => Discipline::DropTail,
        model::Discipline::Red(_) => Discipline::Red,
        model::Discipline::CoDel(_) => Discipline::CoDel,
        model::Discipline::FqCoDel(_) => Discipline::FqCoDel,
    }
}

/// What the sockets say, with as much of the truth as is asked for.
fn seen(network: &Source, options: &Options) -> Result<Measured, String> {
    let study = Study::new(Vec::<String>::new())
        .source(network.clone())
        .algorithms([&options.running])
        .seeds(99..=99);
    let plan = study.check().map_err(|error| error.to_string())?;
    let results = plan.execution().samples().collect().map_err(|error| error.to_string())?;
    let measurements = results.measurements()[0].as_ref().ok_or_else(|| results.runs()[0].status.clone())?;
    let subflows: Vec<&SubflowCounts> = measurements.connections[0].subflows.iter().collect();
    let mut looks = rehearse::looks(&subflows);
    looks.retain(|look| look.at_s >= 5.0);
    let cell = &plan.files()[0].file.cells[0];
    let names: Vec<String> =
        cell.connections[0].subflows.iter().map(|subflow| subflow.name.clone()).collect();
    let mut measured = estimate(&names, &looks).map_err(|reason| reason.to_string())?;
    tell(&mut measured, cell, &options.truth);
    Ok(measured)
}

/// How many pairs are told right, wrong and not at all.
fn sharing(measured: &Measured, network: &Source) -> String {
    let cell = &load(network, &[]).expect("cases are right").cells[0];
    let mut counts = [0; 4];
    for pair in &measured.pairs {
        let route = |place: usize| cell.bottleneck(&cell.connections[0].subflows[place].route);
        let shared = route(pair.one) == route(pair.other);
        counts[match pair.sharing {
            Sharing::Unknown => 3,
            Sharing::Shared if shared => 0,
            Sharing::Own if !shared => 0,
            Sharing::Own => 1,
            Sharing::Shared => 2,
        }] += 1;
    }
    format!("{} right {} missed {} false {} unknown", counts[0], counts[1], counts[2], counts[3])
}

/// Replaces what was measured by the truth.
fn tell(measured: &mut Measured, cell: &Scenario, truth: &[String]) {
    let is = |what: &str| truth.iter().any(|one| one == what);
    let subflows = &cell.connections[0].subflows;
    let bottleneck = |place: usize| cell.bottleneck(&subflows[place].route);
    if is("share") {
        for pair in &mut measured.pairs {
            let shared = bottleneck(pair.one) == bottleneck(pair.other);
            pair.sharing = if shared { Sharing::Shared } else { Sharing::Own };
        }
        measured
            .together_bps
            .retain(|(places, _)| places.iter().all(|&place| bottleneck(place) == bottleneck(places[0])));
    }
    for (place, subflow) in subflows.iter().enumerate() {
        let link = &cell.links[bottleneck(place)].forward;
        let path = &mut measured.paths[place];
        if is("rate") {
            path.rate_bps = link.rate_bps as f64;
        }
        if is("rtt") {
            let delay = |&link: &usize| cell.links[link].forward.delay_ns + cell.links[link].reverse.delay_ns;
            path.rtt_s = subflow.route.iter().map(delay).sum::<u64>() as f64 / 1e9;
        }
        if is("queue") {
            let packets = match link.queue {
                QueueLimit::Packets(packets) => f64::from(packets),
                QueueLimit::Bytes(bytes) => bytes as f64 / 1500.0,
            };
            let rate_bps =
                if is("rate") || link.trace.is_some() { path.rate_bps } else { link.rate_bps as f64 };
            path.queue_s = packets * 1500.0 * 8.0 / rate_bps;
            path.discipline = discipline(&link.discipline);
        }
        if is("loss") {
            path.loss = if let Loss::Bernoulli(share) = link.loss { share } else { 0.0 };
        }
        if is("background") {
            let there = |one: &&model::Connection| {
                one.kind == model::Kind::Tcp
                    && matches!(one.traffic, Traffic::Bulk)
                    && cell.bottleneck(&one.subflows[0].route) == bottleneck(place)
            };
            let flows: Vec<&model::Connection> = cell.connections.iter().filter(there).collect();
            path.others = match flows.first().and_then(|flow| flow.cc.as_deref()) {
                Some("bbr") => Others::bbr(),
                Some("reno") => Others::reno(flows.len()),
                _ => Others::cubic(flows.len()),
            };
            // Nothing else is drawn.
            path.may_be.clear();
        }
    }
    if is("rate") {
        let rates: Vec<f64> = measured.paths.iter().map(|path| path.rate_bps).collect();
        let groups: Vec<Vec<usize>> =
            measured.together_bps.iter().map(|(places, _)| places.clone()).collect();
        measured.together_bps.clear();
        for first in 0..rates.len() {
            let members: Vec<usize> =
                (0..rates.len()).filter(|&place| bottleneck(place) == bottleneck(first)).collect();
            if members.len() > 1 && !measured.together_bps.iter().any(|(places, _)| *places == members) {
                measured.together_bps.push((members, rates[first]));
            }
        }
        for places in groups {
            if !measured.together_bps.iter().any(|(there, _)| *there == places) {
                let most = places.iter().map(|&place| rates[place]).fold(0.0, f64::max);
                measured.together_bps.push((places, most));
            }
        }
    }
}

/// The same from a test in the network.
fn tested(network: &Source, options: &Options) -> Result<Measured, String> {
    let (cell, phases) = test(network)?;
    let names: Vec<String> =
        cell.connections[0].subflows.iter().map(|subflow| subflow.name.clone()).collect();
    let mut measured = probe::estimate(&names, &phases).map_err(|reason| reason.to_string())?;
    tell(&mut measured, &cell, &options.truth);
    Ok(measured)
}

/// Whether what the test shows is all that is asked for.
fn says_only(number: u64, network: &Source, options: &Options) -> bool {
    match options.only.as_str() {
        "measured" => {
            println!("{}", network.text);
            match measured(network, options) {
                Ok(measured) => {
                    measured.scenarios("measured").iter().for_each(|one| println!("{}", one.text));
                }
                Err(reason) => println!("{reason}"),
            }
        }
        "evidence" => print_evidence(number, network),
        "moving" => print_moving(number, network),
        "paths" => print_paths(number, network),
        "scatter" => print_scatter(number, network),
        "sharing" => {
            let found = measured(network, options).map(|measured| sharing(&measured, network));
            println!("{number},{},{}", case::kind(number), found.unwrap_or_else(|reason| reason));
        }
        _ => return false,
    }
    true
}

fn print_paths(number: u64, network: &Source) {
    let Ok((cell, phases)) = test(network) else { return };
    let subflows = &cell.connections[0].subflows;
    let names: Vec<String> = subflows.iter().map(|subflow| subflow.name.clone()).collect();
    let Ok(measured) = probe::estimate(&names, &phases) else { return };
    for (subflow, told) in subflows.iter().zip(&measured.paths) {
        let queue = discipline(&cell.links[cell.bottleneck(&subflow.route)].forward.discipline);
        let moves = |moves| if moves { "moves" } else { "stays" };
        let (is, seems) = (moves(!subflow.reroutes.is_empty()), moves(told.moves.is_some()));
        println!(
            "{number},{},{},{},{},{is},{seems}",
            case::kind(number),
            told.name,
            queue.name(),
            told.discipline.name()
        );
    }
}

/// Of each path who is there, and of a single flow and a crowd the standard deviations, by logarithms, of what they have and of how long their
/// packets wait.
fn print_scatter(number: u64, network: &Source) {
    let cell = load(network, &[]).expect("cases are right").cells.remove(0);
    let paths = cell.connections[0].subflows.len();
    let of_each = |flows: usize| (0..paths).map(move |place| vec![place; flows]);
    let phases: Vec<Vec<usize>> = of_each(1).chain(of_each(probe::CROWD)).collect();
    let Ok(runs) = play(network, &phases, SEEDS) else { return };
    for (turn, phase) in phases.iter().enumerate() {
        let place = phase[0];
        let all: Vec<Had> = runs.iter().map(|phases| phases[turn].had()).collect();
        let scatter = |of: fn(&Had) -> f64| {
            let logarithms: Vec<f64> = all.iter().map(|had| of(had).max(1e-9).ln()).collect();
            let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
            let squares = logarithms.iter().map(|one| (one - mean).powi(2)).sum::<f64>();
            (squares / (logarithms.len() - 1) as f64).sqrt()
        };
        let bottleneck = |one: &model::Connection, place: usize| cell.bottleneck(&one.subflows[place].route);
        let there = |one: &&model::Connection| bottleneck(one, 0) == bottleneck(&cell.connections[0], place);
        let who = |one: &model::Connection| match one.traffic {
            Traffic::Bulk => one.cc.clone().unwrap_or_default(),
            _ => "web".to_owned(),
        };
        let others = cell.connections[1..].iter().filter(there).map(who);
        println!(
            "{number};{};{};{};{:.3};{:.3}",
            case::kind(number),
            phase.len(),
            others.collect::<Vec<_>>().join("+"),
            scatter(|had| had.bps),
            scatter(Had::waits_s)
        );
    }
}

fn print_evidence(number: u64, network: &Source) {
    let Ok((cell, phases)) = test(network) else { return };
    let subflows = &cell.connections[0].subflows;
    for pair in probe::evidence(subflows.len(), &phases) {
        let [one, other] = [pair.one, pair.other].map(|place| cell.bottleneck(&subflows[place].route));
        print_for_fit(number, one == other, &pair.shows);
    }
}

fn print_moving(number: u64, network: &Source) {
    let Ok((cell, phases)) = test(network) else { return };
    let subflows = &cell.connections[0].subflows;
    if let Some((path, signs)) = probe::may_move(subflows.len(), &phases) {
        let moves = !subflows[path].reroutes.is_empty();
        print_for_fit(number, moves, &signs);
    }
}

/// One line of what `fit.py` reads.
fn print_for_fit(number: u64, is_so: bool, shows: &[f64]) {
    let shows: Vec<String> = shows.iter().map(|shows| format!("{shows:.4}")).collect();
    println!("{number};{};{};{}", case::kind(number), u8::from(is_so), shows.join(";"));
}

/// The network, and what the phases of a test show there.
fn test(network: &Source) -> Result<(Scenario, Vec<probe::Phase>), String> {
    let cell = load(network, &[]).map_err(|error| error.to_string())?.cells.remove(0);
    let phases = probe::phases(cell.connections[0].subflows.len());
    Ok((cell, play(network, &phases, 99..=99)?.remove(0)))
}

/// What these phases show, seed by seed.
fn play(
    network: &Source,
    phases: &[Vec<usize>],
    seeds: impl Into<Seeds>,
) -> Result<Vec<Vec<probe::Phase>>, String> {
    let mut file = load(network, &[]).map_err(|error| error.to_string())?;
    file.cells = vec![rehearse::play(&file.cells[0], phases)];
    let planned = Planned { file, specs: vec![Spec::parse("cubic").expect("it comes with Braid")] };
    let study = Study::new(Vec::<String>::new()).planned(planned).seeds(seeds);
    let plan = study.check().map_err(|error| error.to_string())?;
    let results = plan.execution().samples().collect().map_err(|error| error.to_string())?;
    let of_run = |(measured, run): (&Option<Measurements>, &Run)| {
        let measured = measured.as_ref().ok_or_else(|| run.status.clone())?;
        Ok(rehearse::seen(measured, phases))
    };
    results.measurements().iter().zip(results.runs()).map(of_run).collect()
}
