"""
States of the controllers that a robot's controller files declare, and the joints they claim.

Without a spawner each controller is active from the start, unless an earlier one has a joint of
it. A controller that nobody has asked for gives way to one that somebody activates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import enum
from typing import NamedTuple, TYPE_CHECKING

from sim_bridge.description.controller_settings import (
    JointStateSettings,
    POSITION,
    QUANTITIES,
    VELOCITY,
)
from sim_bridge.foundation.errors import (
    InvalidValueError,
    SimBridgeError,
    StateError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from sim_bridge.description.controller_settings import ControllerSettings
    from sim_bridge.description.model import RobotDescription
    from sim_bridge.description.ros2_control import (
        ControllerDescription,
        ControllerManagerDescription,
    )
    from sim_bridge.robots.robot import Robot


STAGES = UNLOADED, UNCONFIGURED, INACTIVE, ACTIVE = (
    'unloaded',
    'unconfigured',
    'inactive',
    'active',
)


class Strictness(enum.IntEnum):
    """Strictness of a switch, as in controller_manager_msgs/SwitchController."""

    BEST_EFFORT = 1
    STRICT = 2
    AUTO = 3
    FORCE_AUTO = 4


@dataclass(frozen=True, eq=False)
class DeclaredController:
    """
    A controller of a simulated kind, and its manager.

    joints: commanded joints. claims: command interfaces. settings: None for drives and
    broadcasters.
    """

    description: ControllerDescription
    manager: ControllerManagerDescription
    joints: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()

    @property
    def settings(self) -> ControllerSettings | None:
        """Settings; None for drives and broadcasters."""
        return self.description.settings

    @property
    def name(self) -> str:
        """Name, unique on the robot."""
        return self.description.name

    def topic(self, name: str) -> str:
        """Return the full name of one of its topics, after remapping."""
        return self.manager.topic(f'{self.name}/{name}')


class SavedStates(NamedTuple):
    """Stages by controller, and the names of controllers that somebody has asked for."""

    stages: dict[str, str]
    wanted: frozenset[str]


class ControllerStates:
    """
    Life cycle of the controllers of one robot.

    The executor's thread reads them; the physics thread changes them. Controllers outside the
    robot's files are always active.
    """

    def __init__(
        self,
        controllers: Sequence[DeclaredController],
        robot_name: str,
        starts_active: bool = True,
    ) -> None:
        """
        Activate the controllers in order, except where an earlier one has a joint.

        starts_active: False to load none of them, except those without a manager.
        """
        self.controllers = {each.name: each for each in controllers}
        self.waiting: dict[str, str] = {}
        """Controllers inactive from the start, by the controllers that have their joints."""
        self._robot_name = robot_name
        self._stages = dict.fromkeys(self.controllers, UNLOADED)
        self._wanted: frozenset[str] = frozenset()
        owners: dict[str, str] = {}
        for each in controllers:
            if not starts_active and each.manager.name:
                continue
            self._stages[each.name] = ACTIVE
            owner = next((owners[j] for j in each.joints if j in owners), '')
            if owner:
                self.waiting[each.name] = owner
                self._stages[each.name] = INACTIVE
            else:
                owners.update(dict.fromkeys(each.joints, each.name))

    def stage_of(self, name: str) -> str:
        """Return the stage of a declared controller."""
        return self._stages[name]

    @property
    def stages(self) -> dict[str, str]:
        """Stages of all controllers, by name."""
        return dict(self._stages)

    def set_stages(self, stages: Mapping[str, str]) -> None:
        """Set recorded stages; raises UnknownNameError or InvalidValueError."""
        for name, stage in stages.items():
            self._check_known(name)
            if stage not in STAGES:
                raise InvalidValueError('stage', stage, f'one of {", ".join(STAGES)}', name)
        self._stages = {**self._stages, **stages}

    def loaded(self) -> list[str]:
        """Return the names of loaded controllers."""
        return [name for name, stage in self._stages.items() if stage != UNLOADED]

    def active(self) -> list[str]:
        """Return the names of active controllers."""
        return [name for name, stage in self._stages.items() if stage == ACTIVE]

    def claimed(self) -> set[str]:
        """Return the command interfaces of active controllers."""
        return {claim for name in self.active() for claim in self.controllers[name].claims}

    def is_active(self, name: str) -> bool:
        """Return whether a controller may command its joints."""
        return self._stages.get(name, ACTIVE) == ACTIVE

    def check_active(self, name: str) -> None:
        """Raise StateError for an inactive controller."""
        if not self.is_active(name):
            rivals = self._rivals(name, self.active())
            other = f' and deactivates {", ".join(rivals)}' if rivals else ''
            raise StateError(
                f'{self._label(name)} is {self._stages[name]}; '
                f'controller_manager/switch_controller activates it{other}'
            )

    def controls(self) -> dict[str, str]:
        """Return the control modes that the active controllers need, by joint."""
        found: dict[str, str] = {}
        for name in self.active():
            for claim in self.controllers[name].claims:
                joint, _, quantity = claim.rpartition('/')
                known = found.get(joint, quantity)
                # the motor of a position also takes velocities and efforts
                found[joint] = min(known, quantity, key=QUANTITIES.index)
        return found

    # --- changes ---------------------------------------------------------------------------------

    def load(self, name: str) -> None:
        """Load a controller; raises UnknownNameError, or StateError if somebody has loaded it."""
        self._move(name, UNCONFIGURED, (UNLOADED,))

    def configure(self, name: str) -> None:
        """Configure a controller; raises UnknownNameError, or StateError unless it is loaded."""
        self._move(name, INACTIVE, (UNCONFIGURED, INACTIVE))

    def cleanup(self, name: str) -> None:
        """Undo `configure`; raises UnknownNameError, or StateError unless it is inactive."""
        self._move(name, UNCONFIGURED, (UNCONFIGURED, INACTIVE))

    def unload(self, name: str) -> None:
        """Unload a controller; raises UnknownNameError, or StateError while it is active."""
        self._move(name, UNLOADED, (UNCONFIGURED, INACTIVE))

    def _move(self, name: str, stage: str, allowed: Sequence[str]) -> None:
        self._check_known(name)
        now = self._stages[name]
        # nobody has asked for a controller active or inactive from the start: its spawner may
        if now not in allowed and name in self._wanted:
            raise StateError(f'{self._label(name)} is {now}, not {" or ".join(allowed)}')
        self._stages = {**self._stages, name: stage}
        self._wanted |= {name}

    def switch(
        self, activate: Sequence[str], deactivate: Sequence[str], strictness: Strictness
    ) -> str:
        """
        Activate and deactivate controllers; return a text about those left out.

        Raises UnknownNameError or StateError, and changes nothing, if strictness is STRICT and
        anything is wrong, or if nothing of a request is possible.
        """
        problems: list[SimBridgeError] = []

        def possible(names: Sequence[str], check: Callable[[str], None]) -> list[str]:
            found = []
            for name in names:
                try:
                    check(name)
                except SimBridgeError as err:
                    problems.append(err)
                else:
                    found.append(name)
            return found

        is_strict = strictness == Strictness.STRICT
        ending = possible(deactivate, lambda name: self._check_stage(name, ACTIVE, is_strict))
        rest = [name for name in self.active() if name not in ending]
        starting: list[str] = []

        def check_start(name: str) -> None:
            self._check_stage(name, INACTIVE, is_strict)
            others = [each for each in (*rest, *starting) if each != name]
            for rival in self._rivals(name, others):
                is_free = rival not in self._wanted and rival not in activate
                if not is_free and strictness != Strictness.FORCE_AUTO:
                    raise StateError(
                        f'{self._label(name)} is not activated, since {rival!r} has claimed '
                        f'{", ".join(self._shared(name, rival))}; deactivate it'
                    )
                ending.append(rival)
                if rival in rest:
                    rest.remove(rival)
            starting.append(name)

        possible(activate, check_start)
        if problems and (is_strict or not starting and not ending):
            raise problems[0]
        self._stages = {
            **self._stages,
            **dict.fromkeys(ending, INACTIVE),
            **dict.fromkeys(starting, ACTIVE),
        }
        self._wanted |= {*starting, *ending}
        return '; '.join(map(str, problems))

    def _check_stage(self, name: str, stage: str, is_strict: bool) -> None:
        """Raise unless a controller can leave a stage; `stage`: the one before the switch."""
        self._check_known(name)
        now = self._stages[name]
        is_there = now in (ACTIVE, INACTIVE) and now != stage
        # without a spawner a controller is active already
        is_fine = is_there and (not is_strict or name not in self._wanted)
        if now != stage and not is_fine:
            raise StateError(f'{self._label(name)} is {now}, not {stage}')

    def _check_known(self, name: str) -> None:
        if name not in self.controllers:
            place = f'controller files of robot {self._robot_name!r}'
            raise UnknownNameError('controller', name, self.controllers, place)

    def _rivals(self, name: str, among: Sequence[str]) -> list[str]:
        """Return the controllers with a claim of this one."""
        return [each for each in among if each != name and self._shared(name, each)]

    def _shared(self, name: str, other: str) -> list[str]:
        theirs = set(self.controllers[other].claims)
        return [claim for claim in self.controllers[name].claims if claim in theirs]

    def _label(self, name: str) -> str:
        return f'controller {name!r} of robot {self._robot_name!r}'

    # --- snapshots -------------------------------------------------------------------------------

    def save(self, time_ns: int) -> SavedStates:
        """Return the state for `restore`."""
        return SavedStates(dict(self._stages), self._wanted)

    def restore(self, saved: SavedStates, time_ns: int) -> None:
        """Return to a saved state."""
        self._stages, self._wanted = dict(saved.stages), saved.wanted

    def restart(self, time_ns: int, reason: str) -> None:
        """Keep all states, as control modes do."""


def declared_controllers(description: RobotDescription | None) -> list[DeclaredController]:
    """Return a robot's controllers of simulated kinds, in the order of its files."""
    if description is None:
        return []
    drives = {drive.name: drive for drive in description.drives}
    found = []
    for manager in description.controller_managers:
        for each in manager.controllers:
            if each.settings is not None:
                settings = each.settings
                found.append(DeclaredController(each, manager, settings.joints, settings.claims))
            elif each.name in drives:
                drive = drives[each.name]
                wheels = tuple(f'{wheel.joint}/{VELOCITY}' for wheel in drive.wheels)
                steering = tuple(f'{axle.joint}/{POSITION}' for axle in drive.steering)
                found.append(DeclaredController(each, manager, drive.joints, wheels + steering))
    return found


def joint_state_topics(controllers: Sequence[DeclaredController]) -> list[str]:
    """Return full names of joint_states, from broadcasters in a namespace or with a remapping."""
    names = [
        each.manager.topic('joint_states')
        for each in controllers
        if isinstance(each.settings, JointStateSettings) and not each.settings.is_local
    ]
    return [name for name in dict.fromkeys(names) if name.startswith('/')]


def set_controls(robot: Robot, controls: Mapping[str, str]) -> None:
    """Set the control modes of joints; a servo also takes positions, and stays."""
    for name, control in controls.items():
        joint = robot.joint(name)
        if joint.control != control and not (joint.control == 'servo' and control == 'position'):
            joint.control = control
