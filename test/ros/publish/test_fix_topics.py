"""Topics of satellite navigation receivers: values, covariance, status, names, replay."""

from __future__ import annotations

import math
from pathlib import Path

from bags import messages_on, read_bag, start_recording
from controlled_arm import controlled_arm
from following import LatestMessages, simulator
from geometry_msgs.msg import TwistStamped, Vector3Stamped
import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import NavSatFix, NavSatStatus

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

ORIGIN = {'latitude': 47.47895, 'longitude': 19.057785, 'elevation': 112.5, 'heading': 30.0}
SENSORS = {
    'gps': {
        'type': 'navsat',
        'link': 'lower_rod',
        'update_rate': 50.0,
        'noise': {'position': {'stddev': 2.0, 'z': {'stddev': 5.0}}},
        'truth': True,
    },
    'rtk': {
        'type': 'navsat',
        'link': 'lower_rod',
        'status': 'gbas_fix',
        'service': 'galileo',
        'topic': '/rtk/fix',
        'velocity_message': 'twist',
        'velocity_topic': '/rtk/vel',
    },
}


def test_fixes_are_published_recorded_and_replayed(tmp_path):
    """Give the device's place, the variances of its noise, status and service; replay them."""
    run = start_recording(
        tmp_path / 'bag', sensors=SENSORS, origin=ORIGIN, record_hash_period=0.05, seed=2
    )
    made = run.simulator
    for _ in range(100):
        made.tick()
    run.recording.close()
    bag, robot = read_bag(tmp_path / 'bag'), made.interfaces[0].robot
    fixes = messages_on(bag, '/gps/fix', NavSatFix)
    gps, rtk = robot.device('gps'), robot.device('rtk')
    assert len(fixes) == 5 and fixes[-1].header.frame_id == 'lower_rod'
    last = fixes[-1]
    assert (last.latitude, last.longitude, last.altitude) == (
        gps.latitude,
        gps.longitude,
        gps.altitude,
    )
    assert (last.status.status, last.status.service) == (
        NavSatStatus.STATUS_FIX,
        NavSatStatus.SERVICE_GPS,
    )
    assert last.position_covariance_type == NavSatFix.COVARIANCE_TYPE_DIAGONAL_KNOWN
    np.testing.assert_array_equal(last.position_covariance, [4, 0, 0, 0, 4, 0, 0, 0, 25])
    truth = messages_on(bag, '/gps/fix/truth', NavSatFix)[-1]
    place = sb.Origin(**ORIGIN).geodetic(robot.link('lower_rod').p)
    assert (truth.latitude, truth.longitude) == pytest.approx(place[:2], abs=1e-12)
    assert truth.altitude == pytest.approx(place[2], abs=1e-8)
    assert truth.position_covariance_type == NavSatFix.COVARIANCE_TYPE_UNKNOWN
    assert 0.0 < abs(last.altitude - truth.altitude) < 30.0
    speed = messages_on(bag, '/gps/velocity', Vector3Stamped)[-1].vector
    np.testing.assert_array_equal((speed.x, speed.y, speed.z), gps.velocity)

    exact = messages_on(bag, '/rtk/fix', NavSatFix)[-1]
    assert (exact.status.status, exact.status.service) == (
        NavSatStatus.STATUS_GBAS_FIX,
        NavSatStatus.SERVICE_GALILEO,
    )
    assert exact.position_covariance_type == NavSatFix.COVARIANCE_TYPE_UNKNOWN
    twist = messages_on(bag, '/rtk/vel', TwistStamped)[-1].twist.linear
    np.testing.assert_array_equal((twist.x, twist.y, twist.z), rtk.velocity)
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference


def test_without_a_place_the_status_is_no_fix():
    """Publish STATUS_NO_FIX and nan; name the remedy at the start."""
    from sim_bridge.ros.session.remarks import missing_place_text

    heard = LatestMessages()
    made = simulator(heard, robot='double_pendulum', sensors={'gps': SENSORS['gps']})
    for _ in range(40):
        made.tick()
    fix = deserialize_message(heard.latest['gps/fix'], NavSatFix)
    assert fix.status.status == NavSatStatus.STATUS_NO_FIX
    assert math.isnan(fix.latitude) and math.isnan(fix.altitude)
    text = missing_place_text(made.interfaces[0].robot)
    assert "'gps'" in text and 'origin.latitude' in text
    made.world.origin = sb.Origin(**ORIGIN)
    for _ in range(20):
        made.tick()
    fix = deserialize_message(heard.latest['gps/fix'], NavSatFix)
    assert fix.status.status == NavSatStatus.STATUS_FIX and 47.0 < fix.latitude < 48.0
    assert not missing_place_text(made.interfaces[0].robot)


def test_the_broadcaster_of_ros2_control_has_its_own_topic(tmp_path):
    """Publish the fix below the name of gps_sensor_broadcaster, in the file's frame."""
    path = controlled_arm(
        tmp_path,
        types={'gps_broadcaster': 'gps_sensor_broadcaster/GPSSensorBroadcaster'},
        gps_broadcaster={'sensor_name': 'receiver', 'frame_id': 'antenna'},
    )
    text = Path(path).read_text()
    sensor = '<gazebo reference="elbow_link"><sensor name="receiver" type="navsat"/></gazebo>'
    Path(path).write_text(text.replace('</robot>', f'{sensor}</robot>'))
    heard = LatestMessages()
    made = simulator(heard, robot=path, rate=500.0, origin=ORIGIN)
    for _ in range(10):
        made.tick()
    own = deserialize_message(heard.latest['receiver/fix'], NavSatFix)
    other = deserialize_message(heard.latest['gps_broadcaster/gps/fix'], NavSatFix)
    assert (own.header.frame_id, other.header.frame_id) == ('elbow_link', 'antenna')
    assert own.header.stamp == other.header.stamp and own.latitude == other.latitude


@pytest.mark.parametrize(
    ('origin', 'match'),
    [
        ({'latitude': 47.0}, "parameter 'origin'.*longitude"),
        ({'latitude': 97.0, 'longitude': 0.0}, 'latitude.*-90 to 90'),
        ({'file': 'package://nowhere/field.sdf'}, 'nowhere'),
    ],
)
def test_a_wrong_place_is_refused_at_the_start(origin, match):
    """Name the parameter and the value."""
    with pytest.raises(InvalidValueError, match=match):
        simulator(robot='pendulum', origin=origin)
