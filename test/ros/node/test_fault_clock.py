"""Steps of the host's clock: simulation and recording do not depend on the time of day."""

from __future__ import annotations

import ast
from itertools import pairwise
from pathlib import Path

from bags import messages_on, read_bag
import pytest
from ros_graph import end, nanoseconds
from sensor_msgs.msg import JointState

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000

# The time of day jumps by half a day, back and forth, at every second query.
BENT = """
import itertools, sys, time
steps, then, then_ns = itertools.cycle((0, 0, 43_200, 43_200)), time.time, time.time_ns
time.time = lambda: then() + next(steps)
time.time_ns = lambda: then_ns() + next(steps) * 10**9
from sim_bridge.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

# files allowed to use the time of day, with the reason
MAY_ASK = {
    'sim_bridge/compiler/objects.py': 'how long ago kernels were used that nobody needs any more',
    'sim_bridge/cli/launch_plan.py': 'a folder named after the time',
    'sim_bridge/page/camera_layer.py': 'a picture named after the time',
    'sim_bridge/ros/bag/offline.py': 'log times since 1970, where record_epoch asks for them',
    'sim_bridge/ros/process/guarded_node.py': 'makes timers with the clocks of its callers',
    'sim_bridge/ros/process/rclpy_compat.py': 'stamps of goals, and the expiry of their results',
}
OF_THE_DAY = {
    'time': {'time', 'time_ns', 'localtime', 'gmtime', 'strftime', 'ctime'},
    'datetime': {'now', 'utcnow', 'today'},
}


def looks_at_clocks(path: Path) -> list[str]:
    """Return the lines in a file that use the time of day, or possibly equal ROS time."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        module, _, function = name.rpartition('.')
        keywords = {keyword.arg for keyword in node.keywords}
        if (
            function in OF_THE_DAY.get(module.rpartition('.')[2], ())
            or function in ('get_clock', 'WallTimer')
            or (function == 'create_timer' and 'clock' not in keywords)
            or 'throttle_duration_sec' in keywords
            or (
                function == 'Clock'
                and 'STEADY_TIME' not in ast.unparse(node)
                and node.args == []
                and module == ''
                and 'clock_type' in keywords
            )
        ):
            found.append(f'{node.lineno}: {name}')
    return found


def test_nothing_depends_on_the_time_of_day(repository):
    """Find no use in the sources except the listed ones; timers are steady ones."""
    files = [*(repository / 'sim_bridge').rglob('*.py'), *(repository / 'launch').glob('*.py')]
    asking = {
        path.relative_to(repository).as_posix(): lines
        for path in files
        if (lines := looks_at_clocks(path))
    }
    assert set(asking) == set(MAY_ASK), asking


def test_the_time_of_day_may_jump(graph, start_process, tmp_path):
    """Change the time of day back and forth all the time: no state is missed, late or misdated."""
    process = start_process(
        '-c',
        BENT,
        'node',
        '--ros-args',
        '-p',
        'robot:=pendulum',
        '-p',
        f'record:={tmp_path / "bag"}',
    )
    states = graph.listen(JointState, '/joint_states')
    graph.wait_for_next(states, 2000)
    code, output = end(process)
    assert code == 0, output
    recorded = read_bag(tmp_path / 'bag')
    stamps = [
        nanoseconds(state.header.stamp)
        for state in messages_on(recorded, '/joint_states', JointState)
    ]
    assert {late - early for early, late in pairwise(stamps)} == {MS}
    assert stamps[-1] >= nanoseconds(states[-1].header.stamp)
    times = [each.time_ns for each in recorded]
    assert times == sorted(times)
    assert times[-1] >= stamps[-1]
