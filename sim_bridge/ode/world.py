"""A dynamics world with the methods of ODE's, over a `sim_bridge.World`."""

from __future__ import annotations

from itertools import count
from typing import Any
import weakref

import numpy as np

from sim_bridge.foundation.arrays import Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector, number_from, truth
from sim_bridge.ode.mass import Triple, triple
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.shapes import Sphere
from sim_bridge.simulation.records import Sleep
from sim_bridge.simulation.settings import checked
from sim_bridge.world.world import World as Engine

GROUP = 'ode'
"""The collision group of all geoms, which find no contacts by themselves."""
HANDLE = Placed(Sphere(1e-3), enabled=False, mass=False, groups={GROUP})
"""What contacts of bodies without geoms are made with."""

_SERIAL = count()


def serial() -> int:
    """Return the next number; the order of creation is that of the engine."""
    return next(_SERIAL)


class World:
    """
    Bodies and joints, and the step that advances them.

    Steps are those of `sim_bridge`, of second order, with joints that hold to rounding where CFM
    is 0, the default here. A joint, body or geom goes when nothing refers to it any more.
    """

    def __init__(self) -> None:
        """Make an empty world without gravity."""
        self.engine = Engine(gravity=(0.0, 0.0, 0.0), erp=0.2, cfm=0.0)
        """The world of `sim_bridge`; what is added to it directly lives on beside the bodies."""
        self.engine.set_group_collision(GROUP, GROUP, False)
        self._bodies: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._joints: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._gone: list[Any] = []
        self._sleep, self._flag = Sleep(), False
        self._layer, self._most = 0.0, float('inf')
        self._linear_damping = self._angular_damping = 0.0
        self._environment: Any = None
        self._iterations = 20

    # --- settings --------------------------------------------------------------------------------

    def setGravity(self, gravity: Vector) -> None:
        """Set gravity [m/s²]."""
        self.engine.gravity = triple(finite_vector('gravity', gravity, 3, 'World'))

    def getGravity(self) -> Triple:
        """Return gravity [m/s²]."""
        return triple(self.engine.gravity)

    def setERP(self, erp: float) -> None:
        """Set the ERP of joints and contacts without one of their own."""
        self.engine.erp = erp
        self._reset_joints()

    def getERP(self) -> float:
        """Return the ERP."""
        return self.engine.erp

    def setCFM(self, cfm: float) -> None:
        """Set the CFM of joints and contacts without one of their own; 0, the default: rigid."""
        self.engine.cfm = cfm
        self._reset_joints()

    def getCFM(self) -> float:
        """Return the CFM."""
        return self.engine.cfm

    def setQuickStepNumIterations(self, num: int) -> None:
        """Set the most sweeps of quickStep."""
        checked('iterations', num)
        self._iterations = num

    def getQuickStepNumIterations(self) -> int:
        """Return the most sweeps of quickStep."""
        return self._iterations

    def setContactMaxCorrectingVel(self, vel: float) -> None:
        """Set the greatest velocity by which contacts take overlap back [m/s]."""
        self._most = vel if vel == float('inf') else number_from(
            'vel', vel, 0.0, float('inf'), 'World', 'a number of at least 0 [m/s]')

    def getContactMaxCorrectingVel(self) -> float:
        """Return that velocity."""
        return self._most

    def setContactSurfaceLayer(self, depth: float) -> None:
        """Set the overlap that contacts leave [m]."""
        self._layer = number_from(
            'depth', depth, 0.0, float('inf'), 'World', 'a number of at least 0 [m]')

    def getContactSurfaceLayer(self) -> float:
        """Return that overlap."""
        return self._layer

    def setAutoDisableFlag(self, flag: bool) -> None:
        """Set whether bodies at rest fall asleep, those that exist too."""
        self._flag = truth('flag', bool(flag))
        self._apply_sleep()

    def getAutoDisableFlag(self) -> bool:
        """Return whether they do."""
        return self._flag

    def _apply_sleep(self, **changed: float) -> None:
        own = {name: getattr(self._sleep, name) for name in ('linear', 'angular', 'steps', 'time')}
        self._sleep = Sleep(**(own | changed))
        self.engine.sleep = self._sleep if self._flag else None

    def setAutoDisableLinearThreshold(self, threshold: float) -> None:
        """Set the speed of rest [m/s]."""
        self._apply_sleep(linear=threshold)

    def getAutoDisableLinearThreshold(self) -> float:
        """Return the speed of rest."""
        return self._sleep.linear

    def setAutoDisableAngularThreshold(self, threshold: float) -> None:
        """Set the angular speed of rest [rad/s]."""
        self._apply_sleep(angular=threshold)

    def getAutoDisableAngularThreshold(self) -> float:
        """Return the angular speed of rest."""
        return self._sleep.angular

    def setAutoDisableSteps(self, steps: int) -> None:
        """Set for how many steps a body must rest."""
        self._apply_sleep(steps=steps)

    def getAutoDisableSteps(self) -> int:
        """Return how many steps."""
        return self._sleep.steps

    def setAutoDisableTime(self, time: float) -> None:
        """Set for how long a body must rest [s]."""
        self._apply_sleep(time=time)

    def getAutoDisableTime(self) -> float:
        """Return how long."""
        return self._sleep.time

    def setLinearDamping(self, scale: float) -> None:
        """Set the share of the velocity that each body loses in a step, 0 to 1."""
        self._linear_damping = number_from('scale', scale, 0.0, 1.0, 'World', 'a share, 0 to 1')

    def getLinearDamping(self) -> float:
        """Return that share."""
        return self._linear_damping

    def setAngularDamping(self, scale: float) -> None:
        """Set the share of the angular velocity that each body loses in a step, 0 to 1."""
        self._angular_damping = number_from('scale', scale, 0.0, 1.0, 'World', 'a share, 0 to 1')

    def getAngularDamping(self) -> float:
        """Return that share."""
        return self._angular_damping

    def impulseToForce(self, stepsize: float, impulse: Vector) -> Triple:
        """Return the force of a step [N] that gives an impulse [N s]."""
        return triple(finite_vector('impulse', impulse, 3, 'World') / stepsize)

    # --- steps -----------------------------------------------------------------------------------

    def step(self, stepsize: float) -> None:
        """Advance by so many seconds, 1e-9 to 1, with contacts solved directly."""
        self._advance(stepsize, 'direct', None)

    def quickStep(self, stepsize: float) -> None:
        """Advance with contacts solved by sweeps; joints are exact as ever."""
        self._advance(stepsize, 'iterative', self._iterations)

    def _advance(self, stepsize: float, solver: str, iterations: int | None) -> None:
        engine, settings = self.engine, self.engine.simulation.settings
        wanted = settings._replace(
            time_step_ns=checked('time_step_ns', stepsize), solver=solver, iterations=iterations)
        if wanted != settings:
            engine.simulation.configure(wanted)
        self.sync()
        contacts: list[Any] = []
        for joint in list(self._joints.values()):
            contacts += joint.prepare_step(stepsize)
        bodies = list(self._bodies.values())
        for body in bodies:
            body.push()
        engine.step(1, contacts)
        if self._linear_damping or self._angular_damping:
            for body in bodies:
                body.damp(1.0 - self._linear_damping, 1.0 - self._angular_damping)
        for joint in list(self._joints.values()):
            joint.finish_step()

    # --- inside ----------------------------------------------------------------------------------

    def sync(self) -> None:
        """Make in the engine what was added or changed since, and remove what is gone."""
        for robot in self._gone:
            self.engine.remove(robot)
        self._gone.clear()
        bodies = [body for body in list(self._bodies.values()) if body.is_stale]
        joints = [joint for joint in list(self._joints.values())
                  if joint.is_stale or any(body in bodies for body in joint.bodies)]
        for joint in joints:
            joint.unmake()
        for body in bodies:
            body.make()
        for joint in joints:
            joint.make()

    def environment(self) -> Any:
        """Return the engine's geometry that stands for what never moves."""
        if self._environment is None:
            self._environment = self.engine.add_body([HANDLE], 'environment', motion='static')
        return self._environment.root_link.geometries[0]

    def admit_body(self, body: Any) -> None:
        """Add a body, which is made in the next step or query."""
        self._bodies[body.number] = body

    def admit_joint(self, joint: Any) -> None:
        """Add a joint."""
        self._joints[joint.number] = joint

    def expel(self, robots: dict[str, Any]) -> None:
        """Remove the robots of what is gone, before the next step or query."""
        self._gone += robots.values()
        robots.clear()

    def contact_settings(self) -> tuple[float, float]:
        """Return surface layer and greatest correcting velocity."""
        return self._layer, self._most

    def _reset_joints(self) -> None:
        for joint in list(self._joints.values()):
            joint.reset_softness()

    def __repr__(self) -> str:
        """Show the engine's world."""
        return f'<ode.World over {self.engine!r}>'


def check_world(world: object) -> World:
    """Return a World; raise InvalidValueError for anything else."""
    if not isinstance(world, World):
        raise InvalidValueError('world', world, 'a World')
    return world


def rotation_of(values: Any, place: str) -> np.ndarray:
    """Return (3, 3) of nine numbers by rows; raise InvalidValueError for no rotation."""
    R = finite_vector('rotation', values, 9, place, 'nine numbers by rows').reshape(3, 3)
    if abs(R @ R.T - np.eye(3)).max() > 1e-4 or np.linalg.det(R) < 0.0:
        raise InvalidValueError('rotation', tuple(R.ravel().tolist()), 'a rotation', place)
    return R
