"""Boolean parameters accept only booleans: 'no' does not count as true."""

from __future__ import annotations

import re

from linkages import body, X, Y
import numpy as np
import pytest
from robots import link, pendulum, robot

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError

LOOSE = robot(link('base', 1.0))


@pytest.fixture
def world():
    """Return a world with a box, another body, and a pendulum."""
    world = sb.World()
    world.add_body(sb.Box((1.0, 1.0, 1.0)), 'box')
    body(world, 3.0 * X, name='ball')
    world.load_urdf(pendulum(), name='pendulum')
    return world


def links(world):
    """Return the links of the first two bodies."""
    return [world.robots[name].root_link for name in ('box', 'ball')]


def assign(find, name):
    """Return a function that sets an attribute on a part of a world."""
    return lambda world, value: setattr(find(world), name, value)


def box(world):
    """Return the box's geometry."""
    return world.geometries[0]


# setters of boolean values, and the place named in their errors
TRUTHS = {
    'time': lambda world, value: world.reset(value),
    'excluded': lambda world, value: world.exclude(*links(world), value),
    'collide': lambda world, value: world.set_group_collision('a', 'b', value),
    'gravity': assign(lambda world: links(world)[0], 'gravity'),
    'gravity_mode': assign(lambda world: world.robots['pendulum'], 'gravity_mode'),
    'hold': assign(lambda world: world.robots['pendulum'], 'hold'),
    'enabled': assign(box, 'enabled'),
    'sensor': assign(box, 'sensor'),
    'collide of a joint': lambda world, value: world.add_joint(
        'ball', *links(world), collide=value
    ),
    'euler': lambda world, value: world.add_angular_motor(*links(world), [X, Y], euler=value),
    'sensor of a shape': lambda _, value: sb.Placed(sb.Sphere(0.1), sensor=value),
    'enabled of a shape': lambda _, value: sb.Placed(sb.Sphere(0.1), enabled=value),
    'mass of a shape': lambda _, value: sb.Placed(sb.Sphere(0.1), mass=value),
}
# these accept None, too
CHOICES = {
    'self_collision': lambda world, value: world.load_urdf(LOOSE, self_collision=value),
    'tree': lambda world, value: world.add_joint('ball', *links(world), tree=value),
    'sleep': lambda _, value: sb.World(sleep=value),
}
PLACES = {
    'gravity': "robot 'box', link 'box'",
    'gravity_mode': "robot 'pendulum'",
    'hold': "robot 'pendulum'",
    'enabled': "geometry 'box_collision_0'",
    'sensor': "geometry 'box_collision_0'",
    'collide of a joint': 'add_joint',
    'tree': 'add_joint',
    'euler': 'add_angular_motor',
    'sensor of a shape': 'geometry',
    'enabled of a shape': 'geometry',
    'mass of a shape': 'geometry',
}


OTHERS = ('no', '', 0, 1, 1.0, np.int64(1), [], (), np.array([True]))


@pytest.mark.parametrize('name', [*TRUTHS, *CHOICES])
def test_non_booleans_are_refused(world, name):
    """Raise, naming the parameter, its value and its place, and keep the world unchanged."""
    before = world.state_hash()
    for value in OTHERS if name in CHOICES else (*OTHERS, None):
        with pytest.raises(InvalidValueError) as caught:
            (TRUTHS | CHOICES)[name](world, value)
        assert caught.value.quantity == name.split()[0]
        assert caught.value.value is value
        assert PLACES.get(name, '') in str(caught.value)
        assert {'True', 'False'} <= set(re.findall(r'\w+', caught.value.expected))
    assert (world.state_hash(), len(world.joints), len(world.robots)) == (before, 0, 3)


@pytest.mark.parametrize('name', [*TRUTHS, *CHOICES])
def test_booleans_are_accepted(world, name):
    """Accept Python's and NumPy's, and None if it has a meaning."""
    for value in (True, False, np.True_, np.False_, *([None] if name in CHOICES else [])):
        (TRUTHS | CHOICES)[name](world, value)
        for joint in list(world.joints.values()):
            world.remove_joint(joint)
