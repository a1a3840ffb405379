"""The mutable part of a simulation: exactly what determines a world's future."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.model import BALL, FREE, FREE_SINGLE, KINEMATIC, Model, model_sizes
from sim_bridge.engine.data.parts import Dims, make
from sim_bridge.foundation.names import counted

# joint modes, State.mode, see `joint_laws`; a loose joint's is the sum of these, each times -1, 0
# or 1
FRICTION_SIDE, MOTOR_SIDE, STOP_SIDE = 1, 3, 9
LOOSE = 0
# a locked joint's is LOCKED or greater
LOCKED = 14
STUCK, AT_TARGET, AT_UPPER, AT_LOWER, HELD = range(LOCKED, LOCKED + 5)

# State.control: what a joint's motor does beside the applied effort
BY_EFFORT, BY_VELOCITY, BY_POSITION, BY_SERVO = range(4)
# first columns of State.contact_impulse
LINEAR_IMPULSE, ANGULAR_IMPULSE = 0, 3
# columns of State.target and State.course, and the others of State.course
TARGET_POSITION, TARGET_VELOCITY = range(2)
POSITION_CHANGE, VELOCITY_CHANGE, HAS_COURSE = range(2, 5)
COURSE_SIZE = 5

# State.idle of a tree's first body counts its steps at rest; ASLEEP once it sleeps, DISABLED where
# it rests by request
ASLEEP, DISABLED = -1, -2
# State.pushed
NOT_PUSHED, PUSHED, LESS_PUSHED = range(3)
# columns of State.axis_effort
FRICTION_SHARE, MOTOR_SHARE, STOP_SHARE, TOTAL_SHARE = range(4)


class State(NamedTuple):
    """Mutable arrays of one world; coordinates as in `model`."""

    q: Annotated[FloatVector, Dims('nq', unit='m, rad, 1')]
    """Positions; orientations as quaternions x y z w."""
    v: Annotated[FloatVector, Dims('nv', unit='m/s, rad/s')]
    """Velocities."""
    u: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """
    Applied efforts.

    For a free joint the force on its body and the torque about its frame's origin, world axes.
    """
    wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """External torque about the body frame's origin, then force; world axes."""
    hold: Annotated[IntVector, Dims('nv')]
    """1 where the joint is to be held in place whatever it takes."""
    mode: Annotated[IntVector, Dims('nv')]
    """On which piece of its law each joint was last, see `joint_laws`."""
    control: Annotated[IntVector, Dims('nv')]
    """What the motors do: nothing (BY_EFFORT), BY_VELOCITY, BY_POSITION or BY_SERVO."""
    target: Annotated[FloatMatrix, Dims('nv', 2, unit='m, rad; m/s, rad/s')]
    """Position and velocity that the motors go for."""
    course: Annotated[
        FloatMatrix, Dims('nv', COURSE_SIZE, unit='m, rad; m/s, rad/s; m, rad; m/s, rad/s; 1')
    ]
    """
    Where the targets of servos are on their way to `target`, see `dynamics.target_course`.

    Position and velocity now, and by how much they changed in the last step. Last 1, or 0 where
    there is no such way: before a servo's first step, when all are as `target` says.
    """
    acceleration: Annotated[FloatVector, Dims('nv', unit='m/s², rad/s²')]
    """Change of v in the last step over its length."""
    inertia: Annotated[FloatVector, Dims('nv', unit='kg, kg m²')]
    """What one-axis joints moved in the last step, see `articulated.lagging_inertia`, or 0."""
    force: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Last effort of a stop, friction or the hold; 0 where there was none."""
    friction: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """How much of it was friction."""
    motor: Annotated[FloatVector, Dims('nv', unit='N, N m')]
    """Last effort of the motor, beside u."""
    v_left: Annotated[FloatVector, Dims('nv', unit='m/s, rad/s')]
    """
    Velocities as the last step left them, to tell what was written since.

    NaN where constraints of a tree are others than in the last step.
    """
    idle: Annotated[IntVector, Dims('nb')]
    """Of a tree's first body: steps at rest, ASLEEP or DISABLED."""
    sampled: Annotated[IntVector, Dims('nb')]
    """How many velocities were kept of a body; 0 if it does not sleep by their mean."""
    sample: Annotated[FloatMatrix, Dims('nw', 6, unit='m/s, rad/s')]
    """These velocities: the last SAMPLES of each such body, in rows that are used in turn."""
    rest: Annotated[FloatVector, Dims('nq', unit='m, rad, 1')]
    """Positions of the sleepers."""
    contact_size: Annotated[IntVector, Dims(2)]
    """How many contacts the last step had, and 0."""
    contact_geometry: Annotated[IntMatrix, Dims('nc', 2, points_at='ng')]
    """Their geometries; this and the next five are as in contact_points.Contacts."""
    contact_feature: Annotated[IntVector, Dims('nc')]
    """What touches what."""
    contact_point: Annotated[FloatMatrix, Dims('nc', 3, unit='m')]
    """Where, world."""
    contact_normal: Annotated[FloatMatrix, Dims('nc', 3, unit='1')]
    """Unit vector towards the first geometry, world."""
    contact_gap: Annotated[FloatVector, Dims('nc', unit='m')]
    """Signed distance at the middle of the step."""
    contact_impulse: Annotated[FloatMatrix, Dims('nc', 6, unit='N s; N m s')]
    """Impulse on the first geometry, then the angular one; world axes."""
    contact_wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """
    The contacts' mean wrench on each body in the last step, about the origin of the world.

    Of forces at where the contacts were in the middle of the step.
    """
    pushed: Annotated[IntVector, Dims('nb')]
    """Whether they pushed it: NOT_PUSHED, PUSHED, or LESS_PUSHED where one has gone since."""
    yield_wrench: Annotated[FloatMatrix, Dims('nb', 6, unit='N m; N')]
    """Likewise that of joints that close loops and yield."""
    loop_wrench: Annotated[FloatMatrix, Dims('nk', 6, unit='N m; N')]
    """
    Wrench of each such joint on its second body, about its frame B's origin.

    Of rows that yield the mean of the last step, of loose axes that at its end; world axes.
    """
    loop_mean: Annotated[FloatMatrix, Dims('nk', 6, unit='N m; N')]
    """Likewise the mean of the last step of all that the joint does, of rigid rows too."""
    loop_broken: Annotated[IntVector, Dims('nk')]
    """GONE where such a joint does nothing any more, else the bits of what is broken of it."""
    axis_q: Annotated[FloatVector, Dims('na', unit='m, rad')]
    """Positions of the loop joints' axes; angles count their turns."""
    axis_u: Annotated[FloatVector, Dims('na', unit='N, N m')]
    """Applied efforts along and about them; the next four as those of joints."""
    axis_control: Annotated[IntVector, Dims('na')]
    axis_target: Annotated[FloatMatrix, Dims('na', 2, unit='m, rad; m/s, rad/s')]
    axis_course: Annotated[
        FloatMatrix, Dims('na', COURSE_SIZE, unit='m, rad; m/s, rad/s; m, rad; m/s, rad/s; 1')
    ]
    axis_mode: Annotated[IntVector, Dims('na')]
    axis_effort: Annotated[FloatMatrix, Dims('na', 4, unit='N, N m')]
    """Last effort: FRICTION_SHARE, MOTOR_SHARE, STOP_SHARE, and TOTAL_SHARE of all that acts."""
    axis_load: Annotated[FloatVector, Dims('na', unit='N')]
    """Force that the joint of an axis with a BEARING bore in the last step."""

    def __repr__(self) -> str:
        """Show the sizes; the arrays themselves may be of any length."""
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
    Return the state of `model` at rest, all joints at 0, free bodies at the world's origin.

    contacts: room for contacts. loops: number of joints that close loops. axes: number of their
    axes. samples: room for velocities that are kept.
    """
    state = make(
        State, {**model_sizes(model), 'nc': contacts, 'nk': loops, 'na': axes, 'nw': samples}
    )
    for kinds, w in (((BALL,), 3), ((FREE, FREE_SINGLE, KINEMATIC), 6)):
        state.q[model.q_index[np.isin(model.kind, kinds)] + w] = 1.0
    return state
