"""
Momentum of free trees: its value, its target after a step, and its correction.

A step that satisfies the equations of motion at its middle keeps a tree's momentum to second order
only: the inertias at its ends differ from the inertia at its middle. Internal forces cannot change
a tree's momentum. The momentum missing at the end is therefore given to the tree as a whole, as
the velocity of a rigid body with the tree's inertia. This changes no relative velocity between
links: joints that stick, stand at stops or follow others still do, motors keep their velocities,
and loops stay closed. The correction is of third order in the step.

Trees tied to each other by loops form one *system*, corrected as a whole. Trees tied to the world,
or to a body moved by no force, form no system: their momentum is not their own.

A system gains momentum by the impulse from all external forces. The equations at the middle give
this impulse as the sum over all bodies' momentum rates; internal forces cancel in it. A
force counts if the step has solved for its response, at its point of action.

The reference point of the angular momentum matters, because the middle of the step is reached by
half a step at the old velocities, off the path of the centre of mass:

- A system in flight keeps its angular momentum about its own centre of mass, apart from the
  torques about the centre at the middle. Its centre moves by the mean of its velocities at both
  ends. The momentum about any fixed point is then right too.
- A system touched from outside keeps its angular momentum about a fixed point, and two systems
  pushing each other keep their sum. Contacts determine its positions, which are left unchanged.

The step stays as symmetric in time as without the correction: momentum is one function of the
state at either end. The energy errors become smaller.
"""

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.engine.data.inertia import (
    MASS,
    MOMENT,
    mul_rigid,
    RIGID_SIZE,
    XX,
    XY,
    XZ,
    YY,
    YZ,
    ZZ,
)
from sim_bridge.engine.data.loops import GONE
from sim_bridge.engine.data.workspace import (
    COMPOSITE,
    GIVEN,
    IMPULSE,
    MIDDLE,
    MIDDLE_MOMENT,
    MOMENTUM,
    MOVED,
    START,
    START_CENTRE,
)
from sim_bridge.engine.dynamics.articulated import has_axis
from sim_bridge.engine.dynamics.free_body import solve3
from sim_bridge.engine.dynamics.kinematics import place_one
from sim_bridge.engine.dynamics.twists import find_twist
from sim_bridge.engine.dynamics.whitening import is_free
from sim_bridge.engine.math.spatial import (
    ANGULAR,
    cross_force,
    LINEAR,
    load_spatial,
    ORIGIN,
    store_spatial,
)
from sim_bridge.engine.math.vec3 import add, cross, dot, load3, load_v, scale, store_v, sub, ZERO


@kernel
def is_first(model, ws, body):
    """Return whether a body is its tree's first, and the tree's momentum is kept in this step."""
    return model.root[body] == body and ws.system[body] >= 0 and is_free(ws.kind[body])


@kernel
def leads(model, ws, body):
    """Return whether a body is its system's first; its row holds the system's numbers."""
    return is_first(model, ws, body) and ws.system[body] == body


@subroutine
def find_systems(model, loop_body, broken, ws):
    """
    Write each tree's system, as the system's first body (-1 for none), into ws.system.

    The entries are at the trees' first bodies. loop_body, broken: (nk, 2) bodies and (nk,) broken
    bits, both for loop-closing joints. Trees tied by them fall asleep together.
    """
    for body in range(model.parent.shape[0]):
        is_whole = model.root[body] == body and is_free(model.kind[body])
        ws.system[body] = body if is_whole else -1
    differs = True
    while differs:
        differs = False
        for joint in range(loop_body.shape[0]):
            if broken[joint] & GONE != 0:
                continue
            a, b = loop_body[joint, 0], loop_body[joint, 1]
            root_a = model.root[a] if a >= 0 else -1
            root_b = model.root[b] if b >= 0 else -1
            if root_a == root_b:
                continue
            of_a = ws.system[root_a] if root_a >= 0 else -1
            of_b = ws.system[root_b] if root_b >= 0 else -1
            if of_a != of_b:
                # the leader has the lower number; the world has the lowest, -1
                both = min(of_a, of_b)
                if root_a >= 0:
                    ws.system[root_a] = both
                if root_b >= 0:
                    ws.system[root_b] = both
                differs = True


