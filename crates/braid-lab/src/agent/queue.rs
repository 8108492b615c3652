//! A queue and the path to it, as queueing disciplines of the kernel: setup, check and counters.

use std::io::{self, ErrorKind};

use braid_kernel::netlink::{CREATE, EXCL, Message, Netlink, REPLACE, attributes, find, long, word};

use super::{
    aqm, drop_nth,
    interfaces::interface,
    readback::{Told, agrees, told_loss},
};
use crate::job::{Aqm, Bottleneck, Loss, Path, Queue, QueueAt};

/// Handles of the stages of a queue, in the order of a packet's path. A discipline that marks or drops early is inside
/// the bottleneck, and may contain a plain queue.
pub(super) const PATH: u32 = 0x0001_0000;
pub(super) const BOTTLENECK: u32 = 0x0002_0000;
pub(super) const LOSS: u32 = 0x0003_0000;
pub(super) const DISCIPLINE: u32 = 0x0004_0000;
const FIFO: u32 = 0x0005_0000;
const ROOT: u32 = 0xffff_ffff;

/// Limit of stages that must not drop.
const NO_LIMIT: u32 = 1_000_000;

/// Sets up a queue, or changes the differing settings of an existing one.
pub(super) fn set_queue(
    route: &mut Netlink,
    wire: usize,
    end: usize,
    queue: &Queue,
    before: Option<&Queue>,
) -> io::Result<()> {
    let changes = before.is_some();
    let flags = if changes { 0 } else { CREATE | EXCL };
    let index = interface(wire, end);
    let request = |kind: &str, handle: u32, parent: u32, flags: u16| {
        let mut header = [0; 20];
        header[4..8].copy_from_slice(&index.to_ne_bytes());
        header[8..12].copy_from_slice(&handle.to_ne_bytes());
        header[12..16].copy_from_slice(&parent.to_ne_bytes());
        let mut message = Message::new(36, flags, &header);
        message.text(1, kind);
        if parent == ROOT {
            // Queues count IP packets, without the 14 bytes of Ethernet. A change without this table removes it.
            message.nested(8, |table| {
                let mut spec = [0; 24];
                spec[4..8].copy_from_slice(&(-14_i32).to_ne_bytes());
                table.attribute(1, &spec);
            });
        }
        message
    };
    // A kernel without the discipline reports a missing file.
    let mut ask = |kind: &str, message: Message| match route.request(message) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(io::Error::other(format!("the kernel has no queueing discipline {kind} (module sch_{kind})")))
        }
        done => done,
    };
    let Path { delay_ns, jitter_ns, reordering, loss, seed } = queue.path;
    let managed = queue.bottleneck.and_then(|bottleneck| bottleneck.aqm);
    let on_the_way = if managed.is_some() { loss } else { Loss::None };
    let late = Path { delay_ns, jitter_ns, reordering, loss: on_the_way, seed };
    if before.is_none_or(|before| before.path != queue.path) {
        let mut message = request("netem", PATH, ROOT, flags);
        netem(&mut message, &late, NO_LIMIT, path_rate(queue));
        ask("netem", message)?;
    }
    let Some(bottleneck) = queue.bottleneck else { return Ok(()) };
    let former = before.and_then(|before| before.bottleneck);
    if former == Some(bottleneck) && before.is_some_and(|before| before.path.loss == loss) {
        return Ok(());
    }
    if let Some(own) = managed {
        let mut message = request("cbs", BOTTLENECK, PATH | 1, flags);
        aqm::server(&mut message, &bottleneck);
        ask("cbs", message)?;
        // Only RED depends on the rate.
        let others = |own: Bottleneck| (own.aqm, own.limit_packets);
        if !matches!(own, Aqm::Red(_)) && former.map(others) == Some(others(bottleneck)) {
            return Ok(());
        }
        // These replace the default inner disciplines.
        let flags = if changes { 0 } else { CREATE | REPLACE };
        let mut message = request(aqm::kind(&own), DISCIPLINE, BOTTLENECK | 1, flags);
        aqm::discipline(&mut message, &own, &bottleneck, changes);
        ask(aqm::kind(&own), message)?;
        if let Aqm::Red(_) = own {
            let mut message = request("pfifo", FIFO, DISCIPLINE | 1, flags);
            message.attribute(2, &bottleneck.limit_packets.to_ne_bytes());
            ask("pfifo", message)?;
        }
        return Ok(());
    }
    let down = if bottleneck.down { Loss::All } else { Loss::None };
    let mut message = request("netem", BOTTLENECK, PATH | 1, flags);
    let path = Path { loss: down, seed: bottleneck.seed, ..Path::default() };
    netem(&mut message, &path, bottleneck.limit_packets, bottleneck.rate_bps);
    ask("netem", message)?;
    if let Loss::Every(counters) = loss {
        if changes {
            return Ok(());
        }
        let mut message = request("prio", LOSS, BOTTLENECK | 1, flags);
        drop_nth::stage(&mut message);
        ask("prio", message)?;
        let mut message = request("pfifo", FIFO, LOSS | 1, flags);
        message.attribute(2, &NO_LIMIT.to_ne_bytes());
        ask("pfifo", message)?;
        return route.request(drop_nth::filter(index, LOSS, counters)).map_err(drop_nth::explained);
    }
    let mut message = request("netem", LOSS, BOTTLENECK | 1, flags);
    netem(&mut message, &Path { loss, seed, ..Path::default() }, NO_LIMIT, 0);
    ask("netem", message)
}

