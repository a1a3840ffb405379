"""VRML97 text as nodes, and its geometry as triangles, compared with closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sim_bridge.foreign.vrml.scene import drawn_in, part_of, surface_of
from sim_bridge.foreign.vrml.text import read_vrml, VrmlError
from sim_bridge.foreign.vrml.triangulation import (
    DEFAULT_SECTION,
    DEFAULT_SPINE,
    elevation_grid,
    extrusion,
    face_set,
)

HEADER = b'#VRML V2.0 utf8\n'
ONE, UPRIGHT = np.ones((1, 2)), np.eye(3)[None]
# an L, counter-clockwise seen from +y: x to the right, z downwards
ELL = np.array([(0, 0), (0, 2), (1, 2), (1, 1), (3, 1), (3, 0), (0, 0)], float)


def read(text):
    """Return the nodes in a text."""
    return read_vrml(HEADER + text.encode())


def volume(surface):
    """Return the signed volume of a closed surface, positive if its faces point outwards."""
    return float(np.linalg.det(surface.vertices[surface.triangles]).sum()) / 6.0


def area(surface):
    """Return a surface's area."""
    a, b, c = np.moveaxis(surface.vertices[surface.triangles], 1, 0)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()) / 2.0


def test_values_are_distinguished_by_notation():
    """Read numbers, texts, truth values, nodes, lists with commas and comments, hexadecimals."""
    [node] = read("""
        DEF A Transform { # a comment with { and "
          translation 1, 2 -3e-1   scale 2 2 2  bboxSize 0x10 -1 -1
          children [ DEF B Shape { geometry Sphere { radius .5 } }, USE B, NULL ]
        } ROUTE A.x TO B.y""")
    assert (node.kind, node.name, node.line) == ('Transform', 'A', 3)
    assert node.row('translation', (0, 0, 0)).tolist() == [1, 2, -0.3]
    assert node.fields['bboxSize'].tolist() == [16, -1, -1]
    first, second = node.nodes('children')
    assert first is second
    [inline] = read('Switch { whichChoice 0 choice [ WorldInfo { title "a \\"b\\" # c" } ] }')
    assert inline.nodes('choice')[0].texts('title') == ['a "b" # c']


def test_prototypes_stand_for_their_bodies():
    """Fill in given fields and defaults, also in nested prototypes."""
    nodes = read("""
        PROTO Ball [ field SFFloat size 1 field SFVec3f at 0 0 0 eventIn SFTime go ]
        { Transform { translation IS at children Shape { geometry Sphere { radius IS size } } } }
        PROTO Two [ field SFFloat size 3 ] { Group { children [
          Ball { size IS size } Ball { at 0 0 5 } ] } }
        Two { size 7 }  Ball { }""")
    found = [
        (drawn.geometry.row('radius', (0,))[0], drawn.frame.position[2])
        for drawn in drawn_in(nodes)
    ]
    assert found == [(7, 0), (1, 5), (1, 0)]


def test_frames_are_those_of_the_standard():
    """Place by translation, centre, rotation, and a scale in given axes."""
    [drawn] = drawn_in(
        read("""Transform { translation 1 0 0 center 0 1 0
        rotation 0 0 1 1.5707963268 scale 2 1 1 scaleOrientation 0 0 1 0.5
        children Shape { geometry Box { } } }""")
    )
    c, s = math.cos(0.5), math.sin(0.5)
    oriented = np.array([(c, -s, 0), (s, c, 0), (0, 0, 1)])
    turned = np.array([(0, -1, 0), (1, 0, 0), (0, 0, 1)])
    linear = turned @ oriented @ np.diag([2, 1, 1]) @ oriented.T
    assert drawn.frame.linear == pytest.approx(linear, abs=1e-9)
    center = np.array([0, 1, 0])
    assert drawn.frame.position == pytest.approx([1, 0, 0] + center - linear @ center, abs=1e-9)


def test_parts_are_found_by_name_without_their_place():
    """Keep rotation and scale of the surroundings, but not their position, as in Choreonoid."""
    nodes = read("""DEF OUT Transform { translation 9 9 9 rotation 0 0 1 1.5707963268
        children DEF IN Transform { translation 1 0 0 scale 2 2 2
        children Shape { geometry Box { } } } }""")
    node, frame = part_of(nodes, 'IN')
    assert node.name == 'IN'
    assert frame.position.tolist() == [0, 0, 0]
    quarter = np.array([(0, -1, 0), (1, 0, 0), (0, 0, 1)])
    assert frame.linear == pytest.approx(2 * quarter, abs=1e-9)
    assert part_of(nodes, 'NONE') is None


@pytest.mark.parametrize(
    ('section', 'spine', 'scales', 'expected'),
    [
        (DEFAULT_SECTION, DEFAULT_SPINE, ONE, 4.0),
        (ELL, DEFAULT_SPINE, ONE, 4.0),
        # reversed section, downward spine: its faces point outwards, too
        (ELL[::-1], -2 * DEFAULT_SPINE, ONE, 8.0),
        # a truncated pyramid: h (a + b + sqrt(a b)) / 3
        (DEFAULT_SECTION, 3 * DEFAULT_SPINE, np.array([(1, 1), (0.5, 0.5)]), 7.0),
        # an oblique straight spine
        (0.5 * DEFAULT_SECTION, np.array([(0, 0, 0), (3, 4, 0)]), ONE, 5.0),
    ],
)
def test_extrusions_have_the_volume_of_prisms(section, spine, scales, expected):
    """Extrude convex and concave sections, in both directions, scaled and oblique."""
    solid = extrusion(section, spine, scales, UPRIGHT)
    assert volume(solid) == pytest.approx(expected, rel=1e-12)


