"""
The mechanical system given to every engine: rigid bodies, one joint each, and nothing else.

No engine is used in this file. All engines' positions, velocities and energies are compared
through its few formulas, which are slow and plain on purpose. SI units; rotations map body axes to
world axes; a body's frame is its joint's frame, as in URDF.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.shapes import Placed

REVOLUTE = 'revolute'
PRISMATIC = 'prismatic'
FREE = 'free'


@dataclass(frozen=True)
class Body:
    """
    A rigid body and the joint that carries it.

    parent: parent body index, -1 for the ground; parents come before their children.
    joint: REVOLUTE, PRISMATIC or FREE (body 0 only).
    position, rotation: the joint frame in the parent's frame; it is the body's frame at
        joint position 0.
    axis: (3,) unit vector in the joint frame. com: (3,) centre of mass in the body's frame.
    inertia: (3, 3) about the centre of mass, in the body's axes.
    shapes: collision shapes, used only by scenes with contacts.
    """

    name: str
    joint_name: str
    parent: int
    joint: str
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    axis: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    shapes: tuple[Placed, ...] = ()


@dataclass(frozen=True)
class Closure:
    """
    A joint that closes a loop: a point on one body stays at a point on another.

    first, second: body indices. position, position2: (3,) the points, in their frames.
    axis: (3,) unit vector along the rotation axis, in the first body's frame; None: the
    joint turns about all axes.
    """

    first: int
    second: int
    position: np.ndarray
    position2: np.ndarray
    axis: np.ndarray | None = None


@dataclass(frozen=True)
class Mechanism:
    """
    A tree of bodies without friction, damping, springs, limits or contacts.

    closures: loop-closing joints; only the benchmark `loops` has any.
    """

    name: str
    bodies: tuple[Body, ...]
    closures: tuple[Closure, ...] = ()

    @property
    def is_free(self) -> bool:
        """Whether the root flies freely instead of hanging on the ground."""
        return self.bodies[0].joint == FREE

    @property
    def joint_names(self) -> list[str]:
        """Name the one-axis joints, in the order of State.q."""
        return [body.joint_name for body in self.bodies if body.joint != FREE]

    @property
    def mass(self) -> float:
        """Total mass [kg]."""
        return sum(body.mass for body in self.bodies)

    @property
    def dof(self) -> int:
        """Degrees of freedom."""
        return len(self.joint_names) + 6 * self.is_free


@dataclass(frozen=True)
class State:
    """
    A mechanism's configuration and velocity.

    q, dq: one value per one-axis joint. The other fields are for a free root, else ignored:
    position, rotation: the root body's frame in the world; linear, angular: the velocity of the
    frame's origin and its angular velocity, both in world axes.
    """

    q: np.ndarray
    dq: np.ndarray
    position: np.ndarray = field(default_factory=lambda: np.zeros(3))
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3))
    linear: np.ndarray = field(default_factory=lambda: np.zeros(3))
    angular: np.ndarray = field(default_factory=lambda: np.zeros(3))


@dataclass(frozen=True)
class Motion:
    """
    All body poses and velocities, in the world and about the centres of mass.

    com (n, 3), rotation (n, 3, 3), centre of mass velocity (n, 3), angular (n, 3).
    """

    com: np.ndarray
    rotation: np.ndarray
    velocity: np.ndarray
    angular: np.ndarray


def zero_state(mechanism: Mechanism) -> State:
    """Return the state with everything at zero."""
    n = len(mechanism.joint_names)
    return State(q=np.zeros(n), dq=np.zeros(n))


def random_state(mechanism: Mechanism, rng: np.random.Generator, spread: float = 0.2) -> State:
    """Draw joint positions within +-spread, at rest."""
    state = zero_state(mechanism)
    return replace(state, q=rng.uniform(-spread, spread, len(state.q)))


def rotation_about(axis: np.ndarray, angle: float) -> np.ndarray:
    """Return the rotation matrix of `angle` about the unit vector `axis` (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)


