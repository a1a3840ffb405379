"""
A node's command line: parameters, read by this package, and the words left to rclpy.

rcl refuses lists of integers and floats. It also prefers a file's block for one node to
`-p`, if a block for all nodes comes before. Therefore rcl gets no parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
import re
from typing import Any

from sim_bridge.description.yaml.parameter_values import read_text
from sim_bridge.foreign.yaml_text import YamlTextError
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.parameter_files import parameters_in
from sim_bridge.ros.params.parameter_text import flattened

_ROS_ARGS, _END_OF_ROS_ARGS = '--ros-args', '--'
_PARAMETER, _FILE, _REMAP = ('-p', '--param'), ('--params-file',), ('-r', '--remap')


@dataclass(frozen=True)
class NodeArguments:
    """
    A node's command line.

    words: without parameters, for rclpy. given: parameter values by dotted name; later arguments
    override earlier ones.
    """

    words: tuple[str, ...]
    given: Mapping[str, Any]


def read_arguments(args: Sequence[str], program: str) -> NodeArguments:
    """
    Read the command line of a process with one node.

    program: the node's name before remapping, as in config/sim_bridge.yaml. As in rcl, parameters
    addressed to another node (NODE:NAME:=VALUE) have no effect. Raises InvalidValueError for an
    invalid parameter file and an invalid parameter.
    """
    pairs = list(_pairs(args))
    node = _full_name([word for flag, word in pairs if flag in _REMAP], program)
    given: dict[str, Any] = {}
    for flag, word in pairs:
        if flag in _FILE:
            given.update(parameters_in(word, node, program))
        elif flag in _PARAMETER:
            meant, values = _read(word)
            if meant.rpartition('/')[2] in ('', program, node.rpartition('/')[2]):
                given.update(values)
    return NodeArguments(tuple(words_without_parameters(args)), given)


def words_without_parameters(args: Sequence[str]) -> list[str]:
    """Return a command line without the parameters and parameter files of its ROS arguments."""
    dropped = {index for index in _ros_flags(args) if args[index] in (*_PARAMETER, *_FILE)}
    return [
        word
        for index, word in enumerate(args)
        if index not in dropped and index - 1 not in dropped
    ]


def parameter_words(args: Sequence[str]) -> list[str]:
    """Return the words NODE:NAME:=VALUE or NAME:=VALUE in the ROS arguments of a command line."""
    return [word for flag, word in _pairs(args) if flag in _PARAMETER]


def parameter_in(word: str) -> dict[str, Any]:
    """
    Return the values in NAME:=VALUE, the value as in parameter files, by dotted name.

    A value with nested names sets several parameters. Raises InvalidValueError.
    """
    return _read(word)[1]


def node_of(word: str) -> str:
    """Return NODE in NODE:NAME:=VALUE, '' for none. Raises InvalidValueError."""
    return _read(word)[0]


def _read(word: str) -> tuple[str, dict[str, Any]]:
    """Return the node, '' for none, and the values by name."""
    path, separator, text = word.partition(':=')
    node, _, name = path.rpartition(':')
    try:
        if name and separator:
            return node, dict(flattened({name: read_text(text)}))
        problem = ''
    except YamlTextError as err:
        problem = f' ({err.problem})'
    raise InvalidValueError('parameter', word, f'NAME:=VALUE, the value as in YAML{problem}')


def _full_name(rules: Sequence[str], program: str) -> str:
    """
    Return a node's name and namespace after remapping, for example '/left/sim_bridge'.

    rules: remapping rules. As in rcl the first matching rule counts, and a rule for the namespace
    may begin with the new name.
    """
    name = _remapped(rules, 'node|name', program) or program
    space = _remapped(rules, 'ns', name)
    return '/'.join(('', *filter(None, space.split('/')), name))


def _remapped(rules: Sequence[str], kind: str, node: str) -> str:
    """Return the replacement of the first matching rule; '' without one."""
    for rule in rules:
        found = re.fullmatch(rf'(?:([^:]*):)?__(?:{kind}):=(.*)', rule)
        if found and found[1] in (None, node):
            return found[2]
    return ''


def _pairs(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each flag for parameters, files and remapping in ROS arguments, with its word."""
    for index in _ros_flags(args):
        yield args[index], args[index + 1]


def _ros_flags(args: Sequence[str]) -> Iterator[int]:
    """Yield the indices of these flags; a flag without a word is left to rclpy."""
    is_ros, index = False, 0
    while index < len(args):
        word = args[index]
        if word in (_ROS_ARGS, _END_OF_ROS_ARGS):
            is_ros = word == _ROS_ARGS
        elif is_ros and word in (*_PARAMETER, *_FILE, *_REMAP) and index + 1 < len(args):
            yield index
            index += 1
        index += 1
