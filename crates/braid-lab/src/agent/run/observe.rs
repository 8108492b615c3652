//! Samples during a run.

use std::net::IpAddr;

use super::{Action, Result, Run};
use crate::{
    agent::{counted::Counted, counters::Episodes, outcome::failed, tcp_info},
    job::{ConnectionAt, Moment, QueueAt, RttSamples},
};

/// Interval of full samples, for means over time.
const LOOK_NS: u64 = 20_000_000;
/// Interval of stored samples.
const RECORD_NS: u64 = 100_000_000;

impl Run<'_> {
    /// Takes a sample, and plans the next one.
    pub(super) fn look(&mut self, time: u64) -> Result<()> {
        if let Some(capture) = &mut self.capture {
            capture.collect()?;
        }
        if let Some(rtts) = &mut self.rtts {
            rtts.look()?;
        }
        self.observe(time)?;
        let is_regular = time.is_multiple_of(RECORD_NS);
        if is_regular || self.job.moments.contains(&time) || time >= self.job.duration_ns {
            self.record(time, is_regular)?;
        }
        let next = (time + 1).next_multiple_of(LOOK_NS).min(self.job.duration_ns);
        if time < self.job.duration_ns {
            self.plan(next, Action::Look);
        }
        Ok(())
    }

    pub(super) fn observe(&mut self, time: u64) -> Result<()> {
        let elapsed = time - self.last_look;
        self.last_look = time;
        for (number, (connection, flow)) in self.job.connections.iter().zip(&mut self.flows).enumerate() {
            if let Some(group) = &mut flow.group {
                let addresses: Vec<IpAddr> =
                    connection.subflows.iter().map(|subflow| subflow.address).collect();
                let moved = group.look(&addresses, &mut flow.of_group, elapsed);
                let moved = moved.map_err(failed("listing sockets"))?;
                if flow.of_group.iter().any(|subflow| subflow.established) {
                    flow.active_ns += elapsed;
                }
                flow.reinjected_bytes += moved.again;
                flow.received_bytes += moved.bytes;
                if flow.programs.is_some() {
                    // The data read by programs is known only by the kernel's counters.
                    flow.delivered_bytes = flow.received_bytes.saturating_sub(flow.reinjected_bytes);
                }
                continue;
            }
            let Some((pair, sender)) = flow.established() else { continue };
            let receiver = pair.receiver.as_ref();
            if connection.multipath {
                let sent = tcp_info::mptcp(sender).map_err(failed("MPTCP_FULL_INFO"))?;
                let got = receiver.map(tcp_info::mptcp).transpose();
                let got = got.map_err(failed("MPTCP_FULL_INFO"))?.unwrap_or_default();
                flow.reinjected_bytes = sent.bytes_retransmitted;
                if let Some(listener) = self.listener.as_mut().filter(|listener| listener.listens_to(number))
                {
                    self.network.enter(connection.nodes[0])?;
                    let changes = listener.listen(number, self.job, &sent, (self.start, time))?;
                    self.report.verdicts.extend(changes);
                }
                for (model, subflow) in connection.subflows.iter().zip(&mut flow.subflows) {
                    let of = |address: IpAddr| address == model.address;
                    let here = sent.subflows.iter().find(|(local, ..)| of(*local)).map(|&(.., info)| info);
                    let there = got.subflows.iter().find(|(_, peer, _)| of(*peer)).map(|&(.., info)| info);
                    subflow.see(here, there, elapsed);
                    if let (Some(rtts), Some(info)) = (&self.rtts, here) {
                        subflow.see_rtts(rtts.of_subflow(sent.token, info.id));
                    }
                }
            } else {
                let here = tcp_info::tcp(sender).map_err(failed("TCP_INFO"))?;
                let there = receiver.map(tcp_info::tcp).transpose().map_err(failed("TCP_INFO"))?;
                let single = match &self.rtts {
                    Some(rtts) => rtts.of_socket(sender.cookie().map_err(failed("SO_COOKIE"))?),
                    None => RttSamples::default(),
                };
                flow.subflows[0].see(Some(here), there, elapsed);
                flow.subflows[0].see_rtts(single);
            }
        }
        let queues = self.network.queues(self.job)?;
        for (number, now) in queues.into_iter().enumerate() {
            let before = &mut self.queues[number];
            let mut now = QueueAt {
                most_queued: before.most_queued.max(now.queued),
                // A queue that lost one since: a packet was dropped while the queue was read.
                dropped: before.dropped.max(now.dropped),
                lost: before.lost.max(now.lost),
                ..now
            };
            // Assumes that the length changes evenly between two samples.
            now.queue_integral =
                before.queue_integral + u128::from(before.queued + now.queued) * u128::from(elapsed) / 2;
            (now.backlogged_packets, now.backlogged_bits) =
                (before.backlogged_packets, before.backlogged_bits);
            // If the packets queued at the last sample take longer than this interval, the queue was never empty.
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

    pub(super) fn record(&mut self, time: u64, regular: bool) -> Result<()> {
        let mut connections = Vec::new();
        for (model, flow) in self.job.connections.iter().zip(&self.flows) {
            let counts = !model.multipath && self.job.moments.contains(&time);
            let episodes = if counts { self.network.episodes(model.nodes[0])? } else { Episodes::default() };
            connections.push(ConnectionAt {
                active_ns: flow.active_ns,
                delivered_bytes: flow.delivered_bytes,
                reinjected_bytes: flow.reinjected_bytes,
                recoveries: episodes.recoveries,
                undos: episodes.undos,
                subflows: match flow.group {
                    Some(_) => flow.of_group.clone(),
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
