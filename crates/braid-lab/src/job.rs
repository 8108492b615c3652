//! What the host tells the guest to do, and what the guest answers: plain data, `postcard` on the way.

use std::net::IpAddr;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};

/// The name of the item of QEMU's firmware configuration that holds the [`Job`].
pub(crate) const JOB_ITEM: &str = "opt/org.braid/job";
/// Why a guest fails whose clock did not stand still while it was stopped: it has to begin again.
pub(crate) const CLOCK_MOVED: &str = "the clock moved on while the guest was stopped";

/// A network and what happens in it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Job {
    /// Length of the run.
    pub(crate) duration_ns: u64,
    /// Times at which everything is counted, besides every 100 ms.
    pub(crate) moments: Vec<u64>,
    /// Network namespaces.
    pub(crate) nodes: Vec<Node>,
    /// Cables between them.
    pub(crate) wires: Vec<Wire>,
    /// What to load: the name after `braid_`, and the spec.
    pub(crate) algorithms: Vec<(String, String)>,
    /// Who sends.
    pub(crate) connections: Vec<Connection>,
    /// What changes during the run, ascending in time.
    pub(crate) changes: Vec<Change>,
    /// Routes that change during the run, ascending in time.
    pub(crate) reroutes: Vec<Reroute>,
    /// Take down what senders send and get, at most this many bytes of each packet.
    pub(crate) snap_length: Option<u32>,
}

/// A network namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Node {
    /// For messages.
    pub(crate) name: String,
    /// Its own addresses, besides those of its interfaces.
    pub(crate) addresses: Vec<IpAddr>,
    /// What it does with packets, first match first.
    pub(crate) routes: Vec<Route>,
    /// `net.` settings, such as (`ipv4/tcp_ecn`, `1`).
    pub(crate) settings: Vec<(String, String)>,
}

/// Where packets go.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Route {
    /// Which packets.
    pub(crate) of: Match,
    /// The wire they leave by, and its end on this node.
    pub(crate) by: (usize, usize),
    /// First congestion window of connections that take it, packets.
    pub(crate) initial_window: Option<u32>,
    /// Acknowledges without delay.
    pub(crate) quick_ack: bool,
}

/// Packets by their addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Match {
    /// All that no other route is for: of IPv6, or of IPv4.
    All {
        /// Which of the two.
        ipv6: bool,
    },
    /// By the sender's address.
    From(IpAddr),
    /// By the receiver's address.
    To(IpAddr),
}

/// A veth pair.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Wire {
    /// Largest IP packet, bytes.
    pub(crate) mtu: u32,
    /// Its two ends.
    pub(crate) ends: [End; 2],
}

/// An interface.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct End {
    /// Index into [`Job::nodes`].
    pub(crate) node: usize,
    /// Its address.
    pub(crate) address: Option<IpAddr>,
    /// What happens to the packets that leave by it.
    pub(crate) queue: Option<Queue>,
}

/// A way to a queue, the queue, and what is lost after it. The delay comes first: netem counts what is delayed after it for the
/// limit.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Queue {
    /// The queue proper; without it packets go on at once.
    pub(crate) bottleneck: Option<Bottleneck>,
    /// How long packets are on the way to it, and which are lost after it.
    pub(crate) path: Path,
}

/// A queue that is served at a rate.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Bottleneck {
    /// Bits per second, of IP packets.
    pub(crate) rate_bps: u64,
    /// The packet being sent counts.
    pub(crate) limit_packets: u32,
    /// Nothing enters.
    pub(crate) down: bool,
    /// Nothing leaves; only where another discipline than netem does it.
    pub(crate) paused: bool,
    /// Who does it instead of netem, if that cannot. Then the packet being sent does not count for the limit, and losses come before it.
    pub(crate) aqm: Option<Aqm>,
    /// Of the largest packet, bytes.
    pub(crate) packet_bytes: u32,
    /// Seed of its random decisions.
    pub(crate) seed: u64,
}

/// A queue that marks or drops packets before it is full, or when its bytes are too many, or pauses, as one of the kernel's disciplines does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Aqm {
    /// `pfifo`: drops only what does not fit.
    Packets,
    /// `bfifo`: drops only what does not fit into so many bytes, the packet being sent not counted.
    Bytes(u32),
    /// `red`
    Red(Red),
    /// `codel`
    CoDel(CoDel),
    /// `fq_codel`
    FqCoDel {
        /// Of each queue.
        codel: CoDel,
        /// Number of queues.
        flows: u32,
        /// Bytes that a queue may send in a turn.
        quantum: u32,
    },
}

