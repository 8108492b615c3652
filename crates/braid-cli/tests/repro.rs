//! `braid repro` as a person or a script meets it, with an invented paper.

use braid_testing::{Place, SMALL, json, says, text};

/// The small scenario at two rates.
fn scenario() -> String {
    let rates = "[parameters]\nrate = [\"4mbit\", \"8mbit\"]\n\n[link.b1]\nrate = \"$rate\"";
    SMALL.replace("[link.b1]\nrate = \"4mbit\"", rates).replace("bg0", "tcp0")
}

const PAPER: &str = r#"
title = "On little"
authors = ["Nobody"]
year = 2000
venue = "nowhere"
doi = "none"
platform = "none"

[experiment.all]
title = "both rates"
source = "sec 1"
scenario = "small.toml"
algorithms = ["lia", "olia"]

[experiment.fast]
title = "the faster one"
source = "sec 2"
scenario = "small.toml"
where = { rate = "8mbit" }
algorithms = ["lia"]

[[table]]
id = "rates"
source = "Table 1"
experiment = "fast"
metric = "throughput"
at = { algorithm = "lia", rate = "8mbit" }
row-axes = ["flow"]
column-axes = ["period"]
columns = [["0s..1s"], ["1s..2s"]]
rows = [{ key = ["tcp"], values = [4.0, 5.0] }]

[[claim]]
id = "c1"
source = "sec 1"
strength = "stated"
experiment = ["all"]
metric = "throughput"
a = { flow = "tcp" }
rel = "gt"
value = 0.1

[[claim]]
id = "c2"
source = "sec 2"
strength = "stated"
experiment = ["fast"]
metric = "utilization"
a = { link = "b1" }
rel = "lt"
value = VALUE

[[variation]]
id = "short"
what = "shorter queues"
set = ["link.b1.queue=4p"]
"#;

/// A folder with the paper, whose second claim holds or not.
fn place(holds: bool) -> Place {
    let place = Place::new();
    place.write("small.toml", scenario());
    place.write("little.toml", PAPER.replace("VALUE", if holds { "1.1" } else { "0.01" }));
    place
}

#[test]
fn the_exit_code_says_whether_a_claim_fails() {
    let good = place(true).output("repro little.toml --seeds 3");
    assert_eq!(good.status.code(), Some(0), "{}", text(&good.stderr));
    let bad = place(false).output("repro little.toml --seeds 3");
    assert_eq!((bad.status.code(), text(&bad.stderr).trim()), (Some(1), "error: 1 claim does not hold"));
}

#[test]
fn the_report_has_cells_claims_and_the_scoreboard() {
    let output = text(&place(false).output("repro little.toml --seeds 3").stdout);
    says(
        &output,
        &[
            "4.00 / ",
            "5.00 / ",
            " \u{b1} ",
            "c1  holds",
            "c2  fails",
            "utilization (b1) < 0.01",
            "Seeds 1 to 3",
        ],
    );
    let score = output.lines().find(|line| line.starts_with("little  ") && !line.contains("On little"));
    let score: Vec<&str> = score.unwrap().split_whitespace().skip(1).collect();
    assert_eq!(score, ["1", "1", "0", "0", "2"]);
}

#[test]
fn one_seed_decides_nothing() {
    let output = place(false).output("repro little.toml --seeds 1 --show scoreboard");
    assert_eq!(output.status.code(), Some(0));
    let line = text(&output.stdout).lines().find(|line| line.starts_with("little")).unwrap().to_owned();
    let score: Vec<&str> = line.split_whitespace().skip(1).collect();
    assert_eq!(score, ["0", "0", "2", "0", "2"]);
}

