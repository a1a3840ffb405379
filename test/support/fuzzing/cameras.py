"""Cameras in SDF and YAML, and visual meshes with textures: pictures of what was accepted."""

from __future__ import annotations

import io
from pathlib import Path
from random import Random
import warnings

import numpy as np
from PIL import Image
import yaml

from fuzzing.damage import damaged_bytes, damaged_data, damaged_lines, damaged_xml, HUGE_INTEGER
from fuzzing.stepping import step_on
from sim_bridge import Box, CameraDescription, CameraSensor, Surroundings, World
from sim_bridge.description.report import DescriptionError, Findings
from sim_bridge.description.yaml.file import read_mapping
from sim_bridge.description.yaml.sensors import sensors_from_mapping

# larger pictures take seconds
_MOST_PIXELS = 6000
_PARTS = b'\n=== next file ===\n'
_INERTIAL = (
    '<inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
)
_KINDS = (
    *('camera', 'depth_camera', 'depth', 'rgbd_camera', 'rgbd', 'wide_angle_camera'),
    *('multicamera', 'segmentation_camera', 'boundingbox_camera'),
)
_TAGS = (
    '<segmentation_type>panoptic</segmentation_type>',
    '<box_type>3d</box_type>',
    '<noise><type>gaussian</type><mean>0.01</mean><stddev>0.02</stddev></noise>',
    '<distortion><k1>-0.2</k1><k2>0.05</k2><p1>0.001</p1><p2>0.001</p2><k3>0.01</k3></distortion>',
    '<lens><type>equidistant</type><scale_to_hfov>true</scale_to_hfov>'
    '<cutoff_angle>1.4</cutoff_angle></lens>',
    '<lens><type>custom</type><custom_function><c1>1.05</c1><c2>4</c2><f>1</f><fun>tan</fun>'
    '</custom_function></lens>',
    '<lens><intrinsics><fx>30</fx><fy>31</fy><cx>20</cx><cy>15</cy><s>0.1</s></intrinsics>'
    '<projection><p_fx>30</p_fx><p_fy>31</p_fy><p_cx>20</p_cx><p_cy>15</p_cy><tx>1</tx></projection>'
    '</lens>',
    '<optical_frame_id>lens</optical_frame_id>',
    '<camera_info_topic>info</camera_info_topic>',
    '<triggered>true</triggered><trigger_topic>now</trigger_topic>',
    '<pose>0.1 0 0 0 0.2 0</pose>',
    '<depth_camera><clip><near>0.1</near><far>5</far></clip></depth_camera>',
    '<visibility_mask>1</visibility_mask>',
    '<save enabled="true"><path>/tmp</path></save>',
)
_LABEL = (
    '<gazebo reference="a"><visual><plugin filename="gz-sim-label-system" '
    'name="gz::sim::systems::Label"><label>7</label></plugin></visual></gazebo>'
)
_CAMERAS = {
    'eye': {
        'type': 'camera',
        'link': 'a',
        'position': [0.0, 0.0, 1.0],
        'look_at': [1.0, 0.0, 0.5],
        'update_rate': 200.0,
        'outputs': ['image', 'depth', 'points', 'labels', 'instances', 'boxes'],
        'size': [40, 30],
        'intrinsics': {'fx': 30.0, 'fy': 30.0, 'cx': 19.5, 'cy': 14.5, 'skew': 0.1},
        'lens': 'plumb_bob',
        'distortion': [0.1, -0.2, 0.0, 0.0, 0.0],
        'clip': [0.01, 100.0],
        'format': 'bayer_rggb8',
        'samples': 9,
        'depth_format': '16UC1',
        'exposure': {'gain': 1.5, 'time': 0.01, 'blur_samples': 2, 'readout': 0.01},
        'noise': {
            'image': {'stddev': 0.007},
            'depth': {'mean': 0.1, 'stddev': 0.002, 'per_square': 0.001},
        },
        'latency': 0.01,
        'layout': 'realsense',
        'box_type': 'full_2d',
        'topics': {'depth': 'd', 'image_info': '/i'},
    },
    'fisheye': {
        'type': 'camera',
        'link': 'a',
        'rpy': [0.0, 0.5, 0.0],
        'size': [32, 32],
        'horizontal_fov': 3.3,
        'lens': 'equidistant',
        'cutoff': 1.6,
        'update_rate': 200.0,
    },
}
_OBJ = b"""mtllib shape.mtl
v 0 0 0
v 1 0 0
v 1 1 0
v 0 1 0
v 0.5 0.5 1
vt 0 0
vt 1 0
vt 1 1
vt 0 1
vn 0 0 1
usemtl painted
f 1/1/1 2/2/1 3/3/1
f 1/1 3/3 4/4
usemtl plain
f 1 2 5
f 2 3 5
"""
_MTL = b"""newmtl painted
Kd 0.8 0.7 0.6
d 0.5
map_Kd shape.png
newmtl plain
Kd 1 0 0
Ke 0.1 0 0
"""
_WITH_VISUAL = (
    f'<robot name="r"><link name="a">{_INERTIAL}<visual><geometry>'
    '<mesh filename="shape.obj" scale="0.5 0.5 0.5"/></geometry></visual></link></robot>'
)


