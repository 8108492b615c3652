"""Plots: each shows what the summary says, which is what SciPy says of the tables."""

import math
import pathlib
import shutil
import subprocess

import pytest
from scipy import stats

import braid

SHORT = {"duration": "12s", "warmup": "2s"}


def expected(values: list[float]) -> tuple[float, float]:
    """Mean and half of the 95 % confidence interval, by SciPy."""
    return stats.tmean(values), stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)


def test_a_line_is_the_mean_and_interval_over_seeds_of_a_connection_or_subflow() -> None:
    rates = ["100mbit", "1gbit", "500kbit"]
    scenario = braid.Scenario.build("two", **SHORT, cc=["lia", "olia"], parameters={"rate": rates})
    scenario.link("a", rate="$rate", rtt="10ms", queue="50p", loss="1%")
    scenario.link("b", rate="2mbit", rtt="20ms", queue="50p")
    scenario.mptcp("mp0", first=["a"], second=["b"])
    results = braid.run(scenario, seeds=3)
    flows = results.flows
    rows = [dict(zip(flows.column_names, row, strict=True)) for row in zip(*(flows[c] for c in flows.column_names))]

    def check(lines: dict, y: str, of: dict) -> None:
        for x, text in zip([5e5, 1e8, 1e9], ["500kbit", "100mbit", "1gbit"], strict=True):
            for label, (cc, subflow) in of.items():
                # A connection's value stands in the rows of all its subflows.
                own = [row for row in rows if row["cc"] == cc and row["subflow"] == subflow and text in row["params"]]
                mean, half = expected([row[y] for row in own])
                (point,) = [point for point in lines[label] if point[0] == x]
                assert len(own) == 3 and point[1:] == (pytest.approx(mean, rel=1e-12), pytest.approx(half, rel=1e-9))

    check(results.plot.lines("rate", "goodput_bps"), "goodput_bps", {"lia": ("lia", "first"), "olia": ("olia", "first")})
    subflows = {f"{cc} {flow}": (cc, flow) for cc in ("lia", "olia") for flow in ("first", "second")}
    check(results.plot.lines("rate", "throughput_bps"), "throughput_bps", subflows)

    axes = results.plot.sweep("rate", log=True)
    (line, _) = axes.get_lines()
    assert line.get_label() == "lia" and list(line.get_xdata()) == [5e5, 1e8, 1e9]
    key = "connections.mp0.goodput_bps"
    summary = {one["params"]["rate"]: one["statistics"][key] for one in results.summary if one["cc"] == "lia"}
    for y, text in zip(line.get_ydata(), ["500kbit", "100mbit", "1gbit"], strict=True):
        assert y == summary[text]["mean"] / 1e6
    assert [text.get_text() for text in axes.get_xticklabels()] == ["500kbit", "100mbit", "1gbit"]
    assert axes.get_ylabel() == "goodput, Mbit/s"
    with pytest.raises(braid.Error, match="no parameter 'rat'; they have rate"):
        results.plot.lines("rat", "goodput_bps")
    with pytest.raises(braid.Error, match="no figure 'goodput'"):
        results.plot.lines("rate", "goodput")


def test_shares_over_time_are_the_bytes_of_each_second_with_the_capacity_of_the_trace_behind_them() -> None:
    results = braid.run("everyday/walk", cc="olia", samples=True)
    axes = results.plot.shares()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any(label.startswith("capacity of ") for label in labels)
    samples = results.samples
    flow = [(one, other) == ("mp0", labels[0].split(".")[1]) for one, other in zip(samples["connection"], samples["subflow"])]
    received = {t: n for t, n, own in zip(samples["time_s"], samples["received_bytes"], flow) if own}
    end = math.floor(max(received))
    at = [max((n for t, n in received.items() if t <= second), default=0) for second in range(end + 1)]
    (shown,) = axes.collections[0].get_paths()
    # The lowest layer goes along its upper edge and back along the axis.
    heights = {x: y for x, y in shown.vertices if y > 0}
    for second in range(1, end + 1):
        assert heights.get(second, 0.0) == pytest.approx((at[second] - at[second - 1]) * 8 / 1e6), second


def test_throughput_against_delay_has_a_point_for_each_subflow_and_run() -> None:
    results = braid.run("everyday/shared", cc="lia", seeds=2, set=SHORT, samples=True)
    (points,) = results.plot.delay().collections
    samples, flows = results.samples, results.flows
    expected = []
    for run, connection, subflow, rate in zip(*(flows[c] for c in ("run", "connection", "subflow", "throughput_bps"))):
        if connection == "mp0":
            own = zip(samples["run"], samples["connection"], samples["subflow"], samples["srtt_ms"])
            rtts = sorted(rtt for *which, rtt in own if which == [run, connection, subflow] and rtt is not None)
            expected.append([rtts[math.ceil(0.95 * len(rtts)) - 1], rate / 1e6])
    assert points.get_offsets().tolist() == expected and len(expected) == 2 * 2
    with pytest.raises(braid.Error, match="samples=True"):
        braid.run("everyday/shared", cc="lia", set=SHORT).plot.delay()


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_an_algorithm_whose_runs_fail_leaves_the_others_their_means_and_samples(
    tmp_path: pathlib.Path, program: str
) -> None:
    file = braid.new_algorithm("broken", tmp_path)
    file.write_text(file.read_text().replace("priv->carry = 0;", "priv->carry = 0; *(volatile int *)(64ull * self->cwnd) = 1;"))
    results = braid.run("everyday/shared", cc=[braid.algorithm(file), "lia"], seeds=2, set=SHORT)
    assert len(results.failed) == 2
    assert list(results.mean("connections.mp0.goodput_bps")) == ["lia"]
    with pytest.raises(braid.Error, match="no figure goodput"):
        results.mean("goodput")
    words = "run everyday/shared --cc broken,lia --set duration=12s --samples --quiet --out out --algorithm"
    subprocess.run([program, *words.split(), file], cwd=tmp_path, stdout=subprocess.DEVNULL, check=False)
    stored = braid.open(tmp_path / "out")
    assert list(stored.failed) == [0] and set(stored.samples["run"]) == {1}


def test_a_label_names_all_that_differs() -> None:
    results = braid.run("everyday/shared", cc=["lia", "olia"], scheduler=["minrtt", "linux"], set=SHORT)
    assert list(results.mean("connections.mp0.goodput_bps")) == ["lia minrtt", "lia linux", "olia minrtt", "olia linux"]


def test_runs_of_two_backends_are_not_taken_together(tmp_path: pathlib.Path, program: str) -> None:
    words = "run everyday/shared --cc lia --backend sim,quic --set duration=12s --set warmup=2s --samples --quiet --out"
    subprocess.run([program, *words.split(), tmp_path / "out"], check=True, stdout=subprocess.DEVNULL)
    results = braid.open(tmp_path / "out")
    assert list(results.mean("connections.mp0.goodput_bps")) == ["lia minrtt sim", "lia lowest quic"]
    assert set(results.samples["run"]) == {0, 1}
