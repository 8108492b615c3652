//! `braid sweep`: every point once, whatever happens on the way.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::Field;

use braid_testing::{Place, json};

const GRID: &str = r#"
scenarios = ["small.toml"]
cc = ["lia", "cubic:beta=$beta"]
seeds = 2
set = ["duration=1s"]

[parameters.rate]
set = "link.b1.rate"
values = ["3mbit", "5mbit"]

[parameters.beta]
from = 0.6
to = 0.8
steps = 3
"#;

/// Every file below a folder but those of the way there, by path.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                all.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[test]
fn every_point_is_run_once_and_has_columns_for_its_parameters() {
    let place = Place::new();
    place.write("grid.toml", GRID);
    assert_eq!(place.stdout("sweep grid.toml --out results --quiet"), "16 runs, 0 failed\n");
    let names: Vec<String> = tree(&place.at("results")).into_keys().collect();
    let mut expected = ["manifest.json", "runs.store", "sweep.txt"].map(str::to_owned).to_vec();
    for table in ["flows", "links", "runs"] {
        expected.extend(
            ["cubic", "lia"].map(|cc| format!("{table}/scenario=small.toml/algorithm={cc}/data.parquet")),
        );
    }
    expected.sort();
    assert_eq!(names, expected);

    let rows = |cc: &str| {
        let path = place.path().join(format!("results/runs/scenario=small.toml/algorithm={cc}/data.parquet"));
        let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        rows
    };
    let of = |row: &parquet::record::Row, name: &str| {
        row.get_column_iter().find(|(column, _)| *column == name).map(|(_, field)| field.clone()).expect(name)
    };
    let lia = rows("lia");
    assert_eq!(lia.len(), 2 * 2);
    assert_eq!((of(&lia[0], "rate"), of(&lia[0], "beta")), (Field::Str("3mbit".to_owned()), Field::Null));
    let cubic = rows("cubic");
    assert_eq!(cubic.len(), 2 * 3 * 2);
    let betas: Vec<Field> = cubic.iter().take(6).step_by(2).map(|row| of(row, "beta")).collect();
    assert_eq!(betas, [0.6, 0.7, 0.8].map(Field::Double));
    assert_eq!(of(&cubic[0], "cc"), Field::Str("cubic:beta=0.6".to_owned()));

    assert_eq!(
        place.stdout("sweep grid.toml --out results --quiet"),
        "16 runs, 0 failed\n",
        "nothing is run again"
    );
    // More values and seeds run what is missing.
    let more = GRID.replace("\"5mbit\"", "\"5mbit\", \"9mbit\"").replace("seeds = 2", "seeds = 3");
    place.write("grid.toml", &more);
    place.stdout("sweep grid.toml --out results --quiet");
    place.stdout("sweep grid.toml --out fresh --quiet");
    assert!(tree(&place.at("results")) == tree(&place.at("fresh")));
    place.write("grid.toml", GRID.replace("5mbit", "6mbit"));
    place.refused("sweep grid.toml --out results", &["the results of other runs", "nothing was overwritten"]);
    let plan = place.stdout("sweep grid.toml --out nowhere --dry-run");
    assert!(plan.contains("rate=6mbit beta=0.7  1 s  cc cubic"), "{plan}");
    assert!(!place.at("nowhere").exists());
}

