#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Multipath QUIC compared with the simulator's TCP, on real sockets, and the cost of coupling. Each command prints a
table.

    bench/quic.py cells      D-OLIA 1 to 3 and eight cells of the analysis paper with seven algorithms, on both backends
    bench/quic.py sockets    between namespaces of this machine: 20 and 10 Mbit/s; 20 Mbit/s shared with a TCP CUBIC flow (root)
    bench/quic.py cost       instructions (valgrind) of a transfer on loopback: coupling beside the stack's own CUBIC
    bench/quic.py cpu        its CPU time, in pairs: on a machine that does nothing else
    bench/quic.py speed      virtual seconds per second of CPU time in D-OLIA 1

`--write` puts the table into target/quic.md, in place of the older one. First build:

    cargo build --release -p braid-cli
    cargo build --release -p braid-quic --examples
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

PAGE = harness.BENCH.parent / "target" / "quic.md"
MEASURE = harness.BENCH.parent / "target" / "release" / "examples" / "measure"

# Chosen before the first run: the algorithms of the coupling issue, and an uncoupled one.
ALGORITHMS = "cubic lia olia balia wvegas dolia weave".split()
PATHS = 'parameters.paths=[{ rtt1 = "10ms", rtt2 = "10ms" }, { rtt1 = "50ms", rtt2 = "100ms" }]'
# The papers' run length on a real kernel.
ANALYSIS = ["--set", "duration=150s", "--set", "warmup=30s", "--set", "cooldown=10s", "--set", PATHS]
CELLS = [
    ("d-olia/1", ["--set", "duration=120s", "--set", "warmup=20s"]),
    ("d-olia/2", ["--set", "duration=120s", "--set", "warmup=20s"]),
    ("d-olia/3", ["--set", "duration=120s", "--set", "warmup=20s"]),
    ("analysis/shared", ANALYSIS),
    ("analysis/disjoint", ANALYSIS),
]
# Bounds: a connection's goodput may differ by WITHIN of its slowest link's rate, in CELLS_WITHIN of the cells.
WITHIN, CELLS_WITHIN = 0.10, 0.90
# The stack sends the acknowledgements of all paths on the first one. The same for the simulator, by scenario: subflows
# whose acknowledgements take another route, and that route.
FIRST_PATH = {
    "d-olia/1": (["sf2"], ["access", "b1", "access"]),
    "d-olia/2": (["sf2"], ["access", "b1", "access"]),
    "d-olia/3": (["sf2", "sf3", "sf4"], ["access", "access", "b1", "access", "access"]),
    "analysis/shared": (["sf2"], ["near1", "b1"]),
    "analysis/disjoint": (["sf2"], ["b1"]),
}
# More than a packet's transmission time (1 ms at most, except on D-OLIA 1's second link), so that no flow keeps the
# same position in a full queue.
JITTER = "2ms"

SHARED = "cubic lia olia balia weave".split()
QUEUE_BYTES = 50 * 1514


