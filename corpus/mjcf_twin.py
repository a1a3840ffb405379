"""
An MJCF model here and in MuJoCo, at the same random states.

Mass matrix, bias force, poses of bodies and sites, and site Jacobians are compared. MuJoCo's free
and ball joints have angular velocities in body axes; `_Coordinates` maps velocities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np

import sim_bridge as sb
from sim_bridge.description.mjcf.compiled import compile_mjcf
from sim_bridge.description.mjcf.load import finished, gravity_of
from sim_bridge.description.mjcf.notes import Notes
from sim_bridge.description.mjcf.refusals import refuse
from sim_bridge.description.mjcf.robots import RobotMaker, trees_of
from sim_bridge.description.model import JointType
from sim_bridge.description.reader import Source
from sim_bridge.description.report import Findings, Report
from sim_bridge.foundation.rotation import matrix_from_quaternion, quaternion_from_matrix
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot


@dataclass(frozen=True)
class Comparison:
    """
    Greatest relative differences over all states.

    report: findings. errors: by quantity; empty if the model was not read. nv: velocities.
    """

    report: Report
    errors: dict[str, float]
    nv: int = 0

    @property
    def worst(self) -> float:
        """Greatest difference of all quantities."""
        return max(self.errors.values(), default=0.0)


def compare(source: str | Path, states: int = 3, seed: int = 1) -> Comparison:
    """Compare a file, or XML text, at some random states."""
    findings = Findings()
    own = Source(source)
    model = compile_mjcf(own, findings)
    if model is None:
        return Comparison(findings.report(str(source)), {})
    notes = Notes(model, findings)
    refuse(notes)
    maker = RobotMaker(model, notes)
    trees = [tree for tree in trees_of(model) if tree.joint_count]
    described = [
        finished(maker.describe(tree, model.name('body', tree.root)), findings) for tree in trees
    ]
    report = findings.report(str(source))
    if not report.ok:
        return Comparison(report, {})
    world = sb.World(gravity=gravity_of(model))
    robots = [world.add_robot(each, collisions='none') for each in described]
    for robot, each in zip(robots, described, strict=True):
        base = each.base_pose
        robot.set_base_pose(base.position, quaternion_from_matrix(base.rotation))
    theirs = _mujoco_model(source)
    data = mujoco.MjData(theirs)
    rng = np.random.default_rng(seed)
    errors: dict[str, float] = {}
    for _ in range(states):
        _random_state(theirs, data, rng)
        for robot in robots:
            _compare_state(theirs, data, robot, errors)
    return Comparison(report, errors, int(theirs.nv))


def _mujoco_model(source: str | Path) -> mujoco.MjModel:
    text = str(source)
    if text.lstrip().startswith('<'):
        return mujoco.MjModel.from_xml_string(text)
    return mujoco.MjModel.from_xml_path(text)


def _random_state(model: mujoco.MjModel, data: mujoco.MjData, rng: np.random.Generator) -> None:
    step = rng.uniform(-1.0, 1.0, model.nv)
    data.qpos[:] = model.qpos0
    mujoco.mj_integratePos(model, data.qpos, step, 1.0)
    data.qvel[:] = rng.normal(size=model.nv)
    mujoco.mj_forward(model, data)


class _Coordinates:
    """Coordinates of one robot here and in MuJoCo."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, robot: Robot):
        nv = sb.dynamics.velocity(robot).size
        self.q = sb.dynamics.neutral_configuration(robot)
        self.map = np.zeros((nv, model.nv))
        self._model, self._data = model, data
        self.dofs: list[int] = []
        at_q = at_v = 0
        if not robot.fixed_base:
            body = model.body(robot.description.root).id
            joint = int(model.body_jntadr[body])
            at_q, at_v = self._free(joint)
        for name in robot.joint_names:
            joint = model.joint(name).id if name else -1
            self._one_axis(joint, at_q, at_v)
            at_q, at_v = at_q + 1, at_v + 1
        for each in robot.description.joints.values():
            if each.type is JointType.BALL:
                self._ball(model.joint(each.name).id, at_q, at_v)
                at_q, at_v = at_q + 4, at_v + 3

    def _one_axis(self, joint: int, at_q: int, at_v: int) -> None:
        dof = int(self._model.jnt_dofadr[joint])
        self.q[at_q] = self._data.qpos[self._model.jnt_qposadr[joint]]
        self.map[at_v, dof] = 1.0
        self.dofs.append(dof)

    def _free(self, joint: int) -> tuple[int, int]:
        at, dof = int(self._model.jnt_qposadr[joint]), int(self._model.jnt_dofadr[joint])
        qpos = self._data.qpos[at : at + 7]
        self.q[:3], self.q[3:7] = qpos[:3], qpos[[4, 5, 6, 3]]
        self.map[:3, dof : dof + 3] = np.eye(3)
        self.map[3:6, dof + 3 : dof + 6] = matrix_from_quaternion(qpos[[4, 5, 6, 3]])
        self.dofs += range(dof, dof + 6)
        return 7, 6

    def _ball(self, joint: int, at_q: int, at_v: int) -> None:
        at, dof = int(self._model.jnt_qposadr[joint]), int(self._model.jnt_dofadr[joint])
        quaternion = self._data.qpos[at : at + 4][[1, 2, 3, 0]]
        self.q[at_q : at_q + 4] = quaternion
        self.map[at_v : at_v + 3, dof : dof + 3] = matrix_from_quaternion(quaternion)
        self.dofs += range(dof, dof + 3)


