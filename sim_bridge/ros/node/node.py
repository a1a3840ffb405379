"""The `sim_bridge` node: connects parameters, world, physics thread, topics and services."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import contextlib
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TYPE_CHECKING

from rclpy.clock import Clock, ClockType
from rclpy.parameter import Parameter

from sim_bridge.compiler.build import build_apart, listening, missing
from sim_bridge.compiler.unit import Unit
from sim_bridge.description.mechanism.base import AUTO
from sim_bridge.foundation.errors import (
    MissingPackageError,
    RecordingError,
    SimBridgeError,
    StateError,
)
from sim_bridge.foundation.names import counted
from sim_bridge.ros.camera.feed import CameraFeed
from sim_bridge.ros.command.joint_controls import JointControls
from sim_bridge.ros.interfaces.store import absence
from sim_bridge.ros.node.neighbours import Neighbours
from sim_bridge.ros.node.paced_simulation import PacedSimulation
from sim_bridge.ros.node.worlds import Worlds
from sim_bridge.ros.params.declaration import declare
from sim_bridge.ros.params.parameter_table import specifications
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.process import realtime
from sim_bridge.ros.process.background import Background
from sim_bridge.ros.process.deferred import DeferredServices, DELIVERY
from sim_bridge.ros.process.entity_scope import EntityScope
from sim_bridge.ros.process.executor_calls import ExecutorCalls
from sim_bridge.ros.process.lifeline import announce_ready
from sim_bridge.ros.process.pacer import Pacer
from sim_bridge.ros.process.polling import PollingMixin, PollingNode
from sim_bridge.ros.publish.kernel_reports import reporting_kernels
from sim_bridge.ros.publish.sinks import GraphSink, Tee
from sim_bridge.ros.services.controller_managers import ControllerManagers
from sim_bridge.ros.services.entities import Entities
from sim_bridge.ros.services.services import Services
from sim_bridge.ros.services.simulation_control import SimulationControl
from sim_bridge.ros.services.standard import offer_standard_services
from sim_bridge.ros.session.diagnostics import Diagnostics
from sim_bridge.ros.session.loading import load_world
from sim_bridge.ros.session.remarks import base_text, left_out_text, missing_place_text
from sim_bridge.ros.session.simulator import SETTINGS, Simulator
from sim_bridge.ros.wire.qos import optional_messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sim_bridge.description.scene.model import SceneDescription
    from sim_bridge.ros.page.live_page import LivePage

# longest delay of the first message to a new subscriber [s]
_REFRESH_PERIOD_S = 0.05


class SimBridge:
    """Runs the simulation described by a node's parameters, from construction until `close`."""

    node_type: type[PollingMixin] = PollingNode

    pacer: Pacer
    """Pacer of the physics thread, once loaded."""
    control: SimulationControl
    """Control to run, pause, step and reset the simulation, once loaded."""

    def __init__(self, node: PollingMixin) -> None:
        """
        Load and compile, then create topics and services and start to simulate.

        Raises DescriptionError or another SimBridgeError for an invalid parameter or robot
        description.
        """
        self._node = node
        # callbacks for ending the simulation, and for removing its entities from the graph
        self._running, self._announced = contextlib.ExitStack(), contextlib.ExitStack()
        self._paced: PacedSimulation | None = None
        # parameters for a world loaded later, by name
        self._others: dict[str, Any] = {}
        self.scene: SceneDescription | None = None
        self.parameters = declare(node, SimulatorParameters, self._prepare).in_namespace(
            node.get_namespace()
        )
        self._at_start = self._given = self.parameters
        self.worlds = Worlds(self)
        self.begin()

    @property
    def node(self) -> PollingMixin:
        """The node with all topics and services."""
        return self._node

    @property
    def has_world(self) -> bool:
        """Whether a world is loaded."""
        return self._paced is not None

    @property
    def why_no_loading(self) -> str:
        """Reason why no other world can be loaded now; '' for none."""
        return ''

    @property
    def given_world(self) -> str:
        """The parameter `world`, whether or not another world was loaded since."""
        return self._given.world

    def forget_other(self) -> None:
        """Load the world of the parameters next."""
        self._others, self.parameters = {}, self._given

    def load_other(self, values: Mapping[str, Any]) -> None:
        """
        Load another world, paused at its start; on the executor's thread, after `unload`.

        values: parameters by name, None for their defaults. Raises SimBridgeError, and then
        leaves nothing running.
        """
        known = specifications(SimulatorParameters)
        checked = {
            name: known[name].check(known[name].default if value is None else value)
            for name, value in values.items()
        }
        # settings of the former scene, which the parameters follow, do not stay
        self._set_parameters({name: getattr(self._at_start, name) for name in SETTINGS})
        self._others = {**checked, 'paused': True}
        self.parameters = replace(self._given, **self._others)
        self.load(self.is_active)

    @property
    def is_active(self) -> bool:
        """Whether a world may run."""
        return True

    def begin(self) -> None:
        """Load at once; raises the errors of `load`."""
        self.load()

    def load(self, is_active: bool = True) -> None:
        """
        Load and compile, create topics and services, and start.

        is_active: whether the simulation may run; otherwise it stands still. Raises
        SimBridgeError and then leaves nothing running.
        """
        scope = EntityScope(self._node)
        self._announced.callback(scope.destroy)
        try:
            # opened before reading and compiling, to show their progress
            page = self._open_page()
            listener = contextlib.nullcontext() if page is None else listening(page.report)
            with reporting_kernels(self._node), listener, scope.collecting():
                simulator = self._build(is_active, page)
            realtime.settle_process()
            # read before the start: afterwards the world belongs to the physics thread
            units = simulator.world.units
            self.pacer.start()
            self._compile_meanwhile(units)
            # logged after the start: rclpy's first log line takes as long as forty steps, since it
            # looks up the caller's source
            self._log_ready(simulator, is_active)
            self._log_left_out(simulator)
            announce_ready()
        except BaseException:
            # includes a signal: no other code can close the started parts yet
            self.close()
            raise

    def _compile_meanwhile(self, units: Sequence[Unit]) -> None:
        """Compile the missing kernel units in another process, ahead of their use."""
        later = missing(units)
        if later:
            self._node.get_logger().info(
                f'compiling {counted(len(later), "unit")} of contact kernels in the background'
            )
            background = Background()
            self._running.callback(background.close)
            background.submit(partial(build_apart, later))

    def unload(self) -> None:
        """Stop simulating, and destroy topics and services; on the executor's thread."""
        self.close()
        self._announced.close()

    def close(self) -> None:
        """Stop simulating."""
        self._paced = None
        self._running.close()

    def _open_page(self) -> LivePage | None:
        """Open the live page if requested; None if not, or if a package is missing."""
        if not self.parameters.view:
            return None
        # imported here to save start-up time
        from sim_bridge.ros.page.live_page import LivePage

        try:
            page = LivePage(self._node, self.parameters.view_port)
        except MissingPackageError as err:
            self._node.get_logger().error(f'{err}. The simulation goes on')
            return None
        self._running.callback(page.close)
        return page

    def _build(self, is_active: bool, page: LivePage | None) -> Simulator:
        """
        Create everything, from the world to the services.

        The parts are closed in reverse order. Threads waiting for the executor's thread are
        released, the physics thread ends, unanswered requests are refused while the services still
        exist, the recording ends with the last state, and clients are told about ended goals.
        """
        node, parameters = self._node, self.parameters
        closing, error = self._running.callback, StateError('the simulation is being unloaded')
        simulator = self._make_simulator()
        self.scene = simulator.scene
        self._announced.callback(simulator.close)
        closing(DELIVERY.wait)
        closing(simulator.retire, str(error))
        closing(simulator.journal.close)
        simulator.listen(node)
        cameras = CameraFeed(
            simulator.world,
            node,
            is_reliable=parameters.sensor_qos == 'reliable',
            waits=self._waits_for_cameras,
            keeps_hashes=bool(parameters.record) and parameters.record_images,
        )
        closing(cameras.close)
        simulator.feed_cameras(cameras)
        controls = JointControls(node, simulator.interfaces, parameters)
        self._announced.callback(controls.close)
        self._paced = paced = PacedSimulation(
            simulator,
            parameters,
            node.get_logger(),
            node.faults,
            parameters.paused or not is_active,
        )
        self.pacer = pacer = paced.pacer
        # A scene may override the parameters for the world's settings. It does not do so for
        # joints; the first step sets their control modes.
        self._read_back_settings(simulator)
        simulator.journal.watch_deadlines(lambda: pacer.statistics.missed)
        read_back = partial(self._read_back, controls, simulator)
        # refreshed before each request, so that earlier subscribers get its messages
        services = DeferredServices(node, pacer, simulator.refresh)
        closing(services.close, error)
        closing(pacer.stop)
        calls = ExecutorCalls(node)
        entities = Entities(simulator, controls, pacer, calls, parameters, node)
        closing(entities.close)
        closing(calls.close)
        self.control = control = SimulationControl(
            node,
            pacer,
            simulator,
            entities,
            read_back,
            calls,
            lambda: self.parameters.reset_clock,
            is_active,
        )
        Services(services, control, simulator, lambda: self.parameters, entities)
        offer_standard_services(node, services, control, entities, simulator, calls)
        entities.accompany(ControllerManagers(node, services, simulator, calls, read_back))
        if optional_messages('control_msgs', 'action') is None:
            node.get_logger().info(
                f'optional: no actions follow_joint_trajectory, since {absence("control_msgs")}'
            )
        Diagnostics(
            node,
            pacer,
            simulator,
            parameters.diagnostics_rate,
            None if page is None else page.show,
        )
        if page is not None:
            page.serve(simulator, pacer, services, control, calls, parameters)
            paced.watch(page.after_tick, page.meanwhile)
        Neighbours(node, parameters.publish_tf and parameters.publish_link_tf)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        node.create_timer(_REFRESH_PERIOD_S, simulator.refresh, clock=steady)
        return simulator

    def _waits_for_cameras(self) -> bool:
        """Return whether pictures are sent before their instant's /clock."""
        parameters = self.parameters
        if parameters.cameras_wait != 'auto':
            return parameters.cameras_wait == 'always'
        is_paced = parameters.real_time_factor > 0.0
        return not is_paced or bool(parameters.lockstep) or bool(parameters.record)

    def _make_simulator(self) -> Simulator:
        """Load the world and open its topics, also in a bag if recording is requested."""
        node, parameters = self._node, self.parameters
        graph = GraphSink(node, parameters.real_time_factor)
        loaded = load_world(parameters)
        if not parameters.record:
            return Simulator(graph, loaded, parameters)
        # imported here to save start-up time
        from sim_bridge.ros.bag.bag_sink import WallTime
        from sim_bridge.ros.bag.bag_writer import free_folder
        from sim_bridge.ros.bag.recording import recorder_of, Recording, sink_of

        def complain(error: RecordingError) -> None:
            node.get_logger().error(f'{error}. The simulation goes on')

        # a second start, or configuration, must lose neither the old bag nor the new one
        asked = Path(parameters.record).expanduser()
        folder = free_folder(asked)
        recorder = recorder_of(parameters, folder, on_error=complain)
        try:
            bag = sink_of(parameters, recorder, node.resolve_topic_name, WallTime())
            simulator = Simulator(Tee(graph, bag), loaded, parameters)
            Recording(bag, simulator, loaded, parameters, node.get_namespace())
        except SimBridgeError:
            recorder.discard()
            raise
        why = '' if folder == asked else f', since there is a {asked} already'
        node.get_logger().info(f'recording to {folder}{why}')
        for expression in bag.selection.idle:
            node.get_logger().warning(f'{expression} matches no topic so far')
        return simulator

    def _prepare(self, parameters: SimulatorParameters) -> Callable[[], None]:
        """Return a function that applies parameters set at run time; raises SimBridgeError."""
        given = parameters.in_namespace(self._node.get_namespace())
        parameters = replace(given, **self._others)
        pass_on = self._paced.prepare(parameters) if self._paced is not None else lambda: None

        def apply() -> None:
            pass_on()
            self._given, self.parameters = given, parameters

        return apply

    def _read_back(self, controls: JointControls, simulator: Simulator) -> None:
        """
        Update parameters to the current settings of axes and world.

        Called on the executor's thread, while the physics thread waits.
        """
        controls.read_back()
        self._read_back_settings(simulator)

    def _read_back_settings(self, simulator: Simulator) -> None:
        """Update parameters to the world's current settings."""
        now = simulator.settings
        others = {
            name: value for name, value in now.items() if value != getattr(self.parameters, name)
        }
        if others and self._paced is not None:
            self._paced.follow(replace(self.parameters, **others))
            self._set_parameters(others)

    def _set_parameters(self, values: Mapping[str, Any]) -> None:
        """Set parameters of the node to values from a table."""
        self._node.set_parameters(
            [
                Parameter(name, value=list(value) if isinstance(value, tuple) else value)
                for name, value in values.items()
            ]
        )

    def _log_left_out(self, simulator: Simulator) -> None:
        """Log each robot's parts without simulation, and missing places on the Earth."""
        for robot in simulator.world.robots.values():
            for text in filter(None, (left_out_text(robot), missing_place_text(robot))):
                self._node.get_logger().warning(text)

    def _log_ready(self, simulator: Simulator, is_active: bool) -> None:
        parameters = self.parameters
        factor = parameters.real_time_factor
        # in a scene, the setting holds for one of the robots
        base = AUTO if parameters.world else parameters.base
        robots = ', '.join(
            f'{interface.robot.name!r} ({base_text(interface.robot, base)}, '
            f'{counted(len(interface.robot.joint_names), "joint")}, '
            f'{counted(len(interface.topics), "topic")} published)'
            for interface in simulator.interfaces
        )
        objects = len(simulator.world.robots) - len(simulator.interfaces)
        pace = f'real time factor {factor:g}' if factor else 'as fast as possible'
        state = '' if is_active else ', inactive'
        state += ', paused' if parameters.paused else ''
        self._node.get_logger().info(
            f'ready: {robots or "no robot"}, {counted(objects, "other object")}, '
            f'{parameters.rate:g} Hz, {pace}{state}'
        )
        for interface in simulator.interfaces:
            for name, rival in interface.states.waiting.items():
                self._node.get_logger().info(
                    f'controller {name!r} of {interface.robot.name!r} is inactive: {rival!r} has '
                    'joints of it; controller_manager/switch_controller activates it'
                )
