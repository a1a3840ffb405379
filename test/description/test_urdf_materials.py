"""Colours and images given to shapes by descriptions."""

from pathlib import Path

import pytest

from sim_bridge.description import load_description

BALL = (
    '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial>'
)


def visual(material: str, tag: str = 'visual') -> str:
    return f'<{tag}><geometry><sphere radius="1"/></geometry>{material}</{tag}>'


def looks(*materials: str, extra: str = '', folder: Path | None = None):
    body = BALL + ''.join(map(visual, materials))
    text = f'<robot name="r">{extra}<link name="l">{body}</link></robot>'
    if folder is None:
        return load_description(text)
    (folder / 'r.urdf').write_text(text)
    return load_description(folder / 'r.urdf')


def test_materials_are_found_by_their_names():
    """Use a material's own colour, else the one with its name, wherever it is defined."""
    description = looks(
        '<material name="red"/>',
        '<material name="later"/>',
        '',
        '<material name=""><color rgba="0.1 0.2 0.3 0.4"/></material>',
        '<material name="later"><color rgba="0 1 0 1"/></material>',
        '<material name="red"><color rgba="0 0 1 1"/></material>',
        '<material name="unknown"/>',
        extra='<material name="red"><color rgba="1 0 0 0.5"/></material>',
    )
    assert not description.report.findings
    assert [each.color for each in description.links['l'].visuals] == [
        (1.0, 0.0, 0.0, 0.5),
        (0.0, 1.0, 0.0, 1.0),
        None,
        (0.1, 0.2, 0.3, 0.4),
        (0.0, 1.0, 0.0, 1.0),
        (0.0, 0.0, 1.0, 1.0),
        None,
    ]


@pytest.mark.parametrize('rgba', ['1 0 0', 'red', '1 0 0 nan', '-1 0 0 1'])
def test_an_invalid_colour_is_a_warning(rgba):
    """Keep the shape, without a colour."""
    description = looks(f'<material name="m"><color rgba="{rgba}"/></material>')
    assert [each.color for each in description.links['l'].visuals] == [None]
    (finding,) = description.report.findings
    assert finding.severity == 'warning' and finding.attribute == 'rgba'


def test_pictures_are_looked_for_as_meshes_are(tmp_path):
    """Resolve a texture file relative to the description's folder."""
    (tmp_path / 'wood.png').write_bytes(b'')
    description = looks(
        '<material name="w"><texture filename="wood.png"/></material>',
        '<material name="x"><texture filename="gone.png"/></material>',
        folder=tmp_path,
    )
    assert [(each.texture, each.texture_path) for each in description.links['l'].visuals] == [
        ('wood.png', str(tmp_path / 'wood.png')),
        ('gone.png', ''),
    ]


def test_shapes_of_body_files_have_colours(tmp_path):
    """Read `appearance.material`, with either colour key."""
    path = tmp_path / 'a.body'
    path.write_text("""
format: ChoreonoidBody
format_version: 2.0
name: a
links:
  - name: L
    joint_type: free
    elements:
      - {type: RigidBody, mass: 1.0, inertia: [1, 0, 0, 0, 1, 0, 0, 0, 1]}
      - type: Shape
        geometry: {type: Box, size: [1, 1, 1]}
        appearance: {material: {diffuse: [0.5, 0.25, 1], transparency: 0.25}}
      - {type: Shape, geometry: {type: Sphere, radius: 1},
         appearance: {material: {diffuseColor: [1, 0, 0]}}}
      - {type: Shape, geometry: {type: Sphere, radius: 2}, appearance: {material: {diffuse: red}}}
""")
    link = load_description(path).links['L']
    assert [each.color for each in link.visuals] == [
        (0.5, 0.25, 1.0, 0.75),
        (1.0, 0.0, 0.0, 1.0),
        None,
    ]
