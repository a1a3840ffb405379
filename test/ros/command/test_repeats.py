"""Commands similar to the previous one have the same effect as when parsed one by one."""

from __future__ import annotations

import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

import sim_bridge as sb
from sim_bridge.description import find_robot
from sim_bridge.ros.command.commands import RobotCommands
from sim_bridge.ros.wire.joint_state_reader import JointStateReader

pytestmark = pytest.mark.filterwarnings("ignore:module 'sre_:DeprecationWarning")

NAMES = [f'joint_{number}' for number in (2, 1, 7)]


class Taker:
    """A robot taking serialized commands like its interface."""

    def __init__(self, can_repeat: bool, control: str = 'effort'):
        self.world = sb.World(gravity=(0.0, 0.0, 0.0))
        self.robot = self.world.load_urdf(find_robot('arm'), collisions='none')
        for name in self.robot.joint_names:
            self.robot.joint(name).control = control
        self.commands = RobotCommands(self.robot, self.robot.joint_names)
        self.reader, self.can_repeat = JointStateReader(), can_repeat
        self.repeated = 0

    def take(self, message: JointState) -> str:
        """Take a command; return its error."""
        data = serialize_message(message)
        if self.can_repeat and self.commands.queue.accept_repeat(data):
            self.repeated += 1
            return ''
        try:
            read = self.reader.read(data)
            self.commands.queue.accept_named(
                read.names, read.position, read.velocity, read.effort, read.time_ns
            )
        except sb.SimBridgeError as err:
            return str(err)
        self.commands.queue.learn(data, self.reader, read.names)
        return ''

    def found(self) -> list[list[float]]:
        """Return the robot's commands after applying them, and the counts."""
        self.commands.apply(5)
        counts = self.commands.counts
        return [
            self.robot.u.tolist(),
            self.world.state.target.tolist(),
            [counts.accepted, counts.clamped, counts.rejected],
        ]


def stamped(number: int, **values) -> JointState:
    """Return a command with its own stamp."""
    message = JointState(**values)
    message.header.stamp.sec, message.header.stamp.nanosec = number, 7 * number
    return message


def both(messages, control='effort') -> Taker:
    """Take commands with and without repeats, with equal results each step; return the former."""
    takers = [Taker(True, control), Taker(False, control)]
    for message in messages:
        errors = [taker.take(message) for taker in takers]
        assert errors[0] == errors[1]
        found = [taker.found() for taker in takers]
        assert found[0] == found[1]
    ages = [list(taker.commands.timing._ages_ns) for taker in takers]
    assert ages[0] == ages[1]
    return takers[0]


def test_repeats_have_the_effect_of_any_command():
    """Take efforts for some joints; only the first two messages are parsed."""
    taker = both([stamped(k + 1, name=NAMES, effort=[0.1 * k, -0.2, 0.3]) for k in range(6)])
    assert taker.repeated == 4


@pytest.mark.parametrize(
    'lists',
    [
        ('position',),
        ('position', 'velocity'),
        ('velocity', 'effort'),
        ('position', 'velocity', 'effort'),
    ],
)
def test_all_quantities_repeat(lists):
    """Take targets with and without their velocities."""
    taker = both(
        [
            stamped(
                k + 1,
                name=NAMES,
                **{
                    each: (0.01 * (np.arange(3.0) + k + at)).tolist()
                    for at, each in enumerate(lists)
                },
            )
            for k in range(5)
        ],
        'position',
    )
    assert taker.repeated == 3


@pytest.mark.parametrize('effort', [[1e9, 0.0, 0.0], [np.nan, 0.0, 0.0], [0.0, np.inf, 0.0]])
def test_repeats_beyond_limits_are_checked_in_full(effort):
    """Clamp or refuse a message similar to the previous one except for its numbers."""
    usual = [stamped(k + 1, name=NAMES, effort=[0.1, 0.2, 0.3]) for k in range(3)]
    taker = both([*usual, stamped(9, name=NAMES, effort=effort), *usual])
    assert taker.repeated == 4


def test_other_names_are_no_repeat():
    """Take commands of equal size for other joints, and smaller ones."""
    usual = [stamped(k + 1, name=NAMES, effort=[0.1, 0.2, 0.3]) for k in range(3)]
    others = [
        stamped(9, name=['joint_3', *NAMES[1:]], effort=[0.5, 0.6, 0.7]),
        stamped(10, name=NAMES[:1], effort=[0.8]),
        stamped(11, name=['nobody'], effort=[0.8]),
    ]
    taker = both([*usual, *others, *usual])
    assert taker.repeated == 2


def test_a_changed_control_is_noticed():
    """Refuse a quantity no longer accepted by a joint."""
    taker = Taker(True)
    for k in range(3):
        taker.take(stamped(k + 1, name=NAMES, effort=[0.1, 0.2, 0.3]))
    assert taker.repeated == 1
    taker.commands.queue.set_control('joint_1', 'position', 1.0, 0.0)
    taker.take(stamped(4, name=NAMES, effort=[0.1, 0.2, 0.3]))
    assert taker.repeated == 1
