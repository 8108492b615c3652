//! What is known of a network from its use, as a scenario.

use std::fmt::Write as _;

use braid_scenario::Source;

/// Bytes of a packet.
pub(crate) const PACKET: f64 = 1500.0;
/// What routers and servers mostly send at: Gigabit Ethernet. Packets that are sent together come to the bottleneck as fast, and a short
/// queue loses more of them than if they came one by one.
const ETHERNET_BPS: f64 = 1e9;
/// Others are there when the connection begins, seconds after them: of flows that begin at once chance decides for a minute which of them has
/// twice as much.
const BEGINS_S: u32 = 10;
/// What it has is measured from so many seconds later on, and for how many.
const WARMUP_S: u32 = 5;
const MEASURED_S: u32 = 35;
/// A path that changes its bottleneck does so every so many seconds.
const CHANGES_S: u32 = 10;
/// What hardly anybody is without, microseconds.
pub(crate) const JITTER_US: u32 = 100;
/// Web pages: their median size, and the standard deviation of its logarithm, as in `case/N`.
const PAGE_BYTES: f64 = 40_000.0;
const PAGE_SIGMA: f64 = 1.2;
/// No shorter queue is assumed, packets.
const SHORTEST_QUEUE: f64 = 5.0;

/// One path of a connection.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// As people call it: letters, digits and dashes.
    pub name: String,
    /// What it carries, headers of IP included, bits per second.
    pub rate_bps: f64,
    /// RTT without queues, seconds.
    pub rtt_s: f64,
    /// How long packets wait where its queue is full, seconds.
    pub queue_s: f64,
    /// How long they wait in the beginning of a crowd, seconds: a queue that drops early is full only then.
    pub early_queue_s: f64,
    /// Share of the packets that are lost though the queue is not full, 0 to 1.
    pub loss: f64,
    /// What decides which packets are lost there.
    pub discipline: Discipline,
    /// Flows of others at its bottleneck that take what they get.
    pub others: Others,
    /// Their RTT without queues, of the shortest of ours there.
    pub others_rtt: f64,
    /// Packets come up to so much later than they would, microseconds.
    pub jitter_us: u32,
    /// It changes its bottleneck: between those of these paths, of which one may be itself.
    pub moves: Option<[usize; 2]>,
    /// What a single flow of ours had there while no other of ours sent; none without a test, and where that was next to nothing.
    pub single: Option<Had>,
    /// All that these flows may be, the most likely first, which they are thought to be; none where nothing else is thought of.
    pub may_be: Vec<MayBe>,
}

/// What a single flow has, or a crowd, after its beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Had {
    /// All of its flows together, on average, bits per second.
    pub bps: f64,
    /// Over so many seconds.
    pub time_s: f64,
    /// How long its packets wait meanwhile, on average, longer than the one that waits least; seconds.
    pub wait_s: f64,
}

impl Had {
    /// How long its packets wait, and half a millisecond, so that next to nothing is not far from nothing.
    #[must_use]
    pub fn waits_s(&self) -> f64 {
        self.wait_s + 0.0005
    }
}

/// Flows of others that may be there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MayBe {
    /// They.
    pub others: Others,
    /// How likely, against the others that may be.
    pub weight: f64,
    /// What the bottleneck carries then, of what a crowd of ours does: at least and at most.
    pub room: [f64; 2],
    /// How likely its queue drops early then, though it is told to drop what does not fit.
    pub early: f64,
}

impl MayBe {
    /// What the bottleneck carries then, of what a crowd does: in the middle, as a factor.
    pub(crate) fn middle(&self) -> f64 {
        (self.room[0] * self.room[1]).sqrt()
    }
}

/// Flows of others, all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Others {
    /// How many.
    pub flows: usize,
    /// Their congestion control.
    pub cc: &'static str,
    /// Each sends web pages, so many bits per second on average; `None` where it takes what it gets.
    pub pages_bps: Option<u64>,
}

