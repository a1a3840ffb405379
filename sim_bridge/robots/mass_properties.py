"""Link mass property changes in a world."""

from __future__ import annotations

from sim_bridge.compilation.mass_properties import checked_mass, inertial_of, properties_of
from sim_bridge.description.model import Inertial
from sim_bridge.simulation.link_mass import weigh
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import LinkSlot


def set_inertial(simulation: Simulation, slot: LinkSlot, inertial: Inertial) -> None:
    """Set a link's mass properties; they act from the next step on."""
    simulation.thread_guard.check()
    simulation.cache.settle()
    simulation.cache.find_applied()
    weigh(simulation.staleness, slot, inertial)


def update_from_shapes(
    simulation: Simulation, slot: LinkSlot, mass: float | None, density: float | None, place: str
) -> None:
    """Set a link's mass properties from its shapes; see `Link.update_mass_properties`."""
    if mass is not None:
        mass = checked_mass(mass, place)
    shapes = [
        each.present(simulation.registry.materials)
        for each in slot.robot.geometries
        if each.link is slot
    ]
    own = properties_of(shapes, mass, density, simulation.registry.materials.take, place)
    set_inertial(simulation, slot, inertial_of(*own))
