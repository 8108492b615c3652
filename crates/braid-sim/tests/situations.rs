//! Each algorithm in three short situations: as a table for reviewers, `snapshots/situations__NAME.snap`, and the third as
//! the plot on the algorithm's page, `algorithms/plots/NAME.svg`.

mod common;

use std::fmt::Write as _;

use braid_scenario::model::{Link, Loss, QueueLimit};
use common::{connection, link, run, scenario};
use plotters::prelude::*;

const SECONDS: usize = 30;
/// Times when the second path fails and recovers.
const FAILS_NS: (u64, u64) = (10_000_000_000, 16_000_000_000);

/// Two paths of 10 Mbit/s and 20 ms round trip with a queue of 20 packets each, for one connection with a subflow on
/// each.
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

/// Plot of both windows (packets, every 100 ms) in the situation where the second path fails.
fn plot(algorithm: &str) -> Result<String, Box<dyn std::error::Error>> {
    let [.., (_, links)] = situations();
    let flows = vec![connection("mp0", None, &[&[0], &[1]])];
    let result = run(&scenario(SECONDS as f64 + 0.5, links.to_vec(), flows), algorithm, 1);
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (640, 240)).into_drawing_area();
        let grey = RGBColor(128, 128, 128);
        let font = ("sans-serif", 13).into_font().color(&grey);
        let mut chart = ChartBuilder::on(&area)
            .margin(10)
            .x_label_area_size(35)
            .y_label_area_size(45)
            .build_cartesian_2d(0.0..SECONDS as f64, 0.0..60.0)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_labels(7)
            .y_labels(4)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.0}"))
            .x_desc("s")
            .y_desc("packets")
            .axis_style(grey)
            .label_style(font.clone())
            .axis_desc_style(font)
            .draw()?;
        let colors = [RGBColor(38, 104, 188), RGBColor(204, 98, 22)];
        for (subflow, color) in result.connections[0].subflows.iter().zip(colors) {
            let tenths = (0..).map(|tenth| f64::from(tenth) / 10.0);
            let points = tenths.zip(subflow.cwnd_samples.iter().map(|&cwnd| f64::from(cwnd)));
            let points = points.filter(|point| point.0 <= SECONDS as f64);
            chart.draw_series(LineSeries::new(points, color.stroke_width(1)))?;
        }
        area.present()?;
    }
    Ok(svg)
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
fn every_algorithm_does_in_three_situations_what_its_reviewed_table_and_its_plot_say() {
    for algorithm in braid_algorithms::all() {
        let name = algorithm.name();
        insta::assert_snapshot!(name, table(name));
        braid_testing::golden(&format!("algorithms/plots/{name}.svg"), &plot(name).unwrap());
    }
    for folder in ["crates/braid-sim/tests/snapshots", "algorithms/plots"] {
        for entry in std::fs::read_dir(braid_testing::root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().trim_start_matches("situations__");
            assert!(braid_algorithms::find(name).is_some(), "{}: there is no such algorithm", path.display());
        }
    }
}
