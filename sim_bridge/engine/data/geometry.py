"""
The shapes that collide, as arrays.

A *geometry* is a shape in a frame fixed to a body. In its own frame

    PLANE          is the half-space z <= 0
    SPHERE         has the radius size[0]
    CAPSULE        has the radius size[0] around the segment from -size[1] to size[1] along z
    BOX            has the half extents size
    CYLINDER       has the radius size[0] and the half length size[1] along z
    CONE           has the radius size[0] at z = -size[1] and size[2] at z = size[1], an apex if 0
    ELLIPSOID      has the radii size
    HULL           is the convex polytope of its vertices
    MESH           is a surface of triangles, solid where it is closed; TERRAIN is solid below it
    HOLLOW         is a CONE minus its bore, whose radii are those of `bore`
    HEIGHT_FIELD   is the solid below a grid of heights over |x| <= size[0], |y| <= size[1]

Their numbers are in an order that comparisons rely on: the plane, the convex shapes, those with
the cheapest contacts first and the hull last, then the surfaces. So a shape >= MESH is no convex
one, and `collision.broad.filters.is_closed` tells by the order which pairs need arithmetic only.
Behind them are TRIANGLE, one face of a surface, and SLICE, a part of the wall of a HOLLOW, which
the narrow phase makes for itself: no geometry has these shapes. A new convex shape goes between
BOX and HULL, a new surface between MESH and HEIGHT_FIELD.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims

(
    PLANE,
    SPHERE,
    CAPSULE,
    BOX,
    CYLINDER,
    CONE,
    ELLIPSOID,
    HULL,
    MESH,
    HOLLOW,
    HEIGHT_FIELD,
    TRIANGLE,
    SLICE,
) = range(13)

# column of Geometry.track behind the axis
TRACK_SPEED = 3
# bits of Geometry.flags
ENABLED = 1
SENSOR = 2  # reports contacts, but nothing is pushed by them
SOLID = 4  # a mesh whose triangles enclose a volume and run counter-clockwise seen from outside
STATIC = 8  # of a body that no force moves: two of them never collide, but see KINEMATIC
TERRAIN = 16  # a mesh that is solid, too, from the triangles down to the lower end of its bounds
KINEMATIC = 32  # of such a body that moves as prescribed: sensors see it, and it sees sensors
LINE = 64  # a HULL of two vertices that meets others as a line does: see `collision.line`


class Geometry(NamedTuple):
    """
    Constant arrays of the geometries; shape data of all of them pooled.

    A range is the first row of a pool that belongs to a geometry and the one past its last. Rows
    of a pool refer to each other by their place in the pool.
    """

    body: Annotated[IntVector, Dims('ng', points_at='nb')]
    """Body that carries it, -1 for the world."""
    shape: Annotated[IntVector, Dims('ng')]
    """PLANE … HEIGHT_FIELD."""
    flags: Annotated[IntVector, Dims('ng', is_parameter=True)]
    """ENABLED, SENSOR, SOLID, STATIC, TERRAIN, KINEMATIC, LINE."""
    material: Annotated[IntVector, Dims('ng', points_at='materials', is_parameter=True)]
    """Row and column of ContactMaterials.pair."""
    group: Annotated[IntVector, Dims('ng', is_parameter=True)]
    """Bits of the collision groups it belongs to."""
    mask: Annotated[IntVector, Dims('ng', is_parameter=True)]
    """Bits of the groups it collides with; both geometries of a pair must agree."""
    size: Annotated[FloatMatrix, Dims('ng', 3, unit='m')]
    """Radius, half length or half extents, by shape."""
    bore: Annotated[FloatMatrix, Dims('ng', 2, unit='m')]
    """Radii of the bore of a HOLLOW at z = -size[1] and z = size[1]."""
    frame: Annotated[FloatMatrix, Dims('ng', 12, unit='1; m', is_parameter=True)]
    """Own frame in the body's: rotation by rows, origin."""
    bounds: Annotated[FloatMatrix, Dims('ng', 6, unit='m')]
    """Box around it in its own frame: centre, half extents; infinite for a plane."""
    radius: Annotated[FloatVector, Dims('ng', unit='m')]
    """Farthest from the centre of its bounds that turning moves a point of it."""
    belt: Annotated[FloatMatrix, Dims('ng', 3, unit='m/s', is_parameter=True)]
    """Velocity of its surface relative to its body, own frame (conveyors)."""
    track: Annotated[FloatMatrix, Dims('ng', 4, unit='1; m/s', is_parameter=True)]
    """
    Unit axis about which its surface runs, own frame, and the speed (crawlers).
    Where the outward normal is n, along axis × n. The axis is zero where it is no track.
    """
    direction: Annotated[FloatMatrix, Dims('ng', 3, unit='1', is_parameter=True)]
    """First friction direction (ODE's fdir1), own frame; zero where there is none."""
    direction_body: Annotated[IntVector, Dims('ng', points_at='nb', is_parameter=True)]
    """Body in whose axes the friction direction is instead; -1 for none."""
    excluded: Annotated[IntVector, Dims('excluded')]
    """Pairs of bodies, and of geometries, that never collide, as `filters.pair_key`, ascending."""

    vertex: Annotated[FloatMatrix, Dims('vertices', 3, unit='m')]
    """Corners of hulls and meshes, own frame of their geometry."""
    vertex_range: Annotated[IntMatrix, Dims('ng', 2, points_at='vertices')]
    """Rows of `vertex`."""
    ring_start: Annotated[IntVector, Dims('vertices + 1', points_at='neighbours')]
    """Where each vertex's neighbours begin in `ring`."""
    ring: Annotated[IntVector, Dims('neighbours', points_at='vertices')]
    """Vertices that share an edge with a vertex, ascending."""

    face_range: Annotated[IntMatrix, Dims('ng', 2, points_at='faces')]
    """Rows of `face_plane`, for hulls."""
    face_plane: Annotated[FloatMatrix, Dims('faces', 4, unit='1; m')]
    """Outward unit normal n and offset d: n . x = d on the face, own frame."""
    face_start: Annotated[IntVector, Dims('faces + 1', points_at='corners')]
    """Where each face's corners begin in `face_vertex`."""
    face_vertex: Annotated[IntVector, Dims('corners', points_at='vertices')]
    """Corners of the faces, counter-clockwise seen from outside."""
    face_across: Annotated[IntVector, Dims('corners', points_at='faces')]
    """The face on the other side of the edge from a corner to the next."""

    triangle_range: Annotated[IntMatrix, Dims('ng', 2, points_at='triangles')]
    """Rows of `triangle`, for meshes."""
    triangle: Annotated[IntMatrix, Dims('triangles', 3, points_at='vertices')]
    """Vertices, counter-clockwise seen from outside; in the order of the tree's leaves."""
    triangle_opposite: Annotated[IntMatrix, Dims('triangles', 3, points_at='vertices')]
    """Far vertex of the triangle across the edge from a corner to the next; -1: none."""
    tree: Annotated[IntMatrix, Dims('ng', 2)]
    """First row of `tree_box` and depth of a mesh's complete binary tree."""
    tree_box: Annotated[FloatMatrix, Dims('nodes', 6, unit='m')]
    """Least and greatest corner; node k has the children 2 k + 1 and 2 k + 2."""

    grid: Annotated[IntMatrix, Dims('ng', 3)]
    """First entry in `height`, rows (along y), columns (along x), for height fields."""
    height: Annotated[FloatVector, Dims('heights', unit='m', is_parameter=True)]
    """Heights by rows: the first at (-size[0], -size[1]), the next further along x."""
