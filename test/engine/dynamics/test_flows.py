"""Flows around boxes and ellipsoids: forces as MuJoCo has them, stable at any coefficient."""

from joint_robots import describe, link
import mujoco
import numpy as np
import pytest

import sim_bridge as sb

MASS, INERTIA = 1.3, (0.05, 0.09, 0.07)
SIZE = (0.1, 0.25, 0.4)
COEFFICIENTS = (0.6, 0.3, 1.4, 0.9, 1.1)
WIND = (1.0, -0.5, 0.2)


def twin(medium, geom=''):
    """Return MuJoCo's floating body, without gravity."""
    return mujoco.MjModel.from_xml_string(f"""
        <mujoco><option gravity="0 0 0" wind="{' '.join(map(str, WIND))}" {medium}/>
        <worldbody><body><freejoint/>
        <inertial pos="0.1 -0.2 0.3" mass="{MASS}" diaginertia="{' '.join(map(str, INERTIA))}"/>
        {geom}</body></worldbody></mujoco>""")


def floating(field):
    """Return our floating body in the same medium."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    body = world.add_robot(describe([link('body', MASS, (0.1, -0.2, 0.3), INERTIA)], []))
    world.add_force_field(field)
    return body


def wrench_here(body):
    """Return force and torque about the origin in the body's axes, from the acceleration."""
    centre = body.root_link
    R, w = centre.R, centre.w
    force = MASS * (
        centre.dv + np.cross(centre.dw, R @ centre.c) + np.cross(w, np.cross(w, R @ centre.c))
    )
    spin = R @ np.diag(INERTIA) @ R.T
    torque = spin @ centre.dw + np.cross(w, spin @ w) + np.cross(R @ centre.c, force)
    return force, R.T @ torque


def assert_same(model, body, seed):
    """Compare the generalized fluid force at a random state."""
    rng, data = np.random.default_rng(seed), mujoco.MjData(model)
    quaternion = rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    linear, angular = 2.0 * rng.normal(size=3), 3.0 * rng.normal(size=3)
    body.set_base_pose(rng.normal(size=3), quaternion)
    R = body.root_link.R
    body.set_base_velocity(linear, R @ angular)
    data.qpos[:] = (0.0, 0.0, 0.0, quaternion[3], *quaternion[:3])
    data.qvel[:] = (*linear, *angular)
    mujoco.mj_forward(model, data)
    force, torque = wrench_here(body)
    scale = np.abs(data.qfrc_fluid).max()
    np.testing.assert_allclose(force, data.qfrc_fluid[:3], atol=1e-9 * scale)
    np.testing.assert_allclose(torque, data.qfrc_fluid[3:], atol=1e-9 * scale)


@pytest.mark.parametrize('seed', range(3))
def test_boxes_feel_mujocos_inertia_model(seed):
    """Compare drag and viscous damping with wind."""
    model = twin('density="900" viscosity="0.7"')
    assert_same(model, floating(sb.BoxFlow(900.0, 0.7, WIND)), seed)


@pytest.mark.parametrize('seed', range(3))
def test_ellipsoids_feel_mujocos_ellipsoid_model(seed):
    """Compare drag, lift, Magnus force and added mass with wind."""
    geom = (
        f'<geom type="ellipsoid" size="{" ".join(map(str, SIZE))}" pos="0.2 0.1 -0.1" '
        'quat="0.8 0.2 -0.4 0.4" fluidshape="ellipsoid" '
        f'fluidcoef="{" ".join(map(str, COEFFICIENTS))}"/>'
    )
    model = twin('density="900" viscosity="0.7"', geom)
    own = model.geom_fluid[0]
    field = sb.EllipsoidFlow(
        900.0,
        0.7,
        SIZE,
        (0.2, 0.1, -0.1),
        (0.2, -0.4, 0.4, 0.8),
        *COEFFICIENTS,
        added_mass=own[6:9],
        added_inertia=own[9:12],
        wind=WIND,
    )
    assert own[0] == 1.0
    assert_same(model, floating(field), seed)


def test_dense_media_are_stable():
    """Slow down in a medium far too thick for an explicit step."""
    for field in (
        sb.BoxFlow(1e6, 1e4),
        sb.EllipsoidFlow(1e3, 1e4, SIZE, (0.1, -0.2, 0.3), kutta_lift=0.0, magnus_lift=0.0),
    ):
        body = floating(field)
        body.set_base_velocity((1.0, 2.0, 3.0), (1.0, 0.0, 0.0))
        body.world.step(2000)
        assert np.abs(body.root_link.v).max() < 0.1


def test_wrong_values_are_refused():
    """Name the wrong attribute."""
    for values in (
        {'density': -1.0},
        {'semiaxes': (1.0, 0.0, 1.0)},
        {'orientation': (0, 0, 0, 0)},
    ):
        with pytest.raises(sb.InvalidValueError, match=next(iter(values))):
            sb.EllipsoidFlow(**values)
