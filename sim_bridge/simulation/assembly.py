"""
Array assembly: one world's arrays from separately compiled robots.

`assemble` concatenates all robots' parts into common arrays. Every robot's part is then a slice of
those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from sim_bridge.compilation.compile import Placement
from sim_bridge.engine.data.model import FREE, FREE_SINGLE, GROUND, Model
from sim_bridge.engine.data.parts import copy, make, rows_of
from sim_bridge.engine.data.state import BY_EFFORT, LESS_PUSHED, make_state, State
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.sensors.cameras import CameraSensor
from sim_bridge.sensors.contact_sensor import ContactSensor
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.sampling import Mounted, Sampling
from sim_bridge.simulation.part import carry_over, Part, with_own_parameters
from sim_bridge.simulation.slots import GeometrySlot, LinkSlot, RobotSlot

_OF_CONTACTS = [field for field, along in rows_of(State).items() if along == 'nc']


class Sites(NamedTuple):
    """
    Observed frames: all robots' links and devices.

    body: (ns,). frame: (ns, 12) in body axes: rotation by rows, origin [m]. sampling: the devices'
    sampling.
    """

    body: np.ndarray
    frame: np.ndarray
    sampling: Sampling


def assemble(
    robots: Sequence[RobotSlot],
    gravity: np.ndarray,
    contacts: int,
    loops: int,
    axes: int,
    samples: int,
) -> tuple[Model, State, list[Part]]:
    """
    Join the robots' arrays in order; return the joined arrays, and each robot's part.

    gravity: (8,) as in Model, used in place. contacts: contact capacity. loops: number of
    constraint joints. axes: number of their axes. samples: as for `make_state`.
    """
    in_order = carriers_first(robots)
    model, offsets = join_models([robot.blueprint.model for robot in in_order], gravity)
    model = model._replace(gravity=gravity)
    place = {robot.name: at for robot, at in zip(in_order, offsets, strict=True)}
    for robot in in_order:
        if robot.carrier is not None:
            link = robot.carrier
            _hang(
                model,
                place[robot.name].body,
                len(robot.blueprint.model.parent),
                place[link.robot.name].body + link.placement.body,
            )
    state = make_state(model, contacts, loops, axes, samples)
    parts = [Part(model, state, place[robot.name]) for robot in robots]
    for robot, part in zip(robots, parts, strict=True):
        carry_over(robot.blueprint.model, robot.part, part)
    return model, state, parts


def carriers_first(robots: Sequence[RobotSlot]) -> list[RobotSlot]:
    """Sort robots so that each follows its carrier; else keep the order."""
    placed: dict[str, RobotSlot] = {}
    for robot in robots:
        waiting = [robot]
        while waiting[-1].carrier is not None and waiting[-1].carrier.robot.name not in placed:
            waiting.append(waiting[-1].carrier.robot)
        for one in reversed(waiting):
            placed.setdefault(one.name, one)
    return list(placed.values())


def _hang(model: Model, first: int, count: int, carrier: int) -> None:
    """Mount a tree with `count` bodies, beginning at body `first`, on an earlier body."""
    model.parent[first] = carrier
    if model.kind[carrier] == FREE_SINGLE:
        model.kind[carrier] = FREE
    if model.kind[carrier] == GROUND:
        # the mounted robot remains a separate tree
        return
    own = slice(first, first + count)
    model.root[own] = np.where(model.root[own] == first, model.root[carrier], model.root[own])


def contact_room(state: State) -> int:
    """Return a state's contact capacity."""
    return len(state.contact_gap)


def with_contact_room(state: State, contacts: int) -> State:
    """Return a state with this contact capacity, its other arrays the same."""
    kept = {field: array for field, array in state._asdict().items() if field not in _OF_CONTACTS}
    roomy = make(State, {'nc': contacts}, **kept)
    copy_contacts(state, roomy)
    return roomy


def copy_contacts(source: State, target: State) -> None:
    """Copy one state's contacts to another with enough capacity; other rows become zero."""
    count = source.contact_size[0]
    target.contact_size[:] = source.contact_size
    for field in _OF_CONTACTS:
        array = getattr(target, field)
        array[:count], array[count:] = getattr(source, field)[:count], 0


