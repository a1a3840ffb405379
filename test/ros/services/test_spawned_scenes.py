"""OpenPLX scenes added and removed: their signals as topics, names, recordings."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from bags import messages_on, read_bag, start_recording
from following import simulator
import pytest
from rclpy.serialization import serialize_message
from ros_graph import end
from sensor_msgs.msg import JointState
from standard_simulation import result
from std_msgs.msg import Float64

from sim_bridge.foundation.errors import ReplayError
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.services.entities import Entities
from sim_bridge.ros.session.spawn_request import prepare, SpawnRequest

pytest_plugins = ['node_fixtures', 'standard_simulation']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# a separate file, for an import
WHEEL = """
Wheel is Physics3D.System:
    disc is Physics3D.Bodies.RigidBody:
        shape is Physics3D.Geometries.Cylinder:
            radius: 0.2
            height: 0.05
        hub is Physics3D.Interactions.MateConnector:
            main_axis: Math.Vec3.Y_AXIS()
    axle is Physics3D.Interactions.MateConnector:
        main_axis: Math.Vec3.Y_AXIS()
    hinge is Physics3D.Interactions.Hinge:
        connectors: [axle, disc.hub]
        angular_velocity_output.enabled: true
    motor is Physics3D.Interactions.RotationalVelocityMotor:
        connectors: hinge.connectors
        target_speed: 2
"""
PAIR = """import @"wheel.openplx"
Pair is Physics3D.System:
    left is Wheel
    right is Wheel:
        axle.position.x: 1
    ball is Physics3D.Bodies.RigidBody:
        inertia.mass: 1
        kinematics.local_transform.position.z: 3
Single is Wheel
"""
SPEED = 'motor/target_angular_velocity_input'
TURNING = 'hinge/angular_velocity_output'


@pytest.fixture
def file(tmp_path) -> Path:
    """Return a file with two models: one of two robots and a body, and the last of one robot."""
    (tmp_path / 'wheel.openplx').write_text(WHEEL, encoding='utf-8')
    path = tmp_path / 'scene.openplx'
    path.write_text(PAIR, encoding='utf-8')
    return path


def topics_of(graph) -> set[str]:
    """Return the topics with a publisher or a subscriber."""
    return {
        name
        for name, _ in graph.node.get_topic_names_and_types()
        if graph.node.get_publishers_info_by_topic(name)
        or graph.node.get_subscriptions_info_by_topic(name)
    }


def test_scenes_come_and_go_with_their_signals(graph, start, file, tmp_path):
    """Spawn two copies, command one over its topics, delete both, and replay it all."""
    simulation = start(record=str(tmp_path / 'bag'))
    one = simulation.spawn(str(file), name='one')
    two = simulation.spawn(
        str(file), name='one', allow_renaming=True, initial_pose={'pose': {'position': {'y': 2.0}}}
    )
    assert [each['entity_name'] for each in (one, two)] == ['one', 'one_2'], (one, two)
    turns = {
        name: graph.listen(Float64, f'/{name}/outputs/{TURNING}') for name in ('one', 'one_2')
    }
    states = graph.listen(JointState, '/one_2/joint_states')
    for heard in turns.values():
        graph.wait(lambda h=heard: h and abs(h[-1].data - 2.0) < 1e-6, 'the speed of the file')
    graph.wait_for_next(states)
    assert states[-1].name == ['hinge']
    command = graph.advertise(Float64, f'/one_2/inputs/{SPEED}')
    command.publish(Float64(data=-1.0))
    graph.wait(lambda: abs(turns['one_2'][-1].data + 1.0) < 1e-6, 'the speed commanded')
    assert abs(turns['one'][-1].data - 2.0) < 1e-6
    # a reset of the state restores the speed in the file
    assert result(simulation('ResetSimulation', scope=2)) == 1
    graph.wait(lambda: abs(turns['one_2'][-1].data - 2.0) < 1e-6, 'the speed of the file')

    assert result(simulation('DeleteEntity', entity='one')) == 1
    graph.wait(
        lambda: (
            not [
                each
                for each in topics_of(graph)
                if each.startswith('/one/') and 'outputs' not in each
            ]
        ),
        'the end of its topics',
    )
    graph.wait(
        lambda: not graph.node.get_publishers_info_by_topic(f'/one/outputs/{TURNING}'),
        'the end of its outputs, which the test itself listens to',
    )
    again = simulation.spawn(str(file), name='one')
    assert again['entity_name'] == 'one', again
    graph.wait_for_next(turns['one'])
    # a reset of spawned entities deletes them
    assert result(simulation('ResetSimulation', scope=4)) == 1
    assert simulation('GetEntities')['entities'] == ['pendulum']

    assert end(simulation.process)[0] == 0
    found = read_bag(tmp_path / 'bag')
    assert messages_on(found, f'/one_2/outputs/{TURNING}', Float64)
    assert [each.data for each in messages_on(found, f'/one_2/inputs/{SPEED}', Float64)] == [-1.0]
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference


def test_a_scene_of_several_is_deleted_by_its_name(graph, start, file):
    """Select its model behind the file; its robots have namespaces within the given one."""
    simulation = start()
    pair = simulation.spawn(
        f'{file}#Pair',
        name='pair',
        entity_namespace='lab',
        initial_pose={'pose': {'position': {'x': 5.0}}},
    )
    assert pair['entity_name'] == 'pair', pair
    assert 'pair_left, pair_right, pair_ball' in pair['result']['error_message']
    assert simulation('GetEntities')['entities'] == [
        'pendulum',
        'pair_left',
        'pair_right',
        'pair_ball',
    ]
    graph.wait(
        lambda: (
            {
                '/lab/pair_left/joint_states',
                '/lab/pair_right/joint_states',
                f'/lab/outputs/left/{TURNING}',
                f'/lab/inputs/right/{SPEED}',
            }
            <= topics_of(graph)
        ),
        'its topics',
    )
    place = simulation('GetEntityState', entity='pair_ball')['state']['pose']['position']
    assert place['x'] == 5.0
    taken = simulation.spawn('pendulum', name='pair')
    assert result(taken) == 101
    same = simulation.spawn(f'{file}#Pair', name='other', entity_namespace='lab')
    assert result(same) == 105, same
    assert result(simulation('DeleteEntity', entity='pair')) == 1
    assert simulation('GetEntities')['entities'] == ['pendulum']
    graph.wait(
        lambda: not [each for each in topics_of(graph) if each.startswith('/lab')],
        'the end of its topics',
    )
    assert result(simulation('DeleteEntity', entity='pair')) == 2


def test_texts_and_defects(graph, start, file):
    """Take a scene's text; refuse an invalid one with its line, and an unknown model."""
    simulation = start()
    assert simulation.spawn(WHEEL, name='disc')['entity_name'] == 'disc'
    for resource, reason in (
        (WHEEL.replace('radius', 'radios'), "'radios'"),
        (f'{file}#Pear', "'Pair'"),
    ):
        refused = simulation.spawn(resource)
        assert result(refused) == 106, refused
        assert reason in refused['result']['error_message']
    spawnables = {each['uri']: each for each in simulation('GetSpawnables')['spawnables']}
    assert {'clock', 'excavator', 'rod', 'pendulum'} <= spawnables.keys()
    assert spawnables['clock']['spawn_bounds']['type'] == 1
    assert 'openplx' in simulation('GetSimulatorFeatures')['features']['spawn_formats']


