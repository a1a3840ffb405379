"""Attributes that a class does not declare are refused with a hint."""

from __future__ import annotations

import copy

import pytest

from sim_bridge.foundation.attributes import DeclaredAttributes, unknown_attribute


class Spring(DeclaredAttributes):
    """Something with a slot, a property and an internal name."""

    __slots__ = ('_rest', 'damping')

    internal_names = DeclaredAttributes.internal_names | {'owner_only'}

    def __init__(self):
        """Begin without a rest length."""
        self.damping = 0.5

    @property
    def rest(self):
        """Read what may not be there."""
        return self._rest

    @property
    def wrong(self):
        """Fail inside."""
        return self.damping.unit

    def owner_only(self):
        """Do nothing."""


@pytest.mark.parametrize('attempt', [
    lambda spring: spring.dampin, lambda spring: setattr(spring, 'dampin', 1.0)])
def test_a_close_name_is_suggested(attempt):
    """Name the attribute that was probably meant, when reading and when setting."""
    with pytest.raises(AttributeError) as caught:
        attempt(Spring())
    assert str(caught.value) == "Spring has no attribute 'dampin'; did you mean 'damping'?"


def test_other_names_are_refused_without_a_hint():
    """Refuse what resembles nothing, and what Python looks for by itself."""
    assert str(unknown_attribute(Spring(), 'q')) == "Spring has no attribute 'q'"
    assert not hasattr(Spring(), '__array__')
    with pytest.raises(AttributeError, match='has no attribute'):
        Spring().extra = 1.0
    with pytest.raises(AttributeError, match='_rest|rest'):
        Spring().rest = 1.0


def test_errors_inside_properties_stay_what_they_are():
    """Tell of the attribute that is missing, not of the property that needs it."""
    with pytest.raises(AttributeError, match="'float' object has no attribute 'unit'"):
        _ = Spring().wrong
    with pytest.raises(AttributeError, match='_rest'):
        _ = Spring().rest


def test_dir_lists_what_is_for_users():
    """List slots and properties, and nothing internal."""
    assert sorted(dir(Spring())) == ['damping', 'rest', 'wrong']


def test_objects_are_copied():
    """Let copy and weak references work as for other objects."""
    assert copy.copy(Spring()).damping == 0.5
