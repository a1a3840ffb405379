"""Fitted parameters: kinds, places in the vector z, and scales."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.identification.plant import Plant
from sim_bridge.identification.pseudo_inertia import (
    Body,
    body_of,
    CENTER,
    log_cholesky,
    LOG_MASS,
    MOMENT_NAMES,
    SHAPE,
    vector_derivatives,
)
from sim_bridge.robots.robot import Robot

JOINT_KINDS = ('friction', 'damping', 'armature')
LINK_KINDS = ('mass', 'centre', 'inertia')
DELAY = 'delay'
KINDS = (*JOINT_KINDS, *LINK_KINDS, DELAY)
_ALIASES = {'center': 'centre'}

# each parameter's prior standard deviation, in its scale: wide enough to be outweighed by any
# informative data
PRIOR = 3.0
_DELAY_SCALE = 0.01  # s
_LEAST_DELAY, _MOST_DELAY = -0.05, 0.2  # s
_MOST_LOG = 9.0  # a factor of 8000 in both directions

_BLOCKS = {'mass': LOG_MASS, 'centre': CENTER, 'inertia': SHAPE}


@dataclass(frozen=True)
class Column:
    """
    Fitted number: value = start + scale z.

    kind, target: such as 'damping' of joint 'elbow'; number: index in a link's ten parameters.
    lower, upper: value limits.
    """

    kind: str
    target: str
    number: int
    start: float
    scale: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Quantity:
    """
    Reported quantity: a value and its derivatives (P,) by the fitted numbers z.

    name: such as 'joint_1.friction'. before: value in the file.
    """

    name: str
    unit: str
    before: float
    value: float
    gradient: FloatArray


@dataclass(frozen=True, eq=False)
class Efforts:
    """
    Magnitudes at the joints in a recorded motion, (n,) each, above 0.

    effort [N m or N], velocity [rad/s or m/s], acceleration [rad/s² or m/s²].
    """

    effort: FloatArray
    velocity: FloatArray
    acceleration: FloatArray


def parse_what(what: str | Iterable[str], plant: Plant) -> dict[str, list[str]]:
    """
    Return the joints or links to fit for each kind.

    what: words, or one text separated by commas: KIND for all joints or links, or KIND:NAME+NAME.
    Without names, each rigid body is represented by its heaviest link. Raises InvalidValueError,
    UnknownNameError.
    """
    words = [word.strip() for word in (what.split(',') if isinstance(what, str) else what)]
    if not any(words):
        raise InvalidValueError('what', what, f'kinds of parameters: {", ".join(KINDS)}')
    bodies = plant.bodies()
    found: dict[str, list[str]] = {}
    for word in filter(None, words):
        written, _, rest = word.partition(':')
        kind = _ALIASES.get(written, written)
        if kind not in KINDS:
            raise UnknownNameError('kind of parameter', written, KINDS, '--what')
        names = [name.strip() for name in rest.split('+') if name.strip()]
        if kind == DELAY:
            if names:
                raise InvalidValueError('what', word, "'delay': there is one for all joints")
            names = ['']
        elif kind in JOINT_KINDS:
            for name in names:
                if name not in plant.joint_names:
                    raise UnknownNameError('joint', name, plant.joint_names, f'--what {word}')
            names = names or list(plant.joint_names)
        else:
            names = _links(names, bodies, plant, word)
        found.setdefault(kind, [])
        found[kind] += [name for name in names if name not in found[kind]]
    return found


def _links(names: list[str], bodies: dict[str, list[str]], plant: Plant, word: str) -> list[str]:
    if not names:
        return [links[0] for links in bodies.values()]
    movable = [link for links in bodies.values() for link in links]
    for name in names:
        if name in movable:
            continue
        if name in plant.description.links:
            raise InvalidValueError(
                'link',
                name,
                f'a link that has mass and moves: {", ".join(movable)}',
                f'--what {word}',
            )
        raise UnknownNameError('link', name, movable, f'--what {word}')
    return names


class Parameters:
    """
    Fitted numbers as a vector z (P,); 0 corresponds to the values in the file.

    columns: number descriptions. lower, upper: (P,) limits for z. links: links whose inertia
    is fitted.
    """

    def __init__(self, plant: Plant, chosen: dict[str, list[str]], sizes: Efforts) -> None:
        """Begin with a plant's parameters; sizes: scales for joint parameters."""
        self._plant = plant
        self.columns: list[Column] = []
        for kind in JOINT_KINDS:
            for name in chosen.get(kind, ()):
                at = plant.joint_names.index(name)
                scale = (
                    sizes.effort[at]
                    / {
                        'friction': 1.0,
                        'damping': sizes.velocity[at],
                        'armature': sizes.acceleration[at],
                    }[kind]
                )
                start = float(getattr(plant.robot.joint(name), kind))
                self.columns.append(Column(kind, name, 0, start, scale, 0.0, np.inf))
        self.links = tuple(
            dict.fromkeys(name for kind in LINK_KINDS for name in chosen.get(kind, ()))
        )
        self._starts: dict[str, FloatArray] = {}
        self._files: dict[str, Body] = {}
        for name in self.links:
            link = plant.robot.link(name)
            own = self._files[name] = Body(link.m, link.c, link.I)
            numbers = self._starts[name] = log_cholesky(own)
            for kind in LINK_KINDS:
                if name in chosen.get(kind, ()):
                    self.columns += _body_columns(kind, name, numbers, own)
        if DELAY in chosen:
            self.columns.append(Column(DELAY, '', 0, 0.0, _DELAY_SCALE, _LEAST_DELAY, _MOST_DELAY))
        self.start = np.array([each.start for each in self.columns])
        self.scale = np.array([each.scale for each in self.columns])
        self.lower = (np.array([each.lower for each in self.columns]) - self.start) / self.scale
        self.upper = (np.array([each.upper for each in self.columns]) - self.start) / self.scale
        # the file's values may be at a limit, or beyond it by rounding
        self.lower, self.upper = np.minimum(self.lower, 0.0), np.maximum(self.upper, 0.0)

    @property
    def count(self) -> int:
        """Count of fitted numbers."""
        return len(self.columns)

    def values(self, z: FloatArray) -> FloatArray:
        """Return the numbers (P,) in their own units."""
        return self.start + self.scale * z

    def joint_values(self, kind: str, z: FloatArray) -> FloatArray:
        """Return one parameter kind (n,) for all joints; unfitted joints keep their values."""
        found = np.array(
            [getattr(self._plant.robot.joint(name), kind) for name in self._plant.joint_names]
        )
        for column, value in zip(self.columns, self.values(z), strict=True):
            if column.kind == kind:
                found[self._plant.joint_names.index(column.target)] = value
        return found

    def body(self, link: str, z: FloatArray) -> Body:
        """Return a link's inertia; unfitted links keep theirs."""
        if link not in self._starts:
            own = self._plant.robot.link(link)
            return Body(own.m, own.c, own.I)
        parameters = self._parameters_of(link, z)
        if any(each.kind == 'inertia' for each in self._columns_of(link).values()):
            return body_of(parameters)
        # inertia as in the file: a body without thickness keeps its shape
        file = self._files[link]
        mass = float(np.exp(parameters[0]))
        return Body(mass, parameters[CENTER].copy(), file.inertia * (mass / file.mass))

    def body_parameters(self, link: str, z: FloatArray) -> tuple[FloatArray, dict[int, int]]:
        """Return a link's parameters (10,), and which of them each of its columns in z holds."""
        return self._parameters_of(link, z), {
            at: column.number for at, column in self._columns_of(link).items()
        }

    def delay(self, z: FloatArray) -> float:
        """Return the effort delay relative to the recording [s]."""
        if self.columns and self.columns[-1].kind == DELAY:
            return float(self.values(z)[-1])
        return 0.0

    def apply(self, robot: Robot, z: FloatArray) -> None:
        """Apply the parameters to a robot."""
        for column, value in zip(self.columns, self.values(z), strict=True):
            if column.kind in JOINT_KINDS:
                # rounding may lead below the limit
                setattr(robot.joint(column.target), column.kind, max(float(value), 0.0))
        for name in self.links:
            body, link = self.body(name, z), robot.link(name)
            link.m, link.c, link.I = body.mass, body.center, body.inertia

    def quantities(self, z: FloatArray) -> list[Quantity]:
        """Return the reported quantities."""
        found, values = [], self.values(z)
        for at, column in enumerate(self.columns):
            if column.kind in JOINT_KINDS or column.kind == DELAY:
                gradient = np.zeros(self.count)
                gradient[at] = column.scale
                name = f'{column.target}.{column.kind}' if column.target else column.kind
                found.append(
                    Quantity(name, self._unit(column), column.start, float(values[at]), gradient)
                )
        for link in self.links:
            found += self._of_link(link, z)
        return found

    def _of_link(self, link: str, z: FloatArray) -> list[Quantity]:
        before, body = self._files[link].vector, self.body(link, z)
        parameters, columns = self.body_parameters(link, z)
        derivatives = np.zeros((10, self.count))
        by_parameters = vector_derivatives(parameters)
        for at, number in columns.items():
            derivatives[:, at] = by_parameters[:, number] * self.columns[at].scale
        kinds = {self.columns[at].kind for at in columns}
        names = [
            ('mass', 'kg', 'mass'),
            *((f'centre.{axis}', 'm', 'centre') for axis in 'xyz'),
            *((f'inertia.{name}', 'kg m²', 'inertia') for name in MOMENT_NAMES),
        ]
        return [
            Quantity(
                f'{link}.{name}', unit, float(before[k]), float(body.vector[k]), derivatives[k]
            )
            for k, (name, unit, kind) in enumerate(names)
            if kind in kinds
        ]

    def _columns_of(self, link: str) -> dict[int, Column]:
        return {
            at: column
            for at, column in enumerate(self.columns)
            if column.kind in LINK_KINDS and column.target == link
        }

    def _parameters_of(self, link: str, z: FloatArray) -> FloatArray:
        parameters, values = self._starts[link].copy(), self.values(z)
        for at, column in self._columns_of(link).items():
            parameters[column.number] = values[at]
        return parameters

    def _unit(self, column: Column) -> str:
        if column.kind == DELAY:
            return 's'
        is_turning = not self._plant.robot.joint(column.target).is_linear
        return {
            'friction': ('N', 'N m'),
            'damping': ('N s/m', 'N m s/rad'),
            'armature': ('kg', 'kg m²'),
        }[column.kind][is_turning]


def _body_columns(kind: str, link: str, start: FloatArray, own: Body) -> list[Column]:
    """Return the columns for one block of a link's inertial parameters. kind: key of _BLOCKS."""
    numbers: Sequence[int] = range(*_BLOCKS[kind].indices(10))
    # length scale: radius of gyration, or distance between centre of mass and link origin
    size = max(own.size, float(np.linalg.norm(own.center)), 1e-3)
    spread = np.exp(start[4:7])
    found = []
    for number in numbers:
        value = float(start[number])
        if kind == 'centre':
            found.append(Column(kind, link, number, value, size, -np.inf, np.inf))
        elif number < 7:
            found.append(
                Column(kind, link, number, value, 1.0, value - _MOST_LOG, value + _MOST_LOG)
            )
        else:
            found.append(Column(kind, link, number, value, float(spread.max()), -np.inf, np.inf))
    return found
