#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The packet schedulers without vectors in the specification, compared with a model written from its text alone.

    bench/oracle/schedulers.py               # 2,000 random states each; a few seconds
    bench/oracle/schedulers.py --states 100000

The model uses lists of paths and exact fractions, and shares no code with schedulers/*.c. Those are compiled with the
system's C compiler and called directly. A sequence of states shares one private memory, as in a connection."""

import argparse
import ctypes as c
import os
import random
import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
U32, U64 = c.c_uint32, c.c_uint64
USABLE, BACKUP, ROOM, MEMORY, LOSS, OPEN, STALE, ESTABLISHED = (1 << bit for bit in range(8))
NEW, AGAIN, WINDOW, FULL, LEFT = 1, 2, 4, 8, 16
COPY, QUEUE, FORGET, RECALL, HEAD = (1 << bit for bit in range(5))
NEVER_LOST = 0x7FFFFFFF


class Path_(c.Structure):
    _fields_ = [(name, U32) for name in "flags mss srtt_us rttvar_us mdev_max_us last_rtt_us cwnd ssthresh in_flight queued "
                "behind reserved".split()] + [("memory", U64), ("pacing_rate", U64)]


class Paths(c.Structure):
    _fields_ = [("now_us", U64), ("flags", U32), ("n", U32), ("self", U32), ("segment", U32), ("carriers", U32),
                ("head_carriers", U32), ("window", U64), ("window_left", U64), ("unassigned", U64), ("path", Path_ * 8)]


class Choice(c.Structure):
    _fields_ = [(name, U32) for name in "paths packets flags wake_us srtt_us".split()] + [("cwnd", U32 * 8), ("ssthresh", U32 * 8)]


class Param(c.Structure):
    _fields_ = [("name", c.c_char_p), ("initial", U32), ("low", U32), ("high", U32), ("scale", U32), ("unit", c.c_char_p),
                ("help", c.c_char_p)]


EVENT = c.CFUNCTYPE(None, c.POINTER(Paths), c.c_void_p, c.c_void_p, c.POINTER(Choice))


class Scheduler(c.Structure):
    _fields_ = [("name", c.c_char_p), ("layout_version", U32), ("flags", U32), ("private_bytes", U32), ("n_params", U32),
                ("params", c.POINTER(Param)), ("on_event", EVENT * 4)]


def compile_schedulers(folder):
    library = Path(folder, "schedulers.so")
    sources = sorted(map(str, (ROOT / "schedulers").glob("*.c")))
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O2", "-std=gnu11", "-ffreestanding", "-fwrapv",
                    "-fno-strict-aliasing", f"-I{ROOT}/schedulers", f"-I{ROOT}/algorithms",
                    f"-I{ROOT}/crates/braid-schedulers/native", "-o", str(library), *sources], check=True)
    return c.CDLL(str(library))


class Native:
    """A scheduler in C, for one connection."""

    def __init__(self, library, name, **values):
        self.raw = Scheduler.in_dll(library, f"braid_scheduler_{name}")
        self.private = c.create_string_buffer(max(self.raw.private_bytes, 8))
        rows = self.raw.params[:self.raw.n_params]
        self.params = (U32 * (len(rows) + 1))(*[values.get(row.name.decode(), row.initial) for row in rows])

    def tell(self, event, view):
        choice = Choice()
        if self.raw.on_event[event]:
            self.raw.on_event[event](c.byref(view), self.private, self.params, c.byref(choice))
        return choice


# ---- The model: sections of the specification.

def usable(view):
    return [k for k in range(view.n) if view.path[k].flags & USABLE]


def ready(view):
    """Neither definitely nor temporarily unavailable."""
    return [k for k in usable(view) if view.path[k].flags & ROOM and not view.path[k].flags & LOSS]


def by_rank(view, rank, may):
    """Section 1, its five steps."""
    forget = 0
    for _ in range(2):
        for backup in (0, BACKUP):
            kin = [k for k in usable(view) if view.path[k].flags & BACKUP == backup]
            unused = [k for k in kin if forget or not view.carriers >> k & 1]
            can = [k for k in unused if k in may]
            if can:
                return min(can, key=lambda k: (rank(k), k)), forget
            if unused and not any(k in may for k in kin):
                return None, forget
        forget = FORGET
    return None, forget


class MinRtt:
    def __init__(self, **_):
        self.since = [0] * 8

    def choose(self, view):
        path, flags = by_rank(view, lambda k: view.path[k].srtt_us, ready(view))
        return {path} - {None}, 0, flags

    def join(self, view):
        self.since[view.self] = view.now_us

    def blocked(self, view):
        """Section 2."""
        r = view.path[view.self]
        carriers = [k for k in range(8) if view.head_carriers >> k & 1 and k != view.self]
        cwnd, ssthresh, head = [0] * 8, [0] * 8, 0
        if not view.head_carriers:
            return cwnd, ssthresh, head
        trigger_b_with_free_memory = view.flags & FULL and view.flags & LEFT
        if not trigger_b_with_free_memory and view.now_us - self.since[view.self] >= r.srtt_us:
            for k in carriers:
                one = view.path[k]
                if one.flags & OPEN and r.srtt_us < one.srtt_us:
                    cwnd[k] = max(one.cwnd // 2, 1)
                    if one.cwnd >= one.ssthresh:
                        ssthresh[k] = max(one.ssthresh // 2, 2)
                    self.since[view.self] = view.now_us
        if r.flags & ROOM and not view.head_carriers >> view.self & 1:
            for k in carriers:
                one = view.path[k]
                if (cwnd[k] or one.cwnd) <= 4:
                    head = HEAD
                    break
                if 4 * r.srtt_us >= one.srtt_us:
                    head = 0
                    break
                head = HEAD
        return cwnd, ssthresh, head


class RoundRobin(MinRtt):
    """Section 3."""

    def __init__(self, segments=1, limited=1):
        super().__init__()
        self.quota, self.segments, self.limited = [0] * 8, segments, limited

    def join(self, view):
        self.quota[view.self] = 0

    def blocked(self, view):
        return [0] * 8, [0] * 8, 0

    def choose(self, view):
        regular = [k for k in usable(view) if not view.path[k].flags & BACKUP]
        kin = [k for k in regular or usable(view) if not view.path[k].flags & LOSS]
        if view.flags & AGAIN:
            can = [k for k in kin if view.path[k].flags & ROOM]
            unused = [k for k in can if not view.carriers >> k & 1]
            return set((unused or can)[-1:]), 1, FORGET if can and not unused else 0
        if self.limited:
            kin = [k for k in kin if view.path[k].flags & ROOM]
        for _ in range(2):
            begun = [k for k in kin if 0 < self.quota[k] < self.segments]
            new = [k for k in kin if self.quota[k] == 0]
            if begun or new:
                chosen = begun[0] if begun else new[-1]
                if not view.path[chosen].flags & ROOM:
                    return set(), 0, 0
                self.quota[chosen] += 1
                return {chosen}, 1, 0
            for k in kin:
                self.quota[k] = 0
        return set(), 0, 0


class Weighted(RoundRobin):
    """Section 4, the smooth variant with fixed weights."""

    def __init__(self, **weights):
        super().__init__()
        self.weight = [weights.get(f"w{k + 1}", 1) for k in range(8)]
        self.credit = [0] * 8

    def join(self, view):
        self.credit[view.self] = 0

    def choose(self, view):
        regular = [k for k in usable(view) if not view.path[k].flags & BACKUP]
        kin = regular or usable(view)
        can = [k for k in ready(view) if k in kin]
        if view.flags & AGAIN:
            can = [k for k in can if not view.carriers >> k & 1] or can
        if not can:
            return set(), 0, 0
        for k in kin:
            self.credit[k] += self.weight[k]
            if k not in can:
                self.credit[k] = min(self.credit[k], self.weight[k])
        best = max(can, key=lambda k: (self.credit[k], -k))
        self.credit[best] -= sum(self.weight[k] for k in can)
        return {best}, 1, 0


class Redundant(RoundRobin):
    """Section 5."""

    def __init__(self):
        super().__init__()
        self.next = 0

    def join(self, view):
        pass

    def choose(self, view):
        if view.flags & AGAIN:
            path, flags = by_rank(view, lambda k: view.path[k].srtt_us, ready(view))
            return {path} - {None}, 1, flags
        active = [k for k in usable(view) if not view.path[k].flags & BACKUP]
        for turn in range(8):
            k = (self.next + turn) % 8
            if k not in ready(view):
                continue
            one = view.path[k]
            if one.flags & BACKUP and (one.behind or active):
                continue
            if one.behind or view.flags & NEW:
                self.next = k + 1
                return {k}, 1, COPY if one.behind else 0
        return set(), 0, 0


class Hsr(MinRtt):
    """Section 6."""

    def __init__(self, rule=0):
        super().__init__()
        self.rule = rule

    def choose(self, view):
        def rank(k):
            one = view.path[k]
            srtt, room = max(one.srtt_us, 1), max(one.cwnd - one.in_flight, 0)
            value = (-((one.cwnd * one.mss << 20) // srtt),
                     -room, (srtt << 20) // max(room, 1))[self.rule]
            return value, one.srtt_us
        path, flags = by_rank(view, rank, ready(view))
        return {path} - {None}, 1, flags


class Linux(RoundRobin):
    """Section 13."""

    def __init__(self):
        super().__init__()
        self.pace = [0] * 8

    def join(self, view):
        self.pace[view.self] = 0

    def choose(self, view):
        live = [k for k in range(view.n) if view.path[k].flags & ESTABLISHED and not view.path[k].flags & STALE]
        regular = [k for k in live if not view.path[k].flags & BACKUP]
        if view.flags & AGAIN:
            # An idle path; a backup only if no other path makes progress.
            idle = [k for k in live if view.path[k].memory == 0]
            first = [k for k in idle if k in regular]
            if not first and not any(view.path[k].flags & USABLE for k in regular):
                first = [k for k in idle if k not in regular]
            return set(first[:1]), 0, QUEUE
        kin = regular or live
        for k in kin:
            self.pace[k] = self.pace[k] or view.path[k].pacing_rate
        kin = [k for k in kin if self.pace[k]]
        if not kin:
            return set(), 0, QUEUE
        best = min(kin, key=lambda k: (view.path[k].memory * 2**32 // self.pace[k], k))
        one = view.path[best]
        if not one.flags & MEMORY:
            return set(), 0, QUEUE
        burst = max(min(65536 - 20 - 40 - 40 - 8, view.window_left), 1)
        self.pace[best] = int(Fraction(self.pace[best] * one.memory + one.pacing_rate * burst, one.memory + burst))
        return {best}, -(-burst // max(one.mss, 1)), QUEUE


CASES = [
    ("minrtt", MinRtt, {}), ("llrp", MinRtt, {}), ("rr", RoundRobin, {}), ("rr", RoundRobin, {"segments": 3}),
    ("rr", RoundRobin, {"limited": 0}), ("wrr", Weighted, {"w1": 3, "w3": 2}), ("redundant", Redundant, {}),
    ("hsr", Hsr, {"rule": 0}), ("hsr", Hsr, {"rule": 1}), ("hsr", Hsr, {"rule": 2}), ("linux", Linux, {}),
]


def state(rng, n, now):
    view = Paths(now_us=now, n=n, segment=rng.randint(1, 1400), window=rng.randrange(1 << 24),
                 window_left=rng.choice([0, rng.randrange(1 << 17), 1 << 24]), unassigned=rng.randrange(1 << 30))
    view.flags = rng.choice([NEW, NEW, AGAIN])
    if view.flags == AGAIN:
        view.carriers = rng.randrange(1 << n)
    view.head_carriers = rng.randrange(1 << n)
    view.self = rng.randrange(n)
    for k in range(n):
        one = view.path[k]
        one.flags = sum(flag for flag, p in ((USABLE, .9), (BACKUP, .2), (ROOM, .7), (MEMORY, .8), (LOSS, .1), (OPEN, .7),
                                             (STALE, .1), (ESTABLISHED, .5)) if rng.random() < p)
        if one.flags & USABLE:
            one.flags |= ESTABLISHED
        one.mss = 1400
        # Few values, so that ties are frequent.
        one.srtt_us = rng.choice([0, 10_000, 20_000, 100_000, rng.randrange(1, 500_000)])
        one.last_rtt_us = one.srtt_us
        one.cwnd = rng.choice([1, 4, 10, rng.randrange(1, 500)])
        one.ssthresh = rng.choice([NEVER_LOST, rng.randrange(2, 500)])
        one.in_flight = rng.randrange(one.cwnd + 2)
        one.queued, one.behind = rng.randrange(10), rng.choice([0, 0, rng.randrange(30)])
        one.memory = rng.choice([0, rng.randrange(1 << 22)])
        one.pacing_rate = rng.choice([0, rng.randrange(1, 1 << 30)])
    return view


def compare(library, case, states, seed):
    name, model, values = case
    rng = random.Random(f"{name} {values} {seed}")
    done = 0
    while done < states:
        n, now = rng.randint(1, 8), 0
        native, own = Native(library, name, **values), model(**values)
        for k in range(n):
            view = state(rng, n, now)
            view.self = k
            native.tell(1, view)
            own.join(view)
        for _ in range(min(20, states - done)):
            now += rng.randrange(200_000)
            view = state(rng, n, now)
            choice = native.tell(0, view)
            paths, packets, flags = own.choose(view)
            got = ({k for k in range(8) if choice.paths >> k & 1}, choice.packets, choice.flags)
            want = (paths, packets if paths else 0, flags)
            view.flags = rng.choice([WINDOW, WINDOW, FULL, FULL | LEFT])
            answer = native.tell(3, view)
            told = (list(answer.cwnd), list(answer.ssthresh), answer.flags & HEAD)
            asked = own.blocked(view)
            if got != want or told != tuple(asked):
                sys.exit(f"{name} {values}, state {done}: C {got} {told}, model {want} {asked}")
            done += 1
    print(f"{name:10} {values or ''}: {done} states agree")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=2000)
    parser.add_argument("--seed", default="1")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = compile_schedulers(folder)
        for case in CASES:
            compare(library, case, args.states, args.seed)


if __name__ == "__main__":
    main()
