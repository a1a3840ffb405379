"""Commands sent in answer to states from before a reset."""

from __future__ import annotations

# time after a reset in which late answers may arrive [ns]
_LATE_NS = 1_000_000_000


class LateAnswers:
    """
    Recognizes the stamps of states from before the last reset or restored snapshot.

    A controller's answer may arrive after the reset and would be taken for the first command.
    """

    def __init__(self) -> None:
        """Start without a reset."""
        # times before and after the last reset [ns]; None once no late answer can arrive
        self._reset: tuple[int, int] | None = None
        self._jumped_by_ns = 0

    @property
    def are_possible(self) -> bool:
        """Whether stamps must be checked with `is_outdated`."""
        return self._reset is not None

    def shift(self, by_ns: int) -> None:
        """Note a jump of the simulated time [ns], made just before the reset."""
        self._jumped_by_ns = by_ns

    def expect(self, time_ns: int) -> None:
        """Expect late answers from now on. time_ns: simulated time after the reset [ns]."""
        self._reset = time_ns - self._jumped_by_ns, time_ns

    def advance(self, time_ns: int) -> None:
        """Stop expecting late answers once their time is over. time_ns: simulated time [ns]."""
        if self._reset is not None and time_ns > self._reset[1] + _LATE_NS:
            self._reset = None

    def forget(self) -> None:
        """Expect no late answers."""
        self._reset = None

    def is_outdated(self, stamp_ns: int, time_ns: int) -> bool:
        """
        Return whether a stamp is from before the last reset.

        stamp_ns: simulated time in the stamp [ns], 0 for none. time_ns: simulated time [ns].
        """
        if self._reset is None or not stamp_ns:
            return False
        before, after = self._reset
        if not before - _LATE_NS < stamp_ns <= before:
            return False
        # A clock that was set back reaches the stamp a second time. Then the stamp belongs to the
        # time nearer to it: the time before the reset, or the present time.
        return before < after or before - stamp_ns < stamp_ns - time_ns
