"""Worlds with contacts, and their contact problems by Pinocchio."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from shipped import path_of

import sim_bridge as sb
from sim_bridge.foundation.rotation import quaternion_from_matrix


class ContactTwin:
    """
    A world's contact problem, and Pinocchio's terms for it, in our coordinates.

    world: single bodies and robots that are at most one-axis trees. urdfs: URDF texts of these
    robots by name. M, J3, v_free, delassus3: Pinocchio's terms, for the problem's efforts.
    """

    def __init__(self, world: sb.World, problem: sb.ContactProblem, urdfs: dict[str, str]):
        """Build Pinocchio's model of a world at its current state."""
        self.model = pin.Model()
        self.model.gravity.linear = world.gravity
        self._joints: dict[tuple[str, str], int] = {}
        self._placements: dict[tuple[str, str], pin.SE3] = {}
        for robot in problem.coordinates:
            self._add(robot, urdfs.get(robot.name))
        q, nv = pin.neutral(self.model), len(problem.v)
        self.to_pin = np.zeros((self.model.nv, nv))
        lag, armature = np.zeros(nv), np.zeros(self.model.nv)
        for robot, place in problem.coordinates.items():
            at = place.start
            if not robot.fixed_base:
                joint = self.model.joints[self._joints[robot.name, robot.root_link.name]]
                link = robot.root_link
                q[joint.idx_q : joint.idx_q + 7] = [*link.p, *quaternion_from_matrix(link.R)]
                self.to_pin[joint.idx_v : joint.idx_v + 6, at : at + 6] = np.kron(
                    np.eye(2), link.R.T
                )
                # Pinocchio's are spatial accelerations, ours those of the origin
                lag[at : at + 3] = np.cross(link.w, link.v)
                at += 6
            for k, name in enumerate(robot.joint_names):
                joint = self.model.joints[self.model.getJointId(f'{robot.name}/{name}')]
                q[joint.idx_q], self.to_pin[joint.idx_v, at + k] = robot.q[k], 1.0
                armature[joint.idx_v] = robot.joint(name).armature
        self.model.armature = armature
        v = self.to_pin @ problem.v
        self.q, data = q, self.model.createData()
        self.M = self.to_pin.T @ pin.crba(self.model, data, q) @ self.to_pin
        a = pin.aba(
            self.model, data, q, v, np.linalg.solve(self.to_pin.T, problem.u + problem.efforts)
        )
        self.v_free = problem.v + problem.time_step * (np.linalg.solve(self.to_pin, a) + lag)
        self.data = data
        self.J3 = self._contact_rows(problem.contacts) @ self.to_pin
        self.delassus3 = self.J3 @ np.linalg.solve(self.M, self.J3.T)

    def _add(self, robot: sb.Robot, urdf: str | None) -> None:
        if urdf is None:
            link = robot.root_link
            here = pin.SE3.Identity()
            number = self.model.addJoint(0, pin.JointModelFreeFlyer(), here, robot.name)
            self.model.appendBodyToJoint(number, pin.Inertia(link.m, link.c, link.I), here)
            self._joints[robot.name, link.name] = number
            self._placements[robot.name, link.name] = pin.SE3.Identity()
            return
        root = [] if robot.fixed_base else [pin.JointModelFreeFlyer()]
        own = pin.buildModelFromXML(urdf, *root)
        frames = {link.name: own.getFrameId(link.name, pin.FrameType.BODY) for link in robot.links}
        for frame in own.frames:
            frame.name = f'{robot.name}/{frame.name}'
        for number in range(1, own.njoints):
            own.names[number] = f'{robot.name}/{own.names[number]}'
        before = self.model
        self.model = pin.appendModel(before, own, 0, pin.SE3.Identity())
        self.model.gravity = before.gravity
        for link in robot.links:
            frame = own.frames[frames[link.name]]
            if frame.parentJoint:
                name = own.names[frame.parentJoint]
                self._joints[robot.name, link.name] = self.model.getJointId(name)
                self._placements[robot.name, link.name] = frame.placement

    def _contact_rows(self, contacts: sb.ContactPoints) -> np.ndarray:
        """Return a's velocities relative to b along the frames' axes, by Pinocchio."""
        pin.computeJointJacobians(self.model, self.data, self.q)
        models = []
        for point in contacts:
            sides = []
            for link, placement in (
                (point.link_a, point.placement_a),
                (point.link_b, point.placement_b),
            ):
                key = link.robot.name, link.name
                local = pin.SE3(placement.R, placement.p)
                if key in self._joints:
                    sides += [self._joints[key], self._placements[key] * local]
                else:
                    sides += [0, pin.SE3(link.R, link.p) * local]
            models.append(
                pin.RigidConstraintModel(
                    pin.ContactType.CONTACT_3D, self.model, *sides, pin.ReferenceFrame.LOCAL
                )
            )
        datas = [model.createData() for model in models]
        for model, data in zip(models, datas, strict=True):
            model.calc(self.model, self.data, data)
        return pin.getConstraintsJacobian(self.model, self.data, models, datas)


def cubes(offset=0.03, velocity=True):
    """Return a world of three stacked cubes, rotated and moving."""
    random = np.random.default_rng(4)
    world = sb.World()
    world.add_ground()
    height = 0.0
    for number, size in enumerate((0.3, 0.2, 0.1)):
        motion = random.normal(size=(2, 3)) if velocity else np.zeros((2, 3))
        world.add_body(
            sb.Box((size, size, size)),
            f'cube{number}',
            mass=1.0 + number,
            position=(offset * number, 0.0, height + 0.5 * size),
            linear_velocity=motion[0],
            angular_velocity=motion[1],
        )
        height += size
    return world


def menagerie():
    """Return a moving quadruped above two boxes and an arm, and URDF texts of the robots."""
    random = np.random.default_rng(0)
    world = sb.World()
    world.add_ground()
    texts = {}
    for name, position in (('quadruped', (0.0, 0.0, 0.5)), ('arm', (0.6, 0.0, 0.0))):
        robot = world.load_urdf(path_of(name), name=name, position=position)
        robot.q = random.uniform(-0.3, 0.3, len(robot.q))
        robot.dq, robot.u = random.normal(size=(2, len(robot.q)))
        texts[name] = path_of(name).read_text()
    world.robots['quadruped'].set_base_velocity(*random.normal(size=(2, 3)))
    for number in range(2):
        turn = random.normal(size=4)
        world.add_body(
            sb.Box((0.3, 0.2, 0.1)),
            mass=2.0,
            position=(0.3 * number, 0.0, 0.2 * number + 0.1),
            orientation=turn / np.linalg.norm(turn),
            linear_velocity=random.normal(size=3),
            angular_velocity=random.normal(size=3),
        )
    return world, texts


def linkage(steps=20):
    """Return a world with a ball falling on a four-bar linkage."""
    world = sb.World()
    robot = world.load_urdf(path_of('four_bar'))
    for joint in map(robot.joint, robot.joint_names):
        joint.friction = joint.damping = 0.0
    robot.u = [3.0 * (name == robot.actuated_joints[0]) for name in robot.joint_names]
    world.step(steps)
    top = max((geometry for geometry in robot.geometries), key=lambda geometry: geometry.p[2])
    above = top.p + (0.0, 0.0, 0.5)
    ball = world.add_body(
        sb.Sphere(0.05), 'ball', mass=1.0, position=above, linear_velocity=(0.3, 0.0, -1.0)
    )
    nearest = min(world.find_distances(ball, robot), key=lambda point: point.gap)
    ball.set_base_pose(above - nearest.gap * nearest.normal)
    return world, robot
