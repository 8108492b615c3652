//! Checks beyond serde's, and turns names into indices.

mod amount;
mod change;
mod connection;
mod general;
mod link;
mod loss;
mod noise;
mod queue;
mod resolver;
mod route;
mod subflow;
mod traffic;

use braid_algorithms::Spec;
use indexmap::IndexMap;

use amount::{check_length, default_buffers};
use resolver::Resolver;
use route::Known;

use crate::document::Path;
use crate::error::Error;
use crate::expand::Cell;
use crate::format::{Document, Noise};
use crate::model::{Connection, Link, Scenario};
use crate::trace::Traces;
use crate::{Source, de};

/// A cell in the model's and in the file's terms.
pub(crate) struct Resolved {
    pub(crate) scenario: Scenario,
    pub(crate) file: Document,
    /// The congestion controls to compare.
    pub(crate) cc: Vec<Spec>,
}

pub(crate) fn scenario(source: &Source, cell: &Cell, traces: &mut Traces) -> Result<Resolved, Error> {
    let file = de::read(&cell.document).map_err(Error::from)?;
    let mut resolver = Resolver {
        source,
        traces,
        cell,
        file: &file,
        problems: Vec::new(),
        links: Vec::new(),
        private: Vec::new(),
        parts: 0,
    };
    let cc = resolver.general();
    let connections = resolver.run();
    let Resolver { problems, mut links, private, .. } = resolver;
    if !problems.is_empty() {
        return Err(problems.into());
    }
    links.extend(private);
    let mut scenario = Scenario {
        name: source.name.clone(),
        title: file.title.clone(),
        parameters: cell.parameters.clone(),
        duration_ns: file.duration.0,
        warmup_ns: file.warmup.0,
        cooldown_ns: file.cooldown.0,
        periods: file.periods.iter().map(|period| (period.from.0, period.to.0)).collect(),
        rtt_samples: file.rtt_samples,
        links,
        connections,
    };
    check_length(&scenario, cell)?;
    default_buffers(&mut scenario);
    if file.noise == Noise::Random {
        noise::add(&mut scenario);
    }
    Ok(Resolved { scenario, file, cc })
}

impl Resolver<'_> {
    fn run(&mut self) -> Vec<Connection> {
        let file = self.file;
        let mut shared = IndexMap::new();
        let mut directions = IndexMap::new();
        for (name, link) in &file.link {
            let place = Path::from("link").key(name);
            self.name(&place, name);
            let both = self.link(&place, link);
            directions.insert(name.as_str(), both.clone());
            if !link.private {
                shared.insert(name.as_str(), self.links.len());
                let (forward, reverse) = both;
                self.links.push(Link { name: name.clone(), private: false, forward, reverse });
            }
        }
        let known = Known { shared, directions };
        if file.connection.is_empty() {
            let hint = Some("add one: [connection.mp0]".to_owned());
            self.fail(&"connection".into(), "no connections, so nothing to run", hint);
        }
        file.connection.iter().map(|(name, connection)| self.connection(name, connection, &known)).collect()
    }
}
