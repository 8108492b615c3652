//! What happens during a run: connections open, send, receive, get and lose subflows, and are counted.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr},
    os::fd::{AsFd as _, AsRawFd as _},
};

use rustix::{
    event::epoll,
    fd::OwnedFd,
    time::{
        ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, clock_gettime,
        timerfd_create, timerfd_settime,
    },
};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};

use super::{
    Done,
    capture::Capture,
    counters::Episodes,
    network::{self, Network},
    paths::{Endpoint, Paths},
    processors::Processors,
    programs::Programs,
    sockets::Sockets,
    tcp_info::{self, TcpInfo},
    thresholds,
    verdicts::Listener,
};
use crate::job::{self, ConnectionAt, Job, Moment, QueueAt, Report, SubflowAt};

/// Between two looks at everything; means over time are made of these.
const LOOK_NS: u64 = 20_000_000;
/// Between two records.
const RECORD_NS: u64 = 100_000_000;
const SECOND_NS: u64 = 1_000_000_000;
/// From the setup to the start of the run.
const LEAD_NS: u64 = 100_000_000;
/// From one attempt to join to the next, where the first came too early.
const JOIN_RETRY_NS: u64 = 1_000_000;
const FIRST_PORT: u16 = 5001;

/// Nanoseconds of the guest's clock.
fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * SECOND_NS + time.tv_nsec as u64
}

/// Something that happens at a certain time; those at one time in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Change(usize),
    Reroute(usize),
    Close(usize),
    Leave(usize, usize),
    /// Counts.
    Look,
    Kill(usize),
    Open(usize),
    Join(usize, usize),
}

/// A subflow's counts: those of its present life, and the sums of earlier ones.
#[derive(Clone, Copy, Default)]
struct Counted {
    id: Option<u32>,
    sender: TcpInfo,
    receiver: TcpInfo,
    before: SubflowAt,
    /// Integrals and sums so far.
    own: SubflowAt,
}

impl Counted {
    /// The present life is over.
    fn retire(&mut self) {
        if self.id.take().is_some() {
            let sum = self.total();
            self.before = SubflowAt { active_ns: 0, cwnd_integral: 0, rtt_sum_us: 0, rtt_samples: 0, ..sum };
            (self.sender, self.receiver) = (TcpInfo::default(), TcpInfo::default());
        }
    }

    /// After another `elapsed_ns`.
    fn see(&mut self, sender: Option<TcpInfo>, receiver: Option<TcpInfo>, elapsed_ns: u64) {
        let Some(sender) = sender.filter(|sender| sender.established) else {
            self.retire();
            return;
        };
        if self.id != Some(sender.id) {
            self.retire();
            self.id = Some(sender.id);
        }
        let delivered = u64::from(sender.delivered.saturating_sub(self.sender.delivered));
        self.own.active_ns += elapsed_ns;
        self.own.cwnd_integral += u128::from(sender.cwnd) * u128::from(elapsed_ns);
        self.own.rtt_sum_us += delivered * u64::from(sender.srtt_us);
        self.own.rtt_samples += delivered;
        self.own.see_min_rtt(sender.min_rtt_us);
        self.sender = sender;
        if let Some(receiver) = receiver {
            self.receiver = receiver;
        }
    }

    fn total(&self) -> SubflowAt {
        let (sender, receiver, before) = (&self.sender, &self.receiver, &self.before);
        SubflowAt {
            established: self.id.is_some(),
            cwnd: sender.cwnd,
            ssthresh: sender.known_ssthresh(),
            srtt_us: sender.srtt_us,
            in_flight: sender.in_flight,
            mss: if sender.mss > 0 { sender.mss } else { before.mss },
            sent: before.sent + u64::from(sender.data_packets_out),
            sent_bytes: before.sent_bytes + sender.bytes_sent,
            retransmissions: before.retransmissions + u64::from(sender.retransmissions),
            timeouts: before.timeouts + u64::from(sender.timeouts),
            received: before.received + u64::from(receiver.data_packets_in),
            ..self.own
        }
    }
}

