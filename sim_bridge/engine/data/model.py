"""
Compiled, constant simulation part: bodies in trees, their joints and mass properties.

A *body* is one rigid unit: a link with everything fixed to it. Bodies are numbered so that parents
come before their children. Every body has exactly one joint to its parent (or to the world, with
parent -1). A body's frame is at its joint, with the joint's axis along z: kernels
need no axis vectors.

Coordinates: a one-axis joint has one number in q and one in v. A free joint has seven in q
(position of the body frame in the world [m], unit quaternion x y z w) and six in v (linear
velocity of the body frame's origin [m/s], angular velocity [rad/s], both in world axes). A welded
joint has none.

A ball joint is three consecutive bodies, two without mass and the child. Their axes are x, y and z
of the joint frame, all fixed in the carrying body; the child's axis is z of its frame at position
0. Each body has one number in v. These three consecutive numbers are the angular velocity of the
child relative to the carrying body [rad/s], in the joint frame. The child has four numbers in q:
the unit quaternion x y z w of its frame in the joint frame; the other two bodies have none. This
is exact: eliminating three fixed axes one after the other is block elimination.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.actuators import ACTUATOR_LAW_SIZE, GEAR_SIZE, MOST_TERMS, PLACES_SIZE
from sim_bridge.engine.data.parts import Dims

# joint kinds; plain integers, because kernels freeze them as constants
GROUND = -1  # welded to the world: no unknowns
WELD = 0  # welded to another body, so that the force between them can be measured
REVOLUTE = 1
PRISMATIC = 2
BALL_STAGE = 3  # a ball joint's first or second body
BALL = 4  # a ball joint's third body: the child
FREE = 5
FREE_SINGLE = 6  # a free body carrying no other; its integrator conserves exactly
KINEMATIC = 7  # moves at a prescribed velocity, regardless of forces; coordinates as FREE

# first column of the centre of mass in Model.inertia; the columns of mass and inertia are those of
# a rigid inertia, see `inertia`
CENTRE = 1
# columns in Model.passive
ARMATURE, DAMPING, STIFFNESS, REFERENCE, FRICTION, BACK_FRICTION, BEARING = range(7)
PASSIVE_SIZE = 7
# columns in Model.limits
LOWER, UPPER, EFFORT, VELOCITY, LOWER_EFFORT = range(5)
LIMITS_SIZE = 5
# columns in Model.motor
GAIN_P, GAIN_D, MAX_EFFORT, MIN_EFFORT = range(4)
MOTOR_SIZE = 4
# columns in Model.stop
BOUNCE, ERP, CFM = range(3)
# columns in Model.mimic and Model.mimic_law
FOLLOWING, FOLLOWED = range(2)
MULTIPLIER, OFFSET = range(2)
# columns in Model.medium, see `dynamics.medium`: centre of mass [m], upper triangles (xx xy xz yy
# yz zz) of A, B, D and E, all in the body's frame; mass without gravity [kg]; greatest rate d
# [1/s]; whether A and B are coupled, and the coupling by rows [kg m]
POINT = 0
ADDED = 3
DRAG = 15
LIFTED = 27
FASTEST = 28
IS_COUPLED = 29
COUPLING = 30
MEDIUM_SIZE = 39
# columns in Model.sleep: greatest linear and angular speed of a body at rest [m/s, rad/s]; number
# of steps at rest before its tree sleeps, 0 to never sleep; number of steps over which velocities
# are averaged, and their first row in State.sample
SLOW, SLOW_TURN, REST_STEPS, SAMPLES, FIRST_SAMPLE = range(5)
SLEEP_SIZE = 5
# columns in Model.gravity: uniform gravity; then the point that attracts, its strength and
# exponent
PULL_CENTRE, PULL, EXPONENT = 3, 6, 7
GRAVITY_SIZE = 8


class Model(NamedTuple):
    """Constant arrays for the bodies and joints in a world."""

    parent: Annotated[IntVector, Dims('nb', points_at='nb')]
    """Parent body, -1 for the world."""
    root: Annotated[IntVector, Dims('nb', points_at='nb')]
    """First body of the same tree."""
    kind: Annotated[IntVector, Dims('nb')]
    """Joint kind: GROUND, WELD, REVOLUTE, PRISMATIC, BALL_STAGE … KINEMATIC."""
    q_index: Annotated[IntVector, Dims('nb', points_at='nq')]
    """First position coordinate of the body's joint."""
    v_index: Annotated[IntVector, Dims('nb', points_at='nv')]
    """First velocity coordinate of the body's joint."""
    frame: Annotated[FloatMatrix, Dims('nb', 12, unit='1; m', is_parameter=True)]
    """Joint frame at position 0 in the parent body: rotation by rows, origin."""
    inertia: Annotated[FloatMatrix, Dims('nb', 10, unit='kg; m; kg m²', is_parameter=True)]
    """Mass, centre of mass, inertia about it (xx xy xz yy yz zz), in the body's frame."""
    passive: Annotated[FloatMatrix, Dims('nv', PASSIVE_SIZE, unit='SI', is_parameter=True)]
    """
    ARMATURE, DAMPING, STIFFNESS, spring REFERENCE, Coulomb friction, BEARING.

    FRICTION: against forward motion, BACK_FRICTION: against backward motion. BEARING: friction
    growth per force borne by the joint, for loop axes; 0 for others.
    """
    limits: Annotated[
        FloatMatrix,
        Dims('nv', LIMITS_SIZE, unit='m, rad; N, N m; m/s, rad/s; N, N m', is_parameter=True),
    ]
    """
    LOWER and UPPER position, EFFORT, VELOCITY, LOWER_EFFORT; infinite for no limit.

    Command and motor effort together are between LOWER_EFFORT, at most 0, and EFFORT. VELOCITY
    limits position control only; no other motion is limited.
    """
    motor: Annotated[
        FloatMatrix,
        Dims('nv', MOTOR_SIZE, unit='N/m, N m/rad; N s/m, N m s/rad; N, N m', is_parameter=True),
    ]
    """
    Servo gains GAIN_P on position and GAIN_D on velocity.

    MAX_EFFORT, at least 0, and MIN_EFFORT, at most 0, of any motor; both 0: no motor.
    """
    stop: Annotated[
        FloatMatrix, Dims('nv', 3, unit='1; 1; m/(N s), rad/(N m s)', is_parameter=True)
    ]
    """
    BOUNCE (restitution), ERP and CFM for the stops, after ODE.

    ERP: share of the excess removed in one step. CFM: 1 / (h kp + kd) for a spring kp and a damper
    kd, with the ERP h kp CFM; 0 for a rigid stop.
    """
    mimic: Annotated[IntMatrix, Dims('nm', 2, points_at='nv')]
    """Velocity index of the following joint and of the followed joint."""
    mimic_law: Annotated[FloatMatrix, Dims('nm', 2, unit='SI')]
    """Multiplier and offset: q[following] = multiplier q[followed] + offset."""
    q_of_v: Annotated[IntVector, Dims('nv', points_at='nq')]
    """Position index of a one-axis joint, -1 for coordinates of ball and free joints."""
    sleep: Annotated[FloatMatrix, Dims('nb', SLEEP_SIZE, unit='m/s; rad/s; 1; 1; 1')]
    """Conditions for bodies to fall asleep: SLOW … FIRST_SAMPLE."""
    weight: Annotated[FloatVector, Dims('nb', unit='1')]
    """Share of its weight that acts on a body, see `medium`."""
    medium_body: Annotated[IntVector, Dims('nl', points_at='nb')]
    """Bodies of the links on which the surrounding medium acts."""
    medium: Annotated[FloatMatrix, Dims('nl', MEDIUM_SIZE, unit='SI')]
    """Medium parameters: POINT … FASTEST."""
    pulled_body: Annotated[IntVector, Dims('np', points_at='nb')]
    """Bodies of the links that have mass and on which gravity acts."""
    pulled: Annotated[FloatMatrix, Dims('np', 4, unit='kg; m')]
    """Mass and centre of mass of these links, in the body's frame."""
    actuator: Annotated[IntMatrix, Dims('nu', 2)]
    """
    TRANSMISSION and DYNAMICS of each actuator: constants in `actuators`.

    Springs and dampers of couplings follow each robot's actuators.
    """
    actuated: Annotated[IntVector, Dims('nu', points_at='nv')]
    """First velocity coordinate of the actuated ball joint, -1 for none."""
    actuator_joints: Annotated[IntMatrix, Dims('nu', MOST_TERMS, points_at='nv')]
    """For JOINTS: velocity coordinates of the joints, then -1."""
    actuator_factors: Annotated[FloatMatrix, Dims('nu', MOST_TERMS, unit='1')]
    """For JOINTS: factors of their positions."""
    actuator_body: Annotated[IntMatrix, Dims('nu', 2, points_at='nb')]
    """Bodies of the two places, or a joint's body; -1 for none."""
    actuator_place: Annotated[FloatMatrix, Dims('nu', PLACES_SIZE, unit='1; m')]
    """The two places in their bodies' frames: rotation by rows, then origin."""
    actuator_gear: Annotated[FloatMatrix, Dims('nu', GEAR_SIZE, unit='SI')]
    """Gear (6), and the ROD length [m]."""
    actuator_law: Annotated[
        FloatMatrix, Dims('nu', ACTUATOR_LAW_SIZE, unit='SI', is_parameter=True)
    ]
    """GAIN … TIME_CONSTANT, see `actuators`."""
    gravity: Annotated[FloatVector, Dims(GRAVITY_SIZE, unit='m/s²; m; m/s²; 1', is_parameter=True)]
    """
    Free-fall acceleration, world axes: a uniform part, and a part towards a point.

    The latter has the magnitude PULL rⁿ at a distance r from PULL_CENTRE, with n the EXPONENT.
    """


