"""A node whose services of simulation_interfaces can be called, installed or not."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
import subprocess
from typing import Any

import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_graph import nanoseconds
from sensor_msgs.msg import JointState
from simulation_messages import fill, make_interfaces, to_plain
from std_msgs.msg import String

from sim_bridge.ros.services.standard.interfaces import installed_interfaces, service_name

LATCHED = QoSProfile(
    depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL)

INSTALLED = installed_interfaces()
VERSIONS = ['1.5', '2.1', *(['installed'] if INSTALLED else [])]

# asks for a service with the fields of a request; gives the fields of the response
Call = Callable[..., dict[str, Any]]


class Simulation:
    """A node whose services of the standard can be called."""

    def __init__(
        self, graph, start_process, version: str, parameters: dict[str, object], output: Path
    ) -> None:
        """output: a file for what a node with stand-ins says."""
        self.graph, self.version = graph, version
        interfaces = INSTALLED if version == 'installed' else make_interfaces(version)
        self.is_2 = hasattr(interfaces.srv.SpawnEntity.Request(), 'entity_resource')
        given = ['--ros-args', *(
            item for name, value in parameters.items()
            for item in ('-p', f'{name}:={json.dumps(value)}'))]
        if version == 'installed':
            self.process = start_process('-m', 'sim_bridge', 'node', *given)
            return
        script = Path(__file__).with_name('standard_node.py')
        with output.open('w') as said:
            self.process = start_process(
                script, version, *given, stdin=subprocess.PIPE, stdout=said)
        self._output, self._answers = output, 0

    def __call__(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Call a service by its type's name."""
        if self.version == 'installed':
            service = getattr(INSTALLED.srv, kind)
            request = fill_real(service.Request(), fields)
            name = service_name(kind).replace('~', '/sim_bridge')
            return to_plain(self.graph.call(service, name, request))
        self.process.stdin.write(json.dumps([kind, fields]) + '\n')
        self.process.stdin.flush()
        self.graph.wait(lambda: len(self.answers()) > self._answers, f'an answer of {kind}')
        self._answers += 1
        return json.loads(self.answers()[-1])

    def answers(self) -> list[str]:
        """Return all answers so far; fail where the node has."""
        said = self._output.read_text()
        assert not self.process.poll(), said
        lines = said.split('\n')[:-1]
        return [line.removeprefix('answer ') for line in lines if line.startswith('answer ')]

    def close(self) -> None:
        """Ask for nothing more."""
        if self.process.stdin is not None:
            self.process.stdin.close()

    def spawn(self, resource: str, **fields: Any) -> dict[str, Any]:
        """Spawn by a name, file or text, as the version wants it said."""
        key = 'resource_string' if resource.startswith('<') else 'uri'
        text = {key: resource}
        return self('SpawnEntity', **fields, **({'entity_resource': text} if self.is_2 else text))


def fill_real(target: Any, values: dict[str, Any]) -> Any:
    """Write fields into a real message; of lists of messages the standard's filters have two."""
    for name, value in values.items():
        if name in ('categories', 'points', 'spawn_requests'):
            kinds = {'categories': 'EntityCategory', 'spawn_requests': 'SpawnEntity'}
            from geometry_msgs.msg import Vector3
            make = getattr(INSTALLED.msg, kinds[name]) if name in kinds else Vector3
            setattr(target, name, [fill_real(make(), one) for one in value])
        elif isinstance(value, dict):
            fill_real(getattr(target, name), value)
        else:
            fill(target, {name: value})
    return target


@pytest.fixture
def start(graph, start_process, tmp_path):
    """Provide a function that starts a node and returns its Simulation once it publishes."""
    started: list[Simulation] = []

    def begin(version: str = '2.1', **parameters: object) -> Simulation:
        parameters = {'robot': 'pendulum', 'diagnostics_rate': 0.0, **parameters}
        output = tmp_path / f'output_{len(started)}.txt'
        simulation = Simulation(graph, start_process, version, parameters, output)
        started.append(simulation)
        simulation.states = graph.listen(JointState, '/joint_states')
        simulation.events = graph.listen(String, '/sim_bridge/resets', LATCHED)
        if not parameters.get('paused'):
            graph.wait_for_next(simulation.states)
        return simulation

    yield begin
    for simulation in started:
        simulation.close()


def result(response: dict[str, Any]) -> int:
    """Return the standard's code of a response."""
    return response['result']['result']


def stamps(states: list[JointState]) -> list[int]:
    """Return the stamps of joint states [ns]."""
    return [nanoseconds(state.header.stamp) for state in states]
