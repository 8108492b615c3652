# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A TCP window model on a path without a queue.

The round trip time is constant and the link infinitely fast. A transmission is lost independently of the load: with
probability p, or every n-th one. This leaves congestion control and loss recovery, written from the specifications:
SACK with RACK loss detection, proportional rate reduction, tail loss probe, retransmission timeout, one reduction per
loss event, growth only on acknowledgements that advance the window and never in recovery. Every packet is acknowledged.
The application reads at once, so only the increase of their windows connects the subflows of a connection.

Packets that leave at the same time and are not lost form one run; all others are handled one by one. A window is an
integer number of packets plus the fraction of the next packet that growth has accumulated. Times are seconds, windows
packets.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from dataclasses import dataclass, field

EPS = 1e-9
INFINITY = float("inf")
INITIAL_WINDOW = 10
OPEN, DISORDER, RECOVERY, LOSS = range(4)


class Bernoulli:
    """Each transmission is lost with probability p."""

    def __init__(self, p: float, seed: int) -> None:
        self.scale = math.log1p(-p)
        self.random = random.Random(seed)
        self.next = -1
        self.advance()

    def advance(self) -> None:
        """Advances `next`, the number of the next lost transmission."""
        self.next += 1 + int(math.log(1.0 - self.random.random()) / self.scale)


