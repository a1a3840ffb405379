"""Cameras in SDF and YAML, their defects, and the numbers in camera_info."""

from __future__ import annotations

import math

import numpy as np
import pytest
from robots import link, robot

from sim_bridge.description import DescriptionError, load_description, sensors_from_mapping
from sim_bridge.description.camera_info import camera_info
from sim_bridge.description.cameras import CameraDescription, CameraNoise, FORMATS, Projection
from sim_bridge.description.lenses import fold_radius
from sim_bridge.engine.data.lens import BROWN
from sim_bridge.engine.image.lens import fill_rays, find_limit, project_points
from sim_bridge.engine.image.make_lens import make_lens
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.sight.renderer import ENCODINGS

PLUMB_BOB = (-0.28, 0.09, 0.0011, -0.0007, -0.01)
OPTICAL = ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0), (0.0, -1.0, 0.0))


def described(content, kind='depth_camera', name='eye', more=''):
    """Return a robot with one SDF sensor on its link: contents in `<camera>` and `<sensor>`."""
    sensor = f'<sensor name="{name}" type="{kind}"><camera>{content}</camera>{more}</sensor>'
    return load_description(
        robot(link('head', 1.0), f'<gazebo reference="head">{sensor}</gazebo>')
    )


def camera(content, **options):
    """Return the only camera in `described`."""
    (sensor,) = described(content, **options).sensors
    return sensor


def read(**keys):
    """Return a camera declared in YAML."""
    (sensor,) = sensors_from_mapping({'eye': {'type': 'camera', 'link': 'head', **keys}})
    return sensor


def lens_of(settings):
    """Return the engine's lens for a camera."""
    model = settings.model
    *intrinsics, skew = settings.pixel_intrinsics
    return make_lens(
        model.model,
        intrinsics,
        settings.coefficients,
        skew=skew,
        function=model.function,
        cutoff=settings.cutoff,
    )


def test_all_of_a_depth_camera_is_read():
    """Read size, angle, range, distortion, pose, rate, topic and frame."""
    sensor = camera(
        '<horizontal_fov>1.2</horizontal_fov>'
        '<image><width>65</width><height>49</height><format>R8G8B8</format></image>'
        '<clip><near>0.2</near><far>8</far></clip>'
        '<distortion><k1>-0.28</k1><k2>0.09</k2><k3>-0.01</k3><p1>0.0011</p1><p2>-0.0007</p2>'
        '<center>0.5 0.5</center></distortion>'
        '<optical_frame_id>eye_optical</optical_frame_id>',
        more='<update_rate>12</update_rate><pose>0.1 0 0.2 0 0 1.5</pose>'
        '<topic>front/depth</topic><gz_frame_id>eye_link</gz_frame_id>',
    )
    settings = sensor.settings
    assert settings.outputs == ('depth', 'points')
    assert (settings.size, settings.horizontal_fov, settings.clip) == ((65, 49), 1.2, (0.2, 8.0))
    assert (settings.lens, settings.distortion) == ('plumb_bob', PLUMB_BOB)
    assert (sensor.update_rate, sensor.topic, settings.layout) == (12.0, 'front/depth', 'gazebo')
    assert sensor.frame_id == 'eye_optical'
    assert sensor.pose.position == pytest.approx((0.1, 0.0, 0.2))


def test_a_sensor_and_yaml_declare_the_same_camera():
    """Read equal settings from SDF's intrinsics and from YAML."""
    sdf = camera(
        '<image><width>64</width><height>48</height></image><clip><near>0.1</near><far>9</far>'
        '</clip><lens><intrinsics><fx>53.1</fx><fy>52.4</fy><cx>31.25</cx><cy>23.5</cy><s>0.5</s>'
        '</intrinsics></lens>'
    )
    yaml = read(
        size=[64, 48],
        clip=[0.1, 9.0],
        intrinsics={'fx': 53.1, 'fy': 52.4, 'cx': 31.25, 'cy': 23.5, 'skew': 0.5},
        outputs=['depth', 'points'],
    )
    assert sdf.settings == yaml.settings
    assert sdf.settings.pixel_intrinsics == (53.1, 52.4, 31.25, 23.5, 0.5)


@pytest.mark.parametrize(
    ('kind', 'outputs'),
    [
        ('camera', ('image',)),
        ('depth', ('depth', 'points')),
        ('rgbd_camera', ('image', 'depth', 'points')),
        ('wide_angle_camera', ('image',)),
    ],
)
def test_types_have_their_pictures(kind, outputs):
    """Deliver the same pictures as Gazebo's types."""
    sensor = camera('', kind=kind)
    assert sensor.settings.outputs == outputs
    assert sensor.settings.lens == ('stereographic' if kind == 'wide_angle_camera' else 'pinhole')


