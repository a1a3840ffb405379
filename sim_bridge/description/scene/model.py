"""What is in a world, as plain data, whatever kind of file says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import re
from typing import Any

from sim_bridge.description.gravity import Gravity
from sim_bridge.description.report import Report
from sim_bridge.description.scene.fields import SceneField
from sim_bridge.description.scene.joints import JointSettings, SceneJoint
from sim_bridge.description.scene.values import Values
from sim_bridge.shapes.material import ContactMaterial, Material
from sim_bridge.shapes.placed import Placed


@dataclass(frozen=True, eq=False)
class SceneBody:
    """
    An object: its name, and the other arguments of `World.add_body`. line: in the file.

    namespace: of its sensors' topics. link, own: what is set of its link and of itself.
    """

    name: str
    shapes: tuple[Placed, ...]
    namespace: str
    arguments: Mapping[str, object]
    link: Values
    own: Values
    line: int = 0


@dataclass(frozen=True, eq=False)
class SceneRobot:
    """
    A robot.

    name, urdf (its file) and the other arguments of `World.load_urdf`. namespace: of its ROS
    topics. own, links, joints: what is set of itself, and of its links and joints by name.
    is_object: whether it has no topics, since there is nothing to command or to measure.
    controller: one of CONTROLLERS or NO_CONTROLLER; '' where the scene leaves it open.
    """

    name: str
    urdf: str
    namespace: str
    arguments: Mapping[str, object]
    own: Values
    links: Mapping[str, Values]
    joints: Mapping[str, JointSettings]
    line: int = 0
    is_object: bool = False
    controller: str = ''


@dataclass(frozen=True, eq=False)
class SceneOpenPlx:
    """An OpenPLX scene: name, file and the other arguments of `World.load_openplx`."""

    name: str
    file: str
    arguments: Mapping[str, Any]
    line: int = 0


@dataclass(frozen=True, eq=False)
class SceneDescription:
    """
    What is in a world.

    source: the file, or '<mapping>'. gravity, settings: None if not given. contact_materials: each
    with the names of its two materials. apart: pairs of groups. bodies: ground among them.
    time_step [s]: for whoever makes the world; only projects have one. report: warnings.
    description: a line for users.
    """

    source: str
    gravity: Gravity | None = None
    materials: tuple[Material, ...] = ()
    contact_materials: tuple[tuple[str, str, ContactMaterial], ...] = ()
    apart: tuple[tuple[str, str], ...] = ()
    bodies: tuple[SceneBody, ...] = ()
    robots: tuple[SceneRobot, ...] = ()
    ground: Mapping[str, object] | None = None
    openplx: tuple[SceneOpenPlx, ...] = ()
    force_fields: tuple[SceneField, ...] = ()
    joints: tuple[SceneJoint, ...] = ()
    settings: Values | None = None
    time_step: float | None = None
    report: Report = Report('')
    description: str = ''

    @property
    def placed(self) -> tuple[SceneBody | SceneRobot, ...]:
        """The objects and the robots."""
        return (*self.bodies, *self.robots)


def namespace_for(name: str) -> str:
    """Return the namespace of the topics of a robot of this name: the name, made valid."""
    valid = re.sub(r'\W', '_', name, flags=re.ASCII)
    return valid if re.match(r'[A-Za-z_]', valid, re.ASCII) else f'_{valid}'
