"""
The types of what parts of a robot refer to: their link, their robot, its world.

Robots hold links and joints, and links hold geometries, so they import these. In the other
direction they are named in annotations only, and by no other module.
"""

from __future__ import annotations

from typing import Any, TYPE_CHECKING

if TYPE_CHECKING:
    from sim_bridge.robots.joints.joint import ConstraintJoint as ConstraintJoint
    from sim_bridge.robots.joints.joint import Joint as Joint
    from sim_bridge.robots.link import Link as Link
    from sim_bridge.robots.robot import Robot as Robot
    from sim_bridge.world.world import World as World
else:
    ConstraintJoint = Joint = Link = Robot = World = Any
