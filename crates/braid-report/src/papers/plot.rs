//! Dots, diamonds and scatters as SVG, readable without script.

use braid_draw::chart::{Scale, px};
use braid_results::claims::{Condition, Estimate, Metric, TableResult};
use maud::{Markup, html};

use super::page::Page;

pub(super) const WIDTH: f64 = 720.0;
pub(super) const LABEL: f64 = 250.0;
pub(super) const RIGHT: f64 = 24.0;
const ROW: f64 = 17.0;
const TOP: f64 = 6.0;
const BOTTOM: f64 = 34.0;

/// A cell of a scatter: published, measured, and whether they agree.
type ScatterCell = (f64, Estimate, bool);

/// A line of a dot plot.
struct DotLine {
    label: String,
    measured: Option<Estimate>,
    /// The paper's figure, or the right side.
    other: Option<Estimate>,
    kernel: Option<Estimate>,
    /// Begins a new group.
    gap: bool,
}

fn point(mean: f64) -> Estimate {
    Estimate { n: 1, mean, ci95: None }
}

/// Published and measured cells of a table, one line each.
pub(super) fn table(table: &TableResult, kernel: Option<&TableResult>) -> Markup {
    let mut before: Option<String> = None;
    let rows: Vec<DotLine> = table
        .cells
        .iter()
        .enumerate()
        .map(|(place, cell)| {
            let text = |axes: &[String]| {
                let values = axes.iter().filter_map(|axis| cell.at.get(axis).map(String::as_str));
                values.collect::<Vec<_>>().join(" ")
            };
            let (row, column) = (text(&table.row_axes), text(&table.column_axes));
            let gap = before.as_ref().is_some_and(|before| *before != row);
            before = Some(row.clone());
            let doubt = if cell.doubt.is_some() { " (in doubt)" } else { "" };
            DotLine {
                label: format!("{row} {column}{doubt}").trim().to_owned(),
                measured: cell.measured,
                other: Some(point(cell.published)),
                kernel: kernel.and_then(|kernel| kernel.cells.get(place)?.measured),
                gap,
            }
        })
        .collect();
    dots(&rows, "published", "measured", table.metric.unit())
}

/// The sides of comparisons, one line each.
pub(super) fn conditions(conditions: &[&Condition]) -> Markup {
    let rows: Vec<DotLine> = conditions
        .iter()
        .filter(|condition| condition.a.is_some() && condition.b.is_some())
        .map(|condition| DotLine {
            label: condition.what.clone(),
            measured: condition.a,
            other: condition.b,
            kernel: None,
            gap: false,
        })
        .collect();
    html! { @if rows.len() > 1 { (dots(&rows, "right side", "left side", "")) } }
}

/// The ends of an axis for these ranges.
fn ends(ranges: impl Iterator<Item = [f64; 2]>) -> [f64; 2] {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for [from, to] in ranges.filter(|[from, _]| from.is_finite()) {
        (low, high) = (low.min(from), high.max(to));
    }
    // From zero, unless that would hide the differences.
    if low > 0.0 && low < 0.7 * high {
        low = 0.0;
    }
    if high <= low { [low - 0.5, low + 0.5] } else { [low, high + 0.03 * (high - low)] }
}

fn dots(rows: &[DotLine], other: &str, measured: &str, unit: &str) -> Markup {
    let all = rows.iter().flat_map(|row| [row.measured, row.other, row.kernel]).flatten();
    let ends = ends(all.map(|own| {
        let half = own.ci95.unwrap_or(0.0);
        [own.mean - half, own.mean + half]
    }));
    let scale = Scale::new(ends, [LABEL, WIDTH - RIGHT]);
    let x = |value: f64| scale.at(value);
    let mut places = Vec::new();
    let mut y = TOP + ROW / 2.0;
    for row in rows {
        if row.gap {
            y += 6.0;
        }
        places.push(y);
        y += ROW;
    }
    let bottom = y - ROW / 2.0 + 2.0;
    let with_kernel = rows.iter().any(|row| row.kernel.is_some());
    html! {
        div.drawing tabindex="0" role="group" aria-label={ "Chart of " (measured) " and " (other) } {
            svg.plot viewBox={ "0 0 " (WIDTH) " " (px(bottom + BOTTOM)) } width=(WIDTH) role="img"
                aria-label={ (rows.len()) " lines: " (measured) " as dots with intervals, " (other) " as diamonds" } {
                (scale.columns([0.0, bottom], ""))
                @for (row, y) in rows.iter().zip(&places) {
                    text x=(LABEL - 10.0) y=(px(y + 4.0)) text-anchor="end" { (cut(&row.label)) }
                    @if let (Some(a), Some(b)) = (row.measured, row.other) {
                        line.apart x1=(px(x(a.mean))) x2=(px(x(b.mean))) y1=(px(*y)) y2=(px(*y)) {}
                    }
                    @if let Some(b) = row.other { (interval(b, &x, *y, "other")) path.diamond d=(diamond(x(b.mean), *y)) {} }
                    @if let Some(a) = row.measured {
                        (interval(a, &x, *y, "measured"))
                        circle.dot cx=(px(x(a.mean))) cy=(px(*y)) r="4" {}
                    }
                    @if let Some(k) = row.kernel {
                        (interval(k, &x, *y, "kernel"))
                        rect.kernel x=(px(x(k.mean) - 3.5)) y=(px(y - 3.5)) width="7" height="7" {}
                    }
                }
                @let legend = bottom + 28.0;
                circle.dot cx=(LABEL + 4.0) cy=(px(legend - 4.0)) r="4" {}
                text x=(LABEL + 13.0) y=(px(legend)) { (measured) @if !unit.is_empty() { ", " (unit) } }
                path.diamond d=(diamond(LABEL + 154.0, legend - 4.0)) {}
                text x=(LABEL + 164.0) y=(px(legend)) { (other) }
                @if with_kernel {
                    rect.kernel x=(LABEL + 260.0) y=(px(legend - 7.5)) width="7" height="7" {}
                    text x=(LABEL + 273.0) y=(px(legend)) { "kernel" }
                }
            }
        }
    }
}