/// A connection as it is.
struct Flow {
    /// Of our own; then there are no programs.
    listener: Option<Socket>,
    programs: Option<Programs>,
    sender: Option<Socket>,
    receiver: Option<Socket>,
    paths: Option<Paths>,
    established: bool,
    delivered_bytes: u64,
    reinjected_bytes: u64,
    subflows: Vec<Counted>,
    /// Instead of these, where the traffic is of programs: counts of their sockets, by subflow, and payload that they got on all
    /// subflows.
    of_programs: Vec<SubflowAt>,
    active_ns: u64,
    received_bytes: u64,
}

/// Which socket an event is about.
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
    epoll::EventData::new_u64(((flow as u64) << 3) | role as u64)
}

/// A run in progress.
pub(super) struct Run<'a> {
    job: &'a Job,
    network: Network,
    flows: Vec<Flow>,
    epoll: OwnedFd,
    timer: OwnedFd,
    /// By time, then by kind and number.
    agenda: BTreeSet<(u64, Action)>,
    start: u64,
    last_look: u64,
    queues: Vec<QueueAt>,
    /// Whether a queue was changed since the last look.
    has_changed: bool,
    zeros: Vec<u8>,
    processors: Processors,
    listener: Option<Listener>,
    capture: Option<Capture>,
    report: Report,
}

type Result<T> = std::result::Result<T, String>;

fn failed(what: &str) -> impl Fn(io::Error) -> String + '_ {
    move |error| format!("{what}: {error}")
}

impl<'a> Run<'a> {
    /// Builds the network and everything that listens.
    pub(super) fn prepare(job: &'a Job, processors: Processors) -> Result<Self> {
        let mut network = Network::build(job)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(|e| format!("epoll: {e}"))?;
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK)
            .map_err(|e| format!("timerfd: {e}"))?;
        epoll::add(&epoll, &timer, token(0, Role::Timer), epoll::EventFlags::IN)
            .map_err(|e| format!("epoll: {e}"))?;
        let mut flows = Vec::new();
        for (number, connection) in job.connections.iter().enumerate() {
            flows.push(prepare_flow(&network, number, connection)?);
            let flow = &flows[number];
            let server = flow.programs.as_ref().and_then(|programs| programs.end_of(0));
            let listener = flow.listener.as_ref().map(|listener| (listener.as_fd(), Role::Listener));
            for (file, role) in listener.into_iter().chain(server.map(|end| (end.as_fd(), Role::Server))) {
                epoll::add(&epoll, file, token(number, role), epoll::EventFlags::IN)
                    .map_err(|e| format!("epoll: {e}"))?;
            }
        }
        let queues = network.queues(job)?;
        let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").map_err(failed("osrelease"))?;
        let mut run = Self {
            job,
            capture: Capture::begin(job, &network)?,
            network,
            flows,
            epoll,
            timer,
            agenda: BTreeSet::new(),
            start: 0,
            last_look: 0,
            queues,
            has_changed: false,
            zeros: vec![0; 1 << 16],
            processors,
            listener: Listener::new(job)?,
            report: Report { kernel: kernel.trim().to_owned(), ..Report::default() },
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
        self.agenda.insert((time, action));
    }

