"""Recordings of robots of Choreonoid's body files."""

from __future__ import annotations

from pathlib import Path
import shutil

from bags import no_progress, start_recording
import pytest

from sim_bridge.foundation.errors import ReplayError
from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def test_replay_reads_the_body_file_again(tmp_path, repository):
    """Replay tracks, which URDF lacks, to the same bits; notice a file that has changed."""
    path = tmp_path / 'own.body'
    shutil.copy(Path(repository, 'urdf', 'crawler_vehicle.body'), path)
    start_recording(tmp_path / 'bag', robot=str(path)).run(0.1, no_progress)
    assert replay(tmp_path / 'bag').is_same
    path.write_text(path.read_text().replace('jointAxis: Y', 'jointAxis: -Y'))
    with pytest.raises(ReplayError, match=r'own\.body'):
        replay(tmp_path / 'bag')
