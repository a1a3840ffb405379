"""A running node's cameras, by topics in another process."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
import signal
import struct

import cv2
from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from ros_graph import end, nanoseconds
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, PointCloud2
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
import yaml

import sim_bridge as sb
from sim_bridge.ros.wire.qos import LATCHED_QOS

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

WIDTH, HEIGHT = 33, 24
SCENE = f"""
world:
  ground: {{}}
  objects:
    ball: {{sphere: 0.2, position: [0.3, 0.0, 0.5], motion: static}}
    tower:
      box: [0.01, 0.01, 0.01]
      position: [0.0, 0.0, 2.0]
      motion: static
      sensors:
        eye: {{type: camera, size: [{WIDTH}, {HEIGHT}], update_rate: 20, look_at: [0, 0, -1],
              position: [0, 0, -0.1]}}
"""


@pytest.fixture
def scene(tmp_path):
    """Return a scene file: a camera above the ground and a ball."""
    file = tmp_path / 'scene.yaml'
    file.write_text(SCENE)
    return str(file)


def expected_camera():
    """Return the library's camera in the same scene, after its first sample."""
    world = sb.World()
    world.load_scene(yaml.safe_load(SCENE))
    world.step(100)
    return world.robots['tower'].device('eye')


def decoded(image):
    """Return an image's depths [m]."""
    assert (image.encoding, image.step) == ('32FC1', 4 * WIDTH)
    return np.frombuffer(bytes(image.data), np.float32).reshape(image.height, image.width)


def test_pictures_cross_the_graph(graph, start_node, scene):
    """Publish depth, points and camera_info of one stamp, equal to those of the library."""
    start_node(world=scene)
    depths = graph.listen(Image, '/tower/eye/depth/image_raw')
    infos = graph.listen(CameraInfo, '/tower/eye/depth/camera_info')
    images = graph.listen(Image, '/tower/eye/image_raw')
    clouds = graph.listen(PointCloud2, '/tower/eye/points')
    graph.wait(
        lambda: len(depths) > 3 and len(infos) > 3 and len(clouds) > 3 and len(images) > 3,
        'three of each message',
    )
    camera = expected_camera()
    image = depths[-1]
    assert np.array_equal(decoded(image), camera.depth)
    assert image.header.frame_id == 'tower/eye_optical_frame'
    stamp = nanoseconds(image.header.stamp)
    # at the instants of 20 Hz
    assert stamp % 50_000_000 == 0
    for others in (infos, clouds):
        graph.wait(
            lambda others=others: any(nanoseconds(m.header.stamp) >= stamp for m in others),
            'a message with the stamp of the image',
        )
        assert stamp in [nanoseconds(m.header.stamp) for m in others]
        assert others[-1].header.frame_id == image.header.frame_id
    info = infos[-1]
    assert (info.width, info.height, info.distortion_model) == (WIDTH, HEIGHT, 'plumb_bob')
    assert np.array_equal(np.reshape(info.k, (3, 3)), camera.K)
    assert np.array_equal(np.reshape(info.p, (3, 4)), camera.P)
    cloud = clouds[-1]
    points = np.frombuffer(bytes(cloud.data), np.float32).reshape(HEIGHT, WIDTH, 4)
    assert np.array_equal(points[..., :3], camera.points, equal_nan=True)
    colors = np.frombuffer(bytes(images[-1].data), np.uint8).reshape(HEIGHT, WIDTH, 3)
    assert images[-1].encoding == 'rgb8'
    assert np.array_equal(colors, camera.image)
    assert len(np.unique(colors.reshape(-1, 3), axis=0)) > 2
    packed = points.view(np.uint8)[..., 12:15]
    assert np.array_equal(packed, colors[..., ::-1])
    # as depth_image_proc computes them
    v, u = np.mgrid[:HEIGHT, :WIDTH]
    depth = decoded(image)
    x = (u - info.k[2]) / info.k[0] * depth
    y = (v - info.k[5]) / info.k[4] * depth
    assert points[..., :3] == pytest.approx(np.stack([x, y, depth], -1), abs=1e-6)


def test_compressed_pictures_alone_are_rendered(graph, start_node, scene):
    """Send JPEG and compressed depth to their subscribers, with the stamps of camera_info."""
    start_node(world=scene, **{'qos_overrides./tower/eye/camera_info.publisher.depth': 3})
    images = graph.listen(CompressedImage, '/tower/eye/image_raw/compressed')
    depths = graph.listen(CompressedImage, '/tower/eye/depth/image_raw/compressedDepth')
    infos = graph.listen(CameraInfo, '/tower/eye/camera_info')
    graph.wait(lambda: len(images) > 3 and len(depths) > 3 and len(infos) > 3, 'three of each')
    camera = expected_camera()
    found = cv2.imdecode(np.frombuffer(images[-1].data, np.uint8), cv2.IMREAD_COLOR)
    assert images[-1].format == 'rgb8; jpeg compressed bgr8'
    assert np.abs(found[..., ::-1].astype(int) - camera.image).mean() < 4.0
    codes = cv2.imdecode(np.frombuffer(depths[-1].data, np.uint8)[12:], cv2.IMREAD_UNCHANGED)
    _, scale, constant = struct.unpack_from('<iff', bytes(depths[-1].data))
    is_near = np.isfinite(camera.depth)
    depth = scale / (codes[is_near].astype(float) - constant)
    assert depth == pytest.approx(camera.depth[is_near], abs=1e-3)
    stamps = {nanoseconds(each.header.stamp) for each in infos}
    assert nanoseconds(images[1].header.stamp) in stamps


