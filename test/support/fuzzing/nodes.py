"""Running nodes: arbitrary parameter values, and signals at any instant of their start."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import json
import os
from pathlib import Path
from random import Random
import signal
import subprocess
import sys
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_graph import end, Graph, PATIENCE_S
from sensor_msgs.msg import JointState

from fuzzing.damage import TEXTS
from sim_bridge.ros.params.parameter_table import specifications
from sim_bridge.ros.params.parameters import SimulatorParameters

# exit codes of a node interrupted during its start: from the signal, or the node's own
_ENDED = (0, -signal.SIGINT, -signal.SIGTERM, 128 + signal.SIGINT, 128 + signal.SIGTERM)
_MOST_IMPORTS = 1500
_PARAMETERS = 40
_NAMES = (
    *specifications(SimulatorParameters),
    *(
        f'{block}.{joint}{member}'
        for joint in ('shoulder', 'elbow', 'x', '')
        for block, member in (
            ('control', ''),
            ('gains', '.p'),
            ('gains', '.d'),
            ('limits', '.effort'),
        )
    ),
)
# values expressible in ROS; floats in JSON are read as Python writes them
_VALUES = (
    *TEXTS,
    True,
    False,
    0,
    1,
    -1,
    2**63 - 1,
    -(2**63),
    0.0,
    -0.0,
    1.0,
    50.0,
    1e308,
    1e-320,
    float('nan'),
    float('inf'),
    -float('inf'),
    [True],
    [1, 2],
    [0.5, 0.5],
    [float('nan')] * 3,
    [0.0] * 3,
    ['', 'x'],
    ['servo', 'position'],
    [1e308] * 300,
    'position',
    'velocity',
    'servo',
)

# ROS has the types 0 to 9
_TYPES = (*[-1] * 30, *range(11), 77, 255)

_SIGNALLED = """
import itertools, os, runpy, signal, sys
instant, number, imports = int(sys.argv[1]), int(sys.argv[2]), itertools.count()
begun = []

def watch(event, given):
    # before it nothing of ours runs, and Python has the signal
    begun.extend(given[:1] if event == 'import' and given[0] == 'sim_bridge.cli.main' else ())
    if event == 'import' and begun and next(imports) == instant:
        os.kill(os.getpid(), number)

sys.addaudithook(watch)
sys.argv = ['-m', *sys.argv[3:]]
runpy.run_module('sim_bridge', run_name='__main__', alter_sys=True)
"""


def make_parameters(rng: Random) -> bytes:
    """Return names, values and types to set in turn, as JSON; -1: the value's own type."""
    return json.dumps(
        [[rng.choice(_NAMES), rng.choice(_VALUES), rng.choice(_TYPES)] for _ in range(_PARAMETERS)]
    ).encode()


def run_parameters(case: bytes, folder: Path) -> None:
    """Set all on a running node; it answers each, continues, and ends on request."""
    with _node('robot:=double_pendulum') as process, Graph([process]) as graph:
        states = graph.listen(JointState, '/joint_states')
        graph.wait(lambda: states, 'states')
        messages = [_message(*each) for each in json.loads(case)]
        answer: Any = graph.call(
            SetParameters, '/sim_bridge/set_parameters', SetParameters.Request(parameters=messages)
        )
        for message, result in zip(messages, answer.results, strict=True):
            said = f'{message.name}: {result.reason}'
            assert result.successful or result.reason, said
            assert len(said) <= 5000 and 'Error:' not in said, said[:5000]
        before = len(states)
        # `paused` is none of the parameters that can be set
        graph.wait(lambda: len(states) > before + 20, 'more states')
        code, output = end(process)
    assert code == 0 and 'Traceback' not in output, (code, output[-5000:])


def _message(name: str, value: Any, kind: int) -> ParameterMessage:
    """Return a parameter's message. kind: number of its type, -1 for the value's own."""
    message = ParameterMessage(name=name, value=Parameter(name, value=value).get_parameter_value())
    if kind >= 0:
        message.value.type = kind
    return message


def make_signal(rng: Random) -> bytes:
    """Return a signal, and the import during start before which it arrives, as JSON."""
    verb = rng.choice((['node', '--ros-args', '-p', 'robot:=pendulum'], ['check', 'pendulum']))
    return json.dumps(
        [rng.randrange(_MOST_IMPORTS), int(rng.choice((signal.SIGINT, signal.SIGTERM))), verb]
    ).encode()


def run_signal(case: bytes, folder: Path) -> None:
    """Send the signal; the process ends without output, or cleanly if it has started."""
    instant, number, verb = json.loads(case)
    with _process('-c', _SIGNALLED, instant, number, *verb) as process:
        if verb[0] == 'node':
            # a process with fewer imports gets it while running; a second signal has no effect
            with Graph() as graph:
                states = graph.listen(JointState, '/joint_states')
                graph.wait(lambda: states or process.poll() is not None, 'a start or an end')
            process.send_signal(number)
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert 'Traceback' not in output, output[-5000:]
    assert process.returncode in _ENDED, (process.returncode, output[-5000:])


@contextlib.contextmanager
def _node(*parameters: str) -> Iterator[subprocess.Popen]:
    given = [item for each in parameters for item in ('-p', each)]
    with _process('-m', 'sim_bridge', 'node', '--ros-args', *given) as process:
        yield process


@contextlib.contextmanager
def _process(*arguments: object) -> Iterator[subprocess.Popen]:
    """Start a process; end it and its children with the context."""
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
