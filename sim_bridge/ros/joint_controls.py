"""The parameters that say how each joint is driven, which may be changed while the node runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import math
from typing import Any, TYPE_CHECKING

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult

from sim_bridge.errors import InvalidValueError, UnknownNameError
from sim_bridge.motor import CONTROLS

if TYPE_CHECKING:
    from rclpy.node import Node
    from rclpy.parameter import Parameter

    from sim_bridge.ros.commands import RobotCommands
    from sim_bridge.ros.parameters import SimulatorParameters
    from sim_bridge.ros.robot_interface import RobotInterface

_CONTROL, _P, _D = 'control.{}', 'gains.{}.p', 'gains.{}.d'
_WORDS = ' or '.join(map(repr, CONTROLS))
_GAIN = 'a finite number, at least 0.0'
_DESCRIPTIONS = {
    _CONTROL: f'How the joint is driven, beside the efforts commanded: {_WORDS}',
    _P: "Effort of 'servo' per error of position [N m/rad or N/m]",
    _D: "Effort of 'servo' per error of velocity [N m s/rad or N s/m]",
}


class JointControls:
    """
    The parameters control.<axis>, gains.<axis>.p and gains.<axis>.d of all robots' axes.

    Those of a robot with a namespace have it before the axis' name: control.left.elbow. What
    changes its control goes on without a jerk, by the next control step.
    """

    def __init__(
        self, node: Node | None, interfaces: Sequence[RobotInterface],
        parameters: SimulatorParameters,
    ) -> None:
        """
        Declare the parameters of all axes that follow no other, and obey those given.

        node: None to obey those given only. Raises UnknownNameError for a joint that is not there,
        InvalidValueError for a bad value.
        """
        self._axes: dict[str, tuple[RobotCommands, str]] = {}
        self._values: dict[str, Any] = {}
        for interface in interfaces:
            commands, prefix = interface.commands, interface.prefix.replace('/', '.')
            for name, axis in commands.axes.items():
                if axis.followed is None:
                    key = prefix + name
                    self._axes[key] = commands, name
                    self._values[_CONTROL.format(key)] = axis.control
                    self._values[_P.format(key)] = axis.kp
                    self._values[_D.format(key)] = axis.kd
        given = {
            **dict(_flattened('control', parameters.control)),
            **dict(_flattened('gains', parameters.gains))}
        for name in given:
            if name not in self._values:
                raise UnknownNameError(
                    'parameter', name, self._values,
                    'those of joints that follow no other' if self._values else '')
        values = self._checked(given)
        if node is not None:
            self._declare(node, values)
        self._obey(values)

    def _declare(self, node: Node, values: Mapping[str, Any]) -> None:
        for kind, description in _DESCRIPTIONS.items():
            for key in self._axes:
                # gains may be whole numbers
                descriptor = ParameterDescriptor(
                    description=description, dynamic_typing=kind != _CONTROL,
                    additional_constraints=f'expected {_WORDS if kind == _CONTROL else _GAIN}')
                name = kind.format(key)
                node.declare_parameter(name, values[name], descriptor, ignore_override=True)
        node.add_on_set_parameters_callback(self._set)

    def _set(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            values = self._checked({p.name: p.value for p in parameters if p.name in self._values})
        except InvalidValueError as err:
            return SetParametersResult(successful=False, reason=str(err))
        self._obey(values)
        return SetParametersResult(successful=True)

    def _checked(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Give all values with some changed; raises InvalidValueError."""
        values = {**self._values, **changes}
        for key in self._axes:
            control, p, d = (values[kind.format(key)] for kind in (_CONTROL, _P, _D))
            if control not in CONTROLS:
                raise InvalidValueError(f'parameter {_CONTROL.format(key)!r}', control, _WORDS)
            for kind, gain in ((_P, p), (_D, d)):
                is_number = isinstance(gain, (int, float)) and not isinstance(gain, bool)
                if not is_number or not 0.0 <= gain < math.inf:
                    raise InvalidValueError(f'parameter {kind.format(key)!r}', gain, _GAIN)
            if control == 'servo' and p == d == 0.0:
                raise InvalidValueError(
                    f'parameter {_CONTROL.format(key)!r}', control,
                    f'{_P.format(key)} or {_D.format(key)} above 0 with it')
        return values

    def _obey(self, values: Mapping[str, Any]) -> None:
        """Hand to the robots what has changed."""
        for key, (commands, axis) in self._axes.items():
            names = [kind.format(key) for kind in (_CONTROL, _P, _D)]
            now = [values[name] for name in names]
            if now != [self._values[name] for name in names]:
                control, p, d = now
                commands.set_control(axis, control, float(p), float(d))
        self._values.update(values)


def _flattened(block: str, tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Turn {'a': {'b': 1}} into 'block.a.b', 1."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flattened(f'{block}.{name}', value)
        else:
            yield f'{block}.{name}', value