    /// Runs, with a `beat` every second.
    pub(super) fn run(mut self, beat: impl Fn()) -> Result<Done> {
        // Not at an arbitrary place within a tick of the kernel's clock.
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
            while let Some(&(time, action)) = self.agenda.first() {
                if is_before || time > now {
                    break;
                }
                self.agenda.pop_first();
                if now - time > self.report.latest_ns {
                    (self.report.latest_ns, self.report.latest_at_ns) = (now - time, time);
                }
                self.act(time, action)?;
                if time >= self.job.duration_ns && matches!(action, Action::Look) {
                    self.report.elsewhere = self.network.drops(self.job)?;
                    for (number, flow) in self.flows.iter_mut().enumerate() {
                        let ended = flow.programs.take().map(|programs| programs.finish(number));
                        self.report.programs.extend(ended.into_iter().flatten());
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
            let Some(&(next, _)) = self.agenda.first() else {
                return Err("nothing left to do before the end".into());
            };
            self.set_timer(self.start + next)?;
            events.clear();
            epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), None)
                .map_err(|e| format!("epoll: {e}"))?;
            for event in &events {
                let data = event.data.u64();
                let flow = (data >> 3) as usize;
                match data & 7 {
                    0 => {
                        let mut expirations = [0; 8];
                        let _ = rustix::io::read(&self.timer, &mut expirations);
                    }
                    1 => self.accept(flow)?,
                    2 => self.send(flow)?,
                    3 => self.receive(flow)?,
                    role => self.ended(flow, role as usize - Role::Server as usize)?,
                }
            }
        }
    }

