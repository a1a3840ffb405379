"""
Parts: the NamedTuples of arrays that make up a world, each field declared once.

A field's annotation says what kind of array it is, its extents, its unit and what its numbers
point at:

    parent: Annotated[IntVector, Dims('nb', points_at='nb')]
    wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]

From that follow how a part is made, copied and joined with others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints, NamedTuple, TypeVar

import numpy as np

from sim_bridge.compiler.arrays import Layout

DIMENSIONS = {
    'nb': 'bodies',
    'nq': 'position coordinates',
    'nv': 'velocity coordinates',
    'nm': 'mimic joints',
    'nl': 'links that a medium acts on',
    'np': 'links that gravity acts on',
    'nf': 'fields of force',
    'pushed': 'links that fields act on, once for each field',
    'ne': 'listeners to contacts',
    'heard_pairs': 'contact points that there is room for, where there are listeners',
    'heard': 'geometries, where there are listeners',
    'ng': 'geometries',
    'nc': 'contact points that there is room for',
    'nk': 'joints that close loops',
    'nr': 'rows of these joints',
    'na': 'axes of these joints',
    'nw': 'velocities that are kept of bodies which sleep by their mean',
    'nt': 'their rows, with those of the axes',
    'mimic_rows': 'mimic joints, none where loops see to them',
    'whitened': 'entries of a whitened contact row: coordinates, rows that yield, and axes',
    'entries': 'entries of all contact rows that there is room for',
    'direct_rows': 'contact rows that the direct solver has room for',
    'dense_rows': 'those of which its matrix has all entries',
    'profile': 'entries of its matrices of coordinates that there is room for',
    'loop_whitened': 'entries of a whitened loop row: coordinates, rows that yield, and axes',
    'support': 'coordinates that one joint that closes a loop can act on',
    'pairs': 'pairs of geometries that there is room for',
    'bins': 'cells, digits or geometries that the broad phase counts',
    'boxes': 'boxes around groups of geometries',
    'lane_sides': 'sides of boxes around geometries and their groups, side by side',
    'excluded': 'pairs of bodies or geometries that never collide',
    'vertices': 'vertices of hulls and meshes',
    'neighbours': 'neighbours of all vertices',
    'faces': 'faces of hulls',
    'corners': 'corners of all faces',
    'triangles': 'triangles of meshes',
    'nodes': 'nodes of trees of boxes around triangles',
    'heights': 'heights of height fields',
    'carriers': 'bodies up to the last that carries a geometry',
    'materials': 'materials',
    'laws': 'surface laws',
    'user_contacts': 'contacts made by the user that there is room for',
    'bounds': 'contact points and elements of joints that there is room for',
    'law_rows': 'elements of joints: friction, motors and stops',
    'owners': 'velocity coordinates, then axes of joints that close loops',
}
"""What the dimensions count."""

P = TypeVar('P', bound=tuple[Any, ...])


class Dims:
    """
    The extents of a field's array, and the meaning of its numbers.

    extents: of each axis a number, or a name of DIMENSIONS, perhaps followed by ' + 1'. unit: of
    its numbers; where columns differ, of each group of columns, separated by ';'; of sliding and
    turning coordinates, separated by ','. points_at: the dimension that its integers index;
    negative ones mean none. is_parameter: whether it can change while a world runs, so that it is
    saved beside the state.
    """

    def __init__(
        self, *extents: int | str, unit: str = '', points_at: str = '', is_parameter: bool = False
    ) -> None:
        """Raise ValueError for a dimension that is not of DIMENSIONS."""
        for extent in (*extents, *filter(None, [points_at])):
            if isinstance(extent, str) and _split(extent)[0] not in DIMENSIONS:
                raise ValueError(f'unknown dimension {extent!r}')
        self.extents = extents
        self.unit = unit
        self.points_at = points_at
        self.is_parameter = is_parameter

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape in a world of these sizes; raises KeyError for a missing size."""
        return tuple(
            extent if isinstance(extent, int) else sizes[_split(extent)[0]] + _split(extent)[1]
            for extent in self.extents
        )


class Field(NamedTuple):
    """A declared array."""

    dtype: np.dtype[Any]
    dims: Dims


@cache
def _split(extent: str) -> tuple[str, int]:
    """Split 'nc + 1' into name and number."""
    name, _, more = extent.partition(' + ')
    return name, int(more or 0)


@cache
def arrays_of(part: type[tuple[Any, ...]]) -> dict[str, Field]:
    """Return the declarations of a part's arrays; raises TypeError for an undeclared field."""
    fields = {}
    for name, hint in get_type_hints(part, include_extras=True).items():
        metadata = getattr(hint, '__metadata__', ())
        layout = next((each for each in metadata if isinstance(each, Layout)), None)
        dims = next((each for each in metadata if isinstance(each, Dims)), None)
        if layout is None or dims is None or len(dims.extents) != layout.dimensions:
            raise TypeError(f'{part.__name__}.{name} does not declare the dimensions of its array')
        fields[name] = Field(layout.dtype, dims)
    return fields


@cache
def rows_of(part: type[tuple[Any, ...]]) -> dict[str, str]:
    """Return the names of the fields with one row per item of a dimension, and that dimension."""
    return {
        name: field.dims.extents[0]
        for name, field in arrays_of(part).items()
        if isinstance(field.dims.extents[0], str)
    }


def parameters(part: tuple[Any, ...]) -> dict[str, np.ndarray]:
    """Return the arrays that can change while a world runs, beside the state."""
    return {
        name: getattr(part, name)
        for name, (_, dims) in arrays_of(type(part)).items()
        if dims.is_parameter
    }


def make(part: type[P], sizes: Mapping[str, int], **given: np.ndarray) -> P:
    """Return a part with the given arrays; all others are zeros."""
    arrays = []
    for name, (dtype, dims) in arrays_of(part).items():
        try:
            arrays.append(given[name] if name in given else np.zeros(dims.shape(sizes), dtype))
        except KeyError as error:
            raise KeyError(f'{part.__name__}.{name}: no size of its dimension {error}') from None
    return tuple.__new__(part, arrays)


def copy(part: P) -> P:
    """Return a part with copies of all arrays."""
    return tuple.__new__(type(part), [array.copy() for array in part])


def sizes_of(*parts: tuple[Any, ...]) -> dict[str, int]:
    """
    Return the sizes of the dimensions that parts have.

    Raises ValueError, which names the field, for an array that does not fit its declaration or the
    others.
    """
    sizes: dict[str, int] = {}
    for part in parts:
        for (name, (dtype, dims)), array in zip(arrays_of(type(part)).items(), part, strict=True):
            for extent, number in zip(dims.extents, array.shape, strict=True):
                if isinstance(extent, str):
                    sizes.setdefault(_split(extent)[0], number - _split(extent)[1])
            if array.dtype != dtype or array.shape != dims.shape(sizes):
                raise ValueError(
                    f'{type(part).__name__}.{name} is {array.dtype} {array.shape}, '
                    f'not {dtype} {dims.extents} of {sizes}'
                )
    return sizes
