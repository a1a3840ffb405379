"""
Steps in lockstep with command sources.

A control step is taken once every command source has answered the current joint states with a
command carrying their stamp. The sources' behaviour then depends only on received messages: closed
loops over topics are bit-reproducible at any speed and under any load.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
import threading
import time

from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError

# separates topic and header.frame_id in a source's name; topic names cannot contain it
_SEPARATOR = ':'

# wall time without an answer until a state is published again [s]
_ASK_AGAIN_S = 0.5


@dataclass
class LockstepCounts:
    """
    Counts of answers so far.

    answered: accepted. late: rejected, since their state was already answered or given up.
    timeouts: steps taken without answers from all sources.
    """

    answered: int = 0
    late: int = 0
    timeouts: int = 0


class FreeRunning:
    """Waits for no source: commands take effect on arrival."""

    def __init__(self) -> None:
        """Start."""
        self.counts = LockstepCounts()
        self.on_answer: Callable[[], None] = lambda: None
        self.sources: Sequence[str] = ()
        self.missing: list[str] = []
        self.should_ask = False
        self.waited_s = 0.0

    def ask(self, topic: str, time_ns: int) -> None:
        """Do nothing."""

    def offer(self, topic: str, frame_id: str, time_ns: int, command: Callable[[], None]) -> None:
        """Apply the command at once."""
        command()

    def is_open(self) -> bool:
        """Return True."""
        return True

    def release(self) -> None:
        """Do nothing."""

    def restart(self) -> None:
        """Do nothing."""


class Lockstep:
    """
    Waits for answers from command sources, and applies them in the order of the sources.

    `offer` is called on the executor's thread, all other methods on the physics thread.
    """

    def __init__(
        self,
        sources: Sequence[str],
        topics: Collection[str],
        *,
        timeout_s: float = 0.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Start without waiting.

        sources: each a topic, or a topic, a colon and the header.frame_id of its messages. topics:
        valid topics. timeout_s: wall time [s] until a step is taken without the missing answers;
        0: never. now: returns the wall time [s].

        Raises UnknownNameError for another topic, InvalidValueError for a source named twice.
        """
        self.counts = LockstepCounts()
        self.on_answer: Callable[[], None] = lambda: None
        """Called when every source has answered; on the executor's thread."""
        self._timeout_s, self._now = timeout_s, now
        self._asked_at = self._waiting_since = 0.0
        self._latest = 0
        self._sources = [_source_of(text, topics) for text in sources]
        for source in self._sources:
            if self._sources.count(source) > 1:
                raise InvalidValueError('parameter lockstep', list(sources), 'each source once')
        self.sources = [_name_of(source) for source in self._sources]
        """Names of all sources."""
        self._lock = threading.Lock()
        # guarded by the lock; for each source, the stamp to answer, and its command
        self._asked: dict[tuple[str, str], int] = {}
        self._answers: dict[tuple[str, str], Callable[[], None]] = {}

    @property
    def missing(self) -> list[str]:
        """Names of sources with missing answers."""
        with self._lock:
            return [
                _name_of(source)
                for source in self._sources
                if source in self._asked and source not in self._answers
            ]

    @property
    def waited_s(self) -> float:
        """Time since the lockstep began to wait for answers [s]."""
        return self._now() - self._waiting_since

    @property
    def should_ask(self) -> bool:
        """Whether no source was asked yet, or an unanswered question should be repeated."""
        if not self._latest:
            return True
        # A source may have just started. Without missing answers no state is repeated, so that
        # published states do not depend on wall time.
        return self._now() - self._asked_at > _ASK_AGAIN_S and bool(self.missing)

    def ask(self, topic: str, time_ns: int) -> None:
        """Expect answers to the state with this stamp [ns] from all sources on a command topic."""
        with self._lock:
            for source in self._sources:
                if source[0] == topic:
                    self._asked[source] = time_ns
        self._asked_at = self._now()
        if time_ns != self._latest:
            self._waiting_since, self._latest = self._asked_at, time_ns

    def offer(self, topic: str, frame_id: str, time_ns: int, command: Callable[[], None]) -> None:
        """
        Take a command answering a request to its source; `release` will call it.

        Raises UnknownNameError for an unlisted source, InvalidValueError for a stamp that no state
        had. Late commands are counted and dropped.
        """
        source = topic, frame_id
        if source not in self._sources:
            source = topic, ''
        if source not in self._sources:
            raise UnknownNameError(
                'source', _name_of((topic, frame_id)), self.sources, 'parameter lockstep'
            )
        with self._lock:
            is_answer = time_ns == self._asked.get(source) and source not in self._answers
            if is_answer:
                self._answers[source] = command
            is_complete = len(self._answers) == len(self._asked)
        if is_answer:
            self.counts.answered += 1
            if is_complete:
                self.on_answer()
        elif 0 < time_ns <= self._latest:
            self.counts.late += 1
        else:
            raise InvalidValueError(
                'header.stamp',
                time_ns,
                'the stamp [ns] of the joint_states that it answers, in lockstep; the latest is '
                f'{self._latest}',
                topic,
            )

    def is_open(self) -> bool:
        """Return whether the next step can be taken: all have answered or timed out."""
        with self._lock:
            if len(self._answers) == len(self._asked):
                return True
        return 0.0 < self._timeout_s <= self.waited_s

    def release(self) -> None:
        """Apply the answers in the order of the sources, and expect none."""
        with self._lock:
            answers, self._answers = self._answers, {}
            self.counts.timeouts += len(answers) < len(self._asked)
            self._asked = {}
        for source in self._sources:
            if source in answers:
                answers[source]()

    def restart(self) -> None:
        """Drop all requests and answers."""
        with self._lock:
            self._answers, self._asked = {}, {}
        self._latest = 0


LockstepPolicy = Lockstep | FreeRunning
"""Decides whether a control step may be taken."""


def _source_of(text: str, topics: Collection[str]) -> tuple[str, str]:
    topic, _, frame_id = text.partition(_SEPARATOR)
    if topic not in topics:
        raise UnknownNameError('command topic', topic, topics, 'parameter lockstep')
    return topic, frame_id


def _name_of(source: tuple[str, str]) -> str:
    return _SEPARATOR.join(source) if source[1] else source[0]
