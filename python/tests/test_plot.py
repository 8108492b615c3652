"""Plots: each contains its data."""

import braid


def test_shares_over_time_have_the_capacity_of_the_trace_behind_them() -> None:
    results = braid.run("everyday/walk", cc="olia", samples=True)
    axes = results.plot.shares()
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert any(label.startswith("capacity of ") for label in labels)
    assert any(label.startswith("mp0.") for label in labels)


def test_a_parameter_of_a_scenario_is_the_x_axis() -> None:
    results = braid.run("everyday/shared", cc=["lia", "cubic"], seeds=2, set={"duration": "12s", "warmup": "2s"})
    flows = results.flows
    assert set(flows["params"]) == {"{}"}
    axes = results.plot.sweep(x="seed")
    assert [line.get_label() for line in axes.get_lines()] == ["lia", "cubic"]


def test_throughput_against_delay_has_a_point_for_each_subflow_and_run() -> None:
    results = braid.run("everyday/shared", cc="lia", seeds=2, set={"duration": "12s"}, samples=True)
    (points,) = results.plot.delay().collections
    assert len(points.get_offsets()) == 2 * 2
