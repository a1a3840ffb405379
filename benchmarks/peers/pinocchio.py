"""
Pinocchio's articulated-body algorithm, with the semi-implicit Euler step in its examples.

Pinocchio is no simulator: only `aba` is timed, evaluated in a C++ loop by `abaInParallel`
on one thread. The steps, looped in Python, only serve to compare motions.
"""

from __future__ import annotations

import numpy as np

from benchmarks.mechanism import (
    FREE,
    Mechanism,
    Motion,
    motion_of,
    PRISMATIC,
    quaternion_from,
    rotation_from,
    State,
)
from benchmarks.peers import MissingPeerError

try:
    import pinocchio as pin
except ImportError as error:
    raise MissingPeerError('pip install pin') from error
if not pin.WITH_OPENMP:
    raise MissingPeerError('pip install pin (this build of Pinocchio is without OpenMP)')


class Pinocchio:
    """`aba`, then `integrate`."""

    version = pin.__version__

    def __init__(self, mechanism: Mechanism, time_step: float, gravity: np.ndarray):
        self._mechanism, self._time_step = mechanism, time_step
        self.model = build_model(mechanism, gravity)
        self._data = self.model.createData()
        joints = [self.model.joints[self.model.getJointId(name)] for name in mechanism.joint_names]
        self._q = [joint.idx_q for joint in joints]
        self._dq = [joint.idx_v for joint in joints]
        self.q, self.v = pin.neutral(self.model), np.zeros(self.model.nv)
        self._effort = np.zeros(self.model.nv)
        self._pool = pin.ModelPool(self.model, 1)
        self._columns = [np.empty((0, 0))] * 4  # q, v, tau and the accelerations
        self._force = np.zeros(3)

    def reset(self, state: State) -> None:
        """Put the mechanism into `state`, without forces."""
        self._force = np.zeros(3)
        self.q[self._q], self.v[self._dq] = state.q, state.dq
        if self._mechanism.is_free:
            self.q[:7] = *state.position, *quaternion_from(state.rotation)
            self.v[:6] = *state.rotation.T @ state.linear, *state.rotation.T @ state.angular

    def push(self, force: np.ndarray) -> None:
        """Apply a force [N] at body 0's centre of mass in all later steps."""
        self._force = np.asarray(force, dtype=float)

    def step(self, n: int) -> None:
        """Advance `n` steps, looped in Python."""
        for _ in range(n):
            ddq = pin.aba(self.model, self._data, self.q, self.v, self._effort, self._forces())
            self.v = self.v + self._time_step * ddq
            self.q = pin.integrate(self.model, self.q, self._time_step * self.v)

    def work(self, n: int) -> None:
        """Evaluate `aba` n times at the present state."""
        inputs = (self.q, self.v, self._effort)
        if self._columns[0].shape[1] != n:
            self._columns = [np.empty((len(x), n), order='F') for x in (*inputs, self.v)]
        for column, values in zip(self._columns, inputs, strict=False):
            column[:] = values[:, None]
        pin.abaInParallel(1, self._pool, *self._columns)

    def motion(self) -> Motion:
        """Return all body poses and velocities."""
        state = State(q=self.q[self._q], dq=self.v[self._dq])
        if self._mechanism.is_free:
            r = rotation_from(self.q[3:7])
            state = State(
                q=state.q,
                dq=state.dq,
                position=self.q[:3].copy(),
                rotation=r,
                linear=r @ self.v[:3],
                angular=r @ self.v[3:6],
            )
        return motion_of(self._mechanism, state)

    def _forces(self):
        forces = pin.StdVec_Force([pin.Force.Zero()] * self.model.njoints)
        if self._force.any():
            pin.forwardKinematics(self.model, self._data, self.q)
            local = self._data.oMi[1].rotation.T @ self._force
            forces[1] = pin.Force(local, np.cross(self._mechanism.bodies[0].com, local))
        return forces


def build_model(mechanism: Mechanism, gravity: np.ndarray) -> pin.Model:
    """Build the Pinocchio model, with its cheapest joint type for each axis."""
    model = pin.Model()
    model.gravity.linear = np.asarray(gravity, dtype=float)
    indices = []
    for body in mechanism.bodies:
        parent = 0 if body.parent < 0 else indices[body.parent]
        joint = model.addJoint(
            parent, _joint_model(body), pin.SE3(body.rotation, body.position), body.joint_name
        )
        model.appendBodyToJoint(
            joint, pin.Inertia(body.mass, body.com, body.inertia), pin.SE3.Identity()
        )
        indices.append(joint)
    return model


def _joint_model(body):
    if body.joint == FREE:
        return pin.JointModelFreeFlyer()
    kind = 'P' if body.joint == PRISMATIC else 'R'
    for axis, letter in zip(np.eye(3), 'XYZ', strict=True):
        if np.array_equal(body.axis, axis):
            return getattr(pin, f'JointModel{kind}{letter}')()
    if kind == 'P':
        return pin.JointModelPrismaticUnaligned(body.axis)
    return pin.JointModelRevoluteUnaligned(body.axis)