@kernel
def origin_in(q, model, root):
    """Return the origin of a free tree's first body at q [m]."""
    return load_v(q, model.q_index[root])


@subroutine
def find_momenta(model, q, v, ws):
    """
    Write the MOMENTUM and the COMPOSITE inertia of every system at q and v.

    Both are about the system's O, the origin of its first body at q. Also writes the poses, axes
    and inertias of the systems' bodies, and their velocities into ws.twist.
    """
    for body in range(model.parent.shape[0]):
        root = model.root[body]
        if ws.system[root] < 0:
            continue
        own = ws.trees[root]
        if body == root:
            for k in range(6):
                own[MOMENTUM + k] = 0.0
            for k in range(RIGID_SIZE):
                own[COMPOSITE + k] = 0.0
        place_one(model, q, ws, body)
        find_twist(model, model.kind, ws, v, body, ws.twist)
        w, vel = load_spatial(ws.twist, body)
        n, f = mul_rigid(ws.rigid, body, w, vel)
        for k in range(3):
            own[MOMENTUM + k] += n[k]
            own[MOMENTUM + 3 + k] += f[k]
        for k in range(RIGID_SIZE):
            own[COMPOSITE + k] += ws.rigid[body, k]
    for root in range(model.parent.shape[0]):
        leader = ws.system[root]
        if leader >= 0 and leader != root:
            arm = sub(origin_in(q, model, root), origin_in(q, model, leader))
            add_wrench(ws.trees, leader, MOMENTUM, ws.trees[root], arm)
            add_inertia(ws.trees[leader], ws.trees[root], arm)


@kernel
def add_wrench(trees_inout, leader, column, row, arm):
    """Add a tree's momentum or impulse to its system's; arm: tree's O from the system's O [m]."""
    n, f = load_v(row, column), load_v(row, column + 3)
    n = add(n, cross(arm, f))
    for k in range(3):
        trees_inout[leader, column + k] += n[k]
        trees_inout[leader, column + 3 + k] += f[k]


@kernel
def add_inertia(all_inout, row, arm):
    """Add a tree's COMPOSITE inertia to another one; arm: the tree's O from the other's O [m]."""
    mass, h = row[COMPOSITE + MASS], load_v(row, COMPOSITE + MOMENT)
    x, y, z = arm
    both = 2.0 * dot(h, arm) + mass * dot(arm, arm)
    all_inout[COMPOSITE + MASS] += mass
    for k in range(3):
        all_inout[COMPOSITE + MOMENT + k] += h[k] + mass * arm[k]
    all_inout[COMPOSITE + XX] += row[COMPOSITE + XX] + both - x * (2.0 * h[0] + mass * x)
    all_inout[COMPOSITE + YY] += row[COMPOSITE + YY] + both - y * (2.0 * h[1] + mass * y)
    all_inout[COMPOSITE + ZZ] += row[COMPOSITE + ZZ] + both - z * (2.0 * h[2] + mass * z)
    all_inout[COMPOSITE + XY] += row[COMPOSITE + XY] - (h[0] * y + h[1] * x + mass * x * y)
    all_inout[COMPOSITE + XZ] += row[COMPOSITE + XZ] - (h[0] * z + h[2] * x + mass * x * z)
    all_inout[COMPOSITE + YZ] += row[COMPOSITE + YZ] - (h[1] * z + h[2] * y + mass * y * z)