def test_the_optical_frame_is_on_tf_static(graph, start_node, scene):
    """Place the optical frame on the link: z along the sensor's x, at its position."""
    start_node(world=scene)
    messages = graph.listen(TFMessage, '/tf_static', LATCHED_QOS)

    def found():
        return [
            each
            for message in messages
            for each in message.transforms
            if each.child_frame_id == 'tower/eye_optical_frame'
        ]

    graph.wait(found, 'the frame')
    frame = found()[0]
    assert frame.header.frame_id == 'tower/tower'
    p, q = frame.transform.translation, frame.transform.rotation
    assert (p.x, p.y, p.z) == pytest.approx((0.0, 0.0, -0.1))
    # looking straight down with y unchanged: x of the picture is -y, its z is -z of the link
    x, y, z, w = q.x, q.y, q.z, q.w
    ahead = (2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y))
    assert ahead == pytest.approx((0.0, 0.0, -1.0), abs=1e-12)


def told(graph, diagnostics):
    """Return the cameras' next status, by key."""
    count = len(diagnostics)
    graph.wait(lambda: len(diagnostics) > count + 1, 'diagnostics')
    (status,) = [each for each in diagnostics[-1].status if each.name.endswith(': cameras')]
    return {item.key.split()[1]: item.value for item in status.values} | {
        'message': status.message
    }


def test_a_run_that_waits_drops_no_picture(graph, start_node, scene):
    """Send each due picture within the step, as fast as possible, and count them."""
    start_node(
        world=scene,
        real_time_factor=0.0,
        paused=True,
        step_count=5000,
        rate=1000.0,
        diagnostics_rate=20.0,
    )
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    depths = graph.listen(Image, '/tower/eye/depth/image_raw')

    def step():
        assert graph.call(Trigger, '/sim_bridge/step', Trigger.Request()).success

    def first():
        step()
        return depths

    # the camera process looks for subscribers at intervals
    graph.wait(first, 'a picture')
    graph.drain()
    before, known = len(depths), told(graph, diagnostics)
    step()
    graph.wait(lambda: len(depths) >= before + 100, '5 s of pictures')
    stamps = [nanoseconds(each.header.stamp) for each in depths[before:]]
    assert np.diff(stamps).tolist() == [50_000_000] * 99
    counts = told(graph, diagnostics)
    assert int(counts['wanted']) - int(known['wanted']) == 100
    assert counts['sent'] == counts['wanted'] and counts['dropped'] == '0'


def test_nothing_is_rendered_without_a_subscriber(graph, start_node, scene):
    """Start no camera process while nobody listens; camera_info alone needs no picture."""
    node = start_node(world=scene, diagnostics_rate=20.0)
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    clock = graph.listen(Clock, '/clock')
    graph.wait(
        lambda: graph.node.count_publishers('/tower/eye/depth/image_raw'), 'the announced topic'
    )
    graph.wait_for_next(clock, 300)
    assert told(graph, diagnostics) == {'message': 'no subscriber'}
    assert not camera_processes_of(node.pid)
    infos = graph.listen(CameraInfo, '/tower/eye/depth/camera_info')
    graph.wait(lambda: len(infos) > 2, 'camera_info')
    assert int(told(graph, diagnostics)['sent']) > 0
    graph.wait(
        lambda: graph.node.count_publishers('/tower/eye/depth/image_raw') == 1,
        'the end of the announcement',
    )


def camera_processes_of(parent):
    """Return a node's camera processes, by their numbers."""
    found = []
    for folder in Path('/proc').glob('[0-9]*'):
        with contextlib.suppress(OSError):
            fields = (folder / 'stat').read_text().rpartition(')')[2].split()
            words = (folder / 'cmdline').read_bytes()
            if int(fields[1]) == parent and b'ros.camera.process' in words:
                found.append(int(folder.name))
    return found


def test_the_simulation_survives_its_camera_process(graph, start_node, scene):
    """Name the end of the camera process on /diagnostics, and go on."""
    node = start_node(world=scene, diagnostics_rate=20.0)
    depths = graph.listen(Image, '/tower/eye/depth/image_raw')
    diagnostics = graph.listen(DiagnosticArray, '/diagnostics')
    clock = graph.listen(Clock, '/clock')
    graph.wait(lambda: depths, 'a picture')
    os.kill(*camera_processes_of(node.pid), signal.SIGKILL)
    graph.wait(
        lambda: any(
            each.name.endswith(': cameras') and each.message == 'the camera process has ended'
            for message in diagnostics
            for each in message.status
        ),
        'the end of the camera process',
    )
    graph.wait_for_next(clock, 100)
    code, said = end(node)
    assert code == 0 and 'The simulation goes on' in said


def test_the_camera_process_ends_with_the_node(graph, start_node, scene):
    """Leave no process behind, even when the node is killed."""
    node = start_node(world=scene)
    depths = graph.listen(Image, '/tower/eye/depth/image_raw')
    graph.wait(lambda: depths, 'a picture')
    (number,) = camera_processes_of(node.pid)
    camera = Path(f'/proc/{number}')
    node.kill()
    graph.wait(lambda: not camera.exists(), 'the end of the camera process')
