"""Rigid body with the methods of ODE's body."""

from __future__ import annotations

from typing import Any
import weakref

import numpy as np

from sim_bridge.engine.pipeline import observe
from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.foundation.validation import finite_vector, truth
from sim_bridge.ode.damping import Damping, WithDamping
from sim_bridge.ode.mass import Mass, rotation_of, Triple, triple, turned_by
from sim_bridge.ode.resting import AutoDisable
from sim_bridge.ode.world import check_world, HANDLE, serial, World
from sim_bridge.simulation.records import Sleep

_PLACE = 'Body'
# zero force or torque before anything is added
_NOTHING = np.zeros(3)
_NOTHING.flags.writeable = False
# slices of position, rotation, v and w in an observed site row
_SITE = [
    slice(first, first + count)
    for first, count in (
        (observe.SITE_POSITION, 3),
        (observe.SITE_ROTATION, 9),
        (observe.SITE_V, 3),
        (observe.SITE_W, 3),
    )
]


class Body(AutoDisable, WithDamping):
    """
    Body with its origin at the centre of mass; other attributes are the user's.

    A new body has a mass of 1 kg and an inertia of 1 kg m². Vectors are sequences with three
    numbers, in world axes unless stated otherwise; quaternions are w x y z, rotations nine numbers
    by rows.
    """

    def __init__(self, world: World) -> None:
        """Add a body at the origin, at rest."""
        self.world, self.number = check_world(world), serial()
        self.geoms: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.joints: weakref.WeakSet[Any] = weakref.WeakSet()
        self._mass = Mass()
        self._mass.setParameters(1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
        # state while the body is not in the engine: position, rotation, v, w
        self._own = [np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3)]
        self._force = self._torque = _NOTHING
        self._gravity, self._motion, self._is_enabled = True, 'dynamic', True
        self._damped: Damping | None = None
        self._sleep: tuple[bool, Sleep] | None = None
        self._made: dict[str, Any] = {}
        self._modes: dict[str, Any] = {'rotation': 0, 'axis': (0.0, 0.0, 0.0)}
        self.world.admit_body(self)
        weakref.finalize(self, world.expel, self._made).atexit = False

    # --- in the engine ---------------------------------------------------------------------------

    @property
    def robot(self) -> Any:
        """The engine's body, None before it exists."""
        return self._made.get('robot')

    def renew(self) -> None:
        """Rebuild the engine's body before the next step or query."""
        self.world.renew(self)

    def begin(self) -> dict[str, Any]:
        """Return the arguments for the engine's new body, and remove the old one."""
        p, R, v, w = self._own = self._state()
        if self.robot is not None:
            self.world.engine.remove(self._made.pop('robot'))
        shapes = [placed for geom in list(self.geoms.values()) for placed in geom.placed()]
        return {
            'shapes': shapes or [HANDLE],
            'name': f'body {self.number}',
            'mass': self._mass.mass,
            'inertia': np.array(self._mass.I),
            'center_of_mass': (0.0, 0.0, 0.0),
            'position': p,
            'orientation': quaternion_from_matrix(R),
            'linear_velocity': v,
            'angular_velocity': w,
        }

    def take(self, robot: Any) -> None:
        """Take the engine's body, built with the arguments from `begin`."""
        self._made['robot'] = robot
        if not self._gravity:
            robot.gravity_mode = False
        self._set_motion()
        if self._sleep is not None:
            self._set_sleep()
        geometries = {each.name: each for each in robot.root_link.geometries}
        for geom in list(self.geoms.values()):
            geom.bind(geometries.get(geom.name))

    def _set_motion(self) -> None:
        robot, motion = self.robot, self._motion if self._is_enabled else 'static'
        if robot is not None and robot.motion != motion:
            self._own = self._state()
            robot.motion = motion
            if motion != 'static':
                robot.set_base_velocity(*self._own[2:])

    def _state(self) -> list[FloatArray]:
        """Return position, rotation and velocities."""
        robot = self.robot
        if robot is None:
            return self._own
        row = robot.site(robot.root_link)
        p, R, v, w = (row[each].copy() for each in _SITE)
        if robot.motion == 'static':
            v, w = self._own[2:]
        return [p, R.reshape(3, 3), v, w]

    def pose(self) -> tuple[FloatArray, FloatArray]:
        """Return position (3,) [m] and rotation (3, 3)."""
        p, R, *_ = self._state()
        return p, R

    def _put(self, number: int, value: FloatArray) -> None:
        """Set one item of the state: 0 position, 1 rotation, 2 v, 3 w."""
        self._own = [*self._state()]
        self._own[number] = value
        robot = self.robot
        self.world.found.clear()
        if robot is None:
            return
        if number < 2:
            robot.set_base_pose(self._own[0], quaternion_from_matrix(self._own[1]))
        elif robot.motion != 'static':
            robot.set_base_velocity(*self._own[2:])

    def push(self) -> None:
        """Apply the added forces to the next step, and reset them."""
        if self._force is not _NOTHING and self._force.any():
            self.robot.root_link.add_force(self._force)
        if self._torque is not _NOTHING and self._torque.any():
            self.robot.root_link.add_torque(self._torque)
        self._force = self._torque = _NOTHING

    def damp(self) -> None:
        """Damp the velocities after a step."""
        damping = self._damping()
        if not damping.acts or self._motion != 'dynamic' or not self._is_enabled:
            return
        v, w = self._state()[2:]
        damped = damping.damped(v, w)
        if damped[0] is not v or damped[1] is not w:
            self.robot.set_base_velocity(*damped)

    def _damping(self) -> Damping:
        return self._damped or self.world._damping()

    def _damp_by(self, damping: Damping) -> None:
        self._damped = damping

    def setDampingDefaults(self) -> None:
        """Use the world's damping again."""
        self._damped = None

    def _resting(self) -> tuple[bool, Sleep]:
        return self._sleep or self.world._resting()

    def _rest(self, flag: bool, sleep: Sleep) -> None:
        self._sleep = flag, sleep
        self._set_sleep()

    def setAutoDisableDefaults(self) -> None:
        """Use the world's auto-disable settings again."""
        self._sleep = None
        self._set_sleep()

    def _set_sleep(self) -> None:
        if self.robot is not None:
            flag, sleep = self._sleep or (None, None)
            self.robot.sleep = sleep if flag else flag

    # --- pose and motion -------------------------------------------------------------------------

    def setPosition(self, pos: Vector) -> None:
        """Set the position [m]."""
        self._put(0, finite_vector('position', pos, 3, _PLACE))

    def getPosition(self) -> Triple:
        """Return the position [m]."""
        return triple(self._state()[0])

    def setRotation(self, R: Any) -> None:
        """Set the rotation."""
        self._put(1, rotation_of(R, _PLACE))

    def getRotation(self) -> tuple[float, ...]:
        """Return the rotation, nine numbers by rows."""
        return tuple(self._state()[1].ravel().tolist())

    def setQuaternion(self, q: Any) -> None:
        """Set the rotation by a quaternion w x y z."""
        self._put(1, turned_by(q, _PLACE))

    def getQuaternion(self) -> tuple[float, float, float, float]:
        """Return the quaternion w x y z."""
        x, y, z, w = quaternion_from_matrix(self._state()[1]).tolist()
        return w, x, y, z

    def setLinearVel(self, vel: Vector) -> None:
        """Set the velocity [m/s]."""
        self._put(2, finite_vector('velocity', vel, 3, _PLACE))

    def getLinearVel(self) -> Triple:
        """Return the velocity [m/s]."""
        return triple(self._state()[2])

    def setAngularVel(self, vel: Vector) -> None:
        """Set the angular velocity [rad/s]."""
        self._put(3, finite_vector('angular velocity', vel, 3, _PLACE))

    def getAngularVel(self) -> Triple:
        """Return the angular velocity [rad/s]."""
        return triple(self._state()[3])

    # --- mass and forces -------------------------------------------------------------------------

    def setMass(self, mass: Mass) -> None:
        """Set mass and inertia; the centre of mass must be the origin."""
        if not isinstance(mass, Mass) or not mass.mass > 0.0:
            raise InvalidValueError('mass', mass, 'a Mass above 0 kg', _PLACE)
        if any(abs(each) > 1e-9 for each in mass.c):
            raise InvalidValueError(
                'centre of mass',
                mass.c,
                'the origin: move the geoms, by setOffsetPosition',
                _PLACE,
            )
        own = Mass()
        own.add(mass)
        self._mass = own
        if self.robot is not None:
            link = self.robot.root_link
            link.m, link.I = own.mass, np.array(own.I)

    def getMass(self) -> Mass:
        """Return a copy of the mass properties."""
        own = Mass()
        own.add(self._mass)
        return own

    def addForce(self, f: Vector) -> None:
        """Add a force at the origin for the next step [N]."""
        self._force = self._force + finite_vector('force', f, 3, _PLACE)

    def addTorque(self, t: Vector) -> None:
        """Add a torque for the next step [N m]."""
        self._torque = self._torque + finite_vector('torque', t, 3, _PLACE)

    def addRelForce(self, f: Vector) -> None:
        """Add a force in body axes [N]."""
        self.addForce(self.vectorToWorld(f))

    def addRelTorque(self, t: Vector) -> None:
        """Add a torque in body axes [N m]."""
        self.addTorque(self.vectorToWorld(t))

    def addForceAtPos(self, f: Vector, p: Vector) -> None:
        """Add a force [N] at a world point [m]."""
        force = finite_vector('force', f, 3, _PLACE)
        arm = finite_vector('point', p, 3, _PLACE) - self._state()[0]
        self.addForce(force)
        self.addTorque(np.cross(arm, force))

    def addForceAtRelPos(self, f: Vector, p: Vector) -> None:
        """Add a force [N] at a body point [m]."""
        self.addForceAtPos(f, self.getRelPointPos(p))

    def addRelForceAtPos(self, f: Vector, p: Vector) -> None:
        """Add a force in body axes [N] at a world point [m]."""
        self.addForceAtPos(self.vectorToWorld(f), p)

    def addRelForceAtRelPos(self, f: Vector, p: Vector) -> None:
        """Add a force in body axes [N] at a body point [m]."""
        self.addForceAtPos(self.vectorToWorld(f), self.getRelPointPos(p))

    def getForce(self) -> Triple:
        """Return the force added for the next step [N]."""
        return triple(self._force)

    def getTorque(self) -> Triple:
        """Return the torque added for the next step [N m]."""
        return triple(self._torque)

    def setForce(self, f: Vector) -> None:
        """Set the force for the next step [N]."""
        self._force = finite_vector('force', f, 3, _PLACE)

    def setTorque(self, t: Vector) -> None:
        """Set the torque for the next step [N m]."""
        self._torque = finite_vector('torque', t, 3, _PLACE)

    # --- points and vectors ----------------------------------------------------------------------

    def getRelPointPos(self, p: Vector) -> Triple:
        """Return the world position of a body point [m]."""
        position, R = self._state()[:2]
        return triple(position + R @ finite_vector('point', p, 3, _PLACE))

    def getRelPointVel(self, p: Vector) -> Triple:
        """Return the velocity of a body point [m/s], world axes."""
        return self.getPointVel(self.getRelPointPos(p))

    def getPointVel(self, p: Vector) -> Triple:
        """Return the body's velocity at a world point [m/s], world axes."""
        position, _, v, w = self._state()
        return triple(v + np.cross(w, finite_vector('point', p, 3, _PLACE) - position))

    def getPosRelPoint(self, p: Vector) -> Triple:
        """Return a world point in the body frame [m]."""
        position, R = self._state()[:2]
        return triple(R.T @ (finite_vector('point', p, 3, _PLACE) - position))

    def vectorToWorld(self, v: Vector) -> Triple:
        """Rotate a vector from body axes to world axes."""
        return triple(self._state()[1] @ finite_vector('vector', v, 3, _PLACE))

    def vectorFromWorld(self, v: Vector) -> Triple:
        """Rotate a vector from world axes to body axes."""
        return triple(self._state()[1].T @ finite_vector('vector', v, 3, _PLACE))

    # --- modes -----------------------------------------------------------------------------------

    def enable(self) -> None:
        """Let the body move again."""
        self._is_enabled = True
        self._set_motion()
        if self.robot is not None:
            # wakes the body
            self.world.engine.simulation.staleness.mark_parameters()

    def disable(self) -> None:
        """Stop the body, until it is enabled or a joint connects it to a moving body."""
        self._own, self._is_enabled = self._state(), False
        self._set_motion()

    def isEnabled(self) -> bool:
        """Return whether the body moves, and is not asleep."""
        return self._is_enabled and not (self.robot is not None and self.robot.is_asleep)

    @property
    def is_stopped(self) -> bool:
        """Whether `disable` stopped it."""
        return not self._is_enabled

    def setKinematic(self) -> None:
        """Let the body keep its velocity, independent of forces."""
        self._motion = 'kinematic'
        self._set_motion()

    def setDynamic(self) -> None:
        """Let forces move the body."""
        self._motion = 'dynamic'
        self._set_motion()

    def isKinematic(self) -> bool:
        """Return whether the body keeps its velocity."""
        return self._motion == 'kinematic'

    def setGravityMode(self, mode: bool) -> None:
        """Set whether gravity acts on the body."""
        self._gravity = truth('mode', bool(mode), _PLACE)
        if self.robot is not None:
            self.robot.gravity_mode = self._gravity

    def getGravityMode(self) -> bool:
        """Return whether gravity acts on the body."""
        return self._gravity

    def setFiniteRotationMode(self, mode: int) -> None:
        """Store the mode; rotations are always finite here."""
        self._modes['rotation'] = mode

    def getFiniteRotationMode(self) -> int:
        """Return the stored mode."""
        return int(self._modes['rotation'])

    def setFiniteRotationAxis(self, a: Vector) -> None:
        """Store the axis; it has no effect here."""
        self._modes['axis'] = triple(finite_vector('axis', a, 3, _PLACE))

    def getFiniteRotationAxis(self) -> Triple:
        """Return the stored axis."""
        return triple(self._modes['axis'])

    def getNumJoints(self) -> int:
        """Return the number of attached joints."""
        return len(self.joints)

    def getJoint(self, index: int) -> Any:
        """Return one attached joint, in order of creation."""
        joints = sorted(self.joints, key=lambda joint: joint.number)
        if not 0 <= index < len(joints):
            raise IndexError(f'index is {index!r}; expected 0 to {len(joints) - 1}')
        return joints[index]
