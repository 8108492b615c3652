# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sweeps: on this machine, or on a Dask cluster."""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from braid import _braid
from braid._progress import Progress, shown
from braid._results import Results
from braid._scenario import Scenario

if TYPE_CHECKING:
    from braid.plot import Plots

#: Keeps every worker busy while results and the next tasks are on their way.
TASKS_PER_THREAD = 3
#: Runs are sent together until a task takes this long: what a task costs Dask is then little beside it.
TASK_S = 1.0
MOST_RUNS_PER_TASK = 64


class Sweep:
    """The folder of a sweep: partitioned Parquet, one table each for `runs`, `flows`, `links` and `periods`.

    Read with `polars`, or else `pyarrow`.
    """

    def __init__(self, folder: str | Path, summary: str = "") -> None:
        self.folder = Path(folder)
        self.summary = summary

    def table(self, name: str) -> Any:
        """The table of that name, as a table of polars or pyarrow."""
        files = self.folder / name
        try:
            import polars
        except ImportError:
            from pyarrow.dataset import dataset

            return dataset(files, format="parquet").to_table()
        return polars.read_parquet(str(files / "**" / "*.parquet"), hive_partitioning=False)

    @property
    def runs(self) -> Any:
        """A row for each run."""
        return self.table("runs")

    @property
    def flows(self) -> Any:
        """A row for each subflow, and for each TCP connection."""
        return self.table("flows")

    @property
    def links(self) -> Any:
        """A row for each direction of a link."""
        return self.table("links")

    @cached_property
    def results(self) -> Results:
        """The runs with their statistics over seeds."""
        return Results(_braid.open(self.folder, {}))

    @property
    def plot(self) -> Plots:
        """Plots, such as `sweep.plot.sweep(x="rate")`."""
        return self.results.plot

    def report(self, path: str | Path, x: str, y: str = "goodput_bps", **how: Any) -> Path:
        """Writes an HTML report: the swept parameter with a line and a band for each algorithm, and the numbers below."""
        from braid.plot import page

        return page(self, Path(path), x, y, **how)

    def __repr__(self) -> str:
        return f"<braid.Sweep {self.folder}: {self.summary.splitlines()[0] if self.summary else 'results'}>"


def sweep(
    grid: str | Path | Mapping[str, Any],
    out: str | Path,
    *,
    client: Any = None,
    jobs: int | None = None,
    time_limit: float = 30.0,
    progress: bool | Progress | None = None,
) -> Sweep:
    """Runs a grid or a sample of parameters, as `braid sweep` does, and stores everything in a folder.

    grid: a file (see `docs/sweeps.md`), or a dictionary of the same form, which may contain `Scenario`s.
    out: the folder. The same call continues an interrupted sweep.
    client: a `distributed.Client`, or the address of a scheduler: its workers then execute the runs, and need only
        this package. The results are the same bytes.
    jobs, time_limit, progress: as for `run`.

    >>> import tempfile
    >>> grid = {
    ...     "scenarios": ["everyday/shared"],
    ...     "cc": ["lia", "cubic"],
    ...     "set": ["duration=12s"],
    ...     "parameters": {"rate": {"set": "link.line.rate", "values": ["10mbit", "50mbit"]}},
    ... }
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = sweep(grid, folder)
    ...     print(done.summary.strip(), len(done.runs))
    4 runs, 0 failed 4
    """
    name, text, scenarios = _read(grid)
    inner = _braid.Sweep(name, text, scenarios, Path(out))
    complete = inner.complete()
    if complete is not None:
        return Sweep(out, complete)
    if client is not None:
        with shown(progress) as tell, _client(client) as connected:
            _on_dask(inner, connected, time_limit, tell)
        # All runs are stored, only the tables remain to be written.
        progress = False
    with shown(progress) as tell:
        summary, _ = inner.run(jobs, time_limit, tell)
    return Sweep(out, summary)


def _read(grid: str | Path | Mapping[str, Any]) -> tuple[str, str, dict[str, str]]:
    if not isinstance(grid, Mapping):
        try:
            return str(grid), Path(grid).read_text(), {}
        except OSError as error:
            raise _braid.Error(f"cannot read {grid}: {error.strerror}") from None
    content = dict(grid)
    scenarios = {}
    for scenario in content.get("scenarios", []):
        if isinstance(scenario, Scenario):
            scenarios[scenario.name] = scenario.toml
    content["scenarios"] = [getattr(one, "name", one) for one in content.get("scenarios", [])]
    return "grid", _braid.toml_of_json(json.dumps(content)), scenarios


class _client:
    """A client; closes it at the end if it was created here."""

    def __init__(self, client: Any) -> None:
        self.given = client
        self.own: Any = None

    def __enter__(self) -> Any:
        if not isinstance(self.given, str):
            return self.given
        from distributed import Client

        self.own = Client(self.given, set_as_default=False)
        return self.own

    def __exit__(self, *_: object) -> None:
        if self.own is not None:
            self.own.close()


def _on_dask(inner: _braid.Sweep, client: Any, time_limit: float, tell: Progress | None) -> None:
    """Executes the missing runs. A worker that dies costs only its current tasks: Dask gives them to other workers."""
    from distributed import as_completed

    # In a list: Dask would send each value of a dictionary separately.
    (bundle,) = client.scatter([inner.bundle], broadcast=True)
    missing = deque(inner.missing())
    total = len(inner)
    done = total - len(missing)
    at_once = 1
    pending = as_completed(loop=client.loop)
    work: Callable[..., Any] = _task

    def threads() -> int:
        return sum(client.nthreads().values()) or 1

    def send() -> None:
        numbers = [missing.popleft() for _ in range(min(at_once, len(missing)))]
        pending.add(client.submit(work, bundle, numbers, time_limit, pure=False, retries=2))

    try:
        for _ in range(TASKS_PER_THREAD * threads()):
            if missing:
                send()
        for future in pending:
            runs, seconds = future.result()
            inner.keep(runs)
            done += len(runs)
            future.release()
            if tell is not None:
                tell(done, total, done / total)
            at_once = max(1, min(MOST_RUNS_PER_TASK, int(TASK_S / max(seconds / len(runs), 1e-4))))
            # Smaller batches towards the end, so that all workers end at about the same time.
            at_once = max(1, min(at_once, len(missing) // (TASKS_PER_THREAD * threads()) or 1))
            while missing and pending.count() < TASKS_PER_THREAD * threads():
                send()
    finally:
        inner.settle()
        client.cancel(list(pending.futures))


def _task(bundle: dict[str, Any], numbers: list[int], time_limit: float) -> tuple[list[Any], float]:
    started = time.perf_counter()
    runs = _braid.do_runs(bundle, numbers, time_limit)
    return runs, time.perf_counter() - started