def test_a_multicamera_is_several_cameras():
    """Read each camera with its own pose and size."""
    left = '<pose>0 0.1 0 0 0 0</pose><image><width>64</width><height>48</height></image>'
    sensor = (
        f'<sensor name="eyes" type="multicamera"><camera name="left">{left}</camera>'
        '<camera name="right"/></sensor>'
    )
    first, second = load_description(
        robot(link('head', 1.0), f'<gazebo reference="head">{sensor}</gazebo>')
    ).sensors
    assert (first.name, second.name) == ('eyes_left', 'eyes_right')
    assert first.pose.position == pytest.approx((0.0, 0.1, 0.0))
    assert (first.settings.size, second.settings.size) == ((64, 48), (320, 240))


@pytest.mark.parametrize(
    ('word', 'encoding', 'codes'),
    [
        ('R8G8B8', 'rgb8', []),
        ('B8G8R8', 'bgr8', []),
        ('L16', 'mono16', []),
        ('BAYER_GRBG8', 'bayer_grbg8', []),
        ('R_FLOAT16', 'rgb8', ['image-format']),
    ],
)
def test_formats_are_encodings(word, encoding, codes):
    """Translate SDF's formats, and name those without a ROS encoding."""
    description = described(f'<image><format>{word}</format></image>', kind='camera')
    assert description.sensors[0].settings.format == encoding
    assert [each.code for each in description.report.warnings] == codes


def test_formats_are_those_of_the_renderer():
    """Declare exactly the encodings that can be rendered."""
    assert FORMATS == ENCODINGS


def test_the_plugin_of_classic_gazebo_names_topics_and_baseline():
    """Read gazebo_ros_camera's names, remappings and frame (ROS 2)."""
    plugin = (
        '<plugin name="driver" filename="libgazebo_ros_camera.so">'
        '<ros><namespace>front</namespace>'
        '<remapping>~/points:=cloud</remapping></ros><camera_name>left</camera_name>'
        '<frame_name>left_optical</frame_name><hack_baseline>0.07</hack_baseline></plugin>'
    )
    sensor = camera('<horizontal_fov>1.5</horizontal_fov>', kind='depth', more=plugin)
    settings = sensor.settings
    assert (sensor.topic, settings.layout) == ('/front/left', 'ros')
    assert dict(settings.topics) == {'points': '/front/cloud'}
    assert sensor.frame_id == 'left_optical'
    info = camera_info(settings)
    assert info.P[0, 3] == pytest.approx(-0.07 * info.K[0, 0])


def test_the_plugin_of_classic_gazebo_in_ros_1_names_topics():
    """Read gazebo_ros_openni_kinect's names."""
    plugin = (
        '<plugin name="driver" filename="libgazebo_ros_openni_kinect.so"><cameraName>kinect'
        '</cameraName><depthImageTopicName>depth/raw</depthImageTopicName>'
        '<pointCloudTopicName>/cloud</pointCloudTopicName>'
        '<depthImageCameraInfoTopicName>depth/info</depthImageCameraInfoTopicName>'
        '<frameName>kinect_optical</frameName></plugin>'
    )
    sensor = camera('', kind='depth', more=plugin)
    assert sensor.topic == 'kinect'
    assert dict(sensor.settings.topics) == {
        'depth': 'kinect/depth/raw',
        'depth_info': 'kinect/depth/info',
        'points': '/cloud',
    }


def test_a_camera_looks_at_a_point():
    """Turn x to the point and keep z upwards, also for a point straight below."""
    sensor = read(position=[1.0, 0.0, 2.0], look_at=[1.0, 3.0, 2.0])
    assert sensor.pose.rotation @ (1, 0, 0) == pytest.approx((0, 1, 0))
    assert sensor.pose.rotation @ (0, 0, 1) == pytest.approx((0, 0, 1))
    below = read(look_at=[0.0, 0.0, -1.0]).pose.rotation
    assert below @ (1, 0, 0) == pytest.approx((0, 0, -1))
    assert np.linalg.det(below) == pytest.approx(1.0)


# --- camera_info ---------------------------------------------------------------------------------