@kernel
def note_start(model, state, ws):
    """Store the current momenta as the momenta at the START of the step."""
    for root in range(model.parent.shape[0]):
        if ws.system[root] == root:
            own = ws.trees[root]
            for k in range(6):
                own[START + k] = own[MOMENTUM + k]
            store_v(own, START_CENTRE, add(origin_in(state.q, model, root), centre_of_system(own)))


@kernel
def centre_of_system(row):
    """Return a COMPOSITE inertia's centre of mass relative to O [m]."""
    return scale(1.0 / row[COMPOSITE + MASS], load_v(row, COMPOSITE + MOMENT))


@subroutine
def find_outer_impulses(model, state, ws, h):
    """
    Write the IMPULSE exerted by all external forces on each system, about its O at the MIDDLE.

    Uses the inertias at the middle, and ws.velocity and ws.drift from the evaluation that gave
    ws.v_next.
    """
    g = load_v(model.gravity, 0)
    for body in range(model.parent.shape[0]):
        root, above, at = model.root[body], model.parent[body], model.v_index[body]
        if ws.system[root] < 0 or not is_free(ws.kind[root]):
            continue
        own = ws.trees[root]
        w, v = load_spatial(ws.velocity, body)
        if body == root:
            for k in range(6):
                own[IMPULSE + k] = 0.0
            store_v(own, MIDDLE, load3(ws.pose, root, ORIGIN))
            store_v(own, MIDDLE_MOMENT, ZERO)
            gain = sub(load_v(ws.v_next, at), load_v(state.v, at))
            turn = sub(load_v(ws.v_next, at + 3), load_v(state.v, at + 3))
            # acceleration of the material point at O; the origin itself moves
            dw, dv = scale(1.0 / h, turn), sub(scale(1.0 / h, gain), cross(w, v))
        else:
            dw, dv = load_spatial(ws.acceleration, above)
            if has_axis(ws.kind[body]):
                rate = (ws.v_next[at] - state.v[at]) / h
                dw = add(dw, scale(rate, load3(ws.axis, body, ANGULAR)))
                dv = add(dv, scale(rate, load3(ws.axis, body, LINEAR)))
        store_spatial(ws.acceleration, body, dw, dv)
        drift_w, drift_v = load_spatial(ws.drift, body)
        n, f = mul_rigid(ws.rigid, body, add(dw, drift_w), add(add(dv, drift_v), g))
        momentum_n, momentum_f = mul_rigid(ws.rigid, body, w, v)
        turn_n, turn_f = cross_force(w, v, momentum_n, momentum_f)
        for k in range(3):
            own[IMPULSE + k] += h * (n[k] + turn_n[k])
            own[IMPULSE + 3 + k] += h * (f[k] + turn_f[k])
            own[MIDDLE_MOMENT + k] += ws.rigid[body, MOMENT + k]
    for root in range(model.parent.shape[0]):
        if is_first(model, ws, root) and not leads(model, ws, root):
            own, leader = ws.trees[root], ws.system[root]
            arm = sub(load_v(own, MIDDLE), load_v(ws.trees[leader], MIDDLE))
            add_wrench(ws.trees, leader, IMPULSE, own, arm)
            for k in range(3):
                ws.trees[leader, MIDDLE_MOMENT + k] += (
                    own[MIDDLE_MOMENT + k] + own[COMPOSITE + MASS] * arm[k]
                )


@kernel
def momentum_held(model, state, ws, root, origin):
    """
    Return the target (angular, linear) momentum at the end of the step, about `origin` [m].

    For systems touched from outside: the momentum is kept about a fixed point.
    """
    own = ws.trees[root]
    before = sub(origin_in(state.q, model, root), origin)
    middle = sub(load_v(own, MIDDLE), origin)
    n, f = load_v(own, START), load_v(own, START + 3)
    more_n, more_f = load_v(own, IMPULSE), load_v(own, IMPULSE + 3)
    n = add(add(n, cross(before, f)), add(more_n, cross(middle, more_f)))
    return n, add(f, more_f)


