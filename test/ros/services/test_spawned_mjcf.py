"""Robots in MJCF, spawned into a running simulation."""

from __future__ import annotations

from pathlib import Path

import pytest

import sim_bridge as sb
from sim_bridge.description import DescriptionError
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.session.spawn_request import load_pattern, SpawnRequest

_ROBOT = """<mujoco model="arm"><worldbody><body name="base">
  <geom type="box" size="0.1 0.1 0.1"/>
  <body name="rod" pos="0 0 0.2"><joint name="lift" axis="0 1 0"/><geom size="0.1"/></body>
</body></worldbody></mujoco>"""


@pytest.fixture(params=['file', 'text'])
def resource(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return a robot as a client sends it: the path of a file, or its text."""
    path = tmp_path / 'arm.xml'
    path.write_text(_ROBOT)
    return str(path) if request.param == 'file' else _ROBOT


def test_an_mjcf_robot_is_spawned_by_file_and_by_text(resource):
    """Load the robot for a spawn request, under the requested name."""
    _, robot = load_pattern(SpawnRequest(resource, 'mine'), SimulatorParameters(robot='arm'))
    assert isinstance(robot, sb.Robot)
    assert (robot.name, robot.joint_names, robot.fixed_base) == ('mine', ['lift'], True)


def test_a_world_with_several_robots_is_no_robot_to_spawn():
    """Refuse a file with several robots, with their names."""
    several = _ROBOT.replace('</worldbody>', '<body name="b"><joint/><geom size="1"/></body>\n')
    several = several.replace('</body>\n</mujoco>', '</body></worldbody></mujoco>')
    with pytest.raises(DescriptionError, match='2 robots: base, b'):
        load_pattern(SpawnRequest(several, 'mine'), SimulatorParameters(robot='arm'))
