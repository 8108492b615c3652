#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The simulator's RED compared with ns-2's, with Reno and every packet acknowledged on both sides.

ns-2 has two Renos: `reno`, that of Linux as in Braid, and `naive_reno`, the textbook's. Mean queue must agree with that
of `reno` within 10 %, drops within 15 %; exits with 1 if not. Rows of `naive_reno` beyond that are marked."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import harness

QUEUE = 10.0
DROPS = 15.0
CASES = [(20, 40, 4), (20, 40, 8), (20, 100, 8), (50, 40, 8), (50, 20, 16)]  # Mbit/s, ms, flows
WARMUP = 20
SECONDS = 200


def ns2(rate: int, rtt: int, flows: int, gentle: bool, cc: str) -> dict:
    command = [
        harness.find("ns", "apt-get install ns2"), str(harness.BENCH / "ns2" / "red.tcl"), f"rate={rate}e6",
        f"rtt={rtt / 1000}", f"flows={flows}", f"gentle={str(gentle).lower()}", f"cc={cc}",
        f"warmup={WARMUP}", f"duration={WARMUP + SECONDS}",
    ]
    return harness.json_line(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def ours(folder: Path, rate: int, rtt: int, flows: int, gentle: bool) -> dict:
    # Lengths include the packet in transmission, unlike ns-2's.
    red = f'kind = "red", min = "21p", max = "61p", gentle = {str(gentle).lower()}'
    lines = [
        f'title = "RED"\nduration = "{WARMUP + SECONDS}s"\nwarmup = "{WARMUP}s"',
        f'[link.b]\nrate = "{rate}mbit"\nrtt = "{rtt}ms"\nqueue = "1001p"\ndiscipline = {{ {red} }}',
        '[link.b.reverse]\ndiscipline = "drop-tail"\nqueue = "100000p"',
    ]
    for i in range(flows):
        keys = f'kind = "tcp"\ncc = "reno"\nroute = ["b"]\nstart = "{100 * i}ms"\ndelayed-ack = false'
        lines.append(f"[connection.tcp{i}]\n{keys}")
    file = folder / "red.toml"
    file.write_text("\n".join(lines) + "\n")
    link = harness.braid(str(file), "--seeds", "1")[0]["links"][0]
    return {"drops": link["drops_packets"], "mean_queue": link["mean_queue_packets"] - link["utilization"]}


def main() -> int:
    rows, broken = [], []
    with tempfile.TemporaryDirectory() as folder:
        for gentle in (True, False):
            for case in CASES:
                label = "{} Mbit/s, {} ms, flows {}".format(*case) + (", gentle" if gentle else "")
                print(label, file=sys.stderr)
                mine = ours(Path(folder), *case, gentle)
                row = [label, f"{mine['mean_queue']:.1f}", f"{mine['drops']:.0f}"]
                for cc in ("reno", "naive_reno"):
                    theirs = ns2(*case, gentle, cc)
                    for key, bound in (("mean_queue", QUEUE), ("drops", DROPS)):
                        percent = 100 * (mine[key] / theirs[key] - 1)
                        good = abs(percent) <= bound
                        if not good and cc == "reno":
                            broken.append(f"{label}: {key} {percent:+.1f} %")
                        row.append(f"{percent:+.1f} %{'' if good else ' !'}")
                rows.append(row)
    heads = ["mean queue", "drops", "against reno: queue", "drops", "against naive_reno: queue", "drops"]
    harness.table(["", *heads], rows)
    print()
    for line in broken:
        print(f"out of bounds: {line}")
    if not broken:
        print("all within bounds of reno")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
