"""
From robots, each compiled for itself, to the arrays of one world.

A robot begins with arrays of its own (`own_part`), so that adding a thousand of them costs no more
than a thousand times one. `assemble` puts the parts of all robots into common arrays, when
something needs them, and every robot's part is then a stretch of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from sim_bridge.compilation.compile import Blueprint, Placement
from sim_bridge.description.model import SensorKind
from sim_bridge.engine.data import geometry as collision
from sim_bridge.engine.data.loops import Loops
from sim_bridge.engine.data.model import (
    body_count,
    FREE,
    FREE_SINGLE,
    GROUND,
    Model,
    position_count,
    velocity_count,
)
from sim_bridge.engine.data.state import BY_EFFORT, make_state, State
from sim_bridge.engine.pipeline.join import join_models, Offsets
from sim_bridge.engine.pipeline.observe import SITE_POSITION, SITE_ROTATION
from sim_bridge.sensors.devices import Device
from sim_bridge.sensors.sampling import Mounted, Sampling

# fields of State that belong to the world as a whole, with a row for each contact
_OF_CONTACTS = (
    'contact_geometry', 'contact_feature', 'contact_point', 'contact_normal', 'contact_gap',
    'contact_impulse')
_OF_WORLD = frozenset({'contact_size', *_OF_CONTACTS})
# and those with a row for each joint that closes a loop, or for each of its axes
LOOP_FIELDS = (
    'loop_wrench', 'axis_q', 'axis_u', 'axis_control', 'axis_target', 'axis_mode', 'axis_effort')
_BY_POSITION = frozenset({'q', 'rest'})
_BY_BODY = frozenset({'wrench', 'contact_wrench', 'yield_wrench', 'idle'})
# parameters that can be changed while a world runs, by body and by velocity
_BODY_PARAMETERS = ('frame',)
_VELOCITY_PARAMETERS = ('passive', 'limits', 'motor', 'stop')


class Part(NamedTuple):
    """Where a robot's numbers are: in `model` and `state`, from the offsets `at` on."""

    model: Model
    state: State
    at: Offsets


class Link(Protocol):
    """What is assembled of a link; `slots.LinkSlot` is one."""

    name: str
    placement: Placement

    @property
    def robot(self) -> Robot:
        """The robot that it is part of."""

    @property
    def body(self) -> int:
        """Number of its body in the joined model."""

    @property
    def site(self) -> int:
        """Its row among the observed sites."""


class Geometry(Protocol):
    """What is assembled of a geometry; `slots.GeometrySlot` is one."""

    @property
    def link(self) -> Link:
        """The link that it is on."""


class Robot(Protocol):
    """What is assembled of a robot; `slots.RobotSlot` is one."""

    name: str
    blueprint: Blueprint
    part: Part
    initial: Part
    first_site: int
    first_geometry: int
    devices: list[Device]

    @property
    def carrier(self) -> Link | None:
        """The link that its base hangs on."""

    @property
    def links(self) -> Sequence[Link]:
        """Its links, in order."""

    @property
    def geometries(self) -> Sequence[Geometry]:
        """Its geometries, in order."""


class Sites(NamedTuple):
    """
    Frames whose motion is observed: links and devices of all robots.

    body: (ns,). frame: (ns, 12) in the body's: rotation by rows, origin [m]. sampling: of the
    devices.
    """

    body: np.ndarray
    frame: np.ndarray
    sampling: Sampling


def own_part(compiled: Model) -> Part:
    """Return arrays for a robot alone, at rest, with parameters of its own."""
    changeable = (*_BODY_PARAMETERS, *_VELOCITY_PARAMETERS)
    model = compiled._replace(**{field: getattr(compiled, field).copy() for field in changeable})
    return Part(model, make_state(model), Offsets(0, 0, 0))


def copy_part(part: Part, own: Model) -> Part:
    """Copy the state and the changeable parameters of a robot, whose own model gives the sizes."""
    copy = own_part(own)
    carry_over(own, part, copy)
    return copy


def carry_over(own: Model, source: Part, target: Part) -> None:
    """Copy one robot's state and parameters to another place; `own` gives the sizes."""
    nb, nq, nv = body_count(own), position_count(own), velocity_count(own)
    for field in State._fields:
        if field in _OF_WORLD or field in LOOP_FIELDS:
            continue
        if field in _BY_POSITION:
            size, start, to = nq, source.at.q, target.at.q
        elif field in _BY_BODY:
            size, start, to = nb, source.at.body, target.at.body
        else:
            size, start, to = nv, source.at.v, target.at.v
        values = getattr(source.state, field)[start : start + size]
        getattr(target.state, field)[to : to + size] = values
    for field in _VELOCITY_PARAMETERS:
        values = getattr(source.model, field)[source.at.v : source.at.v + nv]
        getattr(target.model, field)[target.at.v : target.at.v + nv] = values
    for field in _BODY_PARAMETERS:
        values = getattr(source.model, field)[source.at.body : source.at.body + nb]
        getattr(target.model, field)[target.at.body : target.at.body + nb] = values


