"""Mass properties of links: given, or computed from shapes with mass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sim_bridge.description.model import Inertial, Pose
from sim_bridge.description.poses import read_only
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import positive_number, real_array
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.placed import combined_mass_properties, Placed
from sim_bridge.shapes.shapes import MassProperties

# same value as in description.mechanism.inertia: rounding in values printed with few digits
_TRIANGLE_TOLERANCE = 1e-3

MaterialOf = Callable[[Material | str | None], Material]
"""Returns the material for a Material, a name or None."""


def inertial_of(mass: float, center: FloatArray, inertia: FloatArray) -> Inertial:
    """Return a link's mass properties, in its axes; center: (3,) [m], inertia: (3, 3)."""
    return Inertial(mass, Pose(read_only(center), read_only(np.eye(3))), read_only(inertia))


def properties_of(
    shapes: Sequence[Placed],
    mass: float | None,
    density: float | None,
    material_of: MaterialOf,
    place: str,
) -> MassProperties:
    """
    Return the mass properties of the shapes with mass, in their link's frame.

    Sensors, disabled shapes and shapes with `mass=False` have no mass. If there are no other
    shapes, the given mass is distributed over them. mass: total [kg]; None: computed from the
    density. density: for all shapes [kg/m³]; None: their materials' densities. Raises
    InvalidValueError if both are given, if no shape has mass, for a shape without volume, and for
    an inertia that is not finite.
    """
    if density is not None:
        density = positive_number('density', density, 'a positive number [kg/m³]', place)
        if mass is not None:
            raise InvalidValueError('density', density, 'no density together with a mass', place)
    heavy = [each for each in shapes if each.mass and each.enabled and not each.sensor]
    if not heavy and mass is not None:
        heavy = list(shapes)
    densities = [density or material_of(each.material).density for each in heavy]
    with np.errstate(over='ignore', invalid='ignore'):
        own = combined_mass_properties(heavy, densities, place)
        if mass is not None:
            own = own._replace(mass=mass, inertia=own.inertia * (mass / own.mass))
    if not np.isfinite(own.inertia).all():
        raise InvalidValueError(
            'mass properties',
            (own.mass, *own.inertia.diagonal().tolist()),
            'a mass and sizes whose inertia is a finite number [kg m²]',
            place,
        )
    return own


def checked_mass(value: object, place: str) -> float:
    """Return a mass [kg]; raises InvalidValueError unless it is a positive number."""
    return positive_number('mass', value, 'a positive number [kg]', place)


def checked_inertia(value: object, place: str) -> FloatArray:
    """Return an inertia as (3, 3); raises InvalidValueError if no body can have it."""
    expected = (
        '(3, 3) symmetric, or (3,) its diagonal; positive definite, no principal moment above the '
        'sum of the others [kg m²]'
    )
    matrix = real_array('inertia', value, expected, place)
    if matrix.shape == (3,):
        matrix = np.diag(matrix)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise InvalidValueError('inertia', value, expected, place)
    scale = float(np.abs(matrix).max())
    principal = np.linalg.eigvalsh(matrix)
    is_symmetric = np.abs(matrix - matrix.T).max() <= 1e-9 * scale
    with np.errstate(over='ignore'):
        excess = principal[2] - principal[0] - principal[1]
    if not is_symmetric or principal[0] <= 0.0 or excess > _TRIANGLE_TOLERANCE * scale:
        raise InvalidValueError('inertia', value, expected, place)
    symmetric: FloatArray = 0.5 * matrix + 0.5 * matrix.T
    return symmetric
