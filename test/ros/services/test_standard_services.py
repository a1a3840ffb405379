"""
The services of simulation_interfaces, and robots that come and go on a running graph.

Over the graph with the real messages where the package is installed, and in any case with
stand-ins of its versions, which reach the node's process by a pipe.
"""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ros_graph import end
from sensor_msgs.msg import JointState, MultiDOFJointState
from simulation_messages import make_interfaces, message
from standard_simulation import INSTALLED, LATCHED, result, stamps, VERSIONS
from std_msgs.msg import Float64MultiArray, String

from sim_bridge.foundation.errors import SimulationError, StateError
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.process import deferred_action
from sim_bridge.ros.services.standard import stepping
from sim_bridge.ros.services.standard.offer import handlers_of

pytest_plugins = ['node_fixtures', 'standard_simulation']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000
OK, NOT_FOUND, FAILED = 1, 2, 4
STOPPED, PLAYING, PAUSED, QUITTING = range(4)


def topics_of(graph) -> set[str]:
    """Return the topics that somebody publishes or takes."""
    return {name for name, _ in graph.node.get_topic_names_and_types()
            if graph.node.get_publishers_info_by_topic(name)}


@pytest.mark.parametrize('version', VERSIONS)
def test_robots_come_and_go_without_a_step_missed_by_others(graph, start, version, tmp_path):
    """Spawn a robot with topics, commands and parameters; take them all back; replay it all."""
    simulation = start(version, record=str(tmp_path / 'bag'))
    tables = graph.listen(String, '/contacts/geometries', LATCHED)
    pose = {'pose': {'position': {'y': 2.0, 'z': 1.0}}}
    spawned = simulation.spawn('arm', name='second', initial_pose=pose)
    assert (result(spawned), spawned['entity_name']) == (OK, 'second'), spawned
    others = graph.listen(JointState, '/second/joint_states')
    descriptions = graph.listen(String, '/second/robot_description', LATCHED)
    command = graph.advertise(Float64MultiArray, '/second/effort_controller/commands')
    graph.wait_for_next(others)
    command.publish(Float64MultiArray(data=[0.25] * 7))
    graph.wait(lambda: list(others[-1].effort) == [0.25] * 7, 'the efforts commanded')
    graph.wait(lambda: descriptions, 'the description')
    assert 'control.second.joint_1' in graph.describe_parameters('/sim_bridge')
    assert any('"second"' in table.data for table in tables)
    place = simulation('GetEntityState', entity='second')['state']['pose']['position']
    assert place == {'x': 0.0, 'y': 2.0, 'z': 1.0}
    assert simulation('GetEntities')['entities'] == ['pendulum', 'second']

    assert result(simulation('DeleteEntity', entity='second')) == OK
    graph.wait(lambda: '/second/joint_states' not in topics_of(graph), 'the end of its topics')
    assert simulation('GetEntities')['entities'] == ['pendulum']
    assert 'control.second.joint_1' not in graph.describe_parameters('/sim_bridge')
    graph.wait(lambda: '"second"' not in tables[-1].data, 'the geometries of those that are left')
    # the name is free, and what was declared for it once does not stand in the way
    again = simulation.spawn('arm', name='second', initial_pose=pose)
    assert again['entity_name'] == 'second', again
    graph.wait_for_next(others)

    times = stamps(simulation.states)
    late = [b - a for a, b in zip(times, times[1:], strict=False)]
    # a jump of the state takes one step of the clock itself: each is stamped alike
    assert set(late) == {MS}
    assert end(simulation.process)[0] == 0
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference


