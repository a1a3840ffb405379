"""What the tests of running nodes share: nodes as processes, and a graph to watch them from."""

from __future__ import annotations

import pytest
from ros_graph import Graph


@pytest.fixture
def graph(start_process):
    """Give a node of the test's own, in the same ROS domain as the processes it starts."""
    with Graph(start_process.started) as joined:
        yield joined


@pytest.fixture
def start_node(start_process):
    """
    Give a function that starts the node with parameters: `start_node(robot='arm', rate=500.0)`.

    Further arguments follow --ros-args. Lists and numbers are written as YAML reads them.
    """

    def start(*arguments: str, **parameters: object):
        given = [
            item
            for name, value in parameters.items()
            for item in ('-p', f'{name}:={_yaml(value)}')
        ]
        return start_process('-m', 'sim_bridge', 'node', '--ros-args', *given, *arguments)

    return start


def _yaml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
