"""Bodies keep speed and height on flush geometries; real edges stop them."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import sim_bridge as sb

TILE = (1.0, 0.5, 0.1)
HULL = sb.ConvexHull(
    np.array([(x, y, z) for x in (-0.1, 0.1) for y in (-0.065, 0.065) for z in (-0.05, 0.05)])
)
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
ACROSS = Rotation.from_euler('x', 90, degrees=True).as_quat()
ALONG = Rotation.from_euler('y', 90, degrees=True).as_quat()
# shape, orientation, distance from the middle to the foremost point that touches the floor
SLIDING = {
    'box': (sb.Box((0.2, 0.13, 0.1)), UPRIGHT, 0.1),
    'hull': (HULL, UPRIGHT, 0.1),
    'mesh': (sb.TriangleMesh(HULL.vertices, HULL.triangles), UPRIGHT, 0.1),
    'puck': (sb.Cylinder(0.1, 0.1), UPRIGHT, 0.1),
    'cone': (sb.Cone(0.1, 0.1), UPRIGHT, 0.1),
    'pipe': (sb.HollowCylinder(0.1, 0.1, 0.02), UPRIGHT, 0.1),
    'rod': (sb.Capsule(0.05, 0.1), ALONG, 0.05),
}
ROLLING = {
    'ball': (sb.Sphere(0.05), UPRIGHT, 0.0),
    'wheel': (sb.Cylinder(0.05, 0.03), ACROSS, 0.0),
    'capsule': (sb.Capsule(0.05, 0.1), ACROSS, 0.0),
    'ellipsoid': (sb.Ellipsoid((0.05, 0.05, 0.05)), UPRIGHT, 0.0),
    'tyre': (sb.HollowCylinder(0.05, 0.03, 0.01), ACROSS, 0.0),
}
SHAPES = SLIDING | ROLLING
STEPS = (1e-3, 2e-3, 5e-3, 1e-2)
SPEEDS = (0.3, 1.0, 5.0)


def cross_seam(name, h, speed, phase=0.31, lower=0.0, gap=0.0, friction=0.0, steps=(3, 9)):
    """
    Move a thing over the seam at x = 0 between two tiles; return its velocities and heights.

    steps: before and after the seam. phase: share of a step's way that shifts the start. lower:
    by how much the second tile is lower [m]. Velocities relative to the speed, heights relative to
    the start.
    """
    shape, orientation, front = SHAPES[name]
    world = sb.World(time_step=h)
    world.materials.add(sb.Material('m', friction=friction))
    for x, z in ((-0.5, 0.0), (0.5 + gap, -lower)):
        world.add_body(sb.Box(TILE), motion='static', position=(x, 0.0, z - 0.05), material='m')
    body = world.add_body(
        shape,
        mass=1.0,
        inertia=(0.003, 0.004, 0.005),
        center_of_mass=(0.0, 0.0, 0.0),
        position=(-front - (steps[0] + phase) * speed * h, 0.02, 0.05),
        orientation=orientation,
        linear_velocity=(speed, 0.0, 0.0),
        angular_velocity=(0.0, speed / 0.05 if friction > 0.0 else 0.0, 0.0),
        material='m',
    )
    velocities, heights = [], []
    for _ in range(sum(steps) + round(gap / (speed * h))):
        world.step()
        velocities.append(body.root_link.v[0] / speed)
        heights.append(body.root_link.p[2] - 0.05)
    return np.array(velocities), np.array(heights)


@pytest.mark.parametrize('h', STEPS)
@pytest.mark.parametrize('name', SHAPES)
def test_flush_seams_change_nothing(name, h):
    """Keep speed and height over a flush seam, as over one plane."""
    for speed in SPEEDS:
        for friction in (0.0, 0.5) if name in ROLLING else (0.0,):
            for phase in (0.0, 0.13, 0.5, 0.81):
                v, z = cross_seam(name, h, speed, phase, friction=friction)
                assert np.abs(v - 1.0).max() < 1e-3, (speed, friction, phase)
                assert np.abs(z).max() < 1e-6, (speed, friction, phase)


@pytest.mark.parametrize('name', SLIDING)
def test_lower_tiles_stop_nothing(name):
    """Slide on to a lower tile, or one higher by a micrometre, also beyond a small gap."""
    for lower in (-1e-6, 1e-7, 1e-5):
        for h in (1e-3, 5e-3):
            for gap in (0.0, 5e-3):
                v, z = cross_seam(name, h, 1.0, 0.31, lower, gap)
                assert np.abs(v - 1.0).max() < 2e-3, (lower, h, gap)
                assert z.max() < 2e-5, (lower, h, gap)


@pytest.mark.long
@pytest.mark.parametrize('name', SHAPES)
def test_flush_seams_at_all_phases(name):
    """Cross flush seams with starts spread over a step's way."""
    for h in STEPS:
        for speed in (0.5, 2.0, *SPEEDS):
            for friction in (0.0, 0.5) if name in ROLLING else (0.0,):
                for phase in np.linspace(0.0, 1.0, 21):
                    v, z = cross_seam(name, h, speed, phase, friction=friction)
                    assert np.abs(v - 1.0).max() < 1e-3, (h, speed, friction, phase)
                    assert np.abs(z).max() < 1e-6, (h, speed, friction, phase)


