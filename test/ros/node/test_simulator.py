"""One control step, in the test's own process: times of publishing, and unfilled messages."""

from __future__ import annotations

import pytest
import rclpy
from rclpy.node import Node
from rclpy.qos import ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rosgraph_msgs.msg import Clock

from sim_bridge.description import sensors_from_mapping
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.parameter_table import checked
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.publish import streams
from sim_bridge.ros.publish.sinks import GraphSink
from sim_bridge.ros.session.loading import load_world
from sim_bridge.ros.session.simulator import Simulator
from sim_bridge.ros.wire import qos
from sim_bridge.ros.wire.messages import ClockMessage, pack_stamp, STAMP

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

MS = 1_000_000


@pytest.fixture
def node(ros_environment):
    """Provide a node in the test's own domain."""
    context = rclpy.Context()
    rclpy.init(context=context)
    made = Node('sim_bridge', context=context)
    yield made
    made.destroy_node()
    context.try_shutdown()


@pytest.fixture
def make_simulator(node):
    """Return a function creating a simulator from parameters."""

    def make(**values: object) -> Simulator:
        parameters = checked(SimulatorParameters, values)
        return Simulator(GraphSink(node), load_world(parameters), parameters)

    return make


@pytest.fixture
def published(monkeypatch):
    """Return all publications, as (topic, stamp [ns])."""
    record: list[tuple[str, int]] = []

    def publish(stream: streams.Stream, stamp: bytes) -> None:
        seconds, rest = int.from_bytes(stamp[:4], 'little'), int.from_bytes(stamp[4:], 'little')
        record.append((stream.topic, seconds * 1_000_000_000 + rest))

    def want(stream: streams.Stream) -> None:
        stream.is_wanted = True

    monkeypatch.setattr(streams.Stream, 'refresh', want)
    monkeypatch.setattr(streams.Stream, 'publish', publish)
    monkeypatch.setattr(
        streams.PreparedStream,
        'send_filled',
        lambda stream: publish(stream, stream.message.content()[STAMP]),
    )
    return record


def test_the_clock_comes_after_the_messages_of_its_step(make_simulator, published):
    """Publish the step's state before /clock wakes any node; stamp all alike."""
    simulator = make_simulator(clock_rate=0.0)
    for _ in range(3):
        simulator.tick()
    topics_of_step = ['/joint_states', '/wrist_ft/wrench', '/imu/imu', '/imu/gyro', '/imu/accel']
    assert published == [
        (topic, step * MS)
        for step in (1, 2, 3)
        for topic in [*topics_of_step, '/contacts', '/contacts/gazebo', '/clock']
    ]


