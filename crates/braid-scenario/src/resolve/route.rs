//! The links of a subflow's route, with its copies of private ones.

use indexmap::IndexMap;

use super::resolver::Resolver;
use crate::document::Path;
use crate::error::{quote, suggest};
use crate::limits::{MOST_PARTS, parts};
use crate::model::{Direction, Link};

const LONGEST_ROUTE: usize = 32;

/// The links of a file by name.
pub(super) struct Known<'a> {
    /// Index of each link that is not private.
    pub(super) shared: IndexMap<&'a str, usize>,
    /// Both directions of every link.
    pub(super) directions: IndexMap<&'a str, (Direction, Direction)>,
}

impl Resolver<'_> {
    pub(super) fn route(
        &mut self,
        place: &Path,
        names: &[String],
        owner: &str,
        known: &Known<'_>,
    ) -> Vec<usize> {
        self.route_with(place, names, owner, known, &mut Vec::new())
    }

    /// Builds a route. Private links come from `own`, each once; when `own` is used up, new copies are added.
    pub(super) fn route_with(
        &mut self,
        place: &Path,
        names: &[String],
        owner: &str,
        known: &Known<'_>,
        own: &mut Vec<usize>,
    ) -> Vec<usize> {
        if names.is_empty() {
            let hint = Some("name the links from sender to receiver".to_owned());
            self.fail(place, "a route without links", hint);
        }
        if names.len() > LONGEST_ROUTE {
            self.fail(place, format!("{} links, at most {LONGEST_ROUTE} are possible", names.len()), None);
            return Vec::new();
        }
        let mut route = Vec::with_capacity(names.len());
        for (hop, name) in names.iter().enumerate() {
            let place = place.index(hop);
            let name = name.as_str();
            if let Some(&index) = known.shared.get(name) {
                if route.contains(&index) {
                    let message = format!("a loop: the route has been through {name} before");
                    let hint =
                        format!("if every hop is a link of its own, set private = true in [link.{name}]");
                    self.fail(&place, message, Some(hint));
                }
                route.push(index);
            } else if let Some(&copy) = own.iter().find(|&&copy| {
                let link = &self.private[copy - self.links.len()];
                !route.contains(&copy) && link.name.split('@').next() == Some(name)
            }) {
                route.push(copy);
            } else if let Some((forward, reverse)) = known.directions.get(name) {
                let before = self.parts;
                self.parts += parts(forward, reverse);
                if self.parts > MOST_PARTS {
                    if before <= MOST_PARTS {
                        let message =
                            format!("more than {MOST_PARTS} private links with their outages and changes");
                        self.fail(&place, message, Some("use fewer connections".to_owned()));
                    }
                    return Vec::new();
                }
                let copy = self.links.len() + self.private.len();
                route.push(copy);
                own.push(copy);
                self.private.push(Link {
                    name: format!("{name}@{owner}.{}", hop + 1),
                    private: true,
                    forward: forward.clone(),
                    reverse: reverse.clone(),
                });
            } else {
                let hint = suggest(name, known.directions.keys().copied());
                self.fail(&place, format!("there is no link {}", quote(name)), hint);
            }
        }
        route
    }
}
