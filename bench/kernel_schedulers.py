#!/usr/bin/env python3
"""Packet schedulers in a real kernel and in the simulator.

    bench/kernel_schedulers.py [--braid PROGRAM] [--kernel NAME] [--seconds N] ours      each of Braid's: the module in the lab, and the simulator
    bench/kernel_schedulers.py [--braid PROGRAM] [--kernel NAME] [--seconds N] linux     the kernel's default, and its model in the simulator

Prints a table in Markdown. A share is a subflow's throughput divided by its link's rate. A cell with "!" marks a
difference between simulator and kernel above the target. The kernel's runs check every received byte.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SCHEDULERS = ["minrtt", "rr", "wrr", "redundant", "hsr", "sttf", "daps", "llrp", "llbm", "ecf", "otias", "blest"]
# Targets, as fractions of a link's rate, and of a completion time.
OURS, LINUX, TIME = 0.10, 0.05, 0.10


def scenario(links, connection="", seconds=20, traffic=""):
    """Links: (rate in Mbit/s, delay in ms one way, queue in packets, more lines)."""
    lines = [f'title = "Two paths"\nduration = "{seconds}s"\nwarmup = "{0 if traffic else 2}s"\ncc = ["lia"]']
    for number, (rate, delay, queue, more) in enumerate(links, 1):
        lines.append(f'[link.b{number}]\nrate = "{rate}mbit"\ndelay = "{delay}ms"\nqueue = "{queue}p"\n{more}')
    lines.append(f'[connection.mp]\nkind = "mptcp"\n{connection}\n{traffic}')
    lines += [f'subflow.sf{number}.route = ["b{number}"]' for number in range(1, len(links) + 1)]
    return "\n".join(lines) + "\n", [link[0] for link in links]


UNLIKE = [(10, 5, 40, ""), (10, 50, 100, "")]
LOSSY = [(10, 5, 40, 'loss = "1%"'), (10, 25, 80, "")]
RATES = [(20, 10, 60, ""), (5, 30, 60, "")]
BLOATED = [(10, 10, 40, ""), (5, 20, 300, "")]
EQUAL = [(10, 10, 40, ""), (10, 10, 40, "")]
FAILING = [(10, 5, 40, 'outages = ["8s..12s"]'), (10, 25, 80, "")]
THREE = [(10, 5, 40, ""), (5, 15, 40, ""), (10, 40, 100, "")]
SMALL = 'receive-buffer = "200kB"'
# With a small buffer and no losses, the order of packets in a queue repeats for the whole run and depends on the last
# microsecond of a delay, in the kernel as in the simulator: of two equal paths either may get a fifth more than the
# other. So both repeat each run with the first path's delay longer by each of these (microseconds), and the means are
# compared.
PHASES = [0, 10, 30, 40]
OBJECT = 'traffic = { kind = "object", size = "4MB" }'


def situations(what, seconds):
    if what == "ours":
        return {
            "unlike delays": scenario(UNLIKE, "", seconds),
            "unlike delays, receive buffer of 200 kB": scenario(UNLIKE, SMALL, seconds),
            "lossy fast path": scenario(LOSSY, "", seconds),
            "unlike rates": scenario(RATES, "", seconds),
        }
    return {
        "equal paths": scenario(EQUAL, "", seconds),
        "unlike delays": scenario(UNLIKE, "", seconds),
        "unlike rates": scenario(RATES, "", seconds),
        "lossy fast path": scenario(LOSSY, "", seconds),
        "a bloated path": scenario(BLOATED, "", seconds),
        "three paths": scenario(THREE, "", seconds),
        "path failure from 8 to 12 s": scenario(FAILING, "", seconds),
        "unlike delays, receive buffer of 200 kB": scenario(UNLIKE, SMALL, seconds),
        "equal paths, receive buffer of 100 kB": scenario(EQUAL, 'receive-buffer = "100kB"', seconds),
        "object of 4 MB, unlike delays": scenario(UNLIKE, "", seconds, OBJECT),
        "object of 4 MB, unlike rates": scenario(RATES, "", seconds, OBJECT),
        "object of 4 MB, unlike delays, receive buffer of 200 kB": scenario(UNLIKE, SMALL, seconds, OBJECT),
    }


def phases(what, name, text):
    if what != "linux" or "buffer" not in name:
        return [text]
    delay = re.search(r'delay = "(\d+)ms"', text)
    return [text[: delay.start(1)] + f"{delay[1]}.{phase:03}" + text[delay.end(1) :] for phase in PHASES]


def runs(command, texts, schedulers, seeds):
    values = {}
    for text in texts:
        for scheduler, rows in runs_of_one(command, text, schedulers, seeds).items():
            values.setdefault(scheduler, []).extend(rows)
    return values


def runs_of_one(command, text, schedulers, seeds):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "situation.toml"
        path.write_text(text)
        command = [*command, str(path), "--scheduler", ",".join(schedulers), "--seeds", str(seeds), "--jobs", "1", "--format", "json", "--quiet"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed: {done.stderr.decode()[-2000:]}")
    values = {}
    for run in json.loads(done.stdout)["runs"]:
        own = run["connections"][0]
        rates = [subflow["throughput_bps"] / 1e6 for subflow in own["subflows"]]
        times = (own.get("application") or {}).get("time_ms") or {}
        time = times["p50"] / 1000 if times.get("p50") is not None else None
        values.setdefault(run["scheduler"], []).append((rates, time))
    return values


def mean(rows):
    return [sum(column) / len(rows) for column in zip(*rows)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--braid", default="target/release/braid")
    parser.add_argument("--kernel", help="of the lab, as braid run --kernel takes it; the lab's own choice otherwise")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--schedulers", default=",".join(SCHEDULERS))
    parser.add_argument("what", choices=["ours", "linux"])
    arguments = parser.parse_args()
    schedulers = arguments.schedulers.split(",") if arguments.what == "ours" else ["linux"]
    target = OURS if arguments.what == "ours" else LINUX
    simulator = [arguments.braid, "run", "--backend", "sim"]
    kernel = [arguments.braid, "run", "--backend", "lab"] + (["--kernel", arguments.kernel] if arguments.kernel else [])
    print("| situation | scheduler | simulator, Mbit/s | kernel, Mbit/s | difference, % of the link |")
    print("|---|---|---|---|---|")
    worse = total = 0
    for name, (text, links) in situations(arguments.what, arguments.seconds).items():
        # Averages what is random in the simulator only, such as the first sender; with losses both are averaged.
        seeds = 3 if "lossy" in name else 1
        texts = phases(arguments.what, name, text)
        sim = runs(simulator, texts, schedulers, 5)
        lab = runs(kernel, texts, schedulers, seeds)
        for scheduler in schedulers:
            times = [[time for _, time in side[scheduler] if time is not None] for side in (sim, lab)]
            total += 1
            if "object" in name:
                if not all(times):
                    print(f"| {name} | {scheduler} | {times} | the object did not arrive | ! |")
                    worse += 1
                    continue
                one, other = (sum(own) / len(own) for own in times)
                differs = abs(other / one - 1)
                worse += differs > TIME
                mark = " !" if differs > TIME else ""
                print(f"| {name} | {scheduler} | {one:.2f} s | {other:.2f} s | {100 * (other / one - 1):+.1f} % of the time{mark} |", flush=True)
                continue
            one, other = (mean([rates for rates, _ in side[scheduler]]) for side in (sim, lab))
            apart = [(b - a) / link for a, b, link in zip(one, other, links)]
            is_worse = any(abs(own) > target for own in apart)
            worse += is_worse
            cells = [" / ".join(f"{rate:.2f}" for rate in own) for own in (one, other)]
            shown = " / ".join(f"{100 * own:+.1f}" for own in apart)
            print(f"| {name} | {scheduler} | {cells[0]} | {cells[1]} | {shown}{' !' if is_worse else ''} |", flush=True)
    print(f"\n{total - worse} of {total} within the target")


if __name__ == "__main__":
    main()
