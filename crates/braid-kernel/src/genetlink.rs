//! The module's interface: generic netlink, family `braid` (`kernel/tcp_braid/control.h`).

use std::{io, iter};

use netlink_sys::{Socket, protocols::NETLINK_GENERIC};

pub(crate) mod command {
    pub(crate) const LOAD: u8 = 1;
    pub(crate) const UNLOAD: u8 = 2;
    pub(crate) const LOADED: u8 = 3;
    pub(crate) const SOCKETS: u8 = 4;
    pub(crate) const STATE: u8 = 5;
    pub(crate) const RECORD: u8 = 6;
    pub(crate) const RECORDS: u8 = 7;
    pub(crate) const RECORDED: u8 = 8;
}

pub(crate) mod attribute {
    pub(crate) const NAME: u16 = 1;
    pub(crate) const ALGORITHM: u16 = 2;
    pub(crate) const SET: u16 = 3;
    pub(crate) const SPEC: u16 = 4;
    pub(crate) const VERSION: u16 = 5;
    pub(crate) const CURRENT: u16 = 7;
    pub(crate) const ACKS: u16 = 8;
    pub(crate) const LOSSES: u16 = 9;
    pub(crate) const COOKIE: u16 = 10;
    pub(crate) const ID: u16 = 11;
    pub(crate) const WORDS: u16 = 12;
    pub(crate) const HINTS: u16 = 13;
    pub(crate) const BYTES: u16 = 14;
    pub(crate) const RECORDS: u16 = 15;
    pub(crate) const SEQUENCE: u16 = 16;
    pub(crate) const LOST: u16 = 17;
}

