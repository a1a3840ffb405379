"""Declaration of a table's parameters on a node, and their changes at run time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import dataclasses
from typing import Any, Protocol, TypeVar

from rcl_interfaces.msg import ParameterDescriptor
from rclpy.parameter import Parameter

from sim_bridge.description.yaml.parameter_values import read_text
from sim_bridge.foreign.yaml_text import YamlTextError
from sim_bridge.ros.params.parameter_table import (
    BLOCK,
    block_members,
    from_flat,
    Specification,
    specifications,
)
from sim_bridge.ros.params.parameter_text import as_ros


class ParameterNode(Protocol):
    """
    A node with parameters; see `GuardedMixin`.

    given: values by dotted name, from its command line. conversions: applied in turn to each
    parameter before it is set; each returns the parameter, perhaps in another type, or raises
    SimBridgeError. preparations: called in turn with all parameters of a request.
    """

    given: Mapping[str, Any]
    conversions: list[Callable[[Parameter], Parameter]]
    preparations: list[Callable[[list[Parameter]], Callable[[], None]]]

    def get_logger(self) -> Any:
        """Return the logger, as in `Node`."""

    def declare_parameter(self, name: str, *args: Any, **options: Any) -> Any:
        """Declare a parameter, as in `Node`."""

    def set_parameters(self, parameter_list: list[Parameter]) -> Any:
        """Set parameters, as in `Node`."""

    def set_descriptor(self, name: str, descriptor: ParameterDescriptor) -> Any:
        """Replace a parameter's descriptor, as in `Node`."""


Table = TypeVar('Table')


def declare(
    node: ParameterNode,
    table: type[Table],
    prepare: Callable[[Table], Callable[[], None]] | None = None,
) -> Table:
    """
    Declare all parameters of the table on the node; return the values at its start.

    Block members settable at run time are declared elsewhere, by the code that knows
    their names.

    Each undeclared name passed to the node causes one warning. When parameters are set later,
    `prepare` gets the new table and returns a function that applies it; it may refuse the table by
    raising SimBridgeError. Raises InvalidValueError, or another SimBridgeError for a block's
    content.
    """
    known = specifications(table)
    values = from_flat(table, node.given, node.get_logger().warning)
    members = block_members(table, node.given)
    for name, spec in known.items():
        if spec.kind != BLOCK:
            _declare(node, spec, spec.to_ros(getattr(values, name)))
        elif spec.read_only:
            for member, value in members[name].items():
                descriptor = ParameterDescriptor(
                    description=spec.description, read_only=True, dynamic_typing=True
                )
                node.declare_parameter(member, as_ros(value), descriptor, ignore_override=True)
    _Watcher(node, values, known, prepare)
    return values


def _declare(node: ParameterNode, spec: Specification, value: Any) -> None:
    """Declare a parameter with its type."""
    descriptor = spec.descriptor
    # For parameters settable at run time, rclpy would refuse other types itself, with neither
    # parameter nor value in the message.
    descriptor.dynamic_typing = not spec.read_only
    if value != []:
        node.declare_parameter(spec.name, value, descriptor, ignore_override=True)
        return
    # rclpy takes an empty list for a byte list
    untyped = ParameterDescriptor(dynamic_typing=True)
    node.declare_parameter(spec.name, value, untyped, ignore_override=True)
    parameter = spec.ros_parameter(value)
    node.set_parameters([parameter])
    descriptor.type = parameter.type_.value
    node.set_descriptor(spec.name, descriptor)


def _list_in(text: str) -> Any:
    """Return the list in a text; `ros2 param set` sends a list of mixed numbers as a text."""
    try:
        return read_text(text)
    except YamlTextError:
        return text


def _nothing() -> None:
    """Do nothing."""


def _nothing_more(table: Any) -> Callable[[], None]:
    """Return nothing to be done, for a table without a user."""
    return _nothing


class _Watcher:
    """Checks parameters set at run time, and passes them on."""

    def __init__(
        self,
        node: ParameterNode,
        values: Any,
        known: Mapping[str, Specification],
        prepare: Callable[[Any], Callable[[], None]] | None,
    ) -> None:
        self._values, self._known = values, known
        self._prepare_table = prepare or _nothing_more
        node.conversions.append(self._in_own_type)
        node.preparations.append(self._prepare)

    def _in_own_type(self, parameter: Parameter) -> Parameter:
        """
        Return a parameter in the type of its table, for example doubles instead of integers.

        Raises InvalidValueError, or another SimBridgeError.
        """
        spec = self._known.get(parameter.name)
        if spec is None or spec.kind == BLOCK:
            return parameter
        value = parameter.value
        if isinstance(value, str) and spec.kind.startswith('tuple'):
            value = _list_in(value)
        return spec.ros_parameter(spec.check(value))

    def _prepare(self, parameters: list[Parameter]) -> Callable[[], None]:
        """Return a function that stores and passes on the new table; raises SimBridgeError."""
        changed = {
            p.name: self._known[p.name].check(p.value) for p in parameters if p.name in self._known
        }
        values = dataclasses.replace(self._values, **changed)
        pass_on = self._prepare_table(values) if changed else _nothing

        def apply() -> None:
            self._values = values
            pass_on()

        return apply
