"""Contacts between meshes and planes: the vertices near the plane."""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.broad.place import spread_along
from sim_bridge.engine.collision.clip.reduce import is_listed, reduce_candidates
from sim_bridge.engine.collision.mesh.mesh import is_inner, leaf_triangles, node_after
from sim_bridge.engine.data.collision_scratch import CANDIDATES
from sim_bridge.engine.math.mat3 import column, mul_mv, mul_tv
from sim_bridge.engine.math.vec3 import add, dot, load3, scale, store3, sub

KEPT = 64
"""Points kept if there are more than CANDIDATES."""


@subroutine
def collide_plane_mesh(
    geometry,  # model
    mesh,
    pose,
    plane_pose,
    limit,
    scratch_inout,
):
    """
    Collect the contact points between a mesh and a plane; normals point away from the plane.

    Each vertex with a gap up to the limit is a contact point, with its number as the feature.
    Returns the point count.
    """
    n, down, offset = plane_below(pose, plane_pose)
    half = load3(geometry.bounds, mesh, 3)
    count, node = 0, 0
    while node >= 0:
        if lowest_of_node(geometry, mesh, node, down) + offset > limit:
            node = node_after(node)
        elif is_inner(geometry, mesh, node):
            node = 2 * node + 1
        else:
            first, end = leaf_triangles(geometry, mesh, node)
            for t in range(first, end):
                for k in range(3):
                    vertex = geometry.triangle[t, k]
                    x = load3(geometry.vertex, vertex, 0)
                    height = dot(down, x) + offset
                    feature = vertex - geometry.vertex_range[mesh, 0]
                    if height > limit or is_listed(feature, count, scratch_inout):
                        continue
                    if count == CANDIDATES:
                        count = reduce_candidates(
                            half[0] + half[1] + half[2], KEPT, count, scratch_inout
                        )
                    at = add(pose[1], mul_mv(pose[0], x))
                    scratch_inout.candidate_feature[count] = feature
                    store3(
                        scratch_inout.candidate_point, count, 0, sub(at, scale(0.5 * height, n))
                    )
                    store3(scratch_inout.candidate_normal, count, 0, n)
                    scratch_inout.candidate_gap[count] = height
                    count += 1
            node = node_after(node)
    return count


@kernel
def plane_below(pose, plane_pose):
    """
    Return a plane's normal n in the world, and the plane in a mesh's frame as (down, offset).

    down . x + offset is the height above the plane of a point x in the mesh's frame.
    """
    n = column(plane_pose[0], 2)
    return n, mul_tv(pose[0], n), dot(n, sub(pose[1], plane_pose[1]))


@kernel
def lowest_of_node(geometry, mesh, node, down):
    """Return the least coordinate along `down` in the box of a mesh-tree node."""
    row = geometry.tree[mesh, 0] + node
    low, high = load3(geometry.tree_box, row, 0), load3(geometry.tree_box, row, 3)
    centre, sides = scale(0.5, add(low, high)), scale(0.5, sub(high, low))
    return dot(down, centre) - spread_along(down, sides)