def carry_bodies(own: Model, source: Part, target: Part) -> None:
    """Copy what acts on one robot's bodies to another place; `own` gives their number."""
    nb = body_count(own)
    for field in _BY_BODY:
        values = getattr(source.state, field)[source.at.body : source.at.body + nb]
        getattr(target.state, field)[target.at.body : target.at.body + nb] = values


def assemble(
    robots: Sequence[Robot], gravity: np.ndarray, contacts: int, loops: int, axes: int
) -> tuple[Model, State, list[Part]]:
    """
    Join the robots' arrays in order; give the joined ones, and each robot's part of them.

    gravity: (3,) [m/s²], used in place. contacts: how many there is room for. loops: how many
    joints close loops. axes: how many axes these have.
    """
    in_order = carriers_first(robots)
    model, offsets = join_models([robot.blueprint.model for robot in in_order], gravity)
    model = model._replace(gravity=gravity)
    place = {robot.name: at for robot, at in zip(in_order, offsets, strict=True)}
    for robot in in_order:
        if robot.carrier is not None:
            link = robot.carrier
            _hang(model, place[robot.name].body, len(robot.blueprint.model.parent),
                  place[link.robot.name].body + link.placement.body)
    state = make_state(model, contacts, loops, axes)
    parts = [Part(model, state, place[robot.name]) for robot in robots]
    for robot, part in zip(robots, parts, strict=True):
        carry_over(robot.blueprint.model, robot.part, part)
    return model, state, parts


def carriers_first(robots: Sequence[Robot]) -> list[Robot]:
    """Order robots so that each comes after the one that it hangs on; else as they are."""
    placed: dict[str, Robot] = {}
    for robot in robots:
        waiting = [robot]
        while waiting[-1].carrier is not None and waiting[-1].carrier.robot.name not in placed:
            waiting.append(waiting[-1].carrier.robot)
        for one in reversed(waiting):
            placed.setdefault(one.name, one)
    return list(placed.values())


def _hang(model: Model, first: int, count: int, carrier: int) -> None:
    """Let the tree of `count` bodies that begins with body `first` hang on a body before it."""
    model.parent[first] = carrier
    if model.kind[carrier] == FREE_SINGLE:
        model.kind[carrier] = FREE
    if model.kind[carrier] == GROUND:
        # what hangs on it is a tree of its own all the same
        return
    own = slice(first, first + count)
    model.root[own] = np.where(model.root[own] == first, model.root[carrier], model.root[own])


def move_over(old: Blueprint, source: Part, new: Blueprint) -> Part:
    """
    Return arrays for a robot whose base hangs, or moves, in another way than before.

    The coordinates of its joints and their parameters are as they were, those of the base zero.
    """
    part = own_part(new.model)
    for field in State._fields:
        if field in _OF_WORLD or field in LOOP_FIELDS or field in _BY_BODY:
            continue
        by_q = field in _BY_POSITION
        start = source.at.q + old.first_q if by_q else source.at.v + old.first_v
        to = new.first_q if by_q else new.first_v
        target = getattr(part.state, field)
        count = len(target) - to
        target[to:] = getattr(source.state, field)[start : start + count]
    for field in _VELOCITY_PARAMETERS:
        target = getattr(part.model, field)
        start, count = source.at.v + old.first_v, len(target) - new.first_v
        target[new.first_v :] = getattr(source.model, field)[start : start + count]
    return part


def contact_room(state: State) -> int:
    """Return how many contacts a state has room for."""
    return len(state.contact_gap)


def with_contact_room(state: State, contacts: int) -> State:
    """Return a state with room for so many contacts, its other arrays the same."""
    grown = {}
    for field in _OF_CONTACTS:
        array = getattr(state, field)
        grown[field] = np.zeros((contacts, *array.shape[1:]), array.dtype)
    roomy = state._replace(**grown)
    copy_contacts(state, roomy)
    return roomy


def copy_contacts(source: State, target: State) -> None:
    """Copy the contacts of one state to another with room for them; other rows become zero."""
    count = source.contact_size[0]
    target.contact_size[:] = source.contact_size
    for field in _OF_CONTACTS:
        array = getattr(target, field)
        array[:count], array[count:] = getattr(source, field)[:count], 0


