"""
The node's services: ~/pause, ~/reset and ~/step.

A request is carried out by the physics thread between two ticks and answered from there, so no
callback ever waits for physics, and commands go on arriving while ~/step takes its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TYPE_CHECKING

from std_srvs.srv import SetBool, Trigger

if TYPE_CHECKING:
    from rclpy.node import Node

    from sim_bridge.ros.pacer import Pacer
    from sim_bridge.ros.parameters import SimulatorParameters
    from sim_bridge.ros.simulator import Simulator

# answers a request: success, message
Answer = Callable[[bool, str], None]


class Services:
    """
    Pause, reset and step, with the messages of std_srvs.

    ~/pause (SetBool): true pauses, false resumes. ~/reset (Trigger): all robots to their start;
    time goes on, unless the parameter `reset_clock` says otherwise. ~/step (Trigger): `step_count`
    control steps at the usual pace while paused, answered when they are done.
    """

    def __init__(
        self,
        node: Node,
        pacer: Pacer,
        simulator: Simulator,
        parameters: Callable[[], SimulatorParameters],
    ) -> None:
        """
        Create the services.

        parameters: gives the parameters as they are at the time of a request.
        """
        self._pacer, self._simulator, self._parameters = pacer, simulator, parameters
        self._create(node, SetBool, '~/pause', self._pause)
        self._create(node, Trigger, '~/reset', self._reset)
        self._create(node, Trigger, '~/step', self._step)

    def _create(
        self, node: Node, kind: type, name: str, handler: Callable[[Any, Answer], None]
    ) -> None:
        """
        Create a service that is answered later, by another thread.

        Executors call `callback` and then, with what it returned, the service's `send_response`.
        Awaiting in the callback would be the usual way, but the EventsExecutor of Jazzy cannot.
        """
        service = node.create_service(kind, name, lambda request, response: request)
        send = service.send_response

        def respond_later(request: Any, header: Any) -> None:
            def answer(success: bool, message: str) -> None:
                send(kind.Response(success=success, message=message), header)

            # whoever subscribed before the request is to get what follows from it
            self._simulator.refresh()
            self._pacer.submit(lambda: handler(request, answer))

        service.send_response = respond_later

    def _pause(self, request: SetBool.Request, answer: Answer) -> None:
        if request.data:
            self._pacer.pause()
        else:
            self._pacer.resume()
        answer(True, f'{"paused" if request.data else "running"} at {self._time}')

    def _reset(self, request: Trigger.Request, answer: Answer) -> None:
        self._simulator.reset(clock=self._parameters().reset_clock)
        answer(True, f'reset at {self._time}')

    def _step(self, request: Trigger.Request, answer: Answer) -> None:
        if not self._pacer.is_paused:
            answer(False, 'the simulation is running; pause it by ~/pause first')
            return
        count = self._parameters().step_count

        def on_done(error: Exception | None) -> None:
            if error is None:
                answer(True, f'{count} steps taken, now at {self._time}')
            else:
                answer(False, f'a step failed at {self._time}: {error}')

        self._pacer.step(count, on_done)

    @property
    def _time(self) -> str:
        return f'{self._simulator.time_ns * 1e-9:.9g} s'
