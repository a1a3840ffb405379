"""Robots in `urdf/` match their comments: physical and complete."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pinocchio as pin
import pytest
from shipped import path_of

import sim_bridge as sb
from sim_bridge.description import check_description, load_description
from sim_bridge.description.sensor_kinds import FORCE_TORQUE, IMU

NAMES = (
    'pendulum',
    'double_pendulum',
    'arm',
    'floating_box',
    'quadruped',
    'four_bar',
    'delta',
    'tracked_vehicle',
    'rover',
)
FREE = ('floating_box', 'quadruped', 'tracked_vehicle', 'rover')
LEGS = ('lf', 'rf', 'lh', 'rh')
# joint positions with the camera towards the horizon [rad]
_BENT = {'arm': {'joint_2': 1.57}}

MASSES = {
    'pendulum': 1.0,
    'double_pendulum': 2.0,
    'arm': 20.2,
    'floating_box': 10.0,
    'quadruped': 14.22,
    'four_bar': 8.47,
    'delta': 6.5,
    'tracked_vehicle': 50.0,
    'rover': 11.0,
}
# mass of the arm's foot and of everything else bolted to the world
GROUNDED = {'arm': 4.0, 'four_bar': 8.0, 'delta': 5.0}
# tree freedoms; loops remove some of them
DOFS = {
    'pendulum': 1,
    'double_pendulum': 2,
    'arm': 7,
    'floating_box': 0,
    'quadruped': 12,
    'four_bar': 3,
    'delta': 18,
    'tracked_vehicle': 0,
    'rover': 4,
}


def pinocchio_model(name):
    """Read a robot with Pinocchio; it omits everything fixed to the ground."""
    root = [pin.JointModelFreeFlyer()] if name in FREE else []
    return pin.buildModelFromUrdf(str(path_of(name)), *root)


def numbers(text):
    """Return an attribute's floats."""
    return np.array([float(word) for word in text.split()])


def rotation_of(rpy):
    """Return the rotation matrix for URDF's roll, pitch and yaw."""
    return pin.rpy.rpyToMatrix(*rpy)


def solid(geometry):
    """Return a solid's volume and inertia per mass (box, cylinder, sphere), about its centre."""
    (shape,) = geometry
    if shape.tag == 'box':
        size = numbers(shape.get('size'))
        return size.prod(), np.diag(size @ size - size**2) / 12.0
    radius = float(shape.get('radius'))
    if shape.tag == 'sphere':
        return 4.0 / 3.0 * np.pi * radius**3, 0.4 * radius**2 * np.eye(3)
    length = float(shape.get('length'))
    across = (3.0 * radius**2 + length**2) / 12.0
    return np.pi * radius**2 * length, np.diag([across, across, radius**2 / 2.0])


def pose_of(element):
    """Return an element's origin: position and rotation."""
    origin = element.find('origin')
    if origin is None:
        return np.zeros(3), np.eye(3)
    return numbers(origin.get('xyz', '0 0 0')), rotation_of(numbers(origin.get('rpy', '0 0 0')))


def drawn(link):
    """Return a link's visuals without its camera, whose mass is part of the others'."""
    return [each for each in link.findall('visual') if each.get('name') != 'camera']


def uniform_body(shapes, mass):
    """Return centre of mass and inertia about it for shapes with one density and total `mass`."""
    volumes, inertias = zip(*[solid(shape.find('geometry')) for shape in shapes], strict=True)
    places, rotations = zip(*[pose_of(shape) for shape in shapes], strict=True)
    masses = mass * np.array(volumes) / sum(volumes)
    center = masses @ np.array(places) / mass
    total = np.zeros((3, 3))
    for m, place, rotation, inertia in zip(masses, places, rotations, inertias, strict=True):
        d = place - center
        total += m * (rotation @ inertia @ rotation.T + d @ d * np.eye(3) - np.outer(d, d))
    return center, total


def heavy_links():
    """Return every link with mass in every robot, as test parameters."""
    return [
        pytest.param(link, id=f'{name}-{link.get("name")}')
        for name in NAMES
        for link in ElementTree.parse(path_of(name)).getroot().findall('link')
        if link.find('inertial') is not None
    ]


@pytest.mark.parametrize('link', heavy_links())
def test_inertia_is_the_closed_form_of_the_shapes(link):
    """Compare with the drawn solids' mass distribution, to the digits written in the file."""
    inertial = link.find('inertial')
    mass = float(inertial.find('mass').get('value'))
    center, inertia = uniform_body(drawn(link), mass)
    i = {key: float(value) for key, value in inertial.find('inertia').attrib.items()}
    written = np.array(
        [
            [i['ixx'], i['ixy'], i['ixz']],
            [i['ixy'], i['iyy'], i['iyz']],
            [i['ixz'], i['iyz'], i['izz']],
        ]
    )
    place, rotation = pose_of(inertial)
    np.testing.assert_allclose(place, center, atol=1e-6)
    np.testing.assert_allclose(
        rotation @ written @ rotation.T, inertia, rtol=1e-5, atol=1e-5 * np.trace(inertia)
    )


