#!/usr/bin/env python3
"""Costs of the algorithms in the kernel: time per ACK compared with a bare BPF Reno, and throughput compared with the
kernel's reno.

    sudo bench/kernel/cost.py acks [--rounds 20] [--seconds 0.5] [--subflows 1,2,4,8] [--algorithms lia,olia,...]
    sudo bench/kernel/cost.py throughput [--rounds 200] [--seconds 0.25]
    sudo bench/kernel/cost.py throughput --slices 20 [--rounds 30] [--seconds 0.1]

`acks` sums the run time of all hooks (BPF statistics, switched on for the measurement) and divides it by the
algorithm's ACKs; for the bare Reno by the calls of its cong_avoid. A round runs each algorithm once, so that a
disturbance affects all of them. Prints median and quartiles over rounds, and the median difference from the bare Reno
of the same round. Exit code 1 if LIA, OLIA or BALIA with two subflows need more than bare Reno + 250 ns and more than
three times it. `throughput` sends over one veth pair, in each round over a connection of the kernel's reno and one of
braid_reno in alternating order, client and server on a CPU each; with `--slices` over one connection that changes
between the two that many times. Exit code 1 if the lower 95 % bound of the ratio's mean is under 0.98. A busy machine
makes both results worse.

Needs root, clang, bpftool, and a release build of braid (or BRAID=FILE).
"""

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BRAID = Path(os.environ.get("BRAID", ROOT / "target/release/braid"))
STATISTICS = Path("/proc/sys/kernel/bpf_stats_enabled")
PORT = 5900
WINDOW = 32
# Student's t, one-sided 95 %, by degrees of freedom; for values in between, the next smaller row is conservative.
STUDENT = {4: 2.132, 9: 1.833, 14: 1.761, 19: 1.729, 29: 1.699, 39: 1.685, 59: 1.671, 99: 1.660, 199: 1.653}


def run(*command: object, check: bool = True) -> str:
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if check and result.returncode:
        sys.exit(f"{' '.join(str(word) for word in command)}: {result.stderr.strip()}")
    return result.stdout


def on_cpu(which: int) -> list[str]:
    """Command prefix that pins a program to the first (0) or last (-1) CPU."""
    return ["taskset", "-c", str(sorted(os.sched_getaffinity(0))[which])]


