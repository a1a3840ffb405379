"""A world and its robots' interfaces: what one control step is, threads and real time apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_bridge.ros.messages import pack_stamp
from sim_bridge.ros.publishers import clock_stream, Rate
from sim_bridge.ros.robot_interface import RobotInterface
from sim_bridge.ros.solver_statistics import SolverStatistics
from sim_bridge.ros.world_interface import WorldInterface

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.ros.loading import LoadedWorld
    from sim_bridge.ros.parameters import SimulatorParameters

# /clock must never say 0, which ROS reads as "no time yet"
_EARLIEST_NS = 1


class Simulator:
    """Takes control steps: commands in, physics, messages out, /clock last."""

    def __init__(self, node: Node, loaded: LoadedWorld, parameters: SimulatorParameters) -> None:
        """Create the interfaces of every robot and of the world they are in, and /clock."""
        self.world = loaded.world
        self.interfaces = [RobotInterface(node, each, parameters) for each in loaded.robots]
        prefixes = {each.robot.name: each.prefix for each in loaded.robots}
        self.world_interface = WorldInterface(node, loaded.world, parameters, prefixes)
        self.solver_statistics = SolverStatistics()
        self._substeps = parameters.substeps
        self._clock = clock_stream(node)
        self._clock_rate = Rate(parameters.clock_rate)

    @property
    def time_ns(self) -> int:
        """Simulated time as it is published [ns]."""
        return max(self.world.step_count * self.world.time_step_ns, _EARLIEST_NS)

    def tick(self) -> None:
        """Take one control step and publish what it brought. Raises SimulationError."""
        now = self.time_ns
        for interface in self.interfaces:
            interface.commands.apply(now)
        self.world.step(self._substeps)
        self.solver_statistics.record(self.world.report)
        time_ns = self.time_ns
        stamp = pack_stamp(time_ns)
        for interface in self.interfaces:
            interface.publish(time_ns, stamp)
        self.world_interface.publish(time_ns, stamp)
        if self._clock_rate.is_due(time_ns):
            self._clock.publish(stamp)

    def publish_clock(self) -> None:
        """Publish /clock as it stands, for those who come while the simulation is paused."""
        self._clock.publish(pack_stamp(self.time_ns))

    def reset(self, clock: bool) -> None:
        """
        Put all robots back to where they started.

        clock: set the simulated time back to 0, too.
        """
        self.world.reset(time=clock)
        self._clock_rate.restart(self.time_ns)
        for interface in self.interfaces:
            interface.restart()
        self.world_interface.restart()

    def refresh(self) -> None:
        """Look which topics somebody subscribes to."""
        self._clock.refresh()
        for interface in self.interfaces:
            interface.refresh()
        self.world_interface.refresh()
