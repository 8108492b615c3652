#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Closed forms and fluid equilibria. Windows in packets, round trip times in seconds, losses as probabilities.

Run as a program it prints the average windows of RFC 8312, tables 1 and 2, beside the closed forms and fails if one
differs by more than one in the last digit."""

from __future__ import annotations

import math
import sys

# p: Reno, then CUBIC for (C, RTT) in CUBIC_COLUMNS.
CUBIC_COLUMNS = [(0.04, 0.1), (0.4, 0.1), (4.0, 0.1), (0.04, 0.01), (0.4, 0.01), (4.0, 0.01)]
RFC8312 = {
    1e-2: (12, 12, 12, 12, 12, 12, 12),
    1e-3: (38, 38, 38, 59, 38, 38, 38),
    1e-4: (120, 120, 187, 333, 120, 120, 120),
    1e-5: (379, 593, 1054, 1874, 379, 379, 379),
    1e-6: (1200, 3332, 5926, 10538, 1200, 1200, 1874),
    1e-7: (3795, 18740, 33325, 59261, 3795, 5926, 10538),
    1e-8: (12000, 105383, 187400, 333250, 18740, 33325, 59261),
}


def reno_window(p: float) -> float:
    """Average window of the sawtooth between w/2 and w, one loss every 1/p packets: sqrt(1.5/p) = 1.2247/sqrt(p)."""
    return math.sqrt(1.5 / p)


def reno_window_with_recovery(p: float) -> float:
    """The same sawtooth in whole packets, w/2 + 1 round trips from w/2 to w and one of recovery that sends w/2."""
    w = (math.sqrt(1.25**2 + 1.5 / p) - 1.25) / 0.75  # 3/8 w^2 + 5/4 w = 1/p
    return 1.0 / p / (w / 2.0 + 2.0)


def cubic_window(p: float, rtt: float, c: float = 0.4, keep: float = 0.7) -> float:
    """Average window of the cubic between keep*w and w, one loss every 1/p packets, reached at its flat point."""
    return (c * (3.0 + keep) / (4.0 * (1.0 - keep))) ** 0.25 * (rtt / p) ** 0.75


def rfc8312_window(p: float, rtt: float, c: float = 0.4) -> float:
    """The values of RFC 8312's tables: the larger of the cubic and 1.2/sqrt(p)."""
    return max(cubic_window(p, rtt, c), 1.2 / math.sqrt(p))


def equilibrium(cc: str, paths: list[tuple[float, float]]) -> list[float]:
    """Windows at which the expected increase and decrease of every path balance, for paths (p, rtt).

    `lia` and `balia` by iteration. `olia` uses only the paths on which one TCP would be fastest; on the others the
    window falls to the floor of one packet."""
    if cc == "olia":
        alone = [math.sqrt(2.0 / p) / rtt for p, rtt in paths]
        best = max(alone)
        used = [r for r, x in enumerate(alone) if x > best * (1.0 - 1e-9)]
        return [best * paths[r][1] / len(used) if r in used else 1.0 for r in range(len(paths))]
    windows = [math.sqrt(2.0 / p) for p, _ in paths]
    for _ in range(20000):
        rates = [w / rtt for w, (_, rtt) in zip(windows, paths)]
        total = sum(rates)
        best = max(w / (rtt * rtt) for w, (_, rtt) in zip(windows, paths))
        change = 0.0
        for r, (p, rtt) in enumerate(paths):
            w = windows[r]
            if cc == "lia":
                increase, decrease = min(best / (total * total), 1.0 / w), w / 2.0
            else:
                alpha = max(rates) / rates[r]
                increase = rates[r] / (rtt * total * total) * (1.0 + alpha) / 2.0 * (4.0 + alpha) / 5.0
                decrease = w / 2.0 * min(alpha, 1.5)
            step = (increase * (1.0 - p) / (p * decrease)) ** 0.1
            windows[r] = w * step
            change = max(change, abs(step - 1.0))
        if change < 1e-12:
            break
    return windows


def main() -> int:
    bad = 0
    heads = [f"C={c} {rtt * 1000:g} ms" for c, rtt in CUBIC_COLUMNS]
    print("p       Reno   " + "  ".join(f"{h:>13}" for h in heads))
    for p, row in RFC8312.items():
        ours = [1.2 / math.sqrt(p)] + [rfc8312_window(p, rtt, c) for c, rtt in CUBIC_COLUMNS]
        bad += sum(abs(a - b) > 1.0 for a, b in zip(ours, row))
        print(f"{p:<7g} {ours[0]:>6.0f} " + "  ".join(f"{v:>13.0f}" for v in ours[1:]))
    print("agrees with RFC 8312" if bad == 0 else f"{bad} entries differ from RFC 8312")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
