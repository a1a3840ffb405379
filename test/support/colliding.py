"""Shapes measured or collided by the same compiled code as in a world."""

from __future__ import annotations

import ctypes

import numpy as np

from sim_bridge.engine.collision.build import build_geometry, GeometryRecord
from sim_bridge.engine.collision.probe import measure_hollow_pairs
from sim_bridge.engine.collision.stage import (
    DETECT,
    DETECT_CONVEX,
    DETECT_HOLLOW,
    DETECT_LINE,
    DETECT_SURFACE,
    NARROW,
)
from sim_bridge.engine.data.collision_scratch import ABSENT, make_collision_scratch
from sim_bridge.engine.data.contact_materials import ContactMaterials
from sim_bridge.engine.data.contact_points import COUNT, make_contacts, OVERFLOW
from sim_bridge.engine.data.contact_problem import make_problem
from sim_bridge.engine.data.fields import no_fields
from sim_bridge.engine.data.listening import no_listening
from sim_bridge.engine.data.loops import make_loop_work, make_loops
from sim_bridge.engine.data.model import FREE_SINGLE, Model
from sim_bridge.engine.data.parts import make
from sim_bridge.engine.data.state import make_state
from sim_bridge.engine.data.user_contacts import make_user_contacts
from sim_bridge.engine.data.workspace import make_workspace
from sim_bridge.engine.data.world_table import Handle
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.simulation.handles import make_options, make_probe

_STAGE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
_NOWHERE, _ = join_models([], (0.0, 0.0, 0.0))


class Shapes:
    """Static shapes, measured at arbitrary poses."""

    def __init__(self, records):
        """Build the geometry for GeometryRecords without bodies."""
        self.geometry = build_geometry(records)
        self.probe = make_probe(_NOWHERE, make_state(_NOWHERE), self.geometry)

    def measure(self, *poses):
        """Put the first shapes at poses (R, p); return distance, points and normal of 0 and 1."""
        for row, (R, p) in enumerate(poses):
            self.geometry.frame[row] = *np.ravel(R), *p
        measured = np.empty((1, 10))
        measure_hollow_pairs(self.probe.handle, np.array([[0, 1]]), measured)
        gap, *numbers = measured[0].tolist()
        return gap, tuple(numbers[:3]), tuple(numbers[3:6]), tuple(numbers[6:])


class Contact:
    """One contact point as arrays."""

    def __init__(self, contacts, row):
        """Read a row."""
        self.pair = tuple(contacts.geometry[row].tolist())
        self.feature = int(contacts.feature[row])
        self.point, self.normal = contacts.point[row].copy(), contacts.normal[row].copy()
        self.gap = float(contacts.gap[row])


class Bodies:
    """Free bodies with one shape each, collided at arbitrary poses."""

    def __init__(self, records, h=1e-3, margin=1e-4, room=200):
        """Build the geometry; h: time step [s]. room: greatest contact count."""
        self.geometry = build_geometry(
            [GeometryRecord(**{**vars(record), 'body': k}) for k, record in enumerate(records)]
        )
        model = _free_bodies(len(records))
        self._state, self._workspace = make_state(model, room), make_workspace(model)
        self.contacts = make_contacts(room)
        loops = make_loops([], model)
        options = make_options(h, margin=margin)._replace(
            narrow=NARROW.address,
            detect_convex=DETECT_CONVEX.address,
            detect_surface=DETECT_SURFACE.address,
            detect_hollow=DETECT_HOLLOW.address,
            detect_line=DETECT_LINE.address,
        )
        self._handle = Handle(
            model,
            options,
            self._state,
            self._workspace,
            self.geometry,
            make(ContactMaterials, {'materials': 0, 'laws': 0}),
            make_collision_scratch(self.geometry, room),
            self.contacts,
            *make_problem(model, room, 0),
            loops,
            make_loop_work(model, loops),
            no_fields(),
            no_listening(),
            make_user_contacts(0),
        )

    def collide(self, *poses, velocity=None):
        """Fill in the contacts at poses (R, p) and velocities, (n, 6), angular before linear."""
        for row, (R, p) in enumerate(poses):
            self._workspace.pose[row] = *np.ravel(R), *p
        v = np.zeros((len(poses), 6)) if velocity is None else np.asarray(velocity, float)
        self._state.v[:] = v[:, [3, 4, 5, 0, 1, 2]].ravel()
        assert _STAGE(DETECT.address)(self._handle.table.ctypes.data, 0) != ABSENT

    def touched(self, *poses, velocity=None):
        """Return the contact points."""
        self.collide(*poses, velocity=velocity)
        assert self.contacts.size[OVERFLOW] == 0
        return [Contact(self.contacts, row) for row in range(self.contacts.size[COUNT])]


def _free_bodies(count) -> Model:
    none, order = np.full(count, -1), np.arange(count)
    return _NOWHERE._replace(
        parent=none,
        root=order,
        kind=np.full(count, FREE_SINGLE),
        q_index=7 * order,
        v_index=6 * order,
        frame=np.tile([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0], (count, 1)),
        inertia=np.zeros((count, 10)),
        passive=np.zeros((6 * count, 7)),
        limits=np.zeros((6 * count, 4)),
        q_of_v=np.full(6 * count, -1),
    )
