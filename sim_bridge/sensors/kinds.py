"""Device class for each sensor kind."""

from __future__ import annotations

from sim_bridge.description.sensor_kinds import SensorKind
from sim_bridge.sensors import cameras, contact_sensor, devices, places, scanners
from sim_bridge.sensors.devices import Device

DEVICES: dict[SensorKind, type[Device]] = {
    each.kind_of_class: each
    for module in (devices, contact_sensor, places, scanners, cameras)
    for each in vars(module).values()
    if isinstance(each, type) and issubclass(each, Device) and each.kind_of_class is not None
}
"""Classes by declared kind; a kind without a class has a plain `Device`."""
