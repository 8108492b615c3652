"""`braid.run`: the program's results, tables without a copy, errors with a remedy, immediate interruption."""

import json
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading

import pandas
import polars
import pyarrow
import pytest

import braid

SHORT = {"duration": "15s"}


def test_the_results_are_those_of_the_program(program: str) -> None:
    words = ["run", "d-olia/1", "--cc", "lia,olia", "--seeds", "2..3", "--set", "duration=15s", "--format", "json"]
    document = json.loads(subprocess.run([program, *words], check=True, stdout=subprocess.PIPE).stdout)
    results = braid.run("d-olia/1", cc=["lia", "olia"], seeds=range(2, 4), set=SHORT)
    assert results.documents == document["runs"]
    for own, other in zip(results.summary, document["summary"], strict=True):
        assert own["statistics"] == other["statistics"]


def test_equal_calls_give_equal_results_whatever_the_number_of_jobs() -> None:
    one = braid.run("everyday/shared", cc="olia", seeds=3, set=SHORT, jobs=1, samples=True)
    many = braid.run("everyday/shared", cc="olia", seeds=3, set=SHORT, jobs=3, samples=True)
    assert one.documents == many.documents
    assert one.samples.to_pydict() == many.samples.to_pydict()


def test_tables_go_to_other_programs_without_a_copy() -> None:
    results = braid.run("everyday/shared", cc="lia", set=SHORT, samples=True)
    samples = results.samples
    first, second = pyarrow.table(samples), pyarrow.table(samples)
    for name in samples.column_names:
        for one, other in zip(first[name].chunk(0).buffers(), second[name].chunk(0).buffers(), strict=True):
            assert (one and one.address) == (other and other.address), name
    frame = polars.DataFrame(samples)
    assert frame.shape == (len(samples), len(samples.column_names))
    # Polars uses the memory that Rust has written.
    address = frame["time_s"].to_arrow().buffers()[1].address
    assert address == first["time_s"].chunk(0).buffers()[1].address
    assert pandas.DataFrame.from_arrow(samples)["cwnd"].tolist() == samples["cwnd"]
    assert first.schema.field("time_s").metadata[b"unit"] == b"s"


def test_duckdb_queries_a_table_by_its_name() -> None:
    duckdb = pytest.importorskip("duckdb")
    flows = pyarrow.table(braid.run("everyday/shared", cc="lia", set=SHORT).flows)  # noqa: F841
    assert duckdb.sql("SELECT count(*) FROM flows WHERE kind = 'mptcp'").fetchall() == [(2,)]


def test_detections_are_a_table() -> None:
    detections = braid.run("everyday/shared", cc="sbdolia", set=SHORT).detections
    assert set(detections["subflow"]) == {"wifi", "dock"} and True in detections["shared"]
    assert all(0 <= percent <= 100 for percent in detections["accuracy_percent"])


def test_errors_say_where_and_what_to_do() -> None:
    text = 'title = "t"\n[link.a]\nrate = "10mbitt"\n'
    with pytest.raises(braid.Error) as caught:
        braid.run(braid.Scenario.from_toml(text, "mine.toml"), cc="lia")
    assert caught.value.place == "mine.toml:3:8"
    with pytest.raises(braid.Error, match="did you mean"):
        braid.run("everyday/shard")
    with pytest.raises(braid.Error, match="no algorithm is called `oila`"):
        braid.run("everyday/shared", cc="oila")
    with pytest.raises(braid.Error, match="samples=True"):
        _ = braid.run("everyday/shared", cc="lia", set=SHORT).samples


def test_the_lab_without_the_program_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("BRAID", raising=False)
    with pytest.raises(braid.Error, match="install Braid's package") as caught:
        braid.run("everyday/shared", cc="lia", backend="lab")
    assert caught.value.hint is not None


def test_runs_of_the_program_have_the_names_samples_and_plots_of_runs_in_this_process(
    program: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = tmp_path / "braid"
    lab.write_text(f'#!/bin/sh\nexec "{program}" $(echo "$@" | sed "s/--backend lab/--backend sim/")\n')
    lab.chmod(0o755)
    monkeypatch.setenv("BRAID", str(lab))
    mine = braid.Scenario.from_toml(braid.Scenario("everyday/shared").toml, "mine.toml")
    here, there = (braid.run(mine, "lia", seeds=2, set=SHORT, samples=True, backend=at) for at in ("sim", "lab"))
    assert here.documents == there.documents and here.summary == there.summary
    assert here.samples.to_pydict() == there.samples.to_pydict()
    with pytest.raises(braid.Error, match="no algorithm is called"):
        braid.run(mine, "oila", set=SHORT, backend="lab")


def test_a_scenario_that_was_built_is_one_that_was_written() -> None:
    built = braid.Scenario.build("two", duration="15s", warmup="5s")
    built.link("a", rate="10mbit", rtt="40ms", queue="50p")
    built.link("b", rate="20mbit", rtt="20ms", queue="50p")
    built.mptcp("mp0", {"start": "100ms"}, first=["a"], second=["b"])
    built.tcp("tcp0", ["a"], cc="reno")
    again = braid.Scenario.from_toml(built.toml, "two")
    one, other = braid.run(built, cc="lia"), braid.run(again, cc="lia")
    assert one.documents == other.documents and len(one.flows) == 3
    with pytest.raises(TypeError, match="Scenario.build"):
        again.link("c", rate="1mbit")


def test_other_threads_run_meanwhile_and_progress_comes() -> None:
    counted, told, stop = [0], [], threading.Event()

    def count() -> None:
        while not stop.is_set():
            counted[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        braid.run("everyday/shared", cc="lia", seeds=3, progress=lambda *now: told.append(now))
    finally:
        stop.set()
        thread.join()
    assert counted[0] > 10
    assert told[-1][:2] == (3, 3)


def test_an_exception_of_progress_ends_the_run() -> None:
    def enough(*_: object) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        braid.run("everyday/shared", cc="lia", seeds=10_000, progress=enough)


def test_ctrl_c_ends_a_run_that_would_take_hours() -> None:
    code = textwrap.dedent("""
        import signal
        import braid
        # As at a terminal: a shell's background jobs ignore it, and what they start inherits that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print("begun", flush=True)
        try:
            braid.run("everyday/shared", cc="lia", seeds=100_000, set={"duration": "8000s"})
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """)
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    threading.Timer(0.5, lambda: child.send_signal(signal.SIGINT)).start()
    # A generous limit for a machine under load; the run itself would take hours.
    assert child.communicate(timeout=120)[0] == "interrupted\n"