@pytest.mark.parametrize('height', [1e-3, 1e-2])
@pytest.mark.parametrize('name', ['box', 'hull', 'puck', 'mesh'])
def test_higher_tiles_stop(name, height):
    """Stop at the edge of a higher tile."""
    v, _ = cross_seam(name, 1e-3, 0.3, lower=-height, steps=(3, 30))
    assert v[-1] < 0.1


def test_thin_plates_are_hit():
    """Stop fast small boxes at a thin plate, at all starts within a step's way."""
    for h in (1e-3, 5e-3, 1e-2):
        for start in np.linspace(0.0, 2.0 * h, 7):
            world = sb.World(time_step=h, gravity=(0.0, 0.0, 0.0))
            world.add_body(sb.Box((0.004, 0.2, 0.2)), motion='static')
            bullet = world.add_body(
                sb.Box((0.02, 0.02, 0.02)),
                mass=0.01,
                position=(-0.05 - start, 0.0, 0.0),
                linear_velocity=(2.0, 0.0, 0.0),
            )
            world.step(int(0.1 / (2.0 * h)))
            assert bullet.root_link.p[0] < 0.0


@pytest.mark.parametrize('h', [1e-3, 5e-3])
@pytest.mark.parametrize('drop', [0.0, 1e-6, 1e-3])
def test_grazing_ball_is_no_wedge(drop, h):
    """
    Swing a caster under a chassis, its ball flush with the underside.

    Nothing resists the torque but damping: after 2 s the swivel has nearly the angle of a free
    one, the torque times the time over the damping, less the time of acceleration.
    """
    world = sb.World(time_step=h, gravity=(0.0, 0.0, 0.0))
    world.materials.add(sb.Material('m', friction=0.8))
    world.add_body(
        sb.Box((0.4, 0.24, 0.1)), motion='static', position=(0.18, 0.0, 0.07), material='m'
    )
    fork = world.add_body(
        sb.Placed(sb.Sphere(0.005), enabled=False),
        mass=0.25,
        inertia=(4e-5, 7e-5, 7e-5),
        center_of_mass=(-0.015, 0.0, 0.0),
    )
    swivel = world.add_joint('hinge', None, fork, anchor=(0.0, 0.0, 0.0), axis=(0.0, 0.0, 1.0))
    swivel.damping = 0.01
    at = (-0.03, 0.0, -0.02 - drop)
    ball = world.add_body(sb.Sphere(0.04), mass=0.15, position=at, material='m')
    world.add_joint('hinge', fork, ball, anchor=at, axis=(0.0, 1.0, 0.0)).damping = 1e-4
    for _ in range(int(2.0 / h)):
        swivel.u = 0.01
        world.step()
        assert max((np.linalg.norm(c.force) for c in world.contacts), default=0.0) < 1.0
    inertia = 7e-5 + 0.25 * 0.015**2 + 0.4 * 0.15 * 0.04**2 + 0.15 * 0.03**2
    assert swivel.q == pytest.approx(2.0 - inertia / 0.01, abs=2e-2)


@pytest.mark.parametrize('wheels', [(-5.0, -5.0), (-3.0, 3.0), (-5.0, -3.0)])
def test_rover_reverses(wheels):
    """Drive the rover backwards, on the spot and in an arc: its own links do not jam."""
    world = sb.World(time_step=5e-3)
    world.add_ground()
    rover = world.load_urdf('rover', position=(0.0, 0.0, 0.1))
    names = ('left_wheel_joint', 'right_wheel_joint')
    for name in names:
        rover.joint(name).control = 'velocity'
    rover.command_velocity(wheels, names)
    for _ in range(800):
        world.step()
        for contact in world.contacts:
            if contact.link_a.robot is contact.link_b.robot:
                assert np.linalg.norm(contact.force) < 110.0
    assert np.allclose([rover.joint(name).dq for name in names], wheels, rtol=1e-2)