/// Parameters of `red`; bytes are those that wait, without the packet being sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Red {
    /// Mean from which packets are chosen at random.
    pub(crate) min_bytes: u32,
    /// Mean from which all are.
    pub(crate) max_bytes: u32,
    /// Each packet's weight in the mean: one half to the power of this.
    pub(crate) weight_log: u8,
    /// Of being chosen, just below `max_bytes`, of `u32::MAX`.
    pub(crate) probability: u32,
    /// Marks what is chosen, if it can be marked.
    pub(crate) ecn: bool,
    /// Drops what is chosen and cannot be marked.
    pub(crate) drops: bool,
    /// Drops everything from `max_bytes` on.
    pub(crate) drops_above: bool,
}

/// Parameters of `codel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct CoDel {
    /// Waiting time to keep to.
    pub(crate) target_us: u32,
    /// How long it may be exceeded.
    pub(crate) interval_us: u32,
    /// Marks instead of dropping.
    pub(crate) ecn: bool,
    /// Marks all that has waited so long.
    pub(crate) threshold_us: Option<u32>,
}

/// Delay and loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Path {
    /// Propagation delay.
    pub(crate) delay_ns: u64,
    /// Random extra delay, uniform from 0 to this.
    pub(crate) jitter_ns: u64,
    /// Whether jitter lets packets overtake each other.
    pub(crate) reordering: bool,
    /// Random loss.
    pub(crate) loss: Loss,
    /// Seed of its random decisions.
    pub(crate) seed: u64,
}

impl Path {
    /// Whether it does nothing.
    pub(crate) fn is_nothing(&self) -> bool {
        self.delay_ns == 0 && self.jitter_ns == 0 && self.loss == Loss::None
    }
}

/// Random loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) enum Loss {
    /// None.
    #[default]
    None,
    /// Of each packet by itself.
    Bernoulli(f64),
    /// Good to bad, bad to good, loss in the good and in the bad state.
    GilbertElliott([f64; 4]),
    /// Everything.
    All,
}

/// A sender and a receiver.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Connection {
    /// Its name in the scenario.
    pub(crate) name: String,
    /// MPTCP or TCP.
    pub(crate) multipath: bool,
    /// Its congestion control, as the kernel calls it.
    pub(crate) cc: String,
    /// Namespaces of sender and receiver.
    pub(crate) nodes: [usize; 2],
    /// The receiver.
    pub(crate) server: IpAddr,
    /// When it is opened.
    pub(crate) start_ns: u64,
    /// When it ends.
    pub(crate) stop_ns: Option<u64>,
    /// Receive buffer, bytes of payload.
    pub(crate) receive_buffer: u64,
    /// Slow start threshold that its subflows begin with, packets; `None`: none.
    pub(crate) initial_ssthresh: Option<u32>,
    /// In order of creation.
    pub(crate) subflows: Vec<Subflow>,
    /// Whose traffic it is; `None`: a bulk transfer.
    pub(crate) programs: Option<Programs>,
}

/// A server and a client.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Programs {
    /// That of the server, then that of the client; with addresses filled in.
    pub(crate) commands: [Command; 2],
    /// Whether the server is where the sender is; else the client.
    pub(crate) server_sends: bool,
    /// Where they begin.
    pub(crate) folder: String,
    /// Folders of shared libraries, as `LD_LIBRARY_PATH` has them, if they are not found without.
    pub(crate) libraries: Option<String>,
    /// A library that is loaded before all others.
    pub(crate) preload: Option<String>,
}

/// A program and its arguments.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Command {
    /// Its file.
    pub(crate) path: String,
    /// Its name and its arguments.
    pub(crate) words: Vec<String>,
}

/// What came of a program.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Ended {
    /// Index into [`Job::connections`].
    pub(crate) connection: usize,
    /// Index into [`Programs::commands`].
    pub(crate) which: usize,
    /// When it began, since the start of the run; 0 for what began before.
    pub(crate) start_ns: u64,
    /// When it ended by itself, and its exit code.
    pub(crate) end: Option<(u64, i32)>,
    /// The end of what it wrote to its standard output.
    pub(crate) stdout: String,
    /// And to its standard error.
    pub(crate) stderr: String,
}

