"""Contacts over ROS: the standing quadruped, scenes, objects, diagnostics."""

from __future__ import annotations

import json
import math
import signal

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import Vector3, WrenchStamped
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from ros_graph import end, nanoseconds
from sensor_msgs.msg import Imu, JointState, MultiDOFJointState, PointCloud2, PointField
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from visualization_msgs.msg import Marker, MarkerArray

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
FEET = ('lf_foot', 'rf_foot', 'lh_foot', 'rh_foot')
WEIGHT = 14.22 * 9.81  # quadruped [N]
FOOT_WEIGHT = 0.06 * 9.81
STANDING = [0.0, 0.8, -1.6] * 4

SCENE = """
world:
  materials:
    ice: {friction: 0.0}
  ground: {material: default}
  objects:
    table: {motion: static, box: [1.0, 1.0, 0.2], position: [2.0, 0.0, 0.1]}
    crate: {box: [0.2, 0.2, 0.2], position: [2.0, 0.0, 0.3], mass: 3.0}
    puck:
      cylinder: {radius: 0.1, length: 0.1}
      position: [0.0, 2.0, 0.05]
      material: ice
      mass: 1.0
      linear_velocity: [0.5, 0.0, 0.0]
  robots:
    left: {urdf: double_pendulum, position: [0.0, -3.0, 4.0], joint_positions: {elbow: 0.5}}
    right: {urdf: arm, position: [0.0, -6.0, 0.0], namespace: r}
"""


@pytest.fixture
def scene(tmp_path):
    """Return the path to the scene above."""
    path = tmp_path / 'scene.yaml'
    path.write_text(SCENE)
    return path


def points_of(cloud: PointCloud2) -> np.ndarray:
    """Read a cloud by its own field description, as any program would."""
    kinds = {PointField.FLOAT32: 'f4', PointField.UINT32: 'u4', PointField.FLOAT64: 'f8'}
    dtype = np.dtype(
        {
            'names': [field.name for field in cloud.fields],
            'formats': [kinds[field.datatype] for field in cloud.fields],
            'offsets': [field.offset for field in cloud.fields],
            'itemsize': cloud.point_step,
        }
    )
    points = np.frombuffer(bytes(cloud.data), dtype)
    assert (cloud.height, cloud.width, cloud.header.frame_id) == (1, len(points), 'world')
    return points


def vectors(points: np.ndarray, name: str) -> np.ndarray:
    """Return (n, 3) vectors, one for each point; 'x' for the position."""
    names = 'xyz' if name == 'x' else [f'{name}_{axis}' for axis in 'xyz']
    return np.stack([points[each] for each in names], axis=1).astype(float)


def links_of(table: list[String], points: np.ndarray) -> list[tuple[str, str]]:
    """Return 'robot/link' for both geometries at every point."""
    names = [f'{each["robot"]}/{each["link"]}' for each in json.loads(table[-1].data)]
    return [
        (names[a], names[b])
        for a, b in zip(points['geometry_a'], points['geometry_b'], strict=True)
    ]


def solver_values(diagnostics: list[DiagnosticArray]) -> dict[str, str]:
    """Return the solver values in the latest diagnostics, with 'level'."""
    (status,) = (s for s in diagnostics[-1].status if s.name.endswith(': solver'))
    return {**{item.key: item.value for item in status.values}, 'level': status.level}


def common_stamps(*topics: list) -> set[int]:
    """Return the stamps [ns] with a message on each topic."""
    first, *others = ({nanoseconds(each.header.stamp) for each in topic} for topic in topics)
    return first.intersection(*others)


def of_one_instant(*topics: list) -> list:
    """Return the latest messages with one common stamp."""
    stamp = max(common_stamps(*topics))
    return [
        next(each for each in topic if nanoseconds(each.header.stamp) == stamp) for topic in topics
    ]


def norm(vector: Vector3) -> float:
    """Return a vector's length."""
    return math.hypot(vector.x, vector.y, vector.z)


def seconds(message: object) -> float:
    """Return a message's stamp [s]."""
    return nanoseconds(message.header.stamp) * 1e-9


