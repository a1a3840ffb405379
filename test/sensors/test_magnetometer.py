"""Magnetometers: the world's magnetic field in the axes of a turning sensor."""

from __future__ import annotations

import numpy as np
import pytest
from robots import link, robot

import sim_bridge as sb
from sim_bridge.description import DescriptionError, sensors_from_mapping

GAZEBO = np.array((5.5645e-6, 22.8758e-6, -42.3884e-6))


def test_the_field_turns_against_the_sensor():
    """Measure R^T B on a spinning body, with Gazebo's field by default."""
    own = {'type': 'magnetometer', 'link': 'base', 'magnetic_field': [0, 0, 5e-5]}
    world = sb.World(gravity=(0, 0, 0))
    body = world.load_urdf(
        robot(
            link('base', 1.0),
            '<gazebo reference="base"><sensor name="north" type="magnetometer">'
            '<pose>0 0 0 0 0 1.5707963267948966</pose></sensor></gazebo>',
        ),
        sensors=sensors_from_mapping({'own': own}),
    )
    body.set_base_velocity((0, 0, 0), (0.3, 0.5, 0.7))
    for _ in range(3):
        world.step(400)
        R = body.root_link.R
        turned = R @ [(0, -1, 0), (1, 0, 0), (0, 0, 1)]
        np.testing.assert_allclose(body.device('north').B, turned.T @ GAZEBO, atol=1e-18)
        np.testing.assert_allclose(body.device('own').B, R[2] * 5e-5, atol=1e-18)


def test_noise_of_each_axis_and_wrong_keys():
    """Read SDF's noise by axis; refuse a field with two numbers, and a field on other kinds."""
    noisy = (
        '<magnetometer><x><noise type="gaussian"><stddev>1e-7</stddev></noise></x></magnetometer>'
    )
    world = sb.World()
    body = world.load_urdf(
        robot(
            link('base', 1.0),
            '<gazebo reference="base"><sensor name="north" type="magnetometer">'
            f'{noisy}</sensor></gazebo>',
        ),
        base='fixed',
    )
    sensor, found = body.device('north'), []
    for _ in range(300):
        world.step()
        found.append(sensor.B - sensor.truth.B)
    assert np.std(found, axis=0) == pytest.approx((1e-7, 0, 0), rel=0.15)
    for wrong in (
        {'type': 'magnetometer', 'magnetic_field': [1, 2]},
        {'type': 'imu', 'magnetic_field': [1, 2, 3]},
    ):
        with pytest.raises(DescriptionError, match='magnetic_field'):
            sensors_from_mapping({'north': {'link': 'base', **wrong}})
