"""Commands: applied as a whole or not at all, clamped, timed out; the hold before the first."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.ros.command import commands

MS = 1_000_000


@pytest.fixture
def robot(repository):
    """Return the arm; its effort limits are finite."""
    return sb.World().load_urdf(repository / 'urdf' / 'arm.urdf')


@pytest.fixture
def impatient_threads():
    """Let threads interrupt each other as often as possible."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def make(robot, **options) -> commands.RobotCommands:
    """Create commands for all joints in the robot's order."""
    return commands.RobotCommands(robot, robot.joint_names, **options)


def test_efforts_are_taken_by_name_and_by_order(robot):
    """Write the commands, and leave unnamed joints unchanged."""
    taken = make(robot)
    taken.queue.accept_ordered([1, 2, 3, 4, 5, 6, 7])
    taken.queue.accept_named(['joint_6', 'joint_2'], effort=[60 / 2, 20.0])
    taken.apply(0)
    assert robot.u.tolist() == [1, 20, 3, 4, 5, 30, 7]
    assert taken.counts.accepted == 2


def test_the_order_is_the_one_given(robot):
    """Take a list for the chosen joints, in their order."""
    taken = commands.RobotCommands(robot, ['joint_3', 'joint_1'])
    taken.queue.accept_ordered([3.0, 1.0])
    taken.apply(0)
    assert robot.u.tolist() == [1, 0, 3, 0, 0, 0, 0]
    assert taken.joint_names == ['joint_3', 'joint_1']


def test_efforts_are_clamped_to_the_limits_and_counted(robot):
    """Count messages beyond the limit, not messages at the limit."""
    taken = make(robot)
    limits = robot.effort_limits
    taken.queue.accept_ordered(limits)
    assert taken.counts.clamped == 0
    taken.queue.accept_ordered(-10 * limits)
    taken.apply(0)
    assert taken.counts.clamped == 1
    assert robot.u.tolist() == (-limits).tolist()


@pytest.mark.parametrize(
    ('names', 'efforts', 'said'),
    [
        (['joint_1', 'elbow'], [1.0, 1.0], "unknown joint 'elbow'"),
        (['joint_1', 'joint_1'], [1.0, 2.0], 'each joint once'),
        (['joint_1', 'joint_2'], [1.0], '2 values'),
        (['joint_1'], [], 'positions, velocities or efforts'),
        ([], [], 'at least one joint name'),
        (['joint_1', 'joint_2'], [1.0, float('nan')], "'joint_2' of robot 'arm'.* finite"),
        (['joint_1', 'joint_2'], [1.0, float('-inf')], 'finite'),
    ],
)
def test_a_bad_command_changes_nothing_and_is_counted(robot, names, efforts, said):
    """Refuse the whole command with a reason; neither apply nor store any part."""
    taken = make(robot)
    taken.queue.accept_ordered([7.0] * 7)
    taken.apply(0)
    with pytest.raises((UnknownNameError, InvalidValueError), match=said):
        taken.queue.accept_named(names, effort=efforts)
    taken.apply(MS)
    assert robot.u.tolist() == [7.0] * 7
    assert (taken.counts.accepted, taken.counts.rejected) == (1, 1)
    assert taken.age_ns(MS) == MS


def test_a_list_of_the_wrong_size_is_refused_with_the_joints(robot):
    """Name the expected number and the joints."""
    taken = make(robot)
    with pytest.raises(
        InvalidValueError, match='7 values, one effort for each of joint_1, joint_2'
    ):
        taken.queue.accept_ordered([1.0] * 6)
    assert taken.counts.rejected == 1


def test_an_unknown_ordered_joint_is_refused_at_the_start(robot):
    """Name the joint and the robot."""
    with pytest.raises(UnknownNameError, match="unknown joint 'joint_9' in robot 'arm'"):
        commands.RobotCommands(robot, ['joint_1', 'joint_9'])


def test_the_robot_is_held_until_the_first_command(robot):
    """Lock the joints at the start and after a restart; an invalid command does not free them."""
    taken = make(robot)
    assert robot.hold
    with pytest.raises(InvalidValueError):
        taken.queue.accept_ordered([1.0])
    taken.apply(0)
    assert robot.hold
    assert taken.is_waiting
    taken.queue.accept_ordered([0.0] * 7)
    assert robot.hold, 'only the physics thread may free it'
    taken.apply(0)
    assert not robot.hold
    taken.restart(0)
    assert robot.hold
    assert taken.age_ns(5 * MS) is None


