"""Fixtures for tests with running nodes: nodes as processes, and a graph to watch them."""

from __future__ import annotations

import json

import pytest
from ros_graph import Graph, PATIENCE_S


@pytest.fixture
def graph(start_process):
    """Return the test's own ROS node, in the same ROS domain as its processes."""
    with Graph(start_process.started) as joined:
        yield joined


@pytest.fixture
def start_node(start_process):
    """
    Return a function that starts the node with parameters: `start_node(robot='arm', rate=500.0)`.

    Further arguments follow --ros-args. Lists and numbers are written as YAML.
    """

    def start(*arguments: str, **parameters: object):
        return start_process(
            '-m', 'sim_bridge', 'node', '--ros-args', *_given(parameters), *arguments
        )

    return start


_REFUSED = """
import json, sys
from sim_bridge.ros.node.main import main

for arguments in json.loads(sys.argv[1]):
    code = main(arguments)
    print(f'exit code {code}', '=' * 80, sep='\\n', flush=True)
"""


@pytest.fixture
def refusals(start_process):
    """
    Return a function that starts nodes in turn, checks that they refuse, and returns their output.

    Each case is a dictionary of parameters, or a tuple of arguments. All run in one process, since
    the start of an interpreter takes most of the time.
    """

    def refuse(*cases: dict[str, object] | tuple[str, ...]) -> list[str]:
        arguments = [
            ['--ros-args', *(_given(case) if isinstance(case, dict) else case)] for case in cases
        ]
        process = start_process('-c', _REFUSED, json.dumps(arguments))
        output, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, output
        assert 'Traceback' not in output
        *said, _ = output.split('=' * 80 + '\n')
        assert len(said) == len(cases), output
        for each in said:
            assert each.endswith('exit code 2\n'), each
        return said

    return refuse


def _given(parameters: dict[str, object]) -> list[str]:
    return [
        item for name, value in parameters.items() for item in ('-p', f'{name}:={_yaml(value)}')
    ]


def _yaml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
