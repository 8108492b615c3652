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

    def __init__(
        self, inner: _braid.Results, asked: Mapping[str, Any] | None = None, files: Mapping[str, Any] | None = None
    ) -> None:
        self._inner = inner
        self._asked = dict(asked or {})
        self._files = dict(files or {})

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
        return self._sampled("samples")

    @property
    def queues(self) -> Table:
        """Queue and drops of each shared link every 100 ms; needs samples, too."""
        return self._sampled("queues")

    @property
    def transfers(self) -> Table:
        """A row for each object, short flow, burst, response or write; needs samples, too."""
        return self._sampled("transfers")

    def _sampled(self, name: str) -> Table:
        if name in self._files:
            table: Table = self._files[name]
            return table
        if not self._inner.sampled:
            raise _braid.Error(f"these runs have no {name}\n  hint: run(..., samples=True) keeps them")
        return self._inner.table(name)

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
        """The mean of a figure for each congestion control (and scenario or parameters, if there are several)."""
        means = {}
        for summary in self.summary:
            statistics = summary["statistics"].get(figure)
            if statistics is None:
                known = ", ".join(list(summary["statistics"])[:8])
                raise _braid.Error(f"there is no figure {figure}\n  hint: there are {known}, ...")
            means[self._label(summary)] = statistics["mean"]
        return means

    def _label(self, summary: dict[str, Any]) -> str:
        every = self.summary
        label: str = summary["cc"]
        if len({one["scenario"] for one in every}) > 1:
            label = f"{summary['scenario']} {label}"
        if len({json.dumps(one["params"]) for one in every}) > 1:
            label += "".join(f" {key}={value}" for key, value in summary["params"].items())
        if len({one["scheduler"] for one in every}) > 1:
            label += f" {summary['scheduler']}"
        return label

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
        for summary in self.summary:
            for figure, one in summary["statistics"].items():
                if figure.endswith(".goodput_bps") and figure.count(".") == 2:
                    name = figure.split(".")[1]
                    rows.append(f"<tr><td>{self._label(summary)}<td>{name}<td>{one['mean'] / 1e6:.2f}")
        return f"<table><tr><th>algorithm<th>connection<th>goodput, Mbit/s{''.join(rows)}</table>"
