"""Changes to a link's mass properties."""

from __future__ import annotations

from sim_bridge.description.model import Inertial
from sim_bridge.simulation.change import Change
from sim_bridge.simulation.slots import LinkSlot
from sim_bridge.simulation.staleness import Staleness


def weigh(staleness: Staleness, link: LinkSlot, inertial: Inertial | None) -> None:
    """Set the mass properties for a link and its body; the robots' arrays are up to date."""
    robot = link.robot
    with Change(staleness, link, robot):
        link.take(inertial)
        staleness.write(robot.part.model, 'inertia', link.body, link.body_inertia())
        robot.dynamics = None
