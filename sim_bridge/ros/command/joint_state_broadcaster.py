"""joint_state_broadcaster: local joint states, and dynamic joint states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TYPE_CHECKING

from sensor_msgs.msg import JointState

from sim_bridge.description.controller_settings import JointStateSettings, QUANTITIES
from sim_bridge.ros.command.joint_targets import JointTargets
from sim_bridge.ros.command.programs import Context, StateTopic, Topic
from sim_bridge.ros.wire.messages import unpack_stamp
from sim_bridge.ros.wire.qos import optional_messages

if TYPE_CHECKING:
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.controller_states import DeclaredController
    from sim_bridge.ros.process.guarded_node import GuardedMixin


class JointStateBroadcaster:
    """Publishes states besides the topic joint_states, which always has all joints."""

    def __init__(
        self, declared: DeclaredController, settings: JointStateSettings, context: Context
    ) -> None:
        """Prepare the state topics."""
        self.declared = declared
        self.targets = JointTargets(context.robot, context.commands, ())
        self.topics: list[Topic] = []
        self.state_topics: list[StateTopic] = []
        states = _States(context.robot, settings)
        if settings.is_local:
            name = declared.topic('joint_states')
            self.state_topics.append(StateTopic(name, JointState, _JointStates(states)))
        messages = optional_messages('control_msgs')
        kind = getattr(messages, 'DynamicJointState', None)
        if settings.has_dynamic and kind is not None:
            name = 'dynamic_joint_states'
            name = declared.topic(name) if settings.is_local else declared.manager.topic(name)
            part = getattr(messages, 'InterfaceValue', None)
            self.state_topics.append(StateTopic(name, kind, _DynamicStates(states, kind, part)))

    @property
    def name(self) -> str:
        """Name of the controller."""
        return self.declared.name

    def begin(self) -> None:
        """Do nothing: states are published in any case."""

    def advance(self, time_ns: int) -> None:
        """Do nothing."""

    def end(self) -> None:
        """Do nothing."""

    def feed(self, values: Mapping[str, Any]) -> None:
        """Do nothing: it has no inputs."""

    def serve(self, node: GuardedMixin, full: Callable[[str], str]) -> list[Any]:
        """Return no actions."""
        return []

    def save(self, time_ns: int) -> None:
        """Return None: it has no state."""

    def restore(self, saved: None, time_ns: int) -> None:
        """Do nothing."""

    def restart(self, time_ns: int, reason: str) -> None:
        """Do nothing."""


class _States:
    """Chosen quantities of the chosen joints. names: joints, in order."""

    def __init__(self, robot: Robot, settings: JointStateSettings) -> None:
        self._robot = robot
        known = {name: k for k, name in enumerate(robot.joint_names)}
        chosen = settings.states or tuple((name, QUANTITIES) for name in known)
        self.names = [joint for joint, _ in chosen if joint in known]
        self._chosen = [
            (known[joint], [each for each in quantities if each in QUANTITIES])
            for joint, quantities in chosen
            if joint in known
        ]

    def values(self) -> list[dict[str, float]]:
        """Return the values of each joint, by quantity."""
        robot = self._robot
        arrays = dict(
            zip(QUANTITIES, (robot.q, robot.dq, robot.u + robot.motor_efforts), strict=True)
        )
        return [
            {quantity: float(arrays[quantity][k]) for quantity in quantities}
            for k, quantities in self._chosen
        ]


class _JointStates:
    """Message sensor_msgs/JointState; NaN for quantities that are not chosen."""

    def __init__(self, states: _States) -> None:
        self._states = states

    def stamped(self, stamp: bytes) -> JointState:
        """Return the message with a stamp."""
        message, values = JointState(name=self._states.names), self._states.values()
        message.header.stamp = unpack_stamp(stamp)
        message.position, message.velocity, message.effort = (
            [each.get(quantity, float('nan')) for each in values] for quantity in QUANTITIES
        )
        return message


class _DynamicStates:
    """Message control_msgs/DynamicJointState."""

    def __init__(self, states: _States, message_type: Any, part_type: Any) -> None:
        self._states, self._type, self._part = states, message_type, part_type

    def stamped(self, stamp: bytes) -> Any:
        """Return the message with a stamp."""
        message = self._type(joint_names=self._states.names)
        message.header.stamp = unpack_stamp(stamp)
        message.interface_values = [
            self._part(interface_names=list(each), values=list(each.values()))
            for each in self._states.values()
        ]
        return message
