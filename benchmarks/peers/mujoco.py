"""MuJoCo, through its Python package; the model is built body by body, without contacts."""

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
    import mujoco
except ImportError as error:
    raise MissingPeerError('pip install mujoco') from error

_APART = 0.1  # distance between the two points on a hinge axis [m]


class MuJoCo:
    """`mj_step`, looped in C, with the integrator EULER, IMPLICITFAST or RK4."""

    version = mujoco.__version__

    def __init__(
        self,
        mechanism: Mechanism,
        time_step: float,
        gravity: np.ndarray,
        integrator: str = 'EULER',
    ):
        self._mechanism = mechanism
        self.model = _compile(mechanism, time_step, gravity, integrator)
        self._data = mujoco.MjData(self.model)
        names = mechanism.joint_names
        self._q = [self.model.joint(name).qposadr[0] for name in names]
        self._dq = [self.model.joint(name).dofadr[0] for name in names]

    def reset(self, state: State) -> None:
        """Put the mechanism into `state`, without forces."""
        mujoco.mj_resetData(self.model, self._data)
        self._data.qpos[self._q] = state.q
        self._data.qvel[self._dq] = state.dq
        if self._mechanism.is_free:
            x, y, z, w = quaternion_from(state.rotation)
            self._data.qpos[:3] = state.position
            self._data.qpos[3:7] = w, x, y, z
            self._data.qvel[:3] = state.linear
            self._data.qvel[3:6] = state.rotation.T @ state.angular

    def push(self, force: np.ndarray) -> None:
        """Apply a force [N] at body 0's centre of mass in all later steps."""
        self._data.xfrc_applied[1, :3] = force

    def step(self, n: int) -> None:
        """Advance `n` steps inside one call."""
        mujoco.mj_step(self.model, self._data, nstep=n)

    work = step

    def motion(self) -> Motion:
        """Return all body poses and velocities."""
        # from qpos and qvel: the poses in MjData belong to the start of the step
        q, v = self._data.qpos, self._data.qvel
        state = State(q=q[self._q], dq=v[self._dq])
        if self._mechanism.is_free:
            rotation = rotation_from(q[[4, 5, 6, 3]])
            state = State(
                q=state.q,
                dq=state.dq,
                position=q[:3].copy(),
                rotation=rotation,
                linear=v[:3].copy(),
                angular=rotation @ v[3:6],
            )
        return motion_of(self._mechanism, state)


def add_bodies(spec: mujoco.MjSpec, mechanism: Mechanism, prefix: str = '') -> list:
    """Add a mechanism's bodies and their joints, named with `prefix`; return the bodies."""
    made = []
    for body in mechanism.bodies:
        parent = spec.worldbody if body.parent < 0 else made[body.parent]
        x, y, z, w = quaternion_from(body.rotation)
        i = body.inertia
        child = parent.add_body(
            name=prefix + body.name,
            pos=body.position,
            quat=[w, x, y, z],
            mass=body.mass,
            ipos=body.com,
            explicitinertial=True,
            fullinertia=[i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]],
        )
        if body.joint == FREE:
            child.add_freejoint(name=prefix + body.joint_name)
        else:
            slide = body.joint == PRISMATIC
            kind = mujoco.mjtJoint.mjJNT_SLIDE if slide else mujoco.mjtJoint.mjJNT_HINGE
            child.add_joint(name=prefix + body.joint_name, type=kind, axis=body.axis)
        made.append(child)
    return made


def _compile(mechanism, time_step, gravity, integrator):
    spec = mujoco.MjSpec()
    spec.option.timestep = time_step
    spec.option.gravity = gravity
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f'mjINT_{integrator}')
    # without autoreset: a diverging motion shall be visible, not restarted silently
    off = mujoco.mjtDisableBit
    spec.option.disableflags = int(off.mjDSBL_CONTACT) | int(off.mjDSBL_AUTORESET)
    add_bodies(spec, mechanism)
    _add_closures(spec, mechanism)
    return spec.compile()


def _add_closures(spec, mechanism):
    """Add constraints for one point each; two of them for a hinge, which leave its axis free."""
    for closure in mechanism.closures:
        points = [closure.position]
        if closure.axis is not None:
            points.append(closure.position + _APART * closure.axis)
        for point in points:
            data = np.zeros(mujoco.mjNEQDATA)
            data[:3] = point
            spec.add_equality(
                type=mujoco.mjtEq.mjEQ_CONNECT,
                objtype=mujoco.mjtObj.mjOBJ_BODY,
                name1=mechanism.bodies[closure.first].name,
                name2=mechanism.bodies[closure.second].name,
                data=data,
            )