impl Others {
    /// So many that behave as CUBIC does.
    pub fn cubic(flows: usize) -> Self {
        Self { flows, cc: "cubic", pages_bps: None }
    }

    /// So many that behave as Reno does.
    pub fn reno(flows: usize) -> Self {
        Self { flows, cc: "reno", pages_bps: None }
    }

    /// One that behaves as BBR does.
    pub fn bbr() -> Self {
        Self { flows: 1, cc: "bbr", pages_bps: None }
    }

    /// Web pages, so many bits per second on average.
    pub fn pages(bps: u64) -> Self {
        Self { flows: 1, cc: "cubic", pages_bps: Some(bps) }
    }

    /// Whether they behave as BBR does.
    pub fn is_bbr(self) -> bool {
        self == Self::bbr()
    }
}

/// What a queue does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discipline {
    /// It drops what does not fit.
    #[default]
    DropTail,
    /// It drops at random, the more the longer it is.
    Red,
    /// It drops where packets wait for long.
    CoDel,
    /// The same, each flow in a queue of its own.
    FqCoDel,
}

impl Discipline {
    /// As scenarios call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::DropTail => "drop-tail",
            Self::Red => "red",
            Self::CoDel => "codel",
            Self::FqCoDel => "fq-codel",
        }
    }
}

/// Whether two paths have one bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// They have.
    Shared,
    /// Each has its own.
    Own,
    /// It does not show.
    Unknown,
}

/// Two paths by their places, the smaller first, and what is known of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Place of one.
    pub one: usize,
    /// Place of the other.
    pub other: usize,
    /// What is known.
    pub sharing: Sharing,
}

/// A network from its use.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// At least one.
    pub paths: Vec<Path>,
    /// All pairs of them.
    pub pairs: Vec<Pair>,
    /// What several paths carry together at the same time, bits per second, by the places of those that share.
    pub together_bps: Vec<(Vec<usize>, f64)>,
    /// What a crowd of ours had at each bottleneck, by the places of all flows of ours that were there: those of the crowd, and a single one
    /// where there was no test without it. None without a test.
    pub crowds: Vec<(Vec<usize>, Had)>,
}

impl Measured {
    /// Whether all pairs are told apart.
    pub fn is_certain(&self) -> bool {
        self.pairs.iter().all(|pair| pair.sharing != Sharing::Unknown)
    }

    /// The scenarios that it may be: one, or two where pairs are not told apart, in the first of which they share nothing.
    /// `name` is what messages call them.
    pub fn scenarios(&self, name: &str) -> Vec<Source> {
        let mut worlds = vec![self.scenario(name, false)];
        if !self.is_certain() {
            worlds.push(self.scenario(name, true));
        }
        worlds
    }

    /// The group of each path: the place of the first path that it shares a bottleneck with.
    pub fn groups(&self, unknown_share: bool) -> Vec<usize> {
        let mut groups: Vec<usize> = (0..self.paths.len()).collect();
        for pair in &self.pairs {
            let shared = match pair.sharing {
                Sharing::Shared => true,
                Sharing::Own => false,
                Sharing::Unknown => unknown_share,
            };
            if shared {
                // What either shares with, both do.
                let (low, high) =
                    (groups[pair.one].min(groups[pair.other]), groups[pair.one].max(groups[pair.other]));
                groups.iter_mut().filter(|group| **group == high).for_each(|group| *group = low);
            }
        }
        groups
    }

    fn scenario(&self, name: &str, unknown_share: bool) -> Source {
        let mut text = String::new();
        self.write(&mut text, unknown_share).expect("a string takes everything");
        Source { name: name.to_owned(), text }
    }