def test_the_robot_is_free_at_once_if_so_chosen(robot):
    """Do not hold."""
    make(robot, hold_until_first=False)
    assert not robot.hold


def test_commands_of_before_a_restart_are_forgotten(robot):
    """Apply nothing received before the restart."""
    taken = make(robot)
    taken.queue.accept_ordered([5.0] * 7)
    taken.restart(0)
    taken.apply(0)
    assert robot.u.tolist() == [0.0] * 7
    taken.queue.accept_named(['joint_1'], effort=[1.0])
    taken.apply(0)
    assert robot.u.tolist() == [1.0] + [0.0] * 6


@pytest.mark.parametrize(
    ('policy', 'effort', 'held'), [('zero', 0.0, False), ('hold', 0.0, True), ('last', 5.0, False)]
)
def test_a_command_times_out_by_the_policy(robot, policy, effort, held):
    """Do nothing before the timeout, then apply the policy; go on at the next command."""
    taken = make(robot, timeout_ns=10 * MS, timeout_policy=policy)
    taken.apply(100 * MS)
    assert not taken.is_timed_out, 'a command that never came is not late'
    taken.queue.accept_ordered([5.0] * 7)
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
    taken.queue.accept_named(['joint_2'], effort=[2.0])
    taken.apply(151 * MS)
    assert not taken.is_timed_out
    assert not robot.hold
    # timed-out efforts must not return with another joint's command
    assert robot.u.tolist() == [effort, 2.0, *[effort] * 5]


def test_no_timeout_if_so_chosen(robot):
    """Keep the last command forever with a timeout of 0."""
    taken = make(robot, timeout_ns=0, timeout_policy='zero')
    taken.queue.accept_ordered([5.0] * 7)
    taken.apply(0)
    taken.apply(10**15)
    assert robot.u.tolist() == [5.0] * 7


def test_a_command_is_never_seen_in_part(robot):
    """While another thread commands, apply only rows of one message."""
    taken = make(robot)
    is_over = threading.Event()

    def command() -> None:
        value = 0.0
        while not is_over.is_set():
            value = (value + 1.0) % 30.0
            taken.queue.accept_ordered([value] * 7)

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


def test_efforts_are_clamped_to_either_limit(robot):
    """Clamp to the range of a joint with different limits in both directions; count clamping."""
    first, *rest = robot.actuated_joints
    robot.joint(first).effort_limit, robot.joint(first).lower_effort_limit = 10.0, -30.0
    taken = make(robot)
    expected = []
    for effort in (-20.0, 9.0, 20.0, -31.0, 20.0, -20.0):
        taken.queue.accept_ordered([effort, *[0.0] * len(rest)])
        taken.apply(0)
        expected.append((robot.u[0], taken.counts.clamped))
    assert expected == [(-20.0, 0), (9.0, 0), (10.0, 1), (-30.0, 2), (10.0, 3), (-20.0, 3)]


def test_an_infinite_effort_is_refused_where_there_is_no_limit(repository):
    """Refuse infinity also for a joint without an effort limit; clamp values near overflow."""
    free = sb.World().load_urdf(repository / 'urdf' / 'pendulum.urdf')
    assert free.effort_limits.tolist() == [np.inf]
    taken = make(free)
    with pytest.raises(InvalidValueError, match='finite'):
        taken.queue.accept_ordered([float('inf')])
    taken.queue.accept_ordered([-1.7e308])
    taken.apply(0)
    assert free.u.tolist() == [-1e9]
    assert taken.counts.clamped == 1
    free.simulation.runner.step()


# --- motors and crawlers -------------------------------------------------------------------------


@pytest.fixture
def driven(robot):
    """Return the arm, its first four joints in the four control modes, and its commands."""
    for number, control in enumerate(('effort', 'velocity', 'position', 'servo'), start=1):
        robot.joint(f'joint_{number}').control = control
    return robot, make(robot)


