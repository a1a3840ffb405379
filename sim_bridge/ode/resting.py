"""Auto-disable, of all bodies or of one: the part that a world and a body have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sim_bridge.foundation.validation import truth
from sim_bridge.simulation.records import Sleep


class AutoDisable:
    """Whether and when bodies at rest fall asleep, by ODE's names."""

    def _resting(self) -> tuple[bool, Sleep]:
        """Return whether, and when."""
        raise NotImplementedError

    def _rest(self, flag: bool, sleep: Sleep) -> None:
        """Take these."""
        raise NotImplementedError

    def _change(self, **changed: Any) -> None:
        flag, sleep = self._resting()
        self._rest(flag, replace(sleep, **changed))

    def setAutoDisableFlag(self, flag: bool) -> None:
        """Set whether what rests falls asleep."""
        self._rest(truth('flag', bool(flag)), self._resting()[1])

    def getAutoDisableFlag(self) -> bool:
        """Return whether it does."""
        return self._resting()[0]

    def setAutoDisableLinearThreshold(self, threshold: float) -> None:
        """Set the speed of rest [m/s]."""
        self._change(linear=threshold)

    def getAutoDisableLinearThreshold(self) -> float:
        """Return the speed of rest."""
        return self._resting()[1].linear

    def setAutoDisableAngularThreshold(self, threshold: float) -> None:
        """Set the angular speed of rest [rad/s]."""
        self._change(angular=threshold)

    def getAutoDisableAngularThreshold(self) -> float:
        """Return the angular speed of rest."""
        return self._resting()[1].angular

    def setAutoDisableSteps(self, steps: int) -> None:
        """Set for how many steps a body must rest."""
        self._change(steps=steps)

    def getAutoDisableSteps(self) -> int:
        """Return how many steps."""
        return self._resting()[1].steps

    def setAutoDisableTime(self, time: float) -> None:
        """Set for how long a body must rest [s]."""
        self._change(time=time)

    def getAutoDisableTime(self) -> float:
        """Return how long."""
        return self._resting()[1].time

    def setAutoDisableAverageSamplesCount(self, count: int) -> None:
        """Set of how many steps the mean velocity counts."""
        self._change(average_samples=count)

    def getAutoDisableAverageSamplesCount(self) -> int:
        """Return of how many steps."""
        return self._resting()[1].average_samples
