"""
The compiled, constant part of a simulation: bodies in trees, their joints and mass properties.

A *body* is one rigid unit: a link with everything fixed to it. Bodies are numbered so that parents
come before their children, and every body has exactly one joint to its parent (or to the world,
parent -1). A body's frame sits at its joint with the joint's axis along z, so that the kernels
need no axis vectors.

Coordinates: a one-axis joint has one number in q and one in v. A free joint has seven in q
(position of the body frame in the world [m], unit quaternion x y z w) and six in v (linear
velocity of the body frame's origin [m/s], angular velocity [rad/s], both in world axes). A welded
joint has none.

A ball joint is three consecutive bodies, two without mass and the child. Their axes are the x, y
and z of the joint frame, all fixed in the body that carries the joint: the child's axis is z of
its frame at position 0. Each has one number in v, consecutive ones: the angular velocity of the
child relative to the carrying body [rad/s], in the joint frame. The child has four in q, the unit
quaternion x y z w of its frame in the joint frame; the other two have none. This is exact:
eliminating three fixed axes one after the other is block elimination.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from sim_bridge.engine.data.parts import Dims

# joint kinds; plain integers, because kernels freeze them as constants
GROUND = -1  # welded to the world: nothing of it has to be solved for
WELD = 0  # welded to another body, so that what passes between them can be measured
REVOLUTE = 1
PRISMATIC = 2
BALL_STAGE = 3  # first or second body of a ball joint
BALL = 4  # third one: the child
FREE = 5
FREE_SINGLE = 6  # a free body that carries no other: has an exactly conserving integrator
KINEMATIC = 7  # moves at a prescribed velocity, whatever pushes it; coordinates of a free one

# first column of the centre of mass in Model.inertia; mass and inertia are where those of a
# rigid inertia are, see `inertia`
CENTRE = 1
# columns of Model.passive
ARMATURE, DAMPING, STIFFNESS, REFERENCE, FRICTION, BACK_FRICTION, BEARING = range(7)
PASSIVE_SIZE = 7
# columns of Model.limits
LOWER, UPPER, EFFORT, VELOCITY, LOWER_EFFORT = range(5)
LIMITS_SIZE = 5
# columns of Model.motor
GAIN_P, GAIN_D, MAX_EFFORT, MIN_EFFORT = range(4)
MOTOR_SIZE = 4
# columns of Model.stop
BOUNCE, ERP, CFM = range(3)
# columns of Model.mimic and Model.mimic_law
FOLLOWING, FOLLOWED = range(2)
MULTIPLIER, OFFSET = range(2)
# columns of Model.medium, see `dynamics.medium`: the centre of mass [m], the upper triangles
# (xx xy xz yy yz zz) of A, B, D and E, all in the body's frame; mass that gravity does not act on
# [kg]; greatest rate d [1/s]
POINT = 0
ADDED = 3
DRAG = 15
LIFTED = 27
FASTEST = 28
MEDIUM_SIZE = 29
# columns of Model.sleep: speeds below which a body counts as at rest [m/s, rad/s]; for how many
# steps its tree must be so, 0 where it never sleeps; of how many steps the mean velocity counts,
# and the first of their rows in State.sample
SLOW, SLOW_TURN, REST_STEPS, SAMPLES, FIRST_SAMPLE = range(5)
SLEEP_SIZE = 5
# columns of Model.gravity: the uniform one, the point that pulls, strength and exponent of that
PULL_CENTRE, PULL, EXPONENT = 3, 6, 7
GRAVITY_SIZE = 8


class Model(NamedTuple):
    """Constant arrays of the bodies and joints of a world."""

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
    ARMATURE, DAMPING, STIFFNESS, REFERENCE of the spring, Coulomb friction, BEARING.

    FRICTION: against motion forwards, BACK_FRICTION: backwards. BEARING: how much they grow per
    force that the joint bears, of axes that close loops; 0 for others.
    """
    limits: Annotated[
        FloatMatrix,
        Dims('nv', LIMITS_SIZE, unit='m, rad; N, N m; m/s, rad/s; N, N m', is_parameter=True),
    ]
    """
    LOWER and UPPER position, EFFORT, VELOCITY, LOWER_EFFORT; infinite where there is none.

    Effort: of command and motor together, from LOWER_EFFORT, which is not above 0, to EFFORT.
    Velocity: of position control, no other motion is held to it.
    """
    motor: Annotated[
        FloatMatrix,
        Dims('nv', MOTOR_SIZE, unit='N/m, N m/rad; N s/m, N m s/rad; N, N m', is_parameter=True),
    ]
    """
    A servo's gains GAIN_P by position and GAIN_D by velocity.

    MAX_EFFORT and MIN_EFFORT of any motor, not below and not above 0; both 0: there is none.
    """
    stop: Annotated[
        FloatMatrix, Dims('nv', 3, unit='1; 1; m/(N s), rad/(N m s)', is_parameter=True)
    ]
    """
    BOUNCE (restitution), ERP and CFM of the stops, after ODE.

    ERP: share of the excess that a step takes back. CFM: 1 / (h kp + kd) of a spring kp and a
    damper kd, whose ERP is h kp CFM; 0 for a rigid stop.
    """
    mimic: Annotated[IntMatrix, Dims('nm', 2, points_at='nv')]
    """Velocity index of the following joint and of the one it follows."""
    mimic_law: Annotated[FloatMatrix, Dims('nm', 2, unit='SI')]
    """Multiplier and offset: q[following] = multiplier q[followed] + offset."""
    q_of_v: Annotated[IntVector, Dims('nv', points_at='nq')]
    """Position index of a one-axis joint, -1 for coordinates of ball and free joints."""
    sleep: Annotated[FloatMatrix, Dims('nb', SLEEP_SIZE, unit='m/s; rad/s; 1; 1; 1')]
    """When bodies fall asleep: SLOW … FIRST_SAMPLE."""
    weight: Annotated[FloatVector, Dims('nb', unit='1')]
    """Share of its weight that acts on a body, as `medium` has it."""
    medium_body: Annotated[IntVector, Dims('nl', points_at='nb')]
    """Bodies of the links that the medium around them acts on."""
    medium: Annotated[FloatMatrix, Dims('nl', MEDIUM_SIZE, unit='SI')]
    """What it does: POINT … FASTEST."""
    pulled_body: Annotated[IntVector, Dims('np', points_at='nb')]
    """Bodies of the links that have mass and that gravity acts on."""
    pulled: Annotated[FloatMatrix, Dims('np', 4, unit='kg; m')]
    """Their mass and centre of mass, in the body's frame."""
    gravity: Annotated[FloatVector, Dims(GRAVITY_SIZE, unit='m/s²; m; m/s²; 1', is_parameter=True)]
    """
    Acceleration of free fall, world axes: a uniform one, and that towards a point.

    The latter has the magnitude PULL rⁿ at a distance r from PULL_CENTRE, with n the EXPONENT.
    """


