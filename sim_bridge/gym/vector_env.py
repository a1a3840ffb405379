"""Parallel environments for a task, stepped in one batch."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
import numpy as np
import numpy.typing as npt

from sim_bridge.batch.batch import Batch, Vary
from sim_bridge.batch.views import BatchCamera
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import instance_of, real_array
from sim_bridge.gym.task import Flags, Task
from sim_bridge.world.world import World

Observations = npt.NDArray[np.float32] | dict[str, npt.NDArray[Any]]
"""Numbers; for tasks with cameras a dictionary of these as STATE, and images by camera."""
STATE = 'state'


class TaskVectorEnv(VectorEnv):  # type: ignore[misc]
    """
    num_envs environments with Gymnasium's VectorEnv interface.

    A finished episode is restarted by the next step; it ignores the action and gives no reward
    (`AutoresetMode.NEXT_STEP`). A task with cameras has observations as a dictionary: 'state', and
    for each camera the image at the end of the control period. batch: the worlds.
    """

    metadata: dict[str, Any] = {'autoreset_mode': AutoresetMode.NEXT_STEP, 'render_modes': []}

    def __init__(
        self,
        num_envs: int = 1,
        *,
        task: type[Task],
        max_episode_steps: int | None = None,
        vary: Vary | None = None,
        world_seed: int = 0,
        threads: int | None = None,
    ):
        """
        Make the environments.

        max_episode_steps: episode limit in control periods; None: no limit. vary, threads: as in
        `Batch`. world_seed: seed for the batch, the worlds' noise and the random numbers in
        `vary`; the seed in `reset` determines initial states and goals.
        """
        world = task.make_world()
        self._steps = round(task.period / world.time_step)
        self.batch = Batch(world, num_envs, world_seed, vary, threads, raises=False)
        self._task = task(self.batch)
        self._most = max_episode_steps
        self.num_envs = num_envs
        self.single_action_space = gymnasium.spaces.Box(-1.0, 1.0, (task.action_size,))
        devices = self._task.robot.devices
        self._cameras = {
            name: instance_of(f'cameras of {task.__name__}', devices[name], BatchCamera, 'cameras')
            for name in task.cameras
        }
        self.single_observation_space = self._space(task.observation_size)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._elapsed = np.zeros(num_envs, np.int64)
        self._is_over = np.ones(num_envs, bool)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """
        Begin all episodes; return observations and an empty info.

        seed: for the generator of states and goals; None: continue the generator.
        """
        super().reset(seed=seed)
        self._begin(np.arange(self.num_envs))
        self._is_over[:] = False
        return self._observe(), {}

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Observations, FloatArray, Flags, Flags, dict[str, Any]]:
        """
        Act for a control period.

        actions: (num_envs, action_size), clipped to -1 … 1. Returns observations, rewards, ended
        episodes, truncated episodes, and in `info['diverged']` episodes ended because their world
        became non-finite. Raises InvalidValueError for non-finite actions or a wrong shape.
        """
        actions = self._checked(actions)
        begins = np.flatnonzero(self._is_over)
        going = ~self._is_over
        which = np.flatnonzero(going)
        self._task.act(which, actions[which])
        self.batch.step(self._steps, going)
        self._begin(begins)
        self._elapsed[which] += 1
        rewards, has_ended = self._task.judge(actions)
        diverged = self.batch.failed.copy()
        terminated = (has_ended | diverged) & going
        truncated = np.zeros(self.num_envs, bool)
        if self._most is not None:
            truncated = (self._elapsed >= self._most) & going & ~terminated
        self._is_over = terminated | truncated
        # restarted and diverged worlds get no reward
        rewards = np.where(going & ~diverged, rewards, 0.0)
        return self._observe(), rewards, terminated, truncated, {'diverged': diverged}

    def world(self, number: int = 0) -> World:
        """Return a copy of an environment's world, for instance to inspect it by `World.view`."""
        return self.batch.world(number)

    def _begin(self, which: IntArray) -> None:
        if len(which):
            mask = np.zeros(self.num_envs, bool)
            mask[which] = True
            self.batch.reset(mask)
            self._task.begin(which, self.np_random)
            self._elapsed[which] = 0

    def _space(self, size: int) -> gymnasium.Space[Any]:
        """Return the space for one observation. size: number count."""
        state = gymnasium.spaces.Box(-np.inf, np.inf, (size,))
        if not self._cameras:
            return state
        images = {}
        for name, image in self._images().items():
            most = np.iinfo(image.dtype).max
            images[name] = gymnasium.spaces.Box(0, most, image.shape[1:], image.dtype.type)
        return gymnasium.spaces.Dict({STATE: state, **images})

    def _observe(self) -> Observations:
        state = np.asarray(self._task.observe(), np.float32)
        return {STATE: state, **self._images()} if self._cameras else state

    def _images(self) -> dict[str, npt.NDArray[Any]]:
        return {name: camera.render('image', now=True) for name, camera in self._cameras.items()}

    def _checked(self, actions: npt.ArrayLike) -> FloatArray:
        shape = self.num_envs, self._task.action_size
        given = real_array('actions', actions, f'finite numbers {shape}', type(self).__name__)
        if given.shape != shape or not np.isfinite(given).all():
            raise InvalidValueError(
                'actions', actions, f'finite numbers {shape}', type(self).__name__
            )
        return np.clip(given, -1.0, 1.0)
