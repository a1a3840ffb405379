"""Recorded robots and worlds from MJCF files."""

from __future__ import annotations

from bags import no_progress, start_recording
import pytest

from sim_bridge.foundation.errors import ReplayError
from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

_LEG = """<mujoco><worldbody><body name="hip" pos="0 0 1"><freejoint/>
  <geom type="box" size="0.1 0.1 0.1"/>
  <body name="leg" pos="0 0 -0.2"><joint name="knee" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.04" contype="1" conaffinity="0"/></body>
</body></worldbody></mujoco>"""


def test_replay_reads_an_mjcf_world_and_its_includes_again(tmp_path):
    """Replay a world to the same bits; detect a changed include."""
    part = tmp_path / 'leg.xml'
    part.write_text(_LEG)
    world = tmp_path / 'scene.xml'
    world.write_text(
        '<mujoco><include file="leg.xml"/><worldbody><geom type="plane" size="1 1 1"/>'
        '</worldbody></mujoco>'
    )
    start_recording(tmp_path / 'bag', robot='', world=str(world)).run(0.1, no_progress)
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    part.write_text(_LEG.replace('0.04', '0.05'))
    with pytest.raises(ReplayError, match=r'leg\.xml'):
        replay(tmp_path / 'bag')


def test_replay_reads_an_mjcf_robot_again(tmp_path):
    """Replay a robot with its contact groups to the same bits; detect a changed file."""
    path = tmp_path / 'leg.xml'
    path.write_text(_LEG)
    start_recording(tmp_path / 'bag', robot=str(path)).run(0.1, no_progress)
    assert replay(tmp_path / 'bag').is_same
    path.write_text(_LEG.replace('0.04', '0.05'))
    with pytest.raises(ReplayError, match=r'leg\.xml'):
        replay(tmp_path / 'bag')
