"""What the tests of running nodes share: nodes as processes, and a graph to watch them from."""

from __future__ import annotations

import json

import pytest
from ros_graph import Graph, PATIENCE_S


@pytest.fixture
def graph(start_process):
    """Provide a node of the test's own, in the same ROS domain as the processes it starts."""
    with Graph(start_process.started) as joined:
        yield joined


@pytest.fixture
def start_node(start_process):
    """
    Return a function that starts the node with parameters: `start_node(robot='arm', rate=500.0)`.

    Further arguments follow --ros-args. Lists and numbers are written as YAML reads them.
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
    Return a function that starts nodes in turn, which must refuse, and returns their output.

    Each is given as its parameters, or as further arguments. All run in one process, since most of
    a refusal is the start of an interpreter.
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
