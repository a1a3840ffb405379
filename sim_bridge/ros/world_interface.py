"""The world as a whole on the graph: contacts, objects, and what RViz draws of both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sensor_msgs.msg import PointCloud2
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from sim_bridge.ros import topics
from sim_bridge.ros.contact_messages import ContactCloud, GazeboContacts, geometry_table
from sim_bridge.ros.frames import Frames
from sim_bridge.ros.markers import ContactMarkers, ShapeMarkers
from sim_bridge.ros.messages import pack_stamp
from sim_bridge.ros.object_states import ObjectStates
from sim_bridge.ros.publishers import Rate, Stream

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.ros.parameters import SimulatorParameters
    from sim_bridge.ros.sinks import Sink


class WorldInterface:
    """Publishes what belongs to no robot alone, each kind at a rate of its own."""

    def __init__(
        self,
        sink: Sink,
        world: sb.World,
        parameters: SimulatorParameters,
        prefixes: Mapping[str, str],
    ) -> None:
        """
        Create all topics.

        prefixes: of the frames of each robot, by its name; what has none is an object.
        """
        self._world = world
        contacts = self._contact_streams(sink, parameters.contact_rate or parameters.rate)
        objects = ObjectStates(sink, world, parameters.object_state_rate or parameters.rate)
        self._groups = [
            (Rate(parameters.contact_rate), contacts),
            (Rate(parameters.object_state_rate), objects.streams),
        ]
        if parameters.publish_tf:
            frames = Frames(sink, world, parameters, prefixes)
            self._groups.append((Rate(parameters.tf_rate), frames.streams))
        if parameters.marker_rate:
            bodies = [robot for robot in world.robots.values() if robot.name not in prefixes]
            markers = self._marker_streams(
                sink, bodies, parameters.marker_force_scale, parameters.marker_rate)
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

    def _contact_streams(self, sink: Sink, rate_hz: float) -> list[Stream]:
        world, geometries = self._world, self._world.geometries
        latched = sink.open('contacts/geometries', String, topics.LATCHED_QOS)
        latched.publish(geometry_table(geometries))
        cloud = ContactCloud()
        streams = [
            Stream(sink, 'contacts', PointCloud2, cloud, lambda: cloud.fill(world.contacts),
                   rate_hz=rate_hz)]
        messages = topics.optional_messages('ros_gz_interfaces')
        if messages is not None:
            gazebo = GazeboContacts(messages, geometries)
            streams.append(Stream(
                sink, 'contacts/gazebo', messages.Contacts, gazebo,
                lambda: gazebo.fill(world.contacts), rate_hz=rate_hz))
        return streams

    def _marker_streams(
        self, sink: Sink, bodies: list[sb.Robot], force_scale: float, rate_hz: float
    ) -> list[Stream]:
        world = self._world
        fixed = ShapeMarkers(robot for robot in bodies if robot.motion == 'static')
        if len(fixed):
            fixed.fill()
            latched = sink.open('scene_markers', MarkerArray, topics.LATCHED_QOS)
            latched.publish(fixed.stamped(pack_stamp(0)))
        contacts = ContactMarkers(world.geometries, force_scale)
        streams = [Stream(
            sink, 'contacts/markers', MarkerArray, contacts,
            lambda: contacts.fill(world.contacts), rate_hz=rate_hz)]
        moving = ShapeMarkers(robot for robot in bodies if robot.motion != 'static')
        if len(moving):
            streams.append(Stream(
                sink, 'object_markers', MarkerArray, moving, moving.fill, rate_hz=rate_hz))
        return streams
