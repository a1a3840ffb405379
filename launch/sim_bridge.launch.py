"""
A simulator and a controller for each robot.

`ros2 launch sim_bridge sim_bridge.launch.py --show-args` lists the arguments. For an empty
argument, the parameter file decides. sim_bridge/cli/launch_plan.py selects and checks the started
processes.
"""

from launch.actions import DeclareLaunchArgument, ExecuteProcess, LogInfo, OpaqueFunction, Shutdown
from launch.event_handlers import OnProcessExit
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import ExecutableInPackage

from launch import LaunchContext, LaunchDescription, LaunchDescriptionEntity
from sim_bridge.cli.launch_plan import ARGUMENTS, plan, Process
from sim_bridge.foundation.errors import StateError
from sim_bridge.ros.process.exit_with_parent import tied
from sim_bridge.ros.process.lifeline import ENDS_WITH_STDIN
from sim_bridge.trust.child import python_module

ENDED_WHEN_TOLD = (0, 130, -2, -15)


def generate_launch_description() -> LaunchDescription:
    """Return the actions for `ros2 launch`."""
    declared = [
        DeclareLaunchArgument(
            each.name,
            default_value=each.default,
            description=each.description,
            **({'choices': list(each.choices)} if each.choices else {}),
        )
        for each in ARGUMENTS
    ]
    return LaunchDescription([*declared, OpaqueFunction(function=launch_processes)])


def launch_processes(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the processes selected by the arguments; raises a SimBridgeError before starting."""
    planned = plan(
        {each.name: LaunchConfiguration(each.name).perform(context) for each in ARGUMENTS},
        typed=[word.partition(':=')[0] for word in context.argv],
    )
    return [
        *(LogInfo(msg=remark) for remark in planned.remarks),
        *(_action(process) for process in planned.processes),
    ]


def _action(process: Process) -> ExecuteProcess:
    """
    Return the action starting a process; Python programs run as modules, however installed.

    `launch` ends without its children at SIGTERM. They end with it: nodes of this package by
    themselves, others tied to it.
    """
    on_exit = {'on_exit': _end_all(process)} if process.is_vital else {}
    if process.parameters is None:
        return ExecuteProcess(
            cmd=tied(python_module(*process.arguments), gently=True),
            name=process.name,
            output='screen',
            **on_exit,
        )
    parameters = [
        each if isinstance(each, str) else {name: _typed(value) for name, value in each.items()}
        for each in process.parameters
    ]
    shared = {
        'exec_name': process.name,  # label of its output
        'namespace': process.namespace,
        'parameters': parameters,
        'output': 'screen',
        'emulate_tty': True,
        **on_exit,
    }
    if process.package:
        python, *options = tied(gently=True)
        program = ExecutableInPackage(package=process.package, executable=process.executable)
        return Node(executable=python, arguments=[*options, program, *process.arguments], **shared)
    python, *arguments = python_module(*process.arguments)
    return Node(
        executable=python,
        arguments=arguments,
        name=process.name,
        additional_env={ENDS_WITH_STDIN: '1'},
        **shared,
    )


def _typed(value: object) -> object:
    """Return a parameter's value; a text stays a text, even if YAML would read a number."""
    return ParameterValue(value, value_type=str) if isinstance(value, str) else value


def _end_all(process: Process) -> object:
    """
    Return the handler for a process's end: all processes end, so no controller runs alone.

    If the process failed, the launch fails too: its exit code would be 0 otherwise.
    """
    loss = f': {process.loss}' if process.loss else ''

    def on_exit(event: OnProcessExit, context: LaunchContext) -> list[Shutdown]:
        if not context.is_shutdown and event.returncode not in ENDED_WHEN_TOLD:
            raise StateError(f'{process.name} has ended with exit code {event.returncode}{loss}')
        return [Shutdown(reason=f'{process.name} has ended')]

    return on_exit
