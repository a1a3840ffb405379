"""From actuator descriptions to the actuators' arrays in `engine.Model`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.description.actuators import (
    ActuatorDescription,
    CrankTransmission,
    DYNAMICS,
    JointTransmission,
    SiteFrame,
    SiteTransmission,
)
from sim_bridge.description.model import JointType, ONE_AXIS, RobotDescription
from sim_bridge.engine.data import actuators as engine
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError


class Numbers(NamedTuple):
    """
    Compiled numbers.

    links: placements on bodies. joint_v, joint_body: for moving joints, first velocity coordinate
    and body.
    """

    links: Mapping[str, Any]
    joint_v: Mapping[str, int]
    joint_body: Mapping[str, int]


class _Row:
    """One actuator's kinds, coordinate, bodies, places and gear."""

    def __init__(self, actuator: ActuatorDescription):
        self.transmission, self.coordinate, self.bodies = -1, -1, [-1, -1]
        self.places = np.tile(np.concatenate([np.eye(3).ravel(), np.zeros(3)]), 2)
        self.gear = np.zeros(engine.GEAR_SIZE)
        self.gear[: len(actuator.gear)] = actuator.gear
        self.dynamics = DYNAMICS.index(actuator.dynamics) + engine.EARLY * actuator.uses_next


def actuator_arrays(description: RobotDescription, numbers: Numbers) -> dict[str, np.ndarray]:
    """
    Return the actuators' fields in Model, by name.

    Raises InvalidValueError for a joint without a suitable coordinate, and UnknownNameError for an
    unknown link or joint.
    """
    actuators = description.actuators
    rows = [_row(actuator, description, numbers) for actuator in actuators]
    laws = [_law(actuator) for actuator in actuators]
    kinds = [(row.transmission, row.dynamics) for row in rows]
    return {
        'actuator': np.array(kinds, np.int64).reshape(-1, 2),
        'actuated': np.array([row.coordinate for row in rows], np.int64),
        'actuator_body': np.array([row.bodies for row in rows], np.int64).reshape(-1, 2),
        'actuator_place': np.array([row.places for row in rows]).reshape(-1, engine.PLACES_SIZE),
        'actuator_gear': np.array([row.gear for row in rows]).reshape(-1, engine.GEAR_SIZE),
        'actuator_law': np.array(laws).reshape(-1, engine.ACTUATOR_LAW_SIZE),
    }


def _row(actuator: ActuatorDescription, robot: RobotDescription, numbers: Numbers) -> _Row:
    row, transmission = _Row(actuator), actuator.transmission
    place = f'robot {robot.name!r}, actuator {actuator.name!r}'
    if isinstance(transmission, JointTransmission):
        _set_joint(row, transmission, robot, numbers, place)
    elif isinstance(transmission, SiteTransmission):
        row.transmission = engine.WRENCH
        _set_place(row, 0, transmission.site, numbers, place)
        if transmission.reference is not None:
            row.transmission = engine.PLACES
            _set_place(row, 1, transmission.reference, numbers, place)
    else:
        assert isinstance(transmission, CrankTransmission)
        row.transmission = engine.CRANK
        row.gear[engine.ROD] = transmission.rod_length
        _set_place(row, 0, transmission.pin, numbers, place)
        _set_place(row, 1, transmission.slider, numbers, place)
    return row


def _set_joint(
    row: _Row,
    transmission: JointTransmission,
    robot: RobotDescription,
    numbers: Numbers,
    place: str,
) -> None:
    joint = robot.joints.get(transmission.joint)
    if joint is None:
        raise UnknownNameError('joint', transmission.joint, robot.joints, place)
    if joint.type is JointType.BALL:
        in_parent = transmission.in_parent
        row.transmission = engine.BALL_IN_PARENT if in_parent else engine.BALL_JOINT
    elif joint.type in ONE_AXIS:
        row.transmission = engine.ONE_AXIS_JOINT
    else:
        raise InvalidValueError(
            f'type of joint {joint.name!r}',
            joint.type.value,
            'revolute, continuous, prismatic or ball for an actuator',
            place,
        )
    row.coordinate = numbers.joint_v[joint.name]
    row.bodies[0] = numbers.joint_body[joint.name]


def _set_place(row: _Row, side: int, site: SiteFrame, numbers: Numbers, place: str) -> None:
    if site.link not in numbers.links:
        raise UnknownNameError('link', site.link, numbers.links, place)
    frame = numbers.links[site.link].placement_of(site.rotation, site.position)
    first = engine.SECOND_PLACE if side else engine.FIRST_PLACE
    row.bodies[side] = frame.body
    values = np.concatenate([frame.rotation.ravel(), frame.position])
    row.places[first : first + len(values)] = values


def _law(actuator: ActuatorDescription) -> tuple[float, ...]:
    return (
        *actuator.gain,
        *actuator.bias,
        *actuator.control_range,
        *actuator.force_range,
        *actuator.activation_range,
        actuator.time_constant,
    )
