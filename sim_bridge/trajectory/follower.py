"""
Trajectory following: commands for a robot's motors, step by step.

Names and rules are those of ros2_control's well-known joint_trajectory_controller. A
trajectory is sampled at step times, in whole nanoseconds. The command before a step is the desired
motion after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import NamedTuple

import numpy as np

from sim_bridge.foundation.arrays import FloatArray, IntArray, Vector
from sim_bridge.foundation.attributes import DeclaredAttributes
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import ByName
from sim_bridge.foundation.validation import finite_vector, instance_of, items_of
from sim_bridge.robots.robot import Robot
from sim_bridge.simulation.change import Change
from sim_bridge.trajectory.gains import Gains
from sim_bridge.trajectory.tolerances import (
    ACCELERATION,
    beyond_stops,
    CANCELED,
    excess,
    GOAL_VIOLATED,
    PATH_VIOLATED,
    POSITION,
    REACHED,
    REPLACED,
    Run,
    Tolerances,
    unlimited,
    VELOCITY,
)
from sim_bridge.trajectory.trajectory import LATEST_NS, Trajectory

# attributes changed by calls, except `serve`
_CHANGING = (
    '_controls',
    '_drives_any',
    '_integral',
    '_lent',
    '_mine',
    '_others',
    '_runs',
    '_waiting',
    '_wanted',
)

# With this gain [1/s], a joint driven by velocity returns to its desired position within 0.3 s.
_VELOCITY_GAIN = 10.0


class SavedFollower(NamedTuple):
    """
    Joints driven by a follower, and their control; (n,) each.

    mine: driven joints. others: joints commanded by something else. lent: joints temporarily
    switched to 'velocity' control. wanted: (3, n) desired motion; integral: integrated errors.
    runs: runs being followed or waiting at time_ns [ns]. speeds: factors of the runs' times.
    """

    mine: np.ndarray
    others: np.ndarray
    lent: np.ndarray
    wanted: FloatArray
    integral: FloatArray
    runs: tuple[Run, ...]
    time_ns: int
    speeds: FloatArray


class TrajectoryFollower(DeclaredAttributes):
    """
    Makes a robot's joints follow trajectories, each driven according to its `control`.

    'position' and 'servo' get position and velocity targets. 'velocity' gets the velocity plus a
    position error correction. 'effort' gets the effort from `gains`, if the joint has gains.
    Without gains, its control becomes 'velocity' while trajectories drive it, and its motor moves
    it with the effort its limit permits. (Position control would demand arrival within one step,
    and would oscillate about the trajectory after falling behind.)

    Several trajectories may be followed in parallel. A new one takes its joints from others; these
    continue without them. It begins at its start time, from the joints' desired motion, or from
    their actual motion if they were not driven; until then the joints continue as before. Joints
    hold the end of their trajectory, and joints outside the trajectory hold their position, until
    something else commands them.
    """

    __slots__ = (
        '_controls',
        '_drives_any',
        '_gains',
        '_holds',
        '_index',
        '_integral',
        '_is_angle',
        '_lent',
        '_mine',
        '_others',
        '_robot',
        '_runs',
        '_speeds',
        '_waiting',
        '_wanted',
    )
    internal_names = DeclaredAttributes.internal_names | {
        'columns',
        'desired',
        'give_way',
        'is_aside',
        'refresh',
        'release',
        'restart',
        'restore',
        'save',
        'scale',
        'serve',
        'shift',
        'speed',
        'take_rest',
    }

    def __init__(
        self, robot: Robot, joints: Sequence[str] = (), gains: Mapping[str, Gains] | None = None
    ) -> None:
        """
        Prepare; nothing is commanded before the first trajectory.

        joints: joints that hold their position while others follow. gains: by joint. Raises
        UnknownNameError for an unknown joint, InvalidValueError for arguments with a wrong type.
        """
        instance_of('robot', robot, Robot, 'a robot of a world', 'trajectory follower')
        self._robot, place = robot, f'robot {robot.name!r}'
        names = list(robot.joint_names)
        self._index = ByName('joint', place, {name: k for k, name in enumerate(names)})
        n = len(names)
        self.serve(joints, gains)
        parameters = [robot.joint(name) for name in names]
        self._is_angle = np.array([not joint.axes[0].is_linear for joint in parameters], bool)
        self._runs: list[Run] = []
        self._waiting: list[Run] = []
        # desired joint motion at the latest step: position, velocity, acceleration
        self._wanted = np.zeros((3, n))
        self._integral = np.zeros(n)
        self._others = np.zeros(n, bool)
        self._speeds = np.ones(n)
        self._drive_these(np.zeros(n, bool))
        self._lent = np.zeros(n, bool)
        self._controls = np.array([''] * n, dtype=object)
        self.refresh()

    @property
    def is_active(self) -> bool:
        """Whether any run is followed, held or waiting."""
        return bool(self._waiting) or self._drives_any

    @property
    def is_aside(self) -> bool:
        """Whether others command all joints; then `give_way` has no effect."""
        return not self._drives_any and bool(self._others.all())

    @property
    def runs(self) -> list[Run]:
        """Runs being followed or waiting."""
        return [*self._runs, *self._waiting]

    def serve(self, joints: Sequence[str], gains: Mapping[str, Gains] | None = None) -> None:
        """
        Hold these joints from now on while others follow, with these gains; see `__init__`.

        Raises UnknownNameError or InvalidValueError.
        """
        place, n = f'robot {self._robot.name!r}', len(self._index)
        holds = np.zeros(n, bool)
        holds[self.columns(joints)] = True
        if gains is not None and not isinstance(gains, Mapping):
            raise InvalidValueError('gains', gains, 'Gains by joint', place)
        by_row: list[Gains | None] = [None] * n
        for name, gain in (gains or {}).items():
            by_row[self._index[name]] = instance_of(
                'gains', gain, Gains, 'Gains', f'{place}, joint {name!r}'
            )
        self._holds, self._gains = holds, by_row

    def hold(self, joints: Sequence[str]) -> None:
        """Drive these joints, and let them hold their position, unless others command them."""
        held = np.zeros(len(self._mine), bool)
        held[self.columns(joints)] = True
        with _Whole(self):
            self._take(held & ~self._others)

    def release(self, joints: Sequence[str], words: str) -> None:
        """Stop driving these joints, and end their trajectories; words: reason."""
        leaving = np.zeros(len(self._mine), bool)
        leaving[self.columns(joints)] = True
        for run in [each for each in self._waiting if leaving[each.columns].any()]:
            self._waiting.remove(run)
            run.end(REPLACED, words)
        self._take_from_runs(leaving & self._mine, words)
        self._release(leaving & self._mine)

    def scale(self, joints: Sequence[str], speed: float) -> None:
        """
        Let the time in the trajectories of these joints run with another speed from now on.

        speed: factor of at least 0; 0 pauses. All joints of a trajectory have the same one.
        """
        self._speeds[self.columns(joints)] = speed

    def speed(self, joint: str) -> float:
        """Return the speed of a joint's trajectories; see `scale`."""
        return float(self._speeds[self._index[joint]])

    def desired(self, columns: IntArray, time_ns: int) -> FloatArray:
        """
        Return (3, n): the desired motion of some joints at a time [ns].

        columns: indices of the joints in the robot. Joints driven by others have their position
        and velocity.
        """
        wanted = self._wanted.copy()
        rest = ~self._mine
        wanted[:, rest] = 0.0
        wanted[POSITION, rest] = self._robot.q[rest]
        wanted[VELOCITY, rest] = self._robot.dq[rest]
        for run in self._runs:
            wanted[:, run.columns] = self._motion(run, time_ns)
        return wanted[:, columns]

    def columns(self, joints: Iterable[str]) -> np.ndarray:
        """Return the joints' indices in the robot; raises UnknownNameError."""
        names = items_of('joints', joints, str, 'joint names', f'robot {self._robot.name!r}')
        return np.array([self._index[name] for name in names], dtype=int)

    def start(
        self,
        trajectory: Trajectory,
        time_ns: int,
        start_ns: int = 0,
        tolerances: Tolerances | None = None,
        interpolates: bool = True,
        decelerations: Vector | None = None,
    ) -> Run:
        """
        Follow a trajectory.

        time_ns: now. start_ns: start time; 0 for now. Until then, the joints continue as before.
        interpolates: False for jumps: the motion between two points is the second point.
        decelerations: for a run that is canceled or violates a tolerance, above 0
        [rad/s² or m/s²]; None to stop at once.
        Raises UnknownNameError for an unknown joint, InvalidValueError if the trajectory is
        already over, or for arguments with a wrong type.
        """
        time_ns = _instant('time_ns', time_ns)
        start_ns = _instant('start_ns', start_ns) or time_ns
        instance_of('trajectory', trajectory, Trajectory, 'a Trajectory')
        columns = self.columns(trajectory.joints)
        trajectory.check_not_over(start_ns, time_ns)
        if tolerances is None:
            tolerances = unlimited(len(columns))
        instance_of('tolerances', tolerances, Tolerances, 'Tolerances or None')
        if tolerances.path.shape[1] != len(columns):
            raise InvalidValueError(
                'number of tolerances',
                tolerances.path.shape[1],
                f'{len(columns)}, one for each joint of the trajectory',
            )
        run = Run(trajectory, columns, start_ns, tolerances, interpolates=interpolates)
        if decelerations is not None:
            run.decelerations = finite_vector(
                'decelerations', decelerations, len(columns), 'trajectory'
            )
            if not run.decelerations.min() > 0.0:
                raise InvalidValueError('decelerations', decelerations, 'numbers above 0')
        with _Whole(self):
            self._await(run)
        return run

    def cancel(self, run: Run) -> None:
        """
        End a run; its joints hold their position, after stopping with their decelerations.

        Raises InvalidValueError for no Run.
        """
        instance_of('run', run, Run, 'a Run returned by `start`')
        with _Whole(self):
            if run in self._waiting:
                self._waiting.remove(run)
                run.end(CANCELED, 'canceled before it began')
            elif run in self._runs and not run.outcome:
                if run.decelerations is None:
                    self._stop(run, CANCELED, 'canceled')
                else:
                    # `drive` knows the motion from which the joints stop
                    run.end(CANCELED, 'canceled')

    def give_way(self, commanded: np.ndarray, by_effort: np.ndarray) -> None:
        """
        Release joints commanded directly by a user.

        commanded: whether a joint got a position or velocity command; by_effort: whether it got an
        effort command; it takes over joints without a motor and is added to other joints' motor
        effort. Both begin with the robot's joints, (n,).
        """
        commanded, by_effort = commanded[: len(self._mine)], by_effort[: len(self._mine)]
        taken = commanded | (by_effort & (self._lent | (self._controls == 'effort')))
        self._others |= taken
        leaving = taken & self._mine
        if leaving.any():
            self._take_from_runs(leaving, 'something else commanded its joints')
            self._release(leaving)

    def take_rest(self) -> None:
        """
        Hold the joints it may hold once others no longer command them.

        While active, it also holds those without any commands.
        """
        left = self._others.copy()
        self._others[:] = False
        self._take(self._holds if self.is_active else self._holds & left)

    def shift(self, by_ns: int) -> None:
        """Continue unchanged while the time jumps by `by_ns` [ns]."""
        for run in self.runs:
            run.delay(by_ns)

    def save(self, time_ns: int) -> SavedFollower:
        """Return a state for `restore`; time_ns: now."""
        return SavedFollower(
            self._mine.copy(),
            self._others.copy(),
            self._lent.copy(),
            self._wanted.copy(),
            self._integral.copy(),
            tuple(_copied(run, 0) for run in self.runs),
            time_ns,
            self._speeds.copy(),
        )

    def restore(self, saved: SavedFollower, time_ns: int) -> None:
        """
        Continue as at the call of `save`, with the robot restored to that time; time_ns: now.

        Each saved run is followed again as a new run, because the original may have ended; all
        present runs end.
        """
        self._end_runs('a snapshot was restored')
        self._drive_these(saved.mine.copy())
        self._others, self._lent = saved.others.copy(), saved.lent.copy()
        self._wanted, self._integral = saved.wanted.copy(), saved.integral.copy()
        self._speeds = saved.speeds.copy()
        for name, k in self._index.items():
            self._controls[k] = self._robot.joint(name).control
        for run in saved.runs:
            again = _copied(run, time_ns - saved.time_ns)
            (self._waiting if again.spline is None else self._runs).append(again)

    def restart(self, words: str = 'the simulation was reset') -> None:
        """End everything and release all joints; words: reason."""
        self._end_runs(words)
        self._release(self._mine.copy())
        self._others[:] = False
        self.refresh()

    def refresh(self, changed: Iterable[str] = ()) -> None:
        """Handle possible changes in joint control; changed: joints whose control was set."""
        for name in self._index.keys() & set(changed):
            self._lent[self._index[name]] = False
        for name, k in self._index.items():
            self._controls[k] = self._robot.joint(name).control
        self._lent &= self._controls == 'velocity'
        self._borrow(self._mine)

    def drive(self, time_ns: int, step_ns: int) -> None:
        """
        Command the joints for the step that begins at time_ns and lasts step_ns [ns].

        First the state at the beginning of the step is evaluated: joints outside their tolerances,
        and completed trajectories.
        """
        time_ns, step_ns = _instant('time_ns', time_ns), _instant('step_ns', step_ns)
        if self.is_active:
            with _Whole(self):
                self._drive(time_ns, step_ns)

    # --- inside ----------------------------------------------------------------------------------

    def _await(self, run: Run) -> None:
        """Queue a run; replace waiting runs with the same joints and no earlier start."""
        for other in [each for each in self._waiting if each.start_ns >= run.start_ns]:
            if np.isin(other.columns, run.columns).any():
                self._waiting.remove(other)
                other.end(REPLACED, 'another trajectory came before it began')
        self._waiting.append(run)
        self._waiting.sort(key=lambda each: each.start_ns)

    def _drive(self, time_ns: int, step_ns: int) -> None:
        self._begin_runs(time_ns)
        if not self._drives_any:
            return
        robot = self._robot
        q, dq = robot.q, robot.dq
        for run in list(self._runs):
            self._wanted[:, run.columns] = self._motion(run, time_ns)
            if not run.outcome:
                self._judge(run, time_ns)
            if run.outcome and run in self._runs:
                self._brake(run, time_ns)
        error = np.where(self._mine, self._wanted[:2] - (q, dq), 0.0)
        following, step = self._wanted.copy(), step_ns * 1e-9
        for run in self._runs:
            self._slow_down(run, step_ns)
            following[:, run.columns] = self._motion(run, time_ns + step_ns)
        self._command(following, _mean_velocity(self._wanted, following, step), error, step)

    def _motion(self, run: Run, time_ns: int) -> FloatArray:
        """Return (3, k): a run's motion at a time [ns], with its speed."""
        speed = float(self._speeds[run.columns[0]])
        motion = run.motion.at(time_ns)
        return motion if speed == 1.0 else motion * [[1.0], [speed], [speed * speed]]

    def _slow_down(self, run: Run, step_ns: int) -> None:
        """Delay a run by the time that it loses in a step [ns] by its speed."""
        speed = float(self._speeds[run.columns[0]])
        if speed != 1.0:
            run.delay(round((1.0 - speed) * step_ns))

    def _end_runs(self, words: str) -> None:
        for run in self.runs:
            if not run.outcome:
                run.end(REPLACED, words)
        self._runs, self._waiting = [], []

    def _begin_runs(self, time_ns: int) -> None:
        """Start the runs due at this time, or due since the previous step."""
        while self._waiting and self._waiting[0].start_ns <= time_ns:
            run = self._waiting.pop(0)
            columns = run.columns
            new = np.zeros(len(self._mine), bool)
            new[columns] = True
            for other in self._runs:
                self._wanted[:, other.columns] = self._motion(other, time_ns)
            self._take_from_runs(new, 'another trajectory came')
            fresh = new & ~self._mine
            self._others &= ~new
            self._take(new | (self._holds & ~self._others))
            self._wanted[VELOCITY, fresh] = self._robot.dq[fresh]
            # a run that begins and ends between two steps starts at its end
            begin_ns = min(time_ns, run.start_ns + int(run.trajectory.times_ns[-1]))
            q, dq, ddq = self._wanted[:, columns]
            run.spline = run.trajectory.spline(
                run.start_ns, begin_ns, q, dq, ddq, self._turns_freely()[columns], run.interpolates
            )
            self._runs.append(run)

    def _turns_freely(self) -> np.ndarray:
        """Return whether each joint turns without stops, (n,); these go the shorter way."""
        robot = self._robot
        return self._is_angle & np.isinf(robot.lower) & np.isinf(robot.upper)

    def _judge(self, run: Run, time_ns: int) -> None:
        """Compare the joints' motion with the desired motion."""
        robot, columns = self._robot, run.columns
        wanted = self._wanted[:, columns]
        actual = np.array([robot.q[columns], robot.dq[columns], np.zeros(len(columns))])
        tolerances, late = run.tolerances, (time_ns - run.motion.end_ns) * 1e-9
        bounds = tolerances.path if late < 0.0 else tolerances.goal
        if bounds[ACCELERATION].any():
            actual[ACCELERATION] = robot.ddq[columns]
        run.states = wanted, actual, time_ns
        words = excess(run.trajectory.joints, wanted - actual, bounds)
        if bool(words) if late < 0.0 else not words or late > tolerances.goal_time > 0.0:
            self._finish(run, words, late)

    def _finish(self, run: Run, words: str, late: float) -> None:
        """End a judged run; words: violated tolerances, late: time since its end [s]."""
        columns = run.columns
        run.beyond = beyond_stops(
            run.trajectory.joints,
            run.trajectory.positions,
            self._robot.lower[columns],
            self._robot.upper[columns],
        )
        if not words:
            self._runs.remove(run)
            self._wanted[VELOCITY:, columns] = 0.0
            run.end(REACHED, 'followed to its end')
        elif late < 0.0:
            self._stop(run, PATH_VIOLATED, words)
        else:
            self._stop(run, GOAL_VIOLATED, f'{words} {late:g} s after its end')

    def _stop(self, run: Run, outcome: str, words: str) -> None:
        """End a run early: its joints hold their position, now or after `_brake`."""
        run.end(outcome, words)
        if run.decelerations is None:
            self._runs.remove(run)
            self._rest(run.columns)

    def _brake(self, run: Run, time_ns: int) -> None:
        """Replace an ended run by constant decelerations to rest, one run a joint."""
        self._runs.remove(run)
        assert run.decelerations is not None, 'it stops at once'
        for joint, column, most in zip(
            run.trajectory.joints, run.columns.tolist(), run.decelerations.tolist(), strict=True
        ):
            q, dq = self._wanted[:2, [column]]
            time = abs(float(dq[0])) / most
            if time * 1e9 < 1.0:
                self._wanted[VELOCITY:, column] = 0.0
                continue
            # the cubic through these states has a constant acceleration
            stop = Trajectory([joint], [time], [q + 0.5 * time * dq], [[0.0]])
            braking = Run(stop, np.array([column]), time_ns, unlimited(1))
            braking.spline = stop.spline(time_ns, time_ns, q, dq)
            self._runs.append(braking)

    def _rest(self, columns: np.ndarray) -> None:
        self._wanted[:, columns] = 0.0
        self._wanted[POSITION, columns] = self._robot.q[columns]
        self._integral[columns] = 0.0

    def _take_from_runs(self, taken: np.ndarray, words: str) -> None:
        """End the runs losing some of their joints; their other joints continue."""
        for run in [each for each in self._runs if taken[each.columns].any()]:
            left = ~taken[run.columns]
            self._runs.remove(run)
            is_canceled = bool(run.outcome)
            if not is_canceled:
                run.end(REPLACED, words)
            if left.any():
                self._runs.append(run.part(left))
                if is_canceled:
                    self._runs[-1].end(run.outcome, run.words)

    def _drive_these(self, joints: np.ndarray) -> None:
        self._mine, self._drives_any = joints, bool(joints.any())

    def _take(self, joints: np.ndarray) -> None:
        """Start driving joints not driven yet, and let them hold their position."""
        joints = joints & ~self._mine
        if joints.any():
            self._drive_these(self._mine | joints)
            self._rest(np.flatnonzero(joints))
            # efforts of joints with motors are commands in addition to the trajectory
            self._robot.set_commands(
                effort=np.where(joints & (self._controls == 'effort'), 0.0, np.nan)
            )
            self._borrow(joints)

    def _borrow(self, joints: np.ndarray) -> None:
        """Switch joints with neither motor nor gains to velocity control."""
        for k in np.flatnonzero(joints & (self._controls == 'effort')):
            if self._gains[k] is None:
                self._robot.joint(self._robot.joint_names[k]).control = 'velocity'
                self._controls[k], self._lent[k] = 'velocity', True

    def _release(self, joints: np.ndarray) -> None:
        """Stop driving joints; efforts left by others also end."""
        self._drive_these(self._mine & ~joints)
        for k in np.flatnonzero(joints & self._lent):
            self._robot.joint(self._robot.joint_names[k]).control = 'effort'
            self._controls[k], self._lent[k] = 'effort', False
        by_gains = joints & (self._controls == 'effort')
        if by_gains.any():
            self._robot.set_commands(effort=np.where(by_gains, 0.0, np.nan))

    def _command(
        self, following: np.ndarray, reaching: np.ndarray, error: np.ndarray, step: float
    ) -> None:
        """
        Command the motion after a step [s], and the correction for a present error.

        reaching: (n,) velocities that bring the joints to the desired positions.
        """
        controls, mine = self._controls, self._mine
        by_position = mine & ((controls == 'position') | (controls == 'servo'))
        by_velocity, by_effort = mine & (controls == 'velocity'), mine & (controls == 'effort')
        position = np.where(by_position, following[POSITION], np.nan)
        velocity = np.where(by_position, following[VELOCITY], np.nan)
        effort = None
        for k in np.flatnonzero(by_velocity).tolist():
            velocity[k] = self._corrected(k, reaching[k], error[:, k], step, 1.0)
        if by_effort.any():
            effort = np.full(len(mine), np.nan)
            for k in np.flatnonzero(by_effort).tolist():
                effort[k] = self._corrected(k, following[VELOCITY, k], error[:, k], step, 0.0)
        self._robot.set_commands(position, velocity, effort)

    def _corrected(
        self, k: int, velocity: float, error: np.ndarray, step: float, scale: float
    ) -> float:
        """Return a joint's command from its gains for an error in position and velocity."""
        gains = self._gains[k]
        if gains is None:
            return velocity * scale + _VELOCITY_GAIN * error[POSITION]
        if gains.ff_velocity_scale is not None:
            scale = gains.ff_velocity_scale
        self._integral[k] = gains.integrated(self._integral[k], error[POSITION], step)
        return gains.command(velocity * scale, error[POSITION], error[VELOCITY], self._integral[k])


