"""Robots in this library and in Pinocchio, at one random state, with a coordinate mapping."""

from __future__ import annotations

import re

from joint_robots import describe, joint, link
import numpy as np
import pinocchio as pin

import sim_bridge as sb
from sim_bridge.description.model import JointDynamics, Pose
from sim_bridge.description.stages import axis_frame
from sim_bridge.foundation.rotation import matrix_from_quaternion

KINDS = ('revolute', 'prismatic', 'ball', 'universal', 'piston', 'hinge2', 'planar')


class Twin:
    """
    One robot in both libraries at one random state.

    to_pin: matrix from our velocities to Pinocchio's, (nv, nv). first: our coordinates of a free
    base. q, v: Pinocchio's. tolerance: allowed difference relative to the largest entry.
    """

    tolerance: float
    world: sb.World
    robot: sb.Robot
    model: pin.Model
    to_pin: np.ndarray
    first: int
    nv: int

    def place_base(self, rng):
        """Give a free base a random pose and motion; return Pinocchio's q and v, and R."""
        quat = random_unit(rng, 4)
        position, linear, angular = rng.normal(size=(3, 3))
        self.robot.set_base_pose(position, quat)
        self.robot.set_base_velocity(linear, angular)
        R = matrix_from_quaternion(quat)
        self._w_cross_v = np.cross(angular, linear)
        return [*position, *quat], [*(R.T @ linear), *(R.T @ angular)], R

    def frame(self, link):
        """Return a link frame's number in Pinocchio."""
        assert self.model.existFrame(link.name, pin.FrameType.BODY), link.name
        return self.model.getFrameId(link.name, pin.FrameType.BODY)

    def acceleration_to_pin(self, ddq):
        """Convert our accelerations to Pinocchio's: a free joint's are spatial, in body axes."""
        ddq = ddq.copy()
        if self.first:
            ddq[:3] -= self._w_cross_v
        return self.to_pin @ ddq

    def acceleration_from_pin(self, ddq):
        """Convert Pinocchio's accelerations to ours."""
        ddq = np.linalg.solve(self.to_pin, ddq)
        if self.first:
            ddq[:3] += self._w_cross_v
        return ddq

    def assert_same(self, ours, theirs, size=1e-12):
        """Compare the largest difference to the largest entry, or to the cancelling terms."""
        scale = np.max(np.abs(theirs), initial=size)
        assert np.max(np.abs(ours - theirs), initial=0.0) <= self.tolerance * scale


def random_unit(rng, size):
    """Return a random unit vector."""
    vector = rng.normal(size=size)
    return vector / np.linalg.norm(vector)


def random_rotation(rng):
    """Return a random rotation (3, 3)."""
    return matrix_from_quaternion(random_unit(rng, 4))


def random_link(rng, name):
    """Return a link with a physically valid random mass and inertia."""
    sides = rng.uniform(0.1, 0.5, 3)
    axes = random_rotation(rng)
    inertia = axes @ np.diag(sides @ sides - sides**2) @ axes.T
    return link(name, rng.uniform(0.5, 2.0), rng.uniform(-0.3, 0.3, 3), inertia)


def random_joint(rng, number, kind):
    """Return a joint from a random earlier link to a new one."""
    parts = {}
    if kind in ('universal', 'hinge2'):
        parts['axis2'] = random_unit(rng, 3)
    if kind == 'hinge2' and number % 2:
        parts['suspension'] = JointDynamics(armature=0.3)
    return joint(
        f'j{number}',
        kind,
        f'l{rng.integers(max(0, number - 2), number + 1)}',
        f'l{number + 1}',
        Pose(rng.uniform(-0.5, 0.5, 3), random_rotation(rng)),
        random_unit(rng, 3),
        dynamics=JointDynamics(armature=rng.uniform(0.0, 0.1)),
        **parts,
    )


class RobotTwin(Twin):
    """A robot from a URDF."""

    tolerance = 1e-9

    def __init__(self, path, free, tmp_path, mimics=True, seed=0):
        rng = np.random.default_rng(seed)
        self.path, text = path, path.read_text()
        if not re.search(r'<robot[^>]*\bname=', text):
            # Pinocchio refuses a robot without a name
            text = text.replace('<robot', '<robot name="robot"', 1)
        if not mimics:
            text = re.sub(r'<mimic\b[^>]*/>', '', text)
        # Pinocchio knows no plugins
        text = re.sub(r'<plugin\b[^>]*mimic.*?</plugin>', '', text, flags=re.DOTALL)
        path = tmp_path / path.name
        path.write_text(text)
        root = [pin.JointModelFreeFlyer()] if free else []
        self.model = pin.buildModelFromUrdf(str(path), *root)
        self.world = sb.World()
        self.robot = self.world.load_urdf(
            path, base='free' if free else 'fixed', collisions='none'
        )
        robot = self.robot
        self.first = 6 if free else 0
        self.nv = self.first + len(robot.joint_names)
        assert self.nv == self.model.nv

        robot.q = rng.uniform(-1.0, 1.0, len(robot.joint_names))
        robot.dq = rng.normal(size=len(robot.joint_names))
        R = np.eye(3)
        self.q, self.v = pin.neutral(self.model), np.zeros(self.model.nv)
        if free:
            self.q[:7], self.v[:6], R = self.place_base(rng)
        # ours: free base in world axes, then joint_names; theirs: body axes, then their own order
        self.to_pin = np.zeros((self.nv, self.nv))
        if free:
            self.to_pin[:3, :3] = self.to_pin[3:6, 3:6] = R.T
        for k, name in enumerate(robot.joint_names):
            joint = self.model.joints[self.model.getJointId(name)]
            self.to_pin[joint.idx_v, self.first + k] = 1.0
            self.v[joint.idx_v] = robot.dq[k]
            # joints moving no inertia got armature at loading
            self.model.armature[joint.idx_v] = robot.joint(name).armature
            self.q[joint.idx_q : joint.idx_q + joint.nq] = (
                robot.q[k] if joint.nq == 1 else [np.cos(robot.q[k]), np.sin(robot.q[k])]
            )

        self.data = self.model.createData()


