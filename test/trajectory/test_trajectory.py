"""Trajectories without ROS: splines compared with scipy's, and joints following them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.interpolate import BPoly, CubicHermiteSpline

import sim_bridge as sb
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.trajectory import trajectory

MS = 1_000_000
S = 1_000_000_000


def sampled(spline, times):
    """Return (len(times), 3, n): position, velocity and acceleration at times [s]."""
    return np.array([spline.at(round(time * 1e9)) for time in times])


def points(seed: int, count: int = 4, joints: int = 3):
    """Return times [s], positions, velocities and accelerations of random points."""
    rng = np.random.default_rng(seed)
    times = np.round(np.cumsum(rng.uniform(0.1, 0.7, count)), 9)
    return times, *(rng.normal(size=(count, joints)) for _ in range(3))


def inner_times(times):
    """Return times [s]: knots, and others between them."""
    between = np.linspace(times[0], times[-1], 97)[:-1]
    return np.round(np.sort(np.concatenate([times[:-1], between])), 9)


def test_positions_and_velocities_make_cubics_as_scipy_does():
    """Agree with cubic Hermite splines at knots and between them, with derivatives."""
    times, q, v, _ = points(1)
    spline = sb.Trajectory(['a', 'b', 'c'], times, q, v).spline(
        0, round(times[0] * 1e9), *np.zeros((2, 3))
    )
    expected = CubicHermiteSpline(times, q, v)
    at = inner_times(times)
    found = sampled(spline, at)
    for order in range(3):
        np.testing.assert_allclose(found[:, order], expected(at, order), atol=2e-8)


def test_accelerations_make_quintics_as_scipy_does():
    """Agree with quintics for given derivatives, starting from a given state."""
    times, q, v, a = points(2)
    state = np.random.default_rng(3).normal(size=(3, 3))
    spline = sb.Trajectory(list('abc'), times, q, v, a).spline(5 * S, 5 * S, *state)
    knots = np.concatenate([[0.0], times])
    rows = [np.concatenate([[first], rest]) for first, rest in zip(state, (q, v, a), strict=True)]
    expected = BPoly.from_derivatives(knots, np.stack(rows, axis=1))
    at = inner_times(knots)
    found = sampled(spline, at + 5.0)
    for order in range(3):
        np.testing.assert_allclose(
            found[:, order], expected.derivative(order)(at) if order else expected(at), atol=1e-6
        )


def test_each_segment_uses_the_data_at_both_ends():
    """Move on a line to and from a point with positions only; rest after the last."""
    trajectory = sb.Trajectory(
        ['a'], [1.0, 2.0, 3.0], [[1.0], [3.0], [4.0]], [(), [0.0], [0.0]], [None, [0.0], [0.0]]
    )
    spline = trajectory.spline(0, 0, np.zeros(1), np.ones(1))
    np.testing.assert_allclose(spline.at(S // 2)[:, 0], [0.5, 1.0, 0.0])
    np.testing.assert_allclose(spline.at(1_250 * MS)[:, 0], [1.5, 2.0, 0.0])
    # a quintic from rest to rest: 10 s^3 - 15 s^4 + 6 s^5
    np.testing.assert_allclose(spline.at(2_250 * MS)[0, 0], 3.0 + 10 / 64 - 15 / 256 + 6 / 1024)
    assert spline.at(3 * S)[:, 0].tolist() == [4.0, 0.0, 0.0]
    assert spline.at(9 * S)[:, 0].tolist() == [4.0, 0.0, 0.0]


def test_past_points_are_omitted():
    """Go from the present state to the next point; refuse if there is none."""
    trajectory = sb.Trajectory(['a'], [0.0, 1.0, 2.0], [[0.0], [10.0], [20.0]])
    late = trajectory.spline(0, 1_500 * MS, np.array([12.0]), np.zeros(1))
    np.testing.assert_allclose(late.at(1_750 * MS)[0], [16.0])
    begins_there = trajectory.spline(7 * S, 7 * S, np.array([5.0]), np.zeros(1))
    assert begins_there.at(7 * S)[0].tolist() == [0.0]
    with pytest.raises(InvalidValueError, match=r'end of trajectory = 2.0: .* it is 3 s'):
        trajectory.spline(0, 3 * S, np.zeros(1), np.zeros(1))


def test_joints_without_end_go_the_short_way_round():
    """Add whole turns made before, equally to all points."""
    trajectory = sb.Trajectory(['a', 'b'], [1.0, 2.0], [[0.5, 0.5], [4.0, 4.0]])
    spline = trajectory.spline(
        0, 0, np.full(2, 0.4 + 2 * math.tau), np.zeros(2), turning=np.array([True, False])
    )
    np.testing.assert_allclose(spline.at(S)[0], [0.5 + 2 * math.tau, 0.5])
    np.testing.assert_allclose(spline.at(2 * S)[0], [4.0 + 2 * math.tau, 4.0])


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (([], [1.0], [[]]), 'at least one joint'),
        ((['a', 'a'], [1.0], [[0, 0]]), 'each once'),
        ((['a'], [], []), 'at least one point'),
        ((['a'], [-1.0], [[0]]), r'time of trajectory = -1.0 \(point 0\): expected at least 0'),
        ((['a'], [math.nan], [[0]]), 'time of trajectory = nan'),
        ((['a'], [1.0, 1.0 + 1e-10], [[0], [1]]), r'\(point 1\): expected more than .* 1 s'),
        ((['a'], [1.0, 2.0], [[0]]), 'number of positions of trajectory = 1: expected 2'),
        ((['a', 'b'], [1.0], [[0]]), r'= 1 \(point 0\): expected 2, one for each of a, b'),
        ((['a', 'b'], [1.0], [[0, math.inf]]), r"= inf \(point 0, joint 'b'\): expected a finite"),
        ((['a'], [1.0], [[-1e308]]), r'= -1e\+308 .*: expected a finite number of at most 1e\+09'),
        ((['a'], [1.0], [[0]], [[1e10]]), r'velocities of .* = 1.*: expected .* at most 1e\+09'),
        ((['a'], [1.0], [[]]), 'number of positions'),
        ((['a'], [1.0], [['x']]), 'numbers'),
        ((['a', 'b'], [1.0], [[0, 0]], [[1.0]]), 'number of velocities of trajectory = 1'),
        ((['a'], [1.0], [[0]], None, [[1.0]]), r'point 0\): expected velocities where'),
        ((['a'], [1e10], [[0]]), r'time of trajectory = 1.*: expected at most 4.6\d*e\+09 s'),
        ((['a'], 1.0, [[0]]), 'points of trajectory = 1.0: expected at least one'),
        ((['a'], [1.0], 5), 'positions of trajectory = 5: expected 1 rows'),
        ((['a'], [1.0], [[0]], [5]), r'velocities of trajectory = 5 \(point 0\)'),
        ((7, [1.0], [[0]]), 'joints of trajectory = 7: expected joint names'),
        (('ab c', [1.0], [[0]]), "joints of trajectory = 'ab c': expected joint names"),
    ],
)
def test_malformed_trajectories_are_refused(arguments, said):
    """Name the error, the point and the joint."""
    with pytest.raises(InvalidValueError, match=said):
        sb.Trajectory(*arguments)


def test_long_splines_are_computed_where_they_are_sampled(monkeypatch):
    """Compute a few segments at a time with the same result, also for parts and delays."""
    compute, computed = trajectory._coefficients, []

    def count(durations, *values):
        computed.append(len(durations))
        return compute(durations, *values)

    monkeypatch.setattr(trajectory, '_coefficients', count)
    rng = np.random.default_rng(4)
    times = np.cumsum(rng.integers(1, 50, 1000)) / 1000
    q, v = rng.normal(size=(2, 1000, 2))
    spline = sb.Trajectory(['a', 'b'], times, q, v).spline(
        0, round(times[0] * 1e9), *np.zeros((2, 2))
    )
    assert not computed
    expected = CubicHermiteSpline(times, q, v)
    spline.at(round(times[500] * 1e9))
    second, late = spline.of(np.array([False, True])), spline.later(S)
    for time in [*rng.uniform(times[0], times[-1], 100), *times[60:70], times[998]]:
        time_ns = round(time * 1e9)
        position, velocity = expected(time_ns * 1e-9), expected(time_ns * 1e-9, 1)
        np.testing.assert_allclose(spline.at(time_ns)[:2], [position, velocity], atol=1e-5)
        np.testing.assert_array_equal(late.at(time_ns + S), spline.at(time_ns))
        np.testing.assert_allclose(
            second.at(time_ns)[:, 0], spline.at(time_ns)[:, 1], rtol=1e-9, atol=1e-9
        )
    assert max(computed) < 100


def test_an_end_in_motion_is_refused():
    """Refuse a final velocity above message rounding."""
    sb.Trajectory(['a', 'b'], [1.0], [[0, 0]], [[0.0, 1e-8]]).check_end()
    with pytest.raises(InvalidValueError, match="joint 'b'"):
        sb.Trajectory(['a', 'b'], [1.0], [[0, 0]], [[0.0, 0.1]]).check_end()


# --- robots that follow --------------------------------------------------------------------------


class Following:
    """A following robot, and its recorded motion."""

    def __init__(self, robot='double_pendulum', step=1e-3, **arguments):
        self.world = sb.World(time_step=step)
        self.robot = self.world.load_urdf(sb.description.find_robot(robot))
        self.follower = sb.TrajectoryFollower(self.robot, **arguments)

    @property
    def now(self):
        return self.world.step_count * self.world.time_step_ns

    def start(self, *trajectory, **arguments):
        return self.follower.start(sb.Trajectory(*trajectory), self.now, **arguments)

    def run(self, steps):
        """Step, and give (steps + 1, n) positions, the present one first."""
        positions = [self.robot.q.copy()]
        for _ in range(steps):
            self.follower.drive(self.now, self.world.time_step_ns)
            self.world.step()
            positions.append(self.robot.q.copy())
        return np.array(positions)


SWING = (['shoulder', 'elbow'], [1.0], [[0.8, -0.6]], [[0.0, 0.0]], [[0.0, 0.0]])


def minimum_jerk(times):
    """Return the quintic from 0 to 1 in one second, at rest at both ends."""
    return 10 * times**3 - 15 * times**4 + 6 * times**5


@pytest.fixture
def swing():
    """Return the positions of SWING at every millisecond of its second."""
    return minimum_jerk(np.linspace(0.0, 1.0, 1001)).reshape(-1, 1) * [0.8, -0.6]


def test_motors_follow_to_rounding(swing):
    """Be on the spline after every step: joints without motor are lent one."""
    following = Following()
    run = following.start(*SWING)
    found = following.run(1000)
    np.testing.assert_allclose(found, swing, atol=5e-9)
    assert {following.robot.joint(name).control for name in SWING[0]} == {'velocity'}
    assert not run.outcome
    following.run(1)
    assert run.outcome == 'reached'
    # and they stay there
    np.testing.assert_allclose(following.run(500), np.tile([0.8, -0.6], (501, 1)), atol=1e-12)


@pytest.mark.parametrize(
    ('control', 'bound'),
    [('position', 5e-9), ('velocity', 5e-9), ('servo', 5e-3), ('effort', 3e-2)],
)
def test_every_control_follows(swing, control, bound):
    """Follow by velocity, by a servo, by gains; weaker laws lag more."""
    gains = {name: sb.Gains(p=400.0, i=200.0, d=40.0, i_clamp=20.0) for name in SWING[0]}
    following = Following(gains=gains if control == 'effort' else None)
    for name in SWING[0]:
        joint = following.robot.joint(name)
        joint.kp, joint.kd = 2000.0, 200.0
        joint.control = control
    following.follower.refresh()
    following.start(*SWING)
    found = following.run(1000)
    assert np.abs(found - swing).max() < bound
    assert {following.robot.joint(name).control for name in SWING[0]} == {control}


def test_joints_that_are_not_named_stay():
    """Hold the follower's joints missing in a trajectory, against gravity."""
    following = Following(joints=['shoulder', 'elbow'])
    following.robot.q = [1.0, 0.3]
    following.start(['elbow'], [0.5], [[-0.3]], [[0.0]])
    found = following.run(600)
    np.testing.assert_allclose(found[:, 0], 1.0, atol=1e-9)
    assert found[-1, 1] == pytest.approx(-0.3, abs=1e-9)