def markdown(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def write(command: str, text: str) -> None:
    """Writes the table between its two marks in the page."""
    page = PAGE.read_text() if PAGE.exists() else ""
    begin, end = f"<!-- bench/quic.py {command} -->\n", f"<!-- end of {command} -->"
    if begin not in page or end not in page:
        page += f"\n{begin}\n{end}\n"
    before, rest = page.split(begin)
    after = rest.split(end)[1]
    PAGE.write_text(f"{before}{begin}\n{text}\n\n{end}{after}")


def mean(values: list[float]) -> float:
    return statistics.fmean(values)


def simulated(options: argparse.Namespace, scenario: str, name: str, *arguments: str) -> list[dict]:
    """The runs of a scenario; stored in the folder of `--keep`, if given."""
    print(f"{scenario}: {name}", file=sys.stderr)
    keep = []
    if options.keep:
        keep = ["--out", str(Path(options.keep) / f"{scenario}-{name}".replace("/", "-").replace(" ", "-"))]
    return harness.braid(scenario, *arguments, *keep)


def connections(run: dict) -> list[tuple[str, float, float, float]]:
    """For each connection: kind, goodput, rate on the wire, and its slowest link's rate."""
    rate_of = {link["id"]: link["rate_bps"] for link in run["links"]}
    found = []
    for connection in run["connections"]:
        links = {link for subflow in connection["subflows"] for link in subflow["links"] if link in rate_of}
        slowest = min(rate_of[link] for link in links)
        found.append((connection["kind"], connection["goodput_bps"], connection["throughput_bps"], slowest))
    return found


def by_cell(scenario: str, algorithms: list[str], options: argparse.Namespace, name: str, *arguments: str) -> dict[tuple, list]:
    """The runs of a scenario, by cell."""
    runs = simulated(options, scenario, name, "--cc", ",".join(algorithms), "--seeds", str(options.seeds), *arguments)
    found: dict[tuple, list] = {}
    for run in runs:
        found.setdefault((scenario, *run["params"].values(), run["cc"]), []).append(connections(run))
    return found


def difference(one: list, other: list) -> float:
    """The largest difference between the connections' mean goodputs, divided by the slowest link's rate."""
    means = lambda runs: [mean([run[number][1] for run in runs]) for number in range(len(runs[0]))]
    return max(abs(a - b) / connection[3] for a, b, connection in zip(means(one), means(other), one[0]))


def mptcp(runs: list) -> float:
    return mean([connection[1] for run in runs for connection in run if connection[0] == "mptcp"]) / 1e6


def cells(options: argparse.Namespace) -> tuple[str, bool]:
    """Compares the backends in each cell with each algorithm; where they differ, also without the known differences."""
    rows, apart, overhead, misses = [], [], [], 0
    mark = lambda worst: f"{100 * worst:.1f}" + ("" if worst <= WITHIN else " (!)")
    for scenario, arguments in CELLS:
        quic = by_cell(scenario, ALGORITHMS, options, "quic", "--backend", "quic", *arguments)
        sim = by_cell(scenario, ALGORITHMS, options, "sim", *arguments)
        worst = {cell: difference(sim[cell], runs) for cell, runs in quic.items()}
        for cell, runs in quic.items():
            overhead += [1 - of[1] / of[2] for run in runs for of in run if of[0] == "mptcp"]
            shown = [f"{mptcp(sim[cell]):.2f}", f"{mptcp(runs):.2f}", mark(worst[cell])]
            rows.append([" ".join(cell[:-1]), cell[-1], *shown])
        missing = [cell for cell in quic if worst[cell] > WITHIN]
        if not missing:
            continue
        misses += len(missing)
        algorithms = [spec for spec in ALGORITHMS if any(cell[-1] == spec for cell in missing)]
        subflows, way = FIRST_PATH[scenario]
        change = lambda subflow: f"connection.mp0.subflow.{subflow}.change=[{{ at = '1s', return-route = {json.dumps(way)} }}]"
        acks = [word for subflow in subflows for word in ("--set", change(subflow))]
        links = ["b1"] if scenario == "analysis/shared" else ["b1", "b2"]
        jitter = [word for link in links for word in ("--set", f"link.{link}.jitter={JITTER}")]
        sim_acks = by_cell(scenario, algorithms, options, "sim acks", *arguments, *acks)
        sim_both = by_cell(scenario, algorithms, options, "sim acks jitter", *arguments, *acks, *jitter)
        quic_jitter = by_cell(scenario, algorithms, options, "quic jitter", "--backend", "quic", *arguments, *jitter)
        for cell in missing:
            first, then = difference(sim_acks[cell], quic[cell]), difference(sim_both[cell], quic_jitter[cell])
            values = [f"{mptcp(runs[cell]):.2f}" for runs in (sim_acks, sim_both, quic_jitter)]
            apart.append([" ".join(cell[:-1]), cell[-1], mark(worst[cell]), values[0], mark(first), *values[1:], mark(then)])
    within = len(rows) - misses
    share = within / len(rows)
    head = ["cell", "cc", "simulator, Mbit/s", "QUIC, Mbit/s", "largest difference, % of the link"]
    text = (
        f"{within} of {len(rows)} cells ({100 * share:.0f} %) are within {100 * WITHIN:.0f} % of the link's rate; the target is "
        f"{100 * CELLS_WITHIN:.0f} %. {options.seeds} seeds, means. A cell counts if the goodput of every connection does, that of "
        f"plain TCP flows, too. QUIC's headers and frames take {100 * mean(overhead):.1f} % of its IP bytes.\n\n" + markdown(head, rows)
    )
    if apart:
        explained = sum("(!)" not in row[-1] for row in apart)
        head = ["cell", "cc", "%", "simulator, acks", "%", "simulator, acks and jitter", "QUIC, jitter", "%"]
        text += (
            f"\n\nThose that differ by more, with the same seeds: as above; beside the simulator with the acknowledgements of all "
            f"subflows on the first path (acks); and with {JITTER} of jitter on the links of both (jitter). {explained} of the "
            f"{len(apart)} are within {100 * WITHIN:.0f} % then. Mbit/s and % of the link.\n\n" + markdown(head, apart)
        )
    return text, share >= CELLS_WITHIN


@contextlib.contextmanager
def networks(rates: list[float]):
    """Client and server, and between them a router with a link of each rate to the client. Rates count IP bytes.

    The router shapes: a kernel's TCP limits its own queue (TCP small queues)."""
    client, router, server = names = [f"quic-{os.getpid()}-{end}" for end in "crs"]

    def ip(*arguments: str) -> None:
        subprocess.run(["ip", *arguments], check=True)

    def link(one: str, other: str, device: str) -> None:
        ip("link", "add", device, "netns", one, "type", "veth", "peer", "name", device, "netns", other)
        for name in (one, other):
            # Disables segmentation offload: no bursts of 64 kB.
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
            # The kernel counts Ethernet's 14 bytes, too.
            shaper = ["rate", f"{int(rate * 1e6 * 1514 / 1500)}bit", "burst", "3100", "limit", str(QUEUE_BYTES)]
            subprocess.run(["tc", "-n", router, "qdisc", "add", "dev", far, "root", "tbf", *shaper], check=True)
        yield client, server
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


def within(name: str, *command: str, **options) -> subprocess.Popen:
    return subprocess.Popen(["ip", "netns", "exec", name, *command], stdout=subprocess.PIPE, text=True, **options)


def transfer(names: tuple[str, str], spec: str, nets: list[int], seconds: float, tcp: bool) -> tuple[list[float], float]:
    """Mbit/s of IP bytes on each path, and of an optional TCP CUBIC flow on the first link."""
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
    """Sends with the kernel's CUBIC to each client."""
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
    """Real sockets, and the same scenarios on both backends."""
    if os.geteuid() != 0:
        sys.exit("bench/quic.py sockets makes network namespaces: run it as root")
    backends = ["sim", "lab", "quic"] if options.lab else ["sim", "quic"]
    specs = options.cc.split(",")
    kept = Path(options.keep) / "sockets.json" if options.keep else None
    measured = json.loads(kept.read_text()) if kept and kept.exists() else {}

    def transfers(rates: list[float], spec: str, nets: list[int], tcp: bool) -> list[tuple[list[float], float]]:
        title = f"{' and '.join(map(str, rates))} Mbit/s, {spec}, {options.seconds:g} s"
        found = measured.setdefault(title, [])
        with networks(rates) as names:
            while len(found) < options.runs:
                print(f"{title}: run {len(found) + 1}", file=sys.stderr)
                found.append(transfer(names, spec, nets, options.seconds, tcp))
                if kept:
                    kept.parent.mkdir(parents=True, exist_ok=True)
                    kept.write_text(json.dumps(measured))
        return found[: options.runs]

    used = [[paths[0] / 20, paths[1] / 10] for paths, _ in transfers([20, 10], "cubic", [0, 2], tcp=False)]
    shares = [[100 * run[path] for run in used] for path in (0, 1)]
    shared = {}
    for spec in specs:
        pairs = [(sum(paths), tcp) for paths, tcp in transfers([20], spec, [0, 1], tcp=True)]
        shared[spec] = [100 * own / (own + tcp) for own, tcp in pairs]

    apart = [["real sockets", *[spread(share) for share in shares]]]
    rows = {spec: [spec + (", uncoupled" if spec == "cubic" else ""), spread(shared[spec])] for spec in specs}
    # The lab's guest must not wait; the simulation may.
    found = {}
    for backend in sorted(backends):
        if backend != "lab" and os.nice(0) < 10:
            os.nice(10 - os.nice(0))
        run = lambda scenario, cc: simulated(options, scenario, backend, "--backend", backend, "--seeds", str(options.runs), "--cc", cc)
        found[backend] = run("quic-apart", "cubic"), run("quic-shared", ",".join(specs))
    for backend in backends:
        runs, runs_shared = found[backend]
        of = lambda n, rate: [100 * run["connections"][0]["subflows"][n]["throughput_bps"] / rate for run in runs]
        apart.append([f"backend {backend}", spread(of(0, 20e6)), spread(of(1, 10e6))])
        for spec in specs:
            rates = [[of["throughput_bps"] for of in run["connections"]] for run in runs_shared if run["cc"] == spec]
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
    """Instructions executed by a program in user space, exactly (callgrind), and its output."""
    valgrind = harness.find("valgrind", "apt install valgrind")
    with tempfile.TemporaryDirectory() as folder:
        tool = [valgrind, "--tool=callgrind", f"--callgrind-out-file={folder}/out", *arguments]
        done = subprocess.run([*tool, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        counted = re.search(r"Collected : (\d+)", done.stderr)
        if done.returncode != 0 or counted is None:
            sys.exit(f"{' '.join(tool + command)}: exit {done.returncode}\n{done.stderr}")
        return int(counted[1]), done.stdout


# The controller's functions, from either implementation.
CONTROLLER = "--toggle-collect=<* as noq_proto::congestion::Controller>::*"


def cost(options: argparse.Namespace) -> tuple[str, bool]:
    """Coupling compared with the stack's CUBIC: instructions of a transfer, and the controller's part of them."""
    every: dict[str, list[float]] = {}
    inside: dict[str, list[float]] = {}
    specs = options.cc.split(",")
    for run in range(options.runs):
        for spec in ("own", *specs):
            print(f"{spec}: run {run + 1}", file=sys.stderr)
            for found, arguments in ((every, []), (inside, [CONTROLLER])):
                few, many = (instructions([str(MEASURE), "loopback", spec, size], *arguments) for size in ("1", "11"))
                packets = [sum(json.loads(printed)["ip_bytes"]) / 1500 for _, printed in (few, many)]
                found.setdefault(spec, []).append((many[0] - few[0]) / (packets[1] - packets[0]))
    own, own_inside = (statistics.median(found["own"]) for found in (every, inside))
    share = lambda value: f"{100 * value / own:+.2f}"
    rows, within = [], True
    for spec in ("own", *specs):
        calls, values = statistics.median(inside[spec]), every[spec]
        within = within and calls - own_inside <= 0.01 * own
        spread = f"{share(min(values) - own)} to {share(max(values) - own)}"
        rows.append([spec, f"{calls:.0f}", share(calls - own_inside), f"{statistics.median(values):.0f}", spread])
    text = (
        f"Instructions in user space of 10 MB over two paths on loopback, both ends in one process, per 1500 bytes of IP packets "
        f"(callgrind), median of {options.runs} runs: those within the controller's calls, how many more these are than with the stack's own "
        "CUBIC, in % of the whole transfer, and those of the whole transfer. The target is 1 %.\n\n"
        + markdown(["cc", "in the controller", "more, %", "in all", "more, %, smallest to largest"], rows)
    )
    return text, within


def cpu(options: argparse.Namespace) -> tuple[str, bool]:
    """Pairs of transfers, one of them with the stack's CUBIC: CPU time of the process."""
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
    # Commands that `sockets` runs within the namespaces.
    if sys.argv[1:2] == ["tcp-send"]:
        tcp_send(sys.argv[2])
        return 0
    if sys.argv[1:2] == ["tcp-receive"]:
        tcp_receive(sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--write", action="store_true", help="also write the table into target/quic.md")
    parser.add_argument("--seeds", type=int, default=3, help="cells: seeds of each (default 3)")
    parser.add_argument("--keep", metavar="DIR", help="cells, sockets: keep all results there; the same command goes on with what is missing")
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
