"""Controller nodes in lockstep with a run: an unused ROS domain, and their processes."""

from __future__ import annotations

from collections.abc import Mapping
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, IO, TYPE_CHECKING

import rclpy
from rclpy.signals import SignalHandlerOptions

from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.ros.params.parameter_names import check_parameter_name
from sim_bridge.ros.params.parameter_text import as_argument, flattened
from sim_bridge.ros.process.discovery import discovery_defaults
from sim_bridge.ros.process.domain_lock import any_domain
from sim_bridge.ros.process.exit_with_parent import tied
from sim_bridge.ros.process.lifeline import ENDS_WITH_STDIN
from sim_bridge.ros.process.polling import PollingNode
from sim_bridge.ros.process.rclpy_compat import make_executor
from sim_bridge.ros.publish.sinks import GraphSink
from sim_bridge.sweep.controllers import Situation
from sim_bridge.sweep.host import said_by
from sim_bridge.sweep.plan import ControllerPlan, LAWS
from sim_bridge.trust.child import python_module

if TYPE_CHECKING:
    from sim_bridge.ros.session.simulator import Simulator

_SPIN_S = 0.05
# time between SIGINT and SIGKILL for a process [s]
_END_S = 3.0


class NodeSession:
    """
    Context with a ROS graph for a run's controller nodes.

    sink: publishes to the graph.
    """

    def __init__(self, label: str) -> None:
        """Prepare; label: simulation label in the list of used domains."""
        self._label = label
        self._outputs: dict[str, IO[bytes]] = {}
        self._stack = contextlib.ExitStack()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._patience: dict[str, float] = {}
        self._environment: dict[str, str] = {}

    def __enter__(self) -> NodeSession:
        """Join an unused domain. Raises StateError."""
        enter = self._stack.enter_context
        try:
            os.environ.update(discovery_defaults(os.environ))
            domain = enter(any_domain(self._label, os.environ))
            self._environment = {
                **os.environ,
                'ROS_DOMAIN_ID': str(domain),
                ENDS_WITH_STDIN: '1',
                'PYTHONPATH': os.pathsep.join(filter(None, sys.path)),
                'PYTHONUNBUFFERED': '1',
            }
            rclpy.init(args=[], domain_id=domain, signal_handler_options=SignalHandlerOptions.NO)
            self._stack.callback(rclpy.try_shutdown)
            self._node = PollingNode('sim_bridge')
            self._stack.callback(self._node.destroy_node)
            self._executor = make_executor()
            self._stack.callback(self._executor.shutdown)
            self._executor.add_node(self._node)
            self.sink = GraphSink(self._node, 0.0)
            self._stack.callback(self._end)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        """End the processes, and leave the domain."""
        self._stack.close()

    def start(
        self,
        plans: Mapping[str, ControllerPlan],
        situations: Mapping[str, Situation],
        simulator: Simulator,
    ) -> None:
        """Start the nodes, by namespace, and receive commands. Raises InvalidValueError."""
        simulator.listen(self._node)
        for namespace, plan in plans.items():
            situation = situations[namespace]
            words = list(plan.command)
            values: dict[str, Any] = {}
            own = dict(flattened(plan.parameters))
            if len(words) == 1 and words[0] in LAWS:
                module = f'{words[0]}_controller'
                # a node ignores undeclared parameters without an error
                for name in own:
                    check_parameter_name(name, module)
                values = situation.parameters_of(module)
                words = python_module(f'sim_bridge.control.{module}')
            else:
                words = tied(words)
            given = [
                item
                for name, value in {**values, **own}.items()
                for item in ('-p', f'{name}:={as_argument(value)}')
            ]
            space = ['-r', f'__ns:=/{namespace}'] if namespace else []
            output = tempfile.TemporaryFile(prefix='sim_bridge_sweep_')  # noqa: SIM115
            self._stack.callback(output.close)
            self._outputs[namespace] = output
            try:
                process = subprocess.Popen(
                    [*words, '--ros-args', *space, *given],
                    env=self._environment,
                    cwd=situation.folder,
                    stdin=subprocess.PIPE,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,
                )
            except OSError as err:
                raise InvalidValueError(
                    'command', words, f'a command that can be started: {err.strerror}'
                ) from err
            self._processes[namespace] = process
            self._patience[namespace] = plan.patience

    def kill(self, namespace: str) -> None:
        """Kill a robot's node: nobody waits for it any more."""
        process = self._processes.pop(namespace)
        _kill(process)

    def wait(self, simulator: Simulator) -> None:
        """
        Wait until all living nodes have answered the last state.

        Raises StateError if a node's process has ended or a node does not answer.
        """
        begun = time.monotonic()
        while not simulator.is_ready():
            missing = {
                each.rpartition('joint_commands')[0].strip('/')
                for each in simulator.lockstep.missing
            }
            waiting = [name for name in self._processes if name in missing]
            if missing and not waiting:
                return
            for name in waiting:
                process = self._processes[name]
                if process.poll() is not None:
                    raise StateError(
                        f'the controller{_of(name)} ended with exit code {process.returncode}'
                        f'{said_by(self._outputs[name])}'
                    )
                if time.monotonic() - begun > self._patience[name]:
                    raise StateError(
                        f'the controller{_of(name)} has not answered for '
                        f'{self._patience[name]:g} s. It must answer each joint_states with a '
                        'command on joint_commands that has its stamp (docs/lockstep.md)'
                    )
            self._executor.spin_once(timeout_sec=_SPIN_S)

    def _end(self) -> None:
        """End all processes."""
        processes = list(self._processes.values())
        for process in processes:
            process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + _END_S
        for process in processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(deadline - time.monotonic(), 0.01))
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _of(namespace: str) -> str:
    return f' of {namespace}' if namespace else ''
