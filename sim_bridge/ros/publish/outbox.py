"""A robot's messages after a control step: one call finds and fills the messages that are due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.compiler.calls import Call
from sim_bridge.compiler.memory import address_of
from sim_bridge.ros.publish.filling import COPY_SIZE, fill, LAW_SIZE, MESSAGE_SIZE, MOST_MESSAGES
from sim_bridge.ros.publish.streams import PreparedStream, Rate
from sim_bridge.sensors.devices import Device

# places of arguments, counted from their end
_TIME, _STEP = -3, -2


class Timed(NamedTuple):
    """A stream and its schedule: at a rate, or after each device sample."""

    stream: PreparedStream
    due: Rate | Device


class _Plan(NamedTuple):
    """
    The prepared call for a set of wanted streams, valid until the set changes.

    words: call arguments; end: their end. arrays: read by address in the call, kept alive.
    senders: functions for the wanted streams, with their bits. chosen: senders by earlier results.
    """

    run: Call
    words: Any
    end: int
    arrays: list[np.ndarray | None]
    senders: list[tuple[int, Callable[[], None]]]
    chosen: dict[int, list[Callable[[], None]]]


class Outbox:
    """Streams filled together; the wanted ones are sent in order."""

    def __init__(self, timed: Sequence[Timed], time_step_ns: int) -> None:
        """Start with nothing sent. timed: up to MOST_MESSAGES. time_step_ns: physics step [ns]."""
        self._timed, self._time_step_ns = timed, time_step_ns
        self._messages = np.array([_message_row(each) for each in timed], np.int64)
        self._messages = self._messages.reshape(-1, MESSAGE_SIZE)
        self._latest = np.zeros(len(timed), np.int64)
        self._wanted: list[bool] = []
        self.relocate()

    def publish(self, time_ns: int, step: int) -> None:
        """Publish the messages due at this time [ns], after this physics step."""
        if self._is_stale:
            self.relocate()
        plan = self._plan
        words, end = plan.words, plan.end
        words[end + _TIME], words[end + _STEP] = time_ns, step
        due = plan.run()
        senders = plan.chosen.get(due)
        if senders is None:
            senders = plan.chosen[due] = [send for bit, send in plan.senders if due & bit]
        for send in senders:
            send()

    def refresh(self) -> None:
        """Fill the streams with subscribers from the next message on; from any thread."""
        if self._wanted != [stream.is_wanted for stream, *_ in self._timed]:
            self._is_stale = True

    def relocate(self) -> None:
        """Look up the copied arrays' addresses again; on the physics thread."""
        self._is_stale = False
        self._wanted = [stream.is_wanted for stream, *_ in self._timed]
        rows: list[list[int]] = []
        laws: list[tuple[float, float]] = []
        arrays: list[np.ndarray | None] = []
        senders: list[tuple[int, Callable[[], None]]] = []
        for number, (stream, *_) in enumerate(self._timed):
            if self._wanted[number]:
                senders.append((1 << number, stream.send_filled))
                for target, source, added, offset, sign in stream.copies():
                    laws.append((offset, sign))
                    arrays += [target, source, added]
                    rows.append(
                        [
                            number,
                            address_of(target),
                            address_of(source),
                            0 if added is None else address_of(added),
                            len(target),
                        ]
                    )
        copies = np.array(rows, np.int64).reshape(-1, COPY_SIZE)
        run = fill.prepare(
            self._messages,
            copies,
            np.array(laws, float).reshape(-1, LAW_SIZE),
            self._latest,
            0,
            0,
            self._time_step_ns,
            is_short=True,
        )
        self._plan = _Plan(run, run.words, run.argument_words, arrays, senders, {})

    def restart(self, time_ns: int) -> None:
        """Continue from this time [ns] and from the present samples."""
        for number, (_, due) in enumerate(self._timed):
            self._latest[number] = (
                due.period_of(time_ns) if isinstance(due, Rate) else due.sample_step
            )


def outboxes(timed: Sequence[Timed], time_step_ns: int) -> list[Outbox]:
    """Return as many outboxes as the streams need."""
    return [
        Outbox(timed[first : first + MOST_MESSAGES], time_step_ns)
        for first in range(0, len(timed), MOST_MESSAGES)
    ]


def _message_row(timed: Timed) -> list[int]:
    stream, due = timed
    stamp_at = address_of(stream.message.stamp_word)
    if isinstance(due, Rate):
        return [due.period_ns, 0, stamp_at]
    return [0, address_of(due.memory.step), stamp_at]
