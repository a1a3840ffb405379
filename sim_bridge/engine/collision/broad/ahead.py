"""
Motion gained within a step, beyond the reach of the contact search.

The search knows the velocities at the step's start. Forces and impacts may make a body so much
faster in the step: it could pass through others unseen. Such bodies are found after the velocities
at the step's end are known; the search is repeated with the gain added to the reaches.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.collision.broad.kept import is_fixed, way_ahead
from sim_bridge.engine.collision.broad.place import frame_in_world, way_gained
from sim_bridge.engine.data.collision_scratch import PairCount
from sim_bridge.engine.data.geometry import PLANE
from sim_bridge.engine.dynamics.twists import find_twist, find_twists
from sim_bridge.engine.math.mat3 import mul_mv
from sim_bridge.engine.math.spatial import load_spatial, ORIGIN
from sim_bridge.engine.math.vec3 import add, cross, load3, norm, sub

_SLOW = 1e-3  # share of the margin; up to this change of coordinates in a step nothing is tested
_NEARLY = 0.999  # share of the margin; allows for rounding in the radius of a body


@kernel
def may_outrun(change, h, margin):
    """
    Return whether a velocity change may lead beyond the search's reach.

    change: greatest change of a velocity coordinate in the step [m/s, rad/s].
    """
    return h * change > _SLOW * margin


@subroutine
def outruns_reach(model, geometry, ws, v, acceleration, h, margin, scratch_inout, twist_out):
    """
    Return whether a geometry moves beyond its reach in the second half of the step.

    v: velocity coordinates at the step's start, which the reaches belong to. acceleration: their
    mean change per second. If so, the gains of the twists are kept for the next search. Writes
    twist_out.
    """
    gain = scratch_inout.gain
    for body in range(gain.shape[0]):
        find_twist(model, model.kind, ws, acceleration, body, gain)
        for k in range(6):
            gain[body, k] *= h
    if scratch_inout.counts[PairCount.IS_KEPT] != 0 and not gains_much(
        ws.pose, model.root, h, margin, scratch_inout
    ):
        return False
    find_twists(model, model.kind, ws, v, twist_out)
    for g in range(geometry.body.shape[0]):
        if geometry.body[g] < 0 or is_fixed(geometry, g) or geometry.shape[g] == PLANE:
            continue
        # as reach is twice as long as the motion left, less gain than the margin does no harm
        if way_gained(geometry, g, ws.pose, model.root, h, gain) <= margin:
            continue
        if goes_beyond(geometry, g, ws.pose, twist_out, model.root, h, margin, gain):
            scratch_inout.counts[PairCount.IS_AHEAD] = 1
            scratch_inout.counts[PairCount.IS_STILL] = 0
            return True
    return False


@kernel
def gains_much(pose, root, h, margin, scratch):
    """Return whether a body's points may move farther than the margin by the gain of its twist."""
    for body in range(scratch.gain.shape[0]):
        if way_ahead(pose, root, h, scratch, body) > _NEARLY * margin:
            return True
    return False


@kernel
def goes_beyond(geometry, g, pose, twist, root, h, margin, gain):
    """Return whether a geometry moves beyond its reach in half a step; see `outruns_reach`."""
    body = geometry.body[g]
    R, p = frame_in_world(geometry, g, pose)
    arm = sub(add(p, mul_mv(R, load3(geometry.bounds, g, 0))), load3(pose, root[body], ORIGIN))
    w, v = load_spatial(twist, body)
    dw, dv = load_spatial(gain, body)
    v, dv = add(v, cross(w, arm)), add(dv, cross(dw, arm))
    radius = geometry.radius[g]
    way = h * (norm(v) + radius * norm(w))
    rest = 0.5 * h * (norm(add(v, dv)) + radius * norm(add(w, dw)))
    return rest > way + 0.5 * margin
