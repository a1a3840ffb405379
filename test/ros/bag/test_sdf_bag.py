"""Recorded robots and worlds from SDF files."""

from __future__ import annotations

from bags import no_progress, start_recording
import pytest

from sim_bridge.foundation.errors import ReplayError
from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

_PART = (
    '<sdf version="1.9"><model name="part"><link name="l"><inertial><mass>1</mass></inertial>'
    '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>'
    '</link><link name="k"><inertial><mass>1</mass></inertial></link><joint name="j" '
    'type="revolute"><parent>l</parent><child>k</child></joint></model></sdf>'
)
_WORLD = (
    '<sdf version="1.9"><world name="w"><include><uri>part.sdf</uri><pose>0 0 1 0 0 0</pose>'
    '</include><actor name="a"><link name="l"><collision name="c"><geometry><sphere><radius>0.3'
    '</radius></sphere></geometry></collision></link><script><trajectory id="0" type="walk">'
    '<waypoint><time>0</time><pose>3 0 1 0 0 0</pose></waypoint><waypoint><time>0.05</time>'
    '<pose>3 1 1 0 0 1</pose></waypoint></trajectory></script></actor></world></sdf>'
)


def test_replay_reads_an_sdf_world_with_its_includes_and_actors_again(tmp_path):
    """Replay a world to the same bits; detect a changed include."""
    part, world = tmp_path / 'part.sdf', tmp_path / 'world.sdf'
    part.write_text(_PART)
    world.write_text(_WORLD)
    start_recording(tmp_path / 'bag', robot='', world=str(world)).run(0.1, no_progress)
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    part.write_text(_PART.replace('0.1', '0.2'))
    with pytest.raises(ReplayError, match=r'part\.sdf'):
        replay(tmp_path / 'bag')


def test_replay_reads_an_sdf_robot_again(tmp_path):
    """Replay a robot to the same bits; detect a changed file."""
    path = tmp_path / 'part.sdf'
    path.write_text(_PART)
    start_recording(tmp_path / 'bag', robot=str(path)).run(0.1, no_progress)
    assert replay(tmp_path / 'bag').is_same
    path.write_text(_PART.replace('0.1', '0.2'))
    with pytest.raises(ReplayError, match=r'part\.sdf'):
        replay(tmp_path / 'bag')
