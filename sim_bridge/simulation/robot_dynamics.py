"""
Textbook dynamics of one robot: calls of the engine that are prepared once.

An `Operation` runs an entry of `engine.pipeline` for one configuration at the cost of a few copies
of vectors, or for many in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import ctypes
from functools import cached_property, partial
from operator import attrgetter
from threading import get_ident
from typing import Any, NoReturn

import numpy as np

from sim_bridge.compiler.entry import Entry
from sim_bridge.engine.data.coordinates import KINETIC, make_coordinates, MOMENTUM, POTENTIAL
from sim_bridge.engine.data.model import BALL, FREE, position_count, velocity_count
from sim_bridge.engine.data.state import make_state
from sim_bridge.engine.data.workspace import make_workspace
from sim_bridge.engine.math.spatial import FRAME_SIZE
from sim_bridge.engine.pipeline import configurations, frames, rigid_body
from sim_bridge.foundation.arrays import FloatArray
from sim_bridge.foundation.errors import InvalidValueError
from sim_bridge.foundation.validation import real_array, unit_quaternion
from sim_bridge.shapes.shape_records import pose_row
from sim_bridge.simulation.part import view_part
from sim_bridge.simulation.simulation import Simulation
from sim_bridge.simulation.slots import LinkSlot, RobotSlot, with_pulled

_FLOAT = np.dtype(np.float64)


class Operation:
    """
    An entry of the engine for one robot, at a configuration q and velocities dq, and for an x.

    Inputs of one configuration, (n,) each, give an array of `shape`. Where any of them has N rows,
    the others have as many or one for all, and the result is (N, *shape).
    """

    def __init__(
        self, owner: RobotDynamics, entry: Entry, shape: tuple[int, ...], inputs: str,
        x: str = '', *, rows: tuple[int, ...] = (), arguments: Sequence[Any],
        constants: Sequence[FloatArray] = (),
    ) -> None:
        """
        Prepare the calls; this compiles the entry.

        inputs: which of q and dq it takes: '', 'q' or 'q dq'. x: name of a further input, that
        must be given; 'q2' is a configuration, any other a vector of velocities or efforts. rows:
        shape of a row of what the entry writes, if not `shape`. arguments, constants: what the
        entry takes before and after the inputs.
        """
        self._owner, self._simulation = owner, owner.simulation
        self._shape, self._rows = shape, rows or shape
        names = inputs.split()
        own = {name: np.zeros((1, owner.sizes[name])) for name in names}
        present = {name: owner.state[name] for name in names}
        if x:
            own[x] = present[x] = np.zeros((1, owner.sizes['q' if x == 'q2' else 'dq']))
        self._sizes = {name: array.shape[1] for name, array in own.items()}
        self._sources = {'q': 0, 'dq': 1, x: 2}
        self._first, self._count = len(arguments), len(own) + len(constants)
        self._number = -1
        result = np.zeros((1, *self._rows))
        at_given, at_present, self._at_many = self._calls = [
            entry.prepare(*arguments, *values.values(), *constants, result, is_short=is_short)
            for values, is_short in ((own, True), (present, True), (own, False))]
        # what follows makes calls cheap: a microsecond counts here
        self._at_given, self._at_present = (
            (call.bare, ctypes.c_bool.from_buffer(call.words, 8 * call.argument_words))
            for call in (at_given, at_present))
        self._view = result.reshape(shape)
        self._copy: Callable[[], Any] = self._view.copy
        if not shape:
            self._copy = partial(attrgetter('value'), ctypes.c_double.from_buffer(result.data))
        self._q, self._dq, self._x = (
            memoryview(own[name][0]) if name in given else None
            for name, given in (('q', names), ('dq', names), (x, own)))
        self._q_now, self._dq_now = owner.state['q'][0], owner.state['dq'][0]

    def compute(
        self, out: FloatArray | None, q: Any = None, dq: Any = None, x: Any = None
    ) -> Any:
        """
        Return the result, an array or a float.

        q, dq: None for the present ones. out: array to write into and return; None: a new one.
        Raises InvalidValueError for what does not fit, StateError as `Simulation.check_thread`.
        """
        simulation = self._simulation
        before = simulation._thread
        if before:
            simulation.check_thread()
        # as `Simulation.alone`, which costs more: threads would write into the same arrays
        simulation._thread = get_ident()
        try:
            if q is None and dq is None:
                run, done = self._at_present
            else:
                run, done = self._at_given
                # a view takes nothing but as many floats
                if self._q is not None:
                    self._q[:] = self._q_now if q is None else q
                if self._dq is not None:
                    self._dq[:] = self._dq_now if dq is None else dq
            if self._x is not None:
                self._x[:] = x
            run()
            result = self._copy() if out is None else self._view
            is_done = done.value
        except (TypeError, ValueError):
            result = None
        finally:
            simulation._thread = before
        if result is None:
            return self._compute_rows(out, q, dq, x)
        if not is_done:
            self._refuse(q, dq, x)
        if out is None:
            return result
        check_out(out, self._shape, self._owner.place)
        out[...] = result
        return out

    def at(self, number: int) -> Operation:
        """Set the last argument before the inputs to a number; return the operation."""
        if number != self._number:
            for call in self._calls:
                call.words[call.word_of(self._first - 1)] = number
            self._number = number
        return self

    def _compute_rows(self, out: FloatArray | None, *values: Any) -> FloatArray | float:
        """Compute for inputs of any kind, and any number of rows."""
        rows = self._input_rows(*values)
        counts = {name: len(array) for name, array in rows.items() if array.ndim == 2}
        count = max(counts.values(), default=1)
        if any(each not in (1, count) for each in counts.values()):
            raise InvalidValueError(
                'rows', ', '.join(f'{number} of {name}' for name, number in counts.items()),
                'as many of each, or one', self._owner.place)
        shape = (count, *self._shape) if counts else self._shape
        is_given = out is not None
        if out is None:
            out = np.empty(shape)
        else:
            check_out(out, shape, self._owner.place)
        fits = out.flags.c_contiguous and not any(
            np.may_share_memory(out, array) for array in rows.values())
        result = out if fits else np.empty(shape)
        call = self._at_many
        for number, array in enumerate(rows.values()):
            call.replace(self._first + number, np.atleast_2d(array))
        call.replace(self._first + self._count, result.reshape(count, *self._rows))
        with self._simulation.alone():
            is_done = call()
        if not is_done:
            self._refuse(*values)
        if not fits:
            out[...] = result
        return out if is_given or shape else float(out)

    def _input_rows(self, *values: Any) -> dict[str, FloatArray]:
        """Return the inputs by name, of one or two dimensions."""
        present = self._owner.state
        rows = {}
        for name, size in self._sizes.items():
            value = values[self._sources[name]]
            if value is None and self._sources[name] < 2:
                rows[name] = present[name][0]
                continue
            expected = f'{size} finite numbers, or rows of so many'
            array = np.ascontiguousarray(real_array(name, value, expected, self._owner.place))
            if array.size == size == 1 and np.ndim(value) == 0:
                array = array.reshape(1)
            if array.ndim not in (1, 2) or array.shape[-1] != size:
                raise InvalidValueError(
                    f'shape of {name}', np.shape(value), f'({size},) or (N, {size})',
                    self._owner.place)
            rows[name] = array
        return rows

    def _refuse(self, *values: Any) -> NoReturn:
        """Raise the error of the first input with a number that is not finite, or zero turn."""
        for name, array in self._input_rows(*values).items():
            wrong = np.argwhere(~np.isfinite(array))
            if len(wrong):
                at = tuple(wrong[0].tolist())
                raise InvalidValueError(
                    f'{name}[{", ".join(map(str, at))}]', float(array[at]), 'a finite number',
                    self._owner.place)
        for name in self._sizes.keys() & {'q', 'q2'}:
            for row in np.atleast_2d(self._input_rows(*values)[name]):
                for at in self._owner.quaternions:
                    unit_quaternion(row[at : at + 4], self._owner.place, f'{name}[{at}:{at + 4}]')
        raise AssertionError('an input was refused for no reason')


def check_out(out: Any, shape: tuple[int, ...], place: str) -> None:
    """Raise InvalidValueError unless a result of a shape can be written into `out`."""
    if not isinstance(out, np.ndarray) or out.dtype != _FLOAT or out.shape != shape or (
            not out.flags.writeable):
        found = out
        if isinstance(out, np.ndarray):
            access = '' if out.flags.writeable else 'read-only '
            found = f'{access}{out.dtype} {out.shape}'
        raise InvalidValueError('out', found, f'a writable array of float64 {shape}', place)


class RobotDynamics:
    """
    The operations of one robot; what they run is compiled at the first use of each.

    state, sizes: (1, nq) and (1, nv) views of the present configuration and velocities, and nq and
    nv, by 'q' and 'dq'. quaternions: where in q they begin. neutral: (nq,) q at 0.
    """

    def __init__(self, simulation: Simulation, slot: RobotSlot) -> None:
        """Prepare; valid until the slot is bound to other arrays."""
        self.simulation, self.place, self.slot = simulation, f'robot {slot.name!r}', slot
        own, state, _ = view_part(slot.part, slot.blueprint.model)
        self.model = with_pulled(
            own._replace(gravity=simulation.gravity), slot.links, slot.part.at.body)
        self.nq, self.nv = position_count(own), velocity_count(own)
        self.sizes = {'q': self.nq, 'dq': self.nv}
        self.state = {'q': state.q.reshape(1, -1), 'dq': state.v.reshape(1, -1)}
        self.quaternions = [
            at + 3 * (kind >= FREE) for kind, at in zip(own.kind, own.q_index, strict=True)
            if kind == BALL or kind >= FREE]
        self.neutral = make_state(own).q
        workspace = make_workspace(own)
        self._parts = self.model, workspace, make_coordinates(own)
        self._zero = np.zeros((1, self.nv))
        # the last site is any point
        placements = [link.placement for link in slot.links]
        self._site_body = np.array([each.body for each in placements] + [0], np.int64)
        self._site_frame = np.zeros((len(placements) + 1, FRAME_SIZE))
        for row, each in zip(self._site_frame, placements, strict=False):
            row[:] = pose_row(each.rotation, each.position)

    def site(self, link: LinkSlot, point: FloatArray | None = None) -> int:
        """Return the number of a link's frame, or of one at a point of it; the latter for once."""
        if point is None:
            return link.number
        placed = link.placement.placement_of(np.eye(3), point)
        self._site_body[-1] = placed.body
        self._site_frame[-1] = pose_row(placed.rotation, placed.position)
        return len(self._site_body) - 1

    @cached_property
    def mass_matrix(self) -> Operation:
        """(nv, nv) at q."""
        return self._operation(rigid_body.mass_matrix, (self.nv, self.nv), 'q')

    @cached_property
    def inverse_mass_matrix(self) -> Operation:
        """(nv, nv) at q."""
        return self._operation(rigid_body.inverse_mass_matrix, (self.nv, self.nv), 'q')

    @cached_property
    def coriolis_matrix(self) -> Operation:
        """(nv, nv) at q, dq."""
        return self._operation(rigid_body.coriolis_matrix, (self.nv, self.nv), 'q dq')

    @cached_property
    def inverse_dynamics(self) -> Operation:
        """(nv,) at q, dq, ddq."""
        return self._operation(rigid_body.inverse_dynamics, (self.nv,), 'q dq', 'ddq')

    @cached_property
    def bias_forces(self) -> Operation:
        """(nv,) at q, dq."""
        return self._operation(
            rigid_body.inverse_dynamics, (self.nv,), 'q dq', constants=[self._zero])

    @cached_property
    def gravity_forces(self) -> Operation:
        """(nv,) at q."""
        return self._operation(rigid_body.gravity_forces, (self.nv,), 'q')

    @cached_property
    def forward_dynamics(self) -> Operation:
        """(nv,) at q, dq, u."""
        return self._operation(rigid_body.forward_dynamics, (self.nv,), 'q dq', 'u')

    @cached_property
    def inverse_dynamics_derivatives(self) -> Operation:
        """(3, nv, nv) at q, dq, ddq."""
        return self._derivatives(rigid_body.inverse_dynamics_derivatives, 3, 'q dq', 'ddq')

    @cached_property
    def forward_dynamics_derivatives(self) -> Operation:
        """(3, nv, nv) at q, dq, u."""
        return self._derivatives(rigid_body.forward_dynamics_derivatives, 3, 'q dq', 'u')

    @cached_property
    def center_of_mass(self) -> Operation:
        """(3,) at q."""
        return self._operation(frames.center_of_mass, (3,), 'q')

    @cached_property
    def centroidal_momentum(self) -> Operation:
        """(6,) at q, dq."""
        return self._total((6,), MOMENTUM, 'q dq')

    @cached_property
    def kinetic_energy(self) -> Operation:
        """A number, at q, dq."""
        return self._total((), KINETIC, 'q dq')

    @cached_property
    def potential_energy(self) -> Operation:
        """A number, at q."""
        return self._total((), POTENTIAL, 'q')

    @cached_property
    def momentum_matrix(self) -> Operation:
        """(6, nv) at q."""
        return self._operation(frames.centroidal_matrix, (6, self.nv), 'q')

    @cached_property
    def momentum_matrix_rate(self) -> Operation:
        """(6, nv) at q, dq."""
        return self._operation(frames.centroidal_matrix_rate, (6, self.nv), 'q dq')

    @cached_property
    def center_jacobian(self) -> Operation:
        """(3, nv) at q."""
        return self._operation(frames.centroidal_matrix, (3, self.nv), 'q')

    @cached_property
    def center_jacobian_rate(self) -> Operation:
        """(3, nv) at q, dq."""
        return self._operation(frames.centroidal_matrix_rate, (3, self.nv), 'q dq')

    @cached_property
    def jacobian(self) -> Operation:
        """(6, nv) of a site, at q."""
        return self._of_site(frames.jacobian, (6, self.nv), 'q')

    @cached_property
    def jacobian_rate(self) -> Operation:
        """(6, nv) of a site, at q, dq."""
        return self._of_site(frames.jacobian_rate, (6, self.nv), 'q dq')

    @cached_property
    def placement(self) -> Operation:
        """(4, 4) of a site, at q."""
        return self._of_site(frames.placements, (4, 4), 'q', rows=(1, 16))

    @cached_property
    def placements(self) -> Operation:
        """(number of links, 4, 4) at q; `at` 0."""
        count = len(self._site_body) - 1
        return self._of_site(frames.placements, (count, 4, 4), 'q', rows=(count, 16))

    @cached_property
    def integrate(self) -> Operation:
        """(nq,) from q by dq."""
        return Operation(
            self, configurations.integrate, (self.nq,), 'q', 'dq', arguments=self._parts[:2])

    @cached_property
    def difference(self) -> Operation:
        """(nv,) from q to q2."""
        return Operation(
            self, configurations.difference, (self.nv,), 'q', 'q2', arguments=self._parts[:1])

    @cached_property
    def integration_derivatives(self) -> Operation:
        """(2, nv, nv) of `integrate` by dq."""
        return self._derivatives(
            configurations.integration_derivatives, 2, '', 'dq', arguments=self._parts[:1])

    def _operation(
        self, entry: Entry, shape: tuple[int, ...], inputs: str, x: str = '', **options: Any
    ) -> Operation:
        return Operation(self, entry, shape, inputs, x, arguments=self._parts, **options)

    def _total(self, shape: tuple[int, ...], first: int, inputs: str) -> Operation:
        return Operation(
            self, rigid_body.totals, shape, inputs, rows=shape or (1,),
            arguments=[*self._parts, first], constants=[] if 'dq' in inputs else [self._zero])

    def _derivatives(
        self, entry: Entry, count: int, inputs: str, x: str, arguments: Sequence[Any] = ()
    ) -> Operation:
        return Operation(
            self, entry, (count, self.nv, self.nv), inputs, x, rows=(count * self.nv, self.nv),
            arguments=arguments or self._parts)

    def _of_site(
        self, entry: Entry, shape: tuple[int, ...], inputs: str, **options: Any
    ) -> Operation:
        arguments = [*self._parts, self._site_body, self._site_frame, 0]
        return Operation(self, entry, shape, inputs, arguments=arguments, **options)
