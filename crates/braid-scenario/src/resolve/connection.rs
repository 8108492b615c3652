//! A connection: its packets, times, and room in the queues on its routes.

use super::resolver::{PACKET, Resolver};
use super::route::Known;
use crate::document::Path;
use crate::format;
use crate::model::{Connection, Kind, QueueLimit};

/// 65535 bytes scaled by 2^14, rounded up (RFC 7323).
pub(super) const LARGEST_WINDOW: u64 = 1 << 30;

impl Resolver<'_> {
    pub(super) fn connection(
        &mut self,
        name: &str,
        given: &format::Connection,
        known: &Known<'_>,
    ) -> Connection {
        let place = Path::from("connection").key(name);
        self.name(&place, name);
        let cc = given.cc.as_ref().and_then(|cc| self.spec(&place.key("cc"), cc));
        if given.scheduler.is_some() && given.kind == format::Kind::Tcp {
            let message = "plain TCP has no packet scheduler".to_owned();
            self.fail(&place.key("scheduler"), message, Some("remove it, or write kind = \"mptcp\"".into()));
        }
        let scheduler = given.scheduler.as_ref().and_then(|text| self.spec(&place.key("scheduler"), text));
        self.times(&place, given);
        let ip_header = match given.ip_version {
            None | Some(4) => 20,
            Some(6) => 40,
            Some(version) => {
                let message = format!("expected 4 or 6, found {version}");
                self.fail(&place.key("ip-version"), message, None);
                20
            }
        };
        // Bytes of TCP and its usual options in a data packet and in an acknowledgement.
        let (kind, header, ack) = match given.kind {
            format::Kind::Tcp => (Kind::Tcp, 32, 32),
            format::Kind::Mptcp => (Kind::Mptcp, 60, 44),
        };
        let (data_header, ack_size) = (ip_header + header, ip_header + ack);
        let default_mss = PACKET - data_header;
        let mss = given.mss.unwrap_or(default_mss);
        if !(88..=8960).contains(&mss) {
            let message = format!("expected a payload of 88 to 8960 bytes, found {mss}");
            self.fail(&place.key("mss"), message, None);
        }
        let initial_window = given.initial_window.unwrap_or(10);
        if !(1..=10_000).contains(&initial_window) {
            let message = format!("expected 1 to 10000 packets, found {initial_window}");
            self.fail(&place.key("initial-window"), message, None);
        }
        if let Some(ssthresh) = given.initial_ssthresh.filter(|ssthresh| !(1..=10_000).contains(ssthresh)) {
            let message = format!("expected 1 to 10000 packets, found {ssthresh}");
            self.fail(&place.key("initial-ssthresh"), message, None);
        }
        let receive_buffer = given.receive_buffer.map_or(0, |size| size.0);
        if given.receive_buffer.is_some() && !(2 * u64::from(mss)..=LARGEST_WINDOW).contains(&receive_buffer)
        {
            let message =
                format!("expected at least two packets ({} bytes) and at most \"1024MiB\"", 2 * mss);
            self.fail(&place.key("receive-buffer"), message, None);
        }
        let send_buffer = given.send_buffer.map(|size| size.0);
        if send_buffer.is_some_and(|bytes| !(u64::from(mss)..=LARGEST_WINDOW).contains(&bytes)) {
            let message = format!("expected at least one packet ({mss} bytes) and at most \"1024MiB\"");
            self.fail(&place.key("send-buffer"), message, None);
        }
        if given.accurate_ecn && !given.ecn {
            let message = "there are no marks to echo without ecn = true".to_owned();
            self.fail(&place.key("accurate-ecn"), message, Some("add ecn = true, or remove it".into()));
        }
        let (earliest, latest) = given.start.bounds();
        let subflows = self.subflows(&place, name, given, known);
        for subflow in &subflows {
            self.room(name, mss.saturating_add(data_header), &subflow.route);
        }
        Connection {
            name: name.to_owned(),
            kind,
            cc,
            scheduler,
            traffic: self.traffic(&place.key("traffic"), given.traffic.as_ref(), mss),
            start_ns: earliest.0,
            start_noise_ns: latest.0 - earliest.0,
            stop_ns: given.stop.map(|stop| stop.0).filter(|stop| *stop < self.file.duration.0),
            mss,
            ip_header,
            data_header,
            ack_size,
            deadline_ns: given
                .traffic
                .as_ref()
                .and_then(|traffic| traffic.deadline)
                .map(|deadline| deadline.0),
            receive_buffer,
            autotuning: given.autotuning,
            send_buffer,
            initial_window,
            initial_ssthresh: given.initial_ssthresh,
            ecn: given.ecn,
            accurate_ecn: given.accurate_ecn,
            delayed_ack: given.delayed_ack,
            subflows,
        }
    }

    fn times(&mut self, place: &Path, given: &format::Connection) {
        let duration = self.file.duration;
        let (_, latest) = given.start.bounds();
        if latest >= self.end() {
            let message = format!("starts at {latest}, when the run of {duration} is over");
            self.fail(&place.key("start"), message, None);
        }
        if let Some(stop) = given.stop.filter(|stop| *stop <= latest) {
            let message = format!("stops at {stop}, not after its start at {latest}");
            self.fail(&place.key("stop"), message, None);
        }
    }

    /// Every queue in bytes on the routes must have room for a full packet, even a jumbo packet.
    fn room(&mut self, connection: &str, packet: u32, route: &[usize]) {
        if packet <= PACKET {
            return;
        }
        for &index in route {
            let link = self.links.get(index).unwrap_or_else(|| &self.private[index - self.links.len()]);
            let changed = link.forward.changes.iter().filter_map(|change| change.queue);
            let small = |limit| matches!(limit, QueueLimit::Bytes(bytes) if bytes < packet.into());
            if changed.chain([link.forward.queue]).any(small) {
                let key = link.name.split('@').next().unwrap_or_default();
                let place = Path::from("link").key(key).key("queue");
                let message = format!("no room for a packet of connection {connection} ({packet} bytes)");
                self.fail(&place, message, None);
            }
        }
    }
}
