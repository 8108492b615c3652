//! Rules of the claim evaluator, with invented papers and figures.

use braid_results::claims::{
    Cell, ClaimResult, Document, Figure, Metric, Names, Paper, Reproduction, Varied, Verdict, embedded,
    evaluate, figures, find, names,
};
use indexmap::IndexMap;

const HEAD: &str = r#"
title = "On nothing"
authors = ["Nobody"]
year = 2000
venue = "nowhere"
doi = "none"
platform = "none"

[experiment.one]
title = "first"
source = "sec 1"
scenario = "x"
algorithms = ["lia", "olia", "balia"]

[experiment.two]
title = "second"
source = "sec 2"
scenario = "y"
algorithms = ["lia", "olia"]
"#;

fn paper(rest: &str) -> Paper {
    Paper::parse("nothing", "nothing.toml", &format!("{HEAD}{rest}")).unwrap()
}

fn claim(body: &str) -> Paper {
    paper(&format!("[[claim]]\nid = \"c\"\nsource = \"sec 1\"\nstrength = \"stated\"\n{body}"))
}

fn aliases() -> Names {
    names().unwrap()
}

/// A cell of experiment `one` with the throughputs of a few flows.
fn cell(algorithm: &str, parameters: &[(&str, &str)], flows: &[(&str, [f64; 3])]) -> Cell {
    let text = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    let figure = |of: &str| Figure { metric: Metric::Throughput, of: of.to_owned(), during: None };
    Cell {
        experiment: "one".to_owned(),
        algorithm: algorithm.to_owned(),
        parameters: parameters.iter().map(text).collect(),
        values: flows.iter().map(|(flow, values)| (figure(flow), values.to_vec())).collect(),
    }
}

fn in_two(cell: Cell) -> Cell {
    Cell { experiment: "two".to_owned(), ..cell }
}

/// A 95 % interval of ± 0.025 around this mean.
fn about(mean: f64) -> [f64; 3] {
    [mean - 0.01, mean, mean + 0.01]
}

/// A 95 % interval of ± 12.4 around this mean.
fn vague(mean: f64) -> [f64; 3] {
    [mean - 5.0, mean, mean + 5.0]
}

fn judge(body: &str, cells: &[Cell]) -> ClaimResult {
    evaluate(&claim(body), &aliases(), cells).claims.remove(0)
}

fn verdict(body: &str, cells: &[Cell]) -> Verdict {
    judge(body, cells).verdict
}

/// A claim about lia's first subflow in experiment `one`, compared with the TCP flow or a value.
fn simple(rel: &str) -> String {
    let a = r#"a = { algorithm = "lia", flow = "SF-1" }"#;
    format!("experiment = [\"one\"]\nmetric = \"throughput\"\n{a}\n{rel}")
}

fn sf1_and_tcp(sf1: [f64; 3], tcp: [f64; 3]) -> [Cell; 1] {
    [cell("lia", &[], &[("mp0.sf1", sf1), ("tcp0", tcp)])]
}

#[test]
fn greater_and_less_want_the_interval_of_the_difference_on_one_side() {
    let above = simple("rel = \"gt\"\nb = { algorithm = \"lia\", flow = \"tcp\" }");
    assert_eq!(verdict(&above, &sf1_and_tcp(about(5.0), vague(1.0))), Verdict::Undecided);
    assert_eq!(verdict(&above, &sf1_and_tcp(about(5.0), about(1.0))), Verdict::Holds);
    assert_eq!(verdict(&above, &sf1_and_tcp(about(1.0), about(5.0))), Verdict::Fails);
    let below = simple("rel = \"lt\"\nvalue = 3.0");
    assert_eq!(verdict(&below, &sf1_and_tcp(about(1.0), about(0.0))), Verdict::Holds);
    assert_eq!(verdict(&below, &sf1_and_tcp(about(5.0), about(0.0))), Verdict::Fails);
    assert_eq!(verdict(&below, &sf1_and_tcp(vague(5.0), about(0.0))), Verdict::Undecided);
}

#[test]
fn what_both_sides_of_a_run_have_in_common_does_not_blur_their_difference() {
    let above = simple("rel = \"gt\"\nb = { algorithm = \"lia\", flow = \"tcp\" }");
    let shifted = vague(20.0).map(|value| value + 0.5);
    assert_eq!(verdict(&above, &sf1_and_tcp(shifted, vague(20.0))), Verdict::Holds);
}

