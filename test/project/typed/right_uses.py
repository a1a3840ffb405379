"""A user's program without type errors, whose inferred types equal the types at run time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any, get_args, get_origin, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import sim_bridge as sb

if TYPE_CHECKING:
    from typing_extensions import assert_type
else:

    def assert_type(value: object, kind: Any) -> None:
        """Raise AssertionError if a value does not have the inferred type."""
        if get_origin(kind) is np.ndarray:
            assert isinstance(value, np.ndarray)
            assert value.dtype == get_args(get_args(kind)[1])[0]
        else:
            assert isinstance(value, get_origin(kind) or kind)


Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


class Controller:
    """A PD controller for one joint."""

    def __init__(self, joint: sb.Joint | sb.ConstraintJoint, kp: float, kd: float) -> None:
        self.joint, self.kp, self.kd = joint, kp, kd

    def effort(self, target: float) -> float:
        """Return the effort towards a target."""
        position: float = self.joint.q
        return self.kp * (target - position) - self.kd * float(self.joint.dq)


def use_robot(world: sb.World, arm: sb.Robot) -> None:
    """Read and set attributes of robots, links and joints."""
    count = len(arm.joint_names)
    for values in ([0.1] * count, (0,) * count, np.zeros(count), np.zeros(count, np.float32), 0.0):
        arm.q = values
        arm.u = values
    arm.dq = range(count)
    arm.command_effort(np.ones(count))
    arm.joint('joint_1').control = 'velocity'
    arm.command_velocity([0.5], ['joint_1'])
    arm.q[0] += 0.1
    assert_type(arm.q, Floats)
    assert_type(arm.ddq, Floats)
    assert_type(arm.lower, Floats)
    assert_type(arm.center_of_mass, Floats)
    assert_type(arm.world, sb.World)
    assert_type(arm.world.time_step, float)
    assert_type(arm.motion, str)
    assert_type(arm.fixed_base, bool)
    assert_type(arm.joints, list[sb.Joint])

    link = arm.link('tool_flange')
    assert_type(link, sb.Link)
    assert_type(link.p, Floats)
    assert_type(link.R, Floats)
    assert_type(link.m, float)
    assert_type(link.robot, sb.Robot)
    assert_type(link.robot.world.robots, Mapping[str, sb.Robot])
    assert_type(arm.geometries[0].link.robot.joint_names, list[str])
    assert_type(sb.dynamics.mass_matrix(link.robot), Floats)
    assert_type(sb.dynamics.jacobian(arm, link), Floats)
    sb.dynamics.forward_dynamics(arm, [0.0] * count)
    link.add_force([0.0, 0.0, 1.0], point=link.p + (0.1, 0.0, 0.0))
    link.add_torque(np.array([0, 0, 1]))
    link.linear_velocity_damping = [0.1, 0.1, np.float32(0.1)]
    link.m, link.c, link.I = 2, (0.0, 0.1, 0.0), [0.1, 0.1, 0.1]
    link.update_mass_properties(density=500)
    added = link.add_geometry(sb.Sphere(0.1), 'default')
    assert_type(added, sb.Geometry)
    added.position, added.friction_direction = [0.1, 0.0, 0.0], None
    world.exclude(added, arm.geometries[0])
    arm.sleep = True
    link.disable()
    if link.joint is not None and link.parent is not None:
        assert_type(link.joint.description.name, str)
        assert_type(link.parent.children[0], sb.Link)

    joint = arm.joint('joint_1')
    joint.u = Controller(joint, kp=10.0, kd=1.0).effort(0.5)
    joint.q = math.sin(joint.q) + np.float64(0.1)
    joint.lower, joint.friction = -1, np.float32(0.2)
    assert_type(joint.upper, float)
    assert_type(joint.is_linear, bool)
    assert_type(joint.anchor, Floats)
    assert_type(joint.feedback().f1, Floats)
    assert_type(joint.axes[0].q, float)
    if isinstance(joint, sb.Joint):
        assert_type(joint.robot, sb.Robot)
        assert_type(joint.child_link, sb.Link)
    if joint.link2 is not None:
        assert_type(joint.link2.robot.name, str)
    joint.axes[0].joint.control = 'effort'


def use_devices(arm: sb.Robot) -> None:
    """Read sensors."""
    assert_type(arm.device('wrist_ft').f, Floats)
    assert_type(arm.device('wrist_ft').link.robot, sb.Robot)
    for force in arm.devices(sb.ForceSensor):
        assert_type(force, sb.ForceSensor)
        assert_type(force.truth.tau, Floats)
    for imu in arm.devices(sb.ImuSensor):
        assert_type(imu.orientation, Floats)
        assert_type(imu.gyro.w, Floats)


def use_shapes(world: sb.World) -> sb.Robot:
    """Make bodies with all shapes, from lists, tuples and arrays."""
    size = np.array([0.1, 0.2, 0.3])
    shapes: list[sb.Shape | sb.Placed] = [
        sb.Box(size),
        sb.Box([1, 1, 1]),
        sb.Ellipsoid((0.1, 0.2, 0.3)),
        sb.Sphere(0.1),
        sb.Placed(sb.Cylinder(0.1, 0.2), position=size, groups=['wheels']),
        sb.ConvexHull(np.eye(3)),
        sb.ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0]]),
    ]
    assert_type(sb.Box(size).size, tuple[float, float, float])
    assert_type(sb.Placed(sb.Sphere(1.0)).groups, frozenset[str])
    mesh = sb.TriangleMesh(np.eye(3), [[0, 1, 2]])
    assert_type(mesh.triangles, Integers)
    assert_type(mesh.bounds, Floats)
    assert_type(mesh.convex_hull().vertices, Floats)
    ground = sb.HeightField(np.zeros((3, 3)), (10.0, 10.0))
    world.add_body(ground, motion='static', position=[0.0, 0.0, -1.0])
    rubber = sb.Material('rubber', friction=0.9)
    body = world.add_body(
        shapes,
        mass=1.0,
        inertia=np.eye(3),
        center_of_mass=[0, 0, 0],
        material=rubber,
        position=np.array([0.0, 0.0, 3.0]),
        orientation=[0, 0, 0, 1],
        linear_velocity=np.zeros(3),
    )
    body.set_base_pose(body.root_link.p, np.array([0, 0, 0, 1]))
    body.set_base_velocity([0.0, 0.0, 0.1])
    world.gravity = [0.0, 0.0, -1.6]
    down = world.gravity
    assert isinstance(down, np.ndarray) and down.tolist() == [0.0, 0.0, -1.6]
    world.set_contact_material(rubber, 'default', sb.ContactMaterial.from_ode(mu=0.5))
    gap = sb.distance(
        sb.Sphere(1.0),
        ([0, 0, 0], [0, 0, 0, 1]),
        sb.Sphere(1.0),
        (np.array([3, 0, 0]), (0, 0, 0, 1)),
    )
    assert_type(gap.distance, float)
    assert_type(gap.normal, Floats)
    assert_type(world.overlaps(sb.Sphere(1.0), body.root_link.p), list[sb.Geometry])
    geometry = body.geometries[0]
    geometry.enabled, geometry.groups, geometry.surface_velocity = True, {'belt'}, np.zeros(3)
    geometry.material = 'rubber'
    assert_type(geometry.material, sb.Material)
    return body


def use_joints(world: sb.World, body: sb.Robot) -> None:
    """Add joints, and distinguish tree joints from constraint joints."""
    other = world.add_body(sb.Sphere(0.1), mass=1.0, position=(0, 0, 5))
    hinge = world.add_joint('hinge', body, other.root_link, np.array([0, 0, 4]), [0, 0, 1])
    heights: list[float] = []
    heights.append(hinge.q)
    ball = world.add_joint('ball', None, other, erp=[0.2, 0.2, 0.2], cfm=1e-3)
    if isinstance(ball, sb.ConstraintJoint):
        ball.compliance = sb.Compliance((1e4,) * 6)
        ball.compliance = 1e4, [1.0] * 6
        ball.break_force, ball.erp = 1e3, 0.3
        assert_type(ball.break_force, float)
        assert_type(ball.is_broken, bool)
    motor = world.add_angular_motor(other, None, np.eye(3), fixed_on=['first'] * 3)
    assert_type(motor, sb.ConstraintJoint)
    world.add_motor(hinge, name='second')
    world.remove_joint(world.joints['second'])
    world.exclude(body.root_link, other.root_link)


def use_world(world: sb.World) -> None:
    """Step, look at contacts, save and restore."""
    snapshot = world.save()
    world.step(10)
    contacts = world.contacts
    assert_type(contacts, sb.Contacts)
    assert_type(contacts.forces, Floats)
    assert_type(contacts.indices, Integers)
    for contact in contacts:
        assert_type(contact.link_a, sb.Link)
        assert_type(contact.force, Floats)
        assert_type(contacts.force_on(contact.geometry_b.link, by=contact.geometry_a), Floats)
    world.solver, world.iterations, world.sleep = 'iterative', 20, False
    assert_type(world.erp, float)
    assert_type(world.energy().total, float)
    assert_type(world.momentum().linear, Floats)
    assert_type(world.report.converged, bool)
    assert_type(world.state_hash(), str)
    world.restore(snapshot)
    assert_type(world.copy(), sb.World)
    world.add_bodies([{'shapes': sb.Sphere(0.1), 'mass': 1.0}])
    world.step_count = 0


def use_trajectories(world: sb.World, arm: sb.Robot) -> None:
    """Follow a trajectory."""
    names = arm.joint_names
    table = np.zeros((2, len(names)))
    trajectory = sb.Trajectory(names, [0.0, 1.0], table, velocities=[table[0], None])
    assert_type(trajectory.positions, Floats)
    assert_type(trajectory.joints, tuple[str, ...])
    follower = sb.TrajectoryFollower(arm, names, {names[0]: sb.Gains(p=10.0)})
    bounds = [[0.1] * len(names)] * 3
    tolerances = sb.Tolerances(bounds, np.zeros((3, len(names))))
    run = follower.start(trajectory, 0, tolerances=tolerances)
    follower.drive(0, world.time_step_ns)
    assert_type(run.outcome, str)
    assert_type(run.tolerances.path, Floats)


def first_reachable(robot: sb.Robot, names: Sequence[str]) -> sb.Link | None:
    """Return the first link, by name, whose Jacobian has full rank."""
    for name in names:
        try:
            jacobian = sb.dynamics.jacobian(robot, name)
        except sb.UnknownNameError as error:
            print(error)
        else:
            if np.linalg.matrix_rank(jacobian) == 6:
                return robot.link(name)
    return None


def use_batch(world: sb.World) -> None:
    """Step many worlds."""
    batch = sb.Batch(world.copy(seed=3), 4, vary=lambda each, draw: each.robots['arm'])
    batch.step(2, where=[True, False, True, True])
    arm = batch.robots['arm']
    arm.u = 0.5
    arm.target_position = np.zeros((4, 7))
    assert_type(arm.q, Floats)
    assert_type(arm.devices['imu']['orientation'], Floats)
    assert_type(batch.contacts.forces, Floats)
    assert_type(batch.world(1), sb.World)
    batch.reset(batch.failed)


def main() -> None:
    """Run all uses."""
    assert_type(sb.__version__, str)
    description = sb.load_description('arm')
    assert_type(description, sb.RobotDescription)
    world = sb.World(1e-3, gravity=np.array([0, 0, -9.81]), sleep=sb.Sleep())
    arm = world.add_robot(
        description, 'arm', base='fixed', position=np.zeros(3), joint_positions={}
    )
    copied = world.add_copy(arm, position=[2.0, 0.0, 0.0])
    assert_type(copied, sb.Robot)
    use_robot(world, arm)
    use_devices(arm)
    first_reachable(arm, ['tool_flange'])
    use_joints(world, use_shapes(world))
    use_world(world)
    use_batch(world)
    use_trajectories(world, arm)
    tank = world.load_urdf('tracked_vehicle', position=(0, 5, 0.2))
    crawler = tank.crawlers[0]
    crawler.speed = 1
    assert_type(crawler.link.robot.crawler(crawler.name).axis, Floats)
    world.remove(tank)


if __name__ == '__main__':
    main()
