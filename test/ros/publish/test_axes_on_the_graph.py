"""Named robot axes on the graph: published values and commands."""

from __future__ import annotations

from following import Nowhere, simulator
import numpy as np
import pytest
from rclpy.serialization import deserialize_message
import robots
from ros_graph import nanoseconds
from sensor_msgs.msg import JointState, MultiDOFJointState

import sim_bridge as sb
from sim_bridge.foundation.errors import StateError
from sim_bridge.ros.command.commands import RobotCommands
from sim_bridge.ros.publish.axes import AxisStates, named_axes
from sim_bridge.ros.publish.joint_states import JointStates
from sim_bridge.ros.publish.sinks import GraphSink
from sim_bridge.ros.session.loading import LoadedRobot
from sim_bridge.ros.wire.messages import pack_stamp

pytest_plugins = ['node_fixtures']

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000

# for each loop joint kind, a floating body held by one joint of this kind
LOOPS = {
    'hinge': '<axis xyz="0 0.6 0.8"/>',
    'slider': '<axis xyz="1 0 0"/>',
    'piston': '<axis xyz="0 1 0"/>',
    'planar': '<axis xyz="0 0 1"/>',
    'universal': '<axis xyz="0 1 0"/><axis2 xyz="1 0 0"/>',
    'hinge2': '<axis xyz="0 0 1"/><axis2 xyz="0.6 0 0.8"/>',
    'ball': '',
}


def menagerie() -> str:
    """Return a stage sliding in a plane, with all loop joint kinds on it."""
    parts = [
        robots.link('world', 0.0),
        robots.link('arm', 3.0),
        robots.link('stage', 5.0),
        robots.joint('shoulder', 'world', 'arm', axis=(0, 0, 1)),
        robots.joint('glide', 'arm', 'stage', 'planar', (0, 0, 1), (0.3, 0, 0)),
    ]
    closing = ''
    for place, (kind, axes) in enumerate(LOOPS.items()):
        parts += [
            robots.link(kind, 1.0, (0.05, 0.02, 0.1), (0.02, 0.03, 0.04)),
            robots.joint(f'free_{kind}', 'world', kind, 'floating', xyz=(place, 0, 0.5)),
        ]
        closing += (
            f'<joint name="on_{kind}" type="{kind}"><link1 name="stage" xyz="{place} 0.1 0.2"/>'
            f'<link2 name="{kind}"/>{axes}</joint>'
        )
    return robots.robot(*parts, f'<sim_bridge>{closing}</sim_bridge>')


NAMES = [
    'shoulder',
    'glide/x',
    'glide/y',
    'glide/theta',
    'on_hinge',
    'on_slider',
    'on_piston/slide',
    'on_piston/turn',
    'on_planar/x',
    'on_planar/y',
    'on_planar/theta',
    'on_universal/axis1',
    'on_universal/axis2',
    'on_hinge2/axis1',
    'on_hinge2/axis2',
]


@pytest.fixture(scope='module')
def moving():
    """Return the menagerie in motion."""
    world = sb.World(gravity=(0.0, 0.0, 0.0))
    robot = world.load_urdf(menagerie())
    random = np.random.default_rng(3)
    world.state.v[:] = random.normal(size=len(world.state.v))
    return robot


def states_of(robot) -> np.ndarray:
    """Return (3, n) positions, velocities and efforts."""
    states = AxisStates(robot)
    values = np.full((3, len(states.names)), 1e99)
    states.write(*values)
    return values


def test_axes_have_names(moving):
    """Name the axes in a joint with several by their motion; ball joints have none."""
    assert list(named_axes(moving)) == AxisStates(moving).names == NAMES


def test_velocities_are_the_slopes_of_positions(moving):
    """Compare with central differences over a step, and with each axis' own reading."""
    world = moving.world
    axes = named_axes(moving).values()
    for _ in range(5):
        world.step(7)
        earlier = states_of(moving)
        world.step(1)
        now = states_of(moving)
        np.testing.assert_allclose(now[0], [axis.q for axis in axes], atol=1e-12)
        np.testing.assert_allclose(now[1], [axis.dq for axis in axes], atol=1e-9)
        world.step(1)
        slope = (states_of(moving)[0] - earlier[0]) / (2.0 * world.time_step)
        np.testing.assert_allclose(now[1], slope, rtol=2e-4, atol=2e-4)
        assert np.abs(now[1]).min() > 1e-3, 'all of them move'
    assert not now[2].any()


def test_each_axis_takes_commands_by_its_control(moving):
    """Let motors on loop joints and on a planar joint hold velocities, reach targets and push."""
    world = moving.world
    taken = RobotCommands(moving, [], timeout_ns=500 * MS, timeout_policy='zero')
    taken.queue.set_control('on_hinge2/axis2', 'velocity', 0.0, 0.0)
    taken.queue.set_control('on_slider', 'position', 0.0, 0.0)
    taken.queue.set_control('glide/theta', 'velocity', 0.0, 0.0)
    taken.queue.accept_named(['on_hinge2/axis2', 'glide/theta'], velocity=[0.7, -0.4])
    taken.queue.accept_named(['on_slider'], position=[0.125])
    taken.queue.accept_named(['on_hinge', 'glide/x'], effort=[0.25, 2.0])
    taken.apply(0)
    world.step(5)
    q, dq, u = (dict(zip(NAMES, row, strict=True)) for row in states_of(moving))
    # loop-closing joints are solved iteratively
    assert dq['on_hinge2/axis2'] == pytest.approx(0.7, abs=1e-6)
    assert dq['glide/theta'] == pytest.approx(-0.4, abs=1e-7)
    assert q['on_slider'] == pytest.approx(0.125, abs=1e-6)
    assert (u['on_hinge'], u['glide/x']) == (0.25, 2.0)
    assert u['on_hinge2/axis2'] != 0.0, 'the motor effort'
    with pytest.raises(StateError, match='Set parameter control.on_hinge to velocity'):
        taken.queue.accept_named(['on_hinge'], velocity=[1.0])
    # motors hold their positions once commands cease
    taken.apply(500 * MS)
    world.step(5)
    q, dq, u = (dict(zip(NAMES, row, strict=True)) for row in states_of(moving))
    assert dq['on_hinge2/axis2'] == pytest.approx(0.0, abs=1e-7)
    assert (u['on_hinge'], u['glide/x']) == (0.0, 0.0)


