"""Status of a running simulator as a few lines at fixed places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_bridge.foundation.names import counted
from sim_bridge.ros.wire.statuses import NO_LISTENER

if TYPE_CHECKING:
    from sim_bridge.cli.watch import Progress

_MOST_WARNINGS, _MOST_TOPICS = 4, 8
_SHOWN = ('real time factor', 'missed deadlines since start')
_LATENESS = 'tick lateness'
_WIDTH = 28


def screen(progress: Progress, page: str = '') -> str:
    """
    Return the status, one fact per line: clock, pace, lateness, topic rates, warnings.

    page: address of the live page. Nothing is published on topics without subscribers: only their
    number is shown, so that lines keep their places.
    """
    lines = [f'── {", ".join(progress.robots) or "simulator"} {progress.condition}'.rstrip()]
    if progress.time_s is not None:
        lines.append(_line('simulated time', f'{progress.time_s:.1f} s'))
    lines += [
        _line(name, value)
        for name, value in progress.pacing.items()
        if name in _SHOWN or name.startswith(_LATENESS)
    ]
    if progress.rate_hz:
        lines.append(_line('joint_states', f'{progress.rate_hz:.1f} Hz'))
    lines += _rates(progress)
    lines.append(_line('graph', counted(progress.topic_count, 'topic')))
    if page:
        lines.append(_line('page', page))
    # the first line already contains the pacing
    warnings = [each for each in progress.warnings if each != f'pacing: {progress.condition}']
    if progress.publisher_count > 1:
        warnings.insert(
            0, f'{progress.publisher_count} publishers of joint_states: set another ROS_DOMAIN_ID'
        )
    lines += [f'   warning: {" ".join(each.split())}' for each in warnings[:_MOST_WARNINGS]]
    if len(warnings) > _MOST_WARNINGS:
        lines.append(f'   … {len(warnings) - _MOST_WARNINGS} more on /diagnostics')
    return '\n'.join(lines)


def _rates(progress: Progress) -> list[str]:
    """Return lines for topics with subscribers, joint_states excluded."""
    heard = {
        topic: rate
        for topic, rate in progress.rates.items()
        if rate != NO_LISTENER and not topic.endswith('/joint_states')
    }
    shown = sorted(heard)[:_MOST_TOPICS]
    lines = [_line(topic.removeprefix('/'), heard[topic]) for topic in shown]
    if len(heard) > len(shown):
        lines.append(f'   … {counted(len(heard) - len(shown), "topic")} more')
    silent = sum(rate == NO_LISTENER for rate in progress.rates.values())
    if silent:
        lines.append(_line('without a listener', counted(silent, 'topic')))
    return lines


def _line(name: str, value: str) -> str:
    return f'   {name:{_WIDTH}} {value}'
