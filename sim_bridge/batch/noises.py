"""Noise generators for all worlds in a batch, and their entries in the device table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim_bridge.batch.rows import DEVICES, Rows
from sim_bridge.compiler.memory import address_of
from sim_bridge.sensors.columns import NOISE, SAMPLE_AT, STEP_AT
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.noise import Noise

# random numbers drawn ahead: limit for all generators together, most and least for one of them
_TOGETHER, _MOST, _LEAST = 1 << 25, 4096, 64


class Noises:
    """
    Noise generators for all devices in all worlds.

    Each world has the same noise as a single world with its seed: no generator is shared.
    """

    def __init__(self, devices: Sequence[Device], seeds: Sequence[int]) -> None:
        """Create the generators for devices in worlds with these seeds."""
        self._devices, self._seeds = devices, seeds
        sources = [[noise for noise, _ in device.noises] for device in devices]
        number = len(seeds) * sum(map(len, sources))
        most = min(max(_TOGETHER // max(number, 1), _LEAST), _MOST)
        self._of: list[list[list[Noise]]] = (
            [
                [[noise.twin(seed, most) for noise in noises] for noises in sources]
                for seed in seeds
            ]
            if number
            else []
        )

    def connect(self, rows: Rows) -> None:
        """Write sample and noise generator addresses into the device table."""
        worlds = np.arange(rows.n)
        table = rows.all[DEVICES]
        for number in range(len(self._devices)):
            for name, column in ((f'sample {number}', SAMPLE_AT), (f'step {number}', STEP_AT)):
                array = rows.all[name]
                table[:, number, column] = address_of(array) + worlds * array.strides[0]
        for world, devices in enumerate(self._of):
            for number, noises in enumerate(devices):
                for noise, column in zip(noises, NOISE, strict=False):
                    table[world, number, column] = address_of(noise.record)

    def prepare(self, world: int, step: int, rows: Rows) -> None:
        """Draw the random numbers for the measurements due in a world after a step."""
        for number, (device, noises) in enumerate(
            zip(self._devices, self._of[world], strict=True)
        ):
            if step % device.period == 0:
                device.prepare_noises(noises, step, int(rows.all[f'step {number}'][world, 0]))

    def reset(self, worlds: np.ndarray) -> None:
        """Restart the worlds' noise."""
        for world in worlds.tolist() if self._of else ():
            for noises in self._of[world]:
                for noise in noises:
                    noise.reset(self._seeds[world])

    def put(self, world: int, devices: Sequence[Device]) -> None:
        """Copy a world's noise state to a simulation's devices."""
        for device, noises in zip(devices, self._of[world] if self._of else (), strict=False):
            for (own, _), noise in zip(device.noises, noises, strict=True):
                own.restore(noise.state())
