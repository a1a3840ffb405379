"""Argument checks for `World.add_joint` and `add_angular_motor`; they return a `JointSpec`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
import math
from typing import Any

import numpy as np

from sim_bridge.description.compliance import checked_compliance, Compliance
from sim_bridge.description.model import JointDynamics
from sim_bridge.engine.data.loops import EULER_AXES, ROWS_OF_TYPE, TURN_A, TURN_B, TURN_W
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import (
    finite_vector,
    number_from,
    one_of,
    positive_number,
    truth,
)
from sim_bridge.robots.joints.spec import JointSpec, spec_at, TYPES, WITH_AXIS, WITH_AXIS2
from sim_bridge.robots.owners import Link

Links = tuple[Link | None, Link | None]

_PARALLEL = 1e-6  # largest sine for the angle between parallel axes
_RIGHT_ANGLE = 1e-6  # largest cosine for the angle between orthogonal axes
_SHORTEST = 1e-9  # smallest distance joint length [m]
# angular-motor axis kinds by the link that they are fixed to
_TURNS = {'first': TURN_A, 'second': TURN_B, 'world': TURN_W}


def described_spec(
    kind: object,
    links: Links,
    anchor: object,
    axis: object,
    axis2: object,
    *,
    normal: object,
    anchor2: object,
    erp: object,
    cfm: object,
    compliance: object,
    suspension: object,
) -> JointSpec:
    """Return a joint specification without a name from `World.add_joint`'s arguments."""
    place = 'add_joint'
    kind = one_of('kind', kind, TYPES, place)
    expected = '3 finite numbers [m]'
    if anchor is None:
        anchor = _second_origin(links)
    point = finite_vector('anchor', anchor, 3, place, expected)
    point2 = point if anchor2 is None else finite_vector('anchor2', anchor2, 3, place, expected)
    first, second, across = np.array([0.0, 0.0, 1.0]), None, None
    if kind in WITH_AXIS or normal is not None:
        first = direction('axis', axis, place)
    if kind in WITH_AXIS2:
        second = direction('axis2', axis2, place)
        check_crossing('axis2', axis2, first, second, place)
    elif axis2 is not None:
        raise InvalidValueError(
            'axis2', axis2, f'none, but for {" and ".join(map(repr, WITH_AXIS2))}', place
        )
    if normal is not None:
        across = direction('normal', normal, place)
        if second is not None:
            raise InvalidValueError('normal', normal, f'none, for a {kind!r}: axis2 is', place)
        check_crossing('normal', normal, first, across, place)
    distance = float(np.linalg.norm(point2 - point))
    if kind == 'distance':
        check_distance('anchor2', anchor2, distance, place)
    spec = spec_at('', kind, links, (point, point2), first, second, across)
    # if there is a gap between the anchors, the joint's rows close it
    spec = replace(spec, distance=distance, gapes=kind != 'distance' and distance > 0.0)
    return _with_compliance(spec, erp, cfm, compliance, suspension, place)


def motor_spec(
    name: str, links: Links, axes: Any, fixed_on: Sequence[str] | None, euler: bool
) -> JointSpec:
    """Return an angular-motor specification from `World.add_angular_motor`'s arguments."""
    place = 'add_angular_motor'
    euler = truth('euler', euler, place)
    is_list = isinstance(axes, (Sequence, np.ndarray)) and not isinstance(axes, str)
    if not is_list or (len(axes) != 2 if euler else not 1 <= len(axes) <= 3):
        raise InvalidValueError('axes', axes, 'two for Euler angles, else one to three', place)
    directions = [direction('axes', axis, place) for axis in axes]
    if euler and abs(directions[0] @ directions[1]) > _RIGHT_ANGLE:
        raise InvalidValueError('axes', axes, 'two at right angles', place)
    sides = _sides(fixed_on, len(directions), euler, place)
    anchor = _second_origin(links)
    spec = spec_at(
        name,
        'angular_motor',
        links,
        (anchor, anchor),
        directions[0],
        directions[1] if euler else None,
    )
    if euler:
        # at angles of 0 the last axis is x of both frames
        return replace(spec, axes=EULER_AXES, axis2=None)
    kinds = tuple((_TURNS[side], 0) for side in sides)
    rotations = {'first': spec.first.pose[0], 'second': spec.second.pose[0], 'world': np.eye(3)}
    vectors = [rotations[side].T @ each for side, each in zip(sides, directions, strict=True)]
    return replace(spec, axes=kinds, vectors=np.array(vectors))


def check_crossing(
    what: str, value: object, axis: np.ndarray, other: np.ndarray, place: str
) -> None:
    """Raise InvalidValueError if two unit vectors are parallel; what, value: as given."""
    if np.linalg.norm(np.cross(axis, other)) < _PARALLEL:
        expected = 'one that is not along axis'
        raise InvalidValueError(what, value, f'{expected}2' if what == 'axis' else expected, place)


