#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Multipath QUIC beside the simulator's TCP, on real sockets, and what coupling costs. Each command prints a table.

    bench/quic.py cells      D-OLIA 1 to 3 and eight cells of the analysis paper with seven algorithms, on both backends
    bench/quic.py sockets    between namespaces of this machine: 20 and 10 Mbit/s; 20 Mbit/s shared with a TCP CUBIC flow (root)
    bench/quic.py cost       instructions (valgrind) of a transfer on loopback: coupling beside the stack's own CUBIC
    bench/quic.py cpu        its CPU time, in pairs: on a machine that does nothing else
    bench/quic.py speed      virtual seconds per second of CPU time in D-OLIA 1

`--write` puts the table into docs/quic.md, in place of the one of the same command. First build:

    scripts/quic --cargo build --release -p braid-cli --features quic
    scripts/quic --cargo build --release -p braid-quic --examples
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness

PAGE = harness.BENCH.parent / "docs" / "quic.md"
MEASURE = harness.BENCH.parent / "target" / "release" / "examples" / "measure"

# Chosen before the first run: the family that the issue of coupling is about, and one that is not coupled.
ALGORITHMS = "cubic lia olia balia wvegas dolia weave".split()
PATHS = 'parameters.paths=[{ rtt1 = "10ms", rtt2 = "10ms" }, { rtt1 = "50ms", rtt2 = "100ms" }]'
# As long as the papers are run on a real kernel.
ANALYSIS = ["--set", "duration=150s", "--set", "warmup=30s", "--set", "cooldown=10s", "--set", PATHS]
CELLS = [
    ("d-olia/1", ["--set", "duration=120s", "--set", "warmup=20s"]),
    ("d-olia/2", ["--set", "duration=120s", "--set", "warmup=20s"]),
    ("d-olia/3", ["--set", "duration=120s", "--set", "warmup=20s"]),
    ("analysis/shared", ANALYSIS),
    ("analysis/disjoint", ANALYSIS),
]
# A connection's goodput may differ by so much of the rate of its slowest link, in so many of the cells.
WITHIN, CELLS_WITHIN = 0.10, 0.90

SHARED = "cubic lia olia balia weave".split()
QUEUE_BYTES = 50 * 1514


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def write(command: str, text: str) -> None:
    """Puts the table between its two marks of the page."""
    page = PAGE.read_text()
    begin, end = f"<!-- bench/quic.py {command} -->\n", f"<!-- end of {command} -->"
    if begin not in page or end not in page:
        sys.exit(f"{PAGE}: has no place for it: {begin.strip()} ... {end}")
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    PAGE.write_text(f"{before}{begin}\n{text}\n\n{end}{after}")


def mean(values: list[float]) -> float:
    return statistics.fmean(values)


def cells(options: argparse.Namespace) -> tuple[str, bool]:
    """The two backends in each cell with each algorithm."""
    rows, within, overhead = [], 0, []
    for scenario, arguments in CELLS:
        found: dict[tuple, dict[str, list[dict]]] = {}
        for backend in ("sim", "quic"):
            print(f"{scenario} --backend {backend}", file=sys.stderr)
            runs = harness.braid(
                scenario, "--backend", backend, "--cc", ",".join(ALGORITHMS), "--seeds", str(options.seeds), *arguments
            )
            for run in runs:
                cell = (scenario, *run["params"].values(), run["cc"])
                found.setdefault(cell, {}).setdefault(backend, []).append(run)
        for cell, of in found.items():
            worst, shown = 0.0, []
            rate_of = {link["id"]: link["rate_bps"] for link in of["sim"][0]["links"]}
            for number, connection in enumerate(of["sim"][0]["connections"]):
                def goodput(backend: str) -> float:
                    return mean([run["connections"][number]["goodput_bps"] for run in of[backend]])
                rate = min(rate_of[link] for subflow in connection["subflows"] for link in subflow["links"] if link in rate_of)
                worst = max(worst, abs(goodput("quic") - goodput("sim")) / rate)
                if connection["kind"] == "mptcp":
                    shown.append((goodput("sim") / 1e6, goodput("quic") / 1e6))
                    wire = mean([run["connections"][number]["throughput_bps"] for run in of["quic"]])
                    overhead.append(1 - goodput("quic") / wire)
            ok = worst <= WITHIN
            within += ok
            values = [f"{mean([pair[which] for pair in shown]):.2f}" for which in (0, 1)]
            rows.append([" ".join(cell[:-1]), cell[-1], *values, f"{100 * worst:.1f}" + ("" if ok else " (!)")])
    share = within / len(rows)
    head = ["cell", "cc", "simulator, Mbit/s", "QUIC, Mbit/s", "largest difference, % of the link"]
    text = (
        f"{within} of {len(rows)} cells ({100 * share:.0f} %) are within {100 * WITHIN:.0f} % of the link's rate; the target is "
        f"{100 * CELLS_WITHIN:.0f} %. {options.seeds} seeds, means. A cell counts if the goodput of every connection does, that of "
        f"plain TCP flows, too. QUIC's headers and frames take {100 * mean(overhead):.1f} % of its IP bytes.\n\n" + markdown(head, rows)
    )
    return text, share >= CELLS_WITHIN


