"""The parameters for the control of each joint, which may be changed while the node runs."""

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
    _CONTROL: f'How the joint is driven, beside the efforts commanded: {_WORDS}',
    _P: "Effort of 'servo' per error of position [N m/rad or N/m]",
    _D: "Effort of 'servo' per error of velocity [N m s/rad or N s/m]",
}

# robots' axes by their names in parameters: with the commands of whom, and under which name there
_Axes = dict[str, tuple['RobotCommands', str]]


def control_parameter(prefix: str, axis: str) -> str:
    """Return the name of the parameter for the control of an axis; prefix: of the topics."""
    return _CONTROL.format(prefix.replace('/', '.') + axis)


class CommandedRobot(Protocol):
    """A robot that takes commands; namespace, prefix: of its topics, the latter with a slash."""

    robot: Robot
    commands: RobotCommands
    namespace: str
    prefix: str


class NoNode:
    """Stands for the node in a run without a graph: parameters are what was given."""

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
    The parameters control.<axis>, gains.<axis>.p and gains.<axis>.d of all robots' axes.

    A robot's namespace precedes the axis' name: control.left.elbow. A change of control takes
    effect at the next control step, without a jerk.
    """

    def __init__(
        self,
        node: Node | NoNode,
        interfaces: Sequence[CommandedRobot],
        parameters: SimulatorParameters,
    ) -> None:
        """
        Declare the parameters of all axes that do not mimic another, and apply the given ones.

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
                    'those of joints that follow no other' if self._values else '',
                )
        values = self._checked(given)
        self._declare(self._axes, values)
        self._obey(values)
        node.add_on_set_parameters_callback(self._set)

    def add(self, interface: CommandedRobot) -> None:
        """
        Declare the parameters of a robot that was added later; on the executor's thread.

        Raises InvalidValueError, and declares nothing, if another robot has a parameter of that
        name.
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
        Update the parameters from the axes' controls, after other code has changed these.

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
        """Return a robot's axes by their parameter names, which must not be in use."""
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
                    'one in which no joint has the parameter '
                    f"{_CONTROL.format(key)!r} of another robot's",
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
                    # gains may be whole numbers, and what else is set is to be refused by `_set`
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
        """Return all values with some changed; raises InvalidValueError."""
        values = {**self._values, **changes}
        for key in self._axes:
            control, p, d = (values[kind.format(key)] for kind in (_CONTROL, _P, _D))
            # of whatever type it is set to, a list too
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
        """Apply the changed values to the robots."""
        for key, (commands, axis) in self._axes.items():
            names = [kind.format(key) for kind in (_CONTROL, _P, _D)]
            now = [values[name] for name in names]
            if now != [self._values[name] for name in names]:
                control, p, d = now
                commands.queue.set_control(axis, control, float(p), float(d))
        self._values.update(values)


def _driven(axes: _Axes) -> dict[str, Any]:
    """Return the parameters that describe the present control of axes."""
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
