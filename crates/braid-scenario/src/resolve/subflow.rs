//! The subflows of a connection, and changes of their routes.

use super::resolver::Resolver;
use super::route::Known;
use crate::document::Path;
use crate::format;
use crate::model::{Reroute, Subflow};
use crate::units::{Duration, Start};

const MOST_SUBFLOWS: usize = 8;

impl Resolver<'_> {
    pub(super) fn subflows(
        &mut self,
        place: &Path,
        connection: &str,
        given: &format::Connection,
        known: &Known<'_>,
    ) -> Vec<Subflow> {
        match (given.kind, &given.route) {
            (format::Kind::Tcp, route) => {
                if !given.subflow.is_empty() {
                    let hint = Some("write kind = \"mptcp\", or a route instead of subflows".to_owned());
                    self.fail(&place.key("subflow"), "a tcp connection has no subflows", hint);
                }
                let Some(route) = route else {
                    if given.subflow.is_empty() {
                        let hint = Some("add route = [\"b1\"], the links from sender to receiver".to_owned());
                        self.fail(place, "missing key \"route\"", hint);
                    }
                    return Vec::new();
                };
                let owner = format!("{connection}.sf1");
                let route = self.route(&place.key("route"), route, &owner, known);
                let reroutes = self.reroutes(&place.key("change"), &given.change, &owner, &route, known);
                let name = "sf1".to_owned();
                vec![Subflow { name, route, join_delay_ns: None, up: Vec::new(), backup: false, reroutes }]
            }
            (format::Kind::Mptcp, route) => {
                if route.is_some() {
                    let hint =
                        Some(format!("give each subflow its route: [{}]", place.key("subflow").key("sf1")));
                    self.fail(&place.key("route"), "an mptcp connection has a route for each subflow", hint);
                } else if !given.change.is_empty() {
                    let subflow = place.key("subflow").key("sf1").key("change");
                    let hint = Some(format!("write [[{subflow}]]"));
                    self.fail(&place.key("change"), "routes change subflow by subflow", hint);
                } else if given.subflow.is_empty() {
                    let hint = Some(format!("add [{}]", place.key("subflow").key("sf1")));
                    self.fail(place, "an mptcp connection without subflows", hint);
                }
                if given.subflow.len() > MOST_SUBFLOWS {
                    let message =
                        format!("{} subflows, at most {MOST_SUBFLOWS} are possible", given.subflow.len());
                    self.fail(&place.key("subflow"), message, None);
                }
                let subflows = given.subflow.iter().enumerate();
                subflows
                    .map(|(i, (name, subflow))| {
                        let up = place.key("subflow").key(name).key("up");
                        self.up(&up, i, subflow, given.start);
                        self.subflow(place, connection, i, name, subflow, known)
                    })
                    .collect()
            }
        }
    }

    fn subflow(
        &mut self,
        place: &Path,
        connection: &str,
        index: usize,
        name: &str,
        given: &format::Subflow,
        known: &Known<'_>,
    ) -> Subflow {
        let place = place.key("subflow").key(name);
        self.name(&place, name);
        if let Some(delay) = given.join_delay {
            if index == 0 {
                let message = "the first subflow opens the connection, it does not join";
                let hint = Some("to open the connection later, give it a start".to_owned());
                self.fail(&place.key("join-delay"), message, hint);
            } else if delay >= self.end() {
                let message = format!("joins after {delay}, when the run is over");
                self.fail(&place.key("join-delay"), message, None);
            }
        }
        let owner = format!("{connection}.{name}");
        let route = self.route(&place.key("route"), &given.route, &owner, known);
        Subflow {
            name: name.to_owned(),
            reroutes: self.reroutes(&place.key("change"), &given.change, &owner, &route, known),
            route,
            join_delay_ns: given.join_delay.map(|delay| delay.0),
            up: given.up.iter().map(|window| (window.from.0, window.to.0)).collect(),
            backup: given.backup,
        }
    }

    /// The times at which a subflow's address exists.
    fn up(&mut self, place: &Path, index: usize, given: &format::Subflow, start: Start) {
        let up = &given.up;
        self.ordered(place, up);
        let Some(first) = up.first() else { return };
        if given.join_delay.is_some() {
            self.both(place, &Path(place.0[..place.0.len() - 1].to_vec()).key("join-delay"));
        }
        let (start, latest) = start.bounds();
        if index == 0 && (first.from > start || first.to <= latest) {
            let message = format!("the first subflow opens the connection, at {start}");
            let hint = format!("begin with \"{start}..\", or give the connection another start");
            self.fail(&place.index(0), message, Some(hint));
        }
        if let Some(i) = up.iter().position(|window| window.from >= self.end()) {
            let message = format!("begins at {}, when the run is over", up[i].from);
            self.fail(&place.index(i), message, None);
        }
    }

    /// The later routes of a subflow with this first route.
    fn reroutes(
        &mut self,
        place: &Path,
        given: &[format::Reroute],
        owner: &str,
        first: &[usize],
        known: &Known<'_>,
    ) -> Vec<Reroute> {
        let mut before = Duration(0);
        let mut reroutes = Vec::with_capacity(given.len());
        // The subflow's copies of private links, in order of creation.
        let mut own: Vec<usize> = first.iter().copied().filter(|&link| link >= self.links.len()).collect();
        for (i, change) in given.iter().enumerate() {
            let place = place.index(i);
            self.at(&place, change.at, before, "at the start, the route of the subflow itself holds");
            before = change.at;
            if change.route.is_none() && change.return_route.is_none() {
                let hint = Some("add a route or a return-route".to_owned());
                self.fail(&place, format!("nothing changes at {before}"), hint);
            }
            let owner = format!("{owner}.change{}", i + 1);
            let mut route = |key: &str, names: &Option<Vec<String>>| {
                let names = names.as_ref()?;
                Some(self.route_with(&place.key(key), names, &owner, known, &mut own))
            };
            let forward = route("route", &change.route);
            let reverse = route("return-route", &change.return_route).or_else(|| forward.clone());
            reroutes.push(Reroute { at_ns: change.at.0, forward, reverse });
        }
        reroutes
    }
}
