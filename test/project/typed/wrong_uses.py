"""Wrong uses of many kinds: type checkers report every line ending with `type: ignore`."""

from __future__ import annotations

import numpy as np

import sim_bridge as sb

world = sb.World()
robot = world.load_urdf('arm')
link = robot.link('tool_flange')
joint = robot.joint('joint_1')
hull = sb.ConvexHull(np.eye(3))

# missing names
_ = sb.Wrld  # type: ignore[attr-defined]
world.stepp()  # type: ignore[attr-defined]
_ = robot.velocity  # type: ignore[attr-defined]
robot.velocity = 1.0  # type: ignore[attr-defined]
_ = link.robot.wrld  # type: ignore[attr-defined]
_ = robot.world.robts  # type: ignore[attr-defined]
_ = joint.torque  # type: ignore[union-attr]
joint.axes[0].torque = 1.0  # type: ignore[attr-defined]
_ = world.contacts.force  # type: ignore[attr-defined]
_ = robot.device('wrist_ft').ft  # type: ignore[attr-defined]
robot.geometries[0].enable = True  # type: ignore[attr-defined]
sb.dynamics.mass(robot)  # type: ignore[attr-defined]
hull.faces = 3  # type: ignore[attr-defined]

# read-only attributes
link.p = [0.0, 0.0, 1.0]  # type: ignore[assignment]
robot.lower = np.zeros(7)  # type: ignore[assignment]
robot.ddq = np.zeros(7)  # type: ignore[misc]
robot.name = 'other'  # type: ignore[misc]
link.robot = robot  # type: ignore[misc]
joint.motor_effort = 1.0  # type: ignore[assignment]
joint.axes[0].motor_effort = 1.0  # type: ignore[misc]
world.time = 1.0  # type: ignore[misc]
world.time_step = 1e-3  # type: ignore[assignment]
sb.Sphere(1.0).radius = 2.0  # type: ignore[misc]

# values of the wrong type
sb.World(time_step='1 ms')  # type: ignore[arg-type]
sb.World(gravity=9.81)  # type: ignore[arg-type]
world.gravity = '0 0 -9.81'  # type: ignore[assignment]
robot.q = 'home'  # type: ignore[assignment]
robot.q = [1j]  # type: ignore[list-item]
robot.u = [1.0, None]  # type: ignore[list-item]
joint.q = 'home'  # type: ignore[assignment]
joint.kp = '10'  # type: ignore[assignment]
joint.control = 3  # type: ignore[assignment]
link.gravity = 'off'  # type: ignore[assignment]
link.m = '2 kg'  # type: ignore[assignment]
world.solver = 3  # type: ignore[assignment]
robot.sleep = 'often'  # type: ignore[assignment]
link.add_force('up')  # type: ignore[arg-type]
link.add_force([0.0, 0.0, 1.0], 5)  # type: ignore[arg-type]
sb.Box(1.0)  # type: ignore[arg-type]
sb.Box('1 1 1')  # type: ignore[arg-type]
sb.Placed(link)  # type: ignore[arg-type]
sb.ConvexHull([1.0, 2.0, 3.0])  # type: ignore[list-item]
world.add_body('box')  # type: ignore[arg-type]
world.add_body(sb.Sphere(0.1), weight=1.0)  # type: ignore[call-arg]
world.add_joint('hinge', 'arm', None)  # type: ignore[arg-type]
world.step(0.5)  # type: ignore[arg-type]
world.distance(link, 'ground')  # type: ignore[arg-type]
sb.dynamics.mass_matrix(link)  # type: ignore[arg-type]
sb.dynamics.inverse_dynamics(robot, 'still')  # type: ignore[arg-type]
sb.Batch('arm', 3)  # type: ignore[arg-type]
sb.TrajectoryFollower(world)  # type: ignore[arg-type]
sb.Trajectory(['joint_1'], [0.0], positions='home')  # type: ignore[arg-type]

# results assigned to the wrong type
height: str = link.p  # type: ignore[assignment]
name: int = robot.joint_names  # type: ignore[assignment]
first: sb.Link = robot.joints[0]  # type: ignore[assignment]
_ = joint.compliance  # type: ignore[union-attr]
world.robots['arm'] = robot  # type: ignore[index]
