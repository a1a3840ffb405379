"""A process running one node: signals, executor, exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
import contextlib
import os
import signal
import sys
from typing import Any, Protocol

import rclpy
from rclpy.executors import Executor, ExternalShutdownException
from rclpy.signals import SignalHandlerOptions

from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.params.node_arguments import read_arguments
from sim_bridge.ros.process import realtime
from sim_bridge.ros.process.bounded_exit import exit_within
from sim_bridge.ros.process.discovery import discovery_defaults
from sim_bridge.ros.process.guarded_node import GuardedMixin, GuardedNode
from sim_bridge.ros.process.lifeline import hold_lifeline
from sim_bridge.ros.process.rclpy_compat import make_executor

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_REFUSED = 2

# longest delay in noticing a signal without activity on the graph
_SPIN_S = 0.1

# A start that survives the first KeyboardInterrupt is interrupted again with this period.
_AGAIN_S = 0.2

# time limit for leaving the graph
_LEAVE_LIMIT_S = 3.0


class Program(Protocol):
    """
    A program using a node in its own process.

    It is constructed with the node. The node's class is the program's `node_type`, a
    `GuardedMixin`, or else GuardedNode. The constructor raises a SimBridgeError for an invalid
    description or parameter.
    """

    def close(self) -> None:
        """End threads and all other use of the node."""


def run(name: str, program: Callable[[Any], Program], args: Sequence[str] | None = None) -> int:
    """
    Run a program on a node with this name until a signal; return the exit code.

    The node is discovered on this machine only, unless the environment configures discovery.

    A SimBridgeError during set-up becomes one message on standard error and exit code 2.
    """
    realtime.begin_process()
    with _Signals() as signals:
        node = running = None
        code = EXIT_FAILED
        try:
            hold_lifeline()
            os.environ.update(discovery_defaults(os.environ))
            node = _make_node(getattr(program, 'node_type', GuardedNode), name, args)
            running = program(node)
            with _executor() as executor:
                for each in (node, *node.companions):
                    executor.add_node(each)
                signals.only_set_flag()
                while not signals.stop_requested and rclpy.ok():
                    _spin(executor, node)
            code = EXIT_OK
        except (SimBridgeError, _GraphError) as err:
            print(f'{_program()}: {err}', file=sys.stderr)
            code = EXIT_REFUSED
        except (KeyboardInterrupt, ExternalShutdownException):
            code = EXIT_OK
        finally:
            signals.only_set_flag()
            if running is not None:
                running.close()
            if node is not None:
                with exit_within(_LEAVE_LIMIT_S, code):
                    node.destroy_node()
                    rclpy.try_shutdown()
            else:
                rclpy.try_shutdown()
    return code


def _spin(executor: Executor, node: GuardedMixin) -> None:
    """Do due work; survive errors not caught by callback guards, such as rclpy's own."""
    try:
        executor.spin_once(timeout_sec=_SPIN_S)
    except ExternalShutdownException:
        raise
    except Exception as error:  # noqa: BLE001 - no exception may end the node
        node.faults.note('executor', error)


class _GraphError(Exception):
    """ROS refused to create a node: bad arguments, parameter files or names."""


def _make_node(kind: type[GuardedMixin], name: str, args: Sequence[str] | None) -> GuardedMixin:
    """Return the node; its parameters do not go through rcl, see `node_arguments`."""
    try:
        arguments = read_arguments(sys.argv if args is None else args, name)
        # rclpy's own handlers would shut the context down while the physics thread uses it
        rclpy.init(args=list(arguments.words), signal_handler_options=SignalHandlerOptions.NO)
        with realtime.undisturbed():
            return kind(name, given=arguments.given)
    except SimBridgeError:
        raise
    except (RuntimeError, ValueError) as err:  # RCLError is a RuntimeError
        raise _GraphError(str(err)) from err


class _Signals:
    """
    Handlers for repeated SIGINT, SIGTERM and SIGHUP.

    At first, signals raise KeyboardInterrupt to end loading or compiling. The interrupt is
    repeated, since Python loses exceptions raised in a finalizer or a library's callback. Later,
    signals only set a flag, so a second one cannot interrupt the clean-up. A node may get several
    signals: from the terminal, from `ros2 launch` and from a supervisor.
    """

    def __init__(self) -> None:
        self.stop_requested = False
        self._raises = True
        self._before: dict[int, Any] = {}

    def __enter__(self) -> _Signals:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
            # a process started by nohup outlives its terminal
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._before.items():
            # after the first signal the process is ending: further signals must not disturb it
            signal.signal(number, signal.SIG_IGN if self.stop_requested else handler)

    def only_set_flag(self) -> None:
        """Raise no further exceptions; only set the flag."""
        self._raises = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _handle(self, number: int, frame: object) -> None:
        self.stop_requested = True
        if self._raises:
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
            raise KeyboardInterrupt


@contextlib.contextmanager
def _executor() -> Iterator[Executor]:
    """Provide the executor, and shut it down at the end."""
    executor = make_executor()
    try:
        yield executor
    finally:
        executor.shutdown()


def _program() -> str:
    return sys.argv[0].rsplit('/', 1)[-1] or 'sim_bridge'
