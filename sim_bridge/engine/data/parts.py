"""
Parts: array NamedTuples of a world, with each field declared once.

A field's annotation gives the array kind, its extents, its unit, and the dimension that its
numbers index:

    parent: Annotated[IntVector, Dims('nb', points_at='nb')]
    wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]

Functions here derive from this how a part is made, copied and joined with others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any, get_type_hints, NamedTuple, TypeVar

import numpy as np

from sim_bridge.compiler.arrays import Layout

DIMENSIONS = {
    'nb': 'bodies',
    'nq': 'position coordinates',
    'nv': 'velocity coordinates',
    'nm': 'mimic joints',
    'nl': 'links in a medium',
    'np': 'links under gravity',
    'nf': 'force fields',
    'pushed': 'pairs of a force field and a link',
    'field_values': 'fluid force parameters',
    'ne': 'contact listeners',
    'heard_pairs': 'capacity for contact points, with listeners',
    'heard': 'geometries, with listeners',
    'ng': 'geometries',
    'nc': 'capacity for contact points',
    'nk': 'joints that close loops',
    'nr': 'rows of these joints',
    'na': 'axes of these joints',
    'nu': 'actuators',
    'nw': 'velocities kept for bodies that sleep by their mean velocity',
    'nt': 'their rows, and the rows of their axes',
    'mimic_rows': 'mimic joints, none if loops handle them',
    'whitened': 'entries of a whitened contact row: coordinates, compliant rows, and axes',
    'entries': 'capacity for entries of all contact rows',
    'direct_rows': 'capacity for contact rows in the direct solver',
    'dense_rows': 'capacity for contact rows in its dense matrix',
    'profile': 'capacity for entries in its matrices of coordinates',
    'loop_whitened': 'entries of a whitened loop row: coordinates, compliant rows, and axes',
    'support': 'coordinates that one loop-closing joint can act on',
    'pairs': 'capacity for pairs of geometries',
    'bins': 'cells, digits or geometries counted by the broad phase',
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
    'carriers': 'bodies up to the last one with a geometry',
    'materials': 'materials',
    'laws': 'contact laws',
    'user_contacts': 'capacity for user contacts',
    'bounds': 'capacity for contact points and elements of joints',
    'law_rows': 'elements of joints: friction, motors and stops',
    'owners': 'velocity coordinates, then axes of joints that close loops',
    'height': 'rows of a picture',
    'width': 'columns of a picture',
    'lamps': 'lamps',
    'textured': 'triangles with texture coordinates',
    'colored': 'triangles with vertex colours',
    'textures': 'textures',
    'levels': 'textures in all their sizes',
    'texels': 'pixels in all levels',
    'lines': 'lines of a pencil',
    'clusters': 'clusters of closed meshes',
    'cells': 'cells of a pencil',
    'mask_rows': 'rows of a mask',
    'mask_columns': 'columns of a mask',
}
"""Items counted by each dimension."""

P = TypeVar('P', bound=tuple[Any, ...])


class Dims:
    """
    Extents of a field's array, and the meaning of its numbers.

    extents: per axis a number, or a name in DIMENSIONS, optionally followed by ' + 1'. unit: unit
    of the numbers; ';' separates groups of columns with different units; ',' separates sliding and
    turning coordinates. points_at: dimension indexed by the integers; negative integers mean none.
    is_parameter: whether the array can change while a world runs, and is saved beside the state.
    """

    def __init__(
        self, *extents: int | str, unit: str = '', points_at: str = '', is_parameter: bool = False
    ) -> None:
        """Raise ValueError for a dimension missing in DIMENSIONS."""
        for extent in (*extents, *filter(None, [points_at])):
            if isinstance(extent, str) and _split(extent)[0] not in DIMENSIONS:
                raise ValueError(f'unknown dimension {extent!r}')
        self.extents = extents
        self.unit = unit
        self.points_at = points_at
        self.is_parameter = is_parameter

    def shape(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Return the shape in a world with these sizes; raises KeyError for a missing size."""
        return tuple(
            extent if isinstance(extent, int) else sizes[_split(extent)[0]] + _split(extent)[1]
            for extent in self.extents
        )


class Field(NamedTuple):
    """Array declaration."""

    dtype: np.dtype[Any]
    dims: Dims


@cache
def _split(extent: str) -> tuple[str, int]:
    """Split an extent, for example 'nc + 1', into name and number."""
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
    """Return the names and dimensions of fields with one row per item of a dimension."""
    return {
        name: field.dims.extents[0]
        for name, field in arrays_of(part).items()
        if isinstance(field.dims.extents[0], str)
    }


def parameters(part: tuple[Any, ...]) -> dict[str, np.ndarray]:
    """Return the arrays, beside the state, that can change while a world runs."""
    return {
        name: getattr(part, name)
        for name, (_, dims) in arrays_of(type(part)).items()
        if dims.is_parameter
    }


def make(part: type[P], sizes: Mapping[str, int], **given: np.ndarray) -> P:
    """Return a part with the given arrays; all others are zeros."""
    blanks = _blanks(part, tuple(sizes.items()), tuple(given))
    arrays = [
        given[name] if shape is None else np.zeros(shape, dtype) for name, shape, dtype in blanks
    ]
    return tuple.__new__(part, arrays)


# bodies and robots with equal counts share the shapes: they cost more than the arrays
@lru_cache(maxsize=256)
def _blanks(
    part: type[tuple[Any, ...]], sizes: tuple[tuple[str, int], ...], given: tuple[str, ...]
) -> list[tuple[str, tuple[int, ...] | None, np.dtype[Any]]]:
    """Return name, shape (None: given) and dtype for each of a part's arrays."""
    known, blanks = dict(sizes), list[tuple[str, tuple[int, ...] | None, np.dtype[Any]]]()
    for name, (dtype, dims) in arrays_of(part).items():
        try:
            blanks.append((name, None if name in given else dims.shape(known), dtype))
        except KeyError as error:
            raise KeyError(f'{part.__name__}.{name}: no size of its dimension {error}') from None
    return blanks


def copy(part: P) -> P:
    """Return a part with copies of all arrays."""
    return tuple.__new__(type(part), [array.copy() for array in part])


def sizes_of(*parts: tuple[Any, ...]) -> dict[str, int]:
    """
    Return the dimension sizes in these parts.

    Raises ValueError, naming the field, for an array that contradicts its declaration or other
    arrays.
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
