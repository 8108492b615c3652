#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""CoDel and FQ-CoDel compared with ns-3: the queues alone with unresponsive arrivals, and with Reno.

The queues alone: ns-3 and a model in floating point, with the control law of ns-3 and Linux, must drop the same
packets. The model with RFC 8289's law, as in the simulator, may differ by 5 % in delay and drops. `--record` writes
that model's drops for `cargo test -p braid-sim`, which expects the same from the simulator. With Reno: mean queue delay
within 10 % and drops within 15 % of one of ns-3's two Renos, and equal shares with FQ-CoDel in both simulators. Exits
with 1 if a bound is broken."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness
import model

DELAY = 10.0
DROPS = 15.0
LAW = 5.0
FAIRNESS = 0.98
WARMUP = 20
SECONDS = 60
RENOS = ("TcpNewReno", "TcpLinuxReno")
CASES = [(10, 20, 1), (10, 100, 4), (50, 20, 1), (50, 20, 4), (50, 100, 4), (50, 100, 16)]  # Mbit/s, ms, flows
RECORD = harness.BENCH.parent / "crates" / "braid-sim" / "tests" / "golden" / "codel-drops.tsv"
OPEN = [  # discipline, load in percent, limit in packets, flows, seconds
    ("CoDel", 105, 1000, 1, 60),
    ("CoDel", 150, 100, 1, 20),
    ("FqCoDel", 110, 1000, 4, 60),
    ("FqCoDel", 150, 100, 4, 20),
]
RECORDED_SECONDS = 3


def ns3(binary: str, *arguments: str) -> dict:
    done = subprocess.run([binary, *arguments], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def jain(values: list[float]) -> float:
    return sum(values) ** 2 / (len(values) * sum(value * value for value in values))


def ours(folder: Path, aqm: str, rate: int, rtt: int, flows: int) -> dict:
    """The document, as ns-3 prints it."""
    lines = [
        f'title = "{flows} flows under {aqm}"',
        f'duration = "{WARMUP + SECONDS}s"\nwarmup = "{WARMUP}s"',
        f'[link.b]\nrate = "{rate}mbit"\nrtt = "{rtt}ms"\nqueue = "10240p"',
        f'discipline = {{ kind = "{aqm}", ecn = false }}',
        '[link.b.reverse]\ndiscipline = "drop-tail"',
    ]
    for i in range(flows):
        lines.append(f'[connection.tcp{i}]\nkind = "tcp"\ncc = "reno"\ndelayed-ack = false\nroute = ["b"]\nstart = "{100 * i}ms"')
    file = folder / f"{aqm}-{rate}-{rtt}-{flows}.toml"
    file.write_text("\n".join(lines) + "\n")
    run = harness.braid(str(file), "--seeds", "1")[0]
    link = run["links"][0]
    # Queueing delay of all arrivals, without the packet's transmission.
    passed = link["packets"] + link["drops_packets"]
    delay = link["mean_queue_packets"] * run["measured_s"] / passed - 1500 * 8 / (rate * 1e6)
    return {
        "drops": link["drops_packets"],
        "delay_ms": 1e3 * delay,
        "goodput_bps": [connection["goodput_bps"] for connection in run["connections"]],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name} and do nothing else")
    options = parser.parse_args()
    if options.record:
        lines = ["discipline\tload\tlimit\tflows\tseconds\tdropped"]
        for aqm, load, limit, flows, _ in OPEN:
            dropped = model.run(aqm, load, limit, flows, RECORDED_SECONDS)["dropped"]
            lines.append(f"{aqm}\t{load}\t{limit}\t{flows}\t{RECORDED_SECONDS}\t{' '.join(map(str, dropped))}")
        RECORD.write_text("\n".join(lines) + "\n")
        return 0

    broken: list[str] = []

    def check(good: bool, what: str) -> str:
        if not good:
            broken.append(what)
        return "" if good else " !"

    harness.braid_binary()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        binary = harness.build_ns3(folder, "aqm")

        rows = []
        for aqm, load, limit, flows, seconds in OPEN:
            label = f"{aqm}, load {load} %, limit {limit}, flows {flows}"
            print(label, file=sys.stderr)
            arguments = [f"--load={load}", f"--queue={limit}", f"--flows={flows}", f"--duration={seconds}"]
            theirs = ns3(binary, "--mode=open", f"--aqm={aqm}", *arguments)
            same_law, exact = (model.run(aqm, load, limit, flows, seconds, law) for law in (model.Ns3, model.Exact))
            same = theirs["dropped"] == same_law["dropped"]
            law = [100 * (len(exact["dropped"]) / len(same_law["dropped"]) - 1),
                   100 * (exact["delay_ms"] / same_law["delay_ms"] - 1)]
            rows.append([
                label, str(len(theirs["dropped"])), f"{theirs['delay_ms']:.2f}",
                ("yes" if same else "no") + check(same, f"{label}: ns-3 drops other packets"),
                *(f"{percent:+.1f} %" + check(abs(percent) <= LAW, f"{label}: RFC 8289's law") for percent in law),
            ])
        print("Without TCP, 10 Mbit/s; the model of ns-3, and the model of the RFCs against it:")
        harness.table(["", "ns-3 drops", "delay ms", "model drops the same", "RFC drops", "RFC delay"], rows)

        rows = []
        for aqm, kind in (("CoDel", "codel"), ("FqCoDel", "fq-codel")):
            for rate, rtt, flows in CASES:
                label = f"{kind}, {rate} Mbit/s, {rtt} ms, flows {flows}"
                print(label, file=sys.stderr)
                theirs = [
                    ns3(
                        binary, f"--aqm={aqm}", f"--rate={rate * 10**6}", f"--rtt={rtt}ms", f"--flows={flows}",
                        f"--cc={cc}", "--delack=1", "--queue=10240", f"--warmup={WARMUP}",
                        f"--duration={WARMUP + SECONDS}",
                    )
                    for cc in RENOS
                ]
                mine = ours(folder, kind, rate, rtt, flows)
                row, kept = [label], []
                for key, digits in (("delay_ms", 2), ("drops", 0)):
                    row += [f"{side[key]:.{digits}f}" for side in (*theirs, mine)]
                for side in theirs:
                    delay, drops = (100 * (mine[key] / side[key] - 1) for key in ("delay_ms", "drops"))
                    kept.append(abs(delay) <= DELAY and abs(drops) <= DROPS)
                    row.append(f"{delay:+.1f} % {drops:+.1f} %" + ("" if kept[-1] else " !"))
                check(any(kept), f"{label}: like neither Reno")
                sides = [*theirs, mine]
                shares = [jain(side["goodput_bps"]) for side in sides]
                fair = kind == "codel" or min(shares) >= FAIRNESS
                row += [f"{sum(side['goodput_bps']) / 1e6:.2f}" for side in sides]
                row.append(" ".join(f"{share:.3f}" for share in shares) + check(fair, f"{label}: unfair"))
                rows.append(row)
        print("\nReno, every packet acknowledged: ns-3's NewReno, its LinuxReno, ours; delay and drops of ours against each")
        harness.table(
            ["", "delay ms", "", "ours", "drops", "", "ours", "NewReno", "LinuxReno", "Mbit/s", "", "ours", "Jain's index"],
            rows,
        )
    print()
    for line in broken:
        print(f"out of bounds: {line}")
    if not broken:
        print("all within bounds")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