def entities_of(made) -> Entities:
    """Return a simulator's entities, on this thread alone."""
    return Entities(
        made,
        SimpleNamespace(add=lambda one: None, remove=lambda one: None),
        None,
        SimpleNamespace(call=lambda function: function()),
        SimulatorParameters(),
        None,
    )


def test_the_world_keeps_its_gravity():
    """Ignore a spawned scene's gravity."""
    made = simulator(robot='pendulum')
    text = (
        WHEEL
        + """Moon is Simulation.Environment:
    gravity becomes Simulation.UniformGravitationalField:
        vector: {0, 0, -1.62}
    wheel is Wheel
"""
    )
    pattern = prepare(SpawnRequest(text, 'moon'), SimulatorParameters(), [])
    assert pattern.scene.description.gravity is not None
    assert entities_of(made)._admit(SpawnRequest(text, 'moon'), pattern) == 'moon'
    assert made.world.gravity.tolist() == [0.0, 0.0, -9.81]


def recorded(file, bag) -> None:
    """Record a run with a spawned scene of two robots, and delete one of them."""
    run = start_recording(bag, record_hash_period=0.005)
    made, parameters = run.simulator, SimulatorParameters()
    entities = entities_of(made)
    request = SpawnRequest(
        f'{file}#Pair', 'pair', position=(0.1, 2.0, 1 / 3), orientation=(0.3, 0.1, -0.2, 0.9)
    )
    for step in range(40):
        if step == 10:
            assert entities._admit(request, prepare(request, parameters, [])) == 'pair'
        if step == 20:
            (take,) = [
                each.take
                for one in made.interfaces
                for each in one.command_topics
                if each.name == f'pair/inputs/left/{SPEED}'
            ]
            take(serialize_message(Float64(data=-1.0)))
        if step == 30:
            entities.remove('pair_right')
        made.tick()
    run.recording.close()


def test_a_spawned_scene_is_replayed_to_the_bit(file, tmp_path):
    """Add it again from its files, with its inputs, and delete parts of it."""
    recorded(file, tmp_path / 'bag')
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.messages > 40 + 30 + 20


@pytest.mark.parametrize('changed', ['scene.openplx', 'wheel.openplx'])
def test_a_replay_names_the_changed_file_of_a_spawned_scene(file, tmp_path, changed):
    """The file itself, or an imported one."""
    recorded(file, tmp_path / 'bag')
    with (tmp_path / changed).open('a') as other:
        other.write('# changed\n')
    with pytest.raises(ReplayError, match=changed):
        replay(tmp_path / 'bag')
