"""Labels, instances and boxes of a running node's cameras, by topics in another process."""

from __future__ import annotations

import numpy as np
import pytest
from ros_graph import nanoseconds
from sensor_msgs.msg import CameraInfo, Image
from vision_msgs.msg import Detection2DArray, Detection3DArray, LabelInfo
import yaml

import sim_bridge as sb
from sim_bridge.ros.wire.qos import LATCHED_QOS

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

WIDTH, HEIGHT = 64, 48
KEYS = f'type: camera, size: [{WIDTH}, {HEIGHT}], update_rate: 20, look_at: [1, 0, 0.5]'
SCENE = f"""
world:
  ground: {{}}
  objects:
    crate: {{box: [0.4, 0.4, 0.4], position: [2.0, 0.3, 0.5], motion: static, label: 3}}
    post: {{cylinder: {{radius: 0.1, length: 1.0}}, position: [1.6, 0.2, 0.5], motion: static,
           label: 5}}
    rock: {{sphere: 0.2, position: [2.0, -0.5, 0.5], motion: static}}
  sensors:
    eye: {{{KEYS}, position: [0, 0, 0.5], outputs: [labels, instances, boxes]}}
    seen: {{{KEYS}, position: [0, 0, 0.5], outputs: [labels, instances], layout: gazebo,
           topic: seg}}
    found: {{{KEYS}, position: [0, 0, 0.5], outputs: [image, boxes], layout: gazebo_boxes,
            topic: boxes, box_type: full_2d}}
"""


@pytest.fixture
def scene(tmp_path):
    """Return a scene file: three cameras before labelled objects."""
    file = tmp_path / 'scene.yaml'
    file.write_text(SCENE)
    return str(file)


def library_camera(name):
    """Return a camera of the same scene in the library, after its first sample, and the names."""
    world = sb.World()
    world.load_scene(yaml.safe_load(SCENE))
    world.step(100)
    return world.robots[name].device(name), list(world.robots)


def pixels_of(message, dtype, *channels):
    """Return an image's pixels."""
    return np.frombuffer(bytes(message.data), dtype).reshape(HEIGHT, WIDTH, *channels)


def test_labels_instances_and_boxes_are_those_of_the_library(graph, start_node, scene):
    """Publish mono8 labels, 16UC1 instances and boxes of one stamp, with camera_info and names."""
    start_node(world=scene)
    labels, instances = (graph.listen(Image, f'/eye/{each}') for each in ('labels', 'instances'))
    flat = graph.listen(Detection2DArray, '/eye/detections')
    solid = graph.listen(Detection3DArray, '/eye/detections_3d')
    infos = graph.listen(CameraInfo, '/eye/camera_info')
    names = graph.listen(LabelInfo, '/eye/labels/label_info', LATCHED_QOS)
    objects = graph.listen(LabelInfo, '/eye/instances/label_info', LATCHED_QOS)
    every = (labels, instances, flat, solid, infos)
    graph.wait(lambda: all(len(each) > 3 for each in every) and names and objects, 'all topics')
    camera, robots = library_camera('eye')
    assert (labels[-1].encoding, instances[-1].encoding) == ('mono8', '16UC1')
    assert np.array_equal(pixels_of(labels[-1], np.uint8), camera.labels)
    assert np.array_equal(pixels_of(instances[-1], np.uint16), camera.instances)
    stamps = [{nanoseconds(each.header.stamp) for each in messages} for messages in every]
    assert set.intersection(*stamps)
    boxes = camera.boxes
    assert [each.name for each in boxes] == ['crate', 'post']
    for message, box in zip(flat[-1].detections, boxes, strict=True):
        left, top, right, bottom = box.visible
        assert (message.id, message.results[0].hypothesis.class_id) == (box.name, str(box.label))
        assert message.results[0].hypothesis.score == 1.0
        center = message.bbox.center.position
        assert (center.x, center.y) == (0.5 * (left + right), 0.5 * (top + bottom))
        assert (message.bbox.size_x, message.bbox.size_y) == (right - left, bottom - top)
    for message, box in zip(solid[-1].detections, boxes, strict=True):
        p, size = message.bbox.center.position, message.bbox.size
        assert [p.x, p.y, p.z] == pytest.approx(box.position, abs=1e-12)
        assert [size.x, size.y, size.z] == pytest.approx(box.size, abs=1e-12)
    assert {each.class_id: each.class_name for each in names[0].class_map} == {
        3: 'crate',
        5: 'post',
    }
    assert [each.class_name for each in objects[0].class_map] == robots


def test_gazebos_maps_have_instances_and_colours(graph, start_node, scene):
    """Encode instance and label in an rgb8 map, one colour for each object in the other."""
    start_node(world=scene)
    maps, colored = (graph.listen(Image, f'/seg/{each}_map') for each in ('labels', 'colored'))
    infos = graph.listen(CameraInfo, '/seg/camera_info')
    graph.wait(lambda: len(maps) > 2 and len(colored) > 2 and len(infos) > 2, 'the maps')
    camera, robots = library_camera('seen')
    assert {maps[-1].encoding, colored[-1].encoding} == {'rgb8'}
    found = pixels_of(maps[-1], np.uint8, 3).astype(int)
    assert np.array_equal(found[..., 2], camera.labels)
    of_labelled = np.where(camera.labels > 0, camera.instances, 0)
    assert np.array_equal(found[..., 0] + 256 * found[..., 1], of_labelled)
    colors = pixels_of(colored[-1], np.uint8, 3)
    shown = {}
    for name in ('crate', 'post'):
        (shown[name],) = np.unique(colors[camera.instances == robots.index(name) + 1], axis=0)
    assert not np.array_equal(shown['crate'], shown['post'])
    assert not colors[camera.labels == 0].any()


def test_gazebos_box_camera_has_boxes_and_an_image(graph, start_node, scene):
    """Publish whole boxes on the sensor's topic, and the image beside it."""
    start_node(world=scene)
    boxes = graph.listen(Detection2DArray, '/boxes')
    images = graph.listen(Image, '/boxes_image')
    graph.wait(lambda: len(boxes) > 2 and len(images) > 2, 'boxes and images')
    camera, _ = library_camera('found')
    expected = {each.name: each.full for each in camera.boxes}
    assert expected['crate'] != {each.name: each.visible for each in camera.boxes}['crate']
    for message in boxes[-1].detections:
        left, _, right, _ = expected[message.id]
        assert message.bbox.size_x == right - left
    assert sorted(expected) == ['crate', 'post']
