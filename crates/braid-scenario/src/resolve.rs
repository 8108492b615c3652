//! Checks what serde cannot and turns names into indices.

mod traffic;

use std::collections::BTreeSet;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::document::Path;
use crate::error::{Error, MOST_PROBLEMS, Problem, quote, suggest};
use crate::expand::Cell;
use crate::format::{self, DisciplineKind, Document};
use crate::model::{
    Change, CoDel, Connection, Direction, Discipline, EcnThreshold, FqCoDel, GilbertElliott, Kind, Link,
    Loss, QueueLimit, Red, Reroute, Scenario, Subflow,
};
use crate::topology::serialisation_ns;
use crate::trace::{NotRead, Trace, Traces};
use crate::units::{Duration, Packets, Queue, Rate, Threshold, Window};
use crate::{Source, de};

const MOST_SUBFLOWS: usize = 8;
const LONGEST_ROUTE: usize = 32;
const MOST_PERIODS: usize = 1000;
const LONGEST_TITLE: usize = 200;
const LONGEST_RUN: Duration = Duration(24 * 3600 * 1_000_000_000);
const LONGEST_DELAY: Duration = Duration(60 * 1_000_000_000);
/// What an IPv4 packet on Ethernet may have.
const PACKET: u32 = 1500;
/// What Linux lets a receive buffer grow to when nobody tunes it.
const USUAL_BUFFER: u64 = 6 << 20;
/// 65535 bytes scaled by 2^14, rounded up (RFC 7323).
const LARGEST_WINDOW: u64 = 1 << 30;

/// Of what is kept as text once for each combination, bytes.
pub(crate) const LONGEST_VALUE: usize = 1000;
/// Links, private copies, outages and changes together: keeps a small file from filling the memory.
pub(crate) const MOST_PARTS: usize = 1_000_000;

pub(crate) const NAME: &str = "expected a name of at most 32 characters a-z, 0-9 and -, the first not -";

pub(crate) fn is_name(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && !name.starts_with('-')
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// How much a link adds to what has to be kept.
pub(crate) fn parts(forward: &Direction, reverse: &Direction) -> usize {
    let of = |way: &Direction| way.outages.len() + way.changes.len();
    1 + of(forward) + of(reverse)
}

/// A cell in the simulator's terms and in the file's.
pub(crate) struct Resolved {
    pub(crate) scenario: Scenario,
    pub(crate) file: Document,
}

pub(crate) fn scenario(source: &Source, cell: &Cell, traces: &mut Traces) -> Result<Resolved, Error> {
    let file = de::read(&cell.document).map_err(Error::from)?;
    let mut resolver = Resolver {
        source,
        traces,
        cell,
        file: &file,
        problems: Vec::new(),
        links: Vec::new(),
        private: Vec::new(),
        parts: 0,
    };
    let connections = resolver.run();
    let Resolver { problems, mut links, private, .. } = resolver;
    if !problems.is_empty() {
        return Err(problems.into());
    }
    links.extend(private);
    let mut scenario = Scenario {
        name: source.name.clone(),
        title: file.title.clone(),
        parameters: cell.parameters.clone(),
        duration_ns: file.duration.0,
        warmup_ns: file.warmup.0,
        cooldown_ns: file.cooldown.0,
        periods: file.periods.iter().map(|period| (period.from.0, period.to.0)).collect(),
        links,
        connections,
    };
    check_length(&scenario, cell)?;
    default_buffers(&mut scenario);
    Ok(Resolved { scenario, file })
}

struct Resolver<'a> {
    source: &'a Source,
    traces: &'a mut Traces,
    cell: &'a Cell,
    file: &'a Document,
    problems: Vec<Problem>,
    /// Shared links, in the file's order.
    links: Vec<Link>,
    /// Private copies, in the order of connections, subflows and hops. Their indices follow those of `links`.
    private: Vec<Link>,
    /// Of the private copies.
    parts: usize,
}

