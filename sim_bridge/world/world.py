"""The world: robots, time, and the step that advances both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.compilation.collisions import HULL
from sim_bridge.compilation.single_body import BodySpec
from sim_bridge.compiler.unit import Unit
from sim_bridge.description import load_description
from sim_bridge.description.model import RobotDescription, SensorDescription
from sim_bridge.description.report import ERROR
from sim_bridge.description.scene.scene import read_scene, SceneDescription
from sim_bridge.engine.contact.solve import DIRECT, ITERATIVE, SPLIT
from sim_bridge.engine.data.state import State
from sim_bridge.foreign.reader_process import sharing
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, SimulationError
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.validation import finite_vector, truth, truth_or_none, whole_number
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.joints.arguments import described_spec, motor_spec
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.shapes.materials import ContactMaterial, Material, MaterialTable
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.shapes import Plane, Shape
from sim_bridge.simulation import snapshots
from sim_bridge.simulation.records import Energy, Momentum, Sleep, StepReport, Worst
from sim_bridge.simulation.simulation import DivergenceError, Settings, Simulation
from sim_bridge.simulation.snapshots import Snapshot
from sim_bridge.world.contacts import Contacts
from sim_bridge.world.divergence_report import describe_divergence
from sim_bridge.world.queries import Distance, distance_between, geometries_of, overlapping
from sim_bridge.world.robot_registry import CollisionOptions, RobotRegistry
from sim_bridge.world.scene import add_scene
from sim_bridge.world.spanning_tree import SpanningTree

GROUND = 'ground'
_SOLVERS = {'direct': DIRECT, 'iterative': ITERATIVE, 'split': SPLIT}
_INTEGRATORS = ('midpoint', 'rk5')
_GRAVITY = 'three finite numbers [m/s²]'
_NOTHING: Mapping[str, float] = MappingProxyType({})


class World(DeclaredAttributes):
    """
    A simulated world that advances in fixed steps.

    SI units and radians throughout; z up under the default gravity.
    """

    __slots__ = ('materials', 'registry', 'robots', 'simulation', 'tree')
    internal_names = DeclaredAttributes.internal_names | {
        'census', 'registry', 'simulation', 'tree', 'units'}
    advice = {
        **{name: f'it is chosen when a world is made; make another World({name}=...)' for name in (
            'time_step', 'solver', 'integrator', 'seed', 'contact_margin', 'sleep')},
        'time': 'set step_count, or call reset(time=True)',
        'robots': 'load_urdf, add_robot, add_body and remove change it',
        'joints': 'add_joint and remove_joint change it',
        'materials': 'materials.add and set_contact_material change it'}

    def __init__(
        self,
        time_step: float = 1e-3,
        gravity: Sequence[float] = (0.0, 0.0, -9.81),
        solver: str = 'direct',
        seed: int = 0,
        integrator: str = 'midpoint',
        contact_margin: float = 1e-4,
        sleep: bool | Sleep = False,
    ):
        """
        Make an empty world.

        time_step: s; rounded to a whole number of nanoseconds, so that stamps do not drift.
        gravity: (3,) [m/s²], world axes.
        solver: of the contacts; stops, friction and mimic joints are always solved exactly.
            'direct': to a residual below 1e-9 m/s, or the report says so. 'iterative': by 8 to 50
            sweeps, for piles of hundreds of bodies. 'split': normals direct, friction by sweeps.
        seed: of the sensors' noise.
        integrator: 'midpoint', of second order with one evaluation of the dynamics; or 'rk5',
            Dormand-Prince of fifth order with six, which falls back to the former in steps with
            friction, stops, holds or contacts.
        contact_margin: distance below which geometries are contacts, which push once they touch,
            beyond what they can move in a step [m].
        sleep: let what has come to rest sleep until something stirs it (ODE's auto-disable).

        Raises InvalidValueError for values outside these.
        """
        is_number = isinstance(time_step, (int, float, np.floating))
        if isinstance(time_step, bool) or not (is_number and 1e-9 <= time_step <= 1.0):
            raise InvalidValueError('time_step', time_step, 'a number from 1e-9 to 1 [s]')
        own_gravity = finite_vector('gravity', gravity, 3, '', _GRAVITY)
        if not isinstance(solver, str) or solver not in _SOLVERS:
            raise InvalidValueError('solver', solver, ' or '.join(map(repr, _SOLVERS)))
        if integrator not in _INTEGRATORS:
            raise InvalidValueError('integrator', integrator, ' or '.join(map(repr, _INTEGRATORS)))
        seed = whole_number('seed', seed)
        if not isinstance(contact_margin, (int, float)) or not 0.0 <= contact_margin < 1.0:
            raise InvalidValueError('contact_margin', contact_margin, 'from 0 to below 1 [m]')
        when = sleep if isinstance(sleep, Sleep) else None
        if when is None and truth('sleep', sleep, expected='True, False or a sim_bridge.Sleep'):
            when = Sleep()
        settings = Settings(
            round(time_step * 1e9), _SOLVERS[solver], seed, integrator, float(contact_margin),
            when)
        self.simulation = Simulation(settings, own_gravity)
        self.tree = SpanningTree(self.simulation)
        self.registry = RobotRegistry(self, self.simulation, self.tree)
        self.robots: Mapping[str, Robot] = self.registry.robots
        """Robots and bodies by name, in the order in which they were added."""
        self.materials: MaterialTable = self.simulation.materials
        """The materials by name, and what happens between two of them."""

    def __repr__(self) -> str:
        """Show the time, and the numbers of parts."""
        robots = ', '.join(list(self.robots)[:5]) + (', …' if len(self.robots) > 5 else '')
        sizes = (f'{counted(len(self.robots), "robot")}{f" ({robots})" if robots else ""}, '
                 f'{counted(self.simulation.contact_count, "contact")}')
        return f'<World at {self.time:.9g} s (step {self.step_count}): {sizes}>'

    # --- adding ----------------------------------------------------------------------------------

    def load_urdf(
        self,
        path_or_xml: str | Path,
        name: str | None = None,
        fixed_base: bool | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        *,
        joint_positions: Mapping[str, float] = _NOTHING,
        sensors: Iterable[SensorDescription] = (),
        extra_joints: str | Path | Mapping[str, object] | None = None,
        xacro_args: Mapping[str, object] | None = None,
        package_paths: Iterable[str | Path] = (),
        collisions: str = HULL,
        missing_meshes: str = ERROR,
        self_collision: bool | None = None,
        srdf: str | Path | None = None,
        material: Material | str | None = None,
    ) -> Robot:
        """
        Read a URDF or xacro file, or XML text, and add the robot.

        path_or_xml: file, or the text itself.
        name: unique in the world; the description's own, numbered where that is taken, if None.
        fixed_base: weld the root link to the world; None: only where it is called 'world'.
        position, orientation: of the root link's frame in the world [m; quaternion x y z w].
        joint_positions: where one-axis joints begin [rad or m]; the others begin at 0, or at the
            stop nearest to it, and where there are loops near there so that these close.
        sensors: devices beyond those the file declares.
        extra_joints: joints that close loops, beyond those the file declares: a YAML file, or a
            mapping as it would hold; docs/closed_loops.md tells the keys.
        xacro_args: for a xacro file.
        package_paths: folders to search for package:// files.
        collisions: what meshes collide as: 'hull', their convex hulls; 'mesh', their triangles;
            or 'none': the robot touches nothing.
        missing_meshes: of collision meshes that are not found, or not readable, make an 'error';
            or a 'warning' in `robot.description.report`, and they touch nothing.
        self_collision: False: the robot never touches itself. Otherwise it does, except for links
            that a joint connects and those that overlap in the configuration it begins in. None:
            as its `selfCollide` tags say, where it has any.
        srdf: file or text; its `disable_collisions` take the place of the overlap.
        material: of links that Gazebo's tags give none.

        Raises DescriptionError, with the whole report, for a description that cannot be simulated,
        and StateError where a loop cannot be closed.
        """
        description = load_description(
            path_or_xml, xacro_args=xacro_args, package_paths=package_paths, extra_sensors=sensors,
            extra_joints=extra_joints)
        return self.registry.add_robot(
            description, name, fixed_base, (position, orientation), joint_positions,
            CollisionOptions(collisions, missing_meshes, self_collision, srdf, material))

    def add_robot(
        self,
        description: RobotDescription,
        name: str | None = None,
        fixed_base: bool | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        *,
        joint_positions: Mapping[str, float] = _NOTHING,
        collisions: str = HULL,
        missing_meshes: str = ERROR,
        self_collision: bool | None = None,
        srdf: str | Path | None = None,
        material: Material | str | None = None,
    ) -> Robot:
        """
        Add a robot of a checked description; as `load_urdf`.

        `reset` goes back to the state at which the robot is added.
        """
        return self.registry.add_robot(
            description, name, fixed_base, (position, orientation), joint_positions,
            CollisionOptions(collisions, missing_meshes, self_collision, srdf, material))

    def add_copy(
        self,
        robot: Robot,
        name: str | None = None,
        position: Sequence[float] | None = None,
        orientation: Sequence[float] | None = None,
    ) -> Robot:
        """
        Add a copy of a robot of this world or another, in its initial state.

        No file is read and no known result is recomputed, so this is quick: a robot can be loaded
        into a separate world, in another thread, while this one is running.

        name: unique; if None, that of the other, numbered if it is in use. position, orientation:
        of the root link's frame [m; quaternion x y z w]; the other's initial pose if None. Raises
        StateError for a robot that was removed.
        """
        return self.registry.add_copy(robot, name, position, orientation)

    def add_body(
        self,
        shapes: Shape | Placed | Iterable[Shape | Placed],
        name: str | None = None,
        *,
        mass: float | None = None,
        inertia: Sequence[float] | np.ndarray | None = None,
        center_of_mass: Sequence[float] | None = None,
        density: float | None = None,
        motion: str = 'dynamic',
        material: Material | str | None = None,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
        linear_velocity: Sequence[float] = (0.0, 0.0, 0.0),
        angular_velocity: Sequence[float] = (0.0, 0.0, 0.0),
    ) -> Robot:
        """
        Add a body: a robot of one link, `root_link`, which bears its name.

        shapes: one or several; with places on the body if `Placed`.
        name: unique in the world; 'body', numbered, if None.
        mass [kg]; inertia about the centre of mass, in the link's axes, (3, 3) or its diagonal
            [kg m²]; center_of_mass in the link [m]: what is None comes from the shapes. With mass
            and inertia given, the centre of mass is the link's origin if None.
        density: of the shapes [kg/m³]; that of their materials if None.
        motion: 'dynamic'; 'static', it does not move; 'kinematic', it moves as `move_to` says,
            whatever it meets. `robot.motion` changes it; to become dynamic, what begins otherwise
            needs a mass or density here.
        material: of shapes that name none; the material 'default' if None.
        position, orientation: of the link's frame in the world [m; quaternion x y z w].
        linear_velocity: of the link's origin [m/s]. angular_velocity: rad/s. In world axes.

        Raises InvalidValueError for values that no body has, such as a plane that moves, and
        UnknownNameError for a material that is not there.
        """
        spec = BodySpec(
            shapes=shapes, mass=mass, inertia=inertia, center_of_mass=center_of_mass,
            density=density, motion=motion, material=material)
        return self.registry.add_body(
            spec, name, (position, orientation), (linear_velocity, angular_velocity))

    def add_bodies(self, bodies: Iterable[Mapping[str, Any]]) -> list[Robot]:
        """
        Add several bodies, or none if anything is wrong with one of them.

        bodies: the arguments of `add_body` for each, by name. Raises as `add_body`.
        """
        added: list[Robot] = []
        try:
            for arguments in bodies:
                added.append(self.add_body(**arguments))
        except (SimBridgeError, TypeError):
            self.registry.dismiss(added)
            raise
        return added

    def add_ground(self, material: Material | str | None = None, height: float = 0.0) -> Robot:
        """
        Add ground: everything below a height [m] is solid and never moves.

        material: the material 'default' if None.
        """
        return self.add_body(
            Plane(), self.registry.free_name(None, GROUND), motion='static', material=material,
            position=(0.0, 0.0, height))

    @sharing()
    def load_scene(self, source: str | Path | Mapping[str, object]) -> SceneDescription:
        """
        Add the contents of a scene, or nothing if anything is wrong with it.

        source: a YAML file, or a mapping with its contents; `description.scene.scene` lists the
        keys. If the scene specifies gravity, it becomes that of this world.

        Raises SceneError, a DescriptionError, with every defect found: its key, its value and what
        would have been accepted.
        """
        scene = read_scene(source)
        add_scene(self, scene, self.registry.dismiss)
        return scene

    def remove(self, robot: Robot | str) -> None:
        """
        Remove a robot or a body, at any time; all others continue undisturbed.

        robot: the robot or its name. Robots mounted on it become free and keep their motion.
        Joints that held it, excluded pairs and its contacts are deleted, and its name can be used
        again. References to the robot, or to its links, joints, geometries or devices, then raise
        StateError for everything except the description. As after an addition, views of the
        world's arrays must be taken anew, and older snapshots no longer fit.

        Raises UnknownNameError for an unknown name, and StateError or InvalidValueError for
        anything that is not a robot of this world.
        """
        self.registry.remove(robot)

    # --- joints ----------------------------------------------------------------------------------

    @property
    def joints(self) -> Mapping[str, Joint | ConstraintJoint]:
        """The joints that `add_joint` added, and the robots' joints that close loops, by name."""
        return self.tree.joints

    def joint(self, name: str) -> Joint | ConstraintJoint:
        """Return a joint of `joints`; raises UnknownNameError."""
        return self.tree.joints[name]

    def add_joint(
        self,
        kind: str,
        first: Link | Robot | None,
        second: Link | Robot | None,
        anchor: Sequence[float] | None = None,
        axis: Sequence[float] = (0.0, 0.0, 1.0),
        axis2: Sequence[float] | None = None,
        *,
        anchor2: Sequence[float] | None = None,
        name: str | None = None,
        erp: float | None = None,
        cfm: float | None = None,
        suspension: tuple[float, float] | None = None,
        tree: bool | None = None,
        collide: bool = False,
    ) -> Joint | ConstraintJoint:
        """
        Join two links where they are, or a link and the world; after ODE's joints.

        kind: 'ball'; 'hinge', turns about the axis; 'slider', slides along it; 'piston', both;
            'universal', turns about `axis`, fixed on the first link, and `axis2`, fixed on the
            second; 'hinge2', likewise at any angle, with a suspension along `axis`; 'planar', in
            the plane normal to the axis; 'fixed'; 'distance', keeps the anchors as far apart.
        first, second: links, bodies (robots of one link), or None for the world. Coordinates are
            those of the second relative to the first, and 0 now.
        anchor: m, world; the second link's origin if None. anchor2: where it is on the second
            link, if elsewhere: a distance joint's; others close the gap.
        axis, axis2: of any length, world.
        name: unique among the world's joints; the kind, numbered, if None.
        erp, cfm: let it yield, as ODE's parameters do [1; m/(N s), rad/(N m s)]; erp 0.2 if None.
        suspension: of a hinge2: stiffness and damping [N/m, N s/m].
        tree: False: a constraint, even where it closes no loop. True: an error if it closes one.
        collide: whether the two links touch each other.

        A joint that closes no loop is part of a tree: exact, and as cheap as a robot's own joint.
        Velocities that it does not allow are lost, as in an impact. Raises InvalidValueError for
        what no joint is, StateError where `tree` cannot be.
        """
        links = self.tree.own_links(first, second, 'add_joint')
        tree = truth_or_none('tree', tree, 'add_joint')
        collide = truth('collide', collide, 'add_joint')
        spec = described_spec(
            kind, links, anchor, axis, axis2, anchor2=anchor2, erp=erp, cfm=cfm,
            suspension=suspension)
        joint = self.tree.add(replace(spec, name=self.tree.free_name(name, kind)), tree)
        one, other = links
        if not collide and one is not None and other is not None:
            self.simulation.separate(one.slot, other.slot)
        return joint

    def add_angular_motor(
        self,
        first: Link | Robot | None,
        second: Link | Robot | None,
        axes: Sequence[Sequence[float]],
        *,
        fixed_on: Sequence[str] | None = None,
        euler: bool = False,
        name: str | None = None,
    ) -> ConstraintJoint:
        """
        Put motors, stops, springs and friction between how two links turn; after ODE's AMotor.

        It holds nothing by itself: `axes` of the joint are to be set. Often beside a ball joint.
        axes: one to three, world, of any length; each 'first' or 'second' in `fixed_on` says on
            which link it stays, the first if None. Their angles are summed up from their rates.
        euler: axes are two, at right angles: one that stays on the first link, the last one, that
            stays on the second; the joint's second axis is the product of the last and the first.
            Its angles are measured, and any; velocities are theirs, which ODE's outer ones are
            only times the cosine of the middle angle.

        Raises InvalidValueError for what no such motor is.
        """
        links = self.tree.own_links(first, second, 'add_angular_motor')
        key = self.tree.free_name(name, 'angular_motor')
        return self.tree.constrain(key, motor_spec(key, links, axes, fixed_on, euler)).joint

    def remove_joint(self, joint: Joint | ConstraintJoint) -> None:
        """
        Remove a joint; the robot mounted on it becomes free and keeps its motion.

        Raises InvalidValueError for anything `add_joint` never returned, and UnknownNameError for
        a joint that is not, or no longer, of this world.
        """
        self.tree.remove(joint)

    # --- what touches what -----------------------------------------------------------------------

    def exclude(self, a: Link, b: Link, excluded: bool = True) -> None:
        """
        Exclude contacts between two links, with everything fixed to them; or allow them again.

        Pairs that `load_urdf` has excluded stay excluded. Raises InvalidValueError for a link of
        another world.
        """
        for link in (a, b):
            if not isinstance(link, Link) or link.robot.simulation is not self.simulation:
                raise InvalidValueError('link', link, 'a link of this world')
        self.simulation.separate(a.slot, b.slot, truth('excluded', excluded))

    def set_group_collision(self, a: str, b: str, collide: bool) -> None:
        """
        Set whether geometries of two groups, or of one group among themselves, collide.

        Geometries are assigned to groups by `geometry.groups`. Two geometries do not collide if
        any pair of their groups is excluded; all others collide.
        """
        self.simulation.groups.set_collision(a, b, collide)

    def set_contact_material(
        self, a: Material | str, b: Material | str, contact_material: ContactMaterial | None
    ) -> None:
        """
        Set the contact law of two materials; None restores the implicit rules.

        See `ContactMaterial`. Raises UnknownNameError for an unknown material.
        """
        self.materials.set_contact_material(a, b, contact_material)

    @property
    def contact_count(self) -> int:
        """The number of contact points of the last step, without reading them."""
        return int(self.state.contact_size[0])

    @property
    def contacts(self) -> Contacts:
        """The contacts of the last step."""
        return Contacts(self.state, self.geometries, self.time_step)

    @property
    def geometries(self) -> list[Geometry]:
        """All geometries, in the order of `Contacts.indices`."""
        return [geometry for robot in self.robots.values() for geometry in robot.geometries]

    def distance(self, a: Link | Geometry, b: Link | Geometry) -> Distance:
        """
        Measure the distance of two links or geometries at the present state.

        Raises InvalidValueError for a link of another world or without geometry, or if both are
        planes or height fields.
        """
        return distance_between(
            self.simulation.handles.probe, geometries_of('a', a, self),
            geometries_of('b', b, self))

    def overlaps(
        self,
        shape: Shape,
        position: Sequence[float] = (0.0, 0.0, 0.0),
        orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0),
    ) -> list[Geometry]:
        """
        Return the geometries that a shape at a pose would touch [m; quaternion x y z w].

        It does not matter whether geometries are enabled, or which collide. Planes and height
        fields do not overlap each other.
        """
        return overlapping(shape, position, orientation, self.geometries)

    # --- time ------------------------------------------------------------------------------------

    @property
    def time_step(self) -> float:
        """Length of a step [s]."""
        return self.simulation.time_step

    @property
    def time_step_ns(self) -> int:
        """Length of a step [ns]."""
        return self.simulation.time_step_ns

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        simulation = self.simulation
        return simulation.step_count * simulation.time_step_ns * 1e-9

    @property
    def step_count(self) -> int:
        """The number of steps taken; set it to count from another time."""
        return self.simulation.step_count

    @step_count.setter
    def step_count(self, value: int) -> None:
        self.simulation.step_count = whole_number('step_count', value)

    def step(self, n: int = 1) -> None:
        """
        Advance by n steps under the present efforts.

        Pushes (`link.add_force`) act during the whole call and are cleared after it. Raises
        SimulationError if the result of a step is not finite: the state before that step is kept,
        and the message names the cause.
        """
        try:
            self.simulation.step(n)
        except DivergenceError:
            raise SimulationError(describe_divergence(
                self.robots.values(), self.step_count + 1, self.time_step)) from None

    def warm_up(self) -> None:
        """Compile or load every kernel of a running simulation; the world does not change."""
        self.simulation.warm_up()

    def reset(self, time: bool = False) -> None:
        """
        Return every robot to its initial state, at rest and without efforts.

        The sensors' noise restarts. Changed parameters persist, and so do the joints' controls,
        whose targets become the present positions. Crawlers stop. time: also set the step count to
        0.
        """
        time = truth('time', time)
        self.simulation.reset()
        if time:
            self.simulation.step_count = 0

    @property
    def gravity(self) -> np.ndarray:
        """(3,) [m/s²], world axes; a read-only view. Assign a vector to change it."""
        view = self.simulation.gravity.view()
        view.flags.writeable = False
        return view

    @gravity.setter
    def gravity(self, value: Sequence[float]) -> None:
        self.simulation.gravity[:] = finite_vector('gravity', value, 3, '', _GRAVITY)
        self.simulation.invalidate()

    @property
    def integrator(self) -> str:
        """The integration method of steps: 'midpoint' or 'rk5'."""
        return self.simulation.integrator

    @property
    def seed(self) -> int:
        """The seed of the sensors' noise."""
        return self.simulation.seed

    @property
    def report(self) -> StepReport:
        """The report of the last `step` call."""
        return self.simulation.report

    def take_worst(self) -> Worst:
        """Return the summary of the reports of all `step` calls since the last call of this."""
        return self.simulation.take_worst()

    # --- state -----------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The arrays that steps change; replaced whenever something is added."""
        return self.simulation.state

    @property
    def layout(self) -> int:
        """A number that changes whenever the arrays of `state` are replaced."""
        return self.simulation.layout

    @property
    def units(self) -> list[Unit]:
        """The units that have to be compiled to step and observe the present world."""
        return self.simulation.units

    def census(self) -> tuple[tuple[str, int], ...]:
        """Return the contents of the world; an object added later under an old name differs."""
        return self.simulation.census()

    def save(self) -> Snapshot:
        """Return a snapshot that `restore` goes back to, bit for bit."""
        return snapshots.save(self.simulation)

    def restore(self, snapshot: Snapshot) -> None:
        """
        Go back to a snapshot of this world.

        Raises InvalidValueError if robots or joints were added or removed since, or a robot's
        `motion` was changed.
        """
        snapshots.restore(self.simulation, snapshot)

    def state_hash(self) -> str:
        """Return a SHA-256 of all that determines the future: equal hashes, equal futures."""
        return snapshots.state_hash(self.simulation)

    def energy(self) -> Energy:
        """Return the energy of all robots."""
        return self.simulation.energy()

    def momentum(self) -> Momentum:
        """Return the momentum of all robots."""
        return self.simulation.momentum()
