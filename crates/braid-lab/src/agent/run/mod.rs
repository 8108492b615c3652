//! A run: connections open, send, receive, get and lose subflows, and are sampled.

mod connections;
mod observe;
mod traffic;

use std::{collections::BTreeSet, os::fd::AsFd as _};

use braid_sim::application::Timer;
use rustix::{
    event::epoll,
    fd::OwnedFd,
    time::{
        Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
        timerfd_settime,
    },
};

use super::{
    capture::Capture,
    clock::{SECOND_NS, now_ns},
    flow::{Flow, prepare_flow},
    network::Network,
    outcome::{Done, failed},
    pattern::Pattern,
    processors::Processors,
    programs::Programs,
    rtts,
    verdicts::Listener,
};
use crate::job::{Job, QueueAt, Report};

/// Time from the setup to the start of the run.
const LEAD_NS: u64 = 100_000_000;
/// A planned action; actions of one time happen in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Change(usize),
    Reroute(usize),
    Close(usize),
    Leave(usize, usize),
    Look,
    Kill(usize),
    Open(usize),
    /// A delayed pair may send.
    Send(usize, usize),
    Join(usize, usize),
    /// What an application waits for.
    Due(Timer, usize),
}

/// The socket of an event.
#[derive(Clone, Copy)]
enum Role {
    Timer,
    Listener,
    Sender,
    Receiver,
    Server,
    Client,
}

fn token(flow: usize, role: Role) -> epoll::EventData {
    token_of(flow, 0, role)
}

/// Event token of a pair's socket.
fn token_of(flow: usize, pair: usize, role: Role) -> epoll::EventData {
    epoll::EventData::new_u64(((pair as u64) << 32) | ((flow as u64) << 3) | role as u64)
}

pub(super) struct Run<'a> {
    job: &'a Job,
    network: Network,
    flows: Vec<Flow>,
    epoll: OwnedFd,
    timer: OwnedFd,
    /// By time, then by kind and number.
    event_queue: BTreeSet<(u64, Action)>,
    start: u64,
    last_look: u64,
    queues: Vec<QueueAt>,
    /// Whether a queue was changed since the last sample.
    has_changed: bool,
    /// Unchecked data to send, and the receive buffer.
    buffer: Vec<u8>,
    /// Checked data to send.
    pattern: Pattern,
    processors: Processors,
    listener: Option<Listener>,
    rtts: Option<rtts::Counter>,
    capture: Option<Capture>,
    report: Report,
}

type Result<T> = std::result::Result<T, String>;