def test_another_trajectory_takes_over_without_a_jump():
    """Leave the first one continuously up to acceleration; affect only its own joints."""
    following = Following()
    first = following.start(*SWING)
    before = following.run(400)
    second = following.start(['elbow'], [0.6], [[0.5]], [[0.0]], [[0.0]])
    after = following.run(700)
    assert (first.outcome, second.outcome) == ('replaced', 'reached')
    times = np.linspace(0.0, 1.0, 1001)
    # the shoulder continues
    np.testing.assert_allclose(
        np.concatenate([before, after[1:601]])[:, 0], 0.8 * minimum_jerk(times), atol=5e-9
    )
    x = 0.4
    state = -0.6 * np.array(
        [minimum_jerk(x), 30 * x**2 - 60 * x**3 + 30 * x**4, 60 * x - 180 * x**2 + 120 * x**3]
    )
    expected = BPoly.from_derivatives([0.0, 0.6], [state, [0.5, 0.0, 0.0]])
    np.testing.assert_allclose(after[:601, 1], expected(np.linspace(0.0, 0.6, 601)), atol=2e-8)


def test_a_trajectory_of_the_future_waits():
    """Continue the present one until the next one's start, then follow the new one."""
    following = Following()
    following.start(*SWING)
    later = following.start(*SWING[:2], [[0.0, 0.0]], *SWING[3:], start_ns=500 * MS)
    replaced = following.start(*SWING[:2], [[9.0, 9.0]], *SWING[3:], start_ns=800 * MS)
    again = following.start(*SWING[:2], [[0.0, 0.0]], *SWING[3:], start_ns=500 * MS)
    assert (later.outcome, replaced.outcome) == ('replaced', 'replaced')
    found = following.run(1502)
    np.testing.assert_allclose(found[500], minimum_jerk(0.5) * np.array([0.8, -0.6]), atol=5e-9)
    assert again.outcome == 'reached'
    np.testing.assert_allclose(found[-1], 0.0, atol=1e-8)


