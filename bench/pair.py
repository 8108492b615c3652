#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Two builds of braid side by side: how much faster the second is, and whether it uses more memory.

    bench/pair.py OLD NEW

The builds run in turns, so that a busy machine slows both alike. CPU time is user plus system, less what the same build
needs for a tenth of a simulated second; medians of the rounds count. Exits with 1 if results differ or a bound is broken."""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys

import harness

# Name, scenario, arguments, how long.
CASES = (
    ("OLIA in d-olia/2", "d-olia/2", ["--cc", "olia", "--seeds", "4"], "duration=300s"),
    ("ten CUBIC flows, one hop", "speed-10", ["--cc", "cubic", "--seeds", "1"], "duration=300s"),
)


def command(binary: str, scenario: str, arguments: list[str], duration: str) -> list[str]:
    return harness.braid_command(scenario, "--jobs", "1", *arguments, "--set", duration, binary=binary)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=15, help="how often each runs (default 15)")
    parser.add_argument("--olia", type=float, default=1.0, help="the least ratio for OLIA (default 1)")
    parser.add_argument("--cubic", type=float, default=1.0, help="the least ratio for CUBIC (default 1)")
    options = parser.parse_args()

    rows, broken = [], []
    for (name, scenario, arguments, duration), bound in zip(CASES, (options.olia, options.cubic)):
        cpu: dict[str, list[float]] = {"old": [], "new": []}
        rss, hashes = {"old": 0, "new": 0}, set()
        for round_ in range(options.rounds):
            print(f"{name}: round {round_ + 1}", file=sys.stderr)
            for which in ("old", "new") if round_ % 2 == 0 else ("new", "old"):
                binary = getattr(options, which)
                start = harness.measure(command(binary, scenario, arguments, "duration=100ms")).cpu
                usage = harness.measure(command(binary, scenario, arguments, duration))
                cpu[which].append(usage.cpu - start)
                rss[which] = max(rss[which], usage.rss)
                hashes.add(hashlib.sha256(usage.output.encode()).hexdigest())
        old, new = statistics.median(cpu["old"]), statistics.median(cpu["new"])
        each = sorted(a / b for a, b in zip(cpu["old"], cpu["new"]))
        rows.append([
            name, f"{old:.3f}", f"{new:.3f}", f"{old / new:.2f}", f"{each[0]:.2f} to {each[-1]:.2f}",
            f"{rss['old'] / 1000:.1f}", f"{rss['new'] / 1000:.1f}",
        ])
        if len(hashes) > 1:
            broken.append(f"{name}: results differ")
        if old / new < bound:
            broken.append(f"{name}: {old / new:.2f} times as fast, wanted {bound:g}")
    harness.table(["", "CPU s, old", "new", "faster by", "rounds", "peak MB, old", "new"], rows)
    for line in broken:
        print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