@pytest.mark.parametrize('link', heavy_links())
def test_inertia_is_physical(link):
    """Check that each principal moment is positive and at most the sum of the other two."""
    i = {key: float(value) for key, value in link.find('inertial/inertia').attrib.items()}
    a, b, c = np.linalg.eigvalsh(
        [
            [i['ixx'], i['ixy'], i['ixz']],
            [i['ixy'], i['iyy'], i['iyz']],
            [i['ixz'], i['iyz'], i['izz']],
        ]
    )
    assert a > 0.0
    assert c <= a + b


@pytest.mark.parametrize('link', heavy_links())
def test_collision_shapes_are_the_visual_ones(link):
    """Compare collision and visual shapes: the same primitives at the same poses."""

    def shapes(elements):
        return [
            (
                pose_of(element)[0].tolist(),
                element.find('geometry')[0].tag,
                element.find('geometry')[0].attrib,
            )
            for element in elements
        ]

    assert shapes(link.findall('collision')) == shapes(drawn(link)) != []


@pytest.mark.parametrize('name', NAMES)
def test_robot_has_no_defects(name):
    """Pass the description check without an error or a warning."""
    assert check_description(path_of(name)).findings == ()


@pytest.mark.parametrize('name', NAMES)
def test_robot_loads_as_pinocchio_reads_it(name):
    """Agree with Pinocchio on joints, limits and mass, and with the comments on the mass."""
    truth = pinocchio_model(name)
    robot = sb.World().load_urdf(path_of(name))
    assert robot.fixed_base == (name not in FREE)
    assert robot.mass == pytest.approx(MASSES[name], rel=1e-12)
    moving = robot.mass - GROUNDED.get(name, 0.0)
    assert pin.computeTotalMass(truth) == pytest.approx(moving, rel=1e-12)
    assert len(robot.joint_names) == DOFS[name]
    assert set(robot.joint_names) == set(truth.names) - {'universe', 'root_joint'}
    if name in ('arm', 'quadruped'):
        for index, joint in enumerate(robot.joint_names):
            model = truth.joints[truth.getJointId(joint)]
            assert robot.lower[index] == truth.lowerPositionLimit[model.idx_q]
            assert robot.upper[index] == truth.upperPositionLimit[model.idx_q]
            assert robot.effort_limits[index] == truth.effortLimit[model.idx_v]


@pytest.mark.parametrize('name', ['pendulum', 'double_pendulum'])
def test_pendulums_are_frictionless(name):
    """Find neither damping nor friction nor stops."""
    for joint in load_description(path_of(name)).joints.values():
        assert joint.dynamics.damping == joint.dynamics.friction == 0.0
        assert joint.limits.upper == np.inf


def test_pendulum_has_its_documented_period():
    """Swing through the bottom twice in a period 2 pi sqrt(I / (m g l)), from a small angle."""
    world = sb.World(time_step=1e-4)
    robot = world.load_urdf(path_of('pendulum'))
    robot.q[0] = 1e-3
    inertia, lever = 1.0 / 3.0 + 0.25 * 0.0064**2, 0.5
    period = 2.0 * np.pi * np.sqrt(inertia / (9.81 * lever))
    assert period == pytest.approx(1.638, abs=5e-4)
    crossings, previous = [], robot.q[0]
    while len(crossings) < 3:
        world.step()
        if previous > 0.0 >= robot.q[0] or previous < 0.0 <= robot.q[0]:
            crossings.append(world.time - 1e-4 * robot.q[0] / (robot.q[0] - previous))
        previous = robot.q[0]
    assert crossings[2] - crossings[0] == pytest.approx(period, rel=1e-5)


def test_arm_stands_straight_up_at_zero():
    """Find the heights in its comment, all joints on the vertical axis, all frames parallel."""
    robot = sb.World().load_urdf(path_of('arm'))
    for link, height in (('link_2', 0.34), ('link_4', 0.74), ('link_6', 1.14), ('tool0', 1.287)):
        np.testing.assert_allclose(robot.link(link).p, [0.0, 0.0, height], atol=1e-12)
        np.testing.assert_allclose(robot.link(link).R, np.eye(3), atol=1e-12)


