#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Speed of the simulator compared with ns-2 and ns-3, and how its cost grows.

All programs simulate the bottleneck alone and run alternately, so that a busy machine slows all of them alike. CPU time
is user plus system, less what the same program needs for a tenth of a simulated second. A packet is a data segment
delivered to the application. Exits with 1 if a bound is broken."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import harness

OVER_NS3 = 120.0
OVER_NS2 = 3.0
MANY_FLOWS = 1.2
LARGE_WINDOWS = 1.2
D_OLIA_CPU = 0.1
TEN_FLOWS_KIB = 20_000
FLOWS = (1, 2, 10)
SECONDS = 100
MPTCP_SECONDS = 1000


@dataclass
class Program:
    """A program to run: its command for a whole run and for a very short one, and how to count delivered segments."""

    command: list[str]
    empty: list[str]
    packets: object
    cpu: list[float] = field(default_factory=list)
    delivered: int = 0
    rss: int = 0

    def run(self, repeat: int) -> None:
        """One round: the median of `repeat` runs, less the start-up."""
        samples = []
        for _ in range(repeat):
            start = harness.measure(self.empty).cpu
            usage = harness.measure(self.command)
            samples.append(usage.cpu - start)
            self.delivered = self.packets(harness.json_line(usage.output))
            self.rss = max(self.rss, usage.rss)
        self.cpu.append(statistics.median(samples))

    @property
    def speed(self) -> float:
        return self.delivered / statistics.median(self.cpu)


def simulator(scenario: str, *arguments: str) -> Program:
    # With jsonl a run is one line, as in the other programs' results.
    command = harness.braid_command(scenario, "--seeds", "1", "--jobs", "1", *arguments)
    command[command.index("json")] = "jsonl"
    return Program(command, [*command, "--set", "duration=100ms"], lambda run: harness.braid_packets([run]))


def ns2(*arguments: str, seconds: int) -> Program:
    command = [harness.find("ns", "apt-get install ns2"), str(harness.BENCH / "ns2" / "bottleneck.tcl"), *arguments]
    return Program(
        [*command, f"duration={seconds}"], [*command, "duration=0.1"], lambda document: document["packets"]
    )


def ns3(binary: str, flows: int) -> Program:
    command = [binary, f"--flows={flows}"]
    return Program(
        [*command, f"--duration={SECONDS}"], [*command, "--duration=0.1"], lambda document: document["packets"]
    )


def many_flows(folder: Path, flows: int, rate: str, rtt: str, queue: int, seconds: int, buffer: str | None = None) -> str:
    """A scenario of equal CUBIC flows on one bottleneck; its path. Receive buffers default to what the bottleneck
    needs."""
    given = f'receive-buffer = "{buffer}"\n' if buffer else ""
    lines = [
        f'title = "{flows} flows, {rate}, {rtt}"',
        f'duration = "{seconds}s"',
        f'[link.b]\nrate = "{rate}"\nrtt = "{rtt}"\nqueue = "{queue}p"',
    ]
    for i in range(flows):
        lines.append(f'[connection.tcp{i}]\nkind = "tcp"\ncc = "cubic"\nroute = ["b"]\n{given}start = "{i * 50}us"')
    file = folder / f"{flows}-{rate}.toml"
    file.write_text("\n".join(lines) + "\n")
    return str(file)


class Bounds:
    def __init__(self) -> None:
        self.broken: list[str] = []

    def check(self, good: bool, what: str) -> str:
        if not good:
            self.broken.append(what)
        return "" if good else " !"


def count(value: float) -> str:
    return f"{value / 1e6:.2f} M" if value >= 1e6 else f"{value / 1e3:.1f} k"


def ratios(ours: Program, theirs: Program) -> list[float]:
    """Per round, sorted."""
    return sorted((ours.delivered / a) / (theirs.delivered / b) for a, b in zip(ours.cpu, theirs.cpu))


def spread(values: list[float]) -> str:
    return f"{values[0]:.1f} / {statistics.median(values):.1f} / {values[-1]:.1f}"


