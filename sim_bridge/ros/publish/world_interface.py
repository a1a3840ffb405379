"""World topics: contacts, objects, and RViz markers for both."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from sensor_msgs.msg import PointCloud2
from std_msgs.msg import String
from visualization_msgs.msg import Marker, MarkerArray

from sim_bridge.ros.publish.broken_joints import BrokenJoints
from sim_bridge.ros.publish.contact_events import ContactEvents
from sim_bridge.ros.publish.frames import drive_frames, Frames
from sim_bridge.ros.publish.object_states import ObjectStates
from sim_bridge.ros.publish.streams import Rate, Stream
from sim_bridge.ros.publish.topic_pool import TopicPool
from sim_bridge.ros.wire.contact_messages import ContactCloud, GazeboContacts, geometry_table
from sim_bridge.ros.wire.markers import ContactMarkers, ShapeMarkers
from sim_bridge.ros.wire.messages import pack_stamp
from sim_bridge.ros.wire.qos import optional_messages

if TYPE_CHECKING:
    import sim_bridge as sb
    from sim_bridge.drives.drive import Drive
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.publish.sinks import Sink


class WorldInterface:
    """Publishes the world's own topics, each at its own rate."""

    def __init__(
        self,
        sink: Sink,
        world: sb.World,
        parameters: SimulatorParameters,
        prefixes: Mapping[str, str],
        reckoned: Mapping[str, Drive] = MappingProxyType({}),
    ) -> None:
        """
        Create all topics; prefixes, reckoned: as in `populate`.

        Raises InvalidValueError if /tf is enabled and its message package is not installed.
        """
        self._world, self._parameters, self._pool = world, parameters, TopicPool(sink)
        self._rates = [
            Rate(rate)
            for rate in (
                parameters.contact_rate,
                parameters.object_state_rate,
                parameters.tf_rate,
                parameters.marker_rate,
            )
        ]
        self.contact_events = ContactEvents(
            self._pool, world, parameters.contact_events, parameters.rate
        )
        self.broken_joints = BrokenJoints(self._pool, world)
        self.populate(prefixes, reckoned)

    def populate(self, prefixes: Mapping[str, str], reckoned: Mapping[str, Drive]) -> None:
        """
        Rebuild the messages for the present robots and objects.

        prefixes: frame prefix by robot name; anything without one is an object.
        reckoned: drives that provide a robot's pose in its odom frame, by robot name.
        """
        world, parameters = self._world, self._parameters
        for stream in self._pool.streams_of(MarkerArray):
            # RViz keeps showing markers until they are deleted
            stream.send(MarkerArray(markers=[Marker(action=Marker.DELETEALL)]))
        objects = ObjectStates(self._pool, world, parameters.object_state_rate or parameters.rate)
        frames = (
            Frames(self._pool, world, parameters, prefixes, reckoned).streams
            if parameters.publish_tf
            else drive_frames(self._pool, parameters, prefixes, reckoned)
        )
        markers: list[Stream] = []
        if parameters.marker_rate:
            # objects with sensors have a prefix, but no URDF to show them
            bodies = [
                robot
                for robot in world.robots.values()
                if robot.name not in prefixes
                or (len(robot.links) == 1 and not robot.description.xml)
            ]
            markers = self._marker_streams(
                bodies, parameters.marker_force_scale, parameters.marker_rate
            )
        contacts = self._contact_streams(parameters.contact_rate or parameters.rate)
        kinds = contacts, objects.streams, frames, markers
        self._groups = list(zip(self._rates, kinds, strict=True))
        self.broken_joints.renew()

    @property
    def topics(self) -> list[str]:
        """Names of all topics with readings."""
        return [stream.topic for stream in self.streams]

    @property
    def streams(self) -> list[Stream]:
        """All streams with readings."""
        groups = [streams for _, streams in self._groups]
        return [stream for streams in [*groups, self.contact_events.streams] for stream in streams]

    def refresh(self) -> None:
        """Ask which topics have subscribers."""
        for stream in self.streams:
            stream.refresh()

    def publish(self, time_ns: int, stamp: bytes) -> None:
        """Publish the messages due at this simulated time [ns]. stamp: packed time."""
        for rate, streams in self._groups:
            if streams and rate.is_due(time_ns):
                for stream in streams:
                    if stream.is_wanted:
                        stream.publish(stamp)
        self.contact_events.publish(stamp)
        self.broken_joints.publish(time_ns)

    def publish_state(self, time_ns: int, stamp: bytes) -> None:
        """Publish everything, whether due or not."""
        for _, streams in self._groups:
            for stream in streams:
                stream.publish(stamp)
        self.broken_joints.publish(time_ns)

    def complete_state(self, stamp: bytes) -> None:
        """Publish everything without a message with this stamp."""
        for _, streams in self._groups:
            for stream in streams:
                stream.catch_up(stamp)

    def resume(self, time_ns: int) -> None:
        """Continue from another time [ns]."""
        for rate, _ in self._groups:
            rate.restart(time_ns)

    def _contact_streams(self, rate_hz: float) -> list[Stream]:
        world, geometries, pool = self._world, self._world.geometries, self._pool
        pool.latch('contacts/geometries', String, geometry_table(geometries))
        cloud = ContactCloud()

        def fill() -> None:
            # most robots touch nothing most of the time
            if world.contact_count:
                cloud.fill(world.contacts)
            else:
                cloud.clear()

        streams = [pool.stream('contacts', PointCloud2, cloud, fill, rate_hz=rate_hz)]
        messages = optional_messages('ros_gz_interfaces')
        if messages is not None:
            gazebo = GazeboContacts(messages, geometries)
            streams.append(
                pool.stream(
                    'contacts/gazebo',
                    messages.Contacts,
                    gazebo,
                    lambda: gazebo.fill(world.contacts),
                    rate_hz=rate_hz,
                )
            )
        return streams

    def _marker_streams(
        self, bodies: list[sb.Robot], force_scale: float, rate_hz: float
    ) -> list[Stream]:
        world, pool = self._world, self._pool
        fixed = ShapeMarkers(robot for robot in bodies if robot.motion == 'static')
        was_drawn = pool.has_latched('scene_markers')
        if len(fixed) or was_drawn:
            fixed.fill()
            message = fixed.stamped(pack_stamp(0))
            if was_drawn:
                message.markers = [Marker(action=Marker.DELETEALL), *message.markers]
            pool.latch('scene_markers', MarkerArray, message)
        contacts = ContactMarkers(world.geometries, force_scale)
        streams = [
            pool.stream(
                'contacts/markers',
                MarkerArray,
                contacts,
                lambda: contacts.fill(world.contacts),
                rate_hz=rate_hz,
            )
        ]
        moving = ShapeMarkers(robot for robot in bodies if robot.motion != 'static')
        if len(moving):
            streams.append(
                pool.stream('object_markers', MarkerArray, moving, moving.fill, rate_hz=rate_hz)
            )
        return streams
