"""The node's page: all its controls, with a real node, page and recording."""

import os
from pathlib import Path
import re
import signal
import socket
import subprocess

from bags import messages_on, read_bag
import numpy as np
from page_client import PageClient
import pytest
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import GetParameters
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_graph import Graph
from rosgraph_msgs.msg import Clock
from running_node import node, Running
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

ROBOTS = Path(__file__).resolve().parents[3] / 'urdf'
SIZE = (0.2, 0.25, 0.22)
_PULLS, _PULL_S = 3, 20.0  # pulls on the arm, longest duration for each [s]
SCENE = f"""
world:
  ground: true
  objects:
    box: {{box: [{SIZE[0]}, {SIZE[1]}, {SIZE[2]}], position: [1.5, 0, 0.11]}}
  robots:
    arm: {{urdf: {ROBOTS / 'arm.urdf'}, namespace: arm}}
"""


@pytest.fixture(scope='module')
def running(tmp_path_factory):
    """Yield a recording node, a client of its page, and a node on the graph beside it."""
    folder = tmp_path_factory.mktemp('page')
    scene = folder / 'scene.yaml'
    scene.write_text(SCENE)
    own = node(
        f'world:={scene}',
        'view:=true',
        f'record:={folder / "bag"}',
        'record_hash_period:=0.1',
        'rate:=250.0',
    )
    try:
        with PageClient(own.hear(r'live page: (\S+)')) as client, Graph([own.process]) as graph:
            # a first start compiles, for minutes on a busy machine
            own.hear('ready: ')
            client.wait('a frame', lambda: says(client) > 0.0)
            yield own, client, graph, folder / 'bag'
    finally:
        own.kill()


@pytest.fixture
def client(running) -> PageClient:
    """Return the page's client; the simulation runs before and afterwards."""
    _, client, *_ = running
    client.wait_for('Pause')
    yield client
    client.play()


def says(client: PageClient) -> float:
    """Return the time on the page [s]."""
    return float([text for text in client.texts if re.match(r'### \d', text)][0].split()[1])


def measured(client: PageClient, joint: str) -> float:
    """Return a joint's position; nan while its slider commands it."""
    slider = client.widgets[joint]
    return slider['value'] if slider['disabled'] else np.nan


def go_on_and_back(client: PageClient, name: str) -> None:
    """Pause, save a snapshot with this name, and restore it after some steps."""
    client.pause()
    client.set('Name', name)
    client.click('Save')
    before = says(client)
    client.set('Steps at once', 5)
    client.click('Step')
    client.wait('steps', lambda: says(client) > before)
    client.wait('the name', lambda: client.widgets['Kept']['options'] == [name])
    client.click('Restore')
    client.wait('the snapshot', lambda: says(client) == before)


def test_the_page_shows_the_progress_and_the_world(client):
    """Show the loading progress, then bodies in their places."""
    # progress before the first frame
    assert any(text.startswith('⏳') for text in client.texts)
    client.wait(
        'the box in its place',
        lambda: client.box(SIZE)[2] == pytest.approx((1.5, 0.0, SIZE[2] / 2), abs=1e-3),
    )


def test_the_token_is_on_no_topic(running):
    """Print the address, but not on /rosout."""
    _, _, graph, _ = running
    lines = graph.listen(
        Log, '/rosout', QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    )
    graph.wait(lambda: any('ready' in line.msg for line in lines), 'the log')
    assert not any('token' in line.msg for line in lines)


def test_time_stands_and_goes_by_steps_and_speed(client):
    """Take the requested number of steps; pause a running simulation first."""
    client.pause()
    before = says(client)
    client.set('Steps at once', 3)
    client.click('Step')
    client.wait('three steps', lambda: says(client) == pytest.approx(before + 0.012))
    client.play()
    client.click('Step')
    client.wait('a pause', lambda: client.widgets['Pause']['label'] == 'Play')


def test_the_speed_is_a_parameter(running, client):
    """Update the parameter from the page."""
    _, _, graph, _ = running
    client.set('Speed', 2.0)

    def speed() -> float:
        response = graph.call(
            GetParameters,
            '/sim_bridge/get_parameters',
            GetParameters.Request(names=['real_time_factor']),
        )
        return response.values[0].double_value

    graph.wait(lambda: speed() == 2.0, 'the parameter')
    client.set('Speed', 1.0)
    graph.wait(lambda: speed() == 1.0, 'the parameter')


def test_snapshots_and_resets(client):
    """Return to a named snapshot; list the names when another browser connects."""
    go_on_and_back(client, 'here')
    client.set('Kept', 'elsewhere')
    client.click('Restore')
    client.wait(
        'an error', lambda: any('elsewhere' in text and 'here' in text for text in client.texts)
    )
    client.set('Kept', 'here')
    client.click('Delete')
    client.wait('no name', lambda: client.widgets['Kept']['options'] == ['—'])
    client.press('Reset')
    client.wait('the start', lambda: says(client) == 0.0)


