"""The age of a robot's latest command, and its timeout."""

from __future__ import annotations


class CommandTimeout:
    """
    Tracks when the latest command was applied.

    policy: 'zero', 'hold' or 'last'. is_over: whether the latest command has timed out.
    """

    def __init__(self, limit_ns: int, policy: str) -> None:
        """Start without a command. limit_ns: age at which a command times out [ns], 0: never."""
        self._limit_ns = limit_ns
        self.policy = policy
        self.applied_at_ns: int | None = None
        """Simulated time of the latest applied command [ns]; None before the first."""
        self.is_over = False

    @property
    def has_limit(self) -> bool:
        """Whether commands time out."""
        return self._limit_ns > 0

    def age_ns(self, time_ns: int) -> int | None:
        """Return the age of the latest command [ns]; None before the first."""
        applied_at = self.applied_at_ns
        return None if applied_at is None else time_ns - applied_at

    def restart(self) -> None:
        """Forget the latest command."""
        self.applied_at_ns, self.is_over = None, False

    def restore(self, age_ns: int | None, is_over: bool, time_ns: int) -> None:
        """Take age [ns] and state from a snapshot. time_ns: current simulated time [ns]."""
        self.applied_at_ns = None if age_ns is None else time_ns - age_ns
        self.is_over = is_over

    def apply(self, time_ns: int) -> None:
        """Note that a command was applied at this simulated time [ns]."""
        self.applied_at_ns, self.is_over = time_ns, False

    def shift(self, by_ns: int) -> None:
        """Keep the age while the simulated time jumps by this much [ns]."""
        if self.applied_at_ns is not None:
            self.applied_at_ns += by_ns

    def is_due(self, time_ns: int, is_abandoned: bool) -> bool:
        """
        Return whether the latest command times out now.

        time_ns: simulated time [ns]. is_abandoned: whether its publishers have left the graph.
        """
        return (
            self._limit_ns > 0
            and self.applied_at_ns is not None
            and not self.is_over
            and (is_abandoned or time_ns - self.applied_at_ns >= self._limit_ns)
        )
