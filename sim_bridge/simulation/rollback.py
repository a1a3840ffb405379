"""Rollback for failing or interrupted calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from sim_bridge.engine.data.parts import parameters
from sim_bridge.sensors.cameras import CameraSensor, Kept
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.staleness import GEOMETRY, OBSERVATION, PARTS


@contextmanager
def all_or_nothing(simulation: Simulation, *others: Any) -> Iterator[None]:
    """
    Restore a simulation if anything is raised: its robots, constraints, arrays and settings.

    others: further objects, restored with their attributes; dictionaries and lists, restored with
    their items. The time is proportional to the world's size, as for joining its arrays.
    """
    simulation.thread_guard.check()
    cache, registry, staleness = simulation.cache, simulation.registry, simulation.staleness
    cache.settle()
    objects = [
        simulation.run,
        registry,
        staleness,
        cache,
        cache.robots,
        cache.contacts,
        cache.observer_call,
        registry.exclusions,
        registry.fields,
        registry.listeners,
        *registry.slots.values(),
        *registry.links,
        *registry.geometries,
        *registry.constraints.values(),
        *(each for each in others if not isinstance(each, (dict, list))),
    ]
    lists = [(each, list(each)) for each in others if isinstance(each, list)]
    tables: list[dict[Any, Any]] = [
        registry.slots,
        registry.constraints,
        registry.exclusions.links,
        registry.exclusions.geometries,
        registry.fields.placed,
        *(each for each in others if isinstance(each, dict)),
    ]
    arrays = [*cache.state, *cache.model, *parameters(cache.loops).values()]
    if not staleness.flags & GEOMETRY:
        arrays += parameters(cache.geometry).values()
    attributes = [(each, dict(vars(each))) for each in objects]
    lists += [(held, list(held)) for held in _held(attributes, list)]
    tables += _held(attributes, dict)
    items = [(each, dict(each)) for each in tables]
    numbers = [(each, each.copy()) for each in arrays]
    materials, groups = registry.materials.save(), registry.groups.save()
    cameras = _cameras(simulation)
    try:
        yield
    except BaseException:
        for each, kept in attributes:
            vars(each).clear()
            vars(each).update(kept)
        for table, kept in items:
            table.clear()
            table.update(kept)
        for shown, kept_items in lists:
            shown[:] = kept_items
        for array, values in numbers:
            array[...] = values
        for camera, sample in cameras:
            camera.take_back(sample, is_joined_anew=False)
        flags = staleness.flags
        registry.materials.restore(materials)
        registry.groups.restore(groups)
        # these are as they were
        staleness.flags = flags
        staleness.forget_observations()
        raise


def _held(attributes: list[tuple[Any, dict[str, Any]]], kind: type) -> list[Any]:
    """Return the attributes that are containers of a kind, which are changed in place."""
    return [value for _, kept in attributes for value in kept.values() if isinstance(value, kind)]


class _Before(NamedTuple):
    """
    A simulation before robots were added to it.

    robots, materials: their numbers. admitted, layout, flags: as in its parts. idle: the bodies'
    step counts at rest, None if the arrays were not joined. cameras: with their samples.
    """

    robots: int
    admitted: int
    materials: int
    layout: int
    flags: int
    idle: np.ndarray | None
    cameras: list[tuple[CameraSensor, Kept]]


@contextmanager
def added_or_not(simulation: Simulation) -> Iterator[None]:
    """
    Remove the added robots and materials if anything is raised.

    For additions outside the joined arrays, so the time does not depend on
    the world's size.
    """
    simulation.thread_guard.check()
    before = _before(simulation)
    try:
        yield
    except BaseException:
        _take_back(simulation, before)
        raise


def _before(simulation: Simulation) -> _Before:
    cache, registry, flags = simulation.cache, simulation.registry, simulation.staleness.flags
    idle = None if flags & PARTS else cache.robots.state.idle.copy()
    return _Before(
        len(registry.slots),
        registry.admitted,
        len(registry.materials),
        cache.layout,
        flags,
        idle,
        _cameras(simulation),
    )


def _cameras(simulation: Simulation) -> list[tuple[CameraSensor, Kept]]:
    """Return the cameras with their samples; none before the arrays are joined."""
    if simulation.staleness.flags & PARTS:
        return []
    devices = simulation.cache.devices
    return [(each, each.kept()) for each in devices if isinstance(each, CameraSensor)]


def _take_back(simulation: Simulation, before: _Before) -> None:
    """Remove the robots and materials added since."""
    cache, registry, staleness = simulation.cache, simulation.registry, simulation.staleness
    for name in list(registry.slots)[before.robots :]:
        del registry.slots[name]
    registry.admitted = before.admitted
    registry.materials.take_back(before.materials)
    if cache.layout != before.layout:
        # the arrays were joined since
        staleness.mark(PARTS)
        for camera, sample in before.cameras:
            camera.take_back(sample, is_joined_anew=True)
        return
    staleness.flags = before.flags | OBSERVATION
    if before.idle is not None:
        cache.robots.state.idle[:] = before.idle
