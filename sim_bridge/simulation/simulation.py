"""A simulation: its members, the results computed from them, and its steps."""

from __future__ import annotations

from functools import partial

import numpy as np

from sim_bridge.description.gravity import AnyGravity, gravity_row
from sim_bridge.foundation.names import counted
from sim_bridge.simulation.cache import Cache
from sim_bridge.simulation.change import Change, finished
from sim_bridge.simulation.observation import Observation
from sim_bridge.simulation.python_calls import PythonCalls
from sim_bridge.simulation.registry import Registry
from sim_bridge.simulation.run import options_of, Run
from sim_bridge.simulation.settings import Settings
from sim_bridge.simulation.slots import RobotSlot
from sim_bridge.simulation.staleness import (
    closure,
    CONNECTION,
    CONTACT_MATERIALS,
    JOINT_VELOCITIES,
    REST,
    SLEEP,
    Staleness,
)
from sim_bridge.simulation.step_runner import StepRunner
from sim_bridge.simulation.thread_guard import ThreadGuard


class Simulation:
    """
    A simulation's parts, and changes to several parts.

    run: settings and step count. registry: robots, constraints, materials, force fields.
    staleness: stale results; `write` writes fields. cache: arrays and handles, refreshed when
    they are read. observation: sites, wrenches and energy in the present state. runner: steps.
    thread_guard: keeps other threads out.
    """

    def __init__(self, settings: Settings, gravity: np.ndarray):
        """Begin empty. gravity: (8,) as the engine's Model has it, used in place."""
        calls = PythonCalls()
        guard = self.thread_guard = ThreadGuard(calls)
        run = self.run = Run(settings, gravity)
        staleness = self.staleness = Staleness(guard)
        registry = self.registry = Registry(run, staleness, calls)
        cache = self.cache = Cache(run, registry, staleness, guard, calls)
        self.observation = Observation(registry, staleness, cache, guard, calls)
        self.runner = StepRunner(run, registry, staleness, cache, self.observation, guard, calls)
        self.calls, self.write = calls, staleness.write

    def __repr__(self) -> str:
        """Show the size and the stale results."""
        return f'<Simulation: {counted(len(self.registry.slots), "robot")}, {self.staleness!r}>'

    def configure(self, settings: Settings) -> None:
        """
        Use other settings from the next step on; the seed is the same.

        Raises StateError if another thread uses the simulation. The time step can change only
        without devices, since their samples depend on it.
        """
        self.thread_guard.check()
        run, staleness = self.run, self.staleness
        if settings == run.settings:
            return
        self.cache.settle()
        stale = closure(CONTACT_MATERIALS | SLEEP | CONNECTION)
        if settings.sleep is None and run.settings.sleep is not None:
            stale |= REST
        options, step_ns, flags = options_of(settings), settings.time_step_ns, staleness.flags
        new = settings, options, step_ns, step_ns * 1e-9, flags | stale
        run.settings, run.options, run.time_step_ns, run.time_step, staleness.flags = new
        self.cache.settle()
        for device in self.cache.devices:
            device.set_origin(settings.origin)

    def set_gravity(self, gravity: AnyGravity) -> None:
        """Set gravity; raises InvalidValueError."""
        self.thread_guard.check()
        row, function = gravity_row(gravity), gravity if callable(gravity) else None
        with Change(self.staleness, self.registry.fields):
            self.write(self.run, 'gravity', slice(None), row)
            if function is not self.registry.fields.gravity:
                self.registry.set_fields(self.registry.fields.placed, function)

    def expel(self, slot: RobotSlot) -> None:
        """Remove a robot held by no joint, with its contacts."""
        self.cache.forget_contacts(slot.first_geometry, len(slot.geometries))
        self.registry.expel(slot)

    def reset(self) -> None:
        """Put every robot back to its state at addition, without efforts."""
        self.thread_guard.check()
        self.cache.settle()
        state = self.cache.state
        finished(partial(self._reset, state.control.copy(), state.axis_control.copy()))

    def _reset(self, control: np.ndarray, axis_control: np.ndarray) -> None:
        self.cache.restart(control, axis_control)
        if self.registry.constraints:
            self.staleness.flags |= JOINT_VELOCITIES
        self.runner.forget_report()
        self.cache.stop_crawlers()
        for device in self.cache.devices:
            device.reset(self.run.seed)
