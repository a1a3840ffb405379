"""Robots, devices and contacts in a batch: arrays with a row for each world."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from sim_bridge.batch.cameras import BatchPictures
from sim_bridge.batch.rows import contact_fields, Rows
from sim_bridge.compiler.memory import address_of
from sim_bridge.engine.data.model import FREE, FREE_SINGLE, KINEMATIC
from sim_bridge.engine.data.state import TARGET_POSITION, TARGET_VELOCITY
from sim_bridge.engine.pipeline import observe
from sim_bridge.foundation.arrays import FloatArray, IntArray
from sim_bridge.foundation.attributes import DeclaredAttributes, ReadOnly, Settable
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.names import ByName, counted
from sim_bridge.foundation.validation import real_array, truth
from sim_bridge.robots.link import Link
from sim_bridge.robots.robot import Robot
from sim_bridge.sensors.camera_pictures import FRAME_SIZE
from sim_bridge.sensors.cameras import CameraSensor
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.step_and_sample import UNSAMPLED

_BASE = (FREE, FREE_SINGLE, KINEMATIC)
_R = slice(observe.SITE_ROTATION, observe.SITE_ROTATION + 9)


def _joint_array(field: str, doc: str, column: int | None = None) -> Settable[FloatArray, Any]:
    """Return a property for an array over `joint_names`: a writable view."""

    def read(robot: BatchRobot) -> FloatArray:
        along = robot._q if field == 'q' else robot._v
        array = robot._rows.all[f'State.{field}'][:, along]
        return array if column is None else array[..., column]

    return Settable(read, lambda robot, value: _assign(robot, doc, read(robot), value), doc=doc)


def _actuator_array(field: str, doc: str) -> Settable[FloatArray, Any]:
    """Return a property for an array over the actuators: a writable view."""

    def read(robot: BatchRobot) -> FloatArray:
        return robot._rows.all[f'State.{field}'][:, robot._actuators]

    return Settable(read, lambda robot, value: _assign(robot, doc, read(robot), value), doc=doc)


def _base_array(field: str, first: int, size: int, doc: str) -> Settable[FloatArray, Any]:
    """Return a property for a base array: a writable view."""

    def read(robot: BatchRobot) -> FloatArray:
        if robot._base is None:
            raise InvalidValueError(
                'base', 'fixed, or on a joint', 'a free or kinematic base', robot._place
            )
        at = robot._base[field == 'v'] + first
        return robot._rows.all[f'State.{field}'][:, at : at + size]

    return Settable(read, lambda robot, value: _assign(robot, doc, read(robot), value), doc=doc)


def _assign(robot: BatchRobot, doc: str, view: FloatArray, value: Any) -> None:
    """Write numbers, one for all worlds or a row for each; write nothing if any is not finite."""
    quantity, expected = doc.partition(';')[0], f'numbers that broadcast to {view.shape}'
    array = real_array(quantity, value, expected, robot._place)
    try:
        given = np.broadcast_to(array, view.shape)
    except ValueError:
        raise InvalidValueError(quantity, value, expected, robot._place) from None
    if not np.isfinite(given).all():
        world = int(np.argwhere(~np.isfinite(given))[0, 0])
        raise InvalidValueError(
            quantity, given[world], 'finite numbers', f'{robot._place}, world {world}'
        )
    view[...] = given


class BatchRobot(DeclaredAttributes):
    """
    Robot in all worlds.

    joint_names, actuator_names: one-axis joints and actuators, in array order. devices, links: by
    name. Its own arrays have a row for each world and are views: writing to them changes the
    worlds, from the next step on.
    """

    __slots__ = (
        '_actuators',
        '_base',
        '_place',
        '_q',
        '_rows',
        '_v',
        'actuator_names',
        'devices',
        'joint_names',
        'links',
        'name',
    )

    def __init__(
        self,
        robot: Robot,
        rows: Rows,
        sites: Callable[[], FloatArray],
        device_views: Mapping[str, BatchDevice],
    ):
        """
        Create a robot's views.

        sites: returns the observed sites. device_views: its devices by name.
        """
        slot, state = robot.slot, robot.slot.part.state
        self.name: Final = robot.name
        self.joint_names: Final = robot.joint_names
        self._rows = rows
        self._place = f'robot {robot.name!r}'
        self._q, self._v = _stretch(slot.q, state.q), _stretch(slot.dq, state.v)
        model, at = slot.part.model, slot.part.at
        self.actuator_names: Final = list(robot.actuators)
        self._actuators = slice(at.actuator, at.actuator + len(self.actuator_names))
        self._base: tuple[int, int] | None = None
        if slot.links and at.body < len(model.kind) and model.kind[at.body] in _BASE:
            self._base = int(model.q_index[at.body]), int(model.v_index[at.body])
        self.devices: Final = ByName('sensor', self._place, device_views)
        self.links: Final = ByName(
            'link', self._place, {link.name: BatchLink(link, sites) for link in robot.links}
        )

    def __repr__(self) -> str:
        """Show the sizes."""
        return (
            f'<BatchRobot {self.name!r}: {counted(self._rows.n, "world")}, '
            f'{counted(len(self.joint_names), "one-axis joint")}>'
        )

    q = _joint_array('q', 'positions [rad or m]; (n, joints)')
    dq = _joint_array('v', 'velocities [rad/s or m/s]; (n, joints)')
    u = _joint_array('u', 'applied efforts [N m or N]; (n, joints)')
    target_position = _joint_array(
        'target',
        "target positions of motors with control 'position' or 'servo' [rad or m]; (n, joints)",
        TARGET_POSITION,
    )
    target_velocity = _joint_array(
        'target',
        "target velocities of motors with control 'velocity' or 'servo' [rad/s or "
        'm/s]; (n, joints)',
        TARGET_VELOCITY,
    )
    motor_effort = ReadOnly[FloatArray](
        lambda robot: robot._rows.all['State.motor'][:, robot._v].copy(),
        '(n, joints) efforts of the motors in the last step, without u [N m or N].',
    )
    controls = _actuator_array('actuator_control', 'controls of the actuators; (n, actuators)')
    activations = _actuator_array('activation', 'activations of the actuators; (n, actuators)')
    base_position = _base_array('q', 0, 3, "origin of the root link's frame, world [m]; (n, 3)")
    base_orientation = _base_array('q', 3, 4, 'its orientation, unit quaternion x y z w; (n, 4)')
    base_linear_velocity = _base_array(
        'v', 0, 3, 'velocity of that origin, world axes [m/s]; (n, 3)'
    )
    base_angular_velocity = _base_array(
        'v', 3, 3, 'its angular velocity, world axes [rad/s]; (n, 3)'
    )


def _observed(start: int, doc: str) -> ReadOnly[FloatArray]:
    """Return a property that reads a vector (n, 3) from the link's site. start: first column."""
    return ReadOnly(lambda link: link._sites()[:, link._site, start : start + 3].copy(), doc)


