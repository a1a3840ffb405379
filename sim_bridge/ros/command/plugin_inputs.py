"""Topics from Gazebo's plugins for a robot's joints and fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TYPE_CHECKING

from rclpy.logging import get_logger
from std_msgs.msg import Bool, Float64, Float64MultiArray

from sim_bridge.description.plugin_inputs import (
    BuoyancyEngineInput,
    CurrentInput,
    DetachInput,
    EntityWrenchInput,
    FlightInput,
    JointInput,
    LinkWrenchInput,
    PluginInput,
    RotorInput,
    ThrusterInput,
    TouchInput,
    WaypointInput,
    WindInput,
)
from sim_bridge.foundation.errors import InvalidValueError, SimBridgeError
from sim_bridge.ros.command.actuator_controls import accept_controls, switch_off
from sim_bridge.ros.command.command_table import QUANTITIES, VELOCITY
from sim_bridge.ros.command.detachable_joint import DetachableJoint
from sim_bridge.ros.command.field_inputs import (
    accept_current,
    accept_volume,
    accept_wind,
    restart_fields,
)
from sim_bridge.ros.command.flight import Flight, SavedFlight
from sim_bridge.ros.command.joint_targets import JointTargets
from sim_bridge.ros.command.link_wrenches import accept_entity_wrenches, accept_link_wrench
from sim_bridge.ros.command.plugin_parts import PluginPart, Schedule
from sim_bridge.ros.command.programs import StateTopic, Topic
from sim_bridge.ros.command.touch import Touch
from sim_bridge.ros.command.waypoints import Waypoints
from sim_bridge.ros.publish.streams import Rate, Stream
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.ros.wire.qos import optional_messages

if TYPE_CHECKING:
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.commands import RobotCommands
    from sim_bridge.ros.command.inputs import Message
    from sim_bridge.ros.publish.sinks import Sink

ARRAY = 'array'
"""Topic suffix for rotor speeds as Float64MultiArray, beside actuator messages."""
_FEEDBACK_RATE = 100.0  # [Hz]

Values = Sequence[float]


class SavedInputs(NamedTuple):
    """PluginInputs' state: by thruster, whether the deadband acts; flight controls; parts."""

    deadbands: tuple[bool, ...]
    flights: tuple[SavedFlight, ...]
    parts: tuple[Any, ...]


