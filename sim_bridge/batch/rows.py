"""
Arrays with a row for each world in a batch.

Array names are 'State.q', 'Model.inertia' and so on. Steps write the *own* arrays: state, reports,
device samples. The other arrays are *parameters*: all worlds share the first world's array,
until a world has different numbers in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from sim_bridge.compiler.memory import address_of
from sim_bridge.engine.data.geometry import Geometry
from sim_bridge.engine.data.parts import rows_of
from sim_bridge.engine.data.state import State
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.sensors.advance_worlds import FIRST_ROW, ROWS_SIZE, STRIDE, WORD
from sim_bridge.simulation.change import finished
from sim_bridge.simulation.simulation import Simulation

DEVICES, SITES, WORST = 'devices', 'sites', 'worst'
"""
Names of the device table (it contains addresses), of the observed sites, and of the greatest
solver figures (see `sensors.step_and_sample.note_worst`).
"""
# recomputed from the other arrays
_DERIVED = (DEVICES, SITES)
# scratch arrays in Fields: a step writes them before it reads them
_SCRATCH = ('time', 'sample', 'point')
_CONTACT_ROWS = tuple(name for name, along in rows_of(State).items() if along == 'nc')


def own_arrays(simulation: Simulation) -> dict[str, np.ndarray]:
    """Return the arrays of a simulation's world, written by its steps."""
    # refreshed as at the beginning of a step, which also sets the velocities of new joints
    simulation.cache.refresh()
    found = {f'State.{name}': array for name, array in simulation.cache.state._asdict().items()}
    found['progress'] = simulation.cache.stepper.progress
    found[WORST] = simulation.cache.worst
    found['residual'] = simulation.cache.handles.problem.solution.residual
    found[DEVICES] = simulation.cache.sites.sampling.table
    found[SITES] = simulation.observation.sites()
    for number, device in enumerate(simulation.cache.devices):
        found[f'sample {number}'], found[f'step {number}'] = device.memory
    return found


def parameter_arrays(simulation: Simulation) -> dict[str, np.ndarray]:
    """Return the arrays changed by users only; steps read them."""
    simulation.cache.refresh()
    found: dict[str, np.ndarray] = {}
    for part in (
        simulation.cache.model,
        simulation.cache.geometry,
        simulation.cache.contact_materials,
        simulation.cache.loops,
    ):
        found |= {f'{type(part).__name__}.{name}': each for name, each in part._asdict().items()}
    for number, fields in enumerate(simulation.cache.fields):
        found |= {
            f'Fields {number}.{name}': each
            for name, each in fields._asdict().items()
            if name not in _SCRATCH
        }
    found['frames of devices'] = simulation.cache.sites.frame
    return found


def row_bytes(simulation: Simulation) -> int:
    """Return the memory for each world in a batch, without parameters of its own [bytes]."""
    return sum(array.nbytes for array in own_arrays(simulation).values())


