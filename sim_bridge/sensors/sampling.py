"""The devices of a world, as kernels see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.compiler.memory import address_of
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.step_and_sample import DEVICE_SIZE, NOISE


class Mounted(NamedTuple):
    """
    A device in a world.

    site, turned_site: rows of `engine.pipeline.observe`, its own and that of the frame whose axes
    its force and torque are in; -1 for its own.
    """

    device: Device
    site: int
    turned_site: int


class Sampling:
    """
    The devices that are sampled after those steps whose number is a multiple of their periods.

    devices: in their order. table: (n, DEVICE_SIZE) a row for each, as `step_and_sample` has it.
    """

    def __init__(self, mounted: Sequence[Mounted]) -> None:
        """Note where everything is, which stays there as long as the devices are."""
        self.devices = [each.device for each in mounted]
        self.table = np.array([_row(each) for each in mounted], np.int64).reshape(-1, DEVICE_SIZE)

    def prepare(self, step: int) -> None:
        """Have random numbers ready for what is due after a step."""
        for device in self.devices:
            if step % device.period == 0:
                device.prepare(step)


def _row(mounted: Mounted) -> list[int]:
    device, site, turned_site = mounted
    sample, step = device.memory
    noises = [number for noise, at in device.noises for number in (address_of(noise.record), at)]
    nothing = [0] * (2 * len(NOISE) - len(noises))
    return [
        device.period, device.is_silent, device.kind, site, turned_site, int(device.sign),
        sample.shape[1], address_of(sample), address_of(step), *noises, *nothing]
