"""Mutable part of a simulation: exactly the arrays that determine a world's future."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.model import BALL, FREE, FREE_SINGLE, KINEMATIC, Model, model_sizes
from sim_bridge.engine.data.parts import Dims, make
from sim_bridge.foundation.names import counted

# joint modes in State.mode, see `joint_laws`; a loose joint's mode is the sum of these, each times
# -1, 0 or 1
FRICTION_SIDE, MOTOR_SIDE, STOP_SIDE = 1, 3, 9
LOOSE = 0
# a locked joint's mode is LOCKED or greater
LOCKED = 14
STUCK, AT_TARGET, AT_UPPER, AT_LOWER, HELD = range(LOCKED, LOCKED + 5)

# State.control: a joint motor's action beside the applied effort
BY_EFFORT, BY_VELOCITY, BY_POSITION, BY_SERVO = range(4)
# positions stay up to this velocity [m/s, rad/s]: 30 um a year
RESTS = 1e-12
# first columns in State.contact_impulse
LINEAR_IMPULSE, ANGULAR_IMPULSE = 0, 3
# columns in State.target and State.course, then further columns in State.course
TARGET_POSITION, TARGET_VELOCITY = range(2)
POSITION_CHANGE, VELOCITY_CHANGE, HAS_COURSE = range(2, 5)
COURSE_SIZE = 5
# columns in State.accuracy
LEVEL, WAIT, FAILURES = range(3)

# State.idle at a tree's first body counts the tree's steps at rest; ASLEEP while it sleeps,
# DISABLED if it rests by request
ASLEEP, DISABLED = -1, -2
# values in State.pushed
NOT_PUSHED, PUSHED, LESS_PUSHED = range(3)
# columns in State.axis_effort
FRICTION_SHARE, MOTOR_SHARE, STOP_SHARE, TOTAL_SHARE = range(4)


# by joint kind: position of a quaternion's w among the coordinates, -1 for none; GROUND is last
_QUATERNION_W = np.full(KINEMATIC + 2, -1)
_QUATERNION_W[[BALL, FREE, FREE_SINGLE, KINEMATIC]] = 3, 6, 6, 6


class State(NamedTuple):
    """Mutable arrays of one world; coordinates as in `model`."""

    q: Annotated[FloatVector, Dims('nq', unit='m, rad, 1')]
    """Positions; orientations as quaternions x y z w."""
    v: Annotated[FloatVector, Dims('nv', unit='m/s, rad/s')]
    """Velocities."""
    u: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """
    Applied efforts.

    For a free joint: force on its body, then torque about its frame's origin, world axes.
    """
    wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """External torque about the body frame's origin, then force; world axes."""
    hold: Annotated[IntVector, Dims('nv')]
    """1 to hold the joint in place with unlimited effort."""
    mode: Annotated[IntVector, Dims('nv')]
    """Piece of its law on which each joint was in the last step, see `joint_laws`."""
    control: Annotated[IntVector, Dims('nv')]
    """Motor action: none (BY_EFFORT), BY_VELOCITY, BY_POSITION or BY_SERVO."""
    target: Annotated[FloatMatrix, Dims('nv', 2, unit='m, rad; m/s, rad/s')]
    """Target position and velocity of the motors."""
    course: Annotated[
        FloatMatrix, Dims('nv', COURSE_SIZE, unit='m, rad; m/s, rad/s; m, rad; m/s, rad/s; 1')
    ]
    """
    Current targets of servos on their way to `target`, see `dynamics.target_course`.

    Current position and velocity, then their changes in the last step. The last column is 1; it is
    0 without a course, before a servo's first step, and then `target` holds throughout.
    """
    acceleration: Annotated[FloatVector, Dims('nv', unit='m/s², rad/s²')]
    """Change of v in the last step, divided by the time step."""
    inertia: Annotated[FloatVector, Dims('nv', unit='kg, kg m²')]
    """Inertia that one-axis joints moved last, see `articulated.lagging_inertia`, or 0."""
    force: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Last effort of stop, friction or hold; 0 for none."""
    friction: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Friction's share of this effort."""
    motor: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Last effort of the motor, beside u."""
    v_left: Annotated[FloatVector, Dims('nv', unit='m/s, rad/s')]
    """
    Velocities after the last step, to detect later writes.

    NaN if a tree's constraints have changed since the last step.
    """
    accuracy: Annotated[IntMatrix, Dims('nv', 3)]
    """
    Accuracy LEVEL of the contact solver in the coordinate's island, see `contact.accuracy`.

    WAIT: steps until a finer level is tried. FAILURES: trials that failed.
    """
    missed: Annotated[FloatVector, Dims('nv', unit='m/s')]
    """Residual left by Newton steps in the coordinate's island when they missed the tolerance."""
    idle: Annotated[IntVector, Dims('nb')]
    """At a tree's first body: number of steps at rest, ASLEEP or DISABLED."""
    sampled: Annotated[IntVector, Dims('nb')]
    """Number of velocities kept for a body; 0 if it does not sleep by their mean."""
    sample: Annotated[FloatMatrix, Dims('nw', 6, unit='m/s, rad/s')]
    """The kept velocities: the last SAMPLES of each such body, in rows used in turn."""
    actuator_control: Annotated[FloatVector, Dims('nu', unit='SI')]
    """Controls of the actuators, not clamped to their ranges."""
    control_left: Annotated[FloatVector, Dims('nu', unit='SI')]
    """Controls in the last step, to detect later writes to sleeping trees."""
    activation: Annotated[FloatVector, Dims('nu', unit='SI')]
    """Activations of actuators with dynamics, 0 for others."""
    rest: Annotated[FloatVector, Dims('nq', unit='m, rad, 1')]
    """Positions of sleeping bodies."""
    contact_size: Annotated[IntVector, Dims(2)]
    """Number of contacts in the last step, and 0."""
    contact_geometry: Annotated[IntMatrix, Dims('nc', 2, points_at='ng')]
    """Geometries of the contacts; this and the next five are as in contact_points.Contacts."""
    contact_feature: Annotated[IntVector, Dims('nc')]
    """Identifier of the touching features."""
    contact_point: Annotated[FloatMatrix, Dims('nc', 3, unit='m')]
    """Contact point, world."""
    contact_normal: Annotated[FloatMatrix, Dims('nc', 3, unit='1')]
    """Unit vector towards the first geometry, world."""
    contact_gap: Annotated[FloatVector, Dims('nc', unit='m')]
    """Signed distance at the middle of the step."""
    contact_impulse: Annotated[FloatMatrix, Dims('nc', 6, unit='N s; N m s')]
    """Impulse on the first geometry, then the angular impulse; world axes."""
    contact_wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """
    The contacts' mean wrench on each body in the last step, about the world origin.

    The forces act at the contact points in the middle of the step.
    """
    pushed: Annotated[IntVector, Dims('nb')]
    """Contact push on each body: NOT_PUSHED, PUSHED, or LESS_PUSHED after losing a contact."""
    yield_wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Like contact_wrench, for compliant loop-closing joints."""
    loop_wrench: Annotated[FloatMatrix, Dims('nk', 6, unit='N m; N')]
    """
    Wrench of each loop-closing joint on its second body, about frame B's origin; world axes.

    Compliant rows count with the last step's mean, loose axes with the value at its end.
    """
    loop_mean: Annotated[FloatMatrix, Dims('nk', 6, unit='N m; N')]
    """Mean wrench in the last step from the whole joint, including rigid rows."""
    loop_broken: Annotated[IntVector, Dims('nk')]
    """GONE if a loop-closing joint no longer acts, else bits for its broken parts."""
    axis_q: Annotated[FloatVector, Dims('na', unit='m, rad')]
    """Positions of the loop joints' axes; angles count full turns."""
    axis_u: Annotated[FloatVector, Dims('na', unit='N, N m')]
    """Applied efforts along and about the axes; the next four as for joints."""
    axis_control: Annotated[IntVector, Dims('na')]
    axis_target: Annotated[FloatMatrix, Dims('na', 2, unit='m, rad; m/s, rad/s')]
    axis_course: Annotated[
        FloatMatrix, Dims('na', COURSE_SIZE, unit='m, rad; m/s, rad/s; m, rad; m/s, rad/s; 1')
    ]
    axis_mode: Annotated[IntVector, Dims('na')]
    axis_effort: Annotated[FloatMatrix, Dims('na', 4, unit='N, N m')]
    """Last effort: FRICTION_SHARE, MOTOR_SHARE, STOP_SHARE, and TOTAL_SHARE of all elements."""
    axis_load: Annotated[FloatVector, Dims('na', unit='N')]
    """Force borne by the joint of an axis with a BEARING in the last step."""

    def __repr__(self) -> str:
        """Show the sizes; the arrays themselves may have any length."""
        sizes = (
            counted(len(self.q), 'position'),
            counted(len(self.v), 'velocity', 'velocities'),
            counted(len(self.wrench), 'body', 'bodies'),
            counted(int(self.contact_size[0]), 'contact'),
        )
        return f'<State: {", ".join(sizes)}>'


def make_state(
    model: Model, contacts: int = 0, loops: int = 0, axes: int = 0, samples: int = 0
) -> State:
    """
    Return the state of `model` at rest, all joints at 0, free bodies at the world origin.

    contacts: capacity for contacts. loops: count of loop-closing joints. axes: count of their
    axes. samples: capacity for kept velocities.
    """
    state = make(
        State, {**model_sizes(model), 'nc': contacts, 'nk': loops, 'na': axes, 'nw': samples}
    )
    w = _QUATERNION_W[model.kind]
    turns = w >= 0
    state.q[model.q_index[turns] + w[turns]] = 1.0
    return state
