"""A robot's batteries: charge and current, advanced by control steps, and their topics."""

from __future__ import annotations

from typing import NamedTuple, TYPE_CHECKING

from sensor_msgs.msg import BatteryState
from std_msgs.msg import Bool

from sim_bridge.robots.joints.motor import VELOCITY
from sim_bridge.ros.command.programs import Topic
from sim_bridge.ros.publish.streams import Rate, Stream
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.ros.wire.messages import unpack_stamp

if TYPE_CHECKING:
    from sim_bridge.description.batteries import BatteryDescription
    from sim_bridge.robots.robot import Robot
    from sim_bridge.ros.command.commands import RobotCommands
    from sim_bridge.ros.command.inputs import Message
    from sim_bridge.ros.publish.sinks import Sink

_RATE = 50.0  # the plugin's [Hz]
_HOUR = 3600.0  # [s]
_FULL = 0.9  # a battery is charged up to this share
_LEAST_VOLTAGE = 1e-3  # [V]


class SavedBattery(NamedTuple):
    """Battery state."""

    charge: float
    current: float
    voltage: float
    is_draining: bool
    is_charging: bool


class Battery:
    """
    One battery.

    charge: [A h]. current: drawn [A]. voltage: [V].
    """

    def __init__(self, description: BatteryDescription) -> None:
        """Begin with the initial charge."""
        self.description = description
        self.restart()

    def restart(self) -> None:
        """Go back to the initial charge."""
        own = self.description
        self.charge, self.current, self.voltage = own.charge, 0.0, own.voltage
        self.is_draining, self.is_charging = own.is_draining, False

    @property
    def share(self) -> float:
        """Charge over capacity, 0 to 1."""
        return self.charge / self.description.capacity

    def advance(self, step: float) -> None:
        """Advance by a time [s]."""
        own = self.description
        is_empty = self.share <= 0.0 or abs(self.voltage) < _LEAST_VOLTAGE
        if not (self.is_draining or self.is_charging) or (is_empty and not self.is_charging):
            return
        wanted = own.power / self.voltage if self.is_draining and self.voltage else 0.0
        if self.is_charging and own.charging_time and self.share < _FULL:
            wanted -= own.capacity / own.charging_time
        self.current += min(step / own.time_constant, 1.0) * (wanted - self.current)
        self.charge = max(self.charge - step * self.current / _HOUR, 0.0)
        open_voltage = own.constant + own.slope * (1.0 - self.share)
        self.voltage = open_voltage - own.resistance * self.current

    def save(self) -> SavedBattery:
        """Return the state for `restore`."""
        return SavedBattery(
            self.charge, self.current, self.voltage, self.is_draining, self.is_charging
        )

    def restore(self, saved: SavedBattery) -> None:
        """Return to a saved state."""
        self.charge, self.current, self.voltage, self.is_draining, self.is_charging = saved

    def stamped(self, stamp: bytes) -> BatteryState:
        """Return the message with a stamp."""
        own, message = self.description, BatteryState(present=True)
        message.header.stamp = unpack_stamp(stamp)
        message.voltage, message.charge, message.capacity = (
            self.voltage,
            self.charge,
            own.capacity,
        )
        message.current = -self.current if own.is_inverted else self.current
        message.percentage = self.share
        message.temperature = message.design_capacity = float('nan')
        message.power_supply_status = self._status()
        return message

    def _status(self) -> int:
        status = BatteryState.POWER_SUPPLY_STATUS_NOT_CHARGING
        if self.is_charging:
            status = BatteryState.POWER_SUPPLY_STATUS_CHARGING
        elif self.is_draining:
            status = BatteryState.POWER_SUPPLY_STATUS_DISCHARGING
        elif self.share > _FULL:
            status = BatteryState.POWER_SUPPLY_STATUS_FULL
        return int(status)


class Batteries:
    """One robot's batteries; topics: command topics."""

    def __init__(self, robot: Robot, commands: RobotCommands, prefix: str, step: float) -> None:
        """Begin. prefix: for the topics, '' or ending with a slash. step: control step [s]."""
        self._robot, self._commands, self._prefix, self._step = robot, commands, prefix, step
        description = robot.description
        known = () if description is None else description.batteries
        self.batteries = [Battery(each) for each in known]
        self.topics: list[Topic] = []
        for battery in self.batteries:
            own = battery.description
            for name in own.drain_topics:
                self._accept(name, battery, 'is_draining', True)
            for name in own.stop_topics:
                self._accept(name, battery, 'is_draining', False)
            if own.start_topic:
                self._accept(own.start_topic, battery, 'is_charging', True)
                self._accept(own.end_topic, battery, 'is_charging', False)

    def streams(self, sink: Sink) -> list[tuple[Stream, Rate]]:
        """Return the published topics and their schedules."""
        return [
            (
                Stream(
                    sink, self._prefix + each.description.topic, BatteryState, each, rate_hz=_RATE
                ),
                Rate(_RATE),
            )
            for each in self.batteries
        ]

    def advance(self) -> None:
        """Advance by one control step; any joint command starts the loads."""
        for battery in self.batteries:
            if not battery.is_draining and self._is_commanded():
                battery.is_draining = True
            battery.advance(self._step)

    def save(self, time_ns: int) -> tuple[SavedBattery, ...]:
        """Return the state for `restore`."""
        return tuple(each.save() for each in self.batteries)

    def restore(self, saved: tuple[SavedBattery, ...], time_ns: int) -> None:
        """Return to a saved state."""
        for battery, state in zip(self.batteries, saved, strict=True):
            battery.restore(state)

    def restart(self, time_ns: int, reason: str) -> None:
        """Go back to the initial charges."""
        for battery in self.batteries:
            battery.restart()

    def _is_commanded(self) -> bool:
        """Return whether any joint has a velocity or an effort to follow."""
        slot = self._robot.slot
        return bool(slot.u.any() or slot.target[:, VELOCITY].any())

    def _accept(self, name: str, battery: Battery, attribute: str, value: bool) -> None:
        """Set a battery's attribute by messages, whatever their contents."""

        def take(data: bytes, source: Message) -> None:
            deserialize(data, Bool)
            self._commands.queue.submit(
                lambda: setattr(battery, attribute, value), source, dropped=_drop
            )
            self._commands.timing.arrived(0)
            self._commands.counts.accepted += 1

        self.topics.append(Topic(self._prefix + name, Bool, take))


def _drop() -> None:
    """Write nothing."""
