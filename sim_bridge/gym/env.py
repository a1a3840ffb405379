"""Single environment for a task."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from sim_bridge.batch.batch import Vary
from sim_bridge.gym.task import Task
from sim_bridge.gym.vector_env import Observations, TaskVectorEnv
from sim_bridge.world.world import World


class TaskEnv(gymnasium.Env[Any, Any]):  # type: ignore[misc]
    """Single environment with Gymnasium's Env interface, equal to one in `TaskVectorEnv`."""

    metadata: dict[str, Any] = {'render_modes': []}

    def __init__(self, *, task: type[Task], vary: Vary | None = None, world_seed: int = 0):
        """Make the environment; vary, world_seed: as in `TaskVectorEnv`."""
        self._all = TaskVectorEnv(1, task=task, vary=vary, world_seed=world_seed, threads=1)
        self.action_space = self._all.single_action_space
        self.observation_space = self._all.single_observation_space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode; seed: as in `TaskVectorEnv.reset`."""
        super().reset(seed=seed)
        # users see the generator that is actually used
        self._all.np_random = self.np_random
        observations, info = self._all.reset()
        return _first(observations), info

    def step(
        self, action: npt.ArrayLike
    ) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Act for a control period; see `TaskVectorEnv.step`."""
        observations, rewards, ended, cut, info = self._all.step(np.asarray(action)[np.newaxis])
        return (
            _first(observations),
            float(rewards[0]),
            bool(ended[0]),
            bool(cut[0]),
            {'diverged': bool(info['diverged'][0])},
        )

    def world(self) -> World:
        """Return a copy of the world for inspection, for instance with `World.view`."""
        return self._all.world()


def _first(observations: Observations) -> Observations:
    """Return the first observation."""
    if isinstance(observations, dict):
        return {name: values[0] for name, values in observations.items()}
    return observations[0]
