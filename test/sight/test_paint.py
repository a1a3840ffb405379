"""Textures and vertex colours, beside closed forms and supersampled pictures."""

from __future__ import annotations

import io

import numpy as np
from picturing import looking
from PIL import Image
import pytest
import trimesh

import sim_bridge as sb
from sim_bridge.engine.data.lens import PINHOLE
from sim_bridge.engine.image.make_lens import intrinsics_of, make_lens
from sim_bridge.foreign.appearance import Piece
from sim_bridge.foundation.srgb import linear_from_srgb
from sim_bridge.sight.lamps import Surroundings
from sim_bridge.sight.optics import Optics
from sim_bridge.sight.renderer import Renderer
from sim_bridge.sight.scenery import Scenery
from sim_bridge.sight.visual import Visual
from sim_bridge.world.visuals import visuals_of

SIZE = (64, 48)
LENS = make_lens(PINHOLE, intrinsics_of(*SIZE, 1.0))
AT_ORIGIN = np.append(np.eye(3).ravel(), np.zeros(3))[None]
ABOVE = looking((0.01, 0.0, 1.6), (0.0, 0.0, 0.0))
SLANTED = looking((0.0, -2.2, 0.6), (0.0, 0.0, 0.0))
CORNERS = np.array([(-1.0, -1.0, 0.0), (1.0, -1.0, 0.0), (1.0, 1.0, 0.0), (-1.0, 1.0, 0.0)])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])
PLACES = (CORNERS[:, :2] + 1.0) / 2.0
FOUR = np.array([[(255, 0, 0), (0, 255, 0)], [(0, 0, 255), (255, 255, 0)]], np.uint8)
"""Red upper left, green upper right, blue lower left, yellow lower right."""


def light_of(visuals, camera=ABOVE, samples=1, size=SIZE, lens=LENS, threads=1):
    """Return renderer and light under white ambient light alone."""
    around = Surroundings((), (1.0,) * 3, (0.0,) * 3, (0.0,) * 3)
    renderer = Renderer(Scenery(visuals), Optics(*size, lens), threads, around, samples)
    renderer.render(camera, AT_ORIGIN)
    return renderer, renderer.light()


def sheet(picture, repeats=1.0, **others):
    """Return a square of side 2 m with a texture."""
    opaque = np.full((*picture.shape[:2], 1), 255, np.uint8)
    picture = np.concatenate([picture[..., :3], opaque], axis=2)
    places = (repeats * PLACES).astype(np.float32)
    return Visual(Piece(CORNERS, HALVES, places=places, picture=picture), **others)


def hits(camera, size, lens):
    """Return the points on z = 0 hit by all pixels; nan for none."""
    rays = Optics(*size, lens).rays @ camera[0, :9].reshape(3, 3).T
    with np.errstate(divide='ignore'):
        t = np.where(rays[..., 2] < 0.0, -camera[0, 11] / rays[..., 2], np.nan)
    return camera[0, 9:] + t[..., None] * rays


def bilinear(linear, u, v):
    """Return the texture's value between pixel centres, repeated."""
    rows, columns = linear.shape[:2]
    x, y = u * columns - 0.5, (1.0 - v) * rows - 0.5
    left, top = np.floor(x).astype(int), np.floor(y).astype(int)
    fx, fy = (x - left)[..., None], (y - top)[..., None]
    pixel = lambda i, j: linear[(top + i) % rows, (left + j) % columns]  # noqa: E731
    upper = (1 - fx) * pixel(0, 0) + fx * pixel(0, 1)
    return (1 - fy) * upper + fy * ((1 - fx) * pixel(1, 0) + fx * pixel(1, 1))


def linear_of(picture):
    """Return linear colours."""
    return linear_from_srgb(picture / 255.0)


def test_near_textures_are_bilinear_in_linear_light():
    """Equal the closed form in every pixel, also across the texture's border."""
    picture = np.random.default_rng(1).integers(0, 256, (3, 5, 3), np.uint8)
    renderer, light = light_of([sheet(picture, 1.5)])
    here = renderer.visual == 0
    x = hits(ABOVE, SIZE, LENS)[here]
    u, v = 1.5 * (x[:, :2].T + 1.0) / 2.0
    assert here.mean() > 0.7
    np.testing.assert_allclose(light[here], bilinear(linear_of(picture), u, v), atol=1e-6)


