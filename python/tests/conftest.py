import os
import pathlib
import shutil

import matplotlib
import pytest

import braid

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def names_of_doctests(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace.update(braid=braid)


@pytest.fixture
def program() -> str:
    """The program braid: that of this tree if it was built."""
    root = pathlib.Path(__file__).parents[2]
    built = [root / "target" / profile / "braid" for profile in ("release", "debug")]
    # The newest first: the other may be from another commit.
    there = sorted((path for path in built if path.exists()), key=lambda path: -path.stat().st_mtime)
    found = os.environ.get("BRAID") or shutil.which("braid") or (str(there[0]) if there else None)
    if found is None:
        pytest.skip("no program braid is installed or built")
    return found