class Options(NamedTuple):
    """Stepper parameters."""

    time_step: float
    """Time step [s]."""
    is_smooth: int
    """1 if steps of smooth motion are fifth order, see `pipeline.runge_kutta`."""
    velocity_passes: int
    """Evaluations of the velocity-dependent forces per step; two make the step second order."""
    max_pivots: int
    """Changes of the set of locked joints per step before the step gives up."""
    solver: int
    """Solve type of the contacts: contact_materials.DIRECT, ITERATIVE or SPLIT."""
    touching: float
    """Gap that counts as closed [m], so that resting bodies do not chase a remaining gap."""
    contact_tolerance: float
    """Natural-map residual to which contacts are solved [m/s]."""
    max_sweeps: int
    """Maximum sweeps over an island's contacts, without a direct solve."""
    newton_rows: int
    """
    Rows of an island up to which Newton steps complete unfinished iterative sweeps.

    0 if the user gave the number of sweeps: then no island takes fewer, or Newton steps.
    """
    step_budget: int
    """Maximum multiplications of a contact island in a step, see `contact.budget`."""
    contact_margin: float
    """Distance below which geometries are contacts, beyond their possible motion in a step [m]."""
    detect: int
    """
    Address of the stage that finds contacts, 0 if nothing can touch.

    The addresses up to `detect_hollow`, and of `contact` and the stages it calls, may be 0 until
    geometries come close for the first time: see `simulation.late_stages`.
    """
    narrow: int
    """Address of the stage called for pairs within reach."""
    detect_convex: int
    """Address of the stage called for generic convex shapes, 0 without such shapes."""
    detect_surface: int
    """The same for meshes and height fields."""
    detect_hollow: int
    """The same for hollow cylinders and cones."""
    detect_line: int
    """The same for lines."""
    contact: int
    """Address of the stage that solves contacts."""
    refine: int
    """Address of the stage called for laws completed by `contact.refine`, or 0."""
    custom: int
    """Address of the function called for friction decided by Python, or 0."""
    hybrid: int
    """Address of the stage called if pairs of materials have solve types, or 0."""
    user_contacts: int
    """Address of the stage for user contacts, 0 without user contacts."""
    newton: int
    """Address of the stage called for contacts that sweeps do not solve."""
    share: int
    """Address of the stage that shares loads fairly, 0 if the solver is `iterative`."""
    actuators: int
    """Address of the stage for actuators, 0 without actuators."""
    loops: int
    """Address of the stage that closes loops, 0 without loops."""
    keeps_momentum: int
    """1 if steps keep the momentum of free trees to rounding, see `pipeline.keep_momentum`."""
    momentum: int
    """Address of the stage that keeps momentum, 0 if steps do not."""
    sleeps: int
    """1 if any body may rest: fall asleep, or be disabled."""


