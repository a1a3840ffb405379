"""
Processes started by the launch file, as plain data, checked before the first one starts.

`launch` cannot undo a started process, and ends with exit code 0 if a node rejects its arguments.
Therefore all argument errors are found here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
import os
import time
from typing import Any

from sim_bridge.description import find_robot, load_description, share_directory
from sim_bridge.description.controllers import CONTROLLERS, NO_CONTROLLER
from sim_bridge.description.resources import has_ros_package
from sim_bridge.foundation.errors import brief, close_match, InvalidValueError
from sim_bridge.ros.params.frame_prefix import AUTO, frame_prefix_in
from sim_bridge.ros.params.parameter_files import parameters_in
from sim_bridge.ros.params.parameter_table import from_flat
from sim_bridge.ros.params.parameters import SimulatorParameters
from sim_bridge.ros.params.robot_parameters import (
    ControllableRobot,
    DEFAULT_CONTROLLER,
    is_openplx,
    parameter_file_beside,
    parameter_file_of_scene,
    robots_of,
    world_parameters,
)


@dataclass(frozen=True)
class Argument:
    """Launch argument; choices: allowed values, () for any."""

    name: str
    description: str
    default: str = ''
    choices: tuple[str, ...] = ()


_BOOLEAN = ('true', 'false')

# similarity above which an unknown argument is reported; including launch files have their own
_RESEMBLANCE = 0.8

ARGUMENTS = (
    Argument('robot', 'a shipped robot by name, a URDF or xacro file, or package://…'),
    Argument(
        'package_paths',
        'package folders, separated by :, searched first for package:// and $(find)',
    ),
    Argument(
        'strict',
        'refuse a robot with a defect in a sensor, drive, controller or collision',
        'false',
        _BOOLEAN,
    ),
    Argument(
        'world',
        'scene file: ground, objects, materials and robots, each with a namespace; or '
        'gallery/NAME',
    ),
    Argument(
        'params',
        'parameter file for all nodes; overrides quadruped.params.yaml beside quadruped.urdf, '
        'which overrides config/sim_bridge.yaml',
    ),
    Argument('namespace', 'namespace of all nodes'),
    Argument(
        'frame_prefix',
        "prefix of the robots' frames; auto: the parameter file's, else the namespace and a "
        'slash, because all simulators share /tf',
        AUTO,
    ),
    Argument('rate', 'control steps per simulated second [Hz]'),
    Argument('real_time_factor', 'simulated seconds per second; 0: no limit'),
    Argument('paused', 'start paused', 'false', _BOOLEAN),
    Argument(
        'controller',
        'controller of the robot; empty: the one named in the scene, or the one configured in the '
        f'parameter file beside it, else {DEFAULT_CONTROLLER}',
        '',
        ('', *CONTROLLERS, NO_CONTROLLER),
    ),
    Argument(
        'record',
        'record all topics and commands to a bag: true, for a new folder here named by the '
        'time, or the folder; numbered if it exists',
        'false',
    ),
    Argument(
        'rosbag',
        'record all topics of the graph by rosbag2, with queues long enough to lose no message: '
        'true, for a new folder here named by the time, or the folder',
        'false',
    ),
    Argument(
        'use_sim_time',
        'whether controller, robot_state_publisher and RViz use simulated time',
        'true',
        _BOOLEAN,
    ),
    Argument('robot_state_publisher', "also publish the robot's frames on /tf", 'false', _BOOLEAN),
    Argument(
        'rviz',
        'also show everything in RViz; needs robot_state_publisher:=true',
        'false',
        _BOOLEAN,
    ),
    Argument('view', 'open the live page, and print its address', 'false', _BOOLEAN),
)


@dataclass(frozen=True)
class Process:
    """
    Process to start.

    package, executable: ROS package and its executable; '' for Python modules, which `arguments`
    name. parameters: files and values, later ones override earlier ones; None if the process is
    not a node. is_vital: whether its end ends all processes. loss: consequence of its failure.
    """

    name: str
    namespace: str
    parameters: list[str | dict[str, Any]] | None
    arguments: list[str] = field(default_factory=list)
    package: str = ''
    executable: str = ''
    is_vital: bool = True
    loss: str = ''


@dataclass(frozen=True)
class Plan:
    """Processes in starting order, and lines for the user."""

    processes: list[Process]
    remarks: list[str]


def plan(chosen: Mapping[str, str], typed: Iterable[str] = ()) -> Plan:
    """
    Return the processes to start for the values of the launch arguments.

    typed: names of the arguments on the command line. `launch` ignores unknown names; a remark
    reports those resembling an argument of this file.

    Raises InvalidValueError, UnknownNameError or DescriptionError if something cannot be started.
    """
    return _Planner(chosen, typed).plan()


class _Planner:
    def __init__(self, chosen: Mapping[str, str], typed: Iterable[str]) -> None:
        self._chosen = chosen
        self._unknown = {
            name: close_match(name, chosen, _RESEMBLANCE) for name in typed if name not in chosen
        }
        self._has_state_publisher = chosen['robot_state_publisher'] == 'true'
        self._has_rviz = chosen['rviz'] == 'true'
        self._sim_time = {'use_sim_time': chosen['use_sim_time'] == 'true'}
        self._namespace = chosen['namespace'].strip('/')
        for argument, package, is_needed in (
            ('robot_state_publisher', 'robot_state_publisher', self._has_state_publisher),
            ('rviz', 'rviz2', self._has_rviz),
            ('rosbag', 'ros2bag', chosen['rosbag'] != 'false'),
        ):
            if is_needed:
                _require(argument, package)
        self._packages = [path for path in chosen['package_paths'].split(os.pathsep) if path]
        self._robots = list(robots_of(chosen['world'], chosen['robot'], self._packages))
        for robot in self._robots:
            if robot.description is None:
                find_robot(robot.source, package_paths=self._packages)
        # a robot of the scene may be without a namespace
        self._has_own = bool(chosen['robot'] or not chosen['world'])
        own = [each.source for each in self._robots if self._has_own and not each.namespace]
        self._simulator_files = self._files(*own, in_scene=True)
        # user settings override project settings
        project = world_parameters(chosen['world'])
        values: dict[str, Any] = {**project}
        for file in self._simulator_files:
            values.update(parameters_in(file, f'/{self._namespace}/sim_bridge'.replace('//', '/')))
        numbers = {
            name: _number(name, chosen[name])
            for name in ('rate', 'real_time_factor')
            if chosen[name]
        }
        if chosen['params']:
            project = {name: values[name] for name in project}
        files = {name: chosen[name] for name in ('robot', 'world') if chosen[name]}
        self._given = project | numbers | files
        # the node itself warns about unknown names
        self._values = from_flat(SimulatorParameters, values | self._given, lambda text: None)

    def plan(self) -> Plan:
        chosen, processes = self._chosen, [self._simulator()]
        remarks = [
            f'launch argument {brief(name)} is ignored. Did you mean {close!r}?'
            for name, close in self._unknown.items()
            if close
        ]
        if self._has_state_publisher and self._values.publish_link_tf:
            remarks.append(
                'publish_link_tf is switched off: robot_state_publisher publishes the links'
            )
        for robot in self._robots:
            space = '/'.join(filter(None, (self._namespace, robot.namespace)))
            if NO_CONTROLLER not in (chosen['controller'], robot.controller):
                name = f'{chosen["controller"] or robot.controller}_controller'
                in_scene = bool(robot.namespace) or not self._has_own
                files = self._files(robot.source, in_scene=in_scene)
                processes.append(
                    Process(name, space, [*files, self._sim_time], [f'sim_bridge.control.{name}'])
                )
            if self._has_state_publisher:
                processes.append(self._state_publisher(robot.namespace, self._urdf(robot)))
        if self._has_state_publisher:
            processes += self._scene_publishers()
        if self._has_rviz:
            config = str(share_directory() / 'config' / 'sim_bridge.rviz')
            processes.append(
                Process(
                    'rviz2',
                    self._namespace,
                    [self._sim_time],
                    ['-d', config],
                    'rviz2',
                    'rviz2',
                    is_vital=False,
                )
            )
        if chosen['rosbag'] != 'false':
            processes.append(self._recorder())
        return Plan(processes, remarks)

    def _urdf(self, robot: ControllableRobot) -> str:
        # late imports: most launches have no robot_state_publisher
        from sim_bridge.description.urdf.write import published_urdf
        from sim_bridge.ros.publish.drawn_meshes import mesh_folder

        description = robot.description or load_description(
            find_robot(robot.source, package_paths=self._packages), package_paths=self._packages
        )
        return published_urdf(description, mesh_folder())

    @property
    def _frame_prefix(self) -> str:
        given = self._chosen['frame_prefix']
        return frame_prefix_in(
            self._values.frame_prefix if given == AUTO else given, self._namespace
        )

    def _simulator(self) -> Process:
        chosen = self._chosen
        values: dict[str, Any] = {
            'paused': chosen['paused'] == 'true',
            'frame_prefix': self._frame_prefix,
            **self._given,
        }
        if self._packages:
            values['package_paths'] = self._packages
        if chosen['view'] == 'true':
            values['view'] = True
        if chosen['strict'] == 'true':
            values['strict'] = True
        if chosen['record'] != 'false':
            values['record'] = _folder(chosen['record'])
        if self._has_state_publisher:  # otherwise there would be two of each
            values |= {'publish_robot_description': False, 'publish_link_tf': False}
        if self._has_rviz:
            values['publish_tf'] = True
        return Process(
            'sim_bridge', self._namespace, [*self._simulator_files, values], ['sim_bridge', 'node']
        )

    def _files(self, *robots: str, in_scene: bool) -> list[str]:
        """Return a node's parameter files for some robots; later ones override earlier ones."""
        found = [parameter_file_beside(robot, self._packages) for robot in robots]
        if in_scene:
            found.append(parameter_file_of_scene(self._chosen['world']))
        beside = [str(file) for file in found if file is not None]
        given = self._chosen['params']
        if given:
            # otherwise each node would report the file's errors in its own words
            parameters_in(given, '')
            return [*beside, given]
        return [str(share_directory() / 'config' / 'sim_bridge.yaml'), *beside]

    def _recorder(self) -> Process:
        """Return rosbag2's recorder; it starts once the topics are known."""
        space = ['--namespace', self._namespace] if self._namespace else []
        folder = _folder(self._chosen['rosbag'])
        if os.path.exists(folder):
            raise InvalidValueError(
                "launch argument 'rosbag'", folder, 'a folder that does not exist yet'
            )
        return Process(
            'rosbag2',
            '',
            None,
            ['sim_bridge', 'qos', '--record', folder, *space],
            loss=f'the recording {folder!r} is incomplete, or missing',
        )

    def _scene_publishers(self) -> Iterator[Process]:
        """Yield a robot_state_publisher for each robot in OpenPLX scenes."""
        # late imports: most robots do not come from OpenPLX
        from sim_bridge.description.openplx.load import load_openplx
        from sim_bridge.description.scene.load import read_scene
        from sim_bridge.ros.publish.drawn_meshes import mesh_folder
        from sim_bridge.ros.session.loading import namespaces_of_scene
        from sim_bridge.world.openplx import urdf_of

        chosen, values = self._chosen, self._values
        files: list[tuple[str | None, str | None, Mapping[str, Any]]] = []
        if chosen['world']:
            files += [
                (each.file, each.name, each.arguments)
                for each in read_scene(chosen['world']).openplx
            ]
        if is_openplx(chosen['robot'], self._packages):
            files.append((None, values.robot_name or None, {'model': values.chosen_model}))
        for file, name, given in files:
            path = file or find_robot(chosen['robot'], package_paths=self._packages)
            scene = load_openplx(
                path, given.get('model') or None, bundle_paths=given.get('bundle_paths', ())
            )
            for robot, namespace in namespaces_of_scene(scene, name, is_own=file is None):
                yield self._state_publisher(namespace, urdf_of(robot, mesh_folder()))

    def _state_publisher(self, own: str, urdf: str) -> Process:
        """Return a robot_state_publisher process; own: the robot's namespace in the scene."""
        return Process(
            'robot_state_publisher',
            '/'.join(filter(None, (self._namespace, own))),
            [
                {
                    'robot_description': urdf,
                    'frame_prefix': self._frame_prefix + (f'{own}/' if own else ''),
                    # the default rate, 20 Hz, would leave 50 ms of motion to interpolation
                    'publish_frequency': self._values.tf_rate or self._values.rate,
                    **self._sim_time,
                }
            ],
            package='robot_state_publisher',
            executable='robot_state_publisher',
            is_vital=False,
        )


def _folder(given: str) -> str:
    """Return the bag folder: as given, or for 'true' a name from the time."""
    return time.strftime('sim_bridge_%Y_%m_%d-%H_%M_%S') if given == 'true' else given


def _require(argument: str, package: str) -> None:
    """Raise InvalidValueError if an argument's ROS package is not installed."""
    if not has_ros_package(package):
        raise InvalidValueError(
            f'launch argument {argument!r}',
            'true',
            f'the package {package} to be installed; no prefix in AMENT_PREFIX_PATH has it',
        )


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidValueError(f'launch argument {name!r}', text, 'a number') from None
