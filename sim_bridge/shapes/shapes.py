"""
Solid shapes: sizes, bounds and mass properties.

A shape has its own frame and no pose; `Placed` gives it a pose on a link. Sizes are full lengths,
as in URDF. All shapes are immutable, so that they can be shared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
import math
import sys
from types import MappingProxyType
from typing import ClassVar, NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.engine.data import geometry as engine
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_number, positive_number, positive_vector

_Moments = tuple[float, tuple[float, float, float], float]


class MassProperties(NamedTuple):
    """
    A body's mass, centre of mass and inertia.

    mass: kg. center_of_mass: (3,) m. inertia: (3, 3) about the centre of mass [kg m²]. Centre and
    inertia are in one frame, the shape's or the link's.
    """

    mass: float
    center_of_mass: FloatArray
    inertia: FloatArray


class Shape(ABC):
    """Collision solid, in its own frame."""

    kind: ClassVar[int]
    """Engine's number of the shape kind."""

    @property
    @abstractmethod
    def engine_size(self) -> tuple[float, float, float]:
        """The three sizes that describe the shape in `engine.data.geometry` [m]."""

    @property
    @abstractmethod
    def bounds(self) -> FloatArray:
        """(2, 3) least and greatest coordinates in the shape's frame [m]."""

    @property
    def is_endless(self) -> bool:
        """Whether it is infinite, so that only static bodies can have it."""
        return False

    @property
    def is_sensor(self) -> bool:
        """Whether its geometries are always sensors."""
        return False

    @abstractmethod
    def mass_properties(self, density: float) -> MassProperties:
        """
        Return mass, centre of mass and inertia at a density [kg/m³], in the shape's frame.

        Raises InvalidValueError for a density that is not positive, or a shape without volume.
        """


class _Symmetric(Shape):
    """Shape with known moments and a bounding box centred at its frame."""

    @property
    @abstractmethod
    def half_extents(self) -> tuple[float, float, float]:
        """Half the edges of the bounding box [m]."""

    @abstractmethod
    def _moments(self) -> _Moments:
        """Return volume, principal moments for a mass of 1 kg, and the centre of mass on z."""

    @property
    def bounds(self) -> FloatArray:
        half = np.array(self.half_extents)
        return np.stack([-half, half])

    def mass_properties(self, density: float) -> MassProperties:
        density = positive_number('density', density, 'a positive number [kg/m³]')
        try:
            volume, moments, height = self._moments()
        except OverflowError:
            volume, moments, height = math.inf, (0.0, 0.0, 0.0), 0.0
        mass = density * volume
        # smaller numbers have lost their digits
        is_sound = mass >= sys.float_info.min and all(
            math.isfinite(mass * moment) for moment in (1.0, *moments)
        )
        if not is_sound:
            raise InvalidValueError(
                'shape', self, 'a shape whose mass and inertia are finite, and not nearly 0'
            )
        return MassProperties(mass, np.array([0.0, 0.0, height]), mass * np.diag(moments))


