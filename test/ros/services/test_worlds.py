"""Worlds of simulation_interfaces: loaded, unloaded and listed; named poses, tags and info."""

from __future__ import annotations

import json

import pytest
from ros_graph import end
from standard_simulation import result

pytest_plugins = ['node_fixtures', 'standard_simulation']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

OK, NOT_FOUND, WRONG_STATE = 1, 2, 3
STOPPED, NO_WORLD = 0, 4

YARD = """
world:
  description: A yard with a ball
  tags: [outdoor, flat]
  ground: true
  named_poses:
    gate: {position: [1, 2, 0], rpy: [0, 0, 1.5707963267948966], tags: [spawn], size: [2, 1, 0.5]}
    bench: {position: [3, 0, 0], description: beside the wall}
  objects:
    ball: {sphere: 0.1, position: [0, 0, 0.1]}
"""
# a robot whose collision mesh is missing
BARE = (
    '<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
    'ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><mesh filename="gone.stl"/>'
    '</geometry></collision></link>{}</robot>'
)
CAMERA = '<gazebo reference="a"><sensor name="eye" type="thermal_camera"/></gazebo>'


@pytest.mark.parametrize('version', ['1.5', '2.1'])
def test_worlds_are_loaded_and_unloaded(start, version):
    """Replace the world by another one, stopped at its start; refuse requests without a world."""
    simulation = start(version)
    assert simulation('GetCurrentWorld')['world']['name'] == 'default'
    loaded = simulation.load_world(YARD)
    assert result(loaded) == OK, loaded
    world = loaded['world']
    assert (world['description'], world['tags']) == ('A yard with a ball', ['outdoor', 'flat'])
    assert world['world_resource']['resource_string'] == YARD
    assert simulation('GetSimulationState')['state']['state'] == STOPPED
    assert simulation('GetEntities')['entities'] == ['ground', 'ball']
    assert simulation('GetCurrentWorld')['world'] == world

    assert result(simulation('UnloadWorld')) == OK
    assert simulation('GetSimulationState')['state']['state'] == NO_WORLD
    refused = simulation('GetEntities')
    assert result(refused) == WRONG_STATE and 'LoadWorld' in refused['result']['error_message']
    assert result(simulation('GetCurrentWorld')) == result(simulation('UnloadWorld')) == 101
    assert {40, 43, 44, 45} <= set(simulation('GetSimulatorFeatures')['features']['features'])

    shipped = simulation.load_world('gallery/dominoes')
    assert (result(shipped), shipped['world']['name']) == (OK, 'gallery/dominoes')
    assert 'stone_12' in simulation('GetEntities')['entities']
    spawned = simulation.spawn('pendulum', name='guest')
    assert result(spawned) == OK, spawned
    assert end(simulation.process)[0] == 0


SDF_BOX = (
    '<model name="box"><pose>0 0 1 0 0 0</pose><link name="l"><inertial><mass>1</mass></inertial>'
    '<collision name="c"><geometry><box><size>1 1 1</size></box></geometry></collision></link>'
    '<link name="k"><inertial><mass>1</mass></inertial></link><joint name="j" type="revolute">'
    '<parent>l</parent><child>k</child></joint></model>'
)


def test_sdf_is_loaded_as_a_world_and_spawned_as_a_robot(start, tmp_path):
    """Load a world in SDF by its text and its file, and spawn models by text and file."""
    world = f'<sdf version="1.9"><world name="w">{SDF_BOX}</world></sdf>'
    robot = f'<sdf version="1.9">{SDF_BOX}</sdf>'
    (tmp_path / 'world.sdf').write_text(world)
    (tmp_path / 'robot.sdf').write_text(robot)
    simulation = start()
    for resource in (f'\n{world}', str(tmp_path / 'world.sdf')):
        loaded = simulation.load_world(resource)
        assert result(loaded) == OK, loaded
        assert simulation('GetEntities')['entities'] == ['box']
    for name, resource in (('text', robot), ('file', str(tmp_path / 'robot.sdf'))):
        pose = {'pose': {'position': {'x': 5.0, 'z': 3.0}}}
        spawned = simulation.spawn(resource, name=name, initial_pose=pose)
        assert (result(spawned), spawned['entity_name']) == (OK, name), spawned
    assert simulation('GetEntities')['entities'] == ['box', 'text', 'file']
    assert end(simulation.process)[0] == 0


def test_worlds_that_cannot_be_loaded_are_refused_with_a_code(start, tmp_path):
    """Give the standard's codes; keep the world if the resource is at fault, else unload it."""
    (tmp_path / 'r.urdf').write_text(BARE.format(CAMERA))
    (tmp_path / 'world.txt').write_text('world: {}')
    robot = f'\nworld: {{robots: {{r: {{urdf: {tmp_path / "r.urdf"}}}}}}}'
    simulation = start(paused=True)
    for code, resource, flags, reason in (
        (102, '', {}, 'both'),
        (NOT_FOUND, 'nowhere.yaml', {}, 'no such file'),
        (NOT_FOUND, 'gallery/moon', {}, 'gallery/dominoes'),
        (101, str(tmp_path / 'world.txt'), {}, '.yaml'),
        (101, '\n<robot name="r"/>', {}, 'SpawnEntity'),
        (103, '\nworld: {balls: {}}', {}, 'balls'),
        (103, '\nworld: [', {}, 'world.yaml'),
        (106, robot, {'fail_on_unsupported_element': True}, 'eye'),
    ):
        response = simulation.load_world(resource, **flags)
        assert result(response) == code, response
        assert reason in response['result']['error_message'], response
    assert simulation('GetEntities')['entities'] == ['pendulum']
    missing = simulation.load_world(robot)
    assert result(missing) == 104, missing
    assert 'gone.stl' in missing['result']['error_message']
    assert simulation('GetSimulationState')['state']['state'] == NO_WORLD
    lenient = simulation.load_world(robot, ignore_missing_or_unsupported_assets=True)
    assert result(lenient) == OK, lenient
    assert simulation('GetEntities')['entities'] == ['r']
    assert end(simulation.process)[0] == 0


