"""Recorded robots from Choreonoid's body files."""

from __future__ import annotations

from pathlib import Path
import shutil

from bags import no_progress, start_recording
import pytest

from sim_bridge.foundation.errors import ReplayError
from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def test_replay_reads_a_project_and_all_its_files(tmp_path, repository):
    """Replay a project's world; detect a changed body file and a changed sub-body."""
    for name in ('floor.body', 'materials.yaml', 'yard.cnoid'):
        shutil.copy(Path(repository, 'config', 'yard', name), tmp_path)
    (tmp_path / 'yard.cnoid').write_text(
        (tmp_path / 'yard.cnoid')
        .read_text()
        .replace('../../urdf/crawler_vehicle.body', 'tank.body')
        .replace('../../urdf', str(Path(repository, 'urdf')))
    )
    shutil.copy(Path(repository, 'urdf', 'crawler_vehicle.body'), tmp_path / 'inner.body')
    (tmp_path / 'tank.body').write_text(
        'format: ChoreonoidBody\nformatVersion: 2.0\nlinks: [{type: SubBody, uri: inner.body}]\n'
    )
    run = start_recording(tmp_path / 'bag', robot='', world=str(tmp_path / 'yard.cnoid'))
    run.run(0.1, no_progress)
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    path = tmp_path / 'inner.body'
    path.write_text(path.read_text().replace('jointAxis: Y', 'jointAxis: -Y'))
    with pytest.raises(ReplayError, match=r'inner\.body'):
        replay(tmp_path / 'bag')


def test_replay_reads_the_body_file_again(tmp_path, repository):
    """Replay tracks, which URDF lacks, to the same bits; detect a changed file."""
    path = tmp_path / 'own.body'
    shutil.copy(Path(repository, 'urdf', 'crawler_vehicle.body'), path)
    start_recording(tmp_path / 'bag', robot=str(path)).run(0.1, no_progress)
    assert replay(tmp_path / 'bag').is_same
    path.write_text(path.read_text().replace('jointAxis: Y', 'jointAxis: -Y'))
    with pytest.raises(ReplayError, match=r'own\.body'):
        replay(tmp_path / 'bag')
