"""
Actuators: transmissions, forces and activation dynamics; compiled separately.

In a step, a force on a one-axis joint is a linear function of the joint's new velocity, like a
spring and a damper: `articulated.implicit_inertia` adds its slopes to the joint's inertia, so that
stiff position servos are stable. A force at its limit is constant. `switch_sides` changes between
the two until each force fits its side. Forces on ball joints and at places are taken at mid-step,
with the velocity extrapolated from the last acceleration. Positive feedback is taken there, too.

The activation of mid-step is the mean over the step.
"""

import math

from sim_bridge.compiler.kernel import kernel, subroutine
from sim_bridge.compiler.stage import Stage
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.actuators import (
    ACTIVATION_LOWER,
    ACTIVATION_UPPER,
    BASE,
    BIAS,
    CONTROL_LOWER,
    CONTROL_UPPER,
    DAMPER_SHARE,
    DAMPING,
    DYNAMICS,
    EARLY,
    FILTER,
    FORCE_LOWER,
    FORCE_UPPER,
    GAIN,
    GEAR_FORCE,
    INERTIAS,
    INTEGRATOR,
    JOINTS,
    MOBILITY,
    MOST_TERMS,
    NO_DYNAMICS,
    REST_LOWER,
    REST_UPPER,
    SPRING_SHARE,
    STIFFNESS,
    TIME_CONSTANT,
    TRANSMISSION,
    WRENCH,
)
from sim_bridge.engine.data.joint_laws import DRIVE_DAMPING, DRIVE_LAG, DRIVE_STIFFNESS, INERTIA
from sim_bridge.engine.data.model import DAMPING as JOINT_DAMPING
from sim_bridge.engine.data.phases import ActuatorPhase
from sim_bridge.engine.data.state import DISABLED
from sim_bridge.engine.dynamics.articulated import damper_weight, factorize
from sim_bridge.engine.dynamics.transmissions import (
    ball_moment,
    find_transmission,
    moves_bodies,
    push_places,
    rate_of_joints,
)
from sim_bridge.engine.dynamics.twists import find_twists

_STEADY = 1e-9  # relative change of an activation in a step, below which it is steady
_SLACK = 1e-12  # share of a force limit counted as rounding


def actuators(table, phase):
    """Run one actuator phase in a step or an observation."""
    if phase == ActuatorPhase.EVALUATE:
        return evaluate_in_step(table)
    if phase == ActuatorPhase.EVALUATE_PRESENT:
        return evaluate_at_instant(table)
    if phase == ActuatorPhase.SET:
        return set_efforts(table, True)
    if phase == ActuatorPhase.SET_PRESENT:
        return set_efforts(table, False)
    if phase == ActuatorPhase.SWITCH:
        return switch_sides(table)
    return keep_activations(table)


@subroutine
def evaluate_in_step(table):
    """Evaluate the forces at mid-step; also writes ws.v, the extrapolated velocity."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    h = world.options(table).time_step
    for joint in range(ws.v.shape[0]):
        ws.v[joint] = state.v[joint] + 0.5 * h * state.acceleration[joint]
    evaluate(model, ws)
    if lacks_inertias(model, state):
        factorize(model, ws, 0.0)
    for actuator in range(model.actuator.shape[0]):
        later = next_activation(model, state, actuator, h)
        source = state.activation[actuator]
        source = later if is_early(model, actuator) else 0.5 * (source + later)
        # a joint's damper belongs to the start of the step, as in `set_joint_laws`
        set_line(model, ws, actuator, source_of(model, state, actuator, source), state.v)
        set_shares(model, state, ws, actuator, h, state.v)
    push_places(model, ws)
    return 0


@subroutine
def evaluate_at_instant(table):
    """Evaluate the forces at ws.q and ws.v."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    h = world.options(table).time_step
    evaluate(model, ws)
    for actuator in range(model.actuator.shape[0]):
        source = state.activation[actuator]
        if is_early(model, actuator):
            source = next_activation(model, state, actuator, h)
        set_line(model, ws, actuator, source_of(model, state, actuator, source), ws.v)
        set_shares(model, state, ws, actuator, 0.0, ws.v)
    push_places(model, ws)
    return 0


@kernel
def evaluate(model, ws):
    """Write the lengths of the transmissions and their rates at ws.q, ws.pose and ws.v."""
    if moves_bodies(model):
        find_twists(model, model.kind, ws, ws.v, ws.velocity)
    for actuator in range(model.actuator.shape[0]):
        length, rate = find_transmission(model, ws, actuator)
        ws.actuator_length[actuator], ws.actuator_velocity[actuator] = length, rate


@kernel
def is_early(model, actuator):
    """Return whether the force uses the activation after the step."""
    return model.actuator[actuator, DYNAMICS] >= EARLY


@kernel
def control_of(model, state, actuator):
    """Return the control within its range."""
    law = model.actuator_law[actuator]
    return min(max(state.actuator_control[actuator], law[CONTROL_LOWER]), law[CONTROL_UPPER])