@pytest.fixture
def stand(graph, start_node, start_process, repository):
    """
    Start the quadruped and the PD controller with the quadruped's own parameters.

    In lockstep: a robot never falls for lack of processor time; the node waits a little
    for a missing controller.
    """
    file = str(repository / 'urdf' / 'quadruped.params.yaml')
    start_node(
        '--params-file',
        file,
        robot='quadruped',
        diagnostics_rate=20.0,
        object_state_rate=0.0,
        real_time_factor=0.0,
        lockstep=['joint_commands'],
        lockstep_timeout=0.05,
        rate=500.0,
        substeps=2,
    )
    states = graph.listen(JointState, '/joint_states')
    graph.wait_for_next(states)
    controller = start_process(
        '-m', 'sim_bridge.control.pd_controller', '--ros-args', '--params-file', file
    )
    graph.wait(lambda: any(states[-1].effort), 'efforts')
    return states, controller


def test_the_quadruped_stands_under_the_pd_controller(graph, stand):
    """
    Bear the weight on four feet: contacts, foot sensors, IMU and pose agree.

    Keep standing while the controller is suspended for a while.
    """
    states, controller = stand
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    freed = seconds(states[-1])
    graph.wait(lambda: seconds(states[-1]) > freed + 2.0, 'two seconds under the controller')

    def is_free() -> bool:
        return any(
            (item.key, item.value) == ('joints held', 'False')
            for status in diagnostics[-1].status
            for item in status.values
        )

    # on a busy machine the lock sometimes helps
    graph.wait(is_free, 'efforts, and not the lock, that hold it')
    graph.wait(lambda: max(np.abs(state.velocity).max() for state in states[-100:]) < 1e-4, 'rest')
    # only now, because these are many messages
    clouds = graph.listen(PointCloud2, '/contacts')
    table = graph.listen(String, '/contacts/geometries', LATCHED)
    bases = graph.listen(MultiDOFJointState, '/object_states')
    wrenches = {foot: graph.listen(WrenchStamped, f'/{foot}/wrench') for foot in FEET}
    imu = graph.listen(Imu, '/imu/imu')
    sampled = clouds, imu, *wrenches.values()
    graph.wait(lambda: table and bases and common_stamps(*sampled), 'samples of one instant')
    cloud, acceleration, *sensed = of_one_instant(*sampled)
    points = points_of(cloud)
    pairs = links_of(table, points)
    assert all(pair.count('ground/ground') == 1 for pair in pairs)
    signs = np.array([-1.0 if pair[0] == 'ground/ground' else 1.0 for pair in pairs])[:, None]
    touching = [max(pair, key='ground/ground'.__ne__) for pair in pairs]
    up = dict(zip(touching, signs * vectors(points, 'force'), strict=True))
    assert set(up) == {f'quadruped/{foot}' for foot in FEET}
    assert sum(up.values())[2] == pytest.approx(WEIGHT, rel=1e-3)
    assert all(force[2] > 0.1 * WEIGHT for force in up.values()), 'on each foot'
    normals = signs * vectors(points, 'normal')
    np.testing.assert_allclose(normals, np.broadcast_to((0, 0, 1), normals.shape), atol=1e-6)
    assert np.abs(vectors(points, 'x')[:, 2]).max() < 1e-3
    assert np.abs(points['depth']).max() < 1e-3

    # force on the shank: the ground force less the foot's own weight
    for foot, message in zip(FEET, sensed, strict=True):
        assert message.header.frame_id == foot
        given = up[f'quadruped/{foot}'] - (0.0, 0.0, FOOT_WEIGHT)
        assert norm(message.wrench.force) == pytest.approx(np.linalg.norm(given), rel=1e-6)
    assert norm(acceleration.linear_acceleration) == pytest.approx(9.81, rel=1e-6)
    assert acceleration.linear_acceleration.z == pytest.approx(9.81, rel=1e-3), 'up'

    base = bases[-1]
    assert base.joint_names == ['quadruped']
    height = base.transforms[0].translation.z
    assert 0.29 < height < 0.3146
    assert np.abs(np.array(states[-1].position) - STANDING).max() < 0.1
    assert np.abs(states[-1].velocity).max() < 0.01

    # there may be no step between two messages
    graph.wait(
        lambda: solver_values(diagnostics)['most contacts in a step'] == '4', 'four contacts'
    )
    solver = solver_values(diagnostics)
    assert solver['level'] == DiagnosticStatus.OK
    assert solver['most islands in a step'] == '1'
    assert 0.0 <= float(solver['natural map residual [m/s]']) <= 1e-9
    assert float(solver['deepest penetration [m]']) < 1e-3
    # legs locked while the controller is late can jam (Painlevé), some 1e-9 m/s from rest
    assert int(solver['control steps not converged since start']) <= 20

    controller.send_signal(signal.SIGSTOP)
    graph.wait(lambda: not any(states[-1].effort), 'the end of the last command')
    stopped = seconds(states[-1])
    graph.wait(lambda: seconds(states[-1]) > stopped + 0.05, 'a while without commands')
    assert np.abs(states[-1].velocity).max() < 1e-9, 'locked'
    controller.send_signal(signal.SIGCONT)
    graph.wait(lambda: any(states[-1].effort), 'efforts')
    freed = seconds(states[-1])
    graph.wait(lambda: seconds(states[-1]) > freed + 0.3, 'a while under the controller')
    assert bases[-1].transforms[0].translation.z > 0.29
    assert np.abs(np.array(states[-1].position) - STANDING).max() < 0.1