impl Resolver<'_> {
    fn run(&mut self) -> Vec<Connection> {
        self.general();
        let file = self.file;
        let mut shared = IndexMap::new();
        let mut directions = IndexMap::new();
        for (name, link) in &file.link {
            let place = Path::from("link").key(name);
            self.name(&place, name);
            let both = self.link(&place, link);
            directions.insert(name.as_str(), both.clone());
            if !link.private {
                shared.insert(name.as_str(), self.links.len());
                let (forward, reverse) = both;
                self.links.push(Link { name: name.clone(), private: false, forward, reverse });
            }
        }
        let known = Known { shared, directions };
        if file.connection.is_empty() {
            let hint = Some("add one: [connection.mp0]".to_owned());
            self.fail(&"connection".into(), "no connections, so nothing to run", hint);
        }
        file.connection.iter().map(|(name, connection)| self.connection(name, connection, &known)).collect()
    }

    fn fail(&mut self, place: &Path, message: impl Into<String>, hint: Option<String>) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(self.cell.document.problem(place, false, message).hint(hint));
        }
    }

    fn name(&mut self, place: &Path, name: &str) {
        if !is_name(name) && self.problems.len() < MOST_PROBLEMS {
            self.problems.push(self.cell.document.problem(place, true, NAME));
        }
    }

    fn general(&mut self) {
        let file = self.file;
        if file.title.trim().is_empty() || file.title.contains(char::is_control) {
            self.fail(&"title".into(), "expected one line of text", None);
        } else if file.title.len() > LONGEST_TITLE {
            let hint = Some("say the rest in story".to_owned());
            self.fail(&"title".into(), format!("longer than {LONGEST_TITLE} bytes"), hint);
        }
        if file.duration == Duration(0) || file.duration > LONGEST_RUN {
            let message = format!(
                "expected a time above zero and at most \"{LONGEST_RUN}\", found \"{}\"",
                file.duration
            );
            self.fail(&"duration".into(), message, None);
        } else if file.warmup.0.saturating_add(file.cooldown.0) >= file.duration.0 {
            let message = format!(
                "a warm-up of {} and a cool-down of {} leave nothing of {} to measure",
                file.warmup, file.cooldown, file.duration
            );
            // Blame what the user has just changed.
            let place = ["warmup", "cooldown"]
                .map(Path::from)
                .into_iter()
                .find(|place| self.cell.document.is_set(place))
                .unwrap_or_else(|| "duration".into());
            let hint = Some("lengthen duration, or shorten warmup or cooldown".to_owned());
            self.fail(&place, message, hint);
        }
        self.periods();
        let mut before = BTreeSet::new();
        for (i, cc) in file.cc.iter().enumerate() {
            self.cc(&Path::from("cc").index(i), cc);
            if !before.insert(cc) {
                self.fail(&Path::from("cc").index(i), format!("{} is there twice", quote(cc)), None);
            }
        }
    }

    fn periods(&mut self) {
        let file = self.file;
        let place = Path::from("periods");
        if file.periods.len() > MOST_PERIODS {
            let message = format!("{} periods, at most {MOST_PERIODS} are possible", file.periods.len());
            self.fail(&place, message, None);
            return;
        }
        let end = Duration(self.end().0.saturating_sub(file.cooldown.0));
        for (i, period) in file.periods.iter().enumerate() {
            let place = place.index(i);
            if period.to > end {
                let message = format!("ends at {}, after all measuring at {end}", period.to);
                self.fail(&place, message, Some("end it earlier, or lengthen duration".to_owned()));
            }
            if file.periods[..i].contains(period) {
                self.fail(&place, format!("{period} is there twice"), None);
            }
        }
    }

    fn cc(&mut self, place: &Path, cc: &str) {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:=".contains(c);
        if !cc.starts_with(|c: char| c.is_ascii_lowercase())
            || !cc.chars().all(plain)
            || cc.len() > LONGEST_VALUE
        {
            let message = format!("expected a congestion control such as \"lia\", found {}", quote(cc));
            self.fail(place, message, Some("`braid algorithms` lists them".to_owned()));
        }
    }

    fn link(&mut self, place: &Path, link: &format::Link) -> (Direction, Direction) {
        let (there, back) = match (link.delay, link.rtt) {
            (Some(delay), None) => {
                self.delay(&place.key("delay"), delay, LONGEST_DELAY);
                (delay, delay)
            }
            (None, Some(rtt)) => {
                self.delay(&place.key("rtt"), rtt, Duration(2 * LONGEST_DELAY.0));
                let there = rtt.0 / 2;
                (Duration(there), Duration(rtt.0 - there))
            }
            (Some(_), Some(_)) => {
                self.both(&place.key("rtt"), &place.key("delay"));
                (Duration(0), Duration(0))
            }
            (None, None) => {
                let hint =
                    Some("add delay = \"5ms\" (one way) or rtt = \"10ms\" (there and back)".to_owned());
                self.fail(place, "missing key \"delay\"", hint);
                (Duration(0), Duration(0))
            }
        };
        self.queue(place, link.queue);
        let loss = self.loss_of(place, link.loss, link.drop_every);
        let discipline = self.discipline(&place.key("discipline"), link.discipline);
        if link.rate.is_none() && link.trace.is_none() {
            let hint = Some("add rate = \"10mbit\", or trace = \"FILE\" for a rate that varies".to_owned());
            self.fail(place, "missing key \"rate\"", hint);
        }
        let (rate_bps, trace) = self.rate(place, link.rate, link.trace.as_deref());
        let mut forward = self.direction(
            place,
            &Keys {
                rate_bps,
                trace,
                delay: there,
                jitter: link.jitter,
                reordering: link.reordering,
                queue: link.queue,
                loss,
                ecn_threshold: link.ecn_threshold,
                outages: &link.outages,
                discipline,
                keeps_queue: link.when_down == Some(format::WhenDown::Keep),
            },
        );
        forward.changes = self.changes(&place.key("change"), &link.change, &forward);
        let reverse = match &link.reverse {
            None => Direction { delay_ns: back.0, ..forward.clone() },
            Some(reverse) => self.reverse(&place.key("reverse"), link, reverse, back, &forward),
        };
        let mut changes = forward.changes.iter().chain(&reverse.changes);
        if link.when_down.is_some() && changes.all(|change| change.up.is_none()) {
            let hint = Some("add a change with state = \"down\", or remove when-down".to_owned());
            self.fail(&place.key("when-down"), "no change takes the link down", hint);
        }
        (forward, reverse)
    }

    /// The rate, and the trace it is the mean of. A missing key is for the caller to complain about.
    fn rate(&mut self, place: &Path, rate: Option<Rate>, trace: Option<&str>) -> (u64, Option<Arc<Trace>>) {
        let Some(name) = trace else { return (rate.map_or(1, |rate| rate.0), None) };
        if rate.is_some() {
            self.both(&place.key("trace"), &place.key("rate"));
        }
        let place = place.key("trace");
        match self.traces.get(self.source, name) {
            Ok(trace) => (trace.mean_bps(), Some(trace)),
            Err(NotRead::Outside(message, hint)) => {
                self.fail(&place, message, hint);
                (1, None)
            }
            Err(NotRead::Inside(problem)) => {
                if self.problems.len() < MOST_PROBLEMS {
                    self.problems.push(problem.key(place.to_string()));
                }
                (1, None)
            }
        }
    }

    fn reverse(
        &mut self,
        place: &Path,
        link: &format::Link,
        reverse: &format::Reverse,
        back: Duration,
        forward: &Direction,
    ) -> Direction {
        if let Some(delay) = reverse.delay {
            if link.rtt.is_some() {
                let hint = Some("give the delay of each direction instead of rtt".to_owned());
                self.fail(
                    &place.key("delay"),
                    "the rtt of the link already says the delay of both ways",
                    hint,
                );
            }
            self.delay(&place.key("delay"), delay, LONGEST_DELAY);
        }
        if let Some(queue) = reverse.queue {
            self.queue(place, queue);
        }
        let loss = match (reverse.loss, reverse.drop_every) {
            (None, None) => forward.loss,
            (loss, drop_every) => self.loss_of(place, loss, drop_every),
        };
        let discipline = match reverse.discipline {
            None => forward.discipline,
            given => self.discipline(&place.key("discipline"), given),
        };
        let ecn_threshold = match reverse.discipline {
            None => reverse.ecn_threshold.or(link.ecn_threshold),
            Some(_) => reverse.ecn_threshold,
        };
        let (rate_bps, trace) = match (reverse.rate, &reverse.trace) {
            (None, None) => (forward.rate_bps, forward.trace.clone()),
            (rate, trace) => self.rate(place, rate, trace.as_deref()),
        };
        let jitter = reverse.jitter.unwrap_or(link.jitter);
        let direction = self.direction(
            place,
            &Keys {
                rate_bps,
                trace,
                delay: reverse.delay.unwrap_or(back),
                jitter,
                reordering: reverse.reordering.unwrap_or(link.reordering && jitter > Duration(0)),
                queue: reverse.queue.unwrap_or(link.queue),
                loss,
                ecn_threshold,
                outages: reverse.outages.as_ref().unwrap_or(&link.outages),
                discipline,
                keeps_queue: forward.keeps_queue,
            },
        );
        let changes = match &reverse.change {
            None => changes_but(&forward.changes, reverse),
            Some(changes) => self.changes(&place.key("change"), changes, &direction),
        };
        Direction { changes, ..direction }
    }

    fn queue(&mut self, place: &Path, queue: Queue) {
        if matches!(queue, Queue::Bytes(size) if size.0 < PACKET.into()) {
            let hint = Some(format!("make it at least \"{PACKET}B\""));
            self.fail(&place.key("queue"), format!("no room for a packet of {PACKET} bytes"), hint);
        }
    }

    fn direction(&mut self, place: &Path, keys: &Keys<'_>) -> Direction {
        self.delay(&place.key("jitter"), keys.jitter, LONGEST_DELAY);
        if keys.reordering && keys.jitter == Duration(0) {
            let hint = Some("add jitter = \"1ms\", or remove reordering".to_owned());
            self.fail(&place.key("reordering"), "without jitter no packet overtakes another", hint);
        }
        let queue = queue_limit(keys.queue);
        let ecn_threshold = keys.ecn_threshold.map(ecn_threshold);
        self.marking(&place.key("ecn-threshold"), ecn_threshold, queue, &keys.discipline);
        self.ordered(&place.key("outages"), keys.outages);
        Direction {
            rate_bps: keys.rate_bps,
            trace: keys.trace.clone(),
            delay_ns: keys.delay.0,
            jitter_ns: keys.jitter.0,
            reordering: keys.reordering,
            queue,
            loss: keys.loss,
            ecn_threshold,
            outages: keys.outages.iter().map(|window| (window.from.0, window.to.0)).collect(),
            discipline: keys.discipline,
            changes: Vec::new(),
            keeps_queue: keys.keeps_queue,
        }
    }

    /// Whether a queue of that length and discipline can mark from that threshold on.
    fn marking(
        &mut self,
        place: &Path,
        threshold: Option<EcnThreshold>,
        queue: QueueLimit,
        discipline: &Discipline,
    ) {
        let Some(threshold) = threshold else { return };
        let is_wait = matches!(threshold, EcnThreshold::Wait(_));
        let message = match (threshold, queue) {
            (EcnThreshold::Wait(0), _) => "a packet waits at least 0s: it would mark everything".to_owned(),
            _ if matches!(discipline, Discipline::Red(_)) => {
                "red marks by the mean length of its queue".to_owned()
            }
            _ if *discipline != Discipline::DropTail && !is_wait => {
                "only a drop-tail queue marks by its length".to_owned()
            }
            (EcnThreshold::Packets(from), QueueLimit::Packets(limit)) if from >= limit => {
                format!("a queue of {limit} packets never holds {from} when one arrives")
            }
            (EcnThreshold::Bytes(from), QueueLimit::Bytes(limit)) if from >= limit => {
                format!("a queue of {limit} bytes never holds {from} when a packet arrives")
            }
            _ => return,
        };
        let hint = match (threshold, discipline) {
            (EcnThreshold::Wait(0), _) => "write the time from which packets are marked, such as \"1ms\"",
            (_, Discipline::DropTail) => "make ecn-threshold smaller than queue",
            (_, Discipline::Red(_)) => "remove it, and give the discipline ecn = true",
            _ => "write it as a time, or remove it: codel and fq-codel mark by themselves with ecn = true",
        };
        self.fail(place, message, Some(hint.to_owned()));
    }

    fn loss_of(&mut self, place: &Path, loss: Option<format::Loss>, drop_every: Option<u32>) -> Loss {
        let loss = loss.map_or(Loss::None, |loss| self.loss(&place.key("loss"), loss));
        let Some(n) = drop_every else { return loss };
        if loss != Loss::None {
            self.both(&place.key("drop-every"), &place.key("loss"));
        }
        if n < 2 {
            let message = format!("expected a whole number of at least 2, found {n}");
            self.fail(&place.key("drop-every"), message, Some("1000 loses 0.1%".to_owned()));
        }
        Loss::Periodic(n)
    }

    fn loss(&mut self, place: &Path, loss: format::Loss) -> Loss {
        let bursts = match loss {
            format::Loss::Random(p) if p.0 == 0.0 => return Loss::None,
            format::Loss::Random(p) => return Loss::Bernoulli(p.0),
            format::Loss::Bursts(bursts) => bursts,
        };
        for (key, chance, state) in [("to-bad", bursts.to_bad, "good"), ("to-good", bursts.to_good, "bad")] {
            if chance.0 == 0.0 {
                let message = format!("expected a probability above 0, or the {state} state never ends");
                let hint = "for loss without bursts, write the probability alone: loss = \"1%\"".to_owned();
                self.fail(&place.key(key), message, Some(hint));
            }
        }
        if bursts.good > bursts.bad {
            let message = "more is lost in the good state than in the bad one";
            let key = if self.cell.document.is_set(&place.key("bad")) { "bad" } else { "good" };
            self.fail(&place.key(key), message, Some("make good smaller than bad".to_owned()));
        } else if bursts.good.0 >= 1.0 {
            let hint = Some("to take a link down, use outages".to_owned());
            self.fail(&place.key("good"), "every packet is lost in either state", hint);
        }
        Loss::GilbertElliott(GilbertElliott {
            to_bad: bursts.to_bad.0,
            to_good: bursts.to_good.0,
            loss_good: bursts.good.0,
            loss_bad: bursts.bad.0,
        })
    }

    fn discipline(&mut self, place: &Path, given: Option<format::Discipline>) -> Discipline {
        let Some(format::Discipline(keys)) = given else { return Discipline::DropTail };
        let red = keys.kind == DisciplineKind::Red;
        let fair = keys.kind == DisciplineKind::FqCoDel;
        let codel = fair || keys.kind == DisciplineKind::CoDel;
        for (key, given, meant, owners) in [
            ("target", keys.target.is_some(), codel, "codel and fq-codel"),
            ("interval", keys.interval.is_some(), codel, "codel and fq-codel"),
            ("ecn", keys.ecn.is_some(), codel || red, "red, codel and fq-codel"),
            ("flows", keys.flows.is_some(), fair, "fq-codel"),
            ("quantum", keys.quantum.is_some(), fair, "fq-codel"),
            ("min", keys.min.is_some(), red, "red"),
            ("max", keys.max.is_some(), red, "red"),
            ("probability", keys.probability.is_some(), red, "red"),
            ("weight", keys.weight.is_some(), red, "red"),
            ("gentle", keys.gentle.is_some(), red, "red"),
        ] {
            if given && !meant {
                let hint = Some("remove it, or change kind".to_owned());
                self.fail(&place.key(key), format!("only for {owners}"), hint);
            }
        }
        if red {
            return Discipline::Red(self.red(place, &keys));
        }
        if !codel {
            return Discipline::DropTail;
        }
        let interval = keys.interval.unwrap_or(Duration(100_000_000));
        let target = keys.target.unwrap_or(Duration(5_000_000));
        if interval > LONGEST_DELAY {
            self.delay(&place.key("interval"), interval, LONGEST_DELAY);
        } else if target == Duration(0) || target >= interval {
            let message = format!("expected a target above zero and below the interval of {interval}");
            let key = if keys.target.is_some() { "target" } else { "interval" };
            let hint = "RFC 8289 recommends target = \"5ms\" and interval = \"100ms\"".to_owned();
            self.fail(&place.key(key), format!("{message}, found {target}"), Some(hint));
        }
        let codel = CoDel { target_ns: target.0, interval_ns: interval.0, ecn: keys.ecn.unwrap_or(fair) };
        if !fair {
            return Discipline::CoDel(codel);
        }
        let flows = self.count(&place.key("flows"), keys.flows.unwrap_or(1024), 1, 65_536, "queues");
        let quantum = self.count(&place.key("quantum"), keys.quantum.unwrap_or(1514), 256, 1 << 20, "bytes");
        Discipline::FqCoDel(FqCoDel { codel, flows, quantum })
    }

    fn red(&mut self, place: &Path, keys: &format::DisciplineKeys) -> Red {
        if keys.min.is_none() {
            let hint = Some("write { kind = \"red\", min = \"20p\" }".to_owned());
            self.fail(place, "missing key \"min\", the mean queue length from which red drops", hint);
        }
        let min = keys.min.map_or(1, |packets| packets.0);
        let max = keys.max.map_or(min.saturating_mul(3), |packets| packets.0);
        if max <= min {
            let message = format!("expected a length above min, {min} packets, found {max}");
            self.fail(&place.key("max"), message, Some("max is usually 3 times min".to_owned()));
        }
        let probability = keys.probability.map_or(0.1, |chance| chance.0);
        let weight = keys.weight.map_or(0.002, |chance| chance.0);
        for (key, value) in [("probability", probability), ("weight", weight)] {
            // In the simulator's fixed point, less is nothing.
            if value < 1e-9 {
                self.fail(&place.key(key), format!("expected a number above 0, found {value}"), None);
            }
        }
        let gentle = keys.gentle.unwrap_or(true);
        Red { min, max, probability, weight, gentle, ecn: keys.ecn.unwrap_or(false) }
    }

    fn count(&mut self, place: &Path, value: u32, least: u32, most: u32, what: &str) -> u32 {
        if !(least..=most).contains(&value) {
            self.fail(place, format!("expected {least} to {most} {what}, found {value}"), None);
        }
        value
    }

    /// The changes of a direction, which is given as it is at the start.
    fn changes(&mut self, place: &Path, given: &[format::Change], start: &Direction) -> Vec<Change> {
        let mut before = Duration(0);
        let (mut limit, mut threshold, mut up) = (start.queue, start.ecn_threshold, true);
        let mut changes = Vec::with_capacity(given.len());
        for (i, change) in given.iter().enumerate() {
            let place = place.index(i);
            self.at(&place, change.at, before, "at the start, the values of the link itself hold");
            before = change.at;
            if change.rate.is_some() && start.trace.is_some() {
                let hint = Some("remove it, or give the link a rate instead of a trace".to_owned());
                self.fail(&place.key("rate"), "the trace says the rate", hint);
            }
            if let Some(delay) = change.delay {
                self.delay(&place.key("delay"), delay, LONGEST_DELAY);
            }
            if let Some(queue) = change.queue {
                self.queue(&place, queue);
                limit = queue_limit(queue);
            }
            if let Some(given) = change.ecn_threshold {
                threshold = Some(ecn_threshold(given));
            }
            if change.queue.is_some() || change.ecn_threshold.is_some() {
                let key = if change.ecn_threshold.is_some() { "ecn-threshold" } else { "queue" };
                self.marking(&place.key(key), threshold, limit, &start.discipline);
            }
            if let Some(state) = change.state {
                let now = state == format::State::Up;
                if now == up {
                    let message = format!("the link is {} already", if up { "up" } else { "down" });
                    self.fail(&place.key("state"), message, None);
                }
                up = now;
            }
            let discipline = change.discipline.map(|given| self.parameters(&place, given, &start.discipline));
            let change = Change {
                at_ns: change.at.0,
                rate_bps: change.rate.map(|rate| rate.0),
                delay_ns: change.delay.map(|delay| delay.0),
                loss: change.loss.map(|loss| self.loss(&place.key("loss"), loss)),
                queue: change.queue.map(queue_limit),
                discipline,
                ecn_threshold: change.ecn_threshold.map(ecn_threshold),
                up: change.state.map(|state| state == format::State::Up),
            };
            if change.is_empty() {
                let hint = Some("add a new rate, delay, loss, queue or state".to_owned());
                self.fail(&place, format!("nothing changes at {before}"), hint);
            }
            changes.push(change);
        }
        changes
    }

    /// The time of a change, after the one before.
    fn at(&mut self, place: &Path, at: Duration, before: Duration, start: &str) {
        if at == Duration(0) {
            self.fail(&place.key("at"), "expected a time after the start", Some(start.to_owned()));
        } else if at <= before {
            let message = format!("not after the change before, at {before}");
            let hint = Some("order the changes by time, one for each time".to_owned());
            self.fail(&place.key("at"), message, hint);
        }
    }

    /// Other parameters for the same discipline.
    fn parameters(&mut self, place: &Path, given: format::Discipline, start: &Discipline) -> Discipline {
        let place = place.key("discipline");
        match (self.discipline(&place, Some(given)), start) {
            (Discipline::FqCoDel(new), Discipline::FqCoDel(old)) => {
                if given.0.flows.is_some() {
                    let message = "the number of queues stays as it is";
                    self.fail(&place.key("flows"), message, Some("remove it".to_owned()));
                }
                Discipline::FqCoDel(FqCoDel { flows: old.flows, ..new })
            }
            (new @ Discipline::Red(_), Discipline::Red(_))
            | (new @ Discipline::CoDel(_), Discipline::CoDel(_)) => new,
            (new, _) => {
                let hint =
                    Some("only parameters can change, not the kind, and drop-tail has none".to_owned());
                self.fail(&place, "not the discipline that the link has", hint);
                new
            }
        }
    }

    /// Two keys that exclude each other; the one the user has just set is the culprit.
    fn both(&mut self, a: &Path, b: &Path) {
        let (culprit, other) = if self.cell.document.is_set(b) { (b, a) } else { (a, b) };
        let message = format!("excludes {other}, which is given too");
        self.fail(culprit, message, Some("keep one of the two".to_owned()));
    }

    fn delay(&mut self, place: &Path, delay: Duration, longest: Duration) {
        if delay > longest {
            let message = format!("expected a delay of at most \"{longest}\", found \"{delay}\"");
            self.fail(place, message, None);
        }
    }

    fn connection(&mut self, name: &str, given: &format::Connection, known: &Known<'_>) -> Connection {
        let place = Path::from("connection").key(name);
        self.name(&place, name);
        if let Some(cc) = &given.cc {
            self.cc(&place.key("cc"), cc);
        }
        if given.scheduler.is_some() && given.kind == format::Kind::Tcp {
            let message = "plain TCP has no packet scheduler".to_owned();
            self.fail(&place.key("scheduler"), message, Some("remove it, or write kind = \"mptcp\"".into()));
        }
        self.times(&place, given);
        let ip_header = match given.ip_version {
            None | Some(4) => 20,
            Some(6) => 40,
            Some(version) => {
                let message = format!("expected 4 or 6, found {version}");
                self.fail(&place.key("ip-version"), message, None);
                20
            }
        };
        // What TCP and its usual options take of a data packet and of an acknowledgement.
        let (kind, header, ack) = match given.kind {
            format::Kind::Tcp => (Kind::Tcp, 32, 32),
            format::Kind::Mptcp => (Kind::Mptcp, 60, 44),
        };
        let (data_header, ack_size) = (ip_header + header, ip_header + ack);
        let default_mss = PACKET - data_header;
        let mss = given.mss.unwrap_or(default_mss);
        if !(88..=8960).contains(&mss) {
            let message = format!("expected a payload of 88 to 8960 bytes, found {mss}");
            self.fail(&place.key("mss"), message, None);
        }
        let initial_window = given.initial_window.unwrap_or(10);
        if !(1..=10_000).contains(&initial_window) {
            let message = format!("expected 1 to 10000 packets, found {initial_window}");
            self.fail(&place.key("initial-window"), message, None);
        }
        if let Some(ssthresh) = given.initial_ssthresh.filter(|ssthresh| !(1..=10_000).contains(ssthresh)) {
            let message = format!("expected 1 to 10000 packets, found {ssthresh}");
            self.fail(&place.key("initial-ssthresh"), message, None);
        }
        let receive_buffer = given.receive_buffer.map_or(0, |size| size.0);
        if given.receive_buffer.is_some() && !(2 * u64::from(mss)..=LARGEST_WINDOW).contains(&receive_buffer)
        {
            let message =
                format!("expected at least two packets ({} bytes) and at most \"1024MiB\"", 2 * mss);
            self.fail(&place.key("receive-buffer"), message, None);
        }
        if given.accurate_ecn && !given.ecn {
            let message = "there are no marks to echo without ecn = true".to_owned();
            self.fail(&place.key("accurate-ecn"), message, Some("add ecn = true, or remove it".into()));
        }
        let subflows = self.subflows(&place, name, given, known);
        for subflow in &subflows {
            self.room(name, mss.saturating_add(data_header), &subflow.route);
        }
        Connection {
            name: name.to_owned(),
            kind,
            cc: given.cc.clone(),
            scheduler: given.scheduler.clone(),
            traffic: self.traffic(&place.key("traffic"), given.traffic.as_ref(), mss),
            start_ns: given.start.0,
            stop_ns: given.stop.map(|stop| stop.0).filter(|stop| *stop < self.file.duration.0),
            mss,
            ip_header,
            data_header,
            ack_size,
            receive_buffer,
            initial_window,
            initial_ssthresh: given.initial_ssthresh,
            ecn: given.ecn,
            accurate_ecn: given.accurate_ecn,
            delayed_ack: given.delayed_ack,
            subflows,
        }
    }

    /// The end of the run; a length of zero is another problem, and one is enough.
    fn end(&self) -> Duration {
        match self.file.duration {
            Duration(0) => LONGEST_RUN,
            duration => duration,
        }
    }

    fn times(&mut self, place: &Path, given: &format::Connection) {
        let duration = self.file.duration;
        if given.start >= self.end() {
            let message = format!("starts at {}, when the run of {duration} is over", given.start);
            self.fail(&place.key("start"), message, None);
        }
        if let Some(stop) = given.stop.filter(|stop| *stop <= given.start) {
            let message = format!("stops at {stop}, not after its start at {}", given.start);
            self.fail(&place.key("stop"), message, None);
        }
    }

    /// Every queue in bytes that a full packet meets must have room for it, also if it is a jumbo packet.
    fn room(&mut self, connection: &str, packet: u32, route: &[usize]) {
        if packet <= PACKET {
            return;
        }
        for &index in route {
            let link = self.links.get(index).unwrap_or_else(|| &self.private[index - self.links.len()]);
            let changed = link.forward.changes.iter().filter_map(|change| change.queue);
            let small = |limit| matches!(limit, QueueLimit::Bytes(bytes) if bytes < packet.into());
            if changed.chain([link.forward.queue]).any(small) {
                let key = link.name.split('@').next().unwrap_or_default();
                let place = Path::from("link").key(key).key("queue");
                let message = format!("no room for a packet of connection {connection} ({packet} bytes)");
                self.fail(&place, message, None);
            }
        }
    }

    fn subflows(
        &mut self,
        place: &Path,
        connection: &str,
        given: &format::Connection,
        known: &Known<'_>,
    ) -> Vec<Subflow> {
        match (given.kind, &given.route) {
            (format::Kind::Tcp, route) => {
                if !given.subflow.is_empty() {
                    let hint = Some("write kind = \"mptcp\", or a route instead of subflows".to_owned());
                    self.fail(&place.key("subflow"), "a tcp connection has no subflows", hint);
                }
                let Some(route) = route else {
                    if given.subflow.is_empty() {
                        let hint = Some("add route = [\"b1\"], the links from sender to receiver".to_owned());
                        self.fail(place, "missing key \"route\"", hint);
                    }
                    return Vec::new();
                };
                let owner = format!("{connection}.sf1");
                let route = self.route(&place.key("route"), route, &owner, known);
                let reroutes = self.reroutes(&place.key("change"), &given.change, &owner, &route, known);
                let name = "sf1".to_owned();
                vec![Subflow { name, route, join_delay_ns: None, up: Vec::new(), backup: false, reroutes }]
            }
            (format::Kind::Mptcp, route) => {
                if route.is_some() {
                    let hint =
                        Some(format!("give each subflow its route: [{}]", place.key("subflow").key("sf1")));
                    self.fail(&place.key("route"), "an mptcp connection has a route for each subflow", hint);
                } else if !given.change.is_empty() {
                    let subflow = place.key("subflow").key("sf1").key("change");
                    let hint = Some(format!("write [[{subflow}]]"));
                    self.fail(&place.key("change"), "routes change subflow by subflow", hint);
                } else if given.subflow.is_empty() {
                    let hint = Some(format!("add [{}]", place.key("subflow").key("sf1")));
                    self.fail(place, "an mptcp connection without subflows", hint);
                }
                if given.subflow.len() > MOST_SUBFLOWS {
                    let message =
                        format!("{} subflows, at most {MOST_SUBFLOWS} are possible", given.subflow.len());
                    self.fail(&place.key("subflow"), message, None);
                }
                let subflows = given.subflow.iter().enumerate();
                subflows
                    .map(|(i, (name, subflow))| {
                        let up = place.key("subflow").key(name).key("up");
                        self.up(&up, i, subflow, given.start);
                        self.subflow(place, connection, i, name, subflow, known)
                    })
                    .collect()
            }
        }
    }

    fn subflow(
        &mut self,
        place: &Path,
        connection: &str,
        index: usize,
        name: &str,
        given: &format::Subflow,
        known: &Known<'_>,
    ) -> Subflow {
        let place = place.key("subflow").key(name);
        self.name(&place, name);
        if let Some(delay) = given.join_delay {
            if index == 0 {
                let message = "the first subflow opens the connection, it does not join";
                let hint = Some("to open the connection later, give it a start".to_owned());
                self.fail(&place.key("join-delay"), message, hint);
            } else if delay >= self.end() {
                let message = format!("joins after {delay}, when the run is over");
                self.fail(&place.key("join-delay"), message, None);
            }
        }
        let owner = format!("{connection}.{name}");
        let route = self.route(&place.key("route"), &given.route, &owner, known);
        Subflow {
            name: name.to_owned(),
            reroutes: self.reroutes(&place.key("change"), &given.change, &owner, &route, known),
            route,
            join_delay_ns: given.join_delay.map(|delay| delay.0),
            up: given.up.iter().map(|window| (window.from.0, window.to.0)).collect(),
            backup: given.backup,
        }
    }

    /// The times at which a subflow's address exists.
    fn up(&mut self, place: &Path, index: usize, given: &format::Subflow, start: Duration) {
        let up = &given.up;
        self.ordered(place, up);
        let Some(first) = up.first() else { return };
        if given.join_delay.is_some() {
            self.both(place, &Path(place.0[..place.0.len() - 1].to_vec()).key("join-delay"));
        }
        if index == 0 && (first.from > start || first.to <= start) {
            let message = format!("the first subflow opens the connection, at {start}");
            let hint = format!("begin with \"{start}..\", or give the connection another start");
            self.fail(&place.index(0), message, Some(hint));
        }
        if let Some(i) = up.iter().position(|window| window.from >= self.end()) {
            let message = format!("begins at {}, when the run is over", up[i].from);
            self.fail(&place.index(i), message, None);
        }
    }

    /// Stretches of time that must follow each other.
    fn ordered(&mut self, place: &Path, windows: &[Window]) {
        for (i, pair) in windows.windows(2).enumerate() {
            if pair[1].from < pair[0].to {
                let message = format!("{} begins before {} is over", pair[1], pair[0]);
                let hint = Some("order them by time, without overlap".to_owned());
                self.fail(&place.index(i + 1), message, hint);
            }
        }
    }

    /// The later routes of a subflow whose first one is given.
    fn reroutes(
        &mut self,
        place: &Path,
        given: &[format::Reroute],
        owner: &str,
        first: &[usize],
        known: &Known<'_>,
    ) -> Vec<Reroute> {
        let mut before = Duration(0);
        let mut reroutes = Vec::with_capacity(given.len());
        // Every private link that the subflow has a copy of, in the order in which it came to them.
        let mut own: Vec<usize> = first.iter().copied().filter(|&link| link >= self.links.len()).collect();
        for (i, change) in given.iter().enumerate() {
            let place = place.index(i);
            self.at(&place, change.at, before, "at the start, the route of the subflow itself holds");
            before = change.at;
            if change.route.is_none() && change.return_route.is_none() {
                let hint = Some("add a route or a return-route".to_owned());
                self.fail(&place, format!("nothing changes at {before}"), hint);
            }
            let owner = format!("{owner}.change{}", i + 1);
            let mut route = |key: &str, names: &Option<Vec<String>>| {
                let names = names.as_ref()?;
                Some(self.route_with(&place.key(key), names, &owner, known, &mut own))
            };
            let forward = route("route", &change.route);
            let reverse = route("return-route", &change.return_route).or_else(|| forward.clone());
            reroutes.push(Reroute { at_ns: change.at.0, forward, reverse });
        }
        reroutes
    }

    fn route(&mut self, place: &Path, names: &[String], owner: &str, known: &Known<'_>) -> Vec<usize> {
        self.route_with(place, names, owner, known, &mut Vec::new())
    }

    /// A route that uses the private copies `own`, each once, before it makes new ones and adds them.
    fn route_with(
        &mut self,
        place: &Path,
        names: &[String],
        owner: &str,
        known: &Known<'_>,
        own: &mut Vec<usize>,
    ) -> Vec<usize> {
        if names.is_empty() {
            let hint = Some("name the links from sender to receiver".to_owned());
            self.fail(place, "a route without links", hint);
        }
        if names.len() > LONGEST_ROUTE {
            self.fail(place, format!("{} links, at most {LONGEST_ROUTE} are possible", names.len()), None);
            return Vec::new();
        }
        let mut route = Vec::with_capacity(names.len());
        for (hop, name) in names.iter().enumerate() {
            let place = place.index(hop);
            let name = name.as_str();
            if let Some(&index) = known.shared.get(name) {
                if route.contains(&index) {
                    let message = format!("a loop: the route has been through {name} before");
                    let hint =
                        format!("if every hop is a link of its own, set private = true in [link.{name}]");
                    self.fail(&place, message, Some(hint));
                }
                route.push(index);
            } else if let Some(&copy) = own.iter().find(|&&copy| {
                let link = &self.private[copy - self.links.len()];
                !route.contains(&copy) && link.name.split('@').next() == Some(name)
            }) {
                route.push(copy);
            } else if let Some((forward, reverse)) = known.directions.get(name) {
                let before = self.parts;
                self.parts += parts(forward, reverse);
                if self.parts > MOST_PARTS {
                    if before <= MOST_PARTS {
                        let message =
                            format!("more than {MOST_PARTS} private links with their outages and changes");
                        self.fail(&place, message, Some("use fewer connections".to_owned()));
                    }
                    return Vec::new();
                }
                let copy = self.links.len() + self.private.len();
                route.push(copy);
                own.push(copy);
                self.private.push(Link {
                    name: format!("{name}@{owner}.{}", hop + 1),
                    private: true,
                    forward: forward.clone(),
                    reverse: reverse.clone(),
                });
            } else {
                let hint = suggest(name, known.directions.keys().copied());
                self.fail(&place, format!("there is no link {}", quote(name)), hint);
            }
        }
        route
    }
}