@dataclass(frozen=True)
class Box(_Symmetric):
    """Box with edges `size` (3,) [m] along its axes."""

    size: tuple[float, float, float]
    kind: ClassVar[int] = engine.BOX

    if TYPE_CHECKING:

        def __init__(self, size: Vector) -> None: ...

    def __post_init__(self) -> None:
        """Check the size; raises InvalidValueError."""
        _set_vector(self, 'size', self.size)

    @property
    def half_extents(self) -> tuple[float, float, float]:
        """Half the edges [m]."""
        x, y, z = self.size
        return x / 2, y / 2, z / 2

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """Half the edges [m]."""
        return self.half_extents

    def _moments(self) -> _Moments:
        x, y, z = self.size
        return x * y * z, ((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12), 0.0


@dataclass(frozen=True)
class Sphere(_Symmetric):
    """Sphere with a radius [m]."""

    radius: float
    kind: ClassVar[int] = engine.SPHERE

    def __post_init__(self) -> None:
        """Check the size; raises InvalidValueError."""
        _set_number(self, 'radius', self.radius)

    @property
    def half_extents(self) -> tuple[float, float, float]:
        """Three times the radius [m]."""
        return self.radius, self.radius, self.radius

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """The radius [m]."""
        return self.radius, 0.0, 0.0

    def _moments(self) -> _Moments:
        moment = 0.4 * self.radius**2
        return 4 / 3 * math.pi * self.radius**3, (moment, moment, moment), 0.0


@dataclass(frozen=True)
class _Round(_Symmetric):
    """Shape of revolution about z. radius, length: m; the length is along z."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        """Check the sizes; raises InvalidValueError."""
        _set_number(self, 'radius', self.radius)
        _set_number(self, 'length', self.length)

    @property
    def half_extents(self) -> tuple[float, float, float]:
        """Radius, radius and half the length [m]."""
        return self.radius, self.radius, self.length / 2

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """Radius and half the length [m]."""
        return self.radius, self.length / 2, 0.0


@dataclass(frozen=True)
class Cylinder(_Round):
    """Cylinder with a radius and a length along z [m], its frame in the middle."""

    kind: ClassVar[int] = engine.CYLINDER

    def _moments(self) -> _Moments:
        across = self.radius**2 / 4 + self.length**2 / 12
        volume = math.pi * self.radius**2 * self.length
        return volume, (across, across, self.radius**2 / 2), 0.0


@dataclass(frozen=True)
class Capsule(_Round):
    """Cylinder with a radius and a length along z [m], with a half-sphere on either end."""

    kind: ClassVar[int] = engine.CAPSULE

    @property
    def half_extents(self) -> tuple[float, float, float]:
        """Radius, radius, and half the length plus the radius [m]."""
        return self.radius, self.radius, self.length / 2 + self.radius

    def _moments(self) -> _Moments:
        r, length = self.radius, self.length
        tube, ends = math.pi * r**2 * length, 4 / 3 * math.pi * r**3
        volume = tube + ends
        # the half-spheres are the length apart (Ericson, capsule inertia tensor)
        across = tube * (length**2 / 12 + r**2 / 4)
        across += ends * (0.4 * r**2 + length**2 / 4 + 0.375 * length * r)
        along = tube * r**2 / 2 + ends * 0.4 * r**2
        return volume, (across / volume, across / volume, along / volume), 0.0


class _Tapered(_Round):
    """Shape of revolution about z with a different outer radius at the top."""

    top_radius: float

    def __post_init__(self) -> None:
        """Check the sizes; raises InvalidValueError."""
        super().__post_init__()
        _set_number_or_zero(self, 'top_radius', self.top_radius)

    @property
    def half_extents(self) -> tuple[float, float, float]:
        """The greater radius, twice, and half the length [m]."""
        widest = max(self.radius, self.top_radius)
        return widest, widest, self.length / 2

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """Radius, half the length and radius at the top [m]."""
        return self.radius, self.length / 2, self.top_radius


@dataclass(frozen=True)
class Cone(_Tapered):
    """
    Cone with its base at -length / 2 and its apex at +length / 2 on z.

    top_radius: radius at a second flat end instead of the apex, at least 0 [m]: a truncated cone.
    """

    top_radius: float = 0.0
    kind: ClassVar[int] = engine.CONE

    def _moments(self) -> _Moments:
        if self.top_radius:
            return _frustum_moments(self.radius, self.top_radius, self.length)
        across = 0.15 * self.radius**2 + 0.0375 * self.length**2
        volume = math.pi * self.radius**2 * self.length / 3
        return volume, (across, across, 0.3 * self.radius**2), -self.length / 4


def _frustum_moments(r: float, top: float, length: float) -> _Moments:
    """
    Return a truncated cone's moments; see `_Symmetric._moments`.

    r, top: radii at -length / 2 and length / 2 [m]. The radius at u = z / length is a + b u; all
    results are means of its powers over the length.
    """
    a, b = (r + top) / 2, top - r
    square, fourth = a * a + b * b / 12, a**4 + a * a * b * b / 2 + b**4 / 80
    middle = a * b / 6 / square
    spread = (a * a / 12 + b * b / 80) / square - middle * middle
    across = fourth / (4 * square) + length**2 * spread
    return math.pi * square * length, (across, across, fourth / (2 * square)), length * middle


@dataclass(frozen=True)
class HollowCone(_Tapered):
    """
    Cone as `Cone`, with a conical bore along its axis.

    inner_radius, top_inner_radius: bore radii at -length / 2 and at length / 2, the second
    at least 0 [m]; less than the cone's radii there, or both 0.
    """

    inner_radius: float
    top_radius: float = 0.0
    top_inner_radius: float = 0.0
    kind: ClassVar[int] = engine.HOLLOW

    def __post_init__(self) -> None:
        """Check the sizes; raises InvalidValueError."""
        super().__post_init__()
        _set_number(self, 'inner_radius', self.inner_radius)
        _set_number_or_zero(self, 'top_inner_radius', self.top_inner_radius)
        for name, inner, outer in (
            ('inner_radius', self.inner_radius, self.radius),
            ('top_inner_radius', self.top_inner_radius, self.top_radius),
        ):
            if inner >= outer > 0.0 or inner > outer:
                raise InvalidValueError(
                    name,
                    inner,
                    f'less than the outer radius there, {outer:.9g} m',
                    type(self).__name__,
                )

    @property
    def bore(self) -> tuple[float, float]:
        """Bore radii at both ends [m]."""
        return self.inner_radius, self.top_inner_radius

    def _moments(self) -> _Moments:
        outer = _frustum_moments(self.radius, self.top_radius, self.length)
        return _difference(outer, _frustum_moments(*self.bore, self.length))


@dataclass(frozen=True)
class HollowCylinder(_Round):
    """Cylinder with a radius and a length along z, with a bore [m]."""

    inner_radius: float
    kind: ClassVar[int] = engine.HOLLOW

    def __post_init__(self) -> None:
        """Check the sizes; raises InvalidValueError."""
        super().__post_init__()
        _set_number(self, 'inner_radius', self.inner_radius)
        if self.inner_radius >= self.radius:
            raise InvalidValueError(
                'inner_radius',
                self.inner_radius,
                f'less than the radius, {self.radius:.9g} m',
                'HollowCylinder',
            )

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """Radius, half the length, and radius again [m]."""
        return self.radius, self.length / 2, self.radius

    @property
    def bore(self) -> tuple[float, float]:
        """Bore radii at both ends [m]."""
        return self.inner_radius, self.inner_radius

    def _moments(self) -> _Moments:
        inner, outer, length = self.inner_radius, self.radius, self.length
        square = outer**2 + inner**2
        across = square / 4 + length**2 / 12
        volume = math.pi * (outer - inner) * (outer + inner) * length
        return volume, (across, across, square / 2), 0.0


def _difference(whole: _Moments, part: _Moments) -> _Moments:
    """Return the moments of a solid of revolution minus a part, both about z."""
    volume = whole[0] - part[0]
    height = (whole[0] * whole[2] - part[0] * part[2]) / volume
    sums = [0.0, 0.0, 0.0]
    for sign, (share, moments, middle) in ((1.0, whole), (-1.0, part)):
        for axis in range(3):
            # parallel axis theorem, about the common centre of mass
            arm = middle - height if axis < 2 else 0.0
            sums[axis] += sign * share * (moments[axis] + arm * arm)
    return volume, (sums[0] / volume, sums[1] / volume, sums[2] / volume), height


@dataclass(frozen=True)
class Ellipsoid(_Symmetric):
    """Ellipsoid with three radii [m] along its axes."""

    radii: tuple[float, float, float]
    kind: ClassVar[int] = engine.ELLIPSOID

    if TYPE_CHECKING:

        def __init__(self, radii: Vector) -> None: ...

    def __post_init__(self) -> None:
        """Check the size; raises InvalidValueError."""
        _set_vector(self, 'radii', self.radii)

    @property
    def half_extents(self) -> tuple[float, float, float]:
        """The radii [m]."""
        return self.radii

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """The radii [m]."""
        return self.radii

    def _moments(self) -> _Moments:
        a, b, c = self.radii
        volume = 4 / 3 * math.pi * a * b * c
        return volume, ((b * b + c * c) / 5, (a * a + c * c) / 5, (a * a + b * b) / 5), 0.0


@dataclass(frozen=True)
class Plane(Shape):
    """Ground: everything below z = 0. Without mass, so that only static bodies can have it."""

    kind: ClassVar[int] = engine.PLANE

    @property
    def engine_size(self) -> tuple[float, float, float]:
        """Zeros: a plane has no size."""
        return 0.0, 0.0, 0.0

    @property
    def bounds(self) -> FloatArray:
        """(2, 3) least and greatest coordinates [m]; infinite except upwards."""
        return np.array([[-np.inf] * 3, [np.inf, np.inf, 0.0]])

    @property
    def is_endless(self) -> bool:
        """True."""
        return True

    def mass_properties(self, density: float) -> MassProperties:
        """Raise InvalidValueError: an infinite body has no mass."""
        raise InvalidValueError('shape', self, 'a shape of finite volume, to compute a mass')


def _set_vector(shape: Shape, name: str, value: object) -> None:
    expected = '3 positive numbers [m]'
    vector = positive_vector(name, value, 3, type(shape).__name__, expected)
    object.__setattr__(shape, name, tuple(vector.tolist()))


def _set_number(shape: Shape, name: str, value: object) -> None:
    number = positive_number(name, value, 'a positive number [m]', type(shape).__name__)
    object.__setattr__(shape, name, number)


def _set_number_or_zero(shape: Shape, name: str, value: object) -> None:
    expected, place = 'a number of at least 0 [m]', type(shape).__name__
    number = finite_number(name, value, place, expected)
    if number < 0.0:
        raise InvalidValueError(name, value, expected, place)
    object.__setattr__(shape, name, number)


PRIMITIVES: Mapping[str, Callable[..., Shape]] = MappingProxyType(
    {
        'box': lambda x, y, z: Box((x, y, z)),
        'sphere': Sphere,
        'cylinder': Cylinder,
        'capsule': Capsule,
        'ellipsoid': lambda x, y, z: Ellipsoid((x, y, z)),
        'cone': Cone,
        'plane': Plane,
    }
)
"""Constructors of primitive shapes by kind; their arguments are the sizes in a description."""
