"""Satellite navigation receivers, and the sensors that depend on the place on the Earth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from robots import link, robot

import sim_bridge as sb
from sim_bridge.description import DescriptionError, sensors_from_mapping

PLACE = sb.Origin(47.47895, 19.057785, 112.5, heading=30.0)
ARM = (0.1, 0.2, 0.3)


def moving(sensors=(), gazebo='', **options):
    """Return a world with a turning, moving body that carries sensors, and the body."""
    world = sb.World(gravity=(0, 0, 0), **options)
    body = world.load_urdf(
        robot(link('base', 1.0), gazebo),
        sensors=sensors_from_mapping(
            {name: {'link': 'base', **each} for name, each in dict(sensors).items()}
        ),
    )
    body.set_base_pose((1234.5, -678.9, 12.3), (0.1, 0.2, 0.3, 0.9))
    body.set_base_velocity((3.0, -2.0, 1.0), (0.4, 0.5, 0.6))
    return world, body


def test_a_receiver_measures_its_place_and_velocity():
    """Measure the place of the lever arm's end, and its velocity in the axes of that place."""
    world, body = moving({'gps': {'type': 'navsat', 'position': list(ARM)}}, origin=PLACE)
    gps = body.device('gps')
    assert math.isnan(gps.latitude)
    for _ in range(3):
        world.step(200)
        base = body.root_link
        arm = base.R @ ARM
        place = PLACE.geodetic(base.p + arm)
        assert (gps.latitude, gps.longitude) == pytest.approx(place[:2], abs=1e-13)
        assert gps.altitude == pytest.approx(place[2], abs=4e-9)
        c, s = math.cos(math.radians(30.0)), math.sin(math.radians(30.0))
        turn = np.array([(c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0)])
        np.testing.assert_allclose(gps.position, turn @ (base.p + arm), rtol=1e-14)
        # the velocity by differences of places, in the tangent frame of the sensor's own place
        v, h = base.v + np.cross(base.w, arm), 1e-3
        here = sb.Origin(*place)
        ahead, behind = (here.position(*PLACE.geodetic(base.p + arm + k * v)) for k in (h, -h))
        np.testing.assert_allclose(gps.velocity, np.subtract(ahead, behind) / (2 * h), atol=5e-6)
    # 15 km away the horizon tilts by 0.13 degrees
    body.set_base_pose((15000.0, 0.0, 0.0), (0, 0, 0, 1))
    body.set_base_velocity((10.0, 0.0, 0.0), (0, 0, 0))
    world.step()
    assert gps.velocity[2] == pytest.approx(10.0 * 15000.0 / 6.38e6, rel=0.01)


def test_noise_is_declared_in_metres_and_keeps_its_statistics():
    """Scatter the fixes in metres along east, north and up, with the covariance's variance."""
    noise = {'position': {'stddev': 2.0, 'z': {'stddev': 5.0}}, 'velocity': {'stddev': 0.1}}
    world, body = moving({'gps': {'type': 'navsat', 'noise': noise}}, origin=PLACE, seed=3)
    gps, errors, speeds = body.device('gps'), [], []
    body.set_base_velocity((0, 0, 0), (0, 0, 0))
    for _ in range(1500):
        world.step()
        truth = gps.truth
        here = sb.Origin(truth['latitude'][0], truth['longitude'][0], truth['altitude'][0])
        errors.append(here.position(gps.latitude, gps.longitude, gps.altitude))
        speeds.append(gps.velocity - truth['velocity'])
    assert np.std(errors, axis=0) == pytest.approx((2.0, 2.0, 5.0), rel=0.06)
    assert np.mean(errors, axis=0) == pytest.approx((0.0, 0.0, 0.0), abs=0.4)
    assert np.std(speeds, axis=0) == pytest.approx((0.1, 0.1, 0.1), rel=0.06)
    np.testing.assert_allclose(gps.variances('position'), (4.0, 4.0, 25.0))


def test_without_a_place_there_is_no_fix():
    """Give nan for the fix; keep local position and velocity; follow a place set later."""
    world, body = moving({'gps': {'type': 'navsat'}})
    gps = body.device('gps')
    world.step()
    assert all(math.isnan(each) for each in (gps.latitude, gps.longitude, gps.altitude))
    np.testing.assert_allclose(gps.velocity, body.root_link.v)
    world.origin = PLACE
    world.step()
    assert gps.latitude == pytest.approx(PLACE.geodetic(body.root_link.p)[0], abs=1e-13)