@pytest.mark.parametrize('size', [(64, 48), (65, 49), (1, 1)])
def test_the_outer_edges_have_the_field_of_view(size):
    """Put the edges, half a pixel beyond the outermost centres, at half the angle."""
    info = camera_info(CameraDescription(size=size, horizontal_fov=1.2))
    width, height = size
    for u, side in ((-0.5, -1.0), (width - 0.5, 1.0)):
        direction = np.linalg.solve(info.K, (u, 0.5 * (height - 1), 1.0))
        assert direction == pytest.approx((side * math.tan(0.6), 0.0, 1.0))
    assert np.array_equal(info.R, np.eye(3))
    assert np.array_equal(info.P, np.column_stack([info.K, np.zeros(3)]))
    assert (info.distortion_model, info.D.tolist()) == ('plumb_bob', [0.0] * 5)


# the pixel of a point by OpenCV 5: projectPoints, fisheye.projectPoints
POINT = (0.9, 0.65, 1.4)
RATIONAL = (0.42, -0.11, 0.0008, -0.0012, 0.013, 0.61, -0.09, 0.021)
FISHEYE = (0.021, -0.013, 0.004, -0.0007)


@pytest.mark.parametrize(
    ('lens', 'distortion', 'pixel'),
    [
        ('plumb_bob', PLUMB_BOB, (60.486106211174814, 44.38951775947517)),
        ('rational_polynomial', RATIONAL, (62.05478372395821, 45.50953006436015)),
        ('equidistant', FISHEYE, (60.31716376770579, 44.21620836844652)),
    ],
)
def test_published_numbers_give_the_pixel_in_opencv(lens, distortion, pixel):
    """Project a point by K and D alone, as a reader of camera_info does."""
    intrinsics = (53.1, 52.4, 31.25, 23.5, 0.0)
    info = camera_info(
        CameraDescription(size=(64, 48), intrinsics=intrinsics, lens=lens, distortion=distortion)
    )
    assert info.distortion_model == lens
    x, y = POINT[0] / POINT[2], POINT[1] / POINT[2]
    square = x * x + y * y
    if lens == 'equidistant':
        angle = math.atan(math.sqrt(square))
        powers = [angle ** (2 * k) for k in range(1, 5)]
        gain = angle * (1.0 + info.D @ powers) / math.sqrt(square)
        x, y = gain * x, gain * y
    else:
        k1, k2, p1, p2, k3, k4, k5, k6 = (*info.D, *[0.0] * (8 - len(info.D)))
        gain = (1 + k1 * square + k2 * square**2 + k3 * square**3) / (
            1 + k4 * square + k5 * square**2 + k6 * square**3
        )
        x, y = (
            gain * x + 2 * p1 * x * y + p2 * (square + 2 * x * x),
            gain * y + p1 * (square + 2 * y * y) + 2 * p2 * x * y,
        )
    assert (info.K @ (x, y, 1.0))[:2] == pytest.approx(pixel, abs=1e-12)


@pytest.mark.parametrize(
    'lens', ['equidistant', 'stereographic', 'equisolid_angle', 'orthographic']
)
def test_wide_lenses_fill_the_field_of_view(lens):
    """See at the left and right edges half the angle; K has the scale on the axis."""
    settings = CameraDescription(size=(64, 48), horizontal_fov=2.4, lens=lens, cutoff=1.6)
    pixels = np.zeros((2, 2))
    near_axis = 1e-6
    directions = [(math.sin(a), 0.0, math.cos(a)) for a in (1.2, near_axis)]
    project_points(lens_of(settings), np.array(directions), pixels)
    assert pixels[0, 0] == pytest.approx(63.5)
    info = camera_info(settings)
    assert (pixels[1, 0] - 31.5) / near_axis == pytest.approx(info.K[0, 0], rel=1e-6)
    known = lens == 'equidistant'
    assert (info.distortion_model, len(info.D)) == (('equidistant', 4) if known else ('', 0))


def test_a_projection_is_published_only():
    """Show SDF's projection in P; K and the rays keep the intrinsics."""
    sensor = camera(
        '<image><width>64</width><height>48</height></image><lens><projection><p_fx>60</p_fx>'
        '<p_fy>61</p_fy><p_cx>30</p_cx><p_cy>20</p_cy><tx>-4.2</tx><ty>0</ty></projection></lens>'
    )
    info = camera_info(sensor.settings)
    assert info.P.tolist() == [[60, 0, 30, -4.2], [0, 61, 20, 0], [0, 0, 1, 0]]
    assert info.K[0, 0] == pytest.approx(32 / math.tan(0.5235))