class BatchLink(DeclaredAttributes):
    """
    Link in all worlds: pose and motion of its frame, as in `Link`; copies.

    Each read observes all worlds.
    """

    __slots__ = ('_site', '_sites', 'name')

    def __init__(self, link: Link, sites: Callable[[], FloatArray]):
        """Create a link's view. sites: returns the observed sites."""
        self.name: Final = link.name
        self._site, self._sites = link.slot.site, sites

    def __repr__(self) -> str:
        """Show the name."""
        return f'<BatchLink {self.name!r}>'

    p = _observed(observe.SITE_POSITION, "(n, 3) position of the frame's origin [m], world.")
    v = _observed(observe.SITE_V, "(n, 3) velocity of the frame's origin [m/s], world axes.")
    w = _observed(observe.SITE_W, '(n, 3) angular velocity [rad/s], world axes.')
    dv = _observed(
        observe.SITE_DV, "(n, 3) acceleration of the frame's origin [m/s²], world axes."
    )
    dw = _observed(observe.SITE_DW, '(n, 3) angular acceleration [rad/s²], world axes.')
    R = ReadOnly[FloatArray](
        lambda link: link._sites()[:, link._site, _R].reshape(-1, 3, 3),
        '(n, 3, 3) rotations of the frame: they take vectors in link axes to world axes.',
    )


class BatchDevice(DeclaredAttributes):
    """
    Sensor in all worlds: `device['force']` is an array (n, …), nan before a sample.

    quantities: measured quantities, in the units and frames of a world's sensor.
    """

    __slots__ = ('_number', '_rows', '_spans', 'name', 'quantities')

    def __init__(self, device: Device, rows: Rows, number: int):
        """Create a device's view. number: its index in the batch."""
        self.name: Final = device.name
        self._rows, self._number = rows, number
        self._spans = ByName('quantity', f'sensor {device.name!r}', device.spans)
        self.quantities: Final = tuple(self._spans)

    def __repr__(self) -> str:
        """Show the name and the quantities."""
        return f'<BatchDevice {self.name!r}: {", ".join(self.quantities)}>'

    def __getitem__(self, quantity: str) -> FloatArray:
        """Return a quantity's latest samples (n, …); raises UnknownNameError."""
        return self._samples[:, 0, self._spans[quantity]]

    def truth(self, quantity: str) -> FloatArray:
        """Return the same samples (n, …) without noise; raises UnknownNameError."""
        return self._samples[:, 1, self._spans[quantity]]

    sample_step = ReadOnly[IntArray](
        lambda device: device._rows.all[f'step {device._number}'][:, 0],
        '(n,) step count of each world at the last sample, -1 before the first.',
    )

    @property
    def _samples(self) -> FloatArray:
        return self._rows.all[f'sample {self._number}']


