"""How a simulation is run, and how far it is: settings, engine options, step count."""

from __future__ import annotations

from ctypes import c_int64

import numpy as np

from sim_bridge.engine.data.model import Options
from sim_bridge.simulation.handles import make_options
from sim_bridge.simulation.settings import Settings, SOLVERS

MOST_STEPS = 2**62 - 1
"""Limit for step counts, and for steps in a call: their sum takes 64 bits."""


class Run:
    """
    A simulation's settings, gravity, and step count.

    settings: the user's. options: the engine's, from the settings. time_step: [s]. gravity: (8,)
    as in the engine's Model, used in place. counter: the step count, written by steps.
    """

    def __init__(self, settings: Settings, gravity: np.ndarray) -> None:
        """Begin at step 0."""
        self.settings, self.options, self.gravity = settings, options_of(settings), gravity
        self.time_step_ns = settings.time_step_ns
        self.time_step = settings.time_step_ns * 1e-9
        self.counter = c_int64(0)

    @property
    def step_count(self) -> int:
        """The number of steps taken; can be set."""
        return self.counter.value

    @step_count.setter
    def step_count(self, value: int) -> None:
        self.counter.value = value

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        return self.counter.value * self.time_step_ns * 1e-9

    @property
    def seed(self) -> int:
        """The seed for sensor noise."""
        return self.settings.seed

    @property
    def counter_array(self) -> np.ndarray:
        """(1,) the step count; a view."""
        return np.frombuffer(memoryview(self.counter), np.int64)


def options_of(settings: Settings) -> Options:
    """Return the engine's options without stages."""
    return make_options(
        settings.time_step_ns * 1e-9,
        SOLVERS[settings.solver],
        settings.contact_margin,
        is_smooth=settings.integrator == 'rk5',
        keeps_momentum=settings.integrator == 'momentum',
        iterations=settings.iterations,
        budget=settings.step_budget,
    )
