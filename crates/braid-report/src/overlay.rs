//! Time series of two runs in one chart, as SVG.

use std::fmt::Write as _;

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
const RIGHT: f64 = 16.0;
const TOP: f64 = 28.0;
const BOTTOM: f64 = 26.0;
/// Blue and orange of Okabe and Ito, distinguishable by colour-blind people; readable on white and on black.
const COLOURS: [&str; 2] = ["#0072b2", "#e69f00"];

/// The panels, one below the other.
pub fn svg(title: &str, panels: &[Panel]) -> String {
    let height = 24.0 + HEIGHT * panels.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" \
         font-size=\"12\" fill=\"#777\" role=\"img\">\n<title>{}</title>\n",
        escaped(title)
    );
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"16\" font-weight=\"bold\">{}</text>", escaped(title));
    for (number, panel) in panels.iter().enumerate() {
        draw(&mut out, panel, 24.0 + HEIGHT * number as f64);
    }
    out.push_str("</svg>\n");
    out
}

fn draw(out: &mut String, panel: &Panel, top: f64) {
    let points = || panel.lines.iter().flat_map(|(_, points)| points);
    let end = points().map(|point| point.0).fold(0.0, f64::max).max(1e-9);
    let most = points().map(|point| point.1).fold(0.0, f64::max).max(1e-9);
    let step_x = step(end);
    let step_y = step(most);
    let most = (most / step_y).ceil() * step_y;
    let x = |time: f64| LEFT + (WIDTH - LEFT - RIGHT) * time / end;
    let y = |value: f64| top + HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / most;
    let _ = writeln!(out, "<text x=\"{LEFT}\" y=\"{:.1}\">{}</text>", top + 18.0, escaped(&panel.title));
    let mut tick = 0.0;
    while tick <= most * 1.000_001 {
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {y:.1}H{:.1}\" stroke=\"#777\" stroke-opacity=\".25\"/><text x=\"{:.1}\" y=\"{:.1}\" \
             text-anchor=\"end\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 6.0,
            y(tick) + 4.0,
            short(tick),
            y = y(tick)
        );
        tick += step_y;
    }
    let mut tick = 0.0;
    while tick <= end * 1.000_001 {
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{} s</text>",
            x(tick),
            top + HEIGHT - 8.0,
            short(tick)
        );
        tick += step_x;
    }
    for (number, (label, points)) in panel.lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let place = WIDTH - RIGHT - 90.0 * (panel.lines.len() - number) as f64;
        let _ = writeln!(
            out,
            "<path d=\"M{place:.1} {legend:.1}h18\" stroke=\"{colour}\" stroke-width=\"2\"/><text x=\"{:.1}\" \
             y=\"{:.1}\">{}</text>",
            place + 22.0,
            top + 18.0,
            escaped(label),
            legend = top + 14.0
        );
        if points.is_empty() {
            continue;
        }
        let path: Vec<String> =
            points.iter().map(|&(time, value)| format!("{:.1} {:.1}", x(time), y(value))).collect();
        let _ = writeln!(
            out,
            "<path d=\"M{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.2\" stroke-opacity=\".85\"/>",
            path.join("L")
        );
    }
}

/// A round interval for about four ticks.
fn step(most: f64) -> f64 {
    let decade = 10_f64.powf((most / 4.0).log10().floor());
    let factor = most / 4.0 / decade;
    decade * [1.0, 2.0, 5.0].into_iter().find(|&round| factor <= round).unwrap_or(10.0)
}

fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_few() {
        for (most, expected) in [(60.0, 20.0), (112.0, 50.0), (9.7, 5.0), (1.0, 0.5), (40.0, 10.0)] {
            assert!((step(most) - expected).abs() < 1e-9, "{most}: {}", step(most));
        }
    }

    #[test]
    fn a_line_goes_from_the_lower_left_to_the_upper_right() {
        let lines = vec![("sim".to_owned(), vec![(0.0, 0.0), (10.0, 20.0)]), ("a<b".to_owned(), vec![])];
        let text = svg("t & u", &[Panel { title: "cwnd".into(), lines }]);
        // Bottom: 24 + 200 - 26; top: 24 + 28; left 56; right 960 - 16.
        assert!(text.contains("M56.0 198.0L944.0 52.0"), "{text}");
        assert!(text.contains("<title>t &amp; u</title>") && text.contains("a&lt;b"), "{text}");
    }
}