# --- defects -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('keys', 'name', 'value'),
    [
        ({'size': [0, 48]}, 'size', '0 48'),
        ({'size': [64.5, 48]}, 'size', '64.5 48'),
        ({'size': [5000, 4000]}, 'size', '5000 4000'),
        ({'horizontal_fov': 0.0}, 'horizontal_fov', '0.0'),
        ({'horizontal_fov': math.pi}, 'horizontal_fov', str(math.pi)),
        ({'horizontal_fov': 6.4, 'lens': 'equidistant'}, 'horizontal_fov', '6.4'),
        ({'horizontal_fov': 3.2, 'lens': 'orthographic'}, 'horizontal_fov', '3.2'),
        ({'clip': [1.0, 1.0]}, 'clip', '1.0 1.0'),
        ({'clip': [0.0, 1.0]}, 'clip', '0.0 1.0'),
        ({'clip': [math.nan, 1.0]}, 'clip', 'nan 1.0'),
        ({'lens': 'plumb_bob', 'distortion': [0.1, 0.2]}, 'distortion', '0.1 0.2'),
        ({'lens': 'equidistant', 'distortion': [0.1] * 5}, 'distortion', '0.1 0.1 0.1 0.1 0.1'),
        ({'distortion': [0.1] * 5}, 'distortion', '0.1 0.1 0.1 0.1 0.1'),
        ({'lens': 'sine', 'distortion': [1.0, 0.0, 0.0]}, 'distortion', '1.0 0.0 0.0'),
        ({'lens': 'lense'}, 'lens', 'lense'),
        ({'intrinsics': {'fx': 0.0, 'fy': 1.0, 'cx': 0, 'cy': 0}}, 'intrinsics', ''),
        ({'intrinsics': {'fx': 5.0}}, 'intrinsics', ''),
        ({'cutoff': 4.0, 'lens': 'equidistant'}, 'cutoff', '4.0'),
        ({'depth_format': 'rgb8'}, 'depth_format', 'rgb8'),
        ({'outputs': ['images']}, 'outputs', 'images'),
        ({'format': 'rgb'}, 'format', 'rgb'),
        ({'samples': 3}, 'samples', '3'),
        ({'outputs': []}, 'outputs', ''),
        ({'layout': 'mine'}, 'layout', 'mine'),
        ({'topics': {'colour': 'x'}}, 'colour', 'x'),
        ({'look_at': [0, 0, 0]}, 'look_at', '[0.0, 0.0, 0.0]'),
        ({'look_at': [0, 0, 1], 'rpy': [0, 0, 0]}, 'look_at', ''),
        ({'noise': {'depth': {'stddev': -1.0}}}, 'stddev', '-1.0'),
        ({'noise': {'sound': {'stddev': 1.0}}}, 'sound', ''),
        ({'noise': {'image': {'per_square': 1.0}}}, 'per_square', '1.0'),
        ({'noise': 3}, 'noise', '3'),
        ({'exposure': {'gain': 0.0}}, 'gain', '0.0'),
        ({'exposure': {'time': -0.1}}, 'exposure_time', '-0.1'),
        ({'exposure': {'time': float('nan')}}, 'time', 'nan'),
        ({'exposure': {'blur_samples': 0}}, 'blur_samples', '0'),
        ({'exposure': {'blur_samples': 2.5}}, 'blur_samples', '2.5'),
        ({'exposure': {'readout': 2.0}}, 'readout', '2.0'),
        ({'exposure': {'rolling': 1.0}}, 'rolling', ''),
    ],
)
def test_wrong_settings_are_named(keys, name, value):
    """Refuse a camera, with the key and the value."""
    with pytest.raises(DescriptionError) as caught:
        read(**keys)
    (finding,) = caught.value.report.errors
    assert finding.attribute == name
    assert value in finding.value


def test_every_defect_is_named_at_its_line():
    """Leave out the camera; the warnings have the tags' lines."""
    description = described(
        '\n<horizontal_fov>-1</horizontal_fov>\n<image><width>9999</width><height>9999</height>'
        '</image>\n<clip><near>2</near><far>1</far></clip>'
    )
    assert not description.sensors
    found = {each.element: each.line for each in description.report.findings}
    first = found['sensor/camera/horizontal_fov']
    assert (found['sensor/camera/image'], found['sensor/camera/clip']) == (first + 1, first + 2)
    assert {each.omits for each in description.report.findings} == {'sensor'}


