"""Appearance of mesh files: compared with trimesh with access to all files, and manually."""

from __future__ import annotations

import io
import time

import numpy as np
from PIL import Image
import pytest
import trimesh

from sim_bridge.foreign.appearance import read_appearance
from sim_bridge.foreign.reader_process import ReadingError, sharing
from sim_bridge.page.appearance_library import Library
from sim_bridge.page.render_meshes import model_of, with_creases
from sim_bridge.shapes.mesh_files import load_mesh

# from several makers; with pictures, plain colours, and none
MESHES = [
    'anymal_c_simple_description/meshes/drive.dae',
    'anymal_b_simple_description/meshes/foot/anymal_foot.dae',
    'laikago_description/meshes/thigh_mirror.obj',
    'solo_description/meshes/stl/with_foot/solo_body.stl',
]

OBJ = """mtllib a%20b.mtl
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
vt 0 0
vt 1 0
vt 0 1
usemtl red
f 1 2 3
usemtl painted
f 1/1 2/2 4/3
usemtl lost
f 2 3 4
"""
MTL = """newmtl red
Kd 1 0 0
d 0.5
newmtl painted
Kd 1 1 1
map_Kd pictures/paint.png
newmtl lost
Kd 0 1 0
map_Kd gone.png
map_Kd ../../etc/passwd
"""
DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit meter="0.01"/></asset>
  <library_effects><effect id="e"><profile_COMMON><technique sid="t"><lambert>
    <diffuse><color>0.2 0.4 0.6 1</color></diffuse>{effect}</lambert></technique></profile_COMMON>
  </effect></library_effects>
  <library_materials><material id="m"><instance_effect url="{url}"/></material></library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="9">0 0 0 100 0 0 100 200 0</float_array>
      <technique_common><accessor source="#a" count="3" stride="3"><param name="X" type="float"/>
        <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common>
    </source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="1" material="s"><input semantic="VERTEX" source="#v" offset="0"/>
      <p>0 1 2</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node>
    <instance_geometry url="#g"><bind_material><technique_common>
      <instance_material symbol="s" target="#m"/></technique_common></bind_material>
    </instance_geometry></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


@pytest.fixture(scope='module', autouse=True)
def _one_reader():
    with sharing():
        yield


