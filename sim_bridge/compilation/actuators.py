"""From actuator descriptions to the actuators' arrays in `engine.Model`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.description.actuators import (
    ActuatorDescription,
    CouplingDescription,
    CouplingTransmission,
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
        self.joints = np.full(engine.MOST_TERMS, -1, np.int64)
        self.factors = np.zeros(engine.MOST_TERMS)
        self.rest = 0.0, 0.0
        self.dynamics = DYNAMICS.index(actuator.dynamics) + engine.EARLY * actuator.uses_next


def actuator_arrays(description: RobotDescription, numbers: Numbers) -> dict[str, np.ndarray]:
    """
    Return the actuators' fields in Model, by name.

    Raises InvalidValueError for a joint without a suitable coordinate, and UnknownNameError for an
    unknown link or joint.
    """
    passive = [_spring(coupling) for coupling in description.couplings]
    actuators = [*description.actuators, *passive]
    rows = [_row(actuator, description, numbers) for actuator in actuators]
    springs = rows[len(description.actuators) :]
    for row, coupling in zip(springs, description.couplings, strict=True):
        row.rest = coupling.spring_range
    laws = [(*_law(each), *row.rest) for each, row in zip(actuators, rows, strict=True)]
    kinds = [(row.transmission, row.dynamics) for row in rows]
    return {
        'actuator': np.array(kinds, np.int64).reshape(-1, 2),
        'actuated': np.array([row.coordinate for row in rows], np.int64),
        'actuator_joints': np.array([row.joints for row in rows], np.int64).reshape(
            -1, engine.MOST_TERMS
        ),
        'actuator_factors': np.array([row.factors for row in rows]).reshape(-1, engine.MOST_TERMS),
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
    elif isinstance(transmission, CouplingTransmission):
        _set_coupling(row, transmission, robot, numbers, place)
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
        _set_joints(row, (joint.name,), (1.0,), numbers)
        return
    else:
        raise InvalidValueError(
            f'type of joint {joint.name!r}',
            joint.type.value,
            'revolute, continuous, prismatic or ball for an actuator',
            place,
        )
    row.coordinate = numbers.joint_v[joint.name]
    row.bodies[0] = numbers.joint_body[joint.name]


def _set_joints(
    row: _Row, joints: Sequence[str], factors: Sequence[float], numbers: Numbers
) -> None:
    row.transmission = engine.JOINTS
    row.bodies[0] = numbers.joint_body[joints[0]]
    row.joints[: len(joints)] = [numbers.joint_v[name] for name in joints]
    row.factors[: len(factors)] = factors


def _set_coupling(
    row: _Row,
    transmission: CouplingTransmission,
    robot: RobotDescription,
    numbers: Numbers,
    place: str,
) -> None:
    couplings = {coupling.name: coupling for coupling in robot.couplings}
    coupling = couplings.get(transmission.coupling)
    if coupling is None:
        raise UnknownNameError('coupling', transmission.coupling, couplings, place)
    place = f'robot {robot.name!r}, coupling {coupling.name!r}'
    if not 1 <= len(coupling.joints) <= engine.MOST_TERMS:
        expected = f'from 1 to {engine.MOST_TERMS} joints'
        raise InvalidValueError('number of joints', len(coupling.joints), expected, place)
    for name in coupling.joints:
        if name not in robot.joints:
            raise UnknownNameError('joint', name, robot.joints, place)
        if robot.joints[name].type not in ONE_AXIS:
            kind = robot.joints[name].type.value
            expected = 'revolute, continuous or prismatic in a coupling'
            raise InvalidValueError(f'type of joint {name!r}', kind, expected, place)
    _set_joints(row, coupling.joints, coupling.factors, numbers)


def _spring(coupling: CouplingDescription) -> ActuatorDescription:
    """Return a coupling's spring and damper as an actuator without control."""
    return ActuatorDescription(
        coupling.name,
        CouplingTransmission(coupling.name),
        gain=(0.0, 0.0, 0.0),
        bias=(0.0, -coupling.stiffness, -coupling.damping),
    )


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