def test_an_extrusion_bends_with_its_spine():
    """Close a ring with a square section: Pappus's volume, times a polygon's."""
    angles = np.linspace(0, 2 * math.pi, 65)
    spine = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1) * 2.0
    spine[-1] = spine[0]
    ring = extrusion(0.1 * DEFAULT_SECTION, spine, ONE, UPRIGHT)
    polygon = math.sin(math.pi / 32) / (math.pi / 32)
    assert volume(ring) == pytest.approx(0.04 * 2 * math.pi * 2.0 * polygon, rel=2e-3)
    turned = extrusion(
        DEFAULT_SECTION,
        DEFAULT_SPINE,
        ONE,
        np.array([UPRIGHT[0], [(0, 0, 1), (0, 1, 0), (-1, 0, 0)]]),
    )
    assert np.unique(turned.vertices[:, 1]).tolist() == [0, 1]


def test_faces_are_cut_into_triangles():
    """Cut a concave face by ears, a convex one into a fan, and omit degenerate faces."""
    points = np.array([(x, 0, z) for x, z in ELL[:-1]])
    face = face_set(points, np.array([0, 1, 2, 3, 4, 5, -1]))
    assert len(face.triangles) == 4
    assert area(face) == pytest.approx(4.0)
    assert np.linalg.det(points[face.triangles] + (0, 1, 0)).min() > 0.0
    assert area(face_set(points, np.array([0, 1, 2, 3, 4, 5]), ccw=False)) == pytest.approx(4.0)
    assert len(face_set(points, np.array([0, 1, -1, 0, 0, 1, 1, -1])).triangles) <= 2
    with pytest.raises(ValueError, match='not among the 6 points'):
        face_set(points, np.array([0, 1, 6, -1]))
    zigzag = np.array([(k, 0, 5 * (k % 2)) for k in range(3000)] + [(0, 0, -9)], float)
    with pytest.raises(ValueError, match='too many corners'):
        face_set(zigzag, np.arange(3001))


def test_grids_face_upwards():
    """Make a height grid with triangles facing along y, and a node for it."""
    heights = np.array([[0, 1, 0], [0, 2, 0]], float)
    grid = elevation_grid(heights, (2.0, 3.0))
    a, b, c = np.moveaxis(grid.vertices[grid.triangles], 1, 0)
    assert (np.cross(b - a, c - a)[:, 1] > 0).all()
    assert grid.vertices[4].tolist() == [2, 2, 3]
    [drawn] = drawn_in(
        read(
            'Shape { geometry ElevationGrid { xDimension 3 zDimension 2 '
            'xSpacing 2 zSpacing 3 height [0 1 0 0 2 0] } }'
        )
    )
    assert np.array_equal(surface_of(drawn.geometry).vertices, grid.vertices)


@pytest.mark.parametrize(
    ('text', 'line', 'problem'),
    [
        ('Group { children [ Shpae { } ] }', 2, "no node of type 'Shpae'"),
        ('\nGroup { children [ USE A ] }', 3, "no node before is called 'A'"),
        ('Group { children [ ', 2, 'ends within a list'),
        ('Shape { geometry Sphere { radius "a" } }', 2, 'radius must hold'),
        ('Shape { geometry Sphere { radius 1 2 } }', 2, 'radius must hold 1 numbers'),
        ('WorldInfo { title "a }', 2, 'a text has no end'),
        ('PROTO A [ field SFFloat x 1 ] { Group { } } A { y 2 }', 2, "no field 'y'; it has x"),
        ('EXTERNPROTO A [ ] "b.wrl"', 2, 'EXTERNPROTO is not read'),
        ('Inline { url "b.wrl" }', 2, 'Inline'),
        pytest.param('Group { children ' * 70, 2, 'nested too deeply', id='deep'),
    ],
)
def test_defects_are_reported_with_their_line(text, line, problem):
    """Report the error with its line."""
    with pytest.raises(VrmlError, match=problem) as caught:
        [drawn.geometry.row('radius', (1.0,)) for drawn in drawn_in(read(text))]
    assert caught.value.line == line
    with pytest.raises(VrmlError, match=r'not .#VRML V1'):
        read_vrml(b'#VRML V1.0 ascii\nSeparator { }')


def test_repetition_is_bounded(monkeypatch):
    """Refuse nodes expanding to too many nodes, at once."""
    monkeypatch.setattr('sim_bridge.foreign.vrml.text.MOST_NODES', 1000)
    monkeypatch.setattr('sim_bridge.foreign.vrml.scene._MOST_DRAWN', 1000)
    levels = 'DEF A0 Shape { geometry Box { } } ' + ''.join(
        f'DEF A{k} Group {{ children [ USE A{k - 1} USE A{k - 1} ] }} ' for k in range(1, 40)
    )
    with pytest.raises(VrmlError, match='each use counted'):
        list(drawn_in(read(levels)))
    protos = 'PROTO P0 [ ] { Shape { geometry Box { } } } ' + ''.join(
        f'PROTO P{k} [ ] {{ Group {{ children [ P{k - 1} {{ }} P{k - 1} {{ }} ] }} }} '
        for k in range(1, 40)
    )
    with pytest.raises(VrmlError, match='more than 1000 nodes'):
        read(protos + 'P39 { }')
