//! The packet schedulers of a run, by their names in the kernel module.

use braid_scenario::model::{Kind, Scenario};
use braid_schedulers::Spec;

use super::error::Unsupported;

/// The only scheduler of an unmodified kernel.
pub const KERNELS_OWN: &str = "linux";

/// Whether a scheduler's spec is the kernel's own.
pub(crate) fn is_kernels_own(text: &str) -> bool {
    text.split(':').next() == Some(KERNELS_OWN)
}

/// Whether runs of a scenario need the module.
pub(crate) fn need_module(scenario: &Scenario, scheduler: &str) -> bool {
    let multipath = scenario.connections.iter().filter(|connection| connection.kind == Kind::Mptcp);
    multipath
        .map(|connection| connection.scheduler.as_ref().map_or(scheduler, Spec::text))
        .any(|text| !is_kernels_own(text))
}

/// The schedulers of a run.
pub(crate) struct Schedulers {
    /// The kernel's name of each connection's scheduler; `None`: the kernel's own.
    pub(crate) names: Vec<Option<String>>,
    specs: Vec<Spec>,
}

impl Schedulers {
    /// For a scenario whose connections use this scheduler by default.
    pub(crate) fn of(scenario: &Scenario, scheduler: &str) -> Result<Self, Unsupported> {
        let mut own = Self { names: Vec::new(), specs: Vec::<Spec>::new() };
        for connection in &scenario.connections {
            let text = connection.scheduler.as_ref().map_or(scheduler, Spec::text);
            if connection.kind != Kind::Mptcp || is_kernels_own(text) {
                own.names.push(None);
                continue;
            }
            let refuse = |reason: String| Unsupported {
                key: format!("connection.{}.scheduler", connection.name),
                reason,
                remedy: Some("give both the same, or use --backend sim".to_owned()),
            };
            let spec = Spec::parse(text).map_err(|error| refuse(error.to_string()))?;
            let name = spec.definition().name();
            let other = own.specs.iter().find(|other| other.definition().name() == name && **other != spec);
            if let Some(other) = other {
                return Err(refuse(format!(
                    "the kernel module has one set of parameters for {name}, and another connection has {other}"
                )));
            }
            own.names.push(Some(format!("{}{name}", braid_kernel::PREFIX)));
            own.specs.push(spec);
        }
        Ok(own)
    }

    /// Parameters of the module; `None` if it is not needed.
    pub(crate) fn parameters(&self) -> Option<String> {
        let mut words: Vec<String> = Vec::new();
        for spec in &self.specs {
            let params = spec.definition().params().zip(spec.values());
            for (param, value) in params.filter(|(param, value)| param.initial != **value) {
                let word = format!("{}.{}={value}", spec.definition().name(), param.name);
                if !words.contains(&word) {
                    words.push(word);
                }
            }
        }
        (!self.specs.is_empty()).then(|| format!("set={}", words.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(second: &str) -> Scenario {
        let text = format!(
            "title = \"Two\"\nduration = \"1s\"\n[link.a]\nrate = \"5mbit\"\ndelay = \"5ms\"\nqueue = \"30p\"\n\
             [connection.one]\nkind = \"mptcp\"\nsubflow.sf1.route = [\"a\"]\n\
             [connection.two]\nkind = \"mptcp\"\nsubflow.sf1.route = [\"a\"]\n{second}\n\
             [connection.tcp]\nkind = \"tcp\"\nroute = [\"a\"]\n"
        );
        let source = braid_scenario::Source { name: "two".into(), text };
        braid_scenario::load(&source, &[]).expect("valid").cells.remove(0)
    }

    #[test]
    fn the_module_is_loaded_with_what_is_not_as_usual() {
        let own = Schedulers::of(&scenario(""), "ecf:beta=0.5:penalise=off").unwrap();
        assert_eq!(own.names, [Some("braid_ecf".to_owned()), Some("braid_ecf".to_owned()), None]);
        assert_eq!(own.parameters().unwrap(), "set=ecf.beta=512,ecf.penalise=0");
        let own = Schedulers::of(&scenario("scheduler = \"rr\""), "linux").unwrap();
        assert_eq!(own.names, [None, Some("braid_rr".to_owned()), None]);
        assert_eq!(own.parameters().unwrap(), "set=");
        assert_eq!(Schedulers::of(&scenario(""), "linux").unwrap().parameters(), None);
    }

    #[test]
    fn one_scheduler_with_two_sets_of_parameters_is_refused() {
        let error = Schedulers::of(&scenario("scheduler = \"rr:segments=2\""), "rr").err().unwrap();
        assert_eq!(error.key, "connection.two.scheduler");
        assert!(error.reason.contains("one set of parameters for rr"), "{}", error.reason);
    }
}
