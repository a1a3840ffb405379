"""Floating bases: odom, and frames in one tree with the link frames."""

from __future__ import annotations

from types import SimpleNamespace

from following import simulator
from nav_msgs.msg import Odometry
import numpy as np
import pytest
from ros_graph import nanoseconds
from sensor_msgs.msg import MultiDOFJointState

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternions_from_matrices
from sim_bridge.ros.publish import frames

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")


def numbers(message, names='x y z'):
    """Return message fields as an array."""
    return np.array([getattr(message, name) for name in names.split()])


def test_odom_has_the_twist_in_the_child_frame(graph, start_node):
    """Publish the pose from object_states, and its velocities turned into the base axes."""
    start_node(
        robot='floating_box',
        collisions='none',
        position=[0.0, 0.0, 50.0],
        orientation=[0.5, -0.5, 0.5, 0.5],
        ground=False,
        hold_until_first_command=False,
        frame_prefix='sim/',
        object_state_rate=0.0,
    )
    odometry = graph.listen(Odometry, '/odom')
    objects = graph.listen(MultiDOFJointState, '/object_states')
    states, both = {}, []

    def match() -> None:
        states.update((nanoseconds(state.header.stamp), state) for state in objects)
        both[:] = [odom for odom in odometry if nanoseconds(odom.header.stamp) in states]

    graph.wait(lambda: len(both) > 50, 'messages of the same instants', also=match)
    for odom in both:
        assert (odom.header.frame_id, odom.child_frame_id) == ('sim/odom', 'sim/base_link')
        state = states[nanoseconds(odom.header.stamp)]
        pose, twist = state.transforms[0], state.twist[0]
        np.testing.assert_array_equal(numbers(odom.pose.pose.position), numbers(pose.translation))
        q = numbers(pose.rotation, 'x y z w')
        np.testing.assert_array_equal(numbers(odom.pose.pose.orientation, 'x y z w'), q)
        R = matrix_from_quaternion(q)
        for name in ('linear', 'angular'):
            own, other = (numbers(getattr(each, name)) for each in (odom.twist.twist, twist))
            np.testing.assert_allclose(R @ own, other, atol=1e-12)
    # it falls along its own x axis: x on the box points up
    assert both[-1].twist.twist.linear.z == pytest.approx(0.0, abs=1e-9)
    assert both[-1].twist.twist.linear.x < -0.1


def test_robots_that_are_fixed_have_no_odom():
    """Offer the topic only for robots with a free base, under their namespaces."""
    assert '/odom' not in simulator(robot='arm').interfaces[0].topics
    assert 'odom' in simulator(robot='quadruped').interfaces[0].topics


def test_quaternions_of_many_rotations_are_those_of_each():
    """Agree with the single rotations, half turns included."""
    rng = np.random.default_rng(0)
    q = np.concatenate([rng.normal(size=(50, 4)), np.eye(4), -np.eye(4)])
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    R = np.array([matrix_from_quaternion(each) for each in q])
    found = quaternions_from_matrices(R)
    assert (found[:, 3] >= 0.0).all()
    np.testing.assert_allclose(np.abs((found * q).sum(axis=1)), 1.0, atol=1e-14)


# --- frames --------------------------------------------------------------------------------------


class FramesHeard:
    """The frames known to a listener on /tf and /tf_static: parent and pose by frame."""

    def __init__(self):
        self.parents: dict[str, set[str]] = {}
        self.poses: dict[str, np.ndarray] = {}
        self.stamps: dict[str, list[int]] = {}

    def open(self, topic, message_type, qos):
        take = self.take if topic.startswith('/tf') else lambda message: None
        return SimpleNamespace(
            topic=topic, is_wanted=lambda: topic.startswith('/tf'), publish=take
        )

    def begin(self, time_ns):
        pass

    def take(self, message):
        for each in message.transforms:
            pose = np.eye(4)
            pose[:3, 3] = numbers(each.transform.translation)
            pose[:3, :3] = matrix_from_quaternion(numbers(each.transform.rotation, 'x y z w'))
            self.tell(each.header.frame_id, each.child_frame_id, pose)
            stamps = self.stamps.setdefault(each.child_frame_id, [])
            stamps.append(nanoseconds(each.header.stamp))

    def tell(self, parent, name, pose):
        self.parents.setdefault(name, set()).add(parent)
        self.poses[name] = pose

    def in_world(self, name):
        """Return a frame's pose in the world, by its only path."""
        pose = np.eye(4)
        while name != 'world':
            pose = self.poses[name] @ pose
            (name,) = self.parents[name]
        return pose


