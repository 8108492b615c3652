//! Packets as on the wire: IP, TCP with its options, and MPTCP's (RFC 8684, version 1).

use std::collections::BTreeMap;

use braid_scenario::model::{Connection, Kind};
use braid_sim::observe::{Acknowledgement, At, Request, Sent};
use etherparse::{IpHeaders, IpNumber, Ipv4Header, Ipv6FlowLabel, Ipv6Header, TcpHeader};
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};

/// Options of TCP (IANA "TCP Option Kind Numbers").
mod option {
    pub(super) const END: u8 = 0;
    pub(super) const NOP: u8 = 1;
    pub(super) const MSS: u8 = 2;
    pub(super) const WINDOW_SCALE: u8 = 3;
    pub(super) const SACK_PERMITTED: u8 = 4;
    pub(super) const SACK: u8 = 5;
    pub(super) const TIMESTAMPS: u8 = 8;
    pub(super) const MPTCP: u8 = 30;
}

/// Subtypes of MPTCP's option, in the upper half of its third byte.
mod subtype {
    pub(super) const CAPABLE: u8 = 0x00;
    pub(super) const JOIN: u8 = 0x10;
    pub(super) const DSS: u8 = 0x20;
}

/// The protocol's version; uses HMAC-SHA256.
const VERSION: u8 = 1;
const USES_SHA256: u8 = 0x01;
/// In a join: the subflow is a backup.
const BACKUP: u8 = 0x01;
/// In a data sequence signal: an acknowledgement and a mapping, of eight bytes each.
const HAS_ACK: u8 = 0x03;
const HAS_MAPPING: u8 = 0x0c;

const TTL: u8 = 64;
const ECT0: u8 = 0b10;
const SERVER_PORT: u16 = 5001;
const FIRST_CLIENT_PORT: u16 = 40_000;
/// Number of client ports before they are reused.
const CLIENT_PORTS: u32 = 25_536;
const TCP_HEADER: u32 = 20;
const UNSCALED_WINDOW: u16 = u16::MAX;
static ZEROS: [u8; 9216] = [0; 9216];

/// The beginning of a packet, and its length on the wire.
pub(crate) struct Frame {
    pub(crate) bytes: Vec<u8>,
    pub(crate) length: u32,
}

/// Both ends of a connection.
pub(crate) struct Ends {
    multipath: bool,
    ipv6: bool,
    ecn: bool,
    mss: u32,
    /// Bytes of options in the model's data packets.
    data_options: usize,
    window_scale: u8,
    client: Key,
    server: Key,
    /// Bytes whose arrival the server knows.
    acknowledged: u64,
    /// Request bytes that the client received in order.
    requested: u64,
    /// Ranges of request bytes beyond those: from, to.
    requested_early: BTreeMap<u64, u64>,
    subflows: Vec<Pair>,
}

/// An MPTCP key and derived values (RFC 8684 sect. 3.1, 3.2).
#[derive(Clone, Copy)]
struct Key {
    secret: [u8; 8],
    token: [u8; 4],
    /// Initial data sequence number.
    idsn: u64,
}

impl Key {
    fn new(secret: [u8; 8]) -> Self {
        let hash: [u8; 32] = Sha256::digest(secret).into();
        let (token, idsn) = (first(&hash), u64::from_be_bytes(last(&hash)));
        Self { secret, token, idsn }
    }
}

/// Both ends of a subflow.
struct Pair {
    client: End,
    server: End,
    backup: bool,
    /// The client's latest timestamp in the handshake, and the latest one received, microseconds.
    opened_us: u32,
    received_us: u32,
    /// It opened the connection instead of joining.
    first: bool,
    id: u8,
    incarnation: u32,
    /// Bytes whose arrival the server knows, and the latest echoed timestamp.
    acknowledged: u64,
    echoed_us: u32,
    /// Bytes of requests received on this subflow, and the position of the latest request on it, by its position among
    /// all requests.
    requested: u64,
    latest: BTreeMap<u64, u64>,
}

