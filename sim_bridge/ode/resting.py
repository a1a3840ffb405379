"""Auto-disable: common part of world and body."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sim_bridge.foundation.validation import truth
from sim_bridge.simulation.records import Sleep


class AutoDisable:
    """Settings for sleep of bodies at rest, with ODE's names."""

    def _resting(self) -> tuple[bool, Sleep]:
        """Return the flag and the thresholds."""
        raise NotImplementedError

    def _rest(self, flag: bool, sleep: Sleep) -> None:
        """Set the flag and the thresholds."""
        raise NotImplementedError

    def _change(self, **changed: Any) -> None:
        flag, sleep = self._resting()
        self._rest(flag, replace(sleep, **changed))

    def setAutoDisableFlag(self, flag: bool) -> None:
        """Set whether bodies at rest fall asleep."""
        self._rest(truth('flag', bool(flag)), self._resting()[1])

    def getAutoDisableFlag(self) -> bool:
        """Return whether bodies at rest fall asleep."""
        return self._resting()[0]

    def setAutoDisableLinearThreshold(self, threshold: float) -> None:
        """Set the greatest speed at rest [m/s]."""
        self._change(linear=threshold)

    def getAutoDisableLinearThreshold(self) -> float:
        """Return the greatest speed at rest [m/s]."""
        return self._resting()[1].linear

    def setAutoDisableAngularThreshold(self, threshold: float) -> None:
        """Set the greatest angular speed at rest [rad/s]."""
        self._change(angular=threshold)

    def getAutoDisableAngularThreshold(self) -> float:
        """Return the greatest angular speed at rest [rad/s]."""
        return self._resting()[1].angular

    def setAutoDisableSteps(self, steps: int) -> None:
        """Set the number of steps at rest before sleep."""
        self._change(steps=steps)

    def getAutoDisableSteps(self) -> int:
        """Return the number of steps at rest before sleep."""
        return self._resting()[1].steps

    def setAutoDisableTime(self, time: float) -> None:
        """Set the time at rest before sleep [s]."""
        self._change(time=time)

    def getAutoDisableTime(self) -> float:
        """Return the time at rest before sleep [s]."""
        return self._resting()[1].time

    def setAutoDisableAverageSamplesCount(self, count: int) -> None:
        """Set the number of steps over which the velocity is averaged."""
        self._change(average_samples=count)

    def getAutoDisableAverageSamplesCount(self) -> int:
        """Return the number of steps over which the velocity is averaged."""
        return self._resting()[1].average_samples