@contextlib.contextmanager
def networks(rates: list[float]):
    """Client and server, and a router between them with a link of each rate to the client. Rates are of IP bytes.

    The shaper is at the router: a kernel's TCP does not fill the queues of its own devices (TCP small queues)."""
    client, router, server = names = [f"quic-{os.getpid()}-{end}" for end in "crs"]

    def ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True)

    def link(one: str, other: str, device: str) -> None:
        ip("link", "add", device, "netns", one, "type", "veth", "peer", "name", device, "netns", other)
        for name in (one, other):
            # One packet is one packet: no bursts of 64 kB by segmentation offload.
            ip("-n", name, "link", "set", device, "gso_max_segs", "1", "up")

    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("netns", "exec", router, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
        for n, rate in enumerate(rates):
            far, near = f"q{n}", f"p{n}"
            link(client, router, far)
            link(router, server, near)
            # Two addresses at each end: two paths over one link.
            for net in (2 * n, 2 * n + 1):
                ip("-n", client, "addr", "add", f"10.97.{net}.1/24", "dev", far)
                ip("-n", router, "addr", "add", f"10.97.{net}.3/24", "dev", far)
                ip("-n", router, "addr", "add", f"10.97.{100 + net}.3/24", "dev", near)
                ip("-n", server, "addr", "add", f"10.97.{100 + net}.2/24", "dev", near)
                ip("-n", client, "route", "add", f"10.97.{100 + net}.0/24", "via", f"10.97.{net}.3")
                ip("-n", server, "route", "add", f"10.97.{net}.0/24", "via", f"10.97.{100 + net}.3")
            # The kernel counts the 14 bytes of Ethernet, too.
            shaper = ["rate", f"{int(rate * 1e6 * 1514 / 1500)}bit", "burst", "3100", "limit", str(QUEUE_BYTES)]
            subprocess.run(["tc", "-n", router, "qdisc", "add", "dev", far, "root", "tbf", *shaper], check=True)
        yield client, server
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def within(name: str, *command: str, **options) -> subprocess.Popen:
    return subprocess.Popen(["ip", "netns", "exec", name, *command], stdout=subprocess.PIPE, text=True, **options)


def transfer(names: tuple[str, str], spec: str, nets: list[int], seconds: float, tcp: bool) -> tuple[list[float], float]:
    """Mbit/s of IP bytes on each path, and of a TCP CUBIC flow on the first link if there is to be one."""
    warmup = seconds / 5
    with tempfile.TemporaryDirectory() as folder:
        certificate = os.path.join(folder, "certificate.der")
        server = within(names[1], str(MEASURE), "serve", certificate, "4433", spec)
        other = None
        try:
            while not os.path.exists(certificate) or not os.path.getsize(certificate):
                time.sleep(0.02)
                if server.poll() is not None:
                    sys.exit("the server does not start")
            if tcp:
                own = [sys.executable, str(Path(__file__).resolve())]
                sender = within(names[1], *own, "tcp-send", "10.97.100.2")
                other = within(names[0], *own, "tcp-receive", "10.97.100.2", str(warmup), str(seconds))
            addresses = [f"10.97.{net}.1=10.97.{100 + net}.2:4433" for net in nets]
            client = within(names[0], str(MEASURE), "get", certificate, str(warmup), str(seconds), *addresses)
            printed = client.communicate(timeout=seconds + 60)[0]
            if client.returncode != 0:
                sys.exit("the client failed")
            paths = [path["mbit"] for path in json.loads(printed)["paths"]]
            rate = 0.0
            if other is not None:
                rate = float(other.communicate(timeout=seconds + 60)[0])
                sender.kill()
                sender.wait()
            return paths, rate
        finally:
            server.kill()
            server.wait()


def tcp_send(address: str) -> None:
    """Sends by the kernel's CUBIC to whoever connects."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    listener.bind((address, 5001))
    listener.listen()
    connection, _ = listener.accept()
    with contextlib.suppress(OSError):
        while True:
            connection.sendall(bytes(1 << 16))


def tcp_receive(address: str, warmup: float, seconds: float) -> None:
    """Prints Mbit/s of IP bytes: full segments with timestamps."""
    deadline = time.monotonic() + 10
    while True:
        try:
            connection = socket.create_connection((address, 5001))
            break
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
    begin = time.monotonic() + warmup
    counted = 0
    while (now := time.monotonic()) < begin + seconds:
        size = len(connection.recv(1 << 16))
        if now >= begin:
            counted += size
    print(counted * 8e-6 / seconds * 1500 / 1448)


def spread(values: list[float]) -> str:
    return f"{mean(values):.1f} ± {statistics.stdev(values):.1f}" if len(values) > 1 else f"{values[0]:.1f}"


def sockets(options: argparse.Namespace) -> tuple[str, bool]:
    """Real sockets, and the same scenarios on the backends."""
    if os.geteuid() != 0:
        sys.exit("bench/quic.py sockets makes network namespaces: run it as root")
    backends = ["sim", "quic"] + (["lab"] if options.lab else [])
    specs, used, shared = options.cc.split(","), [], {}
    with networks([20, 10]) as names:
        for run in range(options.runs):
            print(f"20 and 10 Mbit/s: run {run + 1}", file=sys.stderr)
            paths, _ = transfer(names, "cubic", [0, 2], options.seconds, tcp=False)
            used.append([paths[0] / 20, paths[1] / 10])
    shares = [[100 * run[path] for run in used] for path in (0, 1)]
    for spec in specs:
        shared[spec] = []
        with networks([20]) as names:
            for run in range(options.runs):
                print(f"20 Mbit/s shared, {spec}: run {run + 1}", file=sys.stderr)
                paths, tcp = transfer(names, spec, [0, 1], options.seconds, tcp=True)
                shared[spec].append(100 * sum(paths) / (sum(paths) + tcp))

    # What follows is simulated and may wait for others.
    os.nice(10)
    apart = [["real sockets", *[spread(share) for share in shares]]]
    rows = {spec: [spec + (", uncoupled" if spec == "cubic" else ""), spread(shared[spec])] for spec in specs}
    for backend in backends:
        arguments = ["--backend", backend, "--seeds", str(options.runs)]
        print(f"backend {backend}", file=sys.stderr)
        runs = harness.braid("quic-apart", *arguments, "--cc", "cubic")
        of = lambda n, rate: [100 * run["connections"][0]["subflows"][n]["throughput_bps"] / rate for run in runs]
        apart.append([f"backend {backend}", spread(of(0, 20e6)), spread(of(1, 10e6))])
        runs = harness.braid("quic-shared", *arguments, "--cc", ",".join(specs))
        for spec in specs:
            rates = [[of["throughput_bps"] for of in run["connections"]] for run in runs if run["cc"] == spec]
            rows[spec].append(spread([100 * one / (one + other) for one, other in rates]))
    ok = all(mean(share) >= 95 for share in shares)
    text = (
        f"Two links of 20 and 10 Mbit/s between namespaces, queues of 50 packets, uncoupled CUBIC: % of each link's rate, IP bytes, "
        f"{options.seconds:.0f} s, {options.runs} runs, mean and standard deviation. The target is 95 %.\n\n"
        + markdown(["", "20 Mbit/s", "10 Mbit/s"], apart)
        + "\n\nBoth paths over one link of 20 Mbit/s beside one TCP CUBIC flow, the kernel's: % of the IP bytes that the two paths take "
        "together. Half is one flow's share, two thirds are that of two flows.\n\n"
        + markdown(["cc", "real sockets", *[f"backend {backend}" for backend in backends]], list(rows.values()))
    )
    return text, ok


def instructions(command: list[str], *arguments: str) -> tuple[int, str]:
    """What a program executes in user space, exactly (callgrind), and what it prints."""
    valgrind = harness.find("valgrind", "apt install valgrind")
    with tempfile.TemporaryDirectory() as folder:
        tool = [valgrind, "--tool=callgrind", f"--callgrind-out-file={folder}/out", *arguments]
        done = subprocess.run([*tool, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        counted = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or counted is None:
            sys.exit(f"{' '.join(tool + command)}: exit {done.returncode}\n{done.stderr}")
        return int(counted[1]), done.stdout


def cost(options: argparse.Namespace) -> tuple[str, bool]:
    """Coupling beside the stack's own CUBIC: instructions of a transfer."""
    per_packet: dict[str, list[float]] = {}
    specs = options.cc.split(",")
    for run in range(options.runs):
        for spec in ("own", *specs):
            print(f"{spec}: run {run + 1}", file=sys.stderr)
            few, many = (instructions([str(MEASURE), "loopback", spec, size]) for size in ("1", "11"))
            packets = [sum(json.loads(printed)["ip_bytes"]) / 1500 for _, printed in (few, many)]
            per_packet.setdefault(spec, []).append((many[0] - few[0]) / (packets[1] - packets[0]))
    own = statistics.median(per_packet["own"])
    share = lambda value: f"{100 * (value / own - 1):+.2f}"
    rows, within = [], True
    for spec in ("own", *specs):
        values = per_packet[spec]
        middle = statistics.median(values)
        within = within and middle <= 1.01 * own
        rows.append([spec, f"{middle:.0f}", share(middle), f"{share(min(values))} to {share(max(values))}"])
    text = (
        f"Instructions in user space of 10 MB over two paths on loopback, both ends in one process, per 1500 bytes of IP packets "
        f"(callgrind), beside the stack's own CUBIC: median of {options.runs} runs. The kernel's work for a packet does not depend "
        "on its congestion control. The target is 1 %.\n\n"
        + markdown(["cc", "instructions", "more, %", "smallest to largest"], rows)
    )
    return text, within


def cpu(options: argparse.Namespace) -> tuple[str, bool]:
    """Pairs of transfers, one with the stack's own CUBIC: CPU time of the process."""
    rows, resolved = [], True
    run = lambda spec: harness.measure([str(MEASURE), "loopback", spec, str(options.megabytes)])
    rate, idle = [], {}
    for spec in ("own", *options.cc.split(",")):
        idle[spec] = harness.measure([str(MEASURE), "loopback", spec, "1"]).cpu
    for spec in options.cc.split(","):
        ratios = []
        for pair in range(options.pairs):
            print(f"{spec}: pair {pair + 1}", file=sys.stderr)
            order = ("own", spec) if pair % 2 == 0 else (spec, "own")
            used_by = {}
            for which in order:
                used = run(which)
                used_by[which] = used.cpu - idle[which]
                rate.append(json.loads(used.output)["gbit"])
            ratios.append(used_by[spec] / used_by["own"])
        middle = statistics.median(ratios)
        half = 1.96 * 1.2533 * statistics.stdev(ratios) / len(ratios) ** 0.5
        resolved = resolved and middle + half <= 1.01
        rows.append([spec, f"{100 * (middle - 1):+.1f}", f"± {100 * half:.1f}"])
    text = (
        f"CPU time, user and system, of {options.megabytes} MB, {statistics.median(rate):.1f} Gbit/s, both ends in one thread: median of "
        f"{options.pairs} pairs and its 95 % interval.\n\n" + markdown(["cc", "more, %", ""], rows)
    )
    return text, resolved


def speed(options: argparse.Namespace) -> tuple[str, bool]:
    """Virtual seconds per second of CPU time."""
    rows, slowest = [], float("inf")
    for spec in ALGORITHMS:
        seconds = []
        for _ in range(options.runs):
            arguments = ["--backend", "quic", "--cc", spec, "--jobs", "1"]
            empty = harness.measure(harness.braid_command("d-olia/1", *arguments, "--set", "duration=1s")).cpu
            full = harness.measure(harness.braid_command("d-olia/1", *arguments, "--set", "duration=101s")).cpu
            seconds.append(100 / (full - empty))
        slowest = min(slowest, statistics.median(seconds))
        rows.append([spec, f"{statistics.median(seconds):.0f}"])
    head = f"D-OLIA 1, one core, user and system time, median of {options.runs} runs. The target is 20.\n\n"
    return head + markdown(["cc", "virtual seconds per second"], rows), slowest >= 20


COMMANDS = {"cells": cells, "sockets": sockets, "cost": cost, "cpu": cpu, "speed": speed}


def main() -> int:
    # What `sockets` runs within the namespaces.
    if sys.argv[1:2] == ["tcp-send"]:
        tcp_send(sys.argv[2])
        return 0
    if sys.argv[1:2] == ["tcp-receive"]:
        tcp_receive(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--write", action="store_true", help="also write the table into docs/quic.md")
    parser.add_argument("--seeds", type=int, default=3, help="cells: seeds of each (default 3)")
    parser.add_argument("--runs", type=int, default=5, help="sockets, cost, speed: runs of each (default 5)")
    parser.add_argument("--seconds", type=float, default=25, help="sockets: what is measured of a run (default 25 s)")
    parser.add_argument("--lab", action="store_true", help="sockets: also in the lab")
    parser.add_argument("--pairs", type=int, default=15, help="cpu: pairs of transfers (default 15)")
    parser.add_argument("--megabytes", type=int, default=1000, help="cpu: of each transfer (default 1000)")
    parser.add_argument("--cc", help="sockets, cost, cpu: algorithms, separated by commas")
    options = parser.parse_args()
    options.cc = options.cc or ("cubic,lia,olia,balia,weave" if options.command in ("cost", "cpu") else ",".join(SHARED))
    text, holds = COMMANDS[options.command](options)
    print(text)
    if options.write:
        write(options.command, text)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
