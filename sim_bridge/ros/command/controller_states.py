"""
States of the controllers that a robot's controller files declare, and the joints they claim.

Without a spawner each controller is active from the start, unless an earlier one has a joint of
it. A controller that nobody has asked for gives way to one that somebody activates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TYPE_CHECKING

from sim_bridge.description.controller_settings import ControllerSettings, QUANTITIES
from sim_bridge.foundation.errors import StateError

if TYPE_CHECKING:
    from sim_bridge.description.model import RobotDescription
    from sim_bridge.description.ros2_control import (
        ControllerDescription,
        ControllerManagerDescription,
    )
    from sim_bridge.robots.robot import Robot


@dataclass(frozen=True, eq=False)
class DeclaredController:
    """A controller with settings, and its manager."""

    description: ControllerDescription
    manager: ControllerManagerDescription
    settings: ControllerSettings

    @property
    def name(self) -> str:
        """Name, unique on the robot."""
        return self.description.name

    def topic(self, name: str) -> str:
        """Return the full name of one of its topics, after remapping."""
        return self.manager.topic(f'{self.name}/{name}')


class SavedStates(NamedTuple):
    """Names of active controllers, and of those that somebody has activated."""

    active: frozenset[str]
    wanted: frozenset[str]


class ControllerStates:
    """
    Active and inactive controllers of one robot.

    The executor's thread reads them; the physics thread changes them. Controllers outside the
    robot's files are always active.
    """

    def __init__(self, controllers: Sequence[DeclaredController], robot_name: str) -> None:
        """Activate the controllers in order, except where an earlier one has a joint."""
        self.controllers = {each.name: each for each in controllers}
        self.waiting: dict[str, str] = {}
        """Controllers inactive from the start, by the controllers that have their joints."""
        self._robot_name = robot_name
        self._active: frozenset[str] = frozenset()
        self._wanted: frozenset[str] = frozenset()
        owners: dict[str, str] = {}
        for each in controllers:
            owner = next((owners[j] for j in each.settings.joints if j in owners), '')
            if owner:
                self.waiting[each.name] = owner
                continue
            owners.update(dict.fromkeys(each.settings.joints, each.name))
            self._active |= {each.name}

    def is_active(self, name: str) -> bool:
        """Return whether a controller may command its joints."""
        return name in self._active or name not in self.controllers

    def check_active(self, name: str) -> None:
        """Raise StateError for an inactive controller."""
        if not self.is_active(name):
            claims = set(self.controllers[name].settings.claims)
            rivals = [
                each
                for each in self._active
                if claims & set(self.controllers[each].settings.claims)
            ]
            other = f' and deactivates {", ".join(sorted(rivals))}' if rivals else ''
            raise StateError(
                f'controller {name!r} of robot {self._robot_name!r} is inactive; '
                f'controller_manager/switch_controller activates it{other}'
            )

    def controls(self) -> dict[str, str]:
        """Return the control modes that the active controllers need, by joint."""
        found: dict[str, str] = {}
        for name, each in self.controllers.items():
            if name in self._active:
                for claim in each.settings.claims:
                    joint, _, quantity = claim.rpartition('/')
                    known = found.get(joint, quantity)
                    # the motor of a position also takes velocities and efforts
                    found[joint] = min(known, quantity, key=QUANTITIES.index)
        return found

    def save(self, time_ns: int) -> SavedStates:
        """Return the state for `restore`."""
        return SavedStates(self._active, self._wanted)

    def restore(self, saved: SavedStates, time_ns: int) -> None:
        """Return to a saved state."""
        self._active, self._wanted = saved

    def restart(self, time_ns: int, reason: str) -> None:
        """Keep all states, as control modes do."""


def declared_controllers(description: RobotDescription | None) -> list[DeclaredController]:
    """Return a robot's controllers with settings, in the order of its files."""
    managers = () if description is None else description.controller_managers
    return [
        DeclaredController(each, manager, each.settings)
        for manager in managers
        for each in manager.controllers
        if each.settings is not None
    ]


def set_controls(robot: Robot, controls: Mapping[str, str]) -> None:
    """Set the control modes of joints; a servo also takes positions, and stays."""
    for name, control in controls.items():
        joint = robot.joint(name)
        if joint.control != control and not (joint.control == 'servo' and control == 'position'):
            joint.control = control
