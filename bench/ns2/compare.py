#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The simulator compared with ns-2's Linux TCP: one flow on 100 Mbit/s and 20 ms, three buffers, random and periodic
loss.

Goodput must agree within 3 %, loss episodes within 15 %; windows are printed for both. ns-2 has the algorithms of Linux
2.6.22, Braid those of today. So every row is run a third time with Braid's algorithms patched by `linux-2.6.22.patch`:
a row that is out of bounds counts as explained if it is within them with the patch. Exits with 1 if a row is neither,
except for the three that README.md names as unexplained."""

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
# With fast convergence two cycles are stable near one BDP: the neighbours show which one is typical.
NEIGHBOURS = {"1 BDP - 1": 166, "1 BDP + 1": 168}
RANDOM = "0.1 % loss"
PERIODIC = "1 in 333 lost"
PATCH = harness.BENCH / "ns2" / "linux-2.6.22.patch"
HYSTART = ":hystart=off"


@dataclass
class Variant:
    """The same algorithm on both sides. The bounds hold in all cases."""

    name: str
    theirs: list[str]
    ours: str


# Rows that stay out of bounds with the patch; README.md discusses them.
UNEXPLAINED = [
    "cubic, beta 819/1024: 1 in 333 lost",
    "cubic, not friendly: 1 BDP",
    "cubic, not friendly: 1 in 333 lost",
]
CURVE = "param=beta:717,tcp_friendliness:0,fast_convergence:0"
VARIANTS = [
    Variant("reno", ["cc=reno"], "reno"),
    Variant("naive_reno", ["cc=naive_reno"], "reno"),
    # Whole packets on both sides.
    Variant("cubic", ["cc=cubic", "param=beta:717"], "cubic:rounding=linux" + HYSTART),
    Variant("cubic, beta 819/1024", ["cc=cubic", "param=beta:819"], "cubic:beta=0.7998:rounding=linux" + HYSTART),
    Variant(
        "cubic, not friendly", ["cc=cubic", "param=beta:717,tcp_friendliness:0"],
        "cubic:friendly=off:rounding=linux" + HYSTART,
    ),
    Variant("cubic, the curve alone", ["cc=cubic", CURVE], "cubic:fast_convergence=off:friendly=off:rounding=linux" + HYSTART),
]
# With fractions of a packet: shows the effect of rounding, without a bound.
EXACT = [
    Variant("cubic, ours exact", ["cc=cubic", "param=beta:717"], "cubic" + HYSTART),
    Variant("the curve alone, ours exact", ["cc=cubic", CURVE], "cubic:fast_convergence=off:friendly=off" + HYSTART),
]


def build_old(folder: Path) -> str:
    """Builds the patched simulator; returns the binary's path."""
    root = harness.BENCH.parent
    source = folder / "source"
    source.mkdir()
    archive = subprocess.Popen(["git", "-C", root, "archive", "HEAD"], stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x", "-C", source], stdin=archive.stdout, check=True)
    if archive.wait() != 0:
        sys.exit("git archive failed: run this in a clone with its history")
    subprocess.run(["patch", "--quiet", "-p1", "-d", source, "-i", PATCH], check=True)
    target = root / "target" / "linux-2.6.22"
    print("building ours with linux-2.6.22.patch", file=sys.stderr)
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "braid-cli", "--target-dir", target], cwd=source, check=True
    )
    return str(target / "release" / "braid")


def queue(case: str) -> int:
    return (BUFFERS | NEIGHBOURS).get(case, BUFFERS["1 BDP"])


def ns2(arguments: list[str], case: str, seeds: int) -> tuple[float, float, list[float]]:
    """Goodput in bit/s, loss episodes per second, and the sampled windows."""
    command = [harness.find("ns", "apt-get install ns2"), str(harness.BENCH / "ns2" / "bottleneck.tcl"), *arguments]
    command += ["delack=0", f"warmup={WARMUP}", f"queue={queue(case)}"]
    seconds = 600
    if case == RANDOM:
        seconds = 2000
        command.append("loss=0.001")
    else:
        seeds = 1
    if case == PERIODIC:
        command.append("every=333")
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


