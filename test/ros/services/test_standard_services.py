"""The services of simulation_interfaces: robots added and removed on a running graph."""

from __future__ import annotations

import json
import os
from pathlib import Path
import shutil

from action_msgs.msg import GoalStatus
from bags import messages_on, read_bag
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import pytest
from ros_graph import end, PATIENCE_S
from sensor_msgs.msg import JointState, MultiDOFJointState
from simulation_interfaces.action import SimulateSteps
from simulation_interfaces.srv import GetEntities
from standard_simulation import LATCHED, result, stamps
from std_msgs.msg import Float64MultiArray, String

from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.interfaces import build, store
from sim_bridge.trust.folders import folder

pytest_plugins = ['node_fixtures', 'standard_simulation']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000
OK, NOT_FOUND, FAILED = 1, 2, 4
STOPPED, PLAYING, PAUSED, QUITTING = range(4)


def topics_of(graph) -> set[str]:
    """Return the topics with a publisher or a subscriber."""
    return {
        name
        for name, _ in graph.node.get_topic_names_and_types()
        if graph.node.get_publishers_info_by_topic(name)
    }


def test_robots_come_and_go_without_a_step_missed_by_others(graph, start, tmp_path):
    """Spawn a robot with topics, commands and parameters; remove them all; replay it all."""
    simulation = start(record=str(tmp_path / 'bag'), command_timeout=0.0)
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
    graph.wait(lambda: '"second"' in tables[-1].data, 'its geometries')
    place = simulation('GetEntityState', entity='second')['state']['pose']['position']
    assert place == {'x': 0.0, 'y': 2.0, 'z': 1.0}
    assert simulation('GetEntities')['entities'] == ['pendulum', 'second']

    assert result(simulation('DeleteEntity', entity='second')) == OK
    graph.wait(lambda: '/second/joint_states' not in topics_of(graph), 'the end of its topics')
    assert simulation('GetEntities')['entities'] == ['pendulum']
    assert 'control.second.joint_1' not in graph.describe_parameters('/sim_bridge')
    graph.wait(lambda: '"second"' not in tables[-1].data, 'the geometries of those that are left')
    # the name is free, and its earlier declarations do not interfere
    again = simulation.spawn('arm', name='second', initial_pose=pose)
    assert again['entity_name'] == 'second', again
    graph.wait_for_next(others)
    # an OpenHRP model containing its own triangles
    linkage = simulation.spawn('closed_link', name='linkage')
    assert linkage['entity_name'] == 'linkage', linkage
    links = graph.listen(JointState, '/linkage/joint_states')
    drawn = graph.listen(String, '/linkage/robot_description', LATCHED)
    graph.wait(lambda: drawn, 'its description')
    assert drawn[0].data.count('.stl') == 4
    graph.wait_for_next(links)
    assert list(links[-1].name) == ['CRANK', 'COUPLER', 'ROCKER']

    assert end(simulation.process)[0] == 0
    # all of them are in the bag, even those lost by the middleware on the way here
    times = stamps(messages_on(read_bag(tmp_path / 'bag'), '/joint_states', JointState))
    # a jump of the state takes one clock step itself, so stamps remain regular
    assert {b - a for a, b in zip(times, times[1:], strict=False)} == {MS}
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference


