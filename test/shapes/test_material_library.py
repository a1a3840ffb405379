"""Material library: presets, user materials, and their pairs in worlds."""

from __future__ import annotations

import json
import pickle

from contact_worlds import add_block, G
import pytest

import sim_bridge as sb
from sim_bridge.shapes.materials import MaterialLibrary

OWN = {
    'source': 'measured here',
    'materials': {
        'slate': {'density': 2800.0, 'friction': 0.5, 'source': 'a quarry'},
        'larch': {'density': 590.0, 'friction': 0.3, 'kind': 'wood'},
    },
    'contact_materials': [{'between': ['wood', 'slate'], 'friction': 0.37, 'restitution': 0.1}],
}


def test_presets_match_handbooks():
    """Load by name: steel's density and friction, its pair with aluminium in either order."""
    steel = sb.materials.load('steel')
    assert (steel.name, steel.density, steel.friction) == ('steel', 7850.0, 0.57)
    assert set(sb.materials.names()) >= {'steel', 'aluminium', 'wood', 'rubber', 'ice', 'glass'}
    library = MaterialLibrary()
    assert library.contact_material('steel', 'aluminium').friction == 0.47
    assert library.contact_material('aluminium', 'steel').friction == 0.47
    assert library.contact_material('aluminium', 'leather') is None
    assert all(library[name].density > 100.0 for name in library)


def test_kinds_share_the_contact_materials_of_their_kind():
    """Find wood's contact material for birch, too."""
    library = MaterialLibrary()
    assert library.contact_material('birch', 'steel') == library.contact_material('steel', 'wood')
    assert library.load('birch').kind == 'wood'


@pytest.mark.parametrize('order', [('steel', 'aluminium'), ('aluminium', 'steel')])
def test_world_finds_the_pair_in_either_order(order):
    """Slide aluminium on steel with 0.47, not with the mean, added in either order."""
    world = sb.World()
    for name in order:
        world.materials.add(sb.materials.load(name))
    world.add_ground(material='steel')
    block = add_block(world, material='aluminium')
    world.step(20)
    block.set_base_velocity((1.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    world.step(100)
    assert block.root_link.v[0] == pytest.approx(1.0 - 0.1 * 0.47 * G, abs=1e-6)
    assert world.materials.contact_material('steel', 'aluminium').friction2 == 0.47
    # implicit rules without a preset for the pair; an explicit contact material has priority
    mean = world.materials.contact_material('aluminium', 'default')
    assert mean.friction == pytest.approx(1.4**0.5)
    world.set_contact_material('aluminium', 'steel', sb.ContactMaterial(restitution=0.3))
    both = world.materials.contact_material('steel', 'aluminium')
    assert (both.friction, both.restitution) == (0.47, 0.3)


def test_density_of_a_preset_weighs():
    """Weigh a body by the density of its preset, original or changed."""
    world = sb.World()
    size, volume = (0.1, 0.2, 0.3), 0.006
    assert world.add_body(sb.Box(size), material=sb.materials.load('steel')).mass == pytest.approx(
        7850 * volume
    )
    light = sb.materials.load('steel', name='foam steel', density=100.0)
    assert world.add_body(sb.Box(size), material=light).mass == pytest.approx(0.6)
    assert light.kind == 'steel'
    assert pickle.loads(pickle.dumps(light)) == light


@pytest.mark.parametrize('as_file', [True, False])
def test_users_extend_the_library(tmp_path, as_file):
    """Read user materials and pairs from a JSON file or a mapping."""
    source = OWN
    if as_file:
        source = tmp_path / 'own.json'
        source.write_text(json.dumps(OWN))
    library = MaterialLibrary(source, {'materials': {'steel': {'density': 7900.0}}})
    assert library['slate'].density == 2800.0
    assert library['steel'].density == 7900.0
    assert library.contact_material('slate', 'larch').friction == 0.37
    assert library.contact_material('oak', 'slate').restitution == 0.1
    world = sb.World()
    for name in ('oak', 'slate'):
        world.materials.add(library.load(name))
    assert world.materials.contact_material('slate', 'oak').friction == 0.37
    assert 'slate' not in sb.materials.names()


def test_scenes_name_presets(tmp_path):
    """Read presets, changes to them, and user libraries in scene files."""
    (tmp_path / 'own.json').write_text(json.dumps(OWN))
    (tmp_path / 'scene.yaml').write_text("""
world:
  material_libraries: [own.json]
  materials:
    roof: {library: slate}
    beam: {library: oak, density: 700}
  objects:
    block: {box: [0.1, 0.1, 0.1], material: beam, position: [0, 0, 1]}
    tile: {box: [0.1, 0.1, 0.01], material: roof, position: [1, 0, 1]}
""")
    world = sb.World()
    world.load_scene(tmp_path / 'scene.yaml')
    assert world.robots['block'].mass == pytest.approx(0.7)
    assert world.robots['tile'].mass == pytest.approx(0.28)
    assert world.materials.contact_material('beam', 'roof').friction == 0.37


@pytest.mark.parametrize(
    ('source', 'words'),
    [
        ({'material': {}}, "'materials'"),
        ({'materials': []}, 'a mapping'),
        ({'materials': {'a': 3}}, r'materials\.a'),
        ({'materials': {'a': {'densty': 3}}}, "Did you mean 'density'"),
        ({'materials': {'a': {'density': -3}}}, r'density = -3 .*materials\.a'),
        ({'contact_materials': {}}, 'a list'),
        ({'contact_materials': [3]}, r'contact_materials\[0\]'),
        ({'contact_materials': [{'friction': 1}]}, 'between = None'),
        ({'contact_materials': [{'between': ['steel', 'stel']}]}, "Did you mean 'steel'"),
        ({'contact_materials': [{'between': ['steel', 'ice'], 'motion': 1}]}, "'motion'"),
        ({'contact_materials': [{'between': ['steel', 'ice'], 'friction': -1}]}, 'friction = -1'),
        (3, 'a JSON file or a mapping'),
    ],
)
def test_wrong_libraries_are_refused(source, words):
    """Name the error, its place and the accepted values."""
    with pytest.raises(sb.SimBridgeError, match=words):
        MaterialLibrary(source)


def test_wrong_files_and_names_are_refused(tmp_path):
    """Reject invalid JSON, missing files, and unknown names."""
    (tmp_path / 'bad.json').write_text('{"materials": ')
    with pytest.raises(sb.InvalidValueError, match='expected JSON'):
        MaterialLibrary(tmp_path / 'bad.json')
    with pytest.raises(FileNotFoundError):
        MaterialLibrary(tmp_path / 'none.json')
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'steel'"):
        sb.materials.load('stel')
    with pytest.raises(sb.UnknownNameError, match="Did you mean 'density'"):
        sb.materials.load('steel', densty=3.0)
    (tmp_path / 'scene.yaml').write_text(
        'world: {material_libraries: [none.json], materials: {a: {library: stel}}}'
    )
    with pytest.raises(sb.SimBridgeError, match='none.json') as caught:
        sb.World().load_scene(tmp_path / 'scene.yaml')
    assert "Did you mean 'steel'" in str(caught.value)
