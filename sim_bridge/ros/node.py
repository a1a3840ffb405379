"""The `sim_bridge` node: wires parameters, world, physics thread, topics and services together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from sim_bridge.errors import RecordingError, SimBridgeError
from sim_bridge.ros import parameter_table, process, realtime
from sim_bridge.ros.diagnostics import Diagnostics
from sim_bridge.ros.joint_controls import JointControls
from sim_bridge.ros.loading import load_world
from sim_bridge.ros.pacer import Pacer
from sim_bridge.ros.parameters import SimulatorParameters
from sim_bridge.ros.services import Services
from sim_bridge.ros.simulator import Simulator
from sim_bridge.ros.sinks import GraphSink, Tee

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
        node.get_logger().info('loading; a first start compiles, which takes minutes')
        self._simulator = self._make_simulator()
        self._simulator.listen(node)
        self._controls = JointControls(node, self._simulator.interfaces, self._parameters)
        self._pacer = Pacer(
            self._simulator.tick,
            self._parameters.tick_ns,
            real_time_factor=self._parameters.real_time_factor,
            paused=self._parameters.paused,
            idle=self._simulator.publish_clock,
            is_ready=self._simulator.is_ready,
            on_start=self._settle_thread,
            on_error=self._report,
        )
        if self._simulator.lockstep is not None:
            self._simulator.lockstep.on_answer = self._pacer.wake
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
        if self._simulator.recording is not None:
            self._simulator.recording.close()

    def _make_simulator(self) -> Simulator:
        """Load the world and open its topics, in a bag too if one is asked for."""
        node, parameters = self._node, self._parameters
        graph, loaded = GraphSink(node), load_world(parameters)
        if not parameters.record:
            return Simulator(graph, loaded, parameters)
        # imported here, since it takes time that few need to spend
        from sim_bridge.ros.bag.bag_sink import BagSink
        from sim_bridge.ros.bag.recorder import Recorder
        from sim_bridge.ros.bag.recording import Recording

        def complain(error: RecordingError) -> None:
            node.get_logger().error(f'{error}. The simulation goes on')

        folder = Path(parameters.record).expanduser()
        recorder = Recorder(folder, on_error=complain)
        try:
            bag = BagSink(recorder, node.get_namespace(), parameters.record_topics)
            simulator = Simulator(Tee(graph, bag), loaded, parameters)
            simulator.recording = Recording(
                bag, simulator, loaded, parameters, node.get_namespace(), node.resolve_topic_name)
        except SimBridgeError:
            recorder.discard()
            raise
        node.get_logger().info(f'recording to {folder}')
        return simulator

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
            f'{interface.robot.name!r} ({_count(len(interface.robot.joint_names), "joint")}, '
            f'{_count(len(interface.topics), "topic")} of readings)'
            for interface in self._simulator.interfaces
        )
        objects = len(self._simulator.world.robots) - len(self._simulator.interfaces)
        pace = f'{factor:g} x real time' if factor else 'as fast as possible'
        state = ', paused' if parameters.paused else ''
        self._node.get_logger().info(
            f'ready: {robots or "no robot"}, {_count(objects, "other object")}, '
            f'{parameters.rate:g} Hz, {pace}{state}'
        )


def _count(number: int, what: str) -> str:
    return f'{number} {what}{"" if number == 1 else "s"}'


def main(args: Sequence[str] | None = None) -> int:
    """Run the node; return the exit code of the process."""
    return process.run('sim_bridge', SimBridge, args)
