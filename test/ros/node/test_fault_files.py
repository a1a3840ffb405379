"""Malicious files: reading is bounded, and they are refused with a reason."""

from __future__ import annotations

from dataclasses import replace
import os
from pathlib import Path
import struct
import subprocess
import sys

import pytest

import sim_bridge as sb
from sim_bridge.description import (
    check_description,
    DescriptionError,
    load_description,
    resolve_uri,
)
from sim_bridge.description.urdf import xacro_file
from sim_bridge.description.xml.document import MOST_ELEMENTS
from sim_bridge.foreign.files import DATA_BYTES, read_file, TEXT_BYTES
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros.params.parameter_files import parameters_in

ENTITIES = (
    '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
    + ''.join(
        f'<!ENTITY {name} "{f"&{before};" * 10}">'
        for before, name in zip('abcdefghi', 'bcdefghij', strict=True)
    )
    + ']>'
)
XACRO = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{}</robot>'
DOUBLING = '<xacro:macro name="m0"><link name="a"/></xacro:macro>' + ''.join(
    f'<xacro:macro name="m{n}">{f"<xacro:m{n - 1}/>" * 10}</xacro:macro>' for n in range(1, 10)
)
SOLID = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'


@pytest.fixture
def traps(tmp_path):
    """Return a folder with non-files and huge files, under names with any ending."""
    for suffix in ('urdf', 'stl', 'yaml', 'npy'):
        os.mkfifo(tmp_path / f'pipe.{suffix}')
        (tmp_path / f'endless.{suffix}').symlink_to('/dev/zero')
        with open(tmp_path / f'huge.{suffix}', 'wb') as file:
            file.truncate(DATA_BYTES + 1)
    return tmp_path


def refusal(source: str | Path, code: str) -> str:
    """Return the reason for refusing a description."""
    (finding,) = check_description(source).errors
    assert finding.code == code
    return finding.message


def test_entities_are_never_expanded(tmp_path):
    """Refuse a billion laughs and foreign entities in a robot, an included file and a mesh."""
    bomb = f'{ENTITIES}<robot name="r"><link name="&j;"/></robot>'
    assert 'DOCTYPE' in refusal(bomb, 'doctype')
    outside = '<!DOCTYPE r [<!ENTITY a SYSTEM "file:///etc/passwd">]><robot name="&a;"/>'
    assert 'DOCTYPE' in refusal(outside, 'doctype')
    (tmp_path / 'bomb.xacro').write_text(bomb)
    include = f'<xacro:include filename="{tmp_path}/bomb.xacro"/>'
    assert 'amplification' in refusal(XACRO.format(include), 'xacro')
    for number, text in enumerate((bomb, outside)):
        mesh = tmp_path / f'{number}.dae'
        mesh.write_text(text)
        with pytest.raises(InvalidValueError, match='a valid mesh file'):
            sb.TriangleMesh.from_file(mesh)


def test_documents_have_a_greatest_size():
    """Refuse a text, and an element tree, larger than any robot."""
    assert str(TEXT_BYTES) in refusal(f'<robot name="{"x" * TEXT_BYTES}"/>', 'too-large')
    deep = '<a>' * MOST_ELEMENTS + '</a>' * MOST_ELEMENTS
    assert str(MOST_ELEMENTS) in refusal(f'<robot name="r">{deep}</robot>', 'too-large')


def test_long_names_are_shortened():
    """Show the beginning and end of a 10 MB name, without searching similar names."""
    name = 'x' * 10_000_000
    assert len(str(UnknownNameError('joint', name, ['elbow']))) < 500
    assert len(str(InvalidValueError('efforts', [0.0] * 1_000_000, '7 values'))) < 500
    with pytest.raises(DescriptionError) as caught:
        load_description(
            f'<robot name="r"><link name="l"/><joint name="j" type="fixed"><parent link="l"/>'
            f'<child link="{name}"/></joint></robot>'
        )
    assert len(str(caught.value)) < 800


@pytest.mark.parametrize(
    ('content', 'said'),
    [
        ('<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>', 'RecursionError'),
        (f'{DOUBLING}<xacro:m9/>', 'not done within 1 s'),
        ('<link name="${9**9**9}"/>', 'not done within 1 s'),
        ('<link name="${len(\'a\' * 10**10)}"/>', "'a'*10**10"),
        ('<link name="$(eval [].__doc__ )"/>', "invalid name '__doc__'"),
        ('<link name="${().__class__.__base__.__subclasses__()}"/>', 'invalid name'),
        ('<xacro:include filename="/etc/passwd"/>', 'ExpatError'),
        ('<xacro:include filename="/dev/zero"/>', 'not a regular file'),
        ('<xacro:include filename="{traps}/pipe.urdf"/>', 'not a regular file'),
    ],
)
def test_xacro_is_bounded(traps, monkeypatch, content, said):
    """End endless recursion, growth, computation and waiting; keep expressions out of modules."""
    if 'not done' in said:
        monkeypatch.setattr(xacro_file, 'LIMITS', replace(xacro_file.LIMITS, seconds=1.0))
    text = XACRO.format(content.replace('{traps}', str(traps)))
    message = ' '.join(refusal(text, 'xacro').split())
    assert message.startswith('cannot be expanded: ')
    assert said in message.replace(' * ', '*')


