"""The world as a whole on the graph: contacts, objects, and what RViz draws of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sensor_msgs.msg import PointCloud2
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from sim_bridge.ros import topics
from sim_bridge.ros.contact_messages import ContactCloud, GazeboContacts, geometry_table
from sim_bridge.ros.markers import ContactMarkers, ShapeMarkers
from sim_bridge.ros.messages import pack_stamp
from sim_bridge.ros.object_states import ObjectStates
from sim_bridge.ros.publishers import Rate, Stream

if TYPE_CHECKING:
    from rclpy.node import Node

    import sim_bridge as sb
    from sim_bridge.ros.parameters import SimulatorParameters


class WorldInterface:
    """Publishes what belongs to no robot alone, each kind at a rate of its own."""

    def __init__(
        self,
        node: Node,
        world: sb.World,
        parameters: SimulatorParameters,
        prefixes: Mapping[str, str],
    ) -> None:
        """
        Create all topics.

        prefixes: of the frames of each robot, by its name; what has none is an object.
        """
        self._world = world
        contacts = self._contact_streams(node)
        objects = ObjectStates(node, world, prefixes, parameters.publish_tf)
        self._groups = [
            (Rate(parameters.contact_rate), contacts),
            (Rate(parameters.object_state_rate), objects.streams),
        ]
        if parameters.marker_rate:
            bodies = [robot for robot in world.robots.values() if robot.name not in prefixes]
            markers = self._marker_streams(node, bodies, parameters.marker_force_scale)
            self._groups.append((Rate(parameters.marker_rate), markers))

    @property
    def topics(self) -> list[str]:
        """Names of all topics that readings are published on."""
        return [stream.topic for _, streams in self._groups for stream in streams]

    def refresh(self) -> None:
        """Look which topics somebody subscribes to."""
        for _, streams in self._groups:
            for stream in streams:
                stream.refresh()

    def publish(self, time_ns: int, stamp: bytes) -> None:
        """Publish what is due at this simulated time [ns], which `stamp` holds packed."""
        for rate, streams in self._groups:
            if rate.is_due(time_ns):
                for stream in streams:
                    stream.publish(stamp)

    def restart(self) -> None:
        """Begin anew after a reset of the world."""
        now = self._world.step_count * self._world.time_step_ns
        for rate, _ in self._groups:
            rate.restart(now)

    def _contact_streams(self, node: Node) -> list[Stream]:
        world, geometries = self._world, self._world.geometries
        latched = node.create_publisher(String, 'contacts/geometries', topics.LATCHED_QOS)
        latched.publish(geometry_table(geometries))
        cloud = ContactCloud()
        streams = [
            Stream(node, 'contacts', PointCloud2, cloud, lambda: cloud.fill(world.contacts))]
        messages = topics.optional_messages('ros_gz_interfaces')
        if messages is not None:
            gazebo = GazeboContacts(messages, geometries)
            streams.append(Stream(
                node, 'contacts/gazebo', messages.Contacts, gazebo,
                lambda: gazebo.fill(world.contacts)))
        return streams

    def _marker_streams(
        self, node: Node, bodies: list[sb.Robot], force_scale: float
    ) -> list[Stream]:
        world = self._world
        fixed = ShapeMarkers(robot for robot in bodies if robot.motion == 'static')
        if len(fixed):
            fixed.fill()
            latched = node.create_publisher(MarkerArray, 'scene_markers', topics.LATCHED_QOS)
            latched.publish(fixed.stamped(pack_stamp(0)))
        contacts = ContactMarkers(world.geometries, force_scale)
        streams = [Stream(
            node, 'contacts/markers', MarkerArray, contacts,
            lambda: contacts.fill(world.contacts))]
        moving = ShapeMarkers(robot for robot in bodies if robot.motion != 'static')
        if len(moving):
            streams.append(Stream(node, 'object_markers', MarkerArray, moving, moving.fill))
        return streams
