//! A handshake and packet protection of realistic sizes without secrets: for the simulator only.
//!
//! Private to this crate, which has no sockets. Messages have about the length of TLS 1.3's with one certificate and an
//! elliptic curve. A packet grows by a tag of 16 bytes, which depends on the same inputs as a real one: keys, path,
//! packet.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use noq_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair,
    Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError};

const TAG: usize = 16;
const CLIENT_HELLO: usize = 280;
const SERVER_HELLO: usize = 90;
const CERTIFICATE: usize = 900;
const FINISHED: usize = 36;

/// Number of the keys: Initial and Handshake packets, then one for each key update.
const INITIAL: u32 = 0;
const HANDSHAKE: u32 = 1;
const ONE_RTT: u32 = 2;

struct Packet(u32);

impl Packet {
    fn tag(&self, path: PathId, packet: u64) -> [u8; TAG] {
        let mut tag = [0; TAG];
        tag[..4].copy_from_slice(&self.0.to_le_bytes());
        let path = path.to_string();
        let path: u32 = path.bytes().fold(0, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
        tag[4..8].copy_from_slice(&path.to_le_bytes());
        tag[8..].copy_from_slice(&packet.to_le_bytes());
        tag
    }
}

impl PacketKey for Packet {
    fn encrypt(&self, path: PathId, packet: u64, buffer: &mut [u8], _header: usize) {
        let end = buffer.len() - TAG;
        buffer[end..].copy_from_slice(&self.tag(path, packet));
    }

    fn decrypt(
        &self,
        path: PathId,
        packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        if payload[end..] != self.tag(path, packet) {
            return Err(CryptoError);
        }
        payload.truncate(end);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        1 << 40
    }

    fn integrity_limit(&self) -> u64 {
        1 << 40
    }
}

struct Header;

impl HeaderKey for Header {
    fn decrypt(&self, _number: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _number: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        16
    }
}

fn packet_keys(which: u32) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Packet(which)), remote: Box::new(Packet(which)) }
}

fn keys(which: u32) -> Keys {
    Keys { header: KeyPair { local: Box::new(Header), remote: Box::new(Header) }, packet: packet_keys(which) }
}

/// Handshake step of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The client has not begun, or the server waits for it.
    Begin,
    /// Client: waits for the server's hello. Server: must send it.
    Hello,
    /// Client: has the hello and no keys yet.
    Keys,
    /// Client: waits for the certificate. Server: must send it.
    Certificate,
    /// Client: must send its last message. Server: waits for it.
    Finish,
    Done,
}

struct Plain {
    side: Side,
    step: Step,
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    received: Vec<u8>,
    updates: u32,
}

impl Plain {
    fn new(side: Side, params: &TransportParameters) -> Self {
        let mut own = Vec::new();
        params.write(&mut own);
        Self { side, step: Step::Begin, own, peer: None, received: Vec::new(), updates: 0 }
    }

    /// Length, length of the parameters, parameters, padding.
    fn write(&self, buffer: &mut Vec<u8>, length: usize, params: bool) {
        let params: &[u8] = if params { &self.own } else { &[] };
        let length = length.max(4 + params.len());
        buffer.extend((length as u16).to_be_bytes());
        buffer.extend((params.len() as u16).to_be_bytes());
        buffer.extend(params);
        buffer.resize(buffer.len() + length - 4 - params.len(), 0);
    }

    /// The parameters of the next message, if it is complete.
    fn read(&mut self) -> Option<Vec<u8>> {
        let number = |at: usize| {
            let bytes = self.received.get(at..at + 2)?;
            Some(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
        };
        let (length, params) = (number(0)?, number(2)?);
        if self.received.len() < length {
            return None;
        }
        let message: Vec<u8> = self.received.drain(..length).collect();
        Some(message[4..4 + params].to_vec())
    }
}

impl Session for Plain {
    fn initial_keys(&self, _destination: ConnectionId, _side: Side) -> Keys {
        keys(INITIAL)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.peer.is_some().then(|| Box::new(()) as Box<dyn Any>)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.step != Step::Done
    }

    fn read_handshake(&mut self, buffer: &[u8]) -> Result<bool, TransportError> {
        self.received.extend(buffer);
        let mut is_new = false;
        while let Some(params) = self.read() {
            if !params.is_empty() {
                let params = TransportParameters::read(self.side, &mut &params[..])?;
                self.peer = Some(params);
                is_new = true;
            }
            self.step = match (self.side, self.step) {
                (Side::Server, Step::Begin) => Step::Hello,
                (Side::Client, Step::Hello) => Step::Keys,
                (Side::Client, Step::Keys | Step::Certificate) => Step::Finish,
                (Side::Server, Step::Finish) => Step::Done,
                (_, step) => step,
            };
        }
        Ok(is_new)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buffer: &mut Vec<u8>) -> Option<Keys> {
        match (self.side, self.step) {
            (Side::Client, Step::Begin) => {
                self.write(buffer, CLIENT_HELLO, true);
                self.step = Step::Hello;
                None
            }
            (Side::Client, Step::Keys) => {
                self.step = Step::Certificate;
                Some(keys(HANDSHAKE))
            }
            (Side::Client, Step::Finish) => {
                self.write(buffer, FINISHED, false);
                self.step = Step::Done;
                Some(keys(ONE_RTT))
            }
            (Side::Server, Step::Hello) => {
                self.write(buffer, SERVER_HELLO, false);
                self.step = Step::Certificate;
                Some(keys(HANDSHAKE))
            }
            (Side::Server, Step::Certificate) => {
                self.write(buffer, CERTIFICATE, true);
                self.step = Step::Finish;
                Some(keys(ONE_RTT))
            }
            _ => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.updates += 1;
        Some(packet_keys(ONE_RTT + self.updates))
    }

    fn is_valid_retry(&self, _destination: ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// Creates the sessions of both sides, and the keys of an endpoint.
pub(crate) struct Crypto;

impl ClientConfig for Crypto {
    fn start_session(
        &self,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Plain::new(Side::Client, params)))
    }
}

impl ServerConfig for Crypto {
    fn initial_keys(&self, _version: u32, _destination: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys(INITIAL))
    }

    fn retry_tag(&self, _version: u32, _destination: ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(&self, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(Plain::new(Side::Server, params))
    }
}

impl HmacKey for Crypto {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        // FNV-1a, continued for each requested byte: different data, different signature.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let mut hash = data.iter().copied().fold(0xcbf2_9ce4_8422_2325, step);
        for (n, byte) in signature.iter_mut().enumerate() {
            hash = step(hash, n as u8);
            *byte = (hash >> 32) as u8;
        }
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = vec![0; signature.len()];
        self.sign(data, &mut expected);
        if expected == signature { Ok(()) } else { Err(CryptoError) }
    }
}

impl HandshakeTokenKey for Crypto {
    fn seal(&self, _nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        data.extend([0; TAG]);
        Ok(())
    }

    fn open<'a>(&self, _nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let end = data.len().checked_sub(TAG).ok_or(CryptoError)?;
        Ok(&data[..end])
    }
}

/// Shared by configurations.
pub(crate) fn crypto() -> Arc<Crypto> {
    Arc::new(Crypto)
}