class Options(NamedTuple):
    """Parameters of the stepper."""

    time_step: float
    """[s]"""
    is_smooth: int
    """1 if steps of smooth motion are of fifth order, see `pipeline.runge_kutta`."""
    velocity_passes: int
    """Evaluations of the velocity-dependent forces per step; two make it second order."""
    max_pivots: int
    """Changes of the set of locked joints per step before the step gives up."""
    solver: int
    """Solve type of the contacts: contact_materials.DIRECT, ITERATIVE or SPLIT."""
    touching: float
    """Gap that counts as none [m], so that bodies at rest do not chase what is left open."""
    contact_tolerance: float
    """Natural-map residual to which contacts are solved [m/s]."""
    max_sweeps: int
    """Sweeps over an island's contacts at most, where it is not solved directly."""
    newton_rows: int
    """Rows of an island up to which Newton steps complete what iterative sweeps do not solve."""
    step_budget: int
    """Multiplications that an island of contacts may take in a step, see `contact.budget`."""
    contact_margin: float
    """Distance below which geometries are contacts, beyond what they can move in a step [m]."""
    detect: int
    """
    Address of the stage that finds contacts, 0 where nothing can touch.

    Those of the stages up to `detect_hollow`, of `contact` and of what that calls may be 0 until
    geometries come close for the first time: see `simulation.late_stages`.
    """
    narrow: int
    """Address of the stage that it calls for pairs within reach."""
    detect_convex: int
    """Address of the stage that it calls for generic convex shapes, 0 where there are none."""
    detect_surface: int
    """Likewise for meshes and height fields."""
    detect_hollow: int
    """Likewise for hollow cylinders and cones."""
    detect_line: int
    """Likewise for lines."""
    contact: int
    """Address of the stage that solves contacts."""
    refine: int
    """Address of the stage that it calls for laws which `contact.refine` completes, or 0."""
    custom: int
    """Address of the function that it calls for friction which Python decides, or 0."""
    hybrid: int
    """Address of the stage that it calls where pairs of materials have solve types, or 0."""
    user_contacts: int
    """Address of the stage of contacts that users make, 0 where nobody does."""
    newton: int
    """Address of the stage that it calls for what sweeps do not solve."""
    share: int
    """Address of the stage that shares loads fairly, 0 if the solver is `iterative`."""
    loops: int
    """Address of the stage that closes loops, 0 where there are none."""
    keeps_momentum: int
    """1 if steps keep the momentum of free trees to rounding, see `pipeline.keep_momentum`."""
    momentum: int
    """Address of the stage that does so, 0 where steps do not."""
    sleeps: int
    """1 where any body may rest: fall asleep, or be disabled."""


def body_count(model: Model) -> int:
    """Return the number of bodies."""
    return len(model.parent)


def immobile_bodies(model: Model) -> np.ndarray:
    """
    Return (nb,) a mask of bodies that no force moves: ground, kinematic, and welded to them.

    A body welded to another robot's body may be moved by it.
    """
    immobile = np.isin(model.kind, (GROUND, KINEMATIC))
    for body in np.flatnonzero((model.kind == WELD) & (model.parent >= 0)):
        immobile[body] = immobile[model.parent[body]]
    return immobile


def position_count(model: Model) -> int:
    """Return the number of position coordinates."""
    sizes = {
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
    return sum(sizes[int(kind)] for kind in model.kind)


def velocity_count(model: Model) -> int:
    """Return the number of velocity coordinates."""
    return len(model.q_of_v)


def model_sizes(model: Model) -> dict[str, int]:
    """Return the sizes of the model's dimensions, as `parts.DIMENSIONS` names them."""
    return {
        'nb': body_count(model),
        'nq': position_count(model),
        'nv': velocity_count(model),
        'nm': len(model.mimic),
        'nl': len(model.medium_body),
        'np': len(model.pulled_body),
    }
