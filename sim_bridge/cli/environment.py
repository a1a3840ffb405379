"""What the environment must hold for ROS 2 nodes to run and find each other."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
import sys

from sim_bridge.foundation.errors import MissingRosError


def require_ros(what: str) -> None:
    """Raise MissingRosError, in the name of `what`, if rclpy cannot be imported."""
    if importlib.util.find_spec('rclpy') is None:
        raise MissingRosError(what)


def set_threads() -> None:
    """
    Let numpy of this process and its children do with one thread, unless the user says otherwise.

    It begins one for every processor, which spins for a while, and no matrix here is worth that.
    """
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')


def set_prefix() -> None:
    """
    Let the ament index of this process and its children find what is installed beside this Python.

    A ROS 2 setup file sets AMENT_PREFIX_PATH; the wheels from PyPI do not. This Python comes last:
    what was sourced goes before.
    """
    known = os.environ.get('AMENT_PREFIX_PATH', '')
    prefixes = [prefix for prefix in known.split(os.pathsep) if prefix]
    if (Path(sys.prefix) / 'share' / 'ament_index').is_dir() and sys.prefix not in prefixes:
        os.environ['AMENT_PREFIX_PATH'] = os.pathsep.join([*prefixes, sys.prefix])
