"""Body file geometry made of points: face sets, triangles, extrusions, height grids."""

from __future__ import annotations

import numpy as np

from sim_bridge.description.body.keys import finite, key_of, Reading
from sim_bridge.description.yaml.section import Section
from sim_bridge.foreign.vrml.scene import turn
from sim_bridge.foreign.vrml.triangulation import (
    DEFAULT_SECTION,
    DEFAULT_SPINE,
    elevation_grid,
    extrusion,
    face_set,
    Surface,
)

GRID = 'ElevationGrid'
MESH_TYPES = ('IndexedFaceSet', 'TriangleMesh', 'Extrusion', GRID)
# keys concerning appearance
_APPEARANCE_KEYS = (
    'normals',
    'normal_indices',
    'tex_coords',
    'texCoord',
    'tex_coord_indices',
    'texCoordIndex',
    'tex_coord',
    'convex',
)


def read_mesh_geometry(kind: str, geometry: Section, reading: Reading) -> Surface | None:
    """Return a geometry of MESH_TYPES as triangles; None, with an error noted, if invalid."""
    for key in _APPEARANCE_KEYS:
        geometry.knows(key)
    try:
        surface = _READERS[kind](geometry, reading)
    except ValueError as err:
        geometry.error('type', kind, str(err))
        return None
    if surface is not None and not len(surface.triangles):
        geometry.error('type', kind, 'has no faces')
        return None
    return surface


def _faces(geometry: Section, reading: Reading) -> Surface | None:
    points = _rows(geometry, key_of(geometry, 'vertices', 'coordinate'), 3)
    numbers = _rows(geometry, key_of(geometry, 'faces', 'coord_index'), 1)
    if points is None or numbers is None:
        geometry.error(
            'type',
            geometry.peek('type'),
            'vertices (coordinate) or faces (coordIndex) are missing',
        )
        return None
    indices = numbers[:, 0]
    if geometry.peek('type') == 'TriangleMesh':
        if len(indices) % 3:
            raise ValueError(f'{len(indices)} corners are no triangles')
        indices = np.insert(indices.reshape(-1, 3), 3, -1.0, axis=1).ravel()
    return face_set(points, indices, geometry.flag('ccw', True))


def _extrusion(geometry: Section, reading: Reading) -> Surface | None:
    def given(key: str, width: int, default: np.ndarray) -> np.ndarray:
        rows = _rows(geometry, key_of(geometry, key), width)
        return default if rows is None else rows

    scales = _rows(geometry, 'scale', 1)
    if scales is not None and len(scales) % 2 and len(scales) > 1:
        reading.findings.warning(
            'odd-count',
            geometry.place('scale'),
            'pairs of x and z; the last number is left out, as in Choreonoid',
            'scale',
            f'{scales[-1, 0]:g}',
        )
        scales = scales[:-1]
    turns = given('orientation', 4, np.array([[0.0, 0.0, 1.0, 0.0]]))
    return extrusion(
        given('cross_section', 2, DEFAULT_SECTION),
        given('spine', 3, DEFAULT_SPINE),
        np.ones((1, 2)) if scales is None else scales.reshape(-1, 2),
        np.array([turn(row * (1.0, 1.0, 1.0, reading.angle)) for row in turns]),
        (
            geometry.flag(key_of(geometry, 'begin_cap'), True),
            geometry.flag(key_of(geometry, 'end_cap'), True),
        ),
        geometry.flag('ccw', True),
    )


def _grid(geometry: Section, reading: Reading) -> Surface | None:
    heights = _rows(geometry, 'height', 1)
    rows, columns = (
        int(finite(geometry, key_of(geometry, f'{axis}_dimension'), 0.0, 0.0)) for axis in 'zx'
    )
    if heights is None or len(heights) != rows * columns or min(rows, columns) < 2:
        raise ValueError(
            f'{rows} × {columns} heights do not fit; needed are z_dimension rows of x_dimension'
        )
    spacing = [finite(geometry, key_of(geometry, f'{axis}_spacing'), 1.0) for axis in 'xz']
    return elevation_grid(
        heights.reshape(rows, columns), (spacing[0], spacing[1]), geometry.flag('ccw', True)
    )


def _rows(section: Section, key: str, width: int) -> np.ndarray | None:
    """Return the numbers in a list, or in nested lists, as rows (n, width); None if absent."""
    section.knows(key)
    given = section.peek(key)
    if given is None:
        return None
    try:
        numbers = np.asarray(given, float).ravel()
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all() or len(numbers) % width:
        rows = 'numbers' if width == 1 else f'{width} numbers for each'
        raise ValueError(f'{key} must be a list of {rows}')
    return numbers.reshape(-1, width)


_READERS = {'IndexedFaceSet': _faces, 'TriangleMesh': _faces, 'Extrusion': _extrusion, GRID: _grid}