#[test]
fn at_least_and_at_most_allow_the_tolerance() {
    let least = simple("rel = \"ge\"\nvalue = 10\ntol-rel = 0.1");
    assert_eq!(verdict(&least, &sf1_and_tcp(about(9.2), about(0.0))), Verdict::Holds);
    assert_eq!(verdict(&least, &sf1_and_tcp(about(8.8), about(0.0))), Verdict::Fails);
    let most = simple("rel = \"le\"\nvalue = 10\ntol-abs = 1");
    assert_eq!(verdict(&most, &sf1_and_tcp(about(10.9), about(0.0))), Verdict::Holds);
    assert_eq!(verdict(&most, &sf1_and_tcp(about(11.1), about(0.0))), Verdict::Fails);
    assert_eq!(verdict(&most, &sf1_and_tcp(about(11.0), about(0.0))), Verdict::Undecided);
}

#[test]
fn approximately_is_two_sided() {
    let near = simple("rel = \"approx\"\nvalue = 100\ntol-abs = 5");
    for (mean, expected) in [
        (100.0, Verdict::Holds),
        (95.5, Verdict::Holds),
        (94.0, Verdict::Fails),
        (106.0, Verdict::Fails),
        (105.0, Verdict::Undecided),
    ] {
        assert_eq!(verdict(&near, &sf1_and_tcp(about(mean), about(0.0))), expected, "{mean}");
    }
}

#[test]
fn a_ratio_is_near_its_value_or_within_its_limits() {
    let b = "b = { algorithm = \"lia\", flow = \"tcp\" }";
    let near = simple(&format!("rel = \"ratio\"\n{b}\nvalue = 1.2\ntol-abs = 0.1"));
    assert_eq!(verdict(&near, &sf1_and_tcp(about(12.0), about(10.0))), Verdict::Holds);
    assert_eq!(verdict(&near, &sf1_and_tcp(about(13.5), about(10.0))), Verdict::Fails);
    assert_eq!(verdict(&near, &sf1_and_tcp(about(10.5), about(10.0))), Verdict::Fails);
    let least = simple(&format!("rel = \"ratio\"\n{b}\nmin-ratio = 5"));
    assert_eq!(verdict(&least, &sf1_and_tcp(about(60.0), about(10.0))), Verdict::Holds);
    assert_eq!(verdict(&least, &sf1_and_tcp(about(40.0), about(10.0))), Verdict::Fails);
    let little_more = simple(&format!("rel = \"gt\"\n{b}\nmax-ratio = 1.15"));
    assert_eq!(verdict(&little_more, &sf1_and_tcp(about(11.0), about(10.0))), Verdict::Holds);
    assert_eq!(verdict(&little_more, &sf1_and_tcp(about(12.0), about(10.0))), Verdict::Fails);
    assert_eq!(verdict(&little_more, &sf1_and_tcp(about(9.0), about(10.0))), Verdict::Fails);
}

#[test]
fn between_includes_its_ends() {
    let inside = simple("rel = \"between\"\nvalue = [2, 4]");
    for (values, expected) in [
        (about(3.0), Verdict::Holds),
        ([2.0; 3], Verdict::Holds),
        (about(1.0), Verdict::Fails),
        (about(5.0), Verdict::Fails),
        (about(4.0), Verdict::Undecided),
    ] {
        assert_eq!(verdict(&inside, &sf1_and_tcp(values, about(0.0))), expected, "{values:?}");
    }
}

#[test]
fn the_highest_the_lowest_and_a_rank_are_among_the_named_algorithms() {
    let of = |algorithm: &str, mean: f64| cell(algorithm, &[], &[("mp0", about(mean))]);
    let cells = [of("lia", 2.0), of("olia", 1.0), of("balia", 3.0)];
    let body = |algorithm: &str, rel: &str| {
        format!(
            "experiment = [\"one\"]\nmetric = \"throughput\"\na = {{ algorithm = \"{algorithm}\", flow = \"mptcp\" \
             }}\n{rel}\namong = [\"lia\", \"olia\", \"balia\"]"
        )
    };
    assert_eq!(verdict(&body("balia", "rel = \"max\""), &cells), Verdict::Holds);
    assert_eq!(verdict(&body("lia", "rel = \"max\""), &cells), Verdict::Fails);
    assert_eq!(verdict(&body("olia", "rel = \"min\""), &cells), Verdict::Holds);
    assert_eq!(verdict(&body("lia", "rel = \"rank\"\nvalue = 2"), &cells), Verdict::Holds);
    assert_eq!(verdict(&body("lia", "rel = \"rank\"\nvalue = 1"), &cells), Verdict::Fails);
    let close = [of("lia", 2.0), cell("olia", &[], &[("mp0", vague(2.0))]), of("balia", 3.0)];
    assert_eq!(verdict(&body("lia", "rel = \"rank\"\nvalue = 2"), &close), Verdict::Undecided);
    let ranked = judge(&body("lia", "rel = \"rank\"\nvalue = 2"), &cells);
    assert_eq!(ranked.conditions[0].what, "balia > lia > olia");
}

