"""Robot assembly with closed loops."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sim_bridge.engine.constraints.stage import LOOPS
from sim_bridge.engine.data.model import FREE, KINEMATIC
from sim_bridge.engine.data.phases import LoopPhase
from sim_bridge.engine.data.state import HELD, LOOSE
from sim_bridge.engine.pipeline.run_stage import run_stage
from sim_bridge.foundation.errors import StateError
from sim_bridge.robots.robot import Robot

# largest redundant row gap that counts as closed, because descriptions have few digits [m, 1]
_CLOSED = 1e-4
_BEYOND = 1e-6  # largest excess over a stop that counts as rounding [rad or m]


def close_loops(robot: Robot, kept: Iterable[str] = ()) -> None:
    """
    Move a robot's joints so that its loops close; the base and the joints `kept` stay.

    Uses Newton's method from the current positions. Raises StateError and restores the positions
    if it does not converge or converges beyond a joint's stops.
    """
    simulation, kept = robot.simulation, tuple(kept)
    observer = simulation.observation.observer()
    workspace, state = observer.workspace, simulation.cache.state
    before = state.q.copy()
    workspace.q[:] = before
    workspace.mode[:] = LOOSE
    for name in kept:
        workspace.mode[robot.slot.part.at.v + robot.slot.blueprint.joint_v[name]] = HELD
    kinds = workspace.kind.copy()
    workspace.kind[kinds >= FREE] = KINEMATIC
    closed = run_stage(observer.handle, LOOPS.address, LoopPhase.ASSEMBLE) >= 0
    workspace.kind[:] = kinds
    simulation.write(state, 'q', slice(None), workspace.q)
    simulation.staleness.forget_observations()
    problem = _open_loop(robot, closed) or _stop_passed(robot)
    if problem:
        simulation.write(state, 'q', slice(None), before)
        simulation.staleness.forget_observations()
        staying = f', with joints {", ".join(kept)} where they are' if kept else ''
        raise StateError(
            f'the loops of robot {robot.name!r} do not close{staying}: {problem}. Give '
            'joint_positions near which they do, or correct the anchors'
        )


def _open_loop(robot: Robot, closed: bool) -> str | None:
    """Describe the loop joint with the largest gap; None if all are closed."""
    backends = robot.simulation.registry.constraints
    errors = {
        name: backends[str(joint.key)].error(of_rigid_rows=True)
        for name, joint in robot.loop_joints.items()
    }
    gaps = {name: max(error) for name, error in errors.items() if max(error) > 0.0}
    if not gaps:
        return None
    name = max(gaps, key=lambda name: gaps[name])
    if closed and gaps[name] <= _CLOSED:
        return None
    way, turn = errors[name]
    degrees = np.degrees(np.arcsin(min(turn, 1.0)))
    return f'joint {name!r} stays open by {way:.3g} m and {degrees:.3g} degrees'


def _stop_passed(robot: Robot) -> str | None:
    """Describe a joint that would have to be beyond its stops; None without one."""
    for joint in robot.joints:
        for axis in joint.axes:
            if not axis.lower - _BEYOND <= axis.q <= axis.upper + _BEYOND:
                return (
                    f'{axis.place} would have to be at {axis.q:.6g}, outside its stops '
                    f'{axis.lower:.6g} and {axis.upper:.6g}'
                )
    return None
