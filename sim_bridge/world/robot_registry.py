"""What is in a world: robots and bodies, their materials, and the arrays that hold them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import numpy as np

from sim_bridge.compilation.bodies import BodySpec, describe_body
from sim_bridge.compilation.collisions import Collisions, HULL, LinkShape, read_shapes
from sim_bridge.compilation.compile import compile_robot
from sim_bridge.description import load_description
from sim_bridge.description.model import RobotDescription, SensorDescription
from sim_bridge.description.report import DescriptionError, ERROR, Findings
from sim_bridge.description.scene.scene import read_scene, SceneDescription
from sim_bridge.description.srdf import read_srdf
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError, UnknownNameError
from sim_bridge.foundation.rotation import quaternion_from_matrix
from sim_bridge.foundation.validation import truth, truth_or_none
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.shapes.materials import ContactMaterial, DEFAULT, Material
from sim_bridge.shapes.placed import Placed
from sim_bridge.shapes.shapes import Plane, Shape
from sim_bridge.simulation.assembly import carry_over
from sim_bridge.world.scene import add_scene
from sim_bridge.world.spanning_tree import Mechanisms

GROUND = 'ground'
_NAMES_SHOWN = 40
_NOTHING: Mapping[str, float] = MappingProxyType({})


class Population(Mechanisms):
    """What a world is filled with: robots and bodies, materials, and who touches whom."""

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
        return self.add_robot(
            description, name, fixed_base, position, orientation,
            joint_positions=joint_positions, collisions=collisions,
            missing_meshes=missing_meshes, self_collision=self_collision, srdf=srdf,
            material=material)

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

        The state it is added in is the one `reset` goes back to.
        """
        fixed_base = truth_or_none('fixed_base', fixed_base)
        self_collision = truth_or_none('self_collision', self_collision)
        shapes: tuple[LinkShape, ...] = ()
        if collisions != 'none':
            findings = Findings()
            shapes = read_shapes(description, findings, collisions, missing_meshes)
            report = findings.report(description.source)
            if not report.ok:
                raise DescriptionError(report)
            report = replace(
                description.report, findings=description.report.findings + report.findings)
            description = replace(description, report=report)
            shapes = tuple(map(self._with_own_material, shapes))
        separated = None if srdf is None else read_srdf(srdf, description.links)
        return self._add(
            description, self._free_name(name, description.name), fixed_base, position,
            orientation, Collisions(shapes, self_collision, separated), material,
            joint_positions=joint_positions)

    def add_copy(
        self,
        robot: Robot,
        name: str | None = None,
        position: Sequence[float] | None = None,
        orientation: Sequence[float] | None = None,
    ) -> Robot:
        """
        Add a robot like one that there is, in this world or another, as that one began.

        No file is read and nothing is looked for that is known already, so this is quick: a robot
        can be loaded into a world apart, in another thread, while this one is running.

        name: unique; that of the other, numbered where it is taken, if None. position,
        orientation: of the root link's frame [m; quaternion x y z w]; where the other began if
        None. Raises StateError for a robot that was removed.
        """
        known, shapes = robot.world.materials, []
        for shape in robot.collisions.shapes:
            of_name = shape.placed.material
            own = None if of_name is None or of_name == DEFAULT else known[of_name]
            shapes.append(self._with_own_material(
                shape._replace(placed=replace(shape.placed, material=own))))
        blueprint, (_, started, at) = robot.blueprint, robot.added
        first = at.q + blueprint.first_q
        copy = self._add(
            robot.description, self._free_name(name, robot.name), robot.fixed_base,
            (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0),
            replace(robot.collisions, shapes=tuple(shapes)), None,
            joint_positions=dict(zip(
                robot.joint_names, started.q[first : first + len(robot.joint_names)].tolist(),
                strict=True)),
            is_kinematic=robot.motion == 'kinematic')
        if blueprint.mount is None:
            carry_over(blueprint.model, robot.added, copy.part)
            copy.excluded = robot.excluded
            copy.invalidate()
        p, quat = copy.root_link.p, quaternion_from_matrix(copy.root_link.R)
        copy.set_base_pose(
            p if position is None else position, quat if orientation is None else orientation)
        copy.remember()
        copy.added = copy.initial
        return copy

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
        name = self._free_name(name, 'body')
        spec = BodySpec(
            shapes=shapes, mass=mass, inertia=inertia, center_of_mass=center_of_mass,
            density=density, motion=motion, material=material)
        description, collisions = describe_body(spec, name, self.materials.take)
        return self._add(
            description, name, motion == 'static', position, orientation, collisions, material,
            is_kinematic=motion == 'kinematic', velocity=(linear_velocity, angular_velocity))

    def add_bodies(self, bodies: Iterable[Mapping[str, object]]) -> list[Robot]:
        """
        Add several bodies, or none of them if anything is wrong with one.

        bodies: the arguments of `add_body` for each, by name. Raises as `add_body`.
        """
        added: list[Robot] = []
        try:
            for arguments in bodies:
                added.append(self.add_body(**arguments))
        except (SimBridgeError, TypeError):
            self.dismiss(added)
            raise
        return added

    def add_ground(self, material: Material | str | None = None, height: float = 0.0) -> Robot:
        """
        Add ground: everything below a height [m] is solid, and never moves.

        material: the material 'default' if None.
        """
        return self.add_body(
            Plane(), self._free_name(None, GROUND), motion='static', material=material,
            position=(0.0, 0.0, height))

    def load_scene(self, source: str | Path | Mapping[str, object]) -> SceneDescription:
        """
        Add all that a scene holds, or nothing if anything is wrong with it.

        source: a YAML file, or a mapping as it would hold it; `description.scene.scene` tells the
        keys. Gravity, where the scene says it, becomes that of this world.

        Raises SceneError, a DescriptionError, with every defect found: its key, its value and what
        would have been accepted.
        """
        scene = read_scene(source)
        add_scene(self, scene)
        return scene

    # --- removing --------------------------------------------------------------------------------

    def remove(self, robot: Robot | str) -> None:
        """
        Take a robot or a body out, at any time; all others go on as if nothing had been.

        robot: or its name. What hung on it is free and moves on as it does; joints that held it,
        pairs that were kept apart, and what it touched are forgotten, and its name is free again.
        Whoever still holds the robot, or its links, joints, geometries or devices, gets a
        StateError from all that is not of the description. As when one is added, views of the
        world's arrays are to be taken anew, and older snapshots no longer fit.

        Raises UnknownNameError for a name that is not there, and StateError or InvalidValueError
        for what is no robot of this world.
        """
        if isinstance(robot, str):
            if robot not in self.robots:
                raise UnknownNameError('robot', robot, self.robots, 'the world')
            robot = self.robots[robot]
        if not isinstance(robot, Robot) or robot.world is not self:
            raise InvalidValueError('robot', robot, 'a robot or body of this world, or its name')
        for joint in list(self.joints.values()):
            if robot in [link.robot for link in (joint.link1, joint.link2) if link is not None]:
                self.remove_joint(joint)
        for key, pair in list(self._separated.items()):
            if robot in [link.robot for link in pair]:
                del self._separated[key]
        self.expel(robot)

    # --- what touches what -----------------------------------------------------------------------

    def exclude(self, a: Link, b: Link, excluded: bool = True) -> None:
        """
        Keep two links, with what is fixed to them, from touching each other; or no longer.

        What `load_urdf` has excluded stays so. Raises InvalidValueError for a link of another
        world.
        """
        for link in (a, b):
            if not isinstance(link, Link) or link.robot.world is not self:
                raise InvalidValueError('link', link, 'a link of this world')
        key = tuple(sorted(f'{link.robot.name}/{link.name}' for link in (a, b)))
        if truth('excluded', excluded):
            self._separated[key] = (a, b)
        else:
            self._separated.pop(key, None)
        self._forget_geometry()

    def set_group_collision(self, a: str, b: str, collide: bool) -> None:
        """
        Say whether geometries of two groups, or of one group among themselves, collide.

        Geometries are put into groups by `geometry.groups`. Any group kept from any other keeps
        them apart; all else collides.
        """
        self.groups.set_collision(a, b, collide)

    def set_contact_material(
        self, a: Material | str, b: Material | str, contact_material: ContactMaterial | None
    ) -> None:
        """
        Say what happens between two materials; None leaves it to the implicit rules.

        See `ContactMaterial`. Raises UnknownNameError for a material that is not there.
        """
        self.materials.set_contact_material(a, b, contact_material)

    # --- inside ----------------------------------------------------------------------------------

    def _free_name(self, name: str | None, default: str) -> str:
        """Return a name that is not taken yet; raises InvalidValueError where the given one is."""
        if name is not None:
            if not isinstance(name, str) or not name:
                raise InvalidValueError('name', name, 'a text that is not empty')
            if name in self.robots:
                taken = ', '.join(list(self.robots)[:_NAMES_SHOWN])
                raise InvalidValueError(
                    'name', name, f'one that is not taken yet (taken: {taken})')
            return name
        number = self._next_number.get(default, 1)
        name = default if number == 1 else f'{default}_{number}'
        while name in self.robots:
            number += 1
            name = f'{default}_{number}'
        self._next_number[default] = number + 1
        return name

    def _add(
        self,
        description: RobotDescription,
        name: str,
        fixed_base: bool | None,
        position: Sequence[float],
        orientation: Sequence[float],
        collisions: Collisions,
        material: Material | str | None,
        *,
        joint_positions: Mapping[str, float] = _NOTHING,
        is_kinematic: bool = False,
        velocity: tuple[Sequence[float], Sequence[float]] | None = None,
    ) -> Robot:
        """Add a robot; nothing changes where anything is wrong."""
        collisions = self._with_materials(collisions, material)
        robot = Robot(
            self, name, description,
            compile_robot(description, fixed_base, collisions.shapes, is_kinematic), collisions)
        robot.set_base_pose(position, orientation)
        if velocity is not None and (not robot.fixed_base or any(map(np.any, velocity))):
            robot.set_base_velocity(*velocity)
        self.admit(robot)
        try:
            robot.initialize(joint_positions)
            self._add_loops(robot, joint_positions)
        except SimBridgeError:
            self.dismiss([robot])
            raise
        robot.remember()
        robot.added = robot.initial
        return robot

    def _with_materials(
        self, collisions: Collisions, material: Material | str | None
    ) -> Collisions:
        """Let every shape name its material, and this world know them all."""
        default = self.materials.take(material).name
        shapes = []
        for shape in collisions.shapes:
            own = shape.placed.material
            name = default if own is None else self.materials.take(own).name
            shapes.append(shape._replace(placed=replace(shape.placed, material=name)))
        return replace(collisions, shapes=tuple(shapes))

    def _with_own_material(self, shape: LinkShape) -> LinkShape:
        """Return a shape's material, read from a file, a name that no other in this world has."""
        if shape.placed.material is None:
            return shape
        material = self.materials.under_free_name(shape.placed.material)
        return shape._replace(placed=replace(shape.placed, material=material))
