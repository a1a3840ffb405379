"""When the devices of a world are sampled, and all that are due at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.calls import Call
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.readings import SIZE, take_readings


class Mounted(NamedTuple):
    """
    A device in a world.

    site, turned_site: rows of `engine.observe`, its own and that of the frame whose axes its force
    and torque are in; -1 for its own.
    """

    device: Device
    site: int
    turned_site: int


class Sampling:
    """Samples devices after those steps whose number is a multiple of their periods."""

    def __init__(self, mounted: Sequence[Mounted]) -> None:
        """Prepare for devices; `devices` lists them in their order."""
        self.devices = [each.device for each in mounted]
        in_turn = sorted(mounted, key=_period)
        self._groups = [_Group(period, list(each)) for period, each in groupby(in_turn, _period)]

    def next_stop(self, now: int, end: int) -> int:
        """
        Give the next step, at most `end`, after which devices must be sampled.

        Of noiseless ones the last sample before `end` is enough.
        """
        stop = end
        if end - now > 1:
            for group in self._groups:
                stop = min(stop, group.next_stop(now, end))
        return stop

    def sample(
        self, observe: Callable[[], np.ndarray], gravity: np.ndarray, step: int
    ) -> None:
        """
        Sample what is due after a step.

        observe: gives (ns, 30) the sites of `engine.observe`, where anything is due. gravity: (3,)
        [m/s²], world axes, which accelerometers feel.
        """
        due = [group for group in self._groups if step % group.period == 0]
        if due:
            sites = observe()
            for group in due:
                group.sample(sites, gravity, step)

    def warm_up(self, sites: np.ndarray, gravity: np.ndarray) -> None:
        """Compile or load what samples; no device changes."""
        for group in self._groups:
            group.measure(sites, gravity)


class _Group:
    """Devices of one period, in steps."""

    def __init__(self, period: int, mounted: Sequence[Mounted]) -> None:
        self.period = period
        self._is_silent = all(each.device.is_silent for each in mounted)
        self._kind = np.array([each.device.kind for each in mounted], np.int64)
        self._site = np.array([each.site for each in mounted], np.int64)
        self._turned_site = np.array([each.turned_site for each in mounted], np.int64)
        self._sign = np.array([each.device.sign for each in mounted])
        self._values = np.zeros((len(mounted), SIZE))
        self._take: Call | None = None
        # what it reads from
        self._sites = self._gravity = self._values
        self._rows = [
            (each.device, row[each.device.columns])
            for each, row in zip(mounted, self._values, strict=True)]

    def next_stop(self, now: int, end: int) -> int:
        due = (now // self.period + 1) * self.period
        return max(due, end // self.period * self.period) if self._is_silent else due

    def measure(self, sites: np.ndarray, gravity: np.ndarray) -> None:
        if self._take is None or sites is not self._sites or gravity is not self._gravity:
            self._sites, self._gravity = sites, gravity
            self._take = take_readings.prepare(
                self._kind, self._site, self._turned_site, self._sign, gravity, sites,
                self._values)
        self._take()

    def sample(self, sites: np.ndarray, gravity: np.ndarray, step: int) -> None:
        self.measure(sites, gravity)
        for device, values in self._rows:
            device.sample(values, step)


def _period(mounted: Mounted) -> int:
    return mounted.device.period