pub(super) fn rate(queue: &Queue) -> u64 {
    queue.bottleneck.filter(|bottleneck| !bottleneck.paused).map_or(0, |bottleneck| bottleneck.rate_bps)
}

/// Reads a queue's settings back from the kernel and checks them.
pub(super) fn verify(route: &mut Netlink, wire: usize, end: usize, queue: &Queue) -> Result<(), String> {
    let nothing = Told { limit: NO_LIMIT, ..Told::default() };
    let delay_ns = queue.path.delay_ns + queue.path.jitter_ns / 2;
    let loss = told_loss(queue.path.loss);
    let managed = queue.bottleneck.and_then(|bottleneck| bottleneck.aqm);
    let lost_before = if managed.is_some() { loss } else { 0.0 };
    let path = Told { rate_bps: path_rate(queue), delay_ns, loss: lost_before, ..nothing };
    let mut given = vec![(PATH, path)];
    if let Some(bottleneck) = queue.bottleneck {
        let Bottleneck { limit_packets: limit, rate_bps, .. } = bottleneck;
        if let Some(own) = managed {
            given.push((BOTTLENECK, aqm::server_told(&bottleneck)));
            let holds = if let Aqm::Red(_) = own { FIFO } else { DISCIPLINE };
            let limit = if let Aqm::Bytes(bytes) = own { bytes } else { limit };
            given.push((holds, Told { limit, ..Told::default() }));
        } else {
            let down = if bottleneck.down { 1.0 } else { 0.0 };
            given.push((BOTTLENECK, Told { limit, rate_bps, delay_ns: 0, loss: down }));
            match queue.path.loss {
                Loss::Every(_) => given.push((FIFO, Told { limit: NO_LIMIT, ..Told::default() })),
                _ => given.push((LOSS, Told { loss, ..nothing })),
            }
        }
    }
    let mut taken = Vec::new();
    let each = |body: &[u8]| {
        if word(body, 4) == interface(wire, end) {
            let (kind, options) = (find(&body[20..], 1), find(&body[20..], 2));
            let told = options.and_then(|options| match kind {
                Some(b"netem\0") => told(options),
                Some(kind) => aqm::told(kind, options),
                None => None,
            });
            taken.push((word(body, 8), told));
        }
    };
    route.dump(Message::new(38, 0, &[0; 20]), each).map_err(|error| error.to_string())?;
    for (handle, given) in given {
        let taken = taken.iter().find(|(own, _)| *own == handle).and_then(|(_, told)| *told);
        agrees(given, taken.ok_or("the kernel does not have it")?)?;
    }
    Ok(())
}

/// Parses netem's reported settings.
fn told(options: &[u8]) -> Option<Told> {
    let word = |at: usize| Some(u32::from_ne_bytes(options.get(at..at + 4)?.try_into().ok()?));
    let long = |bytes: &[u8]| Some(u64::from_ne_bytes(bytes.get(..8)?.try_into().ok()?));
    let more = options.get(24..)?;
    let small = find(more, 6).and_then(|rate| Some(u32::from_ne_bytes(rate.get(..4)?.try_into().ok()?)));
    let bytes = find(more, 8).and_then(long).unwrap_or(u64::from(small.unwrap_or(0)));
    Some(Told {
        limit: word(4)?,
        rate_bps: 8 * bytes,
        delay_ns: find(more, 10).and_then(long)?,
        loss: f64::from(word(8)?) / f64::from(u32::MAX),
    })
}

/// With a rate, even one that takes no time, neither jitter nor a shorter delay reorders.
fn path_rate(queue: &Queue) -> u64 {
    if queue.path.reordering { 0 } else { 8_000_000_000_000 }
}

/// A probability in netem's units.
fn probability(p: f64) -> u32 {
    (p * 4_294_967_296.0).round().clamp(0.0, 4_294_967_295.0) as u32
}

