"""Range sensors and lidars: distances by formula, REP 117, noise, snapshots and copies."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from robots import link, robot

import sim_bridge as sb
from sim_bridge.description import DescriptionError, sensors_from_mapping

INNER = """
<scan>
  <horizontal>
    <samples>181</samples><min_angle>-1.5707963267948966</min_angle>
    <max_angle>1.5707963267948966</max_angle>
  </horizontal>
</scan>
<range><min>0.2</min><max>5</max>{resolution}</range>
{noise}
"""
HOUSING = '<collision><geometry><cylinder radius="0.1" length="0.2"/></geometry></collision>'


def laser(kind='gpu_lidar', tag='lidar', resolution='', noise='', more=''):
    """Return a robot with a lidar in its housing."""
    inner = INNER.format(resolution=resolution, noise=noise)
    return robot(
        link('base', 1.0).replace('</link>', f'{HOUSING}</link>'),
        f'<gazebo reference="base"><sensor name="laser" type="{kind}">'
        f'<update_rate>50</update_rate><pose>0 0 0.05 0 0 0</pose><{tag}>{inner}</{tag}>{more}'
        '</sensor></gazebo>',
    )


def corridor(xml, **options):
    """Return a world with a wall 2 m ahead and a post 0.1 m wide, 1 m to the left; the robot."""
    world = sb.World(**options)
    loaded = world.load_urdf(xml, base='fixed')
    world.add_body(sb.Box((0.2, 40, 4)), 'wall', motion='static', position=(2.1, 0, 0))
    world.add_body(sb.Cylinder(0.05, 4), 'post', motion='static', position=(0, 1, 0))
    return world, loaded


def test_a_lidar_sees_the_wall_of_the_pipe_it_is_in():
    """Measure the distance to the bore's wall all around, from a place off its axis."""
    world = sb.World()
    lidar = world.load_urdf(laser(), base='fixed').device('laser')
    world.add_body(sb.HollowCylinder(1.6, 3.0, 1.5), motion='static', position=(0, 0.4, 0))
    world.step(20)
    aside = 0.4 * np.sin(lidar.angles)
    expected = aside + np.sqrt(1.5**2 - 0.4**2 + aside**2)
    np.testing.assert_allclose(lidar.ranges, expected, atol=1e-12)


@pytest.mark.parametrize(
    ('kind', 'tag'),
    [('gpu_lidar', 'lidar'), ('lidar', 'lidar'), ('ray', 'ray'), ('gpu_ray', 'ray')],
)
def test_a_lidar_sees_a_wall_where_it_is(kind, tag):
    """Measure 2 m / cos(angle) to a wall, and the post beside it, but not the own housing."""
    world, loaded = corridor(laser(kind, tag))
    lidar = loaded.device('laser')
    assert isinstance(lidar, sb.LidarSensor)
    assert np.isnan(lidar.ranges).all() and lidar.sample_step == -1
    world.step(20)
    assert lidar.sample_step == 20 and lidar.update_rate == 50.0
    expected = 2.0 / np.cos(lidar.angles)
    expected[expected > 5.0] = np.inf
    aside = lidar.angles - 0.5 * np.pi
    at_post = (aside > -0.1) & (np.abs(np.sin(aside)) < 0.05)
    assert at_post.sum() == 3
    expected[at_post] = np.cos(aside[at_post]) - np.sqrt(0.05**2 - np.sin(aside[at_post]) ** 2)
    np.testing.assert_allclose(lidar.ranges, expected, atol=1e-12)
    np.testing.assert_array_equal(lidar.ranges, lidar.truth.ranges)


def test_too_close_is_minus_infinity():
    """Return -inf below the least distance, as in REP 117."""
    world, loaded = corridor(laser())
    world.add_body(sb.Sphere(0.05), motion='static', position=(0.2, 0, 0.05))
    world.step(20)
    ranges = loaded.device('laser').ranges
    assert ranges[90] == -np.inf
    assert ranges[0] == np.inf


