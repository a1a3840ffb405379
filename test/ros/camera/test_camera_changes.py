"""Cameras in several layouts at once, and cameras that come and go while pictures are sent."""

from __future__ import annotations

from itertools import pairwise

import pytest
from ros_graph import nanoseconds
from sensor_msgs.msg import CameraInfo, Image, JointState, PointCloud2
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from sim_bridge.ros.services.standard.interfaces import names_of

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

KEYS = 'type: camera, size: [32, 24], update_rate: 20, position: [0, 0, 1], look_at: [1, 0, 0]'
LABELLED = 'outputs: [image, labels]'
SCENE = f"""
world:
  ground: {{}}
  sensors:
    ros: {{{KEYS}}}
    sense: {{{KEYS}, layout: realsense}}
    muj: {{{KEYS}, layout: mujoco}}
    gaz: {{{KEYS}, layout: gazebo, topic: front/image, outputs: [image]}}
    gazd: {{{KEYS}, layout: gazebo_rgbd, topic: front_d}}
    asked: {{{KEYS}, outputs: [image], trigger: true}}
"""
TOPICS = {
    Image: (
        *('/ros/image_raw', '/ros/depth/image_raw', '/sense/color/image_raw'),
        *('/sense/depth/image_rect_raw', '/sense/aligned_depth_to_color/image_raw'),
        *('/muj/color', '/muj/depth', '/front/image', '/front_d/image', '/front_d/depth_image'),
    ),
    CameraInfo: (
        *('/ros/camera_info', '/ros/depth/camera_info', '/sense/color/camera_info'),
        *('/sense/depth/camera_info', '/sense/aligned_depth_to_color/camera_info'),
        *('/muj/camera_info', '/front/camera_info', '/front_d/camera_info'),
    ),
    PointCloud2: ('/ros/points', '/sense/depth/color/points', '/front_d/points'),
}
ROBOT = """<robot name="second"><link name="head"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<gazebo reference="head"><sensor name="eye" type="camera"><update_rate>20</update_rate><camera>
<image><width>32</width><height>24</height></image></camera></sensor></gazebo></robot>"""


@pytest.fixture
def scene(tmp_path):
    """Return a scene file with a camera in each layout."""
    file = tmp_path / 'scene.yaml'
    file.write_text(SCENE)
    return str(file)


def test_all_layouts_deliver(graph, start_node, scene):
    """Receive pictures on all topics at once, each frame with one stamp; a request gives one."""
    start_node(world=scene)
    heard = {
        topic: graph.listen(kind, topic) for kind, topics in TOPICS.items() for topic in topics
    }
    asked = graph.listen(Image, '/asked/image_raw')
    graph.wait(lambda: all(len(each) > 2 for each in heard.values()), 'all topics')
    stamps = {
        topic: {nanoseconds(each.header.stamp) for each in messages}
        for topic, messages in heard.items()
    }
    for camera in ('/ros', '/sense', '/muj', '/front_d'):
        own = [found for topic, found in stamps.items() if topic.startswith(f'{camera}/')]
        assert set.intersection(*own)
    frames = {topic: messages[-1].header.frame_id for topic, messages in heard.items()}
    assert frames['/sense/depth/image_rect_raw'] == 'sense_depth_optical_frame'
    assert frames['/sense/aligned_depth_to_color/image_raw'] == 'sense_color_optical_frame'
    assert heard['/sense/depth/image_rect_raw'][-1].encoding == '16UC1'
    assert frames['/muj/color'] == 'muj_frame'
    assert not asked
    client = graph.node.create_client(Trigger, '/asked/trigger')
    graph.wait(client.service_is_ready, 'the service')
    future = client.call_async(Trigger.Request())
    graph.wait(future.done, 'a response')
    assert future.result().success, future.result().message
    graph.wait(lambda: len(asked) == 1, 'the picture')
    graph.advertise(Bool, '/asked/trigger').publish(Bool(data=True))
    graph.wait(lambda: len(asked) == 2, 'the second picture')
    graph.wait_for_next(heard['/ros/image_raw'], 5)
    assert len(asked) == 2


def test_cameras_come_and_go(graph, start_node, scene):
    """Spawn and delete a robot with a camera while others send; all pictures go on."""
    from simulation_interfaces.srv import DeleteEntity, SpawnEntity

    def call(kind, **fields):
        return graph.call(
            kind, names_of(kind.__name__)[1].replace('~', '/sim_bridge'), kind.Request(**fields)
        )

    start_node(world=scene)
    first = graph.listen(Image, '/ros/image_raw')
    graph.wait(lambda: len(first) > 2, 'a picture')
    second = graph.listen(Image, '/second/eye/image_raw')
    for _ in range(2):
        told = call(SpawnEntity, name='second', resource_string=ROBOT, entity_namespace='second')
        assert told.result.result == 1, told.result.error_message
        graph.wait_for_next(second, 3)
        graph.wait_for_next(first, 3)
        told = call(DeleteEntity, entity='second')
        assert told.result.result == 1, told.result.error_message
        graph.wait_for_next(first, 3)
        graph.drain()
        count = len(second)
        graph.wait_for_next(first, 3)
        assert len(second) == count


def test_a_killed_node_leaves_no_file(graph, start_process, scene, ros_environment, tmp_path):
    """Kill a node with a camera process: the folder of its settings is gone."""
    process = start_process(
        *('-m', 'sim_bridge', 'node', '--ros-args', '-p', f'world:={scene}'),
        env={**ros_environment, 'TMPDIR': str(tmp_path)},
    )
    pictures = graph.listen(Image, '/ros/image_raw')
    graph.wait(lambda: pictures, 'a picture')
    process.kill()
    process.wait()
    assert not list(tmp_path.glob('sim_bridge_cameras_*'))


def test_no_picture_is_lost_in_lockstep(graph, start_node, tmp_path):
    """Answer each state as fast as possible: all samples arrive, labels beside images."""
    scene = tmp_path / 'scene.yaml'
    scene.write_text(f'world: {{ground: {{label: 1}}, sensors: {{eye: {{{KEYS}, {LABELLED}}}}}}}')
    start_node(
        robot='pendulum',
        world=str(scene),
        lockstep=['joint_commands'],
        rate=100.0,
        real_time_factor=0.0,
        **{'qos_overrides./eye/labels.publisher.depth': 50},
    )
    images, labels = (graph.listen(Image, f'/eye/{each}') for each in ('image_raw', 'labels'))
    commands = graph.advertise(JointState, '/joint_commands')

    def answer(state):
        command = JointState(name=state.name, effort=[0.0] * len(state.name))
        command.header.stamp = state.header.stamp
        commands.publish(command)

    graph.node.create_subscription(JointState, '/joint_states', answer, 100)
    graph.wait(lambda: len(images) > 20 and len(labels) > 20, 'pictures')
    stamps = [[nanoseconds(each.header.stamp) for each in heard] for heard in (images, labels)]
    for own in stamps:
        assert {after - before for before, after in pairwise(own)} == {50_000_000}
    assert set(stamps[0]) & set(stamps[1])
