# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""`braid.run`."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from braid import _braid
from braid._algorithm import Control, files, specs
from braid._progress import Progress, shown
from braid._results import Results
from braid._scenario import Scenario, Values, assignments, source

Backend = Literal["sim", "lab", "host"]


def seeds_text(seeds: int | range | str) -> str:
    """As on the command line.

    >>> seeds_text(10), seeds_text(range(3, 8)), seeds_text("3..7")
    ('10', '3..7', '3..7')
    """
    if isinstance(seeds, range):
        if seeds.step != 1 or not len(seeds):
            raise ValueError(f"seeds follow each other, such as range(1, 11), not {seeds}")
        return f"{seeds[0]}..{seeds[-1]}"
    return str(seeds)


def run(
    scenario: str | Path | Scenario | Iterable[str | Path | Scenario],
    cc: Control | Iterable[Control] | None = None,
    scheduler: str | Iterable[str] | None = None,
    seeds: int | range | str = 1,
    set: Values = None,
    backend: Backend = "sim",
    *,
    samples: bool = False,
    jobs: int | None = None,
    time_limit: float = 30.0,
    progress: bool | Progress | None = None,
) -> Results:
    """Runs scenarios with every congestion control, scheduler and seed, and gives the results.

    scenario: names of built-in scenarios, paths, or `Scenario`s; one or several.
    cc: one or several of `NAME[:key=value]...` and subclasses of `Algorithm`; by default those that the scenario names.
    scheduler: packet schedulers of MPTCP connections, such as "minrtt".
    seeds: 10 means 1 to 10; a range, or "3..7" as on the command line.
    set: changes values of the scenarios, {"link.line.rate": "20mbit"}; a list gives a parameter its values.
    backend: "sim", or "lab" and "host", for which the program `braid` has to be installed.
    samples: keeps window, RTT, bytes and queues every 100 ms: `results.samples`, `results.queues`.
    jobs: runs at the same time; the results do not depend on it. By default one for each processor.
    time_limit: seconds without progress after which a run with a C file of your own is given up.
    progress: a bar (by default on a terminal and in a notebook), none, or what is called with (done, total, share).

    Same arguments, same results to the last bit. Ctrl-C ends it at once.

    >>> results = run("d-olia/1", cc="lia,olia", seeds=2, set={"duration": "20s"}, samples=True)
    >>> results
    <braid.Results of 4 runs: d-olia/1 with lia, olia>
    >>> len(results.samples) > 100
    True
    """
    scenarios = [scenario] if isinstance(scenario, (str, Path, Scenario)) else list(scenario)
    schedulers = [scheduler] if isinstance(scheduler, str) else list(scheduler or [])
    asked: dict[str, Any] = {
        "scenarios": [source(one) for one in scenarios],
        "cc": specs(cc),
        "schedulers": schedulers,
        "seeds": seeds_text(seeds),
        "set": assignments(set),
    }
    with shown(progress) as tell:
        if backend == "sim":
            return Results(_braid.run(asked, samples, jobs, time_limit, tell), asked)
    if backend not in ("lab", "host"):
        raise ValueError(f"no backend is called {backend!r}: there are 'sim', 'lab' and 'host'")
    return _by_program(asked, backend, samples, jobs)


def open(folder: str | Path) -> Results:  # noqa: A001
    """The results in a folder that `braid run`, `compare`, `repro` or `sweep` wrote with `--out`. Nothing is run."""
    return Results(_braid.open(Path(folder), {}))


def program() -> str:
    """The installed `braid`, or what the variable BRAID names."""
    found = os.environ.get("BRAID") or shutil.which("braid")
    if found is None:
        raise _missing()
    return found


def _missing() -> _braid.Error:
    message = "backend 'lab' and 'host' need the program braid, which is not installed"
    hint = "install Braid's package, or name the program in the variable BRAID; backend='sim' needs nothing"
    error = _braid.Error(f"{message}\n  hint: {hint}")
    error.message, error.place, error.hint = message, None, hint
    return error


def _by_program(asked: dict[str, Any], backend: str, samples: bool, jobs: int | None) -> Results:
    braid = program()
    with tempfile.TemporaryDirectory() as folder:
        words = [braid, "run"]
        names = {}
        for number, (name, text) in enumerate(asked["scenarios"]):
            if name in dict(_braid.names()):
                words.append(name)
                continue
            path = Path(folder) / f"{number}.toml" if not Path(name).exists() else Path(name)
            if not path.exists():
                path.write_text(text)
            names[str(path)] = name
            words.append(str(path))
        if asked["cc"]:
            words += ["--cc", ",".join(asked["cc"])]
            for name in dict.fromkeys(spec.split(":")[0] for spec in asked["cc"]):
                if name in files:
                    words += ["--algorithm", str(files[name])]
        if len(asked["schedulers"]) > 1:
            raise ValueError("one scheduler at a time with backend 'lab' and 'host'")
        for scheduler in asked["schedulers"]:
            words += ["--scheduler", scheduler]
        for assignment in asked["set"]:
            words += ["--set", assignment]
        out = Path(folder) / "out"
        words += ["--seeds", asked["seeds"], "--backend", backend, "--out", str(out)]
        if samples:
            words.append("--samples")
        if jobs is not None:
            words += ["--jobs", str(jobs)]
        done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        try:
            return Results(_braid.open(out, names), asked)
        except _braid.Error:
            raise _braid.Error(done.stderr.strip() or f"{braid} ended with {done.returncode}") from None
