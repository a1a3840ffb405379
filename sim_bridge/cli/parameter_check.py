"""Parameter file check: node patterns, unknown names, rejected values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import importlib.util
from typing import Any

from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.resources import find_robot
from sim_bridge.foundation.errors import brief, plain, SimBridgeError
from sim_bridge.ros.params.parameter_files import is_foreign, names_of_nodes, parameter_blocks

_ANY_NODE = ('*', '**')


def parameter_data(content: Mapping[str, Any], findings: Findings) -> list[dict[str, Any]]:
    """
    Return the parameters given to each node pattern, one mapping per block.

    content: mapping with the line numbers of its keys. Unknown names and wrong values are noted as
    findings.
    """
    tables = _tables()
    if tables is None:
        findings.warning(
            'values-unchecked', Place('file'), 'values are not checked, which needs rclpy'
        )
    blocks = []
    for pattern, block, line in parameter_blocks(content):
        place = Place('node', pattern, line)
        node = pattern.rsplit('/', 1)[-1]
        takers = (
            [*names_of_nodes()]
            if node in _ANY_NODE
            else [each for each in names_of_nodes() if each == node]
        )
        if not isinstance(block, Mapping):
            findings.error('not-yaml', place, 'must hold names and values', 'ros__parameters')
            continue
        values = {}
        for name, value, at in _flat(block, ''):
            here = Place('parameter', name, at)
            values[name] = brief(value) if isinstance(value, Mapping) else value
            if takers and not is_foreign(name):
                _check(name, value, takers, tables, here, findings)
        blocks.append({'pattern': pattern, 'taken_by': takers, 'parameters': values, 'line': line})
    return blocks


def _tables() -> Mapping[str, type] | None:
    """Return the parameter tables by node; None without ROS, because the tables need it."""
    if importlib.util.find_spec('rclpy') is None:
        return None
    from sim_bridge.control.parameter_file import TABLES

    return TABLES


def _check(
    name: str,
    value: object,
    takers: list[str],
    tables: Mapping[str, type] | None,
    place: Place,
    findings: Findings,
) -> None:
    block = name.split('.')[0]
    known = {each: names_of_nodes()[each] for each in takers}
    owners = [node for node, names in known.items() if name in names or names.get(block)]
    if not owners:
        names = [each for names in known.values() for each in names]
        message = unknown('parameter', name, names)
        findings.warning('unknown-parameter', place, f'{message}; ignored', '', plain(value))
        return
    try:
        if name == 'robot' and value:
            find_robot(str(value))
        if tables is not None:
            from sim_bridge.ros.params.parameter_table import specifications

            for node in owners:
                specification = specifications(tables[node]).get(name)
                if specification is not None:
                    specification.check(value)
    except SimBridgeError as err:
        findings.error('bad-value', place, str(err), '', plain(value))


def _flat(block: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any, int]]:
    """Yield each parameter in a block: its name joined by dots, its value and its line."""
    lines = getattr(block, 'lines', {})
    for name, value in block.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f'{prefix}{name}.')
        else:
            yield f'{prefix}{name}', value, lines.get(name, 0)
