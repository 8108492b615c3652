//! Labels of shared-bottleneck detectors, compared with the truth.

use std::collections::BTreeMap;

use braid_results::Detection;
use braid_results::statistics::mean;
use maud::{Markup, html};

use super::report::Part;
use crate::figure::number;

/// Labels of the subflows at one bottleneck while it was shared, or while it was not; all runs of one cell and
/// congestion control.
#[derive(Default)]
struct Tally {
    lasts_s: f64,
    /// Seconds times percent.
    accuracy: f64,
    group_accuracy: f64,
    changes: usize,
    first_right_ms: Vec<f64>,
    never: usize,
}

impl Tally {
    fn add(&mut self, detection: &Detection) {
        let lasts_s = detection.lasts_s();
        self.lasts_s += lasts_s;
        self.accuracy += lasts_s * detection.accuracy_percent;
        self.group_accuracy += lasts_s * detection.group_accuracy_percent;
        self.changes += detection.changes;
        self.first_right_ms.extend(detection.first_right_ms);
        self.never += usize::from(detection.first_right_ms.is_none());
    }

    fn mean(&self, sum: f64) -> String {
        number(sum / self.lasts_s, 1)
    }

    fn first_right(&self) -> String {
        mean(&self.first_right_ms).map_or("never".into(), |ms| number(ms, 0))
    }
}

/// A table, or nothing without a detector.
pub(super) fn table(part: &Part) -> Markup {
    let parameters = part.table.varying();
    let mut tallies: BTreeMap<(usize, usize, &str, bool), Tally> = BTreeMap::new();
    for (nth, group) in part.groups().iter().enumerate() {
        for detection in group.runs.iter().flat_map(|run| &run.detections) {
            let key = (group.cell, nth, detection.bottleneck.as_str(), detection.shared);
            tallies.entry(key).or_default().add(detection);
        }
    }
    let groups = part.groups();
    let caption = "Shared bottlenecks: detectors' labels and the truth";
    html! {
        @if !tallies.is_empty() {
            div.wide tabindex="0" role="region" aria-label=(caption) {
                table {
                    caption { (caption) }
                    thead {
                        tr {
                            @for name in &parameters { th scope="col" { (name) } }
                            th scope="col" { (part.table.naming()) }
                            th scope="col" { "bottleneck" }
                            th scope="col" { "truth" }
                            @for (what, unit) in [
                                ("label right", "% of the time"), ("group right", "% of the time"),
                                ("first right", "after ms"), ("never right", "times"), ("changes", "per minute"),
                            ] {
                                th.number scope="col" { (what) br; span.unit { (unit) } }
                            }
                        }
                    }
                    tbody {
                        @for ((cell, nth, bottleneck, shared), tally) in &tallies {
                            tr {
                                @for name in &parameters {
                                    td { (part.cells()[*cell].scenario.parameters.get(*name).map_or("", String::as_str)) }
                                }
                                th scope="row" { (groups[*nth].name) }
                                td { (bottleneck) }
                                td { @if *shared { "shared" } @else { "own" } }
                                td.number { (tally.mean(tally.accuracy)) }
                                td.number { (tally.mean(tally.group_accuracy)) }
                                td.number { (tally.first_right()) }
                                td.number { (tally.never) }
                                td.number { (number(60.0 * tally.changes as f64 / tally.lasts_s, 1)) }
                            }
                        }
                    }
                }
            }
            p.note {
                "The bottleneck is the slowest link of a subflow\u{2019}s current route. It is shared if it is also \
                 the bottleneck of another subflow of the connection. Means over those subflows and all seeds."
            }
        }
    }
}