/// The links of a file by name.
struct Known<'a> {
    /// Index of each link that is not private.
    shared: IndexMap<&'a str, usize>,
    /// Both directions of every link.
    directions: IndexMap<&'a str, (Direction, Direction)>,
}

/// One direction as the file gives it.
struct Keys<'a> {
    rate_bps: u64,
    trace: Option<Arc<Trace>>,
    delay: Duration,
    jitter: Duration,
    reordering: bool,
    queue: Queue,
    loss: Loss,
    ecn_threshold: Option<Threshold>,
    outages: &'a [Window],
    discipline: Discipline,
    keeps_queue: bool,
}

fn queue_limit(queue: Queue) -> QueueLimit {
    match queue {
        Queue::Packets(Packets(packets)) => QueueLimit::Packets(packets),
        Queue::Bytes(size) => QueueLimit::Bytes(size.0),
    }
}

fn ecn_threshold(threshold: Threshold) -> EcnThreshold {
    match threshold {
        Threshold::Length(Queue::Packets(Packets(packets))) => EcnThreshold::Packets(packets),
        Threshold::Length(Queue::Bytes(size)) => EcnThreshold::Bytes(size.0),
        Threshold::Wait(time) => EcnThreshold::Wait(time.0),
    }
}

/// The changes of the way there, except of what the way back has a value of its own for.
fn changes_but(forward: &[Change], reverse: &format::Reverse) -> Vec<Change> {
    let own_rate = reverse.rate.is_some() || reverse.trace.is_some();
    let own_loss = reverse.loss.is_some() || reverse.drop_every.is_some();
    let own_discipline = reverse.discipline.is_some();
    let own_threshold = own_discipline || reverse.ecn_threshold.is_some();
    let kept = forward.iter().map(|change| Change {
        at_ns: change.at_ns,
        rate_bps: change.rate_bps.filter(|_| !own_rate),
        delay_ns: change.delay_ns.filter(|_| reverse.delay.is_none()),
        loss: change.loss.filter(|_| !own_loss),
        queue: change.queue.filter(|_| reverse.queue.is_none()),
        discipline: change.discipline.filter(|_| !own_discipline),
        ecn_threshold: change.ecn_threshold.filter(|_| !own_threshold),
        up: change.up,
    });
    kept.filter(|change| !change.is_empty()).collect()
}

