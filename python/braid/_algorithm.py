# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Algorithms: built-in ones, your C files, and Python classes."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

from braid import _braid
from braid._braid import Event, View

WANTS_RATE, OWNS_CWND, UNCOUPLED, WANTS_OWD = 1, 2, 4, 16


def algorithms() -> dict[str, str]:
    """Name and title of all known congestion controls.

    >>> algorithms()["reno"]
    'additive increase, multiplicative decrease'
    """
    return {name: title for name, title, _ in _braid.list()}


def algorithm(path: str | Path) -> str:
    """Compiles your C file and registers its algorithm; returns the name, for `cc=`.

    Needs the C compiler of this machine (`cc`, or the one that `CC` names). The file is checked against the contract of
    `braid.h`; a violation is an `Error` with file, line and remedy. Each run with it is a separate process: if it
    crashes or never returns, only that run fails.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     algorithm(new_algorithm("mine", folder))
    'mine'
    """
    name = _braid.compile(Path(path))
    files[name] = Path(path)
    return name


#: The C file of each that `algorithm` has compiled.
files: dict[str, Path] = {}


def new_algorithm(name: str, folder: str | Path = ".") -> Path:
    """Writes a working algorithm for you to change: C file, page, scenario, test, and for an editor `.clangd` and
    `braid/`. Returns the C file."""
    files = [(Path(folder) / file, text, shared) for file, text, shared in _braid.template(name)]
    for path, _, shared in files:
        if path.exists() and not shared:
            raise FileExistsError(f"{path} already exists; nothing was written")
    for path, text, _ in files:
        if path.parent != Path(folder):
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return files[0][0]


class Algorithm:
    """A congestion control as a Python class, for exploring: about fifteen times slower than C, and one run at a time.

    The events are those of `braid.h`. Each subflow has a separate object. `view.me` is the subflow of the event,
    `view.eligible` are the subflows that count in sums, `view.subflows` all subflows. A view is valid only during the
    event.

    >>> class Half(Algorithm):
    ...     '''Reno that grows half as fast.'''
    ...     params = {"speed": 0.5}
    ...
    ...     def init(self, view, event):
    ...         self.carry = 0.0
    ...
    ...     def on_ack(self, view, event):
    ...         acked = view.me.acked_in_avoidance(event)
    ...         self.carry += self.speed * acked / view.me.cwnd
    ...         view.me.cwnd += int(self.carry)
    ...         self.carry %= 1
    ...
    ...     def on_loss(self, view, event):
    ...         view.me.ssthresh = max(view.me.cwnd // 2, 2)
    >>> import braid
    >>> results = braid.run("everyday/shared", cc=[Half, "half:speed=0.1", "reno"], set={"duration": "30s"})
    >>> goodput = results.mean("connections.mp0.goodput_bps")
    >>> goodput["half:speed=0.1"] < goodput["half"] < goodput["reno"]
    True
    """

    #: At most nine characters of a-z and 0-9; else that of the class in lower case.
    name: ClassVar[str]
    #: Default of each parameter, which objects have as an attribute; a float counts in thousandths.
    params: ClassVar[dict[str, float]] = {}
    #: Whether the window is the algorithm's in every state, recovery among them.
    owns_cwnd: ClassVar[bool] = False
    #: Whether events tell the delivery rate.
    wants_rate: ClassVar[bool] = False
    #: Whether events tell one-way delays.
    wants_owd: ClassVar[bool] = False

    def init(self, view: View, event: Event) -> None:
        """The subflow starts to use this algorithm."""

    def release(self, view: View, event: Event) -> None:
        """The subflow closes."""

    def on_ack(self, view: View, event: Event) -> None:
        """An acknowledgement: `event.acked` packets, `event.grow` of which may let the window grow."""

    def on_loss(self, view: View, event: Event) -> None:
        """A congestion episode begins: set `view.me.ssthresh`, the host moves the window there."""

    def on_recovered(self, view: View, event: Event) -> None:
        """The episode ended, or was undone (`event.is_undo`)."""

    def on_idle_restart(self, view: View, event: Event) -> None:
        """The sender is about to send after an idle time of `event.idle_us`."""


def _define(cls: type[Algorithm]) -> str:
    name: str = getattr(cls, "name", cls.__name__.lower())
    flags = OWNS_CWND * cls.owns_cwnd | WANTS_RATE * cls.wants_rate | WANTS_OWD * cls.wants_owd
    title = (inspect.getdoc(cls) or "an algorithm of a Python class").splitlines()[0]
    page = f"# {name}: {title}\n"
    largest = float(2**31 // 1000)
    params = [
        (key, isinstance(value, int), float(value), 0.0, largest, "") for key, value in cls.params.items()
    ]
    _braid.define(name, page, flags, params, cls)
    return name


Control = str | type[Algorithm]


def specs(cc: Control | Iterable[Control] | None) -> list[str]:
    """The congestion controls of `cc=`, as on the command line.

    >>> specs("lia,olia"), specs(["cubic:beta=0.8"]), specs(None)
    (['lia', 'olia'], ['cubic:beta=0.8'], [])
    """
    if cc is None:
        return []
    each: list[Any] = [cc] if isinstance(cc, (str, type)) else list(cc)
    texts: list[str] = []
    for one in each:
        if isinstance(one, type) and issubclass(one, Algorithm):
            texts.append(_define(one))
        elif isinstance(one, str):
            texts.extend(part.strip() for part in one.split(","))
        else:
            raise TypeError(f"cc takes names such as 'lia' and subclasses of braid.Algorithm, not {one!r}")
    return texts