@kernel
def source_of(model, state, actuator, activation):
    """Return the input of the force: the activation, or the control without dynamics."""
    if model.actuator[actuator, DYNAMICS] == NO_DYNAMICS:
        return control_of(model, state, actuator)
    return activation


@kernel
def next_activation(model, state, actuator, h):
    """Return the activation after h seconds; FILTER is an Euler step, as in MuJoCo."""
    law, kind = model.actuator_law[actuator], model.actuator[actuator, DYNAMICS] % EARLY
    now, control = state.activation[actuator], control_of(model, state, actuator)
    if kind == NO_DYNAMICS:
        return now
    if kind == INTEGRATOR:
        later = now + h * control
    elif kind == FILTER:
        later = now + h * ((control - now) / law[TIME_CONSTANT])
    else:
        later = now + (control - now) * (1.0 - math.exp(-h / law[TIME_CONSTANT]))
    return min(max(later, law[ACTIVATION_LOWER]), law[ACTIVATION_UPPER])


@kernel
def set_line(model, ws, actuator, source, v):
    """
    Write the force as a linear function, its side, and the clamped force.

    v: velocities of the joints to which the linear function belongs.
    """
    law, line = model.actuator_law[actuator], ws.actuator_line[actuator]
    length, rate = ws.actuator_length[actuator], ws.actuator_velocity[actuator]
    spring = -(law[GAIN + 1] * source + law[BIAS + 1])
    damper = -(law[GAIN + 2] * source + law[BIAS + 2])
    is_linear = model.actuator[actuator, TRANSMISSION] == JOINTS
    if is_linear and damper > 0.0:
        rate = rate_of_joints(model, actuator, v)
    rest = min(max(length, law[REST_LOWER]), law[REST_UPPER])
    if law[REST_LOWER] < rest and rest < law[REST_UPPER]:
        spring = 0.0
    length -= rest
    line[BASE] = law[GAIN] * source + law[BIAS] - spring * length - damper * rate
    line[STIFFNESS] = max(spring, 0.0) if is_linear else 0.0
    line[DAMPING] = max(damper, 0.0) if is_linear else 0.0
    ws.actuator_side[actuator] = side_beyond(law, line[BASE], 0.0)
    ws.actuator_force[actuator] = clamped(law, line[BASE])


@kernel
def clamped(law, force):
    """Return a force within its range."""
    return min(max(force, law[FORCE_LOWER]), law[FORCE_UPPER])


@kernel
def side_beyond(law, force, slack):
    """Return 1 for a force above its range, -1 below it, else 0."""
    if force > law[FORCE_UPPER] + slack * abs(law[FORCE_UPPER]):
        return 1
    return -1 if force < law[FORCE_LOWER] - slack * abs(law[FORCE_LOWER]) else 0


@subroutine
def set_efforts(table, in_step):
    """Add the forces on joints, and their slopes, to ws.given and ws.law."""
    model, ws = world.model(table), world.workspace(table)
    for actuator in range(model.actuator.shape[0]):
        kind = model.actuator[actuator, TRANSMISSION]
        if kind == JOINTS:
            apply_force(model, ws, actuator, in_step, 1.0)
        elif kind < WRENCH:
            moment = ball_moment(model, ws, actuator)
            for k in range(3):
                ws.given[model.actuated[actuator] + k] += ws.actuator_force[actuator] * moment[k]
    return 0


@kernel
def apply_force(model, ws, actuator, in_step, sign):
    """
    Add the joints' efforts for the present side; sign: -1 to remove them.

    Slopes between joints are replaced by slopes of the single joints, in proportion to the joints'
    inertias: at least as large in every direction, and the same for one joint.
    """
    line, limits = ws.actuator_line[actuator], model.actuator_law[actuator]
    gear, side = model.actuator_gear[actuator, GEAR_FORCE], ws.actuator_side[actuator]
    force = line[BASE]
    if side != 0:
        force = limits[FORCE_UPPER] if side > 0 else limits[FORCE_LOWER]
    for term in range(MOST_TERMS):
        joint = model.actuator_joints[actuator, term]
        if joint < 0:
            break
        ws.given[joint] += sign * (gear * model.actuator_factors[actuator, term] * force)
        if side == 0:
            square = sign * (gear * gear * (line[MOBILITY] * line[INERTIAS + term]))
            ws.law[joint, DRIVE_DAMPING] += square * (line[DAMPER_SHARE] * line[DAMPING])
            if in_step:
                ws.law[joint, DRIVE_STIFFNESS] += square * (line[SPRING_SHARE] * line[STIFFNESS])


@kernel
def lacks_inertias(model, state):
    """Return whether a force acts on several joints without inertias from the last step."""
    for actuator in range(model.actuator.shape[0]):
        if model.actuator_joints[actuator, 1] < 0:
            continue
        for term in range(MOST_TERMS):
            joint = model.actuator_joints[actuator, term]
            if joint >= 0 and state.inertia[joint] == 0.0:
                return True
    return False


