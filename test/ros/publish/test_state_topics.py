"""State topics after changes in a paused world."""

from __future__ import annotations

import json
from types import SimpleNamespace

from following import simulator
from geometry_msgs.msg import Twist
import pytest
from rclpy.serialization import deserialize_message, serialize_message

from sim_bridge.ros.wire.messages import pack_stamp, unpack_stamp

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

RATES = ('joint_state_rate', 'odom_rate', 'object_state_rate', 'tf_rate', 'contact_rate')
SCENE = """
world:
  ground: true
  objects:
    crate: {box: [0.1, 0.1, 0.1], position: [0, 2, 1]}
    post: {box: [0.1, 0.1, 0.1], position: [0, 2, 2], motion: static}
  robots:
    rover: {urdf: rover, position: [0, 0, 0.1]}
  joints:
    hook: {type: ball, between: [post, crate], anchor: [0, 2, 1.5], tree: false}
"""
ODOM, RECKONED = 'rover/odom', 'rover/diff_drive/odom'
STAMPED = {'/clock', 'contacts', RECKONED, 'rover/joint_states', 'object_states', ODOM}
SEVERAL = {'/tf', 'object_markers'}
STATE = STAMPED | SEVERAL | {'contacts/markers'}


class Listener:
    """Sink that keeps all messages by topic."""

    def __init__(self):
        self.heard: dict[str, list[object]] = {}

    def open(self, topic, message_type, qos):
        def take(message):
            is_raw = isinstance(message, bytes)
            self.heard.setdefault(topic, []).append(
                deserialize_message(message, message_type) if is_raw else message
            )

        return SimpleNamespace(
            topic=topic, is_wanted=lambda: True, publish=take, close=lambda: None
        )

    def begin(self, time_ns):
        pass

    def pause(self):
        pass

    def take(self) -> dict[str, list[object]]:
        """Return the messages heard since the last call."""
        heard, self.heard = self.heard, {}
        return heard


@pytest.fixture
def driven(tmp_path):
    """Return a simulator with a rover on its way and state topics at low rates, a listener."""
    (tmp_path / 'scene.yaml').write_text(SCENE)
    heard = Listener()
    made = simulator(
        heard,
        world=str(tmp_path / 'scene.yaml'),
        publish_tf=True,
        marker_rate=1.0,
        clock_rate=1.0,
        **dict.fromkeys(RATES, 1.0),
    )
    (take,) = [
        each.take for each in made.interfaces[0].command_topics if each.name == 'rover/cmd_vel'
    ]
    command = Twist()
    command.linear.x = 0.5
    take(serialize_message(command))
    for _ in range(300):
        made.tick()
    heard.take()
    return made, heard


def check_state(made, heard) -> dict[str, list[object]]:
    """Find one message for each state topic, with the present stamp; return all messages."""
    messages = heard.take()
    assert messages.keys() >= STATE
    now = unpack_stamp(pack_stamp(made.time_ns))
    for topic in STATE:
        (message,) = messages[topic]
        if topic in STAMPED:
            assert getattr(message, 'clock', None) or message.header.stamp == now, topic
    (frames,), (markers,) = messages['/tf'], messages['object_markers']
    stamps = [each.header.stamp for each in (*frames.transforms, *markers.markers)]
    assert len(stamps) > 2 and set(map(str, stamps)) == {str(now)}
    assert messages['/clock'][0].clock == now
    return messages


def along(messages, topic: str) -> float:
    """Return an odometry's forward position [m]."""
    return messages[topic][0].pose.pose.position.x


def test_every_topic_of_state_shows_a_reset(driven):
    """Publish the start on all topics but those of sensors, which measure in steps."""
    made, heard = driven
    made.world.joint('hook').is_broken = True
    made.tick()
    assert set(json.loads(heard.take()['joints/broken'][-1].data)) == {'hook'}
    made.reset(clock=False)
    messages = check_state(made, heard)
    assert along(messages, ODOM) == along(messages, RECKONED) == 0.0
    assert json.loads(messages['joints/broken'][-1].data) == {}
    assert not [topic for topic in messages if 'imu' in topic]


def test_every_topic_of_state_shows_a_snapshot_and_a_move(driven):
    """Publish the state after a restore, and after a robot was moved."""
    made, heard = driven
    then = made.world.robots['rover'].root_link.p[0]
    saved = made.save()
    reckoned = made.interfaces[0].drives[0].drive.pose.x
    for _ in range(50):
        made.tick()
    heard.take()
    made.restore(saved, clock=False)
    messages = check_state(made, heard)
    assert (along(messages, ODOM), along(messages, RECKONED)) == (then, reckoned)
    assert then > 0.02 and reckoned > 0.02
    made.move('rover', ((5.0, 0.0, 0.1), (0.0, 0.0, 0.0, 1.0)))
    made.publish_state()
    messages = check_state(made, heard)
    assert (along(messages, ODOM), along(messages, RECKONED)) == (5.0, reckoned)


def test_every_topic_of_state_shows_the_last_step(driven):
    """Complete the state after steps with due messages on some topics, once each."""
    made, heard = driven
    made.tick()
    assert not STATE & heard.take().keys()
    made.complete_state()
    messages = check_state(made, heard)
    assert along(messages, ODOM) == made.world.robots['rover'].root_link.p[0]
    made.complete_state()
    assert not heard.take()
    # the rates go on as before
    while made.time_ns < 1_000_000_000:
        made.tick()
    messages = heard.take()
    assert {len(messages[topic]) for topic in STATE - {RECKONED}} == {1}
    assert messages['/clock'][0].clock.sec == 1
    made.complete_state()
    assert not heard.take()
