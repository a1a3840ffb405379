"""What to tell of a step that gives something that is not finite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sim_bridge.world.world import World


def describe_not_finite(world: World) -> str:
    """Return which number made a step fail, or where to look for it."""
    step = world.step_count + 1
    for robot in world.robots.values():
        for joint in robot.joints:
            values = {'effort u': joint.u, 'position q': joint.q, 'velocity dq': joint.dq}
            for what, value in values.items():
                if not np.isfinite(value).all():
                    return (
                        f'step {step}: {what} = {value} at {joint.place}. '
                        'Make it finite; the state before the step is kept')
        if not robot.fixed_base and not np.isfinite(robot.root_link.p).all():
            return (
                f'step {step}: position = {robot.root_link.p.tolist()} of the '
                f'base of robot {robot.name!r}. Set it by set_base_pose; the state before the '
                'step is kept')
    return (
        f'step {step} of {world.time_step} s gives velocities that are not '
        'finite; the state before it is kept. Reduce the time step, or look for a link '
        'without inertia or an enormous effort')
