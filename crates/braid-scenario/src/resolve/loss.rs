//! Losses of a link.

use super::resolver::Resolver;
use crate::document::Path;
use crate::format;
use crate::model::{GilbertElliott, Loss};

impl Resolver<'_> {
    pub(super) fn loss_of(
        &mut self,
        place: &Path,
        loss: Option<format::Loss>,
        drop_every: Option<u32>,
    ) -> Loss {
        let loss = loss.map_or(Loss::None, |loss| self.loss(&place.key("loss"), loss));
        let Some(n) = drop_every else { return loss };
        if loss != Loss::None {
            self.both(&place.key("drop-every"), &place.key("loss"));
        }
        if n < 2 {
            let message = format!("expected a whole number of at least 2, found {n}");
            self.fail(&place.key("drop-every"), message, Some("1000 loses 0.1%".to_owned()));
        }
        Loss::Periodic(n)
    }

    pub(super) fn loss(&mut self, place: &Path, loss: format::Loss) -> Loss {
        let bursts = match loss {
            format::Loss::Random(p) if p.0 == 0.0 => return Loss::None,
            format::Loss::Random(p) => return Loss::Bernoulli(p.0),
            format::Loss::Bursts(bursts) => bursts,
        };
        for (key, chance, state) in [("to-bad", bursts.to_bad, "good"), ("to-good", bursts.to_good, "bad")] {
            if chance.0 == 0.0 {
                let message = format!("expected a probability above 0, or the {state} state never ends");
                let hint = "for loss without bursts, write the probability alone: loss = \"1%\"".to_owned();
                self.fail(&place.key(key), message, Some(hint));
            }
        }
        if bursts.good > bursts.bad {
            let message = "more is lost in the good state than in the bad one";
            let key = if self.cell.document.is_set(&place.key("bad")) { "bad" } else { "good" };
            self.fail(&place.key(key), message, Some("make good smaller than bad".to_owned()));
        } else if bursts.good.0 >= 1.0 {
            let hint = Some("to take a link down, use outages".to_owned());
            self.fail(&place.key("good"), "every packet is lost in either state", hint);
        }
        Loss::GilbertElliott(GilbertElliott {
            to_bad: bursts.to_bad.0,
            to_good: bursts.to_good.0,
            loss_good: bursts.good.0,
            loss_bad: bursts.bad.0,
        })
    }
}
