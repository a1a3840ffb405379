"""
Scenes with contacts in Bullet, through its Python package.

PyBullet has no call for many steps: `step` calls them one by one. Bullet has no springs in
joints, so this module computes robot torques in every step, as Bullet's users do.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
import tempfile
import weakref

import numpy as np

from benchmarks.mechanism import Motion, quaternion_along, quaternion_from, rotation_from
from benchmarks.peers import MissingPeerError
from benchmarks.scene import Scene
from benchmarks.shapes import Box, Shape, Sphere
from benchmarks.urdf import write_urdf

try:
    import pybullet
except ImportError as error:
    raise MissingPeerError('pip install pybullet (Python 3.11 or older)') from error

_STATIC, _SOLID, _ROBOT = 1, 2, 4

# a plane is a wide box, as in SimBenchmark: with a Bullet plane a box touches in one corner a step
_SLAB = (50.0, 50.0, 10.0)


class BulletScene:
    """
    `stepSimulation` at its defaults: 50 iterations of sequential impulses.

    maximal: loose bodies are rigid bodies; otherwise they are Featherstone bodies without joints,
    PyBullet's default. iterations: do this many, however small the residual gets.
    """

    version = f'{pybullet.getAPIVersion()}'

    def __init__(self, scene: Scene, *, maximal: bool = True, iterations: int | None = None):
        self._scene, self._maximal, self._iterations = scene, maximal, iterations
        self._friction = friction_by_material(scene)
        self._restitution = _restitution_by_material(scene)
        self._client = pybullet.connect(pybullet.DIRECT)
        weakref.finalize(self, _disconnect, self._client)
        self.reset()

    def reset(self) -> None:
        """Set the scene's initial state, without forces."""
        # built again: restoring a saved Bullet state keeps old contacts
        self._call('resetSimulation')
        self._forces: dict[int, np.ndarray] = {}
        self._shapes: dict[Shape, int] = {}
        self._set_parameters()
        for plane in self._scene.planes:
            body = self._call(
                'createMultiBody',
                0.0,
                self._shape(Box(_SLAB)),
                basePosition=list(plane.position - _SLAB[2] / 2.0 * plane.normal),
                baseOrientation=list(quaternion_along(plane.normal)),
            )
            self._finish(body, [-1], plane.material, _STATIC, _SOLID | _ROBOT)
        self._solids = [self._add_solid(solid) for solid in self._scene.solids]
        self._machines = [self._add_machine(machine) for machine in self._scene.machines]

    def push(self, solid: int, force: np.ndarray) -> None:
        """Apply a force [N] at a loose body's centre of mass in all later steps."""
        self._forces[self._solids[solid]] = np.asarray(force, dtype=float)

    def step(self, n: int) -> None:
        """Advance `n` steps, one by one."""
        client, forces, machines = self._client, self._forces, self._machines
        for _ in range(n):
            for body, force in forces.items():
                position, _ = pybullet.getBasePositionAndOrientation(body, client)
                pybullet.applyExternalForce(
                    body, -1, force, position, pybullet.WORLD_FRAME, client
                )
            for machine in machines:
                machine.pull()
            pybullet.stepSimulation(client)

    def motion(self) -> Motion:
        """Return all body poses and velocities."""
        rows = []
        for body in self._solids:
            position, orientation = self._call('getBasePositionAndOrientation', body)
            rows.append((position, orientation, *self._call('getBaseVelocity', body)))
        for machine in self._machines:
            rows += machine.rows()
        com, orientation, velocity, angular = (
            np.array(column, dtype=float) for column in zip(*rows, strict=True)
        )
        return Motion(
            com=com,
            rotation=np.array([rotation_from(q) for q in orientation]),
            velocity=velocity,
            angular=angular,
        )

    @property
    def contact_count(self) -> int:
        """Contact point count in the last step, including those at a distance."""
        return len(self._call('getContactPoints'))

    def _call(self, name, *arguments, **options):
        return getattr(pybullet, name)(*arguments, **options, physicsClientId=self._client)

    def _set_parameters(self):
        scene = self._scene
        self._call('setGravity', *scene.gravity)
        self._call('setTimeStep', scene.time_step)
        # reusing old islands and pairs in any order would make runs differ
        self._call('setPhysicsEngineParameter', deterministicOverlappingPairs=1)
        if self._iterations is not None:
            self._call(
                'setPhysicsEngineParameter',
                numSolverIterations=self._iterations,
                solverResidualThreshold=1e-30,
            )
        if scene.erp is not None:
            self._call(
                'setPhysicsEngineParameter',
                erp=scene.erp,
                contactERP=scene.erp,
                frictionERP=scene.erp,
            )

    def _add_solid(self, solid):
        orientation = quaternion_from(solid.rotation)
        body = self._call(
            'createMultiBody',
            solid.mass,
            self._shape(solid.shape),
            basePosition=list(solid.position),
            baseOrientation=list(orientation),
            useMaximalCoordinates=int(self._maximal),
        )
        # the mass as well: without it, Bullet treats a rigid body as fixed
        self._call(
            'changeDynamics',
            body,
            -1,
            mass=solid.mass,
            localInertiaDiagonal=list(np.diag(solid.inertia)),
        )
        self._finish(body, [-1], solid.material, _SOLID, _STATIC | _SOLID | _ROBOT)
        self._call('resetBaseVelocity', body, list(solid.linear), list(solid.angular))
        return body

    def _shape(self, shape):
        """Make each shape once, for all bodies with this shape."""
        if shape not in self._shapes:
            if isinstance(shape, Sphere):
                made = self._call(
                    'createCollisionShape', pybullet.GEOM_SPHERE, radius=shape.radius
                )
            elif isinstance(shape, Box):
                made = self._call(
                    'createCollisionShape',
                    pybullet.GEOM_BOX,
                    halfExtents=list(np.array(shape.size) / 2.0),
                )
            else:
                raise TypeError(f'{shape} is no shape of a loose body')
            self._shapes[shape] = made
        return self._shapes[shape]

    def _finish(self, body, links, material, role, partners):
        for link in links:
            self._call(
                'changeDynamics',
                body,
                link,
                lateralFriction=self._friction[material],
                spinningFriction=0.0,
                rollingFriction=0.0,
                linearDamping=0.0,
                angularDamping=0.0,
                restitution=self._restitution[material],
                activationState=pybullet.ACTIVATION_STATE_DISABLE_SLEEPING,
            )
            self._call('setCollisionFilterGroupMask', body, link, role, partners)

    def _add_machine(self, machine):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / 'robot.urdf'
            path.write_text(write_urdf(machine.mechanism), encoding='utf-8')
            body = self._call('loadURDF', str(path), flags=pybullet.URDF_USE_INERTIA_FROM_FILE)
        links = range(-1, self._call('getNumJoints', body))
        self._finish(body, links, machine.material, _ROBOT, _STATIC | _SOLID)
        return _Robot(machine, body, self._client)


