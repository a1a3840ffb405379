"""
A simulator and a controller for each robot.

`ros2 launch sim_bridge sim_bridge.launch.py --show-args` tells what may be chosen. An argument
that is left empty leaves its parameter to the parameter file.
"""

from collections.abc import Iterator
from pathlib import Path
import sys
import time

from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription
from sim_bridge.description import find_robot, load_description, share_directory
from sim_bridge.description.scene.scene import read_scene
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.ros.params.robot_parameters import (
    controller_for,
    CONTROLLERS,
    DEFAULT_CONTROLLER,
    DEFAULT_ROBOT,
    parameter_file_beside,
)

BOOLEAN = ['true', 'false']

ARGUMENTS = [
    DeclareLaunchArgument(
        'robot', default_value='', description='name of a shipped robot, or a URDF or xacro file'
    ),
    DeclareLaunchArgument(
        'world',
        default_value='',
        description='scene file: ground, objects, materials and robots, each with a namespace',
    ),
    DeclareLaunchArgument(
        'params',
        default_value='',
        description='parameter file of all nodes; goes before quadruped.params.yaml that lies '
        'beside quadruped.urdf, which goes before config/sim_bridge.yaml',
    ),
    DeclareLaunchArgument('namespace', default_value='', description='namespace of all nodes'),
    DeclareLaunchArgument(
        'rate', default_value='', description='control steps per simulated second [Hz]'
    ),
    DeclareLaunchArgument(
        'real_time_factor',
        default_value='',
        description='simulated seconds per second; 0: no limit',
    ),
    DeclareLaunchArgument(
        'paused', default_value='false', choices=BOOLEAN, description='start paused'
    ),
    DeclareLaunchArgument(
        'controller',
        default_value='',
        choices=['', *CONTROLLERS, 'none'],
        description='who moves the robot; empty: the one that the parameter file beside it is '
        f'for, else {DEFAULT_CONTROLLER}',
    ),
    DeclareLaunchArgument(
        'record',
        default_value='false',
        description='record all topics and commands to a bag: true, for a folder of its own here '
        'named after the time, or the folder; numbered where it exists',
    ),
    DeclareLaunchArgument(
        'use_sim_time',
        default_value='true',
        choices=BOOLEAN,
        description='whether controller, robot_state_publisher and RViz live in simulated time',
    ),
    DeclareLaunchArgument(
        'robot_state_publisher',
        default_value='false',
        choices=BOOLEAN,
        description="also publish the robot's frames on /tf",
    ),
    DeclareLaunchArgument(
        'rviz',
        default_value='false',
        choices=BOOLEAN,
        description='also show all in RViz, which needs robot_state_publisher:=true',
    ),
]


def generate_launch_description() -> LaunchDescription:
    """Return what `ros2 launch` runs."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=launch_nodes)])


def launch_nodes(context: LaunchContext) -> list[Node]:
    """Return the nodes the arguments ask for."""
    chosen = {
        argument.name: LaunchConfiguration(argument.name).perform(context)
        for argument in ARGUMENTS
    }
    has_rviz = chosen['rviz'] == 'true'
    has_state_publisher = chosen['robot_state_publisher'] == 'true'
    sim_time = {'use_sim_time': chosen['use_sim_time'] == 'true'}

    simulator = {'paused': chosen['paused'] == 'true'}
    for name in ('robot', 'world'):
        if chosen[name]:
            simulator[name] = ParameterValue(chosen[name], value_type=str)
    for name in ('rate', 'real_time_factor'):
        if chosen[name]:
            simulator[name] = _number(name, chosen[name])
    if chosen['record'] != 'false':
        folder = time.strftime('sim_bridge_%Y_%m_%d-%H_%M_%S')
        simulator['record'] = ParameterValue(
            folder if chosen['record'] == 'true' else chosen['record'], value_type=str)
    if has_state_publisher:
        simulator['publish_robot_description'] = False  # or there would be two of them
    if has_rviz:
        simulator['publish_tf'] = True

    robots = list(_robots(chosen))
    own = [robot for namespace, robot in robots if not namespace]
    nodes = [
        _python_node(
            'sim_bridge', ['sim_bridge', 'node'], chosen['namespace'],
            [*_files(chosen, *own), simulator])]
    for namespace, robot in robots:
        space = '/'.join(filter(None, (chosen['namespace'], namespace)))
        if chosen['controller'] != 'none':
            name = f'{chosen["controller"] or controller_for(robot)}_controller'
            nodes.append(
                _python_node(
                    name, [f'sim_bridge.control.{name}'], space,
                    [*_files(chosen, robot), sim_time]))
        if has_state_publisher:
            nodes.append(_state_publisher(space, namespace, robot, sim_time))
    if has_rviz:
        config = str(share_directory() / 'config' / 'sim_bridge.rviz')
        nodes.append(
            Node(
                package='rviz2',
                executable='rviz2',
                namespace=chosen['namespace'],
                arguments=['-d', config],
                parameters=[sim_time],
                output='screen',
            )
        )
    return nodes


def _number(name: str, text: str) -> float:
    """Return the number that an argument is. Raises InvalidValueError."""
    try:
        return float(text)
    except ValueError:
        raise InvalidValueError(f'launch argument {name!r}', text, 'a number') from None


def _robots(chosen: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Yield namespace and file or name of every robot."""
    if chosen['world']:
        yield from ((robot.namespace, robot.urdf) for robot in read_scene(chosen['world']).robots)
    if chosen['robot'] or not chosen['world']:
        yield '', chosen['robot'] or DEFAULT_ROBOT


def _files(chosen: dict[str, str], *robots: str) -> list[str]:
    """
    Return the parameter files of a node for some robots; the later go before the earlier.

    Raises InvalidValueError for a file that is not there.
    """
    beside = [str(file) for file in map(parameter_file_beside, robots) if file is not None]
    if chosen['params']:
        # launch_ros would go on without it
        if not Path(chosen['params']).is_file():
            raise InvalidValueError(
                "launch argument 'params'", chosen['params'], 'a file that exists')
        return [*beside, chosen['params']]
    return [str(share_directory() / 'config' / 'sim_bridge.yaml'), *beside]


def _state_publisher(
    namespace: str, prefix: str, robot: str, sim_time: dict[str, bool]
) -> Node:
    """Return a robot_state_publisher; prefix: of the robot's frames, '' for none."""
    description = load_description(find_robot(robot))
    return Node(
        package='robot_state_publisher',
        executable='robot_state_publisher',
        namespace=namespace,
        parameters=[
            {
                'robot_description': ParameterValue(description.xml, value_type=str),
                'frame_prefix': f'{prefix}/' if prefix else '',
                **sim_time,
            }
        ],
        output='screen',
    )


def _python_node(name: str, module: list[str], namespace: str, parameters: list) -> Node:
    """
    Return a node of this package, run as a module: that works however the package was installed.

    The end of one ends all, so that nothing is left commanding nobody.
    """
    return Node(
        executable=sys.executable,
        arguments=['-m', *module],
        name=name,
        exec_name=name,  # what its output is marked with
        namespace=namespace,
        parameters=parameters,
        output='screen',
        emulate_tty=True,
        on_exit=Shutdown(reason=f'{name} has ended'),
    )