class BatchCamera(BatchDevice):
    """
    Camera in all worlds: pictures (n, height, width, …) at each world's last sample.

    Each read renders, on all threads. World k has the same pixels as `batch.world(k)`. outputs:
    names for `render`.
    """

    __slots__ = ('_pictures', '_sites', 'outputs')

    def __init__(
        self,
        device: CameraSensor,
        rows: Rows,
        number: int,
        pictures: BatchPictures,
        sites: Callable[[], FloatArray],
    ):
        """Create a camera's view. number: its index in the batch. sites: as in `BatchRobot`."""
        super().__init__(device, rows, number)
        self._pictures, self._sites = pictures, sites
        self.outputs: Final = device.settings.outputs

    image = ReadOnly[np.ndarray](
        lambda camera: camera.render('image'),
        "(n, height, width, channels), or (n, height, width): colours in the camera's format.",
    )
    depth = ReadOnly[np.ndarray](
        lambda camera: camera.render('depth'),
        '(n, height, width) depth along the optical axis, float32 [m] or uint16 [mm].',
    )
    points = ReadOnly[np.ndarray](
        lambda camera: camera.render('points'),
        '(n, height, width, 3) float32 points in the optical frame [m], nan for none.',
    )

    def render(self, output: str = 'image', where: Any = None, *, now: bool = False) -> np.ndarray:
        """
        Return pictures (k, height, width, …).

        output: one from `outputs`. where: (n,) mask for k worlds; None for all. now: whether to
        show the present states instead of the last samples. Raises UnknownNameError for an
        unknown output, InvalidValueError for a wrong or empty mask, StateError for a world
        without a sample.
        """
        which = numbers_in(where, self._rows.n)
        if truth('now', now):
            frames, steps = self._sites()[:, :, :FRAME_SIZE], None
        else:
            self._pictures.check_sampled(which[self.sample_step[which] == UNSAMPLED])
            frames = self._samples[:, 0].reshape(self._rows.n, -1, FRAME_SIZE)
            steps = self.sample_step
        return self._pictures.render(output, which, frames, steps)


class BatchContacts(DeclaredAttributes):
    """
    Contact points in the last step in all worlds.

    count: (n,) how many contacts each world has: the first rows in the arrays (n, room, …); the
    rows after them are undefined. `count`, `indices`, `positions` and `normals` are views until a
    step needs more room; the other arrays are copies.
    """

    __slots__ = ('count', 'depths', 'forces', 'indices', 'normals', 'positions', 'torques')

    def __init__(self, rows: Rows, time_step: float):
        """Create views for the present contacts."""
        fields = contact_fields(rows.all)
        self.count: Final = fields['contact_size'][:, 0]
        self.indices: Final = fields['contact_geometry']
        """(n, room, 2) places of both geometries in `World.geometries`."""
        self.positions: Final = fields['contact_point']
        """(n, room, 3) [m], world."""
        self.normals: Final = fields['contact_normal']
        """(n, room, 3) from the second geometry to the first, world axes."""
        self.depths: Final = -fields['contact_gap']
        """(n, room) [m], positive for overlap."""
        self.forces: Final = fields['contact_impulse'][..., :3] / time_step
        """(n, room, 3) on the first geometry [N], world axes."""
        self.torques: Final = fields['contact_impulse'][..., 3:] / time_step
        """(n, room, 3) on the first geometry [N m], world axes."""

    def __repr__(self) -> str:
        """Show how many points there are."""
        return (
            f'<BatchContacts: {counted(int(self.count.sum()), "point")} in '
            f'{counted(len(self.count), "world")}>'
        )


def robots_of(
    robots: Sequence[Robot],
    rows: Rows,
    sites: Callable[[], FloatArray],
    pictures: Callable[[CameraSensor], BatchPictures],
) -> ByName[BatchRobot]:
    """
    Return all robots' views by name.

    robots: one world's robots, with their devices in order. sites: returns the observed sites.
    pictures: returns a camera's pictures in all worlds.
    """
    devices = [device for robot in robots for device in robot.slot.devices]
    views = {
        id(device): BatchCamera(device, rows, number, pictures(device), sites)
        if isinstance(device, CameraSensor)
        else BatchDevice(device, rows, number)
        for number, device in enumerate(devices)
    }
    return ByName(
        'robot',
        'the batch',
        {
            robot.name: BatchRobot(
                robot, rows, sites, {each.name: views[id(each)] for each in robot.devices()}
            )
            for robot in robots
        },
    )


def numbers_in(where: Any, n: int) -> IntArray:
    """Return the world numbers in a mask (n,), all for None; raises InvalidValueError."""
    if where is None:
        return np.arange(n)
    mask = np.asarray(where)
    if mask.dtype != bool or mask.shape != (n,):
        raise InvalidValueError('where', where, f'a mask: {n} times True or False')
    return np.flatnonzero(mask)


def _stretch(part: FloatArray, whole: FloatArray) -> slice:
    """Return a view's slice in an array, both one-dimensional."""
    first = (address_of(part) - address_of(whole)) // whole.itemsize if len(part) else 0
    return slice(first, first + len(part))