def test_arm_can_hold_itself_everywhere():
    """Need at most half of each effort limit against gravity in 1000 poses, with 5 kg at tool0."""
    model = pinocchio_model('arm')
    frame = model.frames[model.getFrameId('tool0')]
    model.appendBodyToJoint(frame.parentJoint, pin.Inertia.FromSphere(5.0, 0.05), frame.placement)
    data, rng = model.createData(), np.random.default_rng(1)
    for _ in range(1000):
        q = rng.uniform(model.lowerPositionLimit, model.upperPositionLimit)
        assert np.all(
            np.abs(pin.computeGeneralizedGravity(model, data, q)) < 0.5 * model.effortLimit
        )


def test_arm_carries_its_sensors():
    """Carry a force-torque sensor in the wrist, an IMU in the flange, a camera beside it."""
    sensors = {sensor.name: sensor for sensor in load_description(path_of('arm')).sensors}
    assert set(sensors) == {'wrist_ft', 'imu', 'wrist_camera'}
    wrist, imu = sensors['wrist_ft'], sensors['imu']
    assert (wrist.kind, wrist.joint) == (FORCE_TORQUE, 'wrist_ft_joint')
    assert (imu.kind, imu.link) == (IMU, 'imu_link')
    assert wrist.update_rate == imu.update_rate == 1000.0


@pytest.mark.parametrize('name', NAMES)
def test_sensor_frames_are_links(name):
    """Check that each reading's frame is known to robot_state_publisher, at the sensor's pose."""
    robot = sb.World().load_urdf(path_of(name))
    links = [link.name for link in robot.links]
    for device in robot.devices():
        assert device.frame_id in links
        assert device.description.pose.is_identity


