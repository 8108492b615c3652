"""The environment: Gymnasium's interface, and the same episode for the same seed."""

import pathlib
import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import braid
import braid.gym

SHORT = {"duration": "10s", "warmup": "2s", "noise": "none"}


@pytest.mark.filterwarnings("ignore:.*different from the unwrapped version.*")
def test_the_checker_of_gymnasium_passes() -> None:
    check_env(gymnasium.make("braid/Connection-v0", set=SHORT).unwrapped, skip_render_check=True)


def episode(seed: int, **how: object) -> list[tuple[list[float], float]]:
    env = gymnasium.make("braid/Connection-v0", set=SHORT, **how)
    env.reset(seed=seed)
    env.action_space.seed(7)
    seen, over = [], False
    while not over:
        observation, reward, terminated, over, _ = env.step(env.action_space.sample() * 0.2)
        assert not terminated
        seen.append((observation.ravel().tolist(), reward))
    return seen


def test_the_same_seed_and_actions_give_the_same_episode() -> None:
    assert episode(1) == episode(1)
    assert episode(1) != episode(2)
    assert len(episode(1)) == 10 * 10 - 1


def test_windows_are_the_agents() -> None:
    env = gymnasium.make("braid/Connection-v0", set=SHORT)
    env.reset(seed=1)
    for _ in range(5):
        *_, info = env.step(np.ones(2, np.float32))
    # Slow start without an algorithm: 10 packets doubled five times, while packets are acknowledged.
    assert min(info["cwnd"]) > 80
    rate = info["goodput_bps"]
    for _ in range(30):
        *_, info = env.step(-np.ones(2, np.float32))
    assert info["cwnd"] == [2, 2] and info["goodput_bps"] < rate


def test_a_wrong_connection_is_told() -> None:
    with pytest.raises(braid.Error, match="it has mp0"):
        braid.gym.Connection("everyday/shared", connection="tcp0")


def test_the_example_learns_and_compares_itself_with_olia() -> None:
    example = pathlib.Path(__file__).parents[1] / "examples" / "learn.py"
    words = [sys.executable, str(example), "--generations", "1", "--population", "5", "--jobs", "1"]
    said = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert re.search(r"^generation 1: mean -?\d+\.\d+, best", said, re.MULTILINE)
    assert len(re.findall(r"(learned|olia): reward -?\d+\.\d+, goodput \d+\.\d Mbit/s", said)) == 4
