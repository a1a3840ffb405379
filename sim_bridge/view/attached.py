"""Page records for sensors and constraint joints."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim_bridge.page.records import LoopRecord, SensorRecord
from sim_bridge.robots.link import Link
from sim_bridge.sensors.devices import Device, ForceSensor
from sim_bridge.sensors.scanners import RaySensor
from sim_bridge.world.world import World

_NO_RAYS = np.zeros((0, 3))


def sensors_of(
    world: World, places: Mapping[int, int]
) -> tuple[tuple[SensorRecord, ...], tuple[np.ndarray, ...]]:
    """
    Return a world's sensor records, and the arrays with drawn sensor values.

    places: record index for each link, by its site.
    """
    records: list[SensorRecord] = []
    arrays: list[np.ndarray] = []
    row = 0
    for robot in world.robots.values():
        for device in robot.devices():
            kind, directions, reach = '', _NO_RAYS, 0.0
            if isinstance(device, RaySensor):
                kind, directions = 'rays', device.directions
                reach = device.rays.maximum
            elif isinstance(device, ForceSensor):
                kind = 'force'
            values = device.memory.sample[0] if kind else np.zeros(0)
            pose, axes = device.description.pose, _axes(device)
            is_own = axes is device.link
            records.append(
                SensorRecord(
                    device.name,
                    robot.name,
                    kind,
                    places[device.link.slot.site],
                    pose.position,
                    pose.rotation,
                    places[axes.slot.site],
                    pose.rotation if is_own and _has_own_axes(device) else np.eye(3),
                    row,
                    len(values),
                    directions,
                    reach,
                )
            )
            row += len(values)
            if kind:
                arrays.append(values)
    return tuple(records), tuple(arrays)


def _has_own_axes(device: Device) -> bool:
    return device.description.frame == 'sensor'


def _axes(device: Device) -> Link:
    """Return the link whose axes a wrench is expressed in, or that carries the sensor's axes."""
    parent = device.link.parent if device.description.frame == 'parent' else None
    return device.link if parent is None else parent


def loops_of(world: World, places: Mapping[int, int]) -> tuple[LoopRecord, ...]:
    """Return the records for constraint joints; places: see `sensors_of`."""
    found = []
    for key, backend in world.simulation.registry.constraints.items():
        joint = backend.joint
        ends = [(joint.link1, joint.anchor), (joint.link2, joint.anchor2)]
        found.append(
            LoopRecord(
                str(key),
                tuple(-1 if link is None else places[link.slot.site] for link, _ in ends),  # type: ignore[arg-type]
                tuple(
                    point if link is None else link.R.T @ (point - link.p) for link, point in ends
                ),
            )
        )
    return tuple(found)