def versus(options: argparse.Namespace, folder: Path, bounds: Bounds) -> None:
    binary = harness.build_ns3(folder, "bottleneck") if options.ns3 else None
    cases = []
    for flows in FLOWS:
        programs = {"braid": simulator(f"speed-{flows}")}
        programs["ns-2"] = ns2(f"flows={flows}", "param=beta:717", seconds=SECONDS)
        if binary:
            programs["ns-3"] = ns3(binary, flows)
        cases.append((f"{flows} CUBIC, 100 Mbit/s, 20 ms, {SECONDS} s", programs))
    cases.append((
        f"MPTCP (lia) on 2 x 10 Mbit/s, {MPTCP_SECONDS} s",
        {
            "braid": simulator("speed-mptcp", "--cc", "lia"),
            "ns-2": ns2("flows=2", "paths=2", "rate=10e6", "queue=17", "param=beta:717", seconds=MPTCP_SECONDS),
        },
    ))
    for round_ in range(options.rounds):
        for name, programs in cases:
            print(f"round {round_ + 1}: {name}", file=sys.stderr)
            for which, program in programs.items():
                program.run(1 if which == "ns-3" else options.repeat)

    rows = []
    for name, programs in cases:
        for which, program in programs.items():
            row = [
                f"{name}: {which}", f"{program.delivered}", f"{statistics.median(program.cpu):.3f}",
                count(program.speed), f"{program.rss / 1000:.1f}", "",
            ]
            if which != "braid":
                found = ratios(programs["braid"], program)
                needed = OVER_NS2 if which == "ns-2" else OVER_NS3
                text = f"{name}: {statistics.median(found):.1f} times {which}, wanted {needed:g}"
                row[-1] = spread(found) + bounds.check(statistics.median(found) >= needed, text)
            rows.append(row)
    harness.table(["", "packets", "CPU s", "packets/CPU s", "peak MB", "braid is faster by"], rows)
    ten = dict(cases)[f"10 CUBIC, 100 Mbit/s, 20 ms, {SECONDS} s"]["braid"]
    bounds.check(ten.rss < TEN_FLOWS_KIB, f"ten flows: {ten.rss} KiB, wanted under {TEN_FLOWS_KIB}")


def growth(options: argparse.Namespace, folder: Path, bounds: Bounds) -> None:
    small, large = "window of 100: 10 Mbit/s, 120 ms", "window of 10,000: 1 Gbit/s, 120 ms"
    # Each flow has the same amount to send, at any number of flows. The default receive buffer depends on the
    # bottleneck, and a receiver acknowledges every packet while its window opens, which takes longer with a larger
    # buffer; so the buffer is fixed.
    cases = {
        "10 flows, 100 Mbit/s": simulator(many_flows(folder, 10, "100mbit", "20ms", 167, 400, "1MB")),
        "100 flows, 1 Gbit/s": simulator(many_flows(folder, 100, "1gbit", "20ms", 1667, 60, "1MB")),
        "1000 flows, 10 Gbit/s": simulator(many_flows(folder, 1000, "10gbit", "20ms", 16667, 10, "1MB")),
        small: simulator(many_flows(folder, 1, "10mbit", "120ms", 100, 4000)),
        large: simulator(many_flows(folder, 1, "1gbit", "120ms", 10000, 100)),
    }
    for round_ in range(options.rounds):
        for name, program in cases.items():
            print(f"round {round_ + 1}: {name}", file=sys.stderr)
            program.run(options.repeat)

    def cost(name: str) -> list[float]:
        return [cpu / cases[name].delivered for cpu in cases[name].cpu]

    rows = []
    for name, program in cases.items():
        base, bound = ("10 flows, 100 Mbit/s", MANY_FLOWS) if "flows" in name else (small, LARGE_WINDOWS)
        found = sorted(a / b for a, b in zip(cost(name), cost(base)))
        text = f"{name}: cost per packet {statistics.median(found):.2f} times that of '{base}', allowed {bound:g}"
        rows.append([
            name, f"{program.delivered}", f"{statistics.median(program.cpu):.3f}", count(program.speed),
            f"{program.rss / 1000:.1f}",
            "" if name == base else f"{found[0]:.2f} / {statistics.median(found):.2f} / {found[-1]:.2f}"
            + bounds.check(statistics.median(found) <= bound, text),
        ])
    print()
    harness.table(["", "packets", "CPU s", "packets/CPU s", "peak MB", "cost per packet, relative"], rows)


def d_olia(options: argparse.Namespace, bounds: Bounds) -> None:
    """The whole process counts here, including its start."""
    command = harness.braid_command("d-olia/1", "--cc", "olia", "--seeds", "1", "--jobs", "1")
    samples = [harness.measure(command).cpu for _ in range(options.rounds * options.repeat)]
    cpu = statistics.median(samples)
    mark = bounds.check(cpu < D_OLIA_CPU, f"d-olia/1: {cpu:.3f} s of CPU, wanted under {D_OLIA_CPU}")
    print(f"\nd-olia/1, 300 s, OLIA: {cpu:.3f} s of CPU ({min(samples):.3f} to {max(samples):.3f}){mark}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds in which the programs take turns (default 5)")
    parser.add_argument("--repeat", type=int, default=3, help="runs per round, the median counts; ns-3 runs once (default 3)")
    parser.add_argument("--no-ns3", dest="ns3", action="store_false", help="leave out ns-3, which takes most of the time")
    parser.add_argument("--growth", action="store_true", help="only how the cost grows with flows and windows; needs no other simulator")
    options = parser.parse_args()

    bounds = Bounds()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if not options.growth:
            versus(options, folder, bounds)
        growth(options, folder, bounds)
    if not options.growth:
        d_olia(options, bounds)
    print()
    for line in bounds.broken:
        print(f"out of bounds: {line}")
    if not bounds.broken:
        print("all within bounds")
    return 1 if bounds.broken else 0


if __name__ == "__main__":
    sys.exit(main())
