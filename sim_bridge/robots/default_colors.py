"""Default colours for robots and bodies."""

from __future__ import annotations

from sim_bridge.robots.owners import Robot

FIXED, GROUND = (0.72, 0.73, 0.75), (0.88, 0.88, 0.86)
MOVING = (
    (0.90, 0.56, 0.21),
    (0.30, 0.53, 0.76),
    (0.42, 0.66, 0.38),
    (0.70, 0.45, 0.68),
    (0.85, 0.74, 0.30),
    (0.40, 0.66, 0.69),
    (0.80, 0.42, 0.38),
    (0.55, 0.50, 0.45),
)
"""Colours of moving robots, in turn."""


def moves(robot: Robot) -> bool:
    """Return whether any robot link can move."""
    return robot.motion != 'static' or bool(robot.joint_names)


def color_of(robot: Robot, number: int) -> tuple[float, float, float, float]:
    """Return a robot's red, green, blue, opacity, by its number in the world."""
    return (*(MOVING[number % len(MOVING)] if moves(robot) else FIXED), 1.0)
