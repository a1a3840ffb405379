"""Command line display during work, on terminals and in logs."""

from __future__ import annotations

import io

import pytest

from sim_bridge.cli import progress
from sim_bridge.cli.console import Console
from sim_bridge.cli.progress import Work
from sim_bridge.cli.status_screen import screen
from sim_bridge.cli.watch import Progress


class Terminal(io.StringIO):
    """A terminal stream."""

    def isatty(self) -> bool:
        """Return True."""
        return True


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    """Show bars without the delay of a second, on a terminal of known size."""
    monkeypatch.setattr(progress, '_QUIET_S', 0.0)
    for name, value in (('COLUMNS', '100'), ('LINES', '30'), ('TERM', 'xterm')):
        monkeypatch.setenv(name, value)


def test_a_screen_stays_in_its_place():
    """Erase all status lines before the next one, and before a line above it."""
    terminal = Terminal()
    console = Console(terminal)
    console.status('one\ntwo\nthree')
    console.line('a line')
    erase = '\r\x1b[2K' + 2 * '\x1b[1A\x1b[2K'
    assert terminal.getvalue() == f'one\ntwo\nthree{erase}a line\none\ntwo\nthree'


def test_a_screen_shows_clock_pace_and_warnings():
    """Show one fact per line, warnings last, each in one line."""
    text = screen(
        Progress(
            robots=('arm',),
            time_s=12.34,
            rate_hz=999.5,
            condition='3 of 9 deadlines missed',
            pacing={
                'real time factor': '0.9990',
                'real time factor aimed at': '1',
                'tick lateness p99 [ms]': '0.080',
                'rate [Hz]': '999',
            },
            warnings=('pacing: 3 of 9 deadlines missed', 'commands of arm: 3 commands\nrejected'),
            topic_count=14,
            publisher_count=2,
        )
    )
    lines = [' '.join(line.split()) for line in text.split('\n')]
    assert lines == [
        '── arm 3 of 9 deadlines missed',
        'simulated time 12.3 s',
        'real time factor 0.9990',
        'tick lateness p99 [ms] 0.080',
        'joint_states 999.5 Hz',
        'graph 14 topics',
        'warning: 2 publishers of joint_states: set another ROS_DOMAIN_ID',
        'warning: commands of arm: 3 commands rejected',
    ]


def test_a_screen_shows_the_rates_of_topics_with_listeners():
    """Show a limited number of topics in fixed order, and the number of silent ones."""
    rates = {f'/arm/imu_{k}/gyro': f'{100 + k}.0 Hz' for k in reversed(range(10))}
    rates |= {
        '/arm/joint_states': '999.0 Hz',
        '/arm/wrist/wrench': 'no listener',
        '/contacts': 'no listener',
    }
    text = screen(Progress(time_s=1.0, rate_hz=999.0, rates=rates, topic_count=20))
    lines = [' '.join(line.split()) for line in text.split('\n')]
    assert lines == [
        '── simulator',
        'simulated time 1.0 s',
        'joint_states 999.0 Hz',
        *(f'arm/imu_{k}/gyro {100 + k}.0 Hz' for k in range(8)),
        '… 2 topics more',
        'without a listener 2 topics',
        'graph 20 topics',
    ]


def test_work_is_a_bar_on_a_terminal_and_lines_elsewhere():
    """Show the amount done and the total; leave nothing of the bar behind."""
    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        with Work(Console(stream), 'replayed', 8.0) as work:
            work(2.0, '3.0 x real time')
    assert log.getvalue() == '2.0 of 8.0 s replayed | 3.0 x real time\n'
    assert '2.0 of 8.0 s replayed' in terminal.getvalue() and '━' in terminal.getvalue()
    # the last output erases the bar and shows the cursor again
    assert '\x1b[2K' in terminal.getvalue().rpartition('replayed')[2]


def test_quick_work_shows_nothing(monkeypatch):
    """Show nothing for a second."""
    monkeypatch.setattr(progress, '_QUIET_S', 60.0)
    log = io.StringIO()
    with Work(Console(log), 'replayed', None) as work:
        work(2.0)
    assert not log.getvalue()
