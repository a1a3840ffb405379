"""
Bags as tapes: the motion in a recorded run, for viewing.

Recordings of this package are replayed, which gives all links, contacts and objects to the bit. In
other bags, `joint_states`, `/tf` and odometry give the robot's motion.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim_bridge.foundation.errors import DamagedBagError, ReplayError, SimBridgeError, StateError
from sim_bridge.foundation.validation import file_path
from sim_bridge.page.records import Mark
from sim_bridge.page.tape import Tape
from sim_bridge.robots.robot import Robot
from sim_bridge.ros.bag.events import Events
from sim_bridge.ros.bag.fields import bag_time
from sim_bridge.ros.bag.reader import Bag
from sim_bridge.ros.bag.replay import replay
from sim_bridge.ros.bag.summary import summarize
from sim_bridge.ros.wire.cdr import deserialize
from sim_bridge.ros.wire.message_types import message_class
from sim_bridge.view.taping import Taping
from sim_bridge.world.world import World

_Progress = Callable[[float], None]
_URDF = 'robot_description'


def tape_of(bag: str | Path, rate: float, progress: _Progress) -> tuple[Tape, list[str]]:
    """
    Return the motion in a bag, with marks at events, and warnings.

    rate: frame rate [Hz]. progress: called at intervals with the time [s]. Raises ReplayError for
    a bag with neither a replayable recording nor a robot description.
    """
    bag = file_path('bag', bag)
    summary = summarize(bag)
    title = bag.stem
    marks = marks_of(summary.events)
    warnings = [summary.problem] if summary.problem else []
    obstacle = summary.obstacle
    if summary.simulated is not None:
        taping: Taping | None = None

        def watch(world: World, time: float) -> None:
            nonlocal taping
            if taping is None:
                taping = Taping(world, title, rate)
            taping.look(time)

        try:
            verdict = replay(bag, progress, watch)
            if verdict.difference:
                warnings.append(f'the replay differs from the recording: {verdict.difference}')
        except SimBridgeError as err:
            obstacle = str(err)
        if taping is not None:
            if obstacle and obstacle not in warnings:
                warnings.append(obstacle)
            return taping.tape(marks), warnings
    if not any(topic.name.endswith(f'/{_URDF}') for topic in summary.topics):
        raise ReplayError(
            f'bag {str(bag)!r} cannot be shown: {obstacle}; and it has no topic …/{_URDF}, needed '
            'to show joint_states'
        )
    if summary.simulated is not None:
        warnings.append(f'shown from joint_states and /tf: {obstacle}')
    return _placed(bag, title, rate, marks, progress), warnings


def marks_of(events: Events) -> list[Mark]:
    """Return events as tape marks."""
    return [Mark(*each) for each in events.kept]


class _Puppet:
    """Robots moved by messages."""

    def __init__(self, bag: Path) -> None:
        self.world = World()
        self._bag = bag
        self._robots: dict[str, Robot] = {}  # by namespace

    def take(self, topic: str, kind: str, message: Any) -> bool:
        """Apply a message; return whether it moved a robot."""
        namespace, _, name = topic.rpartition('/')
        if name == _URDF and kind == 'std_msgs/msg/String':
            if namespace not in self._robots:
                self._robots[namespace] = self.world.load_urdf(
                    message.data, namespace.strip('/') or None, missing_meshes='warning'
                )
            return False
        robot = self._robots.get(namespace)
        if kind == 'sensor_msgs/msg/JointState' and robot is not None and name == 'joint_states':
            for joint, position in zip(message.name, message.position, strict=False):
                if joint in robot.joint_names:
                    robot.joint(joint).q = position
            return True
        if kind == 'nav_msgs/msg/Odometry' and robot is not None:
            pose = message.pose.pose
            return self._place(robot, pose.position, pose.orientation)
        if kind == 'tf2_msgs/msg/TFMessage':
            return (
                sum(
                    self._place(
                        each, transform.transform.translation, transform.transform.rotation
                    )
                    for transform in message.transforms
                    for each in self._robots.values()
                    if transform.child_frame_id.rpartition('/')[2] == each.root_link.name
                )
                > 0
            )
        return False

    def _place(self, robot: Robot, p: Any, q: Any) -> bool:
        try:
            robot.set_base_pose((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))
        except StateError:
            # the base is fixed to the world, at the place in its description
            return False
        return True


def _placed(bag: Path, title: str, rate: float, marks: list[Mark], progress: _Progress) -> Tape:
    """Return the motion described by messages."""
    puppet = _Puppet(bag)
    taping, time_of, kinds, time = Taping(puppet.world, title, rate), None, dict[str, type](), 0.0
    has_frame = False
    wanted = (
        'std_msgs/msg/String',
        'sensor_msgs/msg/JointState',
        'nav_msgs/msg/Odometry',
        'tf2_msgs/msg/TFMessage',
    )
    try:
        for number, message in enumerate(Bag(bag).messages()):
            if time_of is None:
                time_of = bag_time(message)
            if message.type_name not in wanted:
                continue
            if message.type_name not in kinds:
                kinds[message.type_name] = message_class(message.type_name)
            time = time_of(message)
            content = deserialize(message.data, kinds[message.type_name])
            if puppet.take(message.topic, message.type_name, content):
                taping.look(time)
                has_frame = True
            if number % 2000 == 0:
                progress(time)
    except DamagedBagError:
        pass  # `summarize` has reported it
    if not has_frame:
        raise ReplayError(
            f'bag {str(bag)!r} cannot be shown: it has no joint_states or /tf after the robot '
            'description'
        )
    return taping.tape(marks)
