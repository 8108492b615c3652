#!/usr/bin/env python3
"""Executes the examples of docs/results.md on results of the given program.

    scripts/python && target/python-package/bin/python docs/results_examples.py [path of braid]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl

REPOSITORY = Path(__file__).resolve().parent.parent
SCENARIO = """
title = "Examples"
duration = "10s"
cc = ["lia", "cubic"]
periods = ["0s..5s", "5s..10s"]
[parameters]
rate = ["5mbit", "10mbit"]
[link.b1]
rate = "$rate"
rtt = "20ms"
queue = "50p"
[connection.mp0]
kind = "mptcp"
subflow.sf1.route = ["b1"]
subflow.sf2.route = ["b1"]
[connection.mice]
kind = "tcp"
traffic = { kind = "poisson", every = "200ms", size = "20kB" }
route = ["b1"]
"""


def examples(language):
    """The lines of the blocks in that language."""
    text = (REPOSITORY / "docs/results.md").read_text()
    blocks = re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.strip()]
    assert lines, f"docs/results.md has no example in {language}"
    return lines


def value(line):
    """The value of the last statement of Python code."""
    *statements, last = line.split("; ")
    names = {"pd": pd, "pl": pl, "json": json}
    for statement in statements:
        exec(statement, names)
    return eval(last, names)


def means(rows):
    """Mbit/s by (cc, connection)."""
    return {(cc, connection): round(bps / 1e6, 9) for cc, connection, bps in rows}


def main():
    braid = Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "target/debug/braid").resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("x.toml").write_text(SCENARIO)
        command = [braid, "run", "x.toml", "--seeds", "2", "--out", "out", "--samples", "--quiet"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

        tables = [duckdb.sql(line).fetchall() for line in examples("sql")]
        values = [value(line) for line in examples("python")]
        for result in tables + values:
            assert len(result) > 0, result

        # The first example in each language computes the same.
        pandas_means = [(*key, bps) for key, bps in next(v for v in values if isinstance(v, pd.Series)).items()]
        polars_means = next(v for v in values if isinstance(v, pl.DataFrame)).rows()
        expected = means((cc, connection, mbit * 1e6) for cc, connection, mbit in tables[0])
        assert len(expected) == 4 and means(pandas_means) == expected == means(polars_means)

        flows, rates = "out/flows.parquet", {"5mbit", "10mbit"}
        assert {row[0] for row in duckdb.sql(f"SELECT params->>'rate' FROM '{flows}'").fetchall()} == rates
        assert set(pd.read_parquet(flows).params.map(json.loads).str["rate"]) == rates
        column = pl.col("params").str.json_path_match("$.rate")
        assert set(pl.read_parquet(flows).select(column).to_series()) == rates
    print(f"{len(tables) + len(values)} examples of docs/results.md: ok")


if __name__ == "__main__":
    main()