def test_copies_and_batches_measure_the_same_place():
    """Give equal bits in a copy, and in a world of a batch."""
    noise = {'position': {'stddev': 1.0}}
    world, body = moving({'gps': {'type': 'navsat', 'noise': noise}}, origin=PLACE, seed=5)
    twin = world.copy()
    batch = sb.Batch(world, 2)
    world.step(7), twin.step(7), batch.step(7)
    own = body.device('gps')
    for quantity in ('latitude', 'longitude', 'altitude', 'velocity'):
        gps = twin.robots[body.name].device('gps')
        np.testing.assert_array_equal(gps[quantity], own[quantity])
        # worlds of a batch have seeds of their own
        gps = batch.world(1).robots[body.name].device('gps')
        np.testing.assert_array_equal(gps.truth[quantity], own.truth[quantity])


def test_a_sensor_may_have_its_own_place():
    """Measure from the sensor's origin, whatever the world's."""
    own = {'latitude': -33.8688, 'longitude': 151.2093, 'elevation': 25.0, 'heading': 0.0}
    world, body = moving({'gps': {'type': 'navsat', 'origin': own}}, origin=PLACE)
    world.step()
    place = sb.Origin(-33.8688, 151.2093, 25.0).geodetic(body.root_link.p)
    gps = body.device('gps')
    assert (gps.latitude, gps.longitude) == pytest.approx(place[:2], abs=1e-13)


def test_field_and_pressure_follow_from_the_place():
    """Take field and elevation of the place, unless the sensor has its own."""
    sensors = {
        'compass': {'type': 'magnetometer'},
        'own': {'type': 'magnetometer', 'magnetic_field': [0, 0, 5e-5]},
        'air': {'type': 'air_pressure'},
        'low': {'type': 'air_pressure', 'reference_altitude': 0.0},
    }
    world, body = moving(sensors, origin=PLACE)
    world.step()
    R, height = body.root_link.R, body.root_link.p[2]
    np.testing.assert_allclose(body.device('compass').B, R.T @ PLACE.magnetic_field, atol=1e-18)
    np.testing.assert_allclose(body.device('own').B, R[2] * 5e-5, atol=1e-18)
    kelvin = 288.15 - 0.0065 * (height + 112.5)
    expected = 101325.0 * (kelvin / 288.15) ** 5.2561
    assert body.device('air').pressure == pytest.approx(expected, rel=1e-12)
    assert body.device('low').pressure > body.device('air').pressure


NOISE = '<noise type="gaussian"><mean>0</mean><stddev>{}</stddev></noise>'
SENSING = (
    '<{kind}><position_sensing><horizontal>{a}</horizontal><vertical>{b}</vertical>'
    '</position_sensing><velocity_sensing><horizontal>{c}</horizontal><vertical>{d}</vertical>'
    '</velocity_sensing></{kind}>'
)


@pytest.mark.parametrize('kind', ['navsat', 'gps'])
def test_gazebos_sensors_are_read(kind):
    """Read SDF's noise, topic and frame; take the topics of gazebo_ros_gps_sensor."""
    a, b, c, d = map(NOISE.format, (1.5, 3.0, 0.1, 0.2))
    _, body = moving(
        gazebo='<gazebo reference="base"><sensor name="gps" type="'
        f'{kind}"><update_rate>10</update_rate><topic>/gps/fix</topic>'
        f'{SENSING.format(kind=kind, a=a, b=b, c=c, d=d)}'
        '<plugin name="gps_plugin" filename="libgazebo_ros_gps_sensor.so"><ros>'
        '<namespace>/gps</namespace><remapping>~/out:=data</remapping>'
        '<remapping>~/vel:=velocity</remapping></ros></plugin></sensor></gazebo>'
    )
    gps = body.device('gps')
    assert not body.description.report.findings
    assert isinstance(gps, sb.NavSatSensor) and gps.update_rate == pytest.approx(10.0)
    assert gps.description.topic == '/gps/data'
    assert gps.description.settings.velocity_topic == '/gps/velocity'
    np.testing.assert_allclose(gps.standard_deviations('position'), (1.5, 1.5, 3.0))
    np.testing.assert_allclose(gps.standard_deviations('velocity'), (0.1, 0.1, 0.2))


