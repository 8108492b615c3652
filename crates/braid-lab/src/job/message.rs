//! Messages of the guest, and their encoding: `postcard`, with length and checksum.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest as _, Sha256};

use super::report::Report;

/// A message of the guest. Console lines are separate.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(crate) enum Message {
    Failed(String),
    /// Some captured packets ([`Packet::write`]), before the end of the job.
    Packets(#[serde(with = "serde_bytes")] Vec<u8>),
    Done(Report),
}

/// A packet that a sender has sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Index of its connection in the scenario.
    pub connection: usize,
    /// Index of the subflow in the connection.
    pub subflow: usize,
    /// Since the start of the run.
    pub time_ns: u64,
    /// Its length from the IP header on.
    pub length: u32,
    /// Its stored part.
    pub bytes: &'a [u8],
}

/// Size of the header before a packet's bytes.
pub(crate) const PACKET_HEADER: usize = 2 + 2 + 8 + 4 + 4;

impl<'a> Packet<'a> {
    /// Appends it to others.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        to.extend((self.connection as u16).to_le_bytes());
        to.extend((self.subflow as u16).to_le_bytes());
        to.extend(self.time_ns.to_le_bytes());
        to.extend(self.length.to_le_bytes());
        to.extend((self.bytes.len() as u32).to_le_bytes());
        to.extend_from_slice(self.bytes);
    }

    /// Removes and returns the first packet.
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

/// Decodes messages from the guest.
#[derive(Default)]
pub(crate) struct Inbox {
    /// Undecoded bytes.
    pub(crate) bytes: Vec<u8>,
}

impl Inbox {
    /// The outcome of the job, if it has arrived; `each` gets the packets before it.
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

/// A value with length and checksum.
pub(crate) fn frame(value: &impl Serialize) -> Vec<u8> {
    let payload = postcard::to_stdvec(value).expect("plain data");
    let mut bytes = MAGIC.to_vec();
    bytes.extend((payload.len() as u32).to_le_bytes());
    bytes.extend(&Sha256::digest(&payload)[..8]);
    bytes.extend(payload);
    bytes
}

/// The first value of `bytes` and its length; `None` if it is incomplete.
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
