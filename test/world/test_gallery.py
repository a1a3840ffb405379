"""Gallery scenes: each loads without findings and moves as its description says."""

from __future__ import annotations

import math

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.control.course import Pace, SquareCourse
from sim_bridge.control.joint_loop import ControlledRobot, Motion
from sim_bridge.control.pd_controller import PdLaw, PdParameters
from sim_bridge.control.reference import per_joint, Reference
from sim_bridge.description.resources import gallery_scenes
from sim_bridge.description.scene.load import read_scene
from sim_bridge.drives.drive import Drive
from sim_bridge.ros.command.commands import RobotCommands
from sim_bridge.ros.params.parameter_files import parameters_in
from sim_bridge.ros.params.parameter_table import from_flat
from sim_bridge.ros.params.robot_parameters import parameter_file_of_scene, robots_of


def load(name):
    """Return a world with a gallery scene."""
    world = sb.World()
    assert world.load_scene(f'gallery/{name}').report.findings == ()
    return world


def places(world, prefix):
    """Return the positions, (n, 3), of all objects whose names have this prefix."""
    return np.array(
        [robot.root_link.p for name, robot in world.robots.items() if name.startswith(prefix)]
    )


def run_pd(world, name, scene, time):
    """Step with the PD controller's law and the shipped parameters; time [s]."""
    robot, file = world.robots[name], parameter_file_of_scene(f'gallery/{scene}')
    parameters = from_flat(
        PdParameters, parameters_in(file, f'/{name}/pd_controller'), pytest.fail
    )
    own = sb.World()
    controlled = ControlledRobot(
        own,
        own.add_robot(robot.description, collisions='none'),
        list(parameters.joints or robot.actuated_joints),
    )
    law, rows, joints = PdLaw(controlled, parameters), controlled.indices, controlled.joints
    reference = Reference(
        robot.q[rows],
        per_joint('positions', parameters.positions, joints),
        per_joint('amplitude', parameters.amplitude, joints),
        per_joint('frequency', parameters.frequency, joints),
        parameters.ramp_time,
    )
    for _ in range(round(time / world.time_step)):
        robot.u[rows] = law.efforts(
            Motion(robot.q[rows], robot.dq[rows], *reference.at(world.time))
        )
        world.step()


def test_every_scene_is_tested_and_in_the_document(repository):
    """Describe each scene in one line, test it here, and list it in docs/gallery.md."""
    document = (repository / 'docs' / 'gallery.md').read_text()
    assert len(gallery_scenes()) >= 10
    for name, file in gallery_scenes().items():
        text = read_scene(file).description
        assert text.endswith('.')
        assert len(text) <= 110
        assert f'`{name}`' in document
        assert f'test_{file.stem}' in globals()


def test_breaking_bridge():
    """Bear the light ball to the other bank; break under the heavy one, and let it fall."""
    world = load('breaking_bridge')
    light, heavy = world.robots['light'].root_link, world.robots['heavy'].root_link
    world.step(1000)
    assert light.p[2] < 0.9
    assert not any(pin.is_broken for pin in world.joints.values())
    world.step(1000)
    assert sum(pin.is_broken for pin in world.joints.values()) > 3
    assert heavy.p[2] < 0.3
    assert light.p == pytest.approx([1.48, 0.25, 1.12], abs=0.05)


def test_conveyor():
    """Carry each parcel at its belt's speed."""
    world = load('conveyor')
    world.step(1000)
    for name in ('parcel_1', 'parcel_2'):
        assert world.robots[name].root_link.v == pytest.approx([0.3, 0, 0], abs=1e-3)
    world.step(500)
    assert world.robots['tin'].root_link.v == pytest.approx([0.6, 0, 0], abs=1e-3)


def test_dominoes():
    """Fall one after another, to the last."""
    world = load('dominoes')
    stones = [robot.root_link for name, robot in world.robots.items() if 'stone' in name]
    assert len(stones) == 24
    fallen = []
    for _ in range(3):
        world.step(500)
        fallen.append([stone.R[2, 2] < 0.9 for stone in stones])
    half, _, end = fallen
    assert half == sorted(half, reverse=True)
    assert 5 < sum(half) < 12
    assert all(end)


def test_excavator():
    """Move each cylinder at its speed, rotate about the pedestal, and keep the loops closed."""
    world = load('excavator')
    scene = world.openplx['excavator']
    lengths = [scene.outputs[f'signals/{name}_length'] for name in ('boom', 'stick', 'bucket')]
    world.step(200)
    before = np.ravel([each.read() for each in lengths])
    world.step(800)
    speeds = (np.ravel([each.read() for each in lengths]) - before) / 0.8
    assert speeds == pytest.approx([-0.06, -0.1, 0.06], rel=0.05)
    assert scene.link('turret').w == pytest.approx([0, 0, 0.25], abs=2e-3)
    (robot,) = scene.robots
    assert max(abs(error) for joint in robot.loop_joints.values() for error in joint.error) < 1e-6


