"""Named robot axes: each has a position and a velocity on the graph."""

from __future__ import annotations

import numpy as np

import sim_bridge as sb
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.loop_axes import LoopAxes

# suffixes after a joint name and a slash: MoveIt's names; for joints unknown to MoveIt, the
# Gazebo's axis numbers
_ENDINGS = {
    'planar': ('x', 'y', 'theta'),
    'piston': ('slide', 'turn'),
    'universal': ('axis1', 'axis2'),
    'hinge2': ('axis1', 'axis2', 'suspension'),
}


def named_axes(robot: sb.Robot) -> dict[str, Axis]:
    """
    Return every axis of a robot's joints by its name on the graph.

    The one-axis joints come first, in `joint_names` order; then the multi-axis joints in
    trees; then the free axes of loop-closing joints.
    """
    axes = {name: robot.joint(name).axes[0] for name in robot.joint_names}
    for joint in [*robot.joints, *robot.loop_joints.values()]:
        if len(joint.axes) == 1:
            axes.setdefault(joint.name, joint.axes[0])
        elif joint.axes:
            kind = joint.type if isinstance(joint.type, str) else joint.type.value
            for axis, ending in zip(joint.axes, _ENDINGS[kind], strict=False):
                axes[f'{joint.name}/{ending}'] = axis
    return axes


def running_crawlers(robot: sb.Robot) -> list[sb.Crawler]:
    """Return the crawlers with collision geometry: the others cannot run."""
    return [crawler for crawler in robot.crawlers if crawler.can_run]


class AxisStates:
    """
    Positions, velocities and efforts for a robot's axes and crawlers, in `names` order.

    A crawler's position is the distance run since the start [m], as measured by an encoder on its
    drive. Its effort is unknown, NaN.
    """

    def __init__(self, robot: sb.Robot) -> None:
        """Find the axes and crawlers in the world's arrays."""
        self._robot = robot
        axes = named_axes(robot)
        self._axes = list(axes.values())
        self._crawlers = running_crawlers(robot)
        self.names = [*axes, *(crawler.name for crawler in self._crawlers)]
        self._run: np.ndarray = np.zeros(len(self._crawlers))
        ends = np.cumsum(
            [
                len(robot.joint_names),
                sum(len(joint.axes) for joint in robot.joints if len(joint.axes) > 1),
                sum(len(joint.axes) for joint in robot.loop_joints.values()),
                len(self._crawlers),
            ]
        ).tolist()
        self._single, self._several, self._loops, self._tracks = (
            slice(start, end) for start, end in zip([0, *ends], ends, strict=False)
        )
        self.locate()

    def locate(self) -> None:
        """Find the arrays again, after robots were added or removed."""
        robot = self._robot
        several, closing = self._axes[self._several], self._axes[self._loops]
        blueprint, at = robot.blueprint, robot.offsets
        self._several_q = np.array(
            [at.q + blueprint.joint_q[axis.joint.name] + axis.number for axis in several], int
        )
        self._several_v = np.array(
            [at.v + blueprint.joint_v[axis.joint.name] + axis.number for axis in several], int
        )
        self._loop_axes = LoopAxes(robot.simulation, closing) if closing else None

    def advance(self, elapsed: float) -> None:
        """Advance the crawlers by an elapsed time [s]."""
        for row, crawler in enumerate(self._crawlers):
            self._run[row] += elapsed * crawler.speed

    def restart(self) -> None:
        """Reset the crawlers' distances to zero."""
        self._run[:] = 0.0

    def save(self) -> np.ndarray:
        """Return the crawlers' distances since the start [m]."""
        return np.array(self._run)

    def restore(self, run: np.ndarray) -> None:
        """Continue from saved distances [m]."""
        self._run[:] = run

    @property
    def has_crawlers(self) -> bool:
        """Whether the robot has crawlers able to run."""
        return bool(self._crawlers)

    @property
    def has_others(self) -> bool:
        """Whether there are axes other than the one-axis joints in trees."""
        return bool(len(self.names) > self._single.stop)

    def sources(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """
        Return views of the present values for the one-axis joints in trees, which come first.

        The views are positions, velocities, the commanded efforts and the motor efforts [rad or m,
        and per s; N m or N]. They become invalid when the world gets another state object.
        """
        at, blueprint, count = self._robot.offsets, self._robot.blueprint, self._single.stop
        q = slice(at.q + blueprint.first_q, at.q + blueprint.first_q + count)
        v = slice(at.v + blueprint.first_v, at.v + blueprint.first_v + count)
        state = self._robot.world.state
        return state.q[q], state.v[v], state.u[v], state.motor[v]

    def write(
        self, position_out: np.ndarray, velocity_out: np.ndarray, effort_out: np.ndarray
    ) -> None:
        """Write all present values, (n,) each [rad or m, and per s; N m or N]."""
        q, dq, u, motor = self.sources()
        position_out[self._single], velocity_out[self._single] = q, dq
        np.add(u, motor, out=effort_out[self._single])
        self.write_others(position_out, velocity_out, effort_out)

    def write_others(
        self, position_out: np.ndarray, velocity_out: np.ndarray, effort_out: np.ndarray
    ) -> None:
        """Write the other axes' present values, (n,) each [rad or m, and per s; N m or N]."""
        state = self._robot.world.state
        if len(self._several_q):
            position_out[self._several] = state.q[self._several_q]
            velocity_out[self._several] = state.v[self._several_v]
            effort_out[self._several] = state.u[self._several_v] + state.motor[self._several_v]
        if self._loop_axes is not None:
            position_out[self._loops] = self._loop_axes.q
            velocity_out[self._loops] = self._loop_axes.dq
            effort_out[self._loops] = self._loop_axes.efforts
        if self._crawlers:
            position_out[self._tracks] = self._run
            velocity_out[self._tracks] = [crawler.speed for crawler in self._crawlers]
            effort_out[self._tracks] = np.nan
