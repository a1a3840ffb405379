"""
Node parameters from one validated source.

The source is a frozen dataclass; its fields define the parameters. A field made by `parameter`
carries default, description, unit and accepted values. The ROS declaration with its descriptor,
the check of each value at start or run time, and the commented YAML file are derived from it.
Integers are accepted for floats (`rate: 1000`), although ROS itself refuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
import dataclasses
import functools
import math
import textwrap
from typing import Any, TYPE_CHECKING, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.parameter import Parameter

from sim_bridge.foundation.errors import (
    brief,
    close_match,
    InvalidValueError,
    SimBridgeError,
    UnknownNameError,
)
from sim_bridge.ros.params.parameter_files import is_foreign, names_of_all_nodes
from sim_bridge.ros.process.rclpy_compat import given_parameters

if TYPE_CHECKING:
    from rclpy.node import Node

Table = TypeVar('Table')

# ROS has no open intervals and no unbounded ranges
_LARGEST = {'int': 2**63 - 1, 'float': 1.7976931348623157e308}

_wrap = functools.partial(
    textwrap.wrap,
    width=99,
    initial_indent='    # ',
    subsequent_indent='    # ',
    break_on_hyphens=False,
)

BLOCK = 'dict[str, Any]'
"""Kind of a parameter block, which contains further parameters."""

_KINDS = {
    'bool': 'true or false',
    'int': 'a whole number',
    'float': 'a finite number',
    'str': 'a text',
    'tuple[float, ...]': 'a list of finite numbers',
    'tuple[str, ...]': 'a list of texts',
    BLOCK: 'a block of named values',
}
_TYPES = {'bool': bool, 'int': int, 'str': str}


@dataclasses.dataclass(frozen=True)
class Specification:
    """
    Meaning and accepted values for one parameter.

    kind: a key of _KINDS. low, high: inclusive bounds for a number, or for each number in a list;
    with `above`, low itself is excluded. least: smallest accepted number other than 0. sizes:
    accepted list lengths, () for any. choices: accepted texts, () for any.
    """

    name: str
    kind: str
    default: Any
    description: str
    unit: str = ''
    low: float | None = None
    high: float | None = None
    above: bool = False
    least: float = 0.0
    sizes: tuple[int, ...] = ()
    choices: tuple[str, ...] = ()
    read_only: bool = True

    @property
    def accepted(self) -> str:
        """Return a text about the accepted values, for example 'a finite number, at least 0'."""
        words = _KINDS[self.kind]
        if self.sizes:
            words = words.replace('list of', f'list of {" or ".join(map(str, self.sizes))}')
        if self.choices:
            words = f'one of {", ".join(map(repr, self.choices))}'
        if self.least:
            words += f', 0 or at least {self.least:g}'
        elif self.low is not None:
            words += f', above {self.low}' if self.above else f', at least {self.low}'
        if self.high is not None:
            words += f' and at most {self.high}'
        return f'{words} [{self.unit}]' if self.unit else words

    @property
    def descriptor(self) -> ParameterDescriptor:
        """Return this parameter's ROS descriptor."""
        descriptor = ParameterDescriptor(
            name=self.name,
            description=self.description + (f' [{self.unit}]' if self.unit else ''),
            additional_constraints=f'expected {self.accepted}',
            read_only=self.read_only,
        )
        if self.low is not None and self.kind in _LARGEST:
            high = _LARGEST[self.kind] if self.high is None else self.high
            if self.kind == 'int':
                descriptor.integer_range = [
                    IntegerRange(from_value=int(self.low), to_value=int(high))
                ]
            else:
                bounds = FloatingPointRange(from_value=float(self.low), to_value=float(high))
                descriptor.floating_point_range = [bounds]
        return descriptor

    def check(self, value: Any, block: str = '') -> Any:
        """
        Return the value in this parameter's type.

        Raises InvalidValueError for other values. block: name prefix in messages.
        """
        converted = self._convert(value)
        numbers = converted if isinstance(converted, tuple) else (converted,)
        is_accepted = (
            converted is not None
            and (not self.sizes or len(converted) in self.sizes)
            and (not self.choices or converted in self.choices)
            and (self.low is None or all(map(self._is_within, numbers)))
        )
        if not is_accepted:
            raise InvalidValueError(f'parameter {block + self.name!r}', value, self.accepted)
        return converted

    def _is_within(self, number: float) -> bool:
        low = -math.inf if self.low is None else self.low
        is_above = number > low if self.above else number >= low
        is_large_enough = number == 0.0 or number >= self.least
        return is_above and is_large_enough and (self.high is None or number <= self.high)

    def _convert(self, value: Any) -> Any:
        """Return the value in the parameter's type; None if the conversion would lose anything."""
        if self.kind in _TYPES:
            is_bool, accepted = isinstance(value, bool), _TYPES[self.kind]
            return value if isinstance(value, accepted) and is_bool is (accepted is bool) else None
        if self.kind == 'float':
            return _finite(value)
        if self.kind == BLOCK:
            return dict(value) if isinstance(value, Mapping) else None
        if value is None:  # ROS's value for an empty list in a YAML file
            return ()
        if isinstance(value, (str, bytes, Mapping)):
            return None
        try:
            values = tuple(value)
        except TypeError:
            return None
        if self.kind == 'tuple[str, ...]':
            # [''] stands for no text at all: ROS cannot infer the type of an empty list
            return (
                tuple(v for v in values if v != '')
                if all(isinstance(v, str) for v in values)
                else None
            )
        numbers = tuple(_finite(v) for v in values)
        return None if None in numbers else numbers

    def to_ros(self, value: Any) -> Any:
        """Return the value in a type interpreted correctly by rclpy."""
        if self.kind == 'tuple[str, ...]':
            return list(value) or ['']
        if self.kind == 'tuple[float, ...]':
            return list(value)
        return value