def test_tolerances_end_a_run_where_the_joint_is():
    """Name joint and deviation, and hold the joint, blocked by its effort limit."""
    following = Following()
    shoulder = following.robot.joint('shoulder')
    shoulder.control, shoulder.max_effort = 'position', 0.5
    following.follower.refresh()
    path = np.array([[0.1, 0.0], [0.0, 0.0], [0.0, 0.0]])
    run = following.start(*SWING, tolerances=sb.Tolerances(path, np.zeros((3, 2)), 0.0))
    following.run(1000)
    assert run.outcome == 'path violated'
    assert "joint 'shoulder': position off by 0.1" in run.words
    assert '(tolerance 0.1 rad or m)' in run.words


def test_the_goal_is_judged_for_as_long_as_it_may_take():
    """Wait for a lagging joint until its goal time is over, or for ever without one."""
    goal = np.full((3, 2), 1e-3)
    goal[1:] = [[1e-2], [0.0]]

    def outcome(goal_time, steps):
        gains = {name: sb.Gains(p=60.0, d=30.0) for name in SWING[0]}
        following = Following(gains=gains)
        following.world.gravity = (0.0, 0.0, 0.0)
        run = following.start(*SWING, tolerances=sb.Tolerances(np.zeros((3, 2)), goal, goal_time))
        following.run(steps)
        return run

    missed = outcome(0.05, 1100)
    assert missed.outcome == 'goal violated'
    assert 'position off by' in missed.words and '0.051 s after its end' in missed.words
    assert outcome(0.0, 1100).outcome == ''
    assert outcome(10.0, 6000).outcome == 'reached'


