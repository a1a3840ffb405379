"""Crawlers: tracks at closed-form speeds, on the level and uphill, straight and turning."""

from __future__ import annotations

from contact_worlds import add_ball, add_block, G, grounded, tilt
import numpy as np
import pytest
from robots import joint, link, robot
from scipy.optimize import fsolve
from shipped import drive

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError

SOLVERS = ['direct', 'iterative', 'split']
# speed errors due to the solvers' tolerances [m/s, rad/s]
CLOSE = {'direct': 1e-8, 'iterative': 2e-5, 'split': 2e-5}
SLOPE = np.radians(20.0)
GAUGE, BASE = 0.44, 0.5  # distance of the tracks' feet, and from front to rear feet [m]


def solid(name, *shapes, mass=1.0):
    """Return a link with collision shapes: pairs of a URDF element and its x [m]."""
    collisions = ''.join(
        f'<collision><origin xyz="{x} 0 0"/><geometry>{shape}</geometry></collision>'
        for shape, x in shapes
    )
    return link(name, mass).replace('</link>', f'{collisions}</link>')


def vehicle(*feet, caster=None):
    """
    Return a vehicle with a track on each side, touching the ground at balls.

    feet: x of each ball of a track [m]. caster: x of a frictionless ball in the middle [m]; the
    centre of mass is at a fifth of it.
    """
    ball = '<sphere radius="0.1"/>'
    parts = [link('hull', 20.0, (0.2 * (caster or 0.0), 0, 0), (0.5, 0.5, 0.5))]
    for side, y in {'left': GAUGE / 2, 'right': -GAUGE / 2}.items():
        parts += [
            solid(f'{side}_track', *((ball, x) for x in feet)),
            joint(f'{side}_joint', 'hull', f'{side}_track', 'fixed', xyz=(0, y, 0)),
            f'<sim_bridge><crawler link="{side}_track" axis="0 1 0"/></sim_bridge>',
        ]
    if caster is not None:
        parts += [
            solid('caster', (ball, caster)),
            joint('caster_joint', 'hull', 'caster', 'fixed'),
            '<gazebo reference="caster"><mu1>0</mu1><mu2>0</mu2></gazebo>',
        ]
    return robot(*parts, name='vehicle')


def motion(robot):
    """Return the velocity of the root link's origin in its own axes [m/s], and its yaw rate."""
    root = robot.root_link
    return np.array([*(root.R.T @ root.v)[:2], (root.R.T @ root.w)[2]])