def test_objects_are_entities_without_topics(graph, start):
    """Spawn an entity without joints: no topics of its own, but an entry in object_states."""
    simulation = start()
    box = Path(__file__).parents[3] / 'urdf' / 'floating_box.urdf'
    text = box.read_text().split('<gazebo')[0] + '</robot>'
    spawned = simulation.spawn(
        text, name='crate', initial_pose={'pose': {'position': {'x': 3.0, 'z': 5.0}}}
    )
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
    assert simulation('GetEntities', filters={'filter': '^[ct]'})['entities'] == ['crate', 'third']
    ball = {'type': 3, 'points': [{'y': 4.0, 'z': -0.2}, {'x': 1.0}]}
    bounds = simulation('GetEntityBounds', entity='crate')['bounds']
    assert bounds['type'] == 1
    upper, lower = bounds['points']
    assert upper['x'] == -lower['x'] > 0.0
    simulation.spawn('crank_slider', name='engine')  # visuals only
    bounded = simulation('GetEntityBounds', entity='engine')
    assert (result(bounded), bounded['bounds']['type']) == (OK, 1)
    # the frame's box, the crank, and the slider's box 0.4 m ahead
    upper, lower = (list(corner.values()) for corner in bounded['bounds']['points'])
    assert (lower, upper) == (
        pytest.approx([-0.1, -0.05, -0.06]),
        pytest.approx([0.5, 0.05, 0.03]),
    )
    simulation('DeleteEntity', entity='engine')
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
    'another format': (103, {'resource': '<svg version="1.1"/>'}, '<robot>'),
    'broken': (106, {'resource': '<robot name="x"><link name="a"></robot>'}, 'XML'),
    'broken, of whatever format': (106, {'resource': '<sdf version="1.9"'}, 'XML'),
    'no element': (106, {'resource': '< robot/>'}, 'XML'),
    'bad name': (102, {'resource': 'pendulum', 'name': 'bad name!'}, "such as 'bad_name_'"),
    'name of no topic': (102, {'resource': 'pendulum', 'name': '9lives'}, "such as '_9lives'"),
    'no mesh': (
        107,
        {
            'resource': (
                '<robot name="x"><link name="a"><inertial><mass value="1"/><inertia ixx="1" '
                'iyy="1" '
                'izz="1" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><mesh '
                'filename="package://nowhere/x.stl"/></geometry></collision></link></robot>'
            )
        },
        'package://nowhere/x.stl',
    ),
    'bad namespace': (
        105,
        {'resource': 'pendulum', 'name': 'b', 'entity_namespace': '9 x'},
        "'9 x'",
    ),
    'taken namespace': (
        105,
        {'resource': 'pendulum', 'name': 'b', 'entity_namespace': '/'},
        "'pendulum' has this one",
    ),
    'no quaternion': (
        109,
        {
            'resource': 'pendulum',
            'name': 'b',
            'initial_pose': {'pose': {'orientation': {'w': 0.0}}},
        },
        'orientation',
    ),
    'unknown frame': (
        109,
        {'resource': 'pendulum', 'name': 'b', 'initial_pose': {'header': {'frame_id': 'moon'}}},
        "unknown frame 'moon'",
    ),
}


def test_invalid_spawns_are_refused_with_a_code_and_a_reason(graph, start):
    """Return the standard's codes, name the error and alternatives, and change nothing."""
    simulation = start()
    for name, (code, request, reason) in REFUSED_SPAWNS.items():
        response = simulation.spawn(**request)
        assert result(response) == code, f'{name}: {response}'
        assert reason in response['result']['error_message'], name
    several = simulation(
        'SpawnEntities',
        spawn_requests=[
            {'name': 'one', 'entity_resource': {'uri': 'pendulum'}},
            {'name': 'one', 'entity_resource': {'uri': 'pendulum'}},
            {'name': 'one', 'entity_resource': {'uri': 'pendulum'}, 'allow_renaming': True},
        ],
    )
    assert result(several) == 150
    assert [result(each) for each in several['results']] == [OK, 101, OK]
    assert several['results'][2]['entity_name'] == 'one_2'
    assert simulation('GetEntities')['entities'] == ['pendulum', 'one', 'one_2']
    for kind in ('DeleteEntity', 'GetEntityState', 'GetEntityInfo', 'SetEntityState'):
        response = simulation(kind, entity='two')
        assert result(response) == NOT_FOUND
        assert 'pendulum, one, one_2' in response['result']['error_message']
    for filters, code in (
        ({'filter': '('}, FAILED),
        ({'filter': '(?:a+)+$'}, FAILED),
        ({'bounds': {'type': 3, 'points': []}}, FAILED),
    ):
        response = simulation('GetEntities', filters=filters)
        assert result(response) == code
        assert response['result']['error_message']
    count = len(simulation.states)
    graph.wait(lambda: len(simulation.states) > count + 10, 'further steps')


def test_a_refused_robot_leaves_its_name_and_parameters_free(graph, start):
    """Refuse a joint with parameters used by another robot; accept it once that is removed."""
    simulation = start()
    text = (Path(__file__).parents[3] / 'urdf' / 'pendulum.urdf').read_text()
    dotted = text.replace('"pivot"', '"y.pivot"')
    assert result(simulation.spawn(text, name='first', entity_namespace='x/y')) == OK
    refused = simulation.spawn(dotted, name='second', entity_namespace='x')
    assert result(refused) == 105, refused
    assert "'control.x.y.pivot', which another" in refused['result']['error_message']
    assert simulation('GetEntities')['entities'] == ['pendulum', 'first']
    assert graph.set_parameter('/sim_bridge', 'control.x.y.pivot', 'velocity').successful
    assert result(simulation('DeleteEntity', entity='first')) == OK
    spawned = simulation.spawn(dotted, name='second', entity_namespace='x')
    assert result(spawned) == OK, spawned
    names = graph.describe_parameters('/sim_bridge')
    assert 'control.x.y.pivot' in names
    assert not any('/x/y/' in name for name in names)