def test_a_canceled_run_leaves_its_joints_where_they_are():
    """Stop within steps, and stay."""
    following = Following()
    run = following.start(*SWING)
    following.run(500)
    place = following.robot.q.copy()
    following.follower.cancel(run)
    assert run.outcome == 'canceled'
    found = following.run(500)
    assert np.abs(found - place).max() < 1.5e-3, 'what a step at that velocity takes'
    np.testing.assert_allclose(found[-1], place, atol=1e-5)
    waiting = following.start(*SWING, start_ns=following.now + S)
    following.follower.cancel(waiting)
    assert waiting.outcome == 'canceled'
    following.follower.cancel(waiting)


def test_a_canceled_run_stops_with_its_decelerations():
    """
    Stop each joint at v² / (2 a), after v / a, along a parabola.

    A snapshot taken between cancel and step goes on equally.
    """
    most = np.array([1.0, 2.0])
    following = Following()
    run = following.start(*SWING, decelerations=most)
    following.run(500)
    q, dq = following.robot.q.copy(), following.robot.dq.copy()
    assert np.abs(dq).min() > 0.01
    following.follower.cancel(run)
    assert run.outcome == 'canceled'
    world, saved = following.world.save(), following.follower.save(following.now)
    time = np.arange(3001)[:, None] * 1e-3
    time = np.minimum(time, np.abs(dq) / most)
    expected = q + dq * time - 0.5 * np.sign(dq) * most * time**2
    found = following.run(3000)
    np.testing.assert_allclose(found, expected, atol=2e-4)
    np.testing.assert_allclose(found[-1], q + np.sign(dq) * dq**2 / (2.0 * most), atol=2e-4)
    assert not following.follower.runs
    assert np.abs(following.robot.dq).max() < 1e-6
    following.world.restore(world)
    following.follower.restore(saved, following.now)
    np.testing.assert_allclose(following.run(3000), found, atol=1e-9)
    with pytest.raises(InvalidValueError, match='decelerations'):
        following.start(*SWING, decelerations=[0.5, 0.0])


