"""
The arrays in which the worlds of a batch differ: one row for each world.

A world's arrays by name, 'State.q', 'Model.inertia' and so on. Steps write the *own* ones: the
state, the reports, the samples of devices. Of the others, the *parameters*, all worlds share those
of the first, until a world is made in which one has other numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sim_bridge.compiler.memory import address_of
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.parts import rows_of
from sim_bridge.engine.data.state import State
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.sensors.advance_worlds import FIRST_ROW, ROWS_SIZE, STRIDE, WORD
from sim_bridge.simulation.simulation import Simulation

DEVICES, SITES = 'devices', 'sites'
"""Names of the table of devices, which holds addresses, and of what is observed of frames."""
# what follows from the rest
_DERIVED = (DEVICES, SITES)
# of Fields, what a step writes before it reads it
_SCRATCH = ('time', 'sample', 'point')
_CONTACT_ROWS = tuple(name for name, along in rows_of(State).items() if along == 'nc')


def own_arrays(simulation: Simulation) -> dict[str, np.ndarray]:
    """Return the arrays that steps of a simulation write and that belong to its world."""
    # as a step does before it begins, new joints' velocities among it
    simulation.refresh()
    found = {f'State.{name}': array for name, array in simulation.state._asdict().items()}
    found['progress'] = simulation.stepper.progress
    found['worst'] = simulation.worst
    found['residual'] = simulation.handles.problem.solution.residual
    found[DEVICES] = simulation.sites.sampling.table
    found[SITES] = simulation.observed_sites()
    for number, device in enumerate(simulation.devices):
        found[f'sample {number}'], found[f'step {number}'] = device.memory
    return found


def parameter_arrays(simulation: Simulation) -> dict[str, np.ndarray]:
    """Return the arrays that users may change and steps only read."""
    simulation.refresh()
    found: dict[str, np.ndarray] = {}
    for part in (
        simulation.model,
        simulation.geometry,
        simulation.contact_materials,
        simulation.loops,
    ):
        found |= {f'{type(part).__name__}.{name}': each for name, each in part._asdict().items()}
    for number, fields in enumerate(simulation.all_field_arrays):
        found |= {
            f'Fields {number}.{name}': each
            for name, each in fields._asdict().items()
            if name not in _SCRATCH
        }
    found['frames of devices'] = simulation.sites.frame
    return found


class Rows:
    """
    Arrays by name with a row for each of n worlds.

    all: (n, …) what worlds are at. start: what they began with; where all began alike, one row.
    """

    def __init__(self, n: int) -> None:
        """Begin without arrays."""
        self.n = n
        self.all: dict[str, np.ndarray] = {}
        self.start: dict[str, np.ndarray] = {}
        self._shared: dict[str, np.ndarray] = {}

    def take_first(self, simulation: Simulation) -> None:
        """Let all worlds begin as one does."""
        self._shared = {name: array.copy() for name, array in parameter_arrays(simulation).items()}
        for name, array in own_arrays(simulation).items():
            self.all[name] = np.empty((self.n, *array.shape), array.dtype)
            self.all[name][:] = array
            if name not in _DERIVED:
                self.start[name] = array[np.newaxis].copy()

    def take(self, world: int, simulation: Simulation) -> None:
        """
        Let one world begin as a simulation does.

        Raises InvalidValueError where this has other robots, joints, shapes or devices.
        """
        self._make_room(simulation)
        for name, array in own_arrays(simulation).items():
            self.all[name][self._fitting(world, name, array)] = array
            if name in _DERIVED:
                continue
            start = self.start[name]
            if not _is_same(start[0 if len(start) == 1 else world], array):
                self._own_start(name)[world] = array
        for name, array in parameter_arrays(simulation).items():
            if name in self.all:
                self.all[name][self._fitting(world, name, array)] = array
                continue
            shared = self._shared[name]
            if array.shape != shared.shape:
                raise _other_structure(world, name)
            if not _is_same(array, shared):
                self.all[name] = np.empty((self.n, *shared.shape), shared.dtype)
                self.all[name][:] = shared
                self.all[name][world] = array

    def take_parameters(self, worlds: np.ndarray, simulation: Simulation) -> bool:
        """
        Give worlds the parameters of a simulation; return whether more arrays have rows now.

        worlds: (k,) their numbers. Raises InvalidValueError where the simulation has other parts;
        nothing has changed then.
        """
        given = parameter_arrays(simulation)
        for name, shared in self._shared.items():
            if name not in given or given[name].shape != shared.shape:
                raise InvalidValueError(
                    'world', f'other sizes of {name}', 'one with the parts of the batch'
                )
        before = len(self.all)
        for name, shared in self._shared.items():
            if name in self.all:
                self.all[name][worlds] = given[name]
            elif not _is_same(given[name], shared):
                self.all[name] = np.empty((self.n, *shared.shape), shared.dtype)
                self.all[name][:] = shared
                self.all[name][worlds] = given[name]
        return len(self.all) > before

    def put(self, world: int, simulation: Simulation) -> None:
        """Write what a world is at into the arrays of a simulation of the same structure."""
        simulation.make_room(self.contact_room)
        arrays = {**parameter_arrays(simulation), **own_arrays(simulation)}
        for name, rows in self.all.items():
            if name != DEVICES:
                arrays[name][...] = rows[world]

    def reset(self, worlds: np.ndarray) -> None:
        """Let worlds begin again. worlds: (k,) their numbers."""
        for name, start in self.start.items():
            self.all[name][worlds] = start if len(start) == 1 else start[worlds]

    @property
    def contact_room(self) -> int:
        """For how many contacts of a world there is room."""
        return self.all['State.contact_gap'].shape[1]

    def grow(self, room: int) -> None:
        """Make room for so many contacts in each world."""
        for arrays in (self.all, self.start):
            for name in (f'State.{field}' for field in _CONTACT_ROWS):
                before = arrays[name]
                arrays[name] = np.zeros((len(before), room, *before.shape[2:]), before.dtype)
                arrays[name][:, : before.shape[1]] = before

    def places_in(self, simulation: Simulation) -> np.ndarray:
        """
        Return (m, ROWS_SIZE) which words of a simulation's calls to set to rows of arrays.

        As `sensors.advance_worlds` takes them; valid as long as both have the same arrays.
        """
        memory = simulation.stepper.memory
        values = np.concatenate(memory)
        addresses = np.concatenate(
            [address_of(words) + 8 * np.arange(len(words)) for words in memory]
        )
        arrays = {**parameter_arrays(simulation), **own_arrays(simulation)}
        found = []
        for name, rows in self.all.items():
            # parts of an array, too
            first, size = address_of(arrays[name]), arrays[name].nbytes
            inside = (values >= first) & (values < first + size)
            places = np.empty((np.count_nonzero(inside), ROWS_SIZE), np.int64)
            places[:, WORD] = addresses[inside]
            places[:, FIRST_ROW] = address_of(rows) + (values[inside] - first)
            places[:, STRIDE] = size
            found.append(places)
        simulation.look_anew()
        if any(name.startswith(f'{Geometry.__name__}.') for name in self.all):
            # the pairs kept may be those of another world
            found.append(np.array([[address_of(simulation.kept_pairs), 0, 0]], np.int64))
        return np.ascontiguousarray(np.concatenate(found))

    def _make_room(self, simulation: Simulation) -> None:
        """Have room for as many contacts on both sides."""
        simulation.make_room(self.contact_room)
        room = len(simulation.state.contact_gap)
        if room > self.contact_room:
            self.grow(room)

    def _fitting(self, world: int, name: str, array: np.ndarray) -> int:
        if array.shape != self.all[name].shape[1:]:
            raise _other_structure(world, name)
        return world

    def _own_start(self, name: str) -> np.ndarray:
        """Return the rows that worlds began with, one for each."""
        if len(self.start[name]) < self.n:
            self.start[name] = np.repeat(self.start[name], self.n, axis=0)
        return self.start[name]


def contact_fields(rows: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the arrays of contact points by their names in State."""
    return {name: rows[f'State.{name}'] for name in ('contact_size', *_CONTACT_ROWS)}


def _is_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether all bits are the same; nan is nan."""
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def _other_structure(world: int, name: str) -> InvalidValueError:
    return InvalidValueError(
        f'vary of world {world}',
        f'other sizes of {name}',
        'a function that changes numbers only: no robot, joint, shape, material or sensor more or '
        'less',
    )