#[test]
fn results_are_kept_shown_again_and_never_overwritten() {
    let place = place(true);
    let shown = place.output("repro little.toml --seeds 2 --out kept --jobs 1");
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown.stderr));
    let again = place.output("repro --from kept/repro.json");
    assert_eq!(again.stdout, shown.stdout);
    // The same results may be written again, and those of more seeds; others not.
    assert_eq!(place.output("repro little.toml --seeds 2 --out kept --jobs 4").status.code(), Some(0));
    let line = "repro little.toml --seeds 2 --set link.b1.queue=9p --out kept";
    place.refused(line, &["before it has changed, or with another --set", "nothing was overwritten"]);
    assert_eq!(place.output("repro --from kept/repro.json").stdout, shown.stdout);
    let more = place.stdout("repro little.toml --seeds 4 --out kept");
    assert_eq!(more, place.stdout("repro little.toml --seeds 4 --out fresh").replace("fresh", "kept"));
    let file = |folder: &str, name: &str| std::fs::read(place.at(folder).join(name)).unwrap();
    for name in ["repro.json", "runs.store", "manifest.json"] {
        assert!(file("kept", name) == file("fresh", name), "{name}");
    }
}

#[test]
fn parts_of_a_paper_that_were_run_apart_become_one() {
    let place = place(false);
    let claims = |document: &str| {
        let papers = self::json(document)["papers"].as_array().unwrap().clone();
        assert_eq!(papers.len(), 1);
        papers[0]["claims"].as_array().unwrap().clone()
    };
    // The later part first: the claims come in the paper's order all the same.
    for part in ["exp2-reno", "exp1"] {
        let json = place.output(&format!("repro lia-evaluation/{part} --seeds 2 --format json"));
        place.write(&format!("{part}.json"), text(&json.stdout));
    }
    let joined = place.output("repro --from exp2-reno.json --from exp1.json --format json");
    let whole = place.output("repro lia-evaluation/exp1 lia-evaluation/exp2-reno --seeds 2 --format json");
    assert_eq!(claims(&text(&joined.stdout)), claims(&text(&whole.stdout)));
    assert_eq!(
        json(text(&joined.stdout))["papers"][0]["counts"],
        json(text(&whole.stdout))["papers"][0]["counts"]
    );
    place.refused(
        "repro --from exp1.json --from exp1.json",
        &["both have the experiment lia-evaluation/exp1", "--report FILE.html"],
    );
}

#[test]
fn a_claim_alone_runs_what_it_compares_and_is_judged_as_among_all() {
    const SHORT: &str = "--set duration=6s --set warmup=1s --set cooldown=0s";
    let place = place(false);
    for (experiment, of_claims) in [
        // The first compares all three algorithms, the second is about one.
        ("lia-evaluation/exp1 --seeds 2", &[("c01", "6 runs"), ("c05", "2 runs")][..]),
        // Three of 18 cells, and one.
        (&format!("analysis/table4 --seeds 2 {SHORT}"), &[("c96", "6 runs"), ("c95", "2 runs")]),
    ] {
        let all = place.output(&format!("repro {experiment} --format json"));
        let all = json(text(&all.stdout))["papers"][0]["claims"].clone();
        let find = |id: &str| all.as_array().unwrap().iter().find(|claim| claim["id"] == id).unwrap().clone();
        for (id, runs) in of_claims {
            let line = format!("repro {experiment} --claim {id}");
            let intention = place.stdout(&format!("{line} --dry-run"));
            assert!(intention.contains(runs), "{id}: {intention}");
            let alone = place.output(&format!("{line} --format json"));
            assert_eq!(json(text(&alone.stdout))["papers"][0]["claims"], serde_json::json!([find(id)]));
        }
    }
}

#[test]
fn json_and_csv_hold_every_cell_and_claim() {
    let place = place(true);
    let json = place.json("repro little.toml --seeds 3 --format json");
    let paper = &json["papers"][0];
    assert_eq!(
        paper["counts"],
        serde_json::json!({"holds": 2, "fails": 0, "undecided": 0, "not_checkable": 0})
    );
    assert_eq!(paper["tables"][0]["cells"].as_array().unwrap().len(), 2);
    // Two rates and two algorithms.
    assert_eq!(paper["claims"][0]["conditions"].as_array().unwrap().len(), 4);
    let csv = place.stdout("repro little.toml --seeds 3 --format csv");
    assert_eq!(csv.lines().count(), 1 + 2 + 4 + 1);
}

