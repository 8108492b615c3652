"""Every notebook runs from top to bottom; the ones that take minutes only with BRAID_ALL=1."""

import os
import pathlib

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_all_six_are_there() -> None:
    assert len(NOTEBOOKS) == 6


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    if notebook.metadata.get("braid", {}).get("long") and not os.environ.get("BRAID_ALL"):
        pytest.skip("takes minutes: BRAID_ALL=1 or scripts/python --all")
    NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(tmp_path)}}).execute()
