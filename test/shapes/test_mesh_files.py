"""Mesh files: all formats read as by Coal, scaled, mirrored, and rejected if broken."""

from __future__ import annotations

from dataclasses import replace
import json

import coal
import numpy as np
import pytest
import trimesh

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes import mesh_files
from sim_bridge.shapes.mesh_cache import hull_of_file, mesh_of_file
from sim_bridge.shapes.mesh_files import FORMATS, load_mesh

# one for each format, maker and up axis; large files would take too long
MESHES = [
    'a1_description/meshes/trunk.dae',
    'anymal_b_simple_description/meshes/foot/anymal_foot.dae',
    'laikago_description/meshes/thigh_mirror.obj',
    'panda_description/meshes/collision/link0.stl',
    'romeo_description/meshes/V1/collision/HeadRoll.dae',
    'solo_description/meshes/stl/with_foot/solo_body.stl',
    'talos_data/meshes/torso/torso_2_collision.STL',
    'ur_description/meshes/ur5/collision/base.stl',
    'z1_description/meshes/collision/z1_Link03.STL',
]

SQUARE_DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="centimeter" meter="0.01"/><up_axis>Y_UP</up_axis></asset>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="12">0 0 0 100 0 0 100 200 0 0 0 300</float_array>
      <technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/>
        <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common>
    </source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="2" material="lost"><input semantic="VERTEX" source="#v" offset="0"/>
      <p>0 1 2 0 2 3</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node><translate>0 0 100</translate>
    <instance_geometry url="#g"><bind_material><technique_common>
      <instance_material symbol="lost" target="#nowhere"/></technique_common></bind_material>
    </instance_geometry></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


@pytest.fixture
def solid() -> trimesh.Trimesh:
    """Return a closed surface without any symmetry."""
    points = np.random.default_rng(3).normal(size=(30, 3)) * (0.1, 0.3, 0.2) + (1.0, 0.0, -0.5)
    return trimesh.convex.convex_hull(points)


@pytest.mark.parametrize('name', MESHES)
def test_files_are_read_as_coal_reads_them(robots_folder, name):
    """Give the same bounding box as Coal (assimp) for robot makers' meshes."""
    path = robots_folder / name
    assert path.is_file(), sorted(str(p) for p in path.parent.glob('*'))[:20]
    scale = np.array([1.0, 2.0, 0.5])
    own = sb.TriangleMesh.from_file(path, scale)
    other = coal.MeshLoader().load(str(path), scale)
    other.computeLocalAABB()
    size = np.abs(own.bounds).max()
    np.testing.assert_allclose(own.bounds[0], other.aabb_local.min_, atol=1e-6 * size)
    np.testing.assert_allclose(own.bounds[1], other.aabb_local.max_, atol=1e-6 * size)


@pytest.mark.parametrize('suffix', ['.stl', '.obj', '.ply', '.glb', '.gltf', '.off'])
def test_formats_agree(solid, tmp_path, suffix):
    """Read one solid from all formats written here, with triangles facing outwards."""
    path = tmp_path / f'solid{suffix.upper()}'
    if suffix == '.gltf':
        files = trimesh.exchange.gltf.export_gltf(trimesh.Scene(solid), embed_buffers=True)
        path.write_bytes(files['model.gltf'])
    else:
        solid.export(path, file_type=suffix[1:])
    mesh = sb.TriangleMesh.from_file(path)
    assert mesh.is_closed
    assert len(mesh.vertices) == len(solid.vertices)
    assert mesh.mass_properties(1.0).mass == pytest.approx(solid.volume, rel=1e-5)


def gltf_beside(solid, folder):
    """Write a .gltf with buffers beside it; return its path."""
    for name, content in trimesh.exchange.gltf.export_gltf(trimesh.Scene(solid)).items():
        (folder / name).write_bytes(content)
    return folder / 'model.gltf'


