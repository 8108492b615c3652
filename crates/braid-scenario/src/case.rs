//! Random scenarios by number, with ground truth, for trying detectors and algorithms.
//!
//! `case/17` is always the same file. The number modulo 20 is the kind, and the number seeds everything else. Each has an MPTCP
//! connection `mp0` over bottlenecks `b1`, `b2`, ... that its subflows share or not, other flows beside it, and access links
//! `a1`, `a2`, ... of its own. `case/17/tcp` is the same network with one subflow for each bottleneck queue, on the access link with
//! the smallest RTT there. With `--cc cubic` it shows what one TCP for each bottleneck leaves to other flows: starts and names
//! are those of `case/17`, so that runs of one seed differ in the connection only.

use std::fmt::Write as _;

/// Kinds of cases. The order is part of a number's meaning: only append.
pub const KINDS: [&str; 20] = [
    "own, alone",
    "own, beside CUBIC",
    "own, beside anything",
    "shared, alone",
    "shared, beside CUBIC",
    "shared, beside anything",
    "beside web pages",
    "mixed groups",
    "RTT ratio 3 to 10",
    "shallow queue",
    "deep queue",
    "RED",
    "CoDel",
    "FQ-CoDel",
    "random loss",
    "jitter on each path",
    "WiFi and LTE traces",
    "application-limited",
    "changing bottleneck",
    "joins a standing queue",
];

/// The kind of case `number`.
pub fn kind(number: u64) -> &'static str {
    KINDS[(number % KINDS.len() as u64) as usize]
}

/// The text of a case's scenario; `None` if the name is not a case.
pub(crate) fn text(name: &str) -> Option<String> {
    let rest = name.strip_prefix("case/")?;
    let (number, tcp) = rest.strip_suffix("/tcp").map_or((rest, false), |number| (number, true));
    let number = number.parse().ok()?;
    Some(Case::draw(number).text(tcp))
}

/// `SplitMix64` (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to n - 1.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// In `[low, high)`, uniform on a logarithmic scale.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        let uniform = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        low * (high / low).powf(uniform)
    }
}

struct Bottleneck {
    /// As in the file: a rate or a trace.
    rate: String,
    queue: u32,
    discipline: &'static str,
    loss: f64,
    beside: Vec<&'static str>,
}

struct Subflow {
    bottleneck: usize,
    rtt_ms: f64,
    join_s: f64,
}

struct Case {
    number: u64,
    bottlenecks: Vec<Bottleneck>,
    subflows: Vec<Subflow>,
    jitter_ms: f64,
    /// Mbit/s that the application writes; 0: unlimited.
    limit: f64,
    /// Seconds at which the last subflow moves to the first bottleneck and back.
    changes: Vec<u32>,
}

const ANYTHING: [&[&str]; 5] = [&["cubic"], &["reno", "reno"], &["bbr"], &["cubic", "web"], &[]];
const TRACES: [&str; 2] = ["wifi-walk", "lte-drive"];
/// Duration of each trace.
const TRACES_MS: usize = 30_000;

impl Case {
    fn draw(number: u64) -> Self {
        let kind = kind(number);
        let mut random = Random(number);
        let is = |name: &str| kind == name;
        // Bottleneck of each subflow.
        let several = 3 + random.below(6);
        let layout = match kind {
            _ if kind.starts_with("own") => 0,
            _ if kind.starts_with("shared") => 1,
            "mixed groups" | "changing bottleneck" => 2,
            _ => random.below(3),
        };
        let places: Vec<usize> = match layout {
            0 if random.below(3) == 0 => (0..several.min(4)).collect(),
            0 => vec![0, 1],
            1 if random.below(3) == 0 => vec![0; several.min(4)],
            1 => vec![0, 0],
            _ => {
                let n = 2 + random.below(3);
                (0..several).map(|i| if i < n { i } else { random.below(n) }).collect()
            }
        };
        let least_rtt = random.between(10.0, 60.0);
        let ratio = if is("RTT ratio 3 to 10") { random.between(3.0, 10.0) } else { 3.0 };
        let mut subflows: Vec<Subflow> = places
            .iter()
            .map(|&bottleneck| Subflow {
                bottleneck,
                rtt_ms: least_rtt * random.between(1.0, ratio),
                join_s: 0.1,
            })
            .collect();
        if is("RTT ratio 3 to 10") {
            subflows[1].rtt_ms = least_rtt * ratio;
        }
        if is("joins a standing queue") {
            for subflow in &mut subflows[1..] {
                subflow.join_s = random.between(5.0, 12.0);
            }
        }
        let count = places.iter().max().map_or(1, |last| last + 1);
        let mut bottlenecks: Vec<Bottleneck> =
            (0..count).map(|_| Self::bottleneck(kind, least_rtt, &mut random)).collect();
        let jitter_ms = if is("jitter on each path") { random.between(1.0, 5.0) } else { 0.1 };
        let limit = if is("application-limited") { random.between(0.5, 5.0) } else { 0.0 };
        if is("WiFi and LTE traces") {
            // Two bottlenecks with one trace in step are indistinguishable from a single one.
            for bottleneck in &mut bottlenecks {
                let _ = write!(bottleneck.rate, "\ntrace-start = \"{}ms\"", random.below(TRACES_MS));
            }
        }
        Self {
            number,
            bottlenecks,
            subflows,
            jitter_ms,
            limit,
            changes: if is("changing bottleneck") { vec![10, 20, 30] } else { Vec::new() },
        }
    }

