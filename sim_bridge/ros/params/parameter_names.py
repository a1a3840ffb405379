"""Parameter names of this package's nodes, from the shipped parameter file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
import re

from sim_bridge.description import share_directory
from sim_bridge.foundation.errors import UnknownNameError

_FOREIGN = ('use_sim_time', 'start_type_description_service')
_FOREIGN_PREFIXES = ('qos_overrides.',)


@cache
def names_of_nodes() -> Mapping[str, Mapping[str, bool]]:
    """Return each node's parameter names, and whether each one is a parameter block."""
    text = (share_directory() / 'config' / 'sim_bridge.yaml').read_text(encoding='utf-8')
    names: dict[str, dict[str, bool]] = {}
    # blocks have no default and appear as comments
    for node, block, name in re.findall(
        r'^(?:/\*\*/(\w+)|    (# (?=\w+:$))?(\w+)):', text, re.MULTILINE
    ):
        if node:
            names[node] = {}
        else:
            names[[*names][-1]][name] = bool(block)
    return names


def is_foreign(name: str) -> bool:
    """Return whether rclpy itself declares a parameter, on any node or for a publisher."""
    return name in _FOREIGN or name.startswith(_FOREIGN_PREFIXES)


def belongs_to_others(name: str, node: str) -> bool:
    """
    Return whether a parameter, perhaps of a block, belongs only to other nodes of this package.

    False for a node of another package.
    """
    nodes, block = names_of_nodes(), name.partition('.')[0]
    return (
        node in nodes
        and block not in nodes[node]
        and any(block in names for names in nodes.values())
    )


def check_parameter_name(name: str, node: str) -> None:
    """
    Raise UnknownNameError for a parameter unknown to a node in this package.

    Use this for names typed for one node. Files may address several nodes and other versions.
    """
    known = names_of_nodes()[node]
    block = name.partition('.')[0]
    # a member of another parameter than a block is a wrong value
    if is_foreign(name) or block in known:
        return
    others = [each for each, names in names_of_nodes().items() if block in names]
    place = f'node {node!r}'
    if others:
        place += f'; it belongs to {" and ".join(others)}: set it there by a parameter file'
    raise UnknownNameError('parameter', name, known, place)
