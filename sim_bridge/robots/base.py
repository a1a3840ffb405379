"""Robot base in a world: pose, velocity and motion."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.math.spatial import ORIGIN
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.foundation.validation import checked_pose, finite_vector, positive_number
from sim_bridge.robots.body_type import body_type, velocity_towards
from sim_bridge.simulation.change import Change
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import RobotSlot


class Base:
    """One robot's base."""

    def __init__(self, simulation: Simulation, slot: RobotSlot, place: str):
        """Wrap a slot's base. place: robot name, for messages."""
        self._simulation, self._slot, self._place = simulation, slot, place

    def set_pose(self, position: Vector, orientation: Vector) -> None:
        """Set the root link frame's pose; see `Robot.set_base_pose`."""
        slot = self._slot
        p, quat = checked_pose(position, orientation, self._place)
        if slot.blueprint.mount is not None:
            raise InvalidValueError(
                'base pose',
                (*p.tolist(), *quat.tolist()),
                f'a robot whose base is not mounted on joint {slot.blueprint.mount.name!r}',
                self._place,
            )
        if not slot.links:
            return
        before = self._pushed_origins()
        if before is None:
            self._write_pose(p, quat)
            return
        with Change(self._simulation.staleness):
            self._write_pose(p, quat)
            self._carry_wrenches(before)

    def _write_pose(self, p: FloatArray, quat: FloatArray) -> None:
        """Write the pose; this also wakes bodies that rested on the robot."""
        model, state, at = self._slot.part
        if self._slot.blueprint.fixed_base:
            frame = [*matrix_from_quaternion(quat).ravel(), *p]
            self._simulation.write(model, 'frame', at.body, frame)
        else:
            pose = [*p.tolist(), *quat.tolist()]
            write_view = self._simulation.staleness.write_view
            write_view(RobotSlot, 'base_q', state.q, slice(at.q, at.q + 7), pose)

    def _pushed_origins(self) -> np.ndarray | None:
        """Return the body origins (nb, 3) [m]; None if no contact force acts on a body."""
        state, bodies = self._slot.part.state, self._bodies
        # a third of the time of `any`
        if not np.count_nonzero(state.contact_wrench[bodies]):
            return None
        return (
            self._simulation.observation.observer()
            .workspace.pose[bodies, ORIGIN : ORIGIN + 3]
            .copy()
        )

    def _carry_wrenches(self, before: np.ndarray) -> None:
        """Move the contact wrenches, which are about the world origin, with the bodies."""
        after = self._pushed_origins()
        state, torques = self._slot.part.state, (self._bodies, slice(0, 3))
        (x, y, z), (f, g, h) = (after - before).T, state.contact_wrench[self._bodies, 3:].T
        # np.cross takes three times as long
        moments = np.array([y * h - z * g, z * f - x * h, x * g - y * f])
        moved = state.contact_wrench[torques] + moments.T
        self._simulation.write(state, 'contact_wrench', torques, moved)

    @property
    def _bodies(self) -> slice:
        """Rows of the robot's bodies in body arrays."""
        first = self._slot.part.at.body
        return slice(first, first + len(self._slot.blueprint.model.parent))

    def set_velocity(self, linear: Vector, angular: Vector) -> None:
        """Set the root link's velocity; see `Robot.set_base_velocity`."""
        v = finite_vector('linear velocity', linear, 3, self._place)
        w = finite_vector('angular velocity', angular, 3, self._place)
        if self._slot.blueprint.fixed_base or self._slot.blueprint.mount is not None:
            raise InvalidValueError(
                'base velocity',
                (*v.tolist(), *w.tolist()),
                'a robot with a free base',
                self._place,
            )
        _, state, at = self._slot.part
        self._simulation.write(state, 'v', slice(at.v, at.v + 6), [*v, *w])

    def move_to(self, position: Vector, orientation: Vector, dt: float | None) -> None:
        """Set the velocity towards a pose; see `Robot.move_to`."""
        motion = body_type(self._slot)
        if motion != 'kinematic':
            raise InvalidValueError(
                'motion', motion, "'kinematic': move_to moves kinematic bases only", self._place
            )
        duration = (
            self._simulation.run.time_step
            if dt is None
            else positive_number('dt', dt, 'a positive number [s]', self._place)
        )
        self.set_velocity(*velocity_towards(self._slot, position, orientation, duration))
