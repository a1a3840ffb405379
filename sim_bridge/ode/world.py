"""Dynamics world with the methods of ODE's world, over a `sim_bridge.World`."""

from __future__ import annotations

from itertools import count
from typing import Any
import weakref

from sim_bridge.foundation.arrays import Vector
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import finite_vector, number_from
from sim_bridge.ode.contact_rows import ContactRow, forces_of, user_contact_arrays
from sim_bridge.ode.damping import Damping, WithDamping
from sim_bridge.ode.mass import Triple, triple
from sim_bridge.ode.resting import AutoDisable
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.shapes import Sphere
from sim_bridge.simulation.records import Sleep
from sim_bridge.simulation.settings import checked
from sim_bridge.world.world import World as Engine

GROUP = 'ode'
"""Collision group of all geoms; the engine finds no contacts within it."""
HANDLE = Placed(Sphere(1e-3), enabled=False, mass=False, groups={GROUP})
"""Geometry for contacts on bodies without geoms."""

_SERIAL = count()


def serial() -> int:
    """Return the next serial number: objects enter the engine in order of creation."""
    return next(_SERIAL)


class World(AutoDisable, WithDamping):
    """
    Bodies and joints, and the step that advances them.

    Steps are those of `sim_bridge`, of second order, with joints exact to rounding if CFM is 0,
    the default here. A joint, body or geom ends when nothing refers to it any more.
    """

    def __init__(self) -> None:
        """Create an empty world without gravity."""
        self.engine = Engine(gravity=(0.0, 0.0, 0.0), erp=0.2, cfm=0.0)
        """The `sim_bridge` world; objects added to it directly stay beside the bodies."""
        self.engine.set_group_collision(GROUP, GROUP, False)
        self._bodies: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._joints: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        # a plain list, since each step may have thousands of new contacts
        self._contacts: list[weakref.ref[Any]] = []
        self._gone: list[Any] = []
        self._stale: weakref.WeakSet[Any] = weakref.WeakSet()
        self.found: dict[tuple[int, int], list[Any]] = {}
        """Contacts found in advance by `Space.collide`, by the numbers of two geoms."""
        self._sleep, self._flag = Sleep(), False
        self._layer, self._most = 0.0, float('inf')
        self._damped = Damping()
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
        """Set the ERP for joints and contacts without their own."""
        self.engine.erp = erp
        self._reset_joints()

    def getERP(self) -> float:
        """Return the ERP."""
        return self.engine.erp

    def setCFM(self, cfm: float) -> None:
        """Set the CFM for joints and contacts without their own; 0, the default: rigid."""
        self.engine.cfm = cfm
        self._reset_joints()

    def getCFM(self) -> float:
        """Return the CFM."""
        return self.engine.cfm

    def setQuickStepNumIterations(self, num: int) -> None:
        """Set the greatest number of sweeps in quickStep."""
        checked('iterations', num)
        self._iterations = num

    def getQuickStepNumIterations(self) -> int:
        """Return the greatest number of sweeps in quickStep."""
        return self._iterations

    def setContactMaxCorrectingVel(self, vel: float) -> None:
        """Set the greatest velocity of overlap correction in contacts [m/s]."""
        self._most = (
            vel
            if vel == float('inf')
            else number_from(
                'vel', vel, 0.0, float('inf'), 'World', 'a number of at least 0 [m/s]'
            )
        )

    def getContactMaxCorrectingVel(self) -> float:
        """Return the greatest velocity of overlap correction [m/s]."""
        return self._most

    def setContactSurfaceLayer(self, depth: float) -> None:
        """Set the overlap left uncorrected in contacts [m]."""
        self._layer = number_from(
            'depth', depth, 0.0, float('inf'), 'World', 'a number of at least 0 [m]'
        )

    def getContactSurfaceLayer(self) -> float:
        """Return the overlap left uncorrected [m]."""
        return self._layer

    def _resting(self) -> tuple[bool, Sleep]:
        return self._flag, self._sleep

    def _rest(self, flag: bool, sleep: Sleep) -> None:
        self._flag, self._sleep = flag, sleep
        self.engine.sleep = sleep if flag else None

    def _damping(self) -> Damping:
        return self._damped

    def _damp_by(self, damping: Damping) -> None:
        self._damped = damping

    def impulseToForce(self, stepsize: float, impulse: Vector) -> Triple:
        """Return the force [N] that gives an impulse [N s] in one step [s]."""
        return triple(finite_vector('impulse', impulse, 3, 'World') / stepsize)

    # --- steps -----------------------------------------------------------------------------------

    def step(self, stepsize: float) -> None:
        """Advance by a time step [s], 1e-9 to 1, with the direct contact solver."""
        self._advance(stepsize, 'direct', None)

    def quickStep(self, stepsize: float) -> None:
        """Advance by a time step [s], with contacts solved by sweeps; joints stay exact."""
        self._advance(stepsize, 'iterative', self._iterations)

    def _advance(self, stepsize: float, solver: str, iterations: int | None) -> None:
        engine, settings = self.engine, self.engine.simulation.run.settings
        wanted = settings._replace(
            time_step_ns=checked('time_step_ns', stepsize), solver=solver, iterations=iterations
        )
        if wanted != settings:
            engine.simulation.configure(wanted)
        self.sync()
        self.found.clear()
        for joint in list(self._joints.values()):
            joint.prepare_step(stepsize)
        joints, contacts = self._contact_rows()
        bodies = list(self._bodies.values())
        for body in bodies:
            body.push()
        engine.step(1, user_contact_arrays(engine.simulation, contacts))
        self._tell_feedback(joints, contacts)
        for body in bodies:
            body.damp()
        for joint in list(self._joints.values()):
            joint.finish_step()

    def _contact_rows(self) -> tuple[list[Any], list[ContactRow]]:
        """Return the active contact joints, and their contacts for a step."""
        joints: list[Any] = []
        rows: list[ContactRow] = []
        # geometries added in this loop come after the existing ones, so indices stay valid
        numbers: dict[int, int] = {}
        kept = []
        for reference in self._contacts:
            joint = reference()
            if joint is None or joint.is_over:
                continue
            kept.append(reference)
            row = joint.row(numbers)
            if row is not None:
                joints.append(joint)
                rows.append(row)
        self._contacts = kept
        return joints, rows

    def _tell_feedback(self, joints: list[Any], rows: list[ContactRow]) -> None:
        """Pass the forces of the last step to contact joints with feedback."""
        if any(joint.wants_feedback for joint in joints):
            forces = forces_of(self.engine.simulation, rows)
            for joint, force in zip(joints, forces, strict=True):
                if joint.wants_feedback:
                    joint.take_feedback(force[:3], force[3:])

    # --- inside ----------------------------------------------------------------------------------

    def sync(self) -> None:
        """Rebuild changed objects in the engine, add new ones, and remove ended ones."""
        if not self._gone and not self._stale:
            return
        self.found.clear()
        for robot in self._gone:
            self.engine.remove(robot)
        self._gone.clear()
        stale = sorted(self._stale, key=lambda each: each.number)
        bodies = [each for each in stale if each.number in self._bodies]
        joints = {each.number: each for each in stale if each.number in self._joints}
        joints.update((joint.number, joint) for body in bodies for joint in body.joints)
        for number in sorted(joints):
            joints[number].unmake()
        made = self.engine.add_bodies([body.begin() for body in bodies])
        for body, robot in zip(bodies, made, strict=True):
            body.take(robot)
        for number in sorted(joints):
            joints[number].make()
        self._stale.clear()

    def renew(self, one: Any) -> None:
        """Rebuild a body or joint before the next step or query."""
        self._stale.add(one)

    def environment(self) -> Any:
        """Return the engine's geometry of the static environment."""
        if self._environment is None:
            self._environment = self.engine.add_body([HANDLE], 'environment', motion='static')
        return self._environment.root_link.geometries[0]

    def admit_body(self, body: Any) -> None:
        """Add a body; the engine's body follows in the next step or query."""
        self._bodies[body.number] = body
        self.renew(body)

    def admit_joint(self, joint: Any) -> None:
        """Add a joint."""
        self._joints[joint.number] = joint

    def admit_contact(self, joint: Any) -> None:
        """Add a contact joint; it ends when nothing refers to it any more."""
        self._contacts.append(weakref.ref(joint))

    def expel(self, robots: dict[str, Any]) -> None:
        """Remove the robots of ended objects before the next step or query."""
        self._gone += robots.values()
        robots.clear()

    def contact_settings(self) -> tuple[float, float]:
        """Return surface layer [m] and greatest correcting velocity [m/s]."""
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
