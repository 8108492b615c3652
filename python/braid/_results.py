# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Results of a study."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from braid import _braid
from braid._braid import Table

if TYPE_CHECKING:
    from braid.plot import Plots


class Results:
    """The runs of a study and their tables; `docs/results.md` explains every column.

    >>> import braid
    >>> results = braid.run("everyday/shared", cc="lia", set={"duration": "15s"})
    >>> results.flows.units["throughput_bps"]
    'bit/s'
    >>> results.runs["status"]
    ['ok']
    """

    def __init__(self, inner: _braid.Results, asked: Mapping[str, Any] | None = None) -> None:
        self._inner = inner
        self._asked = dict(asked or {})

    @property
    def runs(self) -> Table:
        """A row for each run."""
        return self._inner.table("runs")

    @property
    def flows(self) -> Table:
        """A row for each subflow, and for each TCP connection."""
        return self._inner.table("flows")

    @property
    def links(self) -> Table:
        """A row for each direction of a link."""
        return self._inner.table("links")

    @property
    def periods(self) -> Table:
        """A row for each period of the scenario and subflow."""
        return self._inner.table("periods")

    @property
    def detections(self) -> Table:
        """A row for each subflow with a detector of shared bottlenecks: its group labels beside the truth."""
        return self._inner.table("detections")

    @property
    def samples(self) -> Table:
        """Window, RTT and bytes of each subflow every 100 ms; needs `run(..., samples=True)`."""
        return self._inner.table("samples")

    @property
    def queues(self) -> Table:
        """Queue and drops of each shared link every 100 ms; needs samples, too."""
        return self._inner.table("queues")

    @property
    def transfers(self) -> Table:
        """A row for each object, short flow, burst, response or write; needs samples, too."""
        return self._inner.table("transfers")

    @property
    def documents(self) -> list[dict[str, Any]]:
        """Every run as in `results.json`."""
        return [json.loads(run) for run in self._inner.json()]

    @property
    def summary(self) -> list[dict[str, Any]]:
        """Statistics over the runs that differ only in their seed, as in `results.json`: n, mean, standard deviation
        and confidence interval of every figure."""
        return [json.loads(summary) for summary in self._inner.summaries()]

    def mean(self, figure: str) -> dict[str, float]:
        """The mean of a figure for each congestion control, named also by what else differs: scenario, parameters,
        scheduler, backend. Where all runs failed, there is none."""
        own = {label: one["statistics"] for label, one in zip(self._inner.labels(), self.summary, strict=True)}
        means = {label: statistics[figure]["mean"] for label, statistics in own.items() if figure in statistics}
        if not means:
            known = ", ".join(list(dict.fromkeys(name for statistics in own.values() for name in statistics))[:8])
            raise _braid.Error(f"there is no figure {figure}\n  hint: there are {known}, ...")
        return means

    @property
    def failed(self) -> dict[int, str]:
        """Number and reason of each run that failed."""
        return {at: why for at, why in enumerate(self.runs["status"]) if why != "ok"}

    @property
    def plot(self) -> Plots:
        """Plots with matplotlib: `results.plot.shares()`, `.sweep(...)`, `.delay()`."""
        from braid.plot import Plots

        return Plots(self)

    def __len__(self) -> int:
        return len(self._inner)

    def __repr__(self) -> str:
        runs = self.runs
        scenarios = ", ".join(dict.fromkeys(runs["scenario"]))
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"<braid.Results of {len(self)} runs: {scenarios} with {', '.join(dict.fromkeys(runs['cc']))}{failed}>"

    def _repr_html_(self) -> str:
        rows = []
        for label, summary in zip(self._inner.labels(), self.summary, strict=True):
            for figure, one in summary["statistics"].items():
                if figure.endswith(".goodput_bps") and figure.count(".") == 2:
                    name = figure.split(".")[1]
                    rows.append(f"<tr><td>{label}<td>{name}<td>{one['mean'] / 1e6:.2f}")
        return f"<table><tr><th>algorithm<th>connection<th>goodput, Mbit/s{''.join(rows)}</table>"
