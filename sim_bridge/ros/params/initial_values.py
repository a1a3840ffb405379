"""
Joint start positions from ros2_control.

Like gz_ros2_control and similar plugins, this module reads `<param name="initial_value">` in the
position state interface.
"""

from __future__ import annotations

from collections.abc import Iterator
import math
import xml.etree.ElementTree as ElementTree

from sim_bridge.compilation.compile import compile_robot
from sim_bridge.description.model import RobotDescription
from sim_bridge.engine.data.model import LOWER, UPPER


def start_limits(description: RobotDescription) -> dict[str, tuple[float, float]]:
    """Return the position limits [rad or m] for one-axis joints, in joint order."""
    # limits do not depend on the base, and a free base needs mass
    blueprint = compile_robot(description, fixed_base=True)
    names, first = blueprint.joint_names, blueprint.first_v
    limits = blueprint.model.limits[first : first + len(names), [LOWER, UPPER]]
    return dict(zip(names, map(tuple, limits.tolist()), strict=True))


def initial_values(description: RobotDescription) -> dict[str, float]:
    """
    Return start positions [rad or m] for one-axis joints from a robot's `<ros2_control>`.

    Mimic joints are left out, and values outside the joint's limits, which the reader reports.
    """
    limits = start_limits(description)
    values = {}
    for name, text in _declared(description.xml):
        # other joints concern only ros2_control
        if name not in limits or description.joints[name].mimic is not None:
            continue
        lower, upper = limits[name]
        value = _number(text)
        if lower <= value <= upper:
            values[name] = value
    return values


def _declared(xml: str) -> Iterator[tuple[str, str]]:
    """Yield joint name and text of each initial_value in a position state interface."""
    if 'initial_value' not in xml:
        return
    for joint in ElementTree.fromstring(xml).findall('ros2_control/joint'):
        for parameter in joint.findall("state_interface[@name='position']/param"):
            if parameter.get('name') == 'initial_value':
                yield joint.get('name', ''), (parameter.text or '').strip()


def _number(text: str) -> float:
    """Return the number in a text; for invalid text nan, since nan is outside any limits."""
    try:
        return float(text)
    except ValueError:
        return math.nan
