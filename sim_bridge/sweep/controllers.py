"""Controllers in a run's process: laws from `control`, and functions named in a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import inspect
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from sensor_msgs.msg import JointState

from sim_bridge.control.computed_torque_controller import ComputedTorqueLaw
from sim_bridge.control.joint_loop import JointLoop
from sim_bridge.control.pd_controller import PdLaw
from sim_bridge.control.velocity_controller import VelocityLoop
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.nearby_files import values_nearby
from sim_bridge.ros.wire.joint_state_reader import JointStateReader
from sim_bridge.ros.wire.messages import marks, pack_stamp, PreparedMessage
from sim_bridge.sweep.plan import ControllerPlan, FUNCTION
from sim_bridge.sweep.run_parameters import controller_parameters
from sim_bridge.sweep.user_code import function_of


class Controller(Protocol):
    """Controller from serialized joint states to serialized commands."""

    def control(self, description: str) -> object:
        """Take the robot's URDF, before the first state."""

    def answer(self, data: bytes) -> bytes | None:
        """Return the command for a joint state, or None."""


@dataclass(frozen=True)
class Situation:
    """
    Arguments for the construction of a controller.

    namespace: robot namespace. joints: names of joints it may command. world, robot, params: from
    the plan, to find parameter files. folder: base for relative paths.
    """

    namespace: str
    joints: Sequence[str]
    world: str
    robot: str
    params: str | None
    folder: Path

    def parameters_of(self, node: str) -> dict[str, Any]:
        """Return a node's parameters from files beside robot and scene, and the user's file."""
        full = '/'.join(filter(None, ('', self.namespace, node)))
        return values_nearby(
            full if full.startswith('/') else f'/{full}',
            self.world,
            self.robot,
            params=self.params,
        )


def make_controller(plan: ControllerPlan, situation: Situation) -> Controller:
    """Return the controller for a plan; raises InvalidValueError, UnknownNameError."""
    if plan.kind == FUNCTION:
        return FunctionController(plan, situation)
    from_files = situation.parameters_of(f'{plan.kind}_controller')
    parameters = controller_parameters(plan, from_files)
    if plan.kind == 'velocity':
        return VelocityLoop(parameters)
    law: Any = PdLaw if plan.kind == 'pd' else ComputedTorqueLaw
    return JointLoop(parameters, law)


class FunctionController:
    """
    Controller function: efforts from time, positions and velocities.

    The function named in the study is called once, with the joint names and the study's arguments.
    It returns the controller function. This function is called with the time [s] and arrays (n,)
    of joint positions [rad or m] and velocities [rad/s or m/s], and returns (n,) efforts [N m or
    N]. If the argument `field` is position or velocity, it returns target positions or velocities.
    """

    _FIELDS = ('effort', 'velocity', 'position')

    def __init__(self, plan: ControllerPlan, situation: Situation) -> None:
        """Call the function named in the study. Raises InvalidValueError."""
        arguments = dict(plan.parameters)
        field = arguments.pop('field', 'effort')
        if field not in self._FIELDS:
            raise InvalidValueError('field', field, f'one of {", ".join(self._FIELDS)}')
        self._joints = list(situation.joints)
        self._call = plan.call
        make = function_of(plan.call, situation.folder)
        try:
            inspect.signature(make).bind(self._joints, **arguments)
        except TypeError as err:
            known = list(inspect.signature(make).parameters)[1:]
            raise InvalidValueError(
                plan.call,
                arguments,
                f'arguments that it takes after the joints, {", ".join(known) or "none"}: {err}',
            ) from err
        self._function = make(self._joints, **arguments)
        if not callable(self._function):
            raise InvalidValueError(
                plan.call, self._function, 'a returned function of time, q and dq'
            )
        n = len(self._joints)
        self._message = PreparedMessage(
            JointState(name=self._joints, **{field: marks(0, n)}), (n,)
        )
        self._reader = JointStateReader()
        self._names: list[str] = []
        self._places = np.zeros(0, int)

    def control(self, description: str) -> None:
        """Do nothing: the function needs no robot description."""

    def answer(self, data: bytes) -> bytes:
        """Return the command for a joint state. Raises InvalidValueError for invalid results."""
        state = self._reader.read(data)
        if state.names != self._names:
            self._names = state.names
            self._places = np.array([state.names.index(name) for name in self._joints], int)
        given = self._function(
            state.time_ns * 1e-9, state.position[self._places], state.velocity[self._places]
        )
        try:
            found = np.asarray(given, float)
            given = found.tolist()
        except (TypeError, ValueError):
            found = np.array(np.nan)
        if found.shape != (len(self._joints),) or not np.isfinite(found).all():
            raise InvalidValueError(
                f'result of {self._call}',
                given,
                f'{len(self._joints)} finite numbers, one for each of {", ".join(self._joints)}',
            )
        self._message.blocks[0][:] = found
        return self._message.stamped(pack_stamp(state.time_ns))