def test_objects_are_entities_without_topics(graph, start):
    """Spawn what has no joints: no topics of its own, but a place among the objects."""
    simulation = start()
    box = Path(__file__).parents[3] / 'urdf' / 'floating_box.urdf'
    text = box.read_text().split('<gazebo')[0] + '</robot>'
    spawned = simulation.spawn(text, name='crate', initial_pose={
        'pose': {'position': {'x': 3.0, 'z': 5.0}}})
    assert spawned['entity_name'] == 'crate', spawned
    objects = graph.listen(MultiDOFJointState, '/object_states')
    graph.wait_for_next(objects, 2)
    assert objects[-1].joint_names == ['crate']
    assert objects[-1].transforms[0].translation.x == 3.0
    assert not [name for name in topics_of(graph) if name.startswith('/crate')]
    info = simulation('GetEntityInfo', entity='crate')['info']
    assert info['category']['category'] == 0, 'an object that moves'
    assert simulation('GetEntityInfo', entity='pendulum')['info']['category']['category'] == 1

    simulation.spawn('pendulum', name='third', initial_pose={'pose': {'position': {'y': 4.0}}})
    by_category = simulation('GetEntities', filters={'categories': [{'category': 1}]})
    assert by_category['entities'] == ['pendulum', 'third']
    assert simulation('GetEntities', filters={'filter': '^[ct]'})['entities'] == [
        'crate', 'third']
    ball = {'type': 3, 'points': [{'y': 4.0, 'z': -0.2}, {'x': 1.0}]}
    bounds = simulation('GetEntityBounds', entity='crate')['bounds']
    assert bounds['type'] == 1
    upper, lower = bounds['points']
    assert upper['x'] == -lower['x'] > 0.0
    near = simulation('GetEntities', filters={'bounds': ball})
    assert result(near) == OK
    assert 'crate' not in near['entities']
    states = simulation('GetEntitiesStates', filters={'filter': 'third'})
    assert states['states'][0]['pose']['position']['y'] == 4.0


REFUSED_SPAWNS = {
    'taken name': (101, {'resource': 'pendulum', 'name': 'pendulum'}, 'taken: pendulum'),
    'unknown robot': (2, {'resource': 'pendulun'}, "Did you mean 'pendulum'"),
    'missing file': (2, {'resource': '/nowhere/robot.urdf'}, '/nowhere/robot.urdf'),
    'nothing': (104, {'resource': ''}, 'URDF text'),
    'another format': (103, {'resource': '<sdf version="1.9"/>'}, '<robot>'),
    'broken': (106, {'resource': '<robot name="x"><link name="a"></robot>'}, 'XML'),
    'no mesh': (107, {'resource': (
        '<robot name="x"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
        'izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><mesh '
        'filename="package://nowhere/x.stl"/></geometry></collision></link></robot>')},
        'package://nowhere/x.stl'),
    'bad namespace': (105, {
        'resource': 'pendulum', 'name': 'b', 'entity_namespace': '9 x'}, "'9 x'"),
    'taken namespace': (105, {
        'resource': 'pendulum', 'name': 'b', 'entity_namespace': '/'}, "'pendulum' has this one"),
    'no quaternion': (109, {'resource': 'pendulum', 'name': 'b', 'initial_pose': {
        'pose': {'orientation': {'w': 0.0}}}}, 'orientation'),
    'unknown frame': (109, {'resource': 'pendulum', 'name': 'b', 'initial_pose': {
        'header': {'frame_id': 'moon'}}}, "unknown frame 'moon'"),
}


def test_what_cannot_be_spawned_is_refused_with_a_code_and_a_reason(graph, start):
    """Give the standard's codes, name what is wrong and what there is, and change nothing."""
    simulation = start()
    for name, (code, request, reason) in REFUSED_SPAWNS.items():
        response = simulation.spawn(**request)
        assert result(response) == code, f'{name}: {response}'
        assert reason in response['result']['error_message'], name
    several = simulation('SpawnEntities', spawn_requests=[
        {'name': 'one', 'entity_resource': {'uri': 'pendulum'}},
        {'name': 'one', 'entity_resource': {'uri': 'pendulum'}},
        {'name': 'one', 'entity_resource': {'uri': 'pendulum'}, 'allow_renaming': True}])
    assert result(several) == 150
    assert [result(each) for each in several['results']] == [OK, 101, OK]
    assert several['results'][2]['entity_name'] == 'one_2'
    assert simulation('GetEntities')['entities'] == ['pendulum', 'one', 'one_2']
    for kind in ('DeleteEntity', 'GetEntityState', 'GetEntityInfo', 'SetEntityState'):
        response = simulation(kind, entity='two')
        assert result(response) == NOT_FOUND
        assert 'pendulum, one, one_2' in response['result']['error_message']
    for filters, code in (
        ({'filter': '('}, FAILED), ({'filter': '(?:a+)+$'}, FAILED),
        ({'tags': {'tags': ['red']}}, 0),
        ({'bounds': {'type': 3, 'points': []}}, FAILED),
    ):
        response = simulation('GetEntities', filters=filters)
        assert result(response) == code
        assert response['result']['error_message']
    count = len(simulation.states)
    graph.wait(lambda: len(simulation.states) > count + 10, 'further steps')


