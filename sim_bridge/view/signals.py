"""Sensor signals on the page: a name for each channel, and its value array."""

from __future__ import annotations

from collections.abc import Iterator

from sim_bridge.description.sensor_kinds import Quantity
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.sensors.devices import Device
from sim_bridge.world.world import World

_MOST = 16
"""Most channels of a quantity on the page; lidars have more and are left out."""


def signals_of(world: World) -> tuple[tuple[str, ...], tuple[FloatArray, ...]]:
    """Return the channel names for a world's sensors, and their value arrays."""
    names: list[str] = []
    arrays: list[FloatArray] = []
    for robot in world.robots.values():
        for device in robot.devices():
            for quantity, values in _quantities(device):
                unit = f' [{quantity.unit}]' if quantity.unit else ''
                signal = f'{robot.name}/{device.name} {quantity.name.replace("_", " ")}'
                names += [f'{signal}{channel}{unit}' for channel in _channels(len(values))]
                arrays.append(values)
    return tuple(names), tuple(arrays)


def _quantities(device: Device) -> Iterator[tuple[Quantity, FloatArray]]:
    """Yield the quantities and their values, quantities with noise first."""
    for quantity in sorted(device.kind.quantities, key=lambda each: not each.has_noise):
        values = device[quantity.name]
        if len(values) <= _MOST:
            yield quantity, values


def _channels(count: int) -> list[str]:
    if count == 1:
        return ['']
    return [f' {each}' for each in ('xyzw'[:count] if count <= 4 else range(count))]