class Periodic:
    """Every n-th transmission is lost."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.next = n - 1

    def advance(self) -> None:
        self.next += self.n


class Nothing:
    """Nothing is lost."""

    next = INFINITY


@dataclass(slots=True)
class Run:
    """Consecutive new segments that left together, or one retransmission."""

    time: float
    event: int
    first: int
    count: int
    transmission: int
    retransmission: bool


# --- congestion control -------------------------------------------------------------------------------------------


class Reno:
    """RFC 5681: one packet per window of acknowledged packets, half after a loss."""

    def increase(self, flow: Subflow) -> float:
        """Growth per acknowledged packet at the current windows, in packets."""
        return 1.0 / flow.cwnd

    def grow(self, flow: Subflow, acked: int, now: float) -> None:
        """Congestion avoidance for packets acknowledged at one time."""
        while acked > 0:
            gain = self.increase(flow)
            # In steps to the next whole packet, since the formula is constant in between.
            room = 1.0 - flow.fraction if gain > 0.0 else flow.fraction + EPS
            n = min(max(math.ceil(room / abs(gain) - EPS), 1), acked) if gain else acked
            flow.set_window(flow.cwnd + flow.fraction + n * gain)
            acked -= n

    def reduce(self, flow: Subflow) -> float:
        """The window after a loss event."""
        return max(flow.cwnd // 2, 2)

    def on_loss(self, flow: Subflow) -> None:
        """Called at a loss event, before the window changes."""

    def on_timeout(self, flow: Subflow) -> None:
        """The retransmission timer ran out."""


class Cubic(Reno):
    """RFC 9438 with a real-valued window, evaluated one minimum round trip ahead as in Linux."""

    def __init__(self, c: float = 0.4, keep: float = 0.7, fast_convergence: bool = True, friendly: bool = True):
        self.c = c
        self.keep = keep
        self.fast_convergence = fast_convergence
        self.friendly = friendly
        self.alpha = 3.0 * (1.0 - keep) / (1.0 + keep)
        self.w_max = 0.0
        self.prior = 0.0
        self.epoch: float | None = None
        self.origin = self.k = self.w_est = 0.0

    def grow(self, flow: Subflow, acked: int, now: float) -> None:
        window = flow.cwnd + flow.fraction
        if self.epoch is None:
            self.epoch = now
            self.w_est = window
            self.origin = max(self.w_max, window)
            self.k = ((self.origin - window) / self.c) ** (1.0 / 3.0)
        curve = self.origin + self.c * (now - self.epoch + flow.rtt - self.k) ** 3
        while acked > 0:
            # In steps during which the integer window and the slope of the Reno-friendly window are constant.
            cwnd = flow.cwnd
            target = min(curve, 1.5 * window)
            if self.w_max == 0.0:
                target = max(target, window + 0.05 * cwnd)
            slope = (self.alpha if self.w_est < self.prior else 1.0) / cwnd
            n = acked
            if target > cwnd + 1.0:
                n = min(n, math.log((target - cwnd - 1.0) / (target - window)) / math.log1p(-1.0 / (cwnd + EPS)))
            if self.friendly:
                n = min(n, (cwnd + 1.0 - self.w_est) / slope)
                if self.w_est < self.prior:
                    n = min(n, (self.prior - self.w_est) / slope)
            n = min(max(math.ceil(n - EPS), 1), acked)
            if target > window:
                window = target - (target - window) * (1.0 - 1.0 / cwnd) ** n
            else:
                window += 0.01 * n / cwnd
            self.w_est += n * slope
            if self.friendly:
                window = max(window, self.w_est)
            flow.set_window(window)
            acked -= n

    def reduce(self, flow: Subflow) -> float:
        return max((flow.cwnd + flow.fraction) * self.keep, 2.0)

    def on_loss(self, flow: Subflow) -> None:
        window = flow.cwnd + flow.fraction
        self.epoch = None
        # A window within a packet of its maximum counts as recovered.
        lower = self.fast_convergence and flow.cwnd < int(self.w_max)
        self.w_max = window * (1.0 + self.keep) / 2.0 if lower else window
        self.prior = window

    def on_timeout(self, flow: Subflow) -> None:
        self.epoch = None
        self.w_max = 0.0


class Lia(Reno):
    """RFC 6356."""

    def increase(self, flow: Subflow) -> float:
        best = total = 0.0
        for r in flow.siblings:
            w = r.effective()
            best = max(best, w / (r.rtt * r.rtt))
            total += w / r.rtt
        return min(best / (total * total), 1.0 / flow.cwnd)


class Olia(Reno):
    """draft-khalili-mptcp-congestion-control, slow start as in Linux."""

    def increase(self, flow: Subflow) -> float:
        paths = flow.siblings
        total = sum(r.effective() / r.rtt for r in paths)
        kelly = flow.cwnd / (flow.rtt * flow.rtt) / (total * total)
        widest = max(r.effective() for r in paths)
        quality = [r.loss_free() / (r.rtt * r.rtt) for r in paths]
        top = max(quality)
        collected = [r for r, q in zip(paths, quality) if q == top and r.effective() < widest]
        alpha = 0.0
        if collected:
            if flow in collected:
                alpha = 1.0 / (len(paths) * len(collected))
            elif flow.effective() == widest:
                alpha = -1.0 / (len(paths) * sum(1 for r in paths if r.effective() == widest))
        return kelly + alpha / flow.cwnd


class Balia(Reno):
    """draft-walid-mptcp-congestion-control."""

    @staticmethod
    def ratio(flow: Subflow) -> float:
        return max(r.effective() / r.rtt for r in flow.siblings) / (flow.effective() / flow.rtt)

    def increase(self, flow: Subflow) -> float:
        total = sum(r.effective() / r.rtt for r in flow.siblings)
        alpha = self.ratio(flow)
        x = flow.effective() / flow.rtt
        return x / (flow.rtt * total * total) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0

    def reduce(self, flow: Subflow) -> float:
        floor = 1.0 if len(flow.siblings) > 1 else 2.0
        return max(flow.cwnd - flow.cwnd / 2.0 * min(self.ratio(flow), 1.5), floor)


ALGORITHMS = {"reno": Reno, "cubic": Cubic, "lia": Lia, "olia": Olia, "balia": Balia}


# --- one path -----------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Subflow:
    """The sender of one path, with its receiver one round trip away."""

    rtt: float
    losses: Bernoulli | Periodic | Nothing
    cc: Reno
    siblings: list[Subflow] = field(default_factory=list)

    cwnd: int = INITIAL_WINDOW
    fraction: float = 0.0
    ssthresh: float = INFINITY
    state: int = OPEN
    una: int = 0
    nxt: int = 0
    transmissions: int = 0
    events: int = 0
    flight: deque[Run] = field(default_factory=deque)

    # Filled only during recovery: segments in flight in the order of their last transmission (sequence number -> time,
    # event), segments known lost, segments delivered above `una`.
    detailed: bool = False
    live: dict[int, tuple[float, int]] = field(default_factory=dict)
    lost: list[int] = field(default_factory=list)
    sacked: set[int] = field(default_factory=set)
    rack: tuple[int, int] = (-1, -1)

    high: int = 0
    prior_cwnd: int = 0
    prr_delivered: int = 0
    prr_out: int = 0
    progress: float = 0.0
    rto_deadline: float = INFINITY
    probe_deadline: float = INFINITY
    reorder_deadline: float = INFINITY
    backoff: int = 1
    timeout_at: int = -1
    probing: bool = False

    # Measurements.
    clock: float = 0.0
    area: float = 0.0
    area_flight: float = 0.0
    loss_events: int = 0
    timeouts: int = 0
    marks: list[int] = field(default_factory=lambda: [0, 0, 0])

    def effective(self) -> float:
        """The window for averages: during recovery its target."""
        return float(self.ssthresh) if self.state == RECOVERY else float(self.cwnd)

    def loss_free(self) -> int:
        """OLIA's measure of a path: packets since the last loss, or between the last two losses if more."""
        return max(self.una - self.marks[1], self.marks[1] - self.marks[0])

    @property
    def in_flight(self) -> int:
        return len(self.live) if self.detailed else self.nxt - self.una

    @property
    def rto(self) -> float:
        return (self.rtt + 0.2) * self.backoff

    # Time.

    def next_time(self) -> float:
        arrival = self.flight[0].time + self.rtt if self.flight else INFINITY
        if not self.detailed:
            return arrival
        return min(arrival, self.rto_deadline, self.probe_deadline, self.reorder_deadline)

    def start(self, now: float) -> None:
        self.clock = self.progress = now
        self.send(now)

    def step(self) -> None:
        now = self.next_time()
        self.area += self.cwnd * (now - self.clock)
        self.area_flight += self.in_flight * (now - self.clock)
        self.clock = now
        if self.flight and self.flight[0].time + self.rtt <= now:
            self.arrive(self.flight.popleft(), now)
        elif now == self.reorder_deadline:
            self.events += 1
            self.react(0, False, now)
        elif now == self.probe_deadline:
            self.probe(now)
        else:
            self.timeout(now)

    def arrive(self, run: Run, now: float) -> None:
        """A run reaches the receiver and, at the same time, its acknowledgements reach the sender."""
        while self.losses.next < run.transmission:
            self.losses.advance()
        end = run.transmission + run.count
        if self.losses.next >= end and not self.detailed:
            self.una = run.first + run.count
            self.progress = now
            self.backoff = 1
            self.events += 1
            self.grow(run.count, now)
            self.send(now)
            return
        if not self.detailed:
            self.begin_detail(run)
        for i in range(run.count):
            if self.losses.next == run.transmission + i:
                self.losses.advance()
            else:
                self.events += 1
                self.acknowledge(run.first + i, run.event, now)
        if self.state == OPEN and not self.sacked and not self.lost and len(self.live) == self.nxt - self.una:
            if self.una == (self.flight[0].first if self.flight else self.nxt):
                self.detailed = False
                self.live.clear()
        if self.detailed:
            self.set_probe()

    def begin_detail(self, current: Run) -> None:
        self.detailed = True
        self.live.clear()
        for run in [current, *self.flight]:
            for i in range(run.count):
                self.live[run.first + i] = (run.time, run.event)
        self.rack = (-1, -1)
        self.rto_deadline = self.progress + self.rto
        self.probe_deadline = self.reorder_deadline = INFINITY

    def set_probe(self) -> None:
        """A tail loss probe is due after two round trips without an acknowledgement."""
        self.probe_deadline = INFINITY
        if self.state == OPEN and not self.sacked and not self.probing and self.nxt > self.una:
            wait = 2.0 * self.rtt + (0.2 if self.nxt - self.una == 1 else 0.002)
            self.probe_deadline = min(max(self.progress, self.last_sent()) + wait, self.rto_deadline)

    def last_sent(self) -> float:
        return self.flight[-1].time if self.flight else self.progress

    # Acknowledgements.

    def acknowledge(self, seq: int, event: int, now: float) -> None:
        """The acknowledgement of one segment, sent at `event`."""
        if seq < self.una or seq in self.sacked:
            return
        self.live.pop(seq, None)
        advanced = seq == self.una
        if advanced:
            self.una += 1
            while self.una in self.sacked:
                self.sacked.remove(self.una)
                self.una += 1
            self.backoff = 1
            self.probing = False
        else:
            self.sacked.add(seq)
        head = self.live.get(self.una)
        if advanced or head is None or head[1] <= event:
            self.progress = now
            self.rto_deadline = now + self.rto
        self.rack = max(self.rack, (event, seq))
        self.react(1, advanced, now)

    def detect(self, now: float) -> bool:
        """RACK: a segment is lost if it was sent a reordering window before a delivered one."""
        window = 0.0 if self.state >= RECOVERY or len(self.sacked) >= 3 else self.rtt / 4.0
        self.reorder_deadline = INFINITY
        found = []
        for seq, (sent, event) in self.live.items():
            if (event, seq) >= self.rack:
                break
            due = sent + self.rtt + window
            if due <= now + EPS:
                found.append(seq)
            else:
                self.reorder_deadline = due + 0.002
        for seq in found:
            del self.live[seq]
            heapq.heappush(self.lost, seq)
        return bool(found)

    def react(self, delivered: int, advanced: bool, now: float) -> None:
        """State machine, window, then transmission."""
        if self.state >= RECOVERY and self.una >= self.high:
            if self.state == RECOVERY:
                self.cwnd = int(self.ssthresh)
            self.state = OPEN
        lost = self.detect(now)
        if lost and self.state != RECOVERY:
            # In Loss this is a lost retransmission: a new episode.
            self.enter_recovery()
            delivered = max(delivered, 1)
        if self.state < RECOVERY:
            self.state = DISORDER if self.sacked or self.lost else OPEN
        if self.state == RECOVERY:
            self.reduce_proportionally(delivered, advanced, lost)
        elif advanced:
            self.grow(delivered, now)
        self.send(now)

    def enter_recovery(self) -> None:
        self.loss_events += 1
        self.note_loss()
        self.prior_cwnd = self.cwnd
        self.cut()
        self.state = RECOVERY
        self.high = self.nxt
        self.prr_delivered = self.prr_out = 0
        self.probing = False
        self.probe_deadline = INFINITY

    def note_loss(self) -> None:
        if self.una != self.marks[1]:
            self.marks[0], self.marks[1] = self.marks[1], self.una

    def reduce_proportionally(self, delivered: int, advanced: bool, lost: bool) -> None:
        """RFC 6937 as Linux does it."""
        if delivered <= 0:
            return
        self.prr_delivered += delivered
        flight = self.in_flight
        if flight > self.ssthresh:
            count = math.ceil(self.prr_delivered * self.ssthresh / self.prior_cwnd) - self.prr_out
        else:
            limit = max(self.prr_delivered - self.prr_out, delivered)
            if advanced and not lost:
                limit += 1
            count = min(int(self.ssthresh) - flight, limit)
        if self.prr_out == 0:
            count = max(count, 1)
        self.cwnd = flight + max(count, 0)

    def grow(self, acked: int, now: float) -> None:
        """Slow start, then congestion avoidance, for packets acknowledged at one time."""
        if self.cwnd < self.ssthresh:
            step = int(min(acked, self.ssthresh - self.cwnd))
            self.cwnd += step
            acked -= step
        if acked > 0:
            self.cc.grow(self, acked, now)

    def set_window(self, window: float) -> None:
        window = max(window + EPS, 1.0)
        self.cwnd = int(window)
        self.fraction = max(window - self.cwnd - EPS, 0.0)

    def cut(self) -> None:
        """ssthresh after a loss event; the fraction of a packet is added once the window has come down."""
        target = self.cc.reduce(self)
        self.cc.on_loss(self)
        self.ssthresh = int(target)
        self.fraction = target - self.ssthresh

    # Timers.

    def timeout(self, now: float) -> None:
        self.timeouts += 1
        self.events += 1
        first = self.timeout_at != self.una
        if self.state <= DISORDER or self.una >= self.high or (self.state == LOSS and first):
            self.note_loss()
            self.loss_events += 1
            self.cut()
        self.cc.on_timeout(self)
        self.timeout_at = self.una
        for seq, (sent, _) in list(self.live.items()):
            if seq == self.una or sent + self.rtt <= now + EPS:
                del self.live[seq]
                heapq.heappush(self.lost, seq)
        self.state = LOSS
        self.high = self.nxt
        self.cwnd, self.fraction = len(self.live) + 1, 0.0
        self.backoff = min(self.backoff * 2, 64)
        self.rto_deadline = now + self.rto
        self.reorder_deadline = self.probe_deadline = INFINITY
        self.probing = False
        self.send(now)

    def probe(self, now: float) -> None:
        """One new segment beyond the window; its acknowledgement reveals losses."""
        self.events += 1
        self.probing = True
        self.probe_deadline = INFINITY
        self.rto_deadline = now + self.rto
        self.transmit_new(1, now)

    # Transmission.

    def send(self, now: float) -> None:
        room = self.cwnd - self.in_flight
        while room > 0 and self.lost:
            seq = heapq.heappop(self.lost)
            self.live[seq] = (now, self.events)
            self.flight.append(Run(now, self.events, seq, 1, self.transmissions, True))
            self.transmissions += 1
            self.prr_out += 1
            room -= 1
            if seq == self.una:
                self.rto_deadline = now + self.rto
        if room > 0:
            self.transmit_new(room, now)

    def transmit_new(self, count: int, now: float) -> None:
        if self.detailed:
            for seq in range(self.nxt, self.nxt + count):
                self.live[seq] = (now, self.events)
        last = self.flight[-1] if self.flight else None
        if (
            last is not None
            and last.time == now
            and not last.retransmission
            and last.first + last.count == self.nxt
            and last.transmission + last.count == self.transmissions
        ):
            last.count += count
        else:
            self.flight.append(Run(now, self.events, self.nxt, count, self.transmissions, False))
        self.nxt += count
        self.transmissions += count
        self.prr_out += count