@pytest.fixture
def shipped(repository):
    """Return a function that puts the shipped tracked vehicle on the ground of a new world."""

    def add(**options):
        world = grounded(**options)
        return world, world.load_urdf(
            repository / 'urdf' / 'tracked_vehicle.urdf', position=(0.0, 0.0, 0.14)
        )

    return add


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('uphill', [0.0, SLOPE])
def test_vehicle_drives_straight_at_the_speed_of_its_tracks(shipped, solver, uphill):
    """Neither lag nor drift, on the level and up a slope within the friction cone."""
    world, robot = shipped(solver=solver)
    tilt(world, -uphill, 0.0)
    world.step(300)
    drive(robot, 0.5, 0.5)
    world.step(700)
    np.testing.assert_allclose(motion(robot), [0.5, 0.0, 0.0], atol=CLOSE[solver])
    start = robot.root_link.p
    world.step(1000)
    np.testing.assert_allclose(robot.root_link.p - start, [0.5, 0.0, 0.0], atol=CLOSE[solver])
    drive(robot, -0.2, -0.2)
    world.step(500)
    np.testing.assert_allclose(motion(robot), [-0.2, 0.0, 0.0], atol=CLOSE[solver])


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('friction', [0.3, 0.9])
def test_opposite_tracks_turn_on_the_spot(solver, friction):
    """
    Rotate at s y / (x² + y²) about the middle, at any friction.

    The forces at sliding feet at (±x, ±y) give no torque if they point at the middle: of the front
    left slip (-w y + s, w x), the part across its arm, w r - s y / r, is 0.
    """
    world = grounded({'friction': friction}, solver=solver)
    robot = world.load_urdf(vehicle(-BASE / 2, BASE / 2), position=(0.0, 0.0, 0.1))
    drive(robot, -0.4, 0.4)
    world.step(1500)
    x, y = BASE / 2, GAUGE / 2
    np.testing.assert_allclose(
        motion(robot), [0.0, 0.0, 0.4 * y / (x * x + y * y)], atol=2 * CLOSE[solver]
    )
    np.testing.assert_allclose(robot.root_link.p[:2], 0.0, atol=1e-6)


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('speeds', [(-0.3, 0.3), (0.1, 0.3)])
def test_tracks_without_grip_across_turn_like_wheels(solver, speeds):
    """Turn at the speed difference over the gauge if friction acts along tracks only."""
    world = grounded({'friction': 0.8, 'friction2': 0.0}, solver=solver)
    robot = world.load_urdf(vehicle(-BASE / 2, BASE / 2), position=(0.0, 0.0, 0.1))
    drive(robot, *speeds)
    world.step(500)
    yaw_rate = (speeds[1] - speeds[0]) / GAUGE
    assert motion(robot)[2] == pytest.approx(yaw_rate, abs=CLOSE[solver])
    # forward is the robot's heading half a step ago
    assert motion(robot)[0] == pytest.approx(sum(speeds) / 2, abs=0.5e-3 * yaw_rate * 0.1)


@pytest.mark.parametrize('solver', SOLVERS)
def test_short_tracks_turn_on_a_slope_without_sliding(solver):
    """Go round a circle with radius v / w, on a 20 degree slope."""
    world = grounded({'friction': 1.0}, solver=solver)
    robot = world.load_urdf(vehicle(0.0, caster=-0.3), position=(0.0, 0.0, 0.1))
    tilt(world, SLOPE, 0.3)
    world.step(100)
    speed, yaw_rate = 0.3, 0.5
    drive(robot, speed - 0.5 * yaw_rate * GAUGE, speed + 0.5 * yaw_rate * GAUGE)
    world.step(200)
    # rotation in half a step away from the velocity's direction, with a margin for rounding
    turned = 0.51 * world.time_step * yaw_rate
    start, radius = robot.root_link.p, speed / yaw_rate
    middle = start + radius * np.cross((0.0, 0.0, 1.0), robot.root_link.R[:, 0])
    for _ in range(8):
        world.step(500)
        np.testing.assert_allclose(motion(robot), [speed, 0.0, yaw_rate], atol=speed * turned)
        away = np.linalg.norm(robot.root_link.p - middle)
        assert away == pytest.approx(radius, abs=radius * turned)


def planar_motion(speeds, places, loads, friction, mass):
    """
    Integrate Coulomb friction over sliding points: a vehicle's steady motion (vx, vy, w).

    speeds: surface speeds at `places`, (n,). places: positions about the centre of mass, own axes,
    (n, 2). loads: (n,) [N].
    """

    def imbalance(twist):
        vx, vy, w = twist
        slip = np.stack([vx - w * places[:, 1] - speeds, vy + w * places[:, 0]], axis=1)
        force = -friction * loads[:, None] * slip / np.linalg.norm(slip, axis=1)[:, None]
        torque = places[:, 0] @ force[:, 1] - places[:, 1] @ force[:, 0]
        inward = mass * w * np.array([-vy, vx])
        return np.array([*(force.sum(axis=0) - inward), torque])

    guess = [speeds.mean(), 0.0, 0.5]
    return fsolve(imbalance, guess, xtol=1e-12)


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('speeds', [(-0.5, 0.5), (0.3, 0.6)])
def test_long_tracks_turn_as_friction_has_it(shipped, solver, speeds):
    """Agree with a planar integral of friction over the contact points and their loads."""
    world, robot = shipped(solver=solver)
    drive(robot, *speeds)
    world.step(2000)
    contacts, root = world.contacts, robot.root_link
    assert len(contacts) == 8
    center = robot.center_of_mass
    places = ((contacts.positions - center) @ root.R)[:, :2]
    loads = np.abs(contacts.forces[:, 2])
    surfaces = np.where(places[:, 1] > 0.0, speeds[0], speeds[1])
    expected = planar_motion(surfaces, places, loads, 1.0, robot.mass)
    arm = root.R.T @ (center - root.p)
    vx, vy, w = motion(robot)
    found = [vx - w * arm[1], vy + w * arm[0], w]
    # positions and orientation differ from the forces' instant by half a step
    np.testing.assert_allclose(found, expected, atol=3e-4)
    # far less than wheels without lateral friction
    assert 0.3 < w / ((speeds[1] - speeds[0]) / GAUGE) < 0.6


