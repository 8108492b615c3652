"""Sweeps on this machine and on a real Dask cluster: the same bytes, despite interruptions."""

import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

import braid

GRID = {
    "scenarios": ["everyday/shared"],
    "cc": ["lia", "cubic:beta=$beta"],
    "seeds": 4,
    "set": ["duration=12s", "warmup=2s"],
    "parameters": {
        "rate": {"set": "link.line.rate", "values": ["10mbit", "50mbit"]},
        "beta": {"values": [0.6, 0.7, 0.8]},
    },
}


def content(folder: pathlib.Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_sweep_is_its_tables(tmp_path: pathlib.Path) -> None:
    done = braid.sweep(GRID, tmp_path / "a")
    assert done.summary == "32 runs, 0 failed\n"
    assert sorted(done.runs["beta"].drop_nulls().unique().to_list()) == [0.6, 0.7, 0.8]
    assert braid.sweep(GRID, tmp_path / "a").summary == done.summary, "complete already"
    lines = done.plot.lines("rate", "goodput_bps", None)
    assert [point[0] for point in lines["lia"]] == [10e6, 50e6] and lines["lia"][0][2] > 0
    page = done.report(tmp_path / "sweep.html", x="rate").read_text()
    assert page.index("<svg") < page.index("<table") and "32 runs" in page


def test_a_grid_that_is_wrong_says_where(tmp_path: pathlib.Path) -> None:
    with pytest.raises(braid.Error, match="parameters.rate: it changes nothing"):
        braid.sweep({**GRID, "parameters": {"rate": {"values": [1]}, "beta": {"values": [0.7]}}}, tmp_path)
    with pytest.raises(braid.Error, match="nowhere.toml"):
        braid.sweep("nowhere.toml", tmp_path)


class Cluster:
    """A scheduler and workers, each a separate process."""

    def __init__(self, folder: pathlib.Path, workers: int) -> None:
        self.folder = folder
        file = folder / "scheduler.json"
        self.processes = [self.start("scheduler", "--scheduler-file", str(file), "--port", "0", "--no-dashboard")]
        for _ in range(workers):
            self.add_worker()

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"{words[0]}-{time.monotonic_ns()}.log").open("wb")
        return subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]],
                                stdout=log, stderr=log, cwd=self.folder)  # fmt: skip

    def add_worker(self) -> None:
        self.processes.append(
            self.start("worker", "--scheduler-file", str(self.folder / "scheduler.json"), "--nthreads", "1",
                       "--no-nanny", "--no-dashboard", "--local-directory", str(self.folder))
        )  # fmt: skip

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: pathlib.Path):
    pytest.importorskip("distributed")
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = Cluster(folder, 3)
    yield cluster
    cluster.close()


def connect(cluster: Cluster):
    from distributed import Client

    client = Client(scheduler_file=str(cluster.folder / "scheduler.json"), timeout="120s")
    client.wait_for_workers(3, timeout=120)
    return client


def test_a_cluster_gives_the_same_bytes_though_a_worker_is_killed(tmp_path: pathlib.Path, cluster: Cluster) -> None:
    braid.sweep(GRID, tmp_path / "here")
    killed = []

    def kill(done: int, total: int, share: float) -> None:
        if not killed:
            cluster.processes[-1].send_signal(signal.SIGKILL)
            killed.append(done)

    with connect(cluster) as client:
        braid.sweep(GRID, tmp_path / "dask", client=client, progress=kill)
    assert killed and killed[0] < 32, "in mid-sweep"
    assert content(tmp_path / "here") == content(tmp_path / "dask")


def test_a_sweep_goes_on_where_another_way_left_it(tmp_path: pathlib.Path, cluster: Cluster) -> None:
    braid.sweep(GRID, tmp_path / "here")

    def leave(done: int, total: int, share: float) -> None:
        if done >= 8:
            raise LookupError("enough")

    with connect(cluster) as client:
        with pytest.raises(LookupError):
            braid.sweep(GRID, tmp_path / "half", client=client, progress=leave)
    assert len(list((tmp_path / "half" / "unfinished").iterdir())) >= 1
    braid.sweep(GRID, tmp_path / "half", jobs=1)
    assert content(tmp_path / "here") == content(tmp_path / "half")


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_the_source_of_an_algorithm_travels_to_the_workers(tmp_path: pathlib.Path, cluster: Cluster) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    file = braid.new_algorithm("travel", folder)
    grid = {**GRID, "cc": ["travel:gain=$beta", "reno"], "algorithms": [str(file)], "seeds": 1}
    with connect(cluster) as client:
        done = braid.sweep(grid, tmp_path / "dask", client=client)
    assert done.summary == "8 runs, 0 failed\n"
    braid.sweep(grid, tmp_path / "here")
    assert content(tmp_path / "here") == content(tmp_path / "dask")


def test_the_command_runs_on_a_cluster(tmp_path: pathlib.Path, cluster: Cluster) -> None:
    from braid._braid import toml_of_json

    import json

    (tmp_path / "grid.toml").write_text(toml_of_json(json.dumps({**GRID, "seeds": 1})))
    with connect(cluster) as client:
        address = client.scheduler.address
    words = ["sweep", "grid.toml", "--out", "out", "--dask", address, "--quiet"]
    done = subprocess.run([sys.executable, "-m", "braid", *words], cwd=tmp_path, env=os.environ,
                          stdout=subprocess.PIPE, text=True, check=True)  # fmt: skip
    assert done.stdout == "8 runs, 0 failed\n"
