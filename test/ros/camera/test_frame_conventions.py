"""
Frames and camera_info, against complaints about other simulators.

Each test names its issues: clouds and depth images that disagree, bodies instead of optical
frames, principal points that are off by half a pixel, intrinsics that are not taken literally.
"""

from __future__ import annotations

import numpy as np
import pytest
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import CameraInfo

import sim_bridge as sb
from sim_bridge.foundation.rotation import matrix_from_quaternion
from sim_bridge.ros.camera.topics import camera_topics
from sim_bridge.ros.wire.image_messages import CameraInfoMessage
from sim_bridge.ros.wire.messages import pack_stamp

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

# a ball ahead, to the left and above the camera
BALL, RADIUS = np.array([2.0, 0.7, 0.6]), 0.2
INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)


def robot(sensor, links=''):
    """Return a robot with a sensor in SDF's words on the link camera_link, and further links."""
    return (
        f'<robot name="bot"><link name="base">{INERTIAL}</link><link name="camera_link"/>'
        '<joint name="mount" type="fixed"><origin xyz="0.1 0 0.2" rpy="0 0.1 0.2"/>'
        '<parent link="base"/><child link="camera_link"/></joint>'
        f'{links}<gazebo reference="camera_link">{sensor}</gazebo></robot>'
    )


OPTICAL_LINK = (
    '<link name="camera_optical"/><joint name="optics" type="fixed">'
    '<origin rpy="-1.57079632679489662 0 -1.57079632679489662"/>'
    '<parent link="camera_link"/><child link="camera_optical"/></joint>'
)


def sensor(kind='rgbd_camera', inner='', camera=''):
    """Return the sensor."""
    return (
        f'<sensor name="eye" type="{kind}">{inner}<update_rate>100</update_rate><camera>'
        '<horizontal_fov>1.4</horizontal_fov><image><width>81</width><height>61</height></image>'
        f'<clip><near>0.05</near><far>20</far></clip>{camera}</camera></sensor>'
    )


CASES = {
    'its own optical frame': robot(sensor()),
    'optical_frame_id': robot(
        sensor(camera='<optical_frame_id>camera_optical</optical_frame_id>'), OPTICAL_LINK
    ),
    'gz_frame_id of a body': robot(sensor(inner='<gz_frame_id>camera_link</gz_frame_id>')),
    'a pose of the sensor': robot(sensor(inner='<pose>0.1 0.05 0 0.3 0 -0.1</pose>')),
}


def seen(text):
    """Return the camera after a sample, and its topics; a ball is in its sight."""
    world = sb.World(gravity=(0, 0, 0))
    world.add_body(sb.Sphere(RADIUS), name='ball', motion='static', position=BALL)
    bot = world.load_urdf(text, base='fixed')
    world.step(10)
    camera = bot.device('eye')
    return camera, camera_topics(camera, '', '', True)


def frame_in_world(camera, topics, key):
    """Return rotation and origin of the frame named by a topic, as a client of tf finds them."""
    links = {each.name: each for each in camera.link.robot.links}
    name = topics.frames[key]
    if name in links:
        return links[name].R, links[name].p
    carrier = links[topics.parent]
    turn = matrix_from_quaternion(np.array(topics.pose[3:]))
    return carrier.R @ turn, carrier.R @ np.array(topics.pose[:3]) + carrier.p


@pytest.mark.parametrize('text', CASES.values(), ids=CASES)
def test_points_lie_on_the_object_in_the_world(text):
    """gz-sensors#239, #488, #545, subt#369: the cloud is right in the frame that it names."""
    camera, topics = seen(text)
    turn, offset = topics.into_frame[:9].reshape(3, 3), topics.into_frame[9:]
    points = camera.points[np.isfinite(camera.points[..., 0])] @ turn.T + offset
    rotation, origin = frame_in_world(camera, topics, 'points')
    distances = np.linalg.norm(points @ rotation.T + origin - BALL, axis=1)
    assert len(points) > 20
    assert distances == pytest.approx(RADIUS, abs=1e-5)


@pytest.mark.parametrize('name', ['its own optical frame', 'optical_frame_id'])
def test_a_cloud_from_the_depth_image_is_the_cloud(name):
    """gz-sensors#29: depth and camera_info give the points of the cloud, in the image's frame."""
    camera, topics = seen(CASES[name])
    assert topics.frames['depth'] == topics.frames['points'] == topics.frames['image']
    v, u = np.mgrid[: camera.settings.height, : camera.settings.width]
    pixels = np.stack([u, v, np.ones_like(u)], -1)
    is_seen = np.isfinite(camera.depth)
    again = pixels[is_seen] @ np.linalg.inv(camera.K).T * camera.depth[is_seen][:, None]
    assert again == pytest.approx(camera.points[is_seen].astype(float), abs=1e-6)
    rotation, origin = frame_in_world(camera, topics, 'depth')
    distances = np.linalg.norm(again @ rotation.T + origin - BALL, axis=1)
    assert distances == pytest.approx(RADIUS, abs=1e-5)


@pytest.mark.parametrize('size', [(64, 48), (81, 61)])
def test_the_principal_point_is_the_middle(size):
    """gz-sensors#423, #614, subt#406: the mean of all pixel centres is on the optical axis."""
    camera = sb.CameraDescription(size=size, horizontal_fov=1.2)
    info = deserialize_message(CameraInfoMessage(camera, 'eye').stamped(pack_stamp(7)), CameraInfo)
    k, p = np.reshape(info.k, (3, 3)), np.reshape(info.p, (3, 4))
    assert k[:2, 2].tolist() == [0.5 * (size[0] - 1), 0.5 * (size[1] - 1)]
    assert np.array_equal(p[:, :3], k) and not p[:, 3].any()
    # mujoco_ros2_control: a matrix of zeros
    assert np.array_equal(np.reshape(info.r, (3, 3)), np.eye(3))
    assert (info.width, info.height) == size
    half = 0.5 * size[0] / k[0, 0]
    assert 2 * np.arctan(half) == pytest.approx(1.2, abs=1e-12)


def test_given_intrinsics_are_literal():
    """gazebo-classic#2587: the pixel of a point is the one that the given numbers say."""
    lens = (
        '<lens><intrinsics><fx>70</fx><fy>72</fy><cx>31.5</cx><cy>38</cy><s>0</s></intrinsics>'
        '</lens>'
    )
    camera, _ = seen(robot(sensor(camera=lens)))
    rows, columns = np.nonzero(np.isfinite(camera.depth))
    rotation, origin = camera.optical_pose[:9].reshape(3, 3), camera.optical_pose[9:]
    x, y, z = (BALL - origin) @ rotation
    # the outline of a sphere is nearly an ellipse about its centre's pixel
    assert columns.mean() == pytest.approx(70 * x / z + 31.5, abs=1.0)
    assert rows.mean() == pytest.approx(72 * y / z + 38, abs=1.0)
    assert [camera.K[0, 0], camera.K[1, 1], *camera.K[:2, 2]] == [70, 72, 31.5, 38]