class _Whole:
    """
    A context that undoes all effects if anything is raised in it.

    It restores the follower, its runs and its robot's commands.
    """

    __slots__ = ('_change', '_follower', '_kept', '_runs')

    def __init__(self, follower: TrajectoryFollower) -> None:
        """Keep the follower's state."""
        simulation = follower._robot.simulation
        simulation.cache.settle()
        self._change = Change(simulation.staleness)
        self._follower = follower
        # ordered as _CHANGING
        self._kept = (
            follower._controls.copy(),
            follower._drives_any,
            follower._integral.copy(),
            follower._lent.copy(),
            follower._mine,
            follower._others.copy(),
            follower._runs.copy(),
            follower._waiting.copy(),
            follower._wanted.copy(),
        )
        self._runs = [(run, vars(run).copy()) for run in follower.runs]

    def __enter__(self) -> None:
        """Begin the robot's change."""
        self._change.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Restore the state if anything was raised."""
        self._change.__exit__(kind, error, trace)
        if kind is not None:
            for name, value in zip(_CHANGING, self._kept, strict=True):
                setattr(self._follower, name, value)
            for run, attributes in self._runs:
                vars(run).update(attributes)


def _copied(run: Run, by_ns: int) -> Run:
    """Return a copy with all times later by `by_ns` [ns]; it has ended if the run has."""
    copy = run.later(by_ns)
    if run.outcome:
        copy.end(run.outcome, run.words)
    return copy


def _instant(what: str, time_ns: int) -> int:
    """Return a time [ns]; raise InvalidValueError unless it is an integer within 64 bits."""
    if not isinstance(time_ns, (int, np.integer)) or not -LATEST_NS <= time_ns <= LATEST_NS:
        raise InvalidValueError(what, time_ns, f'an integer [ns] of at most {LATEST_NS}')
    return int(time_ns)


def _mean_velocity(now: np.ndarray, then: np.ndarray, step: float) -> np.ndarray:
    """
    Return the velocity at the end of a step [s] so that joints reach the desired positions.

    It differs from the desired velocity, because positions advance with the mean of a step's
    initial and final velocity.
    """
    missed = (then[POSITION] - now[POSITION]) / step - 0.5 * (now[VELOCITY] + then[VELOCITY])
    return then[VELOCITY] + missed