fn netem(message: &mut Message, path: &Path, limit: u32, rate_bps: u64) {
    // netem's jitter is uniform between mean - deviation and mean + deviation.
    let deviation = path.jitter_ns / 2;
    let loss = match path.loss {
        Loss::None | Loss::GilbertElliott(_) | Loss::Every(_) => 0,
        Loss::Bernoulli(p) => probability(p),
        Loss::All => u32::MAX,
    };
    message.nested(2, |options| {
        for word in [0, limit, loss, 0, 0, 0] {
            options.raw(&word.to_ne_bytes());
        }
        let rate = rate_bps / 8;
        let mut spec = [0; 16];
        spec[..4].copy_from_slice(&u32::try_from(rate).unwrap_or(u32::MAX).to_ne_bytes());
        options
            .attribute(10, &(path.delay_ns + deviation).to_ne_bytes())
            .attribute(11, &deviation.to_ne_bytes())
            .attribute(6, &spec)
            .attribute(14, &path.seed.to_ne_bytes());
        if rate > u64::from(u32::MAX) {
            options.attribute(8, &rate.to_ne_bytes());
        }
        if let Loss::GilbertElliott([to_bad, to_good, good, bad]) = path.loss {
            options.nested(5, |model| {
                let words = [to_bad, to_good, 1.0 - bad, good].map(|p| probability(p).to_ne_bytes());
                model.attribute(2, words.as_flattened());
            });
        }
    });
}

/// Counters of a queue's stages. Each includes packets and drops of its inner stages.
#[derive(Clone, Copy, Default)]
pub(super) struct Stages {
    pub(super) path: Stage,
    pub(super) bottleneck: Stage,
    pub(super) loss: Stage,
    pub(super) discipline: Stage,
}

impl Stages {
    /// All counters except integrals. The kernel reports the outer stages first, and packets may arrive or be dropped
    /// in between, so inner stages may count more than outer ones.
    pub(super) fn queue(&self) -> QueueAt {
        let Self { path, bottleneck, loss, discipline } = self;
        // cbs does not count packets that its discipline refuses.
        let dropped = discipline.dropped.max(bottleneck.dropped.saturating_sub(loss.dropped));
        QueueAt {
            packets: path.packets,
            bytes: path.bytes,
            served: path.packets + loss.dropped,
            // If a packet waits in a discipline, another one is being sent, which the discipline does not count.
            queued: bottleneck.queued + u32::from(discipline.queued > 0),
            dropped,
            // Lost before or after the queue.
            lost: path.dropped.saturating_sub(dropped),
            marked: discipline.marked,
            ..QueueAt::default()
        }
    }
}

/// Counters of a queueing discipline.
#[derive(Clone, Copy, Default)]
pub(super) struct Stage {
    packets: u64,
    bytes: u64,
    queued: u32,
    dropped: u64,
    marked: u64,
}

impl Stage {
    pub(super) fn of(attributes_of_queue: &[u8]) -> Self {
        let mut stage = Self::default();
        let Some(statistics) = find(attributes_of_queue, 7) else { return stage };
        for (kind, value) in attributes(statistics) {
            match kind {
                1 => {
                    stage.bytes = long(value, 0);
                    stage.packets = stage.packets.max(u64::from(word(value, 8)));
                }
                3 => (stage.queued, stage.dropped) = (word(value, 0), u64::from(word(value, 8))),
                4 => stage.marked = aqm::marks(find(attributes_of_queue, 1).unwrap_or_default(), value),
                _ => {}
            }
        }
        stage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_or_is_dropped_while_a_queue_is_read_is_no_less_than_nothing() {
        let quiet = Stages {
            path: Stage { dropped: 12, packets: 100, ..Stage::default() },
            bottleneck: Stage { dropped: 12, queued: 1, ..Stage::default() },
            loss: Stage { dropped: 5, ..Stage::default() },
            ..Stages::default()
        };
        let counted = |stages: Stages| {
            let QueueAt { dropped, lost, queued, served, .. } = stages.queue();
            (dropped, lost, queued, served)
        };
        assert_eq!(counted(quiet), (7, 5, 1, 105));
        let none_lost = Stages { loss: Stage::default(), ..quiet };
        let bottleneck = Stage { dropped: 13, ..quiet.bottleneck };
        assert_eq!(counted(Stages { bottleneck, ..none_lost }), (13, 0, 1, 100));
        let all_lost = Stages { loss: Stage { dropped: 13, ..Stage::default() }, ..quiet };
        assert_eq!(counted(all_lost), (0, 12, 1, 113));
    }
}
