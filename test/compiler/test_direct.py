"""Functions taking numpy arrays in machine code: accepted and forwarded arguments."""

from __future__ import annotations

import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

from sim_bridge.compiler import direct
from sim_bridge.compiler.arrays import FloatCube, FloatMatrix
from sim_bridge.compiler.direct import Direct, Operand
from sim_bridge.compiler.entry import entry

DEFAULT = np.full((1, 3), 5.0)
X, Y = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0])


@entry
def multiply(x: FloatMatrix, y: FloatMatrix, product_out: FloatCube):
    """Write the items' products; return False if the first is negative."""
    if x[0, 0] < 0.0:
        return False
    for i in range(x.shape[1]):
        for j in range(y.shape[1]):
            product_out[0, i, j] = x[0, i] * y[0, j]
    return True


@entry
def add_items(x: FloatMatrix, sum_out: FloatMatrix):
    """Write the items' sum."""
    total = 0.0
    for k in range(x.shape[1]):
        total += x[0, k]
    sum_out[0, 0] = total
    return True


class Products:
    """`multiply` as a direct function for (3,), with a default, and (2,)."""

    def __init__(self):
        self.thread, self.handed_on = 0, []
        result = np.zeros((1, 3, 2))
        call = multiply.prepare(np.zeros((1, 3)), np.zeros((1, 2)), result, is_short=True)
        self.direct = Direct(
            call,
            [Operand(0, 3, DEFAULT), Operand(1, 2, None)],
            result,
            (3, 2),
            (self, 'thread'),
            self.hand_on,
        )
        self.run = self.direct.run

    def hand_on(self, *arguments):
        """Accept arguments refused by the direct function."""
        self.handed_on.append(arguments)
        if len(arguments) > 3:
            raise TypeError('too many')
        return 'handed on'


@pytest.fixture(name='products')
def fixture_products():
    return Products()


def sums():
    """Return `add_items` as a direct function."""
    result = np.zeros((1, 1))
    return Direct(
        add_items.prepare(np.zeros((1, 3)), result, is_short=True),
        [Operand(0, 3, None)],
        result,
        (),
        (Products(), 'thread'),
        lambda out, x: None,
    )


def test_results_are_new_arrays_or_those_given(products):
    """Return new arrays, `out` itself if given, and floats."""
    first, second = products.run(None, X, Y), products.run(None, 2.0 * X, Y)
    np.testing.assert_array_equal(first, np.outer(X, Y))
    np.testing.assert_array_equal(second, 2.0 * np.outer(X, Y))
    assert first.dtype == np.float64 and first.flags.owndata and first.flags.c_contiguous
    np.testing.assert_array_equal(products.run(None, None, Y), np.outer(DEFAULT[0], Y))
    out = np.zeros((3, 2))
    assert products.run(out, X, Y) is out
    np.testing.assert_array_equal(out, first)
    add = sums()
    cell = np.zeros(())
    assert add.run(None, X) == 6.0 and type(add.run(None, X)) is float
    assert add.run(cell, X) is cell and cell == 6.0
    assert add.run(None, 2.0 * X) == 12.0 and cell == 6.0
    assert not products.handed_on


@pytest.mark.parametrize(
    'x',
    [
        np.arange(6.0)[3:],
        pickle.loads(pickle.dumps(X)),
        np.broadcast_to(X, (1, 3))[0],
        np.arange(6.0).reshape(2, 3)[1],
    ],
    ids=['part', 'unpickled', 'read-only', 'row'],
)
def test_arrays_of_floats_are_taken(products, x):
    """Accept all contiguous readable arrays."""
    np.testing.assert_array_equal(products.run(None, x, Y), np.outer(x, Y))
    assert not products.handed_on


_UNALIGNED = np.frombuffer(b'x' + X.tobytes(), np.uint8)[1:].view(np.float64)


@pytest.mark.parametrize(
    'x',
    [
        [1.0, 2.0, 3.0],
        1.0,
        'x',
        object,
        np.float64(1.0),
        X.astype(int),
        X.astype(np.float32),
        X.astype('>f8'),
        np.arange(6.0)[::2],
        X[None],
        X[:2],
        np.zeros(()),
        np.zeros(0),
        X.view(np.recarray),
        np.ma.array(X),
        _UNALIGNED,
        -X,
        X.astype(object),
        X.astype(complex),
    ],
    ids=str,
)
def test_anything_else_is_handed_on(products, x):
    """Give the fallback the identical arguments; reference counts stay unchanged."""
    out = np.zeros((3, 2))
    before = sys.getrefcount(x), sys.getrefcount(out), sys.getrefcount(np.dtype(float))
    for _ in range(3):
        assert products.run(out, x, Y) == 'handed on'
        assert products.run(None, x, Y) == 'handed on'
    assert len(products.handed_on) == 6
    assert products.handed_on[0][0] is out and products.handed_on[0][1] is x
    assert products.handed_on[0][2] is Y
    products.handed_on.clear()
    assert (sys.getrefcount(x), sys.getrefcount(out), sys.getrefcount(np.dtype(float))) == before


def test_wrong_results_and_counts_are_handed_on(products):
    """Refuse results overlapping an input, read-only results, and wrong argument counts."""
    both = np.zeros(8)
    locked = np.zeros((3, 2))
    locked.flags.writeable = False
    for out in (
        both[2:8].reshape(3, 2),
        locked,
        np.zeros((2, 3)).T,
        np.zeros((2, 3)),
        np.zeros((3, 2), order='F'),
        np.zeros((1, 3, 2)),
        np.zeros((3, 2), np.float32),
        1,
    ):
        assert products.run(out, both[:3], Y) == 'handed on'
    assert isinstance(products.run(both[2:8].reshape(3, 2), None, Y), np.ndarray)
    assert products.run(None, X, None) == 'handed on'
    assert products.run(None) == products.run() == 'handed on'
    with pytest.raises(TypeError, match='too many'):
        products.run(None, X, Y, Y)
    with pytest.raises(TypeError, match='keyword'):
        products.run(None, x=X)


def test_a_closed_guard_hands_on(products):
    """Do not run while the attribute is not 0."""
    products.thread = threading.get_ident()
    assert products.run(None, X, Y) == 'handed on'
    products.thread = 0
    np.testing.assert_array_equal(products.run(None, X, Y), np.outer(X, Y))


def test_counts_of_references_stay(products):
    """Neither leak nor free results, inputs and their item type."""
    out = np.zeros((3, 2))
    things = (X, Y, out, None, np.dtype(float), products, 0)
    before = [sys.getrefcount(thing) for thing in things]
    for _ in range(100):
        products.run(None, X, Y)
        products.run(out, None, Y)
        products.run(None, -X, Y)
    products.handed_on.clear()
    after = [sys.getrefcount(thing) for thing in things]
    assert np.abs(np.subtract(after, before)).max() < 20
    made = products.run(None, X, Y)
    assert sys.getrefcount(made) == 2


def test_a_function_goes_with_its_owner():
    """Leave nothing behind, although function and fallback refer to each other."""
    products = Products()
    gone = weakref.ref(products)
    del products
    gc.collect()
    assert gone() is None


def test_the_fallback_alone_serves_other_pythons(monkeypatch):
    """Use the fallback if the object layout differs, as in free-threaded builds."""
    monkeypatch.setattr(direct, '_HEAD_SIZE', 32)
    direct.is_possible.cache_clear()
    try:
        products = Products()
        assert products.run(None, X, Y) == 'handed on'
    finally:
        direct.is_possible.cache_clear()
