//! A connection of the scenario that consists of many sockets: their counters are added by subflow.

use std::{io, net::IpAddr};

use super::{
    sockets::{Seen, Sockets},
    tcp_info::TcpInfo,
};
use crate::job::SubflowAt;

/// The sockets of the sender's and of the receiver's namespace.
pub(super) struct FlowGroup {
    pub(super) sender: Sockets,
    pub(super) receiver: Sockets,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moved {
    pub(super) bytes: u64,
    /// Payload reinjected on another subflow.
    pub(super) again: u64,
}

impl FlowGroup {
    /// What the sockets have done since the last time, `elapsed_ns` ago: added to the subflows by the sender's addresses.
    pub(super) fn look(
        &mut self,
        addresses: &[IpAddr],
        subflows: &mut [SubflowAt],
        elapsed_ns: u64,
    ) -> io::Result<Moved> {
        let Self { sender, receiver } = self;
        let (sent, received) = (sender.look()?, receiver.look()?);
        let mut moved = Moved { bytes: 0, again: sender.sent_again()? };
        for (address, subflow) in addresses.iter().zip(subflows) {
            let here: Vec<&Seen> = sent.iter().filter(|own| own.local == *address).collect();
            add_sent(subflow, &here, elapsed_ns);
            for own in received.iter().filter(|own| own.remote == *address) {
                subflow.received += since(own, |info| info.data_packets_in.into());
                moved.bytes += since(own, |info| info.bytes_received);
            }
        }
        Ok(moved)
    }
}

/// Growth of a counter since the last sample.
fn since(own: &Seen, count: impl Fn(&TcpInfo) -> u64) -> u64 {
    count(&own.now).saturating_sub(count(&own.before))
}

/// Counters are sums over all sockets of a path; window, RTT and the like are of the socket that has sent the most.
fn add_sent(subflow: &mut SubflowAt, sockets: &[&Seen], elapsed_ns: u64) {
    for own in sockets {
        let delivered = since(own, |info| info.delivered.into());
        subflow.sent += since(own, |info| info.data_packets_out.into());
        subflow.sent_bytes += since(own, |info| info.bytes_sent);
        subflow.retransmissions += since(own, |info| info.retransmissions.into());
        subflow.timeouts += since(own, |info| info.timeouts.into());
        subflow.rtt_samples += delivered;
        subflow.rtt_sum_us += delivered * u64::from(own.now.srtt_us);
        subflow.see_min_rtt(own.now.min_rtt_us);
    }
    let main = sockets.iter().filter(|own| own.now.sends).max_by_key(|own| own.now.bytes_sent);
    subflow.established = main.is_some();
    let Some(Seen { now, .. }) = main else { return };
    subflow.active_ns += elapsed_ns;
    subflow.cwnd_integral += u128::from(now.cwnd) * u128::from(elapsed_ns);
    subflow.cwnd = now.cwnd;
    subflow.ssthresh = now.known_ssthresh();
    subflow.srtt_us = now.srtt_us;
    subflow.in_flight = now.in_flight;
    subflow.mss = now.mss;
}
