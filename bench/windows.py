#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Windows per cycle, as the analysis paper's section 7.4 seems to have simulated them: LIA and OLIA (without its alpha)
on two equal paths, NewReno on the first, with constant round-trip times.

    bench/windows.py

prints the first subflow's window in the second half of 600 cycles, for two loss rules when link and queue are full:
every flow on the link loses, or one flow, with probability by its share of the packets. docs/reproduction.md uses it.
"""

import random
import statistics

CYCLES, QUEUE, FLOOR, SEEDS = 600, 80, 1.0, 10


def increase(algorithm, windows, own):
    """Growth per acknowledged packet, with equal round-trip times."""
    total = sum(windows) ** 2
    if algorithm == "lia":
        return min(max(windows) / total, 1 / windows[own])
    return windows[own] / total


def run(algorithm, served, everybody, seed):
    """The first subflow's windows in the second half."""
    chance = random.Random(seed)
    windows, newreno, seen = [10.0, 10.0], 10.0, []
    for cycle in range(CYCLES):
        for own in (0, 1):
            windows[own] += windows[own] * increase(algorithm, windows, own)
        newreno += 1
        if windows[0] + newreno > served + QUEUE:
            its_own = chance.random() < windows[0] / (windows[0] + newreno)
            if everybody or its_own:
                windows[0] = max(windows[0] / 2, FLOOR)
            if everybody or not its_own:
                newreno = max(newreno / 2, FLOOR)
        if windows[1] > served + QUEUE:
            windows[1] /= 2
        if cycle >= CYCLES // 2:
            seen.append(windows[0])
    return seen


def main():
    print("algorithm  packets per cycle  who loses  mean  least")
    for algorithm in ("lia", "olia"):
        for served in (10, 40, 80, 640):
            for everybody in (True, False):
                runs = [run(algorithm, served, everybody, seed) for seed in range(SEEDS)]
                mean = statistics.mean(statistics.mean(seen) for seen in runs)
                least = min(min(seen) for seen in runs)
                who = "everybody" if everybody else "one"
                print(f"{algorithm:9}  {served:17}  {who:9}  {mean:4.1f}  {least:5.1f}")


if __name__ == "__main__":
    main()
