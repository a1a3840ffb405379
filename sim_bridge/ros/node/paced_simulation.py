"""A simulator on the physics thread, at the pace set by the parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TYPE_CHECKING

from sim_bridge.compiler.build import build
from sim_bridge.engine.dynamics.fields import FIELDS
from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.process import realtime
from sim_bridge.ros.process.faults import described, Faults
from sim_bridge.ros.process.pacer import Pacer
from sim_bridge.ros.session.loading import checked_fields
from sim_bridge.ros.session.simulator import SETTINGS
from sim_bridge.simulation.handles import switched_units

if TYPE_CHECKING:
    from rclpy.impl.rcutils_logger import RcutilsLogger

    from sim_bridge.ros.params.parameters import SimulatorParameters
    from sim_bridge.ros.session.simulator import Simulator


class PacedSimulation:
    """Takes control steps of a simulator for `pacer`; implements `pacer.Paced`."""

    def __init__(
        self,
        simulator: Simulator,
        parameters: SimulatorParameters,
        logger: RcutilsLogger,
        faults: Faults,
        is_paused: bool,
    ) -> None:
        """Prepare the thread, started by `pacer.start`. is_paused: whether it starts paused."""
        self.tick = realtime.uninterrupted(simulator.tick)
        self.attend, self.idle = simulator.poll, simulator.publish_clock
        self.is_ready = simulator.is_ready
        self._parameters, self._logger = parameters, logger
        self._simulator = simulator
        self._faults = faults
        self._is_rushing = False
        self.pacer = Pacer(
            self,
            parameters.tick_ns,
            real_time_factor=parameters.real_time_factor,
            paused=is_paused,
        )
        simulator.lockstep.on_answer = self.pacer.wake

    def watch(self, after_tick: Callable[[], int], meanwhile: Callable[[], None]) -> None:
        """
        Let the physics thread call two functions, which must not raise.

        Call this before `pacer.start`.

        after_tick: called after a control step; returns the number of steps until its next call.
        Each call costs microseconds. meanwhile: called every 10 ms while no step is taken.
        """
        tick, attend = self.tick, self.attend
        left = 1

        def tick_watched() -> None:
            nonlocal left
            tick()
            left -= 1
            if left <= 0:
                left = after_tick()

        def attend_watched() -> None:
            attend()
            meanwhile()

        self.tick, self.attend = tick_watched, attend_watched

    def prepare(self, parameters: SimulatorParameters) -> Callable[[], None]:
        """Return a function that applies parameters set at run time; raises SimBridgeError."""
        changes = {
            name: getattr(parameters, name)
            for name in SETTINGS
            if getattr(parameters, name) != getattr(self._parameters, name)
        }
        fields = parameters.force_fields
        if fields == self._parameters.force_fields:
            fields = ''
        if fields:
            checked_fields(self._simulator.world, fields)
        # compiled here, since the physics thread has deadlines
        units = [*(switched_units() if changes else ()), *([FIELDS.unit] if fields else ())]
        if units:
            build(units)

        def apply() -> None:
            self._parameters = parameters
            self.pacer.real_time_factor = parameters.real_time_factor
            self.pacer.submit(self._schedule)
            if units:
                self.pacer.submit(partial(self._configure, changes, fields))

        return apply

    def follow(self, parameters: SimulatorParameters) -> None:
        """Store parameters with the values already in effect."""
        self._parameters = parameters

    def begin(self) -> None:
        """Prepare the thread for deadlines."""
        realtime.settle_thread('physics')
        self._schedule()

    def set_rushing(self, is_rushing: bool) -> None:
        """Give the thread an ordinary priority while it does not sleep."""
        self._is_rushing = is_rushing
        self._schedule()

    def fail(self, error: Exception) -> None:
        """Log the reason for the pause, with a trace if the exception is not a SimBridgeError."""
        if not isinstance(error, SimBridgeError):
            self._faults.note('step', error)
        self._logger.error(f'paused, because a step failed: {described(error)}')

    def survive(self, what: str, error: Exception) -> None:
        """Log and count an exception; the simulation goes on."""
        self._faults.note(what, error)

    def _configure(self, changes: Mapping[str, Any], force_fields: str) -> None:
        try:
            self._simulator.configure(changes, force_fields)
        except SimBridgeError as err:
            # the robot of a field may have been removed since
            self._logger.error(f'settings and force fields are unchanged: {err}')

    def _schedule(self) -> None:
        # a thread without sleep must not take precedence over all others
        is_paced = self._parameters.real_time_factor > 0.0 and not self._is_rushing
        realtime.schedule_thread(self._parameters.realtime_priority if is_paced else 0)
