"""Arrays are declared once, and the declarations are true."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import linkages
from meshes import lumpy_ball
import numpy as np
import pytest

import sim_bridge as sb
from sim_bridge.compiler.arrays import FloatMatrix, FloatVector, IntVector
from sim_bridge.engine.data import world_table
from sim_bridge.engine.data.model import Model, Options
from sim_bridge.engine.data.parts import (
    arrays_of,
    copy,
    DIMENSIONS,
    Dims,
    make,
    parameters,
    rows_of,
    sizes_of,
)
from sim_bridge.engine.data.state import make_state, State
from sim_bridge.engine.pipeline.join import join_models
from sim_bridge.simulation.handles import make_options

PARTS = [part for part in world_table.PARTS if part is not Options]


@pytest.fixture
def handles(monkeypatch):
    """Return the parts, except Options, of all handles made from now on."""
    made = []

    def tabulate(parts):
        made.append([part for part in parts if not isinstance(part, Options)])
        return world_table_tabulate(parts)

    world_table_tabulate = world_table.tabulate
    monkeypatch.setattr(world_table, 'tabulate', tabulate)
    return made


def varied_world():
    """Return a world using all arrays, with as few equal sizes as possible."""
    world = sb.World()
    world.add_ground()
    world.add_body(sb.HeightField(np.zeros((7, 5)), (0.1, 0.1)), motion='static')
    hull = sb.ConvexHull(np.random.default_rng(1).normal(size=(15, 3)))
    for shape, x in ((sb.TriangleMesh(*lumpy_ball()), 3.0), (hull, 6.0)):
        world.add_body(shape, mass=1.0, position=(x, 0.0, 3.0), inertia=(0.1, 0.1, 0.1))
    world.load_urdf(linkages.gripper(), name='gripper')
    crane = linkages.body(world, (0.0, 0.0, 5.0))
    world.add_joint('ball', None, crane, (0.0, 0.0, 5.5))
    low, high, _ = linkages.frame(world)
    box = world.add_body(sb.Box((0.1, 0.1, 0.1)), mass=1.0, position=(1.0, 0.0, 0.05))
    box.root_link.mass_coefficients = (1.0, 1.0, 1.0)
    world.add_joint('hinge', box, crane, (0.5, 0.0, 1.0), (0.0, 0.0, 1.0), cfm=1e-3)
    world.add_joint('ball', box, low, (0.5, 0.0, 0.5))
    world.add_joint('ball', box, high, (0.5, 0.0, 0.9))
    return world


def test_every_declaration_is_true(handles):
    """Match every array in every handle with its field; sizes agree within a world."""
    varied_world().step(3)
    assert len(handles) > 2
    for parts in handles:
        assert [type(part) for part in parts] == PARTS
        for part in parts:
            sizes_of(part)
    # a steppable world has all parts, so a wrong dimension name would show as a different size
    sizes = sizes_of(*handles[-1])
    # pictures, lamps, textures and pencils belong to cameras
    others = {'height', 'width', 'lamps', 'textured', 'colored', 'textures', 'levels', 'texels'}
    others |= {'lines', 'cells', 'mask_rows', 'mask_columns', 'clusters'}
    assert set(sizes) == set(DIMENSIONS) - others
    names = ['nb', 'nq', 'nv', 'ng', 'nc', 'nk', 'nr', 'na', 'nt', 'entries', 'vertices', 'faces']
    assert len({sizes[name] for name in names}) == len(names)


def test_every_number_has_a_unit():
    """Declare a unit for every float array."""
    fields = [(part, name, *arrays_of(part)[name]) for part in PARTS for name in part._fields]
    assert [
        (part.__name__, name)
        for part, name, dtype, dims in fields
        if (dtype == np.float64) == (dims.unit == '')
    ] == []


def test_a_robot_carries_over_all_its_state():
    """Carry over and join all dimensions with rows in State and Model."""
    assert set(rows_of(State).values()) == {'nb', 'nq', 'nv', 'nc', 'nk', 'na', 'nw', 'nu'}
    assert set(rows_of(Model).values()) == {'nb', 'nv', 'nm', 'nl', 'np', 'nu'}


def test_joined_models_point_at_their_own_rows():
    """Shift only indices of bodies or coordinates."""
    single = make(
        Model,
        {'nb': 2, 'nv': 3, 'nm': 1, 'nl': 1, 'np': 1, 'nu': 1},
        kind=np.array([1, 4]),
        parent=np.array([-1, 0]),
        q_of_v=np.array([0, -1, -1]),
        mimic=np.array([[1, 2]]),
        pulled_body=np.array([1]),
        actuated=np.array([2]),
        actuator_body=np.array([[1, -1]]),
        limits=np.arange(15.0).reshape(3, 5),
    )
    joined, offsets = join_models([single, single], np.arange(8.0))
    assert offsets == [(0, 0, 0, 0), (2, 5, 3, 1)]
    assert joined.parent.tolist() == [-1, 0, -1, 2]
    assert joined.q_of_v.tolist() == [0, -1, -1, 5, -1, -1]
    assert joined.mimic.tolist() == [[1, 2], [4, 5]]
    assert joined.kind.tolist() == [1, 4, 1, 4]
    assert joined.actuated.tolist() == [2, 5]
    assert joined.actuator_body.tolist() == [[1, -1], [3, -1]]
    assert joined.gravity.tolist() == list(range(8))
    assert joined.pulled_body.tolist() == [1, 3]
    np.testing.assert_array_equal(joined.limits, np.tile(single.limits, (2, 1)))
    sizes_of(joined, make_state(joined))


def test_handles_know_their_parts_by_kind(handles):
    """Find a part by its class, and make a handle with another part in its place."""
    world = sb.World()
    world.add_ground()
    world.step()
    handle = world_table.Handle(*handles[-1][:1], make_options(1e-3), *handles[-1][1:])
    state = copy(handle.part(State))
    other = handle.replaced(state)
    assert other.part(State) is state and handle.part(State) is not state
    assert other.part(Model) is handle.part(Model)
    assert other.table.shape == handle.table.shape


class Declared(NamedTuple):
    """A part."""

    first: Annotated[FloatVector, Dims('nb', unit='m')]
    second: Annotated[IntVector, Dims('nb + 1')]
    third: Annotated[FloatMatrix, Dims('nv', 2, unit='N', is_parameter=True)]


def test_parts_follow_from_their_declarations():
    """Make, copy and list declared arrays."""
    third = np.ones((3, 2))
    part = make(Declared, {'nb': 4, 'nv': 3}, third=third)
    assert part.first.tolist() == [0.0] * 4 and part.second.tolist() == [0] * 5
    assert (part.first.dtype, part.second.dtype) == (np.float64, np.int64)
    assert part.third is third
    assert parameters(part) == {'third': third}
    assert rows_of(Declared) == {'first': 'nb', 'second': 'nb + 1', 'third': 'nv'}
    copied = copy(part)
    assert isinstance(copied, Declared) and copied.third is not third
    np.testing.assert_array_equal(copied.third, third)
    assert sizes_of(part) == {'nb': 4, 'nv': 3}


def test_arrays_that_contradict_are_named():
    """Name the field whose size or kind contradicts the others."""
    part = make(Declared, {'nb': 4, 'nv': 3})
    with pytest.raises(ValueError, match=r"Declared\.second is int64 \(4,\), not .*'nb \+ 1'"):
        sizes_of(part._replace(second=np.zeros(4, np.int64)))
    with pytest.raises(ValueError, match=r'Declared\.first is int64'):
        sizes_of(part._replace(first=np.zeros(4, np.int64)))
    with pytest.raises(KeyError, match=r"Declared\.third: no size of its dimension 'nv'"):
        make(Declared, {'nb': 4})


class Bare(NamedTuple):
    """A part with an incomplete field declaration."""

    known: Annotated[FloatVector, Dims('nb', unit='m')]
    bare: FloatVector


class Flat(NamedTuple):
    """A part whose matrix is declared as a vector."""

    flat: Annotated[FloatMatrix, Dims('nb', unit='m')]


@pytest.mark.parametrize(('part', 'field'), [(Bare, r'Bare\.bare'), (Flat, r'Flat\.flat')])
def test_field_without_dimensions_is_an_error(part, field):
    """Name the field declaring no dimensions, or too few or many for its array kind."""
    with pytest.raises(TypeError, match=f'{field} does not declare the dimensions'):
        make(part, {'nb': 1})


def test_unknown_dimension_is_an_error():
    """Name a dimension without a known size."""
    with pytest.raises(ValueError, match='unknown dimension'):
        Dims('nothing')
    with pytest.raises(ValueError, match='unknown dimension'):
        Dims('nb', points_at='nothing')