@pytest.mark.parametrize('version', ['1.5', '2.1'])
def test_entities_are_moved_as_requested(graph, start, version):
    """Set pose and twist, in the world or another frame, or only one; 1.x sets both."""
    simulation = start(version, robot='floating_box', paused=True, ground=False)
    simulation.spawn(
        'pendulum',
        name='post',
        initial_pose={'pose': {'position': {'x': 1.0}, 'orientation': {'z': 1.0, 'w': 1.0}}},
    )
    flags = {'set_pose': True, 'set_twist': True} if version == '2.1' else {}
    request = {
        'header': {'frame_id': 'post'},
        'pose': {'position': {'x': 2.0}},
        'twist': {'linear': {'x': 0.5}},
    }
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


def test_states_steps_and_resets(graph, start):
    """Go through all states; step exactly; reset by scope, and announce it before the state."""
    simulation = start()
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
    none = simulation('StepSimulation', steps=0)
    assert (result(none), 'at least 1' in none['result']['error_message']) == (FAILED, True)
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
    assert [each['scope'] for each in told] == [['state'], ['time', 'state', 'spawned'], ['time']]
    assert [each['removed'] for each in told] == [[], ['guest'], []]
    assert [each['count'] for each in told] == [1, 2, 3]
    assert told[0]['time_ns'] - told[0]['time_ns_before'] == MS
    assert [each['time_ns'] for each in told[1:]] == [1, 1], 'time that begins again is /clock'
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
    assert simulation.process.wait(PATIENCE_S) == 0


def test_features_are_those_of_the_version(start):
    """Report exactly the features of each version; give the bounds of spawnables."""
    offered = {}
    for version in ('1.5', '2.1'):
        simulation = start(version, paused=True)
        features = simulation('GetSimulatorFeatures')['features']
        formats = ['urdf', 'xacro', 'sdf', 'mjcf', 'usd', 'body', 'wrl', 'openplx']
        assert features['spawn_formats'] == formats
        offered[version] = set(features['features'])
        spawnables = simulation('GetSpawnables', sources=['moon'])
        assert 'moon' in spawnables['result']['error_message']
        by_name = {
            (each if version == '1.5' else each['entity_resource'])['uri']: each['spawn_bounds']
            for each in spawnables['spawnables']
        }
        assert list(by_name)[0] == 'arm'
        # in the file: a cube of half a metre about its root link
        upper, lower = by_name['floating_box']['points']
        assert (by_name['floating_box']['type'], upper) == (
            1,
            {name: -value for name, value in lower.items()},
        )
        if version == '1.5':
            simulation.spawn('quadruped', name='guest')
            assert by_name['quadruped'] == simulation('GetEntityBounds', entity='guest')['bounds']
        assert end(simulation.process)[0] == 0
    everything = {*range(15), *range(20, 27), 31, 32, 33, *range(40, 46), 50}
    # content of the second version generated here
    second = {0, *range(2, 5), *range(6, 15), 24, *range(40, 46)}
    assert offered == {'1.5': everything, '2.1': second}


def test_services_have_the_names_a_client_of_one_simulator_looks_for(graph, start):
    """Offer each service in the node's namespace and below the node."""
    simulation = start()
    expected = {'/spawn_entity', '/get_simulator_features', '/reset_simulation'}

    def each_has_two_names() -> bool:
        standard = {
            name
            for name, types in graph.services_of('sim_bridge').items()
            if types[0].startswith('simulation_interfaces/')
        }
        short = {name for name in standard if not name.startswith('/sim_bridge/')}
        return short >= expected and standard == short | {f'/sim_bridge{name}' for name in short}

    graph.wait(each_has_two_names, 'each service in the namespace and below the node')
    client = graph.node.create_client(GetEntities, '/get_entities')
    futures = []
    graph.wait(
        lambda: any(future.done() for future in futures),
        'an answer',
        lambda: futures.append(client.call_async(GetEntities.Request())),
    )
    (answer, *_) = (future.result() for future in futures if future.done())
    assert answer.entities == ['pendulum']
    assert end(simulation.process)[0] == 0


class Stepping:
    """A client of the action counting its feedback."""

    def __init__(self, graph, name: str = '/simulate_steps') -> None:
        self.graph, self.feedback = graph, []
        self.client = graph.action_client(SimulateSteps, name, '/sim_bridge')

    def send(self, steps: int):
        """Send a goal; return its handle."""
        future = self.client.send_goal_async(
            SimulateSteps.Goal(steps=steps),
            feedback_callback=lambda told: self.feedback.append(
                (told.feedback.completed_steps, told.feedback.remaining_steps)
            ),
        )
        self.graph.wait(future.done, 'an answer')
        assert future.result().accepted
        return future.result()

    def end_of(self, goal) -> tuple[int, int, str]:
        """Return status, code and message from a goal's result."""
        future = goal.get_result_async()
        self.graph.wait(future.done, 'a result')
        told = future.result().result.result
        return future.result().status, told.result, told.error_message


