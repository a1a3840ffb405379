"""
Scenes with contacts in MuJoCo: elliptic cones, friction without torsion and rolling.

MuJoCo has neither restitution nor an ERP. A perfectly elastic surface is a spring without damper;
otherwise contacts are MuJoCo's default, a critically damped 20 ms spring.
"""

from __future__ import annotations

from collections.abc import Mapping

import mujoco
import numpy as np

from benchmarks.mechanism import (
    Motion,
    motion_of,
    quaternion_along,
    quaternion_from,
    rotation_from,
    State,
)
from benchmarks.peers.mujoco import add_bodies
from benchmarks.scene import join_motions, Machine, Scene
from benchmarks.shapes import Box, Sphere

_STATIC, _SOLID, _ROBOT = 1, 2, 4
# half a period of the elastic surface's spring, in steps: least energy error in trials
_BOUNCE_STEPS = 6.0


class MuJoCoScene:
    """
    `mj_step`, looped in C.

    solver: NEWTON, CG or PGS. integrator: EULER or IMPLICITFAST. noslip: iterations of the pass
    that removes slip by regularized friction. stiff: make the contacts as stiff as MuJoCo
    allows, with a two-step time constant.
    """

    version = mujoco.__version__

    def __init__(
        self,
        scene: Scene,
        *,
        solver: str = 'NEWTON',
        integrator: str = 'EULER',
        noslip: int = 0,
        stiff: bool = False,
    ):
        self._scene = scene
        spec = mujoco.MjSpec()
        option = spec.option
        option.timestep, option.gravity = scene.time_step, scene.gravity
        option.integrator = getattr(mujoco.mjtIntegrator, f'mjINT_{integrator}')
        option.solver = getattr(mujoco.mjtSolver, f'mjSOL_{solver}')
        option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        option.noslip_iterations = noslip
        option.disableflags = int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)
        _Shapes(spec, scene, stiff).add()
        self.model = spec.compile()
        self._data = mujoco.MjData(self.model)
        # position and velocity addresses of each robot's joints
        self._addresses = [
            self._find_joints(f'{i}/', machine) for i, machine in enumerate(scene.machines)
        ]
        for i, machine in enumerate(scene.machines):
            self._add_springs(f'{i}/', machine)
        self.reset()

    def reset(self) -> None:
        """Set the scene's initial state, without forces."""
        mujoco.mj_resetData(self.model, self._data)
        q, v = self._data.qpos, self._data.qvel
        for i, solid in enumerate(self._scene.solids):
            _write_root(q[7 * i :], v[6 * i :], solid)
        for machine, (root, positions, velocities) in zip(
            self._scene.machines, self._addresses, strict=True
        ):
            _write_root(q[root[0] :], v[root[1] :], machine.state)
            q[positions], v[velocities] = machine.state.q, machine.state.dq

    def push(self, solid: int, force: np.ndarray) -> None:
        """Apply a force [N] at a loose body's centre of mass in all later steps."""
        self._data.xfrc_applied[1 + solid, :3] = force

    def step(self, n: int) -> None:
        """Advance `n` steps inside one call."""
        mujoco.mj_step(self.model, self._data, nstep=n)

    def motion(self) -> Motion:
        """Return all body poses and velocities."""
        # from qpos and qvel: the poses in MjData belong to the start of the step
        q, v, n = self._data.qpos, self._data.qvel, len(self._scene.solids)
        parts = []
        if n:
            poses, rates = q[: 7 * n].reshape(n, 7), v[: 6 * n].reshape(n, 6)
            rotation = _rotations(poses[:, 3:])
            parts.append(
                Motion(
                    com=poses[:, :3].copy(),
                    rotation=rotation,
                    velocity=rates[:, :3].copy(),
                    angular=np.einsum('nij,nj->ni', rotation, rates[:, 3:]),
                )
            )
        for machine, (root, positions, velocities) in zip(
            self._scene.machines, self._addresses, strict=True
        ):
            pose, rate = q[root[0] : root[0] + 7], v[root[1] : root[1] + 6]
            rotation = rotation_from(pose[[4, 5, 6, 3]])
            parts.append(
                motion_of(
                    machine.mechanism,
                    State(
                        q=q[positions],
                        dq=v[velocities],
                        position=pose[:3].copy(),
                        rotation=rotation,
                        linear=rate[:3].copy(),
                        angular=rotation @ rate[3:],
                    ),
                )
            )
        return join_motions(parts)

    @property
    def contact_count(self) -> int:
        """Contact point count in the last step."""
        return int(self._data.ncon)

    def _find_joints(self, prefix, machine):
        root = self.model.joint(prefix + machine.mechanism.bodies[0].joint_name)
        joints = [self.model.joint(prefix + name) for name in machine.mechanism.joint_names]
        return (
            (root.qposadr[0], root.dofadr[0]),
            [joint.qposadr[0] for joint in joints],
            [joint.dofadr[0] for joint in joints],
        )

    def _add_springs(self, prefix, machine):
        # in the model: its specification takes one number in some versions and three in others
        model = self.model
        for name, rest in zip(machine.mechanism.joint_names, machine.rest, strict=True):
            joint = model.joint(prefix + name)
            model.jnt_stiffness[joint.id] = machine.stiffness
            model.dof_damping[joint.dofadr] = machine.damping
            model.qpos_spring[joint.qposadr] = rest


