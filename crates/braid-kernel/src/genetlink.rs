//! The module's interface: generic netlink, family `braid` (`kernel/tcp_braid/control.h`).

use std::{cell::RefCell, io};

use crate::netlink::{self, Netlink, find};

/// Numbers of `control.h`, and their names for a test.
macro_rules! numbers {
    ($module:ident, $type:ty: $($name:ident = $number:literal),* $(,)?) => {
        pub(crate) mod $module {
            $(pub(crate) const $name: $type = $number;)*
            #[cfg(test)]
            pub(crate) const ALL: &[(&str, $type)] = &[$((stringify!($name), $name)),*];
        }
    };
}

numbers!(command, u8:
    LOAD = 1,
    UNLOAD = 2,
    LOADED = 3,
    SOCKETS = 4,
    STATE = 5,
    RECORD = 6,
    RECORDS = 7,
    RECORDED = 8,
);

numbers!(attribute, u16:
    NAME = 1,
    ALGORITHM = 2,
    SET = 3,
    SPEC = 4,
    VERSION = 5,
    CURRENT = 7,
    ACKS = 8,
    LOSSES = 9,
    COOKIE = 10,
    ID = 11,
    WORDS = 12,
    HINTS = 13,
    BYTES = 14,
    RECORDS = 15,
    SEQUENCE = 16,
    LOST = 17,
);

/// The attributes of one message.
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn bytes(&self, wanted: u16) -> Option<&[u8]> {
        find(&self.0, wanted)
    }

    /// The attributes inside another.
    pub(crate) fn nested(&self, wanted: u16) -> Option<Self> {
        Some(Self(self.bytes(wanted)?.to_vec()))
    }

    pub(crate) fn text(&self, wanted: u16) -> Option<String> {
        let bytes = self.bytes(wanted)?;
        Some(String::from_utf8_lossy(bytes.strip_suffix(&[0]).unwrap_or(bytes)).into_owned())
    }

    pub(crate) fn u32(&self, wanted: u16) -> Option<u32> {
        Some(u32::from_ne_bytes(self.bytes(wanted)?.try_into().ok()?))
    }

    /// Without the header of generic netlink.
    fn of(body: &[u8]) -> Self {
        Self(body.get(4..).unwrap_or_default().to_vec())
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

/// A family of generic netlink.
pub(crate) struct Family {
    netlink: RefCell<Netlink>,
    id: u16,
}

impl Family {
    /// Nothing if the kernel or its modules do not have it.
    pub(crate) fn open(name: &str) -> io::Result<Option<Self>> {
        let mut netlink = Netlink::generic()?;
        match netlink.family(name) {
            Ok(id) => Ok(Some(Self { netlink: RefCell::new(netlink), id })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn request(&self, command: u8, attributes: &[Vec<u8>]) -> netlink::Message {
        netlink::Message::new(self.id, 0, &[&[command, 1, 0, 0][..], &attributes.concat()].concat())
    }

    /// A request that changes something.
    pub(crate) fn command(&self, command: u8, attributes: &[Vec<u8>]) -> io::Result<()> {
        self.netlink.borrow_mut().request(self.request(command, attributes))
    }

    /// A request with one answer.
    pub(crate) fn ask(&self, command: u8) -> io::Result<Message> {
        let mut answer = None;
        let request = self.request(command, &[]);
        self.netlink.borrow_mut().ask(request, |body| answer = Some(Message::of(body)))?;
        answer.ok_or_else(|| io::Error::other("no answer"))
    }

    /// A request for many answers.
    pub(crate) fn dump(&self, command: u8) -> io::Result<Vec<Message>> {
        let mut messages = Vec::new();
        let request = self.request(command, &[]);
        self.netlink.borrow_mut().dump(request, |body| messages.push(Message::of(body)))?;
        Ok(messages)
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
        for &(name, here) in command::ALL {
            assert_eq!(number(&format!("BRAID_CMD_{name}")), usize::from(here), "{name}");
        }
        for &(name, here) in attribute::ALL {
            assert_eq!(number(&format!("BRAID_ATTR_{name}")), usize::from(here), "{name}");
        }
    }
}