#[test]
fn a_selector_that_matches_many_cells_means_each_paired_with_its_own() {
    let at = |rtt: &str, sf1: f64, tcp: f64| {
        cell("lia", &[("rtt", rtt)], &[("mp0.sf1", about(sf1)), ("tcp0", about(tcp))])
    };
    let body = "experiment = [\"one\"]\nmetric = \"throughput\"\na = { flow = \"sf1\" }\nrel = \"lt\"\nb = { flow = \
                \"tcp\" }";
    // Each below its partner in the same cell, but not below those of other cells.
    let cells = [at("10ms", 1.0, 2.0), at("20ms", 5.0, 6.0), at("30ms", 8.0, 9.0)];
    let result = judge(body, &cells);
    assert_eq!(result.verdict, Verdict::Holds);
    let labels: Vec<&str> = result.conditions.iter().map(|condition| condition.what.as_str()).collect();
    assert_eq!(labels, ["10ms", "20ms", "30ms"]);
    let cells = [at("10ms", 1.0, 2.0), at("20ms", 7.0, 6.0), at("30ms", 8.0, 9.0)];
    assert_eq!(verdict(body, &cells), Verdict::Fails);
}

#[test]
fn cells_of_different_experiments_are_paired_by_what_neither_side_fixes() {
    let at = |rate: &str, rtt: &str, mean: f64| {
        cell("lia", &[("rate", rate), ("rtt", rtt)], &[("mp0", about(mean))])
    };
    let body = "experiment = [\"one\", \"two\"]\nmetric = \"throughput\"\na = { flow = \"mptcp\", rate = \"fast\" \
                }\nrel = \"gt\"\nb = { flow = \"mptcp\", rate = \"slow\" }";
    let cells = [
        at("slow", "10ms", 1.0),
        at("slow", "20ms", 5.0),
        in_two(at("fast", "10ms", 2.0)),
        in_two(at("fast", "20ms", 6.0)),
    ];
    let result = judge(body, &cells);
    assert_eq!((result.verdict, result.conditions.len()), (Verdict::Holds, 2));
}

#[test]
fn pooled_sides_are_compared_by_the_mean_of_their_cells() {
    let at =
        |algorithm: &str, rtt: &str, mean: f64| cell(algorithm, &[("rtt", rtt)], &[("mp0", about(mean))]);
    let body = "experiment = [\"one\"]\nmetric = \"throughput\"\na = { algorithm = \"lia\", flow = \"mptcp\" }\nrel = \
                \"gt\"\nb = { algorithm = \"olia\", flow = \"mptcp\" }\npool = \"mean\"";
    let cells =
        [at("lia", "10ms", 1.0), at("lia", "20ms", 9.0), at("olia", "10ms", 4.0), at("olia", "20ms", 4.0)];
    let result = judge(body, &cells);
    assert_eq!((result.verdict, result.conditions.len()), (Verdict::Holds, 1));
    assert!((result.conditions[0].a.unwrap().mean - 5.0).abs() < 1e-9);
}

#[test]
fn a_pooled_ratio_is_the_mean_of_the_ratios_of_the_experiments() {
    let of = |algorithm: &str, mean: f64| cell(algorithm, &[], &[("mp0", [mean; 3])]);
    let body = "experiment = [\"one\", \"two\"]\nmetric = \"throughput\"\na = { algorithm = \"lia\", flow = \"mptcp\" \
                }\nrel = \"ratio\"\nb = { algorithm = \"olia\", flow = \"mptcp\" }\nvalue = 2.0\ntol-abs = 0.01\npool \
                = \"mean\"";
    let cells = [of("lia", 10.0), of("olia", 10.0), in_two(of("lia", 3.0)), in_two(of("olia", 1.0))];
    assert_eq!(verdict(body, &cells), Verdict::Holds);
}

