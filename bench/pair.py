#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two builds of braid compared: how much faster the second is, and whether it uses more memory.

    bench/pair.py OLD NEW                        OLIA in d-olia/2, and ten CUBIC flows over one hop
    bench/pair.py OLD NEW --schedulers           what the packet schedulers cost: minrtt in bulk, and with a small receive window

The builds run alternately, so that a busy machine slows both alike. CPU time is user plus system, less what the same
build needs for a tenth of a simulated second, per delivered data segment; medians of the rounds count. Exits with 1 if
results differ (unless --deliberate), or if a bound is broken."""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys

import harness

# Name, scenario, arguments, duration.
CASES = (
    ("OLIA in d-olia/2", "d-olia/2", ["--cc", "olia", "--seeds", "4"], "duration=300s"),
    ("ten CUBIC flows, one hop", "speed-10", ["--cc", "cubic", "--seeds", "1"], "duration=300s"),
)
# Memory is counted in pages, and the allocator's varies slightly.
MEMORY = 1.05
SCHEDULER_CASES = (
    ("minrtt, bulk", "speed-mptcp", ["--cc", "lia", "--seeds", "2"], "duration=1000s"),
    ("minrtt, 128 kB of receive window", "speed-window", ["--cc", "lia", "--seeds", "2"], "duration=1000s"),
)


def command(binary: str, scenario: str, arguments: list[str], duration: str) -> list[str]:
    return harness.braid_command(scenario, "--jobs", "1", *arguments, "--set", duration, binary=binary)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=15, help="how often each runs (default 15)")
    parser.add_argument("--schedulers", action="store_true", help="what the packet schedulers cost")
    parser.add_argument("--deliberate", action="store_true", help="results may differ")
    parser.add_argument("--least", type=float, nargs=2, default=(1.0, 1.0), metavar="RATIO", help="of the two cases (default 1)")
    parser.add_argument("--memory", action="store_true", help="peak memory, the program's file left out, must not be larger")
    options = parser.parse_args()
    cases = SCHEDULER_CASES if options.schedulers else CASES

    rows, broken = [], []
    for (name, scenario, arguments, duration), bound in zip(cases, options.least):
        cpu: dict[str, list[float]] = {"old": [], "new": []}
        rss, own, hashes, packets = {"old": 0, "new": 0}, {"old": 0, "new": 0}, set(), {}
        for round_ in range(options.rounds):
            print(f"{name}: round {round_ + 1}", file=sys.stderr)
            for which in ("old", "new") if round_ % 2 == 0 else ("new", "old"):
                binary = getattr(options, which)
                start = harness.measure(command(binary, scenario, arguments, "duration=100ms")).cpu
                usage = harness.measure(command(binary, scenario, arguments, duration))
                packets[which] = harness.braid_packets(json.loads(usage.output)["runs"])
                cpu[which].append((usage.cpu - start) / packets[which] * 1e9)
                rss[which], own[which] = max(rss[which], usage.rss), max(own[which], usage.own)
                hashes.add(hashlib.sha256(usage.output.encode()).hexdigest())
        old, new = statistics.median(cpu["old"]), statistics.median(cpu["new"])
        each = sorted(a / b for a, b in zip(cpu["old"], cpu["new"]))
        rows.append([
            name, f"{old:.1f}", f"{new:.1f}", f"{old / new:.2f}", f"{bound:g}", f"{each[0]:.2f} to {each[-1]:.2f}",
            f"{rss['old'] / 1000:.1f}", f"{rss['new'] / 1000:.1f}", f"{own['old'] / 1000:.2f}", f"{own['new'] / 1000:.2f}",
        ])
        if len(hashes) > 1 and not options.deliberate:
            broken.append(f"{name}: results differ")
        if old / new < bound:
            broken.append(f"{name}: {old / new:.2f} times as fast, wanted {bound:g}")
        if options.memory and own["new"] > MEMORY * own["old"]:
            broken.append(f"{name}: at most {own['new']} KiB without the program itself, {own['old']} before")
    harness.table(["", "ns per packet, old", "new", "faster by", "wanted", "rounds", "peak MB, old", "new", "without program, old", "new"], rows)
    for line in broken:
        print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
