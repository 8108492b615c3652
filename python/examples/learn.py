# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Trains a small controller by the cross-entropy method, and compares it with OLIA.

    pip install braid-mptcp[gym]
    python learn.py                  # two minutes on two cores
    python learn.py --generations 2  # a look at how it works

The controller is a table of ten numbers: the same linear function of a subflow's observation for every subflow,
squashed. Training and evaluation use different rates, delays and seeds (method: Mannor, Rubinstein, Gat, ICML 2003).

Its reward ignores the TCP flow beside it. So it learns to take the throughput that OLIA by design leaves to TCP: the
last column. A fair controller needs fairness in its reward.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

import braid
from braid.gym import FEATURES, Connection

SIZE = len(FEATURES) + 1
DURATION = {"duration": "20s", "warmup": "2s"}


def network(wifi: int, cell: int, rtt: int) -> braid.Scenario:
    """Two paths; a TCP flow on the first."""
    scenario = braid.Scenario.build(f"{wifi} and {cell} Mbit/s", duration="20s", warmup="2s")
    scenario.link("wifi", rate=f"{wifi}mbit", rtt="20ms", queue="60p")
    scenario.link("cell", rate=f"{cell}mbit", rtt=f"{rtt}ms", queue="120p")
    scenario.mptcp("mp0", wifi=["wifi"], cell=["cell"])
    scenario.tcp("tcp0", ["wifi"], cc="reno")
    return scenario


TRAINING = [(20, 10, 60), (10, 20, 100)]
JUDGED = [(15, 15, 80), (30, 8, 40)]


def episode(weights: np.ndarray, case: tuple[int, int, int], seed: int) -> tuple[float, float]:
    """Mean reward and mean goodput, Mbit/s, of an episode without its first two seconds, which OLIA's results exclude, too."""
    env = Connection(network(*case))
    observation, _ = env.reset(seed=seed)
    rewards, goodput, over = [], [], False
    while not over:
        action = np.tanh(observation @ weights[:-1] + weights[-1])
        observation, reward, _, over, info = env.step(action)
        if info["time_s"] > 2:
            rewards.append(reward)
            goodput.append(info["goodput_bps"] / 1e6)
    return float(np.mean(rewards)), float(np.mean(goodput))


def score(weights: np.ndarray, seed: int) -> float:
    return float(np.mean([episode(weights, case, seed)[0] for case in TRAINING]))


def train(generations: int, population: int, jobs: int) -> np.ndarray:
    random = np.random.default_rng(1)
    mean, deviation = np.zeros(SIZE), np.ones(SIZE)
    with ProcessPoolExecutor(jobs) as pool:
        for generation in range(generations):
            candidates = mean + deviation * random.standard_normal((population, SIZE))
            scores = list(pool.map(partial(score, seed=generation), candidates))
            elite = candidates[np.argsort(scores)[-population // 5 :]]
            # Noise delays convergence.
            mean, deviation = elite.mean(axis=0), elite.std(axis=0) + 0.3 / (generation + 1)
            print(f"generation {generation + 1}: mean {np.mean(scores):.3f}, best {max(scores):.3f}", flush=True)
    return mean


def olia(case: tuple[int, int, int], seed: int) -> tuple[float, float]:
    """The reward that OLIA would have had, by the same formula from its measurements over the same time; and its goodput."""
    results = braid.run(network(*case), cc="olia", seeds=range(seed, seed + 1), samples=True)
    samples, flows = results.samples, results.flows
    goodput = next(bps for bps, name in zip(flows["goodput_bps"], flows["connection"]) if name == "mp0")
    delay, loss = [], []
    for subflow, rtt in (("wifi", 20), ("cell", case[2])):
        own = [value for value, connection, name in zip(samples["srtt_ms"], samples["connection"], samples["subflow"])
               if connection == "mp0" and name == subflow and value is not None][20:]  # fmt: skip
        delay.append(np.mean(own) / rtt - 1)
        at = flows["subflow"].index(subflow)
        loss.append(flows["retransmissions"][at] / flows["packets_sent"][at])
    reward = goodput / ((case[0] + case[1]) * 1e6) - 0.1 * np.mean(delay) - np.mean(loss)
    return float(reward), goodput / 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--generations", type=int, default=15)
    parser.add_argument("--population", type=int, default=40)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    args = parser.parse_args()
    weights = train(args.generations, args.population, args.jobs)
    print("weights:", np.round(weights, 3).tolist())
    print("networks it has not seen, mean of 5 seeds:")
    for case in JUDGED:
        seeds = range(101, 106)
        for name, of in (("learned", partial(episode, weights)), ("olia", olia)):
            reward, goodput = np.mean([of(case, seed) for seed in seeds], axis=0)
            print(f"  {case[0]} and {case[1]} Mbit/s, {case[2]} ms, {name}: reward {reward:.3f}, goodput {goodput:.1f} Mbit/s, "
                  f"at most {case[0] + case[1] - goodput:.1f} for the TCP flow")  # fmt: skip


if __name__ == "__main__":
    main()
