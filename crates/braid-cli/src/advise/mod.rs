//! `braid advise`: which congestion control a network should have, from a file or from connections that run.

mod answer;
#[cfg(target_os = "linux")]
mod apply;
#[cfg(target_os = "linux")]
mod consent;
#[cfg(target_os = "linux")]
mod live;
mod question;
#[cfg(target_os = "linux")]
mod steps;
#[cfg(target_os = "linux")]
mod test;

use braid_scenario::Source;

use crate::Failure;
use answer::{Answer, print};
use question::{About, ask};

pub(crate) use question::{AdviseArgs, MORE};

pub(crate) fn advise(args: &AdviseArgs) -> Result<(), Failure> {
    #[cfg(target_os = "linux")]
    if args.undo {
        return live::undo(args);
    }
    if args.seeds.last() - args.seeds.first() < 4 {
        return Err(Failure::bad_input(
            "who harms others is more than fewer than 5 seeds show",
            "leave --seeds out for 10",
        ));
    }
    if let Some(name) = &args.scenario {
        #[cfg(target_os = "linux")]
        apply::may(args, &braid_kernel::Namespace::own())?;
        let advice = ask(args, About::Networks(vec![Source::find(name)?.into()]), None)?;
        print(args, &Answer { about: name, advice: &advice, current: None, notes: &[] })?;
        #[cfg(target_os = "linux")]
        apply::apply(args, &advice, &apply::Place::here())?;
        return Ok(());
    }
    #[cfg(target_os = "linux")]
    return match &args.test {
        Some(host) => test::advise(args, host),
        None => live::advise(args),
    };
    #[cfg(not(target_os = "linux"))]
    Err(Failure::bad_input("connections are looked at on Linux only", "name a scenario"))
}
