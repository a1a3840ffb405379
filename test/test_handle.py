"""The one argument of the kernels: every field of every NamedTuple arrives in its place."""

from __future__ import annotations

from itertools import count
from typing import NamedTuple

from numba import literal_unroll
import numpy as np
import pytest

from sim_bridge.engine import handle
from sim_bridge.engine.arrays import FloatVector
from sim_bridge.engine.handle import Handle, open_model, open_options, open_state, open_workspace
from sim_bridge.engine.jit import kernel
from sim_bridge.engine.model import Model, Options
from sim_bridge.engine.state import State
from sim_bridge.engine.workspace import Workspace

OPTIONS = Options(time_step=1.5, stop_erp=-0.25, velocity_passes=3, max_pivots=-4)


class Fields:
    """NamedTuples of arrays of which no two have a shape or a value in common."""

    def __init__(self):
        self.extents = count(2)
        self.values = count(1)

    def fill(self, part):
        """Give one with such arrays, of the annotated kinds."""
        return part(*map(self.array, handle._fields(part).values()))

    def array(self, layout):
        """Give an array of the layout."""
        shape = [next(self.extents) for _ in range(layout.dimensions)]
        values = [next(self.values) for _ in range(np.prod(shape))]
        return np.array(values, layout.dtype).reshape(shape)


@pytest.fixture
def parts():
    """Give a Model, a State and a Workspace that can be told apart everywhere."""
    fields = Fields()
    return fields.fill(Model), fields.fill(State), fields.fill(Workspace)


@kernel
def unpack(arrays, values_out, shapes_out):
    """Write all values of a tuple of arrays in a row, and the shapes, each after its length."""
    at, field = 0, 0
    for array in literal_unroll(arrays):
        shapes_out[field, 0] = array.ndim
        for axis in range(array.ndim):
            shapes_out[field, 1 + axis] = array.shape[axis]
        field += 1
        for value in array.flat:
            values_out[at] = value
            at += 1
    return field


@kernel
def unpack_model(table, values_out, shapes_out):
    """Unpack the Model."""
    return unpack(open_model(table), values_out, shapes_out)


@kernel
def unpack_state(table, values_out, shapes_out):
    """Unpack the State."""
    return unpack(open_state(table), values_out, shapes_out)


@kernel
def unpack_workspace(table, values_out, shapes_out):
    """Unpack the Workspace."""
    return unpack(open_workspace(table), values_out, shapes_out)


@kernel
def unpack_options(table, values_out):
    """Write the Options, halved to tell whole numbers from others."""
    options = open_options(table)
    values_out[0], values_out[1] = options.time_step / 2, options.stop_erp / 2
    values_out[2], values_out[3] = options.velocity_passes // 2, options.max_pivots // 2


@kernel
def overwrite(table):
    """Write into one array of the State and of the Workspace, by name."""
    open_state(table).wrench[2, 1] = -7.0
    open_workspace(table).response[1, 2, 3] = -8.0


@pytest.mark.parametrize(
    ('number', 'unpack_part'), [(0, unpack_model), (1, unpack_state), (2, unpack_workspace)])
def test_every_array_arrives_in_its_place(parts, number, unpack_part):
    """Read back all values and shapes of all fields, in the order of the fields."""
    model, state, workspace = parts
    part = parts[number]
    values = np.full(sum(array.size for array in part), np.nan)
    shapes = np.zeros((len(part), 4), np.int64)
    table = Handle(model, OPTIONS, state, workspace).table
    assert unpack_part(table, values, shapes) == len(part._fields)
    np.testing.assert_array_equal(values, np.concatenate([array.ravel() for array in part]))
    assert [tuple(row[1 : 1 + row[0]]) for row in shapes] == [array.shape for array in part]


def test_options_arrive_as_numbers_of_their_types(parts):
    """Read back floats as floats and integers as integers, negative ones too."""
    model, state, workspace = parts
    values = np.zeros(4)
    unpack_options(Handle(model, OPTIONS, state, workspace).table, values)
    np.testing.assert_array_equal(values, [0.75, -0.125, 1, -2])


def test_arrays_are_used_in_place(parts):
    """See in Python what a kernel writes."""
    model, state, workspace = parts
    workspace = workspace._replace(response=np.zeros((2, 3, 4)))
    overwrite(Handle(model, OPTIONS, state, workspace).table)
    assert state.wrench[2, 1] == -7.0
    assert workspace.response[1, 2, 3] == -8.0
    assert np.count_nonzero(workspace.response) == 1


def test_table_has_a_row_for_every_field(parts):
    """Hold neither more nor less than the four NamedTuples."""
    model, state, workspace = parts
    fields = Model._fields + Options._fields + State._fields + Workspace._fields
    assert len(Handle(model, OPTIONS, state, workspace).table) == len(fields)


@pytest.mark.parametrize(
    'wrong', [np.zeros(3), np.zeros((3, 6), np.float32), np.zeros((3, 12))[:, ::2]],
    ids=['dimensions', 'dtype', 'strides'])
def test_array_of_another_kind_is_refused(parts, wrong):
    """Name the field whose array the compiled code would misread."""
    model, state, workspace = parts
    with pytest.raises(TypeError, match=r'State\.wrench must be .* float64 array of 2 dimensions'):
        Handle(model, OPTIONS, state._replace(wrench=wrong), workspace)


def test_field_without_a_layout_is_refused():
    """Refuse to guess what an annotation leaves open."""
    class Vague(NamedTuple):
        known: FloatVector
        guess: np.ndarray

    with pytest.raises(TypeError, match=r'Vague\.guess'):
        handle._fields(Vague)
