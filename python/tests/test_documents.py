"""The documentation's programs run; those of one page in order, in an empty folder."""

import re
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

import braid

ROOT = Path(__file__).resolve().parents[2]
NOT_RUN = "<!-- not run:"


def programs(page: str) -> list[str]:
    blocks = re.split(r"^(```\w*\n.*?^```\n)", (ROOT / page).read_text(), flags=re.M | re.S)
    found = []
    for before, block in zip(blocks, blocks[1:], strict=False):
        if block.startswith("```python\n") and NOT_RUN not in before.rstrip().rsplit("\n\n", 1)[-1]:
            found.append(block[len("```python\n") : -len("```\n")])
    return found


def test_the_page_on_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for program in programs("docs/python.md"):
        exec(program, names)
    assert {"results", "two", "Half"} <= names.keys()


def test_the_guide_on_kept_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    # The file that the guide's command writes.
    results = braid.run("d-olia/2", cc=["lia", "olia"], seeds=2, set={"duration": "12s"}, samples=True, progress=False)
    (tmp_path / "results").mkdir()
    for name in ("runs", "flows", "samples"):
        pyarrow.parquet.write_table(pyarrow.table(getattr(results, name)), tmp_path / f"results/{name}.parquet")
    monkeypatch.chdir(tmp_path)
    for program in programs("docs/guides/results-in-python.md"):
        exec(program, {})
    said = capsys.readouterr().out
    assert "olia" in said and "throughput_bps" in said and "75%" in said