impl Pair {
    fn new(model: &Connection, number: usize, seed: u64, at: At) -> Self {
        let At { flow, subflow: index, incarnation, .. } = at;
        let end = |side: u8| {
            let mut what = format!("{index} {side}");
            if (flow, incarnation) != (0, 0) {
                what = format!("{what} {flow} {incarnation}");
            }
            let random = random(model, number, seed, &what);
            let nth = (flow + incarnation).wrapping_mul(model.subflows.len() as u32) + index as u32;
            End {
                address: address(model.ip_header == 40, number, index, side),
                port: if side == 1 { FIRST_CLIENT_PORT + (nth % CLIENT_PORTS) as u16 } else { SERVER_PORT },
                isn: u32::from_be_bytes(first(&random)),
                nonce: first(&random[4..]),
                identification: u16::from_be_bytes(first(&random[8..])),
            }
        };
        Self {
            client: end(1),
            server: end(2),
            backup: model.subflows[index].backup,
            opened_us: 0,
            received_us: 0,
            first: index == 0 && incarnation == 0,
            id: index as u8,
            incarnation,
            acknowledged: 0,
            echoed_us: 0,
            requested: 0,
            latest: BTreeMap::new(),
        }
    }
}

/// Random values on the wire come from the seed.
fn random(model: &Connection, number: usize, seed: u64, what: &str) -> [u8; 32] {
    Sha256::digest(format!("braid capture {seed} {number} {} {what}", model.name)).into()
}

#[derive(Clone, Copy)]
struct End {
    address: [u8; 16],
    port: u16,
    isn: u32,
    nonce: [u8; 4],
    /// Identification of the next IPv4 packet.
    identification: u16,
}

fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes[..N].try_into().expect("a hash is longer")
}

fn last<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes[bytes.len() - N..].try_into().expect("a hash is longer")
}

impl Ends {
    /// For a flow of connection `at.connection`.
    pub(crate) fn new(model: &Connection, seed: u64, at: At) -> Self {
        let number = at.connection;
        let key = |side: &str| {
            let what = if at.flow == 0 { format!("{side} key") } else { format!("{side} key {}", at.flow) };
            Key::new(first(&random(model, number, seed, &what)))
        };
        let pair = |index| Pair::new(model, number, seed, At { subflow: index, incarnation: 0, ..at });
        Self {
            multipath: model.kind == Kind::Mptcp,
            ipv6: model.ip_header == 40,
            ecn: model.ecn,
            mss: model.mss,
            data_options: (model.data_header - model.ip_header - TCP_HEADER) as usize,
            window_scale: (0..14).find(|scale| model.receive_buffer >> scale <= 65_535).unwrap_or(14),
            client: key("client"),
            server: key("server"),
            acknowledged: 0,
            requested: 0,
            requested_early: BTreeMap::new(),
            subflows: (0..model.subflows.len()).map(pair).collect(),
        }
    }

    /// A subflow that comes back is reset.
    pub(crate) fn renew(&mut self, model: &Connection, seed: u64, at: At) {
        if self.subflows[at.subflow].incarnation != at.incarnation {
            self.subflows[at.subflow] = Pair::new(model, at.connection, seed, at);
        }
    }

