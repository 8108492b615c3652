//! Captures packets of senders in a memory ring that the kernel fills (`AF_PACKET`), without a system call per packet.
//! A packet costs the guest some microseconds.

use std::{
    io,
    mem::offset_of,
    ptr::{self, NonNull},
    slice,
    sync::atomic::{AtomicU32, Ordering},
};

use braid_kernel::sockopt;
use rustix::{
    mm::{MapFlags, ProtFlags, mmap, munmap},
    time::ClockId,
};
use socket2::{Domain, SockAddr, Socket, Type};

use super::{
    clock::{SECOND_NS, now_ns, ns_of},
    interfaces::interface,
    network::Network,
};
use crate::job::{Job, PACKET_HEADER, Packet};

/// Room in a ring for packets between two samples, even if the second is late.
const LEAST_FRAMES: usize = 4096;
/// Frames are in contiguous blocks of memory.
const BLOCK: usize = 1 << 16;
/// `TPACKET_ALIGNMENT`
const ALIGNMENT: usize = 16;
/// Bytes before the packet in its frame: the kernel's header, its address, and room for a link header.
const BEFORE: usize = (size_of::<libc::tpacket2_hdr>() + size_of::<libc::sockaddr_ll>())
    .next_multiple_of(ALIGNMENT)
    + ALIGNMENT;
/// Approximate size of the chunks of captured packets.
const CHUNK: usize = 1 << 20;
/// All packets of a run stay in memory until its end.
const MOST_BYTES: usize = 384 << 20;

/// Captures for all senders of a job.
pub(super) struct Capture {
    /// With connection and subflow.
    rings: Vec<(usize, usize, Ring)>,
    snap_length: usize,
    /// Start and end of the run on the packets' clock.
    life_ns: (u64, u64),
    packets: Vec<Vec<u8>>,
    bytes: usize,
}

impl Capture {
    /// `None` if no capture was requested.
    pub(super) fn begin(job: &Job, network: &Network) -> Result<Option<Self>, String> {
        let Some(snap_length) = job.snap_length else { return Ok(None) };
        let mut rings = Vec::new();
        for (number, connection) in job.connections.iter().enumerate() {
            network.enter(connection.nodes[0])?;
            for (index, subflow) in connection.subflows.iter().enumerate() {
                let most = snap_length.min(job.wires[subflow.wire].mtu) as usize;
                let ring = Ring::open(interface(subflow.wire, 0), most);
                let ring = ring.map_err(|error| {
                    format!("{}: capturing its packets (needs CAP_NET_RAW): {error}", connection.name)
                })?;
                rings.push((number, index, ring));
            }
        }
        let snap_length = snap_length as usize;
        Ok(Some(Self { rings, snap_length, life_ns: (0, u64::MAX), packets: vec![Vec::new()], bytes: 0 }))
    }

    /// The run starts at this time of the monotonic clock and has this duration.
    pub(super) fn start(&mut self, monotonic_ns: u64, duration_ns: u64) {
        let before = now_ns();
        let real = ns_of(ClockId::Realtime);
        let after = now_ns();
        let start = real - before.midpoint(after) + monotonic_ns;
        self.life_ns = (start, start + duration_ns);
    }

    /// Takes packets captured since the last call, in order of time.
    pub(super) fn collect(&mut self) -> Result<(), String> {
        let mut fresh: Vec<(u64, usize, usize)> = Vec::new();
        for (number, (.., ring)) in self.rings.iter().enumerate() {
            fresh.extend(ring.waiting().map(|frame| (ring.stamp(frame), number, frame)));
        }
        // Packets of one time stay in a ring's order.
        fresh.sort_by_key(|&(time, number, _)| (time, number));
        let (start, end) = self.life_ns;
        for &(time, number, frame) in fresh.iter().filter(|(time, ..)| *time <= end) {
            let &(connection, subflow, ref ring) = &self.rings[number];
            let (length, bytes) = ring.content(frame);
            let bytes = &bytes[..bytes.len().min(self.snap_length)];
            let time_ns = time.saturating_sub(start);
            let packet = Packet { connection, subflow, time_ns, length, bytes };
            self.bytes += PACKET_HEADER + packet.bytes.len();
            if self.packets.last().is_none_or(|chunk| chunk.len() >= CHUNK) {
                self.packets.push(Vec::with_capacity(CHUNK + BLOCK));
            }
            packet.write(self.packets.last_mut().expect("there is one"));
        }
        for (_, number, _) in fresh {
            self.rings[number].2.give_back();
        }
        if self.bytes > MOST_BYTES {
            return Err(format!(
                "the packets of this run take more than {} MB of memory: shorten it, or store less of each with \
                 --snaplen",
                MOST_BYTES >> 20
            ));
        }
        Ok(())
    }