class PluginInputs:
    """
    One robot's plugin inputs.

    topics: command topics. state_topics: published ones. targets: joint commands, each a
    `Following` for the robot's commands.
    """

    def __init__(self, robot: Robot, commands: RobotCommands, prefix: str) -> None:
        """Prepare to take messages. prefix: for the topics, '' or ending with a slash."""
        self._robot, self._commands, self._prefix = robot, commands, prefix
        self.topics: list[Topic] = []
        self.state_topics: list[StateTopic] = []
        self.targets: list[JointTargets] = []
        self._thrusters: list[_Thruster] = []
        self._flights: list[Flight] = []
        self._parts: list[PluginPart] = []
        description = robot.description
        inputs = () if description is None else description.inputs
        rotors: dict[str, list[RotorInput]] = {}
        for each in inputs:
            if isinstance(each, RotorInput):
                rotors.setdefault(each.topic, []).append(each)
            elif isinstance(each, ThrusterInput):
                self._add_thruster(each)
            elif isinstance(each, JointInput):
                self._add_joint(each)
            elif isinstance(each, FlightInput):
                self._add_flight(each)
            else:
                self._add_part(each)
        for topic, group in rotors.items():
            self._add_rotors(topic, group)
        accept_controls(robot, self._accept)
        currents: dict[str, list[CurrentInput]] = {}
        for each in inputs:
            if isinstance(each, CurrentInput):
                currents.setdefault(each.topic, []).append(each)
        for topic, hulls in currents.items():
            names = [f'{robot.name}/{hull.field}' for hull in hulls]
            accept_current(topic, names, robot, self._accept)

    def streams(self, sink: Sink) -> list[tuple[Stream, Schedule]]:
        """Return the published topics and their schedules."""
        found: list[tuple[Stream, Schedule]] = [
            (
                Stream(sink, each.name, each.message_type, each.message, rate_hz=_FEEDBACK_RATE),
                Rate(_FEEDBACK_RATE),
            )
            for each in self.state_topics
        ]
        for part in self._parts:
            found += part.streams(sink, self._prefix)
        return found

    def advance(self) -> None:
        """Write new targets for the next control step."""
        for flight in self._flights:
            flight.advance()
        for targets in self.targets:
            targets.write()
        for part in self._parts:
            part.advance()

    def save(self, time_ns: int) -> SavedInputs:
        """Return the state for `restore`."""
        return SavedInputs(
            tuple(each.has_deadband for each in self._thrusters),
            tuple(each.save() for each in self._flights),
            tuple(each.save() for each in self._parts),
        )

    def prepare(self, saved: SavedInputs) -> None:
        """Add and remove joints as in a saved state, before the world is restored."""
        for part, state in zip(self._parts, saved.parts, strict=True):
            part.prepare(state)

    def restore(self, saved: SavedInputs, time_ns: int) -> None:
        """Return to a saved state."""
        for each, has_deadband in zip(self._thrusters, saved.deadbands, strict=True):
            each.has_deadband = has_deadband
        for flight, state in zip(self._flights, saved.flights, strict=True):
            flight.restore(state)
        for part, own in zip(self._parts, saved.parts, strict=True):
            part.restore(own)

    def restart(self, time_ns: int, reason: str) -> None:
        """Let deadbands and fields act as in the file, and the rest begin again."""
        for each in self._thrusters:
            each.has_deadband = each.entry.deadband > 0.0
        for flight in self._flights:
            flight.restart()
        for part in self._parts:
            part.restart()
        restart_fields(self._robot)
        switch_off(self._robot)

    # --- kinds -----------------------------------------------------------------------------------

    def _add_rotors(self, topic: str, rotors: Sequence[RotorInput]) -> None:
        """Take several rotor speeds in one message."""
        targets = self._new_targets([each.joint for each in rotors])

        def prepare(speeds: Values) -> Callable[[], None]:
            needed = max(each.number for each in rotors) + 1
            if len(speeds) < needed:
                expected = f'at least {needed} rotor speeds [rad/s]'
                raise InvalidValueError('velocity', list(speeds), expected, topic)
            values = [
                self._checked(each.joint, min(speeds[each.number], each.limit) * each.factor)
                for each in rotors
            ]
            return lambda: self._command(targets, VELOCITY, values)

        actuators = getattr(optional_messages('actuator_msgs'), 'Actuators', None)
        if actuators is not None:
            self._accept(topic, actuators, lambda message: prepare(message.velocity))
        self._accept(f'{topic}/{ARRAY}', Float64MultiArray, lambda message: prepare(message.data))

    def _add_thruster(self, entry: ThrusterInput) -> None:
        targets = self._new_targets([entry.joint])
        thruster = _Thruster(entry, self._robot)
        self._thrusters.append(thruster)

        def prepare(value: float) -> Callable[[], None]:
            speed = self._checked(entry.joint, thruster.speed_for(value))

            def obey() -> None:
                acting = 0.0 if thruster.is_dead(speed) else speed
                self._command(targets, VELOCITY, [acting])

            return obey

        def switch(is_on: bool) -> Callable[[], None]:
            return lambda: setattr(thruster, 'has_deadband', is_on)

        self._accept(entry.topic, Float64, lambda message: prepare(message.data))
        self._accept(entry.deadband_topic, Bool, lambda message: switch(message.data))
        self.state_topics.append(
            StateTopic(self._prefix + entry.feedback_topic, Float64, thruster)
        )

    def _add_flight(self, entry: FlightInput) -> None:
        """Let twists turn the rotors, unless the rotors cannot control the vehicle."""
        try:
            flight = Flight(entry, self._robot, self._commands, self._prefix)
        except InvalidValueError as err:
            get_logger('sim_bridge').warning(f'no velocity control on {entry.topic}: {err}')
            return
        self._flights.append(flight)
        self.targets.append(flight.targets)
        self.topics += flight.topics

    def _add_part(self, entry: PluginInput) -> None:
        """Add an input without joint commands; currents are gathered by topic."""
        if isinstance(entry, LinkWrenchInput):
            accept_link_wrench(entry, self._robot, self._accept)
        elif isinstance(entry, EntityWrenchInput):
            accept_entity_wrenches(entry, self._robot, self._accept)
        elif isinstance(entry, DetachInput):
            number = len(self._parts) + 1
            self._parts.append(DetachableJoint(entry, self._robot, number, self._accept))
        elif isinstance(entry, TouchInput):
            self._parts.append(Touch(entry, self._robot, self._accept))
        elif isinstance(entry, WaypointInput):
            self._parts.append(Waypoints(entry, self._robot, self._accept))
        elif isinstance(entry, WindInput):
            self.state_topics.append(accept_wind(entry, self._robot, self._prefix, self._accept))
        elif isinstance(entry, BuoyancyEngineInput):
            self.state_topics.append(accept_volume(entry, self._robot, self._prefix, self._accept))

    def _add_joint(self, entry: JointInput) -> None:
        targets = self._new_targets(entry.joints)
        quantity = QUANTITIES.index(entry.quantity)
        check = self._commands.queue.checked_value

        def prepare(value: float) -> Callable[[], None]:
            values = [check(quantity, joint, value) for joint in entry.joints]
            return lambda: self._command(targets, quantity, values)

        self._accept(entry.topic, Float64, lambda message: prepare(message.data))

    # --- inside ----------------------------------------------------------------------------------

    def _new_targets(self, joints: Sequence[str]) -> JointTargets:
        targets = JointTargets(self._robot, self._commands, joints)
        self.targets.append(targets)
        return targets

    def _checked(self, joint: str, velocity: float) -> float:
        """Return a joint velocity within the joint's limits; raises InvalidValueError."""
        return self._commands.queue.checked_value(VELOCITY, joint, velocity)

    @staticmethod
    def _command(targets: JointTargets, quantity: int, values: Values) -> None:
        """Command the joints; on the physics thread."""
        targets.start()
        for column, value in zip(targets.columns.tolist(), values, strict=True):
            targets.set(quantity, column, value)

    def _accept(
        self, name: str, message_type: type, prepare: Callable[[Any], Callable[[], None]]
    ) -> None:
        """Take messages. prepare: returns the change for the next control step, or raises."""

        def take(data: bytes, source: Message) -> None:
            try:
                act = prepare(deserialize(data, message_type))
            except SimBridgeError:
                self._commands.counts.rejected += 1
                raise
            self._commands.queue.submit(act, source, dropped=_drop)
            self._commands.timing.arrived(0)
            self._commands.counts.accepted += 1

        self.topics.append(Topic(self._prefix + name, message_type, take))