/// The highest rate that a direction ever has.
fn highest_bps(direction: &Direction) -> u64 {
    let start = direction.trace.as_ref().map_or(direction.rate_bps, |trace| trace.peak_bps());
    direction.changes.iter().filter_map(|change| change.rate_bps).fold(start, u64::max)
}

/// The longest delay that a direction ever has.
fn longest_ns(direction: &Direction) -> u64 {
    direction.changes.iter().filter_map(|change| change.delay_ns).fold(direction.delay_ns, u64::max)
}

/// The lowest rate that a direction ever has.
fn lowest_bps(direction: &Direction) -> u64 {
    direction.changes.iter().filter_map(|change| change.rate_bps).fold(direction.rate_bps, u64::min)
}

/// The routes that data of a subflow ever takes.
fn forward_routes(subflow: &Subflow) -> impl Iterator<Item = &[usize]> {
    let later = subflow.reroutes.iter().filter_map(|reroute| reroute.forward.as_deref());
    later.chain([subflow.route.as_slice()])
}

/// The routes that its acknowledgements ever take.
fn reverse_routes(subflow: &Subflow) -> impl Iterator<Item = &[usize]> {
    let later = subflow.reroutes.iter().filter_map(|reroute| reroute.reverse.as_deref());
    later.chain([subflow.route.as_slice()])
}

