"""Recorded OpenPLX scenes contain all files read, and the bundles' version."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
import shutil

from bags import no_progress, start_recording
import pytest

from sim_bridge.foundation.errors import ReplayError
from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

SCENE = """import @"part.openplx"
import @"robot.urdf" as Imported
Scene is Physics3D.System:
    part is Part
    imported is Imported
    from_bundle is Own.Weight
"""
PART = """
Part is Physics3D.Bodies.RigidBody:
    inertia.mass: 1
    shape is Physics3D.Geometries.ExternalTriMeshGeometry:
        path: @"mesh.stl"
"""
URDF = """<robot name="Imported"><link name="base"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><mesh filename="of_robot.stl"/></geometry></collision></link></robot>
"""
WEIGHT = 'Weight is Physics3D.Bodies.RigidBody:\n    inertia.mass: 2\n'
CONFIG = 'config is BundleConfig:\n    name: "Own"\n'
STL = """solid tetrahedron
facet normal 0 0 -1\nouter loop\nvertex 0 0 0\nvertex 0 1 0\nvertex 1 0 0\nendloop\nendfacet
facet normal 0 -1 0\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 0 1\nendloop\nendfacet
facet normal -1 0 0\nouter loop\nvertex 0 0 0\nvertex 0 0 1\nvertex 0 1 0\nendloop\nendfacet
facet normal 1 1 1\nouter loop\nvertex 1 0 0\nvertex 0 1 0\nvertex 0 0 1\nendloop\nendfacet
endsolid
"""


@pytest.fixture
def bag(tmp_path, monkeypatch) -> Path:
    """Return a bag with a scene read from all kinds of files."""
    own = tmp_path / 'bundles' / 'Own'
    own.mkdir(parents=True)
    for path, text in (
        (tmp_path / 'scene.openplx', SCENE),
        (tmp_path / 'part.openplx', PART),
        (tmp_path / 'robot.urdf', URDF),
        (tmp_path / 'mesh.stl', STL),
        (tmp_path / 'of_robot.stl', STL),
        (own / 'config.openplx', CONFIG),
        (own / 'Weight.openplx', WEIGHT),
    ):
        path.write_text(text, encoding='utf-8')
    monkeypatch.setenv('OPENPLX_BUNDLE_PATH', str(own.parent))
    start_recording(tmp_path / 'bag', robot=str(tmp_path / 'scene.openplx')).run(0.01, no_progress)
    return tmp_path / 'bag'


def other_bundles(folder: Path) -> Path:
    """Return a copy of the installed bundles with another version."""
    (installed,) = find_spec('openplxbundles').submodule_search_locations
    copy = folder / 'openplxbundles'
    shutil.copytree(installed, copy)
    config = copy / 'Math' / 'config.openplx'
    config.write_text(config.read_text().replace('0.19.0', '9.9.9'))
    return copy


@pytest.mark.parametrize(
    'changed',
    [
        'scene.openplx',
        'part.openplx',
        'robot.urdf',
        'mesh.stl',
        'of_robot.stl',
        'bundles/Own/Weight.openplx',
    ],
)
def test_a_replay_names_the_changed_file(bag, changed):
    """Name the changed file, whichever it is, and no other."""
    verdict = replay(bag)
    assert verdict.is_same, verdict.difference
    with (bag.parent / changed).open('a') as file:
        file.write('\n')
    with pytest.raises(ReplayError) as error:
        replay(bag)
    assert str(error.value).endswith(str(bag.parent / changed))


def test_a_replay_reports_other_bundles(bag, tmp_path, monkeypatch):
    """Detect bundles installed in another version, or at another place."""
    copy = other_bundles(tmp_path / 'elsewhere')
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(copy.parent))
        with pytest.raises(ReplayError, match=r'bundles 0\.19\.0; installed are 9\.9\.9'):
            replay(bag)
    monkeypatch.setenv('OPENPLX_BUNDLE_PATH', f'{bag.parent / "bundles"}:{copy}')
    with pytest.raises(ReplayError, match=r'see OPENPLX_BUNDLE_PATH\): .*elsewhere'):
        replay(bag)
