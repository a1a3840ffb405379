"""Scenes with contacts in this package itself, through its public interface only."""

from __future__ import annotations

import numpy as np

from benchmarks.mechanism import Motion, quaternion_along, quaternion_from
from benchmarks.scene import Machine, Scene
from benchmarks.shapes import Box, Shape
from benchmarks.urdf import write_urdf
import sim_bridge as sb
from sim_bridge.foundation.version import __version__

_ROBOTS = 'robots'


class SimBridgeScene:
    """`World.step(n)`: n steps in one call. settings: world settings, for instance the solver."""

    version = __version__

    def __init__(self, scene: Scene, **settings: object):
        self._scene = scene
        self._forces: dict[int, np.ndarray] = {}
        self.world = sb.World(time_step=scene.time_step, gravity=tuple(scene.gravity), **settings)
        self._add_materials()
        for plane in scene.planes:
            self.world.add_body(
                sb.Plane(),
                motion='static',
                material=plane.material,
                position=plane.position,
                orientation=quaternion_along(plane.normal),
            )
        self._solids = self.world.add_bodies(
            {
                'shapes': _translate(solid.shape),
                'mass': solid.mass,
                'inertia': solid.inertia,
                'material': solid.material,
                'position': solid.position,
                'orientation': quaternion_from(solid.rotation),
                'linear_velocity': solid.linear,
                'angular_velocity': solid.angular,
            }
            for solid in scene.solids
        )
        self._robots = [self._add_machine(machine) for machine in scene.machines]
        self.world.set_group_collision(_ROBOTS, _ROBOTS, False)
        self.reset()

    def reset(self) -> None:
        """Set the scene's initial state, without forces."""
        self._forces.clear()
        self.world.reset()
        for robot, machine in zip(self._robots, self._scene.machines, strict=True):
            order = [robot.joint_names.index(name) for name in machine.mechanism.joint_names]
            state = machine.state
            robot.q[order], robot.dq[order] = state.q, state.dq
            robot.set_base_pose(state.position, quaternion_from(state.rotation))
            robot.set_base_velocity(state.linear, state.angular)

    def push(self, solid: int, force: np.ndarray) -> None:
        """Apply a force [N] at a loose body's centre of mass in all later steps."""
        self._forces[solid] = np.asarray(force, dtype=float)

    def step(self, n: int) -> None:
        """Advance `n` steps, inside one call if nothing is pushed."""
        for _ in range(n if self._forces else 0):
            for solid, force in self._forces.items():
                link = self._solids[solid].root_link
                link.add_force(force, point=link.p)
            self.world.step()
        if not self._forces:
            self.world.step(n)

    def motion(self) -> Motion:
        """Return all body poses and velocities."""
        links = [robot.root_link for robot in self._solids]
        coms = [np.zeros(3)] * len(links)
        for robot, machine in zip(self._robots, self._scene.machines, strict=True):
            links += [robot.link(body.name) for body in machine.mechanism.bodies]
            coms += [body.com for body in machine.mechanism.bodies]
        rotation = np.array([link.R for link in links])
        angular = np.array([link.w for link in links])
        arms = np.einsum('nij,nj->ni', rotation, np.array(coms))
        return Motion(
            com=np.array([link.p for link in links]) + arms,
            rotation=rotation,
            velocity=np.array([link.v for link in links]) + np.cross(angular, arms),
            angular=angular,
        )

    @property
    def contact_count(self) -> int:
        """Contact point count in the last step."""
        return len(self.world.contacts)

    def _add_materials(self):
        for name in self._scene.materials:
            self.world.materials.add(sb.Material(name))
        for (a, b), surface in self._scene.surfaces.items():
            self.world.set_contact_material(
                a,
                b,
                sb.ContactMaterial(
                    friction=surface.friction, restitution=surface.restitution, erp=self._scene.erp
                ),
            )

    def _add_machine(self, machine: Machine) -> sb.Robot:
        robot = self.world.load_urdf(write_urdf(machine.mechanism))
        for geometry in robot.geometries:
            geometry.material, geometry.groups = machine.material, {_ROBOTS}
        for name, rest in zip(machine.mechanism.joint_names, machine.rest, strict=True):
            joint = robot.joint(name)
            joint.stiffness, joint.damping = machine.stiffness, machine.damping
            joint.reference = rest
        return robot


def _translate(shape: Shape) -> sb.Shape:
    return sb.Box(shape.size) if isinstance(shape, Box) else sb.Sphere(shape.radius)
