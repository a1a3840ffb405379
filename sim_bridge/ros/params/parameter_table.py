"""
Node parameters from one validated source.

The source is a frozen dataclass; its fields define the parameters. A field made by `parameter`
carries default, description, unit and accepted values. The ROS declaration with its descriptor,
the check of each value at start or run time, and the commented YAML file are derived from it.
Integers are accepted for floats (`rate: 1000`), although ROS itself refuses them.

All verbs check their values by `from_flat` or `refused_values`, so they accept the same values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
import dataclasses
import functools
import math
import textwrap
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.parameter import Parameter

from sim_bridge.description.yaml.section import number_in
from sim_bridge.foundation.errors import (
    brief,
    close_match,
    InvalidValueError,
    SimBridgeError,
    UnknownNameError,
)
from sim_bridge.ros.params.parameter_names import is_foreign
from sim_bridge.ros.params.parameter_text import flattened

Table = TypeVar('Table')

# ROS has no open intervals and no unbounded ranges
_LARGEST_INT, _LARGEST_FLOAT = 2**63 - 1, 1.7976931348623157e308

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
_ROS_TYPES = {
    'bool': Parameter.Type.BOOL,
    'int': Parameter.Type.INTEGER,
    'float': Parameter.Type.DOUBLE,
    'str': Parameter.Type.STRING,
    'tuple[float, ...]': Parameter.Type.DOUBLE_ARRAY,
    'tuple[str, ...]': Parameter.Type.STRING_ARRAY,
}
# rcl reads these letters as switches; the reader of this package as texts
_SWITCHES = {'y': True, 'Y': True, 'n': False, 'N': False}


@dataclasses.dataclass(frozen=True)
class Specification:
    """
    Meaning and accepted values for one parameter.

    kind: a key of _KINDS. low, high: inclusive bounds for a number, or for each number in a list;
    with `above`, low itself is excluded. least: smallest accepted number other than 0. sizes:
    accepted list lengths, () for any. choices: accepted texts, () for any. validate: further
    check, called with the parameter's name and value; raises SimBridgeError.
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
    validate: Callable[[str, Any], None] | None = None

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
        if self.low is not None and self.kind in ('int', 'float'):
            if self.kind == 'int':
                high = _LARGEST_INT if self.high is None else int(self.high)
                descriptor.integer_range = [IntegerRange(from_value=int(self.low), to_value=high)]
            else:
                descriptor.floating_point_range = [float_range(self.low, self.high)]
        return descriptor

    def check(self, value: Any, block: str = '') -> Any:
        """
        Return the value in this parameter's type.

        Raises InvalidValueError, or another SimBridgeError from `validate`, for other values.
        block: name prefix in messages.
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
            is_yaml = self.kind == 'str' and isinstance(value, Mapping)
            hint = '; write YAML in quotes, to be read as a text' if is_yaml else ''
            place = f'parameter {block + self.name!r}'
            raise InvalidValueError(place, value, self.accepted + hint)
        if self.validate is not None:
            self.validate(block + self.name, converted)
        return converted

    def _is_within(self, number: float) -> bool:
        low = -math.inf if self.low is None else self.low
        is_above = number > low if self.above else number >= low
        is_large_enough = not self.least or number == 0.0 or number >= self.least
        return is_above and is_large_enough and (self.high is None or number <= self.high)

    def _convert(self, value: Any) -> Any:
        """Return the value in the parameter's type; None if the conversion would lose anything."""
        if self.kind in _TYPES:
            return _exact(value, _TYPES[self.kind])
        if self.kind == 'float':
            return _finite(value)
        if self.kind == BLOCK:
            return dict(value) if isinstance(value, Mapping) else None
        if value is None:  # a key without a value
            return ()
        if isinstance(value, (str, bytes, Mapping, Set)):
            return None
        try:
            value = tuple(value)
        except TypeError:
            return None
        if self.kind == 'tuple[str, ...]':
            # [''] stands for no text at all: ROS cannot infer the type of an empty list
            return (
                tuple(v for v in value if v != '')
                if all(isinstance(v, str) for v in value)
                else None
            )
        numbers = tuple(_finite(v) for v in value)
        return None if None in numbers else numbers

    def to_ros(self, value: Any) -> Any:
        """Return the value in a type interpreted correctly by rclpy."""
        if self.kind == 'tuple[str, ...]':
            return list(value) or ['']
        if self.kind == 'tuple[float, ...]':
            return list(value)
        return value

    @property
    def ros_type(self) -> Parameter.Type:
        """Type of the ROS parameter; blocks have none."""
        return _ROS_TYPES[self.kind]

    def ros_parameter(self, value: Any) -> Parameter:
        """Return a ROS parameter of this parameter's type; value: as returned by `check`."""
        return Parameter(self.name, self.ros_type, self.to_ros(value))