def check_distance(what: str, value: object, distance: float, place: str) -> None:
    """Raise InvalidValueError for anchors at one point; distance: [m]; what, value: as given."""
    if distance < _SHORTEST:
        raise InvalidValueError(
            what, value, 'a point away from the anchor [m]: the distance is kept', place
        )


def checked_erp(value: object, place: str) -> float:
    """Return an error reduction parameter between 0 and 1; raise InvalidValueError otherwise."""
    return number_from('erp', value, 0.0, 1.0, place, 'a share from 0 to 1')


def checked_cfm(value: object, place: str) -> float:
    """Return a valid constraint force mixing (CFM); raise InvalidValueError if it is negative."""
    expected = 'a finite number of at least 0 [m/(N s), rad/(N m s)]'
    return number_from('cfm', value, 0.0, math.inf, place, expected)


def of_rows(
    check: Callable[[object, str], float], value: object, count: int, place: str
) -> float | tuple[float, ...]:
    """Return one checked number, or `count` numbers; raise InvalidValueError otherwise."""
    rows = value.tolist() if isinstance(value, np.ndarray) else value
    if not isinstance(rows, Sequence) or isinstance(rows, (str, bytes)):
        return check(value, place)
    if len(rows) != count:
        raise InvalidValueError(
            check.__name__.removeprefix('checked_'),
            value,
            f'a number, or one for each of its {counted(count, "row")}',
            place,
        )
    return tuple(check(number, place) for number in rows)


def compliance_of(value: object, place: str) -> Compliance:
    """Return a checked compliance; raise InvalidValueError otherwise."""
    if not isinstance(value, tuple) or not 1 <= len(value) <= 2:
        raise InvalidValueError(
            'compliance', value, 'a Compliance, or a tuple of stiffness and damping', place
        )
    return checked_compliance(value[0], value[1] if len(value) == 2 else 0.0, place)


def _with_compliance(
    spec: JointSpec, erp: object, cfm: object, compliance: object, suspension: object, place: str
) -> JointSpec:
    """Return the specification with ERP, CFM, compliance and suspension, where given."""
    rows = len(ROWS_OF_TYPE[spec.type])
    if compliance is not None:
        if erp is not None or cfm is not None:
            raise InvalidValueError(
                'compliance', compliance, 'None beside erp and cfm: both set the same', place
            )
        spec = replace(spec, compliance=compliance_of(compliance, place))
    if erp is not None:
        spec = replace(spec, erp=of_rows(checked_erp, erp, rows, place))
    if cfm is not None:
        spec = replace(spec, cfm=of_rows(checked_cfm, cfm, rows, place))
    if suspension is None:
        return spec
    if spec.type != 'hinge2':
        raise InvalidValueError('suspension', suspension, "none, but for a 'hinge2'", place)
    stiffness, damping = finite_vector(
        'suspension', suspension, 2, place, 'stiffness and damping [N/m, N s/m]'
    ).tolist()
    positive_number('stiffness', stiffness, 'a positive number [N/m]', place)
    number_from('damping', damping, 0.0, math.inf, place, 'a number of at least 0 [N s/m]')
    dynamics = JointDynamics(stiffness=stiffness, damping=damping)
    return replace(spec, suspension=dynamics)


def _second_origin(links: Links) -> np.ndarray:
    """Return the second link's origin [m], or the first link's if the second is the world."""
    link = links[1] or links[0]
    if link is None:
        raise ValueError('a joint needs at least one link, not only the world')
    return link.p


def direction(what: str, value: object, place: str) -> np.ndarray:
    """Return a vector scaled to length 1; raise InvalidValueError for a zero vector."""
    expected = '3 finite numbers that are not all 0'
    vector = finite_vector(what, value, 3, place, expected)
    greatest = np.abs(vector).max()
    if greatest == 0.0:
        raise InvalidValueError(what, value, expected, place)
    # divide by the largest component first: squares neither overflow nor underflow
    vector /= greatest
    return vector / np.linalg.norm(vector)


def _sides(fixed_on: object, count: int, euler: bool, place: str) -> list[str]:
    """Return the body that each angular-motor axis is fixed to: 'first', 'second' or 'world'."""
    if fixed_on is None:
        return ['first'] * count
    if euler:
        raise InvalidValueError(
            'fixed_on', fixed_on, 'None for Euler angles, whose axes have fixed links', place
        )
    sides: list[object] = []
    if isinstance(fixed_on, Sequence) and not isinstance(fixed_on, str):
        sides = list(fixed_on)
    known = [side for side in sides if isinstance(side, str) and side in _TURNS]
    if not len(known) == len(sides) == count:
        raise InvalidValueError(
            'fixed_on', fixed_on, "'first', 'second' or 'world' for each axis", place
        )
    return known
