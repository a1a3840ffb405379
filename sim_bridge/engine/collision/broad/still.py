"""
Contacts kept while nothing moves.

The contacts of the last search stay valid, without a new search for pairs or points, if all body
poses are bitwise the same, and no body moves by more than STILL in a step, then and now.
"""

from sim_bridge.compiler.kernel import kernel
from sim_bridge.engine.collision.broad.kept import is_fixed, velocity_at_origin
from sim_bridge.engine.collision.broad.place import STILL
from sim_bridge.engine.data.collision_scratch import KeptColumn, PairCount
from sim_bridge.engine.data.geometry import PLANE
from sim_bridge.engine.math.bits import is_same
from sim_bridge.engine.math.vec3 import dot


@kernel
def are_contacts_still(pose, twist, root, h, margin, scratch):
    """Return whether the last contacts found are valid at these poses and twists."""
    if (
        scratch.counts[PairCount.IS_STILL] == 0
        or scratch.counts[PairCount.IS_KEPT] == 0
        or scratch.kept_margin[0] != margin
    ):
        return False
    for body in range(scratch.still_pose.shape[0]):
        for k in range(12):
            if not is_same(pose[body, k], scratch.still_pose[body, k]):
                return False
        if not is_slow(pose, twist, root, h, scratch, body):
            return False
    return True


@kernel
def is_slow(pose, twist, root, h, scratch, body):
    """Return whether no geometry of a body moves by more than STILL in a step."""
    arm = scratch.kept[body, KeptColumn.ARM]
    v, w = velocity_at_origin(pose, twist, root, body)
    # (a + b)² <= 2 (a² + b²)
    return 2.0 * h * h * (dot(v, v) + arm * arm * dot(w, w)) <= STILL * STILL


@kernel
def keep_still(geometry, pose, twist, root, h, scratch_inout):
    """Record the poses during contact detection, if all bodies are slow."""
    scratch_inout.counts[PairCount.IS_STILL] = 0
    if scratch_inout.counts[PairCount.IS_KEPT] == 0:
        return
    for body in range(scratch_inout.still_pose.shape[0]):
        if not is_slow(pose, twist, root, h, scratch_inout, body):
            return
    for g in range(geometry.body.shape[0]):
        # a plane is not within its body's ARM
        if geometry.shape[g] == PLANE and not is_fixed(geometry, g):
            return
    for body in range(scratch_inout.still_pose.shape[0]):
        for k in range(12):
            scratch_inout.still_pose[body, k] = pose[body, k]
    scratch_inout.counts[PairCount.IS_STILL] = 1
