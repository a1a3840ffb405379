"""The world: robots, time, and the step that advances both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from sim_bridge.compilation.collisions import HULL
from sim_bridge.compilation.single_body import BodySpec
from sim_bridge.compiler.unit import Unit
from sim_bridge.description import load_description
from sim_bridge.description.compliance import GivenCompliance
from sim_bridge.description.force_fields import ForceField
from sim_bridge.description.gravity import AnyGravity, gravity_row, GravityFunction, PointGravity
from sim_bridge.description.model import RobotDescription, SensorDescription
from sim_bridge.description.report import ERROR
from sim_bridge.description.scene.model import SceneDescription
from sim_bridge.description.scene.scene import read_scene
from sim_bridge.engine.data.model import GRAVITY_SIZE
from sim_bridge.engine.data.state import State
from sim_bridge.foreign.reader_process import sharing
from sim_bridge.foundation.arrays import FloatArray, Matrix, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.errors import SimulationError
from sim_bridge.foundation.html import table
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.foundation.validation import check_keywords, items_of, truth, whole_number
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.shapes.material import ContactMaterial, Material
from sim_bridge.shapes.material_table import MaterialTable
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.shapes import Plane, Shape
from sim_bridge.simulation import snapshots
from sim_bridge.simulation.change import finished
from sim_bridge.simulation.records import Energy, Momentum, Sleep, StepReport, Worst
from sim_bridge.simulation.settings import checked, Settings, STEP_BUDGET
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.snapshots import Snapshot
from sim_bridge.simulation.step_hooks import AFTER, BEFORE, StepHook
from sim_bridge.simulation.step_runner import DivergenceError
from sim_bridge.world.bodies import Body, exclude
from sim_bridge.world.connections import are_connected
from sim_bridge.world.contact_events import (
    ContactFunction,
    ContactListener,
    Partner,
    WorldListeners,
)
from sim_bridge.world.contact_points import ContactPoint, ContactPoints
from sim_bridge.world.contact_problem import contact_problem, ContactProblem
from sim_bridge.world.contact_queries import ContactQueries, Pair
from sim_bridge.world.contacts import Contacts
from sim_bridge.world.divergence_report import describe_divergence
from sim_bridge.world.force_fields import WorldFields
from sim_bridge.world.joint_groups import JointGroups
from sim_bridge.world.joints import WorldJoints
from sim_bridge.world.openplx_scenes import OpenPlxScenes
from sim_bridge.world.owners import MappedScene, OpenPlxScene
from sim_bridge.world.queries import Distance, GeometryQueries, OverlapContact
from sim_bridge.world.rays import RayHit, RayHits, RayQueries
from sim_bridge.world.robot_registry import CollisionOptions, RobotRegistry
from sim_bridge.world.scene import add_scene
from sim_bridge.world.spanning_tree import SpanningTree
from sim_bridge.world.step_hooks import HookedSteps
from sim_bridge.world.user_contacts import user_contact_arrays, UserContact
from sim_bridge.world.viewing import WorldViewer
from sim_bridge.world.world_record import (
    check_picklable,
    record_of,
    restore_record,
    with_seed,
    WorldParts,
    WorldRecord,
)

GROUND = 'ground'
_NOTHING: Mapping[str, float] = MappingProxyType({})


def _setting(name: str, doc: str) -> Settable[Any, Any]:
    """Return the property of how the world is run that can be set at any time."""

    def read(world: World) -> Any:
        return getattr(world.simulation.run.settings, name)

    def write(world: World, value: object) -> None:
        world.simulation.configure(world.simulation.run.settings.changed(name, value))

    return Settable(read, write, doc=f'{doc} Can be set.')


class World(DeclaredAttributes):
    """
    A simulated world that advances in fixed steps.

    SI units and radians throughout; z up under the default gravity.
    """

    __slots__ = (
        '_contacts',
        '_force_fields',
        '_hooked',
        '_joints',
        '_listeners',
        '_queries',
        '_rays',
        'joint_groups',
        'loader',
        'materials',
        'openplx',
        'registry',
        'robots',
        'simulation',
        'tree',
    )
    internal_names = DeclaredAttributes.internal_names | {
        'census',
        'loader',
        'registry',
        'simulation',
        'tree',
        'units',
    }
    advice = {
        **{
            name: f'it is chosen when a world is made; make another World({name}=...)'
            for name in ('time_step', 'seed')
        },
        'time': 'set step_count, or call reset(time=True)',
        'openplx': 'load_openplx changes it',
        'robots': 'load_urdf, add_robot, add_body and remove change it',
        'joints': 'add_joint and remove_joint change it',
        'materials': 'materials.add and set_contact_material change it',
    }

    def __init__(
        self,
        time_step: float = 1e-3,
        gravity: AnyGravity = (0.0, 0.0, -9.81),
        solver: str = 'direct',
        seed: int = 0,
        integrator: str = 'midpoint',
        contact_margin: float = 1e-4,
        sleep: bool | Sleep | None = False,
        iterations: int | None = None,
        erp: float = 0.2,
        cfm: float = 0.0,
        step_budget: int | None = STEP_BUDGET,
    ):
        """
        Make an empty world.

        time_step: length of a step, 1e-9 to 1 s; rounded to whole nanoseconds, so that time stamps
            do not drift.
        gravity: (3,) [m/s²], world axes; a `PointGravity`; or a function of the position (3,) [m]
            that returns the acceleration (3,) [m/s²].
        solver: of the contacts; stops, joint friction and mimic joints are solved exactly.
            'direct': to a residual below 1e-9 m/s, within `step_budget`. 'iterative': to 1e-6 m/s
            by 8 to 50 sweeps, which Newton steps complete unless it is a pile or `iterations` are
            given; for piles of hundreds of bodies. 'split': to 1e-6 m/s, normal forces direct and
            friction by sweeps, in turns, and together where these do not converge. `report` says
            whether the tolerance was reached.
        seed: of the sensors' noise, an integer of at least 0.
        integrator: 'midpoint', second order with one evaluation of the dynamics; 'momentum', the
            same step, which keeps linear and angular momentum of free robots to rounding; or
            'rk5', Dormand-Prince, fifth order with six, which falls back to 'midpoint' in steps
            with friction, stops, holds or contacts.
        contact_margin: distance [m] below which two geometries become a contact, in addition to
            the distance that they can move in a step; forces act once they touch.
        sleep: do not simulate bodies at rest until something moves them (ODE's auto-disable);
            True, or a `Sleep` with thresholds.
        iterations: most sweeps over the contacts of an island; None: 50 of the solvers by sweeps,
            300 where 'direct' needs any.
        erp, cfm: ODE's world ERP and CFM [1; m/(N s), rad/(N m s)]: of contacts whose contact
            material says nothing else, and what `add_joint` takes if it is given neither these nor
            a compliance.
        step_budget: multiplications that an island of contacts may take in a step, so that a hard
            impact takes no longer than control can wait; None for no bound. A step that spends it
            may leave more than the tolerance, as `report` says, and the next goes on from there.
            Islands of more than 50 contacts may take more. See docs/performance.md.

        All but time_step and seed can be set later, as attributes of these names; resets keep what
        was set, snapshots have it. Raises InvalidValueError for other values.
        """
        own_gravity = gravity_row(gravity)
        self._begin(
            Settings(
                checked('time_step_ns', time_step),
                checked('seed', seed),
                checked('solver', solver),
                checked('integrator', integrator),
                checked('contact_margin', contact_margin),
                checked('sleep', sleep),
                checked('iterations', iterations),
                checked('erp', erp),
                checked('cfm', cfm),
                checked('step_budget', step_budget),
            ),
            own_gravity,
        )
        if callable(gravity):
            self.simulation.set_gravity(gravity)

    def _begin(self, settings: Settings, gravity: FloatArray) -> None:
        """Begin empty; gravity: (8,) as the engine's Model has it, used in place."""
        self.simulation = simulation = Simulation(settings, gravity)
        self.tree = SpanningTree(simulation)
        self.registry = RobotRegistry(self, simulation, self.tree)
        self._hooked = HookedSteps(self, simulation)
        self._joints = WorldJoints(simulation, self.tree, self.registry)
        self._listeners = WorldListeners(self, simulation)
        self._force_fields = WorldFields(simulation)
        self._queries = GeometryQueries(self, simulation)
        self._contacts = ContactQueries(self, simulation)
        self._rays = RayQueries(self, simulation)
        self.robots: Mapping[str, Robot] = self.registry.robots
        """Robots and bodies by name, in the order in which they were added."""
        self.joint_groups = JointGroups(self.tree)
        """Named groups of joints, which are enabled, disabled and removed together."""
        self.loader = OpenPlxScenes(self, simulation, self.registry, self.tree)
        self.openplx: Mapping[str, OpenPlxScene] = MappingProxyType(self.loader.scenes)
        """The OpenPLX scenes by name, in the order in which they were loaded."""
        self.materials: MaterialTable = simulation.registry.materials
        """The materials by name, and what happens between two of them."""

    def copy(self, seed: int | None = None) -> World:
        """
        Return an independent world that is like this one: with the same steps, the same bits.

        It has everything that `state_hash` covers, and robots, joints, materials and sensors under
        the same names; what this world saved it restores too. What only uses a world stays with
        this one: views of its robots, links and joints, trajectory followers, drives. `report` is
        that of a world without steps. `copy.copy` and `copy.deepcopy` do the same, and a pickled
        world is a copy in another process.

        seed: of the copy's noise, whose sensors then have no samples yet; None: the noise goes on
        as here. Raises InvalidValueError for no such seed.
        """
        record = self._record()
        if seed is None:
            return _from_record(type(self), record)
        copied = _from_record(type(self), with_seed(record, checked('seed', seed)))
        for device in copied.simulation.cache.devices:
            device.reset(copied.simulation.run.seed)
        return copied

    def __copy__(self) -> World:
        """Return an independent world, as `copy` does; an alias would be of no use."""
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        """Return an independent world, as `copy` does."""
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        """
        Return what a pickle keeps: the same that `copy` starts from.

        Raises StateError for a function that cannot be pickled.
        """
        record = self._record()
        check_picklable(record)
        return _from_record, (type(self), record)

    def _record(self) -> WorldRecord:
        return record_of(self._parts)

    @property
    def _parts(self) -> WorldParts:
        return WorldParts(
            self.simulation,
            self.tree,
            self.registry,
            self.loader,
            self.joint_groups,
            self._hooked,
            self._listeners,
        )

    def __repr__(self) -> str:
        """Show the time, and the numbers of parts."""
        robots = ', '.join(list(self.robots)[:5]) + (', …' if len(self.robots) > 5 else '')
        sizes = (
            f'{counted(len(self.robots), "robot")}{f" ({robots})" if robots else ""}, '
            f'{counted(self.simulation.cache.contact_count, "contact")}'
        )
        return f'<World at {self.time:.9g} s (step {self.step_count}): {sizes}>'

    def _repr_html_(self) -> str:
        """Return a table of the robots and objects, for notebooks."""
        return table(
            repr(self).strip('<>'),
            ('name', 'base', 'joints', 'mass [kg]', 'p [m]'),
            [
                (name, robot.motion, len(robot.joint_names), robot.mass, robot.root_link.p)
                for name, robot in self.robots.items()
            ],
        )

    # --- adding ----------------------------------------------------------------------------------

    def load_urdf(
        self,
        path_or_xml: str | Path,
        name: str | None = None,
        fixed_base: bool | None = None,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Vector = (0.0, 0.0, 0.0, 1.0),
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
        Read a URDF, xacro or body file, or XML text, and add the robot.

        path_or_xml: path of the file, or its text; or the name of a robot that is shipped.
        name: unique in the world; if None, the name in the file, numbered if it is in use.
        fixed_base: whether the root link is welded to the world; None: only if its name is
            'world', or as a body file says.
        position, orientation: of the root link's frame in the world [m; quaternion x y z w].
        joint_positions: initial positions of one-axis joints by name [rad or m]. The other joints
            start at 0, or at the stop nearest to 0; where that leaves a loop open, near there.
        sensors: devices in addition to those in the file.
        extra_joints: joints that close loops, in addition to those in the file: a YAML file, or a
            mapping with its contents; docs/closed_loops.md has the keys.
        xacro_args: arguments of a xacro file, by name.
        package_paths: folders to search for package:// files.
        collisions: the collision shape of meshes: 'hull', the convex hull, 'hulls', several of a
            convex decomposition, which is kept on disk (extra `meshes`), or 'mesh', the triangles;
            'none': the robot collides with nothing.
        missing_meshes: report a collision mesh that is missing or unreadable as an 'error', or as
            a 'warning' in `robot.description.report`; it then collides with nothing.
        self_collision: False: no two links of the robot collide. True: all do, except links that a
            joint connects and links that overlap in the initial configuration. None: as True, but
            only where `selfCollide` tags allow it, if there are any.
        srdf: file or text; its `disable_collisions` replace the test for initial overlap.
        material: of links without a material in Gazebo's tags; a Material or the name of one.

        Raises DescriptionError, with the whole report, for a description that cannot be simulated,
        and StateError for a loop that cannot be closed.
        """
        description = load_description(
            path_or_xml,
            xacro_args=xacro_args,
            package_paths=package_paths,
            extra_sensors=sensors,
            extra_joints=extra_joints,
        )
        return self.registry.add_robot(
            description,
            name,
            fixed_base,
            (position, orientation),
            joint_positions,
            CollisionOptions(collisions, missing_meshes, self_collision, srdf, material),
        )

    def load_body(
        self,
        path: str | Path,
        name: str | None = None,
        fixed_base: bool | None = None,
        position: Vector | None = None,
        orientation: Vector | None = None,
        **options: Any,
    ) -> Robot:
        """
        Read a body file of Choreonoid and add the robot; docs/choreonoid.md says what is read.

        fixed_base: None: where the root link's joint is fixed. position, orientation: of the root
        link; None: as in the file. The other arguments are those of `load_urdf`, which reads body
        files too, and raises what this does.
        """
        base = load_description(path, package_paths=options.get('package_paths', ())).base_pose
        return self.load_urdf(
            path,
            name,
            fixed_base,
            base.position if position is None else position,
            quaternion_from_matrix(base.rotation) if orientation is None else orientation,
            **options,
        )

    def add_robot(
        self,
        description: RobotDescription,
        name: str | None = None,
        fixed_base: bool | None = None,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Vector = (0.0, 0.0, 0.0, 1.0),
        *,
        joint_positions: Mapping[str, float] = _NOTHING,
        collisions: str = HULL,
        missing_meshes: str = ERROR,
        self_collision: bool | None = None,
        srdf: str | Path | None = None,
        material: Material | str | None = None,
    ) -> Robot:
        """
        Add a robot from a description that was read before; the other arguments as `load_urdf`.

        `reset` restores the state in which the robot is added.
        """
        return self.registry.add_robot(
            description,
            name,
            fixed_base,
            (position, orientation),
            joint_positions,
            CollisionOptions(collisions, missing_meshes, self_collision, srdf, material),
        )

    def add_copy(
        self,
        robot: Robot,
        name: str | None = None,
        position: Vector | None = None,
        orientation: Vector | None = None,
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
        inertia: Vector | Matrix | None = None,
        center_of_mass: Vector | None = None,
        density: float | None = None,
        motion: str = 'dynamic',
        material: Material | str | None = None,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Vector = (0.0, 0.0, 0.0, 1.0),
        linear_velocity: Vector = (0.0, 0.0, 0.0),
        angular_velocity: Vector = (0.0, 0.0, 0.0),
        sensors: Iterable[SensorDescription] = (),
    ) -> Robot:
        """
        Add a single body: a robot of one link, `root_link`, with the body's name.

        shapes: one or several; `Placed` ones have poses on the body.
        name: unique in the world; if None, 'body', numbered if it is in use.
        mass: kg; if None, from the shapes, of which sensors and what is disabled or of mass=False
            weigh nothing.
        inertia: (3, 3) about the centre of mass, or its diagonal (3,), in the link's axes [kg m²];
            from the shapes if None.
        center_of_mass: (3,) in the link's frame [m]; if None, the link's origin if mass and
            inertia are given, else from the shapes.
        density: of the shapes [kg/m³]; that of their materials if None.
        motion: 'dynamic': it moves under forces. 'static': it never moves. 'kinematic': it moves
            as `move_to` says, under any forces. `robot.motion` changes it; a body that starts
            static or kinematic needs a mass or density here to become dynamic.
        material: of shapes without one; the material 'default' if None.
        position, orientation: of the link's frame in the world [m; quaternion x y z w].
        linear_velocity, angular_velocity: of the link's frame [m/s; rad/s], world axes.
        sensors: devices on it; their link may be left out.

        Raises InvalidValueError for invalid values, such as a plane that moves, UnknownNameError
        for an unknown material, and DescriptionError for sensors that need a joint.
        """
        spec = BodySpec(
            shapes=shapes,
            mass=mass,
            inertia=inertia,
            center_of_mass=center_of_mass,
            density=density,
            motion=motion,
            material=material,
            sensors=sensors,
        )
        return self.registry.add_body(
            spec, name, (position, orientation), (linear_velocity, angular_velocity)
        )

    def add_bodies(self, bodies: Iterable[Mapping[str, Any]]) -> list[Robot]:
        """
        Add several bodies, or none if anything is wrong with one of them.

        bodies: the arguments of `add_body` for each, by name. Raises as `add_body`, and
        UnknownNameError for an argument that it does not have.
        """
        given = items_of('bodies', bodies, Mapping, "mappings of add_body's arguments")
        for number, arguments in enumerate(given):
            check_keywords(World.add_body, arguments, f'body {number}')
        with self.registry.all_or_nothing(is_addition=True):
            return [self.add_body(**arguments) for arguments in given]

    def add_ground(self, material: Material | str | None = None, height: float = 0.0) -> Robot:
        """
        Add ground: everything below a height [m] is solid and never moves.

        material: the material 'default' if None.
        """
        with self.registry.all_or_nothing(is_addition=True):
            return self.add_body(
                Plane(),
                self.registry.free_name(None, GROUND),
                motion='static',
                material=material,
                position=(0.0, 0.0, height),
            )

    @sharing()
    def load_scene(self, source: str | Path | Mapping[str, object]) -> SceneDescription:
        """
        Add the contents of a scene, or nothing if anything is wrong with it.

        source: a YAML file, or a mapping with its contents; `description.scene.scene` lists the
        keys; or a project of Choreonoid (.cnoid). Gravity and settings that the scene has become
        those of this world. The time step stays: that of a project is `time_step` of what is
        returned.

        Raises SceneError, a DescriptionError, with every defect found: its key, its value and what
        would have been accepted.
        """
        scene = read_scene(source)
        with self.registry.all_or_nothing():
            add_scene(self, scene)
        return scene

    def load_openplx(
        self,
        path_or_text: str | Path | MappedScene,
        model: str | None = None,
        name: str | None = None,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Vector = (0.0, 0.0, 0.0, 1.0),
        *,
        bundle_paths: Iterable[str | Path] = (),
    ) -> OpenPlxScene:
        """
        Add an OpenPLX scene, put together by SNAP, or nothing if anything is wrong with it.

        path_or_text: path of the file, or its text; or the description of a scene that was read
            before, such as `OpenPlxScene.description`.
        model: the name of the model that is made; if None, the last one of the file.
        name: of the scene and, where it has one robot, of that, else what the names of its robots
            begin with; if None, that of the model, numbered if it is in use. Robots are the bodies
            that mates connect, and single bodies.
        position, orientation: of the scene's world in this world [m; quaternion x y z w]. The
            gravity of an Environment is in the axes of this world, and becomes its gravity.
        bundle_paths: folders of bundles, before those that OPENPLX_BUNDLE_PATH names and those
            that are installed.

        docs/openplx.md says how each model is simulated. Raises SceneError, a DescriptionError,
        with every defect found and its line, and InvalidValueError for a pose that is none.
        """
        bundle_paths = items_of('bundle_paths', bundle_paths, (str, Path), 'folders')
        return self.loader.load(path_or_text, model, name, (position, orientation), bundle_paths)

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
        self.loader.forget_gone()

    # --- joints ----------------------------------------------------------------------------------

    joints = ReadOnly[Mapping[str, Joint | ConstraintJoint]](
        'tree.joints',
        "The joints that `add_joint` added, and the robots' joints that close loops, by name.",
    )

    def joint(self, name: str) -> Joint | ConstraintJoint:
        """Return a joint of `joints`; raises UnknownNameError."""
        return self.tree.joints[name]

    def add_joint(
        self,
        kind: str,
        first: Link | Robot | None,
        second: Link | Robot | None,
        anchor: Vector | None = None,
        axis: Vector = (0.0, 0.0, 1.0),
        axis2: Vector | None = None,
        *,
        normal: Vector | None = None,
        anchor2: Vector | None = None,
        name: str | None = None,
        erp: float | Vector | None = None,
        cfm: float | Vector | None = None,
        compliance: GivenCompliance | None = None,
        suspension: tuple[float, float] | None = None,
        tree: bool | None = None,
        collide: bool = False,
    ) -> Joint | ConstraintJoint:
        """
        Add a joint between two links at their present poses, or a link and the world; as ODE's.

        kind: the joint type.
            'ball': turns about the anchor. 'hinge': turns about `axis`. 'slider': slides along
            `axis`. 'piston': both. 'universal': turns about `axis`, fixed on the first link, and
            `axis2`, fixed on the second. 'hinge2': the same for axes at any angle, with a
            suspension along `axis`. 'planar': moves in the plane normal to `axis`. 'fixed': no
            motion. 'distance': keeps the distance of the two anchors. 'inline': keeps the second
            anchor on the line along `axis`. 'parallel': keeps the axes parallel. 'perpendicular':
            keeps the angle between `axis` and `axis2`, each fixed on its link. 'hinge_motor',
            'slider_motor': hold nothing; motors, stops, springs and friction on what another joint
            leaves free (`add_motor`).
        first, second: links, bodies (robots of one link), or None for the world. The joint's
            coordinates are those of the second relative to the first, and 0 at first.
        anchor: (3,) [m], world; the second link's origin if None.
        anchor2: (3,) the anchor on the second link [m], world, if it differs: for a distance
            joint, or a gap that the joint is to close.
        axis, axis2: (3,) of any length, world axes.
        normal: (3,) across `axis`, world axes: x of the joint's axes, with `axis` for z, also for
            kinds without an axis. Only `compliance` depends on it.
        name: unique among the world's joints; if None, the kind, numbered if it is in use.
        erp, cfm: ODE's compliance [1; m/(N s), rad/(N m s)], of all rows or each, as the joint's;
            the world's if None, which are rigid, with an erp of 0.2, unless set.
        compliance: stiffness and damping instead of these; see `ConstraintJoint.compliance`.
        suspension: stiffness and damping of a hinge2 along `axis` [N/m; N s/m].
        tree: False: always a constraint. True: raise if it cannot be part of a tree.
        collide: whether the two links collide with each other.

        A joint that closes no loop becomes part of a tree: exact, and as cheap as a robot's own
        joint. Velocities that it does not allow are removed, as in an impact. Raises
        InvalidValueError for invalid arguments, and StateError if `tree` is True but not possible.
        """
        return self._joints.add(
            kind,
            first,
            second,
            name,
            tree,
            collide,
            anchor=anchor,
            axis=axis,
            axis2=axis2,
            normal=normal,
            anchor2=anchor2,
            erp=erp,
            cfm=cfm,
            compliance=compliance,
            suspension=suspension,
        )

    def add_angular_motor(
        self,
        first: Link | Robot | None,
        second: Link | Robot | None,
        axes: Matrix,
        *,
        fixed_on: Sequence[str] | None = None,
        euler: bool = False,
        name: str | None = None,
    ) -> ConstraintJoint:
        """
        Add motors, stops, springs and friction to the rotation between two links; ODE's AMotor.

        It applies no torque until the joint's `axes` are set. Often used beside a ball joint.

        first, second: links, bodies (robots of one link), or None for the world.
        axes: one to three vectors (3,) of any length, world axes. Their angles are the integrals
            of their rates, from 0 or what `q` of each is set to.
        fixed_on: for each axis 'first' or 'second', the link that it is fixed on, or 'world'; all
            on the first if None.
        euler: the angles are Euler angles, measured, of any size. `axes` are then two at right
            angles: the first axis, fixed on the first link, and the last, fixed on the second. The
            joint has a middle axis too, the product of the last and the first. Velocities are the
            rates of the angles; ODE's outer ones are these times the cosine of the middle angle.
        name: unique among the world's joints; if None, 'angular_motor', numbered if it is in use.

        Raises InvalidValueError for invalid arguments.
        """
        return self._joints.add_angular_motor(first, second, axes, fixed_on, euler, name)

    def add_motor(
        self, axis: Axis | Joint | ConstraintJoint, *, name: str | None = None
    ) -> ConstraintJoint:
        """
        Add another motor beside that of an axis: with limits, friction and springs of its own.

        It is a joint that holds nothing. Its only axis moves as the given one, from the same zero;
        what acts on either adds up.

        axis: of a joint of this world, one that slides or turns as a hinge does; or the joint
            where that is its only axis.
        name: unique among the world's joints; if None, 'hinge_motor' or 'slider_motor', numbered
            if it is in use.

        Raises InvalidValueError for invalid arguments.
        """
        return self._joints.add_motor(axis, name)

    @property
    def broken_joints(self) -> list[str]:
        """Names of the joints that do nothing any more; see `ConstraintJoint.is_broken`."""
        return self._joints.broken()

    def attach_joint(
        self, joint: ConstraintJoint, first: Link | Robot | None, second: Link | Robot | None
    ) -> None:
        """
        Attach a constraint joint to other links, or to the world; ODE's dJointAttach.

        Anchors and axes stay where they are in the world at present, and coordinates are 0 there;
        set `anchor` and `axis` afterwards. Compliance, motors, stops and what breaks it stay; the
        links it tied collide again, if it kept those it ties from that. Raises InvalidValueError
        for links as `add_joint`, and StateError for a joint of a tree or of a robot's description.
        """
        self._joints.attach(joint, first, second)

    def are_connected(
        self, a: Link | Robot, b: Link | Robot | None, *, excluding: Iterable[str] = ()
    ) -> bool:
        """
        Return whether a joint connects two links or robots, or one with the world (None).

        Directly, as ODE's dAreConnected: joints of trees, constraints and motors, fixed ones too,
        but no broken ones. excluding: joint types that do not count. Raises InvalidValueError for
        what is not of this world.
        """
        return are_connected(self, a, b, excluding)

    def remove_joint(self, joint: Joint | ConstraintJoint) -> None:
        """
        Remove a joint; the robot mounted on it becomes free and keeps its motion.

        Raises InvalidValueError for anything `add_joint` never returned, and UnknownNameError for
        a joint that is not, or no longer, of this world.
        """
        self._joints.remove(joint)

    # --- what touches what -----------------------------------------------------------------------

    def exclude(self, a: Link | Geometry, b: Link | Geometry, excluded: bool = True) -> None:
        """
        Exclude contacts between two links or two geometries; or allow them again.

        Of links, with everything fixed to them. Pairs that `load_urdf` has excluded stay excluded.
        Raises InvalidValueError for a link and a geometry, and for what is of another world.
        """
        exclude(self, a, b, truth('excluded', excluded))

    def set_group_collision(self, a: str, b: str, collide: bool) -> None:
        """
        Set whether geometries of two groups, or of one group among themselves, collide.

        Geometries are assigned to groups by `geometry.groups`. Two geometries do not collide if
        any pair of their groups is excluded; all others collide.
        """
        self.simulation.registry.groups.set_collision(a, b, collide)

    def set_contact_material(
        self, a: Material | str, b: Material | str, contact_material: ContactMaterial | None
    ) -> None:
        """
        Set the contact law of two materials; None restores the implicit rules.

        It holds in either order; `ContactMaterial.motion` is that of a relative to b. Raises
        UnknownNameError for an unknown material, or link of a friction direction.
        """
        self.materials.set_contact_material(a, b, contact_material)

    def on_contact(
        self,
        function: ContactFunction,
        a: Partner | None = None,
        b: Partner | None = None,
        *,
        events: Iterable[str] = ('impact', 'contact', 'separation'),
    ) -> ContactListener:
        """
        Call a function of a `ContactEvent` when geometries touch; AGX's ContactEventListener.

        function: returns None or 'keep'; 'remove': the pair exerts no force in this step; or (n,)
            truth values of the points to keep. It is called between detection and solution of a
            step, may look at the world, and must not change it.
        a, b: hear only of contacts of a robot, link, geometry or collision group with another; all
            if None. Python is called in no step without such a contact.
        events: which of 'impact', 'contact' and 'separation'.

        A pair that was removed did not touch: in the next step it is an impact again. Raises
        InvalidValueError. See docs/events.md.
        """
        return self._listeners.add(function, a, b, events)

    @property
    def contact_listeners(self) -> tuple[ContactListener, ...]:
        """What hears of contacts, in order."""
        return self._listeners.present

    @property
    def contact_count(self) -> int:
        """The number of contact points of the last step, without reading them."""
        return int(self.state.contact_size[0])

    @property
    def contacts(self) -> Contacts:
        """The contacts of the last step."""
        return Contacts(self)

    @property
    def geometries(self) -> list[Geometry]:
        """All geometries, in the order of `Contacts.indices`."""
        return [geometry for robot in self.robots.values() for geometry in robot.geometries]

    def distance(self, a: Body, b: Body) -> Distance:
        """
        Measure the distance of two robots, links or geometries at the present state.

        Raises InvalidValueError for what is of another world or without geometry, or if both are
        planes or height fields.
        """
        return self._queries.distance(a, b)

    def find_contacts(
        self,
        margin: float = 1e-3,
        a: Body | None = None,
        b: Body | None = None,
        *,
        pairs: Iterable[Pair] | None = None,
    ) -> ContactPoints:
        """
        Find the contact points of the present state, without a step; the state does not change.

        Each pair of geometries gives the corners of its contact patch, up to 64 points. Nothing
        but the present poses counts: neither velocities nor what the last step found.

        margin: greatest gap of a point [m].
        a, b: only the contacts of a robot, link or geometry, and with another; all if None. Of all
            pairs, those count that would collide in a step.
        pairs: instead of a and b, the pairs (a, b) or (a, b, margin), whether or not they would
            collide in a step. Of a robot or link all geometries count.

        Points are ordered by pair. Raises InvalidValueError for what is not of this world or has
        no geometries, for two planes or height fields, and for a negative margin.
        """
        return self._contacts.near(margin, a, b, pairs)

    def find_distances(
        self, a: Body | None = None, b: Body | None = None, *, pairs: Iterable[Pair] | None = None
    ) -> ContactPoints:
        """
        Measure all pairs of geometries at the present state, or those of a and b, or given ones.

        Returns one point per pair, as `distance` measures it: the nearest, or the deepest in
        contact; `gap` is the signed distance. a, b, pairs, errors: as for `find_contacts`.
        """
        return self._contacts.distances(a, b, pairs)

    def contact_problem(
        self,
        contacts: Iterable[ContactPoint],
        time_step: float | None = None,
        *,
        bias: float | Sequence[float] | np.ndarray | None = None,
        joint_laws: bool = True,
    ) -> ContactProblem:
        """
        Return the problem that decides velocities and impulses, of contacts at the present state.

        contacts: those of `find_contacts` or `find_distances`, or some of them, found at the
            present state.
        time_step: s; the world's if None.
        bias: the least velocity along each normal after the step [m/s]; 0 for J v⁺ >= 0. If None,
            as the engine has it: the velocity that closes the gap, that of restitution, and where
            contacts are soft that of ERP or spring.
        joint_laws: False leaves out stops, friction, motors and holds of joints.

        `sb.contact_problems` has its solvers. Raises InvalidValueError for what are no contacts of
        this world, and for invalid numbers; StateError if the mass matrix is singular.
        """
        with self.simulation.thread_guard.alone():
            return contact_problem(
                self, self.simulation, self.save(), contacts, time_step, bias, joint_laws
            )

    def overlaps(
        self,
        shape: Shape,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Vector = (0.0, 0.0, 0.0, 1.0),
    ) -> list[Geometry]:
        """
        Return the geometries that a shape at a pose would touch [m; quaternion x y z w].

        It does not matter whether geometries are enabled, or which collide. Planes and height
        fields do not overlap each other.
        """
        return self._queries.overlaps(shape, position, orientation)

    def overlap_contacts(
        self,
        shape: Shape,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Vector = (0.0, 0.0, 0.0, 1.0),
        *,
        skip: Body | Iterable[Body] = (),
    ) -> list[OverlapContact]:
        """
        Find the contacts that a shape at a pose would have, without adding it; as `overlaps`.

        Of convex shapes and planes the greatest depth is the negative of their `distance`; at
        meshes and height fields, where each point has the depth along its own normal, at least
        that. skip: robots, links or geometries to leave out.
        """
        return self._queries.overlap_contacts(shape, position, orientation, skip)

    def overlapping(self, box: Matrix) -> list[Geometry]:
        """
        Return the geometries whose bounding boxes overlap a box, without a look at the shapes.

        box: (2, 3) its least and its greatest corner [m], along the world's axes. Bounding boxes
        are along these, too; that of a plane is endless.
        """
        return self._queries.overlapping(box)

    def raycast(
        self,
        p0: Vector,
        p1: Vector,
        *,
        groups: Iterable[str] | None = None,
        skip: Body | Iterable[Body] = (),
        only: Body | Iterable[Body] | None = None,
        cull: bool = False,
        sensors: bool = False,
    ) -> RayHit | None:
        """
        Find what the segment from p0 to p1 hits first, at the present state; None for nothing.

        A hit is where the segment crosses a surface, from either side: one that is wholly inside
        of a geometry misses it, and so does one without length. Of a height field only the surface
        counts, not the solid below. Nothing changes.

        p0, p1: (3,) [m], world.
        groups: hit geometries of these collision groups only; of all if None.
        skip, only: robots, links or geometries that are not hit; that alone are.
        cull: pass from inside to outside unnoticed, through the back of triangles too.
        sensors: hit geometries that are sensors as well. Disabled ones are never hit.

        Raises InvalidValueError for points that are not finite, and what is not of this world;
        StateError while another thread steps or changes the world.
        """
        return self._rays.first(
            p0, p1, groups=groups, skip=skip, only=only, cull=cull, sensors=sensors
        )

    def raycasts(
        self,
        p0: Vector | Matrix,
        p1: Vector | Matrix,
        *,
        groups: Iterable[str] | None = None,
        skip: Body | Iterable[Body] = (),
        only: Body | Iterable[Body] | None = None,
        cull: bool = False,
        sensors: bool = False,
        every: bool = False,
    ) -> RayHits:
        """
        Find what many segments hit first, in one compiled call; as `raycast`.

        p0, p1: (n, 3) [m], world; or (3,) for a common one. every: all geometries on each segment
        rather than the first, each where the segment first crosses its surface.
        """
        return self._rays.cast(
            p0, p1, groups=groups, skip=skip, only=only, cull=cull, sensors=sensors, every=every
        )

    # --- time ------------------------------------------------------------------------------------

    time_step = ReadOnly[float]('simulation.run.time_step', 'Length of a step [s].')
    time_step_ns = ReadOnly[int]('simulation.run.time_step_ns', 'Length of a step [ns].')

    @property
    def time(self) -> float:
        """Simulated time [s]."""
        simulation = self.simulation
        return simulation.run.step_count * simulation.run.time_step_ns * 1e-9

    @property
    def step_count(self) -> int:
        """The number of steps taken; set it to count from another time."""
        return self.simulation.run.step_count

    @step_count.setter
    def step_count(self, value: int) -> None:
        self.simulation.run.step_count = whole_number('step_count', value)
        self.simulation.staleness.forget_observations()

    def step(self, n: int = 1, contacts: Iterable[UserContact] = ()) -> None:
        """
        Advance by n steps under the present efforts, as n calls with one step each do.

        Pushes (`link.add_force`, `add_torque`) act in the first of them only, and so do the
        contacts that are given, besides those found. Raises SimulationError if the result of a
        step is not finite, or if the step diverges, as one that is too long does: the state before
        that step is kept, and the message names the cause and, of a step that diverges, the joints
        and a time step to try; and InvalidValueError for what is no contact of this world.

        Step hooks are called in each step. What a hook, a listener to contacts, or a function of a
        field or of friction raises, this raises, with the world as it was before that step.
        """
        simulation = self.simulation
        try:
            runner = simulation.runner
            if runner.hooks.is_used or simulation.registry.fields.has_functions:
                self._hooked.take(n, contacts)
            else:
                runner.step(n, user_contact_arrays(simulation, contacts))
        except DivergenceError as err:
            raise self._failed(
                SimulationError(
                    describe_divergence(simulation, self.robots.values(), err.velocities)
                )
            ) from None
        except Exception as err:
            self._failed(err)
            raise

    def _failed(self, error: Exception) -> Exception:
        """Tell what watches steps of an error, and return it."""
        watcher = self.simulation.runner.hooks.watcher
        if watcher is not None:
            watcher.failed(error)
        return error

    def view(
        self,
        *,
        speed: float = 1.0,
        paused: bool = False,
        browser: bool = True,
        port: int = 0,
        title: str = 'sim_bridge',
    ) -> WorldViewer:
        """
        Open a live page of the world in a browser; return its `sim_bridge.view.Viewer`.

        While it is open, `step` goes at a speed (simulated per real time; 0: as fast as possible)
        that the page can change, and waits while the page says pause. paused: begin so. browser:
        open one; the address is `Viewer.url`. port: of the page's server on this machine, 0 for
        one that is free. Raises StateError if it cannot be opened, MissingPackageError without
        the packages of the extra `view`.
        """
        # by name: the world knows nothing of pages, and loads none without being asked
        module = import_module('sim_bridge.view.viewer')
        viewer: WorldViewer = module.Viewer(
            self, speed=speed, paused=paused, browser=browser, port=port, title=title
        )
        return viewer

    def before_step(self, function: Callable[[World], object]) -> StepHook:
        """
        Call a function of the world before each step, until the hook's `remove` is called.

        What it sets and pushes counts in that step. A copy of the world has the hook too; it gets
        the copy as its argument. See docs/events.md.
        """
        return self.simulation.runner.hooks.add(BEFORE, function, self)

    def after_step(self, function: Callable[[World], object]) -> StepHook:
        """Call a function of the world after each step; as `before_step`."""
        return self.simulation.runner.hooks.add(AFTER, function, self)

    @property
    def step_hooks(self) -> tuple[StepHook, ...]:
        """What is called before and after each step, in order."""
        return self.simulation.runner.hooks.present

    @property
    def functions(self) -> list[tuple[str, object]]:
        """The functions of Python that act on it, each with what it is: ('gravity', function)."""
        return self._parts.functions

    def warm_up(self) -> None:
        """Compile or load every kernel of a running simulation; the world does not change."""
        self.simulation.runner.warm_up()

    def reset(self, time: bool = False) -> None:
        """
        Return every robot to its initial state, at rest and without efforts.

        The sensors' noise restarts. Changed parameters persist, and so do the joints' controls,
        whose targets become the present positions, or those that an OpenPLX scene gives. Crawlers
        stop. time: also set the step count to
        0.
        """
        time = truth('time', time)
        finished(partial(self._reset, time))

    def _reset(self, time: bool) -> None:
        self.simulation.reset()
        for scene in self.openplx.values():
            scene.restart()
        if time:
            self.simulation.run.step_count = 0

    @property
    def gravity(self) -> FloatArray | PointGravity | GravityFunction:
        """
        (3,) [m/s²], world axes, a read-only view; or what pulls towards a point; can be set.

        `PointGravity(center, strength, exponent)` acts on each link at its centre of mass. So does
        a function of the position (3,) that returns an acceleration (3,) [m/s²].
        """
        return self._force_fields.gravity

    @gravity.setter
    def gravity(self, value: AnyGravity) -> None:
        self.simulation.set_gravity(value)

    def add_force_field(
        self,
        field: ForceField,
        name: str | None = None,
        links: Link | Robot | Iterable[Link | Robot] | None = None,
    ) -> str:
        """
        Add a field of force, which acts on links at their centres of mass; return its name.

        field: a `UniformField`, `PointField`, `PointGravity` or `Drag`; or a function
            f(position, velocity, mass, time) of a link's centre of mass (3,) [m], its velocity
            (3,) [m/s], mass [kg] and the time [s], which returns the force (3,) [N]; world axes.
        name: unique; if None, 'field', numbered if it is in use.
        links: links, or robots for all of theirs; None: all of the world, later ones too. Static
            and kinematic bodies are left out.

        Steps evaluate it in their middle, to second order. Fields are part of snapshots. Raises
        InvalidValueError. See docs/force_fields.md.
        """
        return self._force_fields.add(field, name, links)

    def set_force_field(self, name: str, field: ForceField) -> None:
        """Replace a field; it acts on the same links. Raises UnknownNameError."""
        self._force_fields.replace(name, field)

    def remove_force_field(self, name: str) -> None:
        """Remove a field; raises UnknownNameError."""
        self._force_fields.remove(name)

    @property
    def force_fields(self) -> Mapping[str, ForceField]:
        """The fields of force by name."""
        return self._force_fields.by_name

    integrator: Settable[str, str] = _setting(
        'integrator', "The integration method: 'midpoint', 'momentum' or 'rk5'."
    )
    solver: Settable[str, str] = _setting(
        'solver', "The solver of contacts: 'direct', 'iterative' or 'split'."
    )
    iterations: Settable[int | None, int | None] = _setting(
        'iterations', 'Most sweeps of an island, or None.'
    )
    step_budget: Settable[int | None, int | None] = _setting(
        'step_budget', 'Multiplications that an island may take in a step, or None.'
    )
    contact_margin: Settable[float, Number] = _setting(
        'contact_margin', 'Distance of contacts without force [m].'
    )
    erp: Settable[float, Number] = _setting(
        'erp', 'Default ERP of contacts, and of joints added from now on.'
    )
    cfm: Settable[float, Number] = _setting(
        'cfm', 'Default CFM of contacts, and of joints added from now on.'
    )
    sleep: Settable[Sleep | None, Sleep | bool | None] = _setting(
        'sleep', 'When what rests falls asleep; None for never.'
    )
    seed = ReadOnly[int]('simulation.run.seed', "The seed of the sensors' noise.")
    report = ReadOnly[StepReport](
        'simulation.runner.report', 'The report of the last `step` call.'
    )

    def take_worst(self) -> Worst:
        """Return the summary of the reports of all `step` calls since the last call of this."""
        return self.simulation.runner.take_worst()

    # --- state -----------------------------------------------------------------------------------

    state = ReadOnly[State](
        'simulation.cache.state',
        'The arrays that steps change; replaced whenever something is added.',
    )
    layout = ReadOnly[int](
        'simulation.cache.layout',
        'A number that changes whenever the arrays of `state` are replaced.',
    )
    units = ReadOnly[list[Unit]](
        'simulation.cache.units', 'The units to compile to step and observe the present world.'
    )

    def census(self) -> tuple[tuple[str, int], ...]:
        """Return the contents of the world; an object added later under an old name differs."""
        return self.simulation.registry.census()

    def save(self) -> Snapshot:
        """Return a snapshot that `restore` goes back to, bit for bit."""
        return snapshots.save(self.simulation)

    def restore(self, snapshot: Snapshot) -> None:
        """
        Go back to a snapshot of this world, or of one that it is a copy of.

        Raises InvalidValueError if robots or joints were added or removed since, or a robot's
        `motion` was changed; and for a snapshot of another time step.
        """
        snapshots.restore(self.simulation, snapshot)

    def state_hash(self) -> str:
        """Return a SHA-256 of all that determines the future: equal hashes, equal futures."""
        return snapshots.state_hash(self.simulation)

    def energy(self) -> Energy:
        """Return the energy of all robots at the present state, with what has stored some."""
        return self.simulation.observation.energy()

    def momentum(self) -> Momentum:
        """Return the momentum of all robots."""
        return self.simulation.observation.momentum()


def _from_record(kind: type[World], record: WorldRecord) -> World:
    """Return a new world of a class, as a record says."""
    world = kind.__new__(kind)
    world._begin(record.settings, np.zeros(GRAVITY_SIZE))
    restore_record(record, world, world._parts)
    return world
