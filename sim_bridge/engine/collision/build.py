"""Construction of the `Geometry` arrays from shape records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
import math

import numpy as np

from sim_bridge.engine.collision.clip.polytope import Polytope, polytope
from sim_bridge.engine.collision.mesh.surface_mesh import surface_mesh, SurfaceMesh
from sim_bridge.engine.data.geometry import (
    BOX,
    CAPSULE,
    CONE,
    CYLINDER,
    ELLIPSOID,
    ENABLED,
    Geometry,
    HEIGHT_FIELD,
    HOLLOW,
    HULL,
    MESH,
    PLANE,
    SOLID,
    SPHERE,
    STATIC,
    TERRAIN,
)
from sim_bridge.foundation.errors import InvalidValueError

_SIZES = {
    SPHERE: 1,
    CAPSULE: 2,
    BOX: 3,
    CYLINDER: 2,
    CONE: 2,
    ELLIPSOID: 3,
    HOLLOW: 3,
    HEIGHT_FIELD: 2,
}
"""Number of `size` entries needed by each shape."""


@dataclass(frozen=True)
class GeometryRecord:
    """One geometry; meanings and units as in `Geometry`."""

    shape: int
    size: Sequence[float] = (0.0, 0.0, 0.0)
    bore: Sequence[float] = (0.0, 0.0)
    vertices: np.ndarray | None = None
    """(n, 3) corners of a HULL or MESH [m], own frame."""
    triangles: np.ndarray | None = None
    """
    (m, 3) rows of `vertices`.

    For a HULL: its surface in any order, None if all vertices lie in one plane. For a MESH:
    counter-clockwise as seen from outside, if the mesh has an outside.
    """
    polytope: Polytope | None = None
    """For a HULL: the result of `polytope` for its vertices and triangles, if known."""
    surface: SurfaceMesh | None = None
    """For a MESH: the result of `surface_mesh` for its vertices and triangles, if known."""
    heights: np.ndarray | None = None
    """For a HEIGHT_FIELD: (rows, columns) [m], rows along y and columns along x, both upwards."""
    bottom: float | None = None
    """
    Height of the underside of a terrain MESH or a HEIGHT_FIELD [m].

    None: the mesh is no terrain; the field has no lower end.
    """
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    position: Sequence[float] = (0.0, 0.0, 0.0)
    body: int = -1
    material: int = 0
    group: int = 1
    mask: int = -1
    flags: int = ENABLED
    """ENABLED, SENSOR, STATIC. Geometries of the world become STATIC; SOLID is computed."""
    belt: Sequence[float] = (0.0, 0.0, 0.0)
    track: Sequence[float] = (0.0, 0.0, 0.0, 0.0)
    direction: Sequence[float] = (0.0, 0.0, 0.0)
    direction_body: int = -1
    slip: Sequence[float] = (0.0, 0.0)
    name: str = ''
    """Used in messages only."""


def build_geometry(
    records: Sequence[GeometryRecord],
    excluded: Iterable[tuple[int, int]] = (),
    apart: Iterable[tuple[int, int]] = (),
) -> Geometry:
    """
    Build the `Geometry` arrays from shape records, with the shape data pooled.

    excluded, apart: pairs of bodies, and of geometries, that never collide, in either order.
    Raises InvalidValueError for a shape without the data it needs.
    """
    for record in records:
        _check(record)
    hulls = [
        (r.polytope or polytope(r.vertices, r.triangles)) if r.shape == HULL else None
        for r in records
    ]
    meshes = [
        (r.surface or surface_mesh(r.vertices, r.triangles, r.bottom is not None))
        if r.shape == MESH
        else None
        for r in records
    ]
    fields = [
        np.asarray(r.heights, float) if r.shape == HEIGHT_FIELD else np.zeros((0, 0))
        for r in records
    ]
    bounds, radius = _bounds(records, hulls, meshes)
    vertices = _pool_vertices(hulls, meshes)
    first_vertices = vertices['vertex_range'][:, 0]
    flags = [
        record.flags
        | (STATIC if record.body < 0 else 0)
        | (SOLID if mesh is not None and mesh.is_solid else 0)
        | (TERRAIN if mesh is not None and record.bottom is not None else 0)
        for record, mesh in zip(records, meshes, strict=True)
    ]
    return Geometry(
        body=_ints(r.body for r in records),
        shape=_ints(r.shape for r in records),
        flags=_ints(flags),
        material=_ints(r.material for r in records),
        group=_ints(r.group for r in records),
        mask=_ints(r.mask for r in records),
        size=_rows([[*r.size, 0.0, 0.0, 0.0][:3] for r in records], 3),
        bore=_rows([r.bore for r in records], 2),
        frame=_rows([[*np.ravel(r.rotation), *r.position] for r in records], 12),
        bounds=bounds,
        radius=radius,
        belt=_rows([r.belt for r in records], 3),
        track=_rows([r.track for r in records], 4),
        direction=_rows([r.direction for r in records], 3),
        direction_body=_ints(r.direction_body for r in records),
        slip=_rows([r.slip for r in records], 2),
        excluded=_ints(
            sorted({_pair_key(*pair) for pair in excluded} | {-_pair_key(*pair) for pair in apart})
        ),
        **vertices,
        **_pool_faces(hulls, first_vertices),
        **_pool_triangles(meshes, first_vertices),
        grid=_grid_rows(fields),
        height=np.concatenate([np.zeros(0), *map(np.ravel, fields)]),
    )


def _check(record: GeometryRecord) -> None:
    """Raise InvalidValueError for missing, misshapen or non-finite data."""
    place = f'geometry {record.name!r}' if record.name else 'geometry'
    if not PLANE <= record.shape <= HEIGHT_FIELD:
        raise InvalidValueError('shape', record.shape, 'PLANE … HEIGHT_FIELD', place)
    count = _SIZES.get(record.shape, 0)
    given = np.asarray(record.size, float)
    # the third number is optional for a CONE
    needed = given[: 3 if record.shape == CONE else count]
    if len(given) < count or not np.all(np.isfinite(needed)) or np.any(needed < 0.0):
        raise InvalidValueError('size', record.size, f'{count} finite lengths [m]', place)
    radii = np.asarray(record.bore, float)
    if record.shape == HOLLOW and (
        radii.shape != (2,) or not np.all((radii >= 0.0) & (radii <= given[:3:2]))
    ):
        raise InvalidValueError('bore', record.bore, '2 radii [m] up to those in size', place)
    if record.shape in (HULL, MESH):
        _check_array(record.vertices, 'vertices', (1, 3), place)
        if record.shape == MESH or record.triangles is not None:
            _check_array(record.triangles, 'triangles', (1, 3), place)
            if np.min(record.triangles) < 0 or np.max(record.triangles) >= len(record.vertices):
                raise InvalidValueError(
                    'triangles',
                    (np.min(record.triangles), np.max(record.triangles)),
                    f'rows of vertices, 0 to {len(record.vertices) - 1}',
                    place,
                )
    if record.shape == HEIGHT_FIELD:
        _check_array(record.heights, 'heights', (2, 2), place)
    if record.bottom is not None and record.shape in (MESH, HEIGHT_FIELD):
        z = record.heights if record.vertices is None else record.vertices[:, 2]
        if not -math.inf < record.bottom <= np.min(z):
            raise InvalidValueError(
                'bottom', record.bottom, f'at most the least height, {np.min(z):.9g} m', place
            )


def _check_array(array: object, name: str, least: tuple[int, int], place: str) -> None:
    shape = np.shape(array)
    is_vectors = name != 'heights'
    if (
        array is None
        or len(shape) != 2
        or shape[0] < least[0]
        or shape[1] < least[1]
        or (is_vectors and shape[1] != 3)
        or not np.all(np.isfinite(array))
    ):
        columns = '3' if is_vectors else f'at least {least[1]}'
        raise InvalidValueError(
            name,
            'None' if array is None else f'array of shape {shape}',
            f'at least {least[0]} rows of {columns} finite numbers',
            place,
        )


def _pair_key(body: int, other: int) -> int:
    """Return the key for two bodies or geometries, as `filters.pair_key` does."""
    low, high = sorted((body, other))
    return (low + 1) << 32 | (high + 1)


def _bounds(
    records: Sequence[GeometryRecord],
    hulls: Sequence[Polytope | None],
    meshes: Sequence[SurfaceMesh | None],
) -> tuple[np.ndarray, np.ndarray]:
    """Compute each shape's box, and the greatest distance from the box centre to its points."""
    bounds, radius = np.zeros((len(records), 6)), np.zeros(len(records))
    for row, (record, hull, mesh) in enumerate(zip(records, hulls, meshes, strict=True)):
        r, s, t = (*record.size, 0.0, 0.0, 0.0)[:3]
        pool = hull or mesh
        if pool is not None:
            low, high = pool.vertex.min(axis=0), pool.vertex.max(axis=0)
            if mesh is not None and record.bottom is not None:
                low[2] = record.bottom
            bounds[row] = *(0.5 * (low + high)), *(0.5 * (high - low))
            radius[row] = np.linalg.norm(pool.vertex - bounds[row, :3], axis=1).max()
            if mesh is not None and record.bottom is not None:
                radius[row] = np.linalg.norm(bounds[row, 3:])
            continue
        if record.shape == HEIGHT_FIELD:
            bounds[row] = field_bounds(record.heights, (r, s), record.bottom)
        else:
            bounds[row, 3:] = {
                PLANE: (math.inf, math.inf, math.inf),
                SPHERE: (r, r, r),
                CAPSULE: (r, r, s + r),
                BOX: (r, s, t),
                CYLINDER: (r, r, s),
                CONE: (max(r, t), max(r, t), s),
                HOLLOW: (max(r, t), max(r, t), s),
                ELLIPSOID: (r, s, t),
            }[record.shape]
        radius[row] = {
            PLANE: 0.0,
            SPHERE: 0.0,
            CAPSULE: s + r,
            CYLINDER: math.hypot(r, s),
            CONE: math.hypot(max(r, t), s),
            HOLLOW: math.hypot(max(r, t), s),
            ELLIPSOID: max(r, s, t),
        }.get(record.shape, math.hypot(*bounds[row, 3:]))
    return bounds, radius