    fn set_timer(&self, at: u64) -> Result<()> {
        let time = Timespec { tv_sec: (at / SECOND_NS) as i64, tv_nsec: (at % SECOND_NS) as i64 };
        let zero = Timespec { tv_sec: 0, tv_nsec: 0 };
        let timer = Itimerspec { it_interval: zero, it_value: time };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &timer)
            .map(drop)
            .map_err(|e| format!("timerfd: {e}"))
    }

    fn act(&mut self, time: u64, action: Action) -> Result<()> {
        match action {
            Action::Look => self.look(time),
            Action::Open(flow) => self.open(flow),
            Action::Close(flow) => self.close(flow, time),
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

    fn open(&mut self, number: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        if self.flows[number].programs.is_some() {
            return self.open_program(number);
        }
        self.network.enter(connection.nodes[0])?;
        let name = &connection.name;
        let failed = |what: &'static str| move |error: io::Error| format!("{name}: {what}: {error}");
        let socket = socket(connection.multipath, connection.server).map_err(failed("socket"))?;
        socket
            .set_tcp_congestion(connection.cc.as_bytes())
            .map_err(failed("setting its congestion control"))?;
        socket.set_nonblocking(true).map_err(failed("socket"))?;
        let local = SocketAddr::new(connection.subflows[0].address, 0);
        socket.bind(&local.into()).map_err(failed("bind"))?;
        let remote = SocketAddr::new(connection.server, port(number));
        match socket.connect(&remote.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
                return Err(failed("connect")(error));
            }
            _ => {}
        }
        epoll::add(&self.epoll, &socket, token(number, Role::Sender), epoll::EventFlags::OUT)
            .map_err(|e| format!("epoll: {e}"))?;
        self.flows[number].sender = Some(socket);
        Ok(())
    }

    /// The client starts, and what it opens has all subflows.
    fn open_program(&mut self, number: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        let now = now_ns() - self.start;
        for (index, subflow) in connection.subflows.iter().enumerate().skip(1) {
            if subflow.up.is_empty() {
                self.change_path(number, index, true)?;
            }
            for &(from, to) in &subflow.up {
                self.plan(from.max(now), Action::Join(number, index));
                self.plan(to.max(now), Action::Leave(number, index));
            }
        }
        let Some(programs) = &mut self.flows[number].programs else { return Ok(()) };
        let server_sends = connection.programs.as_ref().is_some_and(|programs| programs.server_sends);
        self.network.enter(connection.nodes[usize::from(server_sends)])?;
        programs.start(1, now).map_err(|error| format!("{}: {error}", connection.name))?;
        if let Some(end) = programs.end_of(1) {
            epoll::add(&self.epoll, end, token(number, Role::Client), epoll::EventFlags::IN)
                .map_err(|e| format!("epoll: {e}"))?;
        }
        Ok(())
    }

    /// A program has ended.
    fn ended(&mut self, number: usize, which: usize) -> Result<()> {
        let name = &self.job.connections[number].name;
        let Some(programs) = &mut self.flows[number].programs else { return Ok(()) };
        let now = now_ns().saturating_sub(self.start);
        if programs.ended(which, now).map_err(|error| format!("{name}: {error}"))? {
            if let Some(end) = programs.end_of(which) {
                let _ = epoll::delete(&self.epoll, end);
            }
        }
        Ok(())
    }

    fn accept(&mut self, number: usize) -> Result<()> {
        let flow = &mut self.flows[number];
        let Some(listener) = &flow.listener else { return Ok(()) };
        let (socket, _) = listener.accept().map_err(failed("accept"))?;
        socket.set_nonblocking(true).map_err(failed("accept"))?;
        epoll::add(&self.epoll, &socket, token(number, Role::Receiver), epoll::EventFlags::IN)
            .map_err(|e| format!("epoll: {e}"))?;
        flow.receiver = Some(socket);
        Ok(())
    }

    fn send(&mut self, number: usize) -> Result<()> {
        let flow = &mut self.flows[number];
        let Some(socket) = &flow.sender else { return Ok(()) };
        if !flow.established {
            if let Some(error) = socket.take_error().map_err(failed("socket"))? {
                return Err(format!("{}: connect: {error}", self.job.connections[number].name));
            }
            flow.established = true;
            self.established(number)?;
        }
        let socket = self.flows[number].sender.as_ref().expect("it was there");
        // Once, and again when it is asked for again: to fill a send buffer takes long.
        match socket.send(&self.zeros) {
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
            Err(error) => Err(format!("{}: send: {error}", self.job.connections[number].name)),
        }
    }

    /// Plans when the other subflows come, and who goes.
    fn established(&mut self, number: usize) -> Result<()> {
        let connection = &self.job.connections[number];
        if connection.subflows.iter().all(|subflow| subflow.up.is_empty()) && connection.subflows.len() == 1 {
            return Ok(());
        }
        let socket = self.flows[number].sender.as_ref().expect("it is established");
        let info = tcp_info::mptcp(socket).map_err(failed("MPTCP_FULL_INFO"))?;
        let rtt_ns = info.subflows.first().map_or(0, |(.., info)| u64::from(info.srtt_us) * 1000);
        let now = now_ns() - self.start;
        for (index, subflow) in connection.subflows.iter().enumerate() {
            if subflow.up.is_empty() && index > 0 {
                self.plan(now + subflow.join_delay_ns.unwrap_or(rtt_ns), Action::Join(number, index));
            }
            for &(from, to) in subflow.up.iter().filter(|&&(_, to)| to > now) {
                if index > 0 || from > now {
                    self.plan(from.max(now + rtt_ns), Action::Join(number, index));
                }
                self.plan(to, Action::Leave(number, index));
            }
        }
        Ok(())
    }

    fn change_path(&mut self, number: usize, index: usize, join: bool) -> Result<()> {
        let connection = &self.job.connections[number];
        let subflow = &connection.subflows[index];
        let flow = &mut self.flows[number];
        let Some(paths) = &mut flow.paths else { return Ok(()) };
        if flow.programs.is_none() {
            let Some(sender) = &flow.sender else { return Ok(()) };
            let info = tcp_info::mptcp(sender).map_err(failed("MPTCP_FULL_INFO"))?;
            if join && info.bytes_acknowledged == 0 {
                // Until the peer has acknowledged data it takes no joins (RFC 8684 sect. 3.1).
                let again = now_ns() - self.start + JOIN_RETRY_NS;
                self.plan(again, Action::Join(number, index));
                return Ok(());
            }
        }
        let endpoint = Endpoint {
            // The first one is not an endpoint, at least at first; the kernel calls it 0.
            id: index as u8,
            address: subflow.address,
            interface: network::interface(subflow.wire, 0),
            backup: subflow.backup,
            announced: connection.programs.as_ref().is_some_and(|programs| programs.server_sends),
        };
        let done = if join { paths.add(&endpoint) } else { paths.remove(&endpoint) };
        done.map_err(|error| {
            let what = if join { "joining" } else { "leaving" };
            format!("{}: subflow {index}: {what}: {error}", connection.name)
        })
    }

    fn receive(&mut self, number: usize) -> Result<()> {
        let flow = &mut self.flows[number];
        let Some(socket) = &flow.receiver else { return Ok(()) };
        loop {
            // Nobody looks at the bytes: they need not be copied.
            // SAFETY: MSG_TRUNC on a stream discards; nothing is written to the buffer, which is never read.
            let count = unsafe {
                libc::recv(
                    socket.as_raw_fd(),
                    self.zeros.as_mut_ptr().cast(),
                    self.zeros.len(),
                    libc::MSG_TRUNC | libc::MSG_DONTWAIT,
                )
            };
            match count {
                1.. => flow.delivered_bytes += count as u64,
                0 => break,
                _ => {
                    let error = io::Error::last_os_error();
                    match error.kind() {
                        ErrorKind::WouldBlock => return Ok(()),
                        ErrorKind::ConnectionReset => break,
                        _ => return Err(format!("{}: receive: {error}", self.job.connections[number].name)),
                    }
                }
            }
        }
        let _ = epoll::delete(&self.epoll, socket);
        flow.receiver = None;
        Ok(())
    }

    fn close(&mut self, number: usize, time: u64) -> Result<()> {
        self.observe(time)?;
        if let Some(programs) = &mut self.flows[number].programs {
            programs.tell_to_end();
            self.plan(time + SECOND_NS, Action::Kill(number));
            return Ok(());
        }
        let flow = &mut self.flows[number];
        if let Some(socket) = flow.sender.take() {
            let _ = epoll::delete(&self.epoll, &socket);
            // At once: what is under way is forgotten.
            // SAFETY: an address without a family, two bytes of which are read.
            let nobody = unsafe {
                SockAddr::try_init(|storage, length| {
                    (*storage.cast::<libc::sockaddr>()).sa_family = libc::AF_UNSPEC as libc::sa_family_t;
                    *length = size_of::<libc::sockaddr>() as libc::socklen_t;
                    Ok(())
                })
            };
            let ((), nobody) = nobody.map_err(failed("closing"))?;
            let _ = socket.connect(&nobody);
        }
        for subflow in &mut flow.subflows {
            subflow.retire();
        }
        Ok(())
    }

    /// Counts, and plans the next time.
    fn look(&mut self, time: u64) -> Result<()> {
        if let Some(capture) = &mut self.capture {
            capture.collect()?;
        }
        self.observe(time)?;
        let is_regular = time % RECORD_NS == 0;
        if is_regular || self.job.moments.contains(&time) || time >= self.job.duration_ns {
            self.record(time, is_regular)?;
        }
        let next = (time + 1).next_multiple_of(LOOK_NS).min(self.job.duration_ns);
        if time < self.job.duration_ns {
            self.plan(next, Action::Look);
        }
        Ok(())
    }

    fn observe(&mut self, time: u64) -> Result<()> {
        let elapsed = time - self.last_look;
        self.last_look = time;
        for (number, (connection, flow)) in self.job.connections.iter().zip(&mut self.flows).enumerate() {
            if let Some(programs) = &mut flow.programs {
                let addresses: Vec<IpAddr> =
                    connection.subflows.iter().map(|subflow| subflow.address).collect();
                let moved = programs.look(&addresses, &mut flow.of_programs, elapsed);
                let moved = moved.map_err(failed("listing sockets"))?;
                if flow.of_programs.iter().any(|subflow| subflow.established) {
                    flow.active_ns += elapsed;
                }
                flow.reinjected_bytes += moved.again;
                flow.received_bytes += moved.bytes;
                flow.delivered_bytes = flow.received_bytes.saturating_sub(flow.reinjected_bytes);
                continue;
            }
            let Some(sender) = flow.sender.as_ref().filter(|_| flow.established) else { continue };
            if connection.multipath {
                let sent = tcp_info::mptcp(sender).map_err(failed("MPTCP_FULL_INFO"))?;
                let got = flow.receiver.as_ref().map(tcp_info::mptcp).transpose();
                let got = got.map_err(failed("MPTCP_FULL_INFO"))?.unwrap_or_default();
                flow.reinjected_bytes = sent.bytes_retransmitted;
                if let Some(listener) = self.listener.as_mut().filter(|listener| listener.hears(number)) {
                    self.network.enter(connection.nodes[0])?;
                    let changes = listener.listen(number, self.job, &sent, (self.start, time))?;
                    self.report.verdicts.extend(changes);
                }
                for (model, subflow) in connection.subflows.iter().zip(&mut flow.subflows) {
                    let of = |address: IpAddr| address == model.address;
                    let here = sent.subflows.iter().find(|(local, ..)| of(*local)).map(|&(.., info)| info);
                    let there = got.subflows.iter().find(|(_, peer, _)| of(*peer)).map(|&(.., info)| info);
                    subflow.see(here, there, elapsed);
                }
            } else {
                let here = tcp_info::tcp(sender).map_err(failed("TCP_INFO"))?;
                let there =
                    flow.receiver.as_ref().map(tcp_info::tcp).transpose().map_err(failed("TCP_INFO"))?;
                flow.subflows[0].see(Some(here), there, elapsed);
            }
        }
        let queues = self.network.queues(self.job)?;
        for (number, now) in queues.into_iter().enumerate() {
            let before = &mut self.queues[number];
            let mut now = QueueAt {
                most_queued: before.most_queued.max(now.queued),
                // One less than before is one that was dropped while the queue was read.
                dropped: before.dropped.max(now.dropped),
                lost: before.lost.max(now.lost),
                ..now
            };
            // Between two looks the length is taken to change evenly.
            now.queue_integral =
                before.queue_integral + u128::from(before.queued + now.queued) * u128::from(elapsed) / 2;
            (now.backlogged_packets, now.backlogged_bits) =
                (before.backlogged_packets, before.backlogged_bits);
            // What was queued then alone has taken longer to send.
            let bits = (u128::from(self.network.rate(number)) * u128::from(elapsed) / 1_000_000_000) as u64;
            let waiting = u64::from(before.queued) * 8 * before.bytes / before.packets.max(1);
            if bits > 0 && waiting >= bits && !self.has_changed {
                now.backlogged_packets += now.served - before.served;
                now.backlogged_bits += bits;
            }
            *before = now;
        }
        self.has_changed = false;
        Ok(())
    }

    fn record(&mut self, time: u64, regular: bool) -> Result<()> {
        let mut connections = Vec::new();
        for (model, flow) in self.job.connections.iter().zip(&self.flows) {
            let counts = !model.multipath && self.job.moments.contains(&time);
            let episodes = if counts { self.network.episodes(model.nodes[0])? } else { Episodes::default() };
            connections.push(ConnectionAt {
                open: flow.sender.is_some(),
                active_ns: flow.active_ns,
                delivered_bytes: flow.delivered_bytes,
                reinjected_bytes: flow.reinjected_bytes,
                recoveries: episodes.recoveries,
                undos: episodes.undos,
                subflows: match flow.programs {
                    Some(_) => flow.of_programs.clone(),
                    None => flow.subflows.iter().map(Counted::total).collect(),
                },
            });
        }
        let moment = Moment {
            time_ns: time,
            regular,
            busy_ns: self.processors.busy_ns()?,
            connections,
            queues: self.queues.clone(),
        };
        self.report.moments.push(moment);
        Ok(())
    }
}

