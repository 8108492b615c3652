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
import json
import math
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from braid._results import Results
    from braid._sweep import Sweep

#: Two-sided 95 % quantiles of Student's t by degrees of freedom; beyond, the normal distribution's is near.
_T95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half-width of the 95 % confidence interval.

    >>> interval([1.0, 2.0, 3.0])
    (2.0, 2.484...)
    >>> interval([5.0])
    (5.0, 0.0)
    """
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, 0.0
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
    quantile = _T95[n - 2] if n - 2 < len(_T95) else 1.96 + 2.5 / (n - 1)
    return mean, quantile * deviation / math.sqrt(n)


class Plots:
    """The plots of these results."""

    def __init__(self, results: Results | Sweep) -> None:
        self._results = results

    def _columns(self, name: str) -> dict[str, list[Any]]:
        table: Any = getattr(self._results, name)
        if hasattr(table, "to_dict"):  # polars
            columns: dict[str, list[Any]] = table.to_dict(as_series=False)
            return columns
        columns = table.to_pydict()
        return columns

    def sweep(
        self, x: str, y: str = "goodput_bps", connection: str | None = None, ax: Axes | None = None, log: bool = False
    ) -> Axes:
        """A parameter on the x axis, and for each algorithm a line and its 95 % confidence band over seeds.

        x: a parameter of the scenario or of the sweep; of texts such as "10mbit" the number counts.
        y: a column of `flows`. connection: by default the first MPTCP connection.
        """
        lines = self.lines(x, y, connection)
        ax = ax or _axes()
        scale = 1e6 if y.endswith("_bps") else 1.0
        for cc, points in lines.items():
            xs = [point[0] for point in points]
            means = [point[1] / scale for point in points]
            halves = [point[2] / scale for point in points]
            (line,) = ax.plot(xs, means, marker="o", markersize=3, label=cc)
            low = [mean - half for mean, half in zip(means, halves, strict=True)]
            high = [mean + half for mean, half in zip(means, halves, strict=True)]
            ax.fill_between(xs, low, high, alpha=0.2, color=line.get_color())
        ax.set_xlabel(x)
        ax.set_ylabel(f"{y.removesuffix('_bps')}, Mbit/s" if scale > 1 else y)
        if log:
            ax.set_xscale("log")
        ax.legend()
        return ax

    def lines(self, x: str, y: str, connection: str | None = None) -> dict[str, list[tuple[float, float, float]]]:
        """For each algorithm: value of the parameter, mean, and half-width of the confidence interval."""
        flows = self._columns("flows")
        if y not in flows:
            raise KeyError(f"flows has no column {y!r}; it has {', '.join(flows)}")
        chosen = connection or _first_mptcp(flows)
        values = flows[x] if x in flows else [json.loads(params).get(x) for params in flows["params"]]
        if all(value is None for value in values):
            raise KeyError(f"the runs have no parameter {x!r}; they have {', '.join(json.loads(flows['params'][0]))}")
        seen = set()
        groups: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
        whole = y in ("goodput_bps", "connection_throughput_bps", "reinjections", "connection_benefit")
        for at, value in enumerate(values):
            if flows["connection"][at] != chosen or flows[y][at] is None or value is None:
                continue
            # Every subflow's row repeats the figures of the whole connection.
            key = (flows["run"][at], None if whole else flows["subflow"][at])
            if key not in seen:
                seen.add(key)
                groups[flows["cc"][at]][number(value)].append(flows[y][at])
        return {cc: [(at, *interval(own)) for at, own in sorted(points.items())] for cc, points in groups.items()}

    def delay(self, ax: Axes | None = None) -> Axes:
        """Throughput against 95 % quantile of the smoothed RTT, a point for each subflow and run; left and up is better.

        The runs must have samples.
        """
        samples, runs, flows = (self._columns(name) for name in ("samples", "runs", "flows"))
        rtts: dict[tuple[int, str, str], list[float]] = defaultdict(list)
        for run, connection, subflow, rtt in zip(
            samples["run"], samples["connection"], samples["subflow"], samples["srtt_ms"], strict=True
        ):
            if rtt is not None:
                rtts[run, connection, subflow].append(rtt)
        chosen = _first_mptcp(flows)
        points: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for at, run in enumerate(flows["run"]):
            own = sorted(rtts.get((run, flows["connection"][at], flows["subflow"][at]), []))
            if flows["connection"][at] == chosen and own:
                p95 = own[math.ceil(0.95 * len(own)) - 1]
                points[runs["cc"][run]].append((p95, flows["throughput_bps"][at] / 1e6))
        ax = ax or _axes()
        for cc, own_points in points.items():
            ax.scatter([x for x, _ in own_points], [y for _, y in own_points], label=cc, s=14)
        ax.set_xlabel("95 % quantile of the smoothed RTT, ms")
        ax.set_ylabel(f"throughput of the subflows of {chosen}, Mbit/s")
        ax.legend()
        return ax

    def _capacities(self, scenario: str) -> list[tuple[str, list[float]]]:
        from braid import _braid

        asked = getattr(self._results, "_asked", {})
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
        samples, runs = self._columns("samples"), self._columns("runs")
        if run is None:
            run = runs["cc"].index(cc) if cc is not None else 0
        series: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for at, number_ in enumerate(samples["run"]):
            if number_ == run:
                name = f"{samples['connection'][at]}.{samples['subflow'][at]}"
                series[name].append((samples["time_s"][at], samples["received_bytes"][at]))
        ax = ax or _axes()
        rates, times = _rates(series)
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


def number(value: Any) -> float:
    """The number of a value with or without a unit.

    >>> number("10mbit"), number(0.5), number("1.5")
    (10.0, 0.5, 1.5)
    """
    if isinstance(value, (int, float)):
        return float(value)
    digits = value.rstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ%/ ")
    return float(digits)


def _axes() -> Axes:
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(7, 4), layout="constrained")[1]


def _first_mptcp(flows: dict[str, list[Any]]) -> str:
    for connection, kind in zip(flows["connection"], flows["kind"], strict=True):
        if kind == "mptcp":
            return str(connection)
    return str(flows["connection"][0])


def _rates(series: dict[str, list[tuple[float, float]]]) -> tuple[dict[str, list[float]], list[float]]:
    """Mbit/s of each flow, averaged over whole seconds."""
    end = int(max((point[0] for points in series.values() for point in points), default=0.0))
    rates = {}
    for name, points in series.items():
        received = [0.0] * (end + 1)
        for second, count in points:
            received[min(math.ceil(second), end)] = count
        for at in range(1, end + 1):
            received[at] = max(received[at], received[at - 1])
        rates[name] = [(after - before) * 8 / 1e6 for before, after in zip(received, received[1:], strict=False)]
    return rates, [float(second) for second in range(1, end + 1)]


def page(sweep: Sweep, path: Path, x: str, y: str, log: bool = False, connections: Iterable[str] | None = None) -> Path:
    """A page with the sweep's plot and numbers."""
    from matplotlib import pyplot

    parts = []
    plots = Plots(sweep)
    chosen: list[str | None] = list(connections or []) or [None]
    for connection in chosen:
        ax = plots.sweep(x, y, connection, log=log)
        picture = io.StringIO()
        figure = ax.get_figure(root=True)
        assert figure is not None
        figure.savefig(picture, format="svg")
        pyplot.close("all")
        parts.append(picture.getvalue()[picture.getvalue().index("<svg") :])
        lines = plots.lines(x, y, connection)
        xs = sorted({point[0] for points in lines.values() for point in points})
        head = "".join(f"<th>{value:g}" for value in xs)
        rows = []
        for cc, points in lines.items():
            own = {value: f"{mean:.4g} ± {half:.2g}" for value, mean, half in points}
            rows.append(f"<tr><th>{html.escape(cc)}" + "".join(f"<td>{own.get(value, '')}" for value in xs))
        parts.append(f"<table><tr><th>{html.escape(x)}{head}{''.join(rows)}</table>")
    style = "body{font-family:sans-serif;max-width:60em;margin:2em auto}td,th{padding:.2em .8em;text-align:right}"
    title = html.escape(str(sweep.folder))
    path.write_text(
        f"<!doctype html><meta charset=utf-8><title>{title}</title><style>{style}</style><h1>{title}</h1>"
        f"<p>{html.escape(sweep.summary)}; {html.escape(y)}, mean and 95 % confidence interval over seeds.</p>"
        + "".join(parts)
    )
    return path
