"""
From robots, each compiled for itself, to the arrays of one world.

A robot begins with arrays of its own (`own_part`), so that adding a thousand of them costs no more
than a thousand times one. `assemble` puts the parts of all robots into common arrays, when
something needs them, and every robot's part is then a stretch of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TYPE_CHECKING

import numpy as np

from sim_bridge.description.model import SensorKind
from sim_bridge.engine.join import join_models, Offsets
from sim_bridge.engine.model import body_count, Model, position_count, velocity_count
from sim_bridge.engine.state import make_state, State

if TYPE_CHECKING:
    from sim_bridge.robot import Robot
    from sim_bridge.sensors.devices import Device

# fields of State that belong to the world as a whole, with a row for each contact
_OF_CONTACTS = (
    'contact_geometry', 'contact_feature', 'contact_point', 'contact_normal', 'contact_gap',
    'contact_impulse')
_OF_WORLD = frozenset({'contact_size', *_OF_CONTACTS})
_BY_POSITION = frozenset({'q', 'rest'})
_BY_BODY = frozenset({'wrench', 'contact_wrench', 'idle'})
# parameters that can be changed while a world runs, by body and by velocity
_BODY_PARAMETERS = ('frame',)
_VELOCITY_PARAMETERS = ('passive', 'limits')


class Part(NamedTuple):
    """Where a robot's numbers are: in `model` and `state`, from the offsets `at` on."""

    model: Model
    state: State
    at: Offsets


class Sites(NamedTuple):
    """
    Frames whose motion is observed: links and devices of all robots.

    body: (ns,). frame: (ns, 12) in the body's: rotation by rows, origin [m]. devices: each with
    the number of its site.
    """

    body: np.ndarray
    frame: np.ndarray
    devices: list[tuple[Device, int]]


def own_part(compiled: Model) -> Part:
    """Give arrays for a robot alone, at rest, with parameters of its own."""
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
        if field in _OF_WORLD:
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


def assemble(
    robots: Sequence[Robot], gravity: np.ndarray, contacts: int
) -> tuple[Model, State, list[Part]]:
    """
    Join the robots' arrays in order; give the joined ones, and each robot's part of them.

    gravity: (3,) [m/s²], used in place. contacts: how many there is room for.
    """
    own = [robot.blueprint.model for robot in robots]
    model, offsets = join_models(own, gravity)
    model = model._replace(gravity=gravity)
    state = make_state(model, contacts)
    parts = [Part(model, state, at) for at in offsets]
    for robot, compiled, part in zip(robots, own, parts, strict=True):
        carry_over(compiled, robot.part, part)
    return model, state, parts


def contact_room(state: State) -> int:
    """Tell how many contacts a state has room for."""
    return len(state.contact_gap)


def with_contact_room(state: State, contacts: int) -> State:
    """Give a state with room for so many contacts, its other arrays the same."""
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


def present_state(state: State) -> State:
    """Give a copy without the room that its contacts do not take."""
    count = state.contact_size[0]
    cut = {field: getattr(state, field)[:count] for field in _OF_CONTACTS}
    return State(*(array.copy() for array in state._replace(**cut)))


def restore_state(source: State, target: State) -> None:
    """Overwrite `target`, which has room for the contacts of `source`, in place."""
    for field, array in target._asdict().items():
        if field not in _OF_WORLD:
            array[...] = getattr(source, field)
    copy_contacts(source, target)


def gather_sites(robots: Iterable[Robot]) -> Sites:
    """List the sites of all robots, in order; each robot is told where its own begin."""
    bodies: list[int] = []
    frames: list[np.ndarray] = []
    devices = []
    for robot in robots:
        robot.first_site = len(frames)
        for link in robot.links:
            place = link.placement
            bodies.append(robot.part.at.body + place.body)
            frames.append(np.concatenate([place.rotation.ravel(), place.position]))
        for device in robot.devices():
            devices.append((device, len(frames)))
            bodies.append(robot.part.at.body + device.link.placement.body)
            frames.append(_device_frame(device))
    return Sites(np.array(bodies, np.int64), np.array(frames).reshape(-1, 12), devices)


def _device_frame(device: Device) -> np.ndarray:
    """Give the frame of a device's site in its body's, as `Sites.frame`."""
    sensor, place = device.description, device.link.placement
    rotation, position = place.rotation, place.position
    # SDF's frames 'child' and 'parent' are about the joint's origin wherever the sensor is
    if sensor.kind is not SensorKind.FORCE_TORQUE or sensor.frame == 'sensor':
        position = position + rotation @ sensor.pose.position
        rotation = rotation @ sensor.pose.rotation
    return np.concatenate([rotation.ravel(), position])


def initial_state(robots: Iterable[Robot], model: Model) -> tuple[State, np.ndarray]:
    """Give the state all robots were added in, without contacts, and their joint frames there."""
    state, frame = make_state(model), model.frame.copy()
    target = model._replace(
        frame=frame, **{field: getattr(model, field).copy() for field in _VELOCITY_PARAMETERS})
    for robot in robots:
        carry_over(robot.blueprint.model, robot.initial, Part(target, state, robot.part.at))
    return state, frame