def test_sliders_command_joints_until_released(running, client):
    """A command from the page outlives the command timeout."""
    _, _, graph, _ = running
    client.set('Command', 'position')
    client.wait('sliders for commands', lambda: not client.widgets['joint_2']['disabled'])
    client.set('joint_2', 0.3)
    client.wait(
        'who commands',
        lambda: any('by hand: arm/joint&#95;2 position 0.3' in text for text in client.texts),
    )
    begun = says(client)
    client.wait('twice the timeout', lambda: says(client) > begun + 1.0)
    assert not any('no command any more' in text for text in client.texts)
    client.set('Command', 'measured')
    client.wait('the motion', lambda: abs(measured(client, 'joint_2') - 0.3) < 1e-2)
    client.wait('nobody who commands', lambda: not any('by hand' in text for text in client.texts))


def test_trajectories_by_hand_are_followed(client):
    """Follow typed points; name the invalid line."""
    client.wait_for('Points')
    client.click('Add point')
    line = client.wait('a point', lambda: client.widgets['Points']['value'])
    assert len(line.split()) == 8
    client.set('Points', '0.2 0 0 0 0 0 0 0\n0.4, 0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1')
    client.click('Follow points')
    client.wait('its end', lambda: abs(measured(client, 'joint_1') - 0.1) < 1e-2)
    client.set('Points', '0.2 1')
    client.click('Follow points')
    client.wait('an error', lambda: any('line 1' in text for text in client.texts))


def test_bodies_are_pulled(client):
    """Lift a box by a spring, and let it fall."""
    name, number, place = client.wait('the box', lambda: client.box(SIZE))
    grabbed = place + (0.05, 0.0, 0.1)
    client.drag(name, number, 'start', grabbed, grabbed)
    client.drag(name, number, 'update', grabbed, grabbed + (0.0, 0.0, 1.0))
    client.wait('the box in the air', lambda: client.box(SIZE)[2][2] > 0.6)
    client.wait('the arrow of the push', lambda: client.nodes['/world/pushes']['points'].size == 6)
    client.drag(name, number, 'end', grabbed, grabbed)
    client.wait('the box on the ground', lambda: client.box(SIZE)[2][2] < 0.2)


def test_bodies_are_pushed(client):
    """Push a box with a force for some time; refuse an immovable link."""
    client.wait('the box', lambda: client.box(SIZE))
    client.pause()
    client.wait('the link', lambda: 'box/box' in client.widgets['Link']['options'])
    assert 'arm/base' not in client.widgets['Link']['options']
    client.set('Link', 'box/box')
    client.set('Force [N]', (0.0, 0.0, 200.0))
    client.set('For seconds', 0.2)
    height = client.box(SIZE)[2][2]
    client.click('Push')
    client.play()
    # 11 kg, lifted for 0.2 s with 200 N: 0.17 m, and as much again in free flight
    client.wait('the box in the air', lambda: client.box(SIZE)[2][2] > height + 0.1)
    client.wait('the box on the ground', lambda: client.box(SIZE)[2][2] < height + 0.02)


def test_arms_on_fixed_bases_are_pulled(client):
    """Report the locked joints of an arm; pull its farthest link after a first command."""

    def hand():
        """Return node, index and position of the arm's part farthest from its base."""
        found = [
            (name, k, position)
            for name, node in client.nodes.items()
            if 'batched_positions' in node and name.startswith(('/world/vis', '/world/both'))
            for k, position in enumerate(node['batched_positions'].reshape(-1, 3).astype(float))
            if not np.allclose(node['batched_scales'].reshape(-1, 3)[k], SIZE)
        ]
        return max(found, key=lambda each: np.linalg.norm(each[2]))

    def pulled():
        """Pull the hand down; return whether it followed."""
        name, number, place = client.wait('the hand', hand)
        target = 0.8 * place + (0.3, 0.0, 0.0)

        def is_nearer():
            now = client.nodes[name]['batched_positions'].reshape(-1, 3)[number]
            return np.linalg.norm(now - target) < 0.4 * np.linalg.norm(place - target)

        client.drag(name, number, 'start', place, place)
        client.drag(name, number, 'update', place, target)
        came = client.becomes(is_nearer, _PULL_S)
        client.drag(name, number, 'end', place, target)
        return came

    client.press('Reset')
    client.wait(
        'the arm in its place',
        lambda: all(abs(measured(client, f'joint_{joint}')) < 1e-3 for joint in range(1, 8)),
    )
    name, number, place = client.wait('the hand', hand)
    client.drag(name, number, 'start', place, place)
    client.wait('a warning', lambda: any('locked' in text for text in client.texts))
    client.drag(name, number, 'end', place, place)
    client.set('Command', 'effort')
    client.wait('sliders for commands', lambda: not client.widgets['joint_2']['disabled'])
    for joint in range(1, 8):
        client.set(f'joint_{joint}', 0.1)
    # friction holds it upright; on a busy machine the grabbed point may be out of date
    came = any(pulled() for _ in range(_PULLS))
    client.set('Command', 'measured')
    assert came


