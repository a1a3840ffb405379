"""A node with the services of simulation_interfaces, in one of two versions."""

from __future__ import annotations

from collections.abc import Callable
import json
import os
from pathlib import Path
import subprocess
from typing import Any

from plain_messages import fill, to_plain
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from ros_graph import nanoseconds, PATIENCE_S
from sensor_msgs.msg import JointState
import simulation_interfaces.srv
from std_msgs.msg import String

from sim_bridge.ros.interfaces import build, definitions, store
from sim_bridge.ros.services.standard.interfaces import names_of

LATCHED = QoSProfile(
    depth=10, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)

# calls a service with the request's fields; returns the response's fields
Call = Callable[..., dict[str, Any]]

# differences of version 2.1 from 1.5, and the services called by its tests
CHANGES_IN_2 = (
    ('package simulation_interfaces 1.5.1', 'package simulation_interfaces 2.1.0'),
    (
        'interface msg/Spawnable.msg\nstring uri\n',
        'interface msg/Spawnable.msg\nResource entity_resource\n',
    ),
    (
        'string uri\nstring resource_string\nstring entity_namespace',
        'Resource entity_resource\nstring entity_namespace',
    ),
    (
        'string uri\nstring resource_string\nbool fail_on_unsupported_element',
        'Resource world_resource\nbool fail_on_unsupported_element',
    ),
    (
        'string entity\nEntityState state\n---',
        (
            'string entity\nEntityState state\nbool set_pose\nbool set_twist\nbool '
            'set_acceleration\n'
            '---'
        ),
    ),
)
SERVICES_OF_2 = (
    'SpawnEntity',
    'SetEntityState',
    'GetEntityState',
    'GetSpawnables',
    'GetSimulatorFeatures',
    'GetSimulationState',
    'GetEntities',
    'SetEntityInfo',
    'GetEntityInfo',
    'GetNamedPoses',
    'GetNamedPoseBounds',
    'LoadWorld',
    'UnloadWorld',
    'GetCurrentWorld',
    'GetAvailableWorlds',
)
MESSAGES_OF_2 = (
    'Result',
    'Resource',
    'Bounds',
    'EntityState',
    'Spawnable',
    'SimulatorFeatures',
    'SimulationState',
    'EntityCategory',
    'EntityInfo',
    'EntityFilters',
    'TagsFilter',
    'NamedPose',
    'WorldResource',
)


@pytest.fixture(scope='session')
def second_version(tmp_path_factory) -> Path:
    """Return a Python folder with simulation_interfaces in version 2.1."""
    text = (definitions.FOLDER / 'simulation_interfaces.txt').read_text()
    for old, new in CHANGES_IN_2:
        assert old in text, old
        text = text.replace(old, new)
    head, *sections = text.split('\ninterface ')
    kept = [
        section
        for section in sections
        if section.split('\n')[0]
        in {
            *(f'msg/{name}.msg' for name in MESSAGES_OF_2),
            *(f'srv/{name}.srv' for name in SERVICES_OF_2),
        }
    ]
    assert len(kept) == len(MESSAGES_OF_2) + len(SERVICES_OF_2)
    path = tmp_path_factory.mktemp('definitions') / 'simulation_interfaces.txt'
    path.write_text('\ninterface '.join([head, *kept]))
    return store.python_path(build.build([path])[0])


class Simulation:
    """A node with the standard's services; `call` executes a call."""

    def __init__(self, process: subprocess.Popen, call: Call, is_2: bool) -> None:
        self.process, self._call, self.is_2 = process, call, is_2

    def __call__(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Call a service by its type's name."""
        return self._call(kind, fields)

    def load_world(self, resource: str, **fields: Any) -> dict[str, Any]:
        """Load a world from a name, file or text, in the version's format."""
        key = 'resource_string' if '\n' in resource else 'uri'
        text = {key: resource}
        return self('LoadWorld', **fields, **({'world_resource': text} if self.is_2 else text))

    def spawn(self, resource: str, **fields: Any) -> dict[str, Any]:
        """Spawn from a name, file or text, in the version's format."""
        key = 'resource_string' if resource.startswith('<') else 'uri'
        text = {key: resource}
        return self('SpawnEntity', **fields, **({'entity_resource': text} if self.is_2 else text))


@pytest.fixture
def start(graph, start_process, request):
    """
    Return a function that starts a node and returns its Simulation once it publishes.

    version: '1.5', which this process has too, or '2.1'.
    """
    clients: list[subprocess.Popen] = []

    def call(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
        service = getattr(simulation_interfaces.srv, kind)
        wanted = fill(service.Request(), fields)
        name = names_of(kind)[1].replace('~', '/sim_bridge')
        return to_plain(graph.call(service, name, wanted))

    def begin(version: str = '1.5', **parameters: object) -> Simulation:
        parameters = {'robot': 'pendulum', 'diagnostics_rate': 0.0, **parameters}
        given = [
            '--ros-args',
            *(
                item
                for name, value in parameters.items()
                for item in ('-p', f'{name}:={json.dumps(value)}')
            ),
        ]
        is_2 = version == '2.1'
        options = {}
        if is_2:
            first = str(request.getfixturevalue('second_version'))
            options['env'] = {
                **os.environ,
                'PYTHONPATH': os.pathsep.join([first, os.environ['PYTHONPATH']]),
            }
        process = start_process('-m', 'sim_bridge', 'node', *given, **options)
        asked = call
        if is_2:
            script = Path(__file__).with_name('standard_client.py')
            client = start_process(
                script, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, **options
            )
            clients.append(client)

            def asked(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
                client.stdin.write(json.dumps([kind, fields]) + '\n')
                client.stdin.flush()
                answer = client.stdout.readline()
                assert answer, f'the client ended with code {client.wait(PATIENCE_S)}'
                return json.loads(answer)

        simulation = Simulation(process, asked, is_2)
        simulation.states = graph.listen(JointState, '/joint_states')
        simulation.events = graph.listen(String, '/sim_bridge/resets', LATCHED)
        if not parameters.get('paused'):
            graph.wait_for_next(simulation.states)
        return simulation

    yield begin
    for client in clients:
        client.stdin.close()
        client.wait(PATIENCE_S)


def result(response: dict[str, Any]) -> int:
    """Return the standard's result code in a response."""
    return response['result']['result']


def stamps(states: list[JointState]) -> list[int]:
    """Return joint state stamps [ns]."""
    return [nanoseconds(state.header.stamp) for state in states]
