"""Gravity mode: whether gravity acts on a link, after ODE."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from robots import joint, link, robot

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError

G = 9.81


def test_body_without_gravity_floats():
    """Stay in place without potential energy, until gravity acts again."""
    world = sb.World()
    body = world.add_body(sb.Box((1, 1, 1)), mass=2.0, position=(0, 0, 5))
    body.gravity_mode = False
    assert not body.root_link.gravity
    world.step(1000)
    np.testing.assert_array_equal(body.root_link.p, (0, 0, 5))
    assert world.energy().potential == pytest.approx(0.0, abs=1e-12)
    body.gravity_mode = True
    assert world.energy().potential == pytest.approx(2.0 * G * 5.0)
    world.step(1000)
    assert body.root_link.p[2] == pytest.approx(5.0 - G / 2.0, rel=1e-9)


def test_tumbling_body_without_gravity_keeps_energy_and_momentum():
    """Keep the free body's exact integrator: energy and momentum to rounding."""
    world = sb.World()
    body = world.add_body(
        sb.Box((1, 1, 1)), mass=2.0, inertia=(0.4, 0.3, 0.5), center_of_mass=(0.1, 0.2, 0.3)
    )
    body.root_link.gravity = False
    body.set_base_velocity((1, 2, 3), (0.1, 5, 0.1))
    energy, momentum = world.energy().total, world.momentum().linear
    world.step(10_000)
    assert world.energy().total == pytest.approx(energy, rel=1e-11)
    np.testing.assert_allclose(world.momentum().linear, momentum, rtol=1e-11)


def test_weightless_part_of_a_body():
    """Let a rod fall with the weight of one end only, turning about its middle."""
    world = sb.World()
    rod = world.load_urdf(
        robot(
            link('left', 1.0, (-1, 0, 0), (0.1, 0.1, 0.1)),
            link('right', 1.0, (1, 0, 0), (0.1, 0.1, 0.1)),
            joint('weld', 'left', 'right', 'fixed'),
        )
    )
    rod.link('left').gravity = False
    np.testing.assert_allclose(rod.link('left').dv, (0, 0, -G / 2.0), rtol=1e-12)
    np.testing.assert_allclose(rod.link('left').dw, (0, G / 2.2, 0), rtol=1e-12)
    energy = world.energy().total
    world.step(500)
    assert world.energy().total == pytest.approx(energy, abs=1e-4)
    rod.link('right').gravity = False
    velocity, spin = world.momentum().linear, rod.link('left').w
    world.step(500)
    np.testing.assert_allclose(world.momentum().linear, velocity, atol=1e-9)
    np.testing.assert_allclose(rod.link('left').w, spin, atol=1e-9)


def test_gravity_mode_is_mujocos_gravity_compensation():
    """Accelerate a double pendulum with one weightless rod, like MuJoCo."""
    model = mujoco.MjModel.from_xml_string("""
        <mujoco><compiler angle="radian"/><worldbody>
        <body><joint axis="0 1 0"/><inertial pos="0 0 -0.5" mass="1" diaginertia=".1 .1 .1"/>
        <body pos="0 0 -1" gravcomp="1"><joint axis="0 1 0"/>
        <inertial pos="0.1 0 -0.3" mass="2" diaginertia=".2 .1 .1"/></body></body>
        </worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = (0.7, -0.4), (1.0, -2.0)
    mujoco.mj_forward(model, data)
    world = sb.World()
    body = world.load_urdf(
        robot(
            link('world', 0.0),
            link('a', 1.0, (0, 0, -0.5), (0.1, 0.1, 0.1)),
            link('b', 2.0, (0.1, 0, -0.3), (0.2, 0.1, 0.1)),
            joint('j', 'world', 'a', axis=(0, 1, 0)),
            joint('k', 'a', 'b', axis=(0, 1, 0), xyz=(0, 0, -1)),
        )
    )
    body.q, body.dq = data.qpos, data.qvel
    body.link('b').gravity = False
    np.testing.assert_allclose(body.ddq, data.qacc, rtol=1e-9)


@pytest.mark.parametrize(
    ('tag', 'gravity'),
    [
        ('<gravity>false</gravity>', False),
        ('<gravity>0</gravity>', False),
        ('<turnGravityOff>true</turnGravityOff>', False),
        ('<gravity>1</gravity>', True),
        ('<turnGravityOff>false</turnGravityOff>', True),
        ('<gravity>perhaps</gravity>', True),
    ],
)
def test_gravity_mode_of_gazebo(tag, gravity):
    """Read both Gazebo tags; warn about a value that is neither true nor false."""
    world = sb.World()
    body = world.load_urdf(
        robot(link('box'), f'<gazebo reference="box">{tag}</gazebo>'), position=(0, 0, 1)
    )
    assert body.link('box').gravity is gravity and body.gravity_mode is gravity
    warnings = [finding.code for finding in body.description.report.findings]
    assert warnings == (['bad-value'] if 'perhaps' in tag else [])
    world.step(100)
    assert (body.link('box').p[2] == 1.0) is not gravity


def test_sleeper_wakes_when_gravity_ends():
    """Wake a sleeping body when its forces change."""
    world = sb.World(sleep=True)
    world.add_ground()
    ball = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0, 0, 0.1))
    world.step(100)
    assert ball.is_asleep
    ball.gravity_mode = False
    world.step()
    assert not ball.is_asleep


def test_wrong_gravity_mode_is_refused():
    """Name the link; accept only True and False."""
    body = sb.World().add_body(sb.Sphere(0.1), mass=1.0)
    with pytest.raises(InvalidValueError, match="gravity = 'off'.*True or False"):
        body.root_link.gravity = 'off'