/// The most that a subflow ever carries, and the link that limits it on that route; the first of equals.
fn most_bps<'a>(links: &'a [Link], subflow: &Subflow) -> (u64, &'a Link) {
    let narrowest = |route: &[usize]| {
        let rates = route.iter().map(|&link| (highest_bps(&links[link].forward), &links[link]));
        rates.min_by_key(|(rate, _)| *rate).expect("routes are not empty")
    };
    forward_routes(subflow).map(narrowest).max_by_key(|(rate, _)| *rate).expect("there is a first route")
}

/// Backends count the packets of a subflow in 32 bits.
fn check_length(scenario: &Scenario, cell: &Cell) -> Result<(), Error> {
    for connection in &scenario.connections {
        for subflow in &connection.subflows {
            let (rate_bps, link) = most_bps(&scenario.links, subflow);
            let bits = u128::from(connection.mss + connection.data_header) * 8;
            let packets = u128::from(rate_bps) * u128::from(scenario.duration_ns) / (bits * 1_000_000_000);
            if packets >= 1 << 32 {
                let message = format!(
                    "subflow {}.{} could send {packets} packets over {}, the limit is 2^32",
                    connection.name, subflow.name, link.name
                );
                let hint = "shorten the run, lower the rate or raise the mss".to_owned();
                return Err(cell
                    .document
                    .problem(&"duration".into(), false, message)
                    .hint(Some(hint))
                    .into());
            }
        }
    }
    Ok(())
}