def body_count(model: Model) -> int:
    """Return the body count."""
    return len(model.parent)


def immobile_bodies(model: Model) -> np.ndarray:
    """
    Return a mask (nb,) of the bodies moved by no force: ground, kinematic, or welded to these.

    A body welded to another robot's body counts as movable: the other body may move it.
    """
    immobile = np.isin(model.kind, (GROUND, KINEMATIC))
    for body in np.flatnonzero((model.kind == WELD) & (model.parent >= 0)):
        immobile[body] = immobile[model.parent[body]]
    return immobile


_POSITIONS = {
    GROUND: 0,
    WELD: 0,
    REVOLUTE: 1,
    PRISMATIC: 1,
    BALL_STAGE: 0,
    BALL: 4,
    FREE: 7,
    FREE_SINGLE: 7,
    KINEMATIC: 7,
}
"""Position coordinates of each joint kind."""


def position_count(model: Model) -> int:
    """Return the position coordinate count."""
    return sum(map(_POSITIONS.__getitem__, model.kind.tolist()))


def velocity_count(model: Model) -> int:
    """Return the velocity coordinate count."""
    return len(model.q_of_v)


def model_sizes(model: Model) -> dict[str, int]:
    """Return the sizes of the model's dimensions, with the names in `parts.DIMENSIONS`."""
    return {
        'nb': body_count(model),
        'nq': position_count(model),
        'nv': velocity_count(model),
        'nm': len(model.mimic),
        'nl': len(model.medium_body),
        'np': len(model.pulled_body),
        'nu': len(model.actuator),
    }
