"""
QoS profiles of topics, and other settings common to all of them.

These are the size limits of commands, the names that the middleware allows, and messages of
optional packages. Topic names are defined with their publishers and subscriptions.
"""

from __future__ import annotations

import copy
import importlib
import math
import re
from types import ModuleType

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

# Reliable throughout: a best-effort publisher is invisible to reliable subscribers, such as a
# recorder's by default.
COMMAND_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
# of commands that wait for the physics thread: several may come between two looks, each perhaps
# for another joint
POLLED_QOS = QoSProfile(depth=64, reliability=ReliabilityPolicy.RELIABLE)
LATCHED_QOS = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)


# The most bytes of a command that are looked at: reading one keeps the interpreter, and with it
# the physics thread, from anything else. These are thirty times what sensible names need, and
# 20 000 points of a seven-jointed arm with velocities.
_COMMAND_BYTES, _COMMAND_BYTES_PER_NAME = 64 << 10, 1 << 10
TRAJECTORY_BYTES = 4 << 20

# for how long a subscriber may stall without losing anything [s], and the most that is kept for it
_PATIENCE_S = 1.0
_LEAST_DEPTH, _MOST_DEPTH = 10, 5000

# the real-time factor that as fast as possible counts as
_UNPACED = 10.0


def stream_qos(rate_hz: float, is_reliable: bool = True) -> QoSProfile:
    """
    Return the QoS profile of a topic that is published at a rate [Hz].

    The queue holds a second of messages for subscribers that stall, as they do on busy processors:
    with a depth of 10 they lose all but the last 10 ms at 1 kHz. This costs no time, and memory
    only while a subscriber stalls.
    """
    depth = min(max(_LEAST_DEPTH, math.ceil(_PATIENCE_S * rate_hz)), _MOST_DEPTH)
    policies = ReliabilityPolicy.BEST_EFFORT, ReliabilityPolicy.RELIABLE
    return QoSProfile(depth=depth, reliability=policies[is_reliable])


def at_pace(qos: QoSProfile, real_time_factor: float) -> QoSProfile:
    """
    Return the QoS profile of a topic, adapted to the pace of simulated time.

    Subscribers stall in wall time, so the depth depends on messages per wall time.
    real_time_factor: 0 for as fast as possible.
    """
    factor = max(real_time_factor or _UNPACED, 1.0)
    depth = min(math.ceil(qos.depth * factor), _MOST_DEPTH)
    return QoSProfile(depth=depth, reliability=qos.reliability)


def most_command_bytes(names: int) -> int:
    """Return the maximum size of a command for this many joints [bytes]."""
    return _COMMAND_BYTES + _COMMAND_BYTES_PER_NAME * names


def is_latched(qos: QoSProfile) -> bool:
    """Return whether the last message is kept for later subscribers."""
    return bool(qos.durability == DurabilityPolicy.TRANSIENT_LOCAL)


def overridable() -> QoSOverridingOptions:
    """Return options that let the user override a topic's QoS by qos_overrides parameters."""
    return QoSOverridingOptions.with_default_policies()


def for_one_topic(qos: QoSProfile) -> QoSProfile:
    """Return a copy of a QoS profile, since rclpy writes a topic's overrides into it."""
    return copy.copy(qos)


def topic_name(name: str) -> str:
    """
    Return a valid topic name for the name of a sensor or robot, which may be any text.

    Each invalid character becomes an underscore: 'left foot-imu' gives 'left_foot_imu'.
    """
    valid = re.sub(r'_{2,}', '_', re.sub(r'[^A-Za-z0-9_]', '_', name))
    return f'_{valid}' if valid[:1].isdigit() else valid


def optional_messages(package: str, kind: str = 'msg') -> ModuleType | None:
    """
    Return the message module of an optional package; None if it is not installed.

    kind: 'msg', 'srv' or 'action'.
    """
    try:
        return importlib.import_module(f'{package}.{kind}')
    except ModuleNotFoundError:
        return None