#[test]
fn the_lowest_of_all_cells_stands_for_them() {
    let of = |mean: f64| cell("lia", &[], &[("mp0", about(mean))]);
    let body = "experiment = [\"one\", \"two\"]\nmetric = \"throughput\"\na = { algorithm = \"lia\", flow = \"mptcp\" \
                }\nrel = \"le\"\nvalue = 4\npool = \"lowest\"";
    assert_eq!(verdict(body, &[of(9.0), in_two(of(3.0))]), Verdict::Holds);
    assert_eq!(verdict(body, &[of(9.0), in_two(of(5.0))]), Verdict::Fails);
}

#[test]
fn sides_that_have_nothing_of_an_axis_in_common_differ_in_it() {
    let of = |ecn: &str, mean: f64| cell("lia", &[("ecn", ecn)], &[("mp0", about(mean))]);
    let body = "experiment = [\"one\", \"two\"]\nmetric = \"throughput\"\na = { experiment = \"one\", flow = \"mptcp\" \
                }\nrel = \"lt\"\nb = { experiment = \"two\", flow = \"mptcp\" }";
    assert_eq!(verdict(body, &[of("true", 3.0), in_two(of("false", 4.0))]), Verdict::Holds);
}

#[test]
fn a_trend_with_two_sides_is_that_of_their_ratio() {
    let at = |algorithm: &str, loss: &str, mean: f64| {
        cell(algorithm, &[("loss", loss)], &[("mp0", [mean, mean, mean])])
    };
    let body = "experiment = [\"one\"]\nmetric = \"throughput\"\na = { algorithm = \"lia\", flow = \"mptcp\" }\nrel = \
                \"trend\"\nb = { algorithm = \"olia\", flow = \"mptcp\" }\ndirection = \"up\"\nover = { loss = [\"1%\", \
                \"0.1%\"] }";
    let rising =
        [at("lia", "1%", 2.0), at("olia", "1%", 2.0), at("lia", "0.1%", 1.5), at("olia", "0.1%", 1.0)];
    assert_eq!(verdict(body, &rising), Verdict::Holds);
    let level =
        [at("lia", "1%", 2.0), at("olia", "1%", 2.0), at("lia", "0.1%", 3.0), at("olia", "0.1%", 3.0)];
    assert_ne!(verdict(body, &level), Verdict::Holds);
}

#[test]
fn a_claim_over_an_axis_may_have_a_value_for_each_point() {
    let at = |rtt: &str, mean: f64| cell("lia", &[("rtt", rtt)], &[("mp0.sf1", about(mean))]);
    let body = simple("rel = \"lt\"\nvalue = [2, 6]\nover = { rtt = [\"10ms\", \"20ms\"] }");
    assert_eq!(verdict(&body, &[at("10ms", 1.0), at("20ms", 5.0)]), Verdict::Holds);
    assert_eq!(verdict(&body, &[at("10ms", 5.0), at("20ms", 5.0)]), Verdict::Fails);
}

#[test]
fn a_trend_goes_the_same_way_at_every_step() {
    let at = |rtt: &str, mean: f64| cell("lia", &[("rtt", rtt)], &[("mp0.sf1", about(mean))]);
    let body = |direction: &str| {
        simple(&format!(
            "rel = \"trend\"\ndirection = \"{direction}\"\nover = {{ rtt = [\"10ms\", \"20ms\", \"30ms\"] }}"
        ))
    };
    let falling = [at("10ms", 3.0), at("20ms", 2.0), at("30ms", 1.0)];
    assert_eq!(verdict(&body("down"), &falling), Verdict::Holds);
    assert_eq!(verdict(&body("up"), &falling), Verdict::Fails);
    let level =
        [at("10ms", 3.0), at("20ms", 2.0), cell("lia", &[("rtt", "30ms")], &[("mp0.sf1", vague(1.5))])];
    assert_eq!(verdict(&body("down"), &level), Verdict::Undecided);
}