def soup(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Return the corners of all triangles with an area, in a canonical order."""
    corners = np.asarray(vertices, float)[triangles]
    areas = np.linalg.norm(
        np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1
    )
    rows = corners[areas > 1e-9].mean(axis=1)
    return rows[np.lexsort(np.round(rows, 4).T)]


@pytest.mark.parametrize('name', MESHES)
def test_robots_look_as_trimesh_reads_them(robots_folder, name):
    """Find the collision surface, and the colours and pictures found by trimesh alone."""
    path = robots_folder / name
    appearance = read_appearance(path)
    surface = load_mesh(path)
    ours = np.concatenate([soup(each.vertices, each.triangles) for each in appearance.pieces])
    theirs = soup(surface.vertices, surface.triangles)
    assert ours.shape == theirs.shape
    assert np.sort(ours, axis=0) == pytest.approx(np.sort(theirs, axis=0), abs=1e-5)
    materials = [
        getattr(each.visual, 'material', None)
        for each in trimesh.load_scene(path).geometry.values()
    ]
    pictures = [
        image
        for each in materials
        if each is not None
        and (image := getattr(each, 'baseColorTexture', None) or getattr(each, 'image', None))
        is not None
    ]
    assert len(
        {id(each.picture) for each in appearance.pieces if each.picture is not None}
    ) == len({id(each) for each in pictures})
    wanted = {
        tuple(np.round(trimesh.visual.color.to_rgba(each.baseColorFactor)[:3] / 255.0, 2))
        for each in materials
        if getattr(each, 'baseColorFactor', None) is not None
    }
    if wanted:
        assert {tuple(np.round(each.color[:3], 2)) for each in appearance.pieces} == wanted


def test_obj_has_materials_pictures_and_gaps(tmp_path):
    """Read colour, opacity and picture from MTL; report missing files, open no others."""
    (tmp_path / 'pictures').mkdir()
    picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    Image.fromarray(picture).save(tmp_path / 'pictures' / 'paint.png')
    (tmp_path / 'a b.mtl').write_text(MTL)
    (tmp_path / 'a.obj').write_text(OBJ)
    appearance = read_appearance(tmp_path / 'a.obj')
    by_color = {each.color: each for each in appearance.pieces}
    # a missing picture is grey
    assert by_color.keys() == {(1.0, 0.0, 0.0, 0.5), (1.0,) * 4, (0.0, 0.6, 0.0, 1.0)}
    painted = by_color[1.0, 1.0, 1.0, 1.0]
    assert (painted.picture[..., :3] == picture).all() and (painted.picture[..., 3] == 255).all()
    assert painted.mean_color == pytest.approx((*picture.mean(axis=(0, 1)) / 255.0, 1.0))
    at = {
        tuple(vertex): tuple(place)
        for vertex, place in zip(painted.vertices.tolist(), painted.places.tolist(), strict=True)
    }
    assert at == {(0, 0, 0): (0, 0), (1, 0, 0): (1, 0), (0, 0, 1): (0, 1)}
    assert appearance.missing == ('gone.png', '../../etc/passwd')


@pytest.mark.parametrize(
    ('effect', 'url', 'color'),
    [
        ('', '#e', (0.2, 0.4, 0.6, 1.0)),
        (
            '<transparent opaque="A_ONE"><color>1 1 1 0.25</color></transparent>',
            '#e',
            (0.2, 0.4, 0.6, 0.25),
        ),
        (
            '<transparent opaque="A_ONE"><color>1 1 1 0</color></transparent>',
            '#e',
            (0.2, 0.4, 0.6, 1.0),
        ),
        ('', '#nowhere', None),
    ],
)
def test_dae_has_colours_unless_they_are_broken(tmp_path, effect, url, color):
    """Apply unit and material; a missing material costs no triangle."""
    (tmp_path / 'a.dae').write_text(DAE.format(effect=effect, url=url))
    (piece,) = read_appearance(tmp_path / 'a.dae').pieces
    assert soup(piece.vertices, piece.triangles) == pytest.approx(
        np.array([[2, 2, 0]]) / 3, abs=1e-6
    )
    if color is None:
        assert piece.color in (None, (1.0,) * 4)
    else:
        assert piece.color == pytest.approx(color, abs=1 / 255)


@pytest.mark.parametrize('suffix', ['.ply', '.glb'])
def test_colours_of_faces_and_vertices_are_kept(tmp_path, suffix):
    """Read trimesh's output: red and green halves; a single colour becomes the piece's."""
    box = trimesh.creation.box((1, 2, 3))
    colors = np.array([[255, 0, 0, 255]] * 6 + [[0, 128, 0, 255]] * 6, np.uint8)
    path = tmp_path / f'box{suffix}'
    box.visual.face_colors = colors
    if suffix == '.glb':
        box.unmerge_vertices()
        box.visual = trimesh.visual.ColorVisuals(box, vertex_colors=np.repeat(colors, 3, axis=0))
    box.export(path)
    (piece,) = read_appearance(path).pieces
    found = {tuple(color) for color in piece.colors.tolist()}
    # glTF colours are linear
    green = 128 if suffix == '.ply' else round(255 * (1.055 * (128 / 255) ** (1 / 2.4) - 0.055))
    assert found == {(255, 0, 0, 255), (0, green, 0, 255)}
    box.visual = trimesh.visual.ColorVisuals(box, face_colors=[51, 51, 255, 255])
    box.export(tmp_path / 'one.ply')
    (piece,) = read_appearance(tmp_path / 'one.ply').pieces
    assert piece.colors is None and piece.color == pytest.approx((0.2, 0.2, 1.0, 1.0))


def test_a_gltf_may_have_its_data_beside_it(tmp_path):
    """Read the buffers named in a .gltf."""
    box = trimesh.creation.box((1, 2, 3))
    box.visual = trimesh.visual.TextureVisuals(
        material=trimesh.visual.material.PBRMaterial(baseColorFactor=[255, 0, 0, 255])
    )
    for name, content in trimesh.exchange.gltf.export_gltf(trimesh.Scene(box)).items():
        (tmp_path / name).write_bytes(content)
    (piece,) = read_appearance(tmp_path / 'model.gltf').pieces
    assert piece.color == pytest.approx((1.0, 0.0, 0.0, 1.0)) and len(piece.triangles) == 12


def test_broken_files_are_reported_once_and_others_are_read(tmp_path):
    """Name the file and the reason."""
    said: list[str] = []
    library = Library(lambda kind, text: said.append(text))
    trimesh.creation.box((1, 1, 1)).export(tmp_path / 'good.stl')
    (tmp_path / 'bad.dae').write_text('<COLLADA')
    names = [str(tmp_path / name) for name in ('bad.dae', 'gone.stl', 'good.stl')]
    for name in (*names, *names):
        library.ask(name)
    while not all(map(library.has, names)):
        time.sleep(0.01)
    assert [library.get(name) is None for name in names] == [True, True, False]
    assert len(said) == 2
    assert all(name in text for name, text in zip(names, said, strict=False))
    with pytest.raises(ReadingError):
        read_appearance(names[0])


def test_models_keep_all_that_a_file_has(tmp_path):
    """Write a GLB and read it with trimesh: colours, opacity, picture, and mirrored triangles."""
    (tmp_path / 'pictures').mkdir()
    Image.new('RGB', (4, 2), (10, 200, 30)).save(tmp_path / 'pictures' / 'paint.png')
    (tmp_path / 'a b.mtl').write_text(MTL)
    (tmp_path / 'a.obj').write_text(OBJ)
    appearance = read_appearance(tmp_path / 'a.obj')
    scene = trimesh.load_scene(
        io.BytesIO(model_of(appearance, (0.5, 0.5, 0.5, 1.0), (-1.0, 1.0, 1.0))), file_type='glb'
    )
    parts = list(scene.geometry.values())
    assert sorted(part.visual.material.alphaMode for part in parts) == [
        'BLEND',
        'OPAQUE',
        'OPAQUE',
    ]
    (image,) = [
        part.visual.material.baseColorTexture
        for part in parts
        if part.visual.material.baseColorTexture is not None
    ]
    assert image.convert('RGB').getpixel((0, 0)) == (10, 200, 30)
    written = np.concatenate([each.triangles_center for each in parts])
    plain = np.concatenate([soup(each.vertices, each.triangles) for each in appearance.pieces])
    assert sorted(written[:, 0]) == pytest.approx(sorted(-plain[:, 0]), abs=1e-5)


def test_edges_are_sharp_and_round_surfaces_smooth():
    """Split box vertices for each side, cylinder vertices at the rims only, a ball's nowhere."""
    box = trimesh.creation.box((1, 2, 3))
    vertices, triangles = with_creases(box.vertices, box.faces)
    assert len(vertices) == 24 and soup(vertices, triangles) == pytest.approx(
        soup(box.vertices, box.faces)
    )
    ball = trimesh.creation.icosphere(3)
    assert len(with_creases(ball.vertices, ball.faces)[0]) == len(ball.vertices)
    can = trimesh.creation.cylinder(1.0, 2.0, sections=32)
    assert len(with_creases(can.vertices, can.faces)[0]) == len(can.vertices) + 64
