//! The answer of a trial: one table and one sentence.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use braid_report::wrap;
use braid_results::Statistics;

use super::watch::Measured;

/// Columns of a terminal that the text needs.
const WIDTH: usize = 96;

/// A candidate with its figures, round by round; `None` for a round in which it had no traffic.
pub(super) struct Tried {
    pub(super) label: String,
    pub(super) rounds: Vec<Option<Measured>>,
    /// What the TCP beside it carried in each of these rounds, bits per second.
    pub(super) beside: Vec<f64>,
}

/// A difference of goodput as a share, with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gain {
    pub(super) mean: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What the trial shows, by index of the candidate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Verdict {
    /// More than the baseline.
    Better(usize, Gain),
    /// The baseline carries more than every other one; the best of them.
    Baseline(usize, Gain),
    /// No difference from the baseline can be seen; the best of the others.
    Same(usize, Gain),
    /// Fewer than two rounds can be compared.
    Unknown,
}

fn goodput(measured: &Measured) -> f64 {
    measured.bytes as f64 * 8.0 / measured.seconds.max(1e-9)
}

/// Round by round, since the conditions of a round are alike. Ratios, as differences grow with the rate.
pub(super) fn gain(of: &Tried, over: &Tried, comparisons: usize) -> Option<Gain> {
    let ratio = |(of, over): (&Option<Measured>, &Option<Measured>)| {
        Some((goodput(of.as_ref()?) / goodput(over.as_ref()?)).ln())
    };
    let ratios: Vec<f64> = of.rounds.iter().zip(&over.rounds).filter_map(ratio).collect();
    let statistics = Statistics::of(&ratios)?;
    let half = statistics.ci95_of_each(comparisons)?;
    let share = |log: f64| log.exp() - 1.0;
    let mean = statistics.mean;
    Some(Gain { mean: share(mean), low: share(mean - half), high: share(mean + half) })
}

pub(super) fn verdict(tried: &[Tried], baseline: usize) -> Verdict {
    let gains = (0..tried.len())
        .filter(|&at| at != baseline)
        .filter_map(|at| Some((at, gain(&tried[at], &tried[baseline], tried.len() - 1)?)));
    match gains.max_by(|(_, one), (_, other)| one.mean.total_cmp(&other.mean)) {
        None => Verdict::Unknown,
        Some((at, gain)) if gain.low > 0.0 => Verdict::Better(at, gain),
        Some((at, gain)) if gain.high < 0.0 => Verdict::Baseline(at, gain),
        Some((at, gain)) => Verdict::Same(at, gain),
    }
}

/// One sentence.
pub(super) fn sentence(tried: &[Tried], baseline: usize, about_baseline: &str) -> String {
    let name = |at: usize| tried[at].label.as_str();
    let base = format!("{about_baseline}{}", name(baseline));
    let between = |gain: Gain| format!("{} to {} %", percent(gain.low), percent(gain.high));
    let more = |gain: Gain| {
        format!("{} % {}", percent(gain.mean.abs()), if gain.mean < 0.0 { "less" } else { "more" })
    };
    let gain_over = |at: usize, over: usize| gain(&tried[at], &tried[over], tried.len() - 1);
    let listed = |names: Vec<&str>, what: &str| match names.join(", ") {
        names if names.is_empty() => String::new(),
        names => format!("; {names} {what}"),
    };
    match verdict(tried, baseline) {
        Verdict::Better(best, gain) => {
            let alike = |&at: &usize| {
                at != best
                    && at != baseline
                    && gain_over(best, at).is_some_and(|gain| gain.low <= 0.0 && gain.high >= 0.0)
            };
            let alike = (0..tried.len()).filter(alike).map(name).collect();
            format!(
                "Answer: {} carries {} than {base} ({}, 95 % sure){}.",
                name(best),
                more(gain),
                between(gain),
                listed(alike, "cannot be told from it")
            )
        }
        Verdict::Baseline(best, gain) => format!(
            "Answer: {base} carries more than every other; {}, the best of them, {} ({}, 95 % sure).",
            name(best),
            more(gain),
            between(gain)
        ),
        Verdict::Same(best, gain) => {
            let worse =
                |&at: &usize| at != baseline && gain_over(at, baseline).is_some_and(|gain| gain.high < 0.0);
            let worse = (0..tried.len()).filter(worse).map(name).collect();
            format!(
                "Answer: no difference that can be seen: {} carries {} than {base} ({}, 95 % sure){}.",
                name(best),
                more(gain),
                between(gain),
                listed(worse, "less for sure")
            )
        }
        Verdict::Unknown => "Answer: none, since too few blocks had traffic of two candidates.".to_owned(),
    }
}

/// Whole percent, without a sign for zero.
fn percent(share: f64) -> String {
    format!("{:.0}", (share * 100.0).round() + 0.0)
}

