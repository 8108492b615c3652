//! Connections whose paths are opened, closed, lost and migrated at random, on the real stack.

use std::fmt::Write as _;
use std::sync::Arc;

use braid_quic::Spec;
use braid_scenario::Source;

use super::Run;

const CONNECTIONS: u64 = 1_000;
const SPECS: [&str; 6] = ["lia", "olia", "balia", "cubic", "weave", "split:sbd=ba:in=mpcubic:out=cubic"];
const SECOND: u64 = 1_000_000_000;

/// Numbers that look random (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % most
    }
}

/// Five seconds of a connection with three subflows: the first is always there, but may move; the others come and go.
fn scenario(random: &mut Random) -> String {
    let mut text = String::from("title = \"t\"\nduration = \"5s\"\n");
    for link in ["a", "b", "c"] {
        let (rate, delay) = (200 + random.below(800), 1 + random.below(60));
        let (queue, loss) = (5 + random.below(40), random.below(30));
        let _ = writeln!(
            text,
            "[link.{link}]\nrate = \"{rate}kbit\"\ndelay = \"{delay}ms\"\nqueue = \"{queue}p\"\nloss = {}",
            loss as f64 / 1_000.0
        );
    }
    text += "[connection.m]\nkind = \"mptcp\"\n";
    for (number, link) in ["a", "b", "c"].iter().enumerate() {
        let _ = writeln!(text, "[connection.m.subflow.s{number}]\nroute = [\"{link}\"]");
        if random.below(2) == 0 {
            let at = 300 + random.below(2_400);
            let to = ["a", "b", "c"][random.below(3) as usize];
            let _ = writeln!(text, "change = [{{ at = \"{at}ms\", route = [\"{to}\"] }}]");
        }
        if number > 0 && random.below(4) > 0 {
            let from = random.below(800);
            let to = from + 200 + random.below(900);
            let again = to + 1 + random.below(500);
            let _ = writeln!(
                text,
                "up = [\"{from}ms..{to}ms\", \"{again}ms..{}ms\"]",
                again + 100 + random.below(800)
            );
        }
        if number > 0 && random.below(4) == 0 {
            text += "backup = true\n";
        }
    }
    text
}

#[test]
fn a_thousand_connections_with_random_paths_leave_nothing_behind_and_go_on_unless_a_path_moved() {
    let mut random = Random(1);
    let mut stalls = 0;
    for number in 0..CONNECTIONS {
        let text = scenario(&mut random);
        let source = Source { name: "t".into(), text: text.clone() };
        let cell = braid_scenario::load(&source, &[])
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
            .cells
            .remove(0);
        let name = SPECS[(number % SPECS.len() as u64) as usize];
        let spec = Spec::parse(name).unwrap();
        let mut run = Run::new(&cell, &spec, number, true, None).unwrap_or_else(|_| panic!("{text}"));
        while run.advance().is_some() {}
        let coupling = Arc::clone(&run.flows[0].as_ref().unwrap().paths.coupling);
        let (measured, doubts) = run.finish();
        let what = || format!("connection {number}, {name}:\n{text}");
        assert!(doubts.is_empty(), "{doubts:?}: {}", what());
        // Those that were opened and closed are gone with their controllers; then those of the connection are.
        assert!(coupling.paths().is_empty() && Arc::strong_count(&coupling) == 1, "leaked: {}", what());

        let subflows = &measured.connections[0].subflows;
        let samples = || subflows.iter().flat_map(|subflow| &subflow.samples);
        assert!(samples().all(|sample| sample.cwnd >= 2), "a window under its floor: {}", what());
        let received = |until: u64| -> u64 {
            let last = |samples: &[braid_results::measure::SubflowSample]| {
                samples
                    .iter()
                    .rfind(|sample| sample.time_ns <= until)
                    .map_or(0, |sample| sample.received_bytes)
            };
            subflows.iter().map(|subflow| last(&subflow.samples)).sum()
        };
        // Nothing changes after 3 s. A path that has moved may stop for good: docs/quic.md, "Known".
        let goes_on = received(5 * SECOND) > received(3 * SECOND);
        assert!(goes_on || text.contains("change ="), "a stall: {}", what());
        stalls += u64::from(!goes_on);
    }
    assert!(stalls <= CONNECTIONS / 100, "{stalls} of {CONNECTIONS} have stopped");
}
