"""Names and qualities of service of what the node publishes and takes."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.qos_overriding_options import QoSOverridingOptions

# Reliable throughout: a best-effort publisher is invisible to reliable subscribers, such as a
# recorder's by default.
STATE_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
COMMAND_QOS = QoSProfile(depth=10, reliability=ReliabilityPolicy.RELIABLE)
CLOCK_QOS = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
LATCHED_QOS = QoSProfile(
    depth=1, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
# as tf2's own broadcaster
TF_QOS = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)


def overridable() -> QoSOverridingOptions:
    """Let the user override the quality of service of a topic by qos_overrides parameters."""
    return QoSOverridingOptions.with_default_policies()


def topic_name(name: str) -> str:
    """
    Make a valid topic name of a sensor's or robot's name, which may be any text.

    Whatever a topic name may not hold becomes an underscore: 'left foot-imu' gives
    'left_foot_imu'.
    """
    valid = re.sub(r'_{2,}', '_', re.sub(r'[^A-Za-z0-9_]', '_', name))
    return f'_{valid}' if valid[:1].isdigit() else valid


def optional_messages(package: str) -> ModuleType | None:
    """Give the messages of a package that is no dependency; None where it is not installed."""
    try:
        return importlib.import_module(f'{package}.msg')
    except ModuleNotFoundError:
        return None
