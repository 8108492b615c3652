//! Helpers of this crate's tests.
#![allow(dead_code, unused_imports, reason = "each test uses a part")]

pub(crate) mod network;

use std::env;

use braid_algorithms::{Algorithm, Param, Spec};
use braid_kernel::{Error, Host, load_into};

/// The value, or none if this machine cannot run BPF programs. Then one line says so, past the test harness's capture,
/// so that every log shows which tests did not run.
///
/// # Panics
/// On any other error.
pub(crate) fn or_skip<T>(test: &str, result: Result<T, Error>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) if error.is_machine() => {
            braid_testing::skip(test, error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Loads it as `braid_kernel::load` does, or by the module where `BRAID_HOST=module` says so.
pub(crate) fn load(spec: &Spec, name: &str) -> Result<Option<String>, Error> {
    let host = env::var("BRAID_HOST").is_ok_and(|host| host == "module").then_some(Host::Module);
    load_into(host, spec, name).map(|(before, _)| before)
}

/// All algorithms, or those that `BRAID_ALGORITHMS=lia,bbr` names: under emulation each takes minutes.
pub(crate) fn algorithms() -> Vec<&'static Algorithm> {
    let all = braid_algorithms::all().iter();
    let Ok(wanted) = env::var("BRAID_ALGORITHMS") else { return all.collect() };
    let wanted: Vec<&str> = wanted.split(',').collect();
    let found: Vec<_> = all.filter(|algorithm| wanted.contains(&algorithm.name())).collect();
    assert_eq!(found.len(), wanted.len(), "BRAID_ALGORITHMS names algorithms, each once: {wanted:?}");
    found
}

/// A spec that sets every parameter to these raw values, written as on the command line.
pub(crate) fn spec(algorithm: &Algorithm, values: &[u32]) -> Spec {
    let mut text = algorithm.name().to_owned();
    for (param, &value) in algorithm.params().zip(values) {
        text.extend([":", param.name, "=", &param.show(value)]);
    }
    let spec = Spec::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    assert_eq!(spec.values(), values, "{text} means what it was made from");
    spec
}

/// The default parameters; all at their lowest; all at their highest; each one alone at its lowest and highest, or at
/// every value of a choice.
pub(crate) fn settings(algorithm: &Algorithm) -> Vec<Spec> {
    let params: Vec<Param> = algorithm.params().collect();
    let initial: Vec<u32> = params.iter().map(|param| param.initial).collect();
    let mut all = vec![
        initial.clone(),
        params.iter().map(|param| param.low).collect(),
        params.iter().map(|param| param.high).collect(),
    ];
    for (i, param) in params.iter().enumerate() {
        let values = if param.choices().next().is_some() {
            (param.low..=param.high).collect()
        } else {
            vec![param.low, param.high]
        };
        for value in values {
            let mut setting = initial.clone();
            setting[i] = value;
            all.push(setting);
        }
    }
    let mut distinct: Vec<Vec<u32>> = Vec::new();
    for setting in all {
        if !distinct.contains(&setting) {
            distinct.push(setting);
        }
    }
    distinct.iter().map(|values| spec(algorithm, values)).collect()
}
