"""Effort commands: applied whole or not at all, clamped, timed out, and held until they come."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.errors import InvalidValueError, UnknownNameError
from sim_bridge.ros import commands

MS = 1_000_000


@pytest.fixture
def robot(repository):
    """Give the arm, whose effort limits are finite."""
    return sb.World().load_urdf(repository / 'urdf' / 'arm.urdf')


def make(robot, **options) -> commands.EffortCommands:
    """Make commands of all joints in the robot's order."""
    return commands.EffortCommands(robot, robot.joint_names, **options)


def test_efforts_are_taken_by_name_and_by_order(robot):
    """Write what was commanded, and leave the joints that were not named."""
    taken = make(robot)
    taken.accept_ordered([1, 2, 3, 4, 5, 6, 7])
    taken.accept_named(['joint_6', 'joint_2'], [60 / 2, 20.0])
    taken.apply(0)
    assert robot.u.tolist() == [1, 20, 3, 4, 5, 30, 7]
    assert taken.counts.accepted == 2


def test_the_order_is_the_one_given(robot):
    """Take a list for the joints that were chosen, in their order."""
    taken = commands.EffortCommands(robot, ['joint_3', 'joint_1'])
    taken.accept_ordered([3.0, 1.0])
    taken.apply(0)
    assert robot.u.tolist() == [1, 0, 3, 0, 0, 0, 0]
    assert taken.joint_names == ['joint_3', 'joint_1']


def test_efforts_are_clamped_to_the_limits_and_counted(robot):
    """Count messages that asked too much, not those at the limit."""
    taken = make(robot)
    limits = robot.effort_limits
    taken.accept_ordered(limits)
    assert taken.counts.clamped == 0
    taken.accept_ordered(-10 * limits)
    taken.apply(0)
    assert taken.counts.clamped == 1
    assert robot.u.tolist() == (-limits).tolist()


@pytest.mark.parametrize(
    ('names', 'efforts', 'said'),
    [
        (['joint_1', 'elbow'], [1.0, 1.0], "unknown joint 'elbow'"),
        (['joint_1', 'joint_1'], [1.0, 2.0], 'each joint once'),
        (['joint_1', 'joint_2'], [1.0], '2 values'),
        (['joint_1'], [], '1 values'),
        ([], [], 'at least one joint name'),
        (['joint_1', 'joint_2'], [1.0, float('nan')], 'finite'),
        (['joint_1', 'joint_2'], [1.0, float('-inf')], 'finite'),
    ],
)
def test_a_bad_command_changes_nothing_and_is_counted(robot, names, efforts, said):
    """Refuse the whole of it, saying why, and neither apply nor remember any part."""
    taken = make(robot)
    taken.accept_ordered([7.0] * 7)
    taken.apply(0)
    with pytest.raises((UnknownNameError, InvalidValueError), match=said):
        taken.accept_named(names, efforts)
    taken.apply(MS)
    assert robot.u.tolist() == [7.0] * 7
    assert (taken.counts.accepted, taken.counts.rejected) == (1, 1)
    assert taken.age_ns(MS) == MS


def test_a_list_of_the_wrong_size_is_refused_with_the_joints(robot):
    """Say how many are wanted and of which joints."""
    taken = make(robot)
    with pytest.raises(
        InvalidValueError, match='7 values, one effort for each of joint_1, joint_2'
    ):
        taken.accept_ordered([1.0] * 6)
    assert taken.counts.rejected == 1


def test_an_unknown_ordered_joint_is_refused_at_the_start(robot):
    """Name the joint and the robot."""
    with pytest.raises(UnknownNameError, match="unknown joint 'joint_9' in robot 'arm'"):
        commands.EffortCommands(robot, ['joint_1', 'joint_9'])


def test_the_robot_is_held_until_the_first_command(robot):
    """Lock the joints at the start and after a restart; a bad command does not free them."""
    taken = make(robot)
    assert robot.hold
    with pytest.raises(InvalidValueError):
        taken.accept_ordered([1.0])
    taken.apply(0)
    assert robot.hold
    assert taken.is_waiting
    taken.accept_ordered([0.0] * 7)
    assert robot.hold, 'only the physics thread may free it'
    taken.apply(0)
    assert not robot.hold
    taken.restart()
    assert robot.hold
    assert taken.age_ns(5 * MS) is None


def test_the_robot_is_free_at_once_if_so_chosen(robot):
    """Do not hold."""
    make(robot, hold_until_first=False)
    assert not robot.hold


def test_commands_of_before_a_restart_are_forgotten(robot):
    """Apply nothing that came before the restart."""
    taken = make(robot)
    taken.accept_ordered([5.0] * 7)
    taken.restart()
    taken.apply(0)
    assert robot.u.tolist() == [0.0] * 7
    taken.accept_named(['joint_1'], [1.0])
    taken.apply(0)
    assert robot.u.tolist() == [1.0] + [0.0] * 6


@pytest.mark.parametrize(
    ('policy', 'effort', 'held'), [('zero', 0.0, False), ('hold', 0.0, True), ('last', 5.0, False)]
)
def test_a_command_times_out_by_the_policy(robot, policy, effort, held):
    """Do nothing before the timeout, then what the policy says; go on at the next command."""
    taken = make(robot, timeout_ns=10 * MS, timeout_policy=policy)
    taken.apply(100 * MS)
    assert not taken.is_timed_out, 'a command that never came is not late'
    taken.accept_ordered([5.0] * 7)
    taken.apply(100 * MS)
    taken.apply(109 * MS)
    assert not taken.is_timed_out
    assert robot.u.tolist() == [5.0] * 7
    for late in (110, 111, 150):
        taken.apply(late * MS)
        assert taken.is_timed_out
        assert robot.u.tolist() == [effort] * 7
        assert bool(robot.hold) == held
    assert taken.counts.timeouts == 1
    taken.accept_named(['joint_2'], [2.0])
    taken.apply(151 * MS)
    assert not taken.is_timed_out
    assert not robot.hold
    # efforts that timed out must not come back with a command of another joint
    assert robot.u.tolist() == [effort, 2.0, *[effort] * 5]


def test_no_timeout_if_so_chosen(robot):
    """Keep the last command for ever at a timeout of 0."""
    taken = make(robot, timeout_ns=0, timeout_policy='zero')
    taken.accept_ordered([5.0] * 7)
    taken.apply(0)
    taken.apply(10**15)
    assert robot.u.tolist() == [5.0] * 7


def test_a_command_is_never_seen_in_part(robot):
    """Apply, while another thread commands, rows of one message only."""
    taken = make(robot)
    is_over = threading.Event()

    def command() -> None:
        value = 0.0
        while not is_over.is_set():
            value = (value + 1.0) % 30.0
            taken.accept_ordered([value] * 7)

    thread = threading.Thread(target=command)
    thread.start()
    mixed = 0
    for tick in range(3000):
        taken.apply(tick * MS)
        mixed += len(np.unique(robot.u)) != 1
    is_over.set()
    thread.join()
    assert taken.counts.accepted > 0
    assert mixed == 0


def test_an_infinite_effort_is_refused_where_there_is_no_limit(repository):
    """Refuse infinity also for a joint without an effort limit, and take everything finite."""
    free = sb.World().load_urdf(repository / 'urdf' / 'pendulum.urdf')
    assert free.effort_limits.tolist() == [np.inf]
    taken = make(free)
    with pytest.raises(InvalidValueError, match='finite'):
        taken.accept_ordered([float('inf')])
    taken.accept_ordered([-1.7e308])
    taken.apply(0)
    assert free.u.tolist() == [-1.7e308]
    assert taken.counts.clamped == 0
