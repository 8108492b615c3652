#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sweeps, Dask, Python and user algorithms: their costs, and that they do not change results.

    bench/sweeps.py cores      100 scenarios x 10 algorithms x 10 seeds on one core and on two; then killed five times
    bench/sweeps.py dask       the same through Dask with two workers: overhead, and what a killed worker costs
    bench/sweeps.py python     braid.run against the program; a million samples to polars
    bench/sweeps.py own        an algorithm from outside the tree against the same file in it
    bench/sweeps.py            all of them, one after the other

`--small` does a hundredth of the runs, as a test: results count, times do not. Two variants run alternately, so that a
busy machine slows both alike; medians of the rounds count. `dask` and `python` need the package in the Python that runs
this, built with `scripts/python --wheel` (`pip install target/wheels/*.whl 'distributed>=2023.1' polars`). Exits with 1
if a bound is broken."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import harness

TEN = ["lia", "olia", "balia", "ewtcp", "cubic", "reno", "semicoup", "wvegas", "mpcubic", "bampcubic"]
ROOT = harness.BENCH.parent
#: Packets, and so processor time, go with the rate: a run of the sweep takes some 10 ms, one for Dask 100 ms.
LIGHT, HEAVY = 1, 20

broken: list[str] = []


def bound(what: str, holds: bool) -> None:
    if not holds:
        broken.append(what)


def grid(scenarios: int, algorithms: list[str], seeds: int, heavy: int) -> str:
    """Scenarios of different rates and round-trip times, with about the same cost."""
    side = round(scenarios**0.5)
    rates = [f'"{heavy * (3.1 + 0.2 * i):.4g}mbit"' for i in range(side)]
    rtts = [f'"{20 + 12 * i}ms"' for i in range(side)]
    return "\n".join([
        f'scenarios = ["{harness.SCENARIOS / "sweep.toml"}"]',
        f"cc = {json.dumps(algorithms)}",
        f"seeds = {seeds}",
        f'set = ["link.wifi.rate={heavy * 4}mbit"]',
        "[parameters.rate]", 'set = "link.cell.rate"', f"values = [{', '.join(rates)}]",
        "[parameters.rtt]", 'set = "link.cell.rtt"', f"values = [{', '.join(rtts)}]",
    ])  # fmt: skip


def content(folder: Path) -> dict[str, str]:
    """Every file, with the hash of its bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def finish(command: list[str], **how: Any) -> tuple[float, float, float]:
    """Runs a program to its end; wall time, processor time, peak memory in MB."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, **how)
    _, status, usage = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{' '.join(command)}: exit {status}")
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cores(folder: Path, small: bool) -> None:
    file = folder / "grid.toml"
    file.write_text(grid(4 if small else 100, TEN[:5] if small else TEN, 5 if small else 10, LIGHT))
    runs = 100 if small else 10_000
    command = [harness.braid_binary(), "sweep", str(file), "--quiet", "--out"]
    wall: dict[int, list[float]] = {1: [], 2: []}
    cpu: dict[int, list[float]] = {1: [], 2: []}
    memory = {1: 0.0, 2: 0.0}
    for round_ in range(3):
        for jobs in (1, 2) if round_ % 2 == 0 else (2, 1):
            print(f"cores: round {round_ + 1}, {jobs}", file=sys.stderr)
            out = folder / f"{jobs}-{round_}"
            took, own, peak = finish([*command, str(out), "--jobs", str(jobs)])
            wall[jobs].append(took)
            cpu[jobs].append(own)
            memory[jobs] = max(memory[jobs], peak)
            if out != folder / "1-0":
                bound(f"{jobs} at a time: another dataset", content(out) == content(folder / "1-0"))
    rows = [
        [f"{jobs}", f"{runs}", f"{statistics.median(wall[jobs]):.1f}", f"{runs / statistics.median(wall[jobs]):.0f}",
         f"{1000 * statistics.median(cpu[jobs]) / runs:.2f}", f"{memory[jobs]:.0f}"]
        for jobs in (1, 2)
    ]  # fmt: skip
    harness.table(["cores", "runs", "s", "runs/s", "CPU ms/run", "peak MB"], rows)
    faster = statistics.median(one / two for one, two in zip(wall[1], wall[2], strict=True))
    print(f"two cores against one: {faster:.2f} times as fast")
    bound(f"two cores are {faster:.2f} times as fast as one, wanted 1.9", small or faster >= 1.9)
    print(f"killed at {killed(command, folder, statistics.median(wall[2]))} of the runs, then finished: the same bytes")
    bound("killed and resumed: another dataset", content(folder / "killed") == content(folder / "1-0"))


