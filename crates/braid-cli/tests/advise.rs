//! `braid advise` on networks whose right answer is known by reasoning.

use std::process::Output;

use braid_testing::{Place, done, failed, json};
use serde_json::Value;

/// Two paths of these links; `mp0` has both of them.
fn network(links: &str, routes: [&str; 2]) -> String {
    let [one, other] = routes;
    format!(
        "title = \"Test\"\nduration = \"30s\"\nwarmup = \"10s\"\n{links}\n[connection.mp0]\nkind = \"mptcp\"\n\
         [connection.mp0.subflow.sf1]\nroute = [{one}]\n[connection.mp0.subflow.sf2]\nroute = [{other}]\n"
    )
}

fn link(name: &str, mbit: u32, ms: u32, queue: u32, more: &str) -> String {
    format!("[link.{name}]\nrate = \"{mbit}mbit\"\nrtt = \"{ms}ms\"\nqueue = \"{queue}p\"\n{more}\n")
}

fn advise(text: &str, arguments: &[&str]) -> Output {
    let place = Place::new();
    place.write("net.toml", text);
    place.braid("advise net.toml").args(arguments).output().unwrap()
}

fn answer(text: &str, cc: &str) -> Value {
    json(done(&advise(text, &["--cc", cc, "--seeds", "4", "--json"])))
}

fn candidate<'a>(answer: &'a Value, cc: &str) -> &'a Value {
    let candidates = answer["candidates"].as_array().unwrap();
    candidates.iter().find(|row| row["cc"] == cc).unwrap_or_else(|| panic!("{cc} in {answer:#}"))
}

fn mean(row: &Value, what: &str) -> f64 {
    row[what]["mean"].as_f64().unwrap_or_else(|| panic!("{what} in {row:#}"))
}

#[test]
fn where_paths_share_nothing_coupling_only_costs() {
    let links = link("one", 20, 30, 75, "") + &link("other", 10, 40, 50, "");
    let answer = answer(&network(&links, ["\"one\"", "\"other\""]), "cubic,lia,balia");
    assert_eq!(answer["advice"], Value::Null, "{answer:#}");
    assert_eq!(answer["baseline"]["subflows"], serde_json::json!(["sf1", "sf2"]));
    assert_eq!(answer["candidates"].as_array().unwrap().len(), 2, "cubic is the baseline: {answer:#}");
    // Goals 1 and 2 of RFC 6356: as much as on the best path alone, less than one flow on each.
    assert!(mean(candidate(&answer, "lia"), "gain") < -0.1, "{answer:#}");
}

#[test]
fn where_both_paths_have_one_bottleneck_cubic_on_both_takes_two_shares() {
    let links =
        link("line", 20, 30, 75, "") + &link("near", 1000, 2, 1000, "") + &link("far", 1000, 4, 1000, "");
    let answer = answer(&network(&links, ["\"far\", \"line\"", "\"near\", \"line\""]), "cubic,lia");
    assert_eq!(answer["baseline"]["subflows"], serde_json::json!(["sf2"]), "the path of less delay");
    let cubic = candidate(&answer, "cubic");
    // The competitor gets a third instead of half.
    assert!((0.2..0.45).contains(&mean(cubic, "loss")), "{answer:#}");
    assert!(mean(cubic, "gain") > 0.03, "{answer:#}");
    assert_eq!(answer["advice"], Value::Null, "one bottleneck has nothing to gain: {answer:#}");
    let why = answer["why"].as_str().unwrap();
    assert!(why.starts_with("Advice: cubic on sf2, because with cubic competitors lose "), "{why}");
}

#[test]
fn where_only_random_loss_holds_cubic_down_bbr_gains_and_competitors_keep_theirs() {
    // A queue for each flow: BBR takes only what the competitors leave unused.
    let more = "loss = \"1%\"\ndiscipline = \"fq-codel\"";
    let links = link("one", 40, 40, 400, more) + &link("other", 20, 60, 400, more);
    let text = network(&links, ["\"one\"", "\"other\""]);
    let answer = answer(&text, "bbr,lia");
    assert_eq!(answer["advice"], "bbr", "{answer:#}");
    // At 1 % loss CUBIC has 12 packets per RTT (RFC 8312, table 1), 5 and 3 Mbit/s.
    assert!(mean(candidate(&answer, "bbr"), "gain") > 3.0, "{answer:#}");

    let text = done(&advise(&text, &["--cc", "bbr", "--seeds", "2"]));
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("* bbr") && text.contains("Advice: bbr, because it gains "), "{text}");
}

#[test]
fn what_cannot_be_answered_is_refused_with_a_remedy() {
    let refused = |text: &str, arguments: &[&str], message: &str| {
        failed(&advise(text, arguments), 2, &[message]);
    };
    let links = link("one", 20, 30, 75, "") + &link("other", 10, 40, 50, "");
    let good = network(&links, ["\"one\"", "\"other\""]);
    refused(&good, &["--cc", "oliva"], "did you mean `olia`?");
    let plain =
        good.replace("mptcp", "tcp").replace("[connection.mp0.subflow.sf2]\nroute = [\"other\"]\n", "");
    let plain = plain.replace("[connection.mp0.subflow.sf1]\n", "");
    refused(&plain, &[], "no MPTCP connection, which advice could be about\n  hint: add one");
    let several = good.replace("20mbit", "$rate") + "[parameters]\nrate = [\"10mbit\", \"20mbit\"]\n";
    refused(
        &several,
        &[],
        "its parameters make 2 networks of it\n  hint: choose one of them: --set parameters.",
    );
    done(&advise(&several, &["--set", "parameters.rate=10mbit", "--cc", "lia", "--seeds", "1"]));
}