def test_the_quadruped_begins_on_its_feet_and_returns_there(graph, start_node):
    """Start at the height in its description, with locked joints, and again after a reset."""
    start_node(robot='quadruped', paused=True, contact_rate=0.0, object_state_rate=0.0)
    states = graph.listen(JointState, '/joint_states')
    bases = graph.listen(MultiDOFJointState, '/object_states')
    clouds = graph.listen(PointCloud2, '/contacts')
    for _ in range(2):
        graph.call(Trigger, '/sim_bridge/step', Trigger.Request())
        graph.wait_for_next(bases, 0)
        graph.wait(lambda: states and bases and clouds, 'messages of the step')
        assert list(states[-1].position) == pytest.approx(STANDING, abs=1e-9)
        # 0.42 cos 0.8 + 0.022
        assert bases[-1].transforms[0].translation.z == pytest.approx(0.314617, abs=1e-5)
        assert len(points_of(clouds[-1])) == 4
        assert graph.call(Trigger, '/sim_bridge/reset', Trigger.Request()).success
        for messages in (states, bases, clouds):
            messages.clear()


def test_contacts_come_at_their_rate(graph, start_node):
    """Publish contacts at the requested rate, on whole multiples of the period."""
    start_node(robot='floating_box', contact_rate=125.0, paused=True, step_count=320)
    clouds = graph.listen(PointCloud2, '/contacts')
    graph.call(Trigger, '/sim_bridge/step', Trigger.Request())
    graph.wait(lambda: len(clouds) == 40, 'contacts')
    stamps = [nanoseconds(cloud.header.stamp) for cloud in clouds]
    assert {late - early for early, late in zip(stamps, stamps[1:], strict=False)} == {8_000_000}
    points = points_of(clouds[-1])
    assert len(points) == 4, 'the corners of the box that stands on its end'
    assert np.abs(vectors(points, 'force').sum(axis=0)[2]) == pytest.approx(98.1, rel=1e-3)


def test_a_scene_has_objects_and_robots_in_namespaces(graph, start_node, scene):
    """Give each robot its own topics and frames; the objects stand, and slide on ice."""
    process = start_node(
        world=str(scene), object_state_rate=0.0, diagnostics_rate=20.0, command_timeout=0.0
    )
    left = graph.listen(JointState, '/left/joint_states')
    right = graph.listen(JointState, '/r/joint_states')
    wrist = graph.listen(WrenchStamped, '/r/wrist_ft/wrench')
    description = graph.listen(String, '/left/robot_description', LATCHED)
    objects = graph.listen(MultiDOFJointState, '/object_states')
    clouds = graph.listen(PointCloud2, '/contacts')
    table = graph.listen(String, '/contacts/geometries', LATCHED)
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    graph.wait(
        lambda: all((left, right, wrist, description, table, diagnostics, clouds)), 'all topics'
    )
    graph.wait(lambda: objects and seconds(objects[-1]) > 1.0, 'one second')

    assert left[-1].name == ['shoulder', 'elbow']
    assert list(left[-1].position) == [0.0, 0.5]
    assert len(right[-1].name) == 7
    assert wrist[-1].header.frame_id == 'r/tool_flange'
    assert '<robot name="double_pendulum">' in description[0].data
    assert not graph.node.get_publishers_info_by_topic('/joint_states')
    names = {status.name for status in diagnostics[-1].status}
    assert {'sim_bridge: commands of left', 'sim_bridge: commands of right'} <= names

    moving = objects[-1]
    assert moving.joint_names == ['crate', 'puck']
    crate, puck = moving.transforms
    assert crate.translation.z == pytest.approx(0.3, abs=1e-4)
    assert puck.translation.x == pytest.approx(0.5 * seconds(moving), rel=1e-3), 'ice'
    assert moving.twist[1].linear.x == pytest.approx(0.5, rel=1e-6)
    pairs = links_of(table, points_of(clouds[-1]))
    assert {frozenset(pair) for pair in pairs} == {
        frozenset({'table/table', 'crate/crate'}),
        frozenset({'ground/ground', 'puck/puck'}),
    }

    command = graph.advertise(JointState, '/left/joint_commands')
    command.publish(JointState(name=['shoulder'], effort=[0.5]))
    graph.wait(lambda: list(left[-1].effort) == [0.5, 0.0], 'an effort in its namespace')
    assert not any(right[-1].effort)
    code, output = end(process)
    assert code == 0, output