def test_grasp():
    """Hold the box, rising with the hand, and bear its weight by the tips."""
    world = load('grasp')
    hand, box = world.robots['hand'], world.robots['box'].root_link
    grip = hand.joint('lift').q - box.p[2]
    run_pd(world, 'hand', 'grasp', 1.5)
    assert box.p[2] > 0.035 + 0.03
    assert hand.joint('lift').q - box.p[2] == pytest.approx(grip, abs=1e-3)
    assert box.R[2, 2] > 0.9999
    before = box.v[2]
    world.step()
    borne = sum(
        world.contacts.force_on(box, by=hand.link(f'{digit}_tip'))[2]
        for digit in ('index', 'middle', 'ring', 'thumb')
    )
    change = (box.v[2] - before) / world.time_step
    assert borne == pytest.approx(0.3 * (9.81 + change), rel=0.02)


def test_humanoid():
    """Stand: upright, at its height, both feet on the ground; wave the right arm."""
    world = load('humanoid')
    humanoid = world.robots['humanoid']
    run_pd(world, 'humanoid', 'humanoid', 1.5)
    shoulder = humanoid.joint('RARM_SHOULDER_P')
    assert shoulder.q == pytest.approx(0.175 + 0.3 * math.sin(math.pi * 1.5), abs=0.1)
    assert humanoid.root_link.R[2, 2] > 0.995
    assert humanoid.root_link.p == pytest.approx([0, 0, 0.51], abs=0.02)
    assert all(humanoid.device(f'{side}_FOOT').f[2] > 20.0 for side in 'RL')


def pixel_of(camera, point):
    """Return the row and column that show a point, and its depth [m], at the last sample."""
    pose = camera.optical_pose
    x, y, z = (np.asarray(point) - pose[9:]) @ pose[:9].reshape(3, 3)
    u, v, _ = camera.K @ [x / z, y / z, 1.0]
    return round(v), round(u), z


def test_camera_rover():
    """See the red ball at its distance; the camera on the mast sees the light rover."""
    world = load('camera_rover')
    world.step(300)
    camera = world.robots['rover'].device('camera')
    row, column, z = pixel_of(camera, places(world, 'ball_1')[0])
    assert camera.depth[row, column] == pytest.approx(z - 0.2, abs=0.01)
    mast = world.robots['mast_camera'].device('mast_camera')
    row, column, _ = pixel_of(mast, world.robots['rover'].root_link.p + [0, 0, 0.1])
    assert mast.image[row, column].min() > 100


def test_inspection():
    """Hold the arm; the wrist camera sees the top of the tin in its colour, at rest."""
    world = load('inspection')
    world.step(1000)
    arm = world.robots['arm']
    targets = [arm.joint(name).target_position for name in arm.joint_names]
    np.testing.assert_allclose(arm.q, targets, atol=0.03)
    assert places(world, 'stack_2')[0, 2] == pytest.approx(0.295, abs=2e-3)
    camera = arm.device('wrist_camera')
    row, column, _ = pixel_of(camera, places(world, 'tin')[0] + [0, 0, 0.055])
    red, green, blue = camera.image[row, column].tolist()
    assert red < min(green, blue) - 30


def test_lidar_rover():
    """Drive a side of the square; the lidar sees the first pillar at its position."""
    world = load('lidar_rover')
    rover = world.robots['rover']
    drive = Drive(rover, rover.description.drives[0])
    course = SquareCourse(1.0, 0, Pace(0.5, 1.0, 0.4, 1.5))
    for _ in range(1000):
        x, _, yaw = drive.pose
        forward, turn = course.twist(*drive.pose)
        drive.command(forward, 0.0, turn)
        drive.advance(world.time_step)
        world.step()
        drive.observe(world.time_step)
    assert rover.root_link.p[0] > 0.2
    lidar = rover.device('lidar')
    ranges = np.array(lidar.ranges)
    root = rover.root_link
    # pose of the lidar sample, at most one period older
    at = root.p + root.R @ [-0.06, 0, 0]
    away = np.array([0.5, 0.5]) - at[:2]
    bearing = math.atan2(away[1], away[0]) - math.atan2(root.R[1, 0], root.R[0, 0])
    ray = round((bearing + 3.1416) / (2 * math.pi) * 360)
    assert ranges[ray] == pytest.approx(np.linalg.norm(away) - 0.12, abs=0.05)
    assert np.isinf(ranges).any()


def test_rover_swarm():
    """Stay on the circle, each rover at its place behind the next."""
    world = load('rover_swarm')
    begun = places(world, 'rover')
    world.step(1500)
    at = places(world, 'rover')
    assert len(at) == 8
    assert np.linalg.norm(at[:, :2], axis=1) == pytest.approx(np.full(8, 1.5), abs=0.02)
    assert np.linalg.norm(at - begun, axis=1).min() > 0.5
    turned = np.unwrap(np.arctan2(at[:, 1], at[:, 0]))
    assert np.diff(turned) == pytest.approx(np.full(7, math.pi / 4), abs=0.01)


