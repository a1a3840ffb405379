"""Parameters for each joint's control mode, settable at run time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
import math
from typing import Any, Protocol, TYPE_CHECKING

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.parameter import Parameter

from sim_bridge.foundation.errors import ErrorCode, InvalidValueError, UnknownNameError
from sim_bridge.robots.joints.motor import CONTROLS

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.commands import RobotCommands
    from sim_bridge.ros.params.parameters import SimulatorParameters

_CONTROL, _P, _D = 'control.{}', 'gains.{}.p', 'gains.{}.d'
_WORDS = ' or '.join(map(repr, CONTROLS))
_GAIN = 'a finite number, at least 0.0'
_DESCRIPTIONS = {
    _CONTROL: f'Control mode of the joint, besides commanded efforts: {_WORDS}',
    _P: "Effort of 'servo' per position error [N m/rad or N/m]",
    _D: "Effort of 'servo' per velocity error [N m s/rad or N s/m]",
}

# axes by their name in parameters: the robot's commands, and the axis name there
_Axes = dict[str, tuple['RobotCommands', str]]


def control_parameter(prefix: str, axis: str) -> str:
    """Return an axis' control parameter name. prefix: topic prefix."""
    return _CONTROL.format(prefix.replace('/', '.') + axis)


class CommandedRobot(Protocol):
    """A robot accepting commands. namespace, prefix: for its topics, the prefix with a slash."""

    robot: Robot
    commands: RobotCommands
    namespace: str
    prefix: str


class NoNode:
    """Replacement for the node in a run without a graph: parameters keep their given values."""

    def declare_parameter(self, *arguments: Any, **options: Any) -> None:
        """Do nothing."""

    def undeclare_parameter(self, name: str) -> None:
        """Do nothing."""

    def set_parameters(self, parameters: list[Parameter]) -> None:
        """Do nothing."""

    def add_on_set_parameters_callback(self, callback: Any) -> None:
        """Do nothing."""

    def remove_on_set_parameters_callback(self, callback: Any) -> None:
        """Do nothing."""


