"""A rigid body with the methods of ODE's."""

from __future__ import annotations

from typing import Any
import weakref

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix
from sim_bridge.foundation.validation import finite_vector, truth, unit_quaternion
from sim_bridge.ode.mass import Mass, Triple, triple
from sim_bridge.ode.world import check_world, HANDLE, rotation_of, serial, World

_PLACE = 'Body'


class Body:
    """
    A body whose origin is its centre of mass; other attributes are the user's.

    A new one has a mass of 1 kg and an inertia of 1 kg m². Vectors are sequences of three, world
    axes where nothing else is said; quaternions are w x y z, rotations nine numbers by rows.
    """

    def __init__(self, world: World) -> None:
        """Make a body at the origin, at rest."""
        self.world, self.number = check_world(world), serial()
        self.geoms: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.joints: weakref.WeakSet[Any] = weakref.WeakSet()
        self._mass = Mass()
        self._mass.setParameters(1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
        # pose and velocities of what is not in the engine yet: position, rotation, v, w
        self._own = [np.zeros(3), np.eye(3), np.zeros(3), np.zeros(3)]
        self._force, self._torque = np.zeros(3), np.zeros(3)
        self._gravity, self._motion, self._is_enabled = True, 'dynamic', True
        self._made: dict[str, Any] = {}
        self._key: Any = None
        self._modes: dict[str, Any] = {'rotation': 0, 'axis': (0.0, 0.0, 0.0)}
        self.world.admit_body(self)
        weakref.finalize(self, world.expel, self._made).atexit = False

    # --- in the engine ---------------------------------------------------------------------------

    @property
    def robot(self) -> Any:
        """The engine's body, None before it is made."""
        return self._made.get('robot')

    @property
    def is_stale(self) -> bool:
        """Whether the engine's body must be made, or made anew."""
        return self.robot is None or self._key != self._present_key()

    def _present_key(self) -> Any:
        return tuple((number, geom.version) for number, geom in list(self.geoms.items()))

    def make(self) -> None:
        """Make the engine's body, in the place of an older one."""
        p, R, v, w = self._own = self._state()
        engine = self.world.engine
        if self.robot is not None:
            engine.remove(self._made.pop('robot'))
        geoms = list(self.geoms.values())
        shapes = [placed for geom in geoms for placed in geom.placed()]
        robot = engine.add_body(
            shapes or [HANDLE], f'body {self.number}', mass=self._mass.mass,
            inertia=np.array(self._mass.I), center_of_mass=(0.0, 0.0, 0.0), position=p,
            orientation=quaternion_from_matrix(R), linear_velocity=v, angular_velocity=w)
        self._made['robot'], self._key = robot, self._present_key()
        if not self._gravity:
            robot.gravity_mode = False
        self._set_motion()
        for geom in geoms:
            if geom.placed():
                geom.bind(self.world, robot.root_link.geometries[shapes.index(geom.placed()[0])])

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
        link = robot.root_link
        moving = self._own[2:] if robot.motion == 'static' else [link.v, link.w]
        return [link.p, link.R, *moving]

    def _put(self, number: int, value: FloatArray) -> None:
        """Set one of position, rotation, v and w."""
        self._own = [*self._state()]
        self._own[number] = value
        robot = self.robot
        if robot is None:
            return
        if number < 2:
            robot.set_base_pose(self._own[0], quaternion_from_matrix(self._own[1]))
        elif robot.motion != 'static':
            robot.set_base_velocity(*self._own[2:])

    def push(self) -> None:
        """Hand forces to the next step, and forget them."""
        link = self.robot.root_link
        if self._force.any():
            link.add_force(self._force)
        if self._torque.any():
            link.add_torque(self._torque)
        self._force, self._torque = np.zeros(3), np.zeros(3)

    def damp(self, linear: float, angular: float) -> None:
        """Scale the velocities."""
        if self._motion == 'dynamic' and self._is_enabled:
            link = self.robot.root_link
            self.robot.set_base_velocity(linear * link.v, angular * link.w)

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
        """Return the rotation, nine numbers."""
        return tuple(self._state()[1].ravel().tolist())

    def setQuaternion(self, q: Any) -> None:
        """Set the rotation by a quaternion w x y z."""
        w, x, y, z = finite_vector('quaternion', q, 4, _PLACE, 'four numbers w x y z').tolist()
        self._put(1, matrix_from_quaternion(unit_quaternion((x, y, z, w), _PLACE)))

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
        """Set mass and inertia; the centre must be the origin."""
        if not isinstance(mass, Mass) or not mass.mass > 0.0:
            raise InvalidValueError('mass', mass, 'a Mass of more than 0', _PLACE)
        if any(abs(each) > 1e-9 for each in mass.c):
            raise InvalidValueError(
                'centre of mass', mass.c, 'the origin: move the geoms, by setOffsetPosition',
                _PLACE)
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
        """Add a force in body axes."""
        self.addForce(self.vectorToWorld(f))

    def addRelTorque(self, t: Vector) -> None:
        """Add a torque in body axes."""
        self.addTorque(self.vectorToWorld(t))

    def addForceAtPos(self, f: Vector, p: Vector) -> None:
        """Add a force at a point of the world."""
        force = finite_vector('force', f, 3, _PLACE)
        arm = finite_vector('point', p, 3, _PLACE) - self._state()[0]
        self.addForce(force)
        self.addTorque(np.cross(arm, force))

    def addForceAtRelPos(self, f: Vector, p: Vector) -> None:
        """Add a force at a point of the body."""
        self.addForceAtPos(f, self.getRelPointPos(p))

    def addRelForceAtPos(self, f: Vector, p: Vector) -> None:
        """Add a force in body axes at a point of the world."""
        self.addForceAtPos(self.vectorToWorld(f), p)

    def addRelForceAtRelPos(self, f: Vector, p: Vector) -> None:
        """Add a force in body axes at a point of the body."""
        self.addForceAtPos(self.vectorToWorld(f), self.getRelPointPos(p))

    def getForce(self) -> Triple:
        """Return the force that has been added [N]."""
        return triple(self._force)

    def getTorque(self) -> Triple:
        """Return the torque that has been added [N m]."""
        return triple(self._torque)

    def setForce(self, f: Vector) -> None:
        """Set the force of the next step."""
        self._force = finite_vector('force', f, 3, _PLACE)

    def setTorque(self, t: Vector) -> None:
        """Set the torque of the next step."""
        self._torque = finite_vector('torque', t, 3, _PLACE)

    # --- points and vectors ----------------------------------------------------------------------

    def getRelPointPos(self, p: Vector) -> Triple:
        """Return the world position of a point of the body."""
        position, R = self._state()[:2]
        return triple(position + R @ finite_vector('point', p, 3, _PLACE))

    def getRelPointVel(self, p: Vector) -> Triple:
        """Return the velocity of a point of the body."""
        return self.getPointVel(self.getRelPointPos(p))

    def getPointVel(self, p: Vector) -> Triple:
        """Return the velocity of the body at a point of the world."""
        position, _, v, w = self._state()
        return triple(v + np.cross(w, finite_vector('point', p, 3, _PLACE) - position))

    def getPosRelPoint(self, p: Vector) -> Triple:
        """Return a point of the world in body axes."""
        position, R = self._state()[:2]
        return triple(R.T @ (finite_vector('point', p, 3, _PLACE) - position))

    def vectorToWorld(self, v: Vector) -> Triple:
        """Turn a vector of body axes into world axes."""
        return triple(self._state()[1] @ finite_vector('vector', v, 3, _PLACE))

    def vectorFromWorld(self, v: Vector) -> Triple:
        """Turn a vector of world axes into body axes."""
        return triple(self._state()[1].T @ finite_vector('vector', v, 3, _PLACE))

    # --- modes -----------------------------------------------------------------------------------

    def enable(self) -> None:
        """Let it move again."""
        self._is_enabled = True
        self._set_motion()
        if self.robot is not None:
            # awake
            self.world.engine.simulation.invalidate()

    def disable(self) -> None:
        """Stop it, until it is enabled or a joint ties it to a body that moves."""
        self._own, self._is_enabled = self._state(), False
        self._set_motion()

    def isEnabled(self) -> bool:
        """Return whether it moves, and does not sleep."""
        return self._is_enabled and not (self.robot is not None and self.robot.is_asleep)

    @property
    def is_stopped(self) -> bool:
        """Whether `disable` stopped it."""
        return not self._is_enabled

    def setKinematic(self) -> None:
        """Let it keep its velocity, whatever pushes it."""
        self._motion = 'kinematic'
        self._set_motion()

    def setDynamic(self) -> None:
        """Let forces move it."""
        self._motion = 'dynamic'
        self._set_motion()

    def isKinematic(self) -> bool:
        """Return whether it keeps its velocity."""
        return self._motion == 'kinematic'

    def setGravityMode(self, mode: bool) -> None:
        """Set whether gravity pulls it."""
        self._gravity = truth('mode', bool(mode), _PLACE)
        if self.robot is not None:
            self.robot.gravity_mode = self._gravity

    def getGravityMode(self) -> bool:
        """Return whether gravity pulls it."""
        return self._gravity

    def setFiniteRotationMode(self, mode: int) -> None:
        """Note the mode; rotations are always finite here."""
        self._modes['rotation'] = mode

    def getFiniteRotationMode(self) -> int:
        """Return the mode that was noted."""
        return int(self._modes['rotation'])

    def setFiniteRotationAxis(self, a: Vector) -> None:
        """Note the axis, which does not matter here."""
        self._modes['axis'] = triple(finite_vector('axis', a, 3, _PLACE))

    def getFiniteRotationAxis(self) -> Triple:
        """Return the axis that was noted."""
        return triple(self._modes['axis'])

    def getNumJoints(self) -> int:
        """Return the number of joints at it."""
        return len(self.joints)