/// What the first seed of an experiment about detection shows, second by second: two subflows that meet at `b1`, and one of
/// them at `b2` in the end.
#[test]
fn an_experiment_about_detection_is_kept_second_by_second_and_drawn() {
    let place = place(true);
    let later =
        "route = [\"b1\"]\n\n[[connection.mp0.subflow.sf2.change]]\nat = \"1500ms\"\nroute = [\"b2\"]";
    let rerouted = scenario().replace("route = [\"b2\"]", later);
    place.write("small.toml", rerouted);
    let claim = "[[claim]]\nid = \"c3\"\nsource = \"sec 3\"\nstrength = \"stated\"\nexperiment = [\"fast\"]\n\
        metric = \"detection-accuracy\"\na = { link = \"b1\" }\nrel = \"ge\"\nvalue = 0\n";
    place.write(
        "little.toml",
        PAPER.replace("VALUE", "1.1").replace("[[variation]]", &format!("{claim}\n[[variation]]")),
    );
    let command = "repro little.toml --seeds 2..3 --cc lia=weave";
    let json = place.json(&format!("{command} --format json --report page.html"));
    let strips = json["papers"][0]["strips"].as_array().unwrap();
    assert_eq!(strips.len(), 1, "one of the two experiments is about detection, with one algorithm");
    assert_eq!((&strips[0]["experiment"], &strips[0]["algorithm"]), (&"fast".into(), &"lia".into()));
    assert_eq!(strips[0]["seed"], 2);
    let subflows = strips[0]["subflows"].as_array().unwrap();
    let names: Vec<&str> = subflows.iter().map(|own| own["subflow"].as_str().unwrap()).collect();
    assert_eq!(names, ["mp0.sf1", "mp0.sf2"]);
    for own in subflows {
        let truth: Vec<bool> =
            own["truth"].as_array().unwrap().iter().map(|one| one["shared"].as_bool().unwrap()).collect();
        // The first has its bottleneck to itself until the second is established.
        assert!(truth.ends_with(&[true, false]), "{own}");
        assert_eq!(own["said_percent"].as_array().unwrap().len(), 2);
        assert!(own["throughput_mbps"][1].as_f64().unwrap() > 0.1, "{own}");
    }
    let page = place.read("page.html");
    assert!(page.contains("Detection over time: lia, rate 8mbit"), "{page}");
    assert_eq!(page.matches("class=\"rate\"").count(), 2);
}

#[test]
fn a_variation_is_run_beside_the_paper_and_its_changed_verdicts_are_listed() {
    let place = place(true);
    let json = place.json("repro little.toml --seeds 2 --sensitivity --format json");
    assert_eq!(json["sensitivity"][0]["id"], "short");
    let output = place.stdout("repro little.toml --seeds 2 --sensitivity --show sensitivity");
    assert!(output.contains("shorter queues"), "{output}");
}

#[test]
fn a_search_says_which_setting_is_most_plausible_and_what_became_of_each_claim() {
    let place = place(true);
    place.write("search.json", place.stdout("repro little.toml --seeds 3 --search --format json"));
    let shown = |format: &str| {
        let line = format!("repro --from search.json --show search --format {format}");
        place.stdout(&line)
    };
    let text = shown("table");
    says(
        &text,
        &[
            "little: the test bed behind it",
            "2 of 2, seeds 1 to 3",
            "no evidence",
            "holds as assumed (2): c1 c2",
        ],
    );
    let markdown = shown("markdown");
    assert!(markdown.contains("| little | as assumed | 2 of 2 | 1 to 3 | - | - | - | 2 | 2 |"), "{markdown}");
    assert_eq!(text, place.stdout("repro little.toml --seeds 3 --search --show search"));
    // Of two papers with other seeds each, nothing else can be shown together.
    place.write("other.toml", place.read("little.toml"));
    place.write("more.json", place.stdout("repro other.toml --seeds 4 --search --format json"));
    let both = place.stdout("repro --from search.json more.json --show search --format markdown");
    assert!(
        both.contains("| little |") && both.contains("| other | as assumed | 2 of 2 | 1 to 4 |"),
        "{both}"
    );
    place.refused("repro --from search.json more.json", &["other seeds"]);
}