# --- a connection -------------------------------------------------------------------------------------------------


@dataclass
class Path:
    """Statistics of a subflow over the measured time."""

    rate: float  # packets delivered in order per second
    cwnd: float  # average over time
    in_flight: float
    loss_events: int
    timeouts: int
    transmissions: int
    rate_error: float  # standard error of `rate` from batch means


def simulate(cc: str, paths: list[tuple[float, Bernoulli | Periodic | Nothing]], loss_events: int, **options) -> list[Path]:
    """Runs one connection over `paths` (round trip time, losses) until all paths together had `loss_events` loss events
    after a warm-up of a tenth of that."""
    flows: list[Subflow] = []
    for rtt, losses in paths:
        flows.append(Subflow(rtt, losses, ALGORITHMS[cc](**options), flows))
    for flow in flows:
        flow.start(0.0)

    def advance(until: int) -> None:
        while sum(f.loss_events for f in flows) < until:
            for _ in range(64):
                min(flows, key=Subflow.next_time).step()

    def advance_single(until: int) -> None:
        flow = flows[0]
        while flow.loss_events < until:
            flow.step()

    go = advance_single if len(flows) == 1 else advance

    def reading() -> list[tuple]:
        return [(f.clock, f.una, f.area, f.area_flight, f.loss_events, f.timeouts, f.transmissions) for f in flows]

    warm = max(loss_events // 10, 20)
    go(warm)
    begin = reading()
    batches = 20
    readings = [begin]
    for b in range(1, batches + 1):
        go(warm + loss_events * b // batches)
        readings.append(reading())
    end = readings[-1]
    result = []
    for i in range(len(flows)):
        span = end[i][0] - begin[i][0]
        delta = [e - s for s, e in zip(begin[i], end[i])]
        rates = [(b[i][1] - a[i][1]) / max(b[i][0] - a[i][0], EPS) for a, b in zip(readings, readings[1:])]
        mean = sum(rates) / batches
        error = math.sqrt(sum((r - mean) ** 2 for r in rates) / (batches - 1) / batches)
        result.append(Path(delta[1] / span, delta[2] / span, delta[3] / span, delta[4], delta[5], delta[6], error))
    return result
