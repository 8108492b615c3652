# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Coupled congestion control for Multipath TCP, in Python.

>>> results = run("everyday/shared", cc=["lia", "cubic"], seeds=2, set={"duration": "20s"})
>>> len(results.flows)  # 2 algorithms x 2 seeds x (2 subflows + 1 TCP connection)
12
>>> for cc, goodput in results.mean("connections.mp0.goodput_bps").items():
...     print(cc, "takes more than half" if goodput > 25e6 else "takes less than half")
lia takes less than half
cubic takes more than half

Tables go without a copy to what reads Arrow: `polars.DataFrame(results.flows)`, `pandas.DataFrame.from_arrow(...)`,
`pyarrow.table(...)`, or by name in a query of DuckDB.
"""

from braid._algorithm import Algorithm, algorithm, algorithms, new_algorithm
from braid._braid import Error, Event, Subflow, Table, View, __version__
from braid._results import Results
from braid._run import open, run
from braid._scenario import Scenario, scenarios
from braid._sweep import Sweep, sweep

__all__ = [
    "Algorithm",
    "Error",
    "Event",
    "Results",
    "Scenario",
    "Subflow",
    "Sweep",
    "Table",
    "View",
    "__version__",
    "algorithm",
    "algorithms",
    "new_algorithm",
    "open",
    "run",
    "scenarios",
    "sweep",
]