/// One row for each candidate.
pub(super) fn table(tried: &[Tried], baseline: usize) -> String {
    let width = tried.iter().map(|one| one.label.chars().count()).max().unwrap_or_default();
    let has_beside = tried.iter().any(|one| one.beside.iter().any(|&rate| rate > 0.0));
    let mut head = vec!["conns", "goodput", "gain", "queue", "resent", "time"];
    let mut unit = vec!["", "Mbit/s", "%", "ms", "%", "s"];
    if has_beside {
        head.push("beside");
        unit.push("Mbit/s");
    }
    let row = |cells: &[String]| {
        let mut text = String::new();
        for (at, cell) in cells.iter().enumerate() {
            let width = if at == 0 { 6 } else { 14 };
            let _ = write!(text, "{cell:>width$}");
        }
        text
    };
    let words = |words: &[&str]| row(&words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
    let mut text = format!("{:width$}{}  lines\n{:width$}{}\n", "", words(&head), "", words(&unit));
    for (at, one) in tried.iter().enumerate() {
        let all: Vec<&Measured> = one.rounds.iter().flatten().collect();
        let figure = |value: &dyn Fn(&Measured) -> Option<f64>| {
            number(&all.iter().filter_map(|measured| value(measured)).collect::<Vec<_>>())
        };
        let gain = gain(one, &tried[baseline], tried.len() - 1).filter(|_| at != baseline);
        let gain = gain.map_or_else(
            || "-".to_owned(),
            |gain| format!("{} ({}..{})", percent(gain.mean), percent(gain.low), percent(gain.high)),
        );
        let per = |part: f64, whole: u64| (whole > 0).then(|| part / whole as f64);
        let mut cells = vec![
            all.iter().map(|measured| measured.connections).sum::<u64>().to_string(),
            figure(&|measured| Some(goodput(measured) / 1e6)),
            gain,
            figure(&|measured| per(measured.queue, measured.lines.values().sum())),
            figure(&|measured| per(100.0 * measured.resent as f64, measured.sent)),
            figure(&|measured| per(measured.completed_seconds, measured.completed)),
        ];
        if has_beside {
            cells.push(number(&one.beside.iter().map(|rate| rate / 1e6).collect::<Vec<_>>()));
        }
        let _ = writeln!(text, "{:width$}{}  {}", one.label, row(&cells), lines(&all));
    }
    text + "\n± is half the 95 % interval over blocks; gain over the first row, with its interval.\n"
}

/// Share of each line in the bytes of a candidate.
fn lines(all: &[&Measured]) -> String {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (line, bytes) in all.iter().flat_map(|measured| &measured.lines) {
        *sums.entry(line).or_default() += bytes;
    }
    let total = sums.values().sum::<u64>().max(1) as f64;
    let shares = sums.iter().map(|(line, &bytes)| format!("{line} {} %", percent(bytes as f64 / total)));
    shares.collect::<Vec<_>>().join(", ")
}

/// The mean, and half the 95 % interval.
fn number(values: &[f64]) -> String {
    let Some(of) = Statistics::of(values) else { return "-".into() };
    of.interval().map_or_else(|| format!("{:.1}", of.mean), |half| format!("{:.1} ± {half:.1}", of.mean))
}

pub(super) fn wrapped(text: &str) -> String {
    wrap(text, Some(WIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(label: &str, mbit: &[Option<f64>]) -> Tried {
        let round =
            |mbit: &f64| Measured { bytes: (mbit * 125e3) as u64, seconds: 1.0, ..Measured::default() };
        let rounds = mbit.iter().map(|mbit| mbit.as_ref().map(round)).collect();
        Tried { label: label.into(), rounds, beside: Vec::new() }
    }

    fn of(rows: &[&[f64]]) -> Verdict {
        let rows = rows.iter().map(|row| tried("x", &row.iter().copied().map(Some).collect::<Vec<_>>()));
        verdict(&rows.collect::<Vec<_>>(), 0)
    }

    #[test]
    fn a_gain_is_the_ratio_within_rounds_with_the_interval_of_student() {
        let Verdict::Better(1, gain) = of(&[&[10.0, 20.0, 40.0], &[12.0, 24.0, 52.0]]) else { panic!() };
        // Logarithms 0.18232, 0.18232, 0.26236: mean 0.20900, sd 0.04621, t(0.975, 2) = 4.30265.
        for (value, expected) in [(gain.mean, 0.23245), (gain.low, 0.09878), (gain.high, 0.38241)] {
            assert!((value - expected).abs() < 2e-4, "{gain:?}");
        }
    }

    #[test]
    fn more_candidates_need_larger_differences() {
        let (base, more) = ([10.0; 4], [12.0, 11.0, 13.0, 11.5]);
        assert!(matches!(of(&[&base, &more]), Verdict::Better(1, _)));
        let same = [10.0, 9.0, 11.0, 10.5];
        assert!(matches!(of(&[&base, &more, &same, &same, &same, &same]), Verdict::Same(1, _)));
    }

    #[test]
    fn the_baseline_wins_only_over_all() {
        let (base, less, same) = ([10.0; 3], [5.0, 5.1, 4.9], [10.0, 11.0, 9.0]);
        assert!(matches!(of(&[&base, &less]), Verdict::Baseline(1, _)));
        assert!(matches!(of(&[&base, &less, &same]), Verdict::Same(2, _)));
    }

    #[test]
    fn rounds_without_traffic_are_not_compared() {
        let base = tried("a", &[Some(10.0), None, Some(10.0), None]);
        let other = tried("b", &[Some(20.0), Some(1.0), None, None]);
        assert_eq!(verdict(&[base, other], 0), Verdict::Unknown);
    }

    #[test]
    fn the_sentence_says_which_by_how_much_and_how_sure() {
        let row = |label: &str, row: [f64; 3]| tried(label, &row.map(Some));
        let rows = [
            row("cubic", [10.0; 3]),
            row("weave", [20.0, 20.5, 19.5]),
            row("lia", [20.5, 19.5, 20.0]),
            row("olia", [5.0, 5.1, 4.9]),
        ];
        let text = sentence(&rows, 0, "the present default ");
        assert!(
            text.starts_with("Answer: ") && text.contains("100 % more than the present default cubic ("),
            "{text}"
        );
        assert!(text.contains("cannot be told from it") && text.contains("95 % sure"), "{text}");
        let text = sentence(&[row("a", [10.0, 11.0, 9.0]), row("b", [10.0; 3]), row("c", [5.0; 3])], 0, "");
        assert!(
            text.contains("no difference that can be seen") && text.contains("c less for sure"),
            "{text}"
        );
    }
}
