import matplotlib
import pytest

import braid

matplotlib.use("agg")


@pytest.fixture(autouse=True)
def names_of_doctests(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace.update(braid=braid)
