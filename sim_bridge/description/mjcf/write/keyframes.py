"""Keyframes in MJCF: the coordinates of all joints in MuJoCo's order."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from sim_bridge.description.keyframes import KeyframeDescription
from sim_bridge.description.mjcf.write.text import numbers
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.report import Findings, Place
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix


def write_keyframe(
    keyframes: Element,
    keyframe: KeyframeDescription,
    robot: RobotDescription,
    world: Element,
    findings: Findings,
) -> None:
    """
    Add a keyframe; a warning among the findings if it sets joints with several MJCF joints.

    world: the worldbody with all bodies; MuJoCo numbers the joints in its order.
    """
    written = {each.get('name', '') for each in world.iter('joint')}
    lost = sorted(keyframe.positions.keys() - written)
    if lost:
        place = Place('key', keyframe.name, keyframe.line)
        message = f'left out: MJCF has other joints in place of {", ".join(lost)}'
        findings.warning('unsupported', place, message)
        return
    state = list(_state(keyframe, robot, world))
    element = SubElement(keyframes, 'key', name=keyframe.name)
    element.set('qpos', numbers(value for q, _ in state for value in q))
    element.set('qvel', numbers(value for _, v in state for value in v))
    if robot.actuators:
        controls = (keyframe.controls.get(each.name, 0.0) for each in robot.actuators)
        element.set('ctrl', numbers(controls))


def _state(
    keyframe: KeyframeDescription, robot: RobotDescription, world: Element
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield position and velocity of each MuJoCo joint, in MuJoCo's axes."""
    # a body comes before the bodies inside it, as in MuJoCo
    for joint in world.iter():
        name = joint.get('name', '')
        if joint.tag == 'freejoint':
            pose = robot.base_pose
            position, rotation = keyframe.base or (pose.position, pose.rotation)
            linear, angular = keyframe.base_velocity or (np.zeros(3), np.zeros(3))
            # MuJoCo's angular velocity is in body axes
            yield (
                np.concatenate([position, _w_first(quaternion_from_matrix(rotation))]),
                np.concatenate([linear, rotation.T @ angular]),
            )
        elif joint.tag == 'joint' and joint.get('type') == 'ball':
            turn = keyframe.positions.get(name, np.array([0.0, 0.0, 0.0, 1.0]))
            velocity = keyframe.velocities.get(name, np.zeros(3))
            yield _w_first(turn), matrix_from_quaternion(turn).T @ velocity
        elif joint.tag == 'joint':
            start = np.array([robot.positions.get(name, 0.0)])
            yield (
                np.atleast_1d(keyframe.positions.get(name, start)),
                np.atleast_1d(keyframe.velocities.get(name, np.zeros(1))),
            )


def _w_first(quaternion: FloatArray) -> FloatArray:
    """Return a quaternion x y z w as w x y z."""
    return np.roll(quaternion, 1)