class Network:
    """Client and server with `paths` paths between them (network.sh), and a server that takes data. With `window` every
    connection is in congestion avoidance with at most that many packets."""

    def __init__(self, paths: int, window: int = 0) -> None:
        script = f". {HERE}/network.sh; network {paths}; echo $client $server; read -r _"
        self.shell = subprocess.Popen(
            ["bash", "-euc", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        names = self.shell.stdout.readline().split()
        if len(names) != 2:
            sys.exit("the network namespaces could not be made; are you root?")
        self.client, self.server_name = names
        inside = [*on_cpu(-1), "ip", "netns", "exec", self.server_name]
        self.server = subprocess.Popen([*inside, sys.executable, HERE / "traffic.py", "serve", str(PORT)])
        deadline = time.monotonic() + 20
        while not run("ip", "netns", "exec", self.server_name, "ss", "-ltnH", f"sport = :{PORT}"):
            if time.monotonic() > deadline:
                sys.exit(f"nothing listens on port {PORT} after 20 s")
            time.sleep(0.05)
        if window:
            self.fill(paths, window)

    def fill(self, paths: int, window: int) -> None:
        """Congestion avoidance from the first packets on, and a window that is always full: the state of a transfer
        limited by a link. This network alone would show slow start, and then windows that are never full."""
        inside = ["ip", "netns", "exec", self.client]
        run(*inside, "sysctl", "-qw", "net.ipv4.tcp_no_ssthresh_metrics_save=0")
        for path in range(1, paths + 1):
            route = f"10.{path}.0.0/24 dev p{path} src 10.{path}.0.1 ssthresh lock {window // 2} cwnd lock {window}"
            run("ip", "-n", self.client, "route", "replace", *route.split())
            # The kernel stores its metrics of a destination when a connection ends.
            run(*inside, sys.executable, HERE / "traffic.py", "visit", f"10.{path}.0.2", PORT)

    def __enter__(self) -> "Network":
        return self

    def __exit__(self, *_: object) -> None:
        self.server.kill()
        self.server.wait()
        self.shell.communicate("\n")

    def send(self, seconds: float, cc: str, subflows: int) -> float:
        command = [*on_cpu(0), "ip", "netns", "exec", self.client]
        command += [sys.executable, HERE / "traffic.py", "send", "10.1.0.2", PORT]
        command += [seconds, "--cc", cc, "--subflows", subflows]
        if subflows:
            command.append("--mptcp")
        return float(run(*command))

    def pairs(self, count: int, seconds: float, names: list[str]) -> list[tuple[float, float]]:
        command = [*on_cpu(0), "ip", "netns", "exec", self.client]
        command += [sys.executable, HERE / "traffic.py", "pairs", "10.1.0.2", PORT]
        lines = run(*command, count, seconds, *names).splitlines()
        return [(float(ours), float(theirs)) for ours, theirs in (line.split() for line in lines)]

    def alternate(self, slices: int, seconds: float, names: list[str]) -> list[float]:
        command = [*on_cpu(0), "ip", "netns", "exec", self.client]
        command += [sys.executable, HERE / "traffic.py", "alternate", "10.1.0.2", PORT]
        return [float(word) for word in run(*command, slices, seconds, *names).split()]


def programs(prefix: str) -> dict[int, dict]:
    listed = json.loads(run("bpftool", "--json", "prog", "show"))
    return {
        program["id"]: program
        for program in listed
        if program["type"] == "struct_ops" and program.get("name", "").startswith(prefix)
    }


def spent(prefix: str, before: dict[int, dict]) -> tuple[int, dict[str, int]]:
    """Nanoseconds in all programs with that prefix since then, and calls by program."""
    nanoseconds, calls = 0, {}
    for number, program in programs(prefix).items():
        old = before.get(number, {})
        nanoseconds += program.get("run_time_ns", 0) - old.get("run_time_ns", 0)
        count = program.get("run_cnt", 0) - old.get("run_cnt", 0)
        calls[program["name"]] = calls.get(program["name"], 0) + count
    return nanoseconds, calls


def acks_of(name: str) -> int:
    status = json.loads(run(BRAID, "status", "--json"))
    return sum(sum(entry["acks_by_usable_subflows"]) for entry in status["loaded"] if entry["name"] == name)


def load_bare(folder: str) -> None:
    target = Path(folder) / "bare_reno.o"
    run(
        os.environ.get("BRAID_CLANG", "clang-19"), "-target", "bpf", "-mcpu=v3", "-g", "-O2", "-std=gnu11",
        "-ffreestanding", "-I", ROOT / "algorithms", "-I", ROOT / "kernel", "-c", HERE / "bare_reno.bpf.c",
        "-o", target,
    )  # fmt: skip
    # Removes the leftovers of a killed run.
    run("bpftool", "struct_ops", "unregister", "name", "bare_reno", check=False)
    run("bpftool", "struct_ops", "register", target)


def end(*_: object) -> None:
    """As on Ctrl-C: unloads the algorithms and switches the statistics off."""
    sys.exit(1)


def measure_acks(arguments: argparse.Namespace) -> int:
    algorithms = arguments.algorithms.split(",")
    before_statistics = STATISTICS.read_text()
    results: dict[tuple[str, int], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        try:
            load_bare(folder)
            STATISTICS.write_text("1")
            for subflows in (int(n) for n in arguments.subflows.split(",")):
                with Network(subflows, WINDOW) as network:
                    for number in range(arguments.rounds):
                        print(f"\r{subflows} subflows, round {number + 1} of {arguments.rounds} ", end="", file=sys.stderr)
                        before = programs("bare_")
                        network.send(arguments.seconds, "bare_reno", subflows)
                        nanoseconds, calls = spent("bare_", before)
                        results.setdefault(("bare reno", subflows), []).append(
                            nanoseconds / max(calls.get("bare_cong_avoid", 0), 1)
                        )
                        for algorithm in algorithms:
                            others = programs("braid_")
                            run(BRAID, "load", algorithm, "--as", "cost")
                            network.send(arguments.seconds, "braid_cost", subflows)
                            nanoseconds, _ = spent("braid_", others)
                            acks = acks_of("cost")
                            run(BRAID, "unload", "cost", "--force")
                            results.setdefault((algorithm, subflows), []).append(nanoseconds / max(acks, 1))
            print(file=sys.stderr)
        finally:
            STATISTICS.write_text(before_statistics)
            run(BRAID, "unload", "cost", "--force", check=False)
            run("bpftool", "struct_ops", "unregister", "name", "bare_reno", check=False)
    print(f"Linux {os.uname().release}, {arguments.rounds} rounds of {arguments.seconds} s; ns per ACK")
    print(f"{'algorithm':<10} {'subflows':>8} {'median':>8} {'quartiles':>13} {'times bare':>10} {'over bare':>10}")
    failed = []
    for (name, subflows), values in results.items():
        low, median, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
        bare = statistics.median(results["bare reno", subflows])
        over = statistics.median(map(float.__sub__, values, results["bare reno", subflows]))
        print(
            f"{name:<10} {subflows:>8} {median:>8.0f} {low:>6.0f} {high:>6.0f} {median / bare:>10.2f} {over:>10.0f}"
        )
        if name in ("lia", "olia", "balia") and subflows == 2 and median > max(bare + 250, 3 * bare):
            failed.append(name)
    for name in failed:
        print(f"{name} costs more with two subflows than bare Reno + 250 ns and more than three times it")
    return 1 if failed else 0


def measure_throughput(arguments: argparse.Namespace) -> int:
    ratios = []
    run(BRAID, "load", "reno", "--as", "cost")
    try:
        with Network(1) as network:
            if not arguments.slices:
                pairs = network.pairs(arguments.rounds, arguments.seconds or 0.25, ["braid_cost", "reno"])
                ratios = [ours / theirs for ours, theirs in pairs]
            for number in range(arguments.rounds if arguments.slices else 0):
                print(f"\rround {number + 1} of {arguments.rounds} ", end="", file=sys.stderr)
                order = ["reno", "braid_cost"] if number % 2 else ["braid_cost", "reno"]
                rates = network.alternate(arguments.slices, arguments.seconds or 0.1, order)
                rates = dict(zip(order, rates, strict=True))
                ratios.append(rates["braid_cost"] / rates["reno"])
    finally:
        run(BRAID, "unload", "cost", "--force", check=False)
    logarithms = [math.log(ratio) for ratio in ratios]
    freedom = max(degrees for degrees in STUDENT if degrees <= len(ratios) - 1)
    margin = STUDENT[freedom] * statistics.stdev(logarithms) / math.sqrt(len(logarithms))
    mean = statistics.mean(logarithms)
    low, middle = math.exp(mean - margin), math.exp(mean)
    what = f"connections, {arguments.slices} slices on each" if arguments.slices else "pairs of connections"
    print(f"Linux {os.uname().release}, {len(ratios)} {what}: braid_reno / reno")
    print(f"geometric mean {middle:.4f}, lower 95 % bound {low:.4f}, smallest {min(ratios):.3f}, largest {max(ratios):.3f}")
    return 0 if low >= 0.98 else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("acks")
    command.add_argument("--rounds", type=int, default=20)
    command.add_argument("--seconds", type=float, default=0.5)
    command.add_argument("--subflows", default="1,2,4,8")
    command.add_argument("--algorithms", default="reno,cubic,vegas,lia,olia,balia,dlia,dolia")
    command = commands.add_parser("throughput")
    command.add_argument("--rounds", type=int, default=200)
    command.add_argument("--slices", type=int, default=0)
    command.add_argument("--seconds", type=float)
    arguments = parser.parse_args()
    if arguments.command == "throughput" and arguments.rounds < 5:
        parser.error("at least 5 rounds")
    if not BRAID.exists():
        sys.exit(f"{BRAID} is missing: cargo build --release -p braid-cli")
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    return measure_acks(arguments) if arguments.command == "acks" else measure_throughput(arguments)


if __name__ == "__main__":
    sys.exit(main())
