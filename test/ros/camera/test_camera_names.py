"""Topic names, frames and queues of cameras, and the messages that hold their pictures."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from robots import link, robot
from sensor_msgs.msg import Image, PointCloud2

import sim_bridge as sb
from sim_bridge.description import sensors_from_mapping
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.camera.topics import camera_topics, with_own_topics
from sim_bridge.ros.camera.transport import environment_with_profile
from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.session.loading import load_world
from sim_bridge.ros.wire.image_messages import CloudMessage, ImageMessage
from sim_bridge.ros.wire.messages import pack_stamp

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def topics_of(**cameras):
    """Return the camera topics on one link, in a namespace; cameras: YAML keys by name."""
    world = sb.World()
    given = {name: {'type': 'camera', 'link': 'head', **each} for name, each in cameras.items()}
    body = world.load_urdf(robot(link('head', 1.0)), sensors=sensors_from_mapping(given))
    return [camera_topics(each, 'bot/', 'left/bot/', True) for each in body.devices()]


@pytest.mark.parametrize(
    ('keys', 'topics', 'infos'),
    [
        (
            {},
            {
                'image': 'bot/eye/image_raw',
                'depth': 'bot/eye/depth/image_raw',
                'points': 'bot/eye/points',
            },
            {'image': 'bot/eye/camera_info', 'depth': 'bot/eye/depth/camera_info'},
        ),
        (
            {'layout': 'gazebo', 'topic': 'front/depth', 'outputs': ['depth', 'points']},
            {'depth': 'bot/front/depth', 'points': 'bot/front/depth/points'},
            {'depth': 'bot/front/camera_info'},
        ),
        (
            {'layout': 'gazebo_rgbd', 'topic': '/front'},
            {'image': '/front/image', 'depth': '/front/depth_image', 'points': '/front/points'},
            {'image': '/front/camera_info', 'depth': '/front/camera_info'},
        ),
        (
            {'layout': 'realsense'},
            {
                'image': 'bot/eye/color/image_raw',
                'depth': 'bot/eye/depth/image_rect_raw',
                'aligned': 'bot/eye/aligned_depth_to_color/image_raw',
                'points': 'bot/eye/depth/color/points',
            },
            {
                'image': 'bot/eye/color/camera_info',
                'depth': 'bot/eye/depth/camera_info',
                'aligned': 'bot/eye/aligned_depth_to_color/camera_info',
            },
        ),
        (
            {'layout': 'mujoco', 'outputs': ['image', 'depth']},
            {'image': 'bot/eye/color', 'depth': 'bot/eye/depth'},
            {'image': 'bot/eye/camera_info', 'depth': 'bot/eye/camera_info'},
        ),
        (
            {'topics': {'aligned': '/d', 'aligned_info': 'i'}, 'outputs': ['depth']},
            {'aligned': '/d', 'depth': 'bot/eye/depth/image_raw'},
            {'aligned': 'bot/i', 'depth': 'bot/eye/depth/camera_info'},
        ),
        (
            {'topics': {'depth': '/d', 'depth_info': 'info'}, 'outputs': ['depth']},
            {'depth': '/d'},
            {'depth': 'bot/info'},
        ),
    ],
    ids=['ros', 'gazebo', 'gazebo_rgbd', 'realsense', 'mujoco', 'aligned', 'topics'],
)
def test_names_follow_the_layout(keys, topics, infos):
    """Name the topics as ROS or Gazebo do, or as given."""
    (found,) = topics_of(eye=keys)
    assert (dict(found.topics), dict(found.infos)) == (topics, infos)


def test_frames_follow_the_layout():
    """Name the optical frames as ROS, RealSense or mujoco_ros2_control do, or as given."""
    given = {'layout': 'realsense', 'frame_id': 'tool'}
    ros, realsense, mujoco, own = topics_of(
        a={}, b={'layout': 'realsense'}, c={'layout': 'mujoco'}, d=given
    )
    assert set(ros.frames.values()) == {'left/bot/a_optical_frame'}
    color, depth = 'left/bot/b_color_optical_frame', 'left/bot/b_depth_optical_frame'
    assert dict(realsense.frames) == {
        'image': color,
        'aligned': color,
        'depth': depth,
        'points': depth,
    }
    assert set(mujoco.frames.values()) == {'left/bot/c_frame'}
    assert set(own.frames.values()) == {'left/bot/tool'}
    assert realsense.settings.depth_format == '16UC1' and ros.settings.depth_format == '32FC1'


def test_images_are_offered_compressed():
    """Name the topics as image_transport does."""
    (found,) = topics_of(eye={})
    assert [each.topic for each in found.compressed] == [
        'bot/eye/image_raw/compressed',
        'bot/eye/depth/image_raw/compressedDepth',
    ]


def test_pictures_have_topics_of_their_own():
    """Refuse two cameras on one topic; move a camera_info whose name is taken."""
    with pytest.raises(InvalidValueError, match='a topic of its own'):
        with_own_topics(topics_of(one={'topic': '/eye'}, other={'topic': '/eye'}))
    keys = {'layout': 'gazebo', 'outputs': ['depth']}
    first, second = with_own_topics(
        topics_of(one={'topic': '/eyes/one', **keys}, other={'topic': '/eyes/other', **keys})
    )
    assert first.infos['depth'] == '/eyes/camera_info'
    assert second.infos['depth'] == '/eyes/other/camera_info'
    (both,) = with_own_topics(topics_of(eye={'layout': 'gazebo_rgbd', 'topic': '/eye'}))
    assert dict(both.infos) == {'image': '/eye/camera_info'}


def test_points_are_turned_into_the_frame_that_they_name():
    """Use the optical frame, or the axes of the link if that is the declared frame."""
    place = {'position': [0.1, 0.2, 0.3], 'look_at': [0.1, 5.0, 0.3]}
    own, in_link, elsewhere = topics_of(
        own=place,
        in_link={'frame_id': 'head', **place},
        elsewhere={'frame_id': 'some_optical', **place},
    )
    frames = [(each.frames['points'], each.parent) for each in (own, in_link, elsewhere)]
    assert frames == [
        ('left/bot/own_optical_frame', 'left/bot/head'),
        ('left/bot/head', ''),
        ('left/bot/some_optical', ''),
    ]
    assert own.pose[:3] == pytest.approx((0.1, 0.2, 0.3))
    for each in (own, elsewhere):
        assert np.array_equal(each.into_frame, [*np.eye(3).ravel(), 0, 0, 0])
    rotation, offset = in_link.into_frame[:9].reshape(3, 3), in_link.into_frame[9:]
    # 2 m ahead of a camera that looks along y of the link
    assert rotation @ (0.0, 0.0, 2.0) + offset == pytest.approx((0.1, 2.2, 0.3))


def test_queues_hold_a_second_of_messages_but_are_bounded():
    """Bound large pictures' memory."""
    (small,) = topics_of(eye={'update_rate': 20, 'size': [64, 48]})
    assert small.qos('depth').depth == 20
    (large,) = topics_of(eye={'update_rate': 20, 'size': [1920, 1080]})
    assert large.qos('depth').depth == (32 << 20) // (1920 * 1080 * 4)
    assert large.qos('points').depth == 1