    /// The SYN, or the third packet of a join.
    pub(crate) fn opening(&mut self, subflow: usize, step: u32, now_us: u32) -> Frame {
        let (client, server) = (self.client, self.server);
        let pair = &mut self.subflows[subflow];
        pair.opened_us = now_us;
        let mut tcp = header(&pair.client, &pair.server, pair.client.isn);
        let mut options;
        if step == 0 {
            tcp.syn = true;
            (tcp.ece, tcp.cwr) = (self.ecn, self.ecn);
            tcp.window_size = UNSCALED_WINDOW;
            options = syn_options(self.mss, self.window_scale, now_us, 0);
            if self.multipath && pair.first {
                options.extend([option::MPTCP, 4, subtype::CAPABLE | VERSION, USES_SHA256]);
            } else if self.multipath {
                let backup = if pair.backup { BACKUP } else { 0 };
                options.extend([option::MPTCP, 12, subtype::JOIN | backup, pair.id]);
                options.extend(server.token);
                options.extend(pair.client.nonce);
            }
        } else {
            tcp.ack = true;
            tcp.sequence_number = pair.client.isn.wrapping_add(1);
            tcp.acknowledgment_number = pair.server.isn.wrapping_add(1);
            options = timestamps(now_us, pair.received_us);
            options.extend([option::MPTCP, 24, subtype::JOIN, 0]);
            let proof = hmac([client.secret, server.secret], [pair.client.nonce, pair.server.nonce]);
            options.extend(&proof[..20]);
        }
        frame(self.ipv6, &mut pair.client, pair.server.address, tcp, options, 0, false)
    }

    /// The answer to an opening packet.
    pub(crate) fn answer(&mut self, subflow: usize, step: u32, now_us: u32) -> Frame {
        let (client, server) = (self.client, self.server);
        let pair = &mut self.subflows[subflow];
        pair.received_us = now_us;
        let mut tcp = header(&pair.server, &pair.client, pair.server.isn);
        tcp.ack = true;
        tcp.acknowledgment_number = pair.client.isn.wrapping_add(1);
        let mut options;
        if step == 0 {
            tcp.syn = true;
            tcp.ece = self.ecn;
            tcp.window_size = UNSCALED_WINDOW;
            options = syn_options(self.mss, self.window_scale, now_us, pair.opened_us);
            if self.multipath && pair.first {
                options.extend([option::MPTCP, 12, subtype::CAPABLE | VERSION, USES_SHA256]);
                options.extend(server.secret);
            } else if self.multipath {
                let backup = if pair.backup { BACKUP } else { 0 };
                options.extend([option::MPTCP, 16, subtype::JOIN | backup, pair.id]);
                let proof = hmac([server.secret, client.secret], [pair.server.nonce, pair.client.nonce]);
                options.extend(&proof[..8]);
                options.extend(pair.server.nonce);
            }
        } else {
            tcp.sequence_number = pair.server.isn.wrapping_add(1);
            options = timestamps(now_us, pair.opened_us);
            options.extend(data_ack(client.idsn.wrapping_add(1)));
        }
        frame(self.ipv6, &mut pair.server, pair.client.address, tcp, options, 0, false)
    }

    /// A data packet. The first one of a connection is also the third of its handshake.
    pub(crate) fn data(&mut self, subflow: usize, sent: &Sent, now_us: u32) -> Frame {
        let (client, server) = (self.client, self.server);
        let pair = &mut self.subflows[subflow];
        let offset = (sent.offset as u32).wrapping_add(1);
        let mut tcp = header(&pair.client, &pair.server, pair.client.isn.wrapping_add(offset));
        tcp.ack = true;
        tcp.cwr = sent.cwr;
        tcp.acknowledgment_number = pair.server.isn.wrapping_add(1).wrapping_add(pair.requested as u32);
        let mut options = timestamps(now_us, pair.received_us);
        if self.multipath {
            if pair.first && sent.packet == 0 {
                options.extend([option::MPTCP, 22, subtype::CAPABLE | VERSION, USES_SHA256]);
                options.extend(client.secret);
                options.extend(server.secret);
                options.extend((sent.bytes as u16).to_be_bytes());
            } else {
                let acknowledged = server.idsn.wrapping_add(1 + self.requested);
                let number = client.idsn.wrapping_add(1 + sent.data_offset);
                options.extend(mapping(acknowledged, number, offset, sent.bytes));
            }
        }
        options.resize(options.len().max(self.data_options), option::END);
        frame(self.ipv6, &mut pair.client, pair.server.address, tcp, options, sent.bytes, sent.ect)
    }

