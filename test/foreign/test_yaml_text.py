"""Small YAML texts expanding greatly, and texts with invalid values."""

from __future__ import annotations

import pytest

import sim_bridge as sb
from sim_bridge.description import DescriptionError
from sim_bridge.foreign.yaml_text import load_yaml, YamlTextError
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.node_arguments import parameter_in
from sim_bridge.ros.params.parameter_files import parameters_in


def aliases(levels: int) -> str:
    """Return a text with nested lists: ten times as many values with each level."""
    lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    lines += [f'a{k}: &a{k} [{", ".join([f"*a{k - 1}"] * 10)}]' for k in range(1, levels)]
    return '\n'.join([*lines, f'world: *a{levels - 1}'])


REFUSED = [
    (aliases(9), 'aliases repeat more than'),
    ('world: &a [*a]', 'contains itself'),
    ('world: &a {b: *a}', 'contains itself'),
    ('world: ' + '[' * 5000, 'nested too deeply'),
    ('world: ' + '[' * 200 + ']' * 200, 'nested too deeply'),
    (f'? {"k" * 1_000_000}\n: 1', 'a key of 1000000 characters'),
    (f'world: {"9" * 5000}', 'a number of 5000 characters'),
    (f'world: 0x{"f" * 6000}', 'a number of 6002 characters'),
    ('world: !!int "x"', 'invalid value of type int'),
    ('world: !!float ""', 'invalid value of type float'),
    ('world: !!timestamp x', 'invalid value of type timestamp'),
    ('world: {[1, 2]: 3}', 'a key must be a text or a number'),
    ('world: {? {a: 1} : 2}', 'a key must be a text or a number'),
    ('world: !!python/object/apply:os.getpid []', 'could not determine a constructor'),
    (b'world: \xff', 'UTF-8'),
]


# texts and floats in parameter files, as for rcl
REFUSED_IN_SCENES = [
    (f'world: {"1" * 300}', 'an integer of 994 bits'),
    ('world: 2020-99-01', 'invalid value of type timestamp'),
]


@pytest.mark.parametrize(('text', 'said'), REFUSED, ids=[str(text)[:30] for text, _ in REFUSED])
def test_other_than_plain_data_is_refused(tmp_path, text, said):
    """Refuse it in a scene and in a parameter file, with its line, briefly."""
    file = tmp_path / 'file.yaml'
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DescriptionError, match=said) as caught:
        sb.World().load_scene(file)
    assert len(str(caught.value)) < 1000
    with pytest.raises(InvalidValueError, match=said) as caught:
        parameters_in(file, '/sim_bridge')
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(('text', 'said'), REFUSED_IN_SCENES)
def test_dates_and_large_integers_are_refused_in_scenes(tmp_path, text, said):
    """Refuse them with their line."""
    file = tmp_path / 'file.yaml'
    file.write_text(text)
    with pytest.raises(DescriptionError, match=said):
        sb.World().load_scene(file)


def test_lines_are_reported():
    """Name the line of an invalid value."""
    with pytest.raises(YamlTextError, match=r'^line 3: '):
        load_yaml('a: 1\nb:\n  c: 2020-99-01\n')


def test_a_few_aliases_are_read():
    """Read aliases and merges as used for robots."""
    assert load_yaml('a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: [*a, *a]') == {
        'a': {'x': 1},
        'b': {'x': 1, 'y': 2},
        'c': [{'x': 1}, {'x': 1}],
    }


def test_errors_show_little_of_repeated_values():
    """Show the beginning of a value containing the same list a thousand times."""
    with pytest.raises(DescriptionError) as caught:
        sb.World().load_scene({'world': {'gravity': load_yaml(aliases(4))['world']}})
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize('text', ['{[1]: 2}', '\udcff', 'a\udcff b', '9' * 5000, '!!int x'])
def test_arguments_of_programs_are_refused_alike(text):
    """Refuse a command line parameter by its name."""
    with pytest.raises(InvalidValueError, match='NAME:=VALUE'):
        parameter_in(f'rate:={text}')


@pytest.mark.parametrize('inertia', ['[1, [], 2]', '[[], [], []]', '[]', '[[1, 2], [3]]'])
def test_arrays_that_are_none_are_refused(inertia):
    """Refuse lists with rows of unequal length."""
    body = {'box': [1, 1, 1], 'mass': 1, 'inertia': load_yaml(inertia)}
    with pytest.raises(DescriptionError, match='must be a list of numbers'):
        sb.World().load_scene({'world': {'objects': {'a': body}}})
