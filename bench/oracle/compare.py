#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The simulator compared with the window model, the closed forms and the fluid equilibria.

Windows are derived from goodput: packets delivered in order per round trip time. Exits with 1 if a bound is broken: 5 %
under periodic loss, 3 % under random loss, 5 % for two paths."""

from __future__ import annotations

import argparse
import math
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import formulas
import harness
import model

RTT = 0.1
SPEC = {"cubic": "cubic:hystart=off"}
WIRE = 1500.0
LONGEST = 8700.0  # seconds that a run may last
SEEDS = 4  # runs at least, for the standard error

# (1/p, round trip, C): the last two matter to CUBIC.
PERIODIC = [("reno", (n, 0.1, 0.4)) for n in (333, 1000, 3162, 10000)]
PERIODIC += [("cubic", (n, 0.1, 0.4)) for n in (333, 1000, 3162, 10000)]
PERIODIC += [("cubic", (n, rtt, c)) for rtt, c in ((0.1, 0.04), (0.1, 4.0), (0.01, 0.4), (0.01, 4.0)) for n in (1000, 10000)]
# (1/p, C) at 100 ms for the tables of RFC 8312, without fast convergence.
ALONE = [(1000, 0.04), (10000, 0.04), (333, 0.4), (1000, 0.4), (3162, 0.4), (10000, 0.4), (1000, 4.0), (10000, 4.0)]
DEEP = [(cc, (100000, 0.1, 0.4)) for cc in ("reno", "cubic")]
BERNOULLI = [(cc, p) for cc in ("reno", "cubic") for p in (1e-2, 3e-3, 1e-3, 3e-4, 1e-4)]
TWO_PATHS = [
    (cc, paths)
    for cc in ("lia", "olia", "balia")
    for paths in (
        ((1e-3, 0.1), (1e-3, 0.1)),
        ((1e-3, 0.1), (4e-3, 0.1)),
        ((1e-3, 0.05), (1e-3, 0.1)),
        ((4e-3, 0.04), (1e-3, 0.16)),
        ((1e-3, 0.04), (2e-3, 0.08)),
    )
]


@dataclass
class Outcome:
    """Per path: packets in order per second, mean cwnd, loss events per packet sent."""

    rate: list[float]
    cwnd: list[float]
    events: list[float]
    error: float = 0.0  # relative standard error of the total rate


def run_model(job: tuple) -> tuple[list[model.Path], int]:
    kind, cc, what, events, seed = job
    if kind == "periodic":
        n, rtt, c = what
        return model.simulate(cc, [(rtt, model.Periodic(n))], events, **({"c": c} if cc == "cubic" else {}))
    if kind == "bernoulli":
        paths = [(RTT, model.Bernoulli(what, seed))]
    else:
        paths = [(rtt, model.Bernoulli(p, 1000 * seed + i)) for i, (p, rtt) in enumerate(what)]
    return model.simulate(cc, paths, events)


def from_model(paths: list[model.Path]) -> Outcome:
    total = sum(p.rate for p in paths)
    return Outcome(
        [p.rate for p in paths],
        [p.cwnd for p in paths],
        [p.loss_events / p.transmissions for p in paths],
        math.sqrt(sum(p.rate_error**2 for p in paths)) / total,
    )


def from_simulator(scenario: str, settings: list[str], cc: str, seeds: range) -> Outcome:
    arguments = ["--cc", SPEC.get(cc, cc), "--seeds", f"{seeds[0]}..{seeds[-1]}"]
    for setting in settings:
        arguments += ["--set", setting]
    runs = harness.braid(scenario, *arguments)
    totals, flows = [], []
    for run in runs:
        connection = run["connections"][0]
        mss = 1448 if connection["kind"] == "tcp" else 1420
        totals.append(connection["goodput_bps"] / 8 / mss)
        flows.append([(s["throughput_bps"] / 8 / WIRE, s["mean_cwnd"], s["loss_episodes"] / s["packets_sent"]) for s in connection["subflows"]])
    columns = [[sum(f[i][k] for f in flows) / len(flows) for i in range(len(flows[0]))] for k in range(3)]
    total = sum(totals) / len(totals)
    if len(columns[0]) == 1:
        columns[0] = [total]
    error = 0.0
    if len(totals) > 1:
        error = math.sqrt(sum((t - total) ** 2 for t in totals) / (len(totals) - 1) / len(totals)) / total
    return Outcome(*columns, error)


def span(paths: list[model.Path], events: int, links: tuple[str, ...], first: int = 1) -> tuple[list[str], range]:
    """Settings and seeds for simulator runs that together see about `events` loss events after their warm-ups."""
    per_second = sum(p.loss_events / (p.transmissions / p.rate) for p in paths)
    warmup = max(30 / per_second, 5.0)
    measured = max(events / per_second, 10.0)
    runs = 1 if events < 100 else max(SEEDS, math.ceil(measured / (LONGEST - warmup)))
    duration = measured / runs + warmup
    # As fast as the simulator's limit of 2^32 packets allows, so that the round trip is almost constant.
    rate = min(100e9, 2**32 * 0.9 * 8 * WIRE / duration)
    settings = [f"duration={round(duration * 1000)}ms", f"warmup={round(warmup * 1000)}ms"]
    settings += [f"link.{link}.rate={round(rate / 1e6)}mbit" for link in links]
    return settings, range(first, first + runs)


class Verdict:
    def __init__(self) -> None:
        self.broken: list[str] = []

    def difference(self, what: str, value: float, reference: float, bound: float | None) -> str:
        difference = 100.0 * (value / reference - 1.0)
        text = f"{difference:+.1f} %"
        if bound is not None and abs(difference) > bound:
            self.broken.append(f"{what}: {text}, allowed {bound:g} %")
            text += " !"
        return text


def periodic(cases: list, results: list, verdict: Verdict) -> None:
    print("\nPeriodic loss: window")
    rows = []
    for (cc, (n, rtt, c)), paths in zip(cases, results):
        settings, seeds = span(paths, 40, ("path",))
        settings += [f"link.path.drop-every={n}", f"link.path.delay={rtt * 500:g}ms"]
        spec = f"{SPEC[cc]}:c={c:g}" if cc == "cubic" else cc
        ours = from_simulator("oracle-periodic", settings, spec, seeds)
        window, expected = ours.rate[0] * rtt, paths[0].rate * rtt
        formula = formulas.reno_window(1 / n) if cc == "reno" else formulas.rfc8312_window(1 / n, rtt, c)
        name = f"{cc} 1/p={n}, {1000 * rtt:g} ms" + (f", C={c:g}" if cc == "cubic" else "")
        # A sawtooth of whole packets with one round trip of recovery: at short cycles the formula ignores these.
        bound = 5.0 if c <= 0.4 else None
        corrected = formulas.reno_window_with_recovery(1 / n) if cc == "reno" else formula
        rows.append([
            name, f"{formula:.1f}", f"{corrected:.1f}", f"{expected:.1f}", f"{window:.1f}", f"{ours.cwnd[0]:.1f}",
            verdict.difference(f"{name} from the model", window, expected, 5.0),
            verdict.difference(f"{name} from the formula", window, formula, bound if n >= 1000 or cc == "cubic" else None),
            verdict.difference(f"{name} from the formula with recovery", window, corrected, bound),
        ])
    harness.table(
        ["", "formula", "w/ recovery", "model", "simulator", "mean cwnd", "from model", "from formula", "w/ recovery"], rows
    )


def rfc8312(verdict: Verdict) -> None:
    """A single flow without fast convergence, as in section 4.6 of RFC 8312, once its maximum has settled."""
    print("\nPeriodic loss, 100 ms, CUBIC without fast convergence, after 6000 s: window")
    rows = []
    for n, c in ALONE:
        settings = [f"link.path.drop-every={n}", "link.path.rate=5gbit", "duration=8000s", "warmup=6000s"]
        ours = from_simulator("oracle-periodic", settings, f"{SPEC['cubic']}:fast_convergence=off:c={c:g}", range(1, 2))
        formula, window = formulas.rfc8312_window(1 / n, RTT, c), ours.rate[0] * RTT
        name = f"cubic 1/p={n}, C={c:g}"
        bound = 5.0 if c <= 0.4 else None
        difference = verdict.difference(f"{name} from RFC 8312", window, formula, bound)
        rows.append([name, f"{formula:.1f}", f"{window:.1f}", difference])
    harness.table(["", "RFC 8312", "simulator", "difference"], rows)


def bernoulli(cases: list, results: list, events: int, verdict: Verdict) -> None:
    print("\nRandom loss, 100 ms: window; loss events per 1000 packets")
    rows = []
    for case, ((cc, p), paths) in enumerate(zip(cases, results)):
        expected = from_model(paths)
        # Each case has separate seeds, so that chance does not favour all of them alike.
        settings, seeds = span(paths, events, ("path",), 100 * case + 1)
        ours = from_simulator("oracle-bernoulli", [f"link.path.loss={p:g}", *settings], cc, seeds)
        name = f"{cc} p={p:g}"
        rows.append([
            name,
            f"{expected.rate[0] * RTT:.2f} ±{100 * expected.error:.1f} %",
            f"{ours.rate[0] * RTT:.2f} ±{100 * ours.error:.1f} %",
            verdict.difference(name, ours.rate[0], expected.rate[0], 3.0),
            f"{expected.cwnd[0]:.2f}", f"{ours.cwnd[0]:.2f}",
            f"{1000 * expected.events[0]:.3f}", f"{1000 * ours.events[0]:.3f}",
            verdict.difference(f"{name} loss events", ours.events[0], expected.events[0], None),
        ])
    harness.table(
        ["", "model", "simulator", "difference", "model cwnd", "sim cwnd", "model events", "sim events", "difference"], rows
    )


def two_paths(cases: list, results: list, events: int, verdict: Verdict) -> None:
    print("\nTwo paths, random loss: packets/s in total, share of the first path")
    rows = []
    for index, ((cc, case), paths) in enumerate(zip(cases, results)):
        expected = from_model(paths)
        settings, seeds = span(paths, events, ("a", "b"), 100 * index + 1)
        for link, (p, rtt) in zip("ab", case):
            settings += [f"link.{link}.loss={p:g}", f"link.{link}.delay={rtt * 500:g}ms"]
        ours = from_simulator("oracle-two-paths", settings, cc, seeds)
        fluid = [w / rtt for w, (_, rtt) in zip(formulas.equilibrium(cc, list(case)), case)]
        name = cc + "  " + ", ".join(f"{100 * p:g} % {1000 * rtt:g} ms" for p, rtt in case)
        share = [o[0] / sum(o) for o in (fluid, expected.rate, ours.rate)]
        apart = abs(share[2] - share[1])
        if apart > 0.05:
            verdict.broken.append(f"{name}: share of the first path {share[2]:.3f}, the model says {share[1]:.3f}")
        rows.append([
            name, f"{sum(fluid):.0f}",
            f"{sum(expected.rate):.1f} ±{100 * expected.error:.1f} %", f"{sum(ours.rate):.1f} ±{100 * ours.error:.1f} %",
            verdict.difference(f"{name}: total", sum(ours.rate), sum(expected.rate), 5.0),
            *(f"{s:.3f}" for s in share),
            *(
                verdict.difference(f"{name}: path {i + 1}", o, e, 5.0 if cc != "olia" else None)
                for i, (o, e) in enumerate(zip(ours.rate, expected.rate))
            ),
        ])
    harness.table(
        ["", "fluid", "model", "simulator", "difference", "share: fluid", "model", "simulator", "path 1", "path 2"], rows
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=8000, help="loss events per case (default 8000)")
    parser.add_argument("--jobs", type=int, default=2, help="processes for the model (default 2)")
    parser.add_argument("--deep", action="store_true", help="also periodic loss of one packet in 100,000")
    parser.add_argument("--only", choices=["periodic", "bernoulli", "two-paths"], help="one table")
    options = parser.parse_args()

    harness.braid_binary()
    tables = {
        "periodic": PERIODIC + (DEEP if options.deep else []),
        "bernoulli": BERNOULLI,
        "two-paths": TWO_PATHS,
    }
    if options.only:
        tables = {options.only: tables[options.only]}
    # The weaker of two paths has few of the loss events.
    wanted = {"periodic": 40, "bernoulli": options.events, "two-paths": 3 * options.events}
    verdict = Verdict()
    with ProcessPoolExecutor(options.jobs) as pool:
        results = {
            kind: list(pool.map(run_model, [(kind, cc, what, wanted[kind], i) for i, (cc, what) in enumerate(cases)]))
            for kind, cases in tables.items()
        }
    for kind, cases in tables.items():
        if kind == "periodic":
            periodic(cases, results[kind], verdict)
            rfc8312(verdict)
        elif kind == "bernoulli":
            bernoulli(cases, results[kind], wanted[kind], verdict)
        else:
            two_paths(cases, results[kind], wanted[kind], verdict)
        sys.stdout.flush()
    print()
    for line in verdict.broken:
        print(f"out of bounds: {line}")
    if not verdict.broken:
        print("all within bounds")
    return 1 if verdict.broken else 0


if __name__ == "__main__":
    sys.exit(main())
