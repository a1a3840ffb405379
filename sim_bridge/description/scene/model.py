"""World contents as plain data, independent of the file format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import re
from typing import Any

from sim_bridge.description.gravity import Gravity
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.origin import Origin
from sim_bridge.description.report import Report
from sim_bridge.description.scene.fields import SceneField
from sim_bridge.description.scene.joints import JointSettings, SceneJoint
from sim_bridge.description.scene.lights import SceneLight
from sim_bridge.description.scene.named_poses import NamedPose
from sim_bridge.description.scene.values import Values
from sim_bridge.description.scene.waypoints import Waypoints
from sim_bridge.shapes.material import ContactMaterial, Material
from sim_bridge.shapes.placed import Placed


@dataclass(frozen=True, eq=False)
class SceneBody:
    """
    Object in a scene: its name, and further arguments for `World.add_body`.

    namespace: for its sensors' topics. link, own: its link's settings and its own. line: in the
    file.
    """

    name: str
    shapes: tuple[Placed, ...]
    namespace: str
    arguments: Mapping[str, Any]
    link: Values
    own: Values
    line: int = 0


@dataclass(frozen=True, eq=False)
class SceneRobot:
    """
    Robot in a scene.

    name, urdf (its file) and further arguments for `World.load_urdf`. namespace: for its ROS
    topics. own: its own settings. links, joints: settings for its links and joints, by name.
    is_object: whether it has no topics, since it has nothing to command or to measure.
    controller: one of CONTROLLERS or NO_CONTROLLER; '' if the scene names none. description: the
    robot itself, if the world's file contains it: `urdf` is then this file, and `arguments` are
    those of `World.add_robot`. path: waypoints of a kinematic base, None for other bases.
    """

    name: str
    urdf: str
    namespace: str
    arguments: Mapping[str, Any]
    own: Values
    links: Mapping[str, Values]
    joints: Mapping[str, JointSettings]
    line: int = 0
    is_object: bool = False
    controller: str = ''
    description: RobotDescription | None = None
    path: Waypoints | None = None


@dataclass(frozen=True, eq=False)
class SceneOpenPlx:
    """OpenPLX scene: name, file and further arguments for `World.load_openplx`."""

    name: str
    file: str
    arguments: Mapping[str, Any]
    line: int = 0


@dataclass(frozen=True, eq=False)
class SceneDescription:
    """
    World contents.

    source: file path, or '<mapping>'. gravity, settings: None if not given. contact_materials:
    each with the names of its two materials. apart: pairs of groups without collision. bodies:
    objects, including the ground. time_step [s], real_time_factor (0: as fast as possible): for
    the creator of the world, None if not given. report: warnings. description: a line for users.
    origin: place on the Earth, None if not given. named_poses, tags: for clients that spawn,
    navigate or choose a world. light: for cameras, None for the default. files: full paths to all
    read files, robots' files aside.
    """

    source: str
    gravity: Gravity | None = None
    materials: tuple[Material, ...] = ()
    contact_materials: tuple[tuple[str, str, ContactMaterial], ...] = ()
    apart: tuple[tuple[str, str], ...] = ()
    bodies: tuple[SceneBody, ...] = ()
    robots: tuple[SceneRobot, ...] = ()
    ground: Mapping[str, Any] | None = None
    openplx: tuple[SceneOpenPlx, ...] = ()
    force_fields: tuple[SceneField, ...] = ()
    joints: tuple[SceneJoint, ...] = ()
    settings: Values | None = None
    time_step: float | None = None
    report: Report = Report('')
    description: str = ''
    origin: Origin | None = None
    named_poses: tuple[NamedPose, ...] = ()
    tags: tuple[str, ...] = ()
    light: SceneLight | None = None
    files: tuple[str, ...] = ()
    real_time_factor: float | None = None

    @property
    def placed(self) -> tuple[SceneBody | SceneRobot, ...]:
        """Objects and robots."""
        return (*self.bodies, *self.robots)


def namespace_for(name: str) -> str:
    """Return the topic namespace for a robot name: the name, made valid."""
    valid = re.sub(r'\W', '_', name, flags=re.ASCII)
    return valid if re.match(r'[A-Za-z_]', valid, re.ASCII) else f'_{valid}'
