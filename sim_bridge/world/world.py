"""World: robots, time and steps."""

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
from sim_bridge.description.cameras import CameraDescription
from sim_bridge.description.compliance import GivenCompliance
from sim_bridge.description.force_fields import ForceField
from sim_bridge.description.gravity import AnyGravity, gravity_row, GravityFunction, PointGravity
from sim_bridge.description.labels import with_label
from sim_bridge.description.mechanism.base import FILE, given_base
from sim_bridge.description.model import RobotDescription, SensorDescription
from sim_bridge.description.origin import Origin
from sim_bridge.description.report import ERROR
from sim_bridge.description.scene.load import read_scene
from sim_bridge.description.scene.model import SceneDescription
from sim_bridge.description.sensor_kinds import CAMERA
from sim_bridge.engine.data.model import GRAVITY_SIZE
from sim_bridge.engine.data.state import State
from sim_bridge.foreign.reader_process import sharing
from sim_bridge.foundation.arrays import FloatArray, Matrix, Number, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.errors import SimulationError
from sim_bridge.foundation.html import table
from sim_bridge.foundation.names import counted
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.foundation.validation import (
    check_keywords,
    items_of,
    positive_number,
    truth,
    whole_number,
)
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.joints.axis import Axis
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.sensors.cameras import CameraSensor
from sim_bridge.shapes.material import ContactMaterial, Material
from sim_bridge.shapes.material_table import MaterialTable
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.shapes import Plane, Shape
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.scenery import Scenery
from sim_bridge.simulation import snapshots
from sim_bridge.simulation.change import finished
from sim_bridge.simulation.records import Energy, Momentum, Sleep, StepReport, Worst
from sim_bridge.simulation.run import MOST_STEPS
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
from sim_bridge.world.visuals import looking, picture, WorldScenery
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
    """Return a property for a setting changeable at any time."""

    def read(world: World) -> Any:
        return getattr(world.simulation.run.settings, name)

    def write(world: World, value: object) -> None:
        world.simulation.configure(world.simulation.run.settings.changed(name, value))

    return Settable(read, write, doc=f'{doc} Can be set.')


