"""
Clients of other programs against a robot's node: MoveIt's actions, Nav2's topics.

The node gets the robot's file alone. All names are those of the file and its parameter files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import contextlib
import json
import math
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import tempfile
from typing import Any

from corpus.robot_files import RobotFile
from sim_bridge.description.load import load_description
from sim_bridge.description.model import RobotDescription
from sim_bridge.description.ros2_control import ControllerDescription, ControllerManagerDescription
from sim_bridge.description.sensor_kinds import LIDAR
from sim_bridge.foundation.errors import SimBridgeError
from sim_bridge.ros.interfaces import store

_ROOT = Path(__file__).resolve().parents[1]
_TRAJECTORY = 'JointTrajectoryController'
_GRIPPERS = {
    'position_controllers/GripperActionController': 'GripperCommand',
    'effort_controllers/GripperActionController': 'GripperCommand',
    'parallel_gripper_action_controller/GripperActionController': 'ParallelGripperCommand',
}
# of the limits of a wheel
_RESERVE = 0.9
# s; the node and two clients start within it
_PATIENCE = 120.0


def try_clients(file: RobotFile, others: Sequence[Path] = ()) -> dict[str, str]:
    """
    Run the clients for which a robot has parts; return results by name, {} without such parts.

    others: package folders beside the file's workspace. Raises SimBridgeError for a file that does
    not load.
    """
    paths = [str(file.workspace), *map(str, others)]
    description = load_description(file.path, package_paths=paths)
    asked = request(description)
    clients = [
        name
        for name, kinds in (
            ('arm_client', ('trajectories', 'grippers')),
            ('navigation_client', ('drives', 'scans', 'clouds')),
        )
        if any(asked[kind] for kind in kinds)
    ]
    if not clients:
        return {}
    store.offer()
    # a domain without other nodes, most likely
    domain = os.environ.get('ROS_DOMAIN_ID') or str(random.randrange(110, 230))
    environment = {**os.environ, 'ROS_DOMAIN_ID': domain}
    environment['PYTHONPATH'] = os.pathsep.join([str(_ROOT), *sys.path])
    results: dict[str, str] = {}
    with tempfile.TemporaryFile() as log:
        arguments = [word for path in paths for word in ('--package-path', path)]
        node = _start(['sim_bridge', 'node', str(file.path), *arguments], environment, log)
        try:
            for name in clients:
                results |= _answer(f'corpus.{name}', asked, environment)
        finally:
            _end(node)
        if node.returncode not in (0, -signal.SIGINT, -signal.SIGKILL):
            log.seek(0)
            lines = log.read().decode(errors='replace').strip().splitlines()
            results['node'] = f'exit code {node.returncode}: {lines[-1] if lines else ""}'
    return results


def request(description: RobotDescription) -> dict[str, Any]:
    """Return a client's tasks: actions, joints and topics named in a robot's files."""
    controllers = [
        (manager, each)
        for manager in description.controller_managers
        for each in manager.controllers
    ]
    lidars = [each for each in description.sensors if each.kind is LIDAR and each.topic]
    scans = [
        each.topic
        for each in lidars
        if each.settings.vertical_samples == 1 or each.settings.cloud_topic
    ]
    clouds = [each.settings.cloud_topic or each.topic for each in lidars]
    return {
        'patience': _PATIENCE,
        'trajectories': [
            _trajectory(description, *each)
            for each in controllers
            if each[1].type.endswith(_TRAJECTORY)
        ],
        'grippers': [
            _gripper(description, *each) for each in controllers if each[1].type in _GRIPPERS
        ],
        'drives': _drives(description),
        'scans': list(map(_full, scans)),
        'clouds': [_full(each) for each in clouds if each not in scans],
    }


def _trajectory(
    description: RobotDescription,
    manager: ControllerManagerDescription,
    one: ControllerDescription,
) -> dict[str, Any]:
    joints = list(one.settings.joints if one.settings else one.parameters.get('joints', ()))
    return {
        'name': one.name,
        'action': f'{manager.prefix}/{one.name}/follow_joint_trajectory',
        'joints': joints,
        'middles': [_middle(description, joint) for joint in joints],
    }


def _gripper(
    description: RobotDescription,
    manager: ControllerManagerDescription,
    one: ControllerDescription,
) -> dict[str, Any]:
    joint = str(one.parameters.get('joint', ''))
    return {
        'name': one.name,
        'action': f'{manager.prefix}/{one.name}/gripper_cmd',
        'kind': _GRIPPERS[one.type],
        'joint': joint,
        'position': _middle(description, joint) or 0.0,
    }


def _middle(description: RobotDescription, joint: str) -> float | None:
    """Return the middle of a joint's limits [rad or m]; None without limits."""
    if joint not in description.joints:
        return None
    limits = description.joints[joint].limits
    middle = (limits.lower + limits.upper) / 2.0
    return middle if math.isfinite(middle) else None


def _drives(description: RobotDescription) -> list[dict[str, Any]]:
    return [
        {
            'name': drive.name,
            'command': _full(drive.command_topic or f'{drive.name}/cmd_vel'),
            'odometry': _full(drive.odom_topic or f'{drive.name}/odom'),
            'tf': drive.provides_tf,
            'root': description.root,
            'speed': min(
                [
                    drive.limits[0].max_velocity,
                    *(
                        _RESERVE * description.joints[wheel.joint].limits.velocity * wheel.radius
                        for wheel in drive.wheels
                        if wheel.joint in description.joints
                    ),
                ]
            ),
        }
        for drive in description.drives
    ]


def _full(topic: str) -> str:
    return topic if topic.startswith('/') else f'/{topic}'


def _start(
    words: Sequence[str], environment: Mapping[str, str], output: Any
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, '-m', *words],
        cwd=_ROOT,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _answer(
    module: str, asked: Mapping[str, Any], environment: Mapping[str, str]
) -> dict[str, str]:
    """Return a client's results."""
    process = _start([module, json.dumps(asked)], environment, subprocess.PIPE)
    count = sum(len(part) for part in asked.values() if isinstance(part, list))
    try:
        output, _ = process.communicate(timeout=_PATIENCE * (count + 1))
    except subprocess.TimeoutExpired:
        return {module: 'no end'}
    finally:
        _end(process)
    lines = output.decode(errors='replace').strip().splitlines()
    if process.returncode or not lines:
        return {module: f'exit code {process.returncode}: {lines[-1] if lines else ""}'}
    return {str(name): str(told) for name, told in json.loads(lines[-1]).items()}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children, first as by Ctrl-C."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20.0)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def told(file: RobotFile, others: Sequence[Path] = ()) -> str:
    """Return the results as one table cell."""
    try:
        results = try_clients(file, others)
    except SimBridgeError as err:
        return str(err)
    return '; '.join(f'{name}: {text}' for name, text in results.items())
