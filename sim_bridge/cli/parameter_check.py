"""Parameter file check: node patterns, unknown names, rejected values."""

from __future__ import annotations

from collections.abc import Mapping
import importlib.util
from typing import Any, TYPE_CHECKING

from sim_bridge.description.report import Findings, Place, unknown
from sim_bridge.description.resources import find_robot
from sim_bridge.foundation.errors import plain, SimBridgeError
from sim_bridge.ros.params.parameter_names import is_foreign, names_of_nodes

if TYPE_CHECKING:
    from sim_bridge.description.yaml.parameter_blocks import ParameterBlock
    from sim_bridge.ros.params.parameter_files import ParameterFile


def parameter_data(file: ParameterFile, findings: Findings) -> list[dict[str, Any]]:
    """
    Return the parameters given to each node pattern, one mapping per block.

    Unknown names and wrong values are noted as findings.
    """
    tables = _tables()
    if tables is None:
        findings.warning(
            'values-unchecked', Place('file'), 'values are not checked, which needs rclpy'
        )
    for problem in file.problems:
        findings.error('not-yaml', Place('node', problem.key, problem.line), problem.message)
    blocks = []
    for block in file.blocks:
        takers = [*names_of_nodes()] if block.is_for_all else _takers(block)
        if takers:
            _check_names(block, takers, findings)
            _check_values(block, takers, tables, findings)
        blocks.append(
            {
                'pattern': block.pattern,
                'taken_by': takers,
                'parameters': dict(block.values),
                'line': block.line,
            }
        )
    # blocks may contradict each other
    for name, program in _nodes(file):
        _check_values(file.merged(name, program), [program], tables, findings)
    return blocks


def _nodes(file: ParameterFile) -> list[tuple[str, str]]:
    """Return the nodes of this package by full name and name: in the root, and as in patterns."""
    named = [(each.pattern, node) for each in file.blocks for node in _takers(each)]
    return [*((f'/{node}', node) for node in names_of_nodes()), *named]


def _takers(block: ParameterBlock) -> list[str]:
    """Return the node addressed by a block for one node, if it is in this package."""
    name = block.pattern.rpartition('/')[2]
    return [name] if name in names_of_nodes() else []


def _tables() -> Mapping[str, type] | None:
    """Return the parameter tables by node; None without ROS, because the tables need it."""
    if importlib.util.find_spec('rclpy') is None:
        return None
    from sim_bridge.control.parameter_file import TABLES

    return TABLES


def _check_names(block: ParameterBlock, takers: list[str], findings: Findings) -> None:
    """Note unknown names."""
    names = [each for node in takers for each in names_of_nodes()[node]]
    for name, value in block.values.items():
        if name.partition('.')[0] not in names and not is_foreign(name):
            message = unknown('parameter', name, names)
            place = Place('parameter', name, block.lines[name])
            findings.warning('unknown-parameter', place, f'{message}; ignored', '', plain(value))


def _check_values(
    block: ParameterBlock, takers: list[str], tables: Mapping[str, type] | None, findings: Findings
) -> None:
    """Note rejected values; repeated findings count once."""
    refused: list[tuple[str, SimBridgeError]] = []
    if 'sim_bridge' in takers and block.values.get('robot'):
        try:
            find_robot(plain(block.values['robot']))
        except SimBridgeError as err:
            refused.append(('robot', err))
    if tables is not None:
        # imported here, since the tables need ROS
        from sim_bridge.ros.params.parameter_table import refused_values

        for node in takers:
            refused += refused_values(tables[node], block.values)
    for name, error in refused:
        place = Place('parameter', name, block.lines[name])
        findings.error('bad-value', place, str(error), '', plain(block.values[name]))