@pytest.mark.parametrize('solver', SOLVERS)
def test_every_point_obeys_coulomb_on_a_slope(shipped, solver):
    """Push against the running surface's slip, at the friction bound, while turning."""
    world, robot = shipped(solver=solver)
    world.step(100)
    tilt(world, SLOPE, 0.7)
    drive(robot, 0.2, 0.6)
    slid = 0
    for _ in range(5):
        world.step(400)
        root = robot.root_link
        for contact in world.contacts:
            arm = contact.position - root.p
            surface = (0.2 if root.R[:, 1] @ arm > 0.0 else 0.6) * root.R[:, 0]
            slip = (root.v + np.cross(root.w, arm) - surface)[:2]
            force = contact.force if contact.link_a.robot is robot else -contact.force
            load, speed = force[2], np.linalg.norm(slip)
            assert np.linalg.norm(force[:2]) <= load * (1.0 + 1e-9) + 1e-6
            if speed > 1e-2:
                slid += 1
                np.testing.assert_allclose(
                    force[:2], -load * slip / speed, atol=0.02 * load + 1e-3
                )
    assert slid > 20


@pytest.mark.parametrize('solver', SOLVERS)
def test_rerun_is_the_same_to_the_last_bit(shipped, solver):
    """Drive the same way twice: equal hashes."""

    def hash_after_a_drive():
        world, robot = shipped(solver=solver)
        drive(robot, 0.3, -0.1)
        world.step(400)
        return world.state_hash()

    assert hash_after_a_drive() == hash_after_a_drive()


def conveyor(world, axis='0 1 0', at=0.5):
    """Add a belt on the world: a box of 4 x 1 x 0.2 m whose surface runs about `axis`."""
    return world.load_urdf(
        robot(
            link('world', 0.0),
            solid('belt', ('<box size="4 1 0.2"/>', 0.0)),
            joint('drive', 'world', 'belt', 'fixed', xyz=(0, 0, at)),
            f'<sim_bridge><crawler link="belt" axis="{axis}"/></sim_bridge>',
            name='conveyor',
        )
    )


def test_belt_carries_forth_above_and_back_below():
    """Run along axis × normal on either side."""
    world = grounded()
    belt = conveyor(world, at=0.5)
    above = add_block(world, at=(-1.0, 0.0), lift=0.6)
    below = add_block(world, at=(1.0, 0.0), lift=0.3, mass=2.0)
    belt.crawler('drive').speed = 0.3
    for _ in range(500):
        # upwards against the belt, with more than its weight
        below.root_link.add_force((0.0, 0.0, 4 * G))
        world.step()
    np.testing.assert_allclose(above.root_link.v, [0.3, 0.0, 0.0], atol=1e-8)
    np.testing.assert_allclose(below.root_link.v, [-0.3, 0.0, 0.0], atol=1e-8)