def test_commands_take_joints_and_give_motors_back():
    """Leave a joint to an effort, with its original control; the other continues."""
    following = Following()
    run = following.start(*SWING)
    following.run(300)
    nothing = np.zeros(2, bool)
    following.follower.give_way(nothing, np.array([False, True]))
    assert run.outcome == 'replaced'
    assert following.robot.joint('elbow').control == 'effort'
    assert following.robot.joint('shoulder').control == 'velocity'
    found = following.run(710)
    assert found[-1, 0] == pytest.approx(0.8, abs=1e-8)
    # efforts in addition to a motor are permitted
    following.follower.give_way(nothing, nothing)
    assert following.follower.is_active
    following.follower.restart()
    assert not following.follower.is_active
    assert following.robot.joint('shoulder').control == 'effort'


def test_a_snapshot_restores_held_and_moving_joints():
    """Continue to the bit after a trajectory's end, during it, and before a waiting one."""
    following = Following()
    following.start(*SWING)
    following.start(['elbow'], [0.5], [[0.3]], start_ns=1800 * MS)
    for steps in (1200, 300, 400):
        following.run(steps)
        world, saved = following.world.save(), following.follower.save(following.now)
        expected = following.run(700)
        for _ in range(2):
            under_way = following.start(*SWING)
            following.run(100)
            following.world.restore(world)
            following.follower.restore(saved, following.now)
            assert under_way.outcome == 'replaced'
            np.testing.assert_array_equal(following.run(700), expected)
        following.world.restore(world)
        following.follower.restore(saved, following.now)
    following.follower.restart()
    # during a trajectory, with another clock
    following.start(*SWING)
    following.run(400)
    world, saved = following.world.save(), following.follower.save(following.now)
    expected = following.run(700)
    following.world.restore(world)
    following.follower.restore(saved, following.now + 5 * S)
    following.follower.shift(-5 * S)
    np.testing.assert_array_equal(following.run(700), expected)


def test_a_jump_of_the_clock_takes_trajectories_along():
    """Continue as without the jump, to the bit."""
    found = []
    for jump in (0, 7 * S, -S):
        following = Following()
        following.start(*SWING)
        following.start(*SWING[:2], [[0.1, 0.1]], start_ns=600 * MS)
        following.run(300)
        following.follower.shift(jump)
        positions = []
        for _ in range(900):
            following.follower.drive(following.now + jump, MS)
            following.world.step()
            positions.append(following.robot.q.copy())
        found.append(np.array(positions))
    np.testing.assert_array_equal(found[1], found[0])
    np.testing.assert_array_equal(found[2], found[0])


def test_equal_trajectories_give_equal_bits():
    """Arrive at one state hash."""

    def state_hash():
        following = Following()
        following.start(*SWING)
        following.run(700)
        return following.world.state_hash()

    assert state_hash() == state_hash()


def test_mismatches_with_the_robot_are_refused():
    """Name unknown joints, and past times."""
    following = Following()
    following.run(2000)
    with pytest.raises(UnknownNameError, match=r"'shouldr'.*Did you mean 'shoulder'"):
        following.start(['shouldr'], [1.0], [[0.0]])
    with pytest.raises(InvalidValueError, match='it is 2 s'):
        following.start(*SWING, start_ns=S // 2)
    assert not following.follower.is_active


def test_an_instant_between_two_steps_is_not_missed():
    """Complete a trajectory that begins and ends between two steps."""
    following = Following()
    run = following.start(['elbow'], [0.0], [[0.2]], start_ns=1_500_000)
    following.run(3)
    assert run.outcome == 'reached'
    following.run(1200)
    assert following.robot.q[1] == pytest.approx(0.2, abs=1e-5)


def test_a_lagging_robot_catches_up():
    """Come to rest at the end although motors were far too weak on the way."""
    following = Following()
    following.world.gravity = (0.0, 0.0, 0.0)
    for name in SWING[0]:
        following.robot.joint(name).max_effort = 6.0
    following.start(SWING[0], [0.2], [[0.8, -0.6]], [[0.0, 0.0]], [[0.0, 0.0]])
    found = following.run(4000)
    assert np.abs(found[200] - [0.8, -0.6]).max() > 0.5
    np.testing.assert_allclose(found[-1], [0.8, -0.6], atol=1e-4)
