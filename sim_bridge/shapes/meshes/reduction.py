"""Mesh reduction by fast-simplification: edge collapse with quadric errors."""

from __future__ import annotations

from sim_bridge.foundation.errors import InvalidValueError, MissingPackageError
from sim_bridge.foundation.validation import instance_of, number_from
from sim_bridge.shapes.polyhedra import TriangleMesh

# a smaller fraction leaves less than one triangle
_LEAST = 1e-12


def reduce(mesh: TriangleMesh, fraction: float, aggressiveness: float = 7.0) -> TriangleMesh:
    """
    Return a mesh with a fraction of the triangles and about the same surface.

    fraction: ratio of kept triangles, above 0 and up to 1; some more stay where no edge can
    collapse. aggressiveness: 0 to 10; lower values preserve the surface better and may leave more
    triangles. Open borders stay. Raises InvalidValueError for other values, or if no
    triangle would be left, MissingPackageError without the extra `meshes`.

    Source: Garland and Heckbert, Surface simplification using quadric error metrics, 1997.
    """
    instance_of('mesh', mesh, TriangleMesh, 'a TriangleMesh', 'reduce')
    share = number_from('fraction', fraction, _LEAST, 1.0, 'reduce', 'a number above 0, up to 1')
    boldness = number_from(
        'aggressiveness', aggressiveness, 0.0, 10.0, 'reduce', 'a number from 0 to 10'
    )
    try:
        import fast_simplification
    except ModuleNotFoundError as err:
        raise MissingPackageError(
            'the reduction of a mesh',
            'pip install "fast-simplification>=0.1.9", of the extra `meshes`',
        ) from err
    if share == 1.0:
        return mesh
    edges = mesh.half_edges
    # fast_simplification accepts no read-only arrays
    vertices, triangles = fast_simplification.simplify(
        edges.vertices.copy(),
        edges.triangles.astype('i4'),
        target_reduction=1.0 - share,
        agg=boldness,
        preserve_border=True,
    )
    if not len(triangles):
        raise InvalidValueError('fraction', fraction, 'one that leaves triangles', 'reduce')
    return TriangleMesh(vertices, triangles.astype('i8'), mesh.bottom_margin)