    fn bottleneck(kind: &str, rtt_ms: f64, random: &mut Random) -> Bottleneck {
        let mbit = random.between(1.0, 500.0);
        let buffer = match kind {
            "shallow queue" => random.between(0.25, 0.5),
            "deep queue" => random.between(2.0, 4.0),
            _ => random.between(0.5, 2.0),
        };
        let (rate, mbit) = if kind == "WiFi and LTE traces" {
            (format!("trace = \"{}\"", TRACES[random.below(2)]), 20.0)
        } else {
            (format!("rate = \"{:.0}kbit\"", mbit * 1000.0), mbit)
        };
        let packets = (mbit * 2.0 * rtt_ms / 12.0 * buffer).max(5.0) as u32;
        let discipline = match kind {
            "RED" => "red",
            "CoDel" => "codel",
            "FQ-CoDel" => "fq-codel",
            _ => "drop-tail",
        };
        let beside = match kind {
            "own, alone" | "shared, alone" => &[],
            "own, beside CUBIC" | "shared, beside CUBIC" => ANYTHING[0],
            "beside web pages" => &["web"][..],
            _ => ANYTHING[random.below(ANYTHING.len())],
        };
        Bottleneck {
            rate,
            queue: if discipline == "drop-tail" { packets } else { packets.max(40) },
            discipline,
            loss: if kind == "random loss" { random.between(0.1, 2.0) } else { 0.0 },
            beside: beside.to_vec(),
        }
    }

    fn text(&self, tcp: bool) -> String {
        let mut text = String::new();
        self.write(&mut text, tcp).expect("a string takes everything");
        text
    }

    fn write(&self, text: &mut String, tcp: bool) -> std::fmt::Result {
        let kind = kind(self.number);
        writeln!(text, "title = \"Case {}: {kind}\"", self.number)?;
        writeln!(text, "duration = \"40s\"\nwarmup = \"5s\"\ncc = [\"weave\"]")?;
        for (b, bottleneck) in self.bottlenecks.iter().enumerate() {
            let Bottleneck { rate, queue, discipline, loss, .. } = bottleneck;
            writeln!(text, "\n[link.b{}]\n{rate}\nrtt = \"2ms\"\nqueue = \"{queue}p\"", b + 1)?;
            match *discipline {
                "red" => writeln!(
                    text,
                    "discipline = {{ kind = \"red\", min = \"{}p\", max = \"{}p\", probability = \"10%\", \
                     weight = 0.002, gentle = true }}",
                    queue / 6 + 1,
                    queue / 2 + 2
                )?,
                other => writeln!(text, "discipline = \"{other}\"")?,
            }
            if *loss > 0.0 {
                writeln!(text, "loss = \"{loss:.2}%\"")?;
            }
        }
        for (s, subflow) in self.subflows.iter().enumerate() {
            let Subflow { rtt_ms, .. } = subflow;
            let jitter = self.jitter_ms;
            writeln!(
                text,
                "\n[link.a{}]\nrate = \"2gbit\"\nrtt = \"{rtt_ms:.2}ms\"\nqueue = \"10000p\"\njitter = \"{:.0}us\"",
                s + 1,
                jitter * 1000.0
            )?;
        }
        writeln!(text, "\n[link.far]\nrate = \"2gbit\"\nrtt = \"{:.2}ms\"", self.subflows[0].rtt_ms)?;
        writeln!(text, "queue = \"10000p\"\njitter = \"100us\"")?;
        // FQ-CoDel has a queue for each subflow: none of them shares one.
        let tcp = tcp && kind != "FQ-CoDel";
        writeln!(text, "\n[connection.mp0]\nkind = \"mptcp\"")?;
        self.write_limit(text)?;
        for (s, subflow) in self.subflows.iter().enumerate() {
            let there = |other: &Subflow| other.bottleneck == subflow.bottleneck;
            if tcp && self.subflows[..s].iter().any(there) {
                continue;
            }
            let access = if tcp { self.best(subflow.bottleneck) } else { s } + 1;
            let (s, b) = (s + 1, subflow.bottleneck + 1);
            writeln!(text, "\n[connection.mp0.subflow.sf{s}]\nroute = [\"a{access}\", \"b{b}\"]")?;
            if s > 1 {
                writeln!(text, "join-delay = \"{:.0}ms\"", subflow.join_s * 1000.0)?;
            }
            if s == self.subflows.len() && !tcp {
                self.write_changes(text, s, b)?;
            }
        }
        for (b, bottleneck) in self.bottlenecks.iter().enumerate() {
            for (f, flow) in bottleneck.beside.iter().enumerate() {
                let (b, f) = (b + 1, f + 1);
                let cc = if *flow == "web" { "cubic" } else { flow };
                writeln!(text, "\n[connection.tcp{b}-{f}]\nkind = \"tcp\"\ncc = \"{cc}\"")?;
                writeln!(text, "route = [\"far\", \"b{b}\"]")?;
                if *flow == "web" {
                    writeln!(text, "[connection.tcp{b}-{f}.traffic]\nkind = \"poisson\"\nevery = \"500ms\"")?;
                    writeln!(text, "size = {{ kind = \"lognormal\", median = \"40kB\", sigma = 1.2 }}")?;
                }
            }
        }
        Ok(())
    }