class _Thruster:
    """Message with a thruster's speed or thrust, and its deadband."""

    def __init__(self, entry: ThrusterInput, robot: Robot) -> None:
        self.entry, self._robot = entry, robot
        self.has_deadband = entry.deadband > 0.0
        fields = {each.name: each.field for each in robot.description.force_fields}
        self._field: Any = fields[entry.field]

    def speed_for(self, command: float) -> float:
        """Return the joint velocity for a command [rad/s]."""
        within = min(max(command, self.entry.lower), self.entry.upper)
        return within if self.entry.is_speed else self._field.speed_for(within)

    def is_dead(self, speed: float) -> bool:
        """Return whether the deadband suppresses a speed [rad/s]."""
        return self.has_deadband and abs(self._thrust(speed)) < self.entry.deadband

    def _thrust(self, speed: float) -> float:
        """Return the thrust at rest [N]."""
        return float(self._field.thrust_per_square * abs(speed) * speed)

    def stamped(self, stamp: bytes) -> Float64:
        """Return the present thrust for commanded speeds, else the propeller's speed."""
        joint = self._robot.joint(self.entry.joint)
        if self.entry.is_speed:
            return Float64(data=self._thrust(joint.target_velocity))
        return Float64(data=joint.dq)


def _drop() -> None:
    """Write nothing."""