    /// An acknowledgement.
    pub(crate) fn acknowledgement(&mut self, subflow: usize, ack: &Acknowledgement, now_us: u32) -> Frame {
        let pair = &mut self.subflows[subflow];
        pair.received_us = now_us;
        (pair.acknowledged, pair.echoed_us) = (ack.next, ack.echo_us);
        self.acknowledged = self.acknowledged.max(ack.next_data);
        let number = |offset: u64| pair.client.isn.wrapping_add(1).wrapping_add(offset as u32);
        let sequence = pair.server.isn.wrapping_add(1).wrapping_add(pair.requested as u32);
        let mut tcp = header(&pair.server, &pair.client, sequence);
        tcp.ack = true;
        tcp.ece = ack.ece;
        tcp.acknowledgment_number = number(ack.next);
        tcp.window_size = u16::try_from(ack.window >> self.window_scale).unwrap_or(u16::MAX);
        let mut options = timestamps(now_us, ack.echo_us);
        if self.multipath {
            options.extend(data_ack(self.client.idsn.wrapping_add(1 + ack.next_data)));
        }
        if !ack.blocks.is_empty() {
            options.extend([option::NOP, option::NOP, option::SACK, 2 + 8 * ack.blocks.len() as u8]);
            for &(from, to) in &ack.blocks {
                options.extend(number(from).to_be_bytes());
                options.extend(number(to).to_be_bytes());
            }
        }
        frame(self.ipv6, &mut pair.server, pair.client.address, tcp, options, 0, false)
    }

    /// A packet of a request: data in the return direction. On the subflow it follows earlier requests; lost ones are
    /// invisible here.
    pub(crate) fn request(&mut self, subflow: usize, request: &Request, now_us: u32) -> Frame {
        let end = request.offset + u64::from(request.bytes);
        if request.offset >= self.requested {
            self.requested_early.insert(request.offset, end);
        }
        while let Some(end) = self.requested_early.remove(&self.requested) {
            self.requested = end;
        }
        let pair = &mut self.subflows[subflow];
        pair.received_us = now_us;
        if request.part == 0 {
            pair.latest.retain(|&offset, _| offset >= request.offset);
        }
        let next = pair.requested;
        let offset = *pair.latest.entry(request.offset).or_insert(next);
        if offset == next {
            pair.requested += u64::from(request.bytes);
        }
        let relative = (offset as u32).wrapping_add(1);
        let mut tcp = header(&pair.server, &pair.client, pair.server.isn.wrapping_add(relative));
        tcp.ack = true;
        tcp.acknowledgment_number = pair.client.isn.wrapping_add(1).wrapping_add(pair.acknowledged as u32);
        let mut options = timestamps(now_us, pair.echoed_us.max(pair.opened_us));
        if self.multipath {
            let acknowledged = self.client.idsn.wrapping_add(1 + self.acknowledged);
            let number = self.server.idsn.wrapping_add(1 + request.offset);
            options.extend(mapping(acknowledged, number, relative, request.bytes));
        }
        options.resize(options.len().max(self.data_options), option::END);
        frame(self.ipv6, &mut pair.server, pair.client.address, tcp, options, request.bytes, false)
    }
}

/// `10.C.C.10S+side` or `fd00::C:S:side`.
fn address(ipv6: bool, connection: usize, subflow: usize, side: u8) -> [u8; 16] {
    let [high, low] = (connection as u16).to_be_bytes();
    let mut address = [0; 16];
    if ipv6 {
        address[0] = 0xfd;
        (address[10], address[11], address[13], address[15]) = (high, low, subflow as u8, side);
    } else {
        address[..4].copy_from_slice(&[10, high, low, 10 * subflow as u8 + side]);
    }
    address
}

