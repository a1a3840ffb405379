"""
Units for plotted values: for message fields, and for arithmetic with them.

An unknown unit is None; numbers without unit, for example sines, have `NO_UNIT`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from sim_bridge.description.report import Findings
from sim_bridge.description.xml.document import parse_document

_POWERS = str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹')


class Unit(NamedTuple):
    """A product of powers: symbols with nonzero exponents."""

    powers: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        """Return the unit as written behind a name: N m, rad/s or m/s²; '' without unit."""
        above = ' '.join(_power(symbol, n) for symbol, n in self.powers if n > 0)
        below = ' '.join(_power(symbol, -n) for symbol, n in self.powers if n < 0)
        if not below:
            return above
        return f'{above or 1}/({below})' if ' ' in below else f'{above or 1}/{below}'

    def times(self, other: Unit, power: int = 1) -> Unit:
        """Return the product with another unit's power."""
        found = dict(self.powers)
        for symbol, n in other.powers:
            found[symbol] = found.get(symbol, 0) + power * n
        return Unit(tuple((symbol, n) for symbol, n in found.items() if n))

    def to_the(self, power: float) -> Unit | None:
        """Return a power; None if its exponents are not integers."""
        exponents = [(symbol, Fraction(power) * n) for symbol, n in self.powers]
        if any(each.denominator != 1 for _, each in exponents):
            return None
        return Unit(tuple((symbol, int(n)) for symbol, n in exponents if n))

    def renamed(self, old: str, new: str) -> Unit | None:
        """Return the unit with one symbol replaced; None if it lacks the symbol."""
        if old not in dict(self.powers):
            return None
        return Unit(tuple((new if symbol == old else symbol, n) for symbol, n in self.powers))

    def is_like(self, other: Unit) -> bool:
        """Return whether two units are equal, with their symbols in any order."""
        return dict(self.powers) == dict(other.powers)


def _power(symbol: str, exponent: int) -> str:
    return symbol if exponent == 1 else f'{symbol}{str(exponent).translate(_POWERS)}'


class OfJoint(NamedTuple):
    """The unit of a joint value, depending on the joint's type."""

    turning: Unit
    sliding: Unit

    def of(self, kind: str | None) -> Unit | None:
        """Return the unit for a joint type in a robot's description."""
        if kind in ('revolute', 'continuous'):
            return self.turning
        return self.sliding if kind == 'prismatic' else None


NO_UNIT = Unit()
RADIAN, DEGREE = Unit((('rad', 1),)), Unit((('°', 1),))
METRE, SECOND = Unit((('m', 1),)), Unit((('s', 1),))
_NANOSECOND = Unit((('ns', 1),))
_NEWTON, _TORQUE = Unit((('N', 1),)), Unit((('N', 1), ('m', 1)))
_POSITION = OfJoint(RADIAN, METRE)
_VELOCITY = OfJoint(RADIAN.times(SECOND, -1), METRE.times(SECOND, -1))
_ACCELERATION = OfJoint(RADIAN.times(SECOND, -2), METRE.times(SECOND, -2))
_EFFORT = OfJoint(_TORQUE, _NEWTON)

# units for fields by message type; '' applies to all other fields. Fields not listed have the unit
# of the field containing their message.
_FIELDS: Mapping[str, Mapping[str, Unit | OfJoint]] = {
    'builtin_interfaces/Time': {'': SECOND, 'nanosec': _NANOSECOND},
    'builtin_interfaces/Duration': {'': SECOND, 'nanosec': _NANOSECOND},
    'geometry_msgs/Point': {'': METRE},
    'geometry_msgs/Point32': {'': METRE},
    'geometry_msgs/Quaternion': {'': NO_UNIT},
    'geometry_msgs/Transform': {'translation': METRE},
    'geometry_msgs/Twist': {'linear': _VELOCITY.sliding, 'angular': _VELOCITY.turning},
    'geometry_msgs/Accel': {'linear': _ACCELERATION.sliding, 'angular': _ACCELERATION.turning},
    'geometry_msgs/Wrench': {'force': _NEWTON, 'torque': _TORQUE},
    'sensor_msgs/BatteryState': {
        'voltage': Unit((('V', 1),)),
        'current': Unit((('A', 1),)),
        'percentage': NO_UNIT,
    },
    'sensor_msgs/FluidPressure': {'fluid_pressure': Unit((('Pa', 1),))},
    'sensor_msgs/Imu': {
        'angular_velocity': _VELOCITY.turning,
        'linear_acceleration': _ACCELERATION.sliding,
    },
    'sensor_msgs/JointState': {'position': _POSITION, 'velocity': _VELOCITY, 'effort': _EFFORT},
    'sensor_msgs/LaserScan': {
        'ranges': METRE,
        'range_min': METRE,
        'range_max': METRE,
        'angle_min': RADIAN,
        'angle_max': RADIAN,
        'angle_increment': RADIAN,
        'time_increment': SECOND,
        'scan_time': SECOND,
    },
    'sensor_msgs/MagneticField': {'magnetic_field': Unit((('T', 1),))},
    'sensor_msgs/NavSatFix': {'latitude': DEGREE, 'longitude': DEGREE, 'altitude': METRE},
    'sensor_msgs/Range': {
        'range': METRE,
        'min_range': METRE,
        'max_range': METRE,
        'field_of_view': RADIAN,
    },
    'sensor_msgs/Temperature': {'temperature': Unit((('°C', 1),))},
    'trajectory_msgs/JointTrajectoryPoint': {
        'positions': _POSITION,
        'velocities': _VELOCITY,
        'accelerations': _ACCELERATION,
        'effort': _EFFORT,
    },
}


def unit_of_field(kind: type, field: str, outer: Unit | OfJoint | None) -> Unit | OfJoint | None:
    """Return a field's unit. outer: unit for the field containing the message."""
    package = kind.__module__.partition('.')[0]
    known = _FIELDS.get(f'{package}/{kind.__name__}')
    if known is None:
        return outer if field in ('x', 'y', 'z') else None
    return known.get(field, known.get(''))


def joint_types(urdf: str) -> Iterator[tuple[str, str]]:
    """Yield names and types for the joints in a robot description; none for other texts."""
    document = parse_document(urdf, Findings())
    if document is not None:
        for joint in document.root.findall('joint'):
            yield joint.get('name'), joint.get('type')


def common(units: list[Unit | None]) -> Unit | None:
    """Return the common unit; None if units differ, or any is unknown."""
    first = units[0] if units else None
    if first is None or not all(each is not None and first.is_like(each) for each in units):
        return None
    return first