@kernel
def momentum_in_flight(model, state, ws, root):
    """
    Return the target (angular, linear) momentum of a system in flight after the step.

    It is about the system's O at that time, the reference point of its COMPOSITE inertia.
    """
    own = ws.trees[root]
    before = sub(load_v(own, START_CENTRE), origin_in(state.q, model, root))
    middle = scale(1.0 / own[COMPOSITE + MASS], load_v(own, MIDDLE_MOMENT))
    n, f = load_v(own, START), load_v(own, START + 3)
    more_n, more_f = load_v(own, IMPULSE), load_v(own, IMPULSE + 3)
    n = add(sub(n, cross(before, f)), sub(more_n, cross(middle, more_f)))
    f = add(f, more_f)
    return add(n, cross(centre_of_system(own), f)), f


@kernel
def velocity_missing(row, angular, linear):
    """
    Return the (angular, linear) velocity at O that brings a system to a momentum about O.

    The system has the MOMENTUM already, and moves as a rigid body with its COMPOSITE inertia.
    angular, linear: target momentum [kg m²/s, kg m/s].
    """
    n, f = sub(angular, load_v(row, MOMENTUM)), sub(linear, load_v(row, MOMENTUM + 3))
    mass, centre = row[COMPOSITE + MASS], centre_of_system(row)
    x, y, z = centre
    xy, xz, yz = (
        row[COMPOSITE + XY] + mass * x * y,
        row[COMPOSITE + XZ] + mass * x * z,
        row[COMPOSITE + YZ] + mass * y * z,
    )
    inertia = (
        (row[COMPOSITE + XX] - mass * (y * y + z * z), xy, xz),
        (xy, row[COMPOSITE + YY] - mass * (x * x + z * z), yz),
        (xz, yz, row[COMPOSITE + ZZ] - mass * (x * x + y * y)),
    )
    w = solve3(inertia, sub(n, cross(centre, f)))
    return w, sub(scale(1.0 / mass, f), cross(w, centre))


@kernel
def end_step(model, state, ws, h):
    """
    Correct ws.v_next for the systems' missing momentum at ws.q, where MOMENTUM was computed.

    Systems in flight (ws.held is 0) are moved first, by the mean of the centre's velocities at
    both ends.
    """
    for root in range(model.parent.shape[0]):
        if not is_first(model, ws, root):
            continue
        if leads(model, ws, root):
            find_end(model, state, ws, root, h)
        whole, at, at_v = ws.trees[ws.system[root]], model.q_index[root], model.v_index[root]
        arm = sub(load_v(ws.q, at), load_v(whole, MIDDLE))
        w, v = load_v(whole, GIVEN), load_v(whole, GIVEN + 3)
        store_v(ws.q, at, add(load_v(ws.q, at), load_v(whole, MOVED)))
        store_v(ws.v_next, at_v, add(load_v(ws.v_next, at_v), add(v, cross(w, arm))))
        store_v(ws.v_next, at_v + 3, add(load_v(ws.v_next, at_v + 3), w))


@kernel
def find_end(model, state, ws, leader, h):
    """Write a system's motion at the step's end: MOVED, GIVEN (missing velocity), MIDDLE (O)."""
    own = ws.trees[leader]
    origin = origin_in(ws.q, model, leader)
    if ws.held[leader] != 0:
        n, f = momentum_held(model, state, ws, leader, origin)
        store_v(own, MOVED, ZERO)
    else:
        n, f = momentum_in_flight(model, state, ws, leader)
        path = scale(0.5 * h / own[COMPOSITE + MASS], add(load_v(own, START + 3), f))
        there = add(load_v(own, START_CENTRE), path)
        store_v(own, MOVED, sub(sub(there, centre_of_system(own)), origin))
    w, v = velocity_missing(own, n, f)
    store_v(own, GIVEN, w)
    store_v(own, GIVEN + 3, v)
    store_v(own, MIDDLE, origin)