def test_tracked_terrain():
    """Climb hills: tilt with them, and stay near the ground."""
    world = load('tracked_terrain')
    vehicle, field = world.robots['vehicle'], world.robots['terrain'].geometries[0].shape
    for crawler, speed in zip(vehicle.crawlers, (0.4, 0.6), strict=True):
        crawler.speed = speed
    tilts = []
    for _ in range(20):
        world.step(100)
        tilts.append(vehicle.root_link.R[2, 2])
    x, y, height = vehicle.root_link.p
    assert math.hypot(x, y) > 0.6
    columns = np.linspace(-4, 4, 15)
    row = [np.interp(x, columns, heights) for heights in field.heights]
    assert height - np.interp(y, columns, row) == pytest.approx(0.14, abs=0.1)
    assert 0.7 < min(tilts) < 0.998


def circles(p, p_radius, q, q_radius, side):
    """Return the intersection of two circles; side: 1 is left of the line pq."""
    way = q - p
    distance = np.linalg.norm(way)
    along = (distance**2 + p_radius**2 - q_radius**2) / (2 * distance)
    across = side * math.sqrt(p_radius**2 - along**2)
    ahead = way / distance
    return p + along * ahead + across * np.array([-ahead[1], ahead[0]])


def foot(angle):
    """Return the foot of Jansen's leg about the crank's centre, (x, z) [m]; angle: crank angle."""
    pin = 0.15 * np.array([math.cos(angle), math.sin(angle)])
    pivot = np.array([-0.38, -0.078])
    elbow = circles(pin, 0.5, pivot, 0.415, -1)
    knee = circles(pin, 0.619, pivot, 0.393, 1)
    hip = circles(pivot, 0.401, elbow, 0.558, 1)
    ankle = circles(hip, 0.394, knee, 0.367, -1)
    return knee, circles(knee, 0.49, ankle, 0.657, 1)


def test_walking_linkage():
    """Move both feet along the path from circles about the joints, with a flat stride."""
    world = load('walking_linkage')
    starts = [np.array(point) for point in foot(0.0)], [np.array(p) for p in foot(math.pi)]
    heights = []
    for _ in range(21):
        world.step(100)
        for side, (knee, start), sign, phase in zip(
            ('left', 'right'), starts, (1, -1), (0.0, math.pi), strict=True
        ):
            link = world.robots[f'{side}_foot'].root_link
            offset = sign * (start - knee)[0], 0.0, (start - knee)[1]
            x, _, z = link.p + link.R @ offset
            angle = -sign * world.joints['crank'].q + phase
            assert (sign * x, z - 1.15) == pytest.approx(foot(angle)[1], abs=1e-3)
            heights.append(z)
    assert max(heights) - min(heights) > 0.2
    assert sum(z - min(heights) < 0.01 for z in heights) > len(heights) / 4


def test_wrecking_ball():
    """Keep the rope whole, and break down the wall."""
    world = load('wrecking_ball')
    begun = places(world, 'brick')
    world.step(1400)
    gaps = np.linalg.norm(np.diff(places(world, 'rope'), axis=0), axis=1)
    assert gaps == pytest.approx(np.full(7, 0.26), abs=0.04)
    assert sum(np.linalg.norm(places(world, 'brick') - begun, axis=1) > 0.3) >= 5


def test_targets_of_a_scene_hold_in_the_node():
    """Keep the scene's motor targets at start and reset, but not under another control."""
    world = load('rover_swarm')
    rover = world.robots['rover_3']
    wheel, begun = rover.joint('left_wheel_joint'), rover.joint('left_wheel_joint').target_velocity
    Drive(rover, rover.description.drives[0])
    commands = RobotCommands(rover, [], hold_until_first=False)
    assert wheel.target_velocity == begun > 5.0
    wheel.target_velocity = 1.0
    commands.restart(0)
    assert wheel.target_velocity == begun
    wheel.control = 'position'
    commands.restart(0)
    assert wheel.target_velocity == 0.0


def test_scenes_say_who_controls_their_robots():
    """Leave the swarm to its motors; use the controllers from parameter files for others."""

    def of(scene):
        return {(each.namespace, each.controller) for each in robots_of(f'gallery/{scene}', '')}

    assert of('rover_swarm') == {(f'rover_{k}', 'none') for k in range(1, 9)}
    assert of('grasp') == {('hand', 'pd')}
    assert of('lidar_rover') == of('camera_rover') == {('rover', 'square')}
    assert of('inspection') == {('arm', 'none')}
    assert of('tracked_terrain') == {('vehicle', 'velocity')}
    assert of('dominoes') == set()