def field_bounds(
    heights: np.ndarray, half: tuple[float, float], bottom: float | None
) -> tuple[float, ...]:
    """Return a height field's box, as `Geometry.bounds`; half: half lengths along x and y [m]."""
    # the box reaches below the surface, so that shapes sunk into the field are still found
    low = np.min(heights) - 2.0 * max(half) if bottom is None else bottom
    high = np.max(heights)
    return 0.0, 0.0, 0.5 * (low + high), *half, 0.5 * (high - low)


def field_heights(geometry: Geometry, g: int) -> np.ndarray:
    """Return a view on the heights of a height field, (rows, columns) [m]."""
    first, rows, columns = geometry.grid[g]
    return geometry.height[first : first + rows * columns].reshape(rows, columns)


def fit_field(geometry: Geometry, g: int, bottom: float | None) -> None:
    """Compute a height field's bounds after its heights have changed."""
    x, y = geometry.size[g, :2].tolist()
    geometry.bounds[g] = field_bounds(field_heights(geometry, g), (x, y), bottom)
    geometry.radius[g] = math.hypot(*geometry.bounds[g, 3:])


def _pool_vertices(
    hulls: Sequence[Polytope | None], meshes: Sequence[SurfaceMesh | None]
) -> dict[str, np.ndarray]:
    """Concatenate all vertices in hulls and meshes, and the vertices' neighbours."""
    pools = [hull or mesh for hull, mesh in zip(hulls, meshes, strict=True)]
    ranges = _ranges(len(pool.vertex) if pool else 0 for pool in pools)
    held = [(pool, first) for pool, first in zip(pools, ranges[:, 0], strict=True) if pool]
    return {
        'vertex': np.concatenate([np.zeros((0, 3)), *(pool.vertex for pool, _ in held)]),
        'vertex_range': ranges,
        'ring_start': _starts(size for pool, _ in held for size in np.diff(pool.ring_start)),
        'ring': _joined((pool.ring + first for pool, first in held), (0,)),
    }