impl<'a> Run<'a> {
    /// Builds the network and all listeners.
    pub(super) fn prepare(job: &'a Job, processors: Processors) -> Result<Self> {
        let mut network = Network::build(job)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed("epoll"))?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK).map_err(failed("timerfd"))?;
        epoll::add(&epoll, &timer, token(0, Role::Timer), epoll::EventFlags::IN).map_err(failed("epoll"))?;
        let mut flows = Vec::new();
        for number in 0..job.connections.len() {
            flows.push(prepare_flow(&network, job, number)?);
            let flow = &flows[number];
            let server = flow.programs.as_ref().and_then(|programs| programs.end_of(0));
            let listener = flow.listener.as_ref().map(|listener| (listener.as_fd(), Role::Listener));
            for (file, role) in listener.into_iter().chain(server.map(|end| (end.as_fd(), Role::Server))) {
                epoll::add(&epoll, file, token(number, role), epoll::EventFlags::IN)
                    .map_err(failed("epoll"))?;
            }
        }
        let queues = network.queues(job)?;
        let mut run = Self {
            job,
            capture: Capture::begin(job, &network)?,
            network,
            flows,
            epoll,
            timer,
            event_queue: BTreeSet::new(),
            start: 0,
            last_look: 0,
            queues,
            has_changed: false,
            buffer: vec![0; 1 << 16],
            pattern: Pattern::new(),
            processors,
            listener: Listener::new(job)?,
            rtts: rtts::Counter::begin(job)?,
            report: Report::default(),
        };
        for (number, connection) in job.connections.iter().enumerate() {
            run.plan(connection.start_ns, Action::Open(number));
            if let Some(stop) = connection.stop_ns {
                run.plan(stop, Action::Close(number));
            }
        }
        for (number, change) in job.changes.iter().enumerate() {
            run.plan(change.at_ns, Action::Change(number));
        }
        for (number, change) in job.reroutes.iter().enumerate() {
            run.plan(change.at_ns, Action::Reroute(number));
        }
        for &moment in &job.moments {
            run.plan(moment, Action::Look);
        }
        Ok(run)
    }

    fn plan(&mut self, time: u64, action: Action) {
        self.event_queue.insert((time, action));
    }

    /// Runs, calling `beat` every second.
    pub(super) fn run(mut self, beat: impl Fn()) -> Result<Done> {
        // Starts at a multiple of the kernel's tick.
        self.start = (now_ns() + LEAD_NS).next_multiple_of(LEAD_NS);
        self.plan(0, Action::Look);
        if let Some(capture) = &mut self.capture {
            capture.start(self.start, self.job.duration_ns);
        }
        let mut events = Vec::with_capacity(64);
        let mut seconds = 0;
        loop {
            let now = now_ns().saturating_sub(self.start);
            let is_before = now_ns() < self.start;
            while let Some(&(time, action)) = self.event_queue.first() {
                if is_before || time > now {
                    break;
                }
                self.event_queue.pop_first();
                if now - time > self.report.latest_ns {
                    (self.report.latest_ns, self.report.latest_at_ns) = (now - time, time);
                }
                self.act(time, action)?;
                if time >= self.job.duration_ns && matches!(action, Action::Look) {
                    self.report.elsewhere = self.network.drops(self.job)?;
                    for (number, flow) in self.flows.iter_mut().enumerate() {
                        let ended = flow.programs.take().map(|programs| programs.finish(number));
                        self.report.programs.extend(ended.into_iter().flatten());
                        let transfers = flow.application.transfers.drain(..);
                        self.report.transfers.extend(transfers.map(|transfer| (number, transfer)));
                    }
                    let mut packets = Vec::new();
                    if let Some(capture) = self.capture {
                        (packets, self.report.missed_packets) = capture.finish()?;
                    }
                    return Ok((packets, self.report));
                }
            }
            if now / SECOND_NS > seconds {
                seconds = now / SECOND_NS;
                beat();
            }
            let Some(&(next, _)) = self.event_queue.first() else {
                return Err("nothing left to do before the end".into());
            };
            self.set_timer(self.start + next)?;
            events.clear();
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None)
                .map_err(failed("epoll"))?;
            for event in &events {
                let data = event.data.u64();
                let (flow, pair) = ((data & 0xffff_ffff) as usize >> 3, (data >> 32) as usize);
                match data & 7 {
                    0 => {
                        let mut expirations = [0; 8];
                        let _ = rustix::io::read(&self.timer, &mut expirations);
                    }
                    1 => self.accept(flow)?,
                    2 => self.sender_is_ready(flow, pair, event.flags)?,
                    3 => self.receive(flow, pair)?,
                    role => self.ended(flow, role as usize - Role::Server as usize)?,
                }
            }
        }
    }

    fn set_timer(&self, at: u64) -> Result<()> {
        let time = Timespec { tv_sec: (at / SECOND_NS) as i64, tv_nsec: (at % SECOND_NS) as i64 };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timer = Itimerspec { it_interval: zero, it_value: time };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &timer).map(drop).map_err(failed("timerfd"))
    }

    fn act(&mut self, time: u64, action: Action) -> Result<()> {
        match action {
            Action::Look => self.look(time),
            Action::Open(flow) => self.open(flow, time),
            Action::Send(flow, pair) => self.wait_for_room(flow, pair),
            Action::Close(flow) => self.close(flow, time),
            Action::Due(timer, flow) => {
                self.flows[flow].application.due(time, timer);
                self.drive(flow)
            }
            Action::Kill(flow) => {
                self.flows[flow].programs.iter_mut().for_each(Programs::kill);
                Ok(())
            }
            Action::Join(flow, subflow) => self.change_path(flow, subflow, true),
            Action::Leave(flow, subflow) => self.change_path(flow, subflow, false),
            Action::Change(number) => {
                let change = &self.job.changes[number];
                self.has_changed = true;
                self.network.change(self.job, change.end, &change.queue)
            }
            Action::Reroute(number) => self.network.reroute(&self.job.reroutes[number]),
        }
    }
}
