"""A rover drives over the graph; its fixes lie on the path that it was commanded to take."""

from __future__ import annotations

from geometry_msgs.msg import Twist, Vector3Stamped
import pytest
from ros_graph import end
from sensor_msgs.msg import NavSatFix, NavSatStatus

import sim_bridge as sb

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

ORIGIN = sb.Origin(47.47895, 19.057785, 112.5, heading=90.0)


def test_fixes_follow_the_commanded_path(graph, start_node):
    """Drive ahead, which the heading turns to the north, and read the way from the fixes."""
    process = start_node(
        robot='rover',
        # paced: commands must not time out between two calls of the test
        real_time_factor=1.0,
        **{
            'origin.latitude': 47.47895,
            'origin.longitude': 19.057785,
            'origin.elevation': 112.5,
            'origin.heading': 90.0,
            'sensors.gps.type': 'navsat',
            'sensors.gps.link': 'base_link',
            'sensors.gps.update_rate': 20.0,
        },
    )
    fixes = graph.listen(NavSatFix, '/gps/fix')
    speeds = graph.listen(Vector3Stamped, '/gps/velocity')
    graph.wait(lambda: fixes, 'a fix')
    command = graph.advertise(Twist, '/cmd_vel')
    message = Twist()
    message.linear.x = 0.4
    graph.wait(
        lambda: speeds and speeds[-1].vector.y > 0.39,
        'its speed to the north',
        also=lambda: command.publish(message),
    )
    begun, count = fixes[-1], len(fixes)
    graph.wait(
        lambda: len(fixes) > count + 60, '3 s of fixes', also=lambda: command.publish(message)
    )
    last = fixes[-1]
    assert last.status.status == NavSatStatus.STATUS_FIX
    start, stop = (ORIGIN.position(f.latitude, f.longitude, f.altitude) for f in (begun, last))
    elapsed = (last.header.stamp.sec - begun.header.stamp.sec) + 1e-9 * (
        last.header.stamp.nanosec - begun.header.stamp.nanosec
    )
    # ahead is the world's x axis, which points north
    assert stop[0] - start[0] == pytest.approx(0.4 * elapsed, rel=0.02)
    assert abs(stop[1] - start[1]) < 0.02 * 0.4 * elapsed
    assert last.latitude > begun.latitude
    assert end(process)[0] == 0
