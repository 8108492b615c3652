//! `braid doctor`: findings and requirements, by purpose.

use std::fmt::Write as _;

use braid_kernel::{Aim, Requirement};

use crate::failure::FAILED;
use crate::live::{Finding, Machine, Sampler};
use crate::{Failure, terminal};

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {
    /// Only this network namespace, as `ip netns` lists it or a path. Default: that of braid, and others in use.
    #[arg(long, value_name = "NAME")]
    netns: Option<String>,
    /// Every requirement with its reason, also those of experiments and modules.
    #[arg(long, short)]
    verbose: bool,
}

pub(crate) fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let mut sampler = Sampler::new(args.netns.as_deref())?;
    let connections = sampler.take().1;
    let findings = Machine::ask(&sampler.namespaces(), &connections, true).findings(&connections);
    let requirements = braid_kernel::doctor();
    let mut text = String::new();
    for (aim, title) in [(Aim::Bond, "can bond"), (Aim::Couple, "can couple"), (Aim::Watch, "can watch")] {
        let found: Vec<&Finding> = findings.iter().filter(|finding| finding.aim == aim).collect();
        let state = match found.iter().filter(|finding| !finding.is_note).count() {
            0 => "yes".to_owned(),
            1 => "1 fault".to_owned(),
            n => format!("{n} faults"),
        };
        let _ = writeln!(text, "{title}: {state}");
        for Finding { what, remedy, is_note, .. } in found {
            let _ = writeln!(text, "  {:<5} {what}\n        {remedy}", if *is_note { "note:" } else { "NO" });
        }
        let met = requirements.iter().filter(|own| own.aim == aim && own.is_met);
        let met: Vec<&str> = met.map(|own| own.what).collect();
        if !met.is_empty() && !args.verbose {
            let _ = writeln!(text, "  met:  {}", met.join("; "));
        }
    }
    if args.verbose {
        text.push('\n');
        for own in &requirements {
            describe(own, &mut text);
        }
    }
    let hosts = braid_kernel::hosts();
    let hosts: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    if hosts.is_empty() {
        terminal::print(text.as_bytes())?;
        return Err(Failure::new(FAILED, "this machine cannot load algorithms"));
    }
    let _ = writeln!(text, "Algorithms can be loaded into this kernel {}.", hosts.join(" or "));
    terminal::print(text.as_bytes())
}

fn describe(own: &Requirement, text: &mut String) {
    let mark = if own.is_met { "yes" } else { "no" };
    let _ = writeln!(text, "{mark:<4}{} ({})\n      why: {}", own.what, own.found, own.why);
    if !own.is_met {
        let _ = writeln!(text, "      how: {}", own.remedy);
    }
}
