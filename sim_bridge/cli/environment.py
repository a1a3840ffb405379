"""Environment variables and packages that ROS 2 nodes need to run and to find each other."""

from __future__ import annotations

import importlib.util
import os

from sim_bridge.foundation.errors import extra_hint, MissingPackageError, MissingRosError
from sim_bridge.ros.process.prefix import set_prefix

__all__ = ['require_extra', 'require_ros', 'set_prefix', 'set_threads']


def require_ros(what: str) -> None:
    """Raise MissingRosError, in the name of `what`, if rclpy cannot be imported."""
    if importlib.util.find_spec('rclpy') is None:
        raise MissingRosError(what)


def require_extra(what: str, extra: str, *modules: str) -> None:
    """
    Raise MissingPackageError, in the name of `what`, if one of its modules is not installed.

    extra: which brings them. Verbs call it before they read or start anything.
    """
    if any(importlib.util.find_spec(name) is None for name in modules):
        raise MissingPackageError(what, extra_hint(extra))


def set_threads() -> None:
    """
    Limit numpy in this process and its children to one thread, unless the user sets a number.

    By default it starts one per processor, which spin while they wait; matrices are small here.
    """
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
