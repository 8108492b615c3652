# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""CoDel (RFC 8289) and FQ-CoDel (RFC 8290) in floating point, fed with the arrivals of `aqm.cc --mode=open`.

Written from the RFCs; it shares only the arrivals with the simulator and ns-3. With `Ns3` instead of `Exact` it models
ns-3."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

RATE = 10e6
TARGET = 0.005
INTERVAL = 0.1
MTU = 1500  # a backlog of one full packet is no queue
QUANTUM = 1514


@dataclass
class Packet:
    number: int
    flow: int
    size: int
    came: float


def arrivals(load: int, flows: int):
    """Packets as in aqm.cc: gaps in whole nanoseconds from Knuth's MMIX generator."""
    state = 1
    mean = 1000 * 8 * 10**9 * 100 // (int(RATE) * load)
    total = flows * (flows + 1) // 2

    def draw() -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return state >> 32

    now, number = 0, 0
    while True:
        share, flow = draw() % total, 0
        while share > flow:
            share -= flow + 1
            flow += 1
        size = 1469 if draw() % 2 else 531
        yield Packet(number, flow, size, now / 1e9)
        number += 1
        now += (draw() * 2 * mean) >> 32


class Exact:
    """RFC 8289's control law: INTERVAL / sqrt(count), seconds. The minimum backlog counts all queues, as in Linux, and
    an overflow drops half of the packets of one queue, as in RFC 8290."""

    target, interval = TARGET, INTERVAL
    own_backlog = False

    def __init__(self) -> None:
        self.count = 0

    @staticmethod
    def time(seconds: float) -> float:
        return seconds

    @staticmethod
    def is_over(now: float, above: float) -> bool:
        return now >= above

    def set_count(self, count: int) -> None:
        self.count = count

    def pause(self) -> float:
        return INTERVAL / math.sqrt(self.count)


class Ns3:
    """The control law of Linux and ns-3: time in units of 1024 ns, and 1 / sqrt(count) in 16 bits, by one step of
    Newton's method from its last value. The pauses after the first drops are 100, 50, 56, 49 ms, not 100, 71, 58, 50.
    The minimum backlog counts one queue, and an overflow drops half of its bytes."""

    target, interval = 5_000_000 >> 10, 100_000_000 >> 10
    own_backlog = True

    def __init__(self) -> None:
        self.count = 0
        self.root = 0

    @staticmethod
    def time(seconds: float) -> int:
        return round(seconds * 1e9) >> 10

    @staticmethod
    def is_over(now: int, above: int) -> bool:
        return now > above

    def set_count(self, count: int) -> None:
        self.count = count
        if count == 1:
            self.root = 0xFFFF
            return
        root = self.root << 16
        error = (3 << 32) - count * (root * root >> 32)
        self.root = ((error >> 2) * root >> 31) >> 16

    def pause(self) -> int:
        return self.interval * (self.root << 16) >> 32


class CoDel:
    """One queue; packets leave by the algorithm in RFC 8289's appendix."""

    def __init__(self, law, all_queues: list) -> None:
        self.all = all_queues
        self.packets: deque[Packet] = deque()
        self.size = 0
        self.law = law
        self.first_above = None
        self.drop_next = 0
        self.last_count = 0
        self.dropping = False
        self.credit = 0
        self.listed = False

    def pop(self, now: float) -> tuple[Packet | None, bool]:
        if not self.packets:
            self.first_above = None
            return None, False
        packet = self.packets.popleft()
        self.size -= packet.size
        backlog = self.size if self.law.own_backlog else sum(queue.size for queue in self.all)
        if self.law.time(now - packet.came) < self.law.target or backlog <= MTU:
            self.first_above = None
            return packet, False
        if self.first_above is None:
            self.first_above = self.law.time(now) + self.law.interval
            return packet, False
        return packet, self.law.is_over(self.law.time(now), self.first_above)

    def dequeue(self, seconds: float, drop) -> Packet | None:
        law, now = self.law, self.law.time(seconds)
        packet, may_drop = self.pop(seconds)
        if self.dropping:
            if not may_drop:
                self.dropping = False
            while self.dropping and now >= self.drop_next:
                drop(packet)
                law.set_count(law.count + 1)
                packet, may_drop = self.pop(seconds)
                if not may_drop:
                    self.dropping = False
                else:
                    self.drop_next += law.pause()
        elif may_drop:
            drop(packet)
            packet, _ = self.pop(seconds)
            self.dropping = True
            delta = law.count - self.last_count
            law.set_count(delta if delta > 1 and now - self.drop_next < 16 * law.interval else 1)
            self.drop_next = now + law.pause()
            self.last_count = law.count
        return packet