@pytest.mark.parametrize(
    ('name', 'camera', 'ahead', 'up'),
    [
        ('arm', 'wrist_camera', (0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
        ('rover', 'camera', (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    ],
)
def test_cameras_look_where_their_comments_say(name, camera, ahead, up):
    """Look along the tool or ahead, see more than the sky, and name an optical frame."""
    world = sb.World()
    world.add_ground()
    robot = world.load_urdf(path_of(name), joint_positions=_BENT.get(name, {}))
    device = robot.device(camera)
    optical, carrier = robot.link(device.frame_id), device.link.parent
    assert optical.p == pytest.approx(device.link.p)
    assert carrier.R.T @ optical.R[:, 2] == pytest.approx(ahead, abs=1e-12)
    assert carrier.R.T @ -optical.R[:, 1] == pytest.approx(up, abs=1e-12)
    world.step(100)
    assert np.isin(device.image.reshape(-1, 3), device.image[0, 0]).mean() < 1.0


@pytest.mark.parametrize(
    ('name', 'carrier', 'place'),
    [
        ('arm', 'tool_flange', (0.0, 0.0, 0.018)),
        ('quadruped', 'trunk', (-0.01, 0.0, 0.02)),
        ('tracked_vehicle', 'chassis', (0.1, 0.0, 0.07)),
        ('rover', 'chassis', (0.06, 0.0, 0.05)),
    ],
)
def test_imu_link_sits_where_its_comment_says(name, carrier, place):
    """Find the IMU's frame parallel to its carrier's."""
    robot = sb.World().load_urdf(path_of(name))
    imu, body = robot.link('imu_link'), robot.link(carrier)
    assert imu.parent is body
    np.testing.assert_allclose(body.R.T @ (imu.p - body.p), place, atol=1e-15)
    np.testing.assert_allclose(imu.R, body.R, atol=1e-15)


def test_wrist_sensor_weighs_the_flange():
    """Read, at rest and pointing up, the weight of the 0.5 kg flange and no torque."""
    world = sb.World()
    robot = world.load_urdf(path_of('arm'))
    robot.hold = True
    world.step(10)
    sensor = robot.device('wrist_ft')
    np.testing.assert_allclose(sensor.f, [0.0, 0.0, -0.5 * 9.81], atol=1e-9)
    np.testing.assert_allclose(sensor.tau, 0.0, atol=1e-9)


def test_box_carries_its_imu():
    """Carry one IMU, on the box."""
    (imu,) = load_description(path_of('floating_box')).sensors
    assert (imu.name, imu.kind, imu.link) == ('imu', IMU, 'box')


def test_quadruped_carries_its_sensors():
    """Carry a force-torque sensor in each foot's fixed joint and an IMU in the trunk."""
    sensors = {sensor.name: sensor for sensor in load_description(path_of('quadruped')).sensors}
    assert set(sensors) == {'imu', *(f'{leg}_foot' for leg in LEGS)}
    assert sensors['imu'].link == 'imu_link'
    for leg in LEGS:
        foot = sensors[f'{leg}_foot']
        assert (foot.kind, foot.joint) == (FORCE_TORQUE, f'{leg}_foot_joint')


def test_quadruped_stands_as_documented():
    """Find the feet under the hips, 0.3146 m down, in ros2_control's initial pose."""
    tree = ElementTree.parse(path_of('quadruped')).getroot()
    pose = {
        joint.get('name'): float(joint.find('state_interface/param').text)
        for joint in tree.find('ros2_control').findall('joint')
    }
    assert all(pose[f'{leg}_haa'] == 0.0 for leg in LEGS)
    robot = sb.World(gravity=(0.0, 0.0, 0.0)).load_urdf(path_of('quadruped'))
    robot.q[:] = [pose[name] for name in robot.joint_names]
    for leg in LEGS:
        foot, hip = robot.link(f'{leg}_foot').p, robot.link(f'{leg}_thigh').p
        np.testing.assert_allclose(foot[:2], hip[:2], atol=1e-12)
        assert robot.root_link.p[2] - foot[2] + 0.022 == pytest.approx(0.3146, abs=5e-5)


def test_quadruped_is_symmetric():
    """Find its centre of mass, standing, in the plane between left and right."""
    robot = sb.World().load_urdf(path_of('quadruped'))
    robot.q[:] = [{'haa': 0.0, 'hfe': 0.8, 'kfe': -1.6}[name[3:]] for name in robot.joint_names]
    assert robot.center_of_mass[1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize('name', ['arm', 'quadruped'])
def test_ros2_control_names_every_joint_and_its_limits(name):
    """Offer an effort command within the joint's limit, and all three states, for every joint."""
    tree = ElementTree.parse(path_of(name)).getroot()
    limits = {
        joint.get('name'): float(joint.find('limit').get('effort'))
        for joint in tree.findall('joint')
        if joint.find('limit') is not None
    }
    joints = tree.find('ros2_control').findall('joint')
    assert [joint.get('name') for joint in joints] == list(limits)
    for joint in joints:
        (command,) = joint.findall('command_interface')
        assert command.get('name') == 'effort'
        bounds = {param.get('name'): float(param.text) for param in command}
        assert bounds == {'min': -limits[joint.get('name')], 'max': limits[joint.get('name')]}
        states = [state.get('name') for state in joint.findall('state_interface')]
        assert states == ['position', 'velocity', 'effort']


def test_tracked_vehicle_stands_on_two_crawlers():
    """Find tracks 0.44 m apart, commanded by their joint names, reaching 0.14 m down."""
    description = load_description(path_of('tracked_vehicle'))
    tracks = {one.name: one for one in description.crawlers}
    assert tracks.keys() == {'left_track_joint', 'right_track_joint'}
    places = {name: description.joints[name].origin.position for name in tracks}
    left, right = places['left_track_joint'], places['right_track_joint']
    np.testing.assert_allclose(left - right, [0.0, 0.44, 0.0], atol=1e-15)
    for name, one in tracks.items():
        assert one.axis.tolist() == [0.0, 1.0, 0.0]
        wheels = [
            shape for shape in description.links[one.link].collisions if shape.kind == 'cylinder'
        ]
        assert sorted(shape.pose.position[0] for shape in wheels) == [-0.25, 0.25]
        assert places[name][2] - wheels[0].size[0] == pytest.approx(-0.14, abs=1e-15)


@pytest.mark.parametrize('name', ['arm', 'four_bar', 'quadruped', 'tracked_vehicle'])
def test_a_copy_behaves_like_its_pattern(name, monkeypatch):
    """Begin like the pattern, wherever that is now, without reading any file again."""
    apart, world = sb.World(), sb.World()
    pattern = apart.load_urdf(f'urdf/{name}.urdf', position=(0.0, 0.0, 1.0))
    loaded = world.load_urdf(f'urdf/{name}.urdf', position=(0.0, 0.0, 1.0))
    apart.step(20)
    monkeypatch.setattr('builtins.open', lambda *given: pytest.fail(f'opens {given[0]}'))
    other_world = sb.World()
    copy = other_world.add_copy(pattern)
    assert (copy.name, copy.fixed_base) == (pattern.name, pattern.fixed_base)
    np.testing.assert_allclose(copy.q, loaded.q, atol=1e-12)
    assert copy.slot.excluded == loaded.slot.excluded
    assert [g.material for g in copy.geometries] == [g.material for g in loaded.geometries]
    for each in (world, other_world):
        each.step(20)
    np.testing.assert_allclose(copy.q, loaded.q, atol=1e-9)
    np.testing.assert_allclose(copy.root_link.p, loaded.root_link.p, atol=1e-9)
    third = other_world.add_copy(copy, position=(5.0, 0.0, 1.0))
    assert third.name == f'{pattern.name}_2'
    np.testing.assert_allclose(third.root_link.p, [5.0, 0.0, 1.0])
