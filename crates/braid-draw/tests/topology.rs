//! Content of a drawing. `crates/braid-cli/tests/browser.py` checks its appearance in a browser.

use braid_scenario::{Source, embedded, load};
use braid_testing::model::parse as scenario;

fn links(names: &[&str]) -> String {
    let link = |name: &&str| format!("[link.{name}]\nrate = \"10mbit\"\ndelay = \"5ms\"\nqueue = \"50p\"\n");
    format!("title = \"x\"\nduration = \"60s\"\n{}", names.iter().map(link).collect::<String>())
}

fn ways(drawing: &str) -> Vec<&str> {
    drawing.split("<path class=\"way\" d=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

/// Height of each bar's upper and lower edge.
fn bars(drawing: &str) -> Vec<(f64, f64)> {
    let attribute = |rect: &str, name: &str| -> f64 {
        rect.split(&format!(" {name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse().unwrap()
    };
    let rects = drawing.split("<rect").skip(1);
    rects.map(|rect| (attribute(rect, "y"), attribute(rect, "y") + attribute(rect, "height"))).collect()
}

#[test]
fn every_scenario_is_drawn_with_all_its_links_and_rates() {
    for summary in embedded() {
        let file = load(&Source::find(summary.name).unwrap(), &[]).unwrap();
        let cell = &file.cells[0];
        let drawing = braid_draw::topology(cell);
        for (index, link) in cell.links.iter().enumerate().filter(|(_, link)| !link.private) {
            let used = cell.connections.iter().flat_map(|c| &c.subflows).any(|s| s.route.contains(&index));
            let rate = braid_scenario::words::rate(link.forward.rate_bps as f64);
            assert!(!used || drawing.contains(&link.name), "{}: {}", summary.name, link.name);
            assert!(
                !used || link.forward.trace.is_some() || drawing.contains(&rate),
                "{}: {rate}",
                summary.name
            );
        }
    }
}

#[test]
fn a_link_says_how_many_connections_share_it_and_words_say_who() {
    let file = scenario(&format!(
        "{}[connection.mp0]\nkind = \"mptcp\"\n[connection.mp0.subflow.sf1]\nroute = [\"b1\"]\n\
         [connection.mp0.subflow.sf2]\nroute = [\"b2\"]\n[connection.tcp0]\nkind = \"tcp\"\ncc = \"reno\"\nroute = [\"b1\"]\n",
        links(&["b1", "b2"])
    ));
    let drawing = braid_draw::topology(&file);
    assert!(drawing.contains("b1, shared by 2"), "{drawing}");
    assert!(!drawing.contains("b2, shared"), "{drawing}");
    let words = braid_draw::description(&file);
    assert!(words.ends_with("b1, 10 Mbit/s, is shared by mp0, tcp0."), "{words}");
}

#[test]
fn connections_that_are_alike_are_one_line_that_counts_them() {
    let tcp = |n: usize| format!("[connection.tcp{n}]\nkind = \"tcp\"\ncc = \"cubic\"\nroute = [\"b1\"]\n");
    let text = links(&["b1"]) + &(0..5).map(tcp).collect::<String>();
    let drawing = braid_draw::topology(&scenario(&text));
    assert!(drawing.contains("tcp0 to tcp4") && drawing.contains("5 flows, cubic"), "{drawing}");
    assert_eq!(ways(&drawing).len(), 1);
    assert!(drawing.contains("shared by 5"));
}

#[test]
fn a_line_that_skips_a_column_passes_beside_the_bars_there() {
    let text = links(&["a", "b", "c"])
        + "[connection.tcp0]\nkind = \"tcp\"\ncc = \"reno\"\nroute = [\"a\", \"b\", \"c\"]\n\
           [connection.tcp1]\nkind = \"tcp\"\ncc = \"reno\"\nroute = [\"a\", \"c\"]\n";
    let drawing = braid_draw::topology(&scenario(&text));
    let [_, around] = ways(&drawing)[..] else { panic!("{drawing}") };
    // It touches the edges of three bars: its two bars, and the space beside b, at a height outside of b.
    let heights: Vec<f64> = around
        .split(['C', 'H'])
        .filter_map(|part| part.split_once(' ').map(|_| part.rsplit(' ').next().unwrap().parse().unwrap()))
        .collect();
    let (top, bottom) = bars(&drawing)[1];
    assert!(heights.iter().any(|&y| y < top || y > bottom), "{around} {top} {bottom}");
}

#[test]
fn routes_in_a_ring_end() {
    let text = links(&["a", "b", "c"])
        + "[connection.tcp0]\nkind = \"tcp\"\ncc = \"reno\"\nroute = [\"a\", \"b\"]\n\
           [connection.tcp1]\nkind = \"tcp\"\ncc = \"reno\"\nroute = [\"b\", \"c\"]\n\
           [connection.tcp2]\nkind = \"tcp\"\ncc = \"reno\"\nroute = [\"c\", \"a\"]\n";
    assert_eq!(ways(&braid_draw::topology(&scenario(&text))).len(), 3);
}