class World(DeclaredAttributes):
    """
    A simulated world, advanced in fixed time steps.

    SI units and radians throughout; z points up with the default gravity.
    """

    __slots__ = (
        '_contacts',
        '_force_fields',
        '_hooked',
        '_joints',
        '_listeners',
        '_queries',
        '_rays',
        '_scenery',
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
        'scenery',
        'simulation',
        'tree',
        'units',
    }
    advice = {
        **{
            name: f'it is chosen at creation; make another World({name}=...)'
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
        origin: Origin | None = None,
    ):
        """
        Create an empty world.

        time_step: step length, 1e-9 to 1 s; rounded to whole nanoseconds, so time stamps do
            not drift.
        gravity: (3,) [m/s²], world axes; a `PointGravity`; or a function from position (3,) [m]
            to acceleration (3,) [m/s²].
        solver: contact solver; stops, joint friction and mimic joints are always solved exactly.
            'direct': residual below 1e-9 m/s, within `step_budget`; for robots and what rests.
            'iterative': residual below 1e-6 m/s by 8 to 50 sweeps, completed by Newton steps,
            except for moving piles and if `iterations` is given; for such piles with hundreds of
            bodies (figures in docs/performance.md, With contacts). 'split': residual below
            1e-6 m/s, by alternating a direct solve for normal forces and friction sweeps, and by
            solving both together if they do not converge. `report` tells whether the tolerance was
            reached.
        seed: sensor noise seed, an integer of at least 0.
        integrator: 'midpoint', second order, one evaluation of the dynamics; 'momentum', the same
            step, conserving free robots' linear and angular momentum to rounding; or 'rk5',
            Dormand-Prince, fifth order, six evaluations, with 'midpoint' instead in steps with
            friction, stops, holds or contacts.
        contact_margin: distance [m] below which two geometries form a contact, in addition to the
            distance that they can move in a step; forces act from touch on.
        sleep: stop simulating bodies at rest until something moves them (ODE's auto-disable);
            True, or a `Sleep` with thresholds.
        iterations: largest sweep count over an island's contacts, however many these are;
            None: 50 for 'iterative' and 'split', 300 for 'direct' if it needs sweeps, fewer for
            large islands.
        erp, cfm: ODE's world ERP and CFM [1; m/(N s), rad/(N m s)]: for contacts whose contact
            material has no own values, and for `add_joint` without these and without a compliance.
        step_budget: largest multiplication count for a contact island in a step, so a
            hard impact does not delay control; None for no bound. A step at the bound may leave a
            residual above the tolerance, as `report` tells; the next step continues from there.
            Islands with over 50 contacts may take more, and islands near rest enough to stay at
            rest. See docs/performance.md.
        origin: place of the world's origin on the Earth, an `Origin`, for sensors of position,
            magnetic field and air pressure; None: not known. See docs/places.md.

        All except time_step and seed are also attributes that can be set later; resets keep them,
        snapshots contain them. Raises InvalidValueError for other values.
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
                checked('origin', origin),
            ),
            own_gravity,
        )
        if callable(gravity):
            self.simulation.set_gravity(gravity)

    def _begin(self, settings: Settings, gravity: FloatArray) -> None:
        """Initialize empty; gravity: (8,) as in the engine's Model, used in place."""
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
        self._scenery = WorldScenery(self)
        self.robots: Mapping[str, Robot] = self.registry.robots
        """Robots and bodies by name, in the order added."""
        self.joint_groups = JointGroups(self.tree)
        """Named joint groups, to enable, disable and remove together."""
        self.loader = OpenPlxScenes(self, simulation, self.registry, self.tree)
        self.openplx: Mapping[str, OpenPlxScene] = MappingProxyType(self.loader.scenes)
        """OpenPLX scenes by name, in the order loaded."""
        self.materials: MaterialTable = simulation.registry.materials
        """Materials by name, and the contact laws between them."""

    def copy(self, seed: int | None = None) -> World:
        """
        Return an independent world with the same state: equal steps give equal bits.

        It has everything covered by `state_hash`, and robots, joints, materials and sensors under
        the same names. It also restores this world's snapshots. Objects that only use this world
        stay with it: views of its robots, links and joints, trajectory followers, drives. The
        copy's `report` is as in a world without steps. `copy.copy` and `copy.deepcopy` do the
        same, and a pickled world is a copy in another process.

        seed: the copy's noise seed; its sensors then have no samples yet; None: the noise
        continues as in this world. Raises InvalidValueError for an invalid seed.
        """
        record = self._record()
        if seed is None:
            return _from_record(type(self), record)
        copied = _from_record(type(self), with_seed(record, checked('seed', seed)))
        for device in copied.simulation.cache.devices:
            device.reset(copied.simulation.run.seed)
        return copied

    def __copy__(self) -> World:
        """Return an independent world, as `copy` does; an alias would be useless."""
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> World:
        """Return an independent world, as `copy` does."""
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        """
        Return the constructor arguments for pickles: the record that `copy` uses.

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
        """Show the time, and robot and contact counts."""
        robots = ', '.join(list(self.robots)[:5]) + (', …' if len(self.robots) > 5 else '')
        sizes = (
            f'{counted(len(self.robots), "robot")}{f" ({robots})" if robots else ""}, '
            f'{counted(self.simulation.cache.contact_count, "contact")}'
        )
        return f'<World at {self.time:.9g} s (step {self.step_count}): {sizes}>'

    def _repr_html_(self) -> str:
        """Return a robot and object table, for notebooks."""
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
        base: str = FILE,
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
        strict: bool = False,
        label: int | None = None,
        fixed_base: bool | None = None,
    ) -> Robot:
        """
        Read a URDF, xacro, SDF, MJCF, USD or body file, or XML text, and add the robot.

        path_or_xml: file path, XML text, or a shipped robot's name.
        name: unique in the world; if None, the name in the file, with a number if it is in use.
        base: whether the root link is 'fixed' to the world or 'free'; 'file': fixed if its name is
            'world', or as in the body file; 'auto': as `sim_bridge run` does, fixed also for an
            arm or a gripper.
        position, orientation: the root link frame in the world [m; quaternion x y z w].
        joint_positions: initial one-axis joint positions by name [rad or m]. Other joints
            start at 0 or the stop nearest to 0, or near there if a loop would stay open.
        sensors: devices in addition to those in the file.
        extra_joints: joints that close loops, in addition to those in the file: a YAML file, or a
            mapping with its contents; docs/closed_loops.md has the keys.
        xacro_args: arguments for a xacro file, by name.
        package_paths: folders to search for package:// files.
        collisions: collision shape for meshes: 'hull', the convex hull; 'hulls', several convex
            hulls from a decomposition, which is kept on disk (extra `meshes`); 'mesh', the
            triangles; 'none': the robot collides with nothing.
        missing_meshes: report a missing or unreadable collision mesh as an 'error', or as a
            'warning' in `robot.description.report`; with a warning it collides with nothing.
            'auto': a warning if another mesh of the robot is found.
        self_collision: False: no two robot links collide. True: all do, except links
            connected by a joint and links that overlap in the initial configuration. None: as
            True, but only where `selfCollide` tags allow it, if there are any tags.
        srdf: file or text; its `disable_collisions` replace the test for initial overlap.
        material: for links without a material in Gazebo's tags; a Material or its name.
        strict: whether to refuse a robot with a defect in a sensor, drive, controller or
            collision; otherwise this part is left out, with a warning in
            `robot.description.report`.
        label: semantic label of all links, for cameras; None: as in the file.
        fixed_base: former name of base 'fixed' (True) and 'free' (False), deprecated.

        Raises DescriptionError with the whole report for a description that cannot be simulated,
        and StateError for a loop that cannot be closed.
        """
        description = load_description(
            path_or_xml,
            xacro_args=xacro_args,
            package_paths=package_paths,
            extra_sensors=sensors,
            extra_joints=extra_joints,
            strict=strict,
        )
        return self.registry.add_robot(
            with_label(description, label),
            name,
            given_base(base, fixed_base),
            (position, orientation),
            joint_positions,
            CollisionOptions(collisions, missing_meshes, self_collision, srdf, material),
        )

    def load_body(
        self,
        path: str | Path,
        name: str | None = None,
        base: str = FILE,
        position: Vector | None = None,
        orientation: Vector | None = None,
        **options: Any,
    ) -> Robot:
        """
        Read a Choreonoid body file and add the robot; docs/choreonoid.md lists the supported keys.

        base: 'file': fixed if the root link's joint is. position, orientation: the root
        link [m; quaternion x y z w]; None: as in the file. Other arguments and errors are as for
        `load_urdf`, which reads body files too.
        """
        pose = load_description(path, package_paths=options.get('package_paths', ())).base_pose
        return self.load_urdf(
            path,
            name,
            base,
            pose.position if position is None else position,
            quaternion_from_matrix(pose.rotation) if orientation is None else orientation,
            **options,
        )

    def add_robot(
        self,
        description: RobotDescription,
        name: str | None = None,
        base: str = FILE,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Vector = (0.0, 0.0, 0.0, 1.0),
        *,
        joint_positions: Mapping[str, float] = _NOTHING,
        collisions: str = HULL,
        missing_meshes: str = ERROR,
        self_collision: bool | None = None,
        srdf: str | Path | None = None,
        material: Material | str | None = None,
        fixed_base: bool | None = None,
    ) -> Robot:
        """
        Add a robot from a description read before; the other arguments are as for `load_urdf`.

        `reset` restores the state in which the robot was added.
        """
        return self.registry.add_robot(
            description,
            name,
            given_base(base, fixed_base),
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
        Add a copy of a robot in this world or another, in its initial state.

        This is fast: no file is read and no known result is recomputed. A robot can thus be loaded
        into a separate world in another thread while this world runs.

        name: unique; if None, the other robot's name, with a number if it is in use. position,
        orientation: the root link frame [m; quaternion x y z w]; the other robot's initial
        pose if None. Raises StateError for a removed robot.
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
        label: int = 0,
    ) -> Robot:
        """
        Add a single body: a robot with one link, `root_link`, with the body's name.

        shapes: one or several; `Placed` shapes contain their poses on the body.
        name: unique in the world; if None, 'body', with a number if it is in use.
        mass: [kg]; if None, from the shapes, except sensors, disabled shapes and shapes with
            mass=False.
        inertia: (3, 3) about the centre of mass, or its diagonal (3,), in link axes [kg m²]; from
            the shapes if None.
        center_of_mass: (3,) in the link frame [m]; if None, the link's origin if mass and inertia
            are given, otherwise from the shapes.
        density: the shapes' [kg/m³]; from their materials if None.
        motion: 'dynamic': moves under forces. 'static': never moves. 'kinematic': moves by
            `move_to` and `set_base_velocity`, under any forces. `robot.motion` changes it; a body
            added as static or kinematic needs a mass or density here to become dynamic.
        material: for shapes without one; the material 'default' if None.
        position, orientation: the link frame in the world [m; quaternion x y z w].
        linear_velocity, angular_velocity: (3,) the link frame's [m/s; rad/s], world axes.
        sensors: devices on the body; their link may be left out.
        label: semantic label for cameras, up to 65535; 0 for background.

        Raises InvalidValueError for invalid values, for example a plane that moves,
        UnknownNameError for an unknown material, and DescriptionError for sensors that need a
        joint.
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
            label=label,
        )
        return self.registry.add_body(
            spec, name, (position, orientation), (linear_velocity, angular_velocity)
        )

    def add_bodies(self, bodies: Iterable[Mapping[str, Any]]) -> list[Robot]:
        """
        Add several bodies, or none after an error in one.

        bodies: for each body a mapping with `add_body` arguments. Raises the errors from
        `add_body`, and UnknownNameError for an unknown argument.
        """
        given = items_of('bodies', bodies, Mapping, "mappings of add_body's arguments")
        for number, arguments in enumerate(given):
            check_keywords(World.add_body, arguments, f'body {number}')
        with self.registry.all_or_nothing(is_addition=True):
            return [self.add_body(**arguments) for arguments in given]

    def add_camera(
        self,
        position: Vector,
        target: Vector,
        name: str | None = None,
        *,
        camera: CameraDescription | None = None,
        update_rate: float = 30.0,
    ) -> CameraSensor:
        """
        Add a camera that stands in the world, and return its device.

        position, target: (3,) [m]; the camera looks at the target, upright. name: of the camera
        and of the body without shapes that carries it; if None, 'camera', with a number if it is
        in use. camera: lens, size and outputs; the defaults if None. update_rate: [Hz].

        Raises InvalidValueError if the target is the position, or a value is not finite.
        """
        where = 'World.add_camera'
        eye, rotation = looking(position, target, where)
        rate = positive_number('update_rate', update_rate, 'a rate above 0 [Hz]', where)
        with self.registry.all_or_nothing(is_addition=True):
            name = self.registry.free_name(name, CAMERA.word)
            body = self.add_body(
                (),
                name,
                motion='static',
                position=eye,
                orientation=quaternion_from_matrix(rotation),
                sensors=[SensorDescription(name, CAMERA, '', update_rate=rate, settings=camera)],
            )
        (device,) = body.devices(CameraSensor)
        return device

    def render(
        self,
        position: Vector,
        target: Vector,
        camera: CameraDescription | None = None,
        output: str = 'image',
    ) -> np.ndarray:
        """
        Return a picture at the present state, without adding a camera.

        position, target: (3,) [m]; the camera looks at the target, upright. camera: lens, size
        and outputs; the defaults if None. output: 'image' (height, width, channels), or another
        output, see `CameraSensor`.

        Raises InvalidValueError if the target is the position, or a value is not finite;
        UnknownNameError for an unknown output.
        """
        return picture(self, position, target, camera or CameraDescription(), output)

    def add_ground(
        self, material: Material | str | None = None, height: float = 0.0, label: int = 0
    ) -> Robot:
        """
        Add static ground: everything below a height [m] is solid.

        material: the material 'default' if None. label: see `add_body`.
        """
        with self.registry.all_or_nothing(is_addition=True):
            return self.add_body(
                Plane(),
                self.registry.free_name(None, GROUND),
                motion='static',
                material=material,
                position=(0.0, 0.0, height),
                label=label,
            )

    @sharing()
    def load_scene(
        self, source: str | Path | Mapping[str, object], package_paths: Iterable[str | Path] = ()
    ) -> SceneDescription:
        """
        Add a scene's contents, or nothing after an error.

        source: a YAML file, or a mapping with its contents, with the keys listed in
            `description.scene.scene`; or a world file in another format of
            `description.formats`, such as a Choreonoid project (.cnoid).
        package_paths: folders searched for package:// files; YAML scenes name their own.

        Gravity and settings in the scene become those of this world. The time step stays;
        `time_step` in the returned description is the file's.

        Raises SceneError, a DescriptionError, with all errors found: key, value and accepted
        values.
        """
        scene = read_scene(source, package_paths=package_paths)
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
        Add an OpenPLX scene, assembled by SNAP, or nothing after an error.

        path_or_text: file path or text; a shipped scene's name; or a scene description read
            before, such as `OpenPlxScene.description`.
        model: name of the model to instantiate; if None, the file's last one.
        name: the scene's name, and its robot's if it has only one, otherwise the prefix for its
            robots' names; if None, the model's name, with a number if it is in use. Robots are
            bodies connected by mates, and single bodies.
        position, orientation: the scene's world in this world [m; quaternion x y z w]. The
            gravity in an Environment is in this world's axes, and becomes its gravity.
        bundle_paths: bundle folders, before those named in OPENPLX_BUNDLE_PATH and the
            installed ones.

        docs/openplx.md describes each model's simulation. Raises SceneError, a
        DescriptionError, with all errors found and their lines, and InvalidValueError for an
        invalid pose.
        """
        bundle_paths = items_of('bundle_paths', bundle_paths, (str, Path), 'folders')
        return self.loader.load(path_or_text, model, name, (position, orientation), bundle_paths)

    def remove(self, robot: Robot | str) -> None:
        """
        Remove a robot or a body, at any time; all others continue undisturbed.

        robot: the robot or its name. Robots mounted on it become free and keep their motion. Its
        joints, excluded pairs and contacts are deleted, and its name becomes free. Afterwards,
        references to the robot, or to its links, joints, geometries or devices, raise StateError
        for everything except the description. As after an addition, take views of the world's
        arrays again; older snapshots no longer fit.

        Raises UnknownNameError for an unknown name, and StateError or InvalidValueError for
        anything except a robot in this world.
        """
        self.registry.remove(robot)
        self.loader.forget_gone()

    # --- joints ----------------------------------------------------------------------------------

    joints = ReadOnly[Mapping[str, Joint | ConstraintJoint]](
        'tree.joints', 'Joints added by `add_joint`, and loop joints of the robots, by name.'
    )

    def joint(self, name: str) -> Joint | ConstraintJoint:
        """Return a joint in `joints`; raise UnknownNameError for another name."""
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
        Add a joint between two links at their current poses, or a link and the world; as in ODE.

        kind: joint type.
            'ball': turns about the anchor. 'hinge': turns about `axis`. 'slider': slides along
            `axis`. 'piston': both. 'universal': turns about `axis`, fixed to the first link, and
            `axis2`, fixed to the second. 'hinge2': the same for axes at any angle, with a
            suspension along `axis`. 'planar': moves in the plane normal to `axis`. 'fixed': no
            motion. 'distance': keeps the anchors' distance. 'inline': keeps the second
            anchor on the line along `axis`. 'parallel': keeps the axes parallel. 'perpendicular':
            keeps the angle between `axis` and `axis2`, each fixed to its link. 'hinge_motor',
            'slider_motor': no constraint; motors, stops, springs and friction along an axis left
            free by another joint (`add_motor`).
        first, second: links, bodies (robots with one link), or None for the world. The joint's
            coordinates are those of the second relative to the first, and start at 0.
        anchor: (3,) [m], world; the second link's origin if None.
        anchor2: (3,) anchor on the second link [m], world, if it differs: for a distance joint, or
            for a gap that the joint closes.
        axis, axis2: (3,) any length, world axes.
        normal: (3,) across `axis`, world axes: x of the joint's axes, with `axis` as z, also for
            kinds without an axis. Only `compliance` depends on it.
        name: unique among the world's joints; if None, the kind, with a number if it is in use.
        erp, cfm: ODE's compliance [1; m/(N s), rad/(N m s)], one value for all rows or one per
            row; see `ConstraintJoint.erp`. None for the world's values; their defaults are erp 0.2
            and cfm 0 (rigid).
        compliance: stiffness and damping instead of these; see `ConstraintJoint.compliance`.
        suspension: stiffness and damping for a hinge2 along `axis` [N/m; N s/m].
        tree: False: always a constraint. True: raise if it cannot be part of a tree.
        collide: whether the two links collide with each other.

        A joint that closes no loop becomes part of a tree: exact, and as fast as a robot's own
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

        first, second: links, bodies (robots with one link), or None for the world.
        axes: one to three vectors (3,), any length, world axes. Their angles are the integrated
            rates, starting at 0 or at the value to which `q` is set.
        fixed_on: for each axis the link that it is fixed to, 'first' or 'second', or 'world'; all
            on the first if None.
        euler: whether the angles are Euler angles, measured, any size. `axes` are then two at
            right angles: the first axis, fixed to the first link, and the last, fixed to the
            second. The joint then has a middle axis too, the cross product last × first.
            Velocities are the angle rates; ODE's outer rates are these times the cosine of the
            middle angle.
        name: unique among the world's joints; if None, 'angular_motor', with a number if it is in
            use.

        Raises InvalidValueError for invalid arguments.
        """
        return self._joints.add_angular_motor(first, second, axes, fixed_on, euler, name)

    def add_motor(
        self, axis: Axis | Joint | ConstraintJoint, *, name: str | None = None
    ) -> ConstraintJoint:
        """
        Add another motor beside that of an axis, with its own limits, friction and springs.

        It is a joint without constraint rows. Its only axis moves with the given one, from the
        same zero; efforts on both add up.

        axis: linear axis or hinge axis in this world; or a joint with only one axis.
        name: unique among the world's joints; if None, 'hinge_motor' or 'slider_motor', with a
            number if it is in use.

        Raises InvalidValueError for invalid arguments.
        """
        return self._joints.add_motor(axis, name)

    @property
    def broken_joints(self) -> list[str]:
        """Names of the broken joints; see `ConstraintJoint.is_broken`."""
        return self._joints.broken()

    def attach_joint(
        self, joint: ConstraintJoint, first: Link | Robot | None, second: Link | Robot | None
    ) -> None:
        """
        Attach a constraint joint to other links, or to the world; ODE's dJointAttach.

        Anchors and axes stay at their current places in the world, and coordinates are 0 there;
        set `anchor` and `axis` afterwards. Compliance, motors, stops and break limits stay. If the
        joint excluded contacts between its links, the old links collide again, and the new ones do
        not. Raises InvalidValueError for links as in `add_joint`, and StateError for a tree joint
        or a joint in a robot's description.
        """
        self._joints.attach(joint, first, second)

    def are_connected(
        self, a: Link | Robot, b: Link | Robot | None, *, excluding: Iterable[str] = ()
    ) -> bool:
        """
        Return whether a joint connects two links or robots, or one with the world (None).

        Only directly, as ODE's dAreConnected: by a tree joint, constraint or motor, also by a
        fixed joint, but not by a broken one. excluding: joint types that do not count. Raises
        InvalidValueError for objects not in this world.
        """
        return are_connected(self, a, b, excluding)

    def remove_joint(self, joint: Joint | ConstraintJoint) -> None:
        """
        Remove a joint; the robot mounted on it becomes free and keeps its motion.

        Raises InvalidValueError unless `add_joint` or a similar method returned it, and
        UnknownNameError for a removed joint or a joint in another world.
        """
        self._joints.remove(joint)

    # --- contacts and queries --------------------------------------------------------------------

    def exclude(self, a: Link | Geometry, b: Link | Geometry, excluded: bool = True) -> None:
        """
        Exclude contacts between two links or two geometries; or allow them again.

        For links, this includes everything fixed to them. Pairs excluded by `load_urdf` stay
        excluded. Raises InvalidValueError for a link with a geometry, and for objects in another
        world.
        """
        exclude(self, a, b, truth('excluded', excluded))

    def set_group_collision(self, a: str, b: str, collide: bool) -> None:
        """
        Set whether geometries in two groups, or within one group, collide.

        `geometry.groups` assigns geometries to groups. Two geometries do not collide if any pair
        of their groups is excluded; all others collide.
        """
        self.simulation.registry.groups.set_collision(a, b, collide)

    def set_contact_material(
        self, a: Material | str, b: Material | str, contact_material: ContactMaterial | None
    ) -> None:
        """
        Set the contact law between two materials; None restores the implicit rules.

        The order of a and b matters only for `ContactMaterial.motion`, a's motion relative to b.
        Raises UnknownNameError for an unknown material, and for an unknown link in a friction
        direction.
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
        Call function(`ContactEvent`) when geometries touch; AGX's ContactEventListener.

        function: returns None or 'keep'; 'remove': the pair exerts no force in this step; or (n,)
            truth values for points to keep. It is called between detection and solution in a
            step. It may read the world, but must not change it.
        a, b: call only for contacts of one robot, link, geometry or group with another;
            for all if None. Steps without these contacts call no Python code.
        events: some or all of 'impact', 'contact' and 'separation'.

        A removed pair counts as not touching: the next step reports an impact again. Raises
        InvalidValueError for invalid arguments. See docs/events.md.
        """
        return self._listeners.add(function, a, b, events)

    @property
    def contact_listeners(self) -> tuple[ContactListener, ...]:
        """Contact listeners, in the order added."""
        return self._listeners.present

    @property
    def contact_count(self) -> int:
        """Contact point count in the last step; does not copy the points."""
        return int(self.state.contact_size[0])

    @property
    def contacts(self) -> Contacts:
        """The last step's contacts."""
        return Contacts(self)

    @property
    def geometries(self) -> list[Geometry]:
        """All geometries, ordered as in `Contacts.indices`."""
        return [geometry for robot in self.robots.values() for geometry in robot.geometries]

    def distance(self, a: Body, b: Body) -> Distance:
        """
        Return the signed distance between two robots, links or geometries in the current state.

        Raises InvalidValueError for objects in another world or without geometry, and if both are
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
        Find contact points in the current state, without a step; the state does not change.

        Each geometry pair gives its contact patch's corners, up to 64 points. The result
        depends on the current poses only, not on velocities or the last step's contacts.

        margin: largest gap [m].
        a, b: robot, link or geometry; only contacts on a, and only with b; all if None. Only
            pairs that would collide in a step count.
        pairs: instead of a and b, pairs (a, b) or (a, b, margin), whether or not they would
            collide in a step. All geometries on a robot or link count.

        Points are ordered by pair. Raises InvalidValueError for objects in another world or
        without geometries, for two planes or height fields, and for a negative margin.
        """
        return self._contacts.near(margin, a, b, pairs)

    def find_distances(
        self, a: Body | None = None, b: Body | None = None, *, pairs: Iterable[Pair] | None = None
    ) -> ContactPoints:
        """
        Measure all geometry pairs in the current state, or those between a and b, or given ones.

        Returns one point per pair, as `distance` does: the nearest, or the deepest in contact;
        `gap` is the signed distance. a, b, pairs, errors: as for `find_contacts`.
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
        Return the contact problem for velocities and impulses, for contacts in the current state.

        contacts: all or some points from `find_contacts` or `find_distances`, found in the current
            state.
        time_step: [s]; the world's if None.
        bias: smallest velocity along each normal after the step [m/s]; 0 for J v⁺ >= 0. If None,
            as in the engine: the velocity that closes the gap, the restitution velocity, and for
            compliant contacts the velocity from ERP or spring.
        joint_laws: False leaves out joint stops, friction, motors and holds.

        `sb.contact_problems` has its solvers. Raises InvalidValueError for contacts in another
        world and for invalid numbers; StateError if the mass matrix is singular.
        """
        return self.simulation.thread_guard.run_alone(
            lambda: contact_problem(
                self, self.simulation, self.save(), contacts, time_step, bias, joint_laws
            )
        )

    def overlaps(
        self,
        shape: Shape,
        position: Vector = (0.0, 0.0, 0.0),
        orientation: Vector = (0.0, 0.0, 0.0, 1.0),
    ) -> list[Geometry]:
        """
        Return the geometries touched by a shape.

        position, orientation: shape pose in the world [m; quaternion x y z w]. Geometries count
        whether or not they are enabled, and in any collision group. Planes and height fields do
        not overlap each other.
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

        For convex shapes and planes, the largest depth is -`distance`. At meshes and height
        fields, where each point has the depth along its own normal, it is at least that. skip:
        robots, links or geometries to leave out.
        """
        return self._queries.overlap_contacts(shape, position, orientation, skip)

    def overlapping(self, box: Matrix) -> list[Geometry]:
        """
        Return the geometries whose bounding boxes overlap a box, without shape checks.

        box: (2, 3) smallest and largest corner [m], along the world's axes. Bounding boxes are
        along the same axes; a plane's is unbounded.
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
        Find the first hit on the segment from p0 to p1 in the current state; None without a hit.

        A hit is a surface crossing, from either side. A segment wholly inside a geometry misses
        it, and so does one without length. For a height field only the surface counts, not the
        solid below. The world does not change.

        p0, p1: (3,) [m], world.
        groups: hit only geometries in these collision groups; all if None.
        skip: robots, links or geometries that are not hit. only: the only ones that are hit.
        cull: ignore crossings from inside to outside, and through the back of triangles.
        sensors: hit sensor geometries too. Disabled geometries are never hit.

        Raises InvalidValueError for nonfinite points and for objects in another world;
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
        Find the first hits of many segments in one compiled call; otherwise as `raycast`.

        p0, p1: (n, 3) [m], world; or (3,) for a common point. every: return all geometries on each
        segment instead of the first, each at the segment's first surface crossing.
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
        """Steps taken; can be set to count from another time."""
        return self.simulation.run.step_count

    @step_count.setter
    def step_count(self, value: int) -> None:
        self.simulation.run.step_count = whole_number('step_count', value, MOST_STEPS)
        self.simulation.staleness.forget_observations()

    def step(self, n: int = 1, contacts: Iterable[UserContact] = ()) -> None:
        """
        Advance by n time steps under the current efforts; equal to n calls with one step each.

        Forces and torques from `link.add_force` and `add_torque` act in the first step only. So do
        `contacts`, in addition to the contacts found.

        Raises SimulationError if a step's result is not finite or the step diverges, for example
        because it is too long. The state before that step is kept. The message names the cause
        and, for a diverging step, the joints and a time step to try. Raises InvalidValueError for
        contacts not in this world.

        Step hooks are called in each step. Exceptions in a hook, a contact listener, or a force
        field or friction function pass through, with the world as before that step.
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
        """Notify the step watcher about an error, and return the error."""
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
        Open the world's live page in a browser; return its `sim_bridge.view.Viewer`.

        speed: simulated time per wall time in `step` while the page is open; 0: as fast as
        possible. The page can change it, and can pause `step`. paused: start paused. browser: open
        a browser; the address is `Viewer.url`. port: the page server's port on this machine, 0 for
        any free one. Raises StateError if the page cannot be opened, and MissingPackageError
        without the extra `view`'s packages.
        """
        # import by name: the world does not depend on pages, and loads them on request only
        module = import_module('sim_bridge.view.viewer')
        viewer: WorldViewer = module.Viewer(
            self, speed=speed, paused=paused, browser=browser, port=port, title=title
        )
        return viewer

    def before_step(self, function: Callable[[World], object]) -> StepHook:
        """
        Call function(world) before each step, until the hook's `remove` is called.

        Values and forces that it sets act in that step. A copied world has the hook too, with
        the copy as its argument. See docs/events.md.
        """
        return self.simulation.runner.hooks.add(BEFORE, function, self)

    def after_step(self, function: Callable[[World], object]) -> StepHook:
        """Call function(world) after each step; as `before_step`."""
        return self.simulation.runner.hooks.add(AFTER, function, self)

    @property
    def step_hooks(self) -> tuple[StepHook, ...]:
        """Functions called before and after each step, in the order added."""
        return self.simulation.runner.hooks.present

    @property
    def functions(self) -> list[tuple[str, object]]:
        """Python functions acting on the world, with their roles: ('gravity', function)."""
        return self._parts.functions

    def warm_up(self) -> None:
        """Compile or load all kernels needed by steps; the world does not change."""
        self.simulation.runner.warm_up()

    def reset(self, time: bool = False) -> None:
        """
        Return every robot to its initial pose and velocities, without efforts.

        The sensor noise restarts. Changed parameters persist, and so do the joints' control modes;
        motor targets become the current positions, or an OpenPLX scene's. Crawlers stop.
        time: also set the step count to 0; later steps then have the bits of a new world's.
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
        (3,) [m/s²], world axes, a read-only view; a `PointGravity`; or a function; can be set.

        `PointGravity(center, strength, exponent)` acts on each link at its centre of mass. So does
        a function from position (3,) [m] to acceleration (3,) [m/s²].
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
        Add a force field, which acts on links at their centres of mass; return its name.

        field: a `UniformField`, `PointField`, `PointGravity` or `Drag`; or a function
            f(position, velocity, mass, time) with a link's centre of mass (3,) [m], its velocity
            (3,) [m/s], mass [kg] and the time [s], which returns the force (3,) [N]; world axes.
        name: unique; if None, 'field', with a number if it is in use.
        links: links, or robots for all their links; None: all links in the world, including links
            added later. Static and kinematic bodies are left out.

        Steps evaluate it in mid-step, to second order. Snapshots contain fields.
        Raises InvalidValueError for invalid arguments. See docs/force_fields.md.
        """
        return self._force_fields.add(field, name, links)

    def set_force_field(self, name: str, field: ForceField) -> None:
        """Replace a field for the same links; raise UnknownNameError for an unknown name."""
        self._force_fields.replace(name, field)

    def remove_force_field(self, name: str) -> None:
        """Remove a field; raise UnknownNameError for an unknown name."""
        self._force_fields.remove(name)

    @property
    def force_fields(self) -> Mapping[str, ForceField]:
        """Force fields by name."""
        return self._force_fields.by_name

    integrator: Settable[str, str] = _setting(
        'integrator', "Integration method: 'midpoint', 'momentum' or 'rk5'."
    )
    solver: Settable[str, str] = _setting(
        'solver', "Contact solver: 'direct', 'iterative' or 'split'."
    )
    iterations: Settable[int | None, int | None] = _setting(
        'iterations', 'Largest number of sweeps over an island, or None for the default.'
    )
    step_budget: Settable[int | None, int | None] = _setting(
        'step_budget', 'Multiplications allowed for an island in a step, or None for no bound.'
    )
    contact_margin: Settable[float, Number] = _setting(
        'contact_margin', 'Distance of geometries with a contact without force [m].'
    )
    erp: Settable[float, Number] = _setting(
        'erp', 'Default ERP of contacts, and of joints added from now on.'
    )
    cfm: Settable[float, Number] = _setting(
        'cfm', 'Default CFM of contacts, and of joints added from now on.'
    )
    sleep: Settable[Sleep | None, Sleep | bool | None] = _setting(
        'sleep', 'Thresholds below which bodies at rest fall asleep; None for never.'
    )
    origin: Settable[Origin | None, Origin | None] = _setting(
        'origin', "Place of the world's origin on the Earth, an `Origin`; None: not known."
    )
    surroundings: Settable[Surroundings, Surroundings] = _setting(
        'surroundings', 'Lamps, ambient light and sky for cameras.'
    )
    seed = ReadOnly[int]('simulation.run.seed', 'Seed of the sensor noise.')
    report = ReadOnly[StepReport]('simulation.runner.report', 'Report of the last `step` call.')

    def take_worst(self) -> Worst:
        """Return the summary of the reports of all `step` calls since the last `take_worst`."""
        return self.simulation.runner.take_worst()

    # --- state -----------------------------------------------------------------------------------

    state = ReadOnly[State](
        'simulation.cache.state', 'Arrays changed by steps; replaced whenever something is added.'
    )
    scenery = ReadOnly[Scenery]('_scenery.scenery', 'Visuals of all robots and bodies as arrays.')
    layout = ReadOnly[int](
        'simulation.cache.layout',
        'Number that changes whenever the arrays of `state` are replaced.',
    )
    units = ReadOnly[list[Unit]](
        'simulation.cache.units', 'Units to compile to step and observe the current world.'
    )

    def census(self) -> tuple[tuple[str, int], ...]:
        """Return the world's contents; an object added later under an old name differs."""
        return self.simulation.registry.census()

    def save(self) -> Snapshot:
        """Return a state snapshot for `restore`, exact to the bit."""
        return snapshots.save(self.simulation)

    def restore(self, snapshot: Snapshot) -> None:
        """
        Restore a snapshot from this world, or from the world it was copied from.

        Raises InvalidValueError if robots or joints were added or removed since, if a robot's
        `motion` was changed, and for a snapshot with another time step.
        """
        snapshots.restore(self.simulation, snapshot)

    def state_hash(self) -> str:
        """Return a SHA-256 over everything that determines the future."""
        return snapshots.state_hash(self.simulation)

    def energy(self) -> Energy:
        """Return the energy of all robots in the current state, including stored energy."""
        return self.simulation.observation.energy()

    def momentum(self) -> Momentum:
        """Return the momentum of all robots."""
        return self.simulation.observation.momentum()


def _from_record(kind: type[World], record: WorldRecord) -> World:
    """Return a new world, instance of a class, from a record."""
    world = kind.__new__(kind)
    world._begin(record.settings, np.zeros(GRAVITY_SIZE))
    restore_record(record, world, world._parts)
    return world