def targets(robot, *joints: str) -> list[tuple[float, float]]:
    """Return motor targets: positions and velocities."""
    found = [robot.joint(name) for name in joints]
    return [(joint.target_position, joint.target_velocity) for joint in found]


def test_each_joint_takes_the_quantities_of_its_control(driven):
    """Take positions and velocities for motors, and efforts for all, in one or more messages."""
    robot, taken = driven
    taken.queue.accept_named(['joint_3', 'joint_4'], [0.5, -1.0], [0.1, 0.2], [3.0, 4.0])
    taken.queue.accept_named(['joint_2'], velocity=[0.7])
    taken.queue.accept_named(['joint_1', 'joint_2'], effort=[1.0, 2.0])
    taken.apply(0)
    assert targets(robot, 'joint_3', 'joint_4') == [(0.5, 0.1), (-1.0, 0.2)]
    assert robot.joint('joint_2').target_velocity == 0.7
    assert robot.u[:4].tolist() == [1.0, 2.0, 3.0, 4.0]
    # a position alone means rest there; unnamed joints go on as before
    taken.queue.accept_named(['joint_3'], [0.25])
    taken.apply(MS)
    assert targets(robot, 'joint_3', 'joint_4') == [(0.25, 0.0), (-1.0, 0.2)]
    assert robot.u[:4].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_every_command_counts_however_little_it_changes(driven):
    """Take positions that differ by rounding, and other values beside unchanged positions."""
    robot, taken = driven
    position = 0.3
    for step in range(1, 6):
        position += 1e-9 if step < 4 else 0.0
        taken.queue.accept_named(['joint_4'], [position], [0.0], [1e-7 * step])
        taken.queue.accept_named(['joint_1'], effort=[1e-7 * step])
        taken.queue.accept_named(['joint_2'], velocity=[1e-8 * step])
        taken.apply(step * MS)
        assert targets(robot, 'joint_4') == [(position, 0.0)]
        assert robot.joint('joint_2').target_velocity == 1e-8 * step
        assert (robot.u[0], robot.u[3]) == (1e-7 * step, 1e-7 * step)


def test_lists_may_hold_values_for_one_control_only(driven):
    """Take messages from ros2_control's hardware for joints with several interfaces."""
    robot, taken = driven
    names = ['joint_4', 'joint_1', 'joint_2', 'joint_3']
    taken.queue.accept_named(names, [0.4, 0.3], [0.2], [0.1])
    taken.apply(0)
    assert targets(robot, 'joint_4', 'joint_3') == [(0.4, 0.0), (0.3, 0.0)]
    assert robot.joint('joint_2').target_velocity == 0.2
    assert robot.u.tolist() == [0.1] + [0.0] * 6


@pytest.mark.parametrize(
    ('names', 'lists', 'said'),
    [
        (
            ['joint_1'],
            {'position': [0.1]},
            "position of robot 'arm', joint 'joint_1': its control is 'effort', which does not "
            'take it. Set parameter control.joint_1 to position or servo',
        ),
        (['joint_1'], {'velocity': [0.1]}, 'to velocity or position or servo'),
        (['joint_2'], {'position': [0.1], 'velocity': [0.1]}, "its control is 'velocity'"),
        (['joint_3'], {'position': [float('nan')]}, r'positions .* finite values \[rad or m\]'),
        (['joint_3'], {'position': [0.1], 'velocity': [float('inf')]}, 'velocities'),
        (['joint_3', 'joint_1'], {'position': [0.1, 0.2]}, "joint 'joint_1'"),
        (['joint_3', 'joint_4', 'joint_1'], {'position': [0.1]}, '3 values, one position'),
        (['joint_3'], {'position': [0.1], 'effort': [float('nan')]}, 'efforts'),
    ],
)
def test_commands_with_unaccepted_quantities_are_refused_as_a_whole(driven, names, lists, said):
    """Give reason and remedy, count it, and change nothing."""
    robot, taken = driven
    taken.queue.accept_named(['joint_3'], [0.3])
    taken.apply(0)
    before = targets(robot, 'joint_3', 'joint_4'), robot.u.tolist()
    with pytest.raises((StateError, InvalidValueError), match=said):
        taken.queue.accept_named(names, **lists)
    taken.apply(MS)
    assert (targets(robot, 'joint_3', 'joint_4'), robot.u.tolist()) == before
    assert (taken.counts.accepted, taken.counts.rejected) == (1, 1)


