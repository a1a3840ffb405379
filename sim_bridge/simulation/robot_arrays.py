"""The arrays of all robots and constraints, joined into one model and state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from sim_bridge.engine.data.loops import Loops, make_loops
from sim_bridge.engine.data.model import FREE, KINEMATIC, Model, REST_STEPS, SAMPLES, WELD
from sim_bridge.engine.data.state import DISABLED, make_state, State
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.simulation import assembly
from sim_bridge.simulation.assembly import Sites
from sim_bridge.simulation.constraint import Constraint
from sim_bridge.simulation.link_medium import AddedInertias, with_media
from sim_bridge.simulation.records import Sleep
from sim_bridge.simulation.sleeping import sample_count, sleep_rows
from sim_bridge.simulation.slots import LinkSlot, RobotSlot, with_pulled

# initial contact capacity in a world with geometries, and more for each geometry
_LEAST_CONTACTS, _CONTACTS_EACH = 64, 4


class RobotArrays:
    """
    Joined arrays for robots and constraints.

    model, state, loops: engine parts. sites: observed frames.
    """

    def __init__(self, gravity: np.ndarray):
        """Begin with no robot. gravity: (8,) as the engine's Model has it, used in place."""
        self._gravity = gravity
        self.model: Model = join_models([], gravity)[0]
        self.state: State = make_state(self.model)
        self.loops: Loops = make_loops([], self.model)
        self.sites: Sites

    def join(
        self,
        slots: Sequence[RobotSlot],
        joints: Sequence[Constraint],
        sleep: Sleep | None,
        added: Callable[[Model], AddedInertias],
        *,
        keeps_loop_forces: bool,
    ) -> None:
        """
        Join the robots' arrays with their present values; all bodies are awake.

        sleep: for robots without their own. added: as for `renew_media`. keeps_loop_forces:
        whether the constraints are the same as in the last step.
        """
        before = self.state
        if not keeps_loop_forces:
            # for trees tied by the former constraints; below for trees tied by the present ones
            _forget_last_step(self.model, self.loops, before)
        geometries = sum(len(slot.geometries) for slot in slots)
        # geometries keep their numbers, and contacts go on
        room = _LEAST_CONTACTS + _CONTACTS_EACH * geometries if geometries > 1 else 0
        room = max(room, assembly.contact_room(before))
        axes = sum(joint.axis_count for joint in joints)
        model, state, parts = assembly.assemble(
            slots, self._gravity, room, len(joints), axes, sample_count(slots, sleep)
        )
        assembly.copy_contacts(before, state)
        if keeps_loop_forces:
            state.loop_wrench[:] = before.loop_wrench
            state.loop_mean[:] = before.loop_mean
        else:
            state.yield_wrench[:] = 0.0
        first = 0
        for slot, part in zip(slots, parts, strict=True):
            slot.bind(part)
            slot.first_geometry = first
            first += len(slot.geometries)
        model = _with_links(model, _links_of(slots), added)
        sites = assembly.gather_sites(slots)
        loops = make_loops([joint.record() for joint in joints], model)
        first = 0
        for number, joint in enumerate(joints):
            joint.bind(loops, state, number, first)
            first += joint.axis_count
        if not keeps_loop_forces:
            _forget_last_step(model, loops, state)
        state.idle[state.idle != DISABLED] = 0
        state.sampled[:] = 0
        self.model, self.state, self.sites, self.loops = model, state, sites, loops

    def renew_media(
        self, links: Sequence[LinkSlot], added: Callable[[Model], AddedInertias]
    ) -> None:
        """
        Renew the media around the links; replaces arrays if other links are concerned.

        added: returns the hulls' added mass, for a model.
        """
        self.model = _with_links(self.model, links, added)

    def initial(self, slots: Iterable[RobotSlot]) -> tuple[State, np.ndarray]:
        """Return the state and the joint frames for `restart`."""
        return assembly.initial_state(slots, self.model, self.state)

    def restart(
        self, state: State, frame: np.ndarray, control: np.ndarray, axis_control: np.ndarray
    ) -> None:
        """Go back to an initial state; control, axis_control: as in State, from there on."""
        assembly.restore_state(state, self.state)
        assembly.start_control(self.model, control, self.state)
        self.state.axis_control[:] = axis_control
        self.model.frame[:] = frame
        _forget_last_step(self.model, self.loops, self.state)

    def make_room(self, slots: Sequence[RobotSlot], contacts: int) -> None:
        """Make room for so many contacts in the state; its other arrays are unchanged."""
        state = assembly.with_contact_room(self.state, contacts)
        parts = [slot.part for slot in slots]
        try:
            for slot in slots:
                slot.bind(slot.part._replace(state=state))
            self.state = state
        except BaseException:
            for slot, part in zip(slots, parts, strict=True):
                slot.bind(part)
            raise

    def fits_sleep(self, slots: Sequence[RobotSlot], sleep: Sleep | None) -> bool:
        """Return whether the state has room for the velocities used in sleep decisions."""
        return sample_count(slots, sleep) == len(self.state.sample)

    def set_sleep(self, slots: Sequence[RobotSlot], sleep: Sleep | None, time_step: float) -> bool:
        """Write when bodies fall asleep; return whether any rests or may do so."""
        rows = sleep_rows(slots, sleep, time_step, len(self.model.kind))
        if not np.array_equal(rows[:, SAMPLES:], self.model.sleep[:, SAMPLES:]):
            # the samples are in other rows now
            self.state.sampled[:] = 0
        self.model.sleep[:] = rows
        return bool(self.model.sleep[:, REST_STEPS].any() or (self.state.idle < 0).any())

    def enabled_bodies(self) -> np.ndarray:
        """Return (nb,) whether a body is not disabled."""
        return self.state.idle != DISABLED


def _forget_last_step(model: Model, loops: Loops, state: State) -> None:
    """Mark constrained trees' velocities as written, so that they are observed."""
    tied = loops.body[loops.body >= 0]
    moves = (model.kind > WELD) & (model.kind != KINEMATIC)
    for body in np.flatnonzero(np.isin(model.root, model.root[tied]) & moves):
        first, count = model.v_index[body], 6 if model.kind[body] >= FREE else 1
        # unlike any velocity, also itself: `find_pushed` takes them for written
        state.v_left[first : first + count] = np.nan


def _links_of(slots: Iterable[RobotSlot]) -> list[LinkSlot]:
    return [link for slot in slots for link in slot.links]


def _with_links(
    model: Model, links: Sequence[LinkSlot], added: Callable[[Model], AddedInertias]
) -> Model:
    """Return a model with the links' media and gravity."""
    model = with_media(model, links, added(model))
    return with_pulled(model, (link for link in links if link.medium.gravity))
