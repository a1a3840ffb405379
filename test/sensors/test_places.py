"""Altimeters, air pressure and pose sensors, and sonars, also as declared in SDF."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from robots import link, robot

import sim_bridge as sb
from sim_bridge.description import DescriptionError, sensors_from_mapping

QUIET = {
    'height': {'type': 'altimeter', 'position': [0.1, 0.2, 0.3]},
    'air': {'type': 'air_pressure', 'reference_altitude': 500.0},
    'place': {'type': 'pose', 'position': [0.1, 0.2, 0.3], 'rpy': [0, 0, 1.0]},
}


def flying(sensors, gazebo=''):
    """Return a turning and rising body with sensors, without gravity."""
    world = sb.World(gravity=(0, 0, 0), seed=4)
    body = world.load_urdf(
        robot(link('base', 1.0), gazebo),
        sensors=sensors_from_mapping(
            {name: {'link': 'base', **each} for name, each in sensors.items()}
        ),
    )
    body.set_base_pose((1.0, 2.0, 50.0), (0.1, 0.2, 0.3, 0.9))
    body.set_base_velocity((0.1, 0.2, 3.0), (0.4, 0.5, 0.6))
    return world, body


def test_height_pressure_and_pose_follow_from_the_body():
    """Measure z and its rate at a lever arm, the standard atmosphere there, and R_WB R_BS."""
    world, body = flying(QUIET)
    c, s = math.cos(1.0), math.sin(1.0)
    turned = np.array([(c, -s, 0), (s, c, 0), (0, 0, 1)])
    for _ in range(3):
        world.step(300)
        base = body.root_link
        arm = base.R @ (0.1, 0.2, 0.3)
        place = body.device('place')
        height, air = body.device('height'), body.device('air')
        assert height.height == pytest.approx(base.p[2] + arm[2], abs=1e-12)
        assert height.rate == pytest.approx((base.v + np.cross(base.w, arm))[2], abs=1e-12)
        np.testing.assert_allclose(place.position, base.p + arm, atol=1e-12)
        x, y, z, w = place.orientation
        R = np.array(
            [
                (1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)),
                (2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)),
                (2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)),
            ]
        )
        np.testing.assert_allclose(R, base.R @ turned, atol=1e-12)
        kelvin = 288.15 - 0.0065 * (base.p[2] + 500.0)
        assert air.pressure == pytest.approx(101325.0 * (kelvin / 288.15) ** 5.2561, rel=1e-12)
    # the standard atmosphere's table: 89 874.6 Pa at 1000 m, with exponent 5.2559
    body.set_base_pose((0, 0, 500.0), (0, 0, 0, 1))
    world.step()
    assert body.device('air').pressure == pytest.approx(89874.6, abs=5.0)


def test_samples_survive_copies_snapshots_and_resets():
    """Continue with the same bits in a copy and after a restore; forget all in a reset."""
    noisy = {
        name: {**each, 'update_rate': 250.0, 'noise': {quantity: {'stddev': 0.5}}}
        for (name, each), quantity in zip(
            QUIET.items(), ('vertical_velocity', 'pressure', 'position'), strict=True
        )
    }
    world, body = flying(noisy)
    world.step(10)
    saved, twin = world.save(), copy.copy(world)

    def values(one):
        return np.concatenate(
            [
                one.robots[body.name].device(name)[quantity]
                for name, quantity in (
                    ('height', 'vertical_position'),
                    ('height', 'vertical_velocity'),
                    ('air', 'pressure'),
                    ('place', 'position'),
                    ('place', 'orientation'),
                )
            ]
        )

    world.step(40)
    later = values(world)
    twin.step(40)
    np.testing.assert_array_equal(values(twin), later)
    world.restore(saved)
    world.step(40)
    np.testing.assert_array_equal(values(world), later)
    height = body.device('height')
    assert height.height == height.truth['vertical_position'][0]
    assert 0 < abs(height.rate - height.truth['vertical_velocity'][0]) < 3.0
    place = body.device('place')
    assert (place.position != place.truth['position']).all()
    np.testing.assert_array_equal(place.orientation, place.truth['orientation'])
    world.reset()
    assert np.isnan(values(world)).all()


def test_gazebos_keys():
    """Read altimeter, air_pressure and sonar elements as in SDF."""
    noise = '<noise type="gaussian"><mean>0.5</mean><stddev>{}</stddev></noise>'
    world, body = flying(
        {},
        f"""<gazebo reference="base">
        <sensor name="height" type="altimeter"><update_rate>100</update_rate><altimeter>
          <vertical_position>{noise.format(0)}</vertical_position>
          <vertical_velocity>{noise.format(0.2)}</vertical_velocity></altimeter></sensor>
        <sensor name="air" type="air_pressure"><air_pressure>
          <reference_altitude>123</reference_altitude>
          <pressure>{noise.format(2.0)}</pressure></air_pressure></sensor>
        <sensor name="sonar" type="sonar"><sonar><geometry>cone</geometry><min>0.1</min>
          <max>4</max><radius>1</radius></sonar></sensor></gazebo>""",
    )
    height, air, sonar = (body.device(name) for name in ('height', 'air', 'sonar'))
    world.step(20)
    assert height.update_rate == 100.0
    assert height.height == pytest.approx(height.truth['vertical_position'][0] + 0.5)
    assert height.standard_deviations('vertical_velocity') == 0.2
    assert air.description.settings.reference_altitude == 123.0
    assert air.standard_deviations('pressure') == 2.0
    assert isinstance(sonar, sb.RangeSensor) and sonar.range == math.inf
    assert sonar.field_of_view == pytest.approx(2.0 * math.atan(0.25))
    assert sonar.rays.radiation == 'ultrasound'
    ahead = body.root_link.p + body.root_link.R @ (2.0, 0.3, -0.2)
    world.add_body(sb.Sphere(0.1), motion='static', position=ahead)
    world.step()
    assert sonar.range == pytest.approx(math.sqrt(4.13), abs=0.11)


@pytest.mark.parametrize(
    ('settings', 'match'),
    [
        ({'type': 'altimeter', 'noise': {'vertical_position': {'x': {'stddev': 1}}}}, 'x'),
        ({'type': 'altimeter', 'reference_altitude': 3.0}, 'air_pressure'),
        ({'type': 'air_pressure', 'reference_altitude': 'high'}, 'reference_altitude'),
        ({'type': 'pose', 'noise': {'orientation': {'stddev': 1}}}, 'position'),
    ],
)
def test_wrong_keys_are_named(settings, match):
    """Name a key foreign to the kind, and a value that is not a number."""
    with pytest.raises(DescriptionError, match=match):
        sensors_from_mapping({'one': {'link': 'base', **settings}})
