"""
The compiled, constant part of a simulation: bodies in trees, their joints and mass properties.

A *body* is what moves as one: a link with everything fixed to it. Bodies are numbered so that
parents come before their children, and every body has exactly one joint to its parent (or to the
world, parent -1). A body's frame sits at its joint with the joint's axis along z, so that the
kernels need no axis vectors.

Coordinates: a one-axis joint has one number in q and one in v. A free joint has seven in q
(position of the body frame in the world [m], unit quaternion x y z w) and six in v (linear
velocity of the body frame's origin [m/s], angular velocity [rad/s], both in world axes). A welded
joint has none.

A ball joint is three consecutive bodies, two without mass and the child, whose axes are the x, y
and z of the joint frame, all fixed in the body that carries the joint: the child's axis is z of
its frame at position 0. Each has one number in v, consecutive ones: the angular velocity of the
child relative to the carrying body [rad/s], in the joint frame. The child has four in q, the unit
quaternion x y z w of its frame in the joint frame; the other two have none. That is exact:
eliminating three fixed axes one after the other is block elimination.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector

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
ARMATURE, DAMPING, STIFFNESS, REFERENCE, FRICTION = range(5)
# columns of Model.limits
LOWER, UPPER, EFFORT, VELOCITY = range(4)
# columns of Model.motor
GAIN_P, GAIN_D, MAX_EFFORT = range(3)
# columns of Model.stop
BOUNCE, ERP, CFM = range(3)
# columns of Model.mimic and Model.mimic_law
FOLLOWING, FOLLOWED = range(2)
MULTIPLIER, OFFSET = range(2)


class Model(NamedTuple):
    """Constant arrays, C-contiguous; nb bodies, nq positions, nv velocities, nm mimic joints."""

    parent: IntVector
    """(nb,) index of the parent body, -1 for the world."""
    root: IntVector
    """(nb,) index of the first body of the same tree."""
    kind: IntVector
    """(nb,) joint kind: GROUND, WELD, REVOLUTE, PRISMATIC, BALL_STAGE … KINEMATIC."""
    q_index: IntVector
    """(nb,) first position coordinate of the body's joint."""
    v_index: IntVector
    """(nb,) first velocity coordinate of the body's joint."""
    frame: FloatMatrix
    """(nb, 12) joint frame at position 0 in the parent body: rotation by rows, origin [m]."""
    inertia: FloatMatrix
    """
    (nb, 10) mass properties in the body's frame.

    Mass [kg], centre of mass [m], inertia about it (xx xy xz yy yz zz) [kg m²].
    """
    passive: FloatMatrix
    """(nv, 5) armature, damping, stiffness, reference of the spring, Coulomb friction; SI."""
    limits: FloatMatrix
    """
    (nv, 4) limits, infinite where there is none.

    Lower and upper position [m, rad], effort of command and motor together [N, N m], velocity of
    position control [m/s, rad/s]; no other motion is held to the last.
    """
    motor: FloatMatrix
    """
    (nv, 3) of the motors.

    A servo's gains by position [N/m, N m/rad] and by velocity [N s/m, N m s/rad]; greatest effort
    [N, N m].
    """
    stop: FloatMatrix
    """
    (nv, 3) of the stops, after ODE: restitution, ERP and CFM.

    ERP: share of the excess that a step takes back. CFM: 1 / (h kp + kd) of a spring kp and a
    damper kd [m/(N s), rad/(N m s)], whose ERP is h kp CFM; 0 for a rigid stop.
    """
    mimic: IntMatrix
    """(nm, 2) velocity index of the following joint and of the one it follows."""
    mimic_law: FloatMatrix
    """(nm, 2) multiplier and offset: q[following] = multiplier q[followed] + offset."""
    q_of_v: IntVector
    """(nv,) position index of a one-axis joint, -1 for coordinates of ball and free joints."""
    weight: FloatVector
    """(nb,) share of its weight that acts on a body, as `medium` has it."""
    medium_body: IntVector
    """(nl,) bodies of the links that the medium around them acts on."""
    medium: FloatMatrix
    """(nl, 29) what it does: columns in `engine.dynamics.medium`."""
    gravity: FloatVector
    """(3,) [m/s²], world axes."""


class Options(NamedTuple):
    """Numbers that steer the stepper."""

    time_step: float
    """[s]"""
    velocity_passes: int
    """Evaluations of the velocity-dependent forces per step; two make it second order."""
    max_pivots: int
    """Changes of the set of locked joints per step before the step gives up."""
    solver: int
    """Solve type of the contacts: contact.solve.DIRECT, ITERATIVE or SPLIT."""
    touching: float
    """Gap that counts as none [m], so that bodies at rest do not chase what is left open."""
    contact_tolerance: float
    """Natural-map residual to which contacts are solved [m/s]."""
    max_sweeps: int
    """Sweeps over an island's contacts at most, where it is not solved directly."""
    contact_margin: float
    """Distance below which geometries are contacts, beyond what they can move in a step [m]."""
    detect: int
    """Address of the stage that finds contacts, 0 where nothing can touch."""
    detect_convex: int
    """Address of the stage that it calls for generic convex shapes, 0 where there are none."""
    detect_surface: int
    """Likewise for meshes and height fields."""
    contact: int
    """Address of the stage that solves contacts."""
    newton: int
    """Address of the stage that it calls for what sweeps do not solve, 0 if only they are used."""
    share: int
    """Address of the stage that shares loads fairly, where `newton` is not 0."""
    loops: int
    """Address of the stage that closes loops, 0 where there are none."""
    sleep_steps: int
    """Steps that an island must be at rest to fall asleep, 0 for never."""
    sleep_linear: float
    """Velocity below which a body counts as at rest [m/s]."""
    sleep_angular: float
    """Angular velocity below which a body counts as at rest [rad/s]."""


def body_count(model: Model) -> int:
    """Return the number of bodies."""
    return len(model.parent)


def immobile_bodies(model: Model) -> np.ndarray:
    """
    Return (nb,) which bodies no force moves: ground, kinematic ones, and what is welded to it.

    What is welded to a body of another robot may be moved by it.
    """
    immobile = np.isin(model.kind, (GROUND, KINEMATIC))
    for body in np.flatnonzero((model.kind == WELD) & (model.parent >= 0)):
        immobile[body] = immobile[model.parent[body]]
    return immobile


def position_count(model: Model) -> int:
    """Return the number of position coordinates."""
    sizes = {GROUND: 0, WELD: 0, REVOLUTE: 1, PRISMATIC: 1, BALL_STAGE: 0, BALL: 4,
             FREE: 7, FREE_SINGLE: 7, KINEMATIC: 7}
    return sum(sizes[int(kind)] for kind in model.kind)


def velocity_count(model: Model) -> int:
    """Return the number of velocity coordinates."""
    return len(model.q_of_v)
