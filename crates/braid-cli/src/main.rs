//! The `braid` command.

mod args;
mod failure;
mod list;
mod out;
mod plan;
mod pool;
mod progress;
mod run;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use args::{Args, Command};
use failure::Failure;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = match &args.command {
        Command::Run(args) => run::run(args),
        Command::Check { files } => list::check(files),
        Command::Scenarios { name } => list::scenarios(name.as_deref()),
        Command::Algorithms { name } => list::algorithms(name.as_deref()),
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