def test_repeated_commands_are_checked_again(robot):
    """Take the same joints repeatedly; refuse quantities no longer accepted, clamp, refuse NaN."""
    taken = make(robot)
    names = ['joint_1', 'joint_2']
    for _ in range(3):
        taken.queue.accept_named(names, effort=[1.0, 2.0])
    taken.queue.accept_named(names, effort=[1.0, 1e6])
    assert taken.counts.clamped == 1
    for values in ([1.0, np.nan], [np.inf, 1.0], [1.0]):
        with pytest.raises(InvalidValueError):
            taken.queue.accept_named(names, effort=values)
    for name in names:
        taken.queue.set_control(name, 'velocity', 100.0, 10.0)
    for _ in range(3):
        taken.queue.accept_named(names, velocity=[0.1, 0.1])
    taken.queue.set_control('joint_2', 'effort', 100.0, 10.0)
    with pytest.raises(StateError, match="joint 'joint_2'"):
        taken.queue.accept_named(names, velocity=[0.1, 0.1])
    taken.apply(0)
    assert robot.u[:2].tolist() == [1.0, robot.joint('joint_2').effort_limit]


def test_a_control_changes_without_a_jerk(robot):
    """Start at the current position, at rest; drop earlier targets, but not efforts."""
    taken = make(robot)
    robot.joint('joint_2').q = 0.8
    taken.queue.accept_named(['joint_2'], effort=[5.0])
    taken.queue.set_control('joint_2', 'servo', 100.0, 10.0)
    with pytest.raises(StateError, match="joint 'joint_1'"):
        taken.queue.accept_named(['joint_1', 'joint_2'], [0.0, 0.0])
    taken.apply(0)
    joint = robot.joint('joint_2')
    assert (joint.control, joint.kp, joint.kd) == ('servo', 100.0, 10.0)
    assert targets(robot, 'joint_2') == [(0.8, 0.0)]
    assert robot.u[1] == 5.0
    taken.queue.accept_named(['joint_2'], [1.2])
    taken.queue.set_control('joint_2', 'velocity', 100.0, 10.0)
    taken.queue.accept_named(['joint_2'], velocity=[0.3])
    taken.apply(MS)
    assert targets(robot, 'joint_2') == [(0.8, 0.3)]
    # new gains alone leave the target unchanged
    taken.queue.set_control('joint_2', 'velocity', 50.0, 5.0)
    taken.apply(2 * MS)
    assert targets(robot, 'joint_2') == [(0.8, 0.3)]
    assert joint.kp == 50.0


def test_controls_may_change_while_commands_come(robot, impatient_threads):
    """Take efforts, valid in both control modes, while another thread changes the mode."""
    taken, is_over = make(robot), threading.Event()

    def change() -> None:
        for number in range(2000):
            taken.queue.set_control('joint_1', ('velocity', 'effort')[number % 2], 0.0, 0.0)
        is_over.set()

    changing = threading.Thread(target=change)
    changing.start()
    while not is_over.is_set():
        taken.queue.accept_named(['joint_1'], effort=[1.0])
        taken.apply(0)
    changing.join()
    assert taken.counts.rejected == 0


@pytest.mark.parametrize('policy', ['zero', 'hold', 'last'])
def test_motors_stop_where_they_are_when_commands_cease(robot, policy):
    """Keep the joints in place, except with 'last'; then move only the joints in a new command."""
    robot.joint('joint_2').control = 'velocity'
    robot.joint('joint_3').control = 'position'
    taken = make(robot, timeout_ns=10 * MS, timeout_policy=policy)
    taken.queue.accept_named(['joint_2', 'joint_3'], [1.5], [0.4])
    taken.apply(0)
    robot.world.step(10)
    taken.apply(10 * MS)
    goes_on = policy == 'last'
    assert robot.joint('joint_2').target_velocity == (0.4 if goes_on else 0.0)
    assert robot.joint('joint_3').target_position == (1.5 if goes_on else robot.joint('joint_3').q)
    taken.queue.accept_named(['joint_1'], effort=[1.0])
    taken.apply(11 * MS)
    assert robot.joint('joint_2').target_velocity == (0.4 if goes_on else 0.0)
    taken.restart(0)
    assert targets(robot, 'joint_3') == [(robot.joint('joint_3').q, 0.0)]
    assert robot.joint('joint_2').target_velocity == 0.0


