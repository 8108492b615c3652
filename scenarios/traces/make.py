#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the built-in rate traces, each half a minute long, in the format of mahimahi's mm-link.

lte-drive  a car on a road: the rate of a cell as a random walk of its logarithm that returns to 9 Mbit/s, with two
           handovers during which nothing is delivered
wifi-walk  walking away from an access point and back: 30 Mbit/s falling to 2 Mbit/s at half time, with fast fading and a
           contention window's worth of pauses

They are synthetic, from this description and a fixed seed. Integers and the generator below make them equal on every
machine."""

from __future__ import annotations

from pathlib import Path

SECONDS = 30
OPPORTUNITY = 1500 * 8  # bits of a full packet


class Generator:
    """Knuth's MMIX generator; the upper half counts."""

    def __init__(self, seed: int) -> None:
        self.state = seed

    def below(self, bound: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 32) * bound >> 32

    def normal(self, deviation: int) -> int:
        """Approximately normal: the sum of twelve uniform numbers."""
        return sum(self.below(2 * deviation + 1) - deviation for _ in range(12)) // 2


def trace(bits_per_ms) -> list[int]:
    """Departure times of packets at these rates, one rate per millisecond."""
    times, bits = [], 0
    for ms in range(1, SECONDS * 1000 + 1):
        bits += bits_per_ms(ms)
        times += [ms] * (bits // OPPORTUNITY)
        bits %= OPPORTUNITY
    if times[-1] < SECONDS * 1000:
        times.append(SECONDS * 1000)  # the trace ends with its last time
    return times


def lte_drive() -> list[int]:
    random = Generator(1)
    level = 0  # of the rate's logarithm to base 2, in thousandths, above 9 Mbit/s

    def rate(ms: int) -> int:
        nonlocal level
        if ms % 20 == 1:
            level += -level // 50 + random.normal(100)
            level = max(-4000, min(1500, level))
        if 10_500 <= ms < 10_680 or 21_700 <= ms < 21_820:
            return 0
        whole, part = divmod(level, 1000)
        bits = 9_000 * (1000 + part) // 1000  # linear between powers of two
        return bits << whole if whole >= 0 else bits >> -whole

    return trace(rate)


def wifi_walk() -> list[int]:
    random = Generator(2)
    fading = paused = 0

    def rate(ms: int) -> int:
        nonlocal fading, paused
        if ms % 10 == 1:
            fading += -fading // 4 + random.normal(60)
        if random.below(60) == 0:
            paused = 2 + random.below(8)
        if paused > 0:
            paused -= 1
            return 0
        distance = abs(15_000 - ms)  # 15000 at the access point, 0 farthest away
        mean = 2_000 + 28_000 * distance * distance // 15_000**2
        return max(0, mean * (1000 + max(-900, min(500, fading))) // 1000)

    return trace(rate)


def main() -> None:
    folder = Path(__file__).resolve().parent
    for name, times in (("lte-drive", lte_drive()), ("wifi-walk", wifi_walk())):
        (folder / f"{name}.trace").write_text("".join(f"{ms}\n" for ms in times))
        print(f"{name}: {len(times)} packets, {len(times) * OPPORTUNITY / SECONDS / 1e6:.2f} Mbit/s on average")


if __name__ == "__main__":
    main()
