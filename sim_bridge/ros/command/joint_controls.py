"""Parameters for each joint's control mode, settable at run time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TYPE_CHECKING

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.parameter import Parameter

from sim_bridge.foundation.errors import ErrorCode, InvalidValueError, UnknownNameError
from sim_bridge.ros.params.control_values import control_of, CONTROL_WORDS, gain_of, GAIN_WORDS
from sim_bridge.ros.params.parameter_table import float_range
from sim_bridge.ros.params.parameter_text import flattened

if TYPE_CHECKING:
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.commands import RobotCommands
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.process.guarded_node import GuardedMixin

_CONTROL, _P, _D = 'control.{}', 'gains.{}.p', 'gains.{}.d'
_DESCRIPTIONS = {
    _CONTROL: f'Control mode of the joint, besides commanded efforts: {CONTROL_WORDS}',
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

    conversions: list[Callable[[Parameter], Parameter]]
    preparations: list[Callable[[list[Parameter]], Callable[[], None]]]

    def __init__(self) -> None:
        """Create a node without parameters."""
        self.conversions, self.preparations = [], []

    def declare_parameter(self, *arguments: Any, **options: Any) -> None:
        """Do nothing."""

    def undeclare_parameter(self, name: str) -> None:
        """Do nothing."""

    def set_parameters(self, parameters: list[Parameter]) -> None:
        """Do nothing."""


class JointControls:
    """
    The parameters control.<axis>, gains.<axis>.p and gains.<axis>.d for all robots' axes.

    A robot's namespace precedes the axis name: control.left.elbow. A change of control mode takes
    effect at the next control step, without a jerk.
    """

    def __init__(
        self,
        node: GuardedMixin | NoNode,
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
            **dict(flattened(parameters.control, 'control.')),
            **dict(flattened(parameters.gains, 'gains.')),
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
        node.conversions.append(self._in_own_type)
        node.preparations.append(self._prepare)

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
        self._node.conversions.remove(self._in_own_type)
        self._node.preparations.remove(self._prepare)
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
            for kind in _DESCRIPTIONS:
                for key in keys:
                    name = kind.format(key)
                    self._node.declare_parameter(
                        name, values[name], _descriptor(kind), ignore_override=True
                    )
                    declared.append(name)
        except Exception:
            self._undeclare(declared)
            raise

    def _undeclare(self, names: Iterable[str]) -> None:
        for name in names:
            self._node.undeclare_parameter(name)

    def _in_own_type(self, parameter: Parameter) -> Parameter:
        """Return a gain as a double, other parameters as they are; raises InvalidValueError."""
        if parameter.name not in self._values or parameter.name.startswith('control.'):
            return parameter
        gain = gain_of(parameter.name, parameter.value)
        return Parameter(parameter.name, Parameter.Type.DOUBLE, gain)

    def _prepare(self, parameters: list[Parameter]) -> Callable[[], None]:
        """Return a function that applies the parameters; raises InvalidValueError."""
        values = self._checked({p.name: p.value for p in parameters if p.name in self._values})
        return partial(self._obey, values)

    def _checked(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return all values after some changes; raises InvalidValueError."""
        values = {**self._values, **changes}
        for key in self._axes:
            names = [kind.format(key) for kind in (_CONTROL, _P, _D)]
            control = control_of(names[0], values[names[0]])
            p, d = (gain_of(name, values[name]) for name in names[1:])
            values |= dict(zip(names, (control, p, d), strict=True))
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
                commands.queue.set_control(axis, control, p, d)
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


def _descriptor(kind: str) -> ParameterDescriptor:
    """Return the descriptor of a key in _DESCRIPTIONS."""
    # `_checked` refuses other types with a better message than rclpy
    descriptor = ParameterDescriptor(description=_DESCRIPTIONS[kind], dynamic_typing=True)
    if kind == _CONTROL:
        descriptor.additional_constraints = f'expected {CONTROL_WORDS}'
    else:
        descriptor.additional_constraints = f'expected {GAIN_WORDS}'
        descriptor.floating_point_range = [float_range(0.0)]
    return descriptor
