"""The live page of a node, open from before loading until the end."""

from __future__ import annotations

from functools import partial
import time
from typing import TYPE_CHECKING

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import Log
from rclpy.logging import get_logger
from rclpy.qos import DurabilityPolicy, QoSProfile

from sim_bridge.page.records import Notice, Request
from sim_bridge.ros.page.address import announcement
from sim_bridge.ros.page.hand import Hand
from sim_bridge.ros.page.requests import Requests
from sim_bridge.view.feed import Feed, PageProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sim_bridge.compiler.progress import Progress
    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.process.deferred import DeferredServices
    from sim_bridge.ros.process.executor_calls import ExecutorCalls
    from sim_bridge.ros.process.pacer import Pacer
    from sim_bridge.ros.process.polling import PollingMixin
    from sim_bridge.ros.services.simulation_control import SimulationControl
    from sim_bridge.ros.session.robot_interface import RobotInterface
    from sim_bridge.ros.session.simulator import Simulator

# period of frames, and period while no step is taken
_PERIOD_NS, _IDLE_PERIOD_NS = 16_666_667, 50_000_000
_MOST_STEPS, _NEVER = 1000, 1 << 62
# longest interval between two checks of repeated commands, as a fraction of the command timeout
_SHARE = 0.25

_LEVELS = {DiagnosticStatus.OK: 'ok', DiagnosticStatus.WARN: 'warning'}

_LOG_QOS = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_WARNING, _ERROR = 30, 40  # levels of rcl_interfaces/Log; the message has bytes or numbers


class LivePage:
    """
    A page in its own process; the simulation goes on if the page's process ends.

    `after_tick` and `meanwhile` are called on the physics thread, `show` on the executor's.
    """

    def __init__(self, node: PollingMixin, port: int) -> None:
        """Open the page; returns at once. Raises MissingPackageError without viser."""
        self._node = node
        # a logger without a topic: anyone with the address has access to all page controls
        self._logger = get_logger('sim_bridge_page')
        self._is_over = False
        self._feed: Feed | None = None
        self._due_ns = self._called_ns = self._ticks = self._missed = 0
        self._steps = 1
        self._levels: dict[str, str] = {}
        self._page = PageProcess(port, self._take)
        self._tell('progress', 'loading')

    def report(self, progress: Progress) -> None:
        """Show the compilation progress."""
        self._tell('progress', progress.summary)

    def serve(
        self,
        simulator: Simulator,
        pacer: Pacer,
        services: DeferredServices,
        control: SimulationControl,
        calls: ExecutorCalls,
        parameters: SimulatorParameters,
    ) -> None:
        """
        Show a simulation on the page, and obey the page from now on.

        Call this before the physics thread starts.
        """
        self._simulator, self._pacer, self._calls = simulator, pacer, calls
        timeout_ns = round(parameters.command_timeout * 1e9)
        self._hand = Hand(simulator, timeout_ns)
        looks = round(_SHARE * timeout_ns / parameters.tick_ns) if timeout_ns else _MOST_STEPS
        self._most_steps = max(1, min(_MOST_STEPS, looks))
        self._requests = Requests(
            self._node, services, control, simulator, self._hand, self._page.tell
        )
        robots = ', '.join(each.robot.name for each in simulator.interfaces)
        self._feed = Feed(
            self._page, simulator.world, robots or 'sim_bridge', self._requests.abilities
        )
        self._node.create_subscription(Log, '/rosout', self._hear, _LOG_QOS)
        guard = self._node.faults.guard
        self._publish = guard('the live page', self._write_frame)
        self._publish()

    def after_tick(self) -> int:
        """
        Show the state if a frame is due, and repeat commands.

        Returns the number of control steps until the next call.
        """
        if self._is_over:
            return _NEVER
        self._hand.repeat()
        now = time.monotonic_ns()
        # number of steps taken recently in one frame period
        elapsed, self._called_ns = now - self._called_ns, now
        self._steps = max(1, min(self._most_steps, self._steps * _PERIOD_NS // max(elapsed, 1)))
        if now >= self._due_ns:
            self._due_ns = now + _PERIOD_NS * 3 // 4
            self._publish()
        return self._steps

    def meanwhile(self) -> None:
        """Show the state at a low rate while no step is taken."""
        now = time.monotonic_ns()
        if now >= self._due_ns and not self._is_over:
            self._due_ns = now + _IDLE_PERIOD_NS
            self._publish()

    def show(self, statuses: list[DiagnosticStatus]) -> None:
        """Show the simulator's status entries; a new warning is also shown as a message."""
        if self._is_over:
            return
        prefix = f'{self._node.get_fully_qualified_name().lstrip("/")}: '
        lines = []
        for status in statuses:
            level = _LEVELS.get(status.level, 'error')
            text = f'{status.name.removeprefix(prefix)}: {status.message}'
            if level != 'ok' and self._levels.get(status.name, 'ok') == 'ok':
                self._tell(level, text)
            self._levels[status.name] = level
            lines.append(f'{level} {text}')
        for interface in list(self._simulator.interfaces):
            lines += [f'ok {text}' for text in self._senders(interface)]
        if self._hand.joints:
            lines.append(f'ok by hand: {", ".join(self._hand.joints)}')
        self._tell('status', '', *lines)
        self._requests.tell_snapshots()

    def close(self) -> None:
        """Close the page."""
        self._is_over = True
        self._page.close()

    # --- on the page's thread --------------------------------------------------------------------

    def _take(self, request: Request) -> None:
        if request.name == 'opened':
            self._logger.info(announcement(request.values['url']))
        elif request.name == 'ended':
            if not self._is_over:
                self._is_over = True
                self._node.get_logger().error(
                    f'there is no live page: {request.values["text"]}. The simulation goes on'
                )
                self._let_go()
        elif self._feed is None:
            self._tell('warning', 'not loaded yet')
        else:
            self._calls.post(partial(self._requests.obey, request))

    def _let_go(self) -> None:
        """End the user's mouse drag and commands after the page has ended."""
        if self._feed is not None:
            self._calls.post(partial(self._requests.obey, Request('drop', {})))
            for robot in self._hand.robots:
                release = Request('release', {'robot': robot})
                self._calls.post(partial(self._requests.obey, release))

    # --- inside ----------------------------------------------------------------------------------

    def _tell(self, kind: str, text: str, *values: str) -> None:
        self._page.tell(Notice(kind, text, values))

    def _write_frame(self) -> None:
        assert self._feed is not None
        pacer = self._pacer
        statistics = pacer.statistics
        ticks, missed = statistics.ticks, statistics.missed
        timing = (ticks - self._ticks, missed - self._missed, *statistics.since(self._ticks))
        self._ticks, self._missed = ticks, missed
        self._feed.publish(
            pacer.is_paused,
            pacer.real_time_factor,
            self._simulator.world.simulation.cache.last_applied.pushes(),
            timing,
        )

    def _hear(self, message: Log) -> None:
        """Show this node's own warnings and errors."""
        level = message.level if isinstance(message.level, int) else message.level[0]
        if level >= _WARNING and message.name == self._node.get_logger().name:
            self._tell('error' if level >= _ERROR else 'warning', message.msg)

    def _senders(self, interface: RobotInterface) -> Iterator[str]:
        """Yield the publishers on each command topic of a robot."""
        for topic in interface.command_topics:
            infos = self._node.get_publishers_info_by_topic(
                self._node.resolve_topic_name(topic.name)
            )
            if infos:
                names = sorted({info.node_name for info in infos})
                yield f'{topic.name}: from {", ".join(names)}'
