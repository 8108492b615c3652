//! Results as CSV and Parquet, and the manual's description of their columns.

use std::fmt::Write as _;

use braid_results::Run;
use braid_results::table::{self, FLOWS, Kind, LINKS, RUNS, TABLES, Table, Value};
use braid_scenario::model::Scenario;

mod common;

use common::{TWO_PATHS, run, scenario};

/// Two successful runs and one failed run.
fn three(scenario: &Scenario) -> Vec<Run> {
    (1..=3).map(|seed| run(scenario, seed)).collect()
}

#[test]
fn csv_is_as_agreed() {
    let runs = three(&scenario(TWO_PATHS));
    let csv = FLOWS.to_csv(&table::flows(&runs));
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines.last(), Some(&""), "each line has its end");
    assert!(lines[..lines.len() - 1].iter().all(|line| !line.is_empty() && !line.contains(['\r', '\n'])));
    insta::assert_snapshot!(csv);
}

#[test]
fn csv_read_by_a_library_gives_back_every_value() {
    let scenario = scenario(TWO_PATHS);
    let mut runs = three(&scenario);
    runs[0].scenario = "a \"quoted\", name\r\nof two lines".to_owned();
    for (table, rows) in
        [(RUNS, table::runs(&runs)), (FLOWS, table::flows(&runs)), (LINKS, table::links(&runs))]
    {
        let text = table.to_csv(&rows);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let headings: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        assert!(headings.iter().map(String::as_str).eq(table.columns().map(|column| column.name)));
        let records: Vec<csv::StringRecord> = reader.records().collect::<Result<_, _>>().unwrap();
        assert_eq!(records.len(), rows.len());
        for (record, row) in records.iter().zip(&rows) {
            for (field, column) in record.iter().zip(table.columns()) {
                let value = match (field, column.kind) {
                    ("", _) => Value::Null,
                    (text, Kind::Text) => text.into(),
                    (text, Kind::Bool) => Value::Bool(text.parse().unwrap()),
                    (text, Kind::Integer) => Value::Integer(text.parse().unwrap()),
                    (text, Kind::Unsigned) => Value::Unsigned(text.parse().unwrap()),
                    (text, Kind::Real) => Value::Real(text.parse().unwrap()),
                };
                assert_eq!(value, column.value(row), "{}", column.name);
            }
        }
    }
}

#[test]
fn a_flow_has_the_figures_of_the_document() {
    let runs = three(&scenario(TWO_PATHS));
    let rows = table::flows(&runs);
    assert_eq!(rows.len(), 3 + 3 + 1, "three flows in each run that went well, one row for the other");
    let value = |row: usize, name: &str| {
        FLOWS.columns().find(|column| column.name == name).unwrap().value(&rows[row])
    };
    let second = &runs[1].connections[0].subflows[1];
    assert_eq!(value(4, "run"), Value::Integer(1));
    assert_eq!(value(4, "seed"), Value::Unsigned(2));
    assert_eq!(value(4, "subflow"), "sf2".into());
    assert_eq!(value(4, "throughput_bps"), Value::Real(second.throughput_bps));
    assert_eq!(value(4, "cwnd_p95"), Value::Integer(19));
    let shares = &runs[1].metrics.share_of_expected_percent;
    assert_eq!(value(4, "share_of_expected_percent"), shares["mp0.sf2"].into());
    assert_eq!(value(5, "share_of_expected_percent"), shares["bg0"].into());
    assert_eq!(value(5, "connection_benefit"), Value::Null, "that of a TCP connection");
    assert_eq!(value(6, "status"), "panic: unlucky".into());
    assert_eq!(value(6, "connection"), Value::Null);
}

/// One row a column: the tables in the manual. Columns of another table are named, not repeated.
fn manual(table: &Table) -> String {
    let (columns, flows): (Vec<_>, Vec<_>) = (table.columns().collect(), FLOWS.columns().collect());
    let of_run = 1 + RUNS.columns().position(|column| column.name == "status").unwrap();
    let has_run = table.columns().take(of_run).eq(RUNS.columns().take(of_run));
    let (text, columns) = if table.name == RUNS.name || !has_run {
        ("", &columns[..])
    } else if table.name != FLOWS.name && columns.ends_with(&flows[of_run..]) {
        (
            "Those of `flows`, with these after `status`:\n\n",
            &columns[of_run..columns.len() + of_run - flows.len()],
        )
    } else {
        ("Those of `runs` up to `status`, then:\n\n", &columns[of_run..])
    };
    let mut text = format!("{text}| column | type | unit | meaning |\n|---|---|---|---|\n");
    for column in columns {
        let kind = match column.kind {
            Kind::Text => "text",
            Kind::Bool => "bool",
            Kind::Integer => "int64",
            Kind::Unsigned => "uint64",
            Kind::Real => "double",
        };
        let null = if column.nullable { ", may be missing" } else { "" };
        writeln!(text, "| `{}` | {kind}{null} | {} | {} |", column.name, column.unit, column.meaning)
            .unwrap();
    }
    text
}

#[test]
fn the_manual_lists_every_column() {
    let mut text = braid_testing::read("docs/results.md");
    for table in TABLES {
        let heading = format!("### `{}`: a row is {}\n\n", table.name, table.row);
        let start = text.find(&heading).unwrap_or_else(|| panic!("no heading {heading}")) + heading.len();
        let end = start + text[start..].find("\n\n#").expect("a heading after the table") + 1;
        text.replace_range(start..end, &manual(table));
    }
    braid_testing::golden("docs/results.md", &text);
}

