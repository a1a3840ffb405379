"""Queries about a simulation in its present state: sites, wrenches, energy, momentum."""

from __future__ import annotations

from threading import get_ident

import numpy as np

from sim_bridge.engine.data.loops import ALL_ROWS, RIGID_ROWS
from sim_bridge.engine.data.model import body_count, velocity_count
from sim_bridge.engine.dynamics.energy import energy, momentum
from sim_bridge.engine.math.spatial import ORIGIN
from sim_bridge.engine.pipeline.stored_energy import loop_energy
from sim_bridge.simulation.cache import Cache
from sim_bridge.simulation.constraint import Constraint
from sim_bridge.simulation.contact_energy import energy_in_contacts
from sim_bridge.simulation.handles import Observer
from sim_bridge.simulation.python_calls import PythonCalls
from sim_bridge.simulation.records import Energy, Momentum
from sim_bridge.simulation.registry import Registry
from sim_bridge.simulation.staleness import Staleness, TO_OBSERVE
from sim_bridge.simulation.thread_guard import guarded, ThreadGuard


class Observation:
    """Queries about a simulation in its present state."""

    def __init__(
        self,
        registry: Registry,
        staleness: Staleness,
        cache: Cache,
        guard: ThreadGuard,
        calls: PythonCalls,
    ) -> None:
        """Observe a cache's arrays."""
        self._registry, self._staleness, self._cache = registry, staleness, cache
        self._guard, self._calls = guard, calls

    @guarded
    def sites(self) -> np.ndarray:
        """Return (ns, 30) the sites, as written by `engine.pipeline.observe`."""
        thread, guard, cache = get_ident(), self._guard, self._cache
        before = guard.holder
        if self._calls.is_closed or (before and before != thread):
            before = guard.admit()
        guard.holder = thread
        try:
            if self._staleness.flags & TO_OBSERVE:
                cache.prepare_observation()
            observer = cache.observer_call
            observer.run()
        finally:
            guard.holder = before
        if self._registry.fields.has_functions:
            self._calls.raise_error()
        return observer.readings

    def observer(self) -> Observer:
        """Return the observer; its workspace holds the present state's evaluation."""
        self.sites()
        return self._cache.observer_call.observer

    def constraint_wrench(self, joint: Constraint) -> tuple[np.ndarray, np.ndarray]:
        """Return a joint's observed force and torque about anchor2 on its second link."""
        number = list(self._registry.constraints).index(joint.key)
        torque, force = np.split(self._cache.observer_call.observer.loop_work.mean[number], 2)
        return force.copy(), torque.copy()

    def push(self, body: int, force: np.ndarray, torque: np.ndarray, point: np.ndarray) -> None:
        """Add a force at a world point, and a torque, to a body, for the next step."""
        if self._guard.holder:
            self._guard.check()
        arm = point - self.observer().workspace.pose[body, ORIGIN : ORIGIN + 3]
        state = self._cache.robots.state
        # numbers: np.cross takes ten times as long, an array sum three times
        (x, y, z), (f, g, h), (k, m, n) = arm.tolist(), force.tolist(), torque.tolist()
        a, b, c, d, e, i = state.wrench[body].tolist()
        moments = a + (k + (y * h - z * g)), b + (m + (z * f - x * h)), c + (n + (x * g - y * f))
        self._staleness.write(state, 'wrench', body, (*moments, d + f, e + g, i + h))

    def energy(self) -> Energy:
        """Return all robots' energy."""
        observer, model, loops = self.observer(), self._cache.model, self._cache.loops
        constraints = self._registry.constraints
        stored = sum(each.joint.potential_energy for each in constraints.values())
        if self._registry.geometries and self._registry.materials.may_yield:
            stored += energy_in_contacts(self._cache.handles)
        handle = observer.handle
        kinetic, potential = energy(handle, 0, body_count(model), 0, velocity_count(model))
        if loops.size[ALL_ROWS] > loops.size[RIGID_ROWS]:
            stored += loop_energy(handle)
        return Energy(kinetic, potential + stored)

    def momentum(self) -> Momentum:
        """Return all robots' momentum."""
        handle, total = self.observer().handle, np.zeros((1, 6))
        momentum(handle, 0, body_count(self._cache.model), total)
        return Momentum(total[0, :3], total[0, 3:])