def quaternion_from(rotation: np.ndarray) -> np.ndarray:
    """Return the unit quaternion x y z w, w >= 0, for a rotation matrix."""
    # eigenvector of the largest eigenvalue of Bar-Itzhack's matrix (2000)
    r = rotation
    k = np.array(
        [
            [r[0, 0] - r[1, 1] - r[2, 2], 0.0, 0.0, 0.0],
            [r[1, 0] + r[0, 1], r[1, 1] - r[0, 0] - r[2, 2], 0.0, 0.0],
            [r[2, 0] + r[0, 2], r[2, 1] + r[1, 2], r[2, 2] - r[0, 0] - r[1, 1], 0.0],
            [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], np.trace(r)],
        ]
    )
    quaternion = np.linalg.eigh(k, UPLO='L').eigenvectors[:, -1]
    return quaternion if quaternion[3] >= 0.0 else -quaternion


def quaternion_along(direction: np.ndarray) -> np.ndarray:
    """Return the quaternion x y z w that turns z directly to a unit vector other than -z."""
    x, y, z = direction
    quaternion = np.array([-y, x, 0.0, 1.0 + z])
    return quaternion / np.linalg.norm(quaternion)


def rotation_from(quaternion: np.ndarray) -> np.ndarray:
    """Return the rotation matrix for a quaternion x y z w with any norm."""
    x, y, z, w = quaternion / np.linalg.norm(quaternion)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def motion_of(mechanism: Mechanism, state: State) -> Motion:
    """Compute all body motion from joint positions and velocities, root first."""
    n = len(mechanism.bodies)
    p, v = np.zeros((n, 3)), np.zeros((n, 3))
    r, w = np.zeros((n, 3, 3)), np.zeros((n, 3))
    joint = 0
    for i, body in enumerate(mechanism.bodies):
        if body.joint == FREE:
            p[i], r[i], v[i], w[i] = state.position, state.rotation, state.linear, state.angular
            continue
        if body.parent < 0:
            p[i], r[i] = body.position, body.rotation
        else:
            arm = r[body.parent] @ body.position
            p[i], r[i] = p[body.parent] + arm, r[body.parent] @ body.rotation
            v[i], w[i] = v[body.parent] + np.cross(w[body.parent], arm), w[body.parent]
        axis = r[i] @ body.axis
        q, dq = state.q[joint], state.dq[joint]
        if body.joint == REVOLUTE:
            r[i] = r[i] @ rotation_about(body.axis, q)
            w[i] = w[i] + axis * dq
        else:
            p[i] = p[i] + axis * q
            v[i] = v[i] + axis * dq + np.cross(w[i], axis * q)
        joint += 1
    arms = np.einsum('nij,nj->ni', r, np.array([body.com for body in mechanism.bodies]))
    return Motion(com=p + arms, rotation=r, velocity=v + np.cross(w, arms), angular=w)


def energy(mechanism: Mechanism, motion: Motion, gravity: np.ndarray) -> float:
    """Return kinetic plus potential energy [J]; the potential is 0 at the world's origin."""
    total = 0.0
    for i, body in enumerate(mechanism.bodies):
        w = motion.rotation[i].T @ motion.angular[i]
        total += 0.5 * body.mass * motion.velocity[i] @ motion.velocity[i]
        total += 0.5 * w @ body.inertia @ w - body.mass * gravity @ motion.com[i]
    return float(total)


def gap(mechanism: Mechanism, motion: Motion) -> float:
    """Return the greatest distance between two closure points [m]."""
    worst = 0.0
    for closure in mechanism.closures:
        ends = []
        for i, position in (
            (closure.first, closure.position),
            (closure.second, closure.position2),
        ):
            arm = position - mechanism.bodies[i].com
            ends.append(motion.com[i] + motion.rotation[i] @ arm)
        worst = max(worst, float(np.linalg.norm(ends[1] - ends[0])))
    return worst


def angular_momentum(mechanism: Mechanism, motion: Motion) -> np.ndarray:
    """Return the angular momentum about the common centre of mass, world axes [kg m2/s]."""
    mass = np.array([body.mass for body in mechanism.bodies])
    center = mass @ motion.com / mass.sum()
    velocity = mass @ motion.velocity / mass.sum()
    total = np.zeros(3)
    for i, body in enumerate(mechanism.bodies):
        r = motion.rotation[i]
        total += r @ body.inertia @ r.T @ motion.angular[i]
        total += body.mass * np.cross(motion.com[i] - center, motion.velocity[i] - velocity)
    return total
