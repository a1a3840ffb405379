"""Parameter files for all nodes, read by the code of all verbs; the verbs must agree."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
import re
from typing import Any

import rclpy
from shipped import FOLDER
import yaml

from fuzzing.damage import damaged_data, damaged_lines, HUGE_INTEGER
from sim_bridge.cli.parameter_check import parameter_data
from sim_bridge.control.parameter_file import TABLES
from sim_bridge.description.report import Findings
from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.params.declaration import declare
from sim_bridge.ros.params.node_arguments import read_arguments
from sim_bridge.ros.params.parameter_files import parameters_in, read_parameter_file
from sim_bridge.ros.params.parameter_table import from_flat, specifications
from sim_bridge.ros.process.guarded_node import GuardedNode
from sim_bridge.sweep.plan import Plan
from sim_bridge.sweep.run_parameters import simulator_parameters

_CONFIG = FOLDER.parent / 'config'
_MEMBERS = {
    'sensors': {
        'wrist': {'type': 'force_torque', 'joint': 'elbow', 'noise': {'force': {'stddev': 0.1}}},
        'imu': {'type': 'imu', 'link': 'lower_rod', 'position': [0, 0, -0.5], 'update_rate': 100},
    },
    'control': {'elbow': 'servo', 'left': {'elbow': 'velocity'}},
    'gains': {'elbow': {'p': 20, 'd': 1.0}},
    'trajectory_controllers': {'arm': {'joints': ['elbow'], 'constraints': {'goal_time': 1}}},
    'drives': {'base': {'type': 'differential', 'left_wheel_names': ['a'], 'wheel_radius': 0.1}},
}
_PATTERNS = ('/**', '/*', '/**/sim_bridge', 'sim_bridge', '/sim_bridge', '/a/sim_bridge', 'left')
# values written like in other nodes' files
_WORDS = (
    *('1e3', '1_000', '0x1F', '010', 'y', 'no', '~', '1:30', '2020-01-01', '[0, 0, 0.5]'),
    *('!!str 5', '{a: 1}', '"5"', "['']", '&a [1]', '*a', '<<', '|', 'nan', '[x, y, 1]', ''),
)
# a file may need other parameters from elsewhere; `check` sees the file alone
_OF_SEVERAL = 'expected none without a `world`'
# a sweep sets these itself: the first ones before the check, the others after it
_UNSEEN_BY_SWEEPS = ('world', 'robot', 'seed')
_OF_SWEEPS = (*_UNSEEN_BY_SWEEPS, 'lockstep', 'record')


def make(rng: Random) -> bytes:
    """Return a parameter file: shipped ones, and blocks for several nodes, damaged."""
    content = deepcopy(rng.choice((_shipped, _made))(rng))
    if rng.randrange(8) == 0:
        content = damaged_data(rng, content)
    elif rng.randrange(3):
        _damage_values(rng, content)
    text = yaml.dump(content, sort_keys=False)
    if rng.randrange(2):
        text = _with_word(rng, text)
    data = text.encode().replace(HUGE_INTEGER.encode(), b'9' * 5000)
    return damaged_lines(rng, data) if rng.randrange(8) == 0 else data


def _damage_values(rng: Random, content: Any) -> None:
    """Damage the parameters of a block."""
    block = content[rng.choice(list(content))]
    block = block.get('sim_bridge', block)
    block['ros__parameters'] = damaged_data(rng, block['ros__parameters'])


def _with_word(rng: Random, text: str) -> str:
    """Return YAML with a value in a form that only parameter files have."""
    lines = text.splitlines()
    leaves = [k for k, line in enumerate(lines) if re.fullmatch(r'\s+\w+: [^\[{|>&*].*', line)]
    if leaves:
        at = rng.choice(leaves)
        lines[at] = lines[at].partition(':')[0] + f': {rng.choice(_WORDS)}'
    return '\n'.join(lines)


def run(case: bytes, folder: Path) -> None:
    """Read the file by all verbs; raises their common error."""
    path = folder / 'given.params.yaml'
    path.write_bytes(case)
    refused = {node: _refusals(path, node) for node in TABLES}
    findings = Findings()
    file = read_parameter_file(path)
    parameter_data(file, findings)
    found = [each.message for each in findings.report('').errors]
    for node, errors in refused.items():
        words = {None if error is None else str(error) for error in errors}
        assert len(words) == 1, f'{node}: {words}'
        (said,) = words
        if said is not None and _OF_SEVERAL not in said and file.has_blocks:
            assert any(_without_long(each) in _without_long(said) for each in found), (
                f'check does not find: {said}; {found}'
            )
    for errors in refused.values():
        if errors[0] is not None:
            raise errors[0]


def _without_long(text: str) -> str:
    """Return a message without its long values, each shortened to the room left in its message."""
    return re.sub(r"'[^']{100,} … [^']{100,}'", "'…'", text)


def _refusals(path: Path, node: str) -> list[SimBridgeError | None]:
    """Return the errors of the readers; compare accepted tables."""
    tables: list[Any] = []
    errors: list[SimBridgeError | None] = []
    readers = [_without_node, _with_node]
    if node == 'sim_bridge' and _may_be_swept(path):
        readers.append(_in_a_sweep)
    for read in readers:
        try:
            tables.append(read(path, node))
            errors.append(None)
        except SimBridgeError as err:
            errors.append(err)
    assert all(each == tables[0] for each in tables), f'{node}: {tables}'
    return errors


def _without_node(path: Path, node: str) -> Any:
    return from_flat(TABLES[node], parameters_in(path, f'/{node}'), lambda text: None)


def _with_node(path: Path, node: str) -> Any:
    arguments = read_arguments(['--ros-args', '--params-file', str(path)], node)
    made = GuardedNode(node, context=_context(), given=arguments.given)
    try:
        table = declare(made, TABLES[node])
        for name in made.list_parameters([], 0).names:
            made.get_parameter(name).to_parameter_msg()
        return table
    finally:
        made.destroy_node()


def _in_a_sweep(path: Path, node: str) -> Any:
    plan = Plan('', '', 1.0, str(path), {}, {}, {}, {}, ())
    own = simulator_parameters(plan, path.parent)
    given = parameters_in(path, f'/{node}')
    return replace(own, **{name: _accepted(name, given) for name in _OF_SWEEPS})


def _may_be_swept(path: Path) -> bool:
    """Return whether a sweep sees the first error in a file, if there is any."""
    try:
        given = parameters_in(path, '/sim_bridge')
    except SimBridgeError:
        return True
    try:
        for name in _UNSEEN_BY_SWEEPS:
            _accepted(name, given)
    except SimBridgeError:
        return False
    return True


def _accepted(name: str, given: Mapping[str, Any]) -> Any:
    specification = specifications(TABLES['sim_bridge'])[name]
    return specification.check(given.get(name, specification.default))


@cache
def _context() -> rclpy.Context:
    context = rclpy.Context()
    rclpy.init(context=context, args=['--ros-args', '--log-level', 'fatal'])
    atexit.register(context.try_shutdown)
    return context


@cache
def _files() -> tuple[Any, ...]:
    paths = [_CONFIG / 'sim_bridge.yaml', *sorted(FOLDER.glob('*.params.yaml'))]
    return tuple(yaml.safe_load(path.read_text()) for path in paths)


def _shipped(rng: Random) -> Any:
    return rng.choice(_files())


def _made(rng: Random) -> Any:
    """Return blocks with some parameters of the shipped file and block members."""
    content = {}
    for pattern in rng.sample(_PATTERNS, rng.randint(1, 3)):
        defaults = _files()[0][rng.choice(list(_files()[0]))]['ros__parameters']
        names = rng.sample(list(defaults), min(len(defaults), rng.randint(0, 6)))
        members = rng.sample(list(_MEMBERS), rng.randint(0, 3))
        values = {name: defaults[name] for name in names}
        values |= {name: _MEMBERS[name] for name in members}
        block = {'ros__parameters': values}
        content[pattern] = {'sim_bridge': block} if re.fullmatch(r'\w*t', pattern) else block
    return content
