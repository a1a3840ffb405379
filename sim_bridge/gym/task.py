"""What an environment is about: a world, what acts in it, what is seen of it, what is wanted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from sim_bridge.batch.batch import Batch
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.world.world import World

Flags = npt.NDArray[np.bool_]


class Task(ABC):
    """
    A task in the worlds of a batch.

    robot_name: of the robot that acts. period: of control, a multiple of the world's time step
    [s]. duration: after which an episode is cut off [s]. Actions are from -1 to 1. All arrays have
    a row for each world; which: (k,) the numbers of the worlds that something is for.
    """

    robot_name: ClassVar[str]
    period: ClassVar[float]
    duration: ClassVar[float]
    action_size: ClassVar[int]
    observation_size: ClassVar[int]

    def __init__(self, batch: Batch) -> None:
        """Act in a batch of the task's worlds, by its robot."""
        self.batch, self.robot = batch, batch.robots[self.robot_name]

    @staticmethod
    @abstractmethod
    def make_world() -> World:
        """Return the world that all of the batch are like."""

    @abstractmethod
    def begin(self, which: IntArray, draw: np.random.Generator) -> None:
        """Let episodes begin in worlds that were just reset: draw states and goals."""

    @abstractmethod
    def act(self, which: IntArray, actions: FloatArray) -> None:
        """Command worlds. actions: (k, action_size), clipped."""

    @abstractmethod
    def observe(self) -> FloatArray:
        """Return (n, observation_size) what is seen of all worlds."""

    @abstractmethod
    def judge(self, actions: FloatArray) -> tuple[FloatArray, Flags]:
        """
        Return (n,) the rewards of the last control period, and (n,) whether that ended episodes.

        actions: (n, action_size), clipped.
        """