fn port(flow: usize) -> u16 {
    FIRST_PORT + flow as u16
}

fn socket(multipath: bool, of: IpAddr) -> io::Result<Socket> {
    let protocol = if multipath { Protocol::from(libc::IPPROTO_MPTCP) } else { Protocol::TCP };
    Socket::new(Domain::for_address(SocketAddr::new(of, 0)), Type::STREAM, Some(protocol))
}

/// Sets the size of a buffer, whatever the limit for all sockets is.
fn force_buffer(socket: &Socket, option: libc::c_int, bytes: u64) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX / 2);
    // SAFETY: an option whose value is an int.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const bytes).cast(),
            size_of::<i32>() as libc::socklen_t,
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The receiver listens, and the path managers of both sides are ready.
fn prepare_flow(network: &Network, number: usize, connection: &job::Connection) -> Result<Flow> {
    let name = &connection.name;
    let failed = |what: &'static str| move |error: io::Error| format!("{name}: {what}: {error}");
    network.enter(connection.nodes[1])?;
    if connection.multipath {
        Paths::open().map_err(failed("path manager"))?;
    }
    let mut listener = None;
    if connection.programs.is_none() {
        let own = socket(connection.multipath, connection.server).map_err(failed("socket"))?;
        force_buffer(&own, libc::SO_RCVBUFFORCE, connection.receive_buffer)
            .map_err(failed("receive buffer"))?;
        let address = SocketAddr::new(connection.server, port(number));
        own.bind(&address.into()).map_err(failed("bind"))?;
        own.listen(128).map_err(failed("listen"))?;
        listener = Some(own);
    }
    network.enter(connection.nodes[0])?;
    if let Some(packets) = connection.initial_ssthresh {
        let IpAddr::V4(server) = connection.server else {
            return Err(format!("{name}: thresholds to begin with are for IPv4 only"));
        };
        let senders = connection.subflows.iter().filter_map(|subflow| match subflow.address {
            IpAddr::V4(address) => Some(address),
            IpAddr::V6(_) => None,
        });
        thresholds::remember(senders, server, packets).map_err(failed("initial ssthresh"))?;
    }
    let paths = connection.multipath.then(Paths::open).transpose().map_err(failed("path manager"))?;
    fs::write("/proc/sys/net/ipv4/tcp_congestion_control", &connection.cc)
        .map_err(failed("setting the default congestion control"))?;
    let programs = connection.programs.as_ref().map(|model| prepare_programs(network, connection, model));
    Ok(Flow {
        listener,
        programs: programs.transpose()?,
        sender: None,
        receiver: None,
        paths,
        established: false,
        delivered_bytes: 0,
        reinjected_bytes: 0,
        subflows: vec![Counted::default(); connection.subflows.len()],
        of_programs: vec![SubflowAt::default(); connection.subflows.len()],
        active_ns: 0,
        received_bytes: 0,
    })
}

/// The server listens.
fn prepare_programs(
    network: &Network,
    connection: &job::Connection,
    model: &job::Programs,
) -> Result<Programs> {
    let name = &connection.name;
    let failed = |error: String| format!("{name}: {error}");
    let mut sockets = Vec::new();
    for node in connection.nodes {
        network.enter(node)?;
        fs::write("/proc/sys/net/ipv4/tcp_congestion_control", &connection.cc)
            .map_err(|error| failed(format!("setting the default congestion control: {error}")))?;
        sockets.push(Sockets::open().map_err(|error| failed(format!("listing sockets: {error}")))?);
    }
    let sockets = sockets.try_into().map_err(|_| failed("a connection has two ends".into()))?;
    let mut programs = Programs::new(model, sockets).map_err(|error| failed(error.to_string()))?;
    network.enter(connection.nodes[usize::from(!model.server_sends)])?;
    programs.start(0, 0).map_err(failed)?;
    programs.wait_for_listener().map_err(failed)?;
    Ok(programs)
}
