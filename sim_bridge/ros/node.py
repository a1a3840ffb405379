"""The `sim_bridge` node: wires parameters, world, physics thread, topics and services together."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from sim_bridge.ros import parameter_table, process, realtime
from sim_bridge.ros.diagnostics import Diagnostics
from sim_bridge.ros.joint_controls import JointControls
from sim_bridge.ros.loading import load_world
from sim_bridge.ros.pacer import Pacer
from sim_bridge.ros.parameters import SimulatorParameters
from sim_bridge.ros.services import Services
from sim_bridge.ros.simulator import Simulator

# how soon a new subscriber gets its first message [s]
_REFRESH_PERIOD_S = 0.05


class SimBridge:
    """Simulates what the parameters of a node say, from the moment it is made until `close`."""

    def __init__(self, node: Node) -> None:
        """
        Load, compile, then announce topics and services and start to simulate.

        Raises DescriptionError or another SimBridgeError if a parameter or the robot's description
        is no good.
        """
        self._node = node
        self._pacer: Pacer | None = None
        self._parameters = parameter_table.declare(node, SimulatorParameters, self._apply)
        self._simulator = Simulator(node, load_world(self._parameters), self._parameters)
        self._controls = JointControls(node, self._simulator.interfaces, self._parameters)
        self._pacer = Pacer(
            self._simulator.tick,
            self._parameters.tick_ns,
            real_time_factor=self._parameters.real_time_factor,
            paused=self._parameters.paused,
            idle=self._simulator.publish_clock,
            on_start=self._settle_thread,
            on_error=self._report,
        )
        self._services = Services(node, self._pacer, self._simulator, lambda: self._parameters)
        self._diagnostics = Diagnostics(
            node, self._pacer, self._simulator, self._parameters.diagnostics_rate
        )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(_REFRESH_PERIOD_S, self._simulator.refresh, clock=steady)
        realtime.settle_process()
        self._announce()
        self._pacer.start()

    def close(self) -> None:
        """Stop simulating."""
        self._pacer.stop()

    def _apply(self, parameters: SimulatorParameters) -> None:
        """Take over parameters that were set while running."""
        self._parameters = parameters
        if self._pacer is not None:
            self._pacer.real_time_factor = parameters.real_time_factor
            self._pacer.submit(self._schedule_thread)

    def _settle_thread(self) -> None:
        realtime.settle_thread()
        self._schedule_thread()

    def _schedule_thread(self) -> None:
        # a thread that never sleeps must not go before all others
        is_paced = self._parameters.real_time_factor > 0.0
        realtime.schedule_thread(self._parameters.realtime_priority if is_paced else 0)

    def _report(self, error: Exception) -> None:
        self._node.get_logger().error(
            f'paused, because a step failed: {type(error).__name__}: {error}'
        )

    def _announce(self) -> None:
        parameters = self._parameters
        factor = parameters.real_time_factor
        robots = ', '.join(
            f'{interface.robot.name!r} ({len(interface.robot.joint_names)} joints, '
            f'{len(interface.topics)} topics)'
            for interface in self._simulator.interfaces
        )
        objects = len(self._simulator.world.robots) - len(self._simulator.interfaces)
        pace = f'{factor:g} x real time' if factor else 'as fast as possible'
        state = ', paused' if parameters.paused else ''
        self._node.get_logger().info(
            f'ready: {robots or "no robot"}, {objects} other objects, {parameters.rate:g} Hz, '
            f'{pace}{state}'
        )


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code of the process."""
    return process.run('sim_bridge', SimBridge, args)