@kernel
def set_shares(model, state, ws, actuator, h, v):
    """
    Write the implicit shares, the inertias and the mobility; h: 0 at an instant.

    The force on one joint is implicit. A force on several joints is explicit at mid-step where the
    step resolves it, which keeps the second order, and implicit elsewhere.
    """
    line, gear = ws.actuator_line[actuator], model.actuator_gear[actuator, GEAR_FORCE]
    is_single, mobility = model.actuator_joints[actuator, 1] < 0, 0.0
    for term in range(MOST_TERMS):
        joint, inertia = model.actuator_joints[actuator, term], 1.0
        if joint < 0:
            break
        if h > 0.0 and not is_single:
            last = state.inertia[joint]
            inertia = last if last > 0.0 else ws.law[joint, INERTIA]
        factor = model.actuator_factors[actuator, term]
        mobility += factor * factor / inertia
        line[INERTIAS + term] = inertia
    line[MOBILITY], line[SPRING_SHARE], line[DAMPER_SHARE] = mobility, 1.0, 1.0
    if is_single:
        return
    rate = h * gear * gear * mobility
    line[SPRING_SHARE] = unresolved(0.25 * h * rate * line[STIFFNESS])
    line[DAMPER_SHARE] = unresolved(rate * line[DAMPING])
    gained = ws.actuator_velocity[actuator] - rate_of_joints(model, actuator, v)
    line[BASE] -= line[DAMPING] * ((1.0 - line[DAMPER_SHARE]) * gained)
    ws.actuator_side[actuator] = side_beyond(model.actuator_law[actuator], line[BASE], 0.0)


@kernel
def unresolved(part):
    """Return the implicit share for a force that takes this part of a velocity in a step."""
    cube = part * part * part
    return cube / (cube + 0.1)


@subroutine
def switch_sides(table):
    """Clamp or free forces on joints whose new velocity asks for it; return their number."""
    model, state, ws = world.model(table), world.state(table), world.workspace(table)
    h, changed = world.options(table).time_step, 0
    for actuator in range(model.actuator.shape[0]):
        line = ws.actuator_line[actuator]
        is_constant = line[STIFFNESS] == 0.0 and line[DAMPING] == 0.0
        if is_constant or ws.still[model.actuator_joints[actuator, 0]] != 0:
            continue
        force = force_at_end(model, state, ws, actuator, h)
        side = side_beyond(model.actuator_law[actuator], force, _SLACK)
        if side != ws.actuator_side[actuator]:
            apply_force(model, ws, actuator, True, -1.0)
            ws.actuator_side[actuator] = side
            apply_force(model, ws, actuator, True, 1.0)
            changed += 1
    return changed


@kernel
def force_at_end(model, state, ws, actuator, h):
    """Return the unclamped force for the joints' velocities at the end of the step."""
    line, gear = ws.actuator_line[actuator], model.actuator_gear[actuator, GEAR_FORCE]
    force = line[BASE]
    for term in range(MOST_TERMS):
        joint = model.actuator_joints[actuator, term]
        if joint < 0:
            break
        law, own = ws.law[joint], gear * model.actuator_factors[actuator, term]
        damping = model.passive[joint, JOINT_DAMPING] + law[DRIVE_DAMPING]
        if ws.actuator_side[actuator] != 0:
            damping += own * own * line[DAMPING]
        weight = damper_weight(law[INERTIA], h * damping) if law[INERTIA] > 0.0 else 1.0
        slope = 0.25 * h * (line[SPRING_SHARE] * line[STIFFNESS])
        slope += weight * (line[DAMPER_SHARE] * line[DAMPING])
        force -= slope * own * (ws.v_next[joint] - state.v[joint])
        if law[DRIVE_STIFFNESS] > 0.0:
            # the shift of the spring, see `articulated.servo_stiffness`
            lag = line[STIFFNESS] / law[DRIVE_STIFFNESS] * law[DRIVE_LAG]
            force -= lag * own * (0.75 * ws.v_next[joint] + 0.25 * state.v[joint])
    return force


@subroutine
def keep_activations(table):
    """Advance the activations by a step; a changing activation keeps its tree awake."""
    model, state, h = world.model(table), world.state(table), world.options(table).time_step
    for actuator in range(model.actuator.shape[0]):
        root = root_of(model, actuator)
        state.control_left[actuator] = state.actuator_control[actuator]
        if model.actuator[actuator, DYNAMICS] == NO_DYNAMICS or state.idle[root] < 0:
            continue
        now, later = state.activation[actuator], next_activation(model, state, actuator, h)
        state.activation[actuator] = later
        if abs(later - now) > _STEADY * (abs(now) + 1.0) and state.idle[root] != DISABLED:
            state.idle[root] = 0
    return 0


@kernel
def root_of(model, actuator):
    """Return the first body of the tree moved by an actuator."""
    return model.root[model.actuator_body[actuator, 0]]


ACTUATORS = Stage(actuators)