    /// All packets, and the number of missing ones.
    pub(super) fn finish(mut self) -> Result<(Vec<Vec<u8>>, u64), String> {
        self.collect()?;
        let missed = self.rings.iter().map(|(.., ring)| ring.missed()).sum::<io::Result<u64>>();
        Ok((self.packets, missed.map_err(|error| format!("counting packets: {error}"))?))
    }
}

/// The capture ring of an interface.
struct Ring {
    socket: Socket,
    memory: NonNull<u8>,
    frame_bytes: usize,
    frames: usize,
    /// The next frame.
    next: usize,
}

impl Ring {
    /// Opens a ring in the thread's namespace.
    fn open(interface: u32, snap_length: usize) -> io::Result<Self> {
        let frame_bytes = (BEFORE + snap_length).next_multiple_of(ALIGNMENT);
        let of_block = BLOCK / frame_bytes;
        let blocks = LEAST_FRAMES.div_ceil(of_block);
        let socket = Socket::new(Domain::PACKET, Type::DGRAM, None)?;
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        sockopt::set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &version)?;
        // `struct tpacket_req`
        let request = [BLOCK, blocks, frame_bytes, blocks * of_block].map(|size| size as u32);
        sockopt::set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe {
            mmap(
                ptr::null_mut(),
                blocks * BLOCK,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &socket,
                0,
            )
        }?;
        let memory = NonNull::new(memory.cast()).expect("a mapping is somewhere");
        let ring = Self { socket, memory, frame_bytes, frames: blocks * of_block, next: 0 };
        // SAFETY: an address of this family, completely initialised.
        let ((), address) = unsafe {
            SockAddr::try_init(|storage, length| {
                let address = libc::sockaddr_ll {
                    sll_family: libc::AF_PACKET as libc::sa_family_t,
                    sll_protocol: (libc::ETH_P_ALL as u16).to_be(),
                    sll_ifindex: interface as i32,
                    sll_hatype: 0,
                    sll_pkttype: 0,
                    sll_halen: 0,
                    sll_addr: [0; 8],
                };
                storage.cast::<libc::sockaddr_ll>().write(address);
                *length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
                Ok(())
            })
        }?;
        // Packets are captured from now on.
        ring.socket.bind(&address)?;
        Ok(ring)
    }

    /// Frames that the kernel has filled, in order.
    fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        let frames = (self.next..self.frames).chain(0..self.next);
        frames.take_while(|&frame| self.status(frame).load(Ordering::Acquire) & libc::TP_STATUS_USER != 0)
    }

    /// Returns the next filled frame to the kernel.
    fn give_back(&mut self) {
        self.status(self.next).store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.frames;
    }

    fn frame(&self, frame: usize) -> NonNull<u8> {
        let of_block = BLOCK / self.frame_bytes;
        let at = frame / of_block * BLOCK + frame % of_block * self.frame_bytes;
        // SAFETY: within the mapping.
        unsafe { self.memory.add(at) }
    }

    /// Owner of the frame.
    fn status(&self, frame: usize) -> &AtomicU32 {
        // SAFETY: an aligned word of the mapping that the kernel writes as a whole.
        unsafe {
            AtomicU32::from_ptr(
                self.frame(frame).byte_add(offset_of!(libc::tpacket2_hdr, tp_status)).cast().as_ptr(),
            )
        }
    }

    fn header(&self, frame: usize) -> &libc::tpacket2_hdr {
        // SAFETY: a filled frame begins with this header, and is not written to until it is returned.
        unsafe { self.frame(frame).cast().as_ref() }
    }

    /// Time of the packet, by the real-time clock.
    fn stamp(&self, frame: usize) -> u64 {
        let header = self.header(frame);
        u64::from(header.tp_sec) * SECOND_NS + u64::from(header.tp_nsec)
    }

    /// Length of the packet, and its captured part.
    fn content(&self, frame: usize) -> (u32, &[u8]) {
        let header = self.header(frame);
        let (at, kept) = (usize::from(header.tp_net), header.tp_snaplen as usize);
        assert!(at + kept <= self.frame_bytes, "the kernel keeps to the frame");
        // SAFETY: within the frame, which is not written to until it is returned.
        (header.tp_len, unsafe { slice::from_raw_parts(self.frame(frame).add(at).as_ptr(), kept) })
    }

    /// Packets that found no free frame.
    fn missed(&self) -> io::Result<u64> {
        // `struct tpacket_stats`
        let mut statistics = [0_u32; 2];
        // SAFETY: these are two numbers.
        unsafe { sockopt::get(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut statistics) }?;
        let [_packets, drops] = statistics;
        Ok(drops.into())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let of_block = BLOCK / self.frame_bytes;
        // SAFETY: the whole mapping, without remaining references.
        let _ = unsafe { munmap(self.memory.as_ptr().cast(), self.frames / of_block * BLOCK) };
    }
}
