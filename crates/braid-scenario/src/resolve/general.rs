//! Keys of a whole scenario: title, times, periods, congestion controls.

use std::collections::BTreeSet;

use braid_algorithms::Spec;

use super::resolver::{LONGEST_RUN, Resolver};
use crate::document::Path;
use crate::error::quote;
use crate::units::Duration;

const MOST_PERIODS: usize = 1000;
const LONGEST_TITLE: usize = 200;

impl Resolver<'_> {
    /// Returns the congestion controls to compare.
    pub(super) fn general(&mut self) -> Vec<Spec> {
        let file = self.file;
        if file.title.trim().is_empty() || file.title.contains(char::is_control) {
            self.fail(&"title".into(), "expected one line of text", None);
        } else if file.title.len() > LONGEST_TITLE {
            let hint = Some("put the rest into story".to_owned());
            self.fail(&"title".into(), format!("longer than {LONGEST_TITLE} bytes"), hint);
        }
        if file.duration == Duration(0) || file.duration > LONGEST_RUN {
            let message = format!(
                "expected a time above zero and at most \"{LONGEST_RUN}\", found \"{}\"",
                file.duration
            );
            self.fail(&"duration".into(), message, None);
        } else if file.warmup.0.saturating_add(file.cooldown.0) >= file.duration.0 {
            let message = format!(
                "a warm-up of {} and a cool-down of {} leave nothing of {} to measure",
                file.warmup, file.cooldown, file.duration
            );
            // Blames the key that the user has just changed.
            let place = ["warmup", "cooldown"]
                .map(Path::from)
                .into_iter()
                .find(|place| self.cell.document.is_set(place))
                .unwrap_or_else(|| "duration".into());
            let hint = Some("lengthen duration, or shorten warmup or cooldown".to_owned());
            self.fail(&place, message, hint);
        }
        self.periods();
        let (mut specs, mut seen) = (Vec::new(), BTreeSet::new());
        for (i, cc) in file.cc.iter().enumerate() {
            let place = Path::from("cc").index(i);
            let Some(spec) = self.spec(&place, cc) else { continue };
            if !seen.insert(spec.text().to_owned()) {
                self.fail(&place, format!("{} is there twice", quote(cc)), None);
            }
            specs.push(spec);
        }
        specs
    }

    fn periods(&mut self) {
        let file = self.file;
        let place = Path::from("periods");
        if file.periods.len() > MOST_PERIODS {
            let message = format!("{} periods, at most {MOST_PERIODS} are possible", file.periods.len());
            self.fail(&place, message, None);
            return;
        }
        let end = Duration(self.end().0.saturating_sub(file.cooldown.0));
        for (i, period) in file.periods.iter().enumerate() {
            let place = place.index(i);
            if period.to > end {
                let message = format!("ends at {}, after all measuring at {end}", period.to);
                self.fail(&place, message, Some("end it earlier, or lengthen duration".to_owned()));
            }
            if file.periods[..i].contains(period) {
                self.fail(&place, format!("{period} is given twice"), None);
            }
        }
    }
}
