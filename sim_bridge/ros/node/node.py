"""The `sim_bridge` node: wires parameters, world, physics thread, topics and services together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from sim_bridge.foundation.errors import RecordingError, SimBridgeError, StateError
from sim_bridge.ros.command.joint_controls import JointControls
from sim_bridge.ros.params import parameter_table
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.process import realtime
from sim_bridge.ros.process.deferred import DeferredServices
from sim_bridge.ros.process.delivery import await_delivery
from sim_bridge.ros.process.entity_scope import NodePart
from sim_bridge.ros.process.executor_calls import ExecutorCalls
from sim_bridge.ros.process.pacer import Pacer
from sim_bridge.ros.process.polling import PollingNode
from sim_bridge.ros.publish.kernel_reports import reporting_kernels
from sim_bridge.ros.publish.sinks import GraphSink, Tee
from sim_bridge.ros.services.entities import Entities
from sim_bridge.ros.services.services import Services
from sim_bridge.ros.services.simulation_control import Conductor
from sim_bridge.ros.services.standard import offer_standard_services
from sim_bridge.ros.session.diagnostics import Diagnostics
from sim_bridge.ros.session.loading import load_world
from sim_bridge.ros.session.simulator import Simulator

# how soon a new subscriber gets its first message [s]
_REFRESH_PERIOD_S = 0.05


class SimBridge:
    """Simulates what the parameters of a node say, from the moment it is made until `close`."""

    node_type: type[Node] = PollingNode

    def __init__(self, node: PollingNode) -> None:
        """
        Load, compile, then announce topics and services and start to simulate.

        Raises DescriptionError or another SimBridgeError if a parameter or the robot's description
        is no good.
        """
        self._node = node
        self._made = NodePart(node)
        self.pacer: Pacer | None = None
        self._controls: JointControls | None = None
        self._closing: list[Callable[[], None]] = []
        self.parameters = parameter_table.declare(node, SimulatorParameters, self._apply)
        self.begin()

    def begin(self) -> None:
        """Do what is to be done at once; raises as `load`."""
        self.load()

    def load(self, is_active: bool = True) -> None:
        """
        Load and compile, announce topics and services, and start.

        is_active: if not, it stands still and cannot be run. Raises SimBridgeError.
        """
        with reporting_kernels(self._node), self._made.collecting():
            self._build(is_active)
        realtime.settle_process()
        self.pacer.start()
        # rclpy's first line takes as long as forty steps: it looks for the caller's source
        self._announce(is_active)

    def unload(self) -> None:
        """Stop simulating, and take back what was announced; on the executor's thread."""
        self.close()
        if self._controls is not None:
            self._controls.close()
            self._simulator.close()
        self._made.destroy()
        self.pacer = self._controls = None

    def close(self) -> None:
        """Stop simulating."""
        for close in self._closing:
            close()
        self._closing.clear()

    def _build(self, is_active: bool) -> None:
        node, parameters = self._node, self.parameters
        self._simulator = simulator = self._make_simulator()
        self._closing.append(simulator.journal.close)
        simulator.listen(node)
        self._controls = JointControls(node, simulator.interfaces, parameters)
        self.pacer = Pacer(
            realtime.uninterrupted(simulator.tick),
            parameters.tick_ns,
            real_time_factor=parameters.real_time_factor,
            paused=parameters.paused or not is_active,
            attend=simulator.poll,
            idle=simulator.publish_clock,
            is_ready=simulator.is_ready,
            on_start=self._settle_thread,
            on_rush=self._schedule_thread,
            on_error=self._report,
        )
        simulator.lockstep.on_answer = self.pacer.wake
        calls = ExecutorCalls(node)
        entities = Entities(
            simulator, self._controls, self.pacer, calls, parameters, node)
        # whoever waits for the executor's thread is not to wait for this one
        self._closing[:0] = [calls.close, entities.close, self.pacer.stop]
        self.conductor = Conductor(
            node, self.pacer, simulator, entities, self._controls, calls,
            lambda: self.parameters.reset_clock, is_active)
        # whoever subscribed before a request is to get what follows from it
        services = DeferredServices(node, self.pacer, simulator.refresh)
        # whoever waits for an answer gets one while there is something to give it with
        error = StateError('the simulation is being unloaded')
        self._closing += [
            lambda: services.close(error), lambda: simulator.dismiss(str(error)), await_delivery]
        Services(services, self.conductor, simulator, lambda: self.parameters)
        offer_standard_services(
            node, services, self.conductor, entities, simulator, calls)
        Diagnostics(node, self.pacer, simulator, parameters.diagnostics_rate)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(_REFRESH_PERIOD_S, simulator.refresh, clock=steady)

    def _make_simulator(self) -> Simulator:
        """Load the world and open its topics, in a bag too if one is asked for."""
        node, parameters = self._node, self.parameters
        graph = GraphSink(node, parameters.real_time_factor)
        loaded = load_world(parameters)
        if not parameters.record:
            return Simulator(graph, loaded, parameters)
        # imported here, since it takes time that few need to spend
        from sim_bridge.ros.bag.bag_sink import BagSink
        from sim_bridge.ros.bag.recorder import free_folder, Recorder
        from sim_bridge.ros.bag.recording import Recording

        def complain(error: RecordingError) -> None:
            node.get_logger().error(f'{error}. The simulation goes on')

        # whoever starts again, or configures again, is to lose neither the old bag nor the new
        asked = Path(parameters.record).expanduser()
        folder = free_folder(asked)
        recorder = Recorder(folder, on_error=complain)
        try:
            bag = BagSink(recorder, node.resolve_topic_name, parameters.record_topics)
            simulator = Simulator(Tee(graph, bag), loaded, parameters)
            Recording(bag, simulator, loaded, parameters, node.get_namespace())
        except SimBridgeError:
            recorder.discard()
            raise
        why = '' if folder == asked else f', since there is a {asked} already'
        node.get_logger().info(f'recording to {folder}{why}')
        return simulator

    def _apply(self, parameters: SimulatorParameters) -> None:
        """Take over parameters that were set while running."""
        self.parameters = parameters
        if self.pacer is not None:
            self.pacer.real_time_factor = parameters.real_time_factor
            self.pacer.submit(self._schedule_thread)

    def _settle_thread(self) -> None:
        realtime.settle_thread('physics')
        self._schedule_thread()

    def _schedule_thread(self) -> None:
        # a thread that never sleeps must not go before all others
        is_paced = self.parameters.real_time_factor > 0.0 and not self.pacer.is_rushing
        realtime.schedule_thread(self.parameters.realtime_priority if is_paced else 0)

    def _report(self, error: Exception) -> None:
        self._node.get_logger().error(
            f'paused, because a step failed: {type(error).__name__}: {error}'
        )

    def _announce(self, is_active: bool) -> None:
        parameters = self.parameters
        factor = parameters.real_time_factor
        robots = ', '.join(
            f'{interface.robot.name!r} ({_count(len(interface.robot.joint_names), "joint")}, '
            f'{_count(len(interface.topics), "topic")} of readings)'
            for interface in self._simulator.interfaces
        )
        objects = len(self._simulator.world.robots) - len(self._simulator.interfaces)
        pace = f'{factor:g} x real time' if factor else 'as fast as possible'
        state = '' if is_active else ', inactive'
        state += ', paused' if parameters.paused else ''
        self._node.get_logger().info(
            f'ready: {robots or "no robot"}, {_count(objects, "other object")}, '
            f'{parameters.rate:g} Hz, {pace}{state}'
        )


def _count(number: int, what: str) -> str:
    return f'{number} {what}{"" if number == 1 else "s"}'