def test_the_action_reports_every_step_and_can_be_cancelled(graph, start):
    """Give feedback after each step and the result at the end, early after a cancellation."""
    simulation = start(robot='pendulum', real_time_factor=0.5)
    stepping = Stepping(graph)
    status, code, message = stepping.end_of(stepping.send(3))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, FAILED)
    assert 'running' in message
    assert result(simulation('SetSimulationState', state={'state': PAUSED})) == OK

    long = stepping.send(1_000_000)
    graph.wait(lambda: len(stepping.feedback) > 5, 'feedback')
    cancelling = long.cancel_goal_async()
    graph.wait(cancelling.done, 'an answer')
    status, code, _ = stepping.end_of(long)
    assert (status, code) == (GoalStatus.STATUS_CANCELED, OK)

    # rclpy's client drops feedback read after the result: ask for the result later
    stepping.feedback.clear()
    short = stepping.send(3)
    graph.wait(lambda: len(stepping.feedback) == 3, 'feedback of each step')
    assert stepping.feedback == [(1, 2), (2, 1), (3, 0)]
    assert stepping.end_of(short) == (GoalStatus.STATUS_SUCCEEDED, OK, '')
    status, code, message = stepping.end_of(stepping.send(0))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, FAILED)
    assert 'at least 1' in message

    command = graph.advertise(Float64MultiArray, '/effort_controller/commands')
    command.publish(Float64MultiArray(data=[1.7e308]))
    status, code, message = stepping.end_of(stepping.send(1_000_000))
    assert (status, code) == (GoalStatus.STATUS_ABORTED, FAILED)
    assert 'a step failed' in message
    stepping.client.destroy()
    assert end(simulation.process)[0] == 0


def test_goals_end_when_the_simulation_is_unloaded(graph, start_process):
    """Tell waiting clients why no steps are taken; go on after the next configuration."""
    process = start_process(
        '-m',
        'sim_bridge',
        'node',
        '--managed',
        '--ros-args',
        '-p',
        'robot:=pendulum',
        '-p',
        'paused:=true',
        '-p',
        'real_time_factor:=0.5',
    )

    def change(transition: int) -> None:
        request = ChangeState.Request(transition=Transition(id=transition))
        assert graph.call(ChangeState, '/sim_bridge/change_state', request).success

    for _ in range(2):
        change(Transition.TRANSITION_CONFIGURE)
        change(Transition.TRANSITION_ACTIVATE)
        stepping = Stepping(graph)
        goal = stepping.send(1_000_000)
        waiting = goal.get_result_async()
        graph.wait(lambda told=stepping.feedback: len(told) > 5, 'steps')
        change(Transition.TRANSITION_DEACTIVATE)
        change(Transition.TRANSITION_CLEANUP)
        graph.wait(waiting.done, 'a result')
        assert waiting.result().status == GoalStatus.STATUS_ABORTED
        assert 'deactivated' in waiting.result().result.result.error_message
        stepping.client.destroy()
        # otherwise the next client would take it for the next server
        graph.wait(
            lambda: (
                '/simulate_steps/_action/send_goal'
                not in dict(graph.node.get_service_names_and_types())
            ),
            'the end of the action',
        )
    code, output = end(process)
    assert code == 0, output
    assert 'Traceback' not in output


def test_without_the_packages_the_node_names_the_remedy(graph, start_process, tmp_path):
    """Offer nothing from absent packages, and report it."""
    # with its kernels, to avoid compiling them again
    for kernels in folder().glob('*.object'):
        shutil.copy(kernels, tmp_path)
    environment = {**os.environ, 'SIM_BRIDGE_CACHE_DIR': str(tmp_path)}
    hidden = {str(store.python_path(build.build()[0]))}
    environment['PYTHONPATH'] = os.pathsep.join(
        path for path in os.environ['PYTHONPATH'].split(os.pathsep) if path not in hidden
    )
    process = start_process(
        '-m', 'sim_bridge', 'node', '--ros-args', '-p', 'robot:=pendulum', env=environment
    )
    graph.wait_for_next(graph.listen(JointState, '/joint_states'))
    graph.wait(
        lambda: {'/sim_bridge/reset', '/sim_bridge/step'} <= {*graph.services_of('sim_bridge')},
        'its other services',
    )
    kinds = {
        kind.split('/')[0] for types in graph.services_of('sim_bridge').values() for kind in types
    }
    assert kinds.isdisjoint({'simulation_interfaces', 'control_msgs'})
    code, output = end(process)
    assert code == 0, output
    assert 'no services of simulation_interfaces, since simulation_interfaces is not' in output
    assert 'no actions follow_joint_trajectory, since control_msgs is not installed' in output
    assert 'sim_bridge interfaces' in output