const HEADER: usize = 16 + 4;
const REQUEST: u16 = 1;
const ACK: u16 = 4;
const DUMP: u16 = 0x300;
const ERROR: u16 = 2;
const DONE: u16 = 3;
/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID`, `CTRL_ATTR_FAMILY_NAME`
const CONTROLLER: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// The attributes of one message.
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn bytes(&self, wanted: u16) -> Option<&[u8]> {
        let mut rest = &self.0[..];
        iter::from_fn(|| {
            let length = usize::from(u16::from_ne_bytes(rest.get(..2)?.try_into().ok()?));
            let kind = u16::from_ne_bytes(rest.get(2..4)?.try_into().ok()?) & 0x3fff;
            let value = rest.get(4..length)?;
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            Some((kind, value))
        })
        .find_map(|(kind, value)| (kind == wanted).then_some(value))
    }

    pub(crate) fn text(&self, wanted: u16) -> Option<String> {
        let bytes = self.bytes(wanted)?;
        Some(String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned())
    }

    pub(crate) fn u32(&self, wanted: u16) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes(wanted)?.try_into().ok()?))
    }

    /// `N` numbers of 64 bits.
    pub(crate) fn words<const N: usize>(&self, wanted: u16) -> Option<[u64; N]> {
        let words = self.bytes(wanted)?.chunks_exact(8).map(bytemuck::pod_read_unaligned);
        words.collect::<Vec<u64>>().try_into().ok()
    }
}

/// An attribute of a request.
pub(crate) fn with(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = 4 + value.len();
    let mut bytes = Vec::with_capacity(length.next_multiple_of(4));
    bytes.extend(u16::try_from(length).unwrap_or(u16::MAX).to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(length.next_multiple_of(4), 0);
    bytes
}

pub(crate) fn text(kind: u16, value: &str) -> Vec<u8> {
    with(kind, &[value.as_bytes(), &[0]].concat())
}

/// The family, while the module is loaded.
pub(crate) struct Family {
    socket: Socket,
    id: u16,
}

impl Family {
    /// Nothing if the module is not loaded.
    pub(crate) fn open() -> io::Result<Option<Self>> {
        let mut socket = Socket::new(NETLINK_GENERIC)?;
        socket.bind_auto()?;
        let mut family = Self { socket, id: CONTROLLER };
        let name = text(FAMILY_NAME, "braid");
        let answer = match family.exchange(GET_FAMILY, 0, &[name]) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let id = answer.first().and_then(|message| message.bytes(FAMILY_ID));
        family.id = u16::from_ne_bytes(
            id.and_then(|bytes| bytes.try_into().ok()).ok_or_else(|| io::Error::other("no family"))?,
        );
        Ok(Some(family))
    }

    /// A request that changes something.
    pub(crate) fn command(&self, command: u8, attributes: &[Vec<u8>]) -> io::Result<()> {
        self.exchange(command, ACK, attributes).map(|_| ())
    }

    /// A request with one answer.
    pub(crate) fn ask(&self, command: u8) -> io::Result<Message> {
        self.exchange(command, 0, &[])?.pop().ok_or_else(|| io::Error::other("no answer"))
    }

    /// A request for many answers.
    pub(crate) fn dump(&self, command: u8) -> io::Result<Vec<Message>> {
        self.exchange(command, DUMP, &[])
    }

    fn exchange(&self, command: u8, flags: u16, attributes: &[Vec<u8>]) -> io::Result<Vec<Message>> {
        let body = attributes.concat();
        let mut bytes = Vec::with_capacity(HEADER + body.len());
        let length = u32::try_from(HEADER + body.len()).map_err(io::Error::other)?;
        bytes.extend(length.to_ne_bytes());
        bytes.extend(self.id.to_ne_bytes());
        bytes.extend((REQUEST | flags).to_ne_bytes());
        bytes.extend([0; 8]);
        bytes.extend([command, 1, 0, 0]);
        bytes.extend(body);
        self.socket.send(&bytes, 0)?;
        let mut messages = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = &datagram[..];
            while rest.len() >= 16 {
                let length = u32::from_ne_bytes(rest[..4].try_into().expect("four bytes")) as usize;
                let kind = u16::from_ne_bytes(rest[4..6].try_into().expect("two bytes"));
                let message = rest.get(16..length).ok_or_else(|| io::Error::other("half a message"))?;
                if kind == ERROR || kind == DONE {
                    let code =
                        message.get(..4).map_or(0, |code| i32::from_ne_bytes(code.try_into().expect("four")));
                    return if code < 0 { Err(io::Error::from_raw_os_error(-code)) } else { Ok(messages) };
                }
                messages.push(Message(message.get(4..).unwrap_or_default().to_vec()));
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
            }
            // One answer, without an acknowledgement.
            if flags == 0 {
                return Ok(messages);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_among_others_of_any_length() {
        let message = Message(
            [text(attribute::NAME, "lia"), text(attribute::SPEC, ""), with(attribute::ACKS, &[1; 16])]
                .concat(),
        );
        assert_eq!(message.text(attribute::NAME).as_deref(), Some("lia"));
        assert_eq!(message.text(attribute::SPEC).as_deref(), Some(""));
        assert_eq!(message.words(attribute::ACKS), Some([0x0101_0101_0101_0101; 2]));
        assert_eq!(message.words::<3>(attribute::ACKS), None);
        assert_eq!(message.u32(attribute::VERSION), None);
        assert!(Message(vec![200, 0, 1, 0]).bytes(1).is_none(), "cut off");
    }

    /// The number of an enumerator: each enumeration counts from 1.
    fn number(name: &str) -> usize {
        let header = include_str!("../../../kernel/tcp_braid/control.h");
        let prefix = if name.starts_with("BRAID_CMD_") { "BRAID_CMD_" } else { "BRAID_ATTR_" };
        let names = header.lines().filter_map(|line| line.trim().split([',', ' ']).next());
        let of_kind = names.filter(|other| other.starts_with(prefix));
        1 + of_kind.into_iter().position(|other| other == name).unwrap_or_else(|| panic!("no {name}"))
    }

    #[test]
    fn numbers_are_those_of_the_module() {
        for (name, here) in [
            ("BRAID_CMD_LOAD", command::LOAD),
            ("BRAID_CMD_UNLOAD", command::UNLOAD),
            ("BRAID_CMD_LOADED", command::LOADED),
            ("BRAID_CMD_SOCKETS", command::SOCKETS),
            ("BRAID_CMD_STATE", command::STATE),
            ("BRAID_CMD_RECORD", command::RECORD),
            ("BRAID_CMD_RECORDS", command::RECORDS),
            ("BRAID_CMD_RECORDED", command::RECORDED),
        ] {
            assert_eq!(number(name), usize::from(here), "{name}");
        }
        for (name, here) in [
            ("BRAID_ATTR_NAME", attribute::NAME),
            ("BRAID_ATTR_ALGORITHM", attribute::ALGORITHM),
            ("BRAID_ATTR_SET", attribute::SET),
            ("BRAID_ATTR_SPEC", attribute::SPEC),
            ("BRAID_ATTR_VERSION", attribute::VERSION),
            ("BRAID_ATTR_CURRENT", attribute::CURRENT),
            ("BRAID_ATTR_ACKS", attribute::ACKS),
            ("BRAID_ATTR_LOSSES", attribute::LOSSES),
            ("BRAID_ATTR_COOKIE", attribute::COOKIE),
            ("BRAID_ATTR_ID", attribute::ID),
            ("BRAID_ATTR_WORDS", attribute::WORDS),
            ("BRAID_ATTR_HINTS", attribute::HINTS),
            ("BRAID_ATTR_BYTES", attribute::BYTES),
            ("BRAID_ATTR_RECORDS", attribute::RECORDS),
            ("BRAID_ATTR_SEQUENCE", attribute::SEQUENCE),
            ("BRAID_ATTR_LOST", attribute::LOST),
        ] {
            assert_eq!(number(name), usize::from(here), "{name}");
        }
    }
}
