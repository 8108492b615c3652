# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Helpers of the benchmarks: run programs, measure their CPU time, print tables."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
SCENARIOS = BENCH / "scenarios"
NS3_LIBRARIES = ["point-to-point", "applications", "internet", "traffic-control", "bridge", "network", "stats", "core"]


def find(program: str, remedy: str) -> str:
    path = shutil.which(program)
    if path is None:
        sys.exit(f"{program}: not found; {remedy}")
    return path


def braid_binary() -> str:
    """The release binary, or what BRAID names."""
    path = os.environ.get("BRAID", str(BENCH.parent / "target" / "release" / "braid"))
    if not os.access(path, os.X_OK):
        sys.exit(f"{path}: not found; run `cargo build --release`, or set BRAID to a binary")
    return path


def braid_command(scenario: str, *arguments: str, binary: str | None = None) -> list[str]:
    file = SCENARIOS / f"{scenario}.toml"
    target = str(file) if file.exists() else scenario
    return [binary or braid_binary(), "run", target, "--format", "json", "--quiet", *arguments]


def braid(scenario: str, *arguments: str, binary: str | None = None) -> list[dict]:
    """The runs of `braid run` on a scenario of this folder, or an embedded one."""
    command = braid_command(scenario, *arguments, binary=binary)
    done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit {done.returncode}")
    return json.loads(done.stdout)["runs"]


def braid_packets(runs: list[dict]) -> int:
    """Data segments delivered to the applications."""
    total = 0.0
    for run in runs:
        for connection in run["connections"]:
            mss = 1448 if connection["kind"] == "tcp" else 1420
            total += connection["goodput_bps"] * run["measured_s"] / 8 / mss
    return round(total)


@dataclass
class Usage:
    cpu: float  # user and system, seconds
    rss: int  # peak resident set, KiB
    own: int  # its anonymous part, KiB, sampled every 10 ms
    output: str


def measure(command: list[str]) -> Usage:
    """Runs a program to its end and measures its resources."""
    rss = own = 0
    with tempfile.TemporaryFile("w+") as output:
        with subprocess.Popen(command, stdout=output) as process:
            while True:
                # Not rusage's maximum: that includes this process's memory before the program started.
                seen = resident(process.pid)
                rss, own = max(rss, seen.get("VmHWM", 0)), max(own, seen.get("RssAnon", 0))
                ended, status, usage = os.wait4(process.pid, os.WNOHANG)
                if ended:
                    break
                time.sleep(0.01)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit {process.returncode}")
        output.seek(0)
        return Usage(usage.ru_utime + usage.ru_stime, rss, own, output.read())


def resident(pid: int) -> dict[str, int]:
    """Memory of a running process, KiB: its peak (VmHWM) and RssAnon; none once it has ended or before its exec."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return {}
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    if fields.get("Name", "").strip().startswith("python"):
        return {}
    return {name: int(fields[name].split()[0]) for name in ("VmHWM", "RssAnon") if name in fields}


def build_ns3(folder: Path, name: str) -> str:
    """Builds ns3/NAME.cc; the path of the binary."""
    binary = folder / f"ns3-{name}"
    source = BENCH / "ns3" / f"{name}.cc"
    libraries = [f"-lns3-{library}" for library in NS3_LIBRARIES]
    compiler = find("g++", "apt-get install g++")
    done = subprocess.run([compiler, "-std=c++17", "-O2", "-o", binary, source, *libraries], check=False)
    if done.returncode != 0:
        sys.exit(f"{source} does not build; apt-get install libns3-dev")
    return str(binary)


def json_line(text: str) -> dict:
    """The JSON line of a program's output."""
    return json.loads(next(line for line in text.splitlines() if line.startswith("{")))


def table(head: list[str], rows: list[list[str]]) -> None:
    """A table with the first column aligned left, the others right."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join(cells).rstrip())