def test_a_wrong_description_in_python_raises():
    """Name the field and the accepted values."""
    with pytest.raises(InvalidValueError, match=r'clip = .*near depth above 0'):
        CameraDescription(clip=(3.0, 1.0))
    with pytest.raises(InvalidValueError, match='lens'):
        CameraDescription(lens='thin')


def test_tags_without_effect_are_named():
    """Warn about unknown tags, and tags without effect."""
    description = described(
        '<save enabled="true"><path>/tmp</path></save><visibility_mask>3</visibility_mask>'
        '<triggered>false</triggered><noise><bias_mean>0.1</bias_mean></noise><colour/>'
        '<distortion><center>0.4 0.5</center></distortion>'
    )
    found = {(each.element, each.code) for each in description.report.warnings}
    assert found == {
        ('sensor/camera/save', 'not-simulated'),
        ('sensor/camera/visibility_mask', 'not-simulated'),
        ('sensor/camera/distortion/center', 'not-simulated'),
        ('sensor/camera/noise/bias_mean', 'unknown-tag'),
        ('sensor/camera/colour', 'unknown-tag'),
    }


def test_noise_and_exposure_are_read():
    """Read YAML's exposure, and noise of YAML and SDF: of the image, or of a depth camera's."""
    settings = read(
        noise={'image': {'stddev': 0.01}, 'depth': {'mean': 0.1, 'per_square': 0.002}},
        exposure={'gain': 1.5, 'time': 0.01, 'blur_samples': 4, 'readout': 0.02},
    ).settings
    assert (settings.exposure_time, settings.blur_samples, settings.readout) == (0.01, 4, 0.02)
    assert settings.image_noise == CameraNoise(0.0, 0.01)
    assert settings.depth_noise == CameraNoise(0.1, 0.0, 0.002) and settings.gain == 1.5
    text = '<noise><type>gaussian</type><mean>0.1</mean><stddev>0.007</stddev></noise>'
    for kind, own, other in (
        ('camera', 'image_noise', 'depth_noise'),
        ('rgbd_camera', 'image_noise', 'depth_noise'),
        ('depth_camera', 'depth_noise', 'image_noise'),
    ):
        settings = camera(text, kind=kind).settings
        assert getattr(settings, own) == CameraNoise(0.1, 0.007)
        assert getattr(settings, other) == CameraNoise()


@pytest.mark.parametrize(
    'coefficients', [(-0.3, 0.0), PLUMB_BOB, (0.1, -0.2, 0, 0, 0, 0.5, 0.1, 0.0), (0.2, 0.1)]
)
def test_the_fold_is_where_the_engine_finds_it(coefficients):
    """Find the fold's radius, beyond which pixels have no ray."""
    radius = fold_radius(coefficients)
    lens = make_lens(BROWN, (1.0, 1.0, 0.0, 0.0), coefficients)
    assert math.isinf(radius) == (find_limit(lens) > 1e2)
    if math.isfinite(radius):
        for share, is_missing in ((0.99, False), (1.01, True)):
            ray = np.zeros((1, 1, 3))
            radial = make_lens(
                BROWN,
                (1.0, 1.0, -share * radius, 0.0),
                (*coefficients[:2], 0.0, 0.0, *coefficients[4:]),
            )
            fill_rays(radial, ray)
            assert math.isnan(ray[0, 0, 0]) == is_missing


def test_a_fold_in_the_picture_is_a_warning():
    """Name the distance from the optical axis beyond which nothing is seen."""
    description = described(
        '<horizontal_fov>1.5</horizontal_fov><distortion><k1>-0.5</k1></distortion>'
    )
    (warning,) = description.report.warnings
    assert warning.code == 'lens-fold'
    # s - 0.5 s³ turns at s = sqrt(2 / 3)
    s = math.sqrt(2 / 3)
    radius = (s - 0.5 * s**3) * 160 / math.tan(0.75)
    assert f'{radius:.0f} px' in warning.message
    assert description.sensors


def test_a_projection_has_six_numbers():
    """Keep P's columns apart from the intrinsics."""
    assert Projection(1, 2, 3, 4) == (1, 2, 3, 4, 0.0, 0.0)


def test_negligible_coefficients_have_no_fold():
    """Find no fold whose root would be beyond any lens; refuse enormous coefficients."""
    assert fold_radius((0.1, 0.0, 0.0, 0.0, 1e-320)) == np.inf
    with pytest.raises(InvalidValueError, match=r'coefficients up to 1e\+06'):
        CameraDescription(lens='plumb_bob', distortion=(1e308,) * 5)
