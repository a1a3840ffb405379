"""Tape recording: frames of a world, taken while it is simulated or posed."""

from __future__ import annotations

import numpy as np

from sim_bridge.engine.data.state import ASLEEP
from sim_bridge.page.channel import CONTACTS
from sim_bridge.page.records import Mark
from sim_bridge.page.tape import Moment, Take, Tape
from sim_bridge.view.structure import describe
from sim_bridge.world.world import World

_NOTHING: frozenset[str] = frozenset()


class Taping:
    """Frame recorder with a rate."""

    def __init__(self, world: World, title: str, rate: float):
        """Start without a frame. rate: frame rate in the time passed to `look` [Hz]."""
        self._world, self._title, self._period = world, title, 1.0 / rate
        self._takes: list[Take] = []
        self._due = -np.inf
        self._layout = -1

    def look(self, time: float) -> None:
        """Take a frame if it is due; time: since the beginning, never decreasing [s]."""
        if time < self._due:
            return
        self._due = (np.floor(time / self._period + 1e-6) + 1.0) * self._period - 1e-9
        world = self._world
        sites = world.simulation.observation.sites()
        if world.simulation.cache.layout != self._layout:
            self._described = describe(world, self._title, _NOTHING)
            self._layout = world.simulation.cache.layout
            # sensor values are not recorded
            self._takes.append(
                Take(
                    self._described.structure._replace(sensors=(), signals=(), belts=()),
                    self._described.sizes._replace(signals=0, readings=0, belts=0),
                    [],
                )
            )
            sites = world.simulation.observation.sites()
        state, described = world.state, self._described
        count = min(int(state.contact_size[0]), CONTACTS)
        contacts = np.concatenate(
            [
                state.contact_point[:count],
                state.contact_normal[:count],
                state.contact_impulse[:count, :3] / world.time_step,
                -state.contact_gap[:count, None],
            ],
            axis=1,
        )
        self._takes[-1].moments.append(
            Moment(
                time,
                sites[described.sites, :12],
                state.q.copy(),
                state.v.copy(),
                state.u.copy(),
                (state.idle[described.trees] == ASLEEP).astype(float),
                contacts,
                described.geometry_links[state.contact_geometry[:count]].reshape(count, 2),
            )
        )

    def tape(self, marks: list[Mark]) -> Tape:
        """Return all frames, at least one."""
        return Tape(self._title, self._takes, marks)