    fn write(&self, text: &mut String, unknown_share: bool) -> std::fmt::Result {
        let groups = self.groups(unknown_share);
        writeln!(text, "# Measured by braid advise.")?;
        let warmup_s = BEGINS_S + WARMUP_S;
        let until_s = warmup_s + MEASURED_S;
        writeln!(text, "title = \"A network as its sockets show it\"")?;
        writeln!(text, "duration = \"{until_s}s\"\nwarmup = \"{warmup_s}s\"")?;
        for (place, path) in self.paths.iter().enumerate() {
            let members: Vec<usize> =
                (0..groups.len()).filter(|&other| groups[other] == groups[place]).collect();
            let rate_bps = self.together(&members);
            if self.is_bottleneck(&groups, place) {
                let queue_s = members.iter().map(|&member| self.paths[member].queue_s).fold(0.0, f64::max);
                let name = format!("bottleneck-{}", place + 1);
                writeln!(text, "\n[link.{name}]\nrtt = \"0ms\"\njitter = \"{}us\"", packet_us(rate_bps))?;
                write_queue(text, rate_bps, queue_s, path.discipline)?;
                if path.others.flows > 0 {
                    let rtt_s =
                        members.iter().map(|&member| self.paths[member].rtt_s).fold(f64::INFINITY, f64::min);
                    let name = format!("others-{}", place + 1);
                    write_access(text, &name, rate_bps, rtt_s * path.others_rtt, path.loss, JITTER_US)?;
                }
            }
            write_access(text, &path.name, rate_bps, path.rtt_s, path.loss, path.jitter_us)?;
        }
        writeln!(text, "\n[connection.mp0]\nkind = \"mptcp\"\nstart = \"{BEGINS_S}s\"")?;
        for (place, path) in self.paths.iter().enumerate() {
            let name = &path.name;
            let route = |place: usize| format!("[\"{name}\", \"bottleneck-{}\"]", groups[place] + 1);
            let [one, other] = path.moves.unwrap_or([place, place]).map(route);
            writeln!(text, "\n[connection.mp0.subflow.{name}]\nroute = {one}")?;
            if path.moves.is_some() {
                let change = |(at, route)| format!("{{ at = \"{at}s\", route = {route} }}");
                let times = (BEGINS_S + CHANGES_S..until_s).step_by(CHANGES_S as usize);
                let changes: Vec<String> =
                    times.zip([&other, &one].into_iter().cycle()).map(change).collect();
                writeln!(text, "change = [{}]", changes.join(", "))?;
            }
        }
        for (place, path) in self.paths.iter().enumerate() {
            for other in 0..if self.is_bottleneck(&groups, place) { path.others.flows } else { 0 } {
                writeln!(text, "\n[connection.other-{}-{}]\nkind = \"tcp\"", place + 1, other + 1)?;
                writeln!(
                    text,
                    "cc = \"{}\"\nroute = [\"others-{n}\", \"bottleneck-{n}\"]",
                    path.others.cc,
                    n = place + 1
                )?;
                if let Some(bps) = path.others.pages_bps {
                    write_pages(text, bps)?;
                }
            }
        }
        Ok(())
    }

    /// Whether there is a bottleneck that has its name from this path, the first of those that share it, and not one that moves elsewhere.
    fn is_bottleneck(&self, groups: &[usize], place: usize) -> bool {
        let moves_elsewhere = self.paths[place].moves.is_some_and(|between| !between.contains(&place));
        groups[place] == place && !moves_elsewhere
    }

    /// What the bottleneck of these paths carries.
    pub(crate) fn together(&self, members: &[usize]) -> f64 {
        let seen = self.together_bps.iter().find(|(places, _)| places == members).map(|(_, bps)| *bps);
        seen.unwrap_or_else(|| members.iter().map(|&member| self.paths[member].rate_bps).sum())
    }
}