#[test]
fn changes_are_made_where_they_fit_and_told() {
    let place = place(true);
    let line = "repro little.toml --seeds 2 --set link.b1.queue=9p --cc lia=balia --show scoreboard";
    let output = text(&place.output(line).stdout);
    assert!(output.contains("Changed: link.b1.queue=9p. For lia: balia."), "{output}");
    let dry = place.stdout("repro little.toml --seeds 2 --set link.b1.queue=9p --dry-run");
    assert_eq!(
        dry,
        "all: small.toml --set link.b1.queue=9p --cc lia,olia\nfast: small.toml --set link.b1.queue=9p --cc lia\n8 runs\n"
    );
}

#[test]
fn another_packet_scheduler_is_used_and_told_and_is_a_column_of_its_own() {
    let place = place(true);
    let line = "repro little.toml --seeds 2 --scheduler linux";
    assert!(place.stdout(&format!("{line} --dry-run")).contains("--cc lia --scheduler linux\n"));
    let other = place.stdout(&format!("{line} --format json"));
    let usual = place.stdout("repro little.toml --seeds 2 --format json");
    assert_eq!(
        (&self::json(&other)["scheduler"], &self::json(&usual)["scheduler"]),
        (&"linux".into(), &().into())
    );
    assert_ne!(self::json(&other)["papers"][0]["claims"], self::json(&usual)["papers"][0]["claims"]);
    place.write("other.json", other);
    place.write("usual.json", usual);
    let told = place.stdout("repro --from other.json --show scoreboard");
    assert!(told.contains("Packet scheduler: linux."), "{told}");
    place.stdout("repro --from usual.json other.json --report page.html");
    let page = place.read("page.html");
    assert!(page.contains("<span class=\"cc\">scheduler linux</span>"), "{page}");
    place.refused(
        "repro --from usual.json other.json",
        &["have other seeds, changes, schedulers or backends"],
    );
}

#[test]
fn wrong_input_is_refused_with_what_there_is() {
    let place = place(true);
    place.write("broken.toml", "title = 3");
    place.write("other.json", "{}");
    for (line, part) in [
        ("repro nothing", "there are analysis, ba-mpcubic"),
        ("repro d-olia/9", "it has motivation, 1, 2, 3, scalable"),
        ("repro missing.toml", "cannot read missing.toml"),
        ("repro broken.toml", "broken.toml: "),
        ("repro little.toml --cc lia", "write for instance --cc lia=lia"),
        ("repro little.toml --cc foo=lia", "they have lia, olia"),
        ("repro little.toml --cc lia=foo", "no algorithm is called `foo`"),
        ("repro little.toml --scheduler foo", "no scheduler is called `foo`"),
        ("repro little.toml --set link.b9.queue=9p", "no scenario of little has that table"),
        ("repro little.toml --set link.b1.queue=fast", "link.b1.queue"),
        ("repro little.toml --seeds 1..9999999", "use fewer seeds"),
        ("repro --from other.json", "not a reproduction"),
        ("repro --show nothing", "cells"),
        ("repro d-olia --from other.json", "cannot be used with"),
        ("repro lia-evaluation --claim c17", "c17 cannot be checked: "),
    ] {
        place.refused(line, &[part]);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn the_lab_can_do_all_that_is_planned_for_it() {
    let text = Place::new().stdout("repro --backend lab --dry-run");
    assert!(text.contains("coupled-cubic/fig5: left out: a guest is too slow"), "{text}");
    assert!(text.contains("coupled-cubic/tab1: 20 runs, "), "one loss rate of six: {text}");
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_lab_cannot_do_is_said_before_the_first_run() {
    let place = place(true);
    let lossy = scenario().replacen("loss = \"0.5%\"", "drop-every = 65537", 1);
    place.write("small.toml", lossy);
    place.refused("repro little.toml --backend lab --runs runs", &["small.toml:13", "drop-every", "65535"]);
    assert!(!place.at("runs").exists());
}
