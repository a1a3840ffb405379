"""
Collision shapes as arrays.

A *geometry* is a shape in a frame fixed to a body. In its own frame

    PLANE          is the half-space z <= 0
    SPHERE         has the radius size[0]
    CAPSULE        has the radius size[0] around the segment from -size[1] to size[1] along z
    BOX            has the half extents size
    CYLINDER       has the radius size[0] and the half length size[1] along z
    CONE           has the radius size[0] at z = -size[1] and size[2] at z = size[1], an apex if 0
    ELLIPSOID      has the radii size
    HULL           is the convex polytope of its vertices
    MESH           is a surface of triangles, solid if closed; TERRAIN is solid below the triangles
    HOLLOW         is a CONE minus its bore, with the radii in `bore`
    HEIGHT_FIELD   is the solid below a grid of heights over |x| <= size[0], |y| <= size[1]

Comparisons rely on the shape number order: the plane, the convex shapes (cheapest contacts
first, hull last), then the surfaces. So a shape >= MESH is not convex, and
`collision.broad.filters.is_closed` decides by the order which pairs need arithmetic only. A new
convex shape goes between BOX and HULL, a new surface between MESH and HEIGHT_FIELD.

The last two shapes belong to no geometry, but are made by the narrow phase: TRIANGLE is one face
of a surface, SLICE a part of a HOLLOW's wall.
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

# column in Geometry.track behind the axis
TRACK_SPEED = 3
# bits in Geometry.flags
ENABLED = 1
SENSOR = 2  # reports contacts, but pushes nothing
SOLID = 4  # a mesh whose triangles enclose a volume and run counter-clockwise seen from outside
STATIC = 8  # on a body moved by no force: two of them never collide, but see KINEMATIC
TERRAIN = 16  # a mesh that is also solid from the triangles down to the lower end of its bounds
KINEMATIC = 32  # on a static body with prescribed motion: it collides with sensors
LINE = 64  # a HULL with two vertices, colliding as a line, see `collision.line`


class Geometry(NamedTuple):
    """
    Constant geometry arrays, with pooled shape data.

    A range is a geometry's first row in a pool, and the row after its last. Rows
    in a pool refer to each other by their index in the pool.
    """

    body: Annotated[IntVector, Dims('ng', points_at='nb')]
    """Body that carries the geometry, -1 for the world."""
    shape: Annotated[IntVector, Dims('ng')]
    """PLANE … HEIGHT_FIELD."""
    flags: Annotated[IntVector, Dims('ng', is_parameter=True)]
    """ENABLED, SENSOR, SOLID, STATIC, TERRAIN, KINEMATIC, LINE."""
    material: Annotated[IntVector, Dims('ng', points_at='materials', is_parameter=True)]
    """Row and column in ContactMaterials.pair."""
    group: Annotated[IntVector, Dims('ng', is_parameter=True)]
    """Bits of the collision groups to which the geometry belongs."""
    mask: Annotated[IntVector, Dims('ng', is_parameter=True)]
    """Bits of the groups with which it collides; both geometries of a pair must agree."""
    size: Annotated[FloatMatrix, Dims('ng', 3, unit='m')]
    """Radius, half length or half extents, depending on the shape."""
    bore: Annotated[FloatMatrix, Dims('ng', 2, unit='m')]
    """Bore radii of a HOLLOW at z = -size[1] and z = size[1]."""
    frame: Annotated[FloatMatrix, Dims('ng', 12, unit='1; m', is_parameter=True)]
    """Geometry frame in the body frame: rotation by rows, origin."""
    bounds: Annotated[FloatMatrix, Dims('ng', 6, unit='m')]
    """Bounding box in the geometry frame: centre, half extents; infinite for a plane."""
    radius: Annotated[FloatVector, Dims('ng', unit='m')]
    """Greatest distance from the box centre to points that rotation moves."""
    belt: Annotated[FloatMatrix, Dims('ng', 3, unit='m/s', is_parameter=True)]
    """Surface velocity relative to the body, geometry frame (conveyors)."""
    track: Annotated[FloatMatrix, Dims('ng', 4, unit='1; m/s', is_parameter=True)]
    """
    Unit axis about which the surface runs, geometry frame, and its speed (crawlers).

    A point with the outward normal n moves along axis × n. The axis is zero without a track.
    """
    direction: Annotated[FloatMatrix, Dims('ng', 3, unit='1', is_parameter=True)]
    """First friction direction (ODE's fdir1), geometry frame; zero for none."""
    direction_body: Annotated[IntVector, Dims('ng', points_at='nb', is_parameter=True)]
    """Body in whose axes the friction direction is given instead; -1 for none."""
    slip: Annotated[FloatMatrix, Dims('ng', 2, unit='m/N')]
    """
    Creep velocity per friction force and turning rate, along both friction directions (wheels).

    The rate is that of the body about the friction direction, relative to its parent.
    """
    excluded: Annotated[IntVector, Dims('excluded')]
    """Pairs of bodies and of geometries that never collide, as `filters.pair_key`, ascending."""

    vertex: Annotated[FloatMatrix, Dims('vertices', 3, unit='m')]
    """Corners of hulls and meshes, geometry frame."""
    vertex_range: Annotated[IntMatrix, Dims('ng', 2, points_at='vertices')]
    """Rows in `vertex`."""
    ring_start: Annotated[IntVector, Dims('vertices + 1', points_at='neighbours')]
    """First index of each vertex's neighbours in `ring`."""
    ring: Annotated[IntVector, Dims('neighbours', points_at='vertices')]
    """Vertices that share an edge with a vertex, ascending."""

    face_range: Annotated[IntMatrix, Dims('ng', 2, points_at='faces')]
    """Rows in `face_plane`, for hulls."""
    face_plane: Annotated[FloatMatrix, Dims('faces', 4, unit='1; m')]
    """Outward unit normal n and offset d: n . x = d on the face, geometry frame."""
    face_start: Annotated[IntVector, Dims('faces + 1', points_at='corners')]
    """First index of each face's corners in `face_vertex`."""
    face_vertex: Annotated[IntVector, Dims('corners', points_at='vertices')]
    """Corners of the faces, counter-clockwise seen from outside."""
    face_across: Annotated[IntVector, Dims('corners', points_at='faces')]
    """Face on the other side of the edge from a corner to the next corner."""

    triangle_range: Annotated[IntMatrix, Dims('ng', 2, points_at='triangles')]
    """Rows in `triangle`, for meshes."""
    triangle: Annotated[IntMatrix, Dims('triangles', 3, points_at='vertices')]
    """Vertices, counter-clockwise seen from outside; triangles in the order of tree leaves."""
    triangle_opposite: Annotated[IntMatrix, Dims('triangles', 3, points_at='vertices')]
    """Far vertex of the triangle across the edge from a corner to the next corner; -1: none."""
    tree: Annotated[IntMatrix, Dims('ng', 2)]
    """First row in `tree_box`, and depth, of a mesh's complete binary tree."""
    tree_box: Annotated[FloatMatrix, Dims('nodes', 6, unit='m')]
    """Least and greatest corner; node k has the children 2 k + 1 and 2 k + 2."""

    grid: Annotated[IntMatrix, Dims('ng', 3)]
    """First entry in `height`, rows (along y), columns (along x), for height fields."""
    height: Annotated[FloatVector, Dims('heights', unit='m', is_parameter=True)]
    """Heights by rows: the first at (-size[0], -size[1]), the next farther along x."""
