"""The physics thread's schedule, with a clock controlled by the test."""

from __future__ import annotations

from collections import Counter
import sys
import threading
from types import MappingProxyType

import numpy as np
import pytest

from sim_bridge.ros.process import realtime
from sim_bridge.ros.process.pacer import Pacer
from sim_bridge.ros.process.statistics import TickStatistics

TICK_NS = 1_000_000


class SteppedClock:
    """Time passing only by sleeping and by the test's additions."""

    def __init__(self) -> None:
        self.time_ns = 5_000_000_000
        self.oversleep_ns = 0
        self.longest_sleep_ns = 0
        self.waits = 0

    def now_ns(self) -> int:
        """Return the time [ns]."""
        return self.time_ns

    def sleep_until(self, time_ns: int) -> None:
        """Let time pass."""
        self.longest_sleep_ns = max(self.longest_sleep_ns, time_ns - self.time_ns)
        self.time_ns = max(self.time_ns, time_ns) + self.oversleep_ns

    def wait(self, event: threading.Event, timeout_s: float) -> None:
        """Let time pass unless the event is set."""
        self.waits += 1
        if not event.is_set():
            self.time_ns += round(timeout_s * 1e9)


class Script:
    """A test's paced object: calls only the given functions."""

    def __init__(self, tick, **functions) -> None:
        self.tick = tick
        self.begin = self.attend = self.idle = lambda: None
        self.is_ready = lambda: True
        self.set_rushing = self.fail = lambda given: None
        self.survive = lambda what, error: None
        vars(self).update(functions)