class _Robot:
    """A robot in Bullet, and the controller that replaces its springs and dampers."""

    def __init__(self, machine, body, client):
        self._machine, self._body, self._client = machine, body, client
        mechanism, state = machine.mechanism, machine.state
        infos = [
            pybullet.getJointInfo(body, i, client)
            for i in range(pybullet.getNumJoints(body, client))
        ]
        joints = {info[1].decode(): info[0] for info in infos}
        links = {info[12].decode(): info[0] for info in infos}
        self._joints = [joints[name] for name in mechanism.joint_names]
        self._links = [links[part.name] for part in mechanism.bodies[1:]]
        for joint in joints.values():
            pybullet.changeDynamics(
                body,
                joint,
                jointDamping=0.0,
                jointLowerLimit=-1e6,
                jointUpperLimit=1e6,
                physicsClientId=client,
            )
        # Bullet brakes all joints by default
        pybullet.setJointMotorControlArray(
            body,
            self._joints,
            pybullet.VELOCITY_CONTROL,
            forces=[0.0] * len(self._joints),
            physicsClientId=client,
        )
        # Bullet's base frame is along the principal inertia axes
        self._axes = rotation_from(np.array(pybullet.getDynamicsInfo(body, -1, client)[4]))
        root = mechanism.bodies[0]
        pybullet.resetBasePositionAndOrientation(
            body,
            list(state.position + state.rotation @ root.com),
            list(quaternion_from(state.rotation @ self._axes)),
            client,
        )
        for joint, q, dq in zip(self._joints, state.q, state.dq, strict=True):
            pybullet.resetJointState(body, joint, q, dq, client)
        velocity = state.linear + np.cross(state.angular, state.rotation @ root.com)
        pybullet.resetBaseVelocity(body, list(velocity), list(state.angular), client)

    def pull(self):
        """Set the spring and damper torques for the next step."""
        machine = self._machine
        states = pybullet.getJointStates(self._body, self._joints, self._client)
        torques = [
            machine.stiffness * (rest - state[0]) - machine.damping * state[1]
            for rest, state in zip(machine.rest, states, strict=True)
        ]
        pybullet.setJointMotorControlArray(
            self._body,
            self._joints,
            pybullet.TORQUE_CONTROL,
            forces=torques,
            physicsClientId=self._client,
        )

    def rows(self):
        """Return all bodies' position, orientation, velocity and angular velocity."""
        position, orientation = pybullet.getBasePositionAndOrientation(self._body, self._client)
        rotation = rotation_from(np.array(orientation)) @ self._axes.T
        rows = [
            (
                position,
                quaternion_from(rotation),
                *pybullet.getBaseVelocity(self._body, self._client),
            )
        ]
        for state in pybullet.getLinkStates(
            self._body,
            self._links,
            computeLinkVelocity=1,
            computeForwardKinematics=1,
            physicsClientId=self._client,
        ):
            rows.append((state[0], state[5], state[6], state[7]))
        return rows


def friction_by_material(scene: Scene) -> Mapping[str, float]:
    """
    Return one value per material; the product of two values is the pair's friction.

    Raises ValueError if there are none: Bullet can only combine materials in this way.
    """
    names, pairs = scene.materials, scene.surfaces
    if not any(surface.friction for surface in pairs.values()):
        return dict.fromkeys(names, 0.0)
    # the logarithms of the values solve a linear system
    rows = np.array([[(name == a) + (name == b) for name in names] for a, b in pairs], dtype=float)
    wanted = np.log([surface.friction for surface in pairs.values()])
    logarithms = np.linalg.lstsq(rows, wanted, rcond=None)[0]
    if not np.allclose(rows @ logarithms, wanted, rtol=0.0, atol=1e-12):
        raise ValueError(f'{scene.name}: no products of values are the frictions {pairs}')
    return dict(zip(names, np.exp(logarithms), strict=True))


def _restitution_by_material(scene):
    (restitution,) = {surface.restitution for surface in scene.surfaces.values()}
    return dict.fromkeys(scene.materials, float(np.sqrt(restitution)))


def _disconnect(client):
    if pybullet.isConnected(client):
        pybullet.disconnect(client)