def test_crawlers_take_velocities_and_nothing_else(repository):
    """Run at the commanded speeds, by name; stop when commands cease."""
    vehicle = sb.World().load_urdf(repository / 'urdf' / 'tracked_vehicle.urdf')
    taken = commands.RobotCommands(vehicle, [], timeout_ns=10 * MS, timeout_policy='zero')
    taken.queue.accept_named(['right_track_joint', 'left_track_joint'], velocity=[0.4, 0.3])
    taken.apply(0)
    assert [crawler.speed for crawler in vehicle.crawlers] == [0.3, 0.4]
    taken.queue.accept_named(['right_track_joint'], velocity=[-0.1])
    taken.apply(MS)
    assert [crawler.speed for crawler in vehicle.crawlers] == [0.3, -0.1]
    with pytest.raises(StateError, match="crawler 'left_track_joint': it takes only a velocity"):
        taken.queue.accept_named(['left_track_joint'], effort=[1.0])
    with pytest.raises(UnknownNameError, match="Did you mean 'left_track_joint'"):
        taken.queue.accept_named(['left_track'], velocity=[1.0])
    taken.apply(11 * MS)
    assert [crawler.speed for crawler in vehicle.crawlers] == [0.0, 0.0]


@pytest.mark.parametrize(
    ('before', 'after'),
    [(14_678 * MS, 14_679 * MS), (14_678 * MS, 0), (300 * MS, 0)],
    ids=['the clock goes on', 'the clock goes back', 'the clock goes back a little'],
)
def test_answers_to_states_before_a_reset_are_dropped(robot, before, after):
    """After a reset, wait for the first command and drop earlier ones that arrive late."""
    taken = make(robot, timeout_ns=500 * MS)
    taken.queue.accept_named(['joint_2'], effort=[5.0], stamp_ns=before - 5 * MS)
    taken.apply(before - MS)
    taken.shift(after - before)
    taken.restart(after)
    for late in (before, before - 3 * MS):
        taken.queue.accept_named(['joint_2'], effort=[7.0], stamp_ns=late)
    taken.apply(after)
    assert taken.is_waiting
    assert robot.hold
    assert taken.counts.outdated == 2
    # answers to later states, answers without a stamp, and answers by another clock
    for time, stamp in ((after + MS, after + MS), (after + 2 * MS, 0), (after + 3 * MS, 10**18)):
        taken.queue.accept_named(['joint_2'], effort=[float(time % 7)], stamp_ns=stamp)
        taken.apply(time)
        assert robot.u[1] == float(time % 7)
    assert taken.counts.outdated == 2
    # a second later, late answers are no longer expected
    taken.apply(after + 1001 * MS)
    taken.queue.accept_named(['joint_2'], effort=[3.0], stamp_ns=before)
    assert taken.counts.outdated == 2


def test_commands_end_with_their_senders(robot):
    """Time out before the timeout; any later command cancels it."""
    taken = make(robot, timeout_ns=1000 * MS)
    taken.lose_senders()
    taken.apply(0)
    assert taken.is_waiting
    taken.queue.accept_ordered([1.0] * 7)
    taken.lose_senders()
    taken.apply(MS)
    assert taken.is_timed_out
    assert robot.hold
    assert not robot.u.any()
    taken.queue.accept_ordered([1.0] * 7)
    taken.apply(2 * MS)
    taken.lose_senders()
    taken.queue.accept_ordered([2.0] * 7)
    taken.apply(3 * MS)
    assert not robot.hold
    assert robot.u.tolist() == [2.0] * 7
    taken.apply(4 * MS)
    assert not taken.is_timed_out
    assert taken.counts.timeouts == 1


def test_commands_without_a_timeout_outlive_their_senders(robot):
    """Keep the last command if there is no timeout."""
    taken = make(robot)
    taken.queue.accept_ordered([1.0] * 7)
    taken.lose_senders()
    taken.apply(0)
    taken.apply(MS)
    assert robot.u.tolist() == [1.0] * 7
