//! Time series of two runs in one chart, as SVG.

use braid_draw::chart::{Scale, line, px};
use maud::{Markup, PreEscaped, html};

/// A quantity over time.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Subject, quantity and unit.
    pub title: String,
    /// Lines with labels and points (seconds, value), ascending in time; the first is drawn below the others.
    pub lines: Vec<(String, Vec<(f64, f64)>)>,
}

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 944.0;
/// Room above a panel's axes, and below.
const TOP: f64 = 28.0;
const BOTTOM: f64 = 26.0;
/// Blue and orange of Okabe and Ito, distinguishable by colour-blind people; readable on white and on black.
const COLOURS: [&str; 2] = ["#0072b2", "#e69f00"];
const STYLE: &str = "text{fill:#777}.grid{stroke:#777;stroke-opacity:.25}.line{fill:none;stroke-opacity:.85}";

/// The panels, one below the other.
pub fn svg(title: &str, panels: &[Panel]) -> String {
    let height = 24.0 + HEIGHT * panels.len() as f64;
    let svg = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox={ "0 0 " (WIDTH) " " (height) } role="img" font-family="sans-serif"
            font-size="12" {
            title { (title) }
            style { (PreEscaped(STYLE)) }
            text x=(LEFT) y="16" font-weight="bold" { (title) }
            @for (number, panel) in panels.iter().enumerate() { (draw(panel, 24.0 + HEIGHT * number as f64)) }
        }
    };
    svg.into_string() + "\n"
}

fn draw(panel: &Panel, top: f64) -> Markup {
    let points = || panel.lines.iter().flat_map(|(_, points)| points);
    let end = points().map(|point| point.0).fold(0.0, f64::max).max(1e-9);
    let most = points().map(|point| point.1).fold(0.0, f64::max).max(1e-9);
    let (high, low) = (top + TOP, top + HEIGHT - BOTTOM);
    let x = Scale::new([0.0, end], [LEFT, RIGHT]);
    let y = Scale::new([0.0, most], [low, high]);
    html! {
        text x=(LEFT) y=(px(top + 18.0)) { (panel.title) }
        (y.rows([LEFT, RIGHT]))
        (x.columns([high, low], " s"))
        @for (number, (label, points)) in panel.lines.iter().enumerate() {
            @let colour = COLOURS[number % COLOURS.len()];
            @let place = RIGHT - 90.0 * (panel.lines.len() - number) as f64;
            path d={ "M" (px(place)) " " (px(top + 14.0)) "h18" } stroke=(colour) stroke-width="2" {}
            text x=(px(place + 22.0)) y=(px(top + 18.0)) { (label) }
            path.line d=(line(points.iter().map(|&(time, value)| (x.at(time), y.at(value))))) stroke=(colour)
                stroke-width="1.2" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_the_lower_left_to_the_upper_right() {
        let lines = vec![("sim".to_owned(), vec![(0.0, 0.0), (10.0, 20.0)]), ("a<b".to_owned(), vec![])];
        let text = svg("t & u", &[Panel { title: "cwnd".into(), lines }]);
        // Bottom: 24 + 200 - 26; top: 24 + 28; left 56; right 944.
        assert!(text.contains("M56.0 198.0L944.0 52.0"), "{text}");
        assert!(text.contains("<title>t &amp; u</title>") && text.contains("a&lt;b"), "{text}");
    }
}
