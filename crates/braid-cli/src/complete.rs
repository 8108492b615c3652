//! Shell completions of algorithms, schedulers and loaded names.

use std::ffi::OsStr;

use clap_complete::engine::{CompletionCandidate, PathCompleter, ValueCompleter as _};

/// Algorithms, and after `NAME:` its parameters; in a list separated by commas for the last item.
pub(crate) fn specs(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let (before, last) =
        typed.rsplit_once(',').map_or(("", typed), |(before, last)| (&typed[..=before.len()], last));
    let all = braid_algorithms::all().iter();
    match last.rsplit_once(':') {
        None => all
            .filter(|algorithm| algorithm.name().starts_with(last))
            .map(|algorithm| candidate(&format!("{before}{}", algorithm.name()), algorithm.title()))
            .collect(),
        Some((spec, key)) => {
            let name = spec.split(':').next().unwrap_or_default();
            let params = all
                .filter(|algorithm| algorithm.name() == name)
                .flat_map(braid_algorithms::Algorithm::params);
            params
                .filter(|param| param.name.starts_with(key))
                .map(|param| candidate(&format!("{before}{spec}:{}=", param.name), param.help))
                .collect()
        }
    }
}

/// Built-in scenarios, and files.
pub(crate) fn scenarios(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut all: Vec<CompletionCandidate> = braid_scenario::embedded()
        .filter(|scenario| typed.to_str().is_some_and(|typed| scenario.name.starts_with(typed)))
        .map(|scenario| candidate(scenario.name, &scenario.title))
        .collect();
    all.extend(PathCompleter::file().complete(typed));
    all
}

/// Loaded algorithms.
#[cfg(target_os = "linux")]
pub(crate) fn loaded() -> Vec<CompletionCandidate> {
    let available = braid_kernel::available().unwrap_or_default();
    available
        .iter()
        .filter_map(|name| name.strip_prefix(braid_kernel::PREFIX))
        .map(CompletionCandidate::new)
        .collect()
}

/// Possible defaults: loaded algorithms, and the kernel's own.
#[cfg(target_os = "linux")]
pub(crate) fn available() -> Vec<CompletionCandidate> {
    let available = braid_kernel::available().unwrap_or_default();
    let short = available.iter().map(|name| name.strip_prefix(braid_kernel::PREFIX).unwrap_or(name));
    short.map(CompletionCandidate::new).collect()
}

/// Possible places of a hint: interfaces and their addresses.
#[cfg(target_os = "linux")]
pub(crate) fn places() -> Vec<CompletionCandidate> {
    let own = braid_kernel::Namespace::own();
    let mut all = braid_kernel::interface_names(&own).unwrap_or_default();
    all.extend(braid_kernel::interfaces(&own).unwrap_or_default().keys().map(ToString::to_string));
    all.into_iter().map(CompletionCandidate::new).collect()
}

fn candidate(value: &str, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(help.to_owned().into()))
}
