"""Taking back what a call has changed that failed half way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sim_bridge.engine.data.parts import parameters
from sim_bridge.simulation.dirty import Dirty
from sim_bridge.simulation.simulation import Simulation


@contextmanager
def all_or_nothing(simulation: Simulation, *others: Any) -> Iterator[None]:
    """
    Restore a simulation if anything is raised: its robots, constraints, arrays and settings.

    others: objects whose attributes are restored too, and dictionaries, whose items are. This
    takes a time in proportion to the size of the world, as joining its arrays does.
    """
    simulation.check_thread()
    simulation.settle()
    objects = [
        simulation,
        *simulation.parts,
        *simulation.slots.values(),
        *simulation.links,
        *simulation.geometries,
        *simulation.constraints.values(),
        simulation.fields,
        simulation.listeners,
        *(each for each in others if not isinstance(each, dict)),
    ]
    tables: list[dict[Any, Any]] = [
        simulation.slots,
        simulation.constraints,
        simulation.exclusions.links,
        simulation.exclusions.geometries,
        simulation.fields.placed,
        *(each for each in others if isinstance(each, dict)),
    ]
    arrays = [*simulation.state, *simulation.model, *parameters(simulation.loops).values()]
    if not simulation.is_dirty(Dirty.GEOMETRY):
        arrays += parameters(simulation.geometry).values()
    attributes = [(each, dict(vars(each))) for each in objects]
    items = [(each, dict(each)) for each in tables]
    numbers = [(each, each.copy()) for each in arrays]
    materials, groups = simulation.materials.save(), simulation.groups.save()
    try:
        yield
    except BaseException:
        for each, kept in attributes:
            vars(each).clear()
            vars(each).update(kept)
        for table, kept in items:
            table.clear()
            table.update(kept)
        for array, values in numbers:
            array[...] = values
        simulation.materials.restore(materials)
        simulation.groups.restore(groups)
        simulation.forget_observations()
        raise


@contextmanager
def added_or_not(simulation: Simulation) -> Iterator[None]:
    """
    Remove the robots and materials that were added if anything is raised.

    For additions that leave the joined arrays alone, so that the time it takes does not depend on
    the size of the world.
    """
    simulation.check_thread()
    before = simulation.addition_mark()
    try:
        yield
    except BaseException:
        simulation.take_back(before)
        raise