def test_noise_is_gaussian_rounded_and_within_the_limits():
    """Add SDF's noise to each ray on its own, round to the resolution, keep infinity."""
    noise = '<noise type="gaussian"><mean>0.02</mean><stddev>0.05</stddev></noise>'
    world, loaded = corridor(laser(noise=noise, resolution='<resolution>0.001</resolution>'))
    lidar, samples = loaded.device('laser'), []
    for _ in range(200):
        world.step(20)
        samples.append(lidar.ranges.copy())
    samples, truth = np.array(samples), lidar.truth.ranges
    seen = np.isfinite(truth)
    np.testing.assert_array_equal(np.isinf(samples), np.tile(~seen, (200, 1)))
    errors = samples[:, seen & (truth < 4.8)] - truth[seen & (truth < 4.8)]
    assert errors.mean() == pytest.approx(0.02, abs=0.002)
    assert errors.std() == pytest.approx(0.05, rel=0.05)
    assert np.abs(np.corrcoef(errors[:, :5].T) - np.eye(5)).max() < 0.3
    steps = samples[:, seen] / 0.001
    np.testing.assert_allclose(steps, np.round(steps), atol=1e-9)
    assert samples[:, seen].max() <= 5.0
    assert lidar.standard_deviations('range').tolist() == [0.05] * 181


def test_a_range_sensor_gives_the_least_of_its_rays():
    """Publish a Range from a ray fan, as gazebo_ros does; topic, radiation and field of view."""
    plugin = (
        '<plugin filename="libgazebo_ros_ray_sensor.so" name="sonar"><ros><namespace>/front'
        '</namespace><remapping>~/out:=sonar</remapping></ros><output_type>sensor_msgs/Range'
        '</output_type><radiation_type>ultrasound</radiation_type></plugin>'
    )
    world, loaded = corridor(laser('ray', 'ray', more=plugin))
    sonar = loaded.device('laser')
    assert isinstance(sonar, sb.RangeSensor)
    assert math.isnan(sonar.range)
    world.step(20)
    assert sonar.range == pytest.approx(0.95, abs=1e-12)
    assert sonar.ranges.shape == (1,)
    assert sonar.field_of_view == pytest.approx(math.pi)
    assert sonar.description.topic == '/front/sonar'
    assert sonar.rays.radiation == 'ultrasound'


def test_several_rows_look_up_and_down():
    """Order rays by elevation, then by angle, and measure a floor by its height."""
    sensors = sensors_from_mapping(
        {
            'lidar': {
                'type': 'lidar',
                'link': 'base',
                'position': [0, 0, 1.0],
                'horizontal': {'samples': 8, 'min_angle': -3.0, 'max_angle': 3.0},
                'vertical': {'samples': 3, 'min_angle': -0.5, 'max_angle': 0.5},
                'range': {'min': 0.1, 'max': 20.0},
            }
        }
    )
    world = sb.World()
    world.add_ground()
    loaded = world.load_urdf(robot(link('base', 1.0)), sensors=sensors, base='fixed')
    world.step()
    lidar = loaded.device('lidar')
    assert lidar.ranges.shape == (24,)
    np.testing.assert_allclose(lidar.ranges[:8], 1.0 / np.sin(0.5), rtol=1e-14)
    assert np.isposinf(lidar.ranges[8:]).all()
    assert lidar.directions.shape == (24, 3)
    np.testing.assert_allclose(lidar.elevations, [-0.5, 0.0, 0.5])