#[test]
fn names_of_columns_are_unique_and_lower_case() {
    for table in TABLES {
        let mut names: Vec<&str> = table.columns().map(|column| column.name).collect();
        for name in &names {
            assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'), "{name}");
        }
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{}: {names:?}", table.name);
    }
}

#[cfg(feature = "parquet")]
mod files {
    use super::*;
    use braid_results::measure::{LinkSample, Measurements, SubflowSample};
    use braid_results::parquet::Writer;
    use braid_results::table::{PERIODS, QUEUES, Row, SAMPLES};
    use braid_results::{Period, Setup};
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use std::io;

    use crate::common::measurements;

    fn file(table: &'static Table, rows: &[Row]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, table, "0.0.0").unwrap();
        // Two row groups if there are two rows or more.
        for rows in rows.chunks(rows.len().div_ceil(2).max(1)) {
            writer.write(rows).unwrap();
        }
        writer.finish().unwrap();
        bytes
    }

    /// Asserts that the library reads the rows' values from the file, each with its name and type.
    fn reads_back(table: &'static Table, rows: &[Row]) {
        let reader = SerializedFileReader::new(bytes::Bytes::from(file(table, rows))).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), rows.len() as i64);
        let mut read = 0;
        for (found, row) in reader.get_row_iter(None).unwrap().zip(rows) {
            let found = found.unwrap();
            assert_eq!(found.len(), table.columns().count());
            for ((name, field), column) in found.get_column_iter().zip(table.columns()) {
                let value = match field {
                    Field::Null => Value::Null,
                    Field::Str(text) => text.as_str().into(),
                    Field::Bool(value) => Value::Bool(*value),
                    Field::Long(value) => Value::Integer(*value),
                    Field::ULong(value) => Value::Unsigned(*value),
                    Field::Double(value) => Value::Real(*value),
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!((name.as_str(), value), (column.name, column.value(row)));
            }
            read += 1;
        }
        assert_eq!(read, rows.len());
    }

    /// Measurements with samples, all of different values.
    fn sampled(seed: u64) -> Measurements {
        let mut counts = measurements(seed);
        for (index, subflow) in counts.connections.iter_mut().flat_map(|c| &mut c.subflows).enumerate() {
            subflow.samples = (0..50)
                .map(|step| SubflowSample {
                    time_ns: step * 100_000_000,
                    cwnd: (10 + step) as u32,
                    ssthresh: (step > 5).then_some(7 + index as u32),
                    srtt_us: (step > 0).then_some(20_123 + step as u32),
                    in_flight: (9 + step) as u32,
                    received_bytes: step * 1_500_000_000 + seed,
                    retransmissions: step / 10,
                    ..SubflowSample::default()
                })
                .collect();
        }
        for link in &mut counts.links {
            link.samples = (0..50)
                .map(|step| LinkSample {
                    time_ns: step * 100_000_000,
                    queue_packets: step as u32 % 20,
                    drops_queue: step,
                })
                .collect();
        }
        counts
    }

    #[test]
    fn parquet_read_by_a_library_gives_back_every_value() {
        let scenario = scenario(TWO_PATHS);
        let mut runs = three(&scenario);
        runs[1].seed = u64::MAX;
        reads_back(&RUNS, &table::runs(&runs));
        reads_back(&FLOWS, &table::flows(&runs));
        reads_back(&LINKS, &table::links(&runs));
        for run in &mut runs {
            let (connections, links) = (run.connections.clone(), run.links.clone());
            let period = Period {
                id: "1s..2s".into(),
                from_s: 1.0,
                to_s: 2.0,
                connections,
                links,
                metrics: run.metrics.clone(),
            };
            run.periods = vec![period.clone(), Period { id: "2s..3s".into(), ..period }];
        }
        assert_eq!(table::periods(&runs).len(), 2 * (3 + 3));
        reads_back(&PERIODS, &table::periods(&runs));
        let setup = Setup { scenario: &scenario, backend: "sim", cc: "lia", scheduler: "minrtt", seed: 4 };
        let counts = sampled(4);
        let run = setup.measured(&counts);
        let samples = table::samples(7, &run, &counts);
        assert_eq!(samples.len(), 3 * 50);
        reads_back(&SAMPLES, &samples);
        let queues = table::queues(7, &run, &counts);
        assert_eq!(queues.len(), 2 * 50);
        reads_back(&QUEUES, &queues);
    }

    #[test]
    fn no_rows_are_a_file_too() {
        for table in TABLES {
            reads_back(table, &[]);
        }
    }

    #[test]
    fn the_same_rows_give_the_same_bytes() {
        let scenario = scenario(TWO_PATHS);
        let once = || file(&FLOWS, &table::flows(&three(&scenario)));
        assert_eq!(once(), once());
        let mut other = three(&scenario);
        other[0].connections[0].subflows[0].undos = Some(2);
        assert_ne!(once(), file(&FLOWS, &table::flows(&other)));
    }

    /// A disk with room for this many bytes.
    struct Full(usize);

    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_full_disk_is_told_from_other_errors_wherever_it_fills() {
        let scenario = scenario(TWO_PATHS);
        let runs = three(&scenario);
        let rows = table::flows(&runs);
        let write = |room: usize| {
            let mut disk = Full(room);
            let mut writer = Writer::new(&mut disk, &FLOWS, "0.0.0")?;
            writer.write(&rows)?;
            writer.finish().map(|()| disk.0)
        };
        let size = usize::MAX - write(usize::MAX).unwrap();
        assert_eq!(write(size).unwrap(), 0);
        for room in (0..size).step_by(97) {
            let kind = write(room).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::StorageFull, "room for {room} of {size} bytes");
        }
    }
}
