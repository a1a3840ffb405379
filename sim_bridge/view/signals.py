"""What a page is told of sensors: their values, by names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.sensors.devices import Device, UnknownQuantityError
from sim_bridge.world.world import World

_UNITS = {
    'force': 'N',
    'torque': 'N m',
    'angular_velocity': 'rad/s',
    'linear_acceleration': 'm/s²',
    'orientation': '',
    'magnetic_field': 'T',
    'range': 'm',
}
_MOST = 16
"""Channels of a quantity that are shown; lidars have more."""


def signals_of(world: World) -> tuple[tuple[str, ...], tuple[FloatArray, ...]]:
    """Return the names of all channels of a world's sensors, and the arrays of their values."""
    names: list[str] = []
    arrays: list[FloatArray] = []
    for robot in world.robots.values():
        for device in robot.devices():
            for quantity, values in _quantities(device):
                unit = f' [{_UNITS[quantity]}]' if _UNITS[quantity] else ''
                what = f'{robot.name}/{device.name} {quantity.replace("_", " ")}'
                names += [f'{what}{channel}{unit}' for channel in _channels(len(values))]
                arrays.append(values)
    return tuple(names), tuple(arrays)


def _quantities(device: Device) -> Iterator[tuple[str, FloatArray]]:
    for quantity in _UNITS:
        with suppress(UnknownQuantityError):
            values = device[quantity]
            if len(values) <= _MOST:
                yield quantity, values


def _channels(count: int) -> list[str]:
    if count == 1:
        return ['']
    return [f' {each}' for each in ('xyzw'[:count] if count <= 4 else range(count))]