def _compare_state(
    model: mujoco.MjModel, data: mujoco.MjData, robot: Robot, errors: dict[str, float]
) -> None:
    coordinates = _Coordinates(model, data, robot)
    jacobian, dofs = coordinates.map, coordinates.dofs
    velocity = jacobian @ data.qvel
    sb.dynamics.set_configuration(robot, coordinates.q, velocity)

    def note(quantity: str, own: np.ndarray, other: np.ndarray) -> None:
        scale = max(float(np.abs(other).max(initial=0.0)), 1e-3)
        error = float(np.abs(own - other).max(initial=0.0)) / scale
        errors[quantity] = max(errors.get(quantity, 0.0), error)

    own = jacobian.T @ sb.dynamics.mass_matrix(robot) @ jacobian
    note('mass matrix', own[np.ix_(dofs, dofs)], _mass_matrix(model, data)[np.ix_(dofs, dofs)])
    bias = data.qfrc_bias - data.qfrc_gravcomp
    note('bias force', (jacobian.T @ sb.dynamics.bias_forces(robot))[dofs], bias[dofs])
    names = {model.body(number).name for number in range(model.nbody)}
    for link in robot.links:
        if link.name in names:
            body = model.body(link.name).id
            note('body pose', link.p, data.xpos[body])
            note('body pose', link.R, data.xmat[body].reshape(3, 3))
    sites = {model.site(number).name: number for number in range(model.nsite)}
    for link in robot.links:
        if link.name in sites and link.name not in names:
            _compare_site(model, data, robot, link, sites[link.name], coordinates, note)


def _compare_site(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    robot: Robot,
    link: Link,
    site: int,
    coordinates: _Coordinates,
    note: Callable[[str, np.ndarray, np.ndarray], None],
) -> None:
    note('site pose', link.p, data.site_xpos[site])
    linear, angular = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    mujoco.mj_jacSite(model, data, linear, angular, site)
    own = sb.dynamics.jacobian(robot, link.name) @ coordinates.map
    theirs = np.concatenate([linear, angular])
    note('site Jacobian', own[:, coordinates.dofs], theirs[:, coordinates.dofs])


def _mass_matrix(model: mujoco.MjModel, data: mujoco.MjData) -> np.ndarray:
    full = np.zeros((model.nv, model.nv))
    column = np.zeros(model.nv)
    for number, unit in enumerate(np.eye(model.nv)):
        mujoco.mj_mulM(model, data, column, unit)
        full[:, number] = column
    return full
