"""Single argument of the kernels: all NamedTuple fields arrive at their places."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

import numpy as np
from programs import function_of
import pytest

from sim_bridge.compiler.argument_table import fields_of
from sim_bridge.compiler.arrays import FloatVector
from sim_bridge.compiler.entry import entry
from sim_bridge.compiler.kernel import kernel
from sim_bridge.compiler.kinds import FLOAT
from sim_bridge.engine.data import world_table as handle
from sim_bridge.engine.data import world_table as world
from sim_bridge.engine.data.contact_problem import Direct
from sim_bridge.engine.data.model import Model, Options
from sim_bridge.engine.data.state import State
from sim_bridge.engine.data.workspace import Workspace
from sim_bridge.engine.data.world_table import Handle

OPTIONS = Options(
    *(
        -1.25 * number if kind is FLOAT else -number
        for number, kind in enumerate(fields_of(Options).values(), 1)
    )
)


class Fields:
    """NamedTuples whose arrays all differ in shape and values."""

    def __init__(self):
        self.extents = count(2)
        self.value = 1

    def fill(self, part):
        """Return an instance with distinct arrays, as annotated."""
        return part(*map(self.array, fields_of(part).values()))

    def array(self, layout):
        """Return an array with the layout."""
        shape = [next(self.extents) for _ in range(layout.dimensions)]
        first = self.value
        self.value += int(np.prod(shape))
        dtype = layout.item.dtype
        return np.arange(first, self.value, dtype=dtype).reshape(shape)


@pytest.fixture
def parts():
    """Return an instance of each part, with distinct content; the Options are OPTIONS."""
    fields = Fields()
    return [OPTIONS if kind is Options else fields.fill(kind) for kind in handle.PARTS]


@kernel
def unpack_1(array, at, values_out, shape_out):
    """Write an array's length and shape, then its values; return the row's end."""
    shape_out[0], shape_out[1] = array.ndim, array.shape[0]
    for i in range(array.shape[0]):
        values_out[at + i] = array[i]
    return at + array.size


@kernel
def unpack_2(array, at, values_out, shape_out):
    """Do the same for a matrix."""
    for i in range(array.shape[0]):
        at = unpack_1(array[i], at, values_out, shape_out)
    shape_out[0], shape_out[1], shape_out[2] = array.ndim, array.shape[0], array.shape[1]
    return at


@kernel
def unpack_3(array, at, values_out, shape_out):
    """Do the same for an array with three dimensions."""
    for i in range(array.shape[0]):
        at = unpack_2(array[i], at, values_out, shape_out)
    shape_out[0] = array.ndim
    for axis in range(3):
        shape_out[1 + axis] = array.shape[axis]
    return at


def make_unpacker(part, opener):
    """Compile a function unpacking all fields in a table's part."""
    lines = [
        f'    at = unpack_{kind.dimensions}(part.{field}, at, values, shapes[{row}])'
        for row, (field, kind) in enumerate(fields_of(part).items())
    ]
    source = '\n'.join(
        ['def unpack_part(table, values, shapes):', '    part, at = open_part(table), 0', *lines]
    )
    return entry(function_of(source, {**globals(), 'open_part': opener}))


@entry
def unpack_options(table, values_out):
    """Write some Options, halved to distinguish integers from floats."""
    options = world.options(table)
    values_out[0], values_out[1] = options.time_step / 2, options.contact_margin / 2
    values_out[2], values_out[3] = options.velocity_passes // 2, options.detect // 2


@entry
def overwrite(table):
    """Write into one State array and one Workspace array, by name."""
    world.state(table).wrench[2, 1] = -7.0
    world.workspace(table).response[1, 2, 3] = -8.0


@pytest.mark.parametrize(
    ('kind', 'opener'),
    [
        (Model, world.model),
        (State, world.state),
        (Workspace, world.workspace),
        (Direct, world.direct),
    ],
)
def test_every_array_arrives_in_its_place(parts, kind, opener):
    """Read back all fields' values and shapes, in field order."""
    part = parts[handle.PARTS.index(kind)]
    values = np.full(sum(array.size for array in part), np.nan)
    shapes = np.zeros((len(part), 4), np.int64)
    make_unpacker(kind, opener)(Handle(*parts), values, shapes)
    np.testing.assert_array_equal(values, np.concatenate([array.ravel() for array in part]))
    assert [tuple(row[1 : 1 + row[0]]) for row in shapes] == [array.shape for array in part]


def test_options_arrive_as_numbers_of_their_types(parts):
    """Read back floats as floats and integers as integers, including negative ones."""
    values = np.zeros(4)
    unpack_options(Handle(*parts), values)
    np.testing.assert_array_equal(
        values,
        [
            OPTIONS.time_step / 2,
            OPTIONS.contact_margin / 2,
            OPTIONS.velocity_passes // 2,
            OPTIONS.detect // 2,
        ],
    )


def test_arrays_are_used_in_place(parts):
    """See a kernel's writes in Python."""
    state, place = parts[handle.PARTS.index(State)], handle.PARTS.index(Workspace)
    parts[place] = parts[place]._replace(response=np.zeros((2, 3, 4)))
    overwrite(Handle(*parts))
    assert state.wrench[2, 1] == -7.0
    assert parts[place].response[1, 2, 3] == -8.0
    assert np.count_nonzero(parts[place].response) == 1


def test_table_has_a_row_for_every_field(parts):
    """Hold exactly the rows of the parts."""
    assert len(Handle(*parts).table) == sum(len(kind._fields) for kind in handle.PARTS)


def test_other_parts_are_refused(parts):
    """Name the parts required by a handle."""
    with pytest.raises(TypeError, match='a handle is made of'):
        Handle(*parts[::-1])


@pytest.mark.parametrize(
    'wrong',
    [np.zeros(3), np.zeros((3, 6), np.float32), np.zeros((3, 12))[:, ::2]],
    ids=['dimensions', 'dtype', 'strides'],
)
def test_array_of_another_kind_is_refused(parts, wrong):
    """Name the field whose array compiled code would misread."""
    place = handle.PARTS.index(State)
    parts[place] = parts[place]._replace(wrench=wrong)
    with pytest.raises(TypeError, match=r'State\.wrench must be .* float64 array of 2 dimensions'):
        Handle(*parts)


def test_field_without_a_layout_is_refused():
    """Refuse an annotation without a layout."""

    class Vague(NamedTuple):
        known: FloatVector
        guess: np.ndarray

    with pytest.raises(TypeError, match=r'Vague\.guess'):
        fields_of(Vague)
