"""Changes of entities while the node runs: sleep, masses, shapes; and reported parameters."""

from __future__ import annotations

from nav_msgs.msg import Odometry
import pytest
from rcl_interfaces.srv import GetParameters
from ros_graph import end
from sensor_msgs.msg import Imu
from std_srvs.srv import SetBool, Trigger

from sim_bridge.ros.bag.replay import replay

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

SCENE = """
world:
  solver: split
  gravity: [0, 0, -5]
  ground: true
  objects:
    crate: {box: [0.2, 0.2, 0.2], position: [0, 0, 3], mass: 2,
            sensors: {imu: {type: imu, update_rate: 50}}}
    stone: {sphere: 0.1, position: [2, 0, 0.1]}
  joints:
    rail: {type: slider, between: [world, stone], axis: [1, 0, 0], damping: 1}
  robots:
    pendulum: {urdf: pendulum, position: [5, 0, 2]}
"""
FIELD = '{push: {type: uniform, acceleration: [1, 0, 0], links: [stone]}}'


class Node:
    """A running node's services and parameters."""

    def __init__(self, graph):
        self._graph = graph

    def call(self, name: str):
        """Call a service from std_srvs."""
        return self._graph.call(Trigger, f'/sim_bridge/{name}', Trigger.Request())

    def set(self, name: str, value: object):
        """Set a parameter."""
        return self._graph.set_parameter('/sim_bridge', name, value)

    def get(self, *names: str) -> list:
        """Return parameter values."""
        answer = self._graph.call(
            GetParameters, '/sim_bridge/get_parameters', GetParameters.Request(names=names)
        )
        return [
            each.string_value or list(each.double_array_value) or each.bool_value
            for each in answer.values
        ]

    def change(self, text: str):
        """Change entities."""
        assert self.set('changes', text).successful
        return self.call('apply_changes')


def test_entities_are_changed_by_a_service(graph, start_node, tmp_path):
    """Disable, weigh and reshape a crate; refuse invalid changes; replay to the same bits."""
    (tmp_path / 'scene.yaml').write_text(SCENE)
    bag = tmp_path / 'bag'
    process = start_node(
        world=tmp_path / 'scene.yaml',
        record=bag,
        record_hash_period=0.1,
        paused=True,
        rate=200.0,
        odom_rate=50.0,
    )
    poses = graph.listen(Odometry, '/crate/odom')
    readings = graph.listen(Imu, '/crate/imu/imu')
    node = Node(graph)

    def height() -> float:
        return poses[-1].pose.pose.position.z

    # the scene overrides the node's parameters, which report its values
    assert node.get('solver', 'gravity', 'sleep') == ['split', [0.0, 0.0, -5.0], False]
    assert node.change('{crate: {disabled: true}}').success
    resume = SetBool.Request(data=False)
    assert graph.call(SetBool, '/sim_bridge/pause', resume).success
    graph.wait_for_next(poses, 10)
    assert height() == 3.0
    assert node.call('save_snapshot').success
    for name, value in (
        ('solver', 'direct'),
        ('gravity', [0.0, 0.0, -9.0]),
        ('sleep', True),
        ('force_fields', FIELD),
    ):
        assert node.set(name, value).successful
    # a support of 1 m; half of it is disabled
    done = node.change(
        '{crate: {disabled: false, mass: 3, shapes: {stilt: '
        '{box: [1, 1, 1], position: [0, 0, -0.5]}}}}'
    )
    assert done.success, done.message
    graph.wait(
        lambda: (
            readings
            and abs(readings[-1].linear_acceleration.z - 9.0) < 1e-6
            and abs(height() - 1.0) < 1e-6
        ),
        'a crate at rest',
    )
    # earlier snapshots have another crate
    refused = node.call('restore_snapshot')
    assert not refused.success and 'the same geometries' in refused.message
    assert node.set('snapshot', 'second').successful and node.call('save_snapshot').success
    for name, value in (
        ('solver', 'iterative'),
        ('gravity', [0.0, 0.0, 2.0]),
        ('sleep', False),
        ('force_fields', '{}'),
    ):
        assert node.set(name, value).successful
    graph.wait(lambda: height() > 1.5, 'a crate that rises')
    assert node.call('restore_snapshot').success
    assert node.get('solver', 'gravity', 'sleep', 'force_fields') == [
        'direct',
        [0.0, 0.0, -9.0],
        True,
        FIELD,
    ]
    graph.wait(lambda: height() < 1.2, 'the crate of the snapshot')
    # a parameter set again takes effect, even if set to the same value before the restore
    assert node.set('gravity', [0.0, 0.0, 2.0]).successful
    graph.wait(lambda: height() > 1.5, 'a crate that rises again')
    for wrong, why in (
        ('{crat: {mass: 1}}', "Did you mean 'crate'?"),
        ('{crate: {mass: -1, shapes: {top: {sphere: 0.1}}}}', 'a positive number'),
        ('{crate: {shapes: {top: {remove: true}}}}', "unknown shape 'top'"),
    ):
        refused = node.change(wrong)
        assert not refused.success and why in refused.message, refused
    for wrong, why in (
        ('{crate: {mas: 1}}', "did you mean 'mass'?"),
        ('[', 'no YAML'),
        ('{crate: {shapes: {top: {heights: [[0]], row: .inf}}}}', 'whole numbers'),
        ('{crate: {shapes: {m: {mesh: {file: m.stl}}}}}', 'must not be a file'),
    ):
        refused = node.set('changes', wrong)
        assert not refused.successful and why in refused.reason, refused
    done = node.change(
        '{crate: {shapes: {stilt: {remove: true}}, sleep: false}, '
        'pendulum: {joints: {pivot: {damping: 2}}, links: {rod: {mass: 4}}}}'
    )
    assert done.success, done.message
    code, output = end(process)
    assert code == 0, output
    verdict = replay(bag)
    assert verdict.is_same, verdict.difference
