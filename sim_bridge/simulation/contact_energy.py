"""Energy stored in compliant contacts, in a world's present state."""

from __future__ import annotations

from sim_bridge.engine.data.collision_scratch import MOST_POINTS
from sim_bridge.engine.data.contact_materials import CFM, ContactMaterials, STIFFNESS
from sim_bridge.engine.data.contact_points import COUNT, make_contacts
from sim_bridge.engine.data.contact_problem import make_problem
from sim_bridge.engine.data.model import Model, Options
from sim_bridge.engine.data.workspace import make_workspace
from sim_bridge.engine.pipeline.stored_energy import contact_energy
from sim_bridge.simulation.handles import ContactHandles


def energy_in_contacts(handles: ContactHandles) -> float:
    """Return the energy stored in compliant contacts at the present state, without a step [J]."""
    probe = handles.probe
    law = probe.part(ContactMaterials).law
    if not (law[:, [CFM, STIFFNESS]] > 0.0).any():
        return 0.0
    # as many in a pair as in steps, each with its own spring
    found = handles.search.near(probe.part(Options).contact_margin, MOST_POINTS)
    count, model = len(found.gaps), probe.part(Model)
    contacts = make_contacts(count)
    contacts.size[COUNT] = count
    contacts.geometry[:], contacts.gap[:], contacts.normal[:] = (
        found.pairs,
        found.gaps,
        found.normals,
    )
    contacts.point[:] = 0.5 * (found.points_a + found.points_b)
    handle = probe.replaced(make_workspace(model), contacts, *make_problem(model, count, 0))
    return float(contact_energy(handle))
