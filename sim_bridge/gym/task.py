"""Task of an environment: world, actions, observations, rewards."""

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
    Task in the worlds of a batch.

    robot_name: name of the acting robot. period: control period, a multiple of the world's time
    step [s]. duration: time limit for an episode [s]. cameras: names of the robot's cameras whose
    images are observed, too. Actions are from -1 to 1. All arrays have one row per world; which:
    (k,) numbers of the affected worlds.
    """

    robot_name: ClassVar[str]
    period: ClassVar[float]
    duration: ClassVar[float]
    action_size: ClassVar[int]
    observation_size: ClassVar[int]
    cameras: ClassVar[tuple[str, ...]] = ()

    def __init__(self, batch: Batch) -> None:
        """Run in a batch of the task's worlds, with the robot named `robot_name`."""
        self.batch, self.robot = batch, batch.robots[self.robot_name]

    @staticmethod
    @abstractmethod
    def make_world() -> World:
        """Return the world copied for the batch."""

    @abstractmethod
    def begin(self, which: IntArray, draw: np.random.Generator) -> None:
        """Begin episodes in worlds just reset: draw states and goals at random."""

    @abstractmethod
    def act(self, which: IntArray, actions: FloatArray) -> None:
        """Command worlds. actions: (k, action_size), clipped."""

    @abstractmethod
    def observe(self) -> FloatArray:
        """Return the observations of all worlds (n, observation_size)."""

    @abstractmethod
    def judge(self, actions: FloatArray) -> tuple[FloatArray, Flags]:
        """
        Return the rewards (n,) for the last control period, and whether episodes ended in it (n,).

        actions: (n, action_size), clipped.
        """