@pytest.mark.parametrize(('encoding', 'item'), [('32FC1', np.float32), ('16UC1', np.uint16)])
def test_an_image_is_filled_in_place(encoding, item):
    """Read back the pixels, the stamp and the frame from the bytes."""
    camera = sb.CameraDescription(size=(5, 3), depth_format=encoding)
    message = ImageMessage(camera, 'depth', 'eye')
    message.pixels[:] = np.arange(15).reshape(3, 5)
    read = deserialize_message(message.stamped(pack_stamp(1_500_000_000)), Image)
    assert (read.header.stamp.sec, read.header.stamp.nanosec) == (1, 500_000_000)
    assert (read.header.frame_id, read.encoding, read.is_bigendian) == ('eye', encoding, 0)
    assert (read.height, read.width, read.step) == (3, 5, 5 * np.dtype(item).itemsize)
    assert np.frombuffer(bytes(read.data), item).tolist() == list(range(15))


def test_a_cloud_is_organised():
    """Read back points of 16 bytes with x, y, z, and the colour as PCL packs it."""
    message = CloudMessage(sb.CameraDescription(size=(5, 3)), 'eye')
    message.colors[:] = (3, 2, 1, 255)
    message.points[..., :3] = np.arange(45).reshape(3, 5, 3)
    read = deserialize_message(message.stamped(pack_stamp(7)), PointCloud2)
    assert [(each.name, each.offset) for each in read.fields] == [
        ('x', 0),
        ('y', 4),
        ('z', 8),
        ('rgb', 12),
    ]
    assert (read.height, read.width, read.point_step, read.row_step) == (3, 5, 16, 80)
    assert not read.is_dense
    points = np.frombuffer(bytes(read.data), np.float32).reshape(3, 5, 4)
    assert points[..., :3].ravel().tolist() == list(range(45))
    assert (points.view(np.uint32)[..., 3] & 0xFFFFFF == 1 << 16 | 2 << 8 | 3).all()


def test_the_profile_has_room_for_four_pictures(tmp_path, monkeypatch):
    """Give the camera process a segment for its largest message; keep the user's profile."""
    monkeypatch.delenv('FASTRTPS_DEFAULT_PROFILES_FILE', raising=False)
    monkeypatch.delenv('FASTDDS_DEFAULT_PROFILES_FILE', raising=False)
    file = tmp_path / 'profile.xml'
    cameras = topics_of(small={'size': [64, 48]}, eye={'size': [640, 480], 'outputs': ['depth']})
    environment = environment_with_profile(cameras, file)
    assert environment['FASTDDS_DEFAULT_PROFILES_FILE'] == str(file)
    largest = 640 * 480 * 4
    namespace = '{http://www.eprosima.com}'
    profile = ElementTree.parse(file)
    segment, message = (
        int(profile.find(f'.//{namespace}{tag}').text)
        for tag in ('segment_size', 'maxMessageSize')
    )
    assert 4 * largest < segment < 5 * largest and largest < message < 2 * largest
    monkeypatch.setenv('FASTRTPS_DEFAULT_PROFILES_FILE', '/own.xml')
    environment = environment_with_profile(cameras, file)
    assert 'FASTDDS_DEFAULT_PROFILES_FILE' not in environment
    assert environment['FASTRTPS_DEFAULT_PROFILES_FILE'] == '/own.xml'


@pytest.mark.parametrize(('name', 'carrier'), [('rover', 'eye'), ('double_pendulum', 'world')])
def test_sensors_stand_in_the_world(name, carrier):
    """Stand beside a robot without a link named world, with names of their own."""
    camera = {'type': 'camera', 'link': 'world', 'position': [1.0, 0.0, 2.0]}
    values = {'robot': name, 'sensors': {'eye': camera}}
    loaded = load_world(checked(SimulatorParameters, values))
    device, prefix = next(
        (device, each.prefix)
        for each in loaded.robots
        for device in each.robot.devices(sb.CameraSensor)
        if device.name == 'eye'
    )
    found = camera_topics(device, prefix, prefix, True)
    assert found.topics['image'] == 'eye/image_raw'
    assert (found.parent, found.frames['image']) == ('world', 'eye_optical_frame')
    assert found.pose[:3] == pytest.approx((1.0, 0.0, 2.0))
    assert device.link.name == carrier
