"""A world and its robots' interfaces: what one control step is, threads and real time apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sim_bridge as sb
from sim_bridge.description import find_robot, sensors_from_mapping
from sim_bridge.ros.messages import pack_stamp
from sim_bridge.ros.publishers import clock_stream, Rate
from sim_bridge.ros.robot_interface import RobotInterface

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.ros.parameters import SimulatorParameters

# /clock must never say 0, which ROS reads as "no time yet"
_EARLIEST_NS = 1


def load_world(parameters: SimulatorParameters) -> sb.World:
    """
    Build the world the parameters describe, with every kernel compiled.

    Raises DescriptionError, InvalidValueError or UnknownNameError.
    """
    world = sb.World(
        time_step=parameters.time_step_ns * 1e-9,
        gravity=parameters.gravity,
        seed=parameters.seed,
        integrator=parameters.integrator,
    )
    world.load_urdf(
        parameters.robot_description or find_robot(parameters.robot),
        name=parameters.robot_name or None,
        fixed_base=parameters.fixed_base,
        position=parameters.position,
        orientation=parameters.orientation,
        sensors=sensors_from_mapping(parameters.sensors),
        xacro_args=dict(argument.split(':=', 1) for argument in parameters.xacro_args),
        package_paths=parameters.package_paths,
    )
    world.warm_up()
    return world


class Simulator:
    """Takes control steps: commands in, physics, messages out, /clock last."""

    def __init__(self, node: Node, world: sb.World, parameters: SimulatorParameters) -> None:
        """Create the interface of every robot of the world, and /clock."""
        self.world = world
        self.interfaces = [
            RobotInterface(node, world, robot, parameters) for robot in world.robots.values()
        ]
        self._substeps = parameters.substeps
        self._clock = clock_stream(node)
        self._clock_rate = Rate(parameters.clock_rate)
        self.unconverged = 0
        self._most_pivots = 0

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
        report = self.world.report
        self._most_pivots = max(self._most_pivots, report.pivots)
        self.unconverged += not report.converged
        time_ns = self.time_ns
        stamp = pack_stamp(time_ns)
        for interface in self.interfaces:
            interface.publish(time_ns, stamp)
        if self._clock_rate.is_due(time_ns):
            self._clock.publish(stamp)

    def take_most_pivots(self) -> int:
        """Give the most pivots a step needed since the last call."""
        most, self._most_pivots = self._most_pivots, 0
        return most

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

    def refresh(self) -> None:
        """Look which topics somebody subscribes to."""
        self._clock.refresh()
        for interface in self.interfaces:
            interface.refresh()
