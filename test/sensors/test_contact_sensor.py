"""Contact sensors: forces on a link or on some of its collision shapes, against statics."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from robots import link, robot

import sim_bridge as sb
from sim_bridge.description import DescriptionError, sensors_from_mapping

PADS = ''.join(
    f'<collision name="{name}"><origin xyz="{x} 0 0"/><geometry><sphere radius="0.1"/></geometry>'
    '</collision>'
    for name, x in (('left', -0.3), ('right', 0.3))
)


def bumper(*names, tag=''):
    """Return a 2 kg body on two balls, with a contact sensor on some of its collision shapes."""
    inner = ''.join(f'<collision>{name}</collision>' for name in names)
    return robot(
        link('base', 2.0).replace('</link>', f'{PADS}</link>'),
        '<gazebo reference="base"><sensor name="bump" type="contact">'
        '<update_rate>100</update_rate>'
        f'<pose>0 0 -0.1 0 0 1.5707963267948966</pose><contact>{inner}</contact>{tag}</sensor>'
        '</gazebo>',
    )


def resting(xml):
    """Return a world with the body at rest on the ground, and the sensor."""
    world = sb.World()
    world.add_ground()
    loaded = world.load_urdf(xml, position=(0, 0, 0.1))
    world.step(500)
    return world, loaded.device('bump')


def test_the_forces_on_a_body_at_rest():
    """Read the weight on both balls, or half of it on one, with its torque in the sensor axes."""
    world, both = resting(bumper())
    assert isinstance(both, sb.ContactSensor)
    np.testing.assert_allclose(both.f, (0, 0, 2 * 9.81), atol=1e-6)
    np.testing.assert_allclose(both.tau, 0.0, atol=1e-6)
    assert both.contact_count == 2
    world, right = resting(bumper('right'))
    assert right.f[2] == pytest.approx(9.81, abs=1e-6)
    # friction may squeeze the body: the reading on one ball includes this contact force
    (contact,) = (
        each for each in world.contacts if 'right' in (each.geometry_a.name, each.geometry_b.name)
    )
    sign = 1.0 if contact.geometry_a.name == 'right' else -1.0
    x, y, z = sign * contact.force
    np.testing.assert_allclose(right.f, (y, -x, z), atol=1e-9)
    # 0.3 m along x is along -y in the sensor frame
    np.testing.assert_allclose(right.tau, (-0.3 * 9.81, 0, 0), atol=1e-6)
    assert right.contact_count == 1


def test_nothing_touches_in_the_air_and_a_restore_feels_the_same():
    """Read nothing before the landing; repeat it after a restore and in a copy; reset it."""
    world = sb.World()
    world.add_ground()
    body = world.load_urdf(bumper(), position=(0, 0, 0.3))
    sensor = body.device('bump')
    assert not sensor.is_touching and np.isnan(sensor.f).all()
    world.step(100)
    assert not sensor.is_touching and not sensor.f.any()
    saved, twin = world.save(), copy.copy(world)
    seen = []
    for _ in range(2):
        world.step(300)
        seen.append((sensor.f.copy(), sensor.contact_count, world.state_hash()))
        world.restore(saved)
        assert not sensor.is_touching
    twin.step(300)
    other = twin.robots['robot'].device('bump')
    seen.append((other.f.copy(), other.contact_count, twin.state_hash()))
    for force, count, state in seen:
        np.testing.assert_array_equal(force, seen[0][0])
        assert count == seen[0][1] > 0 and state == seen[0][2]
    world.reset()
    assert not sensor.is_touching and np.isnan(sensor.tau).all()
    # its geometries have other numbers
    world.remove('ground')
    floor = world.add_body(sb.Box((9, 9, 1)), motion='static', position=(0, 0, -0.5))
    world.step(400)
    assert sensor.f[2] == pytest.approx(2 * 9.81, rel=1e-3)
    assert floor.geometries[0].index == 2


def test_names_of_collisions():
    """Warn of collision names missing on the link, and watch the whole link; also in YAML."""
    usual = 'base_collision', 'root_fixed_joint_lump__base_collision_1'
    for name, is_known in ((usual[0], True), (usual[1], True), ('nose', False), ('left', True)):
        world, sensor = resting(bumper(name))
        assert sensor.contact_count == (1 if name == 'left' else 2)
        found = world.robots['robot'].description.report.findings
        assert any('collision' in finding.attribute for finding in found) != is_known
    given = {'bump': {'type': 'contact', 'link': 'base', 'collisions': ['left']}}
    assert sensors_from_mapping(given)[0].settings.collisions == ('left',)
    for wrong in (
        {'type': 'contact', 'collisions': [1]},
        {'type': 'imu', 'collisions': ['a']},
        {'type': 'contact', 'noise': {'force': {'stddev': 1}}},
    ):
        with pytest.raises(DescriptionError):
            sensors_from_mapping({'bump': {'link': 'base', **wrong}})
