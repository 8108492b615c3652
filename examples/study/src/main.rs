//! Compares two algorithms where both subflows of a connection pass one bottleneck, and prints a table: `cargo run`.

use braid_study::catalogue::Connection;
use braid_study::{Error, Study};

fn main() -> Result<(), Error> {
    let results =
        Study::new(["everyday/shared"]).set("duration=20s").algorithms(["cubic", "olia"]).seeds(2).run()?;
    for summary in results.summary() {
        let goodput = summary.get(&Connection::goodput_bps, "mp0").expect("it has this connection").mean;
        println!("{}: {:.1} Mbit/s of the 50", summary.cc, goodput / 1e6);
    }
    let columns = ["cc", "seed", "connection", "subflow", "throughput_bps"];
    let flows = results.flows();
    let places: Vec<usize> = columns.iter().filter_map(|name| flows.schema().index_of(name).ok()).collect();
    let table = flows.project(&places).expect("these columns are there");
    println!("{}", arrow_cast::pretty::pretty_format_batches(&[table]).expect("a table can be printed"));
    Ok(())
}
