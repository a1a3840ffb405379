"""Values set in file content by path, and the parameter `world_values`."""

from __future__ import annotations

import pytest

from sim_bridge.description.report import SceneError
from sim_bridge.description.scene.load import read_scene
from sim_bridge.description.yaml.overlay import overlaid, path_text, read_path
from sim_bridge.foundation.errors import InvalidValueError


@pytest.mark.parametrize(
    ('text', 'path'),
    [
        ('a', ('a',)),
        ('a.b-c._d', ('a', 'b-c', '_d')),
        ('a[2].b', ('a', 2, 'b')),
        ("a['x.y'][0]", ('a', 'x.y', 0)),
        ('a["left/hand"]', ('a', 'left/hand')),
    ],
)
def test_paths_are_read_and_written(text, path):
    """Read keys, items, and keys in quotes."""
    assert read_path(text, 'path') == path
    assert read_path(path_text(path), 'path') == path


@pytest.mark.parametrize(
    'text', ['', '.', 'a.', '.a', 'a..b', '[0]', 'a[]', 'a[-1]', 'a b', 3, 'a[x]', "a['b]", None]
)
def test_malformed_paths_are_refused(text):
    """Explain the path notation."""
    with pytest.raises(InvalidValueError, match='keys with dots between'):
        read_path(text, 'path')


def test_values_go_where_they_belong():
    """Replace values, add keys, and leave the original content unchanged."""
    content = {'a': {'b': [1, {'c': 2}]}, 'd': None}
    found = overlaid(
        content, {('a', 'b', 1, 'c'): 3, ('a', 'e', 'f'): 4, ('d', 'g'): 5, ('h',): [6]}
    )
    assert found == {'a': {'b': [1, {'c': 3}], 'e': {'f': 4}}, 'd': {'g': 5}, 'h': [6]}
    assert content == {'a': {'b': [1, {'c': 2}]}, 'd': None}


@pytest.mark.parametrize(
    ('path', 'told'),
    [
        (('a', 'b', 7), 'the number of an existing item, below 2'),
        (('a', 0), 'is not a list'),
        (('a', 'b', 'c'), 'is not a mapping'),
    ],
)
def test_paths_that_lead_nowhere_are_refused(path, told):
    """Refuse missing items, and keys below values without keys."""
    with pytest.raises(InvalidValueError, match=told):
        overlaid({'a': {'b': [1, 2]}}, {path: 0})


def test_scenes_are_read_with_other_values(tmp_path):
    """Read values as if they were in the file, and report their defects."""
    file = tmp_path / 'hall.yaml'
    file.write_text('world:\n  objects:\n    ball: {sphere: 0.1, mass: 1, position: [0, 0, 1]}\n')
    scene = read_scene(file, '{objects.ball.mass: 2, "objects.ball.position[2]": 3, ground: true}')
    (ball,) = scene.bodies
    assert (ball.arguments['mass'], ball.arguments['position']) == (2.0, (0.0, 0.0, 3.0))
    assert scene.ground == {} and read_scene(file).ground is None
    with pytest.raises(SceneError, match='must be a number'):
        read_scene(file, '{objects.ball.mass: heavy}')
    with pytest.raises(InvalidValueError, match='YAML of values by their paths'):
        read_scene(file, '[1, 2]')