class Bottleneck:
    def __init__(self, fair: bool, limit: int, flows: int, law) -> None:
        self.fair = fair
        self.bytes_count = law is Ns3
        self.limit = limit
        self.queues: list[CoDel] = []
        self.queues += [CoDel(law(), self.queues) for _ in range(flows if fair else 1)]
        self.new: deque[CoDel] = deque()
        self.old: deque[CoDel] = deque()
        self.dropped: list[int] = []

    def drop(self, packet: Packet) -> None:
        self.dropped.append(packet.number)

    def length(self) -> int:
        return sum(len(queue.packets) for queue in self.queues)

    def enqueue(self, packet: Packet) -> None:
        if not self.fair:
            if self.length() >= self.limit:
                self.drop(packet)
                return
            queue = self.queues[0]
        else:
            queue = self.queues[packet.flow]
            if not queue.listed:
                queue.listed = True
                queue.credit = QUANTUM
                self.new.append(queue)
        queue.packets.append(packet)
        queue.size += packet.size
        if self.fair and self.length() > self.limit:
            # RFC 8290 sect. 4.1: half the packets of the fullest queue, 64 at most.
            fullest = max(self.queues, key=lambda queue: queue.size)
            if self.bytes_count:
                half = fullest.size // 2
                for _ in range(64):
                    half -= self.drop_first(fullest)
                    if half <= 0:
                        break
            else:
                for _ in range(min(64, max(1, len(fullest.packets) // 2))):
                    self.drop_first(fullest)

    def drop_first(self, queue: CoDel) -> int:
        victim = queue.packets.popleft()
        queue.size -= victim.size
        self.drop(victim)
        return victim.size

    def dequeue(self, now: float) -> Packet | None:
        if not self.fair:
            return self.queues[0].dequeue(now, self.drop)
        while self.new or self.old:
            served = self.new or self.old
            queue = served[0]
            if queue.credit <= 0:
                queue.credit += QUANTUM
                served.popleft()
                self.old.append(queue)
                continue
            packet = queue.dequeue(now, self.drop)
            if packet:
                queue.credit -= packet.size
                return packet
            served.popleft()
            if served is self.new:
                self.old.append(queue)
            else:
                queue.listed = False
        return None


def run(aqm: str, load: int, limit: int, flows: int, seconds: float, law=Exact) -> dict:
    """Numbers of the dropped packets, in order, and the mean queueing delay of the sent ones."""
    bottleneck = Bottleneck(aqm == "FqCoDel", limit, flows, law)
    free, idle = 0.0, True
    waited, sent = 0.0, 0
    source = arrivals(load, flows)
    packet = next(source)
    while packet.came < seconds or free < seconds:
        # At equal times an arrival precedes the end of a transmission.
        if not idle and free < packet.came:
            now = free
        else:
            now = packet.came
            if now >= seconds:
                break
            bottleneck.enqueue(packet)
            packet = next(source)
            if not idle:
                continue
        out = bottleneck.dequeue(now)
        idle = out is None
        if out:
            waited += now - out.came
            sent += 1
            free = now + out.size * 8 / RATE
    return {"dropped": bottleneck.dropped, "delay_ms": 1e3 * waited / sent}
