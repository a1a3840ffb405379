"""A robot in a world: its coordinates, links, joints and devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from sim_bridge.description.model import JointType, RobotDescription, SensorKind
from sim_bridge.description.rotation import matrix_from_quaternion, quaternion_from_matrix
from sim_bridge.engine import model as engine
from sim_bridge.engine.join import Offsets
from sim_bridge.errors import InvalidValueError, UnknownNameError
from sim_bridge.joint import Joint
from sim_bridge.link import Link
from sim_bridge.sensors.devices import (
    AccelerationSensor,
    Device,
    ForceSensor,
    ImuSensor,
    RateGyroSensor,
)
from sim_bridge.values import finite_vector, real_array

if TYPE_CHECKING:
    from sim_bridge.description.compile import Blueprint
    from sim_bridge.description.model import SensorDescription
    from sim_bridge.world import World

_Kind = TypeVar('_Kind', bound=Device)

_DEVICES: dict[SensorKind, type[Device]] = {
    SensorKind.FORCE_TORQUE: ForceSensor,
    SensorKind.GYRO: RateGyroSensor,
    SensorKind.ACCELEROMETER: AccelerationSensor,
    SensorKind.IMU: ImuSensor,
}


class Robot:
    """
    A body of links, after Choreonoid's Body.

    q, dq, u and ddq are arrays over `joint_names`, the one-axis joints in the order of the
    description [rad or m; N m or N]. q, dq and u are views of the simulation's own state: writing
    them changes it. They stay valid until another robot is added to the world.
    """

    def __init__(
        self, world: World, name: str, description: RobotDescription, blueprint: Blueprint
    ):
        """Belong to a world; World makes robots."""
        self.world = world
        self.name = name
        self.description = description
        self.blueprint = blueprint
        self.joint_names = list(blueprint.joint_names)
        self._offsets = Offsets(0, 0, 0)
        self._links = {
            key: Link(self, link, blueprint.links[key]) for key, link in description.links.items()
        }
        self._joints: dict[str, Joint] = {}
        for joint_description in description.joints.values():
            parent = self._links[joint_description.parent]
            child = self._links[joint_description.child]
            joint = Joint(self, joint_description, parent, child)
            self._joints[joint.name] = joint
            child.parent, child.joint = parent, joint
            parent.children.append(child)
        self._devices: dict[str, Device] = {}
        for sensor in description.sensors:
            self._devices[sensor.name] = self._make_device(sensor)
        self._first_site = 0
        self._site_of = {key: number for number, key in enumerate(self._links)}

    def __repr__(self) -> str:
        """Show the size."""
        links, joints = len(self._links), len(self.joint_names)
        return f'<Robot {self.name!r}: {links} links, {joints} one-axis joints>'

    # --- coordinates -----------------------------------------------------------------------------

    @property
    def q(self) -> np.ndarray:
        """Positions; a view to read and write."""
        return self._q

    @q.setter
    def q(self, value: np.ndarray) -> None:
        self._assign('q', self._q, value)

    @property
    def dq(self) -> np.ndarray:
        """Velocities; a view to read and write."""
        return self._dq

    @dq.setter
    def dq(self, value: np.ndarray) -> None:
        self._assign('dq', self._dq, value)

    @property
    def u(self) -> np.ndarray:
        """Applied efforts, kept until changed and clamped by steps; a view to read and write."""
        return self._u

    @u.setter
    def u(self, value: np.ndarray) -> None:
        self._assign('u', self._u, value)

    @property
    def ddq(self) -> np.ndarray:
        """Accelerations at the present state under the present efforts; a copy."""
        return self.world.observed_accelerations()[self._one_axis].copy()

    @property
    def lower(self) -> np.ndarray:
        """Lower position limits, -inf where there is none; a copy."""
        return self.world.model.limits[self._one_axis, engine.LOWER].copy()

    @property
    def upper(self) -> np.ndarray:
        """Upper position limits, inf where there is none; a copy."""
        return self.world.model.limits[self._one_axis, engine.UPPER].copy()

    @property
    def effort_limits(self) -> np.ndarray:
        """Effort limits, inf where there is none; a copy."""
        return self.world.model.limits[self._one_axis, engine.EFFORT].copy()

    @property
    def velocity_limits(self) -> np.ndarray:
        """Velocity limits as described, inf where there is none; not enforced."""
        return np.array([self._joints[name].velocity_limit for name in self.joint_names])

    def command_effort(self, values: Sequence[float], joints: Sequence[str] | None = None) -> None:
        """
        Set efforts after checking them; where anything is wrong nothing is set.

        values: N m or N, one for each of `joints`, or of all `joint_names`. Raises
        UnknownNameError for a joint that is not there, and InvalidValueError for a wrong number of
        values or one that is not finite.
        """
        names = self.joint_names if joints is None else list(joints)
        efforts = real_array(
            'efforts', values, 'numbers [N m or N]', f'robot {self.name!r}')
        if efforts.shape != (len(names),):
            raise InvalidValueError(
                'number of efforts', efforts.size,
                f'{len(names)}, one for each of {", ".join(names)}', f'robot {self.name!r}')
        for joint, effort in zip(names, efforts, strict=True):
            if joint not in self._index:
                raise UnknownNameError('joint', joint, self.joint_names, f'robot {self.name!r}')
            if not np.isfinite(effort):
                raise InvalidValueError(
                    'effort', float(effort),
                    'a finite number [N m or N]', f'robot {self.name!r}, joint {joint!r}')
        self._u[[self._index[joint] for joint in names]] = efforts

    # --- base ------------------------------------------------------------------------------------

    @property
    def fixed_base(self) -> bool:
        """Whether the root link is welded to the world."""
        return self.blueprint.fixed_base

    def set_base_pose(
        self, position: Sequence[float], orientation: Sequence[float] = (0.0, 0.0, 0.0, 1.0)
    ) -> None:
        """
        Put the root link's frame somewhere in the world.

        position: m. orientation: quaternion x y z w, normalised here. Raises InvalidValueError for
        anything else.
        """
        p = self._finite('position', position, 3)
        quat = self._finite('orientation', orientation, 4)
        norm = float(np.linalg.norm(quat))
        if norm < 1e-6:
            raise InvalidValueError(
                'orientation', tuple(quat),
                'a quaternion x y z w of non-zero length', f'robot {self.name!r}')
        quat = quat / norm
        if not self._links:
            return
        if self.fixed_base:
            rotation = matrix_from_quaternion(quat)
            self.world.model.frame[self._offsets.body] = [*rotation.ravel(), *p]
            self.world.invalidate()
        else:
            at = self._offsets.q
            self.world.state.q[at : at + 7] = [*p, *quat]

    def set_base_velocity(
        self, linear: Sequence[float], angular: Sequence[float] = (0.0, 0.0, 0.0)
    ) -> None:
        """
        Set the velocity of the root link.

        linear: of its origin [m/s]. angular: [rad/s]. Both in world axes. Raises InvalidValueError
        for a fixed base or values that are not finite.
        """
        v = self._finite('linear velocity', linear, 3)
        w = self._finite('angular velocity', angular, 3)
        if self.fixed_base:
            raise InvalidValueError(
                'base velocity', (*v, *w), 'a robot with a free base', f'robot {self.name!r}')
        at = self._offsets.v
        self.world.state.v[at : at + 6] = [*v, *w]

    @property
    def hold(self) -> bool:
        """Whether all one-axis joints are locked in place, whatever it takes; to be set."""
        return bool(self.world.state.hold[self._own_one_axis].any())

    @hold.setter
    def hold(self, value: bool) -> None:
        self.world.state.hold[self._own_one_axis] = int(bool(value))
        self.world.invalidate()

    # --- parts -----------------------------------------------------------------------------------

    @property
    def links(self) -> list[Link]:
        """All links in the order of the description."""
        return list(self._links.values())

    @property
    def joints(self) -> list[Joint]:
        """All joints, fixed ones too, in the order of the description."""
        return list(self._joints.values())

    @property
    def root_link(self) -> Link:
        """The link that is no joint's child; UnknownNameError for a robot without links."""
        return self.link(self.description.root)

    def link(self, name: str) -> Link:
        """Give a link by name; raises UnknownNameError."""
        return self._part('link', self._links, name)

    def joint(self, name: str) -> Joint:
        """Give a joint of any type by name; raises UnknownNameError."""
        return self._part('joint', self._joints, name)

    def device(self, name: str) -> Device:
        """Give a device by name; raises UnknownNameError."""
        return self._part('sensor', self._devices, name)

    def devices(self, kind: type[_Kind] = Device) -> list[_Kind]:
        """
        Give the devices of a class, in the order of the description.

        Where a class is given, an IMU's gyro and accelerometer count as devices too.
        """
        every: list[Device] = []
        for device in self._devices.values():
            every.append(device)
            if isinstance(device, ImuSensor):
                every += [device.gyro, device.accelerometer]
        if kind is Device:
            return list(self._devices.values())
        return [device for device in every if isinstance(device, kind)]

    @property
    def mass(self) -> float:
        """Mass of all links [kg]."""
        return float(sum(link.m for link in self._links.values()))

    @property
    def center_of_mass(self) -> np.ndarray:
        """(3,) centre of mass of all links [m], world; the root's origin if there is no mass."""
        total = self.mass
        if total <= 0.0:
            return self.root_link.p
        return sum(link.m * link.wc for link in self._links.values()) / total

    # --- for Link, Joint, World and dynamics -----------------------------------------------------

    def bind(self, offsets: Offsets, first_site: int) -> None:
        """Take new places in the world's arrays."""
        self._offsets, self._first_site = offsets, first_site
        start = offsets.v + self.blueprint.first_v
        self._one_axis = slice(start, start + len(self.joint_names))
        self._own_one_axis = np.array(
            [start + k for k, name in enumerate(self.joint_names)
             if self._joints[name].mimic is None], dtype=np.int64)
        start_q = offsets.q + (0 if self.fixed_base else 7)
        state = self.world.state
        self._q = state.q[start_q : start_q + len(self.joint_names)]
        self._dq, self._u = state.v[self._one_axis], state.u[self._one_axis]
        self._index = {name: k for k, name in enumerate(self.joint_names)}

    @property
    def offsets(self) -> Offsets:
        """Where the robot's bodies and coordinates begin in the world's model."""
        return self._offsets

    def initialize(self) -> None:
        """Write the initial state: at rest, every joint at 0 or at the stop nearest to it."""
        for name in self.joint_names:
            joint = self._joints[name]
            row = joint.parameter_row('limits')
            if row[engine.LOWER] <= row[engine.UPPER]:
                joint.q = min(max(0.0, row[engine.LOWER]), row[engine.UPPER])
        for name in self.joint_names:
            law = self._joints[name].mimic
            if law is not None:
                self._joints[name].q = law.multiplier * self._joints[law.joint].q + law.offset
        for joint in self._joints.values():
            if joint.type is JointType.FLOATING:
                parent, origin = joint.parent_link, joint.description.origin
                position = parent.p + parent.R @ origin.position
                rotation = parent.R @ origin.rotation
                joint.q = [*position, *quaternion_from_matrix(rotation)]

    def invalidate(self) -> None:
        """Forget what was computed from the model's parameters."""
        self.world.invalidate()

    def site(self, link: Link) -> np.ndarray:
        """Give a link's row of `engine.observe` at the present state."""
        return self.world.observed_sites()[self._first_site + self._site_of[link.name]]

    def site_frames(self) -> list[tuple[int, np.ndarray, np.ndarray]]:
        """List body, rotation and position of every site: the links', then the devices'."""
        frames = [
            (link.placement.body, link.placement.rotation, link.placement.position)
            for link in self._links.values()
        ]
        for device in self._devices.values():
            sensor, place = device.description, device.link.placement
            rotation, position = place.rotation, place.position
            # SDF's frames 'child' and 'parent' are about the joint's origin wherever the sensor is
            if sensor.kind is not SensorKind.FORCE_TORQUE or sensor.frame == 'sensor':
                position = position + rotation @ sensor.pose.position
                rotation = rotation @ sensor.pose.rotation
            frames.append((place.body, rotation, position))
        return frames

    def device_sites(self) -> list[tuple[Device, int]]:
        """List the devices with their site numbers."""
        first = self._first_site + len(self._links)
        return [(device, first + k) for k, device in enumerate(self._devices.values())]

    def add_wrench(
        self, body: int, force: np.ndarray, torque: np.ndarray, point: np.ndarray
    ) -> None:
        """Add a force at a world point and a torque to a body, for the next step call."""
        self.world.add_wrench(self._offsets.body + body, force, torque, point)

    def joint_positions(self, joint: Joint) -> np.ndarray:
        """Give the view of a joint's position coordinates."""
        at = self._offsets.q + self.blueprint.joint_q.get(joint.name, 0)
        return self.world.state.q[at : at + joint.coordinates[0]]

    def joint_velocities(self, joint: Joint) -> np.ndarray:
        """Give the view of a joint's velocity coordinates."""
        return self.world.state.v[self._velocity_slice(joint)]

    def joint_efforts(self, joint: Joint) -> np.ndarray:
        """Give the view of a joint's efforts."""
        return self.world.state.u[self._velocity_slice(joint)]

    def joint_accelerations(self, joint: Joint) -> np.ndarray:
        """Give a joint's accelerations at the present state."""
        return self.world.observed_accelerations()[self._velocity_slice(joint)]

    def parameter_row(self, array: str, joint: Joint) -> np.ndarray:
        """Give a one-axis joint's row of a model array."""
        rows = getattr(self.world.model, array)
        return rows[self._offsets.v + self.blueprint.joint_v[joint.name]]

    def joint_body(self, joint: Joint) -> int | None:
        """Give the number of the body that hangs on a joint, None if the joint is merged away."""
        body = self.blueprint.joint_body.get(joint.name)
        return None if body is None else self._offsets.body + body

    def _velocity_slice(self, joint: Joint) -> slice:
        at = self._offsets.v + self.blueprint.joint_v.get(joint.name, 0)
        return slice(at, at + joint.coordinates[1])

    def _part(self, kind: str, parts: dict, name: str):
        if name not in parts:
            raise UnknownNameError(kind, name, parts, f'robot {self.name!r}')
        return parts[name]

    def _assign(self, what: str, view: np.ndarray, value: object) -> None:
        array = real_array(
            what, value, f'numbers, one for each of {len(view)} joints', f'robot {self.name!r}')
        if array.shape not in ((), view.shape):
            raise InvalidValueError(
                f'shape of {what}', array.shape,
                f'{view.shape}, one for each joint', f'robot {self.name!r}')
        view[:] = array

    def _finite(self, what: str, value: object, size: int) -> np.ndarray:
        return finite_vector(what, value, size, f'robot {self.name!r}')

    def _make_device(self, sensor: SensorDescription) -> Device:
        world = self.world
        return _DEVICES[sensor.kind](
            sensor, self.link(sensor.link), self.name, world.seed, world.time_step, world.gravity)
