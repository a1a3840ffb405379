"""Surfaces on the page: VRML colours, and changing heights."""

from __future__ import annotations

import numpy as np
from support.page_client import PageClient

import sim_bridge as sb
from sim_bridge.view.structure import describe

VRML = """#VRML V2.0 utf8
Transform { translation 0 0 1 children [
  Shape { appearance Appearance { material Material { diffuseColor 1 0 0 transparency 0.5 } }
    geometry Box { size 1 2 3 } }
  Shape { appearance DEF look Appearance { material Material { diffuseColor 0 1 0 } }
    geometry Box { size 1 1 1 } }
  Shape { appearance USE look geometry Sphere { radius 0.5 } }
  Shape { geometry Cone { } }
] }"""
ROBOT = """<robot name="r"><link name="a">
  <visual><geometry><mesh filename="a.wrl" scale="2 2 2"/></geometry></visual></link></robot>"""


def test_vrml_meshes_have_the_colours_of_their_materials(tmp_path):
    """Draw a part for each material, in its colour and opacity; the rest in the robot's."""
    (tmp_path / 'a.wrl').write_text(VRML)
    (tmp_path / 'a.urdf').write_text(ROBOT)
    world = sb.World()
    world.load_urdf(tmp_path / 'a.urdf', base='fixed')
    structure = describe(world, 'title', frozenset()).structure
    drawn = {part.color: structure.meshes[part.mesh] for part in structure.parts}
    red, green = drawn.pop((1.0, 0.0, 0.0, 0.5)), drawn.pop((0.0, 1.0, 0.0, 1.0))
    assert len(drawn) == 1
    assert np.ptp(red.vertices, axis=0).tolist() == [1.0, 2.0, 3.0]
    assert red.vertices.mean(axis=0).tolist() == [0.0, 0.0, 1.0]
    assert np.ptp(green.vertices, axis=0).tolist() == [1.0, 1.0, 1.0]
    assert {part.scale for part in structure.parts} == {(2.0, 2.0, 2.0)}


def test_changed_heights_are_sent_and_nothing_else():
    """Redraw one of two fields when it is dug; leave all other nodes unchanged."""
    world = sb.World(1e-3)
    field = sb.HeightField(np.zeros((3, 3)), (1.0, 1.0))
    for number in range(2):
        world.add_body(
            field, name=f'field_{number}', motion='static', position=(3.0 * number, 0.0, 0.0)
        )
    world.add_body(sb.Box((0.1, 0.2, 0.3)), name='box', position=(0.0, 0.0, 1.0))
    with world.view(browser=False) as viewer, PageClient(viewer.url) as client:

        def tops() -> dict[str, float]:
            viewer.sync()
            return {
                name: float(node['vertices'].reshape(-1, 3)[:, 2].max())
                for name, node in client.nodes.items()
                if name.startswith('/world/both/') and 'vertices' in node
            }

        client.wait('all bodies', lambda: len(tops()) == 3)
        made = dict(client.nodes)
        world.robots['field_1'].geometries[0].set_heights(np.full((1, 1), 0.7), 1, 1)
        client.wait('a hill', lambda: any(np.isclose(top, 0.7) for top in tops().values()))
        again = [name for name, node in made.items() if client.nodes.get(name) is not node]
        assert len(again) == 1
        assert sorted(round(top, 6) for top in tops().values()) == [0.0, 0.5, 0.7]
