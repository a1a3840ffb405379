"""Single bodies: from shapes and a mass to a description like a robot's, of one link."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from sim_bridge.compilation.collisions import Collisions, shapes_on
from sim_bridge.description.model import Inertial, LinkDescription, MOTIONS, Pose, RobotDescription
from sim_bridge.description.poses import read_only
from sim_bridge.description.report import Report
from sim_bridge.foundation.arrays import Matrix, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector, one_of, positive_number, real_array
from sim_bridge.shapes.material import Material
from sim_bridge.shapes.placed import as_placed, combined_mass_properties, Placed
from sim_bridge.shapes.polyhedra import HeightField
from sim_bridge.shapes.shapes import Plane, Shape

# as in description.mechanism.inertia: rounding of values that were printed with few digits
_TRIANGLE_TOLERANCE = 1e-3


@dataclass(frozen=True, kw_only=True)
class BodySpec:
    """The arguments of `World.add_body`, unchecked."""

    shapes: Shape | Placed | Iterable[Shape | Placed]
    mass: float | None = None
    inertia: Vector | Matrix | None = None
    center_of_mass: Vector | None = None
    density: float | None = None
    motion: str = 'dynamic'
    material: Material | str | None = None


def describe_body(
    spec: BodySpec, name: str, material_of: Callable[[Material | str | None], Material]
) -> tuple[RobotDescription, Collisions]:
    """
    Return a robot of one link, of the body's name, and what of it collides.

    material_of: returns the material for a Material, a name or None; its density is needed. Raises
    InvalidValueError, naming the body, for invalid values.
    """
    place = f'body {name!r}'
    shapes = as_placed(spec.shapes)
    check_motion(spec.motion, shapes, place)
    inertial = None
    if spec.motion == 'dynamic' or spec.mass is not None or spec.density is not None:
        inertial = _inertial(spec, shapes, place, material_of)
    link = LinkDescription(name, inertial)
    description = RobotDescription(
        name=name, root=name, links=MappingProxyType({name: link}),
        joints=MappingProxyType({}), sensors=(), report=Report(place))
    return description, shapes_on(name, shapes)


def check_motion(motion: object, shapes: Iterable[Placed], place: str) -> None:
    """Raise InvalidValueError for what is no motion control, or none of such shapes."""
    one_of('motion', motion, MOTIONS, place)
    if motion != 'static':
        for placed in shapes:
            if isinstance(placed.shape, (Plane, HeightField)):
                raise InvalidValueError(
                    'motion', motion,
                    f"'static', since a {type(placed.shape).__name__} has no end", place)


def _inertial(
    spec: BodySpec,
    shapes: tuple[Placed, ...],
    place: str,
    material_of: Callable[[Material | str | None], Material],
) -> Inertial:
    """Return mass, centre of mass and inertia as given, the missing ones from the shapes."""
    mass = spec.mass
    if mass is not None:
        mass = positive_number('mass', mass, 'a positive number [kg]', place)
    if spec.density is not None:
        positive_number('density', spec.density, 'a positive number [kg/m³]', place)
        if mass is not None:
            raise InvalidValueError('density', spec.density, 'none beside a mass', place)
    center, inertia = None, None
    if spec.center_of_mass is not None:
        center = finite_vector(
            'center_of_mass', spec.center_of_mass, 3, place, '3 finite numbers [m]')
    if spec.inertia is not None:
        inertia = _checked_inertia(spec.inertia, place)
    if mass is None or inertia is None or center is None:
        if mass is not None and inertia is not None:
            center = np.zeros(3)
        else:
            densities = [
                spec.density or _material(placed, spec, material_of).density
                for placed in shapes]
            own = combined_mass_properties(shapes, densities, place)
            mass = own.mass if mass is None else mass
            center = own.center_of_mass if center is None else center
            inertia = own.inertia * (mass / own.mass) if inertia is None else inertia
    return Inertial(mass, Pose(read_only(center), read_only(np.eye(3))), read_only(inertia))


def _material(
    placed: Placed, spec: BodySpec, material_of: Callable[[Material | str | None], Material]
) -> Material:
    return material_of(spec.material if placed.material is None else placed.material)


def _checked_inertia(value: object, place: str) -> np.ndarray:
    """Return an inertia as (3, 3); raises InvalidValueError if no body can have it."""
    expected = (
        '(3, 3) symmetric, or (3,) its diagonal; positive definite, no principal moment above the '
        'sum of the others [kg m²]')
    matrix = real_array('inertia', value, expected, place)
    if matrix.shape == (3,):
        matrix = np.diag(matrix)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise InvalidValueError('inertia', value, expected, place)
    scale = float(np.abs(matrix).max())
    principal = np.linalg.eigvalsh(matrix)
    is_symmetric = np.abs(matrix - matrix.T).max() <= 1e-9 * scale
    excess = principal[2] - principal[0] - principal[1]
    if not is_symmetric or principal[0] <= 0.0 or excess > _TRIANGLE_TOLERANCE * scale:
        raise InvalidValueError('inertia', value, expected, place)
    symmetric: np.ndarray = 0.5 * (matrix + matrix.T)
    return symmetric
