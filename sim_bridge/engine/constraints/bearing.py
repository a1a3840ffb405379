"""
Friction growing with the joint load, in bearings and guides.

The greatest friction on an axis is F + μ |f|, with F its FRICTION, μ its BEARING, and f the force
transmitted by the joint's rows in the same step. A step begins with the last step's load. Each
solution gives a new load; if the axis slides, both must agree, or the step is solved again. The
load is then the root of an almost linear function, found by secants.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.constraints.rows import transmitted
from sim_bridge.engine.data.joint_laws import BACK_COULOMB, COULOMB, side_of
from sim_bridge.engine.data.loops import GONE
from sim_bridge.engine.data.model import BACK_FRICTION, BEARING, FRICTION
from sim_bridge.engine.data.state import FRICTION_SIDE, LOCKED
from sim_bridge.engine.dynamics.active_set import VELOCITY_SLACK
from sim_bridge.engine.math.vec3 import norm

_CLOSE = 1e-12  # negligible relative load difference
_CONTRACTING = -0.05  # a secant is trusted only if the difference falls faster with the load
_TRACE = 1e-300  # friction of an unloaded axis, above 0: it then has a friction law


@kernel
def begin_bearing(loops, state, axis, work):
    """Begin a step with the last step's load."""
    if loops.passive[axis, BEARING] > 0.0:
        work.borne[axis], work.miss[axis, 0], work.miss[axis, 1] = state.axis_load[axis], 0.0, 0.0
        set_bearing(loops, axis, work)


@kernel
def set_bearing(loops, axis, work):
    """Write the greatest friction on an axis under its load."""
    passive, more = loops.passive[axis], loops.passive[axis, BEARING] * work.borne[axis] + _TRACE
    work.law[axis, COULOMB] = passive[FRICTION] + more
    work.law[axis, BACK_COULOMB] = passive[BACK_FRICTION] + more


@subroutine
def follow_loads(pose, h, loops, work):
    """Set friction by the loads last found; return how many sliding axes need a new solution."""
    changed, close = 0, _CLOSE * work.slack[0] / VELOCITY_SLACK
    for axis in range(loops.axis_joint.shape[0]):
        joint = loops.axis_joint[axis]
        if loops.passive[axis, BEARING] == 0.0 or work.broken[joint] & GONE != 0:
            continue
        load = norm(transmitted(pose, h, loops, joint, work)[1])
        slides = work.mode[axis] < LOCKED and side_of(work.mode[axis], FRICTION_SIDE) != 0
        last, miss = work.borne[axis], load - work.borne[axis]
        if slides:
            if abs(miss) <= close * load:
                continue
            changed += 1
            moved, gained = last - work.miss[axis, 0], miss - work.miss[axis, 1]
            if work.miss[axis, 1] != 0.0 and moved != 0.0 and gained / moved < _CONTRACTING:
                load = max(last - miss * moved / gained, 0.0)
            work.miss[axis, 0], work.miss[axis, 1] = last, miss
        work.borne[axis] = load
        set_bearing(loops, axis, work)
    return changed
