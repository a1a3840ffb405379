"""The node's services with std_srvs messages, available in every ROS 2 distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from std_srvs.srv import SetBool, Trigger

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.foundation.names import counted
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.process.deferred import Answer, DeferredServices
from sim_bridge.ros.services.entities import Entities
from sim_bridge.ros.services.simulation_control import Scope, SimulationControl
from sim_bridge.ros.session.simulator import Simulator


class Services:
    """
    Services for pausing, resets, steps, snapshots and changes.

    ~/pause (SetBool): true pauses, false resumes. ~/reset (Trigger): returns all robots to their
    start; /clock continues, unless the parameter `reset_clock` is set. ~/step (Trigger): takes
    `step_count` control steps at the usual pace while paused; the response follows the last step.
    ~/save_snapshot, ~/restore_snapshot (Trigger): use the name in the parameter `snapshot`.
    ~/list_snapshots (Trigger): returns the names, separated by newlines. ~/apply_changes
    (Trigger): applies the entity changes in the parameter `changes`, all or none.
    """

    def __init__(
        self,
        services: DeferredServices,
        control: SimulationControl,
        simulator: Simulator,
        parameters: Callable[[], SimulatorParameters],
        entities: Entities,
    ) -> None:
        """
        Create the services.

        parameters: returns the current parameters.
        """
        self._control, self._simulator, self._parameters = control, simulator, parameters
        self._entities = entities
        for kind, name, handler in (
            (SetBool, '~/pause', self._pause),
            (Trigger, '~/reset', self._reset),
            (Trigger, '~/step', self._step),
            (Trigger, '~/save_snapshot', self._save),
            (Trigger, '~/restore_snapshot', self._restore),
            (Trigger, '~/list_snapshots', self._list),
            (Trigger, '~/apply_changes', self._change),
        ):
            services.create(kind, name, handler, _refuse)

    def _pause(self, request: SetBool.Request, response: Any, answer: Answer) -> None:
        if request.data:
            self._control.pause()
        else:
            self._control.play()
        answer(_agree(response, f'{"paused" if request.data else "running"} at {self._time}'))

    def _reset(self, request: Trigger.Request, response: Any, answer: Answer) -> None:
        self._control.reset(Scope.TIME | Scope.STATE)
        answer(_agree(response, f'reset at {self._time}'))

    def _step(self, request: Trigger.Request, response: Any, answer: Answer) -> None:
        count = self._parameters().step_count

        def on_done(error: Exception | None) -> None:
            if error is None:
                answer(_agree(response, f'{counted(count, "step")} taken, now at {self._time}'))
            else:
                response.success = False
                response.message = f'a step failed at {self._time}: {error}'
                answer(response)

        self._control.step(count, on_done)

    def _save(self, request: Trigger.Request, response: Any, answer: Answer) -> None:
        name = self._parameters().snapshot
        self._control.save(name)
        answer(_agree(response, f'snapshot {name!r} taken at {self._time}'))

    def _restore(self, request: Trigger.Request, response: Any, answer: Answer) -> None:
        name = self._parameters().snapshot
        self._control.restore(name)
        answer(_agree(response, f'snapshot {name!r} restored at {self._time}'))

    def _list(self, request: Trigger.Request, response: Any, answer: Answer) -> None:
        answer(_agree(response, '\n'.join(self._control.snapshots)))

    def _change(self, request: Trigger.Request, response: Any, answer: Answer) -> None:
        def on_done(error: SimBridgeError | None) -> None:
            if error is None:
                _agree(response, f'changed at {self._time}')
            else:
                _refuse(response, error)
            answer(response)

        self._entities.change(self._parameters().changes or '{}', on_done)

    @property
    def _time(self) -> str:
        return f'{self._simulator.time_ns * 1e-9:.9g} s'


def _agree(response: Any, message: str) -> Any:
    response.success, response.message = True, message
    return response


def _refuse(response: Any, error: SimBridgeError) -> None:
    response.success, response.message = False, str(error)