class Run:
    """A pacer run in the test's own thread, with a script of events at each tick."""

    def __init__(
        self, script=lambda run: None, ticks: int = 10, functions=MappingProxyType({}), **options
    ) -> None:
        self.clock = SteppedClock()
        self.times_ns: list[int] = []
        self.errors: list[Exception] = []
        self.idles = 0
        self._script, self._ticks = script, ticks
        self.survived: list[tuple[str, Exception]] = []
        self.paced = Script(
            self._tick,
            idle=self._idle,
            fail=self.errors.append,
            survive=lambda what, error: self.survived.append((what, error)),
            **functions,
        )
        self.pacer = Pacer(self.paced, TICK_NS, clock=self.clock, **options)

    def go(self) -> Run:
        """Run until the ticks are over."""
        self.start_ns = self.clock.time_ns
        self.pacer.run()
        return self

    @property
    def offsets(self) -> list[int]:
        """Start times of ticks since the start, in periods at real-time factor 1."""
        return [(time - self.start_ns) // TICK_NS for time in self.times_ns]

    def _tick(self) -> None:
        self.times_ns.append(self.clock.time_ns)
        if len(self.times_ns) == self._ticks:
            self.pacer.stop()
        self._script(self)

    def _idle(self) -> None:
        self.idles += 1
        if self.idles > 100:
            self.pacer.stop()


def test_ticks_come_at_absolute_deadlines():
    """Start at once and keep the period for any tick duration below it."""

    def take_a_while(run: Run) -> None:
        run.clock.time_ns += 300_000 * (len(run.times_ns) % 3)

    assert Run(take_a_while).go().offsets == list(range(10))


def test_oversleeping_does_not_add_up():
    """Measure each lateness from a fixed deadline."""
    run = Run(ticks=50)
    run.clock.oversleep_ns = 70_000
    run.go()
    assert (run.times_ns[-1] - run.start_ns) == 49 * TICK_NS + 70_000
    report = run.pacer.statistics.report(run.clock.time_ns)
    assert report.lateness['p50'] == pytest.approx(70e-6)
    assert report.lateness['max'] == pytest.approx(70e-6)
    assert run.pacer.statistics.missed == 0


@pytest.mark.parametrize('duration_ns', [TICK_NS, 3 * TICK_NS // 2, 20 * TICK_NS])
def test_a_thread_too_slow_for_the_pace_rushes_until_it_sleeps(duration_ns):
    """Report it after a tenth of a second without sleep, and again at the first sleep."""
    changes = []

    def labour(run: Run) -> None:
        if len(run.times_ns) <= 200:
            run.clock.time_ns += duration_ns

    run = Run(
        labour,
        ticks=300,
        functions={
            'set_rushing': lambda is_rushing: changes.append(
                (is_rushing, run.clock.time_ns - run.start_ns)
            )
        },
    )
    run.go()
    (first, began_ns), (second, _) = changes
    assert (first, second) == (True, False)
    assert 100_000_000 < began_ns <= 100_000_000 + duration_ns


def test_a_thread_sleeping_between_ticks_does_not_rush():
    """Take nine tenths of every period, for a second."""

    def labour(run: Run) -> None:
        run.clock.time_ns += 9 * TICK_NS // 10

    changes = []
    Run(labour, ticks=1000, functions={'set_rushing': changes.append}).go()
    assert changes == []


def test_a_short_delay_is_made_up_for():
    """Tick late once, then on time again."""

    def stumble(run: Run) -> None:
        if len(run.times_ns) == 3:
            run.clock.time_ns += 1_500_000

    run = Run(stumble).go()
    assert run.times_ns[3] - run.start_ns == 3_500_000
    assert run.offsets[4:] == list(range(4, 10))
    assert run.pacer.statistics.missed == 0


def test_missed_deadlines_are_counted_and_not_made_up_for():
    """After 5.5 periods without ticks, go on at the next deadline of the old schedule."""

    def stall(run: Run) -> None:
        if len(run.times_ns) == 3:
            run.clock.time_ns += 5_500_000

    run = Run(stall).go()
    # the tick after the stall is late by 4.5 periods: four deadlines have passed
    assert [time - run.start_ns for time in run.times_ns[3:6]] == [7_500_000, 8_000_000, 9_000_000]
    assert run.pacer.statistics.missed == 4
    assert np.diff(run.times_ns[4:]).tolist() == [TICK_NS] * 5


@pytest.mark.parametrize(
    ('factor', 'period_ns'), [(0.5, 2_000_000), (2.0, 500_000), (0.01, 100_000_000)]
)
def test_real_time_factor_stretches_the_period(factor, period_ns):
    """Divide the period by the factor; sleep in pieces, so requests do not wait."""
    run = Run(real_time_factor=factor).go()
    assert np.diff(run.times_ns).tolist() == [period_ns] * 9
    assert run.clock.longest_sleep_ns <= 10_000_000


def test_without_a_factor_nothing_is_slept():
    """Tick as fast as possible at factor 0, never late."""
    run = Run(
        lambda run: setattr(run.clock, 'time_ns', run.clock.time_ns + 7), real_time_factor=0.0
    ).go()
    assert np.diff(run.times_ns).tolist() == [7] * 9
    assert run.clock.longest_sleep_ns == 0
    assert run.pacer.statistics.missed == 0


def test_the_factor_changes_while_running():
    """Count no earlier deadlines as missed; drop the deadline of a slower pace."""

    def change(run: Run) -> None:
        run.clock.time_ns += 10
        if len(run.times_ns) == 3:
            run.pacer.real_time_factor = 0.001
        elif len(run.times_ns) == 5:
            run.pacer.real_time_factor = 1.0

    run = Run(change, real_time_factor=0.0).go()
    gaps = np.diff(run.times_ns).tolist()
    assert gaps[:2] == [10, 10]
    assert gaps[3] == 1_000_000_000 - 10
    assert max(gaps[5:]) <= TICK_NS + 10
    assert run.pacer.statistics.missed == 0


def test_a_pause_stops_the_ticks_and_not_the_idling():
    """Call `idle` while paused, and restart the schedule on resuming: no lateness."""

    def pause(run: Run) -> None:
        if len(run.times_ns) == 4:
            run.pacer.pause()

    run = Run(pause)
    count_idle = run.paced.idle

    def idle() -> None:
        count_idle()
        if run.idles == 20:
            run.pacer.submit(run.pacer.resume)

    run.paced.idle = idle
    run.go()
    assert run.idles == 20
    assert run.offsets[3] == 3
    assert run.offsets[4] >= 1900
    assert np.diff(run.times_ns[4:]).tolist() == [TICK_NS] * 5
    assert run.pacer.statistics.missed == 0


def test_steps_are_taken_at_the_usual_pace_and_answered_when_done():
    """Take exactly the requested ticks while paused, one request after the other."""
    done: list[tuple[str, int, Exception | None]] = []
    run = Run(ticks=1000, paused=True)

    def ask() -> None:
        run.pacer.step(3, lambda error: done.append(('first', len(run.times_ns), error)))
        run.pacer.step(2, lambda error: done.append(('second', len(run.times_ns), error)))

    run.pacer.submit(ask)
    run.go()
    assert done == [('first', 3, None), ('second', 5, None)]
    assert len(run.times_ns) == 5
    assert np.diff(run.times_ns).tolist() == [TICK_NS] * 4
    assert run.pacer.is_paused


def test_stepping_can_end_early():
    """Report the remaining ticks after each one, and stop when the answer is no."""
    told: list[int] = []
    done: list[tuple[int, Exception | None]] = []
    run = Run(ticks=1000, paused=True)

    def on_tick(remaining: int) -> bool:
        told.append(remaining)
        return remaining > 96

    def drop() -> None:
        run.pacer.step(5, lambda error: done.append((len(run.times_ns), error)))
        run.pacer.drop_steps(ValueError('no more'))

    def ask() -> None:
        run.pacer.step(100, lambda error: done.append((len(run.times_ns), error)), on_tick)
        run.pacer.step(2, lambda error: done.append((len(run.times_ns), error)))
        run.pacer.step(1, lambda error: run.pacer.submit(drop))

    run.pacer.submit(ask)
    run.go()
    assert told == [99, 98, 97, 96]
    assert done[:2] == [(4, None), (6, None)]
    assert [(count, str(error)) for count, error in done[2:]] == [(7, 'no more')]
    assert len(run.times_ns) == 7


def test_requests_are_served_between_ticks_in_order():
    """Serve requests made during a tick before the next; take earlier messages first."""
    order: list[object] = []

    def ask(run: Run) -> None:
        order.append(len(run.times_ns))
        if len(run.times_ns) == 2:
            run.pacer.submit(lambda: order.append('a'))
            run.pacer.submit(lambda: order.append('b'))

    Run(ask, ticks=4, functions={'attend': lambda: order.append('look')}).go()
    assert order == [1, 2, 'look', 'a', 'b', 3, 4]


@pytest.mark.parametrize('options', [{'paused': True}, {'real_time_factor': 1e-3}])
def test_it_polls_while_no_tick_is_taken(options):
    """Poll every 10 ms, paused or between two ticks a second apart."""
    looks: list[int] = []

    def attend() -> None:
        looks.append(run.clock.time_ns)
        if len(looks) == 99:
            run.pacer.stop()

    run = Run(functions={'attend': attend}, **options)
    run.go()
    assert np.diff(looks).tolist() == [10_000_000] * 98


def test_an_error_pauses_and_is_reported_and_the_thread_lives_on():
    """Report a tick's exception, end its stepping, and tick again when resumed."""

    def fail(run: Run) -> None:
        if len(run.times_ns) == 3:
            run.pacer.submit(run.pacer.resume)
            raise ArithmeticError('of this test')

    run = Run(fail).go()
    assert [str(error) for error in run.errors] == ['of this test']
    assert len(run.times_ns) == 10
    assert run.pacer.error is None
    assert run.pacer.statistics.ticks == 9


def test_an_error_is_the_answer_of_the_steps_it_ends():
    """Report it to all waiting callers of `step`."""
    answers: list[Exception | None] = []

    def fail(run: Run) -> None:
        if len(run.times_ns) == 2:
            raise ArithmeticError('of this test')

    run = Run(fail, paused=True)
    run.pacer.submit(lambda: run.pacer.step(5, answers.append))
    run.pacer.submit(lambda: run.pacer.step(1, answers.append))
    run.go()
    assert [str(answer) for answer in answers] == ['of this test'] * 2
    assert run.pacer.error is answers[0]
    assert len(run.times_ns) == 2


def test_exceptions_beside_ticks_are_reported_and_ticks_go_on():
    """Neither pause nor end when a request, polling or the readiness check fails."""
    calls: Counter[str] = Counter()

    def once(name: str) -> None:
        calls[name] += 1
        if calls[name] == 1:
            raise ZeroDivisionError(name)

    def ask(run: Run) -> None:
        if len(run.times_ns) == 2:
            run.pacer.submit(lambda: 1 // 0)

    def is_ready() -> bool:
        once('is_ready')
        return True

    run = Run(ask, functions={'attend': lambda: once('attend'), 'is_ready': is_ready}).go()
    assert not run.errors
    assert not run.pacer.is_paused
    assert sorted(what for what, _ in run.survived) == [
        'readiness for a tick',
        'request',
        'work between ticks',
    ]
    assert len(run.times_ns) == 10


def test_exceptions_while_stepping_end_the_steps():
    """Answer the caller of `step` although its function fails, and serve the next one."""
    answers: list[Exception | None] = []

    def fail(remaining: int) -> bool:
        raise ZeroDivisionError

    run = Run(paused=True, ticks=3)
    run.pacer.submit(lambda: run.pacer.step(5, answers.append, fail))
    run.pacer.submit(lambda: run.pacer.step(2, answers.append))
    run.go()
    assert [type(answer) for answer in answers] == [ZeroDivisionError, type(None)]
    assert [what for what, _ in run.survived] == ['stepping']


def test_the_thread_ticks_and_ends():
    """Run on a thread and the system's clock: it ticks, serves, and stops on request."""
    ticked, served = threading.Event(), threading.Event()
    pacer = Pacer(Script(ticked.set), TICK_NS)
    pacer.start()
    pacer.submit(served.set)
    assert ticked.wait(60)
    assert served.wait(60)
    pacer.stop()
    assert not pacer._thread.is_alive()


def test_statistics_cover_the_ticks_since_the_last_report():
    """Give rates and percentiles for the new ticks alone, across the end of the window."""
    statistics = TickStatistics(TICK_NS)
    statistics.report(0)
    for tick in range(TickStatistics.WINDOW - 10):
        statistics.record(tick, 5)
    statistics.report(10_000_000_000)
    for lateness in range(100):
        statistics.record(lateness * 1000, 20_000)
    statistics.missed += 3
    report = statistics.report(10_500_000_000)
    assert (report.ticks, report.missed, report.elapsed) == (100, 3, 0.5)
    assert report.rate == pytest.approx(200.0)
    assert report.real_time_factor == pytest.approx(0.2)
    expected = np.percentile(np.arange(100) * 1e-6, [50.0, 99.0, 99.9, 100.0])
    np.testing.assert_allclose(list(report.lateness.values()), expected, rtol=0, atol=1e-12)
    assert set(report.duration.values()) == {20e-6}
    empty = statistics.report(11_000_000_000)
    assert (empty.ticks, empty.lateness) == (0, {})


def test_others_wait_longer_for_the_interpreter_during_a_tick():
    """Lengthen the switch interval for a tick, and restore it, also after a failure."""
    before, seen = sys.getswitchinterval(), []

    def tick():
        seen.append(sys.getswitchinterval())
        raise ValueError('a tick that fails')

    try:
        with pytest.raises(ValueError, match='a tick that fails'):
            realtime.uninterrupted(tick)()
        assert seen[0] > 10.0 * sys.getswitchinterval()
    finally:
        sys.setswitchinterval(before)