def test_every_topic_keeps_its_own_rate(make_simulator, published):
    """Publish at whole multiples of each period, sensors with their sample's stamp."""
    gyro = {'type': 'gyro', 'link': 'box', 'update_rate': 250.0}
    simulator = make_simulator(
        robot='floating_box',
        rate=500.0,
        joint_state_rate=100.0,
        contact_rate=125.0,
        object_state_rate=50.0,
        odom_rate=200.0,
        marker_rate=250.0,
        sensors={'gyro': gyro},
    )
    for _ in range(10):
        simulator.tick()
    stamps = {topic: [t // MS for name, t in published if name == topic] for topic, _ in published}
    imu = {f'/imu/{topic}': list(range(2, 21, 2)) for topic in ('imu', 'gyro', 'accel')}
    assert stamps == {
        '/joint_states': [10, 20],
        '/gyro/gyro': [4, 8, 12, 16, 20],
        **imu,
        '/contacts': [8, 16],
        '/contacts/gazebo': [8, 16],
        # at touchdown of the box
        '/contacts/events': [2],
        '/object_states': [20],
        '/odom': [6, 10, 16, 20],
        '/contacts/markers': [4, 8, 12, 16, 20],
        # every 5 ms, rounded to steps of 2 ms
        '/clock': [6, 10, 16, 20],
    }


def test_a_clock_reset_restarts_all_rates(make_simulator, published):
    """Publish the first step after a reset, with its own stamp, on every topic."""
    simulator = make_simulator(clock_rate=0.0)
    simulator.tick()
    first = list(published)
    simulator.reset(clock=True)
    published.clear()
    assert simulator.time_ns == 1, 'not 0, which ROS takes for no time'
    simulator.tick()
    assert published == first


def test_equal_seeds_give_equal_worlds(make_simulator):
    """Reach the same state hash, with another seed another one, with noise and commands."""
    noisy = {'type': 'imu', 'link': 'rod', 'noise': {'angular_velocity': {'stddev': 0.1}}}

    def run(seed: int) -> str:
        simulator = make_simulator(robot='pendulum', seed=seed, sensors={'imu': noisy})
        for step in range(100):
            simulator.interfaces[0].commands.queue.accept_ordered([0.1 * (step % 7)])
            simulator.tick()
        return simulator.world.state_hash()

    assert run(1) == run(1)
    assert run(1) != run(2)


def test_nothing_is_filled_without_subscribers(node):
    """Fill a message only if there is a subscriber."""
    fillings = []
    stream = streams.Stream(
        GraphSink(node), '/x', Clock, ClockMessage(), lambda: fillings.append(1), rate_hz=1.0
    )
    stream.publish(pack_stamp(1))
    assert fillings == []
    node.create_subscription(Clock, '/x', print, 10)
    stream.refresh()
    stream.publish(pack_stamp(2))
    assert fillings == [1]


def test_an_invalid_topic_name_is_refused(make_simulator):
    """Name the topic, and its error."""
    name = 'x' * 300
    with pytest.raises(InvalidValueError, match='at most 247 characters') as refusal:
        make_simulator(robot='pendulum', sensors={name: {'type': 'gyro', 'link': 'rod'}})
    assert 'name of topic' in str(refusal.value)


def test_two_sensors_cannot_share_a_topic(make_simulator):
    """Name both sensors and the topic."""
    imu = {'type': 'gyro', 'link': 'rod'}
    with pytest.raises(InvalidValueError, match="sensor 'a-b' publishes there") as refusal:
        make_simulator(robot='pendulum', sensors={'a-b': imu, 'a b': imu})
    assert '/a_b/gyro' in str(refusal.value)


def test_a_declared_topic_replaces_that_of_the_sensor(make_simulator, published):
    """Publish on the topic in the description, parts of an IMU on their usual topics."""
    assert sensors_from_mapping({'s': {'type': 'imu', 'link': 'rod', 'topic': '/base/imu'}})
    sensors = {
        's': {'type': 'imu', 'link': 'rod', 'topic': '/base/imu', 'truth': True},
        'g': {'type': 'gyro', 'link': 'rod', 'topic': 'spin'},
    }
    make_simulator(robot='pendulum', sensors=sensors).tick()
    common = {'/clock', '/contacts', '/contacts/gazebo', '/joint_states'}
    names = {topic for topic, _ in published} - common
    parts = {'/base/imu', '/s/gyro', '/s/accel'}
    assert names == parts | {f'{topic}/truth' for topic in parts} | {'/spin'}


@pytest.mark.parametrize('enable_orientation', [True, False])
def test_imus_are_published_as_rep_145_names_them(
    make_simulator, published, monkeypatch, enable_orientation
):
    """Publish data_raw without an orientation, and data with it if there is one."""
    sent = {}

    def send(stream: streams.PreparedStream) -> None:
        stream.publish(pack_stamp(0))
        sent[stream.topic] = deserialize_message(
            bytes(stream.message.content()), stream.message_type
        )

    monkeypatch.setattr(streams.PreparedStream, 'send_filled', send)
    imu = {'type': 'imu', 'link': 'rod', 'enable_orientation': enable_orientation}
    make_simulator(robot='pendulum', sensors={'s': imu}, imu_data_topics=True).tick()
    assert ('/s/data' in sent) == enable_orientation
    for topic, has_orientation in (
        ('/s/imu', enable_orientation),
        ('/s/data_raw', False),
        ('/s/data', True),
    ):
        if topic in sent:
            assert (sent[topic].orientation_covariance[0] == 0.0) == has_orientation
            assert sent[topic].linear_acceleration == sent['/s/imu'].linear_acceleration
            assert sent[topic].header == sent['/s/imu'].header


@pytest.mark.parametrize(
    ('given', 'policy'),
    [('reliable', ReliabilityPolicy.RELIABLE), ('sensor_data', ReliabilityPolicy.BEST_EFFORT)],
)
def test_sensors_have_the_requested_qos(make_simulator, node, given, policy):
    """Publish sensors with it, and nothing else."""
    make_simulator(robot='arm', sensor_qos=given, publish_truth=True)

    def reliability(topic: str) -> ReliabilityPolicy:
        (info,) = node.get_publishers_info_by_topic(topic)
        return info.qos_profile.reliability

    assert {
        reliability(f'/{name}')
        for name in ('imu/imu', 'imu/gyro', 'imu/accel/truth', 'wrist_ft/wrench')
    } == {policy}
    assert {reliability(f'/{name}') for name in ('joint_states', 'clock', 'contacts')} == {
        ReliabilityPolicy.RELIABLE
    }


@pytest.mark.parametrize(
    ('name', 'topic'),
    [('imu', 'imu'), ('left foot-imu', 'left_foot_imu'), ('2nd', '_2nd'), ('a::b', 'a_b')],
)
def test_any_sensor_name_makes_a_topic(name, topic):
    """Replace invalid characters in topic names."""
    assert qos.topic_name(name) == topic


def test_resets_affect_the_requested_parts_and_the_clock_goes_on(make_simulator, published):
    """Repeat noise and motion to the last bit after a reset, with increasing stamps."""
    noisy = {
        'type': 'gyro',
        'link': 'rod',
        'update_rate': 300.0,
        'noise': {'angular_velocity': {'stddev': 0.1}},
    }
    simulator = make_simulator(
        robot='pendulum',
        sensors={'gyro': noisy},
        clock_rate=0.0,
        contact_rate=0.01,
        marker_rate=0.0,
    )

    def run(steps: int) -> list[tuple[str, int]]:
        """Return the publications in some steps, as (topic, ns since the step before them)."""
        published.clear()
        start = simulator.time_ns
        for _ in range(steps):
            simulator.interfaces[0].commands.queue.accept_ordered([0.2])
            simulator.tick()
        return [(topic, time - start) for topic, time in published]

    def reading() -> list[float]:
        return simulator.interfaces[0].robot.device('gyro').w.tolist()

    # the first /clock is at 1 ns, so the second run is compared
    run(43)
    simulator.reset(clock=False)
    first, hashed, measured = run(43), simulator.world.state_hash(), reading()
    assert ('/gyro/gyro', 42 * MS) in first
    for steps in (7, 0):
        run(steps)
        now = simulator.time_ns
        published.clear()
        simulator.reset(clock=False)
        assert simulator.time_ns == now + MS
        assert set(published) == {
            ('/joint_states', now + MS),
            ('/contacts', now + MS),
            ('/contacts/gazebo', now + MS),
            ('/clock', now + MS),
        }
        assert simulator.world.step_count == 0
        assert (run(43), simulator.world.state_hash(), reading()) == (first, hashed, measured)

    angle, step = simulator.interfaces[0].robot.q[0], simulator.world.step_count
    now = simulator.time_ns
    simulator.reset(clock=False, state=False)
    assert (simulator.world.step_count, simulator.interfaces[0].robot.q[0]) == (0, angle)
    assert simulator.time_ns == now + MS
    run(step)
    simulator.reset(clock=False, time=False)
    assert simulator.world.step_count == step
    assert simulator.interfaces[0].robot.q[0] == 0.0
    simulator.reset(clock=True)
    assert simulator.time_ns == 1


def test_snapshots_keep_the_age_of_commands(make_simulator):
    """Time out after as many steps since the restore as since the save."""
    simulator = make_simulator(robot='pendulum', command_timeout=0.05)
    commands = simulator.interfaces[0].commands
    commands.queue.accept_ordered([0.2])
    for _ in range(20):
        simulator.tick()
    snapshot = simulator.save()

    def steps_to_timeout() -> int:
        steps = 0
        while not commands.is_timed_out:
            simulator.tick()
            steps += 1
        return steps

    first = steps_to_timeout()
    assert 0 < first < 50
    commands.queue.accept_ordered([0.9])
    simulator.restore(snapshot, clock=False)
    assert steps_to_timeout() == first
    simulator.restore(snapshot, clock=True)
    assert simulator.time_ns == 20 * MS
    assert steps_to_timeout() == first


@pytest.mark.parametrize(
    ('factor', 'depth'), [(0.5, 200), (1.0, 200), (2.5, 500), (0.0, 2000), (50.0, 5000)]
)
def test_messages_are_kept_for_a_second_of_wall_time(factor, depth):
    """Keep more messages, the faster simulated time goes."""
    kept = qos.at_pace(qos.stream_qos(200.0), factor)
    assert kept.depth == depth
    assert kept.reliability == qos.stream_qos(200.0).reliability