@pytest.mark.parametrize('camera', [ABOVE, SLANTED])
def test_far_textures_show_their_mean_over_each_pixel(camera):
    """Stay near pictures with 256 rays a pixel; single rays are far from them."""
    rng = np.random.default_rng(2)
    picture = rng.integers(0, 256, (61, 64, 3), np.uint8)
    renderer, light = light_of([sheet(picture, 4.0)], camera)
    fine_size = (16 * SIZE[0], 16 * SIZE[1])
    fx, fy, cx, cy = intrinsics_of(*SIZE, 1.0)
    fine = make_lens(PINHOLE, (16 * fx, 16 * fy, 16 * (cx + 0.5) - 0.5, 16 * (cy + 0.5) - 0.5))
    x = hits(camera, fine_size, fine)
    is_on = (abs(x[..., :2]) < 1.0).all(axis=-1)
    u, v = 4.0 * (np.where(is_on[..., None], x[..., :2], 0.0) + 1.0).transpose(2, 0, 1) / 2.0
    exact = bilinear(linear_of(picture), u, v)
    blocks = exact.reshape(SIZE[1], 16, SIZE[0], 16, 3)
    whole = is_on.reshape(SIZE[1], 16, SIZE[0], 16).all(axis=(1, 3)) & (renderer.visual == 0)
    error = np.sqrt(((light - blocks.mean(axis=(1, 3)))[whole] ** 2).mean())
    single = np.sqrt(((blocks[:, 8, :, 8] - blocks.mean(axis=(1, 3)))[whole] ** 2).mean())
    assert whole.sum() > 300 and error < 0.35 * single
    assert abs(light[whole].mean() - exact[is_on].mean()) < 0.01


def test_vertex_colours_are_linear_between_corners():
    """Interpolate linear light over each triangle, also of a closed mesh given inside out."""
    colors = np.array([(255, 0, 0), (0, 255, 0), (0, 0, 255), (200, 100, 50)], np.uint8)
    corners = np.array([(-1.0, -1, 0), (1, -1, 0), (0, 1, 0), (0, 0, -1)])
    opaque = np.column_stack([colors, np.full(4, 255, np.uint8)])
    for faces in ([[0, 1, 2], [1, 0, 3], [2, 1, 3], [0, 2, 3]], [[2, 1, 0]]):
        piece = Piece(corners, np.array(faces), colors=opaque)
        for turned in (piece, piece._replace(triangles=np.array(faces)[:, ::-1])):
            renderer, light = light_of([Visual(turned)])
            here = renderer.visual == 0
            x, y = hits(ABOVE, SIZE, LENS)[here][:, :2].T
            weights = np.stack([0.25 - 0.5 * x - 0.25 * y, 0.25 + 0.5 * x - 0.25 * y, (1 + y) / 2])
            assert here.sum() > 500
            np.testing.assert_allclose(light[here], weights.T @ linear_of(colors[:3]), atol=1e-6)


FORMATS = ('obj', 'dae', 'glb', 'gltf')


@pytest.mark.parametrize('suffix', FORMATS)
def test_files_show_their_texture_upright(tmp_path, suffix):
    """Show the four quarters of a picture where the texture coordinates put them."""
    image = Image.fromarray(FOUR.repeat(32, axis=0).repeat(32, axis=1))
    material = trimesh.visual.material.SimpleMaterial(image=image, diffuse=(255, 255, 255, 255))
    if suffix in ('glb', 'gltf'):
        material = trimesh.visual.material.PBRMaterial(baseColorTexture=image)
    mesh = trimesh.Trimesh(
        CORNERS,
        HALVES,
        process=False,
        visual=trimesh.visual.TextureVisuals(PLACES, material=material),
    )
    path = tmp_path / f'sheet.{suffix}'
    if suffix == 'gltf':
        for name, content in trimesh.exchange.gltf.export_gltf(trimesh.Scene(mesh)).items():
            (tmp_path / (path.name if name.endswith('.gltf') else name)).write_bytes(content)
    elif suffix == 'dae':
        # trimesh writes neither pictures nor texture coordinates
        (tmp_path / 'four.png').write_bytes(png_of(FOUR.repeat(32, axis=0).repeat(32, axis=1)))
        path.write_text(TEXTURED_DAE)
    else:
        mesh.export(path)
    renderer, light = light_of(visuals_of(robot_world(tmp_path, path), pytest.fail))
    x = hits(ABOVE, SIZE, LENS)
    inside = (abs(x[..., :2]) > 0.15).all(axis=-1) & (abs(x[..., :2]) < 0.9).all(axis=-1)
    expected = linear_of(FOUR)[(x[..., 1] < 0).astype(int), (x[..., 0] > 0).astype(int)]
    assert inside.sum() > 500
    np.testing.assert_allclose(light[inside], expected[inside], atol=1e-6)


def png_of(picture):
    """Return a picture as PNG."""
    content = io.BytesIO()
    Image.fromarray(picture).save(content, 'PNG')
    return content.getvalue()


