"""
A stand-in for `launch` and `launch_ros`, which have no wheels and may not be installed.

It has everything used by our launch file, with the same behaviour: arguments with defaults and
choices, parameters from files, a pipe as standard input and output marked by process, one
`on_exit` for each process, and exit code 1 after any exception. SIGTERM ends it without a word to
its processes.
"""

from __future__ import annotations

from collections.abc import Callable
import importlib.util
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import threading
from types import ModuleType, SimpleNamespace

import yaml


class DeclareLaunchArgument:
    """An argument, with its allowed values."""

    def __init__(self, name, *, default_value, description, choices=None):
        self.name, self.default, self.choices = name, default_value, choices
        self.description = description


class LaunchConfiguration:
    """An argument's value."""

    def __init__(self, name):
        self.name = name

    def perform(self, context):
        """Return it."""
        return context.values[self.name]


class OpaqueFunction:
    """A function that returns further actions."""

    def __init__(self, *, function):
        self.function = function


class LogInfo:
    """A line for the user."""

    def __init__(self, *, msg):
        self.msg = msg


class Shutdown:
    """Shutdown of all processes."""

    def __init__(self, *, reason):
        self.reason = reason


class ParameterValue:
    """A value with a known type."""

    def __init__(self, value, *, value_type):
        self.value = value_type(value)


class Node:
    """A process, with a node's name, namespace and parameters."""

    def __init__(
        self,
        *,
        executable,
        exec_name,
        namespace,
        parameters,
        output,
        emulate_tty,
        arguments=(),
        name=None,
        additional_env=None,
        on_exit=None,
    ):
        assert output == 'screen'
        assert emulate_tty
        self.exec_name, self.on_exit = exec_name, on_exit
        self.environment = additional_env or {}
        names = ['-r', f'__node:={name}'] if name else []
        names += ['-r', f'__ns:=/{namespace.strip("/")}'] if namespace else []
        files = [item for each in parameters for item in ('--params-file', _file_of(each))]
        self.command = [executable, *arguments, '--ros-args', *names, *files]


class ExecuteProcess:
    """A process that is no node."""

    def __init__(self, *, cmd, name, output, on_exit=None):
        assert output == 'screen'
        self.command, self.exec_name, self.on_exit = cmd, name, on_exit
        self.environment = {}


def ExecutableInPackage(*, package, executable):
    """Return the path of a package's executable."""
    for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep):
        path = Path(prefix) / 'lib' / package / executable
        if path.exists():
            return str(path)
    raise RuntimeError(f'{executable} of {package} is not found')


def _file_of(parameters) -> str:
    if isinstance(parameters, str):
        return parameters
    values = {
        name: value.value if isinstance(value, ParameterValue) else value
        for name, value in parameters.items()
    }
    handle, path = tempfile.mkstemp(prefix='launch_params_')
    with os.fdopen(handle, 'w') as file:
        yaml.safe_dump({'/**': {'ros__parameters': values}}, file)
    return path


class LaunchService:
    """Runs a launch file."""

    def run(self, file: str, given: dict[str, str]) -> int:
        """Run until all processes have ended; return the exit code."""
        self.code, self.context = (
            0,
            SimpleNamespace(
                values={}, is_shutdown=False, argv=[':='.join(each) for each in given.items()]
            ),
        )
        self.processes: list[subprocess.Popen] = []
        signal.signal(signal.SIGINT, lambda *_: self._shut_down('SIGINT'))
        signal.signal(signal.SIGTERM, lambda *_: os._exit(1))
        threads: list[threading.Thread] = []
        self._attempt(lambda: threads.extend(self._start(file, given)))
        for thread in threads:
            thread.join()
        return self.code

    def _start(self, file, given):
        spec = importlib.util.spec_from_file_location('launch_file', file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        actions = list(module.generate_launch_description())
        while actions:
            action = actions.pop(0)
            if isinstance(action, DeclareLaunchArgument):
                value = given.get(action.name, action.default)
                if action.choices and value not in action.choices:
                    raise RuntimeError(f'{action.name}: {value!r} is not in {action.choices}')
                self.context.values[action.name] = value
            elif isinstance(action, OpaqueFunction):
                actions[:0] = action.function(self.context)
            elif isinstance(action, LogInfo):
                _say('[INFO] [launch.user]', action.msg)
            else:
                yield self._launch(action)

    def _launch(self, node: Node | ExecuteProcess) -> threading.Thread:
        process = subprocess.Popen(
            node.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **node.environment},
        )
        self.processes.append(process)
        label = f'{node.exec_name}-{len(self.processes)}'
        _say(f'[INFO] [{label}]:', f'process started with pid [{process.pid}]')
        thread = threading.Thread(target=self._follow, args=(node, process, label))
        thread.start()
        return thread

    def _follow(self, node: Node, process: subprocess.Popen, label: str) -> None:
        for line in process.stdout:
            _say(f'[{label}]', line.rstrip('\n'))
        code = process.wait()
        _say(
            f'[{label}]:',
            'process has finished cleanly' if code == 0 else f'process has died, exit code {code}',
        )
        if node.on_exit is not None:
            self._attempt(
                lambda: self._obey(node.on_exit(SimpleNamespace(returncode=code), self.context))
            )

    def _obey(self, actions) -> None:
        for each in actions:
            self._shut_down(each.reason)

    def _shut_down(self, reason: str) -> None:
        if not self.context.is_shutdown:
            self.context.is_shutdown = True
            _say('[INFO] [launch]:', f'{reason}: shutting down launched system')
            for process in self.processes:
                if process.poll() is None:
                    process.send_signal(signal.SIGINT)

    def _attempt(self, function: Callable[[], None]) -> None:
        try:
            function()
        except Exception as err:  # noqa: BLE001 - as launch does
            _say('[ERROR] [launch]:', f'Caught exception in launch: {err}')
            self.code = 1
            self._shut_down('exception')


def _say(*words: str) -> None:
    print(*words, flush=True)


_MODULES = {
    'launch': {
        'LaunchContext': SimpleNamespace,
        'LaunchDescription': list,
        'LaunchDescriptionEntity': object,
    },
    'launch.actions': {
        each.__name__: each
        for each in (DeclareLaunchArgument, ExecuteProcess, LogInfo, OpaqueFunction, Shutdown)
    },
    'launch.event_handlers': {'OnProcessExit': SimpleNamespace},
    'launch.substitutions': {'LaunchConfiguration': LaunchConfiguration},
    'launch_ros': {},
    'launch_ros.actions': {'Node': Node},
    'launch_ros.parameter_descriptions': {'ParameterValue': ParameterValue},
    'launch_ros.substitutions': {'ExecutableInPackage': ExecutableInPackage},
}


def run(file: str, given: dict[str, str]) -> int:
    """Run a launch file with the real `launch` if it is installed; return the exit code."""
    if importlib.util.find_spec('launch_ros') is None:
        for name, members in _MODULES.items():
            sys.modules[name] = ModuleType(name)
            vars(sys.modules[name]).update(members)
        return LaunchService().run(file, given)
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    import launch

    service = launch.LaunchService(argv=[':='.join(each) for each in given.items()])
    service.include_launch_description(
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(file), launch_arguments=list(given.items())
        )
    )
    return service.run()


if __name__ == '__main__':
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    sys.exit(run(sys.argv[1], dict(each.split(':=', 1) for each in sys.argv[2:])))