def test_moving_bodies_are_seen_at_the_sample_instant():
    """See a falling ball at its height after the step, on a moving lidar."""
    sensors = sensors_from_mapping(
        {
            'eye': {
                'type': 'range',
                'link': 'base',
                'rpy': [0, -math.pi / 2, 0],
                'range': {'max': 100.0},
            }
        }
    )
    world = sb.World()
    box = world.load_urdf(robot(link('base', 1.0)), sensors=sensors)
    box.set_base_velocity((0, 0, 3.0))
    ball = world.add_body(sb.Sphere(0.5), mass=1.0, position=(0, 0, 10))
    for _ in range(5):
        world.step(30)
        gap = ball.root_link.p[2] - 0.5 - box.root_link.p[2]
        assert box.device('eye').range == pytest.approx(gap, abs=1e-12)


def test_nothing_to_see_and_nothing_limits():
    """Measure infinity in an empty world, and see up to 1000 km without a limit."""
    sensors = sensors_from_mapping({'eye': {'type': 'range', 'link': 'base'}})
    world = sb.World()
    loaded = world.load_urdf(robot(link('base', 1.0)), sensors=sensors, base='fixed')
    world.step()
    assert loaded.device('eye').range == np.inf
    world.add_body(sb.Sphere(1.0), motion='static', position=(1e5, 0, 0))
    world.step()
    assert loaded.device('eye').range == pytest.approx(1e5 - 1.0, rel=1e-12)


def test_snapshots_copies_and_resets_keep_every_bit():
    """Repeat the same noisy samples after a restore, in a copy, a pickle, and after a reset."""
    noise = '<noise type="gaussian"><stddev>0.05</stddev></noise>'
    world, loaded = corridor(laser(noise=noise), seed=3)
    lidar = loaded.device('laser')
    world.step(40)
    first = lidar.ranges.copy()
    world.step(40)
    snapshot = world.save()
    twins = [copy.copy(world), pickle.loads(pickle.dumps(world))]
    before = lidar.ranges.copy()
    runs = []
    for _ in range(2):
        world.step(60)
        runs.append((lidar.ranges.copy(), world.state_hash()))
        world.restore(snapshot)
        np.testing.assert_array_equal(lidar.ranges, before)
    for twin in twins:
        twin.step(60)
        runs.append((twin.robots['robot'].device('laser').ranges.copy(), twin.state_hash()))
    for ranges, state in runs:
        np.testing.assert_array_equal(ranges, runs[0][0])
        assert state == runs[0][1]
    assert (runs[0][0] != before).any()
    world.reset(time=True)
    assert np.isnan(lidar.ranges).all()
    world.step(40)
    np.testing.assert_array_equal(lidar.ranges, first)


def test_wrong_keys_are_named():
    """Name key, value and sensor for a wrong setting."""
    wrong = {
        'samples': {'type': 'lidar', 'horizontal': {'samples': 0}},
        'whole number': {'type': 'lidar', 'horizontal': {'samples': 1.5}},
        'max_angle': {'type': 'lidar', 'horizontal': {'min_angle': 1, 'max_angle': 0}},
        'must be above min': {'type': 'range', 'range': {'min': 2, 'max': 1}},
        'at most 1000000 rays': {'type': 'lidar', 'horizontal': {'samples': 1e9}},
        'ultrasound': {'type': 'range', 'radiation': 'sound'},
        'only lidar and range': {'type': 'imu', 'range': {'min': 1}},
        'only range sensors': {'type': 'lidar', 'radiation': 'infrared'},
        'a mapping': {'type': 'lidar', 'horizontal': 5},
        'the keys are samples': {'type': 'lidar', 'vertical': {'count': 5}},
        'the keys are type': {'type': 'lidar', 'noise': {'range': {'x': {'stddev': 1}}}},
    }
    for text, settings in wrong.items():
        with pytest.raises(DescriptionError, match=text):
            sensors_from_mapping({'eye': {'link': 'base', **settings}})
    blind = sb.World().load_urdf(
        robot(
            link('base', 1.0),
            ('<gazebo reference="base"><sensor name="s" type="lidar"/></gazebo>'),
        )
    )
    assert not blind.devices()
    assert 'without <lidar>' in str(blind.description.report.findings)