    /// The subflow of the smallest RTT at a bottleneck that some subflow has.
    fn best(&self, bottleneck: usize) -> usize {
        let there = self.subflows.iter().enumerate().filter(|(_, subflow)| subflow.bottleneck == bottleneck);
        there.min_by(|one, other| one.1.rtt_ms.total_cmp(&other.1.rtt_ms)).map_or(0, |(place, _)| place)
    }

    fn write_limit(&self, text: &mut String) -> std::fmt::Result {
        if self.limit > 0.0 {
            let rate = self.limit * 1000.0;
            writeln!(text, "[connection.mp0.traffic]\nkind = \"cbr\"\nrate = \"{rate:.0}kbit\"")?;
        }
        Ok(())
    }

    fn write_changes(&self, text: &mut String, s: usize, home: usize) -> std::fmt::Result {
        if self.changes.is_empty() {
            return Ok(());
        }
        // Moves to another bottleneck: the first subflow's or another one.
        let other = if home == 1 { 2 } else { 1 };
        let change = |(n, at): (usize, &u32)| {
            let b = if n % 2 == 0 { other } else { home };
            format!("{{ at = \"{at}s\", route = [\"a{s}\", \"b{b}\"] }}")
        };
        let changes: Vec<String> = self.changes.iter().enumerate().map(change).collect();
        writeln!(text, "change = [{}]", changes.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Source, load};

    #[test]
    fn every_case_is_a_valid_scenario_and_always_the_same() {
        for number in 0..400 {
            for name in [format!("case/{number}"), format!("case/{number}/tcp")] {
                let source = Source::find(&name).unwrap();
                assert_eq!(source, Source::find(&name).unwrap());
                let file =
                    load(&source, &[]).unwrap_or_else(|error| panic!("{name}: {error}\n{}", source.text));
                let cell = &file.cells[0];
                assert_eq!(cell.connections[0].name, "mp0", "{name}");
                if name.ends_with("/tcp") && kind(number) != "FQ-CoDel" {
                    let subflows = &cell.connections[0].subflows;
                    let mut bottlenecks: Vec<_> =
                        subflows.iter().map(|subflow| subflow.route.last()).collect();
                    bottlenecks.sort();
                    bottlenecks.dedup();
                    assert_eq!(bottlenecks.len(), subflows.len(), "{name}: one subflow each");
                }
            }
        }
    }

    #[test]
    fn kinds_hold_what_they_promise() {
        for number in 0..400 {
            let source = Source::find(&format!("case/{number}")).unwrap();
            let cell = &load(&source, &[]).unwrap().cells[0];
            let mp0 = &cell.connections[0];
            let queues: Vec<u32> =
                mp0.subflows.iter().map(|subflow| cell.bottleneck_queue(&subflow.route)).collect();
            let shares = queues.iter().any(|queue| queues.iter().filter(|other| *other == queue).count() > 1);
            match kind(number) {
                kind if kind.starts_with("own") => assert!(!shares, "{number}: {queues:?}"),
                kind if kind.starts_with("shared") => {
                    assert!(queues.iter().all(|queue| *queue == queues[0]), "{number}: {queues:?}");
                }
                "FQ-CoDel" => assert!(queues.iter().all(|queue| *queue == 0), "{number}: {queues:?}"),
                "changing bottleneck" => {
                    assert_eq!(mp0.subflows.last().unwrap().reroutes.len(), 3, "{number}");
                }
                _ => {}
            }
        }
    }
}