def test_velocities_keep_to_the_limits_and_are_counted(repository):
    """Clamp above the velocity limit, 30 rad/s; loop joints have their own limit, or none."""
    robot = sb.World().load_urdf(repository / 'urdf' / 'four_bar.urdf')
    taken = RobotCommands(robot, [])
    taken.queue.set_control('crank_joint', 'velocity', 0.0, 0.0)
    taken.queue.set_control('coupler_rocker', 'velocity', 0.0, 0.0)
    taken.apply(0)
    taken.queue.accept_named(['crank_joint', 'coupler_rocker'], velocity=[-30.0, 50.0])
    assert taken.counts.clamped == 0
    taken.queue.accept_named(['crank_joint'], velocity=[-31.0])
    taken.apply(MS)
    assert robot.joint('crank_joint').target_velocity == -30.0
    assert robot.joint('coupler_rocker').axes[0].target_velocity == 50.0
    assert (taken.counts.accepted, taken.counts.clamped) == (2, 1)


def test_crawlers_count_how_far_they_run(repository):
    """Integrate the speeds, as encoders do, and restart at zero after a reset."""
    vehicle = sb.World().load_urdf(repository / 'urdf' / 'tracked_vehicle.urdf')
    states = AxisStates(vehicle)
    assert states.names == ['left_track_joint', 'right_track_joint']
    values = np.zeros((3, 2))
    for crawler, speed in zip(vehicle.crawlers, (0.5, -0.25), strict=True):
        crawler.speed = speed
    for _ in range(8):
        states.advance(0.125)
    states.write(*values)
    np.testing.assert_array_equal(values, [[0.5, -0.25], [0.5, -0.25], [np.nan, np.nan]])
    states.restart()
    states.write(*values)
    assert not values[0].any()


def test_joints_of_several_axes_and_floating_ones_are_poses(moving, graph):
    """Publish the child links' poses and twists beside joint_states, at the same instant."""
    states = JointStates(GraphSink(graph.node), 'm/', moving, 1000.0)
    poses = graph.listen(MultiDOFJointState, '/m/multi_dof_joint_states')
    axes = graph.listen(JointState, '/m/joint_states')

    def publish() -> None:
        for stream in states.streams:
            stream.refresh()
        moving.world.step(1)
        time_ns = moving.world.step_count * moving.world.time_step_ns
        states.advance(time_ns)
        states.publish(pack_stamp(time_ns))

    graph.wait(lambda: poses and axes, 'both', also=publish)
    latest = moving.world.step_count * moving.world.time_step_ns
    graph.wait(
        lambda: {nanoseconds(heard[-1].header.stamp) for heard in (poses, axes)} == {latest},
        'the latest',
    )
    message = poses[-1]
    names = ['glide', *(f'free_{kind}' for kind in LOOPS)]
    assert (message.joint_names, message.header.frame_id) == (names, 'world')
    assert axes[-1].header.stamp == message.header.stamp
    for name, pose, twist in zip(names, message.transforms, message.twist, strict=True):
        link = moving.joint(name).child_link
        p, q, v, w = pose.translation, pose.rotation, twist.linear, twist.angular
        np.testing.assert_allclose([p.x, p.y, p.z], link.p, atol=1e-12)
        np.testing.assert_allclose([v.x, v.y, v.z, w.x, w.y, w.z], [*link.v, *link.w], atol=1e-12)
        # the quaternion turns x to the link's x axis
        along = [
            1 - 2 * (q.y**2 + q.z**2),
            2 * (q.x * q.y + q.w * q.z),
            2 * (q.x * q.z - q.w * q.y),
        ]
        np.testing.assert_allclose(along, link.R[:, 0], atol=1e-12)


class Listening(Nowhere):
    """A sink keeping the joint states in a namespace."""

    def __init__(self, topic):
        self.topic, self.states = topic, []

    def open(self, topic, message_type, qos):
        """Return an outlet."""
        outlet = super().open(topic, message_type, qos)
        if topic == self.topic:
            outlet.is_wanted = lambda: True
            outlet.publish = lambda data: self.states.append(deserialize_message(data, JointState))
        return outlet


def test_axes_are_found_again_when_a_robot_before_them_goes():
    """Spawn axes with all kinds beside another robot, and delete the other robot."""
    sink = Listening('all/joint_states')
    made = simulator(sink, robot='double_pendulum')
    world = made.world
    robot = world.load_urdf(menagerie(), name='all')
    assert made.add(robot, LoadedRobot(robot, 'all')) is not None
    world.state.v[:] = np.random.default_rng(3).normal(size=len(world.state.v))
    made.publish_state()
    made.remove('double_pendulum')
    made.publish_state()
    before, after = sink.states[-2:]
    assert list(after.name) == NAMES
    assert np.abs(before.velocity[1:]).min() > 1e-3
    np.testing.assert_array_equal(after.position, before.position)
    np.testing.assert_array_equal(after.velocity, before.velocity)
