//! What each algorithm does in three short situations, as tables that a reviewer can read: `golden/situations/NAME.tsv`.

mod common;

use std::{fmt::Write as _, fs, path::Path};

use braid_scenario::model::{Link, Loss, QueueLimit};
use common::{connection, link, run, scenario};

const SECONDS: usize = 30;
/// When the second path fails and when it works again.
const FAILS_NS: (u64, u64) = (10_000_000_000, 16_000_000_000);

/// Two paths of 10 Mbit/s and 20 ms round trip with 20 packets of queue, for one connection with a subflow on each.
fn situations() -> [(&'static str, [Link; 2]); 3] {
    let equal = ["b1", "b2"].map(|name| {
        let mut path = link(name, 10.0, 10.0);
        path.forward.queue = QueueLimit::Packets(20);
        path
    });
    let mut loss = equal.clone();
    loss[0].forward.loss = Loss::Bernoulli(0.002);
    let mut failure = equal.clone();
    failure[1].forward.outages = vec![FAILS_NS];
    failure[1].reverse.outages = vec![FAILS_NS];
    [("equal", equal), ("loss", loss), ("failure", failure)]
}

/// cwnd of both subflows once a second, in each situation.
fn table(algorithm: &str) -> String {
    let mut header = String::from("second");
    let mut rows = vec![String::new(); SECONDS];
    for (name, links) in situations() {
        let flows = vec![connection("mp0", None, &[&[0], &[1]])];
        let result = run(&scenario(SECONDS as f64 + 0.5, links.to_vec(), flows), algorithm, 1);
        for (index, subflow) in result.connections[0].subflows.iter().enumerate() {
            write!(header, "\t{name}.sf{}", index + 1).unwrap();
            for (second, row) in (1..).zip(&mut rows) {
                write!(row, "\t{}", subflow.cwnd_samples[10 * second]).unwrap();
            }
        }
    }
    (1..).zip(rows).fold(header, |table, (second, row)| format!("{table}\n{second}{row}")) + "\n"
}

#[test]
fn every_algorithm_does_in_three_situations_what_its_reviewed_table_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/situations");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(&folder).unwrap();
    }
    let mut changed = Vec::new();
    for algorithm in braid_algorithms::all() {
        let path = folder.join(format!("{}.tsv", algorithm.name()));
        let table = table(algorithm.name());
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &table).unwrap();
        }
        if fs::read_to_string(&path).unwrap_or_default() != table {
            changed.push(algorithm.name());
        }
    }
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        assert!(braid_algorithms::find(name).is_some(), "{}: there is no such algorithm", path.display());
    }
    assert!(
        changed.is_empty(),
        "{changed:?}: new, or their windows changed; read the difference after \
         `UPDATE_GOLDEN=1 cargo test -p braid-sim --test situations`"
    );
}