/// What is before a bottleneck: it carries ten times as much at least, so it is not what limits.
fn write_access(
    text: &mut String,
    name: &str,
    rate_bps: f64,
    rtt_s: f64,
    loss: f64,
    jitter_us: u32,
) -> std::fmt::Result {
    let access_bps = ETHERNET_BPS.max(10.0 * rate_bps);
    writeln!(text, "\n[link.{name}]\nrate = \"{}\"\nqueue = \"10000p\"", kbit(access_bps))?;
    // The jitter of the bottleneck makes each RTT longer by the time of a packet on average: half of it each way.
    let rtt_us = (rtt_s * 1e6 - packet_us(rate_bps) as f64).max(200.0);
    writeln!(text, "rtt = \"{rtt_us:.0}us\"\njitter = \"{jitter_us}us\"")?;
    if loss > 0.0 { writeln!(text, "loss = \"{:.4}%\"", 100.0 * loss) } else { Ok(()) }
}

/// Traffic of web pages: they come by chance, and their sizes differ much.
fn write_pages(text: &mut String, bps: u64) -> std::fmt::Result {
    let mean_bytes = PAGE_BYTES * (PAGE_SIGMA * PAGE_SIGMA / 2.0).exp();
    let every_us = mean_bytes * 8.0 / bps as f64 * 1e6;
    writeln!(
        text,
        "traffic = {{ kind = \"poisson\", every = \"{every_us:.0}us\", size = {{ kind = \"lognormal\", median = \"{PAGE_BYTES}B\", sigma = {PAGE_SIGMA} }} }}"
    )
}

fn write_queue(text: &mut String, rate_bps: f64, queue_s: f64, discipline: Discipline) -> std::fmt::Result {
    let packets = packets(queue_s, rate_bps);
    writeln!(text, "rate = \"{}\"\nqueue = \"{packets:.0}p\"", kbit(rate_bps))?;
    if discipline == Discipline::Red {
        let (min, max) = ((packets / 6.0).ceil(), (packets / 2.0).ceil() + 2.0);
        return writeln!(
            text,
            "discipline = {{ kind = \"red\", min = \"{min:.0}p\", max = \"{max:.0}p\", probability = \"10%\", gentle = true }}"
        );
    }
    writeln!(text, "discipline = \"{}\"", discipline.name())
}

/// How long a packet takes there. So much later, by chance, each arrives: else a flow whose packets come when one has just left finds room in
/// every round, and another one never does, as long as their RTTs stay as they are to a part of a packet (Floyd and Jacobson 1992, "On
/// Traffic Phase Effects in Packet-Switched Gateways").
pub fn packet_us(rate_bps: f64) -> u64 {
    (PACKET * 8.0 / rate_bps * 1e6).ceil() as u64
}

fn kbit(bps: f64) -> String {
    format!("{:.0}kbit", (bps / 1e3).max(1.0))
}

fn packets(queue_s: f64, rate_bps: f64) -> f64 {
    (queue_s * rate_bps / 8.0 / PACKET).max(SHORTEST_QUEUE)
}

#[cfg(test)]
mod tests {
    use braid_scenario::model::{Spread, Traffic};

    use super::*;

    fn path(name: &str, mbit: f64, rtt_ms: f64) -> Path {
        Path {
            name: name.into(),
            rate_bps: mbit * 1e6,
            rtt_s: rtt_ms / 1e3,
            queue_s: 0.05,
            early_queue_s: 0.05,
            loss: 0.001,
            discipline: Discipline::DropTail,
            others: Others::cubic(0),
            others_rtt: 1.0,
            moves: None,
            jitter_us: JITTER_US,
            single: None,
            may_be: Vec::new(),
        }
    }

    fn three(sharing: Sharing) -> Measured {
        let paths = vec![path("wifi", 20.0, 10.0), path("lte", 10.0, 50.0), path("eth0", 5.0, 5.0)];
        let pair = |one, other, sharing| Pair { one, other, sharing };
        let pairs = vec![pair(0, 1, Sharing::Own), pair(0, 2, sharing), pair(1, 2, Sharing::Own)];
        Measured { paths, pairs, together_bps: vec![(vec![0, 2], 23e6)], crowds: Vec::new() }
    }

