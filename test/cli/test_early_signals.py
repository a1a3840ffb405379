"""Signals while a process starts: each instant is a module import or a call."""

from __future__ import annotations

import os

import pytest
from ros_graph import PATIENCE_S

# runs a module like `python -m`, and sends itself a signal when it begins to import another one
PROGRAM = """
import os, runpy, signal, sys
module, instant, number, *arguments = sys.argv[1:]

def watch(event, given):
    if event == 'import' and given[0] == instant:
        os.kill(os.getpid(), int(number))

sys.addaudithook(watch)
sys.argv = ['-m', *arguments]
runpy.run_module(module, run_name='__main__', alter_sys=True)
"""

# sends it when the world is loaded, or once it is ready, and swallows the first exception
LOADING = """
import os, signal, sys, time
from sim_bridge.ros.node.main import main
from sim_bridge.ros.session import loading

def load():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        pass
    time.sleep(1000)

loading.message_units = load
sys.exit(main(['sim_bridge', '--ros-args', '-p', 'robot:=pendulum']))
"""

# sends it when the physics thread has begun
STARTED = """
import os, signal, sys, threading
from sim_bridge.ros.node.main import main
from sim_bridge.ros.node.node import SimBridge

SimBridge._log_ready = lambda *_: os.kill(os.getpid(), signal.SIGINT)
code = main(['sim_bridge', '--ros-args', '-p', 'robot:=pendulum'])
print(*[thread.name for thread in threading.enumerate()])
sys.exit(code)
"""

NODE, PD = ('sim_bridge', ('node',)), ('sim_bridge.control.pd_controller', ())
RECORDER = ('sim_bridge', ('qos', '--record', 'bag', '--namespace', 'nowhere'))


@pytest.mark.parametrize('number', [2, 15], ids=['SIGINT', 'SIGTERM'])
@pytest.mark.parametrize(
    ('program', 'instant', 'code'),
    [
        (NODE, 'argparse', 0),
        (NODE, 'sim_bridge.cli.environment', 0),
        (NODE, 'rclpy', 0),
        (NODE, 'sim_bridge.ros.session.loading', 0),
        (NODE, 'sim_bridge.ros.node.node', 0),
        (PD, 'numpy', 0),
        (PD, 'rclpy', 0),
        (RECORDER, 'argparse', 0),
        (RECORDER, 'rclpy', 0),
        (('sim_bridge', ('qos',)), 'argparse', None),
        (('sim_bridge', ('check', 'arm')), 'argparse', None),
    ],
)
def test_a_start_is_ended_without_a_word(start_process, program, instant, code, number, tmp_path):
    """End at once: a node and a recorder with exit code 0, a verb with a shell's code."""
    module, arguments = program
    (tmp_path / 'ros2').touch(0o755)
    process = start_process(
        '-c',
        PROGRAM,
        module,
        instant,
        number,
        *arguments,
        env={**os.environ, 'PATH': f'{tmp_path}{os.pathsep}{os.environ["PATH"]}'},
    )
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert output == ''
    assert process.returncode == (128 + number if code is None else code)


def test_loading_is_ended_though_an_exception_is_lost(start_process):
    """Interrupt again if a callee has swallowed the interruption."""
    process = start_process('-c', LOADING)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert 'Traceback' not in output
    assert process.returncode == 0


def test_a_node_that_has_just_started_ends_its_physics(start_process):
    """Stop the physics thread before its topics are destroyed."""
    process = start_process('-c', STARTED)
    output, _ = process.communicate(timeout=PATIENCE_S)
    assert (output, process.returncode) == ('MainThread\n', 0)