/// A path of a connection.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Subflow {
    /// The sender's address on it.
    pub(crate) address: IpAddr,
    /// The wire it begins with; the sender has its end 0.
    pub(crate) wire: usize,
    /// How long after the first is established it joins; `None`: one round trip of the first.
    pub(crate) join_delay_ns: Option<u64>,
    /// When it exists: `[from, to)`; empty: always.
    pub(crate) up: Vec<(u64, u64)>,
    /// Used only when no other can be.
    pub(crate) backup: bool,
}

/// A queue from a certain time on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Change {
    /// When.
    pub(crate) at_ns: u64,
    /// The wire and its end.
    pub(crate) end: (usize, usize),
    /// All of it.
    pub(crate) queue: Queue,
}

/// A route from a certain time on.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) struct Reroute {
    /// When.
    pub(crate) at_ns: u64,
    /// Index into [`Job::nodes`].
    pub(crate) node: usize,
    /// Index into [`Node::routes`].
    pub(crate) index: usize,
    /// What takes its place, for the same packets.
    pub(crate) route: Route,
}

/// What was counted.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Report {
    /// The kernel's release.
    pub(crate) kernel: String,
    /// How late the latest was of what was to be done at a certain time.
    pub(crate) latest_ns: u64,
    /// When that was to be done.
    pub(crate) latest_at_ns: u64,
    /// Every 100 ms and at [`Job::moments`], from 0 to the end of the run.
    pub(crate) moments: Vec<Moment>,
    /// What detectors of shared bottlenecks said, ascending in time for each subflow.
    pub(crate) verdicts: Vec<VerdictAt>,
    /// Packets that something else than a queue or a link has dropped, or that no traffic has asked for: namespace, counter,
    /// number.
    pub(crate) elsewhere: Vec<(String, String, u64)>,
    /// Packets that should have been taken down and were not.
    pub(crate) missed_packets: u64,
    /// What came of the programs.
    pub(crate) programs: Vec<Ended>,
}

/// From a certain time on, a detector says this of a subflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct VerdictAt {
    /// Index into [`Job::connections`].
    pub(crate) connection: usize,
    /// Index into [`Connection::subflows`].
    pub(crate) subflow: usize,
    /// Since the start of the run.
    pub(crate) time_ns: u64,
    /// 0: it shares its bottleneck with no other.
    pub(crate) group: u16,
}

/// Everything at one moment. Counts are from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct Moment {
    /// Since the start of the run.
    pub(crate) time_ns: u64,
    /// Whether it is one of those every 100 ms.
    pub(crate) regular: bool,
    /// Time that the guest's processor was busy.
    pub(crate) busy_ns: u64,
    /// One per connection.
    pub(crate) connections: Vec<ConnectionAt>,
    /// One per end of every wire that has a queue, in order.
    pub(crate) queues: Vec<QueueAt>,
}

/// A connection at one moment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub(crate) struct ConnectionAt {
    /// Whether it has been opened and not closed.
    pub(crate) open: bool,
    /// Of programs: time that one of their sockets was connected.
    pub(crate) active_ns: u64,
    /// Payload that the receiving application has read.
    pub(crate) delivered_bytes: u64,
    /// Payload sent again on another subflow.
    pub(crate) reinjected_bytes: u64,
    /// Of TCP, and only at [`Job::moments`]: times it has begun to repair losses that later arrivals showed.
    pub(crate) recoveries: u64,
    /// Of TCP, and only at [`Job::moments`]: times it has taken back a reduction.
    pub(crate) undos: u64,
    /// One per subflow of the job.
    pub(crate) subflows: Vec<SubflowAt>,
}

/// A subflow at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct SubflowAt {
    /// Whether it exists.
    pub(crate) established: bool,
    /// Packets.
    pub(crate) cwnd: u32,
    /// Packets; none before the first reduction.
    pub(crate) ssthresh: Option<u32>,
    /// 0 before the first sample.
    pub(crate) srtt_us: u32,
    /// The lowest so far; 0 before the first sample.
    pub(crate) min_rtt_us: u32,
    /// Packets.
    pub(crate) in_flight: u32,
    /// Payload bytes per packet.
    pub(crate) mss: u32,
    /// Data packets sent, again or not.
    pub(crate) sent: u64,
    /// Their payload.
    pub(crate) sent_bytes: u64,
    /// Data packets sent again.
    pub(crate) retransmissions: u64,
    /// Retransmission timeouts.
    pub(crate) timeouts: u64,
    /// Data packets that have arrived, duplicates included.
    pub(crate) received: u64,
    /// Time that it existed.
    pub(crate) active_ns: u64,
    /// Integral of cwnd, packets x nanoseconds.
    pub(crate) cwnd_integral: u128,
    /// Sum over the packets delivered of the smoothed RTT at that time, microseconds.
    pub(crate) rtt_sum_us: u64,
    /// These packets.
    pub(crate) rtt_samples: u64,
}

