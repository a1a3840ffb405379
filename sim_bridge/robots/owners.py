"""
Link, robot and world types, for annotations in robot parts.

Robots import joints and links, and links import geometries. The opposite direction exists in
annotations only, and only through this module.
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