def forget_contacts(
    state: State, robot: Robot, geometries: Sequence[Geometry], site_row: np.ndarray,
    time_step: float,
) -> None:
    """
    Take out of a state what a robot touched in the last step, and number the others anew.

    geometries: all of the world. site_row: (ns, 30) the observed sites. time_step: of the last
    step [s].
    """
    first, end = robot.first_geometry, robot.first_geometry + len(robot.geometries)
    count = int(state.contact_size[0])
    pairs = state.contact_geometry[:count]
    is_gone = ((pairs >= first) & (pairs < end)).any(axis=1)
    kept = np.flatnonzero(~is_gone)
    still_touching = {geometries[geometry].link.body for geometry in pairs[kept].ravel()}
    for contact in np.flatnonzero(is_gone):
        for geometry, sign in zip(pairs[contact], (1.0, -1.0), strict=True):
            link = geometries[geometry].link
            if link.body in still_touching:
                _take_back(state, int(contact), link, site_row[link.site], sign / time_step)
            else:
                state.contact_wrench[link.body] = 0.0
    for field in _OF_CONTACTS:
        array = getattr(state, field)
        array[: len(kept)] = array[kept]
        array[len(kept) : count] = 0
    state.contact_size[0] = len(kept)
    pairs = state.contact_geometry[: len(kept)]
    pairs[pairs >= end] -= end - first


def _take_back(
    state: State, contact: int, link: Link, site: np.ndarray, factor: float
) -> None:
    """Subtract a contact's impulse, times a factor, from what contacts did to a link's body."""
    place, p = link.placement, site[SITE_POSITION : SITE_POSITION + 3]
    R = site[SITE_ROTATION : SITE_ROTATION + 9].reshape(3, 3)
    origin = p - R @ place.rotation.T @ place.position
    force, torque = np.split(factor * state.contact_impulse[contact], 2)
    arm = state.contact_point[contact] - origin
    wrench = np.concatenate([torque + np.cross(arm, force), force])
    state.contact_wrench[link.body] -= wrench


def present_state(state: State) -> State:
    """Return a copy without the room that its contacts do not take."""
    count = state.contact_size[0]
    cut = {field: getattr(state, field)[:count] for field in _OF_CONTACTS}
    return State(*(array.copy() for array in state._replace(**cut)))


def restore_state(source: State, target: State) -> None:
    """Overwrite `target`, which has room for the contacts of `source`, in place."""
    for field, array in target._asdict().items():
        if field not in _OF_WORLD:
            array[...] = getattr(source, field)
    copy_contacts(source, target)


def changeable(model: Model, geometry: collision.Geometry, loops: Loops) -> list[np.ndarray]:
    """List the arrays beside a world's state that can be changed while it runs."""
    return [
        model.frame, model.passive, model.limits, model.motor, model.stop, model.gravity,
        geometry.flags, geometry.material, geometry.group, geometry.mask, geometry.belt,
        geometry.track, loops.passive, loops.limits, loops.motor, loops.stop]


def start_control(model: Model, control: np.ndarray, state: State) -> None:
    """Let the motors go for where the joints are, at rest; control: (nv,) as in State."""
    state.control[:], state.target[:] = control, 0.0
    driven = control != BY_EFFORT
    state.target[driven, 0] = state.q[model.q_of_v[driven]]


def gather_sites(robots: Iterable[Robot]) -> Sites:
    """List the sites of all robots, in order; each robot is told where its own begin."""
    bodies: list[int] = []
    frames: list[np.ndarray] = []
    devices = []
    for robot in robots:
        robot.first_site = len(frames)
        link_of = {link.name: link for link in robot.links}
        for link in robot.links:
            place = link.placement
            bodies.append(link.body)
            frames.append(np.concatenate([place.rotation.ravel(), place.position]))
        for device in robot.devices:
            link, parent = link_of[device.link.name], device.link.parent
            in_parent = device.description.frame == 'parent' and parent is not None
            turned = link_of[parent.name].site if in_parent else -1
            devices.append(Mounted(device, len(frames), turned))
            bodies.append(link.body)
            frames.append(_device_frame(device, link.placement))
    return Sites(np.array(bodies, np.int64), np.array(frames).reshape(-1, 12), Sampling(devices))


def _device_frame(device: Device, place: Placement) -> np.ndarray:
    """Return the frame of a device's site in its body's, as `Sites.frame`; place: its link's."""
    sensor = device.description
    rotation, position = place.rotation, place.position
    # SDF's frames 'child' and 'parent' are about the joint's origin wherever the sensor is
    if sensor.kind is not SensorKind.FORCE_TORQUE or sensor.frame == 'sensor':
        position = position + rotation @ sensor.pose.position
        rotation = rotation @ sensor.pose.rotation
    return np.concatenate([rotation.ravel(), position])


def initial_state(
    robots: Iterable[Robot], model: Model, loops: int, axes: int
) -> tuple[State, np.ndarray]:
    """Return state all robots were added in, without contacts, and their joint frames there."""
    state, frame = make_state(model, loops=loops, axes=axes), model.frame.copy()
    target = model._replace(
        frame=frame, **{field: getattr(model, field).copy() for field in _VELOCITY_PARAMETERS})
    for robot in robots:
        carry_over(robot.blueprint.model, robot.initial, Part(target, state, robot.part.at))
    return state, frame