def test_a_robot_that_is_refused_leaves_its_name_and_its_parameters_free(graph, start):
    """Refuse a joint whose parameters another robot has; take it once that is gone."""
    simulation = start()
    text = (Path(__file__).parents[3] / 'urdf' / 'pendulum.urdf').read_text()
    dotted = text.replace('"pivot"', '"y.pivot"')
    assert result(simulation.spawn(text, name='first', entity_namespace='x/y')) == OK
    refused = simulation.spawn(dotted, name='second', entity_namespace='x')
    assert result(refused) == 105, refused
    assert "'control.x.y.pivot' of another" in refused['result']['error_message']
    assert simulation('GetEntities')['entities'] == ['pendulum', 'first']
    assert graph.set_parameter('/sim_bridge', 'control.x.y.pivot', 'velocity').successful
    assert result(simulation('DeleteEntity', entity='first')) == OK
    spawned = simulation.spawn(dotted, name='second', entity_namespace='x')
    assert result(spawned) == OK, spawned
    names = graph.describe_parameters('/sim_bridge')
    assert 'control.x.y.pivot' in names
    assert not any('/x/y/' in name for name in names)


@pytest.mark.parametrize('version', ['1.5', '2.1'])
def test_entities_are_put_where_told(graph, start, version):
    """Set pose and twist, in the world or a frame of another, or one of both; 1.x sets both."""
    simulation = start(version, robot='floating_box', paused=True, ground=False)
    simulation.spawn('pendulum', name='post', initial_pose={'pose': {
        'position': {'x': 1.0}, 'orientation': {'z': 1.0, 'w': 1.0}}})
    flags = {'set_pose': True, 'set_twist': True} if version == '2.1' else {}
    request = {
        'header': {'frame_id': 'post'}, 'pose': {'position': {'x': 2.0}},
        'twist': {'linear': {'x': 0.5}}}
    response = simulation('SetEntityState', entity='floating_box', state=request, **flags)
    assert result(response) == OK
    state = simulation('GetEntityState', entity='floating_box')['state']
    # a quarter turn about z: the frame's x is the world's y
    assert list(state['pose']['position'].values()) == pytest.approx([1.0, 2.0, 0.0], abs=1e-12)
    assert list(state['twist']['linear'].values()) == pytest.approx([0.0, 0.5, 0.0], abs=1e-12)
    assert list(state['acceleration']['linear'].values()) == pytest.approx([0.0, 0.0, -9.81])
    assert state['header']['frame_id'] == 'world'
    if version == '2.1':
        moved = {'pose': {'position': {'z': 7.0}}, 'twist': {'linear': {'z': 9.0}}}
        simulation('SetEntityState', entity='floating_box', state=moved, set_pose=True)
        state = simulation('GetEntityState', entity='floating_box')['state']
        assert (state['pose']['position']['z'], state['twist']['linear']['z']) == (7.0, 0.0)
    bad = {'pose': {'orientation': {'w': 0.0}}}
    assert result(simulation('SetEntityState', entity='post', state=bad, **flags)) == 101
    pushed = {'twist': {'linear': {'x': 1.0}}}
    response = simulation('SetEntityState', entity='post', state=pushed, **flags)
    assert result(response) == FAILED
    assert "'post'" in response['result']['error_message']