def test_sides_of_a_track_hold_fast():
    """Hold a block pressed against a belt's side."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    belt = conveyor(world, axis='0 0 1', at=0.0)
    block = add_block(world, lift=0.1)
    belt.crawler('drive').speed = 0.3
    for _ in range(200):
        block.root_link.add_force((0.0, 0.0, -20.0))
        world.step()
    np.testing.assert_allclose(block.root_link.v, 0.0, atol=1e-10)


def test_friction_across_a_standing_track_is_the_second():
    """Slide sideways, but not along, while the track stands still."""
    world = grounded({'friction': 1.0, 'friction2': 0.2})
    robot = world.load_urdf(
        vehicle(-0.25, 0.25), position=(0.0, 0.0, 0.1), orientation=(0.0, 0.0, 0.6, 0.8)
    )
    world.step(10)
    along, across = robot.root_link.R[:, 0], robot.root_link.R[:, 1]
    weight = robot.mass * G
    for _ in range(200):
        robot.root_link.add_force(0.5 * weight * along, robot.center_of_mass)
        world.step()
    assert np.linalg.norm(robot.root_link.v) < 1e-8
    for _ in range(200):
        robot.root_link.add_force(0.5 * weight * across, robot.center_of_mass)
        world.step()
    assert robot.root_link.v @ across == pytest.approx(0.2 * (0.5 - 0.2) * G, rel=1e-3)


def test_speed_is_state(shipped):
    """Save, restore and hash the speed, keep it when objects are added, stop after a reset."""
    world, robot = shipped()
    drive(robot, 0.4, 0.1)
    world.step(10)
    snapshot, hashed = world.save(), world.state_hash()
    drive(robot, 0.4, 0.2)
    assert world.state_hash() != hashed
    world.restore(snapshot)
    assert [crawler.speed for crawler in robot.crawlers] == [0.4, 0.1]
    assert world.state_hash() == hashed
    add_ball(world, at=(3.0, 0.0))
    world.step()
    assert [crawler.speed for crawler in robot.crawlers] == [0.4, 0.1]
    world.reset()
    assert [crawler.speed for crawler in robot.crawlers] == [0.0, 0.0]


def test_nothing_sleeps_on_a_running_belt():
    """Carry a block at a speed that counts as rest elsewhere; let it sleep once the belt stops."""
    world = grounded(sleep=True)
    belt = conveyor(world)
    block = add_block(world, at=(-1.0, 0.0), lift=0.6)
    belt.crawler('drive').speed = 1e-4
    world.step(500)
    start = block.root_link.p[0]
    world.step(1000)
    assert not block.is_asleep
    assert block.root_link.p[0] - start == pytest.approx(1e-4, rel=1e-6)
    belt.crawler('drive').speed = 0.0
    world.step(500)
    assert block.is_asleep
    belt.crawler('drive').speed = 0.2
    world.step(100)
    assert block.root_link.v[0] == pytest.approx(0.2)


def test_crawlers_are_found_by_name_and_checked(shipped):
    """Name the wrong value, and the alternatives."""
    world, robot = shipped()
    left, right = robot.crawlers
    assert (left.name, left.link) == ('left_track_joint', robot.link('left_track'))
    assert left.axis.tolist() == [0.0, 1.0, 0.0]
    np.testing.assert_allclose(left.center, [0.0, 0.22, 0.09], atol=1e-12)
    assert robot.crawler('right_track_joint') is right
    with pytest.raises(UnknownNameError, match="Did you mean 'left_track_joint'"):
        robot.crawler('left_track')
    for value in (float('nan'), 'fast', (0.1, 0.2)):
        with pytest.raises(InvalidValueError, match="crawler 'left_track_joint'"):
            left.speed = value
    assert left.speed == 0.0


def test_track_without_shapes_has_no_speed(repository):
    """Explain why a speed would have no effect."""
    robot = sb.World().load_urdf(repository / 'urdf' / 'tracked_vehicle.urdf', collisions='none')
    track = robot.crawlers[0]
    track.speed = 0.0
    with pytest.raises(StateError, match="link 'left_track' touches nothing"):
        track.speed = 0.1
    assert track.speed == 0.0
    np.testing.assert_allclose(track.center, [0.0, 0.22, -0.05])
