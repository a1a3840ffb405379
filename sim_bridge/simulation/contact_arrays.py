"""A simulation's geometry and material arrays, and the handle for contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sim_bridge.engine.collision.build import build_geometry
from sim_bridge.engine.data.collision_scratch import CollisionScratch, PairCount
from sim_bridge.engine.data.contact_materials import ContactMaterials
from sim_bridge.engine.data.contact_points import Contacts
from sim_bridge.engine.data.fields import Fields
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.model import Options
from sim_bridge.shapes.material_table import MaterialTable
from sim_bridge.simulation.contact_listeners import ContactListeners
from sim_bridge.simulation.exclusions import Exclusions
from sim_bridge.simulation.groups import CollisionGroups
from sim_bridge.simulation.handles import ContactHandles, make_contact_handles
from sim_bridge.simulation.robot_arrays import RobotArrays
from sim_bridge.simulation.slots import GeometrySlot, RobotSlot
from sim_bridge.simulation.user_contacts import UserContactBuffer


class ContactArrays:
    """
    Arrays for finding and solving contacts.

    geometry, contact_materials: engine parts. handles: handles for contact queries, with
    solver reports. user_contacts: buffer for contacts added by users. kept_pairs: (1,) whether
    steps keep the nearby geometry pairs.
    """

    def __init__(self) -> None:
        """Begin without arrays."""
        self.user_contacts = UserContactBuffer()
        self.geometry: Geometry
        self.contact_materials: ContactMaterials
        self.handles: ContactHandles
        self.kept_pairs = np.zeros(1, np.int64)

    def build_geometry(
        self,
        slots: Mapping[str, RobotSlot],
        exclusions: Exclusions,
        materials: MaterialTable,
        groups: CollisionGroups,
    ) -> None:
        """Build all geometries' arrays; changed parameters stay."""
        geometries = [geometry for slot in slots.values() for geometry in slot.geometries]
        arrays = build_geometry(
            [geometry.record(materials) for geometry in geometries],
            exclusions.bodies(slots),
            [(one.index, other.index) for one, other in exclusions.geometries],
        )
        self.write_groups(arrays, geometries, groups)
        for slot in slots.values():
            slot.bind_geometries(arrays)
        self.geometry = arrays

    def write_groups(
        self, arrays: Geometry, geometries: Sequence[GeometrySlot], groups: CollisionGroups
    ) -> None:
        """Write all geometries' collision groups."""
        bits = groups.bits(geometry.groups for geometry in geometries)
        for row, geometry in enumerate(geometries):
            arrays.group[row], arrays.mask[row] = bits[geometry.groups]

    def renew_contact_materials(self, materials: MaterialTable) -> None:
        """Build the contact law table."""
        self.contact_materials = materials.pair_laws(self.user_contacts.laws)

    def connect(
        self,
        robots: RobotArrays,
        options: Options,
        fields: Fields,
        listeners: ContactListeners,
        geometries: Sequence[GeometrySlot],
    ) -> None:
        """Pass all arrays to the engine."""
        state = robots.state
        handles = make_contact_handles(
            robots.model,
            options,
            state,
            self.geometry,
            self.contact_materials,
            robots.loops,
            fields,
            listeners.part(geometries, len(state.contact_gap)),
            self.user_contacts.contacts,
        )
        counts = handles.probe.part(CollisionScratch).counts
        kept_pairs = counts[PairCount.IS_KEPT : PairCount.IS_KEPT + 1]
        self.handles, self.kept_pairs = handles, kept_pairs
        listeners.connect(handles.probe.part(Contacts), fields.time)

    def look_anew(self) -> None:
        """Let the next step search pairs and contacts again, since geometries have changed."""
        self.kept_pairs[:] = 0