fn interval(estimate: Estimate, x: &dyn Fn(f64) -> f64, y: f64, of: &str) -> Markup {
    html! {
        @if let Some(half) = estimate.ci95.filter(|half| *half > 0.0) {
            line.interval.(of) x1=(px(x(estimate.mean - half))) x2=(px(x(estimate.mean + half))) y1=(px(y)) y2=(px(y)) {}
        }
    }
}

fn diamond(x: f64, y: f64) -> String {
    format!("M{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}Z", x - 5.0, y - 5.0, x + 5.0, y + 5.0)
}

/// A label that fits beside the chart; the table below has the full one.
fn cut(label: &str) -> String {
    const MOST: usize = 40;
    if label.chars().count() <= MOST {
        return label.to_owned();
    }
    label.chars().take(MOST - 1).chain(['\u{2026}']).collect()
}

/// All printed cells of the paper against measurements, a square plot for each metric.
pub(super) fn scatters(page: &Page) -> Markup {
    let mut metrics: Vec<Metric> = Vec::new();
    for table in &page.result.tables {
        if !metrics.contains(&table.metric) {
            metrics.push(table.metric);
        }
    }
    let squares: Vec<(Metric, Vec<ScatterCell>)> = metrics
        .into_iter()
        .map(|metric| {
            let cells = page
                .result
                .tables
                .iter()
                .filter(|table| table.metric == metric)
                .flat_map(|table| &table.cells);
            let points =
                cells.filter_map(|cell| Some((cell.published, cell.measured?, cell.agrees(metric)?)));
            (metric, points.collect())
        })
        .filter(|(_, points): &(Metric, Vec<_>)| points.len() > 2)
        .collect();
    html! {
        @if !squares.is_empty() {
            h3 { "Published against measured" }
            p.note { "Each printed cell that is not in doubt; on the diagonal they are equal. Filled: the cell agrees." }
            div.squares { @for (metric, points) in &squares { (square(*metric, points)) } }
        }
    }
}

fn square(metric: Metric, points: &[ScatterCell]) -> Markup {
    const SIDE: f64 = 250.0;
    const LEFT: f64 = 48.0;
    const TOP: f64 = 8.0;
    let values = || points.iter().flat_map(|(published, measured, _)| [*published, measured.mean]);
    let [low, high] = ends(values().map(|value| [value; 2]));
    let x = Scale::new([low, high], [LEFT, LEFT + SIDE]);
    let y = Scale::new([low, high], [TOP + SIDE, TOP]);
    let agree = points.iter().filter(|(.., agrees)| *agrees).count();
    let unit = if metric.unit().is_empty() { String::new() } else { format!(", {}", metric.unit()) };
    html! {
        figure.square {
            figcaption { b { (metric.text()) (unit) } br; span.note { (agree) " of " (points.len()) " cells agree" } }
            svg.plot viewBox={ "0 0 " (LEFT + SIDE + 10.0) " " (SIDE + 44.0) } role="img"
                aria-label={ (metric.text()) ": " (agree) " of " (points.len()) " cells agree with the paper" } {
                (x.columns([TOP, TOP + SIDE], ""))
                (y.rows([LEFT, LEFT + SIDE]))
                line.apart x1=(px(LEFT)) y1=(px(TOP + SIDE)) x2=(px(LEFT + SIDE)) y2=(px(TOP)) {}
                @for (published, measured, agrees) in points {
                    circle.dot.open[!agrees] cx=(px(x.at(*published))) cy=(px(y.at(measured.mean))) r="3.5" {}
                }
                text x=(px(LEFT + SIDE / 2.0)) y=(px(SIDE + 40.0)) text-anchor="middle" { "published" }
                text x=(px(LEFT + 4.0)) y="20" { "measured" }
            }
        }
    }
}
