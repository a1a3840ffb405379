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
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# joint kinds; plain integers, because kernels freeze them as constants
WELD = 0
REVOLUTE = 1
PRISMATIC = 2
FREE = 3
FREE_SINGLE = 4  # a free body that carries no other: stepped with its own, exactly conserving integrator

# columns of Model.passive
ARMATURE, DAMPING, STIFFNESS, REFERENCE, FRICTION = range(5)
# columns of Model.limits
LOWER, UPPER, EFFORT, VELOCITY = range(4)


class Model(NamedTuple):
    """Constant arrays, C-contiguous; nb bodies, nq positions, nv velocities, nm mimic joints."""

    parent: np.ndarray
    """(nb,) index of the parent body, -1 for the world."""
    root: np.ndarray
    """(nb,) index of the first body of the same tree."""
    kind: np.ndarray
    """(nb,) joint kind: WELD, REVOLUTE, PRISMATIC, FREE or FREE_SINGLE."""
    q_index: np.ndarray
    """(nb,) first position coordinate of the body's joint."""
    v_index: np.ndarray
    """(nb,) first velocity coordinate of the body's joint."""
    frame: np.ndarray
    """
    (nb, 12) joint frame at position 0 in the parent body's frame: rotation by rows, then
    origin [m].
    """
    inertia: np.ndarray
    """
    (nb, 10) mass [kg], centre of mass [m], inertia about it (xx xy xz yy yz zz) [kg m²]; body
    frame.
    """
    passive: np.ndarray
    """
    (nv, 5) armature, damping, stiffness, reference position of the spring, Coulomb friction;
    SI.
    """
    limits: np.ndarray
    """
    (nv, 4) lower and upper position, effort, velocity that is enforced; infinite where there
    is none.
    """
    mimic: np.ndarray
    """(nm, 2) velocity index of the following joint and of the one it follows."""
    mimic_law: np.ndarray
    """(nm, 2) multiplier and offset: q[following] = multiplier q[followed] + offset."""
    q_of_v: np.ndarray
    """
    (nv,) position index of a one-axis joint's velocity index, -1 for the coordinates of a free
    joint.
    """
    gravity: np.ndarray
    """(3,) [m/s²], world axes."""


class Options(NamedTuple):
    """Numbers that steer the stepper."""

    time_step: float
    """s"""
    stop_erp: float
    """share of a joint's excess beyond its stop that one step takes back"""
    velocity_passes: int
    """evaluations of the velocity-dependent forces per step; two make the step second order"""
    max_pivots: int
    """changes of the set of locked joints per step before the step gives up"""


def body_count(model: Model) -> int:
    """Give the number of bodies."""
    return len(model.parent)


def position_count(model: Model) -> int:
    """Give the number of position coordinates."""
    return sum({WELD: 0, REVOLUTE: 1, PRISMATIC: 1, FREE: 7, FREE_SINGLE: 7}[int(k)] for k in model.kind)


def velocity_count(model: Model) -> int:
    """Give the number of velocity coordinates."""
    return len(model.q_of_v)
