"""/diagnostics: timing, commands and solver."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
import time
from typing import TYPE_CHECKING

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock, ClockType

from sim_bridge.foundation.names import counted
from sim_bridge.ros.command.statistics import CommandCounts
from sim_bridge.ros.command.trajectories import REFUSED, STARTED
from sim_bridge.ros.wire.statuses import NO_LISTENER, WAITING
from sim_bridge.trajectory.tolerances import (
    CANCELED,
    GOAL_VIOLATED,
    PATH_VIOLATED,
    REACHED,
    REPLACED,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from sim_bridge.ros.process.guarded_node import GuardedMixin
    from sim_bridge.ros.process.pacer import Pacer
    from sim_bridge.ros.session.robot_interface import RobotInterface
    from sim_bridge.ros.session.simulator import Simulator

# warning thresholds: share of missed deadlines, relative shortfall of the real-time factor
_MISSED_WARNING = 1e-3
_SLOW_WARNING = 0.02

# warning threshold for the wait for a lockstep answer [s]
_LONG_WAIT_S = 1.0

# warning threshold for command stamps ahead of the simulated time [s]; some commands are for
# the future
_AHEAD_WARNING = 10.0


class Diagnostics:
    """Publishes one status each for pacing and solver, and one per robot for its commands."""

    def __init__(
        self,
        node: GuardedMixin,
        pacer: Pacer,
        simulator: Simulator,
        rate_hz: float,
        show: Callable[[list[DiagnosticStatus]], None] | None = None,
    ) -> None:
        """
        Start publishing.

        rate_hz: rate in real time [Hz]; 0 to publish nothing. show: also called with all statuses,
        at 1 Hz if nothing is published.
        """
        self._pacer, self._simulator, self._faults = pacer, simulator, node.faults
        self._failures = 0
        self._timeouts = 0
        self._dropped = 0
        self._name = node.get_fully_qualified_name().lstrip('/')
        self._counted: dict[str, CommandCounts] = {}
        self._ended: dict[str, Counter[str]] = {}
        self._pacer.statistics.report(time.monotonic_ns())
        self._show = show
        self._sent: dict[str, int] = {}
        self._sent_at = time.monotonic()
        self._publisher = (
            node.create_publisher(DiagnosticArray, '/diagnostics', 10) if rate_hz else None
        )
        if rate_hz or show is not None:
            # this node is the source of ROS time, so its timer must not depend on ROS time
            steady = Clock(clock_type=ClockType.STEADY_TIME)
            node.create_timer(1.0 / (rate_hz or 1.0), self._publish, clock=steady)

    def statuses(self) -> list[DiagnosticStatus]:
        """Return the statuses since the last call."""
        return [
            self._pacing(),
            *(self._commands(interface) for interface in self._simulator.interfaces),
            *(self._trajectories(interface) for interface in self._simulator.interfaces),
            self._solver(),
            self._topics(),
            *self._cameras(),
            *self._joints(),
            *self._lockstep(),
            *self._recording(),
            self._callbacks(),
        ]

    def _publish(self) -> None:
        message = DiagnosticArray(status=self.statuses())
        if self._publisher is not None:
            sec, nanosec = divmod(self._simulator.time_ns, 1_000_000_000)
            message.header.stamp = Time(sec=sec, nanosec=nanosec)
            self._publisher.publish(message)
        if self._show is not None:
            self._show(message.status)

    def _pacing(self) -> DiagnosticStatus:
        pacer, report = self._pacer, self._pacer.statistics.report(time.monotonic_ns())
        aim = pacer.real_time_factor
        deadlines = report.ticks + report.missed
        if pacer.error is not None:
            level, summary = DiagnosticStatus.ERROR, f'paused by an error: {pacer.error}'
        elif pacer.is_paused:
            level, summary = DiagnosticStatus.OK, 'paused'
        elif aim and report.missed > _MISSED_WARNING * deadlines:
            level = DiagnosticStatus.WARN
            summary = f'{report.missed} of {deadlines} deadlines missed'
        elif aim and report.elapsed and report.real_time_factor < (1.0 - _SLOW_WARNING) * aim:
            level = DiagnosticStatus.WARN
            summary = f'real time factor {report.real_time_factor:.3f} instead of {aim:g}'
        else:
            level, summary = DiagnosticStatus.OK, 'running'
        values = {
            'rate [Hz]': f'{report.rate:.1f}',
            'real time factor': f'{report.real_time_factor:.4f}',
            'real time factor aimed at': f'{aim:g}' if aim else 'as fast as possible',
            'missed deadlines': str(report.missed),
            'missed deadlines since start': str(pacer.statistics.missed),
            'ticks since start': str(pacer.statistics.ticks),
            'simulated time [s]': f'{self._simulator.time_ns * 1e-9:.9g}',
        }
        for quantity, percentiles in (
            ('lateness', report.lateness),
            ('duration', report.duration),
        ):
            for name, seconds in percentiles.items():
                values[f'tick {quantity} {name} [ms]'] = f'{seconds * 1e3:.3f}'
        return self._status('pacing', level, summary, values)

    def _commands(self, interface: RobotInterface) -> DiagnosticStatus:
        robot, commands = interface.robot, interface.commands
        counts = CommandCounts(**asdict(commands.counts))
        before = self._counted.get(robot.name, CommandCounts())
        self._counted[robot.name] = counts
        # the counts of a respawned robot start at zero
        rejected, clamped, late, missed = (
            getattr(counts, name) - min(getattr(before, name), getattr(counts, name))
            for name in ('rejected', 'clamped', 'late', 'missed')
        )
        ages = commands.timing.ages()
        ahead = -ages.get('p50', 0.0)
        if rejected:
            level, summary = DiagnosticStatus.WARN, f'{counted(rejected, "command")} rejected'
        elif ahead > _AHEAD_WARNING:
            level = DiagnosticStatus.WARN
            summary = (
                f'commands are stamped {ahead:.6g} s ahead of the simulated time: set '
                'use_sim_time in the node that sends them'
            )
        elif late or missed:
            level = DiagnosticStatus.WARN
            summary = f'{counted(late, "command")} late, {missed} missed'
        elif commands.is_timed_out or any(drive.is_timed_out for drive in interface.drives):
            level, summary = DiagnosticStatus.WARN, 'no command any more'
        elif commands.is_waiting and any(drive.is_active for drive in interface.drives):
            level, summary = DiagnosticStatus.OK, 'driving'
        elif commands.is_waiting and interface.trajectories.is_active:
            level, summary = DiagnosticStatus.OK, 'following trajectories'
        elif commands.is_waiting:
            level, summary = DiagnosticStatus.OK, WAITING
        else:
            level, summary = DiagnosticStatus.OK, 'commanded'
            if clamped:
                summary += f', {counted(clamped, "command")} beyond limits, clamped'
        age = commands.age_ns(self._simulator.time_ns)
        values = {
            'command age [ms]': 'none yet' if age is None else f'{age * 1e-6:.3f}',
            **{f'age of stamps {name} [ms]': f'{age * 1e3:.3f}' for name, age in ages.items()},
            'joints held': str(bool(robot.hold)),
            **{f'{name} since start': str(count) for name, count in asdict(counts).items()},
        }
        return self._status(f'commands of {robot.name}', level, summary, values)

    def _trajectories(self, interface: RobotInterface) -> DiagnosticStatus:
        """Return the status for a robot's trajectories."""
        trajectories = interface.trajectories
        counts = Counter(trajectories.counts)
        failed = sum(
            (counts - self._ended.get(interface.robot.name, Counter()))[outcome]
            for outcome in (PATH_VIOLATED, GOAL_VIOLATED, REFUSED)
        )
        self._ended[interface.robot.name] = counts
        following = trajectories.following
        if failed:
            level, summary = DiagnosticStatus.WARN, f'{failed} trajectories not followed'
        else:
            state = 'holding' if trajectories.is_active else 'idle'
            level, summary = DiagnosticStatus.OK, 'following' if following else state
        values = {
            'followed now': str(following),
            **{
                f'{name} since start': str(counts[name])
                for name in (STARTED, REACHED, REPLACED, CANCELED, PATH_VIOLATED, GOAL_VIOLATED)
            },
        }
        return self._status(f'trajectories of {interface.robot.name}', level, summary, values)

    def _solver(self) -> DiagnosticStatus:
        statistics = self._simulator.solver_statistics
        lately = statistics.take()
        if lately.unconverged:
            level = DiagnosticStatus.WARN
            summary = (
                f'{counted(lately.unconverged, "control step")} not solved to the tolerance of '
                f'the solver (contact residual up to {lately.residual:.2g} m/s)'
            )
        else:
            level, summary = DiagnosticStatus.OK, 'converged'
        values = {
            'most pivots in a step': str(lately.pivots),
            'most contacts in a step': str(lately.contacts),
            'most islands in a step': str(lately.islands),
            'most sweeps in a step': str(lately.sweeps),
            'most newton steps in a step': str(lately.newton_steps),
            'natural map residual [m/s]': f'{lately.residual:.3g}',
            'complementarity [J]': f'{lately.complementarity:.3g}',
            'deepest penetration [m]': f'{lately.penetration:.3g}',
            'control steps not converged since start': str(statistics.unconverged),
        }
        return self._status('solver', level, summary, values)

    def _topics(self) -> DiagnosticStatus:
        """Return the status with the message rate per topic, in real time."""
        now = time.monotonic()
        elapsed, self._sent_at = max(now - self._sent_at, 1e-9), now
        before, self._sent = self._sent, {}
        rates: dict[str, str] = {}
        heard = 0
        simulator = self._simulator
        streams = [stream for each in simulator.interfaces for stream in each.streams]
        for stream in (*streams, *simulator.world_interface.streams):
            self._sent[stream.topic] = stream.published
            count = max(stream.published - before.get(stream.topic, 0), 0)
            heard += stream.is_wanted
            rates[stream.topic] = f'{count / elapsed:.1f} Hz' if stream.is_wanted else NO_LISTENER
        return self._status(
            'topics', DiagnosticStatus.OK, f'{heard} of {len(rates)} have a listener', rates
        )

    def _cameras(self) -> Iterator[DiagnosticStatus]:
        """Yield the camera process's status, if there are cameras."""
        feed = self._simulator.cameras
        if feed is None or not feed.has_cameras:
            return
        counts = feed.counts()
        dropped = sum(each.dropped for each in counts)
        lately, self._dropped = max(dropped - self._dropped, 0), dropped
        level, summary = DiagnosticStatus.OK, 'no subscriber'
        if feed.is_running:
            summary = 'pictures are sent'
        if feed.has_failed:
            level, summary = DiagnosticStatus.ERROR, 'the camera process has ended'
        elif lately:
            level, summary = DiagnosticStatus.WARN, f'{counted(lately, "picture")} dropped'
        values: dict[str, str] = {}
        for each in counts:
            values |= {
                f'{each.name} wanted': str(each.wanted),
                f'{each.name} sent': str(each.sent),
                f'{each.name} dropped': str(each.dropped),
                f'{each.name} rendered in [ms]': f'{each.rendered_ms:.3f}',
                f'{each.name} age [ms]': f'{each.age_ms:.3f}',
            }
        yield self._status('cameras', level, summary, values)

    def _joints(self) -> Iterator[DiagnosticStatus]:
        """Yield the status for broken joints, if there are any."""
        broken = self._simulator.world_interface.broken_joints.told
        if broken:
            yield self._status(
                'joints',
                DiagnosticStatus.WARN,
                f'{counted(len(broken), "joint")} broken',
                {f'{name} broke at [s]': f'{time:.9g}' for name, time in broken.items()},
            )

    def _lockstep(self) -> Iterator[DiagnosticStatus]:
        """Yield the lockstep status, if lockstep is used: the missing command sources."""
        lockstep = self._simulator.lockstep
        if not lockstep.sources:
            return
        missing, waited = lockstep.missing, lockstep.waited_s
        timeouts = lockstep.counts.timeouts - self._timeouts
        self._timeouts += timeouts
        if timeouts:
            level = DiagnosticStatus.WARN
            summary = f'{counted(timeouts, "step")} taken without all answers'
        elif missing and waited > _LONG_WAIT_S and not self._pacer.is_paused:
            level = DiagnosticStatus.WARN
            summary = f'waiting for {", ".join(missing)} for {waited:.1f} s'
        else:
            level, summary = DiagnosticStatus.OK, 'in step'
        yield self._status(
            'lockstep',
            level,
            summary,
            {
                'sources': ', '.join(lockstep.sources),
                'waiting for': ', '.join(missing) or 'none',
                **{
                    f'{name} since start': str(count)
                    for name, count in asdict(lockstep.counts).items()
                },
            },
        )

    def _recording(self) -> Iterator[DiagnosticStatus]:
        """Yield the recording's progress, if there is one."""
        for each in self._simulator.journal.statuses():
            if each.error is not None:
                level, summary = DiagnosticStatus.ERROR, str(each.error)
            else:
                level, summary = DiagnosticStatus.OK, 'recording'
            yield self._status(
                'recording',
                level,
                summary,
                {
                    'bag': str(each.folder),
                    'messages written': str(each.messages),
                    'bytes written': str(each.size),
                    'bytes waiting': str(each.queued),
                },
            )

    def _callbacks(self) -> DiagnosticStatus:
        """Return the status for callbacks: exceptions survived by the node."""
        counts = self._faults.counts
        lately = sum(counts.values()) - self._failures
        self._failures += lately
        if lately:
            level, summary = DiagnosticStatus.WARN, f'{lately} callbacks failed: see the log'
        else:
            level, summary = DiagnosticStatus.OK, 'none failed'
        return self._status(
            'callbacks',
            level,
            summary,
            {
                'failed since start': str(self._failures),
                **{place: str(count) for place, count in counts.items()},
            },
        )

    def _status(
        self, name: str, level: bytes, summary: str, values: Mapping[str, str]
    ) -> DiagnosticStatus:
        return DiagnosticStatus(
            name=f'{self._name}: {name}',
            level=level,
            message=summary,
            hardware_id='sim_bridge',
            values=[KeyValue(key=key, value=value) for key, value in values.items()],
        )
