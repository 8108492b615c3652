//! Labels of shared bottlenecks below throughput, second by second, with the truth.

use braid_draw::chart::{Scale, line, px};
use braid_results::claims::{ExperimentResult, Strip, StripSubflow};
use maud::{Markup, html};

use super::page::Page;
use super::plot::{LABEL, RIGHT, WIDTH};
use crate::figure::number;

/// Heights of a subflow's parts, and the space below it.
const LINE: f64 = 42.0;
const BAND: f64 = 12.0;
const GAP: f64 = 14.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 40.0;

/// For the experiment's first seed; nothing for experiments without detection.
pub(super) fn section(page: &Page, experiment: &ExperimentResult) -> Markup {
    let strips: Vec<&Strip> =
        page.result.strips.iter().filter(|strip| strip.experiment == experiment.id).collect();
    html! {
        @if let Some((first, others)) = strips.split_first() {
            (figure(first))
            @if !others.is_empty() {
                details {
                    summary { "The same with " (others.iter().map(|strip| name(strip)).collect::<Vec<_>>().join(", ")) }
                    @for strip in others { (figure(strip)) }
                }
            }
        }
    }
}

fn name(strip: &Strip) -> String {
    let parameters = strip.parameters.iter().map(|(name, value)| format!(", {name} {value}"));
    strip.algorithm.clone() + &parameters.collect::<String>()
}

fn figure(strip: &Strip) -> Markup {
    html! {
        figure.chart {
            figcaption {
                h5 { "Detection over time: " (name(strip)) }
                span.note { "seed " (strip.seed) "; throughput, below it the detector\u{2019}s label and the truth" }
            }
            (drawing(strip))
        }
    }
}

fn drawing(strip: &Strip) -> Markup {
    let seconds = strip.subflows.iter().map(|own| own.said_percent.len()).max().unwrap_or(0);
    let all = strip.subflows.iter().flat_map(|own| &own.throughput_mbps);
    let most = all.copied().fold(0.0, f64::max).max(0.1);
    let scale = Scale::new([0.0, seconds.max(1) as f64], [LABEL, WIDTH - RIGHT]);
    let x = |second: f64| scale.at(second);
    let each = LINE + 2.0 * BAND + GAP;
    let bottom = TOP + each * strip.subflows.len() as f64 - GAP + 4.0;
    let legend = bottom + 32.0;
    html! {
        div.drawing tabindex="0" role="group" aria-label={ "Detection over time with " (name(strip)) } {
            svg.plot.strip viewBox={ "0 0 " (WIDTH) " " (px(bottom + BOTTOM)) } width=(WIDTH) role="img"
                aria-label={ (strip.subflows.len()) " subflows: throughput, what the detector said, and the truth" } {
                (scale.columns([0.0, bottom], " s"))
                @for (nth, subflow) in strip.subflows.iter().enumerate() {
                    @let top = TOP + each * nth as f64;
                    @let said = top + LINE + 1.0;
                    text x=(LABEL - 10.0) y=(px(top + 12.0)) text-anchor="end" { (subflow.subflow) }
                    text.tick x=(LABEL - 10.0) y=(px(top + 27.0)) text-anchor="end" { "up to " (number(most, 1)) " Mbit/s" }
                    text.tick x=(LABEL - 10.0) y=(px(said + BAND - 2.5)) text-anchor="end" { "label" }
                    text.tick x=(LABEL - 10.0) y=(px(said + 2.0 * BAND - 1.5)) text-anchor="end" { "truth" }
                    path.rate d=(line(rates(subflow).map(|(second, mbps)| (x(second), top + LINE * (1.0 - mbps / most))))) {}
                    @for (from, to, percent) in said_of(subflow) {
                        rect.said x=(px(x(from as f64))) y=(px(said)) width=(px(x(to as f64) - x(from as f64))) height=(BAND - 1.0)
                            fill-opacity=(number(opacity(percent), 2)) {}
                    }
                    @for stretch in &subflow.truth {
                        rect.truth.own[!stretch.shared] x=(px(x(stretch.from_s))) y=(px(said + BAND))
                            width=(px(x(stretch.to_s) - x(stretch.from_s))) height=(BAND - 2.0) {}
                    }
                }
                rect.said x=(LABEL) y=(px(legend - 9.0)) width="14" height="9" {}
                text x=(LABEL + 20.0) y=(px(legend)) { "label shared; paler: part of the second" }
                rect.truth x=(LABEL + 258.0) y=(px(legend - 9.0)) width="14" height="9" {}
                text x=(LABEL + 278.0) y=(px(legend)) { "shared" }
                rect.truth.own x=(LABEL + 334.0) y=(px(legend - 9.0)) width="14" height="9" {}
                text x=(LABEL + 354.0) y=(px(legend)) { "own" }
            }
        }
    }
}

/// Short labels stay visible.
fn opacity(percent: u8) -> f64 {
    0.2 + 0.8 * f64::from(percent) / 100.0
}

/// Mbit/s at the middle of each second.
fn rates(subflow: &StripSubflow) -> impl Iterator<Item = (f64, f64)> {
    subflow.throughput_mbps.iter().enumerate().map(|(second, &mbps)| (second as f64 + 0.5, mbps))
}

/// Seconds with the label "shared": from, to and percent; equal ones joined.
fn said_of(subflow: &StripSubflow) -> Vec<(usize, usize, u8)> {
    let mut times: Vec<(usize, usize, u8)> = Vec::new();
    for (second, &percent) in subflow.said_percent.iter().enumerate() {
        match times.last_mut() {
            Some((_, until, same)) if *same == percent && *until == second => *until += 1,
            _ if percent > 0 => times.push((second, second + 1, percent)),
            _ => {}
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seconds_are_one_piece_and_those_without_a_label_are_none() {
        let subflow = StripSubflow {
            subflow: "mp0.sf0".to_owned(),
            truth: Vec::new(),
            said_percent: vec![0, 100, 100, 40, 0, 0, 40],
            throughput_mbps: Vec::new(),
        };
        assert_eq!(said_of(&subflow), [(1, 3, 100), (3, 4, 40), (6, 7, 40)]);
    }
}