@pytest.mark.parametrize('version', VERSIONS)
def test_states_steps_and_resets(graph, start, version):
    """Go through all states; step exactly; reset by scope, and tell of it before the state."""
    simulation = start(version, real_time_factor=20.0)
    states, events = simulation.states, simulation.events

    def state() -> int:
        return simulation('GetSimulationState')['state']['state']

    def set_state(wanted: int) -> int:
        return result(simulation('SetSimulationState', state={'state': wanted}))

    def now() -> int:
        told = simulation('GetEntityState', entity='pendulum')['state']['header']['stamp']
        return told['sec'] * 1000 * MS + told['nanosec']

    assert state() == PLAYING
    assert result(simulation('StepSimulation', steps=3)) == FAILED, 'not while it plays'
    assert (set_state(PAUSED), state(), set_state(PAUSED)) == (OK, PAUSED, 101)
    stood = now()
    assert result(simulation('StepSimulation', steps=25)) == OK
    graph.wait(lambda: stamps(states[-1:])[0] >= stood + 25 * MS, '25 states')
    assert now() == stood + 25 * MS
    times = [time for time in stamps(states) if time > stood]
    assert times == [stood + n * MS for n in range(1, 26)]

    simulation.spawn('pendulum', name='guest', initial_pose={'pose': {'position': {'y': 2.0}}})
    assert result(simulation('ResetSimulation', scope=2)) == OK
    assert simulation('GetEntities')['entities'] == ['pendulum', 'guest']
    assert result(simulation('ResetSimulation')) == OK
    assert simulation('GetEntities')['entities'] == ['pendulum']
    assert result(simulation('ResetSimulation', scope=1)) == OK
    graph.wait(lambda: len(events) == 3, 'three events')
    told = [json.loads(event.data) for event in events]
    assert [each['scope'] for each in told] == [
        ['state'], ['time', 'state', 'spawned'], ['time']]
    assert [each['removed'] for each in told] == [[], ['guest'], []]
    assert [each['count'] for each in told] == [1, 2, 3]
    assert [each['time_ns'] - each['time_ns_before'] for each in told[:2]] == [MS, MS]
    assert told[2]['time_ns'] == 1, 'who names the time has the clock go back, too'
    assert result(simulation('ResetSimulation', scope=8)) == 0

    assert (set_state(STOPPED), state(), set_state(STOPPED)) == (OK, STOPPED, 101)
    assert (set_state(PLAYING), state()) == (OK, PLAYING)
    assert set_state(99) == FAILED
    assert result(simulation('DeleteEntity', entity='pendulum')) == OK
    response = simulation('ResetSimulation', scope=255)
    assert result(response) == FAILED
    assert "'pendulum'" in response['result']['error_message']
    assert set_state(STOPPED) == 102
    assert result(simulation('ResetSimulation', scope=4)) == OK
    assert set_state(QUITTING) == OK
    assert simulation.process.wait(30) == 0


def test_features_are_those_of_the_version():
    """Tell of what there is, in each version, and of nothing else."""
    offered = {}
    for version in ('1.0', '2.1'):
        interfaces = make_interfaces(version)
        handlers = handlers_of(interfaces, None, None, None)
        assert set(handlers) == set(vars(interfaces.srv))
        responses = {kind: getattr(interfaces.srv, kind).Response() for kind in handlers}
        for kind in ('GetSimulatorFeatures', 'GetSpawnables'):
            request = getattr(interfaces.srv, kind).Request()
            handlers[kind](request, responses[kind], lambda response: None)
        features = responses['GetSimulatorFeatures'].features
        assert features.spawn_formats == ['urdf', 'xacro']
        offered[version] = set(features.features)
        first = responses['GetSpawnables'].spawnables[0]
        assert (first.uri if version == '1.0' else first.entity_resource.uri) == 'arm'
    common = {0, 1, *range(5, 13), 14, *range(20, 27), 31, 32}
    assert offered == {'1.0': common, '2.1': common | {50}}