class Rows:
    """
    Arrays by name with a row for each of n worlds.

    all: (n, …) present values. start: initial values; one row if they are equal for all worlds.
    After the initialization, arrays are added or replaced only with a new dictionary: an
    interrupt leaves all arrays of the old one or all of the new one.
    """

    def __init__(self, n: int) -> None:
        """Start without arrays."""
        self.n = n
        self.all: dict[str, np.ndarray] = {}
        self.start: dict[str, np.ndarray] = {}
        self._shared: dict[str, np.ndarray] = {}

    def take_first(self, simulation: Simulation) -> None:
        """Initialize all worlds from one simulation."""
        self._shared = {name: array.copy() for name, array in parameter_arrays(simulation).items()}
        for name, array in own_arrays(simulation).items():
            self.all[name] = self._spread(array)
            if name not in _DERIVED:
                self.start[name] = array[np.newaxis].copy()

    def take(self, world: int, simulation: Simulation) -> None:
        """
        Initialize one world from a simulation.

        Raises InvalidValueError if the simulation has other robots, joints, shapes or devices.
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
                self.all[name] = self._spread(shared)
                self.all[name][world] = array

    def take_parameters(self, worlds: np.ndarray, simulation: Simulation) -> None:
        """
        Copy a simulation's parameters to worlds.

        worlds: (k,) world numbers. Raises InvalidValueError, without any change, if the simulation
        has other parts.
        """
        given = parameter_arrays(simulation)
        for name, shared in self._shared.items():
            if name not in given or given[name].shape != shared.shape:
                raise InvalidValueError(
                    'world', f'other sizes of {name}', 'one with the parts of the batch'
                )
        finished(partial(self._write_parameters, worlds, given))

    def _write_parameters(self, worlds: np.ndarray, given: Mapping[str, np.ndarray]) -> None:
        added = {
            name: self._spread(shared)
            for name, shared in self._shared.items()
            if name not in self.all and not _is_same(given[name], shared)
        }
        if added:
            self.all = self.all | added
        for name in self._shared:
            if name in self.all:
                self.all[name][worlds] = given[name]

    def put(self, world: int, simulation: Simulation) -> None:
        """Copy a world's present values to a simulation with the same structure."""
        simulation.cache.make_room(self.contact_room)
        arrays = {**parameter_arrays(simulation), **own_arrays(simulation)}
        for name, rows in self.all.items():
            if name != DEVICES:
                arrays[name][...] = rows[world]

    def reset(self, worlds: np.ndarray) -> None:
        """Reset worlds to their initial values. worlds: (k,) world numbers."""
        for name, start in self.start.items():
            self.all[name][worlds] = start if len(start) == 1 else start[worlds]

    @property
    def contact_room(self) -> int:
        """Contact capacity for each world."""
        return self.all['State.contact_gap'].shape[1]

    def grow(self, room: int) -> None:
        """Enlarge the arrays to a contact capacity for each world."""
        self.all, self.start = _with_room(self.all, room), _with_room(self.start, room)

    def places_in(self, simulation: Simulation) -> np.ndarray:
        """
        Return (m, ROWS_SIZE) words in a simulation's calls and the array rows they must point to.

        Format: see `sensors.advance_worlds`; valid while both keep the same arrays.
        """
        memory = simulation.cache.stepper.memory
        values = np.concatenate(memory)
        addresses = np.concatenate(
            [address_of(words) + 8 * np.arange(len(words)) for words in memory]
        )
        arrays = {**parameter_arrays(simulation), **own_arrays(simulation)}
        found = []
        for name, rows in self.all.items():
            # an address may point inside an array, not only to its beginning
            first, size = address_of(arrays[name]), arrays[name].nbytes
            inside = (values >= first) & (values < first + size)
            places = np.empty((np.count_nonzero(inside), ROWS_SIZE), np.int64)
            places[:, WORD] = addresses[inside]
            places[:, FIRST_ROW] = address_of(rows) + (values[inside] - first)
            places[:, STRIDE] = size
            found.append(places)
        simulation.cache.contacts.look_anew()
        if any(name.startswith(f'{Geometry.__name__}.') for name in self.all):
            # the cached pairs may belong to another world
            found.append(np.array([[address_of(simulation.cache.kept_pairs), 0, 0]], np.int64))
        return np.ascontiguousarray(np.concatenate(found))

    def _make_room(self, simulation: Simulation) -> None:
        """Give the batch and a simulation the same contact capacity."""
        simulation.cache.make_room(self.contact_room)
        room = len(simulation.cache.state.contact_gap)
        if room > self.contact_room:
            self.grow(room)

    def _spread(self, array: np.ndarray) -> np.ndarray:
        """Return an array with this array as the row of each world."""
        rows = np.empty((self.n, *array.shape), array.dtype)
        rows[:] = array
        return rows

    def _fitting(self, world: int, name: str, array: np.ndarray) -> int:
        if array.shape != self.all[name].shape[1:]:
            raise _other_structure(world, name)
        return world

    def _own_start(self, name: str) -> np.ndarray:
        """Return the initial rows, one for each world."""
        if len(self.start[name]) < self.n:
            self.start[name] = np.repeat(self.start[name], self.n, axis=0)
        return self.start[name]


def contact_fields(rows: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the contact point arrays by their names in State."""
    return {name: rows[f'State.{name}'] for name in ('contact_size', *_CONTACT_ROWS)}


def _with_room(arrays: Mapping[str, np.ndarray], room: int) -> dict[str, np.ndarray]:
    """Return arrays by name with another contact capacity."""
    found = dict(arrays)
    for name in (f'State.{field}' for field in _CONTACT_ROWS):
        before = arrays[name]
        found[name] = np.zeros((len(before), room, *before.shape[2:]), before.dtype)
        found[name][:, : before.shape[1]] = before
    return found


def _is_same(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether all bits are equal; equal nan count as equal."""
    return a.shape == b.shape and a.tobytes() == b.tobytes()


def _other_structure(world: int, name: str) -> InvalidValueError:
    return InvalidValueError(
        f'vary of world {world}',
        f'other sizes of {name}',
        'a function that changes numbers only: it must not add or remove a robot, joint, shape, '
        'material or sensor',
    )