impl SubflowAt {
    /// What the kernel says is the lowest RTT. It forgets after five minutes (`tcp_min_rtt_wlen`), and before the first
    /// sample it has the highest number there is.
    pub(crate) fn see_min_rtt(&mut self, kernels_us: u32) {
        let is_lower = self.min_rtt_us == 0 || kernels_us < self.min_rtt_us;
        if is_lower && (1..u32::MAX).contains(&kernels_us) {
            self.min_rtt_us = kernels_us;
        }
    }
}

/// A queue and the path to it at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct QueueAt {
    /// Packets that have come through.
    pub(crate) packets: u64,
    /// Their IP bytes.
    pub(crate) bytes: u64,
    /// Packets that the queue has sent.
    pub(crate) served: u64,
    /// Packets in the queue.
    pub(crate) queued: u32,
    /// Packets on the way to it.
    pub(crate) travelling: u32,
    /// Packets that found the queue full.
    pub(crate) dropped: u64,
    /// Packets lost after it, or on the way to it.
    pub(crate) lost: u64,
    /// Packets that got a congestion mark.
    pub(crate) marked: u64,
    /// Integral of the packets in the queue, packets x nanoseconds.
    pub(crate) queue_integral: u128,
    /// Most packets that were seen in the queue.
    pub(crate) most_queued: u32,
    /// Packets sent while, by what was queued before, packets were waiting all the time.
    pub(crate) backlogged_packets: u64,
    /// Bits that its rate has room for in that time.
    pub(crate) backlogged_bits: u64,
}

/// What the guest says. A line of the console is not among it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) enum Message {
    /// It could not do the job.
    Failed(String),
    /// Some of the packets that were taken down ([`Packet::write`]), before it says that it is done.
    Packets(#[serde(with = "serde_bytes")] Vec<u8>),
    /// It has done the job.
    Done(Report),
}

/// A packet that a sender has sent or got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its connection, by its place in the scenario.
    pub connection: usize,
    /// The subflow, by its place in the connection.
    pub subflow: usize,
    /// Since the start of the run.
    pub time_ns: u64,
    /// How long it is, from its IP header on.
    pub length: u32,
    /// What was kept of it.
    pub bytes: &'a [u8],
}

/// Of what is written before a packet's bytes.
pub(crate) const PACKET_HEADER: usize = 2 + 2 + 8 + 4 + 4;

impl<'a> Packet<'a> {
    /// Adds it to others.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        to.extend((self.connection as u16).to_le_bytes());
        to.extend((self.subflow as u16).to_le_bytes());
        to.extend(self.time_ns.to_le_bytes());
        to.extend(self.length.to_le_bytes());
        to.extend((self.bytes.len() as u32).to_le_bytes());
        to.extend_from_slice(self.bytes);
    }

    /// Takes the first one off.
    fn read(from: &mut &'a [u8]) -> Option<Self> {
        let (header, rest) = from.split_first_chunk::<PACKET_HEADER>()?;
        let short = |at: usize| usize::from(u16::from_le_bytes([header[at], header[at + 1]]));
        let word = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
        let time_ns = u64::from_le_bytes(header[4..12].try_into().expect("eight bytes"));
        let (bytes, rest) = rest.split_at_checked(word(16) as usize)?;
        *from = rest;
        Some(Self { connection: short(0), subflow: short(2), time_ns, length: word(12), bytes })
    }
}

/// Hears what comes from the guest, piece by piece.
#[derive(Default)]
pub(crate) struct Inbox {
    /// What was not understood yet.
    pub(crate) bytes: Vec<u8>,
}

