"""The observer's call and its results."""

from __future__ import annotations

import numpy as np

from sim_bridge.compiler.calls import Call
from sim_bridge.engine.data.fields import Fields, START
from sim_bridge.engine.data.model import Options
from sim_bridge.engine.pipeline.observe import observe, SITE_SIZE
from sim_bridge.simulation.handles import make_observer, Observer
from sim_bridge.simulation.robot_arrays import RobotArrays


class ObserverCall:
    """
    An observer for joined arrays, and its prepared call.

    observer: handle and workspaces. fields: its force field arrays. readings: (ns, 30) sites,
    as `engine.pipeline.observe` writes them. run: the prepared call.
    """

    def __init__(self, robots: RobotArrays):
        """Observe robots' arrays."""
        self._robots = robots
        self.observer: Observer
        self.fields: Fields
        self.readings: np.ndarray
        self.run: Call

    def connect(self, options: Options, fields: Fields) -> None:
        """Take the present arrays."""
        robots = self._robots
        observer = make_observer(robots.model, options, robots.state, robots.loops, fields)
        readings = np.zeros((len(robots.sites.body), SITE_SIZE))
        self.observer, self.fields, self.readings = observer, fields, readings

    def prepare(self) -> None:
        """Prepare the call."""
        sites = self._robots.sites
        self.run = observe.prepare(self.observer.handle, sites.body, sites.frame, self.readings)

    def forget(self, time: float) -> None:
        """Let the next call compute everything. time: the present time [s]."""
        self.fields.time[START] = time
        # unlike any wrench
        self.observer.workspace.pushes.fill(np.nan)