TEXTURED_DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset>
  <library_images><image id="i"><init_from>four.png</init_from></image></library_images>
  <library_effects><effect id="e"><profile_COMMON>
    <newparam sid="s1"><surface type="2D"><init_from>i</init_from></surface></newparam>
    <newparam sid="s2"><sampler2D><source>s1</source></sampler2D></newparam>
    <technique sid="t"><lambert><diffuse><texture texture="s2" texcoord="UV"/></diffuse></lambert>
    </technique></profile_COMMON></effect></library_effects>
  <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p"><float_array id="a" count="12">-1 -1 0 1 -1 0 1 1 0 -1 1 0</float_array>
      <technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/>
        <param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common>
    </source>
    <source id="q"><float_array id="b" count="8">0 0 1 0 1 1 0 1</float_array>
      <technique_common><accessor source="#b" count="4" stride="2"><param name="S" type="float"/>
        <param name="T" type="float"/></accessor></technique_common></source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="2" material="s"><input semantic="VERTEX" source="#v" offset="0"/>
      <input semantic="TEXCOORD" source="#q" offset="1" set="0"/>
      <p>0 0 1 1 2 2 0 0 2 2 3 3</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node>
    <instance_geometry url="#g"><bind_material><technique_common>
      <instance_material symbol="s" target="#m">
        <bind_vertex_input semantic="UV" input_semantic="TEXCOORD" input_set="0"/>
      </instance_material></technique_common></bind_material>
    </instance_geometry></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def robot_world(folder, path, count=1):
    """Return a world with a robot showing a mesh file."""
    visual = f'<visual><geometry><mesh filename="{path}"/></geometry></visual>'
    (folder / 'sheet.urdf').write_text(
        f'<robot name="sheet"><link name="base">{count * visual}</link></robot>'
    )
    made = sb.World()
    made.load_urdf(folder / 'sheet.urdf', base='fixed')
    return made


OBJ = """mtllib a.mtl
v -1 -1 0
v 1 -1 0
v 1 1 0
v -1 1 0
vt 0 0
vt {} 0
vt 1 1
vt 0 1
usemtl painted
f 1/1 2/2 3/3
f 1/1 3/3 4/4
"""


@pytest.mark.parametrize('content', [None, b'', b'\x89PNG\r\n\x1a\nbroken', 'cut'])
def test_missing_and_broken_textures_are_grey(tmp_path, content):
    """Show grey; name the texture once for a mesh with several visuals."""
    if content == 'cut':
        content = png_of(np.random.default_rng(3).integers(0, 256, (64, 64, 3), np.uint8))[:3000]
    if content is not None:
        (tmp_path / 'wood.png').write_bytes(content)
    (tmp_path / 'a.mtl').write_text('newmtl painted\nmap_Kd wood.png\n')
    (tmp_path / 'a.obj').write_text(OBJ.format(1))
    warnings = []
    renderer, light = light_of(
        visuals_of(robot_world(tmp_path, tmp_path / 'a.obj', 3), warnings.append)
    )
    assert set(warnings) == {warnings[0]} and 'wood.png' in warnings[0]
    grey = np.full(3, linear_from_srgb(np.array(0.6)))
    np.testing.assert_allclose(light[renderer.visual >= 0].mean(axis=0), grey, atol=1e-5)


@pytest.mark.parametrize('number', ['nan', 'inf', '1e300', '1e9'])
def test_texture_coordinates_without_a_place_are_drawn(tmp_path, number):
    """Draw finite colours; name the mesh if a coordinate is not finite."""
    Image.fromarray(FOUR).save(tmp_path / 'wood.png')
    (tmp_path / 'a.mtl').write_text('newmtl painted\nmap_Kd wood.png\n')
    (tmp_path / 'a.obj').write_text(OBJ.format(number))
    warnings = []
    renderer, light = light_of(
        visuals_of(robot_world(tmp_path, tmp_path / 'a.obj'), warnings.append)
    )
    assert np.isfinite(light).all() and (light[renderer.visual >= 0] <= 1.0 + 1e-6).all()
    assert bool(warnings) == (number != '1e9')
    assert all('a.obj' in each and 'finite' in each for each in warnings)


def test_huge_textures_are_scaled_down(tmp_path):
    """Show a texture of 9000 by 3 pixels; name one beyond the limit on pixels."""
    Image.new('RGB', (9000, 3), (0, 255, 0)).save(tmp_path / 'wood.png')
    (tmp_path / 'a.mtl').write_text('newmtl painted\nmap_Kd wood.png\n')
    (tmp_path / 'a.obj').write_text(OBJ.format(1))
    world = robot_world(tmp_path, tmp_path / 'a.obj')
    renderer, light = light_of(visuals_of(world, pytest.fail))
    np.testing.assert_allclose(
        light[renderer.visual == 0].mean(axis=0), (0.0, 1.0, 0.0), atol=1e-6
    )
    Image.new('1', (9000, 9000)).save(tmp_path / 'wood.png')
    warnings = []
    (tmp_path / 'a.obj').write_text(OBJ.format(1) + '\n')
    visuals_of(world, warnings.append)
    assert len(warnings) == 1 and 'wood.png' in warnings[0]
