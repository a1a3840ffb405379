"""
QoS profiles and other settings common to all topics.

The other settings are command size limits, valid topic names, and optional message packages. Each
topic name is defined with its publishers and subscriptions.
"""

from __future__ import annotations

import copy
import importlib
import math
import re
from types import ModuleType

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

# Reliable throughout: a reliable subscriber, such as a recorder's default one, receives
# nothing from a best-effort publisher.
COMMAND_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
# For commands taken by the physics thread: several may arrive between two polls, each perhaps for
# another joint.
POLLED_QOS = QoSProfile(depth=64, reliability=ReliabilityPolicy.RELIABLE)
LATCHED_QOS = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)


# Larger commands are ignored: while one is read, no other thread gets the interpreter, not even
# the physics thread. The limits are thirty times the size needed for usual names, and 20 000
# points with velocities for an arm with seven joints.
_COMMAND_BYTES, _COMMAND_BYTES_PER_NAME = 64 << 10, 1 << 10
TRAJECTORY_BYTES = 4 << 20

# longest subscriber stall without lost messages [s], queue depth limits [messages]
_PATIENCE_S = 1.0
_LEAST_DEPTH, _MOST_DEPTH = 10, 5000

# assumed real-time factor when running as fast as possible
_UNPACED = 10.0


def stream_qos(rate_hz: float, is_reliable: bool = True) -> QoSProfile:
    """
    Return the QoS profile for a topic with this publishing rate [Hz].

    The queue holds one second of messages for subscribers that stall on busy processors. With a
    depth of 10 they would lose all but the last 10 ms at 1 kHz. The queue costs no time, and uses
    memory only while a subscriber stalls.
    """
    depth = min(max(_LEAST_DEPTH, math.ceil(_PATIENCE_S * rate_hz)), _MOST_DEPTH)
    policies = ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE
    return QoSProfile(depth=depth, reliability=policies[is_reliable])


def at_pace(qos: QoSProfile, real_time_factor: float) -> QoSProfile:
    """
    Return a topic's QoS profile, adapted to the simulation's pace.

    Subscribers stall in wall time, so the depth depends on messages per wall time.
    real_time_factor: 0 for as fast as possible.
    """
    factor = max(real_time_factor or _UNPACED, 1.0)
    depth = min(math.ceil(qos.depth * factor), _MOST_DEPTH)
    return QoSProfile(depth=depth, reliability=qos.reliability)


def most_command_bytes(names: int) -> int:
    """Return the maximum command size for this many joints [bytes]."""
    return _COMMAND_BYTES + _COMMAND_BYTES_PER_NAME * names


def is_latched(qos: QoSProfile) -> bool:
    """Return whether the last message is kept for later subscribers."""
    return bool(qos.durability == DurabilityPolicy.TRANSIENT_LOCAL)


def overridable() -> QoSOverridingOptions:
    """Return options that let users override a topic's QoS by qos_overrides parameters."""
    return QoSOverridingOptions.with_default_policies()


def for_one_topic(qos: QoSProfile) -> QoSProfile:
    """Copy a QoS profile, since rclpy writes a topic's overrides into it."""
    return copy.copy(qos)


def topic_name(name: str) -> str:
    """
    Return a valid topic name for a sensor or robot name, which may be any text.

    Each invalid character becomes an underscore: 'left foot-imu' gives 'left_foot_imu'.
    """
    valid = re.sub(r'_{2,}', '_', re.sub(r'[^A-Za-z0-9_]', '_', name))
    return f'_{valid}' if valid[:1].isdigit() else valid


def optional_messages(package: str, kind: str = 'msg') -> ModuleType | None:
    """
    Return an optional package's message module; None if it is not installed.

    kind: 'msg', 'srv' or 'action'.
    """
    try:
        return importlib.import_module(f'{package}.{kind}')
    except ModuleNotFoundError:
        return None
