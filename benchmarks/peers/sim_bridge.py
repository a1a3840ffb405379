"""This package itself, through its public interface only."""

from __future__ import annotations

import numpy as np

from benchmarks.mechanism import Mechanism, Motion, motion_of, quaternion_from, State
from benchmarks.urdf import write_urdf
import sim_bridge as sb
from sim_bridge.foundation.version import __version__


class SimBridge:
    """`World.step(n)`: n steps in one call."""

    version = __version__

    def __init__(
        self,
        mechanism: Mechanism,
        time_step: float,
        gravity: np.ndarray,
        integrator: str = 'midpoint',
    ):
        self._mechanism = mechanism
        self.world = sb.World(time_step=time_step, gravity=tuple(gravity), integrator=integrator)
        self.robot = self.world.load_urdf(write_urdf(mechanism))
        self._order = [self.robot.joint_names.index(name) for name in mechanism.joint_names]
        self._force = np.zeros(3)

    def reset(self, state: State) -> None:
        """Put the mechanism into `state`, without forces."""
        self._force = np.zeros(3)
        self.world.reset()
        self.robot.q[self._order], self.robot.dq[self._order] = state.q, state.dq
        if self._mechanism.is_free:
            self.robot.set_base_pose(state.position, quaternion_from(state.rotation))
            self.robot.set_base_velocity(state.linear, state.angular)

    def push(self, force: np.ndarray) -> None:
        """Apply a force [N] at body 0's centre of mass in all later steps."""
        self._force = np.asarray(force, dtype=float)

    def step(self, n: int) -> None:
        """Advance `n` steps inside one call, or one by one while a force is applied."""
        if not self._force.any():
            self.world.step(n)
            return
        for _ in range(n):
            link = self.robot.link(self._mechanism.bodies[0].name)
            link.add_force(self._force, point=link.p + link.R @ self._mechanism.bodies[0].com)
            self.world.step()

    work = step

    def motion(self) -> Motion:
        """Return all body poses and velocities."""
        state = State(q=self.robot.q[self._order], dq=self.robot.dq[self._order])
        if self._mechanism.is_free:
            root = self.robot.root_link
            state = State(
                q=state.q,
                dq=state.dq,
                position=np.array(root.p),
                rotation=np.array(root.R),
                linear=np.array(root.v),
                angular=np.array(root.w),
            )
        return motion_of(self._mechanism, state)