class TreeTwin(Twin):
    """A random tree with every joint type."""

    tolerance = 1e-12

    def __init__(self, seed, free):
        rng = np.random.default_rng(seed)
        kinds = [*rng.permutation(KINDS), *rng.choice(KINDS, 4)]
        joints = [random_joint(rng, number, kind) for number, kind in enumerate(kinds)]
        links = [random_link(rng, f'l{number}') for number in range(len(joints) + 1)]
        if not free:
            # Pinocchio omits the potential energy of immobile links
            links[0] = link('l0', 0.0)
        self.world = sb.World(gravity=rng.normal(size=3))
        self.robot = self.world.add_robot(
            describe(links, joints), base='free' if free else 'fixed'
        )
        self.model = pin.Model()
        self.model.gravity.linear = self.world.gravity
        self.q, self.v, self.blocks = [], [], []
        self.first = 6 if free else 0
        numbers = {'l0': self._add_base(rng) if free else 0}
        self._add_link(numbers['l0'], links[0])
        # depth first, as required by Pinocchio
        pending = [one for one in reversed(joints) if one.parent == 'l0']
        while pending:
            one = pending.pop()
            numbers[one.child] = self._add_joint(rng, one, numbers[one.parent])
            self._add_link(numbers[one.child], links[int(one.child[1:])])
            pending += [other for other in reversed(joints) if other.parent == one.child]
        self.q, self.v = np.concatenate(self.q), np.concatenate(self.v)
        self.nv = self.model.nv
        self.to_pin = np.zeros((self.nv, self.nv))
        row = 0
        for at, block in self.blocks:
            self.to_pin[row : row + len(block), at : at + block.shape[1]] = block
            row += len(block)
        armature = self.robot.slot.part.model.passive[:, 0]
        # isotropic if several coordinates mix
        self.model.armature = self.to_pin**2 @ armature
        self.data = self.model.createData()

    def _add_base(self, rng):
        position, velocity, R = self.place_base(rng)
        self.q.append(position)
        self.v.append(velocity)
        self.blocks.append((0, np.kron(np.eye(2), R.T)))
        return self.model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), 'base')

    def _add_joint(self, rng, one, parent):
        """Add a joint's stages to Pinocchio's model, and put both at a random state."""
        ours, at = self.robot.joint(one.name), self.robot.blueprint.joint_v[one.name]
        place = pin.SE3(one.origin.rotation, one.origin.position)
        velocity = rng.normal(size=ours.coordinates[1])
        ours.dq = velocity if len(velocity) > 1 else velocity[0]
        if one.type.value == 'ball':
            quat = random_unit(rng, 4)
            ours.q = 3.0 * quat
            R = matrix_from_quaternion(quat)
            self.q.append(quat)
            self.v.append(R.T @ velocity)
            self.blocks.append((at, R.T))
            return self.model.addJoint(parent, pin.JointModelSpherical(), place, one.name)
        position = rng.uniform(-1.0, 1.0, ours.coordinates[0])
        ours.q = position if len(position) > 1 else position[0]
        slide, turn = pin.JointModelPrismaticUnaligned, pin.JointModelRevoluteUnaligned
        along = axis_frame(one.axis)
        stages = {
            'revolute': [(turn, one.axis, 0)],
            'prismatic': [(slide, one.axis, 0)],
            'universal': [(turn, one.axis, 0), (turn, one.axis2, 1)],
            'piston': [(slide, one.axis, 0), (turn, one.axis, 1)],
            'hinge2': [(slide, one.axis, 2), (turn, one.axis, 0), (turn, one.axis2, 1)],
            'planar': [(slide, along[:, 0], 0), (slide, along[:, 1], 1), (turn, one.axis, 2)],
        }[one.type.value]
        for kind, axis, coordinate in stages:
            if coordinate == len(position):
                continue
            name = one.name if len(stages) == 1 else f'{one.name}_{coordinate}'
            parent = self.model.addJoint(parent, kind(axis), place, name)
            place = pin.SE3.Identity()
            self.q.append([position[coordinate]])
            self.v.append([velocity[coordinate]])
            self.blocks.append((at + coordinate, np.eye(1)))
        return parent

    def _add_link(self, number, body):
        self.model.addBodyFrame(body.name, number, pin.SE3.Identity(), 0)
        inertial = body.inertial
        if inertial is None:
            return
        self.model.appendBodyToJoint(
            number,
            pin.Inertia(inertial.mass, inertial.pose.position, inertial.inertia),
            pin.SE3.Identity(),
        )
