"""Addition, relocation and removal of geometries in a running world."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sim_bridge.compilation.collisions import LinkShape
from sim_bridge.foundation.errors import InvalidValueError, StateError
from sim_bridge.foundation.names import free_name
from sim_bridge.shapes.placed import as_placed
from sim_bridge.shapes.polyhedra import HeightField
from sim_bridge.shapes.shapes import Plane
from sim_bridge.simulation.change import Change
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import GeometryPlace, GeometrySlot, LinkSlot
from sim_bridge.simulation.staleness import MEDIUM, PARTS


def add_shape(
    simulation: Simulation, link: LinkSlot, shape: object, material: Any, place: str
) -> GeometrySlot:
    """Add a shape to a link, as part of an all-or-nothing change; see `Link.add_geometry`."""
    given: Any = shape
    shapes = as_placed(given)
    if len(shapes) != 1:
        raise InvalidValueError('shape', shape, 'one shape such as Box((1, 1, 1))', place)
    placed = shapes[0]
    simulation.thread_guard.check()
    simulation.cache.settle_contacts()
    robot = link.robot
    if isinstance(placed.shape, (Plane, HeightField)) and not robot.immobile[link.placement.body]:
        raise InvalidValueError(
            'shape',
            placed.shape,
            f'a bounded shape: a {type(placed.shape).__name__} cannot move',
            place,
        )
    taken = {geometry.name for geometry in robot.geometries if geometry.link is link}
    if placed.name in taken:
        raise InvalidValueError(
            'name', placed.name, 'a name that no other geometry of the link has', place
        )
    name = placed.name or free_name(f'{link.name}_collision_{len(taken)}', taken.__contains__)
    own = simulation.registry.materials.take(
        material if placed.material is None else placed.material
    )
    slot = robot.add_geometry(
        LinkShape(link.name, replace(placed, name=name, material=own.name)),
        name,
        simulation.registry.materials,
    )
    # geometries after it have new indices from now on
    state, rows = simulation.cache.state, slice(simulation.cache.contact_count)
    pairs = state.contact_geometry[rows]
    simulation.write(state, 'contact_geometry', rows, pairs + (pairs >= slot.index))
    simulation.staleness.mark(PARTS)
    simulation.cache.settle_contacts()
    return slot


def remove_shape(simulation: Simulation, slot: GeometrySlot) -> None:
    """Remove a geometry and its contacts, as part of an all-or-nothing change."""
    simulation.thread_guard.check()
    simulation.cache.settle_contacts()
    simulation.cache.forget_contacts(slot.index, 1)
    simulation.registry.exclusions.forget_geometries([slot])
    slot.link.robot.remove_geometry(slot)
    simulation.staleness.mark(PARTS)


def change_shape(simulation: Simulation, slot: GeometrySlot, **changes: Any) -> None:
    """Change the pose or friction direction of a geometry; raise InvalidValueError."""
    # check first: a wrong value must not change anything
    placed = replace(slot.shape.placed, **changes)
    simulation.thread_guard.check()
    simulation.cache.settle_contacts()
    known = placed.position, placed.orientation, placed.friction_direction
    friction_link = '' if 'friction_direction' in changes else slot.on_link.friction_link
    arrays, row, write = simulation.cache.geometry, slot.index, simulation.write
    with Change(simulation.staleness, slot, slot.link.robot):
        own = slot.link.robot.change_geometry(slot.number, GeometryPlace(*known, friction_link))
        record = slot.record(simulation.registry.materials)
        write(arrays, 'frame', row, [*own.rotation.ravel(), *own.position])
        write(arrays, 'direction', row, record.direction)
        write(arrays, 'direction_body', row, record.direction_body)
        write(arrays, 'track', row, record.track)
        # the volumes in fluids are joined with the media
        simulation.staleness.mark(MEDIUM)


def check_present(slot: GeometrySlot) -> None:
    """Raise StateError for a removed geometry."""
    if slot.number < 0:
        raise StateError(
            f'geometry {slot.name!r} of robot {slot.link.robot.name!r} was removed from its link'
        )
