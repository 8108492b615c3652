#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The simulator against ns-2's Linux TCP: one flow on 100 Mbit/s and 20 ms, three buffers and 0.1 % loss.

Goodput must agree within 3 %, loss episodes within 15 %; windows stand side by side. ns-2 runs in the same call. Exits
with 1 if a bound is broken. README.md says why CUBIC is compared in several ways."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness

GOODPUT = 3.0
EPISODES = 15.0
WARMUP = 30
QUANTILES = (5, 25, 50, 75, 95)
BUFFERS = {"0.1 BDP": 17, "0.25 BDP": 42, "1 BDP": 167}
# With fast convergence two kinds of cycles can go on for ever near one BDP: the neighbours show which one is the rule.
NEIGHBOURS = {"1 BDP - 1": 166, "1 BDP + 1": 168}
LOSS = "0.1 % loss"


@dataclass
class Variant:
    """One way to make both sides do the same. The bounds hold in the cases `counted`; the others stand beside them."""

    name: str
    theirs: list[str]
    ours: str
    counted: list[str]


VARIANTS = [
    Variant("reno", ["cc=reno"], "reno", [*BUFFERS]),
    # As `reno`, but slow start ends at ssthresh, not one packet above.
    Variant("naive_reno", ["cc=naive_reno"], "reno", [*BUFFERS, LOSS]),
    # Whole packets on both sides. The slope of ns-2's Reno-friendly window is fixed to that of its own default decrease,
    # 819/1024; without that window the decrease is free.
    Variant(
        "cubic, beta 819/1024", ["cc=cubic", "param=beta:819"],
        "cubic:beta=0.7998:hystart=off:rounding=linux", [*BUFFERS],
    ),
    Variant(
        "cubic without friendly", ["cc=cubic", "param=beta:717,tcp_friendliness:0"],
        "cubic:friendly=off:hystart=off:rounding=linux", ["0.1 BDP", "0.25 BDP", *NEIGHBOURS],
    ),
    Variant(
        "cubic, the curve alone", ["cc=cubic", "param=beta:717,tcp_friendliness:0,fast_convergence:0"],
        "cubic:fast_convergence=off:friendly=off:hystart=off:rounding=linux", [*BUFFERS],
    ),
    Variant("cubic", ["cc=cubic", "param=beta:717"], "cubic:hystart=off:rounding=linux", []),
    # The same with fractions of a packet, for what rounding does.
    Variant("cubic, ours exact", ["cc=cubic", "param=beta:717"], "cubic:hystart=off", []),
    Variant(
        "the curve alone, ours exact", ["cc=cubic", "param=beta:717,tcp_friendliness:0,fast_convergence:0"],
        "cubic:fast_convergence=off:friendly=off:hystart=off", [],
    ),
]


def queue(case: str) -> int:
    return (BUFFERS | NEIGHBOURS).get(case, BUFFERS["1 BDP"])


def ns2(arguments: list[str], case: str, seeds: int) -> tuple[float, float, list[float]]:
    """Goodput in bit/s, loss episodes per second, and the sampled windows."""
    command = [harness.find("ns", "apt-get install ns2"), str(harness.BENCH / "ns2" / "bottleneck.tcl"), *arguments]
    command += ["delack=0", f"warmup={WARMUP}", f"queue={queue(case)}"]
    seconds = 600
    if case == LOSS:
        seconds = 2000
        command.append("loss=0.001")
    else:
        seeds = 1
    goodput, episodes, windows = [], [], []
    for seed in range(1, seeds + 1):
        with tempfile.TemporaryDirectory() as folder:
            trace = Path(folder) / "trace"
            more = [f"seed={seed}", f"duration={seconds + WARMUP}", f"trace={trace}"]
            done = subprocess.run([*command, *more], stdout=subprocess.PIPE, text=True, check=True)
            windows += [float(line.split("\t")[2]) for line in trace.read_text().splitlines()]
        flow = harness.json_line(done.stdout)["flows"][0]
        goodput.append(flow["goodput_bps"])
        episodes.append(flow["cuts"] / seconds)
    return statistics.mean(goodput), statistics.mean(episodes), windows


def ours(cc: str, case: str, seeds: int) -> tuple[float, float, float, dict]:
    """Goodput in bit/s, loss episodes per second, mean window, and quantiles of the window as `p5`, means over the runs."""
    if case == LOSS:
        runs = harness.braid("ns2-loss", "--cc", cc, "--seeds", str(seeds))
    else:
        runs = harness.braid("ns2-buffer", "--cc", cc, "--seeds", "1", "--set", f"link.b.queue={queue(case)}p")
    flows = [run["connections"][0]["subflows"][0] for run in runs]
    return (
        statistics.mean(run["connections"][0]["goodput_bps"] for run in runs),
        statistics.mean(flow["loss_episodes"] / run["measured_s"] for flow, run in zip(flows, runs)),
        statistics.mean(flow["mean_cwnd"] for flow in flows),
        {f"p{q}": statistics.mean(flow["cwnd_quantiles"][f"p{q}"] for flow in flows) for q in QUANTILES},
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="runs of the case with random loss (default 4)")
    options = parser.parse_args()

    broken = []

    def difference(what: str, value: float, reference: float, bound: float, counts: bool) -> str:
        percent = 100.0 * (value / reference - 1.0)
        text = f"{percent:+.1f} %"
        if abs(percent) <= bound:
            return text
        if counts:
            broken.append(f"{what}: {text}, allowed {bound:g} %")
        return text + (" !" if counts else " *")

    harness.braid_binary()
    rows, windows = [], []
    for variant in VARIANTS:
        neighbours = [case for case in NEIGHBOURS if case in variant.counted]
        for case in [*BUFFERS, *neighbours, LOSS]:
            print(f"{variant.name}: {case}", file=sys.stderr)
            their_goodput, their_episodes, samples = ns2(variant.theirs, case, options.seeds)
            our_goodput, our_episodes, our_mean, our_quantiles = ours(variant.ours, case, options.seeds)
            label = f"{variant.name}: {case}"
            counts = case in variant.counted
            rows.append([
                label,
                f"{their_goodput / 1e6:.2f}", f"{our_goodput / 1e6:.2f}",
                difference(f"{label}: goodput", our_goodput, their_goodput, GOODPUT, counts),
                f"{60 * their_episodes:.1f}", f"{60 * our_episodes:.1f}",
                difference(f"{label}: loss episodes", our_episodes, their_episodes, EPISODES, counts),
            ])
            cuts = statistics.quantiles(samples, n=100, method="inclusive")
            windows.append([
                label, f"{statistics.mean(samples):.1f}", f"{our_mean:.1f}",
                *(f"{cuts[q - 1]:.0f} | {our_quantiles[f'p{q}']:.0f}" for q in QUANTILES),
            ])
    harness.table(["", "ns-2 Mbit/s", "ours", "difference", "ns-2 episodes/min", "ours", "difference"], rows)
    print("\n* beyond the bound, but not comparable: see README.md\n\ncwnd, packets: ns-2 | ours")
    harness.table(["", "ns-2 mean", "our mean", *(f"{q} %" for q in QUANTILES)], windows)
    print()
    for line in broken:
        print(f"out of bounds: {line}")
    if not broken:
        print("all within bounds")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