impl Inbox {
    /// How the job ended, if that is among it; `each` gets the packets that come before.
    ///
    /// # Errors
    /// If it makes no sense.
    pub(crate) fn outcome(
        &mut self,
        each: &mut dyn FnMut(Packet<'_>),
    ) -> Result<Option<Result<Report, String>>, String> {
        loop {
            let Some((message, length)) = unframe(&self.bytes)? else { return Ok(None) };
            self.bytes.drain(..length);
            match message {
                Message::Failed(reason) => return Ok(Some(Err(reason))),
                Message::Done(report) => return Ok(Some(Ok(report))),
                Message::Packets(packets) => {
                    let mut rest = &packets[..];
                    while let Some(packet) = Packet::read(&mut rest) {
                        each(packet);
                    }
                    if !rest.is_empty() {
                        return Err("a packet is cut short".into());
                    }
                }
            }
        }
    }
}

const MAGIC: [u8; 4] = *b"BRD\x01";
const HEADER: usize = 4 + 4 + 8;

/// A value with its length and checksum.
pub(crate) fn frame(value: &impl Serialize) -> Vec<u8> {
    let payload = postcard::to_stdvec(value).expect("plain data");
    let mut bytes = MAGIC.to_vec();
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(&Sha256::digest(&payload)[..8]);
    bytes.extend(payload);
    bytes
}

/// The first value of `bytes` and how long it was there; `None` if it is not whole yet.
///
/// # Errors
/// If these bytes are no frame.
pub(crate) fn unframe<T: DeserializeOwned>(bytes: &[u8]) -> Result<Option<(T, usize)>, String> {
    let Some(header) = bytes.get(..HEADER) else { return Ok(None) };
    if header[..4] != MAGIC {
        return Err("these bytes do not begin as a message".into());
    }
    let length = u32::from_le_bytes(header[4..8].try_into().expect("four bytes")) as usize;
    let Some(payload) = bytes.get(HEADER..HEADER + length) else { return Ok(None) };
    if Sha256::digest(payload)[..8] != header[8..] {
        return Err("the checksum of a message is wrong".into());
    }
    let value = postcard::from_bytes(payload).map_err(|error| error.to_string())?;
    Ok(Some((value, HEADER + length)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_rtt_is_remembered_for_longer_than_the_kernel_does() {
        let mut subflow = SubflowAt::default();
        let lowest = [u32::MAX, 0, 10_050, 44_061, 10_000].map(|kernels_us| {
            subflow.see_min_rtt(kernels_us);
            subflow.min_rtt_us
        });
        assert_eq!(lowest, [0, 0, 10_050, 10_050, 10_000]);
    }

    #[test]
    fn a_message_arrives_as_it_was_sent_and_not_before_it_is_whole() {
        let message = Message::Failed("no route".into());
        let second = Message::Done(Report::default());
        let mut bytes = frame(&message);
        bytes.extend(frame(&second));
        let first = frame(&message).len();
        for length in 0..first {
            assert_eq!(unframe::<Message>(&bytes[..length]), Ok(None), "{length} bytes");
        }
        assert_eq!(unframe(&bytes), Ok(Some((message, first))));
        assert_eq!(unframe::<Message>(&bytes[first..]).unwrap().unwrap().0, second);
    }

    #[test]
    fn packets_come_before_the_outcome_and_in_order() {
        let packet = |time_ns, bytes| Packet { connection: 3, subflow: 1, time_ns, length: 1500, bytes };
        let packets = [packet(5, &b"one"[..]), packet(1 << 40, b""), packet(7, b"three")];
        let mut chunk = Vec::new();
        packets[..2].iter().for_each(|packet| packet.write(&mut chunk));
        let mut bytes = frame(&Message::Packets(chunk.clone()));
        chunk.clear();
        packets[2].write(&mut chunk);
        bytes.extend(frame(&Message::Packets(chunk.clone())));
        bytes.extend(frame(&Message::Done(Report::default())));
        let mut inbox = Inbox::default();
        let mut heard = Vec::new();
        for (at, byte) in bytes.iter().enumerate() {
            inbox.bytes.push(*byte);
            let outcome = inbox.outcome(&mut |packet| heard.push(format!("{packet:?}")));
            let is_last = at + 1 == bytes.len();
            assert_eq!(outcome, Ok(is_last.then(|| Ok(Report::default()))), "byte {at}");
        }
        assert_eq!(heard, packets.map(|packet| format!("{packet:?}")));

        chunk.pop();
        inbox.bytes = frame(&Message::Packets(chunk));
        assert!(inbox.outcome(&mut |_| ()).unwrap_err().contains("cut short"));
    }

    #[test]
    fn a_damaged_message_is_no_message() {
        let mut bytes = frame(&Message::Failed("no route".into()));
        *bytes.last_mut().unwrap() ^= 1;
        assert!(unframe::<Message>(&bytes).unwrap_err().contains("checksum"));
        assert!(unframe::<Message>(b"something else entirely").unwrap_err().contains("begin"));
    }
}
