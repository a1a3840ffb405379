"""VRML97 files as meshes: drawn geometry, named parts, Inline files."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.shapes.mesh_files import load_mesh

HEADER = '#VRML V2.0 utf8\n'
SOLIDS = {
    'Box { size 1 2 3 }': 6.0,
    'Sphere { radius 2 }': 4 / 3 * math.pi * 8,
    'Cylinder { radius 1 height 3 }': 3 * math.pi,
    'Cone { bottomRadius 1 height 3 }': math.pi,
    'Extrusion { }': 4.0,
}


@pytest.mark.parametrize('geometry', SOLIDS, ids=lambda text: text.split()[0])
def test_solids_have_their_volume(tmp_path, geometry):
    """Mesh each solid, all along y; a mirror keeps the faces outside."""
    path = tmp_path / 'solid.wrl'
    path.write_text(
        f'{HEADER}Transform {{ translation 5 0 0 scale -1 1 1 children '
        f'Shape {{ geometry {geometry} }} }}'
    )
    mesh = sb.TriangleMesh.from_file(path)
    assert mesh.is_closed
    solid = mesh.mass_properties(1.0)
    assert solid.mass == pytest.approx(SOLIDS[geometry], rel=0.02)
    assert solid.center_of_mass[0] == pytest.approx(5.0)
    # a cone's centre is a quarter of its height above its base
    expected = {'Cone': -0.75, 'Extrusion': 0.5}.get(geometry.split()[0], 0.0)
    assert solid.center_of_mass[1] == pytest.approx(expected, abs=1e-9)


def test_parts_and_files_in_files(tmp_path):
    """Read a part by its name, through an Inline file."""
    (tmp_path / 'inner.wrl').write_text(
        'DEF A Transform { translation 9 0 0 children Shape { geometry Box { size 2 2 2 } } } '
        'DEF B Shape { geometry Sphere { radius 3 } }'
    )
    path = tmp_path / 'outer.wrl'
    path.write_text(HEADER + 'Inline { url "inner.wrl" }')
    assert len(load_mesh(path).vertices) > 8
    box = load_mesh(path, (1.0, 1.0, 2.0), 'A')
    assert np.unique(box.vertices, axis=0).tolist() == [
        [x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-2, 2)
    ]
    with pytest.raises(InvalidValueError, match=r'names are A, B'):
        load_mesh(path, part='Nothing')
    (tmp_path / 'inner.wrl').write_text(HEADER + 'Inline { url "outer.wrl" }')
    with pytest.raises(InvalidValueError, match='nested more than 8 deep'):
        load_mesh(path)
    with pytest.raises(InvalidValueError, match=r'only \.wrl files'):
        load_mesh(tmp_path / 'a.stl', part='A')