def make_sdf(rng: Random) -> bytes:
    """Return a robot with a camera with some tags, damaged."""
    tags = ''.join(rng.sample(_TAGS, rng.randrange(5)))
    topic = rng.choice(('', '<topic>eye</topic>'))
    text = (
        f'<robot name="r"><link name="a">{_INERTIAL}</link>{_LABEL}<gazebo reference="a">'
        f'<sensor name="s" type="{rng.choice(_KINDS)}">{topic}<update_rate>200</update_rate>'
        '<camera name="c"><horizontal_fov>1.2</horizontal_fov><image><width>40</width>'
        '<height>30</height><format>R8G8B8</format></image><clip><near>0.05</near><far>50</far>'
        f'</clip>{tags}</camera></sensor></gazebo></robot>'
    )
    return damaged_xml(rng, text.encode())


def run_sdf(case: bytes, folder: Path) -> None:
    """Load the robot, and see a scene."""
    path = folder / 'robot.urdf'
    path.write_bytes(case)
    world = _scene()
    world.load_urdf(path)
    _look(world)


def make_yaml(rng: Random) -> bytes:
    """Return cameras in YAML, damaged."""
    # most damage refuses the file; whole cameras with damaged bytes are often accepted
    cameras = damaged_data(rng, _CAMERAS) if rng.randrange(4) else _CAMERAS
    text = yaml.dump(cameras, allow_unicode=True).encode()
    text = text.replace(HUGE_INTEGER.encode(), b'9' * 5000)
    return text if rng.randrange(4) else damaged_bytes(rng, text)


def run_yaml(case: bytes, folder: Path) -> None:
    """Read the cameras, and see a scene."""
    path = folder / 'sensors.yaml'
    path.write_bytes(case)
    findings = Findings()
    content = read_mapping(path, findings)
    if content is None:
        raise DescriptionError(findings.report(str(path)))
    world = _scene()
    world.load_urdf(
        f'<robot name="r"><link name="a">{_INERTIAL}</link></robot>',
        sensors=sensors_from_mapping(content, str(path)),
    )
    _look(world)


def make_textured(rng: Random) -> bytes:
    """Return an OBJ file, its MTL file and a PNG file, damaged."""
    picture = io.BytesIO()
    pixels = np.frombuffer(rng.randbytes(16 * 16 * 4), np.uint8).reshape(16, 16, 4)
    Image.fromarray(pixels).save(picture, 'PNG')
    parts = [_OBJ, _MTL, picture.getvalue()]
    number = rng.randrange(3)
    damage = damaged_lines if number < 2 and rng.randrange(2) else damaged_bytes
    parts[number] = damage(rng, parts[number])
    return _PARTS.join(parts)


def run_textured(case: bytes, folder: Path) -> None:
    """Show the mesh in a picture."""
    for part, suffix in zip(case.split(_PARTS), ('obj', 'mtl', 'png'), strict=False):
        (folder / f'shape.{suffix}').write_bytes(part)
    path = folder / 'robot.urdf'
    path.write_text(_WITH_VISUAL)
    world = _scene()
    world.load_urdf(path, position=(1.0, 0.0, 0.3), base='fixed')
    with warnings.catch_warnings():
        # names a missing texture, and places that are not finite
        warnings.simplefilter('ignore', UserWarning)
        image = world.render((0, 0, 1), (1, 0, 0.3), CameraDescription(size=(40, 30)))
    assert image.shape == (30, 40, 3)


def _scene() -> World:
    world = World()
    world.add_ground(height=-1.0, label=1)
    world.add_body(Box((0.5, 0.5, 0.5)), 'crate', motion='static', position=(2, 0, 0), label=3)
    world.surroundings = Surroundings()
    return world


def _look(world: World) -> None:
    """Step, and read all pictures of small cameras: finite points, depths in range, boxes."""
    step_on(world)
    world.step(20)
    for camera in world.robots['r'].devices(CameraSensor):
        settings = camera.settings
        if settings.width * settings.height > _MOST_PIXELS:
            continue
        for output in settings.outputs:
            if output != 'boxes':
                assert getattr(camera, output).shape[:2] == settings.size[::-1]
        for box in camera.boxes if 'boxes' in settings.outputs else ():
            left, top, right, bottom = box.visible
            assert -0.5 <= left < right <= settings.width - 0.5
            assert -0.5 <= top < bottom <= settings.height - 0.5
        if 'points' in settings.outputs and settings.depth_format == '32FC1':
            assert np.array_equal(np.isfinite(camera.points[..., 2]), np.isfinite(camera.depth))