def _pool_faces(
    hulls: Sequence[Polytope | None], first_vertices: np.ndarray
) -> dict[str, np.ndarray]:
    """Concatenate the hulls' faces."""
    ranges = _ranges(len(hull.face_plane) if hull else 0 for hull in hulls)
    held = [
        (hull, vertex, face)
        for hull, vertex, face in zip(hulls, first_vertices, ranges[:, 0], strict=True)
        if hull
    ]
    return {
        'face_range': ranges,
        'face_plane': np.concatenate([np.zeros((0, 4)), *(hull.face_plane for hull, *_ in held)]),
        'face_start': _starts(size for hull, *_ in held for size in np.diff(hull.face_start)),
        'face_vertex': _joined((hull.face_vertex + vertex for hull, vertex, _ in held), (0,)),
        'face_across': _joined((hull.face_across + face for hull, _, face in held), (0,)),
    }


def _pool_triangles(
    meshes: Sequence[SurfaceMesh | None], first_vertices: np.ndarray
) -> dict[str, np.ndarray]:
    """Concatenate the meshes' triangles and trees."""
    boxes = _ranges(len(mesh.tree_box) if mesh else 0 for mesh in meshes)[:, 0]
    held = [(mesh, vertex) for mesh, vertex in zip(meshes, first_vertices, strict=True) if mesh]
    return {
        'triangle_range': _ranges(len(mesh.triangle) if mesh else 0 for mesh in meshes),
        'triangle': _joined((mesh.triangle + vertex for mesh, vertex in held), (0, 3)),
        'triangle_opposite': _joined(
            (np.where(mesh.opposite < 0, -1, mesh.opposite + vertex) for mesh, vertex in held),
            (0, 3),
        ),
        'tree': np.array(
            [
                (box, mesh.depth) if mesh else (0, 0)
                for mesh, box in zip(meshes, boxes, strict=True)
            ],
            np.int64,
        ).reshape(-1, 2),
        'tree_box': np.concatenate([np.zeros((0, 6)), *(mesh.tree_box for mesh, _ in held)]),
    }


def _ranges(counts: Iterable[int]) -> np.ndarray:
    """Return each range's first row in a pool, and the row after its last, (n, 2)."""
    starts = _starts(counts)
    return np.column_stack([starts[:-1], starts[1:]])


def _joined(arrays: Iterable[np.ndarray], empty: tuple[int, ...]) -> np.ndarray:
    """Concatenate integer arrays; empty: shape of the result without arrays."""
    return np.concatenate([np.zeros(empty, np.int64), *arrays])


def _grid_rows(fields: Sequence[np.ndarray]) -> np.ndarray:
    """Return each field's first height, number of rows and number of columns, (n, 3)."""
    starts = _starts([heights.size for heights in fields])
    return np.array(
        [[start, *heights.shape] for start, heights in zip(starts, fields, strict=False)], np.int64
    ).reshape(-1, 3)


def _starts(counts: Iterable[int]) -> np.ndarray:
    return np.cumsum([0, *counts], dtype=np.int64)


def _ints(values: Iterable[int]) -> np.ndarray:
    return np.array(list(values), np.int64)


def _rows(values: Sequence[Sequence[float]], columns: int) -> np.ndarray:
    return np.array(values, float).reshape(-1, columns)
