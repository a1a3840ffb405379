"""Setting a robot to a named state of its description."""

from __future__ import annotations

from sim_bridge.foundation.errors import UnknownNameError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.robots.owners import Robot


def set_keyframe(robot: Robot, name: str) -> None:
    """Set a robot's state and controls; raise UnknownNameError for an unknown name."""
    known = {each.name: each for each in robot.description.keyframes}
    if not isinstance(name, str) or name not in known:
        raise UnknownNameError('keyframe', name, known, f'robot {robot.name!r}')
    keyframe = known[name]
    if keyframe.base is not None:
        position, rotation = keyframe.base
        robot.set_base_pose(position, quaternion_from_matrix(rotation))
    if keyframe.base_velocity is not None:
        robot.set_base_velocity(*keyframe.base_velocity)
    for values, attribute in ((keyframe.positions, 'q'), (keyframe.velocities, 'dq')):
        for joint, numbers in values.items():
            value = float(numbers[0]) if len(numbers) == 1 else numbers
            setattr(robot.joint(joint), attribute, value)
    for actuator, control in keyframe.controls.items():
        robot.actuators[actuator].control = control