@pytest.fixture
def hear():
    """Return a function making a simulator with frames, and its listener."""

    def make(**values):
        heard = FramesHeard()
        return simulator(heard, publish_tf=True, tf_rate=0.0, **values), heard

    return make


SCENE = """
world:
  objects:
    table: {motion: static, box: [1, 1, 1], position: [3, 0, 0.5]}
    ball: {sphere: 0.05, mass: 0.1, position: [5.0, 0.0, 0.4]}
  robots:
    left: {urdf: quadruped, position: [0, 1, 0.35], joint_positions: {lf_hfe: 0.3}}
    right: {urdf: arm, position: [0, -1, 0.2], namespace: r, joint_positions: {joint_2: 0.7}}
"""


def test_all_frames_make_one_tree_that_says_where_links_are(hear, tmp_path):
    """Give every link one path to the world, with its true pose."""
    (tmp_path / 'scene.yaml').write_text(SCENE)
    made, heard = hear(
        world=str(tmp_path / 'scene.yaml'), publish_link_tf=True, frame_prefix='lab/'
    )
    for _ in range(20):
        made.tick()
    assert {len(parents) for parents in heard.parents.values()} == {1}
    assert heard.parents['lab/left/odom'] == {'world'}
    assert heard.parents['lab/left/base_link'] == {'lab/left/odom'}
    for name, prefix in (('left', 'lab/left/'), ('right', 'lab/r/')):
        for link in made.world.robots[name].links:
            pose = heard.in_world(prefix + link.name)
            np.testing.assert_allclose(pose[:3, 3], link.p, atol=1e-12)
            np.testing.assert_allclose(pose[:3, :3], link.R, atol=1e-12)
    for name in ('table', 'ball'):
        np.testing.assert_allclose(
            heard.in_world(name)[:3, 3], made.world.robots[name].root_link.p, atol=1e-12
        )


def test_robot_state_publisher_completes_the_tree(hear):
    """Give no frame a second parent if robot_state_publisher publishes the links."""
    made, heard = hear(robot='quadruped')
    for _ in range(20):
        made.tick()
    robot = made.world.robots['quadruped']
    # frames from robot_state_publisher, by description and joint_states
    other = sb.World().add_robot(robot.description, base='fixed')
    other.q = robot.q
    for joint in robot.description.joints.values():
        parent, child = other.link(joint.parent), other.link(joint.child)
        pose = np.eye(4)
        pose[:3, :3] = parent.R.T @ child.R
        pose[:3, 3] = parent.R.T @ (child.p - parent.p)
        heard.tell(joint.parent, joint.child, pose)
    assert {len(parents) for parents in heard.parents.values()} == {1}
    for link in robot.links:
        np.testing.assert_allclose(heard.in_world(link.name)[:3, 3], link.p, atol=1e-9)


def test_time_passes_on_tf_through_resets(hear):
    """Never repeat an instant for a frame, nor go back, unless /clock goes back."""
    made, heard = hear(robot='quadruped')
    made.tick()
    snapshot = made.save()
    for jump in (
        lambda: made.reset(clock=False),
        lambda: made.reset(clock=False, state=False),
        lambda: made.reset(clock=False, time=False),
        lambda: made.restore(snapshot, clock=False),
    ):
        for _ in range(5):
            made.tick()
        jump()
        made.tick()
    stamps = heard.stamps['base_link']
    assert len(stamps) >= 24
    assert stamps == sorted(set(stamps))
    made.reset(clock=True)
    made.tick()
    assert heard.stamps['base_link'][-1] < stamps[0] + 5_000_000


def test_odom_may_have_another_parent(hear):
    """Leave world -> odom to a localizer, or let odom be the world."""
    made, heard = hear(robot='quadruped', publish_world_tf=False)
    made.tick()
    assert 'odom' not in heard.parents
    assert heard.parents['base_link'] == {'odom'}
    made, heard = hear(robot='quadruped', odom_frame='world', frame_prefix='a/')
    made.tick()
    assert heard.parents['a/base_link'] == {'world'}
    assert 'world' not in heard.parents


def test_frames_need_their_messages(monkeypatch):
    """Name the missing package."""
    monkeypatch.setattr(frames, 'optional_messages', lambda package: None)
    with pytest.raises(InvalidValueError, match='tf2_msgs is not installed'):
        simulator(robot='floating_box', collisions='none', publish_tf=True)