#[test]
fn its_report_opens_with_the_swept_parameter_and_a_line_for_each_algorithm() {
    let place = Place::new();
    place.write("grid.toml", GRID);
    place.stdout("sweep grid.toml --out results --quiet --report page.html");
    let page = place.read("page.html");
    assert!(page.find("id=\"chart\"").unwrap() < page.find("<table").unwrap());
    let data = page.split("id=\"data\" type=\"application/json\">").nth(1).unwrap();
    let data = json(data.split("</script>").next().unwrap());
    assert_eq!(data["lines"], serde_json::json!(["lia", "cubic:beta=$beta"]));
    assert_eq!(data["axes"][0]["numbers"], serde_json::json!([3.0, 5.0]));
    let scenario = &data["scenarios"][0];
    assert_eq!(scenario["figures"][0], "mp0: goodput, Mbit/s");
    // LIA at 3 Mbit/s, beside what the table of the folder says of its two seeds.
    let point = &scenario["points"][0];
    assert_eq!((&point["line"], &point["at"]), (&serde_json::json!(0), &serde_json::json!([0, null])));
    let file = place.at("results/flows/scenario=small.toml/algorithm=lia/data.parquet");
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let of = |row: &parquet::record::Row, name: &str| {
        row.get_column_iter().find(|(column, _)| *column == name).map(|(_, field)| field.clone()).unwrap()
    };
    let mut goodput = std::collections::BTreeMap::new();
    for row in reader.get_row_iter(None).unwrap().map(Result::unwrap) {
        let here = [of(&row, "connection"), of(&row, "rate")]
            == ["mp0", "3mbit"].map(|text| Field::Str(text.into()));
        if let (true, Field::Double(bps), Field::ULong(seed)) =
            (here, of(&row, "goodput_bps"), of(&row, "seed"))
        {
            goodput.insert(seed, bps / 1e6);
        }
    }
    assert_eq!(goodput.len(), 2);
    let [a, b] = [goodput[&1], goodput[&2]];
    let (mean, half) = (f64::midpoint(a, b), 12.706_204_736 * (a - b).abs() / 2.0);
    assert!((point["means"][0][0].as_f64().unwrap() - mean).abs() < 1e-9, "{point} {mean}");
    assert!((point["means"][0][1].as_f64().unwrap() - half).abs() < 1e-6, "{point} {half}");

    // Of a folder that is complete, too; and over nothing but a report.
    place.stdout("sweep grid.toml --out results --quiet --report again.html");
    assert_eq!(place.read("again.html"), page);
    place.write("notes.txt", "mine");
    place.refused("sweep grid.toml --out results --report notes.txt", &["notes.txt is not a report", "hint"]);
}

#[cfg(unix)]
#[test]
fn a_sweep_that_is_killed_goes_on_where_it_was_and_ends_the_same() {
    use std::time::Duration;

    let place = Place::new();
    place.write("grid.toml", GRID.replace("seeds = 2", "seeds = 150").replace("duration=1s", "duration=20s"));
    place.stdout("sweep grid.toml --out undisturbed --quiet");
    let kept = || fs::read_dir(place.at("killed/unfinished")).map_or(0, Iterator::count);
    for attempt in 1..=5 {
        let before = kept();
        let mut child = place.start("sweep grid.toml --out killed --quiet --jobs 1");
        // As soon as more runs are on the disk, however fast the machine is.
        while kept() == before && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(kept() > before, "killed with runs on the disk, attempt {attempt}");
    }
    place.stdout("sweep grid.toml --out killed --quiet");
    assert!(tree(&place.at("killed")) == tree(&place.at("undisturbed")));
}

#[cfg(unix)]
#[test]
fn a_failed_run_is_recorded_with_its_reason_and_the_rest_goes_on() {
    let place = Place::new();
    place.stdout("new algorithm mine");
    let good = place.read("mine.c");
    let bad = "\tif (params->gain > 1024)\n\t\t*(volatile u32 *)(64ull * self->cwnd) = 1;\n";
    place.write("mine.c", good.replace("\tpriv->carry = 0;\n", bad));
    let grid = "scenarios = [\"small.toml\"]\ncc = [\"lia\", \"mine:gain=$gain\"]\nalgorithms = [\"mine.c\"]\n\
                [parameters.gain]\nvalues = [0.5, 1, 2]\n";
    place.write("grid.toml", grid);
    let output = place.output("sweep grid.toml --out results --quiet");
    let (said, message) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(said.starts_with("4 runs, 1 failed\nthe first: small.toml gain=2 --cc mine:gain=2"), "{said}");
    assert!(message.contains("the algorithm crashed"), "{message}");
    assert!(place.at("results/runs/scenario=small.toml/algorithm=mine/data.parquet").exists());
}

#[test]
fn what_is_wrong_with_a_grid_is_told() {
    let place = Place::new();
    place.refused("sweep nowhere.toml --out results", &["cannot read nowhere.toml", "docs/sweeps.md"]);
    for (from, to, pieces) in [
        ("link.b1.rate", "link.b1.rat", &["link.b1.rat=3mbit", "did you mean \"rate\""][..]),
        ("\"lia\"", "\"lai\"", &["no algorithm is called `lai`"]),
        ("$beta", "$bta", &["there is no parameter \"bta\""]),
        ("seeds = 2", "seeds = 0", &["grid.toml: seeds: ", "0..0"]),
        ("small.toml", "smal.toml", &["smal.toml: no such file"]),
    ] {
        place.write("grid.toml", GRID.replace(from, to));
        place.refused("sweep grid.toml --out results", pieces);
    }
}
