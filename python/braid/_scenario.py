# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Scenarios: links, connections and events."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from braid import _braid

Values = Mapping[str, Any] | Sequence[str] | None


def scenarios() -> dict[str, str]:
    """Name and title of the built-in scenarios.

    >>> scenarios()["everyday/shared"]
    'One shared bottleneck: two subflows beside one TCP flow'
    """
    return dict(_braid.names())


def assignments(values: Values) -> list[str]:
    """Assignments as `KEY=VALUE`.

    >>> assignments({"duration": "20s", "parameters.rate": ["10mbit", "20mbit"]})
    ['duration=20s', 'parameters.rate=10mbit,20mbit']
    """
    if values is None:
        return []
    if not isinstance(values, Mapping):
        return list(values)
    return [f"{key}={_text(value)}" for key, value in values.items()]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(map(_text, value))
    return str(value)


class Scenario:
    """A scenario: a built-in one by name, from a file, from TOML, or built in code.

    >>> Scenario("everyday/shared").title
    'One shared bottleneck: two subflows beside one TCP flow'
    >>> two = Scenario.build("two paths", duration="20s")
    >>> two.link("fast", rate="40mbit", rtt="20ms", queue="70p")
    >>> two.link("slow", rate="10mbit", rtt="80ms", queue="70p")
    >>> two.mptcp("mp0", wifi=["fast"], cell=["slow"])
    >>> two.connections
    {'mp0': ['wifi', 'cell']}

    `docs/scenarios.md` explains all keys. A mistake is an `Error` with its place and the remedy.
    """

    name: str

    def __init__(self, name: str | Path) -> None:
        self.name = str(name)
        self._toml: str | None = _braid.find(self.name)
        self._document: dict[str, Any] = {}

    @classmethod
    def from_toml(cls, text: str, name: str = "scenario.toml") -> Scenario:
        """A scenario from a text; messages use this name for it."""
        scenario = cls.__new__(cls)
        scenario.name, scenario._toml, scenario._document = name, text, {}
        return scenario

    @classmethod
    def build(cls, title: str, name: str | None = None, **keys: Any) -> Scenario:
        """A scenario without links and connections; keys as at the top of a file: `duration`, `warmup`, `cc`."""
        scenario = cls.__new__(cls)
        scenario.name, scenario._toml = name or title, None
        scenario._document = {"title": title, **keys, "link": {}, "connection": {}}
        return scenario

    def link(self, name: str, **keys: Any) -> None:
        """Adds a link: `rate`, `rtt` (or `delay`), `queue`, `loss`, `jitter`, ..."""
        self._built()["link"][name] = _keys(keys)

    def mptcp(self, name: str, keys: Mapping[str, Any] | None = None, **routes: Sequence[str]) -> None:
        """Adds an MPTCP connection; each subflow is given by the links it crosses."""
        subflows = {subflow: {"route": list(route)} for subflow, route in routes.items()}
        self._built()["connection"][name] = {"kind": "mptcp", **_keys(keys or {}), "subflow": subflows}

    def tcp(self, name: str, route: Sequence[str], **keys: Any) -> None:
        """Adds a TCP connection over these links: `cc`, `start`, `traffic`, ..."""
        self._built()["connection"][name] = {"kind": "tcp", "route": list(route), **_keys(keys)}

    def _built(self) -> dict[str, Any]:
        if self._toml is not None:
            raise TypeError(f"{self.name} is a text: begin with Scenario.build, or change values with set={{...}}")
        return self._document

    @property
    def toml(self) -> str:
        """The scenario as TOML."""
        return self._toml if self._toml is not None else _braid.toml_of_json(json.dumps(self._document))

    def check(self, set: Values = None) -> None:
        """Raises an `Error` if the scenario is invalid."""
        self._facts(set)

    def _facts(self, set: Values = None) -> tuple[str, str, list[str], list[tuple[str, list[str]]], int, float]:
        return _braid.check(self.name, self.toml, assignments(set))

    @property
    def title(self) -> str:
        """Its one-line title."""
        return self._facts()[0]

    @property
    def story(self) -> str:
        """Its purpose and the expected result."""
        return self._facts()[1]

    @property
    def cc(self) -> list[str]:
        """The congestion controls to compare by default."""
        return self._facts()[2]

    @property
    def connections(self) -> dict[str, list[str]]:
        """Each MPTCP connection and its subflows."""
        return dict(self._facts()[3])

    def __repr__(self) -> str:
        return f"<braid.Scenario {self.name}>"


def _keys(keys: Mapping[str, Any]) -> dict[str, Any]:
    return {key.replace("_", "-"): value for key, value in keys.items()}


def source(scenario: str | Path | Scenario) -> tuple[str, str]:
    """Name and text."""
    if not isinstance(scenario, Scenario):
        scenario = Scenario(scenario)
    return scenario.name, scenario.toml
