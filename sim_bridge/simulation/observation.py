"""The call that observes a simulation, and what it writes."""

from __future__ import annotations

import numpy as np

from sim_bridge.compiler.calls import Call
from sim_bridge.engine.data.fields import Fields
from sim_bridge.engine.data.loops import ALL_ROWS, RIGID_ROWS
from sim_bridge.engine.data.model import body_count, Options, velocity_count
from sim_bridge.engine.dynamics.energy import energy, momentum
from sim_bridge.engine.math.spatial import ORIGIN
from sim_bridge.engine.pipeline.observe import observe, SITE_SIZE
from sim_bridge.engine.pipeline.stored_energy import loop_energy
from sim_bridge.simulation.handles import make_observer, Observer
from sim_bridge.simulation.records import Energy, Momentum
from sim_bridge.simulation.robot_arrays import RobotArrays


class Observation:
    """
    An observer of the robots' arrays.

    readings: (ns, 30) the sites of `engine.pipeline.observe`. run: the call that writes them, and
    the observer's workspace, at the present state.
    """

    def __init__(self, robots: RobotArrays):
        """Observe robots' arrays."""
        self._robots = robots
        self.observer: Observer
        self.readings: np.ndarray
        self.run: Call

    def connect(self, options: Options, fields: Fields) -> None:
        """Take the present arrays."""
        robots = self._robots
        self.observer = make_observer(robots.model, options, robots.state, robots.loops, fields)
        self.readings = np.zeros((len(robots.sites.body), SITE_SIZE))

    def prepare(self) -> None:
        """Prepare the call."""
        sites = self._robots.sites
        self.run = observe.prepare(self.observer.handle, sites.body, sites.frame, self.readings)

    def forget(self) -> None:
        """Have everything computed anew."""
        # unlike any wrench
        self.observer.workspace.pushes.fill(np.nan)

    def push(self, body: int, force: np.ndarray, torque: np.ndarray, point: np.ndarray) -> None:
        """Add a force at a world point, and a torque, to what acts on a body, as observed."""
        arm = point - self.observer.workspace.pose[body, ORIGIN : ORIGIN + 3]
        wrench = self._robots.state.wrench[body]
        # numbers: np.cross takes ten times as long
        (x, y, z), (f, g, h) = arm.tolist(), force.tolist()
        wrench[:3] += torque + (y * h - z * g, z * f - x * h, x * g - y * f)
        wrench[3:] += force

    def constraint_wrench(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return force and torque about anchor2 on the second link, as observed."""
        torque, force = np.split(self.observer.loop_work.mean[number], 2)
        return force.copy(), torque.copy()

    def energy(self, stored: float) -> Energy:
        """Return the energy of all robots, as observed; stored: more potential energy [J]."""
        model, handle = self._robots.model, self.observer.handle
        kinetic, potential = energy(handle, 0, body_count(model), 0, velocity_count(model))
        if self._robots.loops.size[ALL_ROWS] > self._robots.loops.size[RIGID_ROWS]:
            stored += loop_energy(handle)
        return Energy(kinetic, potential + stored)

    def momentum(self) -> Momentum:
        """Return the momentum of all robots, as observed."""
        total = np.zeros((1, 6))
        momentum(self.observer.handle, 0, body_count(self._robots.model), total)
        return Momentum(total[0, :3], total[0, 3:])