def _finite(value: Any) -> float | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None


def parameter(default: Any, description: str, **details: Any) -> Any:
    """
    Return a dataclass field for a node parameter.

    details: further fields of `Specification`. Parameters are read-only unless `read_only=False`.
    """
    metadata = {'description': description, **details}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=dict, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def specifications(table: type) -> dict[str, Specification]:
    """Return a table's parameters by name, in their order."""
    return {
        field.name: Specification(
            name=field.name,
            kind=str(field.type),
            default={} if field.default is dataclasses.MISSING else field.default,
            **field.metadata,
        )
        for field in dataclasses.fields(table)
    }


def checked(table: type[Table], values: Mapping[str, Any], block: str = '') -> Table:
    """
    Return a table with the given values by name, and defaults for all others.

    block: name prefix in messages, with a trailing dot, if the table is a parameter block.

    Raises InvalidValueError for a value outside the accepted ones, UnknownNameError for a name not
    in the table.
    """
    known = specifications(table)
    for name in values:
        if name not in known:
            raise UnknownNameError('parameter', block + name, [f'{block}{each}' for each in known])
    return table(**{name: known[name].check(value, block) for name, value in values.items()})


def declare(
    node: Node, table: type[Table], on_change: Callable[[Table], None] | None = None
) -> Table:
    """
    Declare all parameters of the table on the node; return the values at its start.

    Block members settable at run time are declared elsewhere, by the code that knows
    their names.

    Each undeclared name passed to the node causes one warning. When parameters are set later,
    `on_change` gets the new table; it may refuse it by raising SimBridgeError. Raises
    InvalidValueError.
    """
    known = specifications(table)
    given = {
        name: parameter.value
        for name, parameter in given_parameters(node).items()
        if not is_foreign(name)
    }
    values, blocks = _sorted_out(table, given, node.get_logger().warning)

    for name, spec in known.items():
        if name in blocks and not spec.read_only:
            continue
        if name in blocks:
            for member, value in blocks[name].items():
                descriptor = ParameterDescriptor(
                    description=spec.description, read_only=True, dynamic_typing=True
                )
                node.declare_parameter(member, value, descriptor, ignore_override=True)
        else:
            value, descriptor = spec.to_ros(getattr(values, name)), spec.descriptor
            # rclpy takes an empty list for a byte list. For parameters settable at run time,
            # it would refuse other types itself, with neither parameter nor value in the message.
            descriptor.dynamic_typing = value == [] or not spec.read_only
            node.declare_parameter(name, value, descriptor, ignore_override=True)
    _Watcher(node, values, known, on_change)
    return values