def test_sensors_and_the_solver_can_be_plotted(client):
    """Offer all sensor values, with units."""
    names = client.wait_for('Value')['options']
    assert 'arm/wrist_ft force z [N]' in names
    assert 'arm/imu linear acceleration x [m/s²]' in names
    assert 'residual of contacts [m/s]' in names
    client.wait('timing', lambda: any('control steps per second' in each for each in client.texts))


def test_refused_commands_are_shown(running, client):
    """Show a node's warning, and the commanding nodes."""
    _, _, graph, _ = running
    publisher = graph.advertise(JointState, '/arm/joint_commands')
    publisher.publish(JointState(name=['elbow'], effort=[1.0]))
    client.wait(
        'a warning', lambda: any(text.startswith('⚠️') and 'elbow' in text for text in client.texts)
    )
    client.wait('who sends', lambda: any('from test' in text for text in client.texts))


def test_it_goes_on_without_its_page_and_all_replays(running):
    """Kill the page's process; replay all actions on the page to the same bits."""
    own, client, graph, bag = running
    # some actions of all kinds, whichever tests ran before
    client.wait_for('Pause')
    go_on_and_back(client, 'last')
    client.play()
    name, number, place = client.wait('the box', lambda: client.box(SIZE))
    client.drag(name, number, 'start', place, place)
    client.drag(name, number, 'update', place, place + (0.0, 0.0, 0.5))
    client.wait('the box in the air', lambda: client.box(SIZE)[2][2] > place[2] + 0.1)
    client.drag(name, number, 'end', place, place)
    client.set('Link', 'box/box')
    client.set('Force [N]', (0.0, 0.0, 200.0))
    client.click('Push')
    client.set('Command', 'position')
    client.wait('sliders for commands', lambda: not client.widgets['joint_2']['disabled'])
    client.set('joint_2', 0.2)
    client.wait('who commands', lambda: any('position 0.2' in text for text in client.texts))
    client.set('Command', 'measured')
    client.wait('nobody who commands', lambda: not any('by hand' in text for text in client.texts))
    client.set('Points', '0.2 0 0 0 0 0 0 0')
    client.click('Follow points')
    client.wait('its end', lambda: abs(measured(client, 'joint_2')) < 1e-2)
    client.press('Reset')
    client.wait('the start', lambda: says(client) < 0.5)
    page = subprocess.run(
        ['pgrep', '-P', str(own.process.pid), '-f', 'sim_bridge.page.process'],
        capture_output=True,
        text=True,
        check=True,
    )
    os.kill(int(page.stdout), signal.SIGKILL)
    own.hear('there is no live page')
    graph.wait_for_next(graph.listen(Clock, '/clock'), 20)
    assert own.end() == 0, own.said
    assert own.said.count('there is no live page') == 1
    verdict = replay(bag)
    assert verdict.is_same, verdict.difference
    recorded = read_bag(bag)
    kinds = {
        kind
        for each in messages_on(recorded, '/sim_bridge/inputs', String)
        for kind in re.findall(r'^\{"(\w+)"', each.data)
    }
    assert {'pull', 'drop', 'push', 'reset', 'save', 'restore', 'control'} <= kinds
    topics = {each.topic for each in recorded}
    assert {'/arm/joint_commands', '/arm/joint_trajectory_controller/joint_trajectory'} <= topics


@pytest.mark.parametrize('cause', ['port', 'viser'])
def test_it_runs_without_an_impossible_page(cause):
    """An occupied port, and a Python without viser, disable only the page."""
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        gone = 'import sys; sys.modules["viser"] = None; ' if cause == 'viser' else ''
        own = Running(
            '-c',
            f'{gone}from sim_bridge.ros.node.main import main; main()',
            '--ros-args',
            '-p',
            'robot:=double_pendulum',
            '-p',
            'view:=true',
            '-p',
            f'view_port:={port}',
        )
        try:
            own.hear(
                rf'port {port}: Address already in use. The simulation goes on'
                if cause == 'port'
                else r'pip install "sim_bridge\[view\]"'
            )
            own.hear('ready: ')
        finally:
            own.end()
