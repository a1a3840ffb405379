"""Deprecated names still work, with a warning."""

from importlib import import_module
import sys

import pytest

import sim_bridge as sb
from sim_bridge.contact_problems import grasp


@pytest.mark.parametrize(
    ('old', 'new'), [('contact', 'contact_problems'), ('MadeContact', 'UserContact')]
)
def test_old_names_warn_and_give_the_new_ones(old, new):
    """Name the new name at each use of the old one; the old one is no longer listed."""
    with pytest.warns(DeprecationWarning, match=f'sim_bridge.{old} is now called .*{new}'):
        found = getattr(sb, old)
    assert found is getattr(sb, new)
    assert old not in dir(sb)


def test_the_old_package_has_the_modules_of_the_new_one(monkeypatch):
    """Import the old package and its modules with one warning; classes are the same objects."""
    for name in [name for name in sys.modules if f'{name}.'.startswith('sim_bridge.contact.')]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(vars(sb), 'contact', None)
    with pytest.warns(DeprecationWarning, match='now called .*contact_problems') as caught:
        old = import_module('sim_bridge.contact.grasp')
    assert len(caught) == 1
    assert old is grasp
    assert import_module('sim_bridge.contact').least_effort is grasp.least_effort


def test_the_quantity_of_an_error_is_found_by_its_old_name():
    """Return the quantity with a warning that names the new attribute."""
    error = sb.InvalidValueError('mass', -1.0, 'a positive number')
    with pytest.deprecated_call(match='InvalidValueError.what is now called quantity'):
        assert error.what == error.quantity == 'mass'
