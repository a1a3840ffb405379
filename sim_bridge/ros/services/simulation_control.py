"""Running, pausing, stepping and resetting a simulation: code shared by all services."""

from __future__ import annotations

from collections.abc import Callable
import enum
import json

from rclpy.node import Node
from std_msgs.msg import String

from sim_bridge.foundation.errors import InvalidValueError, StateError, UnknownNameError
from sim_bridge.ros.process.executor_calls import ExecutorCalls
from sim_bridge.ros.process.pacer import Pacer
from sim_bridge.ros.services.entities import Entities
from sim_bridge.ros.session.simulator import Simulator, SimulatorSnapshot
from sim_bridge.ros.wire.qos import LATCHED_QOS


class Scope(enum.Flag):
    """Parts of the simulation affected by a reset."""

    TIME = 1
    STATE = 2
    SPAWNED = 4
    ALL = 7


_SCOPES = {'time': Scope.TIME, 'state': Scope.STATE, 'spawned': Scope.SPAWNED}


class Phase(enum.Enum):
    """Phase of a simulation; stopped: paused at its start."""

    STOPPED = 'stopped'
    PLAYING = 'playing'
    PAUSED = 'paused'


class SimulationControl:
    """
    Carries out service requests on the physics thread.

    An impossible request raises StateError or another SimBridgeError and changes nothing.

    ~/resets (std_msgs/String, transient local, JSON) announces every jump of state or time before
    any message after the jump. Its fields: count since the start; cause ('reset', 'stop',
    'restore'); scope (list of 'time', 'state', 'spawned'); snapshot, its name or null; time_ns,
    stamp of the next messages; time_ns_before; removed, names of removed entities.
    """

    def __init__(
        self,
        node: Node,
        pacer: Pacer,
        simulator: Simulator,
        entities: Entities,
        read_back: Callable[[], None],
        calls: ExecutorCalls,
        reset_clock: Callable[[], bool],
        is_active: bool = True,
    ) -> None:
        """
        Start with a simulation as loaded.

        read_back: updates parameters after a restore, on the executor's thread. reset_clock:
        returns whether /clock is reset with the time, unless a request decides it. is_active:
        whether the simulation may run; False for an inactive managed node.
        """
        self._pacer, self._simulator, self._entities = pacer, simulator, entities
        self._read_back, self._calls = read_back, calls
        self._reset_clock = reset_clock
        self._is_stopped = pacer.is_paused
        self._snapshots: dict[str, SimulatorSnapshot] = {}
        self._events = node.create_publisher(String, '~/resets', LATCHED_QOS)
        self._count = 0
        self._is_active = is_active

    @property
    def phase(self) -> Phase:
        """Current simulation phase."""
        if not self._pacer.is_paused:
            return Phase.PLAYING
        return Phase.STOPPED if self._is_stopped else Phase.PAUSED

    def play(self) -> None:
        """Run."""
        self._check_active()
        self._is_stopped = False
        self._pacer.resume()

    def pause(self) -> None:
        """Pause; also leaves the stopped phase."""
        self._is_stopped = False
        self._pacer.pause()

    def activate(self, plays: bool) -> None:
        """Allow running from now on. plays: whether to run at once."""
        self._is_active = True
        if plays:
            self.play()

    def deactivate(self) -> None:
        """Pause, drop requested steps, and forbid running."""
        self._is_active = False
        self._pacer.drop_steps(StateError('the node was deactivated'))
        self.pause()

    def stop(self) -> None:
        """Return to the start, pause, and drop requested steps."""
        self._check_complete()
        self._pacer.drop_steps(StateError('the simulation was stopped'))
        self._pacer.pause()
        self._reset(Scope.ALL, self._reset_clock(), 'stop')
        self._is_stopped = True

    def step(
        self,
        count: int,
        on_done: Callable[[Exception | None], None],
        on_tick: Callable[[int], bool] = lambda remaining: True,
    ) -> None:
        """
        Take control steps at the usual pace, and publish all of the state after the last one.

        on_done, on_tick: see `Pacer.step`.
        """
        self._check_active()
        if count < 1:
            raise InvalidValueError('steps', count, 'at least 1')
        if not self._pacer.is_paused:
            raise StateError('the simulation is running; pause it by ~/pause first')
        self._is_stopped = False

        def completed(error: Exception | None) -> None:
            try:
                self._simulator.complete_state()
            finally:
                on_done(error)

        self._pacer.step(count, completed, on_tick)

    def reset(self, scope: Scope, clock: bool | None = None) -> None:
        """
        Reset the parts in the scope.

        clock: whether /clock is set to 0 with the time; None: see the parameter `reset_clock`.
        """
        if scope == Scope.ALL:
            self._check_complete()
        self._reset(scope, self._reset_clock() if clock is None else clock, 'reset')

    # --- snapshots -------------------------------------------------------------------------------

    @property
    def snapshots(self) -> list[str]:
        """Names of all snapshots, in order of their first saving."""
        return list(self._snapshots)

    def save(self, name: str) -> None:
        """Save a snapshot; it replaces an earlier one with the same name."""
        self._snapshots[name] = self._simulator.save()

    def restore(self, name: str) -> None:
        """Restore a snapshot, exact to the bit; raises UnknownNameError for an unknown name."""
        self._check_known(name)
        before = self._simulator.time_ns
        self._simulator.restore(
            self._snapshots[name],
            self._reset_clock(),
            lambda: self._tell('restore', Scope.TIME | Scope.STATE, before, snapshot=name),
        )
        self._is_stopped = False
        self._calls.call(self._read_back)

    def forget(self, name: str) -> None:
        """Delete a snapshot; raises UnknownNameError for an unknown name."""
        self._check_known(name)
        del self._snapshots[name]

    # --- inside ----------------------------------------------------------------------------------

    def _reset(self, scope: Scope, clock: bool, cause: str) -> None:
        before, removed = self._simulator.time_ns, []
        if Scope.SPAWNED in scope:
            removed = self._entities.remove_spawned()
        self._simulator.reset(
            clock=clock,
            time=Scope.TIME in scope,
            state=Scope.STATE in scope,
            announce=lambda: self._tell(cause, scope, before, removed=removed),
        )

    def _tell(
        self,
        cause: str,
        scope: Scope,
        before: int,
        snapshot: str | None = None,
        removed: list[str] | None = None,
    ) -> None:
        self._count += 1
        self._events.publish(
            String(
                data=json.dumps(
                    {
                        'count': self._count,
                        'cause': cause,
                        'scope': [name for name, flag in _SCOPES.items() if flag in scope],
                        'snapshot': snapshot,
                        'removed': removed or [],
                        'time_ns_before': before,
                        'time_ns': self._simulator.time_ns,
                    }
                )
            )
        )

    def _check_known(self, name: str) -> None:
        if name not in self._snapshots:
            raise UnknownNameError('snapshot', name, self._snapshots, 'the simulation')

    def _check_active(self) -> None:
        if not self._is_active:
            raise StateError('the node is inactive: activate it first, as a managed node')

    def _check_complete(self) -> None:
        """Raise StateError if a loaded entity has been removed."""
        missing = self._entities.missing
        if missing:
            raise StateError(
                f'the loaded entities {", ".join(map(repr, missing))} were deleted, and no reset '
                'restores them: reset time, state or spawned alone, or restart the node'
            )
