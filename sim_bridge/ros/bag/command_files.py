"""Commands from a table or a bag, for a run without a ROS graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
import csv
import io
import itertools
import math
import operator
from pathlib import Path

from sensor_msgs.msg import JointState

from sim_bridge.foreign.files import DATA_BYTES, read_file
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.foundation.names import counted
from sim_bridge.ros.bag.mcap_reader import simulated_time
from sim_bridge.ros.bag.reader import examine, read_messages
from sim_bridge.ros.wire.cdr import serialize_cleanly

_QUANTITIES = ('position', 'velocity', 'effort')

# time [ns], topic name, message
Command = tuple[int, str, bytes]


def check_commands(path: Path) -> str:
    """
    Check a command bag for damage, since a run would otherwise end in the middle.

    Returns a note about irregularities, or ''. Tables are checked by `read_commands` instead.
    Raises DamagedBagError or ReplayError.
    """
    if path.suffix == '.csv':
        return ''
    examined = examine(path)
    if examined.damage is not None:
        raise examined.damage
    return examined.note


def read_commands(
    path: Path, topics: Mapping[str, str], joints: Mapping[str, Sequence[str]]
) -> Iterator[Command]:
    """
    Return commands in time order.

    path: a table if its name ends in .csv, otherwise a bag. topics: command topic names by
    full name. joints: commandable joints by topic, for tables. Raises InvalidValueError,
    UnknownNameError or ReplayError.
    """
    if path.suffix == '.csv':
        return iter(_in_table(path, joints))
    return _in_bag(path, topics)


def _in_bag(path: Path, topics: Mapping[str, str]) -> Iterator[Command]:
    """Yield the commands in a bag; the bag's first message, whatever its type, is at time 0."""
    messages = read_messages(path)
    first = next(messages, None)
    if first is None:
        return
    # a run recorded by this package starts at 1 ns of simulated time, which counts as 0
    time_of = simulated_time(first)
    start = first.time_ns if time_of is None else 0
    time_of = time_of or operator.attrgetter('time_ns')
    for message in itertools.chain([first], messages):
        if message.topic in topics:
            yield time_of(message) - start, topics[message.topic], message.data


def _in_table(path: Path, joints: Mapping[str, Sequence[str]]) -> list[Command]:
    """
    Read a CSV file.

    The first column is `time` [s]. Each other column is named after a joint, with its robot's
    namespace if there is one, followed by a dot and position, velocity or effort:
    `left/elbow.velocity`. The default quantity is effort. An empty cell commands nothing.
    """
    place = f'table {str(path)!r}'
    try:
        rows = list(csv.reader(io.StringIO(read_file(path, DATA_BYTES).decode(), newline='')))
    except (OSError, UnicodeDecodeError, csv.Error) as err:
        raise InvalidValueError('commands', str(path), f'a CSV file ({err})') from err
    if not rows or rows[0][:1] != ['time'] or len(rows[0]) < 2:
        raise InvalidValueError(
            'first line', rows[0] if rows else '', "'time' and a column for each command", place
        )
    columns = [_column(name, joints, place) for name in rows[0][1:]]
    commands, latest = [], 0
    for number, row in enumerate(rows[1:], 2):
        values = [_number(cell, f'{place}, line {number}') for cell in row]
        if len(row) != len(rows[0]) or values[0] is None or round(values[0] * 1e9) < latest:
            raise InvalidValueError(
                f'line {number}',
                ','.join(row),
                f'{counted(len(rows[0]), "value")}, times in order and from 0 on',
                place,
            )
        latest = round(values[0] * 1e9)
        groups: dict[tuple[str, str], tuple[list[str], list[float]]] = {}
        for (topic, joint, quantity), value in zip(columns, values[1:], strict=True):
            if value is not None:
                names, numbers = groups.setdefault((topic, quantity), ([], []))
                names.append(joint)
                numbers.append(value)
        for (topic, quantity), (names, numbers) in groups.items():
            message = JointState(name=names, **{quantity: numbers})
            commands.append((latest, topic, serialize_cleanly(message)))
    return commands


def _column(name: str, joints: Mapping[str, Sequence[str]], place: str) -> tuple[str, str, str]:
    """Return a column's topic, joint and quantity."""
    namespace, _, rest = name.strip().rpartition('/')
    joint, _, quantity = rest.rpartition('.')
    if quantity not in _QUANTITIES:
        joint, quantity = rest, 'effort'
    topic = f'{namespace}/joint_commands' if namespace else 'joint_commands'
    place = f'{place}, column {name!r}'
    if topic not in joints:
        suffix = '/joint_commands'
        known = [each.removesuffix(suffix) for each in joints if each.endswith(suffix)]
        raise UnknownNameError('namespace', namespace, known, place)
    if joint not in joints[topic]:
        raise UnknownNameError('joint', joint, joints[topic], place)
    return topic, joint, quantity


def _number(cell: str, place: str) -> float | None:
    """Return the number in a cell; None for an empty cell."""
    if not cell.strip():
        return None
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidValueError('value', cell, 'a finite number, or nothing', place)
    return value
