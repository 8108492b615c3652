# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A progress bar in the terminal or the notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Progress = Callable[[int, int, float], None]
PATIENCE_S = 1.0


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    return shell is not None and hasattr(shell, "kernel")


@contextmanager
def shown(progress: bool | Progress | None) -> Iterator[Progress | None]:
    """The progress callback: none, the caller's, or a bar. Default: a bar in a terminal or notebook."""
    if progress is None:
        progress = sys.stderr.isatty() or _in_notebook()
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    started = time.monotonic()
    bar: Any = None

    def tell(done: int, total: int, share: float) -> None:
        nonlocal bar
        if bar is None:
            if time.monotonic() - started < PATIENCE_S:
                return
            from tqdm.auto import tqdm

            layout = "{percentage:3.0f} % |{bar}| {postfix} {remaining} left"
            bar = tqdm(total=1.0, bar_format=layout, leave=False)
            bar.start_t -= time.monotonic() - started
        bar.set_postfix_str(f"{done} of {total} runs", refresh=False)
        bar.update(share - bar.n)

    try:
        yield tell
    finally:
        if bar is not None:
            bar.close()
