"""
A simulator and a controller.

`ros2 launch sim_bridge sim_bridge.launch.py --show-args` tells what may be chosen. An argument
that is left empty leaves its parameter to the parameter file.
"""

import sys

from launch.actions import DeclareLaunchArgument, OpaqueFunction, Shutdown
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription
from sim_bridge.description import find_robot, load_description, share_directory

BOOLEAN = ['true', 'false']

ARGUMENTS = [
    DeclareLaunchArgument(
        'robot', default_value='', description='name of a shipped robot, or a URDF or xacro file'
    ),
    DeclareLaunchArgument(
        'params',
        default_value='',
        description='parameter file of all nodes; empty: config/sim_bridge.yaml',
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
        default_value='pd',
        choices=['pd', 'computed_torque', 'none'],
        description='who moves the robot',
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
        description='also show the robot in RViz, which needs robot_state_publisher:=true',
    ),
]


def generate_launch_description() -> LaunchDescription:
    """Give what `ros2 launch` runs."""
    return LaunchDescription([*ARGUMENTS, OpaqueFunction(function=launch_nodes)])


def launch_nodes(context: LaunchContext) -> list[Node]:
    """Give the nodes the arguments ask for."""
    chosen = {
        argument.name: LaunchConfiguration(argument.name).perform(context)
        for argument in ARGUMENTS
    }
    params = chosen['params'] or str(share_directory() / 'config' / 'sim_bridge.yaml')
    sim_time = {'use_sim_time': chosen['use_sim_time'] == 'true'}
    has_state_publisher = chosen['robot_state_publisher'] == 'true'

    simulator = {'paused': chosen['paused'] == 'true'}
    if chosen['robot']:
        simulator['robot'] = ParameterValue(chosen['robot'], value_type=str)
    for name in ('rate', 'real_time_factor'):
        if chosen[name]:
            simulator[name] = float(chosen[name])
    if has_state_publisher:
        simulator['publish_robot_description'] = False  # or there would be two of them

    nodes = [_python_node('sim_bridge', ['sim_bridge', 'node'], chosen, [params, simulator])]
    if chosen['controller'] != 'none':
        name = f'{chosen["controller"]}_controller'
        nodes.append(
            _python_node(name, [f'sim_bridge.control.{name}'], chosen, [params, sim_time])
        )
    if has_state_publisher or chosen['rviz'] == 'true':
        description = load_description(find_robot(chosen['robot'] or 'arm'))
    if has_state_publisher:
        nodes.append(
            Node(
                package='robot_state_publisher',
                executable='robot_state_publisher',
                namespace=chosen['namespace'],
                parameters=[
                    {
                        'robot_description': ParameterValue(description.xml, value_type=str),
                        **sim_time,
                    }
                ],
                output='screen',
            )
        )
    if chosen['rviz'] == 'true':
        config = str(share_directory() / 'config' / 'sim_bridge.rviz')
        nodes.append(
            Node(
                package='rviz2',
                executable='rviz2',
                namespace=chosen['namespace'],
                arguments=['-d', config, '-f', description.root],
                parameters=[sim_time],
                output='screen',
            )
        )
    return nodes


def _python_node(name: str, module: list[str], chosen: dict[str, str], parameters: list) -> Node:
    """
    Give a node of this package, run as a module: that works however the package was installed.

    The end of one ends all, so that nothing is left commanding nobody.
    """
    return Node(
        executable=sys.executable,
        arguments=['-m', *module],
        name=name,
        namespace=chosen['namespace'],
        parameters=parameters,
        output='screen',
        emulate_tty=True,
        on_exit=Shutdown(reason=f'{name} has ended'),
    )
