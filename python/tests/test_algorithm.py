"""User algorithms: C files and classes."""

import math
import pathlib
import re
import shutil

import pytest

import braid

SHORT = {"duration": "15s", "warmup": "5s"}
needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
ROOT = pathlib.Path(__file__).parents[2]


class Renopy(braid.Algorithm):
    """Reno, equivalent to algorithms/reno.c."""

    def init(self, view: braid.View, event: braid.Event) -> None:
        self.carry = 0

    def on_ack(self, view: braid.View, event: braid.Event) -> None:
        me = view.me
        acked = me.acked_in_avoidance(event)
        if acked:
            total = self.carry + acked * -(-(1 << 32) // max(me.cwnd, 1))
            me.cwnd = min(me.cwnd + (total >> 32), me.cwnd_clamp)
            self.carry = total & 0xFFFF_FFFF

    def on_loss(self, view: braid.View, event: braid.Event) -> None:
        half = max(((view.me.cwnd << 32) + self.carry) >> 1, 2 << 32)
        view.me.ssthresh = half >> 32
        self.carry = half & 0xFFFF_FFFF


def test_a_class_does_exactly_what_the_same_algorithm_does_in_c() -> None:
    results = braid.run("everyday/shared", cc=[Renopy, "reno"], set=SHORT)
    own, c = results.documents
    assert own["connections"][0]["subflows"] == c["connections"][0]["subflows"]


def test_an_exception_of_a_class_comes_out_as_itself() -> None:
    class Broken(Renopy):
        def on_loss(self, view: braid.View, event: braid.Event) -> None:
            raise ZeroDivisionError(f"at {event.now_us}")

    with pytest.raises(ZeroDivisionError, match="at [0-9]+"):
        braid.run("everyday/shared", cc=Broken, seeds=2, set=SHORT)


def test_a_view_is_there_only_during_its_event() -> None:
    kept = []

    class Keeper(Renopy):
        def on_loss(self, view: braid.View, event: braid.Event) -> None:
            super().on_loss(view, event)
            kept.append(view.me)

    braid.run("everyday/shared", cc=Keeper, set=SHORT)
    with pytest.raises(RuntimeError, match="only during the event"):
        _ = kept[0].cwnd


def test_a_class_has_parameters_and_sees_its_siblings() -> None:
    seen: set[tuple[float, int]] = set()

    class Curious(Renopy):
        params = {"gain": 1.5, "whole": 3}
        gain: float
        whole: int

        def on_ack(self, view: braid.View, event: braid.Event) -> None:
            super().on_ack(view, event)
            seen.add((self.gain, len(view.eligible)))
            assert math.isfinite(self.gain) and len(view.subflows) == 2
            view.me.set_public(0, self.whole)

    braid.run("everyday/shared", cc=[Curious, "curious:gain=0.25"], set=SHORT)
    assert {(1.5, 2), (0.25, 2)} <= seen
    with pytest.raises(braid.Error, match="has no parameter"):
        braid.run("everyday/shared", cc=[Curious, "curious:gian=1"], set=SHORT)


@needs_compiler
def test_a_c_file_from_outside_the_tree_gives_the_bytes_of_the_one_inside(tmp_path: pathlib.Path) -> None:
    text = (ROOT / "algorithms" / "reno.c").read_text()
    (tmp_path / "renox.c").write_text(re.sub(r"\breno(_private|_public|_params|_on_ack|_on_loss|,)", r"renox\1", text))
    name = braid.algorithm(tmp_path / "renox.c")
    own, c = braid.run("everyday/shared", cc=[name, "reno"], set=SHORT).documents
    assert own["connections"][0]["subflows"] == c["connections"][0]["subflows"]


@needs_compiler
@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("priv->carry = 0;", "priv->carry = 0; double x = 1;", True, "no floating point"),
        ("priv->carry = 0;", "static int n; priv->carry = n++;", True, "is a global"),
        ("priv->carry = 0;", "for (;;) {}", True, "without a bound"),
        ("mine_on_ack, mine_on_loss", "BRAID_IGNORE, mine_on_loss", True, "on_ack is missing"),
        ("priv->carry = 0;", "priv->carry = puts(0);", False, "is not available"),
    ],
)
def test_a_file_that_breaks_the_contract_is_refused_at_its_line(
    tmp_path: pathlib.Path, old: str, new: str, place: bool, message: str
) -> None:
    file = braid.new_algorithm("mine", tmp_path)
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(braid.Error, match=message) as caught:
        braid.algorithm(file)
    if place:
        assert caught.value.place is not None and caught.value.place.startswith(str(file))
        assert caught.value.hint


@needs_compiler
@pytest.mark.parametrize(
    ("code", "reason"),
    [("*(volatile int *)(64ull * self->cwnd) = 1;", "memory that is not its own"), ("while (priv->carry == 0) {}", "endless loop")],
)
def test_a_crash_or_an_endless_loop_is_a_failed_run(tmp_path: pathlib.Path, code: str, reason: str) -> None:
    file = braid.new_algorithm("rogue", tmp_path)
    file.write_text(file.read_text().replace("priv->carry = 0;", f"priv->carry = 0; {code}"))
    name = braid.algorithm(file)
    results = braid.run("everyday/shared", cc=[name, "reno"], set=SHORT, time_limit=3)
    assert list(results.failed) == [0] and reason in results.failed[0]