class JointControls:
    """
    The parameters control.<axis>, gains.<axis>.p and gains.<axis>.d for all robots' axes.

    A robot's namespace precedes the axis name: control.left.elbow. A change of control mode takes
    effect at the next control step, without a jerk.
    """

    def __init__(
        self,
        node: Node | NoNode,
        interfaces: Sequence[CommandedRobot],
        parameters: SimulatorParameters,
    ) -> None:
        """
        Declare the parameters for all axes except mimic joints, and apply the given values.

        Raises UnknownNameError for an unknown joint, InvalidValueError for an invalid value.
        """
        self._node = node
        self._axes: _Axes = {}
        self._values: dict[str, Any] = {}
        for interface in interfaces:
            self._axes |= self._own_axes(interface)
        self._values |= _driven(self._axes)
        given = {
            **dict(_flattened('control', parameters.control)),
            **dict(_flattened('gains', parameters.gains)),
        }
        for name in given:
            if name not in self._values:
                raise UnknownNameError(
                    'parameter',
                    name,
                    self._values,
                    'those of joints that mimic no other' if self._values else '',
                )
        values = self._checked(given)
        self._declare(self._axes, values)
        self._obey(values)
        node.add_on_set_parameters_callback(self._set)

    def add(self, interface: CommandedRobot) -> None:
        """
        Declare the parameters of a robot added later; on the executor's thread.

        Raises InvalidValueError, and declares nothing, if another robot has a parameter with the
        same name.
        """
        axes = self._own_axes(interface)
        values = _driven(axes)
        self._declare(axes, values)
        self._axes |= axes
        self._values |= values

    def remove(self, interface: CommandedRobot) -> None:
        """Undeclare the parameters of a removed robot; on the executor's thread."""
        for key in [key for key, (of, _) in self._axes.items() if of is interface.commands]:
            del self._axes[key]
            names = [kind.format(key) for kind in _DESCRIPTIONS]
            self._undeclare(names)
            for name in names:
                del self._values[name]

    def read_back(self) -> None:
        """
        Update the parameters from the axes' control modes, after other code has changed them.

        Call this on the executor's thread, while the physics thread waits.
        """
        now = _driven(self._axes)
        self._node.set_parameters(
            [
                Parameter(name, value=value)
                for name, value in now.items()
                if value != self._values[name]
            ]
        )

    def close(self) -> None:
        """Undeclare all parameters."""
        self._node.remove_on_set_parameters_callback(self._set)
        self._undeclare(self._values)

    def _own_axes(self, interface: CommandedRobot) -> _Axes:
        """Return a robot's axes by parameter name; names must not be in use."""
        commands, prefix = interface.commands, interface.prefix.replace('/', '.')
        axes = {
            prefix + name: (commands, name)
            for name, axis in commands.axes.items()
            if axis.followed is None
        }
        for key in axes:
            if key in self._axes:
                raise InvalidValueError(
                    'namespace',
                    interface.namespace,
                    f'one without the parameter {_CONTROL.format(key)!r}, which another robot has',
                    interface.robot.name,
                    code=ErrorCode.NAMESPACE_INVALID,
                )
        return axes

    def _declare(self, keys: Iterable[str], values: Mapping[str, Any]) -> None:
        """Declare the parameters of axes, all or none."""
        declared: list[str] = []
        try:
            for kind, description in _DESCRIPTIONS.items():
                for key in keys:
                    # gains may be integers; `_set` refuses other types with a better message
                    descriptor = ParameterDescriptor(
                        description=description,
                        dynamic_typing=True,
                        additional_constraints=f'expected {_WORDS if kind == _CONTROL else _GAIN}',
                    )
                    name = kind.format(key)
                    self._node.declare_parameter(
                        name, values[name], descriptor, ignore_override=True
                    )
                    declared.append(name)
        except Exception:
            self._undeclare(declared)
            raise

    def _undeclare(self, names: Iterable[str]) -> None:
        for name in names:
            self._node.undeclare_parameter(name)

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            values = self._checked({p.name: p.value for p in parameters if p.name in self._values})
        except InvalidValueError as err:
            return SetParametersResult(successful=False, reason=str(err))
        self._obey(values)
        return SetParametersResult(successful=True)

    def _checked(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return all values after some changes; raises InvalidValueError."""
        values = {**self._values, **changes}
        for key in self._axes:
            control, p, d = (values[kind.format(key)] for kind in (_CONTROL, _P, _D))
            # parameters may be set to any type, even a list
            if not isinstance(control, str) or control not in CONTROLS:
                raise InvalidValueError(f'parameter {_CONTROL.format(key)!r}', control, _WORDS)
            for kind, gain in ((_P, p), (_D, d)):
                is_number = isinstance(gain, (int, float)) and not isinstance(gain, bool)
                if not is_number or not 0.0 <= gain < math.inf:
                    raise InvalidValueError(f'parameter {kind.format(key)!r}', gain, _GAIN)
            if control == 'servo' and p == d == 0.0:
                raise InvalidValueError(
                    f'parameter {_CONTROL.format(key)!r}',
                    control,
                    f'{_P.format(key)} or {_D.format(key)} above 0 with it',
                )
        return values

    def _obey(self, values: Mapping[str, Any]) -> None:
        """Apply changed values to the robots."""
        for key, (commands, axis) in self._axes.items():
            names = [kind.format(key) for kind in (_CONTROL, _P, _D)]
            now = [values[name] for name in names]
            if now != [self._values[name] for name in names]:
                control, p, d = now
                commands.queue.set_control(axis, control, float(p), float(d))
        self._values.update(values)


def _driven(axes: _Axes) -> dict[str, Any]:
    """Return the parameters describing the axes' current control modes."""
    values: dict[str, Any] = {}
    for key, (commands, name) in axes.items():
        axis = commands.axes[name]
        values |= {
            _CONTROL.format(key): axis.control,
            _P.format(key): axis.kp,
            _D.format(key): axis.kd,
        }
    return values


def _flattened(block: str, tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Turn {'a': {'b': 1}} into 'block.a.b', 1."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flattened(f'{block}.{name}', value)
        else:
            yield f'{block}.{name}', value