def float_range(low: float, high: float | None = None) -> FloatingPointRange:
    """Return the range of a descriptor for floats; high: None for no bound."""
    most = _LARGEST_FLOAT if high is None else float(high)
    return FloatingPointRange(from_value=float(low), to_value=most)


def _exact(value: Any, kind: type) -> Any:
    """Return a value of exactly this type; None for others. Integers have 64 bits, as in ROS."""
    if kind is bool:
        return _SWITCHES.get(value) if isinstance(value, str) else _only(value, bool)
    if isinstance(value, bool):
        return None
    if isinstance(value, int) and not -_LARGEST_INT - 1 <= value <= _LARGEST_INT:
        return None
    return _only(value, kind)


def _only(value: Any, kind: type) -> Any:
    return value if isinstance(value, kind) else None


def _finite(value: Any) -> float | None:
    """Return a finite number, also from a text such as 1e3, which YAML does not read as one."""
    number = number_in(value)
    return number if number is not None and math.isfinite(number) else None


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


def from_flat(table: type[Table], given: Mapping[str, Any], warn: Callable[[str], None]) -> Table:
    """
    Return a table from a node's parameters, with block members named 'block.name'.

    warn: called with a text for each unknown name. Raises InvalidValueError, or another
    SimBridgeError for a block's content.
    """

    def refuse(name: str, error: SimBridgeError) -> None:
        raise error

    return table(**_checked_values(table, given, refuse, warn))


def refused_values(table: type, given: Mapping[str, Any]) -> list[tuple[str, SimBridgeError]]:
    """
    Return the parameters refused by `from_flat`, with its errors.

    The parameters may be a part of a node's; constraints between several parameters are not
    checked.
    """
    found: list[tuple[str, SimBridgeError]] = []
    _checked_values(
        table, given, lambda name, error: found.append((name, error)), lambda text: None
    )
    return found


def block_members(table: type, given: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the given members of each parameter, by dotted name; only blocks may have some."""
    members: dict[str, dict[str, Any]] = {name: {} for name in specifications(table)}
    for name, value in flattened(given):
        block, dot, _ = name.partition('.')
        if dot and block in members:
            members[block][name] = value
    return members


def _checked_values(
    table: type,
    given: Mapping[str, Any],
    refuse: Callable[[str, SimBridgeError], None],
    warn: Callable[[str], None],
) -> dict[str, Any]:
    """Return the accepted values by parameter, in the table's order, blocks nested."""
    known, members = specifications(table), block_members(table, given)
    flat = dict(flattened(given))
    for name in flat:
        if name.partition('.')[0] not in known and not is_foreign(name):
            close = close_match(name, known)
            hint = f' Did you mean {close!r}?' if close else ''
            warn(f'unknown parameter {brief(name)} is ignored.{hint}')
    values: dict[str, Any] = {}
    for name, spec in known.items():
        own = members[name]
        # beside members, a value of a block is wrong; of another parameter, the members are
        is_value = name in flat and (not own or spec.kind == BLOCK and flat[name] != {})
        if is_value or own:
            try:
                values[name] = spec.check(flat[name] if is_value else _nested(own, name))
            except SimBridgeError as err:
                refuse(name if is_value else next(iter(own)), err)
    return values


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
        if value == {} and isinstance(branch.setdefault(leaf, {}), dict):
            continue
        if leaf in branch:
            place = f'parameter {name!r}'
            raise InvalidValueError(place, value, 'a block, as other members need', block)
        branch[leaf] = value
    return tree


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