fn header(from: &End, to: &End, sequence: u32) -> TcpHeader {
    TcpHeader::new(from.port, to.port, sequence, UNSCALED_WINDOW)
}

fn syn_options(mss: u32, window_scale: u8, value: u32, echo: u32) -> Vec<u8> {
    let [high, low] = (mss as u16).to_be_bytes();
    let mut options = vec![option::MSS, 4, high, low, option::SACK_PERMITTED, 2, option::TIMESTAMPS, 10];
    options.extend(value.to_be_bytes());
    options.extend(echo.to_be_bytes());
    options.extend([option::NOP, option::WINDOW_SCALE, 3, window_scale]);
    options
}

fn timestamps(value: u32, echo: u32) -> Vec<u8> {
    let mut options = vec![option::NOP, option::NOP, option::TIMESTAMPS, 10];
    options.extend(value.to_be_bytes());
    options.extend(echo.to_be_bytes());
    options
}

fn data_ack(number: u64) -> Vec<u8> {
    let mut options = vec![option::MPTCP, 12, subtype::DSS, HAS_ACK];
    options.extend(number.to_be_bytes());
    options
}

/// The position of data at the data level and on the subflow, with an acknowledgement.
fn mapping(acknowledged: u64, number: u64, offset: u32, bytes: u32) -> Vec<u8> {
    let mut options = vec![option::MPTCP, 26, subtype::DSS, HAS_ACK | HAS_MAPPING];
    options.extend(acknowledged.to_be_bytes());
    options.extend(number.to_be_bytes());
    options.extend(offset.to_be_bytes());
    options.extend((bytes as u16).to_be_bytes());
    options
}

fn hmac(keys: [[u8; 8]; 2], nonces: [[u8; 4]; 2]) -> [u8; 32] {
    let mut hmac = Hmac::<Sha256>::new_from_slice(&keys.concat()).expect("any length of key will do");
    hmac.update(&nonces.concat());
    hmac.finalize().into_bytes().into()
}

/// Assembles a packet with its checksums.
fn frame(
    ipv6: bool,
    from: &mut End,
    to: [u8; 16],
    mut tcp: TcpHeader,
    mut options: Vec<u8>,
    payload: u32,
    ect: bool,
) -> Frame {
    options.resize(options.len().next_multiple_of(4), option::END);
    tcp.set_options_raw(&options).expect("at most 40 bytes");
    let payload = &ZEROS[..payload as usize];
    let length = tcp.header_len() + payload.len();
    let ip = if ipv6 {
        IpHeaders::Ipv6(
            Ipv6Header {
                traffic_class: if ect { ECT0 } else { 0 },
                flow_label: Ipv6FlowLabel::ZERO,
                payload_length: length as u16,
                next_header: IpNumber::TCP,
                hop_limit: TTL,
                source: from.address,
                destination: to,
            },
            etherparse::Ipv6Extensions::default(),
        )
    } else {
        let mut ip = Ipv4Header::new(length as u16, TTL, IpNumber::TCP, first(&from.address), first(&to))
            .expect("a packet is shorter than 64 KiB");
        ip.identification = from.identification;
        from.identification = from.identification.wrapping_add(1);
        if ect {
            ip.ecn = etherparse::IpEcn::TWO;
        }
        ip.header_checksum = ip.calc_header_checksum();
        IpHeaders::Ipv4(ip, etherparse::Ipv4Extensions::default())
    };
    tcp.checksum = match &ip {
        IpHeaders::Ipv4(ip, _) => tcp.calc_checksum_ipv4(ip, payload),
        IpHeaders::Ipv6(ip, _) => tcp.calc_checksum_ipv6(ip, payload),
    }
    .expect("a packet is shorter than 64 KiB");
    let mut bytes = Vec::with_capacity(60 + length);
    ip.write(&mut bytes).expect("a vector takes everything");
    bytes.extend(tcp.to_bytes());
    bytes.extend(payload);
    Frame { length: bytes.len() as u32, bytes }
}
