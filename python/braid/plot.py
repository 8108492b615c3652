# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Plots of results with matplotlib; each function returns its axes, for further changes.

>>> import matplotlib
>>> matplotlib.use("agg")
>>> import braid
>>> results = braid.run("everyday/shared", cc=["lia", "cubic"], seeds=2, set={"duration": "15s"}, samples=True)
>>> axes = results.plot.shares(cc="lia")
>>> axes.get_ylabel()
'Mbit/s'
"""

from __future__ import annotations

import html
import io
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from braid._results import Results
    from braid._sweep import Sweep

#: Up to this many values of a parameter are written at the axis.
MOST_TICKS = 10


class Plots:
    """The plots of these results."""

    def __init__(self, results: Results) -> None:
        self._results = results

    def sweep(
        self, x: str, y: str = "goodput_bps", connection: str | None = None, ax: Axes | None = None, log: bool = False
    ) -> Axes:
        """A parameter on the x axis, and for each algorithm a line and its 95 % confidence band over seeds.

        x: a parameter of the scenario or of the sweep. y: a column of `flows` or `links`; subflows have a line each.
        connection: by default the first MPTCP connection; or a link. Lines and bands are those of `results.summary`.
        """
        lines, unit, (y_unit, scale) = self._results._inner.lines(x, y, connection)
        ax = ax or _axes()
        if log:
            ax.set_xscale("log")
        ticks: dict[float, str] = {}
        for label, points in lines:
            xs = [point[0] for point in points]
            means = [point[3] / scale for point in points]
            halves = [(point[4] or 0.0) / scale for point in points]
            ticks.update((point[0], point[1]) for point in points)
            (line,) = ax.plot(xs, means, marker="o", markersize=3, label=label)
            low = [mean - half for mean, half in zip(means, halves, strict=True)]
            high = [mean + half for mean, half in zip(means, halves, strict=True)]
            ax.fill_between(xs, low, high, alpha=0.2, color=line.get_color())
        written = len(ticks) <= MOST_TICKS
        if written:
            ax.set_xticks(list(ticks), list(ticks.values()))
            ax.minorticks_off()
        ax.set_xlabel(f"{x}, {unit}" if unit and not written else x)
        ax.set_ylabel(_named(y, y_unit))
        ax.legend()
        return ax

    def lines(
        self, x: str, y: str, connection: str | None = None
    ) -> dict[str, list[tuple[float, float, float | None]]]:
        """For each algorithm: value of the parameter in base units (bit/s, s, bytes), mean, and half-width of the 95 %
        confidence interval, which is None for one seed and where seeds have no effect."""
        lines, *_ = self._results._inner.lines(x, y, connection)
        return {label: [(at, mean, half) for at, _, _, mean, half in points] for label, points in lines}

    def delay(self, ax: Axes | None = None) -> Axes:
        """Throughput against 95 % quantile of the smoothed RTT, a point for each subflow and run; left and up is better.

        The runs must have samples.
        """
        points: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for label, rtt, rate in self._results._inner.delays():
            points[label].append((rtt, rate / 1e6))
        ax = ax or _axes()
        for label, own in points.items():
            ax.scatter([x for x, _ in own], [y for _, y in own], label=label, s=14)
        ax.set_xlabel("95 % quantile of the smoothed RTT, ms")
        ax.set_ylabel(f"throughput of the subflows of {self._results._inner.first()}, Mbit/s")
        ax.legend()
        return ax

    def _capacities(self, scenario: str) -> list[tuple[str, list[float]]]:
        from braid import _braid

        asked = self._results._asked
        for name, text in asked.get("scenarios", []):
            if name == scenario:
                return _braid.capacities(name, text, asked["set"])
        return []

    def shares(
        self, cc: str | None = None, run: int | None = None, link: str | None = None, ax: Axes | None = None
    ) -> Axes:
        """Throughput of each flow over time, stacked, and the capacity of a trace behind them.

        cc, run: selects the run; by default the first. link: the link whose capacity is drawn; by default the first
        with a trace, if there is one. The runs must have samples.
        """
        runs = self._results.runs
        if run is None:
            run = runs["cc"].index(cc) if cc is not None else 0
        rates = {flow: [bps / 1e6 for bps in own] for flow, own in self._results._inner.rates(run)}
        times = [float(second) for second in range(1, max(map(len, rates.values()), default=0) + 1)]
        ax = ax or _axes()
        ax.stackplot(times, *rates.values(), labels=list(rates), alpha=0.8)
        for name, capacity in self._capacities(runs["scenario"][run]):
            if link is None or link == name:
                steps = [bps / 1e6 for bps in capacity[: len(times)]]
                ax.step(times[: len(steps)], steps, color="0.4", linewidth=0.8, zorder=0, label=f"capacity of {name}")
        ax.set_xlabel("s")
        ax.set_ylabel("Mbit/s")
        ax.set_title(runs["cc"][run])
        ax.legend(loc="upper right", fontsize="small")
        return ax


def _named(y: str, unit: str) -> str:
    """What an axis shows, with its unit."""
    name = y.removesuffix("_bps")
    return f"{name}, {unit}" if unit else name


def _axes() -> Axes:
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(7, 4), layout="constrained")[1]


def page(sweep: Sweep, path: Path, x: str, y: str, log: bool = False, connections: Iterable[str] | None = None) -> Path:
    """A page with the sweep's plot and numbers."""
    from matplotlib import pyplot

    parts = []
    plots = Plots(sweep.results)
    chosen: list[str | None] = list(connections or []) or [None]
    for connection in chosen:
        ax = plots.sweep(x, y, connection, log=log)
        picture = io.StringIO()
        figure = ax.get_figure(root=True)
        assert figure is not None
        figure.savefig(picture, format="svg")
        pyplot.close("all")
        parts.append(picture.getvalue()[picture.getvalue().index("<svg") :])
        lines, _, (unit, scale) = sweep.results._inner.lines(x, y, connection)
        texts = dict(sorted((point[0], point[1]) for _, points in lines for point in points))
        head = "".join(f"<th>{html.escape(text)}" for text in texts.values())
        rows = []
        for label, points in lines:
            own = {at: f"{mean / scale:.4g} ± {(half or 0.0) / scale:.2g}" for at, _, _, mean, half in points}
            rows.append(f"<tr><th>{html.escape(label)}" + "".join(f"<td>{own.get(at, '')}" for at in texts))
        parts.append(f"<table><tr><th>{html.escape(x)}{head}{''.join(rows)}</table>")
    style = "body{font-family:sans-serif;max-width:60em;margin:2em auto}td,th{padding:.2em .8em;text-align:right}"
    title = html.escape(str(sweep.folder))
    path.write_text(
        f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{style}</style><h1>{title}</h1>"
        f"<p>{html.escape(sweep.summary)}; {html.escape(_named(y, unit))}, mean and 95 % confidence interval over seeds.</p>"
        + "".join(parts)
    )
    return path
