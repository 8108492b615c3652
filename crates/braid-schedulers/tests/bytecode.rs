//! Native code and BPF bytecode make the same choices. An interpreter runs the bytecode from `scripts/schedulers-bpf`.
//!
//! `vectors.rs` and the model in bench/oracle/schedulers.py check whether a choice is right; here states may be absurd.

use std::io::Write as _;
use std::path::Path as File;
use std::process::Command;
use std::{env, fs};

use braid_schedulers::layout::{Choice, MAX_PATHS, NO_SSTHRESH, Path, Paths};
use braid_schedulers::{Chooser, Event, Scheduler, Spec, all};
use fastrand::Rng;
use object::{Object as _, ObjectSection as _};

/// `struct braid_scheduler_memory` of `bpf/scheduler_host.h`.
const CHOICE: usize = size_of::<Paths>();
const PARAMS: usize = CHOICE + size_of::<Choice>();
const PRIVATE: usize = PARAMS + 64;
const SIZE: usize = PRIVATE + 1024;

const EVENTS: [(Event, &str); 4] = [
    (Event::Choose, "braid/choose"),
    (Event::Join, "braid/join"),
    (Event::Rtt, "braid/rtt"),
    (Event::Blocked, "braid/blocked"),
];
/// Events per connection: several, so that private memory matters.
const EVENTS_OF_EACH: usize = 100;

/// The object files of all schedulers, or why they are missing.
fn compiled(folder: &File) -> Result<(), String> {
    let script = File::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/schedulers-bpf");
    let done = Command::new(script).arg(folder).output().map_err(|error| error.to_string())?;
    if done.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&done.stderr).into_owned()) }
}

/// The bytecode for each event.
fn programs(folder: &File, scheduler: &Scheduler) -> Vec<Vec<u8>> {
    let bytes = fs::read(folder.join(format!("{}.o", scheduler.name()))).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let program = |name: &str| {
        let section = file.section_by_name(name).expect("there is one for each event");
        assert_eq!(section.relocations().count(), 0, "{name} of {} calls nothing", scheduler.name());
        section.data().unwrap().to_vec()
    };
    EVENTS.iter().map(|(_, name)| program(name)).collect()
}

/// Usually a realistic number, occasionally any.
fn number(rng: &mut Rng, usual: u64) -> u64 {
    match rng.u8(..20) {
        0 => 0,
        1 => 1,
        2 => rng.u64(..) >> rng.u8(..64),
        3 => u64::MAX,
        _ => rng.u64(..usual),
    }
}

fn word(rng: &mut Rng, usual: u32) -> u32 {
    number(rng, usual.into()) as u32
}

fn path(rng: &mut Rng) -> Path {
    // Most flags of most paths are set; backup and stale seldom.
    let flags = rng.u32(..256) | if rng.bool() { 0b1010_1101 } else { 0 };
    let srtt_us = word(rng, 200_000);
    Path {
        flags: if rng.u8(..4) > 0 { flags & !0b0101_0010 } else { flags },
        mss: if rng.bool() { 1400 } else { word(rng, 1500) },
        srtt_us,
        rttvar_us: word(rng, 50_000),
        mdev_max_us: word(rng, 300_000),
        last_rtt_us: word(rng, 200_000),
        cwnd: word(rng, 200),
        ssthresh: if rng.bool() { NO_SSTHRESH } else { word(rng, 200) },
        in_flight: word(rng, 200),
        queued: word(rng, 50),
        behind: word(rng, 50),
        reserved: 0,
        memory: number(rng, 1 << 20),
        pacing_rate: number(rng, 1 << 26),
    }
}

/// The next state of a connection: later, with some fields changed.
fn next(rng: &mut Rng, before: &Paths) -> Paths {
    let mut view = *before;
    view.now_us += rng.u64(..100_000);
    if rng.u8(..50) == 0 {
        view.n = rng.u32(1..=MAX_PATHS as u32);
    }
    view.self_index = rng.u32(..view.n);
    view.flags = rng.u32(..16);
    view.segment = if rng.bool() { 1400 } else { rng.u32(1..1500) };
    view.carriers = rng.u32(..256) & rng.u32(..256);
    view.head_carriers = rng.u32(..256) & rng.u32(..256);
    view.window = number(rng, 1 << 22);
    view.window_left = number(rng, 1 << 20);
    view.unassigned = number(rng, 1 << 22);
    for path_of in &mut view.path {
        if rng.u8(..3) == 0 {
            *path_of = path(rng);
        }
    }
    view
}

/// Compares `states` states of each scheduler, with random parameters for every connection.
fn agree(states: usize) {
    let folder = tempfile::tempdir().unwrap();
    if let Err(reason) = compiled(folder.path()) {
        assert!(env::var_os("CI").is_none(), "{reason}");
        writeln!(std::io::stderr(), "SKIPPED: bytecode of the schedulers: {reason}").expect("stderr");
        return;
    }
    for (number, scheduler) in all().iter().enumerate() {
        let programs = programs(folder.path(), scheduler);
        let machines: Vec<rbpf::EbpfVmRaw> =
            programs.iter().map(|program| rbpf::EbpfVmRaw::new(Some(program)).unwrap()).collect();
        let mut rng = Rng::with_seed(number as u64);
        let mut chosen = 0;
        for connection in 0..states / EVENTS_OF_EACH {
            let drawn = scheduler.params().filter(|_| connection > 0).map(|param| {
                let value = f64::from(rng.u32(param.low..=param.high)) / f64::from(param.scale);
                format!(":{}={value}", param.name)
            });
            // Values that the command line refuses become the default.
            let text: String =
                drawn.filter(|part| Spec::parse(&format!("{}{part}", scheduler.name())).is_ok()).collect();
            let spec = Spec::parse(&format!("{}{text}", scheduler.name())).unwrap();
            let mut native = Chooser::new(&spec);
            // Aligned as the words in it.
            let mut memory = vec![0_u64; SIZE / 8];
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut memory);
            let params: &[u8] = bytemuck::cast_slice(spec.values());
            bytes[PARAMS..PARAMS + params.len()].copy_from_slice(params);
            let mut view = Paths {
                n: rng.u32(1..=4),
                path: std::array::from_fn(|_| path(&mut rng)),
                ..Paths::default()
            };
            for round in 0..EVENTS_OF_EACH {
                view = next(&mut rng, &view);
                let event = if round < 4 { 1 } else { [0, 0, 0, 2, 3, 1][rng.usize(..6)] };
                let expected = native.deliver(EVENTS[event].0, &view);
                bytes[..CHOICE].copy_from_slice(bytemuck::bytes_of(&view));
                bytes[CHOICE..PARAMS].fill(0);
                machines[event].execute_program(bytes).unwrap();
                let found: Choice = bytemuck::pod_read_unaligned(&bytes[CHOICE..PARAMS]);
                assert_eq!(found, expected, "{spec}, {:?}: {view:?}", EVENTS[event].0);
                let private: &[u8] = bytemuck::cast_slice(native.private());
                let used = scheduler.private_bytes();
                assert_eq!(bytes[PRIVATE..PRIVATE + used], private[..used], "{spec} remembers the same");
                chosen += usize::from(expected != Choice::default());
            }
        }
        assert!(
            chosen > states / 10,
            "{} chooses something in {chosen} of {states} states",
            scheduler.name()
        );
    }
}

#[test]
fn native_code_and_bytecode_agree_in_100_000_states_of_each_scheduler() {
    agree(100_000);
}
