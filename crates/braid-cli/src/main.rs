//! The `braid` command.

mod advise;
mod args;
mod calls;
mod capture;
mod command;
#[cfg(target_os = "linux")]
mod compare;
mod complete;
mod conduct;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod enable;
mod failure;
#[cfg(target_os = "linux")]
mod hint;
#[cfg(target_os = "linux")]
mod journal;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
mod lab;
mod list;
#[cfg(target_os = "linux")]
mod live;
#[cfg(target_os = "linux")]
mod metrics;
#[cfg(target_os = "linux")]
mod names;
mod new;
mod out;
mod own;
#[cfg(target_os = "linux")]
mod peer;
mod progress;
mod report;
mod repro;
mod run;
mod signal;
#[cfg(target_os = "linux")]
mod status;
mod study;
mod sweep;
mod terminal;
#[cfg(target_os = "linux")]
mod top;
#[cfg(target_os = "linux")]
mod trial;

use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use args::{Args, Command};
use failure::Failure;

fn main() -> ExitCode {
    // Asked by a shell what could be typed next it answers that, and ends.
    clap_complete::CompleteEnv::with_factory(Args::command).complete();
    let args = Args::parse();
    #[cfg(target_os = "linux")]
    // `try --restore` reports itself what a killed trial left behind.
    if !matches!(&args.command, Command::Kernel(kernel::Kernel::Try(trial::TryArgs { restore: true, .. }))) {
        trial::state::recover();
    }
    let done = match &args.command {
        Command::Run(args) => run::run(args),
        Command::Report(args) => run::report(args),
        #[cfg(target_os = "linux")]
        Command::Compare(args) => compare::compare(args),
        Command::Advise(args) => advise::advise(args),
        Command::Repro(args) => repro::repro(args),
        Command::Sweep(args) => sweep::sweep(args),
        Command::New(args::New::Algorithm { name, out }) => new::algorithm(name, out),
        Command::Check { files } => list::check(files),
        Command::Scenarios { name } => list::scenarios(name.as_deref()),
        Command::Schema => terminal::print(braid_scenario::schema().as_bytes()),
        Command::Algorithms { name } => list::algorithms(name.as_deref()),
        Command::Schedulers { name } => list::schedulers(name.as_deref()),
        #[cfg(target_os = "linux")]
        Command::Kernel(command) => kernel::run(command),
        Command::Calls(command) => calls::run(command),
        #[cfg(target_os = "linux")]
        Command::Agent { here: false } => braid_lab::agent(),
        #[cfg(target_os = "linux")]
        Command::Agent { here: true } => braid_lab::agent_here(),
        Command::Completions { shell } => args::completions(*shell),
        Command::Man { folder } => args::man(folder),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.code)
        }
    }
}
