"""Creation of robot links, joints, geometries, crawlers and devices from a description."""

from __future__ import annotations

from collections.abc import Mapping

from sim_bridge.foundation.names import ByName
from sim_bridge.robots.actuator import Actuator
from sim_bridge.robots.coupling import Coupling
from sim_bridge.robots.crawler import Crawler
from sim_bridge.robots.geometry import Geometry
from sim_bridge.robots.joints.joint import ConstraintJoint, Joint
from sim_bridge.robots.joints.tree import TreeJointBackend
from sim_bridge.robots.link import Link
from sim_bridge.robots.owners import Robot
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.kinds import DEVICES
from sim_bridge.simulation.slots import RobotSlot


class RobotParts:
    """
    Robot parts by name, in description order.

    links, joints, crawlers, actuators, couplings, devices: from the description. loop_joints:
    joints that close the robot's loops, added later. geometries: collision geometries on all
    links.
    """

    def __init__(self, robot: Robot, slot: RobotSlot, place: str):
        """Create views for a slot's parts. place: robot name, for messages."""
        description = slot.description
        self.links = ByName(
            'link',
            place,
            {key: Link(robot, link, slot.link(key)) for key, link in description.links.items()},
        )
        self.joints: ByName[Joint] = ByName('joint', place)
        self.loop_joints: dict[str, ConstraintJoint] = {}
        above = self._connect_joints(robot)
        self.geometries = self._show_geometries(slot)
        self.crawlers: ByName[Crawler] = ByName('crawler', place)
        for each in description.crawlers:
            link = self.links[each.link]
            self.crawlers[each.name] = Crawler(link, link.geometries, each)
        self.actuators = ByName(
            'actuator',
            place,
            {
                each.name: Actuator(robot, number, each)
                for number, each in enumerate(description.actuators)
            },
        )
        self.couplings = ByName(
            'coupling',
            place,
            {
                each.name: Coupling(robot, number, each)
                for number, each in enumerate(description.couplings)
            },
        )
        tracks = {crawler.link.name: crawler for crawler in self.crawlers.values()}
        for key, link in self.links.items():
            parent, joint = above.get(key, (None, None))
            link.connect(parent, joint, tracks.get(key))
        self.devices: ByName[Device] = ByName('sensor', place)
        for sensor in description.sensors:
            self.devices[sensor.name] = DEVICES.get(sensor.kind, Device)(
                sensor,
                self.links[sensor.link],
                slot.name,
                robot.simulation.run.seed,
                robot.simulation.run.time_step,
                robot.simulation.run.settings.origin,
            )
        slot.devices[:] = self.devices.values()

    def _connect_joints(self, robot: Robot) -> Mapping[str, tuple[Link, Joint]]:
        """Create the joints; return each child link's parent and joint."""
        above: dict[str, tuple[Link, Joint]] = {}
        for description in robot.description.joints.values():
            parent, child = self.links[description.parent], self.links[description.child]
            joint = Joint(TreeJointBackend(robot, description, parent, child))
            self.joints[joint.name] = joint
            above[child.name] = parent, joint
            parent.children.append(child)
        return above

    def _show_geometries(self, slot: RobotSlot) -> list[Geometry]:
        shown = []
        for own in slot.geometries:
            link = self.links[own.link.name]
            link.geometries.append(Geometry(link, own))
            shown.append(link.geometries[-1])
        return shown