#[test]
fn spreads_are_compared_between_repetitions_of_the_same_cell() {
    let at = |rtt: &str, values: [f64; 3]| cell("lia", &[("rtt", rtt)], &[("mp0.sf1", values)]);
    let body = |rel: &str| {
        format!(
            "experiment = [\"one\"]\nmetric = \"throughput\"\nstatistic = \"sd\"\na = {{ flow = \"sf1\", rtt = \"10ms\" \
             }}\nrel = \"{rel}\"\nb = {{ flow = \"sf1\", rtt = \"20ms\" }}"
        )
    };
    let cells = [at("10ms", vague(5.0)), at("20ms", about(90.0))];
    assert_eq!(verdict(&body("gt"), &cells), Verdict::Holds);
    assert_eq!(verdict(&body("lt"), &cells), Verdict::Fails);
    let cells = [at("10ms", about(5.0)), at("20ms", about(90.0))];
    assert_eq!(verdict(&body("gt"), &cells), Verdict::Undecided);
}

#[test]
fn what_was_not_run_or_measured_is_not_checkable_and_says_why() {
    let above = simple("rel = \"gt\"\nb = { algorithm = \"lia\", flow = \"tcp\" }");
    let result = judge(&above, &[]);
    assert_eq!(result.verdict, Verdict::NotCheckable);
    assert_eq!(result.reason.unwrap(), "nothing was run with algorithm lia, flow SF-1");
    let result = judge(&above, &sf1_and_tcp(about(1.0), [f64::NAN; 3]));
    assert_eq!(result.verdict, Verdict::NotCheckable);
    assert!(result.reason.is_some());
    let said = judge("statement = \"X is good\"\nnot-checkable = \"X is unknown\"", &[]);
    assert_eq!((said.verdict, said.reason.as_deref()), (Verdict::NotCheckable, Some("X is unknown")));
    assert_eq!(said.statement, "X is good");
}

#[test]
fn one_repetition_decides_nothing() {
    let mut cells = sf1_and_tcp(about(5.0), about(1.0));
    cells[0].values.values_mut().for_each(|values| values.truncate(1));
    let above = simple("rel = \"gt\"\nb = { algorithm = \"lia\", flow = \"tcp\" }");
    assert_eq!(verdict(&above, &cells), Verdict::Undecided);
}

const TABLE: &str = r#"
[[table]]
id = "t"
source = "Table 1"
experiment = "one"
metric = "throughput"
row-axes = ["algorithm", "flow"]
column-axes = ["rtt"]
columns = [["10ms"], ["20ms"]]
rows = [{ key = ["lia", "sf1"], values = [1.5, 2.5] }, { key = ["olia", "sf1 + sf2"], values = [3.5, 4.5] }]
doubt = [{ row = 2, column = 1, why = "blurred" }]
"#;

#[test]
fn a_printed_table_has_the_measured_value_of_each_of_its_cells() {
    let at = |algorithm: &str, rtt: &str, flow: &str, mean: f64| {
        cell(algorithm, &[("rtt", rtt)], &[(flow, about(mean))])
    };
    let cells = [
        at("lia", "10ms", "mp0.sf1", 1.0),
        at("lia", "20ms", "mp0.sf1", 2.0),
        at("olia", "10ms", "mp0.sf1 + mp0.sf2", 3.0),
    ];
    let Reproduction { tables, .. } = evaluate(&paper(TABLE), &aliases(), &cells);
    let found: Vec<_> = tables[0]
        .cells
        .iter()
        .map(|cell| (cell.published, cell.measured.map(|measured| measured.mean), cell.doubt.as_deref()))
        .collect();
    assert_eq!(
        found,
        [
            (1.5, Some(1.0), None),
            (2.5, Some(2.0), None),
            (3.5, Some(3.0), Some("blurred")),
            (4.5, None, None)
        ]
    );
}

#[test]
fn what_has_to_be_measured_follows_from_tables_and_claims() {
    let claims = "[[claim]]\nid = \"c\"\nsource = \"s\"\nstrength = \"stated\"\nexperiment = [\"one\"]\nmetric = \
                  \"jain-subflows\"\na = { link = \"b1\" }\nrel = \"gt\"\nvalue = 0.5\nover = { period = \
                  [\"0s..20s\", \"20s..40s\"] }\n";
    let paper = paper(&format!("{TABLE}\n{claims}"));
    let found = figures(&paper, &aliases(), "one");
    let texts: Vec<_> =
        found.iter().map(|figure| (figure.of.as_str(), figure.during.as_deref().unwrap_or("-"))).collect();
    let expected = [("mp0.sf1", "-"), ("mp0.sf1 + mp0.sf2", "-"), ("b1", "0s..20s"), ("b1", "20s..40s")];
    assert_eq!(texts, expected);
    assert!(figures(&paper, &aliases(), "two").is_empty());
}

