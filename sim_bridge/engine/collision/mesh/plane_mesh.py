"""Contacts of meshes with planes: the vertices near the plane."""

from sim_bridge.compiler.kernel import subroutine
from sim_bridge.engine.collision.broad.place import spread_along
from sim_bridge.engine.collision.broad.tree import next_node
from sim_bridge.engine.collision.clip.reduce import is_listed, reduce_candidates
from sim_bridge.engine.data.collision_scratch import CANDIDATES
from sim_bridge.engine.math.vec3 import add, dot, load3, mul_mv, mul_tv, scale, store3, sub

KEPT = 64
"""Points that are kept where there are more than CANDIDATES."""


@subroutine
def collide_plane_mesh(
    geometry,  # model
    mesh, pose, plane_pose, limit,
    scratch_inout,
):
    """
    Collect the contact points of a mesh with a plane; normals point away from the plane.

    Each vertex below the limit is a contact point, its number the feature. Returns the number of
    points.
    """
    R, p = plane_pose[0], plane_pose[1]
    n = R[0][2], R[1][2], R[2][2]
    # the plane in the mesh's frame: down . x + offset is the height of a point x
    down = mul_tv(pose[0], n)
    offset = dot(n, sub(pose[1], p))
    root, depth = geometry.tree[mesh, 0], geometry.tree[mesh, 1]
    first_leaf = (1 << depth) - 1
    first, end = geometry.triangle_range[mesh, 0], geometry.triangle_range[mesh, 1]
    half = load3(geometry.bounds, mesh, 3)
    count, node = 0, 0
    while node >= 0:
        low = load3(geometry.tree_box, root + node, 0)
        high = load3(geometry.tree_box, root + node, 3)
        centre, sides = scale(0.5, add(low, high)), scale(0.5, sub(high, low))
        if dot(down, centre) - spread_along(down, sides) + offset > limit:
            node = next_node(node) if next_node(node) > 0 else -1
        elif node < first_leaf:
            node = 2 * node + 1
        else:
            leaf = node - first_leaf
            for t in range(first + (leaf * (end - first) >> depth),
                           first + ((leaf + 1) * (end - first) >> depth)):
                for k in range(3):
                    vertex = geometry.triangle[t, k]
                    x = load3(geometry.vertex, vertex, 0)
                    height = dot(down, x) + offset
                    feature = vertex - geometry.vertex_range[mesh, 0]
                    if height > limit or is_listed(feature, count, scratch_inout):
                        continue
                    if count == CANDIDATES:
                        count = reduce_candidates(
                            half[0] + half[1] + half[2], KEPT, count, scratch_inout)
                    at = add(pose[1], mul_mv(pose[0], x))
                    scratch_inout.candidate_feature[count] = feature
                    store3(scratch_inout.candidate_point, count, 0,
                           sub(at, scale(0.5 * height, n)))
                    store3(scratch_inout.candidate_normal, count, 0, n)
                    scratch_inout.candidate_gap[count] = height
                    count += 1
            node = next_node(node) if next_node(node) > 0 else -1
    return count
