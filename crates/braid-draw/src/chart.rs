//! Parts that charts are made of: scales, grids with round ticks, lines through points. Pages style `grid` and `tick`.

use std::fmt::Write as _;

use maud::{Markup, html};

/// An axis: from values to places on the drawing.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    values: [f64; 2],
    places: [f64; 2],
}

impl Scale {
    /// The first value is at the first place, the last at the last; values must differ.
    pub fn new(values: [f64; 2], places: [f64; 2]) -> Self {
        Self { values, places }
    }

    /// The place of a value.
    pub fn at(&self, value: f64) -> f64 {
        let ([low, high], [from, to]) = (self.values, self.places);
        from + (value - low) / (high - low) * (to - from)
    }

    /// Round values within the ends, about five of them.
    pub fn ticks(&self) -> Vec<f64> {
        let [low, high] = self.values;
        let rough = (high - low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].into_iter().map(|by| by * power);
        let step = steps.clone().find(|step| *step >= rough).unwrap_or(power);
        let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
        (first..=last).map(|n| n as f64 * step).collect()
    }

    /// A vertical line for each tick between two heights, and its value below them.
    pub fn columns(&self, [top, bottom]: [f64; 2], unit: &str) -> Markup {
        html! {
            @for tick in self.ticks() {
                @let x = px(self.at(tick));
                line.grid x1=(x) x2=(x) y1=(px(top)) y2=(px(bottom)) {}
                text.tick x=(x) y=(px(bottom + 13.0)) text-anchor="middle" { (short(tick)) (unit) }
            }
        }
    }

    /// A horizontal line for each tick, and its value to the left.
    pub fn rows(&self, [left, right]: [f64; 2]) -> Markup {
        html! {
            @for tick in self.ticks() {
                @let y = self.at(tick);
                line.grid x1=(px(left)) x2=(px(right)) y1=(px(y)) y2=(px(y)) {}
                text.tick x=(px(left - 6.0)) y=(px(y + 4.0)) text-anchor="end" { (short(tick)) }
            }
        }
    }
}

/// A place in tenths of a pixel, without a negative zero.
pub fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    if text == "-0.0" { "0.0".to_owned() } else { text }
}

/// Formats with up to three decimals, without trailing zeros.
pub fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// The `d` of a line through these points.
pub fn line(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in points {
        let letter = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{letter}{x:.1} {y:.1}");
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_ends() {
        let ticks = |low, high| Scale::new([low, high], [0.0, 1.0]).ticks();
        assert_eq!(ticks(0.0, 1.0), [0.0, 0.2, 0.4, 0.600_000_000_000_000_1, 0.8, 1.0]);
        assert_eq!(ticks(-3.0, 12.0), [0.0, 5.0, 10.0]);
        assert_eq!([0.600_000_000_000_000_1, 20.0, -0.000_1].map(short), ["0.6", "20", "0"]);
    }
}
