"""Python blocks in README.md and in the pages of docs/ run as they are shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shown import blocks, provide_files, REPOSITORY

import sim_bridge as sb

# pages with tests of their own, which also check results
ELSEWHERE = {
    'contact_problem.md': 'contact_problems/test_contact_document.py',
    'control_laws.md': 'laws/test_laws_document.py',
    'grasp_over_topics.md': 'control/test_grasp_controller.py',
    'identification.md': 'identification/test_document.py',
    'sweeps.md': 'sweep/test_documents.py',
    'topics.md': 'project/test_topics_document.py',
}

# parts of a program left out by the page
BEGINNINGS = {
    'choreonoid.md': 'world = sb.World()\nworld.add_ground()\n',
    'closed_loops.md': """
world = sb.World()
robot = world.load_urdf('four_bar')
hinge = robot.joint('crank_joint')
""",
    'meshes.md': 'world = sb.World()\n',
    'mjcf.md': 'world = sb.World()\n',
    'snap.md': """
from sim_bridge.description.model import Pose
from sim_bridge.description.openplx.snap import SnapConnector, SnapFrame, SnapMate

base, seat = Pose((0, 0, 1), np.eye(3)), Pose((0, 0, 0), np.eye(3))
frames = [SnapFrame('arm'), SnapFrame('arm.link', 'arm')]
mates = [SnapMate('mount', 'hinge', SnapConnector('', base), SnapConnector('arm.link', seat))]
""",
}


PAGES = [
    page
    for page in (REPOSITORY / 'README.md', *sorted((REPOSITORY / 'docs').glob('*.md')))
    if page.name not in ELSEWHERE and blocks(page, 'python')
]


def draws(block: str) -> bool:
    """Return whether a block draws a picture, which needs the packages of the long tests."""
    return "save('" in block


def run(page: Path, chosen: list[str]) -> None:
    """Run blocks of a page, one after the other."""
    names: dict[str, object] = {'__name__': page.stem, 'np': np, 'sb': sb}
    for block in [BEGINNINGS.get(page.name, ''), *chosen]:
        exec(compile(block, str(page), 'exec'), names)


@pytest.fixture
def shown_files(tmp_path, monkeypatch) -> None:
    """Work in a folder with the files named in pages."""
    monkeypatch.chdir(tmp_path)
    provide_files(tmp_path)


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.stem)
def test_code_runs(page, shown_files):
    """Run a page's Python."""
    run(page, [block for block in blocks(page, 'python') if not draws(block)])


def test_pages_tested_elsewhere_exist():
    """Name existing pages and tests only."""
    for page, test in ELSEWHERE.items():
        assert blocks(REPOSITORY / 'docs' / page, 'python')
        assert (REPOSITORY / 'test' / test).exists()


@pytest.mark.long
def test_code_for_pictures_runs(tmp_path, monkeypatch):
    """Draw the pictures."""
    monkeypatch.chdir(tmp_path)
    drawing = {page: [each for each in blocks(page, 'python') if draws(each)] for page in PAGES}
    assert sum(map(len, drawing.values()))
    for page, chosen in drawing.items():
        run(page, chosen)
    assert [*tmp_path.glob('*.png')]
