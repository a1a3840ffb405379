"""Environment variables and packages for ROS 2 nodes: running and discovering each other."""

from __future__ import annotations

import importlib.util
import os

from sim_bridge.foundation.errors import extra_hint, MissingPackageError, MissingRosError
from sim_bridge.ros.process.prefix import set_prefix

__all__ = ['require_extra', 'require_ros', 'set_prefix', 'set_threads']


def require_ros(what: str) -> None:
    """Raise MissingRosError, naming the feature `what`, if rclpy cannot be imported."""
    if importlib.util.find_spec('rclpy') is None:
        raise MissingRosError(what)


def require_extra(what: str, extra: str, *modules: str) -> None:
    """
    Raise MissingPackageError, naming the feature `what`, if a module is not installed.

    extra: package extra that installs the modules. Verbs call this before reading or starting
    anything.
    """
    if any(importlib.util.find_spec(name) is None for name in modules):
        raise MissingPackageError(what, extra_hint(extra))


def set_threads() -> None:
    """
    Limit numpy to one thread in this process and its children, unless the user sets a number.

    By default numpy starts one thread per processor; the threads spin while waiting. Matrices here
    are small.
    """
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
