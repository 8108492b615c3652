//! `braid advise`: which congestion control a network should have, from a file or from a connection that runs.

mod choice;
#[cfg(target_os = "linux")]
mod live;
mod network;
mod table;

use std::path::PathBuf;

use braid_algorithms::Spec;
use braid_results::Run;
use braid_scenario::Source;
use braid_study::{Error, Event, Plan, Planned, Seeds, Sink, Study};
use clap::ValueHint;
use clap_complete::ArgValueCompleter;

use crate::conduct::{How, conduct};
use crate::failure::FAILED;
use crate::names::parse;
use crate::{Failure, complete, terminal};
use choice::{Goodputs, Row};
use network::{CUBIC, Network, cubic};
use table::Answer;

const CANDIDATES: [&str; 6] = [CUBIC, "bbr", "lia", "olia", "balia", "weave"];

/// What the help says beside the options, and with it the manual page.
pub(crate) const MORE: &str = "Examples:\n  \
    braid advise home.toml                       # a network from a file\n  \
    braid advise                                 # the connection of this machine that sends most\n  \
    braid advise --save here.toml                # and keep the network that was seen\n  \
    ssh root@server.example braid advise         # what this machine receives is sent there\n\n\
    Each candidate is simulated alone, and beside one CUBIC TCP flow at each bottleneck. The baseline is CUBIC on one path of each \
    bottleneck. Gain is that of the geometric mean of both goodputs over the baseline. Loss is what competitors at a bottleneck lose \
    against the baseline, on average; what a competitor gets above its fair share does not count. The advice is the candidate of the \
    greatest gain of those with a loss of at most 10 %, if it gains at least 3 % and the interval of its gain is above zero; else the \
    baseline.\n\n\
    It is about what is sent from where it runs. It changes nothing. Exit code: 0 done, 1 a run failed, 2 wrong usage or input.";

#[derive(Debug, clap::Args)]
pub(crate) struct AdviseArgs {
    /// The network: a scenario file or the name of a scenario that is built in. The advice is about its first MPTCP
    /// connection. Default: what the sockets of this machine's busiest MPTCP connection show of its paths.
    #[arg(value_name = "SCENARIO", add = ArgValueCompleter::new(complete::scenarios))]
    scenario: Option<String>,
    /// Candidates, each NAME[:key=value]...
    #[arg(long, value_name = "SPEC,...", value_delimiter = ',', default_values_t = CANDIDATES.map(String::from),
          add = ArgValueCompleter::new(complete::specs))]
    cc: Vec<String>,
    /// The packet scheduler. Default: that of the machine if Braid has it, else linux, that of unmodified kernels.
    #[arg(long, value_name = "SPEC")]
    scheduler: Option<String>,
    /// Repeat every run with these seeds: N means 1 to N, A..B means A to B, both included.
    #[arg(long, value_name = "N|A..B", default_value = "10", allow_negative_numbers = true)]
    seeds: Seeds,
    /// Change a value of the network, such as duration=30s; may be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// How long to watch the connection.
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration, default_value = "30s",
          conflicts_with = "scenario")]
    time: std::time::Duration,
    /// Only connections where this is part of an address, the interface, the token, the algorithm or the namespace.
    #[arg(
        long,
        short,
        value_name = "TEXT",
        default_value = "",
        hide_default_value = true,
        conflicts_with = "scenario"
    )]
    filter: String,
    /// Write the network that was seen as a scenario file.
    #[arg(long, value_name = "FILE.toml", value_hint = ValueHint::FilePath, conflicts_with = "scenario")]
    save: Option<PathBuf>,
    /// One JSON document instead of text.
    #[arg(long)]
    json: bool,
    /// No progress bar and no notes, only results and errors.
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn advise(args: &AdviseArgs) -> Result<(), Failure> {
    let answer = match &args.scenario {
        Some(name) => ask(args, &Source::find(name)?, None, Vec::new())?,
        #[cfg(target_os = "linux")]
        None => {
            let seen = live::watch(&args.filter, args.time, args.save.as_deref(), args.quiet)?;
            ask(args, &seen.source, seen.scheduler, seen.notes)?
        }
        #[cfg(not(target_os = "linux"))]
        None => return Err(Failure::bad_input("connections are seen on Linux only", "name a scenario")),
    };
    let text = if args.json { format!("{:#}\n", answer.document()) } else { answer.text() };
    terminal::print(text.as_bytes())
}

/// Takes all runs.
struct Runs(Vec<Run>);

impl Sink for Runs {
    fn see(&mut self, _: &Plan, event: &Event) -> Result<bool, Error> {
        if let Event::Finished(finished) = event {
            self.0.push(finished.run.clone());
        }
        Ok(true)
    }
}

/// Simulates the candidates in this network with the scheduler asked for or, without one, with `present`.
fn ask(
    args: &AdviseArgs,
    source: &Source,
    present: Option<&str>,
    notes: Vec<String>,
) -> Result<Answer, Failure> {
    let file = braid_scenario::load(source, &args.set)?;
    let network = Network::of(&file)?;
    let connection = network.connection();
    let all: Vec<String> = connection.subflows.iter().map(|subflow| subflow.name.clone()).collect();
    let disjoint = network.disjoint();
    let mut specs: Vec<Spec> = args.cc.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
    // On disjoint paths it is the baseline.
    specs.retain(|spec| disjoint != all || spec.text() != CUBIC);

    let sets = [(disjoint.clone(), vec![cubic()]), (all.clone(), specs.clone())];
    let scheduler = args.scheduler.as_deref().or(present).unwrap_or("linux");
    let mut study = Study::new(Vec::<String>::new()).seeds(args.seeds).schedulers([scheduler]);
    let mut alone = 0;
    for (subflows, specs) in sets.into_iter().filter(|(_, specs)| !specs.is_empty()) {
        let cells = network.cells(&subflows);
        let mut file = file.clone();
        (file.cells, alone) = (cells.all, cells.alone);
        study = study.planned(Planned { file, specs });
    }
    let plan = study.check()?;
    let mut runs = Runs(Vec::new());
    let how = How { jobs: None, quiet: args.quiet };
    let done = conduct(&plan, plan.execution(), None, &how, vec![&mut runs])?;
    if let Some(failed) = done.first {
        return Err(Failure::new(FAILED, format!("a run failed: {failed}")));
    }
    let groups: Vec<&[Run]> = runs.0.chunks(plan.seeds_of_each()).collect();
    let competitors = network.competitors();
    let cells = plan.files()[0].file.cells.len();
    let goodputs = |groups: &[&[Run]]| Goodputs::of(groups, alone, &connection.name, &competitors);
    let (of_baseline, of_candidates) = groups.split_at(cells);
    let baseline = goodputs(of_baseline);
    let row = |(place, spec): (usize, &Spec)| {
        let own: Vec<&[Run]> = (0..cells).map(|cell| of_candidates[cell * specs.len() + place]).collect();
        Row::of(spec.text(), &goodputs(&own), &baseline, &competitors)
    };
    Ok(Answer {
        about: format!(
            "{}, {}: cubic on {} is the baseline",
            source.name,
            connection.name,
            disjoint.join(", ")
        ),
        others: all.into_iter().filter(|name| !disjoint.contains(name)).collect(),
        subflows: disjoint,
        candidates: specs.iter().enumerate().map(row).collect(),
        baseline: Row::of("baseline", &baseline, &baseline, &competitors),
        notes,
    })
}
