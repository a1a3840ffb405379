"""Programs of declared controllers, by the kind of their settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TYPE_CHECKING

from sim_bridge.description.controller_settings import (
    ForwardSettings,
    GripperSettings,
    JointStateSettings,
    PidSettings,
)
from sim_bridge.ros.command.forward_controller import ForwardController
from sim_bridge.ros.command.gripper_controller import GripperController
from sim_bridge.ros.command.joint_state_broadcaster import JointStateBroadcaster
from sim_bridge.ros.command.pid_controller import PidController

if TYPE_CHECKING:
    from sim_bridge.ros.command.programs import Context, Program

_KINDS: Mapping[type, Callable[..., Any]] = {
    ForwardSettings: ForwardController,
    GripperSettings: GripperController,
    PidSettings: PidController,
    JointStateSettings: JointStateBroadcaster,
}


def programs_of(context: Context) -> list[Program]:
    """Return the programs of a robot's declared controllers, except trajectory controllers."""
    return [
        _KINDS[type(each.settings)](each, each.settings, context)
        for each in context.states.controllers.values()
        if type(each.settings) in _KINDS
    ]