def ours(binary: str, cc: str, case: str, seeds: int) -> tuple[float, float, float, dict]:
    """Goodput in bit/s, loss episodes per second, mean window, and quantiles of the window as `p5`, means over the runs."""
    if case == RANDOM:
        runs = harness.braid("ns2-loss", "--cc", cc, "--seeds", str(seeds), binary=binary)
    else:
        more = ["--set", f"link.b.queue={queue(case)}p"]
        if case == PERIODIC:
            more += ["--set", "link.b.drop-every=333"]
        runs = harness.braid("ns2-buffer", "--cc", cc, "--seeds", "1", *more, binary=binary)
    flows = [run["connections"][0]["subflows"][0] for run in runs]
    return (
        statistics.mean(run["connections"][0]["goodput_bps"] for run in runs),
        statistics.mean(flow["loss_episodes"] / run["measured_s"] for flow, run in zip(flows, runs)),
        statistics.mean(flow["mean_cwnd"] for flow in flows),
        {f"p{q}": statistics.mean(flow["cwnd_quantiles"][f"p{q}"] for flow in flows) for q in QUANTILES},
    )


def percent(value: float, reference: float) -> float:
    return 100.0 * (value / reference - 1.0)


def within(goodput: float, episodes: float) -> bool:
    return abs(goodput) <= GOODPUT and abs(episodes) <= EPISODES


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=4, help="runs of the case with random loss (default 4)")
    options = parser.parse_args()

    binary = harness.braid_binary()
    unexplained, explained = [], []
    rows, windows = [], []
    with tempfile.TemporaryDirectory() as name:
        old = build_old(Path(name))
        for variant in [*VARIANTS, *EXACT]:
            bounded = variant in VARIANTS
            neighbours = NEIGHBOURS if variant.name == "cubic, not friendly" else []
            for case in [*BUFFERS, *neighbours, RANDOM, PERIODIC]:
                label = f"{variant.name}: {case}"
                print(label, file=sys.stderr)
                their_goodput, their_episodes, samples = ns2(variant.theirs, case, options.seeds)
                goodput, episodes, mean, quantiles = ours(binary, variant.ours, case, options.seeds)
                now = percent(goodput, their_goodput), percent(episodes, their_episodes)
                row = [label, f"{their_goodput / 1e6:.2f}", f"{60 * their_episodes:.1f}", *(f"{x:+.1f} %" for x in now)]
                if bounded:
                    goodput, episodes, *_ = ours(old, variant.ours, case, options.seeds)
                    then = percent(goodput, their_goodput), percent(episodes, their_episodes)
                    row += [f"{x:+.1f} %" for x in then]
                    if within(*now):
                        row.append("agrees")
                    elif within(*then):
                        row.append("2.6.22")
                        explained.append(label)
                    else:
                        row.append("!")
                        unexplained.append(label)
                else:
                    row += ["", "", ""]
                rows.append(row)
                cuts = statistics.quantiles(samples, n=100, method="inclusive")
                windows.append([
                    label, f"{statistics.mean(samples):.1f}", f"{mean:.1f}",
                    *(f"{cuts[q - 1]:.0f} | {quantiles[f'p{q}']:.0f}" for q in QUANTILES),
                ])
    harness.table(
        ["", "ns-2 Mbit/s", "episodes/min", "ours: goodput", "episodes", "with the patch: goodput", "episodes", ""], rows
    )
    print("\ncwnd, packets: ns-2 | ours")
    harness.table(["", "ns-2 mean", "our mean", *(f"{q} %" for q in QUANTILES)], windows)
    print(f"\n{len(explained)} rows are out of bounds and agree with Linux 2.6.22's rules")
    for label in unexplained:
        print(f"out of bounds with both{', known' if label in UNEXPLAINED else ''}: {label}")
    return 0 if set(unexplained) <= set(UNEXPLAINED) else 1


if __name__ == "__main__":
    sys.exit(main())
