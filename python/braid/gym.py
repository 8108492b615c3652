# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A Gymnasium environment with one MPTCP connection: the agent sets the windows of its subflows.

>>> import gymnasium
>>> env = gymnasium.make("braid/Connection-v0", scenario="everyday/shared", set={"duration": "20s"})
>>> observation, info = env.reset(seed=1)
>>> observation.shape
(2, 5)
>>> observation, reward, terminated, truncated, info = env.step(env.action_space.sample())
>>> sorted(info)
['cwnd', 'goodput_bps', 'srtt_ms', 'time_s']
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from braid import _braid
from braid._scenario import Scenario, Values, assignments, source

#: What an observation tells of each subflow.
FEATURES = ("window", "delivery", "queue", "loss", "in_flight")
#: Rate and delay of a full window: a window of 1 is the bandwidth-delay product.
_PACKET_BITS = 1500 * 8

Array = npt.NDArray[np.float32]


class Connection(gymnasium.Env[Array, Array]):
    """One MPTCP connection of a scenario; the other connections follow the scenario.

    action: a number from -1 to 1 for each subflow, which multiplies its window by 2 ** action. Otherwise only a
        retransmission timeout changes a window: it halves it. Windows start at 10 packets; the minimum is 2.
    observation: a row for each subflow, over the time since the last step, each number from 0 to 10:
        window: the window, as a share of rate x smallest RTT of its path's slowest link;
        delivery: delivered packets, as a share of that link's capacity;
        queue: smoothed RTT over smallest RTT, minus 1;
        loss: lost packets, as a share of lost and delivered ones;
        in_flight: packets in flight, as a share of the window.
    reward: goodput of the connection, as a share of the summed rates of its paths' slowest links, minus
        `delay_weight` x mean queue, minus `loss_weight` x mean loss.
    end: at the end of the scenario, as truncated.

    scenario, set: as for `braid.run`. connection: its name; by default the first MPTCP connection. cc: of connections
    that name no congestion control. step_ms: virtual time of a step.

    The same seed and actions give the same episode, to the last bit.
    """

    metadata = {"render_modes": []}

    def __init__(
        self,
        scenario: str | Path | Scenario = "everyday/shared",
        set: Values = None,
        connection: str | None = None,
        cc: str = "olia",
        scheduler: str = "minrtt",
        step_ms: float = 100.0,
        delay_weight: float = 0.1,
        loss_weight: float = 1.0,
    ) -> None:
        self._name, self._text = source(scenario)
        self._set = assignments(set)
        connections = dict(_braid.check(self._name, self._text, self._set)[3])
        if not connections:
            raise _braid.Error(f"{self._name} has no MPTCP connection")
        self.connection = connection or next(iter(connections))
        if self.connection not in connections:
            known = ", ".join(connections)
            raise _braid.Error(f"{self._name} has no MPTCP connection {self.connection}: it has {known}")
        self.subflows = connections[self.connection]
        self._cc, self._scheduler = cc, scheduler
        self._step_ns = round(step_ms * 1e6)
        self._weights = delay_weight, loss_weight
        size = len(self.subflows)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (size,), np.float32)
        self.observation_space = gymnasium.spaces.Box(0.0, 10.0, (size, len(FEATURES)), np.float32)
        self._agent: _braid.Agent | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        super().reset(seed=seed)
        run = int(self.np_random.integers(1, 2**31))
        self._agent = _braid.Agent(
            self._name, self._text, self._set, self.connection, self._cc, self._scheduler, run
        )
        self._rates = np.array(self._agent.rates)
        self._before = np.zeros((len(self.subflows), 2))
        observation, _, _, info = self._advance(np.zeros(len(self.subflows)))
        return observation, info

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        if self._agent is None:
            raise RuntimeError("call reset first")
        observation, reward, over, info = self._advance(np.asarray(action, dtype=float))
        return observation, reward, False, over, info

    def _advance(self, action: npt.NDArray[np.float64]) -> tuple[Array, float, bool, dict[str, Any]]:
        assert self._agent is not None
        factors = 2.0 ** np.clip(action, -1.0, 1.0)
        rows, goodput_bytes, now, over = self._agent.step(factors.tolist(), self._step_ns)
        seen = np.array(rows, dtype=float)
        cwnd, srtt, smallest, in_flight = seen[:, 0], seen[:, 1], seen[:, 2], seen[:, 3]
        counted = np.mod(seen[:, 4:6] - self._before, 2.0**32)
        self._before = seen[:, 4:6]
        delivered, lost = counted[:, 0], counted[:, 1]
        seconds = self._step_ns / 1e9
        product = np.maximum(self._rates * smallest / 1e6 / _PACKET_BITS, 1.0)
        features = np.stack(
            [
                cwnd / product,
                delivered * _PACKET_BITS / (self._rates * seconds),
                np.where(smallest > 0, srtt / np.maximum(smallest, 1) - 1, 0.0),
                lost / np.maximum(delivered + lost, 1),
                in_flight / np.maximum(cwnd, 1),
            ],
            axis=1,
        )
        observation = np.clip(features, 0.0, 10.0).astype(np.float32)
        goodput = goodput_bytes * 8 / seconds
        delay_weight, loss_weight = self._weights
        penalty = delay_weight * observation[:, 2].mean() + loss_weight * observation[:, 3].mean()
        reward = float(goodput / self._rates.sum() - penalty)
        info = {
            "time_s": now,
            "goodput_bps": goodput,
            "cwnd": cwnd.astype(int).tolist(),
            "srtt_ms": (srtt / 1e3).tolist(),
        }
        return observation, reward, over, info


gymnasium.register("braid/Connection-v0", entry_point="braid.gym:Connection")