/// Gives every connection without a receive buffer one that does not limit it, whatever changes during the run.
fn default_buffers(scenario: &mut Scenario) {
    let Scenario { links, connections, .. } = scenario;
    for connection in connections.iter_mut().filter(|connection| connection.receive_buffer == 0) {
        let rates = connection.subflows.iter().map(|subflow| most_bps(links, subflow).0);
        let rate_bps: u128 = rates.map(u128::from).sum();
        let packet = connection.mss + connection.data_header;
        let there = |route: &[usize]| {
            let ways = route.iter().map(|&link| &links[link].forward);
            let times = ways.flat_map(|way| {
                [longest_ns(way), serialisation_ns(packet, way.rate_bps), drain_ns(way, packet)]
            });
            times.fold(0, u64::saturating_add)
        };
        let back = |route: &[usize]| {
            let ways = route.iter().map(|&link| &links[link].reverse);
            let times =
                ways.flat_map(|way| [longest_ns(way), serialisation_ns(connection.ack_size, way.rate_bps)]);
            times.fold(0, u64::saturating_add)
        };
        let full = connection.subflows.iter().map(|subflow| {
            let there = forward_routes(subflow).map(there).max().unwrap_or(0);
            there.saturating_add(reverse_routes(subflow).map(back).max().unwrap_or(0))
        });
        let rtt_ns = u128::from(full.max().unwrap_or(0));
        let bytes = u64::try_from(4 * rate_bps * rtt_ns / 8_000_000_000).unwrap_or(u64::MAX);
        connection.receive_buffer = bytes.clamp(USUAL_BUFFER, LARGEST_WINDOW);
    }
}

/// How long the longest full queue takes to empty at the lowest rate.
fn drain_ns(direction: &Direction, packet: u32) -> u64 {
    let rate_bps = lowest_bps(direction);
    let drain = |limit| match limit {
        QueueLimit::Packets(packets) => serialisation_ns(packet, rate_bps).saturating_mul(packets.into()),
        QueueLimit::Bytes(bytes) => {
            let ns = u128::from(bytes) * 8_000_000_000 / u128::from(rate_bps);
            u64::try_from(ns).unwrap_or(u64::MAX)
        }
    };
    let changed = direction.changes.iter().filter_map(|change| change.queue);
    changed.chain([direction.queue]).map(drain).max().unwrap_or(0)
}
