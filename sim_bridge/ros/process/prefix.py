"""Search path of this process and its children for packages installed beside this Python."""

from __future__ import annotations

import os
from pathlib import Path
import sys

from sim_bridge.ros.interfaces import store


def set_prefix() -> None:
    """
    Add the packages installed beside this Python to the ament index of this process and children.

    A ROS 2 setup file sets AMENT_PREFIX_PATH; the wheels from PyPI do not. This Python comes
    last, after sourced prefixes, followed by the message packages generated beside it.
    """
    known = os.environ.get('AMENT_PREFIX_PATH', '')
    prefixes = [prefix for prefix in known.split(os.pathsep) if prefix]
    if (Path(sys.prefix) / 'share' / 'ament_index').is_dir() and sys.prefix not in prefixes:
        os.environ['AMENT_PREFIX_PATH'] = os.pathsep.join([*prefixes, sys.prefix])
    store.offer()
