"""Tuning candidates, simulated as worlds in a batch."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from sim_bridge.batch.batch import Batch
from sim_bridge.description.resources import find_robot, find_scene
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError, UnknownNameError
from sim_bridge.robots.robot import Robot
from sim_bridge.tuning.measures import Signals
from sim_bridge.tuning.tuning_file import ATTRIBUTES, Range, Tuning
from sim_bridge.world.world import World


class Candidates:
    """Simulates a tuning's motion for many candidates at once; ranges: varied parameters."""

    def __init__(self, tuning: Tuning, count: int) -> None:
        """
        Build the world; count: worlds in the batch.

        Raises UnknownNameError and InvalidValueError for unknown joints and attributes, and the
        errors of `World.load_urdf` and `load_scene`.
        """
        self._tuning, self._count = tuning, count
        self._world = World(tuning.time_step, tuning.gravity)
        self._robot = _robot(self._world, tuning)
        names = self._robot.joint_names
        self.ranges = tuple(_ranges(tuning, tuple(names)))
        for kind, given in (
            ('start', tuning.start),
            ('targets', tuning.targets),
            ('gains', tuning.gains),
        ):
            for name in given:
                if name not in names:
                    raise UnknownNameError('joint', name, names, f'{tuning.place}, {kind}')
        for measure in (tuning.minimise, *(each.measure for each in tuning.constraints)):
            for name in sorted(measure.joints):
                if name not in names:
                    raise UnknownNameError('joint', name, names, measure.place)
        for name, position in tuning.start.items():
            self._robot.joint(name).q = position
        servos = {
            joint
            for each in self.ranges
            if each.attribute in ('kp', 'kd')
            for joint in each.joints
        } | set(tuning.gains)
        for name in tuning.targets:
            if name not in servos:
                raise InvalidValueError(
                    'targets',
                    name,
                    f'a joint with a servo: {", ".join(sorted(servos)) or "none"}'
                    '; gains, or p and d under vary, give it one',
                    tuning.place,
                )
        for name in servos:
            joint = self._robot.joint(name)
            joint.control = 'servo'
            joint.kp, joint.kd = tuning.gains.get(name, (joint.kp, joint.kd))
            joint.target_position = float(
                tuning.targets[name][0, 1] if name in tuning.targets else joint.q
            )
        self._batch = Batch(self._world, count, raises=False)
        self._work = self._world.copy()

    def signals(self, values: FloatArray) -> tuple[Signals, FloatArray]:
        """
        Return all candidates' signals, and (S,) whether each simulation failed.

        values: (S, ranges) varied parameters, S at most the number of worlds.
        """
        batch, tuning = self._batch, self._tuning
        work = self._work.robots[self._robot.name]
        for number, row in enumerate(values):
            for each, value in zip(self.ranges, row, strict=True):
                for joint in each.joints:
                    setattr(work.joint(joint), each.attribute, float(value))
            batch.take_parameters(self._work, np.arange(batch.n) == number)
        where = np.arange(batch.n) < len(values)
        batch.reset(where)
        robot, names = batch.robots[self._robot.name], self._robot.joint_names
        every = max(round(tuning.period / tuning.time_step), 1)
        steps = max(round(tuning.duration / tuning.time_step), every)
        times = tuning.time_step * np.arange(steps // every + 1) * every
        found = {
            kind: np.zeros((len(names), len(values), len(times)))
            for kind in ('position', 'velocity', 'effort', 'target')
        }
        moving = {
            names.index(name): points for name, points in tuning.targets.items() if len(points) > 1
        }
        count = len(values)
        for sample in range(len(times)):
            if sample:
                for step in range((sample - 1) * every, sample * every):
                    for column, points in moving.items():
                        robot.target_position[:, column] = np.interp(
                            tuning.time_step * (step + 1), points[:, 0], points[:, 1]
                        )
                    if moving:
                        batch.step(1, where)
                if not moving:
                    batch.step(every, where)
            found['position'][:, :, sample] = robot.q[:count].T
            found['velocity'][:, :, sample] = robot.dq[:count].T
            found['effort'][:, :, sample] = (robot.u + robot.motor_effort)[:count].T
            found['target'][:, :, sample] = robot.target_position[:count].T
        # before the first step no motor has acted: use the effort after it
        found['effort'][:, :, 0] = found['effort'][:, :, 1]
        signals: dict[str, Any] = {
            kind: dict(zip(names, values, strict=True)) for kind, values in found.items()
        }
        signals['error'] = {
            name: signals['target'][name] - signals['position'][name] for name in names
        }
        signals['time'] = times
        return signals, batch.failed[:count].copy()


def _robot(world: World, tuning: Tuning) -> Robot:
    """Load a tuning's robot or scene, and return the robot to tune."""
    if not tuning.scene:
        path = _beside(tuning, tuning.robot)
        return world.load_urdf(find_robot(path), base=tuning.base)
    world.load_scene(find_scene(_beside(tuning, tuning.scene)))
    robots = [robot for robot in world.robots.values() if robot.joint_names]
    names = [robot.name for robot in robots]
    if tuning.robot:
        if tuning.robot not in names:
            raise UnknownNameError('robot', tuning.robot, names, f'{tuning.place}, scene')
        return world.robots[tuning.robot]
    if len(robots) != 1:
        raise InvalidValueError(
            'robot', 'missing', f'one of {", ".join(names) or "none"} in the scene', tuning.place
        )
    return robots[0]


def _beside(tuning: Tuning, name: str) -> str:
    """Return a file's path if it lies beside the tuning file, else the name unchanged."""
    path = tuning.folder / name
    return str(path) if path.is_file() else name


def _ranges(tuning: Tuning, names: tuple[str, ...]) -> list[Range]:
    found = []
    for written, (lower, upper) in tuning.vary:
        pattern, _, short = written.rpartition('.')
        place = f'{tuning.place}, vary'
        if short not in ATTRIBUTES or not pattern:
            raise UnknownNameError(
                'parameter', written, [f'JOINT.{name}' for name in ATTRIBUTES], place
            )
        joints = tuple(name for name in names if fnmatchcase(name, pattern))
        if not joints:
            raise UnknownNameError('joint', pattern, names, place)
        found.append(Range(written, joints, ATTRIBUTES[short], lower, upper))
    if not found:
        raise InvalidValueError('vary', '{}', 'at least one range', tuning.place)
    return found