def test_a_gltf_has_its_buffers_beside_it(solid, tmp_path):
    """Read buffers from other files; notice their changes and name a missing one."""
    path = gltf_beside(solid, tmp_path)
    mesh = mesh_of_file(path)
    assert mesh.mass_properties(1.0).mass == pytest.approx(solid.volume, rel=1e-5)
    gltf_beside(solid.copy().apply_scale(2.0), tmp_path)
    assert mesh_of_file(path).mass_properties(1.0).mass == pytest.approx(
        8.0 * solid.volume, rel=1e-5
    )
    (tmp_path / 'gltf_buffer_0.bin').unlink()
    with pytest.raises(sb.InvalidValueError, match=r"buffer 'gltf_buffer_0\.bin' beside it \(No "):
        sb.ConvexHull.from_file(path)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (
            {'extensionsRequired': ['KHR_draco_mesh_compression', 'KHR_materials_unlit']},
            'requires KHR_draco_mesh_compression;',
        ),
        ({'buffers': [{'uri': '../../etc/passwd', 'byteLength': 4}]}, 'its type is none of .bin'),
        ({'buffers': 5}, 'a valid mesh file'),
        ({'buffers': [{'byteLength': 4}]}, 'a buffer has no uri'),
        ({'accessors': [{'sparse': {}}]}, 'has sparse accessors'),
        ({'meshes': [{'primitives': [{'mode': 6}]}]}, 'has triangle fans'),
    ],
)
def test_gltf_that_cannot_be_read_is_named(solid, tmp_path, change, message):
    """Refuse required extensions, and buffers with another suffix."""
    path = gltf_beside(solid, tmp_path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(sb.InvalidValueError, match=message):
        sb.ConvexHull.from_file(path)


def test_dae_follows_nodes_and_unit_but_not_materials_or_up_axis(tmp_path):
    """Apply node transforms and the file's unit; accept lost materials; ignore the up axis."""
    path = tmp_path / 'square.dae'
    path.write_text(SQUARE_DAE)
    mesh = sb.TriangleMesh.from_file(path)
    np.testing.assert_allclose(mesh.bounds, [[0, 0, 1], [1, 2, 4]], atol=1e-12)


def test_mirrored_mesh_keeps_its_outside_out(solid, tmp_path):
    """Reverse a mirrored mesh's triangles, so that its normals still point outwards."""
    path = tmp_path / 'solid.stl'
    solid.export(path)
    mesh = sb.TriangleMesh.from_file(path, (1.0, -2.0, 1.0))
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    outward = np.einsum('ij,ij->i', np.cross(b - a, c - a), a - mesh.vertices.mean(axis=0))
    assert (outward > 0.0).all()
    assert mesh.mass_properties(1.0).mass == pytest.approx(2.0 * solid.volume, rel=1e-5)


def test_classes_read_files(solid, tmp_path):
    """Build a hull and a mesh from a file with the shape classes."""
    path = tmp_path / 'solid.ply'
    solid.export(path)
    hull = sb.ConvexHull.from_file(path, (2, 2, 2))
    mesh = sb.TriangleMesh.from_file(path, (2, 2, 2))
    assert hull.mass_properties(1.0).mass == pytest.approx(8.0 * solid.volume, rel=1e-5)
    np.testing.assert_array_equal(hull.bounds, mesh.bounds)


def test_files_are_read_once(solid, tmp_path):
    """Return one object for one file and scale, and a new one after a file change."""
    path = tmp_path / 'solid.stl'
    solid.export(path)
    hull = hull_of_file(path, (1, 1, 1))
    assert hull_of_file(str(path), (1.0, 1.0, 1.0)) is hull
    assert hull_of_file(path, (1, 1, 2)) is not hull
    assert mesh_of_file(path) is mesh_of_file(path)
    trimesh.creation.box((1, 2, 3)).export(path)
    np.testing.assert_allclose(hull_of_file(path, (1, 1, 1)).bounds[1], [0.5, 1.0, 1.5])


@pytest.mark.parametrize(
    ('name', 'content', 'message'),
    [
        ('missing.stl', None, 'a file that can be read'),
        ('drawing.dxf', b'', f'one of {", ".join(FORMATS)}'),
        ('broken.stl', b'solid nothing', 'a valid mesh file|a file with triangles'),
        ('broken.dae', b'<COLLADA', 'a valid mesh file'),
        ('empty.dae', b'<COLLADA/>', 'it has no scene'),
        ('broken.ply', b'ply\nformat ascii 1.0\nelement vertex 1\n', 'mesh file'),
        ('points.obj', b'v 0 0 0\nv 1 0 0\nv 0 1 0\n', 'mesh file'),
    ],
)
def test_broken_files_are_named(tmp_path, name, content, message):
    """Name the unreadable file, and the reason."""
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidValueError, match=message) as caught:
        load_mesh(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize('scale', [(1, 0, 1), (1, 1), (1, 1, np.nan)])
def test_scale_is_checked(solid, tmp_path, scale):
    """Reject a flattening scale, or an invalid one."""
    path = tmp_path / 'solid.stl'
    solid.export(path)
    with pytest.raises(InvalidValueError, match='scale'):
        load_mesh(path, scale)


def dae(nodes: str, scene: str = '') -> bytes:
    """Return the square with a library of nodes, and with more nodes in its scene."""
    text = SQUARE_DAE.replace(
        '<library_visual_scenes>', f'<library_nodes>{nodes}</library_nodes><library_visual_scenes>'
    )
    return text.replace('<node><translate>', f'{scene}<node><translate>').encode()


def doubling(levels: int) -> str:
    """Return nodes with the next one four times in each."""
    return (
        ''.join(
            f'<node id="n{k}">{f"""<instance_node url="#n{k + 1}"/>""" * 4}</node>'
            for k in range(levels)
        )
        + f'<node id="n{levels}"><instance_geometry url="#g"/></node>'
    )


SQUARE = '<node><instance_geometry url="#g"/></node>'
POLYGON = ''.join(f'v {np.cos(k):.6f} {np.sin(k):.6f} 0\n' for k in range(1000))


@pytest.mark.parametrize(
    ('name', 'content', 'message'),
    [
        (
            'doubling.dae',
            dae(doubling(25), '<node><instance_node url="#n0"/></node>'),
            'and at most 20000 are read',
        ),
        ('many.dae', dae('', SQUARE * 50_000), 'it places 100002 nodes and geometries'),
        (
            'round.dae',
            dae(
                '<node id="a"><instance_node url="#a"/></node>',
                '<node><instance_node url="#a"/></node>',
            ),
            'is inside itself',
        ),
        ('nan.dae', SQUARE_DAE.replace('100 200 0', 'nan inf 0').encode(), 'are not finite'),
        ('infinite.dae', SQUARE_DAE.replace('100 200 0', '100 INF 0').encode(), 'are not finite'),
        ('nan.obj', b'v 0 0 0\nv 1 0 0\nv nan 1 0\nv 0 1 0\nf 1 2 3\nf 1 2 4\n', 'finite|sound'),
        ('random.stl', np.random.default_rng(1).bytes(5000), 'without a facet in words'),
        ('huge.stl', b'\0' * 80 + b'\xff' * 4 + b'\0' * 50, '4294967295 triangles'),
    ],
    ids=lambda value: value if isinstance(value, str) and '.' in value else '',
)
def test_bombs_are_refused(tmp_path, name, content, message):
    """Reject excessively expanding files and missing numbers, by name and reason."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InvalidValueError, match=message) as caught:
        load_mesh(path)
    assert str(path) in str(caught.value)
    assert 'No module named' not in str(caught.value)


@pytest.mark.parametrize(
    ('limits', 'message'),
    [
        ({'seconds': 1.0}, 'not done within 1 s'),
        ({'memory_bytes': 200 << 20}, 'it may take 200 MB of memory'),
    ],
)
def test_meshes_are_bounded(tmp_path, monkeypatch, limits, message):
    """Abort a mesh reading above the time or memory limit, and continue."""
    path = tmp_path / 'polygon.obj'
    path.write_text(f'{POLYGON}f {" ".join(str(1 + k % 1000) for k in range(4_000_000))}\n')
    monkeypatch.setattr(mesh_files, 'LIMITS', replace(mesh_files.LIMITS, **limits))
    with pytest.raises(InvalidValueError, match=message):
        load_mesh(path)


def test_names_and_texture_coordinates_are_no_obstacle(tmp_path):
    """Read a file with a comment in Latin-1 and with an empty texture coordinate list."""
    path = tmp_path / 'house.obj'
    path.write_bytes(
        '# Gehäuse\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n'.encode(
            'latin-1'
        )
    )
    assert len(load_mesh(path).triangles) == 1