def test_worlds_are_listed_with_their_tags(start, tmp_path):
    """List the gallery, the files beside the world, and further sources; filter by tags."""
    (tmp_path / 'yard.yaml').write_text(YARD)
    (tmp_path / 'none.yaml').write_text('{other: 1}')
    more = tmp_path / 'more'
    more.mkdir()
    (more / 'hall.yaml').write_text(json.dumps({'world': {'tags': ['indoor'], 'ground': True}}))
    simulation = start(paused=True, robot='', world=str(tmp_path / 'yard.yaml'))
    assert simulation('GetCurrentWorld')['world']['tags'] == ['outdoor', 'flat']
    listed = simulation('GetAvailableWorlds')
    names = [each['name'] for each in listed['worlds']]
    assert result(listed) == OK and {'gallery/dominoes', 'yard'} <= set(names)
    assert 'none' not in names
    found = simulation(
        'GetAvailableWorlds',
        additional_sources=[str(more)],
        filter={'tags': ['indoor', 'outdoor'], 'filter_mode': 0},
    )
    assert [each['name'] for each in found['worlds']] == ['yard', 'hall']
    (hall,) = [each for each in found['worlds'] if each['name'] == 'hall']
    both = {'tags': ['outdoor', 'flat'], 'filter_mode': 1}
    assert len(simulation('GetAvailableWorlds', filter=both)['worlds']) == 1
    gone = simulation('GetAvailableWorlds', additional_sources=['/nowhere'])
    assert result(gone) == NOT_FOUND and '/nowhere' in gone['result']['error_message']
    lenient = simulation(
        'GetAvailableWorlds', additional_sources=['/nowhere'], continue_on_error=True
    )
    assert result(lenient) == OK and '/nowhere' in lenient['result']['error_message']
    assert result(simulation.load_world(hall['world_resource']['uri'])) == OK
    assert simulation('GetEntities')['entities'] == ['ground']
    assert end(simulation.process)[0] == 0


@pytest.mark.parametrize('version', ['1.5', '2.1'])
def test_named_poses_tags_and_info(start, tmp_path, version):
    """List a scene's poses with their bounds; set an entity's category, text and tags."""
    path = tmp_path / 'yard.yaml'
    path.write_text(YARD)
    simulation = start(version, paused=True, robot='', world=str(path))
    poses = {each['name']: each for each in simulation('GetNamedPoses')['poses']}
    assert list(poses) == ['gate', 'bench']
    assert poses['bench']['description'] == 'beside the wall'
    gate = poses['gate']['pose']
    assert list(gate['position'].values()) == [1.0, 2.0, 0.0]
    assert gate['orientation']['z'] == pytest.approx(0.5**0.5)
    tagged = simulation('GetNamedPoses', tags={'tags': ['spawn']})['poses']
    assert [each['name'] for each in tagged] == ['gate']
    bounds = simulation('GetNamedPoseBounds', name='gate')['bounds']
    # the box turns with the pose
    upper, lower = (list(corner.values()) for corner in bounds['points'])
    assert (lower, upper) == (pytest.approx([0.5, 1.0, -0.25]), pytest.approx([1.5, 3.0, 0.25]))
    assert simulation('GetNamedPoseBounds', name='bench')['bounds']['type'] == 0
    unknown = simulation('GetNamedPoseBounds', name='door')
    assert result(unknown) == NOT_FOUND and 'gate, bench' in unknown['result']['error_message']

    info = {'category': {'category': 4}, 'description': 'a red ball', 'tags': ['red', 'round']}
    assert result(simulation('SetEntityInfo', entity='ball', info=info)) == OK
    assert simulation('GetEntityInfo', entity='ball')['info'] == info
    for filters, expected in (
        ({'tags': {'tags': ['red']}}, ['ball']),
        ({'tags': {'tags': ['red', 'square'], 'filter_mode': 1}}, []),
        ({'tags': {'tags': ['red', 'square'], 'filter_mode': 0}}, ['ball']),
        ({'categories': [{'category': 4}]}, ['ball']),
    ):
        assert simulation('GetEntities', filters=filters)['entities'] == expected
    wrong = {'category': {'category': 77}}
    refused = simulation('SetEntityInfo', entity='ball', info=wrong)
    assert result(refused) == 4 and 'robot' in refused['result']['error_message']
    if version == '2.1':
        moved = simulation('SetEntityState', entity='ball', state={}, set_acceleration=True)
        assert result(moved) == OK and 'acceleration' in moved['result']['error_message']
        pushed = {'acceleration': {'linear': {'x': 1.0}}}
        refused = simulation(
            'SetEntityState', entity='ground', state=pushed, set_acceleration=True
        )
        assert result(refused) == 4
    assert end(simulation.process)[0] == 0
