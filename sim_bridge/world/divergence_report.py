"""The error message for a step whose result is not finite."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sim_bridge.robots.robot import Robot


def describe_divergence(robots: Iterable[Robot], step: int, time_step: float) -> str:
    """Return which number made a step fail, or where to look for it."""
    for robot in robots:
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
        f'step {step} of {time_step} s gives velocities that are not '
        'finite; the state before it is kept. Reduce the time step, or look for a link '
        'without inertia or an enormous effort')
