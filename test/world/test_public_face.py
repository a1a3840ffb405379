"""What worlds and their parts show, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

import sim_bridge as sb


@pytest.fixture(scope='module')
def things():
    """Return one of each public class of a world that has taken some steps."""
    world = sb.World()
    world.add_ground()
    robot = world.load_urdf('urdf/tracked_vehicle.urdf', name='tank', position=(0.0, 0.0, 0.14))
    world.step(5)
    return {'world': world, 'robot': robot, 'link': robot.root_link,
            'geometry': robot.geometries[0], 'crawler': robot.crawlers[0]}


@pytest.mark.parametrize(('what', 'there', 'internal'), [
    ('world', {'step', 'robots', 'add_joint', 'save', 'materials'},
     {'simulation', 'registry', 'tree', 'settle', 'invalidate', 'admit', 'dismiss', 'regroup'}),
    ('robot', {'q', 'links', 'command_effort', 'motion', 'world'},
     {'simulation', 'slot', 'part', 'blueprint', 'bind', 'rebuild', 'wake', 'site'}),
    ('link', {'p', 'R', 'add_force', 'joint', 'robot'}, {'slot', 'placement', 'surroundings'}),
    ('geometry', {'enabled', 'material', 'link'}, {'slot', 'index', 'record', 'put_on'}),
    ('crawler', {'speed', 'axis'}, set()),
])
def test_users_are_shown_what_is_theirs(things, what, there, internal):
    """List by dir what users need, and nothing of the inside."""
    shown = set(dir(things[what]))
    assert there <= shown
    assert not shown & internal
    assert not [name for name in shown if name.startswith('_')]


@pytest.mark.parametrize(('what', 'name', 'meant'), [
    ('world', 'gravty', 'gravity'), ('robot', 'joint_name', 'joint_names'),
    ('link', 'gemetries', 'geometries'), ('geometry', 'enable', 'enabled'),
    ('crawler', 'sped', 'speed'),
])
def test_unknown_attributes_are_refused(things, what, name, meant):
    """Refuse to read or set what is not there, and name what was probably meant."""
    for use in (lambda: getattr(things[what], name), lambda: setattr(things[what], name, 1.0)):
        with pytest.raises(AttributeError, match=f"'{name}'.*did you mean '{meant}'"):
            use()


@pytest.mark.parametrize(('what', 'name'), [
    ('world', 'time'), ('robot', 'mass'), ('link', 'p'), ('geometry', 'shape')])
def test_what_is_only_read_is_not_set(things, what, name):
    """Refuse to set what follows from other things."""
    with pytest.raises(AttributeError, match=name):
        setattr(things[what], name, np.zeros(3))


def test_representations_say_how_it_is(things):
    """Show time, sizes, mass and place, which one looks for first."""
    world, robot = things['world'], things['robot']
    assert repr(world).startswith('<World at 0.005 s (step 5): 2 robots (ground, tank), ')
    assert f'{world.contact_count} contacts' in repr(world)
    assert f'{robot.mass:.4g} kg' in repr(robot) and 'base dynamic' in repr(robot)
    assert f"of 'tank' at ({robot.root_link.p[0]:.4g}, " in repr(things['link'])
    contact = max(world.contacts, key=lambda each: np.linalg.norm(each.force))
    assert 'ground' in repr(contact) and ' N, ' in repr(contact) and 'm deep' in repr(contact)


def test_a_removed_robot_can_still_be_shown():
    """Tell by repr that a robot and its links were removed, rather than fail."""
    world = sb.World()
    body = world.add_body(sb.Sphere(0.1), 'ball', mass=1.0)
    link = body.root_link
    world.remove(body)
    assert '0 robots' in repr(world) and 'ball' in repr(body.geometries[0])
    assert 'removed' in repr(body) and 'removed' in repr(link)