class Goal:
    """A goal of the action, as rclpy hands it over, that is cancelled at a step."""

    def __init__(self, steps: int, cancel_at: int | None = None) -> None:
        self.request, self.cancel_at = SimpleNamespace(steps=steps), cancel_at
        self.is_cancel_requested = False
        self.feedback: list[tuple[int, int]] = []
        self.ends: list[str] = []

    def publish_feedback(self, feedback: Any) -> None:
        self.feedback.append((feedback.completed_steps, feedback.remaining_steps))
        self.is_cancel_requested = feedback.completed_steps == self.cancel_at


class Server:
    """The server of an action, without a graph."""

    def __init__(self, node, kind, name, check, start, cancel) -> None:
        self.start = start
        made.append(self)

    def finish(self, goal: Goal, end: str, result: Any) -> None:
        goal.ends.append(end)
        goal.result = result.result


made: list[Server] = []


def make_action(step: Callable[..., None], post: Callable[[Callable], None]) -> list[Callable]:
    """Make the action of a control with this `step`; give what is called when it closes."""
    kind = SimpleNamespace(
        Feedback=message('Feedback', completed_steps=int, remaining_steps=int),
        Result=message('Result', result=make_interfaces('2.1').msg.Result))
    services = SimpleNamespace(submit=lambda function: function(), on_close=[])
    stepping.SteppingAction(
        None, kind, '~/simulate_steps', services, SimpleNamespace(step=step),
        SimpleNamespace(post=post))
    return services.on_close


def test_the_action_tells_of_every_step_and_can_be_cancelled(monkeypatch):
    """Give feedback after each step and the result at the end, early where it is cancelled."""
    monkeypatch.setattr(deferred_action, 'DeferredActionServer', Server)

    def step(count, on_done, on_tick) -> None:
        if count == 13:
            raise StateError('the simulation is running')
        any(not on_tick(count - taken) for taken in range(1, count + 1))
        on_done(SimulationError('it blew up') if count == 7 else None)

    make_action(step, lambda function: function())
    goals = [Goal(3), Goal(1000, cancel_at=2), Goal(7), Goal(13)]
    for goal in goals:
        made[-1].start(goal)
    assert [goal.ends for goal in goals] == [['succeed'], ['canceled'], ['abort'], ['abort']]
    assert [goal.result.result for goal in goals] == [OK, OK, FAILED, FAILED]
    assert goals[0].feedback == [(1, 2), (2, 1), (3, 0)]
    assert goals[1].feedback == [(1, 999), (2, 998)]
    assert 'blew up' in goals[2].result.error_message
    assert 'running' in goals[3].result.error_message


def test_goals_end_when_the_simulation_is_unloaded(monkeypatch):
    """Tell what became of steps that were taken, and why others are not."""
    monkeypatch.setattr(deferred_action, 'DeferredActionServer', Server)
    posted: list[Callable[[], None]] = []

    def step(count, on_done, on_tick) -> None:
        if count == 1:
            on_done(None)

    (close,) = make_action(step, posted.append)
    goals = [Goal(1), Goal(2)]
    for goal in goals:
        made[-1].start(goal)
    assert len(posted) == 1
    assert not goals[0].ends
    close(StateError('it is being unloaded'))
    assert [goal.ends for goal in goals] == [['succeed'], ['abort']]
    assert goals[1].result.error_message == 'it is being unloaded'


def test_without_the_package_nothing_is_offered(graph, start_node):
    """Offer the services of the standard where its package is installed, and only there."""
    process = start_node(robot='pendulum', paused=True)
    graph.wait(lambda: 'sim_bridge' in graph.node.get_node_names(), 'the node')

    def offered() -> dict[str, list[str]]:
        return dict(graph.node.get_service_names_and_types_by_node('sim_bridge', '/'))

    ours = {f'/sim_bridge/{name}' for name in (
        'pause', 'reset', 'step', 'save_snapshot', 'restore_snapshot', 'list_snapshots')}
    if INSTALLED is not None:
        ours.add('/sim_bridge/get_simulation_state')
    graph.wait(lambda: ours <= offered().keys(), 'all its services')
    kinds = {kind.split('/')[0] for types in offered().values() for kind in types}
    assert ('simulation_interfaces' in kinds) == (INSTALLED is not None)
    assert end(process)[0] == 0