def forget_contacts(
    state: State, first: int, end: int, geometries: Sequence[GeometrySlot], time_step: float
) -> None:
    """
    Remove some geometries' contacts in the last step from a state, and renumber the others.

    first, end: the geometries' numbers. geometries: the whole world's. time_step: the last step's
    [s].
    """
    count = int(state.contact_size[0])
    pairs = state.contact_geometry[:count]
    is_gone = ((pairs >= first) & (pairs < end)).any(axis=1)
    kept = np.flatnonzero(~is_gone)
    still_touching = {geometries[geometry].link.body for geometry in pairs[kept].ravel()}
    for contact in np.flatnonzero(is_gone):
        for geometry, sign in zip(pairs[contact], (1.0, -1.0), strict=True):
            link = geometries[geometry].link
            state.pushed[link.body] = LESS_PUSHED
            if link.body in still_touching:
                _take_back(state, int(contact), link, sign / time_step)
            else:
                state.contact_wrench[link.body] = 0.0
    for field in _OF_CONTACTS:
        array = getattr(state, field)
        array[: len(kept)] = array[kept]
        array[len(kept) : count] = 0
    state.contact_size[0] = len(kept)
    pairs = state.contact_geometry[: len(kept)]
    pairs[pairs >= end] -= end - first


def _take_back(state: State, contact: int, link: LinkSlot, factor: float) -> None:
    """Subtract a contact's impulse, times a factor, from the contact wrench on a link's body."""
    force, torque = np.split(factor * state.contact_impulse[contact], 2)
    wrench = np.concatenate([torque + np.cross(state.contact_point[contact], force), force])
    state.contact_wrench[link.body] -= wrench


def present_state(state: State) -> State:
    """Return a copy without the unused contact capacity."""
    count = state.contact_size[0]
    cut = {field: getattr(state, field)[:count] for field in _OF_CONTACTS}
    return copy(state._replace(**cut))


def restore_state(source: State, target: State) -> None:
    """Overwrite `target` in place; its capacity holds the contacts in `source`."""
    for field, array in target._asdict().items():
        if field not in _OF_CONTACTS:
            array[...] = getattr(source, field)
    copy_contacts(source, target)


def start_control(model: Model, control: np.ndarray, state: State) -> None:
    """Set the motors' targets to the joints' positions, at rest; control: (nv,) as in State."""
    state.control[:], state.target[:], state.course[:] = control, 0.0, 0.0
    driven = control != BY_EFFORT
    state.target[driven, 0] = state.q[model.q_of_v[driven]]


def gather_sites(robots: Iterable[RobotSlot]) -> Sites:
    """List all robots' sites, in order; set each robot's first site."""
    bodies: list[int] = []
    frames: list[np.ndarray] = []
    names: list[str] = []
    devices = []
    for robot in robots:
        robot.first_site = len(frames)
        link_of = {link.name: link for link in robot.links}
        for link in robot.links:
            place = link.placement
            bodies.append(link.body)
            frames.append(np.concatenate([place.rotation.ravel(), place.position]))
            names.append(f'{robot.name}/{link.name}')
        for device in robot.devices:
            carrier, parent = link_of[device.link.name], device.link.parent
            turned = -1
            if isinstance(device, ContactSensor):
                device.watch(
                    (geometry.index, geometry.name)
                    for geometry in robot.geometries
                    if geometry.link is carrier
                )
            if device.description.frame == 'parent' and parent is not None:
                turned = link_of[parent.name].site
            devices.append(Mounted(device, len(frames), turned))
            bodies.append(carrier.body)
            frames.append(_device_frame(device, carrier.placement))
            names.append(f'{robot.name}/{carrier.name}/{device.name}')
    for device, site, _ in devices:
        if isinstance(device, CameraSensor):
            device.keep_poses(tuple(names), site)
    return Sites(np.array(bodies, np.int64), np.array(frames).reshape(-1, 12), Sampling(devices))


def _device_frame(device: Device, place: Placement) -> np.ndarray:
    """Return a device's site frame in body axes, as `Sites.frame`; place: its link's placement."""
    sensor = device.description
    # SDF's frames 'child' and 'parent' are about the joint's origin wherever the sensor is
    if sensor.frame == 'sensor':
        place = place.placement_of(sensor.pose.rotation, sensor.pose.position)
    return np.concatenate([place.rotation.ravel(), place.position])


def initial_state(
    robots: Iterable[RobotSlot], model: Model, present: State
) -> tuple[State, np.ndarray]:
    """
    Return state all robots were added in, without contacts, and their joint frames there.

    present: a state with as many loops, axes and samples.
    """
    initial, state = (
        with_own_parameters(model),
        make_state(
            model,
            loops=len(present.loop_wrench),
            axes=len(present.axis_q),
            samples=len(present.sample),
        ),
    )
    for robot in robots:
        carry_over(robot.blueprint.model, robot.initial, Part(initial, state, robot.part.at))
    return state, initial.frame
