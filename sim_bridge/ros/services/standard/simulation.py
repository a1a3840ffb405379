"""Standard services about the whole simulation: state, steps and resets."""

from __future__ import annotations

import signal
from typing import Any

from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.ros.process.deferred import Answer, Handler
from sim_bridge.ros.services.simulation_control import Phase, Scope, SimulationControl
from sim_bridge.ros.services.standard.interfaces import (
    agree,
    FEATURE_UNSUPPORTED,
    Interfaces,
    OPERATION_FAILED,
    say,
)

_SCOPE_DEFAULT, _SCOPE_ALL = 0, 255
ALREADY_IN_TARGET_STATE, STATE_TRANSITION_ERROR = 101, 102


class SimulationServices:
    """GetSimulationState, SetSimulationState, StepSimulation and ResetSimulation."""

    def __init__(self, interfaces: Interfaces, control: SimulationControl) -> None:
        """Prepare."""
        self._control = control
        state = interfaces.msg.SimulationState
        self._states = {
            Phase.STOPPED: state.STATE_STOPPED,
            Phase.PLAYING: state.STATE_PLAYING,
            Phase.PAUSED: state.STATE_PAUSED,
        }
        self._quitting = state.STATE_QUITTING

    def handlers(self) -> dict[str, Handler]:
        """Return the handlers by service type name."""
        return {
            'GetSimulationState': self._get_state,
            'SetSimulationState': self._set_state,
            'StepSimulation': self._step,
            'ResetSimulation': self._reset,
        }

    def _get_state(self, request: Any, response: Any, answer: Answer) -> None:
        response.state.state = self._states[self._control.phase]
        answer(agree(response))

    def _set_state(self, request: Any, response: Any, answer: Answer) -> None:
        wanted, control = request.state.state, self._control
        if wanted == self._quitting:
            answer(agree(response))
            # like a signal from the user; the main thread does the rest
            signal.raise_signal(signal.SIGTERM)
            return
        phases = {state: phase for phase, state in self._states.items()}
        if wanted not in phases:
            raise InvalidValueError(
                'state',
                wanted,
                ', '.join(f'{state} ({phase.value})' for state, phase in phases.items())
                + f' or {self._quitting} (quitting)',
            )
        phase = phases[wanted]
        if phase is control.phase:
            answer(
                say(response, ALREADY_IN_TARGET_STATE, f'the simulation is {phase.value} already')
            )
            return
        change = {
            Phase.STOPPED: control.stop,
            Phase.PLAYING: control.play,
            Phase.PAUSED: control.pause,
        }[phase]
        try:
            change()
        except StateError as err:
            answer(say(response, STATE_TRANSITION_ERROR, str(err)))
            return
        answer(agree(response))

    def _step(self, request: Any, response: Any, answer: Answer) -> None:
        def on_done(error: Exception | None) -> None:
            if error is None:
                answer(agree(response))
            else:
                answer(say(response, OPERATION_FAILED, f'a step failed: {error}'))

        self._control.step(request.steps, on_done)

    def _reset(self, request: Any, response: Any, answer: Answer) -> None:
        given = request.scope
        if given in (_SCOPE_DEFAULT, _SCOPE_ALL):
            given = Scope.ALL.value
        if given & ~Scope.ALL.value:
            answer(
                say(
                    response,
                    FEATURE_UNSUPPORTED,
                    f'scope = {given}: expected 0 or 255 for all, or a sum of 1 (time), 2 (state) '
                    'and 4 (spawned)',
                )
            )
            return
        # in the standard, a reset of the time resets /clock
        self._control.reset(Scope(given), bool(given & Scope.TIME.value))
        answer(agree(response))