HECTOR = (
    '<gazebo><plugin name="quadrotor_gps" filename="libhector_gazebo_ros_gps.so">'
    '<bodyName>{body}</bodyName><updateRate>20</updateRate><topicName>fix</topicName>'
    '<velocityTopicName>fix_velocity</velocityTopicName><robotNamespace>/uav</robotNamespace>'
    '<referenceLatitude>49.86</referenceLatitude><referenceLongitude>8.68</referenceLongitude>'
    '<referenceAltitude>100</referenceAltitude><referenceHeading>{heading}</referenceHeading>'
    '<driftFrequency>0.01</driftFrequency><drift>5 4 3</drift><gaussianNoise>0.5</gaussianNoise>'
    '<velocityGaussianNoise>0.1 0.2 0.3</velocityGaussianNoise><status>2</status>'
    '</plugin></gazebo>'
)


def test_hector_gazebos_plugin_is_a_receiver():
    """Lead x to the reference heading, counted from north; give its error model and topics."""
    world, body = moving(gazebo=HECTOR.format(body='base', heading=0))
    gps = body.device('quadrotor_gps')
    assert not body.description.report.findings
    assert gps.update_rate == 20.0
    settings = gps.description.settings
    assert (gps.description.topic, settings.velocity_topic) == ('/uav/fix', '/uav/fix_velocity')
    assert (settings.status, settings.service) == ('gbas_fix', 'gps')
    world.step(50)
    truth, place = gps.truth, sb.Origin(49.86, 8.68, 100.0)
    x, y, z = body.root_link.p
    expected = place.geodetic((-y, x, z))
    assert truth['latitude'][0] == pytest.approx(expected[0], abs=1e-12)
    assert truth['longitude'][0] == pytest.approx(expected[1], abs=1e-12)
    # north, west, up
    np.testing.assert_allclose(truth['velocity'], body.root_link.v, atol=2e-3)
    # drift to the north is that of the first number; its standard deviation at rest is `drift`
    np.testing.assert_allclose(gps.variances('position'), (16.25, 25.25, 9.25))
    np.testing.assert_allclose(gps.standard_deviations('velocity'), (0.1, 0.2, 0.3))


def test_a_defective_plugin_is_left_out():
    """Warn of an unknown link, an unknown status and a place beyond the pole; keep the robot."""
    _, body = moving(gazebo=HECTOR.format(body='wing', heading=0))
    assert not body.devices()
    assert 'no link has this name' in str(body.description.report)
    text = HECTOR.format(body='base', heading=0).replace('<status>2', '<status>7')
    _, body = moving(gazebo=text)
    assert body.device('quadrotor_gps').description.settings.status == 'fix'
    assert 'must be one of -1 (no_fix)' in str(body.description.report)
    _, body = moving(gazebo=HECTOR.format(body='base', heading=0).replace('49.86', '149.86'))
    assert not body.devices() and 'from -90 to 90' in str(body.description.report)


def test_hardware_interfaces_declare_a_receiver():
    """Read a `<sensor>` in `<ros2_control>` with the interfaces of gps_sensor_broadcaster."""
    interfaces = ''.join(
        f'<state_interface name="{name}"/>'
        for name in ('status', 'service', 'latitude', 'longitude', 'altitude')
    )
    _, body = moving(
        gazebo='<ros2_control name="hw" type="sensor"><hardware><plugin>x</plugin></hardware>'
        f'<sensor name="gps">{interfaces}<param name="link">base</param></sensor></ros2_control>'
    )
    assert isinstance(body.device('gps'), sb.NavSatSensor)


@pytest.mark.parametrize(
    ('settings', 'match'),
    [
        ({'type': 'navsat', 'origin': {'latitude': 95.0}}, 'latitude.*-90 to 90'),
        ({'type': 'navsat', 'origin': {'height': 3.0}}, 'height'),
        ({'type': 'navsat', 'status': 'good'}, 'status.*no_fix, fix'),
        (
            {'type': 'navsat', 'noise': {'latitude': {'stddev': 1}}},
            'position and velocity|position',
        ),
        ({'type': 'imu', 'velocity_message': 'twist'}, 'only navsat sensors'),
    ],
)
def test_wrong_keys_are_named(settings, match):
    """Name the key and the accepted values."""
    with pytest.raises(DescriptionError, match=match):
        sensors_from_mapping({'one': {'link': 'base', **settings}})