def from_flat(table: type[Table], given: Mapping[str, Any], warn: Callable[[str], None]) -> Table:
    """
    Return a table from a node's parameters, with block members named 'block.name'.

    warn: called with a text for each unknown name. Raises InvalidValueError.
    """
    return _sorted_out(table, given, warn)[0]


def _sorted_out(
    table: type[Table], given: Mapping[str, Any], warn: Callable[[str], None]
) -> tuple[Table, dict[str, dict[str, Any]]]:
    """Return the table, and the given block members by block."""
    known = specifications(table)
    blocks: dict[str, dict[str, Any]] = {
        name: {} for name, spec in known.items() if spec.kind == BLOCK
    }
    own = {}
    for name, value in given.items():
        block = name.split('.')[0]
        if block in blocks and name != block:
            blocks[block][name] = value
        elif name in known:
            own[name] = value
        elif name.split('.')[0] not in names_of_all_nodes():
            # a block under /** addresses all nodes, and may hold parameters for other nodes
            close = close_match(name, known)
            hint = f' Did you mean {close!r}?' if close else ''
            warn(f'unknown parameter {brief(name)} is ignored.{hint}')
    nested = {block: _nested(members, block) for block, members in blocks.items()}
    return checked(table, {**own, **nested}), blocks


def _nested(values: Mapping[str, Any], block: str) -> dict[str, Any]:
    """Turn {'block.a.b': 1} into {'a': {'b': 1}}."""
    tree: dict[str, Any] = {}
    for name, value in values.items():
        *path, leaf = name.split('.')[1:]
        branch = tree
        for key in path:
            branch = branch.setdefault(key, {})
            if not isinstance(branch, dict):
                raise InvalidValueError(
                    f'parameter {name!r}', value, f'{key!r} to be a block', block
                )
        branch[leaf] = value
    return tree


class _Watcher:
    """Checks parameters set at run time, and passes them on."""

    def __init__(
        self,
        node: Node,
        values: Any,
        known: Mapping[str, Specification],
        on_change: Callable[[Any], None] | None,
    ) -> None:
        self._values, self._known, self._on_change = values, known, on_change
        if hasattr(node, 'add_pre_set_parameters_callback'):  # not in Humble
            node.add_pre_set_parameters_callback(self._accept_integers)
        node.add_on_set_parameters_callback(self._apply)

    def _accept_integers(self, parameters: list[Parameter]) -> list[Parameter]:
        return [
            Parameter(p.name, Parameter.Type.DOUBLE, float(p.value))
            if p.type_ == Parameter.Type.INTEGER
            and p.name in self._known
            and self._known[p.name].kind == 'float'
            else p
            for p in parameters
        ]

    def _apply(self, parameters: list[Parameter]) -> SetParametersResult:
        try:
            changed = {
                p.name: self._known[p.name].check(p.value)
                for p in parameters
                if p.name in self._known
            }
            values = dataclasses.replace(self._values, **changed)
            if changed and self._on_change is not None:
                self._on_change(values)
        except SimBridgeError as err:
            return SetParametersResult(successful=False, reason=str(err))
        self._values = values
        return SetParametersResult(successful=True)


def to_yaml(tables: Mapping[str, type]) -> str:
    """
    Return the commented parameter file for several nodes, all values at their defaults.

    tables: by node name. The file applies in any namespace.
    """
    return (
        '\n'.join(line for node, table in tables.items() for line in _yaml_lines(node, table))
        + '\n'
    )


def _yaml_lines(node: str, table: type) -> Iterator[str]:
    yield f'/**/{node}:'
    yield '  ros__parameters:'
    for name, spec in specifications(table).items():
        yield from _wrap(spec.description)
        changeable = '' if spec.read_only else '; may be set at run time'
        yield from _wrap(f'({spec.accepted}{changeable})')
        yield f'    # {name}:' if spec.kind == BLOCK else f'    {name}: {_yaml_value(spec)}'


def _yaml_value(spec: Specification) -> str:
    value = spec.to_ros(spec.default)
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)