    fn bottlenecks(source: &Source) -> Vec<(usize, u64)> {
        let file =
            braid_scenario::load(source, &[]).unwrap_or_else(|error| panic!("{error}\n{}", source.text));
        let cell = &file.cells[0];
        let of = |subflow: &braid_scenario::model::Subflow| {
            let link = cell.bottleneck(&subflow.route);
            (link, cell.links[link].forward.rate_bps)
        };
        cell.connections[0].subflows.iter().map(of).collect()
    }

    #[test]
    fn what_is_known_is_one_scenario_and_what_is_not_is_two() {
        let known = three(Sharing::Shared).scenarios("here");
        assert_eq!(known.len(), 1);
        let [wifi, lte, eth0] = bottlenecks(&known[0])[..] else { panic!() };
        assert_eq!((wifi, wifi.1, lte.1), (eth0, 23_000_000, 10_000_000));

        let worlds = three(Sharing::Unknown).scenarios("here");
        let rates: Vec<Vec<u64>> =
            worlds.iter().map(|world| bottlenecks(world).into_iter().map(|(_, bps)| bps).collect()).collect();
        assert_eq!(
            rates,
            [vec![20_000_000, 10_000_000, 5_000_000], vec![23_000_000, 10_000_000, 23_000_000]]
        );
    }

    #[test]
    fn web_pages_of_others_load_a_bottleneck_by_as_much_as_they_are_said_to() {
        let mut measured = three(Sharing::Own);
        measured.paths[1].others = Others::pages(2_000_000);
        let file = braid_scenario::load(&measured.scenarios("here")[0], &[]).unwrap();
        let [_, pages] = &file.cells[0].connections[..] else { panic!("the connection and pages") };
        let Traffic::Poisson { every_ns, size: Spread::Lognormal { median, sigma }, .. } = pages.traffic
        else {
            panic!("{pages:?}")
        };
        let mean_bytes = median * (sigma * sigma / 2.0).exp();
        assert!((mean_bytes * 8.0 / (every_ns as f64 / 1e9) / 2e6 - 1.0).abs() < 0.01, "{pages:?}");
    }

    #[test]
    fn packets_leave_a_bottleneck_later_by_up_to_the_time_of_one_so_that_no_flow_keeps_its_place() {
        let file = braid_scenario::load(&three(Sharing::Own).scenarios("here")[0], &[]).unwrap();
        let cell = &file.cells[0];
        let jitter_us = |subflow: &braid_scenario::model::Subflow| {
            cell.links[cell.bottleneck(&subflow.route)].forward.jitter_ns / 1000
        };
        // 1500 bytes at 20, 10 and 5 Mbit/s.
        assert_eq!(cell.connections[0].subflows.iter().map(jitter_us).collect::<Vec<_>>(), [600, 1200, 2400]);
    }

    #[test]
    fn an_rtt_is_on_average_as_long_as_it_was_measured() {
        let measured = three(Sharing::Own);
        let file = braid_scenario::load(&measured.scenarios("here")[0], &[]).unwrap();
        let cell = &file.cells[0];
        for (path, subflow) in measured.paths.iter().zip(&cell.connections[0].subflows) {
            let of_link = |&link: &usize| {
                let both = [&cell.links[link].forward, &cell.links[link].reverse];
                both.map(|one| one.delay_ns + one.jitter_ns / 2).iter().sum::<u64>()
            };
            let mean_ms = subflow.route.iter().map(of_link).sum::<u64>() as f64 / 1e6;
            // Besides the jitter that everybody has.
            assert!((mean_ms - 1e3 * path.rtt_s - 0.1).abs() < 0.01, "{}: {mean_ms} ms", path.name);
        }
    }

    #[test]
    fn who_shares_with_one_of_a_group_shares_with_all_of_it() {
        let mut measured = three(Sharing::Shared);
        measured.pairs[2].sharing = Sharing::Shared;
        assert_eq!(measured.groups(false), [0, 0, 0]);
    }
}