def killed(command: list[str], folder: Path, whole: float) -> str:
    """Kills a sweep five times at random times, and then lets it end. Returns the number of runs at each kill."""
    out = folder / "killed"
    # Different times in each execution.
    chance, shares, total = random.Random(), [], None
    for _ in range(5):
        process = subprocess.Popen([*command, str(out), "--jobs", "2"], stdout=subprocess.DEVNULL)
        try:
            # At most a fifth of the whole each time, so that some work remains.
            process.wait(timeout=whole * chance.uniform(0.02, 0.2))
            shares.append("the end")
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            total = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
            shares.append(f"{total / 1e6:.1f} MB")
    finish([*command, str(out), "--jobs", "2"])
    return ", ".join(shares)


def python_of(program: str) -> Any:
    """The package in a release build."""
    try:
        import braid
    except ImportError:
        sys.exit(f"{program} needs the package: scripts/python --wheel, pip install target/wheels/*.whl; see above")
    return braid


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers, each a process with one thread."""
    from distributed import Client

    # Its profiler alone takes 2 % of a worker (docs/python.md).
    env = {**os.environ, "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False"}

    def start(what: str, *words: str) -> subprocess.Popen[bytes]:
        module = f"distributed.cli.dask_{what}"
        command = [sys.executable, "-m", module, "--scheduler-file", str(folder / "scheduler.json"), *words]
        log = (folder / f"{what}-{time.monotonic_ns()}.log").open("wb")
        return subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=env)

    folder.mkdir()
    processes = [start("scheduler", "--port", "0", "--no-dashboard")]
    for _ in range(workers):
        processes.append(
            start("worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder))
        )
    try:
        with Client(scheduler_file=str(folder / "scheduler.json"), timeout="120s") as client:
            client.wait_for_workers(workers, timeout=120)
            yield client.scheduler.address, processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def dask(folder: Path, small: bool) -> None:
    braid = python_of("dask")
    from distributed import Client

    file = folder / "grid.toml"
    file.write_text(grid(4 if small else 9, TEN[:2] if small else TEN, 4 if small else 10, HEAVY))
    runs = 32 if small else 900
    local, through, each = [], [], []
    with cluster(folder / "cluster", 2) as (address, _):
        for round_ in range(2 if small else 5):
            print(f"dask: round {round_ + 1}", file=sys.stderr)
            ways: list[tuple[list[float], Callable[[Path], Any]]] = [
                (local, lambda out: braid.sweep(file, out, jobs=2, progress=False)),
                (through, lambda out: braid.sweep(file, out, client=address, progress=False)),
            ]
            for number, (times, way) in list(enumerate(ways))[:: 1 if round_ % 2 == 0 else -1]:
                out = folder / f"{number}-{round_}"
                begun = time.perf_counter()
                way(out)
                times.append(time.perf_counter() - begun)
                if out != folder / "0-0":
                    same = not (folder / "0-0").exists() or content(out) == content(folder / "0-0")
                    bound(f"{'Dask' if number else 'here'}: another dataset", same)
        each = [1000 * 2 * took / runs for took in local]
    over = statistics.median(b / a - 1 for a, b in zip(local, through, strict=True))
    harness.table(
        ["", "runs", "s", "ms of a worker for each run"],
        [["two threads", f"{runs}", f"{statistics.median(local):.2f}", f"{statistics.median(each):.1f}"],
         ["two workers", f"{runs}", f"{statistics.median(through):.2f}",
          f"{1000 * 2 * statistics.median(through) / runs:.1f}"]],
    )  # fmt: skip
    print(f"overhead of Dask: {100 * over:.1f} %")
    bound(f"Dask costs {100 * over:.1f} %, wanted 5", small or over < 0.05)

    # A new cluster; one of its workers is killed during the sweep. The runs log which of them began.
    book = folder / "book"
    os.environ["BRAID_BENCH_BOOK"] = str(book)
    with cluster(folder / "second", 2) as (address, processes):

        def kill(done: int, total: int, share: float) -> None:
            if share > 0.4 and processes[-1].poll() is None:
                processes[-1].send_signal(signal.SIGKILL)

        import braid._sweep as inner

        plain, inner._task = inner._task, noting
        with Client(address) as client:
            braid.sweep(file, folder / "hurt", client=client, progress=kill)
        inner._task = plain
    lines = [line.split() for line in book.read_text().splitlines()]
    begun = Counter(number for what, pid, task, numbers in lines if what == "begun" for number in numbers.split(","))
    ended = {task for what, pid, task, _ in lines if what == "ended"}
    lost = [numbers for what, pid, task, numbers in lines if what == "begun" and task not in ended]
    again = sum(count - 1 for count in begun.values())
    at_it = sum(len(numbers.split(",")) for numbers in lost)
    print(f"a worker killed at 40 %: {len(lost)} task of {at_it} runs was cut short; {again} runs were done twice")
    bound("a killed worker: another dataset", content(folder / "hurt") == content(folder / "0-0"))
    bound(f"{len(lost)} tasks were cut short, wanted one at most", len(lost) <= 1)
    # Besides the interrupted task, runs that were done but not yet fetched.
    bound(f"{again} runs were done twice, {at_it} of them cut short", again <= at_it + inner.MOST_RUNS_PER_TASK)


def noting(bundle: dict[str, Any], numbers: list[int], time_limit: float) -> Any:
    """A task that logs its begin and end."""
    import os
    import time
    import uuid

    from braid import _braid

    own, started = uuid.uuid4().hex, time.perf_counter()

    def note(what: str) -> None:
        line = f"{what} {os.getpid()} {own} {','.join(map(str, numbers))}\n"
        file = os.open(os.environ["BRAID_BENCH_BOOK"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(file, line.encode())
        os.close(file)

    note("begun")
    runs = _braid.do_runs(bundle, numbers, time_limit)
    note("ended")
    return runs, time.perf_counter() - started


def python(folder: Path, small: bool) -> None:
    braid = python_of("python")
    file = harness.SCENARIOS / "sweep.toml"
    seeds = 4 if small else 100
    binary = harness.braid_binary()
    times: dict[str, list[float]] = {"program": [], "package": []}
    words = [binary, "run", str(file), "--cc", "lia,olia", "--seeds", str(seeds), "--jobs", "1", "--format", "json",
             "--quiet"]  # fmt: skip
    for round_ in range(3 if small else 15):
        print(f"python: round {round_ + 1}", file=sys.stderr)
        for which in ("program", "package") if round_ % 2 == 0 else ("package", "program"):
            if which == "program":
                times[which].append(finish(words)[1])
            else:
                before = time.process_time()
                results = braid.run(file, cc="lia,olia", seeds=seeds, jobs=1, progress=False)
                times[which].append(time.process_time() - before)
    over = statistics.median(b / a - 1 for a, b in zip(times["program"], times["package"], strict=True))
    rows = [[which, f"{2 * seeds}", f"{statistics.median(own):.3f}"] for which, own in times.items()]
    harness.table(["", "runs", "CPU s"], rows)
    print(f"braid.run costs {100 * over:+.1f} % (rounds: {spread(times)}), the start of Python not counted")
    bound(f"braid.run costs {100 * over:.1f} %, wanted 5", small or over <= 0.05)
    said = json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout)["runs"]
    bound("braid.run: other results", [run["connections"] for run in said] == [run["connections"] for run in results.documents])

    import polars

    seconds = 60 if small else 600
    runs = 4 if small else 56
    results = braid.run(file, cc="lia", seeds=runs, samples=True, progress=False, set={"duration": f"{seconds}s"})
    table, took = results.samples, []
    for _ in range(11):
        begun = time.perf_counter()
        frame = polars.DataFrame(table)
        took.append(time.perf_counter() - begun)
    begun = time.perf_counter()
    again = polars.DataFrame(results.samples)
    first = time.perf_counter() - begun
    print(f"{len(frame):,} samples to polars: {1000 * statistics.median(took):.2f} ms, with the table made anew {1000 * first:.1f} ms")
    bound(f"samples take {1000 * statistics.median(took):.0f} ms, wanted 50", small or statistics.median(took) < 0.05)
    bound("fewer than a million samples", small or len(again) >= 1_000_000)


def spread(times: dict[str, list[float]]) -> str:
    first, second = times.values()
    ratios = sorted(b / a - 1 for a, b in zip(first, second, strict=True))
    return f"{100 * ratios[0]:+.1f} to {100 * ratios[-1]:+.1f}"


def own(folder: Path, small: bool) -> None:
    """The same file twice, built in and as a user algorithm under another name. Runs only, without the compiler."""
    rows = []
    for name, heavy in (("reno", HEAVY), ("olia", HEAVY), ("cubic", HEAVY), ("olia", LIGHT)):
        text = (ROOT / "algorithms" / f"{name}.c").read_text()
        other = f"{name[:4]}own"
        # Names that the contract derives from the algorithm's; included headers keep theirs.
        text = re.sub(rf"\b{name}_(params|public|private)\b", rf"{other}_\1", text)
        text = re.sub(rf"\b(BRAID_PARAMS|BRAID_ALGORITHM)\({name}\b", rf"\1({other}", text)
        file = folder / f"{other}.c"
        file.write_text(text)
        seeds = 2 if small else 800 // heavy
        words = [harness.braid_binary(), "run", str(harness.SCENARIOS / "sweep.toml"), "--set",
                 f"link.wifi.rate={4 * heavy}mbit", "--set", f"link.cell.rate={4 * heavy}mbit", "--format", "json",
                 "--seeds", str(seeds), "--jobs", "1", "--quiet", "--algorithm", str(file)]  # fmt: skip
        # Both variants' cost before the first run, including the C compiler.
        start = statistics.median(finish([*words, "--cc", name, "--dry-run"])[1] for _ in range(5))
        times: dict[str, list[float]] = {name: [], other: []}
        for round_ in range(2 if small else 15):
            print(f"own: {name}, round {round_ + 1}", file=sys.stderr)
            for which in (name, other) if round_ % 2 == 0 else (other, name):
                times[which].append(finish([*words, "--cc", which])[1] - start)
        said = {which: subprocess.run([*words, "--cc", which], stdout=subprocess.PIPE, check=True).stdout for which in times}
        results = {which: json.loads(text.replace(other.encode(), name.encode()))["runs"] for which, text in said.items()}
        bound(f"{name} from outside: other results", results[name] == results[other])
        over = statistics.median(b / a - 1 for a, b in zip(times[name], times[other], strict=True))
        each = 1000 * statistics.median(times[name]) / seeds
        rows.append([name, f"{each:.1f}", f"{100 * over:+.1f}", spread(times)])
        bound(f"{name} from outside costs {100 * over:.1f} %, wanted 5", small or over <= 0.05 or heavy == LIGHT)
    harness.table(["", "CPU ms/run", "outside costs %", "rounds"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts: dict[str, Callable[[Path, bool], None]] = {"cores": cores, "dask": dask, "python": python, "own": own}
    parser.add_argument("parts", nargs="*", choices=[*parts, []], help="which; all by default")
    parser.add_argument("--small", action="store_true", help="a hundredth of the runs; times do not count")
    options = parser.parse_args()
    for name in options.parts or parts:
        with tempfile.TemporaryDirectory() as folder:
            parts[name](Path(folder), options.small)
        print(flush=True)
    for line in broken:
        print(line)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
