"""
Textbook dynamics for one robot: engine calls, prepared once.

An `Operation` runs an entry from `engine.pipeline` for one configuration, in given arrays, or for
many configurations in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn

import numpy as np

from sim_bridge.compiler.direct import Direct, Operand
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
from sim_bridge.simulation.slots import RobotSlot, with_pulled

_FLOAT = np.dtype(np.float64)


class Operation:
    """
    An engine entry for one robot.

    compute: function with a result array, None for a new one, and each input as arguments. Inputs
    for one configuration, (n,) each, give an array with `shape`, or a float. If an input has N
    rows, the others have N rows or one row for all, and the result is (N, *shape). It raises
    InvalidValueError for misfitting inputs, StateError as `ThreadGuard.check`.
    """

    compute: Callable[..., Any]

    def __init__(
        self,
        owner: RobotDynamics,
        entry: Entry,
        shape: tuple[int, ...],
        inputs: Mapping[str, FloatArray | None],
        *,
        rows: tuple[int, ...] = (),
        arguments: Sequence[Any],
        constants: Sequence[FloatArray] = (),
        place: str = '',
    ) -> None:
        """
        Prepare the calls; this compiles the entry.

        inputs: by name the row (1, n) for None, or None for a required input; names as in
        `RobotDynamics.sizes`. rows: row shape written by the entry, if not `shape`.
        arguments, constants: entry arguments before and after the inputs. place: place in
        error messages, if not the robot.
        """
        self._owner, self._simulation = owner, owner.simulation
        self._place = place or owner.place
        self._shape, self._rows, self._inputs = shape, rows or shape, inputs
        self._first = len(arguments)
        given = [np.zeros((1, owner.sizes[name])) for name in inputs]
        self._result = self._first + len(given) + len(constants)
        result = np.zeros((1, *self._rows))
        at_one, self._at_many = (
            entry.prepare(*arguments, *given, *constants, result, is_short=is_short)
            for is_short in (True, False)
        )
        self._direct = Direct(
            at_one,
            [
                Operand(number, owner.sizes[name], default)
                for number, (name, default) in enumerate(inputs.items(), self._first)
            ],
            result,
            shape,
            (self._simulation.thread_guard, 'holder'),
            self._compute_rows,
        )
        self.compute = self._direct.run

    def _compute_rows(self, out: FloatArray | None, *values: Any) -> FloatArray | float:
        """Compute for inputs in any form and with any number of rows."""
        rows = self._input_rows(*values)
        counts = {name: len(array) for name, array in rows.items() if array.ndim == 2}
        count = max(counts.values(), default=1)
        if any(each not in (1, count) for each in counts.values()):
            raise InvalidValueError(
                'rows',
                ', '.join(f'{number} of {name}' for name, number in counts.items()),
                'as many of each, or one',
                self._place,
            )
        shape = (count, *self._shape) if counts else self._shape
        is_given = out is not None
        if out is None:
            out = np.empty(shape)
        else:
            check_out(out, shape, self._place)
        fits = out.flags.c_contiguous and not any(
            np.may_share_memory(out, array) for array in rows.values()
        )
        result = out if fits else np.empty(shape)
        call = self._at_many

        def run() -> bool:
            for number, array in enumerate(rows.values(), self._first):
                call.replace(number, np.atleast_2d(array))
            call.replace(self._result, result.reshape(count, *self._rows))
            return bool(call())

        # other threads would write into the same arrays
        if not self._simulation.thread_guard.run_alone(run):
            self._refuse(*values)
        if not fits:
            out[...] = result
        return out if is_given or shape else float(out)

    def _input_rows(self, *values: Any) -> dict[str, FloatArray]:
        """Return the inputs by name, with one or two dimensions."""
        rows = {}
        for (name, default), value in zip(self._inputs.items(), values, strict=True):
            size = self._owner.sizes[name]
            if value is None and default is not None:
                rows[name] = default[0]
                continue
            expected = f'{size} finite numbers, or rows of as many'
            array = np.ascontiguousarray(real_array(name, value, expected, self._place))
            if array.size == size == 1 and np.ndim(value) == 0:
                array = array.reshape(1)
            if array.ndim not in (1, 2) or array.shape[-1] != size:
                raise InvalidValueError(
                    f'shape of {name}', np.shape(value), f'({size},) or (N, {size})', self._place
                )
            rows[name] = array
        return rows

    def _refuse(self, *values: Any) -> NoReturn:
        """Raise the error for the first input with a number not finite, or a zero quaternion."""
        for name, array in self._input_rows(*values).items():
            wrong = np.argwhere(~np.isfinite(array))
            if len(wrong):
                at = tuple(wrong[0].tolist())
                raise InvalidValueError(
                    f'{name}[{", ".join(map(str, at))}]',
                    float(array[at]),
                    'a finite number',
                    self._place,
                )
        for name in self._inputs.keys() & {'q', 'q2'}:
            for row in np.atleast_2d(self._input_rows(*values)[name]):
                for at in self._owner.quaternions:
                    unit_quaternion(row[at : at + 4], self._place, f'{name}[{at}:{at + 4}]')
        raise AssertionError('an input was refused for no reason')


def check_out(out: Any, shape: tuple[int, ...], place: str) -> None:
    """Raise InvalidValueError unless a result with a shape can be written into `out`."""
    if (
        not isinstance(out, np.ndarray)
        or out.dtype != _FLOAT
        or out.shape != shape
        or (not out.flags.writeable)
    ):
        found = out
        if isinstance(out, np.ndarray):
            access = '' if out.flags.writeable else 'read-only '
            found = f'{access}{out.dtype} {out.shape}'
        raise InvalidValueError('out', found, f'a writable array of float64 {shape}', place)


class RobotDynamics:
    """
    One robot's operations; each is compiled at its first use.

    state: (1, nq) and (1, nv) views into the present configuration and velocities, by 'q' and
    'dq'. sizes: input sizes by name. quaternions: first quaternion indices in q. neutral: (nq,) q
    at 0. jacobian, jacobian_rate, placement: by link number; the first two for a point on the
    link.
    """

    def __init__(self, simulation: Simulation, slot: RobotSlot) -> None:
        """Prepare; valid until the slot is bound to other arrays."""
        self.simulation, self.place, self.slot = simulation, f'robot {slot.name!r}', slot
        own, state, _ = view_part(slot.part, slot.blueprint.model)
        self.model = with_pulled(
            own._replace(gravity=simulation.run.gravity), slot.links, slot.part.at.body
        )
        self.nq, self.nv = position_count(own), velocity_count(own)
        self.sizes = {
            'q': self.nq,
            'q2': self.nq,
            'dq': self.nv,
            'ddq': self.nv,
            'u': self.nv,
            'point': 3,
        }
        self.state = {'q': state.q.reshape(1, -1), 'dq': state.v.reshape(1, -1)}
        self.quaternions = [
            at + 3 * (kind >= FREE)
            for kind, at in zip(own.kind, own.q_index, strict=True)
            if kind == BALL or kind >= FREE
        ]
        self.neutral = make_state(own).q
        workspace = make_workspace(own)
        self._parts = self.model, workspace, make_coordinates(own)
        self._zero, self._origin = np.zeros((1, self.nv)), np.zeros((1, 3))
        placements = [link.placement for link in slot.links]
        self._site_body = np.array([each.body for each in placements], np.int64)
        self._site_frame = np.zeros((len(placements), FRAME_SIZE))
        for row, each in zip(self._site_frame, placements, strict=True):
            row[:] = pose_row(each.rotation, each.position)
        self.jacobian = _EachLink(
            lambda link: self._of_site(
                frames.jacobian, (6, self.nv), link, {'point': self._origin, **self._present('q')}
            )
        )
        self.jacobian_rate = _EachLink(
            lambda link: self._of_site(
                frames.jacobian_rate,
                (6, self.nv),
                link,
                {'point': self._origin, **self._present('q dq')},
            )
        )
        self.placement = _EachLink(
            lambda link: self._of_site(
                frames.placements, (4, 4), link, self._present('q'), rows=(1, 16)
            )
        )

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
            rigid_body.inverse_dynamics, (self.nv,), 'q dq', constants=[self._zero]
        )

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
        return self._derivatives(rigid_body.inverse_dynamics_derivatives, 'ddq')

    @cached_property
    def forward_dynamics_derivatives(self) -> Operation:
        """(3, nv, nv) at q, dq, u."""
        return self._derivatives(rigid_body.forward_dynamics_derivatives, 'u')

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
    def placements(self) -> Operation:
        """(number of links, 4, 4) at q."""
        count = len(self._site_body)
        return self._of_site(
            frames.placements, (count, 4, 4), 0, self._present('q'), rows=(count, 16)
        )

    @cached_property
    def integrate(self) -> Operation:
        """(nq,) from q by dq."""
        return Operation(
            self,
            configurations.integrate,
            (self.nq,),
            {**self._present('q'), 'dq': None},
            arguments=self._parts[:2],
        )

    @cached_property
    def difference(self) -> Operation:
        """(nv,) from q to q2."""
        return Operation(
            self,
            configurations.difference,
            (self.nv,),
            {**self._present('q'), 'q2': None},
            arguments=self._parts[:1],
        )

    @cached_property
    def integration_derivatives(self) -> Operation:
        """(2, nv, nv) the derivatives of `integrate` by configuration, then by dq; at dq."""
        return Operation(
            self,
            configurations.integration_derivatives,
            (2, self.nv, self.nv),
            {'dq': None},
            rows=(2 * self.nv, self.nv),
            arguments=self._parts[:1],
        )

    def _operation(
        self, entry: Entry, shape: tuple[int, ...], inputs: str, x: str = '', **options: Any
    ) -> Operation:
        given = self._present(inputs)
        if x:
            given[x] = None
        return Operation(self, entry, shape, given, arguments=self._parts, **options)

    def _present(self, inputs: str) -> dict[str, FloatArray | None]:
        """Return inputs for which the present state is used."""
        return {name: self.state[name] for name in inputs.split()}

    def _total(self, shape: tuple[int, ...], first: int, inputs: str) -> Operation:
        return Operation(
            self,
            rigid_body.totals,
            shape,
            self._present(inputs),
            rows=shape or (1,),
            arguments=[*self._parts, first],
            constants=[] if 'dq' in inputs else [self._zero],
        )

    def _derivatives(self, entry: Entry, x: str) -> Operation:
        return self._operation(
            entry, (3, self.nv, self.nv), 'q dq', x, rows=(3 * self.nv, self.nv)
        )

    def _of_site(
        self,
        entry: Entry,
        shape: tuple[int, ...],
        first: int,
        inputs: dict[str, FloatArray | None],
        **options: Any,
    ) -> Operation:
        arguments = [*self._parts, self._site_body, self._site_frame, first]
        place = f'{self.place}, link {self.slot.links[first].name!r}'
        return Operation(self, entry, shape, inputs, arguments=arguments, place=place, **options)


class _EachLink(dict[int, Operation]):
    """Operations by link number, each made at its first use."""

    def __init__(self, make: Callable[[int], Operation]) -> None:
        self._make = make

    def __missing__(self, number: int) -> Operation:
        operation = self[number] = self._make(number)
        return operation
