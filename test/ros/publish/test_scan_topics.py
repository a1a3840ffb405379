"""Range sensor and lidar topics: their recording and its replay."""

from __future__ import annotations

import json
import math

from bags import messages_on, read_bag, start_recording
from geometry_msgs.msg import PointStamped, PoseStamped, Vector3Stamped, WrenchStamped
import numpy as np
import pytest
from sensor_msgs.msg import FluidPressure, LaserScan, MagneticField, PointCloud2, Range
from std_msgs.msg import Bool

from sim_bridge.ros.bag.replay import replay

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

NOISE = {'range': {'stddev': 0.01}}
SENSORS = {
    'front scan': {
        'type': 'lidar',
        'link': 'lower_rod',
        'update_rate': 100.0,
        'noise': NOISE,
        'truth': True,
        'horizontal': {'samples': 31, 'min_angle': -1.5, 'max_angle': 1.5},
        'range': {'min': 0.05, 'max': 8.0},
    },
    'sonar': {
        'type': 'range',
        'link': 'lower_rod',
        'update_rate': 50.0,
        'topic': '/sonar',
        'rpy': [0, 0.5 * math.pi, 0],
        'horizontal': {'samples': 3, 'min_angle': -0.1, 'max_angle': 0.1},
        'range': {'min': 0.02, 'max': 4.0},
        'radiation': 'ultrasound',
        'frame_id': 'nose',
    },
    'bump': {'type': 'contact', 'link': 'lower_rod'},
    'compass': {
        'type': 'magnetometer',
        'link': 'lower_rod',
        'update_rate': 50.0,
        'noise': {'magnetic_field': {'stddev': 1e-7}},
        'magnetic_field': [1e-5, 2e-5, -4e-5],
    },
    'height': {
        'type': 'altimeter',
        'link': 'lower_rod',
        'noise': {'vertical_position': {'stddev': 0.1}},
        'truth': True,
    },
    'air': {'type': 'air_pressure', 'link': 'lower_rod', 'noise': {'pressure': {'stddev': 3.0}}},
    'place': {'type': 'pose', 'link': 'lower_rod', 'noise': {'position': {'stddev': 0.01}}},
    'cloud': {
        'type': 'lidar',
        'link': 'lower_rod',
        'update_rate': 20.0,
        'horizontal': {'samples': 16, 'min_angle': -math.pi, 'max_angle': math.pi},
        'vertical': {'samples': 4, 'min_angle': -0.6, 'max_angle': 0.6},
    },
}
SCENE = {
    'world': {
        'objects': {
            'wall': {'box': [0.2, 20, 20], 'position': [1.5, 0, 0], 'motion': 'static'},
            'floor': {'plane': {}, 'position': [0, 0, -3], 'motion': 'static'},
        }
    }
}


