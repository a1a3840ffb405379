"""
The shapes that collide, as arrays.

A *geometry* is a shape in a frame fixed to a body. In its own frame

    PLANE          is the half-space z <= 0
    SPHERE         has the radius size[0]
    CAPSULE        has the radius size[0] around the segment from -size[1] to size[1] along z
    BOX            has the half extents size
    CYLINDER       has the radius size[0] and the half length size[1] along z
    CONE           has the radius size[0] at z = -size[1] and its apex at z = size[1]
    ELLIPSOID      has the radii size
    HULL           is the convex polytope of its vertices
    MESH           is a surface of triangles, solid where it is closed
    HEIGHT_FIELD   is the solid below a grid of heights over |x| <= size[0], |y| <= size[1]
"""

from __future__ import annotations

from typing import NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector

(PLANE, SPHERE, CAPSULE, BOX, CYLINDER, CONE, ELLIPSOID, HULL, MESH, HEIGHT_FIELD) = range(10)

# column of Geometry.track behind the axis
TRACK_SPEED = 3
# bits of Geometry.flags
ENABLED = 1
SENSOR = 2  # reports contacts, but nothing is pushed by them
SOLID = 4  # a mesh whose triangles enclose a volume and run counter-clockwise seen from outside
STATIC = 8  # of a body that no force moves: two of them never collide


class Geometry(NamedTuple):
    """
    Constant arrays of ng geometries; shape data of all of them pooled.

    A range is the first row of a pool that belongs to a geometry and the one past its last. Rows
    of a pool refer to each other by their place in the pool.
    """

    body: IntVector
    """(ng,) body that carries it, -1 for the world."""
    shape: IntVector
    """(ng,) PLANE … HEIGHT_FIELD."""
    flags: IntVector
    """(ng,) ENABLED, SENSOR, SOLID, STATIC."""
    material: IntVector
    """(ng,) row and column of Surfaces.pair."""
    group: IntVector
    """(ng,) bits of the collision groups it belongs to."""
    mask: IntVector
    """(ng,) bits of the groups it collides with; both geometries of a pair must agree."""
    size: FloatMatrix
    """(ng, 3) [m], by shape."""
    frame: FloatMatrix
    """(ng, 12) own frame in the body's: rotation by rows, origin [m]."""
    bounds: FloatMatrix
    """(ng, 6) box around it in its own frame: centre, half extents [m]; infinite for a plane."""
    radius: FloatVector
    """(ng,) farthest from the centre of its bounds that turning moves a point of it [m]."""
    belt: FloatMatrix
    """(ng, 3) velocity of its surface relative to its body [m/s], own frame (conveyors)."""
    track: FloatMatrix
    """
    (ng, 4) unit axis about which its surface runs, own frame, and the speed [m/s] (crawlers).

    Where the outward normal is n, along axis × n. The axis is zero where it is no track.
    """
    direction: FloatMatrix
    """(ng, 3) first friction direction (ODE's fdir1), own frame; zero where there is none."""
    excluded: IntVector
    """Pairs of bodies that never collide, as `filters.pair_key`, ascending."""

    vertex: FloatMatrix
    """(nx, 3) corners of hulls and meshes [m], own frame of their geometry."""
    vertex_range: IntMatrix
    """(ng, 2) rows of `vertex`."""
    ring_start: IntVector
    """(nx + 1,) where each vertex's neighbours begin in `ring`."""
    ring: IntVector
    """Vertices that share an edge with a vertex, ascending."""

    face_range: IntMatrix
    """(ng, 2) rows of `face_plane`, for hulls."""
    face_plane: FloatMatrix
    """(nf, 4) outward unit normal n and offset d: n . x = d on the face, own frame [m]."""
    face_start: IntVector
    """(nf + 1,) where each face's corners begin in `face_vertex`."""
    face_vertex: IntVector
    """Corners of the faces, counter-clockwise seen from outside."""
    face_across: IntVector
    """The face on the other side of the edge from a corner to the next."""

    triangle_range: IntMatrix
    """(ng, 2) rows of `triangle`, for meshes."""
    triangle: IntMatrix
    """(nt, 3) vertices, counter-clockwise seen from outside; in the order of the tree's leaves."""
    triangle_opposite: IntMatrix
    """(nt, 3) far vertex of the triangle across the edge from a corner to the next; -1: none."""
    tree: IntMatrix
    """(ng, 2) first row of `tree_box` and depth of a mesh's complete binary tree."""
    tree_box: FloatMatrix
    """(nn, 6) least and greatest corner [m]; node k has the children 2 k + 1 and 2 k + 2."""

    grid: IntMatrix
    """(ng, 3) first entry in `height`, rows (along y), columns (along x), for height fields."""
    height: FloatVector
    """Heights by rows [m]: the first at (-size[0], -size[1]), the next further along x."""
