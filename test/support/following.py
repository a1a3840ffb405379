"""Helpers for trajectory tests: messages, a simulator without a graph, diagnostics."""

from __future__ import annotations

from types import SimpleNamespace

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.session.loading import load_world
from sim_bridge.ros.session.simulator import Simulator

S = 1_000_000_000


def trajectory(joints, *points, start_ns=0) -> JointTrajectory:
    """Create a message; points: time [s], positions, and optional velocities."""
    message = JointTrajectory(joint_names=joints)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(start_ns, S)
    for time, positions, *velocities in points:
        whole, rest = divmod(round(time * 1e9), S)
        message.points.append(
            JointTrajectoryPoint(
                positions=positions,
                velocities=velocities[0] if velocities else [],
                time_from_start=Duration(sec=whole, nanosec=rest),
            )
        )
    return message


def smooth(times):
    """Return the cubic from 0 to 1 within a second, at rest at both ends."""
    x = np.clip(times, 0.0, 1.0)
    return 3.0 * x**2 - 2.0 * x**3


def told(diagnostics: list[DiagnosticArray], name: str) -> dict[str, str]:
    """Return the latest status values with a name, including its level."""
    for status in diagnostics[-1].status if diagnostics else ():
        if status.name == f'sim_bridge: {name}':
            return {'level': status.level, **{item.key: item.value for item in status.values}}
    return {}


class Nowhere:
    """A sink without listeners."""

    def open(self, topic, message_type, qos):
        """Return an outlet."""
        return SimpleNamespace(
            topic=topic, is_wanted=lambda: False, publish=lambda message: None, close=lambda: None
        )

    def begin(self, time_ns):
        """Do nothing."""

    def pause(self):
        """Do nothing."""


class LatestMessages(Nowhere):
    """A sink storing the latest message of every topic."""

    def __init__(self):
        """Begin without messages."""
        self.latest = {}

    def open(self, topic, message_type, qos):
        """Return an outlet with a listener."""

        def publish(message):
            self.latest[topic] = message

        return SimpleNamespace(
            topic=topic, is_wanted=lambda: True, publish=publish, close=lambda: None
        )


def simulator(sink=None, **values) -> Simulator:
    """Create a simulator without a graph."""
    return simulator_of(checked(SimulatorParameters, values), sink)


def simulator_of(parameters: SimulatorParameters, sink=None) -> Simulator:
    """Create a simulator from parameters, without a graph."""
    return Simulator(sink or Nowhere(), load_world(parameters), parameters)