#[test]
fn wrong_papers_are_refused_with_the_place_and_what_is_missing() {
    let wrong = |rest: &str| Paper::parse("p", "p.toml", &format!("{HEAD}{rest}")).unwrap_err().to_string();
    let body =
        |rest: &str| wrong(&format!("[[claim]]\nid = \"c\"\nsource = \"s\"\nstrength = \"stated\"\n{rest}"));
    let of_one = "experiment = [\"one\"]\nmetric = \"throughput\"\na = { flow = \"sf1\" }\n";
    for (message, part) in [
        (wrong("[[claim]]\nid = 3"), "p.toml: "),
        (wrong("colour = 1"), "p.toml: "),
        (body("experiment = [\"three\"]"), "claim c: there is no experiment \"three\""),
        (body(of_one), "needs a metric and a rel"),
        (body(&format!("{of_one}rel = \"gt\"")), "Gt lacks what it compares with"),
        (body(&format!("{of_one}rel = \"approx\"\nvalue = 1")), "Approx lacks"),
        (body(&format!("{of_one}rel = \"between\"\nvalue = [1, 2, 3]")), "Between lacks"),
        (body(&format!("{of_one}rel = \"trend\"\ndirection = \"up\"")), "Trend lacks"),
        (body(&format!("{of_one}rel = \"max\"")), "Max lacks"),
        (body(&format!("{of_one}rel = \"gt\"\nvalue = 1\nstatistic = \"sd\"")), "spreads are compared"),
        (
            body("experiment = [\"one\"]\nmetric = \"benefit\"\nrel = \"gt\"\nvalue = 1"),
            "both sides need a flow",
        ),
        (body("not-checkable = \"why\""), "has a statement only"),
        (
            wrong(&TABLE.replace("2.5", "2.5, 9.5")),
            "table t: the row [\"lia\", \"sf1\"] has 3 values for 2 columns",
        ),
        (wrong(&TABLE.replace("column = 1", "column = 3")), "there is no cell in row 2 and column 3"),
        (wrong(&format!("{TABLE}{TABLE}")), "the id \"t\" is used twice"),
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_document_reads_what_it_wrote() {
    let cells = sf1_and_tcp(about(5.0), about(1.0));
    let base = evaluate(&claim(&simple("rel = \"lt\"\nvalue = 9")), &aliases(), &cells);
    let other = evaluate(&claim(&simple("rel = \"lt\"\nvalue = 2")), &aliases(), &cells);
    let (counts, changed) = Varied::of(&base, &other);
    assert_eq!(changed, IndexMap::from([("c".to_owned(), Verdict::Fails)]));
    let varied = Varied {
        paper: "nothing".to_owned(),
        id: "v".to_owned(),
        what: "less".to_owned(),
        set: Vec::new(),
        cc: IndexMap::new(),
        counts,
        changed,
    };
    let document = Document { sensitivity: vec![varied], ..Document::new("1", [1, 3], vec![base]) };
    assert_eq!(Document::from_json(&document.to_json()).unwrap(), document);
    assert!(document.to_csv().contains("nothing,claim,c,"), "{}", document.to_csv());
}

#[test]
fn every_paper_that_comes_with_braid_is_right_and_complete() {
    let expected = IndexMap::from([
        ("analysis", (118, 216)),
        ("ba-mpcubic", (159, 136)),
        ("coupled-cubic", (16, 0)),
        ("d-olia", (53, 27)),
        ("lia-evaluation", (41, 7)),
    ]);
    let found: IndexMap<&str, (usize, usize)> = embedded()
        .map(|key| {
            let paper = find(key).unwrap().unwrap();
            (key, (paper.claim.len(), paper.table.iter().map(|table| table.cells().count()).sum()))
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn every_algorithm_of_the_papers_has_a_name_of_ours() {
    let names = aliases();
    for key in embedded() {
        for (id, experiment) in find(key).unwrap().unwrap().experiment {
            for algorithm in experiment.algorithms {
                assert!(names.algorithm.contains_key(&algorithm), "{key}/{id}: {algorithm}");
            }
        }
    }
}

#[test]
fn stored_results_are_in_the_form_that_is_written() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../papers/results");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(Document::from_json(&text).unwrap().to_json() == text, "{}", path.display());
    }
}