def test_markers_show_the_scene_and_its_contacts(graph, start_node, scene):
    """Latch static markers; move moving ones; draw points, normals and forces."""
    start_node(world=str(scene), marker_rate=50.0, paused=True, step_count=600)
    fixed = graph.listen(MarkerArray, '/scene_markers', LATCHED)
    moving = graph.listen(MarkerArray, '/object_markers')
    contacts = graph.listen(MarkerArray, '/contacts/markers')
    graph.call(Trigger, '/sim_bridge/step', Trigger.Request())
    graph.wait(lambda: fixed and len(moving) == len(contacts) == 30, 'markers')
    assert {marker.ns for marker in fixed[-1].markers} == {'ground', 'table'}
    assert {marker.ns: marker.type for marker in moving[-1].markers} == {
        'crate': Marker.CUBE,
        'puck': Marker.CYLINDER,
    }
    times = [nanoseconds(message.markers[0].header.stamp) for message in moving]
    assert {late - early for early, late in zip(times, times[1:], strict=False)} == {20_000_000}
    (puck,) = (marker for marker in moving[-1].markers if marker.ns == 'puck')
    assert puck.pose.position.x == pytest.approx(0.5 * times[-1] * 1e-9, rel=1e-3)
    points, normals, *forces = contacts[-1].markers
    assert len(normals.points) == 2 * len(points.points) == 2 * len(forces) > 0
    # some corners of a box may bear nothing
    rises = [force.points[1].z - force.points[0].z for force in forces]
    assert min(rises) >= 0.0 < max(rises), 'on moving objects'


def test_bad_scenes_are_refused(refusals, tmp_path):
    """Name the file and its defect, without a traceback."""
    cases = [
        ('world: {objects: {crate: {box: [1, 1]}}}', 'crate'),
        ('world: {robots: {a: {urdf: elephant}}}', "unknown robot 'elephant'"),
        ('world: {grond: true}', 'grond'),
        ('world: {robots: {a: {urdf: arm, namespace: left arm}}}', 'namespace="left arm"'),
        ('world: {objects: {a: {box: [1, 1, 1], position: [0, .nan, 1]}}}', 'position='),
        ('world: {objects: {a: {box: [1, 1, 1], material: jelly}}}', 'jelly'),
        ('world: [', 'scene.yaml'),
        (
            'world: {robots: {a: {urdf: arm, namespace: x}, b: {urdf: arm, namespace: x}}}',
            "namespace of robot 'b'",
        ),
        (None, 'scene.yaml'),
    ]
    scenes = [tmp_path / str(number) / 'scene.yaml' for number in range(len(cases))]
    for scene, (text, _) in zip(scenes, cases, strict=True):
        scene.parent.mkdir()
        if text is not None:
            scene.write_text(text)
    outputs = refusals(*({'world': str(scene)} for scene in scenes))
    for (_, said), output in zip(cases, outputs, strict=True):
        assert said in output


def test_frames_are_on_the_graph(graph, start_node):
    """Publish a moving base on /tf, below the static frames."""
    process = start_node(robot='floating_box', publish_tf=True, collisions='none')
    heard = graph.listen(TFMessage, '/tf')
    graph.wait_for_next(heard)
    names = {each.child_frame_id for message in heard for each in message.transforms}
    assert 'base_link' in names, names
    code, output = end(process)
    assert code == 0, output