def friction_by_material(scene: Scene) -> Mapping[str, float]:
    """
    Return one value per material; the greater of two values is the pair's friction.

    Raises ValueError if there are none: MuJoCo can only combine materials in this way.
    """
    values = {
        name: min(surface.friction for pair, surface in scene.surfaces.items() if name in pair)
        for name in scene.materials
    }
    for (a, b), surface in scene.surfaces.items():
        if max(values[a], values[b]) != surface.friction:
            raise ValueError(
                f'{scene.name}: no maximum of two values is the friction '
                f'{surface.friction} between {a!r} and {b!r}'
            )
    return values


class _Shapes:
    """Adds a scene's bodies and shapes to a specification."""

    def __init__(self, spec: mujoco.MjSpec, scene: Scene, stiff: bool):
        self._spec, self._scene = spec, scene
        self._friction = friction_by_material(scene)
        self._contact = {}
        if any(surface.restitution == 1.0 for surface in scene.surfaces.values()):
            # direct stiffness and damping of an almost hard constraint
            rate = np.pi / (_BOUNCE_STEPS * scene.time_step)
            self._contact = {
                'solref': [-(rate**2), 0.0],
                'solimp': [0.9999, 0.9999, 0.001, 0.5, 2.0],
            }
        elif stiff:
            self._contact = {'solref': [2.0 * scene.time_step, 1.0]}

    def add(self):
        spec, scene = self._spec, self._scene
        for plane in scene.planes:
            self._add_geom(
                spec.worldbody,
                plane.material,
                _STATIC,
                _SOLID | _ROBOT,
                type=mujoco.mjtGeom.mjGEOM_PLANE,
                size=[0.0, 0.0, 1.0],
                pos=plane.position,
                quat=_wxyz(quaternion_along(plane.normal)),
            )
        for i, solid in enumerate(scene.solids):
            inertia = solid.inertia
            body = spec.worldbody.add_body(
                name=f'solid {i}',
                mass=solid.mass,
                explicitinertial=True,
                fullinertia=[
                    inertia[0, 0],
                    inertia[1, 1],
                    inertia[2, 2],
                    inertia[0, 1],
                    inertia[0, 2],
                    inertia[1, 2],
                ],
            )
            body.add_freejoint()
            self._add_shape(body, solid.shape, solid.material, _SOLID, _STATIC | _SOLID | _ROBOT)
        for i, machine in enumerate(scene.machines):
            self._add_machine(machine, f'{i}/')

    def _add_machine(self, machine: Machine, prefix: str):
        mechanism = machine.mechanism
        made = add_bodies(self._spec, mechanism, prefix)
        for body, handle in zip(mechanism.bodies, made, strict=True):
            for placed in body.shapes:
                self._add_shape(
                    handle,
                    placed.shape,
                    machine.material,
                    _ROBOT,
                    _STATIC,
                    pos=placed.position,
                    quat=_wxyz(quaternion_from(placed.rotation)),
                )

    def _add_shape(self, body, shape, material, role, partners, **place):
        if isinstance(shape, Sphere):
            kind, size = mujoco.mjtGeom.mjGEOM_SPHERE, [shape.radius, 0.0, 0.0]
        elif isinstance(shape, Box):
            kind, size = mujoco.mjtGeom.mjGEOM_BOX, np.array(shape.size) / 2.0
        else:
            kind, size = mujoco.mjtGeom.mjGEOM_CYLINDER, [shape.radius, shape.length / 2.0, 0.0]
        self._add_geom(body, material, role, partners, type=kind, size=size, **place)

    def _add_geom(self, body, material, role, partners, **attributes):
        friction = self._friction[material]
        body.add_geom(
            contype=role,
            conaffinity=partners,
            condim=3 if friction else 1,
            friction=[friction, 0.0, 0.0],
            **self._contact,
            **attributes,
        )


def _wxyz(quaternion):
    return np.roll(quaternion, 1)


def _write_root(q, v, start):
    q[:3], q[3:7] = start.position, _wxyz(quaternion_from(start.rotation))
    v[:3], v[3:6] = start.linear, start.rotation.T @ start.angular


def _rotations(quaternions):
    """Return rotation matrices (n, 3, 3) for quaternions w x y z (n, 4)."""
    w, x, y, z = quaternions.T
    return (
        np.array(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
        .transpose(2, 0, 1)
        .copy()
    )