def test_only_files_of_sensible_size_are_read(traps):
    """Refuse pipes, devices and huge files at once, wherever they are given."""
    for name, reason in (
        ('pipe', 'not a regular file'),
        ('endless', 'not a regular file'),
        ('huge', 'at most'),
    ):
        assert reason in refusal(traps / f'{name}.urdf', 'unreadable')
        with pytest.raises(InvalidValueError, match=reason):
            sb.TriangleMesh.from_file(traps / f'{name}.stl')
        with pytest.raises(InvalidValueError, match=reason):
            parameters_in(traps / f'{name}.yaml', '/sim_bridge')
        with pytest.raises(DescriptionError, match=reason):
            sb.World().load_scene(traps / f'{name}.yaml')
        field = {
            'hill': {
                'height_field': {'file': str(traps / f'{name}.npy'), 'size': [1, 1]},
                'motion': 'static',
            }
        }
        with pytest.raises(DescriptionError, match=reason):
            sb.World().load_scene({'world': {'objects': field}})
    with pytest.raises(OSError, match='No such file'):
        read_file(traps / 'none')


def test_yaml_is_bounded(tmp_path):
    """Refuse endless nested lists, in a scene and in parameters."""
    file = tmp_path / 'deep.yaml'
    file.write_text('world: ' + '[' * 5_000)
    with pytest.raises(DescriptionError, match='nested too deeply'):
        sb.World().load_scene(file)
    with pytest.raises(InvalidValueError, match='nested too deeply'):
        parameters_in(file, '/sim_bridge')


@pytest.mark.parametrize(
    'uri',
    [
        'package://bot/../secret.stl',
        'package://bot/meshes/../../secret.stl',
        'model://bot/../secret.stl',
        'package://../secret.stl',
        'package://./../secret.stl',
    ],
)
def test_packages_are_not_left(tmp_path, uri):
    """Find nothing outside a URI's package, and report it."""
    (tmp_path / 'bot' / 'meshes').mkdir(parents=True)
    (tmp_path / 'secret.stl').write_text('solid')
    paths = [tmp_path, tmp_path / 'bot']
    assert resolve_uri(uri, package_paths=paths, base=tmp_path / 'bot' / 'urdf') is None
    text = (
        f'<robot name="r"><link name="l">{SOLID}</inertial><collision><geometry>'
        f'<mesh filename="{uri}"/></geometry></collision></link></robot>'
    )
    with pytest.raises(DescriptionError, match=r'leads out of package|is not found'):
        sb.World().load_urdf(text, package_paths=paths)


LIARS = {
    'lie.stl': b'\0' * 80 + struct.pack('<I', 4_000_000_000) + b'\0' * 50,
    'lie.ply': (
        b'ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\nproperty float x\n'
        b'property float y\nproperty float z\nelement face 4000000000\nproperty list uchar int '
        b'vertex_indices\nend_header\n0 0 0\n'
    ),
    'lie.obj': b'mtllib /dev/zero\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 999999999\n',
    'lie.npy': (
        b"\x93NUMPY\x01\0\x76\0{'descr': '<f8', 'fortran_order': False, 'shape': (2000000, "
        b'2000000), }'
    ).ljust(127)
    + b'\n',
}
LOAD_ALL = """
import resource, sys, sim_bridge as sb
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
for path in sys.argv[1:]:
    try:
        if path.endswith('npy'):
            field = {'height_field': {'file': path, 'size': [1, 1]}, 'motion': 'static'}
            sb.World().load_scene({'world': {'objects': {'hill': field}}})
        else:
            sb.TriangleMesh.from_file(path)
    except sb.SimBridgeError as err:
        print('refused:', err)
"""


def test_files_with_a_false_size_are_refused_in_little_memory(tmp_path):
    """Declare billions of triangles and heights, with a memory limit of 2 GB."""
    files = [tmp_path / name for name in LIARS]
    for file in files:
        file.write_bytes(LIARS[file.name])
    said = subprocess.run(
        [sys.executable, '-c', LOAD_ALL, *files], check=True, stdout=subprocess.PIPE, text=True
    )
    assert said.stdout.count('refused:') == len(files)