def test_scans_are_published_recorded_and_replayed(tmp_path):
    """Give LaserScan, Range and PointCloud2 with the device's values, rates, frames and limits."""
    scene = tmp_path / 'scene.yaml'
    scene.write_text(json.dumps(SCENE))
    run = start_recording(
        tmp_path / 'bag', record_hash_period=0.05, sensors=SENSORS, world=str(scene), seed=2
    )
    simulator = run.simulator
    robot = simulator.interfaces[0].robot
    samples = []
    for step in range(200):
        if step == 101:
            simulator.reset(clock=False)
        simulator.tick()
        if simulator.world.step_count % 10 == 0:
            samples.append(robot.device('front scan').ranges.copy())
    run.recording.close()
    bag = read_bag(tmp_path / 'bag')
    verdict = replay(tmp_path / 'bag')
    assert verdict.is_same, verdict.difference
    assert verdict.state_hash == simulator.world.state_hash()

    scans = messages_on(bag, '/front_scan/scan', LaserScan)
    truths = messages_on(bag, '/front_scan/scan/truth', LaserScan)
    assert len(scans) == len(truths) == 19  # the reset restarts a period
    first = scans[0]
    assert first.header.frame_id == 'lower_rod'
    assert (first.range_min, first.range_max) == pytest.approx((0.05, 8.0))
    assert (first.angle_min, first.angle_max) == pytest.approx((-1.5, 1.5))
    assert first.angle_increment == pytest.approx(0.1)
    assert first.scan_time == pytest.approx(0.01)
    assert first.header.stamp.nanosec == 10_000_000
    for scan, sample, truth in zip(scans, samples, truths, strict=True):
        np.testing.assert_array_equal(np.array(scan.ranges), sample.astype(np.float32))
        seen = np.isfinite(sample)
        errors = sample[seen] - np.array(truth.ranges)[seen]
        assert seen.sum() > 0 and 0.0 < np.abs(errors).max() < 0.06

    distances = messages_on(bag, '/sonar', Range)
    assert len(distances) == 9
    assert distances[0].radiation_type == Range.ULTRASOUND
    assert distances[0].header.frame_id == 'nose'
    assert distances[0].field_of_view == pytest.approx(0.2)
    assert (distances[0].min_range, distances[0].max_range) == pytest.approx((0.02, 4.0))
    assert distances[-1].range == np.float32(robot.device('sonar').range) < 4.0

    assert not any(each.data for each in messages_on(bag, '/bump/touching', Bool))
    assert len(messages_on(bag, '/bump/wrench', WrenchStamped)) > 190

    fields = messages_on(bag, '/compass/magnetic_field', MagneticField)
    compass = robot.device('compass')
    field = fields[-1].magnetic_field
    np.testing.assert_array_equal((field.x, field.y, field.z), compass.B)
    np.testing.assert_allclose(fields[-1].magnetic_field_covariance[::4], 1e-14)
    assert 0 < np.abs(compass.B - compass.truth.B).max() < 1e-6

    heights = messages_on(bag, '/height/altitude', PointStamped)
    rises = messages_on(bag, '/height/vertical_velocity', Vector3Stamped)
    pressures = messages_on(bag, '/air/air_pressure', FluidPressure)
    poses = messages_on(bag, '/place/pose', PoseStamped)
    height, air, place = (robot.device(name) for name in ('height', 'air', 'place'))
    assert heights[-1].header.frame_id == poses[-1].header.frame_id == 'world'
    assert heights[-1].point.z == height.height != height.truth['vertical_position'][0]
    assert (
        messages_on(bag, '/height/altitude/truth', PointStamped)[-1].point.z
        == (height.truth['vertical_position'][0])
    )
    assert rises[-1].vector.z == height.rate and len(rises) == len(poses) > 190
    assert (pressures[-1].fluid_pressure, pressures[-1].variance) == (air.pressure, 9.0)
    assert pressures[-1].header.frame_id == 'lower_rod'
    p, q = poses[-1].pose.position, poses[-1].pose.orientation
    np.testing.assert_array_equal((p.x, p.y, p.z), place.position)
    np.testing.assert_array_equal((q.x, q.y, q.z, q.w), place.orientation)

    clouds = messages_on(bag, '/cloud/points', PointCloud2)
    assert (clouds[-1].height, clouds[-1].width) == (4, 16)
    lidar = robot.device('cloud')
    points = np.frombuffer(bytes(clouds[-1].data), np.float32).reshape(-1, 3)
    seen = np.isfinite(lidar.ranges)
    np.testing.assert_array_equal(np.isfinite(points).all(axis=1), seen)
    assert 0 < seen.sum() < 64
    np.testing.assert_allclose(
        points[seen], (lidar.ranges[:, None] * lidar.directions)[seen], rtol=1e-6, atol=1e-6
    )


MASS = (
    '<inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
    '</inertial>'
)
TWO_LIDARS = f"""<robot name="r">
<link name="world"/><link name="base">{MASS}</link>
<joint name="j" type="fixed"><origin xyz="0 0 1"/><parent link="world"/><child link="base"/>
</joint>
<gazebo reference="base">{{}}</gazebo></robot>"""
GZ_LIDAR = """<sensor name="{0}" type="{1}"><update_rate>20</update_rate><topic>{0}/data</topic>
<{2}><scan><horizontal><samples>9</samples><min_angle>-1</min_angle><max_angle>1</max_angle>
</horizontal><vertical><samples>{3}</samples><min_angle>-0.9</min_angle><max_angle>0</max_angle>
</vertical></scan><range><min>0.1</min><max>9</max></range></{2}></sensor>"""


def test_lidars_of_gz_have_a_scan_and_a_cloud(tmp_path):
    """Publish the middle row on the file's topic, all rows below it; of gazebo_ros one of both."""
    path = tmp_path / 'r.urdf'
    sensors = (
        GZ_LIDAR.format('rows', 'gpu_lidar', 'lidar', 5),
        GZ_LIDAR.format('flat', 'lidar', 'lidar', 1),
        GZ_LIDAR.format('old', 'ray', 'ray', 5),
    )
    path.write_text(TWO_LIDARS.format(''.join(sensors)))
    run = start_recording(tmp_path / 'bag', robot=str(path))
    run.simulator.world.add_ground()
    for _ in range(200):
        run.simulator.tick()
    run.recording.close()
    bag = read_bag(tmp_path / 'bag')
    robot = run.simulator.interfaces[0].robot
    assert messages_on(bag, '/old/data', PointCloud2)[-1].height == 5
    assert messages_on(bag, '/flat/data', LaserScan)
    assert messages_on(bag, '/flat/data/points', PointCloud2)[-1].height == 1
    cloud = messages_on(bag, '/rows/data/points', PointCloud2)[-1]
    assert (cloud.height, cloud.width) == (5, 9)
    ranges = robot.device('rows').ranges.reshape(5, 9)
    scan = messages_on(bag, '/rows/data', LaserScan)[-1]
    np.testing.assert_array_equal(scan.ranges, ranges[2].astype(np.float32))
    assert np.isfinite(ranges[2]).all() and not (ranges[1] == ranges[2]).any()
